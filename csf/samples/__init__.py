"""What the user gave: samples, labels, weights, and how they are split."""

from csf.samples.folds import Data, Fold, bound_share, make_folds
from csf.samples.labels import Labels, read_labels
from csf.samples.routing import BaseRoutingMixin
from csf.samples.splits import resolve_splits

__all__ = ["BaseRoutingMixin", "Data", "Fold", "Labels", "bound_share", "make_folds", "read_labels", "resolve_splits"]
