"""What the user gave: targets, folds, weights on their way into ``fit``; and what fitted classifiers give back."""

from csf.data.costs import CostChannel, OneVsRestChannel
from csf.data.folds import Fold, Task
from csf.data.labels import Labels
from csf.data.responses import Features

__all__ = ["CostChannel", "Features", "Fold", "Labels", "OneVsRestChannel", "Task"]
