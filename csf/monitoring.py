"""Monitoring of a fitted threshold: a test of whether a metric still keeps its level, on labels that come in over time.

The test is a bet against the level (an e-process): its capital is a product over samples, its mean is at most 1 while
the level holds, and so the probability that it ever reaches ``1 / alpha`` is at most ``alpha``, however often one looks
[1]_. For F1, precision and other shares the factors are the likelihood ratios of binomial shares. Several bet sizes are
mixed, and all samples at which the metric may have left its level, with weights that fall with their number.

References
----------
.. [1] A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, "Game-theoretic statistics and safe anytime-valid inference",
   Statistical Science 38, 2023.
"""

from __future__ import annotations

import copy
import hashlib
import os
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp, xlog1py, xlogy
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from csf._common.files import locked, read_record, write_record
from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, PathLike, Samples
from csf._common.validation import (
    check_fraction,
    check_number,
    check_path,
    check_share,
    check_unmasked,
    floats,
    warn_of_order,
)
from csf.metrics.constraints import CELLS, MeanCost, gains_of, share_of, terms_of

__all__ = [
    "Monitor",
]

KIND, VERSION = "csf-monitor", 2
# Shares of the capital that are put at risk by one sample at most. Those of metrics that are no share, or are known by
# an audit, vary more and ask for smaller ones too.
_STAKES, _MORE_STAKES = 0.6 * 0.5 ** np.arange(5), 0.6 * 0.5 ** np.arange(9)
# Counted samples after which half of the weight of all starts is spent.
_UNIT = 100.0
# Logarithm of a capital of nothing, which JSON can hold.
_NOTHING = -1e9
# Batches that are remembered one by one; with more, neighbours are merged.
_REMEMBERED = 64
# Named batches that are recognised when they come again.
_RECOGNISED = 256
# Numbers of a state are smaller: their squares stay numbers.
_HUGE = 1e150
# Where nothing else is said, later weights may be so many times as large as those of `fit`.
_HEAVIER = 2.0
# Counted samples at which an asymptotic interval is narrowest.
_NARROWEST = 500.0
# So many samples without a negative prediction are no chance.
_ONE_SIDED = 200
_LONGEST = 32
# What is summed: counts of the cells, then numerators, denominators, and their products.
_N_SUMS = 9


