"""What a `ThresholdCurveDisplay` shows, computed from threshold curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from csf.metrics import Constrained, Precision, PredictedPositiveRate, Recall
from csf.plots._drawn_cuts import drawn_cuts

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["curve_data"]

_COMPANIONS: dict[str, Any] = {
    "precision": Precision(),
    "recall": Recall(),
    "predicted positive": PredictedPositiveRate(),
}
_NAMES = {rate: name for name, rate in _COMPANIONS.items()}


def curve_data(
    curve: ThresholdCurve,
    metric: Metric,
    threshold: float | None,
    fold_curves: Sequence[ThresholdCurve],
    fold_thresholds: ArrayLike | None,
) -> dict[str, Any]:
    """Arrays of a `ThresholdCurveDisplay`, see `ThresholdCurveDisplay.from_curves`.

    Returns
    -------
    dict
        Arguments of `ThresholdCurveDisplay`.
    """
    constraint = metric.constraint
    if curve.thresholds.shape[0] < 3:
        raise ValueError("all scores are equal: there is no threshold between them to draw")
    threshold = curve.best(metric, constraint).threshold if threshold is None else threshold
    parts = () if constraint is None else constraint.parts
    aim = metric.metric if isinstance(metric, Constrained) else metric
    demanded = {part.quantity.name: part.quantity for part in parts if part.quantity not in _NAMES}
    # What is maximised needs no second line.
    rates = {key: rate for key, rate in (_COMPANIONS | demanded).items() if rate != aim}
    cuts, chosen = drawn_cuts(curve, threshold), curve.at(threshold)
    fn, fp, thresholds = curve.fn[cuts], curve.fp[cuts], curve.thresholds[cuts]
    named = [(_NAMES.get(part.quantity, part.quantity.name), part) for part in parts]
    data = {
        "thresholds": thresholds,
        "values": metric.value(fn, fp, pos=curve.pos),
        "companions": {key: rate.value(fn, fp, pos=curve.pos) for key, rate in rates.items()},
        "threshold": float(threshold),
        "value": metric.of(chosen),
        "metric_name": metric.name,
        "demands": [(key, part.side, part.level, part.quantity.of(chosen)) for key, part in named],
    }
    if not len(fold_curves):
        return data
    at = [(fold, fold.cuts_at(thresholds)) for fold in fold_curves]
    if fold_thresholds is None:
        fold_thresholds = [fold.best(metric, constraint).threshold for fold in fold_curves]
    return data | {
        "fold_values": np.array([metric.value(fold.fn[i], fold.fp[i], pos=fold.pos) for fold, i in at]),
        "fold_thresholds": np.asarray(fold_thresholds, dtype=float),
    }
