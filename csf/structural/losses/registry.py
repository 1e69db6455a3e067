"""Structural losses by name."""

from __future__ import annotations

import re

from csf._common.messages import did_you_mean
from csf.metrics import METRICS
from csf.metrics.registry import ALIASES
from csf.structural.losses.base import StructuralLoss
from csf.structural.losses.fbeta import FBetaLoss
from csf.structural.losses.partial_auc import PartialAUC
from csf.structural.losses.precision_at_k import PrecisionAtK
from csf.structural.losses.table import TableLoss
from csf.structural.losses.top_precision import TopPrecision

__all__ = ["LOSSES", "get_loss"]

LOSSES = {"f1": FBetaLoss, "prbep": PrecisionAtK, "top_precision": TopPrecision, "pauc": PartialAUC}

_FBETA = re.compile(r"f(\d+(?:\.\d*)?|\.\d+)")


def get_loss(loss: str | StructuralLoss) -> StructuralLoss:
    """Loss object of a name, or the object itself.

    Parameters
    ----------
    loss : str or StructuralLoss
        A name in ``LOSSES``, ``"f<beta>"`` for any positive beta, the name of another metric in
        ``csf.metrics.METRICS`` (a `TableLoss`), or a loss.

    Returns
    -------
    StructuralLoss
        The loss.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is neither a name nor a loss.

    Examples
    --------
    >>> get_loss("f2"), get_loss("pauc")
    (FBetaLoss(beta=2.0, kappa=None), PartialAUC(beta=0.1, mode='count'))
    >>> get_loss("gmean")
    TableLoss(metric='gmean', kappa=None)
    """
    if isinstance(loss, StructuralLoss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"loss must be a name or a csf.structural.StructuralLoss object, got {loss!r}")
    if loss in LOSSES:
        return LOSSES[loss]()
    match = _FBETA.fullmatch(loss)
    if match and float(match[1]) > 0:
        return FBetaLoss(float(match[1]))
    if loss in METRICS:
        return TableLoss(loss)
    raise ValueError(
        f"unknown loss {loss!r}; known: {', '.join(LOSSES)}, f<beta>, a metric ({', '.join(METRICS)}), or a "
        f"StructuralLoss object{did_you_mean(loss, [*LOSSES, *METRICS], ALIASES)}"
    )
