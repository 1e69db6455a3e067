"""Simultaneous confidence band: bounds of rates and metrics that hold at all thresholds of given scores together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binomtest

from csf._common.validation import check_fraction
from csf.metrics import get_constraint, get_metric
from csf.metrics.binary import Precision
from csf.metrics.constraints import read_demands, read_level
from csf.metrics.registry import get_quantity

if TYPE_CHECKING:
    import re

    from csf._common.typing import Array, BoolArray, IntArray
    from csf.metrics.base import Metric
    from csf.metrics.registry import MetricLike

# Parts of the error: the rates of positives and of negatives, the precision, and the share of positives.
_PARTS = {"recall": 0.17, "specificity": 0.17, "precision": 0.6, "share": 0.06}
# Order statistics that are bounded, at most, and draws that set the level of each.
_MOST_PLACES, _N_DRAWS, _HALVINGS = 1000, 10_000, 12
# Largest scores after which the precision is bounded up to half of all, how few of these are looked at, and beyond.
_PRECISION_PLACES, _FEWEST, _BEYOND = 48, 20, (0.7, 1.0)
# Shares of positives at which a metric is computed.
_SHARES = 9


class CertifiedThreshold(NamedTuple):
    """Threshold with the value that is certain there.

    Parameters
    ----------
    threshold : float
        Smallest score that is predicted positive; infinite where no sample is.
    value : float
        Bound of the value on new data.
    holds : bool
        Whether all demands are certain there. Where they are at no threshold, it is the one that misses least.
    """

    threshold: float
    value: float
    holds: bool


@dataclass(frozen=True, eq=False)
class ConfidenceBand:
    """Bounds at all thresholds that hold together with the confidence, so that any number of demands can be asked.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_samples,)
        True for positives.
    score : ndarray of shape (n_samples,)
        Scores, larger for positives.
    confidence : float
        Probability that all bounds hold, in (0, 1).

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        All thresholds between the scores, descending; the first one is infinite.
    recall, specificity, precision : ndarray of shape (n_thresholds,)
        Lower bounds of the rates there.
    share : tuple of float
        Bounds of the share of positives.

    Notes
    -----
    The scores of positives are uniform order statistics after their own distribution function. The k-th largest of n
    has the lower bound ``Beta.ppf(eta; k, n - k + 1)``, with one level eta for all k such that all bounds hold together
    [1]_; so have the scores of negatives. Above the m-th largest score the number of positives is binomial with the
    precision there, which is bounded for some m. Neither rests on the distribution of the scores, and with equal
    scores the bounds are true too. Whatever falls with both errors follows from these bounds.

    References
    ----------
    .. [1] A. Moscovich, B. Nadler, C. Spiegelman, "On the exact Berk-Jones statistics and their p-value calculation",
       Electronic Journal of Statistics 10, 2016.
    """

    is_pos: BoolArray = field(repr=False)
    score: Array = field(repr=False)
    confidence: float
    thresholds: Array = field(init=False, repr=False)
    recall: Array = field(init=False, repr=False)
    specificity: Array = field(init=False, repr=False)
    precision: Array = field(init=False, repr=False)
    share: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        error = 1.0 - check_fraction(self.confidence, "confidence")
        n, n_pos, order = self.is_pos.size, int(self.is_pos.sum()), np.argsort(-self.score, kind="stable")
        descending = self.score[order]
        # A precision is that of the scores above one of them, which is no threshold between scores elsewhere.
        half = np.geomspace(min(_FEWEST, n), max(0.5 * n, min(_FEWEST, n)), _PRECISION_PLACES)
        places = np.unique(np.append(half, n * np.array(_BEYOND)).astype(int))
        above = np.nextafter(descending[places - 1], np.inf)
        thresholds = np.unique(np.concatenate([descending, above, [np.inf]]))[::-1]
        n_found = np.searchsorted(-descending, -thresholds, side="right")
        hits = np.concatenate([[0], np.cumsum(self.is_pos[order])])[n_found]
        rejected = n - n_pos - (n_found - hits)
        bounds = {
            "thresholds": thresholds,
            "recall": _rate_bound(hits, n_pos, _PARTS["recall"] * error),
            "specificity": _rate_bound(rejected, n - n_pos, _PARTS["specificity"] * error),
            "precision": np.zeros(thresholds.size),
            "share": tuple(binomtest(n_pos, n).proportion_ci(1.0 - _PARTS["share"] * error, method="exact")),
        }
        tested = np.unique(np.searchsorted(-thresholds, -above))
        lower = _lower_bound(hits[tested], n_found[tested], _PARTS["precision"] * error / tested.size)
        bounds["precision"][tested] = lower
        for name, value in bounds.items():
            object.__setattr__(self, name, value)

    def worst(self, metric: MetricLike) -> Array:
        """Compute the bound of a metric or rate at all thresholds.

        Parameters
        ----------
        metric : str or Metric
            What falls with both errors, such as ``"f1"``, or rises with both, such as a `csf.metrics.MeanCost`.

        Returns
        -------
        ndarray of shape (n_thresholds,)
            Smallest value that is in the band, and of what rises with errors the largest one.

        Raises
        ------
        ValueError
            If the metric rises with one error and falls with the other.

        Examples
        --------
        >>> import csf
        >>> rng, y = np.random.default_rng(0), np.arange(2000) < 300
        >>> band = csf.certify(y, rng.normal(size=2000) + 2 * y)
        >>> float(band.worst("gmean").max())
        0.786
        """
        return self._worst(get_quantity(metric), slice(None))

    def _worst(self, quantity: Metric, places: slice) -> Array:
        """Compute the bound of a metric at some thresholds, see `worst`."""
        sign = _direction(quantity)
        missed, alarms = 1.0 - self.recall[places], 1.0 - self.specificity[places]
        values = [
            sign * np.asarray(quantity.value(pos * missed, (1.0 - pos) * alarms, pos=pos))
            for pos in np.linspace(*self.share, _SHARES).tolist()
        ]
        worst = np.min(values, axis=0)
        return sign * (np.maximum(worst, self.precision[places]) if quantity == Precision() else worst)

    def worst_at(self, metric: MetricLike, thresholds: Array) -> Array:
        """Compute the bound of a metric or rate at some thresholds, see `worst`."""
        return self.worst(metric)[np.searchsorted(-self.thresholds, -thresholds, side="right") - 1]

    def at(self, threshold: float) -> dict[str, float]:
        """Compute the bounds of the common rates and metrics at a threshold.

        Parameters
        ----------
        threshold : float
            Smallest score that is predicted positive.

        Returns
        -------
        dict of str to float
            By name the values that are certain.

        Examples
        --------
        >>> import csf
        >>> rng, y = np.random.default_rng(0), np.arange(2000) < 300
        >>> csf.certify(y, rng.normal(size=2000) + 2 * y).at(1.0)["recall"]
        0.734
        """
        place = self._place(threshold)
        names = ("recall", "specificity", "precision", "f1", "jaccard", "gmean", "balanced_accuracy")
        return {name: float(self._worst(get_metric(name), slice(place, place + 1))[0]) for name in names}

    def holds(self, demands: str, threshold: float) -> bool:
        """Check whether demands are certain at a threshold.

        Parameters
        ----------
        demands : str
            Such as ``"precision >= 0.5, gmean >= 0.7, fpr <= 0.1"``.
        threshold : float
            Smallest score that is predicted positive.

        Returns
        -------
        bool
            Whether all of them are.
        """
        return bool(self._missing(demands)[self._place(threshold)] == 0.0)

    def best(self, metric: MetricLike, demands: str | None = None) -> CertifiedThreshold:
        """Find the threshold with the best certain value, among those where demands are certain.

        Parameters
        ----------
        metric : str or Metric
            As for `worst`.
        demands : str, default=None
            As for `holds`.

        Returns
        -------
        CertifiedThreshold
            The threshold.

        Examples
        --------
        >>> import csf
        >>> rng, y = np.random.default_rng(0), np.arange(2000) < 300
        >>> band = csf.certify(y, rng.normal(size=2000) + 2 * y)
        >>> band.best("specificity", "recall >= 0.8")
        CertifiedThreshold(threshold=0.779, value=0.756, holds=True)
        """
        worst = self.worst(metric)
        missing = np.zeros(worst.size) if demands is None else self._missing(demands)
        place = int(np.lexsort([-_direction(get_quantity(metric)) * worst, missing])[0])
        return CertifiedThreshold(float(self.thresholds[place]), float(worst[place]), bool(missing[place] == 0.0))

    def _missing(self, demands: str) -> Array:
        """Compute by how much bounds miss demands at all thresholds; 0 where all are certain."""
        missing = np.zeros(self.thresholds.size)
        for match in read_demands(demands):
            quantity, sign, level = _bounded(match)
            missing = np.maximum(missing, sign * (level - self.worst(quantity)))
        return missing

    def _place(self, threshold: float) -> int:
        """Return the place of the smallest threshold that is not below one: both predict the same of the samples."""
        return int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1


def _bounded(demand: re.Match[str]) -> tuple[Metric, float, float]:
    """Return the rate or metric of a demand, the sign of its side, and its level."""
    # Metrics that no search can be constrained by, such as the G-mean, have lower levels here.
    if demand["side"] in (">=", "≥") and not (demand["of"] or demand["link"] or demand["word"]):
        return get_metric(demand["rate"]), 1.0, read_level(demand.string, demand["level"])
    constraint = get_constraint(demand[0].strip(" ,"))
    assert constraint is not None, "a text is one"
    constraint.require_all_rows()
    if constraint.of is not None:
        raise ValueError(f"{constraint} names a class; a band is about the positive one: leave the brackets out")
    return constraint.rate, 1.0 if constraint.side == ">=" else -1.0, constraint.level


def _direction(quantity: Metric) -> float:
    """Return 1 for a metric that falls with both errors and -1 for one that rises; else raise a ValueError."""
    pos = 0.5
    right, missed, alarms = (float(quantity.value(*errors, pos=pos)) for errors in ((0.1, 0.1), (0.2, 0.1), (0.1, 0.2)))
    changes = np.array([right - missed, right - alarms])
    if (changes >= 0.0).all():
        return 1.0
    if (changes <= 0.0).all():
        return -1.0
    raise ValueError(
        f"{quantity.name} rises with one error and falls with the other, so that no bound of it follows from theirs; "
        "ask for a rate or a metric that falls with both, such as 'recall', 'precision' or 'f1'"
    )


def _lower_bound(hits: IntArray, n: IntArray, error: Array | float) -> Array:
    """Compute the lower bound of Clopper and Pearson; 0 without hits."""
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, error), 0.0)


def _rate_bound(hits: IntArray, n: int, error: float) -> Array:
    """Compute the lower bounds of a rate of which ``hits`` of ``n`` are found, for all numbers together."""
    places = _places(n)
    # Of more samples more bounds have to hold together: their level is a little smaller.
    digits = 10 ** max(len(str(n)) - 2, 0)
    lower = betaincinv(places, n - places + 1, _local_level(-(-n // digits) * digits, error))
    return np.concatenate([[0.0], lower])[np.searchsorted(places, hits, side="right")]


def _places(n: int) -> IntArray:
    """Return the order statistics that are bounded: all, or of many those that are about as many deviations apart."""
    if n <= _MOST_PLACES:
        return np.arange(1, n + 1)
    angle = np.linspace(0.0, 0.5 * np.pi, _MOST_PLACES)
    return np.unique(np.clip(np.round(n * np.sin(angle) ** 2), 1, n).astype(np.int64))


@lru_cache(maxsize=64)
def _local_level(n: int, error: float) -> float:
    """Compute the level of each bound of uniform order statistics with which all hold with probability 1 - error."""
    places = _places(n)
    steps = np.diff(places, prepend=0, append=n + 1).astype(float)
    drawn = np.cumsum(np.random.default_rng(0).standard_gamma(steps, (_N_DRAWS, steps.size)), axis=1)
    drawn = drawn[:, :-1] / drawn[:, -1:]
    low, high = np.log(error / places.size), np.log(error)
    for _ in range(_HALVINGS):
        level = 0.5 * (low + high)
        holds = (drawn >= betaincinv(places, n - places + 1, np.exp(level))).all(axis=1).mean() >= 1.0 - error
        low, high = (level, high) if holds else (low, level)
    return float(np.exp(low))
