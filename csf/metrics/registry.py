"""Metrics by name: the list of all metrics that come with the package, which `csf.metrics` hands on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from csf._common.names import did_you_mean
from csf.metrics.accuracy import BalancedAccuracy, WeightedAccuracy
from csf.metrics.base import Metric
from csf.metrics.cohen_kappa import CohenKappa
from csf.metrics.fbeta import FBeta
from csf.metrics.fowlkes_mallows import FowlkesMallows
from csf.metrics.gmean import GMean
from csf.metrics.gower_legendre import GowerLegendre
from csf.metrics.hmean import HMean
from csf.metrics.informedness import Informedness
from csf.metrics.jaccard import Jaccard
from csf.metrics.mcc import MCC
from csf.metrics.min_rate import MinRate
from csf.metrics.qmean import QMean
from csf.metrics.rates import Precision, Recall, Specificity
from csf.metrics.tversky import Tversky

__all__ = [
    "ALIASES",
    "METRICS",
    "BalancedAccuracy",
    "CohenKappa",
    "FBeta",
    "FowlkesMallows",
    "GMean",
    "GowerLegendre",
    "HMean",
    "Informedness",
    "Jaccard",
    "MCC",
    "MinRate",
    "Precision",
    "QMean",
    "Recall",
    "Specificity",
    "Tversky",
    "WeightedAccuracy",
    "get_metric",
]

METRICS: dict[str, Callable[[], Metric]] = {
    "f1": partial(FBeta, 1.0),
    "f2": partial(FBeta, 2.0),
    "f0.5": partial(FBeta, 0.5),
    "jaccard": Jaccard,
    "tversky": Tversky,
    "gower_legendre": GowerLegendre,
    "accuracy": WeightedAccuracy,
    "balanced_accuracy": BalancedAccuracy,
    "precision": Precision,
    "recall": Recall,
    "specificity": Specificity,
    "gmean": GMean,
    "hmean": HMean,
    "qmean": QMean,
    "min_rate": MinRate,
    "cohen_kappa": CohenKappa,
    "mcc": MCC,
    "fowlkes_mallows": FowlkesMallows,
    "informedness": Informedness,
}

# Names elsewhere, for errors alone: small letters and digits without anything between them.
ALIASES = {
    "dice": "f1",
    "kappa": "cohen_kappa",
    "cohenskappa": "cohen_kappa",
    "matthews": "mcc",
    "matthewscorrelation": "mcc",
    "matthewscorrcoef": "mcc",
    "phi": "mcc",
    "phicoefficient": "mcc",
    "fowlkesmallowsindex": "fowlkes_mallows",
    "fmi": "fowlkes_mallows",
    "bookmakerinformedness": "informedness",
    "youden": "informedness",
    "youdenj": "informedness",
    "youdensj": "informedness",
    "youdenindex": "informedness",
    "fbeta": "f2",
    "iou": "jaccard",
    "ppv": "precision",
    "sensitivity": "recall",
    "tpr": "recall",
    "tnr": "specificity",
    "selectivity": "specificity",
    "geometricmean": "gmean",
    "harmonicmean": "hmean",
    "quadraticmean": "qmean",
}

# Metrics that no threshold changes: what helps with them, what they judge, and words in their names.
_UNCHANGED = {
    "cross_val_score of scikit-learn": ("the order of the scores", ("average_precision", "auc", "ndcg", "gini")),
    "csf.thresholding and CalibratedClassifierCV calibrate": ("probabilities", ("log_loss", "brier", "crossentropy")),
}
_FBETA = re.compile(r"f(\d+(?:\.\d*)?|\.\d+)")


def get_metric(metric: str | Metric) -> Metric:
    """Metric object of a name, or the object itself.

    Parameters
    ----------
    metric : str or Metric
        A name in ``METRICS``, ``"f<beta>"`` for any positive beta, or a metric.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is neither a name nor a metric.

    Examples
    --------
    >>> get_metric("f2"), get_metric("f0.25")
    (FBeta(beta=2.0), FBeta(beta=0.25))
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            f"metric must be a name or a csf.metrics.Metric object, got {metric!r}; for a function of your own, "
            f"subclass csf.metrics.Metric or use csf.metrics.CustomMetric{_hint(_name_of(metric))}"
        )
    match = _FBETA.fullmatch(metric)
    if match and float(match[1]) > 0 and metric not in METRICS:
        return FBeta(float(match[1]))
    if metric not in METRICS:
        known = f"unknown metric {metric!r}; known: {', '.join(METRICS)}, f<beta>, or a Metric object"
        raise ValueError(known + _hint(metric))
    return METRICS[metric]()


def _name_of(function: Any) -> str:
    """Name of a function or scorer of scikit-learn, as its names of scorers are made; empty where it has none."""
    options = getattr(function, "_kwargs", {})
    function = getattr(function, "_score_func", function)
    name = "" if isinstance(function, type) else getattr(function, "__name__", "").removesuffix("_score")
    if name == "fbeta" and "beta" in options:
        name = f"f{options['beta']:g}"
    average = options.get("average", "binary")
    return name if average in ("binary", None) else f"{name}_{average}"


def _hint(name: str) -> str:
    """What to use instead of a name that is none here."""
    if not name:
        return ""
    own = name.removeprefix("neg_")
    for kind, (what, words) in _UNCHANGED.items():
        if any(word in own for word in words):
            return (
                f". {name!r} judges {what}, which no threshold changes: judge bases by it ({kind}), and search for a "
                "metric of decisions, such as 'f1' or 'balanced_accuracy'"
            )
    base, _, average = name.rpartition("_")
    if average in ("macro", "micro", "weighted", "samples"):
        known = base if base in METRICS or _FBETA.fullmatch(base) else "f1"
        return (
            f". Macro averages over classes are searched by csf.MacroCostSearch(csf.CostSearch(base, {known!r})), and "
            "micro averages of all classes but one by csf.CostSearch(base, null_class=...)"
        )
    if _FBETA.fullmatch(name):
        return f". Did you mean {name!r}?" if float(name[1:]) > 0.0 else ""
    return did_you_mean(name, METRICS, ALIASES)
