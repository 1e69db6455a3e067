"""What the user gave: samples, labels, weights, and how they are split."""

from csf.samples.features import Features
from csf.samples.folds import Fold, bound_share, make_folds
from csf.samples.labels import Labels, read_classes, read_labels
from csf.samples.splits import resolve_splits
from csf.samples.task import Task

__all__ = [
    "Features",
    "Fold",
    "Labels",
    "Task",
    "bound_share",
    "make_folds",
    "read_classes",
    "read_labels",
    "resolve_splits",
]