class Monitor:
    """Sequential test of whether a metric of a fitted search still keeps a level; made by ``CostSearch.monitor``.

    Attributes
    ----------
    alarm : False or str
        ``False``, or the name of the batch since which the metric is probably below its level. An alarm stays.
    value : float
        The metric on all labelled samples; after an alarm on those since then. NaN without any.
    interval : tuple of float
        Confidence sequence of `value` at ``1 - alpha``: it may be looked at after each batch. For shares whose samples
        are all labelled, without weights and costs of rows, it is exact. Otherwise it is asymptotic and too narrow
        while little is counted, see Notes. After an alarm it does not count that its start was chosen by the same
        samples.
    capital : float
        Evidence against the level; the alarm is at ``1 / alpha``.
    history : list of tuple
        Name, value and capital of the batches so far, at most 64; with more batches neighbours are merged.
    n_samples : int
        Labelled samples so far.

    See Also
    --------
    CostSearch.monitor : Makes one, with an example.

    Notes
    -----
    False alarms are at most ``alpha`` where what is counted is a fair sample: which labels are there must not depend on
    the class. Where labels of positives come later than those of negatives (chargebacks, churn), most streams alarm
    although nothing has changed: 59 % of simulated ones with labels two batches late, 93 to 100 % with four or eight.
    There, count whole cohorts: update with a batch only when all of its labels are in.

    Intervals at 95 % of exact shares missed the value at any time in 0.3 to 3 % of simulated streams. Asymptotic ones
    did so in 47, 30 and 13 % of streams with audits of 5, 10 and 20 % (3 % once 500 samples were counted), in 50 % of
    those of mean costs with 3 % errors, and in 64 to 80 % of those with heavy-tailed costs of rows. Alarms do not
    depend on intervals.
    """

    def __init__(
        self,
        search: Any,
        metric: Any,
        side: str,
        level: float,
        *,
        alpha: float,
        audit: float,
        path: PathLike | None,
        max_weight: float | None = None,
    ) -> None:
        self.search, self.metric, self.side, self.level = search, metric, side, float(level)
        self.alpha, self.audit, self.path = check_fraction(alpha, "alpha"), _check_audit(audit), path
        check_path(path, "path")
        if max_weight is None and search.max_sample_weight_ is not None:
            max_weight = _HEAVIER * search.max_sample_weight_
        # A bet on weighted samples is one on bounded terms if their bound is fixed before they are seen.
        self.max_weight = None if max_weight is None else check_number(max_weight, "max_weight", positive=True)
        self._terms = _terms(metric, search)
        self._share = share_of(metric) if self.audit == 1.0 and self.max_weight is None else None
        self._largest = self._largest_gain() * (self.max_weight or 1.0)
        self._stakes = _STAKES if self._share is not None else _MORE_STAKES
        self.alarm: Literal[False] | str = False
        self.n_batches = self._n_counted = 0
        # Whether samples had costs of their own.
        self._has_costs = False
        self._mixed = np.full(self._stakes.size, _NOTHING)
        # Of each stake the likeliest start, its logarithm, and sums of the samples since then.
        self._best, self._starts = self._mixed.copy(), [""] * self._stakes.size
        self._since, self._whole = np.zeros((self._stakes.size, _N_SUMS)), np.zeros(_N_SUMS)
        # Of remembered batches the names; their numerators, denominators and the logarithm of the capital after them.
        self._names: list[str] = []
        self._values = np.empty((0, 3))
        self._seen: list[str] = []
        self._resume()

    # ---------------------------------------------------------------- what is known

    @property
    def demand(self) -> str:
        """Constraint that is monitored, such as ``"f1 >= 0.6"``."""
        return f"{self.metric.name} {self.side} {self.level:.4g}"

    @property
    def n_samples(self) -> int:
        """Number of labelled samples so far."""
        return int(self._whole[:4].sum())

    @property
    def capital(self) -> float:
        """Evidence against the level so far."""
        return _exp(self._log_capital())

    @property
    def value(self) -> float:
        """The metric on the samples that count, see the class."""
        return _ratio(*self._sums()[4:6])

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence sequence of the value."""
        sums = self._sums()
        if self._share is None or self._has_costs:
            ratios = [top / bottom for top, bottom in self._terms.values() if bottom > 0.0]
            highest = np.inf if isinstance(self.metric, MeanCost) else max(ratios)
            counted = sum(n for n, cell in zip(sums[:4], CELLS) if any(self._terms[cell]))
            low, high = np.clip(_asymptotic(sums, self.alpha, counted), min(ratios), highest).tolist()
            return low, high
        ones, trials = self._share.counts(**dict(zip(CELLS, sums[:4])))
        low, high = _of_share(ones, trials, self.alpha)
        return float(self._share.value(low)), float(self._share.value(high))

    @property
    def history(self) -> list[tuple[str, float, float]]:
        """Name, value and capital of batches."""
        return [(name, _ratio(*sums), _exp(log)) for name, (*sums, log) in zip(self._names, self._values.tolist())]

    def __repr__(self) -> str:
        return f"Monitor({self.demand}, alarm={self.alarm!r}, value={self.value:.4g}, n_samples={self.n_samples})"

    def report(self) -> str:
        """Summarise the evidence so far and what to do, in some lines.

        Returns
        -------
        str
            The text.
        """
        (low, high), since = self.interval, f" since {self.alarm}" if self.alarm else ""
        kind = "interval" if self._share is not None and not self._has_costs else "asymptotic interval"
        lines = [
            f"{self.demand}: {'ALARM, lost' + since if self.alarm else 'no evidence against it'}",
            f"{self.metric.name}{since}: {self.value:.4f}, {1.0 - self.alpha:.0%} {kind} [{low:.4f}, {high:.4f}]",
            f"{self.n_samples} labelled samples in {self.n_batches} batches; evidence {self.capital:.3g} of "
            f"{1.0 / self.alpha:.3g}",
        ]
        return "\n".join([*lines, f"Do: {self._ways_out()}"] if self.alarm else lines)

    def _ways_out(self) -> str:
        """List the remedies after an alarm that this search supports."""
        search, ways = self.search, []
        if search.estimates_prevalence and search.result_.moves:
            ways.append(
                "search.prevalence(X) shows whether the share of positives has moved, and search.at_prevalence(share) "
                "moves the threshold to it (csf predict --prevalence estimate)"
            )
        if search.result_.config.tunes:
            ways.append("monitor.retune(X, y) finds another threshold by the samples since then (csf monitor --retune)")
        return "; ".join([*ways, "else train again" if ways else "train again on newer samples"])

    def plot(self, ax: Any = None) -> Any:
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

    def update(
        self,
        y: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
    ) -> Literal[False] | str:
        """Count a batch of samples, of any size.

        With a ``path`` the batch is added to the present state of the file, so that several monitors and processes can
        share it. An update that fails, such as on a full disk, counts nothing.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; ``None`` or NaN where one is not known (yet): such samples are left out. ``None`` where the metric
            counts predictions alone.
        y_pred : array-like of shape (n_samples,)
            What the search predicted.
        cost : array-like of shape (n_samples,), default=None
            Costs >= 0 of these decisions, where a mean cost is watched; ``None`` takes those of its errors.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights from 0 to ``max_weight`` of the monitor, known before the labels are: for how many samples each one
            stands. The level is then one of the weighted metric. ``None`` counts each sample once.
        name : str, default=None
            Name of the batch, such as its date; ``None`` counts the batches. A batch of the same name with the same
            labels, predictions, costs and weights as one of the last 256 with a name is refused.

        Returns
        -------
        False or str
            `alarm`.

        Raises
        ------
        ValueError
            If labels are unknown to the search, lengths differ, a weight is above ``max_weight``, this batch was
            counted before, or the labels are those of alerts alone while the metric counts others.

        Warns
        -----
        UserWarning
            If the search was fitted with weights, and the samples have none.
        """
        warn_of_order(y=y, y_pred=y_pred, cost=cost, sample_weight=sample_weight)
        before = copy.deepcopy({name: getattr(self, name) for name in _STATE})
        with nullcontext() if self.path is None else locked(self.path):
            try:
                self._resume()
                self._count(*self._rows(y, np.asarray(check_unmasked(y_pred, "y_pred")), cost, sample_weight), name)
                self._has_costs |= cost is not None
                if self.path is not None:
                    self.save(self.path)
            except BaseException:
                vars(self).update(before)
                raise
        return self.alarm

    def _count(self, top: Array, bottom: Array, cells: Array, name: str | None) -> None:
        if name is not None and cells.size:
            self._recognise(name, top, bottom, cells)
        sums = np.concatenate(
            [np.bincount(cells, minlength=4), [top.sum(), bottom.sum(), top @ top, top @ bottom, bottom @ bottom]]
        )
        # An alarm is known by its name: an empty one is none.
        name = ("" if name is None else str(name)[:_LONGEST]) or str(self.n_batches + 1)
        sign = 1.0 if self.side == ">=" else -1.0
        self._bet(sign * (top - self.level * bottom), sums, name)
        self.n_batches += 1
        self._whole = self._whole + sums
        self._remember(name, sums)

    def _recognise(self, name: str, *parts: Array) -> None:
        """Remember a batch; raise a ValueError where it was counted before."""
        content = b"".join([str(name).encode(), *(part.tobytes() for part in parts)])
        digest = hashlib.sha256(content).hexdigest()[:12]
        if digest in self._seen:
            raise ValueError(
                f"the batch {name!r} with these labels and predictions was counted before, and is not counted again. "
                "If these are other rows, give them another name"
            )
        self._seen = [*self._seen, digest][-_RECOGNISED:]

    def _rows(
        self, y: ArrayLike | None, pred: Array, cost: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Compute what each labelled sample adds to the numerator and the denominator, and its cell."""
        if y is None and not self._needs_no_labels:
            raise ValueError(f"y=None is for metrics of predictions alone, and {self.metric.name} needs labels: give y")
        truth = pred if y is None else np.asarray(y)
        if truth.ndim != 1 or truth.shape != pred.shape:
            raise ValueError(f"y and y_pred must be of one length, got shapes {truth.shape} and {pred.shape}")
        # What is below a mask is not known.
        known = _known(truth) & ~np.ma.getmask(pred if y is None else y)
        weight, known = self._weights(sample_weight, known)
        truth, pred = truth[known], pred[known]
        classes, null = self.search.classes_, self.search.null_class_
        for what, labels in (("y", truth), ("y_pred", pred)):
            if not np.isin(labels, classes).all():
                odd = np.setdiff1d(labels, classes)[:5].tolist()
                way = "; give what search.predict(X) returns" if what == "y_pred" else ""
                raise ValueError(f"{what} holds the labels {odd}, the search knows {classes.tolist()}{way}")
        # Of several classes that are all alike the right ones are "tp", see `csf.metrics.constraints.Share`.
        right = truth == pred
        is_pos, found = (labels != null if null is not None else np.ones_like(right) for labels in (truth, pred))
        cells = np.where(is_pos, np.where(right, 0, 1), np.where(right, 3, 2))
        self._check_both_sides(cells)
        top, bottom = np.array([self._terms[cell] for cell in CELLS]).T[:, cells]
        if cost is not None:
            top, bottom = self._costs(cost, known), np.ones(cells.size)
        weight = weight * (np.where(found, 1.0, 1.0 / self.audit) if self.audit else found)
        return weight * top, weight * bottom, cells

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

    @property
    def _needs_no_labels(self) -> bool:
        """True where predictions alone count."""
        terms = self._terms
        return terms["tp"] == terms["fp"] and terms["fn"] == terms["tn"]

    def _check_both_sides(self, cells: Array) -> None:
        """Raise a ValueError where labels are probably those of alerts alone."""
        counts = self._whole[:4] + np.bincount(cells, minlength=4)
        if self.audit == 0.0 or self._needs_no_labels or counts[1] + counts[3] or counts.sum() < _ONE_SIDED:
            return
        if any(any(self._terms[cell]) for cell in ("fn", "tn")) and self.search.null_class_ is not None:
            raise ValueError(
                f"all {int(counts.sum())} labelled samples were predicted positive, but {self.metric.name} also "
                "depends on the others. If you label alerts only, monitor('precision >= ...', audit=0) watches "
                "their precision. Otherwise label a random share q of the other samples too, and pass audit=q"
            )

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
        return _amounts(cost, "cost", known)[known]

    def _largest_gain(self) -> float:
        """Return the largest amount that a sample can add where the level is kept."""
        gains = gains_of(self._terms, self.side, self.level)
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

    # ---------------------------------------------------------------- the bet

    def _bet(self, gains: Array, sums: Array, name: str) -> None:
        gains = gains[gains != 0.0] / self._largest
        if not gains.size:
            return
        before, self._n_counted = self._n_counted, self._n_counted + gains.size
        opened = np.log(_UNIT / (_UNIT + before) - _UNIT / (_UNIT + self._n_counted))
        growth = np.array([np.log1p(-stake * gains).sum() for stake in self._stakes])
        self._mixed = np.logaddexp(self._mixed, opened) + growth
        for at in np.flatnonzero(opened > self._best):  # to start here is likelier than what came before
            self._best[at], self._starts[at], self._since[at] = opened, name, 0.0
        self._best, self._since = self._best + growth, self._since + sums
        if not self.alarm and self._log_capital() >= -np.log(self.alpha):
            self.alarm = self._starts[int(np.argmax(self._best))]

    def _log_capital(self) -> float:
        # What no start has taken yet is kept in cash.
        kept = np.log(_UNIT / (_UNIT + self._n_counted))
        return float(np.logaddexp(logsumexp(self._mixed) - np.log(self._stakes.size), kept))

    def _sums(self) -> Array:
        return self._since[int(np.argmax(self._best))] if self.alarm else self._whole

    def _remember(self, name: str, sums: Array) -> None:
        self._names = [*self._names, name]
        self._values = np.vstack([self._values, np.array([*sums[4:6], self._log_capital()])])
        if len(self._names) > _REMEMBERED:  # an odd number, the last of which stays by itself
            self._names = [*self._names[1::2], name]
            self._values[1::2, :2] += self._values[:-1:2, :2]
            self._values = np.vstack([self._values[1::2], self._values[-1:]])

    # ---------------------------------------------------------------- ways out

    def retune(self, X: Samples, y: ArrayLike, **fit_params: Any) -> Any:
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

    def save(self, path: PathLike) -> None:
        """Save the state to a JSON file of some kilobytes, in one step.

        Parameters
        ----------
        path : path-like
            File to write; ``search.monitor(..., path=path)`` reads it.
        """
        write_record(path, KIND, VERSION, self._identity() | {name: _plain(getattr(self, name)) for name in _STATE})

    def _identity(self) -> dict[str, Any]:
        """Return what identifies this monitor: the model, the constraint and the settings."""
        names = ("classes_", "class_count_", "n_features_in_", "best_score_", "best_threshold_")
        parts = [type(self.search.best_estimator_).__name__, *(str(getattr(self.search, name, "")) for name in names)]
        model = hashlib.sha256(repr(parts).encode()).hexdigest()
        settings = {name: getattr(self, name) for name in ("side", "level", "alpha", "audit", "max_weight")}
        return {"model": model, "metric": self.metric.name, **settings}

    def _resume(self) -> None:
        """Restore the state of the file, where there is one."""
        if self.path is None or not os.path.exists(self.path):
            return
        content = read_record(self.path, KIND, VERSION)
        for name, own in self._identity().items():
            if content.get(name) != own:
                fault = "is of another model" if name == "model" else f"has {name}={content.get(name)!r}, not {own!r}"
                raise ValueError(
                    f"{self.path} {fault}; it was left as it is. Give the model and the options that it was written "
                    "with, or another path to start again"
                )
        state = {name: _read(name, content.get(name), getattr(self, name)) for name in _STATE}
        wrong = [name for name, value in state.items() if value is None]
        if wrong or [len(state[name]) for name in ("_starts", "_values")] != [self._stakes.size, len(state["_names"])]:
            raise ValueError(
                f"{self.path} is not a state that this csf writes (see {', '.join(wrong) or 'lengths'} in it); it was "
                "left as it is. Give another path to start again"
            )
        vars(self).update(state)


