"""User data on their way into ``fit`` (targets, folds, weights), and the responses of fitted classifiers."""

from csf.data.costs import CostChannel, OneVsRestChannel
from csf.data.folds import Fold, Task
from csf.data.labels import Labels
from csf.data.responses import Features

__all__ = ["CostChannel", "Features", "Fold", "Labels", "OneVsRestChannel", "Task"]
