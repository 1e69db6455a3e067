"""Metrics of the confusion matrix of several classes: their values, and the gradients that make decision rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from csf._common.messages import warn
from csf._common.typing import Array, Label, Values
from csf._common.validation import check_choice, floats, names_on, only_count, places_of_names
from csf.metrics.base import CELLS, Measure, Metric, Terms, float_or_array, wrong_direction
from csf.metrics.profile import NOISE

__all__ = [
    "ConfusionFunction",
    "ConfusionMetric",
    "CostMatrix",
    "OfTwoClasses",
    "WeightedKappa",
]

# Recalls below this count as this in slopes of the G-mean: at 0 it has none.
_LOWEST_RECALL = 1e-3
# Step of differences, in parts of the largest share of a row.
_STEP = 1e-5


class ConfusionMetric(Measure):
    """Metric of the confusion matrix of any number of classes; larger is better.

    Subclass it and write `value` to search for a metric of your own; `ConfusionFunction` makes one of a plain function.

    Attributes
    ----------
    needs_order : bool
        Whether the order of the classes matters: confusing neighbours is less bad.

    Notes
    -----
    Confusion matrices hold shares of all samples: rows are true and columns predicted classes, the sum is 1. A
    differentiable metric is largest, but for ties, for the rule that predicts the class k with the largest
    ``sum_j G[j, k] p_j``, where p are the probabilities of the classes and G is the gradient at the confusion matrix of
    that rule [1]_. What the entries of a row of G have in common does not matter.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, S. Tavker, D. Khurana, P. Netrapalli, S. Agarwal, "Consistent multiclass
       algorithms for complex metrics and constraints", JMLR 25, 2024.

    Examples
    --------
    >>> class WorstRecall(ConfusionMetric):
    ...     def value(self, confusion):
    ...         return (np.diagonal(confusion, axis1=-2, axis2=-1) / confusion.sum(axis=-1)).min(axis=-1)
    >>> confusion = np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]])
    >>> float(WorstRecall().value(confusion))
    0.5
    >>> WorstRecall().gradient(confusion).round(3)[2]
    array([-5., -5.,  0.])
    """

    needs_order: bool = False
    # Number of classes that the metric is tried on where none are given.
    n_tried: int = 3
    # Constraints on classes, which only `csf.metrics.demands.ConstrainedClasses` has.
    demands: tuple[Any, ...] = ()

    @property
    def of_two(self) -> OfTwoClasses:
        """The metric of two classes."""
        return OfTwoClasses(self)

    @property
    def of_classes(self) -> ConfusionMetric:
        """The metric itself."""
        return self

    def values_at_ends(self) -> list[tuple[float, float]]:
        """Compute the metric without errors and where all is wrong, of as many classes as it takes."""
        right = np.eye(self.n_tried)
        best, worst = (float(self.value(table / len(table))) for table in (right, np.roll(right, 1, axis=1)))
        return [(best, worst)]

    def missing(self, confusion: Array) -> Values:
        """Compute by how much confusion matrices miss constraints; 0 for a metric without any.

        Parameters
        ----------
        confusion : ndarray of shape (..., n_classes, n_classes)
            Shares of all samples, rows true and columns predicted.

        Returns
        -------
        float or ndarray of shape (...)
            What is missing, in units of the constrained rate.
        """
        return float_or_array(np.zeros(np.shape(confusion)[:-2]))

    def rate(self, confusion: Array) -> float | None:
        """Compute the first constrained rate; ``None`` for a metric without constraints.

        Parameters
        ----------
        confusion : ndarray of shape (n_classes, n_classes)
            Shares of all samples, rows true and columns predicted.

        Returns
        -------
        float or None
            The rate.
        """
        return None

    def tightened(self, share: float) -> ConfusionMetric:
        """Make all constraints stricter by a share of the way, see `csf.metrics.Constraint.tightened`."""
        return self

    @abstractmethod
    def value(self, confusion: Array) -> Values:
        """Compute the metric on confusion matrices.

        Parameters
        ----------
        confusion : ndarray of shape (..., n_classes, n_classes)
            Shares of all samples, rows true and columns predicted.

        Returns
        -------
        float or ndarray of shape (...)
            One finite value for each matrix.
        """

    def affine(self, confusion: Array) -> tuple[Array, Array] | None:
        """Compute the gradient as slopes and offsets, for a gradient that is a diagonal minus the same row everywhere.

        Parameters
        ----------
        confusion : ndarray of shape (n_classes, n_classes)
            Shares of all samples.

        Returns
        -------
        tuple of ndarray or None
            Slopes and offsets of the classes, such that ``np.diag(slopes) - offsets`` is the gradient up to what a row
            has in common; ``None`` where the gradient has no such form.
        """
        return None

    def gradient(self, confusion: Array) -> Array:
        """Compute the derivatives by the shares, up to a constant in each row.

        Parameters
        ----------
        confusion : ndarray of shape (n_classes, n_classes)
            Shares of all samples.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Of `affine` where that is known; else differences of values, as samples of a true class move from the
            column that most of them are in to the others.
        """
        confusion = np.asarray(confusion, dtype=np.float64)
        known = self.affine(confusion)
        if known is not None:
            return np.diag(known[0]) - known[1]
        return _differences(self.value, confusion)


def warn_of_absent(metric: Measure, true: Array, predicted: Array) -> None:
    """Warn where classes are predicted that no sample has, and the metric leaves them out; weights by class."""
    absent = int(((true == 0.0) & (predicted > 0.0)).sum())
    if absent and metric.of_recalls:
        warn(
            f"{absent} of {true.size} classes are predicted, and no sample has them: {metric.name!r} is of the recalls "
            "of the other classes. Add samples of these, or use 'f1_macro', for which they count 0"
        )


class MetricOfSums(ConfusionMetric):
    """Metric of the shares of true and of predicted classes, and of a weighted sum of each row.

    Few of these sums change when the decision on one sample changes, so a sweep over many decisions updates only them.
    """

    def cell_weights(self, n_classes: int) -> Array:
        """Return the weight of each cell in its row's sum; by default 1 for correct predictions, 0 for others."""
        return np.eye(n_classes)

    @abstractmethod
    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the metric from the sums of rows, of columns and of weighted rows, each of shape (..., n_classes)."""

    def value(self, confusion: Array) -> Values:
        """Compute the metric on confusion matrices, see `ConfusionMetric.value`."""
        confusion = np.asarray(confusion, dtype=np.float64)
        weighted = (confusion * self.cell_weights(confusion.shape[-1])).sum(axis=-1)
        return float_or_array(self.of_sums(confusion.sum(axis=-1), confusion.sum(axis=-2), weighted))


@dataclass(frozen=True)
class ConfusionAccuracy(MetricOfSums):
    """Share of samples that are classified correctly."""

    name: ClassVar[str] = "accuracy"

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Sum the diagonal."""
        return weighted.sum(axis=-1)

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Return the slopes and offsets of the rule that predicts the most probable class."""
        return np.ones(len(confusion)), np.zeros(len(confusion))

    def terms(self) -> Terms:
        """List the terms of each cell, see `ConfusionMetric.terms`."""
        return {cell: (float(cell in ("tp", "tn")), 1.0) for cell in CELLS}


@dataclass(frozen=True)
class BalancedAccuracyOfClasses(MetricOfSums):
    """Mean of the recalls of the classes that have samples."""

    name: ClassVar[str] = "balanced_accuracy"
    of_recalls = True

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the mean recall."""
        return quotient(quotient(weighted, true).sum(axis=-1), _n_true(true))

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Return the slopes and offsets of the rule that predicts the class with the largest probability per share."""
        true, _, _ = sums_of(confusion)
        return quotient(quotient(np.ones_like(true), true), _n_true(true)), np.zeros_like(true)


@dataclass(frozen=True)
class GMeanOfClasses(MetricOfSums):
    """Geometric mean of the recalls of the classes that have samples."""

    name: ClassVar[str] = "gmean"
    of_recalls = True

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the geometric mean of the recalls."""
        some_missed = ((weighted == 0.0) & (true > 0.0)).any(axis=-1)
        return np.where(some_missed, 0.0, self._mean(quotient(weighted, true), true))

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Compute slopes and offsets, with recalls kept above 0: a recall of 0 would make all other slopes 0."""
        true, _, right = sums_of(confusion)
        recall = np.maximum(quotient(right, true), _LOWEST_RECALL)
        slopes = self._mean(recall, true) / recall
        return quotient(quotient(slopes, true), _n_true(true)), np.zeros_like(true)

    def _mean(self, recall, true):
        """Compute the geometric mean of positive recalls, 0 without classes; in logarithms, to avoid underflow."""
        logs = np.log(recall, out=np.zeros_like(recall), where=(recall > 0.0) & (true > 0.0))
        return np.where(true.any(axis=-1), np.exp(quotient(logs.sum(axis=-1), _n_true(true))), 0.0)


@dataclass(frozen=True)
class MCCOfClasses(MetricOfSums):
    """Matthews correlation coefficient of several classes (Gorodkin's), 0 where one class is true or predicted."""

    name: ClassVar[str] = "mcc"

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the covariance of true and predicted classes over the root of their variances."""
        covariance, spread_predicted, spread_true = self._parts(true, predicted, weighted)
        return quotient(covariance, np.sqrt(spread_predicted) * np.sqrt(spread_true))

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Compute slopes and offsets, see `ConfusionMetric.affine`."""
        true, predicted, right = sums_of(confusion)
        covariance, spread_predicted, spread_true = self._parts(true, predicted, right)
        # Where one class is predicted the covariance is 0, and the direction that is left says p - share.
        spread = spread_predicted if spread_predicted > 0.0 else 1.0
        slope = 1.0 / np.sqrt(spread * (spread_true if spread_true > 0.0 else 1.0))
        return np.full_like(true, slope), slope * (true - covariance / spread * predicted)

    def _parts(self, true, predicted, right):
        """Compute the covariance and both variances; exactly 0 where one class has all samples."""
        total = true.sum(axis=-1, keepdims=True)
        covariance = right.sum(axis=-1) * total[..., 0] - (true * predicted).sum(axis=-1)
        return covariance, _spread(predicted), _spread(true)


class _Kappa(MetricOfSums):
    """One minus the ratio of the weighted errors to those expected by chance, 0 where chance makes no error."""

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the agreement beyond chance as a share of the possible agreement beyond chance."""
        by_chance = ((true @ self.cell_weights(true.shape[-1])) * predicted).sum(axis=-1)
        return np.where(by_chance > 0.0, 1.0 - quotient(weighted.sum(axis=-1), by_chance), 0.0)


@dataclass(frozen=True)
class KappaOfClasses(_Kappa):
    """Cohen's kappa, 0 where chance makes no error."""

    name: ClassVar[str] = "cohen_kappa"

    def cell_weights(self, n_classes: int) -> Array:
        """Return weight 1 for errors and 0 for correct predictions."""
        return _distances(n_classes, 0)

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Compute slopes and offsets, see `ConfusionMetric.affine`."""
        true, predicted, _ = sums_of(confusion)
        wrong = (confusion * _distances(len(confusion), 0)).sum()
        by_chance = float((np.outer(true, predicted) * _distances(len(confusion), 0)).sum()) or 1.0
        return np.full_like(true, 1.0 / by_chance), wrong * true / by_chance**2


@dataclass(frozen=True)
class WeightedKappa(_Kappa):
    """Cohen's kappa of ordered classes: the weight of an error depends on its distance from the true class.

    Parameters
    ----------
    weights : {"quadratic", "linear"}, default="quadratic"
        Whether the distance of the codes counts squared or as it is.

    Raises
    ------
    ValueError
        If ``weights`` is something else.

    Notes
    -----
    It is 0 where chance would be right always.

    References
    ----------
    .. [1] J. Cohen, "Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit",
       Psychological Bulletin 70, 1968.

    Examples
    --------
    >>> WeightedKappa().value(np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]]))
    0.356
    """

    weights: str = "quadratic"
    needs_order = True

    def __post_init__(self) -> None:
        check_choice(self.weights, "weights", ("quadratic", "linear"))

    @property
    def name(self) -> str:
        """Name of the metric: ``"quadratic_kappa"`` or ``"linear_kappa"``."""
        return f"{self.weights}_kappa"

    def cell_weights(self, n_classes: int) -> Array:
        """Return the distances of predicted from true classes."""
        return _distances(n_classes, 2 if self.weights == "quadratic" else 1)

    def gradient(self, confusion: Array) -> Array:
        """Compute the derivatives, see `ConfusionMetric.gradient`."""
        confusion = np.asarray(confusion, dtype=np.float64)
        true, predicted, _ = sums_of(confusion)
        weights = self.cell_weights(len(confusion))
        by_chance = float(true @ weights @ predicted) or 1.0
        return (weights * confusion).sum() / by_chance**2 * (true @ weights) - weights / by_chance


@dataclass(frozen=True)
class CostMatrix(MetricOfSums):
    """Minus the mean cost of the decisions, for known costs.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes)
        What it costs to decide for a class (columns) where another one is true (rows). Rows and columns of a frame
        that has names go by these, in any order; rows without names are in the order of the columns. All others are in
        the order of the sorted classes, of two classes the negative one first. Negative costs are gains.

    Raises
    ------
    ValueError
        If the costs are not a square of finite numbers, or rows have other names than columns; on use, if there are not
        as many classes, or they have other names.

    Examples
    --------
    >>> costs = CostMatrix([[0, 1, 1], [1, 0, 1], [10, 10, 0]])
    >>> costs.value(np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]]))
    -1.3
    """

    name: ClassVar[str] = "cost_matrix"
    costs: ArrayLike
    # Names of the classes of a frame.
    names: tuple[Label, ...] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        names, costs = _names(self.costs), floats(self.costs, "costs")
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2 or not np.isfinite(costs).all():
            raise ValueError(
                "costs must be a square of finite numbers, a row for each true and a column for each decided class, "
                f"got {self.costs!r}"
            )
        if names is not None:
            costs = costs[:, _places(names[1], names[0])]
            object.__setattr__(self, "names", tuple(names[0]))
        # Tuples can be compared and hashed, and nobody changes them.
        object.__setattr__(self, "costs", tuple(map(tuple, costs.tolist())))

    @property
    def unit(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (of these costs)
        """Difference between the largest and the smallest cost."""
        return float(np.ptp(np.asarray(self.costs))) or 1.0

    @property
    def n_tried(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] (of these costs)
        """Number of classes that it has costs for."""
        return len(np.asarray(self.costs))

    @property
    def largest_level(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (of these costs)
        """Largest cost, the largest level of a constraint that has a meaning."""
        return float(np.max(self.costs))

    def for_classes(self, classes: Array) -> CostMatrix:
        """Order the costs as the classes, see `ConfusionMetric.for_classes`; refuse other names with a ValueError."""
        if self.names is None:
            return self
        order = _places(self.names, classes.tolist())
        return CostMatrix(np.asarray(self.costs)[np.ix_(order, order)])

    def cell_weights(self, n_classes: int) -> Array:
        """Return the costs."""
        costs = np.asarray(self.costs)
        if self.names is not None:
            raise ValueError(
                f"the cost matrix has the names {list(self.names)}, which only fit, score and csf.metric_interval put "
                "in the order of the classes; give CostMatrix(frame.loc[classes, classes].to_numpy()), classes sorted"
            )
        if len(costs) != n_classes:
            raise ValueError(
                f"the cost matrix is for {len(costs)} classes, and there are {n_classes}; give a row and a column for "
                "each class, in sorted order"
            )
        return costs

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute minus the mean cost."""
        return -weighted.sum(axis=-1)

    def terms(self) -> Terms | None:
        """List the terms of each cell, see `ConfusionMetric.terms`; ``None`` for more than two classes."""
        if len(np.asarray(self.costs)) != 2:
            return None
        (tn, fp), (fn, tp) = self.cell_weights(2)
        return {cell: (-float(cost), 1.0) for cell, cost in zip(CELLS, (tp, fn, fp, tn))}

    def gradient(self, confusion: Array) -> Array:
        """Return minus the costs, see `ConfusionMetric.gradient`."""
        return -self.cell_weights(len(confusion))