def retuned(fitted: Any, X: Samples, y: ArrayLike, **fit_params: Any) -> Any:
    """Build a search with the model of a fitted one and the threshold that is best on other samples."""
    if hasattr(fitted, "to_local"):  # one of a cluster
        fitted = fitted.to_local()
    search: Any = clone(fitted)
    base = FrozenEstimator(fitted.best_estimator_)
    search.set_params(base=base, cv="prefit", param_grid=None, confidence=None, checkpoint=None, refit=True)
    search.fit(X, y, **fit_params)
    if hasattr(fitted._rule, "costs"):
        # The model was trained with these costs, which probabilities are without.
        search._rule = replace(search._rule, costs=fitted._rule.costs, one_vs_rest=fitted._rule.one_vs_rest)
    return search


_STATE = ("alarm", "n_batches", "_n_counted", "_mixed", "_best", "_starts", "_since", "_whole", "_names", "_values")
_STATE += ("_seen", "_has_costs")
# Of these the first ones are counts of cells.
_SUMS = ("_since", "_whole")


def _read(name: str, value: Any, own: Any) -> Any:
    """Read a part of a state, in place of the present one; return ``None`` where it does not fit."""
    if isinstance(own, np.ndarray):
        numbers = _numbers(value, (-1 if name == "_values" else own.shape[0], *own.shape[1:]))
        return numbers if numbers is None or name not in _SUMS or (numbers[..., :4] >= 0.0).all() else None
    if isinstance(own, list):
        fits = isinstance(value, list) and all(isinstance(each, str) for each in value)
    elif name == "alarm":
        fits = value is False or (isinstance(value, str) and value != "")
    else:
        fits = type(value) is type(own) and 0 <= value < _HUGE
    return value if fits else None


