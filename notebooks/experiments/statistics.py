"""What differences between methods mean: means over splits, paired differences, ranks over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from csf._common.validation import check_choice

__all__ = [
    "Difference",
    "Ranking",
    "mean_and_error",
    "mean_difference",
    "paired_difference",
    "rank_methods",
]

METHODS = ("corrected", "t", "bootstrap")


class Difference(NamedTuple):
    """A mean difference and how well it is known.

    Parameters
    ----------
    mean : float
        Mean of the paired differences.
    error : float
        Standard error of the mean; NaN for a single difference.
    low, high : float
        Confidence interval; NaN for a single difference.
    df : float
        Degrees of freedom of the error.
    """

    mean: float
    error: float
    low: float
    high: float
    df: float


@dataclass(frozen=True, eq=False)
class Ranking:
    """Average ranks of methods over data sets, and how far apart they have to be.

    Parameters
    ----------
    names : tuple of str
        Methods.
    ranks : ndarray of shape (n_methods,)
        Average ranks, 1 for a method that is the best one on each data set; equal values share their ranks.
    critical_difference : float
        Nemenyi's: average ranks that are closer than this are not significantly different; NaN for a single data set.
    p_value : float
        Friedman's test of the hypothesis that all methods are equal; NaN for fewer than three methods or two sets.
    n_sets : int
        Number of data sets.
    """

    names: tuple
    ranks: np.ndarray
    critical_difference: float
    p_value: float
    n_sets: int


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Mean of independent values and its standard error.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        One value a split.

    Returns
    -------
    mean : float
        The mean.
    error : float
        Its standard error; NaN for a single value.

    Notes
    -----
    The training parts of random splits overlap, so that this error describes the spread of the values rather than
    what a fresh sample would give. It is what papers print beside their means. For conclusions see
    `paired_difference`.

    Examples
    --------
    >>> mean_and_error([0.5, 0.7])
    (0.6, 0.1)
    """
    values = _finite(values)
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return float(values.mean()), float(error)


