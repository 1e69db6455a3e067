"""Metrics of several labels: what is averaged over labels, over samples, or counted over all of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.validation import check_choice
from csf.metrics.base import Metric
from csf.metrics.binary import FBeta
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import get_metric

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray

AVERAGES = ("macro", "micro", "samples")


@dataclass(frozen=True)
class LabelMetric:
    """A metric of two classes, averaged over several labels.

    Parameters
    ----------
    metric : str or Metric
        What is averaged.
    average : {"macro", "micro", "samples"}
        ``"macro"`` takes the mean over labels of their metric; ``"micro"`` the metric of all pairs of a sample and a
        label together; ``"samples"`` the mean over samples of the F-beta of their labels, 1 where a sample has no label
        and none is found.

    Raises
    ------
    ValueError
        If the average is unknown, or samples are averaged over with another metric than F-beta.

    Examples
    --------
    >>> truth, found = np.array([[1, 0], [1, 1], [0, 0]]), np.array([[1, 0], [0, 1], [0, 0]])
    >>> [LabelMetric("f1", average).of(truth, found) for average in ("macro", "micro", "samples")]
    [0.833, 0.8, 0.889]
    """

    metric: Metric | str
    average: str

    def __post_init__(self) -> None:
        check_choice(self.average, "average", AVERAGES)
        object.__setattr__(self, "metric", get_metric(self.metric))
        if self.average == "samples" and not isinstance(self.metric, FBeta):
            raise ValueError(
                f"the mean over samples is that of F-beta, such as 'f1_samples', got {self.of_one!r}; other metrics "
                "are averaged over labels ('macro'), or counted over all pairs ('micro')"
            )

    @property
    def of_one(self) -> Metric:
        """The metric that is averaged."""
        assert isinstance(self.metric, Metric), "names were read"
        return self.metric

    @property
    def beta(self) -> float:
        """Of F-beta."""
        assert isinstance(self.metric, FBeta), "the mean over samples is of no other"
        return self.metric.beta

    @property
    def name(self) -> str:
        """Name of the metric and its average, such as ``"f1_macro"``."""
        return f"{self.of_one.name}_{self.average}"

    def of(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> float:
        """Value of predicted labels.

        Parameters
        ----------
        y_true, y_pred : ndarray of shape (n_samples, n_labels)
            Truth and prediction, 0 and 1.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value. A label that no sample has, or every one, counts for F-beta, as in scikit-learn (0 where it is
            not found either); other metrics leave it out.
        """
        truth, found = np.asarray(y_true) > 0, np.asarray(y_pred) > 0
        if self.average == "samples":
            hits, missed, wrong = ((a & b).sum(axis=1) for a, b in _cells(truth, found))
            return float(np.average(_f_beta(hits, missed, wrong, self.beta, empty=1.0), weights=sample_weight))
        if self.average == "micro":
            weight = None if sample_weight is None else np.repeat(sample_weight, truth.shape[1])
            return self._one(truth.ravel(), found.ravel(), weight)
        values = [self._one(*column, sample_weight) for column in zip(truth.T, found.T)]
        return float(np.mean([value for value in values if not np.isnan(value)] or np.nan))

    def _one(self, truth: BoolArray, found: BoolArray, weight: Array | None) -> float:
        """Value of one problem; of samples of one class that of F-beta, which needs no other, and NaN of others."""
        counted = truth if weight is None else truth[weight > 0.0]
        if counted.any() and not counted.all():
            return self.of_one.of(ErrorProfile.from_masks(truth, found, sample_weight=weight))
        if not isinstance(self.metric, FBeta):
            return np.nan
        hits, missed, wrong = (np.average(a & b, weights=weight) for a, b in _cells(truth, found))
        return float(_f_beta(hits, missed, wrong, self.metric.beta, empty=0.0))


def _cells(truth: BoolArray, found: BoolArray) -> list[tuple[BoolArray, BoolArray]]:
    """What true positives, false negatives and false positives are."""
    return [(truth, found), (truth, ~found), (~truth, found)]


def _f_beta(tp: Any, fn: Any, fp: Any, beta: float, *, empty: float) -> Array:
    """F-beta of numbers of found, missed and wrong ones; ``empty`` where there are none of any."""
    b = 1.0 + beta**2
    total = np.asarray(b * tp + (b - 1.0) * fn + fp, dtype=float)
    return np.divide(b * tp, total, out=np.full(total.shape, empty), where=total > 0)


def get_label_metric(metric: Any) -> LabelMetric:
    """Metric of several labels of a name, or the object itself.

    Parameters
    ----------
    metric : str or LabelMetric
        Name of a metric of two classes and how it is averaged: ``"f1_macro"``, ``"f2_micro"``, ``"f1_samples"``,
        ``"gmean_macro"``.

    Returns
    -------
    LabelMetric
        The metric.

    Raises
    ------
    ValueError
        If it is not defined for several labels.

    Examples
    --------
    >>> get_label_metric("f2_macro")
    LabelMetric(metric=FBeta(beta=2.0), average='macro')
    """
    if isinstance(metric, LabelMetric):
        return metric
    name, base, average = _parts(metric)
    if average not in AVERAGES:
        hint = f"{name}_macro" if isinstance(name, str) else "f1_macro"
        raise ValueError(
            f"metric={metric!r} is one of a single label, with y a 1d array, and y has several columns; write {hint!r} "
            "for its mean over labels, 'f1_micro' for the F-measure of all labels together, 'f1_samples' for its mean "
            "over samples, or LabelMetric(metric, 'macro') for an object"
        )
    return LabelMetric(base, average)


def is_label_metric(metric: Any) -> bool:
    """Whether a metric says how it is averaged over labels."""
    return isinstance(metric, LabelMetric) or _parts(metric)[2] in AVERAGES


def _parts(metric: Any) -> tuple[Any, str, str]:
    """Name of a metric, of what is averaged, and of the average."""
    # Averages over classes, which objects of that name are, are averages over labels here.
    name = metric if isinstance(metric, str) else getattr(metric, "name", None)
    base, _, average = name.rpartition("_") if isinstance(name, str) else ("", "", "")
    return name, base, average