@dataclass(frozen=True)
class ConfusionFunction(ConfusionMetric):
    """Metric given by a function of one confusion matrix.

    Parameters
    ----------
    function : callable
        Takes an array of shape (n_classes, n_classes), shares of all samples with rows true and columns predicted, and
        returns a finite number; larger is better. Give a module-level function if the search has to be pickled.
    label : str, default="custom"
        Name for tables and plots.

    Raises
    ------
    TypeError
        If the function cannot be called or the label is no text.
    ValueError
        On use, if the function does not return one finite number.

    Examples
    --------
    >>> worst = ConfusionFunction(lambda c: (np.diag(c) / c.sum(axis=1)).min(), label="worst recall")
    >>> worst.value(np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]]))
    0.5
    """

    function: Callable[[Array], float]
    label: str = "custom"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be a function of a confusion matrix, got {self.function!r}")
        if not isinstance(self.label, str):
            raise TypeError(f"label must be a text, got {self.label!r}")

    @property
    def name(self) -> str:
        """Label of the metric."""
        return self.label

    def value(self, confusion: Array) -> Values:
        """Call the function on each matrix, see `ConfusionMetric.value`."""
        confusion = np.asarray(confusion, dtype=np.float64)
        shape = confusion.shape[:-2]
        values = [self._value(matrix) for matrix in confusion.reshape(-1, *confusion.shape[-2:])]
        return float_or_array(np.array(values, dtype=np.float64).reshape(shape))

    def _value(self, matrix):
        value = floats(self.function(matrix), self.label)
        if value.ndim or not np.isfinite(value):
            raise ValueError(
                f"{self.label!r} must return one finite number for a confusion matrix, got {value.tolist()!r} for "
                f"{matrix.tolist()}; say what it is worth where a class is never true or never predicted"
            )
        return float(value)


