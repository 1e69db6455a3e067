"""The monitor: it counts samples, bets against the level, and keeps its state in a file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from csf._common.dtypes import is_real
from csf._common.typing import Array, Axes, Estimator, Json, Label, PathLike, Samples
from csf._common.validation import (
    check_choice,
    check_count,
    check_fraction,
    check_path,
    warn_of_order,
)
from csf.monitoring.bets import ENOUGH, asymptotic, effective, log_capital_of, log_opened, of_share, of_terms
from csf.monitoring.cohorts import HUGE, Cohort, refuse_repeated, row_ids, take_labels
from csf.monitoring.horizon import log_limits
from csf.monitoring.records import Recorded, State
from csf.monitoring.samples import Added, WatchedSamples, check_audit

if TYPE_CHECKING:
    from csf.monitoring.terms import Watchable

__all__ = [
    "Monitor",
]

# An attribute of a state, or what JSON made of it.
StateValue: TypeAlias = Label

KIND, VERSION = "csf-monitor", 5
# Shares of the capital that are put at risk by one sample at most. Those of metrics that are no share, or are known by
# an audit, vary more and ask for smaller ones too.
_STAKES, _MORE_STAKES = 0.6 * 0.5 ** np.arange(5), 0.6 * 0.5 ** np.arange(9)
# Costs of rows are far below the largest one, which alone would lose such a stake.
_COST_STAKES = 0.95 * 0.5 ** np.arange(9)
# Logarithm of a capital of nothing, which JSON can hold.
_NOTHING = -1e9
# Batches that are remembered one by one; with more, neighbours are merged.
_REMEMBERED = 64
# Named batches that are recognised when they come again.
_RECOGNISED = 256
# Characters of a name.
_LONGEST = 32
# What is summed: counts of samples, then numerators, denominators, and their products. Then counts of a histogram.
_N_COUNTS, _N_SUMS = 3, 8
# What becomes of samples without a label in a batch that counts by its age.
UNLABELLED = ("negative", "drop")


class Monitor(Recorded):
    """Sequential test of whether a metric of a fitted search still keeps a level; made by ``CostSearch.monitor``.

    Attributes
    ----------
    alarm : False or str
        ``False``, or the name of the batch since which the metric is probably below its level. An alarm stays.
    name : str
        What is watched, such as ``"f1"`` and ``"recall[urgent]"``.
    value : float
        The metric on all samples that are counted; after an alarm on those since then. NaN without any.
    interval : tuple of float
        Confidence sequence of `value` at ``1 - alpha``: it may be looked at after each batch. It holds for any number
        of samples, except with costs of rows and without ``max_cost``: there it is asymptotic, and (NaN, NaN) before
        enough is counted, see Notes. After an alarm it does not count that its start was chosen by the same samples.
    capital : float
        Evidence against the level; the alarm is at `limit`.
    limit : float
        ``1 / alpha``; with ``weeks=`` what is an alarm after the batches so far, infinite before any.
    history : list of tuple
        Name, value and capital of the batches that are counted, at most 64; with more, neighbours are merged. Batches
        that wait for labels follow, with the value NaN and the present capital.
    n_samples : int
        Labelled samples that are counted.
    n_waiting : int
        Batches that wait for labels.
    awaited : list of int or str
        Ids of their rows.

    See Also
    --------
    CostSearch.monitor : Makes one, with an example.

    Notes
    -----
    `update` alone counts labels at once. Then which labels are there must not depend on the class: where those of
    positives come later than those of negatives (chargebacks, churn), most streams alarm although nothing has changed
    (all of 4000 simulated ones, of F1 with 70 positives a week whose labels are two weeks late). There, give the
    decisions to `expect` when they are made, and the labels to `update` when they come. A batch then counts when all of
    its labels are there, or ``mature_after`` batches later, and never before the batches that were expected earlier.

    So the capital after k batches depends on these k batches alone, however late their labels are, and false alarms are
    at most ``alpha``: 1.1 to 2.1 % of 4000 streams with F1, precision, recall or mean costs, where labels of positives
    came two, four or eight batches late. An alarm comes as much later as the labels do. If batches counted as soon as
    they are whole, those without positives would be first: 20 % of 4000 streams of precision alarm with 20 samples a
    day and labels of positives 60 days late, 1.6 % in the order of decisions.

    What ``unlabelled`` says of samples without a label has to be true: positives that are labelled after
    ``mature_after`` batches are counted as negative, or missing.

    Savings are one minus what is paid over what one answer to all rows costs: the one that was cheaper in ``fit``. With
    the cheaper one so far they would be no ratio of sums. Metrics of all labels of a row bet on sums over its labels,
    because these depend on each other.

    Intervals are exact for shares of which all samples are labelled. With audits, weights, F-beta, several labels a
    row, mean costs and costs of rows up to ``max_cost`` they are the values against which no bet on bounded terms has
    won. Those at 95 % missed the value at any time in 0 to 3 % of simulated streams. Asymptotic ones, of ``cost=``
    without ``max_cost``, did so in 1.5 to 3 %, after they had waited for as much as 100 equal costs; tails heavier than
    lognormal ones of sigma 1.5 ask for ``max_cost``. Alarms do not depend on intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf import CostSearch
    >>> X, y = make_classification(3000, weights=[0.9], random_state=0)
    >>> search = CostSearch(LogisticRegression(), n_trials=2, param_grid=None, cv=3).fit(X[:2000], y[:2000])
    >>> monitor = search.monitor("f1 >= 0.6", mature_after=4, unlabelled="negative")
    >>> monitor.expect(search.predict(X[2000:]), rows=np.arange(2000, 3000), name="June")
    >>> negative = np.flatnonzero(y == 0)[-500:]  # labels of negatives come first, and count for nothing yet
    >>> monitor.update(y[negative], rows=negative)
    False
    >>> monitor.n_samples, monitor.n_waiting, len(monitor.awaited)
    (0, 1, 1000)
    >>> monitor.update(y[2000:], rows=np.arange(2000, 3000))  # the same label may come again
    False
    >>> monitor.n_samples, monitor.n_waiting
    (1000, 0)
    """

    def __init__(
        self,
        search: Estimator,
        metric: Watchable,
        side: str,
        level: float,
        name: str | None = None,
        of: int | None = None,
        *,
        alpha: float,
        audit: float,
        path: PathLike | None,
        max_weight: float | None = None,
        max_cost: float | None = None,
        mature_after: int | None = None,
        unlabelled: Literal["negative", "drop"] | None = None,
        weeks: int | None = None,
    ) -> None:
        self._record = (KIND, VERSION)
        self.search, self.metric, self.side, self.level = search, metric, side, float(level)
        self.alpha, self.audit, self.path = check_fraction(alpha, "alpha"), check_audit(audit), path
        check_path(path, "path")
        self._samples = WatchedSamples(search, metric, side, level, name, of, self.audit, max_weight, max_cost)
        self.name, self.max_weight = self._samples.name, self._samples.max_weight
        self.max_cost = self._samples.max_cost
        self.mature_after, self.unlabelled = mature_after, unlabelled
        self._check_maturity()
        is_exact = self.audit == 1.0 and self.max_weight is None and self._samples.n_labels == 1
        self._share = self._samples.terms.share if is_exact else None
        self.weeks = weeks
        self._check_horizon()
        self._stakes = _STAKES if self._share else _COST_STAKES if self._samples.terms.by_row else _MORE_STAKES
        self.alarm: Literal[False] | str = False
        self.n_batches = self._n_counted = 0
        # Samples that each batch counted, with a horizon.
        self._counts: list[int] = []
        # Whether samples had costs of their own.
        self._has_costs = False
        self._mixed = np.full(self._stakes.size, _NOTHING)
        # Of each stake the likeliest start, its logarithm, and sums of the samples since then.
        self._best, self._starts = self._mixed.copy(), [""] * self._stakes.size
        self._whole = np.zeros(_N_SUMS + len(self._samples.histogram.places))
        self._since = np.zeros((self._stakes.size, self._whole.size))
        # Of remembered batches the names; their numerators, denominators and the logarithm of the capital after them.
        self._names: list[str] = []
        self._values = np.empty((0, 3))
        self._seen: list[str] = []
        self._cohorts: list[Cohort] = []
        self._resume()

    # ---------------------------------------------------------------- what is known

    @property
    def demand(self) -> str:
        """Constraint that is monitored, such as ``"f1 >= 0.6"``."""
        return self._samples.demand

    @property
    def n_samples(self) -> int:
        """Number of labelled samples so far."""
        return int(self._whole[0])

    @property
    def capital(self) -> float:
        """Evidence against the level so far."""
        return _exp(self._log_capital())

    @property
    def limit(self) -> float:
        """Evidence that is an alarm."""
        return float(np.exp(self._log_limit()))

    @property
    def value(self) -> float:
        """The metric on the samples that count, see the class."""
        return _ratio(*self._sums()[_N_COUNTS : _N_COUNTS + 2])

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence sequence of the value."""
        sums = self._sums()
        n, _, counted, top, bottom = sums[: _N_COUNTS + 2].tolist()
        if self._is_asymptotic:
            return asymptotic(sums[_N_COUNTS:_N_SUMS], self.alpha, counted)
        # Weights below 1 count in parts, of which there is no binomial share.
        if self._share is None or self.max_cost is not None or sums[_N_SUMS:].sum() != n:
            return of_terms(self._samples.histogram.places, sums[_N_SUMS:], counted, self.alpha)
        ones = round(self._share.share(top / bottom) * counted) if bottom > 0.0 else 0
        low, high = of_share(ones, counted, self.alpha, float(self._share.share(self.level)))
        return float(self._share.value(low)), float(self._share.value(high))

    @property
    def _is_asymptotic(self) -> bool:
        """True where costs of samples have no largest one."""
        return self._has_costs and self.max_cost is None

    @property
    def history(self) -> list[tuple[str, float, float]]:
        """Name, value and capital of batches."""
        counted = [(name, _ratio(*sums), _exp(log)) for name, (*sums, log) in zip(self._names, self._values.tolist())]
        return counted + [(cohort.name, float("nan"), self.capital) for cohort in self._cohorts]

    @property
    def n_waiting(self) -> int:
        """Number of batches that wait for labels."""
        return len(self._cohorts)

    @property
    def awaited(self) -> list[int | str]:
        """Ids of the rows of batches that wait for labels."""
        return [row for cohort in self._cohorts for row in cohort.rows]

    def __repr__(self) -> str:
        return f"Monitor({self.demand}, alarm={self.alarm!r}, value={self.value:.4g}, n_samples={self.n_samples})"

    def report(self) -> str:
        """Summarise the evidence so far and what to do, in some lines.

        Returns
        -------
        str
            The text.
        """
        since = f" since {self.alarm}" if self.alarm else ""
        lines = [
            f"{self.demand}: {'ALARM, lost' + since if self.alarm else 'no evidence against it'}",
            f"{self.name}{since}: {self.value:.4f}, {self._interval_in_words()}",
            f"{self.n_samples} labelled samples in {self.n_batches} batches; evidence {self.capital:.3g} of "
            f"{self.limit:.3g}",
        ]
        if self._samples.terms.note:
            lines.append(self._samples.terms.note)
        if self._cohorts:
            labelled, rows = (
                sum(map(size, self._cohorts)) for size in (lambda c: c.labelled.sum(), lambda c: len(c.rows))
            )
            lines.append(
                f"{self.n_waiting} batches wait since {self._cohorts[0].name}: {labelled} of their {rows} rows have a "
                "label"
            )
        return "\n".join([*lines, f"Do: {self._ways_out()}"] if self.alarm else lines)

    def _interval_in_words(self) -> str:
        """Describe the interval, or what it lacks."""
        low, high = self.interval
        if np.isnan(low):
            n_equal = effective(self._sums()[_N_COUNTS:_N_SUMS])
            return (
                f"no interval yet: its costs vary as {n_equal:.0f} equal ones do, and it takes {ENOUGH:.0f}; with "
                "max_cost= there is one from the start"
            )
        kind = "asymptotic interval" if self._is_asymptotic else "interval"
        return f"{1.0 - self.alpha:.0%} {kind} [{low:.4f}, {high:.4f}]"

    def _ways_out(self) -> str:
        """List the remedies after an alarm that this search supports."""
        search, ways = self.search, []
        if search.estimates_prevalence and search.result_.follows_shares:
            ways.append(
                "search.prevalence(X) shows whether the share of positives has moved, and search.at_prevalence(share) "
                "moves the threshold to it (csf predict --prevalence estimate)"
            )
        if not hasattr(search, "label_names_") and search.result_.config.tunes:
            ways.append("monitor.retune(X, y) finds another threshold by the samples since then (csf monitor --retune)")
        return "; ".join([*ways, "else train again" if ways else "train again on newer samples"])

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the values of all batches and the evidence, see `csf.plots.MonitorDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; ``None`` makes a figure.

        Returns
        -------
        csf.plots.MonitorDisplay
            The display.
        """
        from csf.plots import MonitorDisplay

        return MonitorDisplay.from_monitor(self).plot(ax)

    # ---------------------------------------------------------------- new samples

    def expect(
        self,
        y_pred: ArrayLike,
        *,
        rows: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        X: Samples | None = None,
        **costs: ArrayLike | None,
    ) -> None:
        """Remember a batch of decisions whose labels come later, by `update` with ``rows=``.

        Parameters
        ----------
        y_pred : array-like of shape (n_samples,)
            What the search predicted. With ``audit=`` of the monitor: for all samples that are predicted positive, and
            for those of the others that were drawn for the audit.
        rows : array-like of int or str, shape (n_samples,), default=None
            Their ids, which no other row that waits has. ``None`` takes the pandas index of ``y_pred``.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `update`.
        name : str, default=None
            Name of the batch, as for `update`.
        X : array-like of shape (n_samples, n_features), default=None
            Samples, as for `update`: costs of rows are known with the decisions.
        **costs : float or array-like of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost``, as for `update`.

        Raises
        ------
        ValueError
            If an id is expected twice, the batch was expected before, or the metric needs no labels.
        """
        given = {"X": X, **costs}
        warn_of_order(y_pred=y_pred, rows=rows, sample_weight=sample_weight, **given)
        cohort = self._samples.decided(row_ids(rows, y_pred, "y_pred"), y_pred, sample_weight, given)
        with self._saved():
            refuse_repeated(cohort.rows, self._cohorts)
            if name is not None and cohort.rows:
                content = repr(cohort.rows).encode(), cohort.y_pred.tobytes()
                self._recognise(name, "of these rows was expected", *content)
            self._cohorts = [*self._cohorts, replace(cohort, name=self._name(name))]
            waiting = np.concatenate([cohort.y_pred for cohort in self._cohorts])
            self._samples.check_both_sides(waiting, self._whole)

    def update(
        self,
        y: ArrayLike | None,
        y_pred: ArrayLike | None = None,
        *,
        rows: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        X: Samples | None = None,
        **costs: ArrayLike | None,
    ) -> Literal[False] | str:
        """Take labels: of a batch of any size that is counted at once, or of rows that were given to `expect`.

        With ``y_pred`` the batch is counted at once. That is for labels whose lateness does not depend on the class.
        Where those of one class come later, call `expect` with the decisions, and later ``update(y, rows=ids)`` with
        the labels, in any order and in parts. The labels are kept, and then those batches count whose turn has come:
        in the order of their decisions, each one when all of its labels are there, or at the first update at which
        ``mature_after`` later batches are expected.

        With a ``path`` the batch is added to the present state of the file, so that several monitors and processes can
        share it. An update that fails, such as on a full disk, changes nothing.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or (n_samples, n_labels) for a metric of all labels of a row
            Labels; ``None`` or NaN where one is not known (yet): such samples are left out. ``None`` where the metric
            counts predictions alone.
        y_pred : array-like of the shape of ``y``, default=None
            What the search predicted. ``None`` for rows that were given to `expect`.
        rows : array-like of int or str, shape (n_samples,), default=None
            Ids of rows that are expected. ``None`` without ``y_pred`` takes the pandas index of ``y``.
        cost : array-like of shape (n_samples,), default=None
            Costs >= 0 of these decisions, where a mean cost is watched, at most ``max_cost`` of the monitor; ``None``
            takes those of its errors. Expected rows that never get a label or a cost have those of the metric.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights from 0 to ``max_weight`` of the monitor (1 without one), known before the labels are: for how many
            samples each one stands. The level is then one of the weighted metric. ``None`` counts each sample once.
            Weights of expected rows belong to `expect`.
        name : str, default=None
            Name of the batch, such as its date; ``None`` counts the batches. A batch of the same name with the same
            labels, predictions, costs and weights as one of the last 256 with a name is refused. Names of expected
            batches belong to `expect`.
        X : array-like of shape (n_samples, n_features), default=None
            Samples, where savings or other values of `csf.metrics.RowCosts` are watched whose costs are columns or
            functions of them. Those of expected rows belong to `expect`.
        **costs : float or array-like of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` of each row, as for ``predict`` and ``score``.

        Returns
        -------
        False or str
            `alarm`.

        Raises
        ------
        ValueError
            If labels are unknown to the search, lengths differ, a weight or a cost is above its largest one, this batch
            was counted before, a row is not expected or has another label already, or the labels are those of alerts
            alone while the metric counts others.

        Warns
        -----
        UserWarning
            If the search was fitted with weights, and the samples have none.
        """
        given = {"X": X, **costs}
        warn_of_order(y=y, y_pred=y_pred, rows=rows, cost=cost, sample_weight=sample_weight, **given)
        with self._saved():
            if y_pred is None:
                early = {"sample_weight": sample_weight, "name": name, **given}
                if odd := [key for key, value in early.items() if value is not None]:
                    raise ValueError(f"give {'= and '.join(odd)}= to expect(), with the decisions")
                self._take(y, rows, cost)
                self._count_whole()
            else:
                if rows is not None or self._cohorts:
                    raise ValueError(
                        "with y_pred a batch is counted at once, whatever waits. Expected rows, and all others while "
                        f"batches wait ({self.n_waiting} do), take update(y, rows=ids), without y_pred"
                    )
                added = self._samples.added(y, y_pred, cost, sample_weight, given)
                if name is not None and added.top.size:
                    parts = (column.tobytes() for column in (added.top, added.bottom, added.truth, added.y_pred))
                    self._recognise(name, "with these labels and predictions was counted", *parts)
                self._count(added, self._name(name))
                self._has_costs |= cost is not None
        return self.alarm

    # ---------------------------------------------------------------- expected rows

    def _take(self, y: ArrayLike | None, rows: ArrayLike | None, cost: ArrayLike | None) -> None:
        """Keep labels of expected rows."""
        if y is None:
            raise ValueError("give y and y_pred, or y with the ids of expected rows: update(y, rows=ids)")
        ids, (codes, costs) = row_ids(rows, y, "y"), self._samples.labelled(y, cost)
        self._has_costs |= costs is not None and bool(np.isfinite(costs).any())
        take_labels(self._cohorts, ids, codes, costs, self._samples.classes)

    def _count_whole(self) -> None:
        """Count the batches whose turn has come."""
        # In the order of decisions: which batch is next must not depend on labels.
        while self._cohorts:
            cohort = self._cohorts[0]
            is_ripe = self.mature_after is not None and len(self._cohorts) > self.mature_after
            if not is_ripe and not cohort.labelled.all():
                return
            self._cohorts = self._cohorts[1:]
            self._count(self._samples.completed(cohort, self.unlabelled == "negative"), cohort.name)

    def _check_maturity(self) -> None:
        """Check the options of batches that wait."""
        if self.mature_after is None and self.unlabelled is None:
            return
        if self.mature_after is None or self.unlabelled is None:
            raise ValueError(
                "mature_after and unlabelled go together: after how many later batches one counts that lacks labels, "
                "and what becomes of its samples without one ('negative', or 'drop' to leave them out); got "
                f"mature_after={self.mature_after!r}, unlabelled={self.unlabelled!r}"
            )
        check_count(self.mature_after, "mature_after")
        check_choice(self.unlabelled, "unlabelled", UNLABELLED)
        if self.unlabelled == "negative" and not self._samples.has_negative:
            raise ValueError(
                f"unlabelled='negative' needs a class that is negative, and the {self._samples.classes.size} classes "
                "of this search are alike. Give unlabelled='drop', or null_class= to the search"
            )

    # ---------------------------------------------------------------- counting

    def _name(self, name: str | None) -> str:
        # An alarm is known by its name: an empty one is none.
        return ("" if name is None else str(name)[:_LONGEST]) or str(self.n_batches + self.n_waiting + 1)

    def _count(self, added: Added, name: str) -> None:
        self._samples.check_both_sides(added.y_pred, self._whole)
        sums = added.sums
        self._bet(self._samples.sign * (added.top - self.level * added.bottom), sums, name)
        self.n_batches += 1
        self._whole = self._whole + sums
        self._remember(name, sums)

    def _recognise(self, name: str, what: str, *parts: bytes) -> None:
        """Remember a batch; raise a ValueError where it was counted before."""
        content = b"".join([str(name).encode(), *parts])
        digest = hashlib.sha256(content).hexdigest()[:12]
        if digest in self._seen:
            raise ValueError(
                f"the batch {name!r} {what} before, and is not counted again. If these are other rows, give them "
                "another name"
            )
        self._seen = [*self._seen, digest][-_RECOGNISED:]

    # ---------------------------------------------------------------- the bet

    def _bet(self, gains: Array, sums: Array, name: str) -> None:
        gains = gains[gains != 0.0] / self._samples.largest
        if not gains.size:
            return
        before, self._n_counted = self._n_counted, self._n_counted + gains.size
        opened = log_opened(before, self._n_counted)
        self._counts += [gains.size] if self.weeks else []
        growth = np.array([np.log1p(-stake * gains).sum() for stake in self._stakes])
        self._mixed = np.logaddexp(self._mixed, opened) + growth
        for stake_index in np.flatnonzero(opened > self._best):  # to start here is likelier than what came before
            self._best[stake_index], self._starts[stake_index], self._since[stake_index] = opened, name, 0.0
        self._best, self._since = self._best + growth, self._since + sums
        if not self.alarm and self._log_capital() >= self._log_limit():
            self.alarm = self._starts[int(np.argmax(self._best))]

    def _log_capital(self) -> float:
        return float(log_capital_of(self._mixed, self._n_counted))

    def _log_limit(self) -> float:
        if self.weeks is None or self._share is None:
            return -np.log(self.alpha)
        (one, none), (per_one, per_none) = self._share.top, self._share.bottom
        gains = np.array([one - self.level * per_one, none - self.level * per_none])
        growth = np.log1p(-np.outer(self._samples.sign * gains / self._samples.largest, self._stakes))
        share = float(self._share.share(self.level))
        limits = log_limits(self._counts, share, growth, self.alpha, self.weeks)
        return float(limits[-1]) if limits.size else np.inf

    def _check_horizon(self) -> None:
        """Check that streams at the level can be simulated, where there is a horizon."""
        if self.weeks is None:
            return
        check_count(self.weeks, "weeks")
        if self._share is None or self.max_cost is not None:
            raise ValueError(
                f"weeks={self.weeks} is for shares of samples that all have labels and no weights, such as f1, "
                f"precision, recall and accuracy, and {self.demand} is none here. Leave it out: the alarm is then at "
                "1 / alpha, for any number of batches"
            )

    def _sums(self) -> Array:
        return self._since[int(np.argmax(self._best))] if self.alarm else self._whole

    def _remember(self, name: str, sums: Array) -> None:
        self._names = [*self._names, name]
        self._values = np.vstack([self._values, np.array([*sums[_N_COUNTS : _N_COUNTS + 2], self._log_capital()])])
        if len(self._names) > _REMEMBERED:  # an odd number, the last of which stays by itself
            self._names = [*self._names[1::2], name]
            self._values[1::2, :2] += self._values[:-1:2, :2]
            self._values = np.vstack([self._values[1::2], self._values[-1:]])

    # ---------------------------------------------------------------- ways out

    def retune(self, X: Samples, y: ArrayLike, **fit_params: ArrayLike) -> Estimator:
        """Find a new threshold for the same model by labelled samples, such as those since the alarm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that the model was not trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        **fit_params : object
            Further arguments of ``fit``, such as ``sample_weight``.

        Returns
        -------
        CostSearch
            A search with the same ``best_estimator_`` and the threshold that is best there; its ``score_interval_``
            and ``threshold_interval_`` are those of these samples, and its ``monitor`` starts again. Of several classes
            its ``predict_proba`` is that of the model, in which the class weights of its training still are.
        """
        return retuned(self.search, X, y, **fit_params)

    # ---------------------------------------------------------------- files

    def _content(self) -> State:
        """Return what identifies this monitor, and its state, as JSON can hold it."""
        return self._identity() | {name: _plain(getattr(self, name)) for name in _STATE}

    def _identity(self) -> State:
        """Return what identifies this monitor: the model, the constraint and the settings."""
        names = ("classes_", "class_count_", "n_features_in_", "best_score_", "best_threshold_")
        parts = [type(self.search.best_estimator_).__name__, *(str(getattr(self.search, name, "")) for name in names)]
        model = hashlib.sha256(repr(parts).encode()).hexdigest()
        options = ("side", "level", "alpha", "audit", "max_weight", "max_cost", "mature_after", "unlabelled", "weeks")
        settings = {name: getattr(self, name) for name in options}
        return {"model": model, "metric": self.name, **settings}

    def _restore(self, content: State, path: object) -> None:
        """Set the state that `_content` returned; raise a ValueError where it is something else."""
        content = content if isinstance(content, dict) else {}  # a part of the file of a group may be anything
        for name, identity in self._identity().items():
            if content.get(name) != identity:
                fault = (
                    "is of another model" if name == "model" else f"has {name}={content.get(name)!r}, not {identity!r}"
                )
                raise ValueError(
                    f"{path} {fault}; it was left as it is. Give the model and the options that it was written "
                    "with, or another path to start again"
                )
        state = {name: _read(name, content.get(name), getattr(self, name)) for name in _STATE if name != "_cohorts"}
        samples = self._samples
        widths = samples.classes.size, samples.n_labels, samples.terms.n_costs
        state["_cohorts"] = _read_cohorts(content.get("_cohorts"), *widths)
        wrong = [name for name, value in state.items() if value is None]
        if wrong or [len(state[name]) for name in ("_starts", "_values")] != [self._stakes.size, len(state["_names"])]:
            raise ValueError(
                f"{path} is not a state that this csf writes (see {', '.join(wrong) or 'lengths'} in it); it was "
                "left as it is. Give another path to start again"
            )
        vars(self).update(state)


def retuned(fitted: Estimator, X: Samples, y: ArrayLike, **fit_params: ArrayLike) -> Estimator:
    """Build a search with the model of a fitted one and the threshold that is best on other samples."""
    if hasattr(fitted, "to_local"):  # one of a cluster
        fitted = fitted.to_local()
    search: Estimator = clone(fitted)
    base = FrozenEstimator(fitted.best_estimator_)
    search.set_params(base=base, cv="prefit", param_grid=None, confidence=None, checkpoint=None, refit=True)
    search.fit(X, y, **fit_params)
    if hasattr(fitted._rule, "costs"):
        # The model was trained with these costs, which probabilities are without.
        search._rule = replace(search._rule, costs=fitted._rule.costs, one_vs_rest=fitted._rule.one_vs_rest)
    return search


_STATE = ("alarm", "n_batches", "_n_counted", "_mixed", "_best", "_starts", "_since", "_whole", "_names", "_values")
_STATE += ("_seen", "_has_costs", "_counts", "_cohorts")
# Of these the first ones are counts.
_SUMS = ("_since", "_whole")


def _read(name: str, value: StateValue, present: StateValue) -> StateValue:
    """Read a part of a state, in place of the present one; return ``None`` where it does not fit."""
    if isinstance(present, np.ndarray):
        numbers = _numbers(value, (-1 if name == "_values" else present.shape[0], *present.shape[1:]))
        return numbers if numbers is None or name not in _SUMS or (numbers[..., :_N_COUNTS] >= 0.0).all() else None
    if isinstance(present, list):
        kind = int if name == "_counts" else str
        fits = isinstance(value, list) and all(isinstance(entry, kind) for entry in value)
    elif name == "alarm":
        fits = value is False or (isinstance(value, str) and value != "")
    else:
        fits = type(value) is type(present) and 0 <= value < HUGE
    return value if fits else None


def _read_cohorts(value: StateValue, *widths: int) -> list[Cohort] | None:
    """Read batches that wait; return ``None`` where they are none, or share a row."""
    cohorts = [Cohort.read(record, *widths) for record in value] if isinstance(value, list) else [None]
    whole = [cohort for cohort in cohorts if cohort is not None]
    rows = [row for cohort in whole for row in cohort.rows]
    return whole if len(whole) == len(cohorts) and len(set(rows)) == len(rows) else None


def _numbers(value: StateValue, shape: tuple[int, ...]) -> Array | None:
    """Convert values to finite numbers in a shape; return ``None`` where they are not."""
    try:
        numbers = np.reshape(value, shape)
    except ValueError:
        return None
    return numbers.astype(float) if is_real(numbers) and (np.abs(numbers) < HUGE).all() else None


def _plain(value: StateValue) -> Json:
    if isinstance(value, list):
        return [cohort.plain() if isinstance(cohort, Cohort) else cohort for cohort in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _exp(log: float) -> float:
    """Compute the exponential without an overflow."""
    return float(np.exp(min(log, 700.0)))


def _ratio(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0.0 else float("nan")
