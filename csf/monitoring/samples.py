"""What samples add to the sums of a monitored metric: checks of their labels, weights and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Estimator, IntArray
from csf._common.validation import are_missing, as_array, check_number, check_share, floats, in_named_order, label_array
from csf.monitoring.bets import TermHistogram
from csf.monitoring.cohorts import NO_LABEL, Cohort, RowId
from csf.monitoring.terms import HEAVIER, Given, Watchable, WatchedRows, row_terms

OptionalArray: TypeAlias = ArrayLike | None
# So many samples without a negative prediction are no chance.
_ONE_SIDED = 200


@dataclass
class Added:
    """Labelled samples: what each one adds to numerator and denominator, and positions of their classes."""

    top: Array
    bottom: Array
    truth: IntArray
    y_pred: IntArray
    is_alert: BoolArray
    histogram: Array

    @property
    def sums(self) -> Array:
        """Numbers of samples, of those not predicted positive and of those that count; then sums, and the histogram."""
        top, bottom = self.top, self.bottom
        counts = [top.size, (~self.is_alert).sum(), ((top != 0.0) | (bottom != 0.0)).sum()]
        products = [top.sum(), bottom.sum(), top @ top, top @ bottom, bottom @ bottom]
        return np.concatenate([counts, products, self.histogram])


class WatchedSamples:
    """Samples of a monitor, and what they add; see `Monitor` for the parameters."""

    def __init__(
        self,
        search: Estimator,
        metric: Watchable,
        side: str,
        level: float,
        name: str | None,
        of: int | None,
        audit: float,
        max_weight: float | None,
        max_cost: float | None,
    ) -> None:
        self.search, self.side, self.level, self.audit = search, side, level, audit
        self.name = metric.name if name is None else name
        if max_weight is None and search.max_sample_weight_ is not None:
            max_weight = HEAVIER * search.max_sample_weight_
        # A bet on weighted samples is one on bounded terms if their bound is fixed before they are seen.
        self.max_weight = None if max_weight is None else check_number(max_weight, "max_weight", positive=True)
        self.rows = self._watched_rows(of, max_cost)
        self.classes, self.n_labels, self._is_alert = self.rows.classes, self.rows.n_labels, self.rows.is_alert
        self.terms = row_terms(metric, self.rows)
        self.max_cost = self.terms.max_cost
        self.histogram = TermHistogram(self.terms.fixed, self.terms.per_cost, self.max_weight, self.terms.largest)
        self.largest = self._largest_gain()

    def _watched_rows(self, of: int | None, max_cost: float | None) -> WatchedRows:
        """Describe the rows; raise a ValueError for an audit of rows with several labels."""
        # Of labels that share a threshold a row has each one, or not.
        names = getattr(self.search, "label_names_", ())
        classes, null = (np.arange(2), 0) if len(names) else (self.search.classes_, self.search.null_class_)
        rows = WatchedRows(
            search=self.search,
            demand=self.demand,
            classes=classes,
            negative=None if null is None else classes.tolist().index(null),
            of=of,
            n_labels=len(names) if len(names) and of is None else 1,
            audit=self.audit,
            max_cost=None if max_cost is None else check_number(max_cost, "max_cost", positive=True),
        )
        if rows.n_labels > 1 and self.audit != 1.0:
            raise ValueError(
                f"audit={self.audit:g} is for predictions of one label, and {self.name} is of all labels of a row. "
                "Label whole rows, or watch each label, such as monitor('f1 >= 0.5', audit=0.1)"
            )
        return rows

    @property
    def demand(self) -> str:
        """Constraint that is monitored, such as ``"f1 >= 0.6"``."""
        return f"{self.name} {self.side} {self.level:.4g}"

    # ---------------------------------------------------------------- terms

    def _largest_gain(self) -> float:
        """Return the largest amount that a sample can add where the level is kept."""
        if not self.audit and self._counts_negatives:
            raise ValueError(
                f"with audit=0 only alerts have labels, but {self.name} also depends on the other samples. "
                "Watch precision, or label a random share q of the other samples and pass audit=q"
            )
        gains = self.sign * (self.histogram.places @ (1.0, -self.level))
        if not gains.min() < 0.0 < gains.max():
            raise ValueError(
                f"{self.demand} cannot be watched: the metric is above this level for all predictions, or below it "
                "for all"
            )
        return float(gains.max())

    @property
    def sign(self) -> float:
        """1 where the metric has to be at least at the level, and -1 where it has to be at most there."""
        return 1.0 if self.side == ">=" else -1.0

    @property
    def has_negative(self) -> bool:
        """True where some class is the negative one."""
        return not self.rows.is_positive.all()

    @property
    def _counts_negatives(self) -> bool:
        """True where samples that are not predicted positive count."""
        return self.terms.pairs is None or bool(self.terms.pairs[:, ~self._is_alert].any())

    @property
    def _needs_no_labels(self) -> bool:
        """True where predictions alone count."""
        pairs = self.terms.pairs
        return pairs is not None and bool((pairs == pairs[:1]).all())

    # ---------------------------------------------------------------- samples with a label

    def added(
        self, y: OptionalArray, y_pred: ArrayLike, cost: OptionalArray, sample_weight: OptionalArray, given: Given
    ) -> Added:
        """Compute what samples add; those without a label or of weight 0 are left out."""
        if y is None and not self._needs_no_labels:
            raise ValueError(f"y=None is for metrics of predictions alone, and {self.name} needs labels: give y")
        pred = self._labels(y_pred, "y_pred")
        truth = pred if y is None else self._labels(y, "y")
        if truth.shape != pred.shape:
            raise ValueError(f"y and y_pred must be of one length, got shapes {truth.shape} and {pred.shape}")
        known = np.asarray(~are_missing(truth).any(axis=1))
        costs = self.terms.costs_of(given, known.size, self.demand)
        weight, known = self._weights(sample_weight, known)
        if cost is not None:
            costs = np.full((known.size, 1), np.nan)
            costs[known, 0] = self._costs(cost, known)
        truth, pred = self._positions(truth[known], "y"), self._positions(pred[known], "y_pred")
        return self.terms_of(truth, pred, costs[known], weight)

    def terms_of(self, truth: IntArray, pred: IntArray, costs: Array, weight: Array) -> Added:
        """Compute what samples add whose classes, (n, n_labels), costs, (n, n_costs), and weights are known."""
        alert = self._is_alert[pred[:, 0]]
        kinds, parts, cost = self.terms.split(truth, pred, costs)
        if self.max_cost is not None:
            self._up_to_largest(cost)
        terms = self.terms.fixed[kinds] + cost[:, None, None] * self.terms.per_cost[kinds]
        top, bottom = weight * np.einsum("nm,nmk->kn", parts, terms)
        if self.terms.takes_cost and self.max_cost is None:
            top = np.where(np.isnan(costs[:, 0]), top, costs[:, 0] * bottom)
        return Added(top, bottom, truth, pred, alert, self.histogram.count(kinds, parts, weight, cost))

    def _labels(self, values: ArrayLike, what: str) -> Array:
        """Return labels of rows, (n, n_labels); one label a row may be one-dimensional."""
        if what == "y" and isinstance(values, np.ma.MaskedArray):  # what is below a mask is not known
            values = np.ma.filled(values.astype(object), np.nan)
        names = self.search.label_names_.tolist() if self.n_labels > 1 else ()
        values = in_named_order(values, names, what)
        # Only labels may still be missing.
        labels = label_array(values, what) if what == "y_pred" else as_array(values, what)
        labels = labels[:, None] if labels.ndim == 1 and self.n_labels == 1 else labels
        if labels.ndim != 2 or labels.shape[1] != self.n_labels:
            wanted = "be one-dimensional" if self.n_labels == 1 else f"have a column for each of {self.n_labels} labels"
            raise ValueError(f"labels and predictions must {wanted}, got shape {labels.shape}")
        return labels

    def _positions(self, labels: Array, what: str) -> IntArray:
        """Return the positions of labels among the classes."""
        if not np.isin(labels, self.classes).all():
            odd = list(dict.fromkeys(labels[~np.isin(labels, self.classes)].tolist()))[:5]
            way = "; give what search.predict(X) returns" if what == "y_pred" else ""
            raise ValueError(f"{what} holds the labels {odd}, the search knows {self.classes.tolist()}{way}")
        return (labels[..., None] == self.classes).argmax(axis=-1)

    def _weights(self, sample_weight: ArrayLike | None, known: BoolArray) -> tuple[Array, BoolArray]:
        """Return the weights of the samples that count, and which ones do: a weight of 0 leaves one out."""
        if sample_weight is None and self.search.max_sample_weight_ is not None:
            warn(
                f"the search was fitted with sample weights, and {self.demand} is a level of the weighted metric, but "
                "these samples have none: each one counts once. Give sample_weight= (csf monitor --weight COLUMN), of "
                "ones where all count alike"
            )
        weight = np.ones(known.size) if sample_weight is None else _amounts(sample_weight, "sample_weight", known)
        known, most = known & (weight > 0.0), 1.0 if self.max_weight is None else self.max_weight
        if known.any() and weight[known].max() > most:
            raise ValueError(
                f"a sample has the weight {weight[known].max():g}, but this monitor bets on weights of at most "
                f"{most:g}: start another one with a larger max_weight= (csf monitor --max-weight)"
            )
        return weight[known], known

    def _costs(self, cost: ArrayLike, known: BoolArray) -> Array:
        if not self.terms.takes_cost:
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
                "another one with a larger max_cost= (csf monitor --max-cost)"
            )
        return costs

    # ---------------------------------------------------------------- samples that wait for one

    def decided(self, rows: list[RowId], y_pred: ArrayLike, sample_weight: ArrayLike | None, given: Given) -> Cohort:
        """Check decisions; return a cohort, still without a name, of the rows whose labels will come."""
        if self._needs_no_labels:
            raise ValueError(
                f"{self.name} needs no labels to wait for: give update(None, y_pred) (csf monitor without --id)"
            )
        codes, weight = self._positions(self._labels(y_pred, "y_pred"), "y_pred"), None
        costs = self.terms.costs_of(given, len(codes), self.demand)
        if sample_weight is not None or self.search.max_sample_weight_ is not None:
            self._weights(sample_weight, np.ones(len(codes), dtype=bool))
            weight = np.ones(len(codes)) if sample_weight is None else floats(sample_weight, "sample_weight")
        if self.audit == 0.0:  # only alerts get a label
            kept = self._is_alert[codes[:, 0]]
            rows, codes, costs = [row for row, alert in zip(rows, kept) if alert], codes[kept], costs[kept]
            weight = None if weight is None else weight[kept]
        return Cohort("", rows, codes, np.full(codes.shape, NO_LABEL), weight, costs)

    def labelled(self, y: ArrayLike, cost: ArrayLike | None) -> tuple[IntArray, Array | None]:
        """Check labels of samples that wait; return their positions and costs, which costs of rows had before."""
        truth = self._labels(y, "y")
        known = np.asarray(~are_missing(truth).any(axis=1))
        codes, costs = np.full(truth.shape, NO_LABEL), np.full((known.size, 1), np.nan)
        codes[known] = self._positions(truth[known], "y")
        if cost is not None:
            costs[known, 0] = self._costs(cost, known)
        return codes, None if self.terms.by_row else costs

    def completed(self, cohort: Cohort, negative: bool) -> Added:
        """Compute what a batch that waited adds.

        Samples without a label are negative, or left out. Those without a cost have the one of their cell.
        """
        others = np.flatnonzero(~self.rows.is_positive)
        y = np.where(cohort.y == NO_LABEL, others[0] if negative else NO_LABEL, cohort.y)
        weight = np.ones(len(y)) if cohort.weight is None else cohort.weight
        kept = (y != NO_LABEL).all(axis=1) & (weight > 0.0)
        return self.terms_of(y[kept], cohort.y_pred[kept], cohort.cost[kept], weight[kept])

    # ---------------------------------------------------------------- what can be watched

    def check_both_sides(self, y_pred: IntArray, counted: Array) -> None:
        """Raise a ValueError where labels are probably those of alerts alone; ``counted`` are all and not alerts."""
        n, alert = counted[0] + len(y_pred), self._is_alert
        # Where costs of rows decide, all of them may be positive.
        of_pairs = self.terms.pairs is not None and self._counts_negatives and not self._needs_no_labels
        if alert.all() or self.audit == 0.0 or n < _ONE_SIDED or not of_pairs:
            return
        if not counted[1] and alert[y_pred[:, 0]].all():
            raise ValueError(
                f"all {n:.0f} labelled samples were predicted positive, but {self.name} also "
                "depends on the others. If you label alerts only, monitor('precision >= ...', audit=0) watches "
                "their precision. Otherwise label a random share q of the other samples too, and pass audit=q"
            )


def check_audit(audit: float) -> float:
    """Check the share of samples that are not predicted positive and have labels."""
    return 0.0 if not isinstance(audit, bool) and audit == 0 else check_share(audit, "audit")


def _amounts(values: ArrayLike, name: str, known: BoolArray) -> Array:
    """Check amounts of samples, numbers >= 0; those of samples that are not ``known`` may be missing."""
    amounts = floats(values, name)
    if amounts.shape != known.shape or not (np.isfinite(amounts[known]) & (amounts[known] >= 0.0)).all():
        raise ValueError(f"{name} must hold a finite number >= 0 for each of {known.size} samples")
    return amounts
