"""Structural losses: what a learner lowers, one file each."""

from csf.structural.losses.base import ClassScores, StructuralLoss, Tangent
from csf.structural.losses.fbeta import FBetaLoss
from csf.structural.losses.partial_auc import PartialAUC
from csf.structural.losses.precision_at_k import PrecisionAtK
from csf.structural.losses.registry import LOSSES, get_loss
from csf.structural.losses.table import TableLoss
from csf.structural.losses.top_precision import TopPrecision

__all__ = [
    "LOSSES",
    "ClassScores",
    "Tangent",
    "FBetaLoss",
    "PartialAUC",
    "PrecisionAtK",
    "StructuralLoss",
    "TableLoss",
    "TopPrecision",
    "get_loss",
]
