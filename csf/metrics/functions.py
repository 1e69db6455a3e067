"""Metrics given as functions of labels, ``f(y_true, y_pred, sample_weight=...)``, or as scorers of these."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from csf._common.sklearn import scorer_parts
from csf._common.typing import Array, Params, Values
from csf.metrics.base import Coefficients, LinearFractional, Metric
from csf.metrics.confusion import ConfusionFunction, ConfusionMetric, OfTwoClasses

# Function of labels, or a scorer of one.
Function: TypeAlias = Callable[..., float]

# Values of two functions that are the same but for rounding.
_SAME = 1e-12
# What is left of 0 where a system of equations is solved, in parts of its largest number.
_NOISE = 1e-11
# Denominators below this, in parts of their mean, are 0 for some classifier: its value is then a convention.
_EMPTY = 1e-9
# Arguments of these names are scores, not labels.
_SCORES = re.compile(r"score|prob|decision|logit", re.IGNORECASE)
# Shares of errors and of positives at which functions are compared.
_SHARES = (0.0, 0.07, 0.35, 0.8, 1.0)
_POSITIVES = (0.03, 0.3, 0.6)
# Those that say what polynomials a quotient is of, and how near to the function that is everywhere else.
_INSIDE, _CLOSE = np.array([0.05, 0.2, 0.4, 0.65, 0.9]), 1e-10


@dataclass(frozen=True, eq=False)
class LabelFunction:
    """Function of labels as a function of the confusion matrix: each cell is one row, with its share as weight.

    Parameters
    ----------
    function : callable
        ``f(y_true, y_pred, sample_weight=...)``. It is given codes: 0 and 1, 1 for the positive class, or 0, 1, 2, ...
        for several classes, in their order.
    sign : float, default=1.0
        -1.0 where smaller values are better.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> LabelFunction(f1_score)(np.array([[0.6, 0.15], [0.05, 0.2]]))
    0.667
    """

    function: Function
    sign: float = 1.0

    def __call__(self, confusion: Array) -> float:
        """Compute the value on one confusion matrix."""
        codes = np.arange(len(confusion))
        truth, predicted = np.repeat(codes, codes.size), np.tile(codes, codes.size)
        return self.of(truth, predicted, np.ravel(confusion))

    def of(self, truth: Array, predicted: Array, weight: Array) -> float:
        """Compute the value on weighted rows; warnings about classes that nobody predicts are suppressed."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return self.sign * self.function(truth, predicted, sample_weight=weight)


@dataclass(frozen=True, eq=False)
class _ByValues(Metric):
    """Function of labels that is determined by a few of its values.

    Parameters
    ----------
    metric : OfTwoClasses
        The function as a metric of error profiles.
    """

    metric: OfTwoClasses

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.metric.name

    def range(self, pos: float) -> tuple[float, float]:
        """Return the values with all predictions wrong and with all right, see `Metric.range`."""
        return self.metric.range(pos)


class RatioOfLabels(_ByValues, LinearFractional):
    """Function of labels that is a ratio of two affine functions of the errors, determined by its values."""

    def coefficients(self, pos: float) -> Coefficients:
        """Fit the six numbers to the function's values, see `LinearFractional.coefficients`."""
        top, bottom = _polynomials(self.metric, pos, 1)
        units = np.array([1.0, pos, 1.0 - pos])
        return Coefficients(*(top / units).tolist(), *(bottom / units).tolist())


