"""Structural losses of performances that cannot be summed over samples, and learners that lower them."""

from csf.structural.cutting_plane import CuttingPlane, ProjectedSubgradient
from csf.structural.losses import (
    LOSSES,
    ClassScores,
    FBetaLoss,
    PartialAUC,
    PrecisionAtK,
    StructuralLoss,
    TableLoss,
    Tangent,
    TopPrecision,
    get_loss,
    partial_auc_score,
    precision_at_k_score,
)
from csf.structural.minibatch import FTRL, OnePassMiniBatch, TwoPassMiniBatch

__all__ = [
    "FTRL",
    "LOSSES",
    "ClassScores",
    "CuttingPlane",
    "FBetaLoss",
    "OnePassMiniBatch",
    "PartialAUC",
    "PrecisionAtK",
    "ProjectedSubgradient",
    "StructuralLoss",
    "TableLoss",
    "Tangent",
    "TopPrecision",
    "TwoPassMiniBatch",
    "get_loss",
    "partial_auc_score",
    "precision_at_k_score",
]
