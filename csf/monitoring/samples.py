"""What samples add to the sums of a monitored metric: checks of their labels, weights and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray
from csf._common.validation import check_number, check_share, check_unmasked, floats
from csf.metrics.constraints import CELLS, MeanCost, gains_of, terms_of
from csf.monitoring.bets import TermHistogram
from csf.monitoring.cohorts import NO_LABEL, Cohort, RowId

# Where nothing else is said, later weights may be so many times as large as those of `fit`.
_HEAVIER = 2.0
# So many samples without a negative prediction are no chance.
_ONE_SIDED = 200


@dataclass
class Added:
    """Labelled samples: what each one adds to numerator and denominator, its cell and its prediction as a position."""

    top: Array
    bottom: Array
    cells: IntArray
    y_pred: IntArray
    histogram: Array


class SampleTerms:
    """Terms of the samples of a monitor, see `Monitor` for the parameters."""

    def __init__(
        self,
        search: Any,
        metric: Any,
        side: str,
        level: float,
        *,
        audit: float,
        max_weight: float | None,
        max_cost: float | None,
    ) -> None:
        self.search, self.metric, self.side, self.level, self.audit = search, metric, side, level, audit
        self.terms = _terms(metric, search)
        if max_weight is None and search.max_sample_weight_ is not None:
            max_weight = _HEAVIER * search.max_sample_weight_
        # A bet on weighted samples is one on bounded terms if their bound is fixed before they are seen.
        self.max_weight = None if max_weight is None else check_number(max_weight, "max_weight", positive=True)
        self.max_cost = None if max_cost is None else check_number(max_cost, "max_cost", positive=True)
        if max_cost is not None and not isinstance(metric, MeanCost):
            raise ValueError(
                "max_cost= is for a monitor of csf.metrics.MeanCost, but this monitor watches "
                f"{self.demand}. Leave it out"
            )
        self.largest = self._largest_gain() * (self.max_weight or 1.0)
        self.histogram = self._make_histogram()

    @property
    def demand(self) -> str:
        """Constraint that is monitored, such as ``"f1 >= 0.6"``."""
        return f"{self.metric.name} {self.side} {self.level:.4g}"

    # ---------------------------------------------------------------- samples with a label

    def added(
        self, y: ArrayLike | None, y_pred: ArrayLike, cost: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Added:
        """Compute what samples add; those without a label or of weight 0 are left out."""
        if y is None and not self._needs_no_labels:
            raise ValueError(f"y=None is for metrics of predictions alone, and {self.metric.name} needs labels: give y")
        pred = np.asarray(check_unmasked(y_pred, "y_pred"))
        truth = pred if y is None else np.asarray(y)
        if truth.ndim != 1 or truth.shape != pred.shape:
            raise ValueError(f"y and y_pred must be of one length, got shapes {truth.shape} and {pred.shape}")
        # What is below a mask is not known.
        known = _known(truth) & ~np.ma.getmask(pred if y is None else y)
        weight, known = self._weights(sample_weight, known)
        truth, pred = truth[known], pred[known]
        self._positions(truth, "y")
        codes = self._positions(pred, "y_pred")
        cells, alert = self._cells(truth, pred)
        top, bottom = self._table[cells].T
        if cost is not None:
            top, bottom = self._costs(cost, known), np.ones(cells.size)
        kinds = cells + 4 * ~alert
        if self.max_cost is not None:
            kinds, top = (~alert).astype(int), self._up_to_largest(top)
        histogram = self.histogram.count(kinds, weight, top)
        weight = weight * (np.where(alert, 1.0, 1.0 / self.audit) if self.audit else alert)
        return Added(weight * top, weight * bottom, cells, codes, histogram)

    @property
    def _table(self) -> Array:
        """Numerators and denominators of the cells."""
        return np.array([self.terms[cell] for cell in CELLS])

    def _positions(self, labels: Array, what: str) -> IntArray:
        """Return the positions of labels among the classes of the search."""
        classes = self.search.classes_
        if not np.isin(labels, classes).all():
            odd = np.setdiff1d(labels, classes)[:5].tolist()
            way = "; give what search.predict(X) returns" if what == "y_pred" else ""
            raise ValueError(f"{what} holds the labels {odd}, the search knows {classes.tolist()}{way}")
        return (labels[:, None] == classes).argmax(axis=1)

    def _cells(self, truth: Array, pred: Array) -> tuple[IntArray, BoolArray]:
        """Return the cells of samples, and whether each one is predicted positive."""
        # Of several classes that are all alike the right ones are "tp", see `csf.metrics.constraints.Share`.
        null, right = self.search.null_class_, truth == pred
        is_pos, alert = (labels != null if null is not None else np.ones_like(right) for labels in (truth, pred))
        return np.where(is_pos, np.where(right, 0, 1), np.where(right, 3, 2)), alert

    def _make_histogram(self) -> TermHistogram:
        """Make a histogram with a place for each cell, or cost, that samples can have if they are alerts, or not."""
        unseen = 1.0 / self.audit if self.audit else 0.0
        if self.max_cost is not None:
            return TermHistogram(np.array([[0.0, 1.0], [0.0, unseen]]), self.max_weight, self.max_cost)
        classes, terms = self.search.classes_, np.zeros((8, 2))
        cells, alert = self._cells(*(each.ravel() for each in np.meshgrid(classes, classes)))
        terms[cells + 4 * ~alert] = np.where(alert, 1.0, unseen)[:, None] * self._table[cells]
        return TermHistogram(terms, self.max_weight, None)

    def _weights(self, sample_weight: ArrayLike | None, known: BoolArray) -> tuple[Array, BoolArray]:
        """Return the weights of the samples that count, and which ones do: a weight of 0 leaves one out."""
        if sample_weight is None and self.search.max_sample_weight_ is not None:
            warn(
                f"the search was fitted with sample weights, and {self.demand} is a level of the weighted metric, but "
                "these samples have none: each one counts once. Give sample_weight= (csf monitor --weight COLUMN), of "
                "ones where all count alike"
            )
        if sample_weight is not None and self.max_weight is None:
            raise ValueError(
                "this monitor takes no sample_weight, because its bets have to know beforehand how large a weight can "
                "be: make it with max_weight= (csf monitor --max-weight), the largest one that any sample can have"
            )
        weight = np.ones(known.size) if sample_weight is None else _amounts(sample_weight, "sample_weight", known)
        known = known & (weight > 0.0)
        if self.max_weight is not None and known.any() and weight[known].max() > self.max_weight:
            raise ValueError(
                f"a sample has the weight {weight[known].max():g}, but this monitor bets on weights of at most "
                f"{self.max_weight:g}: start another one with a larger max_weight= (csf monitor --max-weight)"
            )
        return weight[known], known

    def _costs(self, cost: ArrayLike, known: BoolArray) -> Array:
        if not isinstance(self.metric, MeanCost):
            raise ValueError(
                f"cost= is for a monitor of csf.metrics.MeanCost, but this monitor watches {self.demand}. Leave it out"
            )
        if self.side == ">=":
            raise ValueError(
                f"this monitor watches {self.demand}, and costs of samples have no upper bound to bet on. Watch that "
                "their mean is at most a level, as in Constraint(MeanCost(), '<=', 0.3)"
            )
        return self._up_to_largest(_amounts(cost, "cost", known)[known])

    def _up_to_largest(self, costs: Array) -> Array:
        """Return costs; raise a ValueError where one is above the largest."""
        if self.max_cost is not None and costs.max(initial=0.0) > self.max_cost:
            raise ValueError(
                f"a sample costs {costs.max():g}, but this monitor takes costs of at most {self.max_cost:g}: start "
                "another one with a larger max_cost="
            )
        return costs

    # ---------------------------------------------------------------- samples that wait for one

    def decided(
        self, rows: list[RowId], y_pred: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[list[RowId], IntArray, Array | None]:
        """Check decisions; return the rows whose labels will come, their predictions and their weights."""
        if self._needs_no_labels:
            raise ValueError(
                f"{self.metric.name} needs no labels to wait for: give update(None, y_pred) (csf monitor without --id)"
            )
        codes, weight = self._positions(_flat(check_unmasked(y_pred, "y_pred")), "y_pred"), None
        if sample_weight is not None or self.search.max_sample_weight_ is not None:
            self._weights(sample_weight, np.ones(codes.size, dtype=bool))
            weight = np.ones(codes.size) if sample_weight is None else floats(sample_weight, "sample_weight")
        if self.audit == 0.0:  # only alerts get a label
            kept = self.search.classes_[codes] != self.search.null_class_
            rows, codes = [row for row, alert in zip(rows, kept) if alert], codes[kept]
            weight = None if weight is None else weight[kept]
        return rows, codes, weight

    def labelled(self, y: ArrayLike, cost: ArrayLike | None) -> tuple[IntArray, Array]:
        """Check labels of samples that wait; return their positions and costs, where there are some."""
        truth = _flat(y)
        known = _known(truth) & ~np.ma.getmask(y)
        codes, costs = np.full(known.size, NO_LABEL), np.full(known.size, np.nan)
        codes[known] = self._positions(truth[known], "y")
        if cost is not None:
            costs[known] = self._costs(cost, known)
        return codes, costs

    def completed(self, cohort: Cohort, negative: bool) -> tuple[Array, Array, Array | None]:
        """Return labels, predictions and costs of a batch that counts, without a label for what is left out.

        Samples without a label are negative, or left out. Those without a cost have the one of their cell if others of
        the batch have one.
        """
        classes, pred = self.search.classes_, self.search.classes_[cohort.y_pred]
        y = np.empty(pred.size, dtype=object)
        y[:] = [
            classes[code] if code != NO_LABEL else self.search.null_class_ if negative else None for code in cohort.y
        ]
        if np.isnan(cohort.cost).all():
            return y, pred, None
        cells, _ = self._cells(np.where(_known(y), y, pred), pred)
        return y, pred, np.where(np.isnan(cohort.cost), self._table[cells, 0], cohort.cost)

    # ---------------------------------------------------------------- what can be watched

    @property
    def _needs_no_labels(self) -> bool:
        """True where predictions alone count."""
        terms = self.terms
        return terms["tp"] == terms["fp"] and terms["fn"] == terms["tn"]

    def check_both_sides(self, y_pred: IntArray, counts: Array) -> None:
        """Raise a ValueError where labels are probably those of alerts alone; ``counts`` are those of the cells."""
        null, n = self.search.null_class_, counts.sum() + y_pred.size
        if null is None or self.audit == 0.0 or self._needs_no_labels or n < _ONE_SIDED:
            return
        if counts[1] + counts[3] == 0.0 and (self.search.classes_[y_pred] != null).all() and self._table[[1, 3]].any():
            raise ValueError(
                f"all {n:.0f} labelled samples were predicted positive, but {self.metric.name} also "
                "depends on the others. If you label alerts only, monitor('precision >= ...', audit=0) watches "
                "their precision. Otherwise label a random share q of the other samples too, and pass audit=q"
            )

    def _largest_gain(self) -> float:
        """Return the largest amount that a sample can add where the level is kept."""
        gains = gains_of(self.terms, self.side, self.level)
        unseen = 1.0 / self.audit if self.audit else 0.0
        if not self.audit and gains[[1, 3]].any():
            raise ValueError(
                f"with audit=0 only alerts have labels, but {self.metric.name} also depends on the other samples. "
                "Watch precision, or label a random share q of the other samples and pass audit=q"
            )
        gains = gains * np.array([1.0, unseen, 1.0, unseen])
        if not gains.min() < 0.0 < gains.max():
            raise ValueError(
                f"{self.demand} cannot be watched: the metric is above this level for all predictions, or below it "
                "for all"
            )
        return float(gains.max())


def check_audit(audit: Any) -> float:
    """Check the share of samples that are not predicted positive and have labels."""
    return 0.0 if not isinstance(audit, bool) and audit == 0 else check_share(audit, "audit")


def _terms(metric: Any, search: Any) -> dict[str, tuple[float, float]]:
    """Return what samples of each cell add to a metric that can be monitored on predictions of a search."""
    terms, several = terms_of(metric), search.null_class_ is None
    if terms is None:
        raise ValueError(
            f"a monitor cannot watch {metric.name}, because it is not a ratio of sums over samples. It can watch "
            "F-beta, Jaccard, precision, recall, accuracy and mean costs; give one of them with its level, such as "
            "monitor('f1 >= 0.5')"
        )
    if several and (terms["tp"], terms["fn"]) != (terms["tn"], terms["fp"]):
        raise ValueError(
            f"{metric.name} needs two classes, and this search has {len(search.classes_)}. Watch the accuracy "
            "instead, such as monitor('accuracy >= 0.8')"
        )
    return terms


def _amounts(values: ArrayLike, name: str, known: BoolArray) -> Array:
    """Check amounts of samples, numbers >= 0; those of samples that are not ``known`` may be missing."""
    amounts = floats(values, name)
    if amounts.shape != known.shape or not (np.isfinite(amounts[known]) & (amounts[known] >= 0.0)).all():
        raise ValueError(f"{name} must hold a finite number >= 0 for each of {known.size} samples")
    return amounts


def _known(labels: Array) -> BoolArray:
    """Mark the labels that are present."""
    if labels.dtype == object:
        # NaN is not equal to itself, and whether pandas.NA is, is missing as well.
        same = [label is not None and label == label for label in labels]
        return np.array([isinstance(each, bool | np.bool_) and bool(each) for each in same], dtype=bool)
    return labels == labels


def _flat(labels: ArrayLike) -> Array:
    """Return labels as an array; a column is one of rows."""
    values = np.asarray(labels)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise ValueError(f"labels and predictions must be one-dimensional, got shape {values.shape}")
    return values