class QuotientOfLabels(_ByValues):
    """Function of labels that is a ratio of quadratic functions of the errors, such as the mean of two ratios.

    The function itself computes single values, and values where the ratio is 0 / 0.
    """

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the value of the function, see `Metric.value`."""
        fn, fp = np.broadcast_arrays(np.asarray(fn, dtype=float), np.asarray(fp, dtype=float))
        if fn.size == 1:
            return self.metric.value(fn, fp, pos=pos)
        top, bottom = _polynomials(self.metric, float(pos), 2)
        terms = _terms(fn / pos, fp / (1.0 - pos), 2)
        below = terms @ bottom
        known = below > _EMPTY
        value = np.divide(terms @ top, below, out=np.zeros(fn.shape), where=known)
        if not known.all():
            value[~known] = self.metric.value(fn[~known], fp[~known], pos=pos)
        return value


@lru_cache(maxsize=4096)
def _polynomials(metric: Metric, pos: float, degree: int) -> tuple[Array, Array]:
    """Fit numerator and denominator to values inside the box of errors, where the denominator has mean 1."""
    u, v = (part.ravel() for part in np.meshgrid(_INSIDE, _INSIDE))
    value, terms = np.asarray(metric.value(u * pos, v * (1.0 - pos), pos=pos)), _terms(u, v, degree)
    # value * bottom = top everywhere: the one combination of columns that is 0.
    numbers = np.linalg.svd(np.column_stack([terms, -value[:, None] * terms]))[2][-1]
    top, bottom = np.split(numbers / (terms @ numbers[terms.shape[1] :]).mean(), 2)
    noise = _NOISE * max(np.abs(top).max(), np.abs(bottom).max())
    return np.where(np.abs(top) < noise, 0.0, top), np.where(np.abs(bottom) < noise, 0.0, bottom)


def _terms(u: Array, v: Array, degree: int) -> Array:
    """Compute the powers of errors, as shares of their class, up to a degree."""
    terms = [np.ones(u.shape), u, v]
    return np.stack(terms if degree == 1 else [*terms, u * u, u * v, v * v], axis=-1)


def _read_off(given: OfTwoClasses) -> Metric:
    """Determine the function by a few of its values where that is exact; else return it unchanged."""
    for metric in (RatioOfLabels(given), QuotientOfLabels(given)):
        for pos in _POSITIVES:
            fn, fp = _errors(pos)
            if isinstance(metric, RatioOfLabels) and not (metric.denominator(fn, fp, pos=pos) > _EMPTY).all():
                break
            if np.abs(metric.value(fn, fp, pos=pos) - given.value(fn, fp, pos=pos)).max() > _CLOSE:
                break
        else:
            return metric
    return given


def _errors(pos: float) -> tuple[Array, Array]:
    """Return shares of false negatives and of false positives over their full ranges."""
    fn, fp = np.meshgrid(pos * np.array(_SHARES), (1.0 - pos) * np.array(_SHARES))
    return fn.ravel(), fp.ravel()


# ---------------------------------------------------------------- functions as metrics


def metric_of_function(function: Function, name: str, known: Iterable[Metric]) -> Metric:
    """Find the binary metric of a function of labels: a known one with its values, a ratio, or the function itself.

    Known metrics and ratios are computed without a call of the function, of which a search would make a million.
    """
    given = OfTwoClasses(_read(function, name, 2))
    grids = [(*_errors(pos), pos) for pos in _POSITIVES]
    values = [np.asarray(given.value(fn, fp, pos=pos)) for fn, fp, pos in grids]
    for metric in known:
        if all(
            np.allclose(metric.value(*errors, pos=pos), value, 0.0, _SAME)
            for (*errors, pos), value in zip(grids, values)
        ):
            return metric
    inner = values[1].reshape(len(_SHARES), -1)[1:-1, 1:-1]
    if max(np.diff(inner, axis=axis).max() for axis in (0, 1)) > _SAME:
        raise ValueError(
            f"{name!r} increases when there are more errors of one kind, so a search for it would make such errors; "
            "maximise a metric that falls with both kinds"
        )
    return _read_off(given)


def confusion_of_function(function: Function, name: str, known: Iterable[ConfusionMetric]) -> ConfusionMetric:
    """Find the metric of a function of labels for any number of classes: a known metric, or the function itself."""
    given, rng = _read(function, name, 3), np.random.default_rng(0)
    tables = [rng.dirichlet(np.full(n * n, 0.7), 4).reshape(4, n, n) for n in (3, 4)]
    for n_classes, only in ((3, 0), (4, 2)):  # rules that predict one class alone
        table = np.zeros((1, n_classes, n_classes))
        table[0, :, only] = rng.dirichlet(np.ones(n_classes))
        tables.append(table)
    values = [np.asarray(given.value(table)) for table in tables]
    for metric in known:
        if all(np.allclose(metric.value(table), value, 0.0, _SAME) for table, value in zip(tables, values)):
            return metric
    return given


# Arguments of scorers that name labels, and what to give instead: csf calls functions with codes.
_LABELS = {
    "pos_label": "1 stands for the positive class; leave pos_label out, and give it to the search",
    "labels": "0, 1, 2, ... in their order; leave labels out, or name the class of nothing to find with null_class=",
}


def _read(function: Function, name: str, n_classes: int) -> ConfusionFunction:
    """Read a function or scorer as a metric of the confusion matrix; raise an error for anything else."""
    parts, sign = scorer_parts(function), 1.0
    if parts is not None:
        if parts.response != "predict":
            raise ValueError(
                f"the scorer {name!r} judges {parts.response}, and a threshold changes labels alone; make one of labels"
                ", make_scorer(f, response_method='predict'), or judge bases by it with cross_val_score"
            )
        for option, way_out in _LABELS.items():
            if parts.options.get(option) is not None and not (n_classes == 2 and parts.options[option] == 1):
                raise ValueError(
                    f"the scorer {name!r} has {option}={parts.options[option]!r}, and csf calls it with codes of the "
                    f"classes: {way_out}"
                )
        function, sign = partial(parts.function, **parts.options) if parts.options else parts.function, parts.sign
    # The value of "warn", without the warning.
    quiet = _arguments(function, name).get("zero_division") == "warn"
    made = LabelFunction(partial(function, zero_division=0.0) if quiet else function, sign)
    _check_counts(made, name, n_classes)
    right = np.eye(n_classes) / n_classes
    if not np.isfinite(made(right)):
        raise ValueError(
            f"{name!r} is {made(right)} without errors, and a search needs its value there too. Return a finite one, "
            "or maximise 'informedness' or another metric that is defined without errors"
        )
    if not made(right) > made(right[::-1] if n_classes == 2 else np.roll(right, 1, axis=1)):
        raise ValueError(
            f"{name!r} is {made(right):.6g} without errors and no smaller when all predictions are wrong, but larger "
            "must be better. Change its sign, or use make_scorer(f, greater_is_better=False)"
        )
    return ConfusionFunction(made, name)


def _arguments(function: Function, name: str) -> Params:
    """Read the defaults of a function's arguments; raise an error where it is no function of labels."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions do not tell
        return {}
    names = list(signature.parameters)
    if len(names) > 1 and _SCORES.search(names[1]):
        raise ValueError(
            f"{name}{signature} is no function of labels: it takes {names[1]!r}. Give a function "
            "f(y_true, y_pred, sample_weight=None) of predicted labels; scores are what thresholds are put on, and are "
            "judged with cross_val_score"
        )
    try:
        signature.bind(0, 0, sample_weight=0)
    except TypeError:
        raise ValueError(
            f"{name}{signature} cannot be called as f(y_true, y_pred, sample_weight=...): csf calls it with one row "
            "for each kind of decision, weighted by how many there are. Add sample_weight=None and hand it on to what "
            "you compute, or write the metric by its confusion matrix, csf.metrics.ConfusionFunction(lambda c: ...)"
        ) from None
    return {parameter.name: parameter.default for parameter in signature.parameters.values()}