def _numbers(value: Any, shape: tuple[int, ...]) -> Array | None:
    """Convert values to finite numbers in a shape; return ``None`` where they are not."""
    try:
        numbers = np.reshape(value, shape)
    except ValueError:
        return None
    return numbers.astype(float) if numbers.dtype.kind in "if" and (np.abs(numbers) < _HUGE).all() else None


def _amounts(values: ArrayLike, name: str, known: BoolArray) -> Array:
    """Check amounts of samples, numbers >= 0; those of samples that are not ``known`` may be missing."""
    amounts = floats(values, name)
    if amounts.shape != known.shape or not (np.isfinite(amounts[known]) & (amounts[known] >= 0.0)).all():
        raise ValueError(f"{name} must hold a finite number >= 0 for each of {known.size} samples")
    return amounts


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _exp(log: float) -> float:
    """Compute the exponential without an overflow."""
    return float(np.exp(min(log, 700.0)))


def _check_audit(audit: Any) -> float:
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


def _known(labels: Array) -> BoolArray:
    """Mark the labels that are present."""
    if labels.dtype == object:
        # NaN is not equal to itself, and whether pandas.NA is, is missing as well.
        same = [label is not None and label == label for label in labels]
        return np.array([isinstance(each, bool | np.bool_) and bool(each) for each in same], dtype=bool)
    return labels == labels