@dataclass(frozen=True)
class OfTwoClasses(Metric):
    """Metric of the confusion matrix as a metric of error profiles of two classes: negative first, positive second.

    Parameters
    ----------
    confusion : ConfusionMetric
        The metric.

    Raises
    ------
    TypeError
        If it is no such metric.

    Examples
    --------
    >>> OfTwoClasses(WeightedKappa()).value(fn=0.05, fp=0.15, pos=0.25)
    0.529
    """

    confusion: ConfusionMetric

    def __post_init__(self) -> None:
        if not isinstance(self.confusion, ConfusionMetric):
            raise TypeError(f"confusion must be a csf.metrics.ConfusionMetric, got {self.confusion!r}")

    @property
    def name(self) -> str:
        """Name of the metric of the confusion matrix."""
        return self.confusion.name

    @property
    def of_classes(self) -> ConfusionMetric:
        """The metric of any number of classes."""
        return self.confusion

    def for_classes(self, classes: Array) -> OfTwoClasses:
        """Return the metric with its costs in the order of the classes, see `Metric.for_classes`."""
        return OfTwoClasses(self.confusion.for_classes(classes))

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric on the confusion matrix of a profile, see `Metric.value`."""
        fn, fp = np.broadcast_arrays(np.asarray(fn, dtype=np.float64), np.asarray(fp, dtype=np.float64))
        neg = 1.0 - pos
        # the share of negatives is a difference itself, so that what rounding leaves of it does not shrink with it
        tn, tp = np.where(neg - fp > NOISE, neg - fp, 0.0), np.where(pos - fn > NOISE * pos, pos - fn, 0.0)
        matrices = np.stack([np.stack([tn, fp], axis=-1), np.stack([fn, tp], axis=-1)], axis=-2)
        return float_or_array(np.asarray(self.confusion.value(matrices)))

    def terms(self) -> Terms | None:
        """List the terms of each cell, see `Metric.terms`."""
        return self.confusion.terms()

    @property
    def unit(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the confusion matrix)
        """Size of a difference that matters."""
        return self.confusion.unit

    def range(self, pos: float) -> tuple[float, float]:
        """Return the values with all predictions wrong and with all right, see `Metric.range`."""
        lo, hi = (float(self.value(share * pos, share * (1.0 - pos), pos=pos)) for share in (1.0, 0.0))
        if not lo < hi:
            raise ValueError(wrong_direction(self.name, hi, lo))
        return lo, hi


def cost_matrix_of(metric: object) -> CostMatrix | None:
    """Return the matrix whose mean cost a metric is minus, of two classes too; ``None`` for others."""
    matrix = getattr(metric, "confusion", metric)
    return matrix if isinstance(matrix, CostMatrix) else None


def _names(costs: object) -> tuple[list[Label], list[Label]] | None:
    """Return the row and column names of a frame; ``None`` where it only numbers them."""
    rows, columns = (names_on(costs, axis) or [] for axis in ("index", "columns"))
    known = [names for names in (rows, columns) if not only_count(names)]
    if not known:
        return None
    # Numbers beside names only count, unless they are the same names.
    return (rows, columns) if set(rows) == set(columns) or len(known) == 2 else (known[0], known[0])


def _places(names: Sequence[Label], wanted: Sequence[Label]) -> list[int]:
    """Find the wanted names among those of a cost matrix, as they are or as strings."""
    places = places_of_names(names, wanted)
    if places is None:
        raise ValueError(
            f"the cost matrix has the names {list(names)}, and there should be {list(wanted)}, each once; name rows "
            "and columns by the classes, or give an array in the order of the sorted classes"
        )
    return places


def sums_of(confusion: Array) -> tuple[Array, Array, Array]:
    """Sum the shares of the true classes, of the predicted classes, and of the correct predictions."""
    confusion = np.asarray(confusion, dtype=np.float64)
    return confusion.sum(axis=-1), confusion.sum(axis=-2), np.diagonal(confusion, axis1=-2, axis2=-1)


def quotient(top: Values, bottom: Values, *, empty: float = 0.0) -> Array:
    """Divide, with result ``empty`` where the denominator is 0."""
    values = np.full(np.broadcast(top, bottom).shape, empty)
    return np.divide(top, bottom, out=values, where=np.greater(bottom, 0.0))


def _n_true(true):
    """Count the classes that have samples."""
    return (true > 0.0).sum(axis=-1)


def _spread(shares):
    """Compute the share of pairs of different classes, in a form that is exactly 0 where one class is all."""
    return (shares * (shares.sum(axis=-1, keepdims=True) - shares)).sum(axis=-1)


def _distances(n_classes, power):
    """Raise the distances of codes to a power; with power 0 each error counts 1."""
    codes = np.arange(n_classes)
    distance = np.abs(codes[:, np.newaxis] - codes).astype(np.float64)
    return (distance > 0.0).astype(np.float64) if power == 0 else distance**power


def _differences(value, confusion):
    """Compute differences of values as samples move from a row's largest share to another cell, and as far back."""
    n_classes = len(confusion)
    gradient, codes = np.zeros((n_classes, n_classes)), np.arange(n_classes)
    for row, largest in enumerate(confusion.argmax(axis=1)):
        step = _STEP * confusion[row, largest]
        if step > 0.0:
            # Shares never fall below 0, where a root or a logarithm has no value.
            back = np.minimum(step, confusion[row])
            shifted = np.repeat(confusion[np.newaxis], 2 * n_classes, axis=0).reshape(
                2, n_classes, n_classes, n_classes
            )
            for matrices, by in zip(shifted, (np.full(n_classes, step), -back)):
                matrices[codes, row, codes] += by
                matrices[:, row, largest] -= by
            ahead, behind = np.asarray(value(shifted))
            gradient[row] = (ahead - behind) / (step + back)
    return gradient