def _check_counts(function: LabelFunction, name: str, n_classes: int) -> None:
    """Raise an error unless a function of labels depends only on the shares of its confusion matrix."""
    # More of the right decisions than of others: no mean of all rows is that of the cells, where weights are left out.
    counts = (np.arange(n_classes**2) % 3 + 1).reshape(n_classes, -1) + np.diag(np.arange(n_classes) + 4)
    counts = counts.ravel()
    codes, total = np.arange(n_classes), counts.sum()
    truth, predicted = np.repeat(codes, n_classes), np.tile(codes, n_classes)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(counts.size), counts))
    what = f"0 to {n_classes - 1}" if n_classes > 2 else "0 and 1, 1 for the positive class,"
    try:
        by_share = np.asarray(function.of(truth, predicted, counts / total))
        by_count = np.asarray(function.of(truth, predicted, 1.0 * counts))
        by_row = np.asarray(function.of(truth[rows], predicted[rows], np.ones(total)))
    except Exception as error:
        raise ValueError(
            f"{name!r} fails where csf calls it, on the codes {what} with weights: {type(error).__name__}: {error}"
        ) from error
    if by_share.ndim or not np.isreal(by_share) or not np.isfinite(by_share):
        raise ValueError(f"{name!r} must return one finite number, got {by_share.tolist()!r}; give it an average")
    close = partial(np.isclose, rtol=1e-9, atol=_SAME)
    if not close(by_row, by_count):
        raise ValueError(
            f"{name!r} is {float(by_row):.6g} for {total:g} rows, but {float(by_count):.6g} when sample_weight counts "
            "the same rows. It ignores the weights, or it depends on more than the confusion matrix. Pass "
            "sample_weight to what it computes"
        )
    if not close(by_share, by_count):
        raise ValueError(
            f"{name!r} is {float(by_share):.6g} when the weights sum to 1 and {float(by_count):.6g} when they sum to "
            f"{total:g}, so it is a total. Divide it by sample_weight.sum() to make it a mean over rows"
        )