def _ratio(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0.0 else float("nan")


def _of_share(ones: float, trials: float, alpha: float) -> tuple[float, float]:
    """Find the shares at which a mixture of all others is at most ``1 / alpha`` times as likely, whenever one looks."""
    zeros, most = trials - ones, -np.log(alpha)
    mixture = betaln(ones + 0.5, zeros + 0.5) - betaln(0.5, 0.5)

    def excess(share: float) -> float:
        return float(mixture - xlogy(ones, share) - xlog1py(zeros, -share)) - most

    middle = ones / trials if trials else 0.5
    ends: list[Any] = [brentq(excess, edge, middle) if excess(edge) > 0.0 else edge for edge in (1e-12, 1.0 - 1e-12)]
    return (0.0 if ones == 0 else float(ends[0])), (1.0 if zeros == 0 else float(ends[1]))


def _asymptotic(sums: Array, alpha: float, counted: float) -> tuple[float, float]:
    """Find the values whose sum ``top - value bottom`` a normal mixture allows (Waudby-Smith and others, 2024)."""
    top, bottom, tops, products, bottoms = sums[4:]
    scale = counted * (2.0 * np.log(1.0 / alpha) + np.log(2.0 * np.log(1.0 / alpha) + 1.0)) / _NARROWEST
    room = 2.0 * (scale + 1.0) / scale * np.log(np.sqrt(scale + 1.0) / alpha) if counted else np.inf
    # (top - v bottom)^2 <= room (tops - 2 v products + v^2 bottoms), a quadratic in the value v.
    a = bottom**2 - room * bottoms
    if not a > 0.0:
        return -np.inf, np.inf
    b, c = top * bottom - room * products, top**2 - room * tops
    root = np.sqrt(max(b * b - a * c, 0.0))
    return float((b - root) / a), float((b + root) / a)