def paired_difference(
    values: ArrayLike,
    reference: ArrayLike,
    *,
    test_train_ratio: float | None = None,
    method: str = "corrected",
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    r"""Mean difference of two methods on the same splits, with a confidence interval.

    Parameters
    ----------
    values, reference : array-like of shape (n_splits,)
        A metric of two methods on the same splits.
    test_train_ratio : float, default=None
        Samples in the test part for each sample in the training part; needed by ``"corrected"``.
    method : {"corrected", "t", "bootstrap"}, default="corrected"
        ``"t"`` takes the splits as independent samples, and so does ``"bootstrap"``, which needs no normal
        distribution (bias-corrected and accelerated; plain percentiles where all differences are equal).
        ``"corrected"`` is the resampled t-test corrected for overlapping splits.
    level : float, default=0.95
        Coverage of the interval, in (0, 1).
    seed : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    Difference
        Mean of ``values - reference``, its standard error and interval.

    Notes
    -----
    Random splits of one data set share most of their training samples and, in part, their test samples. Differences
    on them are positively correlated: more splits make the plain standard error shrink towards 0, the distance from
    the truth does not. Nadeau and Bengio replace the variance :math:`s^2 / J` of the mean over J splits by
    :math:`(1/J + n_{test}/n_{train}) s^2`. With a quarter held out the interval never gets narrower than that of
    three independent splits, however many there are.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> better, worse = [0.52, 0.61, 0.58, 0.55], [0.50, 0.60, 0.56, 0.54]
    >>> paired_difference(better, worse, method="t")
    Difference(mean=0.015, error=0.003, low=0.006, high=0.024, df=3)
    >>> paired_difference(better, worse, test_train_ratio=1 / 3)
    Difference(mean=0.015, error=0.004, low=0.001, high=0.029, df=3)
    """
    check_choice(method, "method", METHODS)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a probability in (0, 1), got {level!r}")
    values, reference = _finite(values), _finite(reference)
    if values.shape != reference.shape:
        raise ValueError(f"both methods need the same splits, got {values.size} and {reference.size} values")
    gain = values - reference
    if gain.size == 1:
        return Difference(float(gain[0]), np.nan, np.nan, np.nan, 0)
    share = 1.0 / gain.size
    if method == "corrected":
        if test_train_ratio is None or not 0.0 < test_train_ratio < np.inf:
            raise ValueError(
                f"method='corrected' needs test_train_ratio, e.g. 1/3 for a quarter held out; got {test_train_ratio!r}"
            )
        share += test_train_ratio
    error = float(np.sqrt(share) * gain.std(ddof=1))
    if method == "bootstrap" and np.ptp(gain) > 0.0:
        options: dict[str, Any] = {"confidence_level": level, "random_state": seed}  # `rng` is too new a name
        interval = stats.bootstrap((gain,), np.mean, **options).confidence_interval
        return Difference(float(gain.mean()), error, float(interval.low), float(interval.high), gain.size - 1)
    return _interval(float(gain.mean()), error, gain.size - 1, level)


def mean_difference(differences: Sequence[Difference], *, level: float = 0.95) -> Difference:
    """Mean of the differences on several data sets, whose splits have nothing to do with each other.

    Parameters
    ----------
    differences : sequence of Difference
        One a data set.
    level : float, default=0.95
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Difference
        For the mean over *these* data sets, with the degrees of freedom of Welch and Satterthwaite. What to expect
        on another data set is less certain: see `rank_methods`, for which the data sets are the sample.

    Examples
    --------
    >>> mean_difference([Difference(0.02, 0.01, 0, 0, 19), Difference(0.04, 0.01, 0, 0, 19)])
    Difference(mean=0.03, error=0.007, low=0.016, high=0.044, df=38.0)
    """
    if not differences:
        raise ValueError("there is no difference to take the mean of")
    variances = np.array([d.error for d in differences], dtype=float) ** 2
    df = np.array([d.df for d in differences], dtype=float)
    mean, total = float(np.mean([d.mean for d in differences])), float(variances.sum())
    error = float(np.sqrt(total)) / len(differences)
    if not total > 0.0:  # nothing varies, or a single difference whose error is not known
        return _interval(mean, error, float(df.sum()), level)
    return _interval(mean, error, float(total**2 / (variances**2 / df).sum()), level)


def _interval(mean, error, df, level):
    half = float(stats.t.ppf(0.5 + 0.5 * level, df) * error) if error > 0.0 else error
    return Difference(mean, error, mean - half, mean + half, df)


def rank_methods(names: Sequence[str], values: ArrayLike, *, alpha: float = 0.05) -> Ranking:
    r"""Average ranks of methods over data sets.

    Parameters
    ----------
    names : sequence of str
        Methods.
    values : array-like of shape (n_sets, n_methods)
        A metric, larger is better, none missing.
    alpha : float, default=0.05
        Level of significance of the critical difference, in (0, 1).

    Returns
    -------
    Ranking
        Average ranks, Friedman's test and Nemenyi's critical difference.

    Notes
    -----
    Each data set counts once, however many splits it has. Nemenyi's critical difference is
    :math:`q_\alpha \sqrt{k (k + 1) / (6 N)}` for k methods on N data sets, with the quantile :math:`q_\alpha` of the
    studentized range for infinitely many degrees of freedom, divided by :math:`\sqrt 2`. It holds for all pairs at
    once, and is large where there are few data sets.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> ranking = rank_methods(["a", "b", "c"], [[0.5, 0.6, 0.7], [0.2, 0.2, 0.3]])
    >>> ranking.ranks
    array([2.75, 2.25, 1.  ])
    >>> ranking.critical_difference
    2.344
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or values.shape[1] != len(names) or values.size == 0:
        raise ValueError(f"values must have shape (n_sets, {len(names)}), got {values.shape}")
    if np.isnan(values).any():
        raise ValueError("values are missing (NaN); leave out those methods or data sets: all methods need all sets")
    n_sets, n_methods = values.shape
    ranks = stats.rankdata(-values, axis=1).mean(axis=0)
    distance, p_value = np.nan, np.nan
    if n_methods > 1 and n_sets > 1:
        quantile = stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf) / np.sqrt(2.0)
        distance = float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))
    if n_methods > 2 and n_sets > 1 and np.ptp(values, axis=1).any():
        p_value = float(stats.friedmanchisquare(*values.T).pvalue)
    return Ranking(tuple(names), ranks, distance, p_value, n_sets)


def _finite(values):
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"values must be finite numbers, one a split, got {values!r}")
    return values
