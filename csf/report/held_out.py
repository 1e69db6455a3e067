"""What classifiers do on data that they have not seen, with intervals from resampled samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from csf._common.typing import Array, BoolArray, Label
from csf.metrics.base import Metric

__all__ = ["Judged", "judge", "macro_problems", "one_problem"]

# Resamples, the share that intervals cover, and how many numbers a block of resamples may hold.
N_RESAMPLES = 1000
LEVEL = 0.9
_BLOCK = 1 << 20

# Positives, those that are missed, and false alarms of one problem.
Problem = tuple[BoolArray, BoolArray, BoolArray]


@dataclass(frozen=True)
class Judged:
    """One classifier on held-out data.

    Parameters
    ----------
    name : str
        What it is called.
    value : float
        The metric.
    interval : tuple of float
        Percentiles of the metric over resamples of the data: 5 % of them lie below the first, 5 % above the second.
    difference : float
        The metric of the first classifier minus this one's.
    difference_interval : tuple of float
        Percentiles of the difference on the same resamples.
    """

    name: str
    value: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]


def one_problem(null_class: Label) -> Callable[[Array, Array], list[Problem]]:
    """Errors of a search with one class of nothing to find.

    Parameters
    ----------
    null_class : label
        That class; the negative one of two.

    Returns
    -------
    callable
        ``f(truth, predicted)``, a list of one problem.
    """

    def problems(truth: Array, predicted: Array) -> list[Problem]:
        is_pos, wrong = truth != null_class, truth != predicted
        return [(is_pos, is_pos & wrong, ~is_pos & wrong)]

    return problems


def macro_problems(classes: Array) -> Callable[[Array, Array], list[Problem]]:
    """Errors of each class against the rest.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes to average over.

    Returns
    -------
    callable
        ``f(truth, predicted)``, one problem for each class.
    """

    def problems(truth: Array, predicted: Array) -> list[Problem]:
        return [
            (truth == k, (truth == k) & (predicted != k), (truth != k) & (predicted == k)) for k in classes.tolist()
        ]

    return problems


def judge(
    metric: Metric,
    problems: Callable[[Array, Array], list[Problem]],
    truth: Array,
    answers: Mapping[str, Array],
    weight: Array | None = None,
) -> list[Judged]:
    """Metric of several classifiers on the same samples.

    Parameters
    ----------
    metric : Metric
        What is measured.
    problems : callable
        `one_problem` or `macro_problems`.
    truth : ndarray of shape (n_samples,)
        Labels.
    answers : dict of str to ndarray of shape (n_samples,)
        Predicted labels by the name of the classifier; the first one is what others are compared with.
    weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    list of Judged
        One for each classifier, in the same order.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> truth = np.array([0, 0, 1, 1] * 50)
    >>> exact, blind = judge(FBeta(), one_problem(0), truth, {"exact": truth, "blind": np.ones(200, dtype=int)})
    >>> exact.value, blind.value, blind.difference_interval
    (1.0, 0.667, (0.282, 0.384))
    """
    # Samples that all classifiers answer alike are drawn together: what counts is how many of them there are.
    truth, columns, weights, counts = _cells(truth, list(answers.values()), weight)
    masks = [problems(truth, column) for column in columns]
    whole = [_value(metric, parts, (weights * counts)[None, :]).item() for parts in masks]
    drawn = [
        np.concatenate(values)
        for values in zip(*([_value(metric, parts, draw * weights) for parts in masks] for draw in _resamples(counts)))
    ]
    return [
        Judged(name, value, _percentiles(values), whole[0] - value, _percentiles(drawn[0] - values))
        for name, value, values in zip(answers, whole, drawn)
    ]


def _cells(truth: Array, columns: list[Array], weight: Array | None) -> tuple[Array, list[Array], Array, Array]:
    """Distinct rows of truth, answers and weight, with their numbers."""
    weight = np.ones(truth.shape[0]) if weight is None else weight
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in (truth, *columns, weight)])
    _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    return truth[first], [column[first] for column in columns], weight[first], counts


def _resamples(counts: Array) -> Iterator[Array]:
    """How often each cell is drawn, in blocks of resamples; the same in every run."""
    rng = np.random.default_rng(0)
    n_samples = int(counts.sum())
    size = max(1, min(N_RESAMPLES, _BLOCK // counts.shape[0]))
    for start in range(0, N_RESAMPLES, size):
        yield rng.multinomial(n_samples, counts / n_samples, size=min(size, N_RESAMPLES - start)).astype(float)


def _value(metric: Metric, problems: list[Problem], weights: Array) -> Array:
    """Metric in each row of weights: the mean over the problems that have both classes there; NaN without one."""
    total = weights.sum(axis=1)
    values = np.full((len(problems), weights.shape[0]), np.nan)
    for row, masks in zip(values, problems):
        pos, fn, fp = (weights @ mask / total for mask in masks)
        for at in np.flatnonzero((pos > 0) & (pos < 1)):
            row[at] = metric.value(min(fn[at], pos[at]), min(fp[at], 1.0 - pos[at]), pos=float(pos[at]))
    known = np.isfinite(values)
    return np.where(
        known.any(axis=0), np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), np.nan
    )


def _percentiles(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if known.size == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
