"""A fitted threshold that is watched: whether a metric still keeps its level, by labels that come in over time.

The test is a bet against the level (an e-process): its capital is a product over samples, its mean is at most 1 while
the level holds, and so the probability that it ever reaches ``1 / alpha`` is at most ``alpha``, however often one looks
[1]_. For F1, precision and other shares the factors are the likelihood ratios of binomial shares. Several stakes are
mixed, and all samples at which the level may have been lost, with weights that fall with their number.

References
----------
.. [1] A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, "Game-theoretic statistics and safe anytime-valid inference",
   Statistical Science 38, 2023.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp, xlog1py, xlogy
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from csf import _common
from csf._common.files import read_record, write_record
from csf._common.typing import Array, BoolArray, PathLike, Samples
from csf._common.validation import check_fraction, check_path, check_share, floats, warn_of_order
from csf.metrics.constraints import CELLS, MeanCost, gains_of, share_of, terms_of

KIND, VERSION = "csf-monitor", 1
# Shares of the capital that are put at risk by one sample at most. Those of metrics that are no share, or are known by
# an audit, vary more and ask for smaller ones too.
_STAKES, _MORE_STAKES = 0.6 * 0.5 ** np.arange(5), 0.6 * 0.5 ** np.arange(9)
# Counted samples after which half of the weight of all starts is spent.
_UNIT = 100.0
# Logarithm of a capital of nothing, which JSON can hold.
_NOTHING = -1e9
# Batches that are remembered one by one; with more, neighbours are merged.
_REMEMBERED = 64
# Counted samples at which an asymptotic interval is narrowest.
_NARROWEST = 500.0
# So many samples without a negative prediction are no chance.
_ONE_SIDED = 200
_LONGEST = 32
# What is summed: counts of the cells, then numerators, denominators, and their products.
_N_SUMS = 9


class Monitor:
    """Whether a metric of a fitted search still keeps a level on new data; made by ``CostSearch.monitor``.

    Attributes
    ----------
    alarm : False or str
        ``False``, or the name of the batch since which the level is probably lost. An alarm stays.
    value : float
        The metric on all labelled samples; after an alarm on those since then. NaN without any.
    interval : tuple of float
        Confidence sequence of `value` at ``1 - alpha``: it may be looked at after each batch. It is exact for shares
        whose samples are all labelled, and asymptotic otherwise. After an alarm it does not count that its start was
        chosen by the same samples.
    capital : float
        Evidence against the level; the alarm is at ``1 / alpha``.
    history : list of tuple
        Name, value and capital of the batches so far, at most 64; with more batches neighbours are merged.
    n_samples : int
        Labelled samples so far.

    See Also
    --------
    CostSearch.monitor : Makes one, with an example.
    """

    def __init__(
        self, search: Any, metric: Any, side: str, level: float, *, alpha: float, audit: float, path: PathLike | None
    ) -> None:
        self.search, self.metric, self.side, self.level = search, metric, side, float(level)
        self.alpha, self.audit, self.path = check_fraction(alpha, "alpha"), _check_audit(audit), path
        check_path(path, "path")
        self._terms = _terms(metric, search)
        self._share = share_of(metric) if self.audit == 1.0 else None
        self._largest = self._largest_gain()
        self._stakes = _STAKES if self._share is not None else _MORE_STAKES
        self.alarm: Literal[False] | str = False
        self.n_batches = self._n_counted = 0
        self._mixed = np.full(self._stakes.size, _NOTHING)
        # Of each stake the likeliest start, its logarithm, and sums of the samples since then.
        self._best, self._starts = self._mixed.copy(), [""] * self._stakes.size
        self._since, self._whole = np.zeros((self._stakes.size, _N_SUMS)), np.zeros(_N_SUMS)
        self._history: list[list[Any]] = []
        if path is not None and os.path.exists(path):
            self._resume(read_record(path, KIND, VERSION))

    # ---------------------------------------------------------------- what is known

    @property
    def demand(self) -> str:
        """What is watched, such as ``"f1 >= 0.6"``."""
        return f"{self.metric.name} {self.side} {self.level:.4g}"

    @property
    def n_samples(self) -> int:
        """Labelled samples so far."""
        return int(self._whole[:4].sum())

    @property
    def capital(self) -> float:
        """Evidence against the level so far."""
        return _exp(self._log_capital())

    @property
    def value(self) -> float:
        """The metric on the samples that count, see the class."""
        return _ratio(self._sums())

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence sequence of the value."""
        sums = self._sums()
        if self._share is None:
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
        return [(name, _ratio(np.array([*[0.0] * 4, *sums])), _exp(log)) for name, sums, log in self._history]

    def __repr__(self) -> str:
        return f"Monitor({self.demand}, alarm={self.alarm!r}, value={self.value:.4g}, n_samples={self.n_samples})"

    def report(self) -> str:
        """What is known so far and what to do, in some lines.

        Returns
        -------
        str
            The text.
        """
        (low, high), since = self.interval, f" since {self.alarm}" if self.alarm else ""
        lines = [
            f"{self.demand}: {'ALARM, lost' + since if self.alarm else 'no evidence against it'}",
            f"{self.metric.name}{since}: {self.value:.4f}, {1.0 - self.alpha:.0%} interval [{low:.4f}, {high:.4f}]",
            f"{self.n_samples} labelled samples in {self.n_batches} batches; evidence {self.capital:.3g} of "
            f"{1.0 / self.alpha:.3g}",
        ]
        if self.alarm:
            lines.append(
                "Do: prevalence(X) shows whether the share of positives has moved, at_prevalence of the search then "
                "moves the threshold; retune(X, y) finds another one by the samples since then; else train again"
            )
        return "\n".join(lines)

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
        return _common.plot_monitor(self, ax)

    # ---------------------------------------------------------------- new samples

    def update(
        self, y: ArrayLike | None, y_pred: ArrayLike, *, cost: ArrayLike | None = None, name: str | None = None
    ) -> Literal[False] | str:
        """Count a batch of samples, of any size.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; ``None`` or NaN where one is not known (yet): such samples are left out. ``None`` where the metric
            counts predictions alone.
        y_pred : array-like of shape (n_samples,)
            What the search predicted.
        cost : array-like of shape (n_samples,), default=None
            Costs >= 0 of these decisions, where a mean cost is watched; ``None`` takes those of its errors.
        name : str, default=None
            Name of the batch, such as its date; ``None`` counts the batches.

        Returns
        -------
        False or str
            `alarm`.

        Raises
        ------
        ValueError
            If labels are unknown to the search, lengths differ, or the labels are those of alerts alone while the
            metric counts others.
        """
        warn_of_order(y=y, y_pred=y_pred, cost=cost)
        top, bottom, cells, weight = self._rows(y, np.asarray(y_pred), cost)
        top, bottom = weight * top, weight * bottom
        sums = np.concatenate(
            [np.bincount(cells, minlength=4), [top.sum(), bottom.sum(), top @ top, top @ bottom, bottom @ bottom]]
        )
        name = str(self.n_batches + 1 if name is None else name)[:_LONGEST]
        sign = 1.0 if self.side == ">=" else -1.0
        self._bet(sign * (top - self.level * bottom), sums, name)
        self.n_batches += 1
        self._whole = self._whole + sums
        self._remember(name, sums)
        if self.path is not None:
            self.save(self.path)
        return self.alarm

    def _rows(self, y: ArrayLike | None, pred: Array, cost: ArrayLike | None) -> tuple[Array, Array, Array, Array]:
        """What each labelled sample adds to the numerator and the denominator, its cell and its weight."""
        if y is None and not self._needs_no_labels:
            raise ValueError(f"y=None is for metrics of predictions alone, and {self.metric.name} needs labels: give y")
        truth = pred if y is None else np.asarray(y)
        if truth.ndim != 1 or truth.shape != pred.shape:
            raise ValueError(f"y and y_pred must be of one length, got shapes {truth.shape} and {pred.shape}")
        known = _known(truth)
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
        weight = np.where(found, 1.0, 1.0 / self.audit) if self.audit else found * 1.0
        return top, bottom, cells, weight

    @property
    def _needs_no_labels(self) -> bool:
        """Whether predictions alone count."""
        terms = self._terms
        return terms["tp"] == terms["fp"] and terms["fn"] == terms["tn"]

    def _check_both_sides(self, cells: Array) -> None:
        """A ValueError where labels are probably those of alerts alone."""
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
        costs = floats(cost, "cost")
        if costs.shape != known.shape or not (np.isfinite(costs[known]).all() and (costs[known] >= 0.0).all()):
            raise ValueError(f"cost must hold a finite number >= 0 for each of {known.size} samples")
        return costs[known]

    def _largest_gain(self) -> float:
        """What a sample adds at most where the level is kept."""
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
        self._history.append([name, sums[4:6].tolist(), self._log_capital()])
        if len(self._history) > _REMEMBERED:
            pairs = zip(self._history[:-1:2], self._history[1::2])
            self._history = [
                [late[0], [a + b for a, b in zip(early[1], late[1])], late[2]] for early, late in pairs
            ] + self._history[len(self._history) // 2 * 2 :]

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
            and ``threshold_interval_`` are those of these samples, and its ``monitor`` starts again.
        """
        search: Any = clone(self.search)
        search.set_params(
            base=FrozenEstimator(self.search.best_estimator_),
            cv="prefit",
            param_grid=None,
            confidence=None,
            checkpoint=None,
            refit=True,
        )
        return search.fit(X, y, **fit_params)

    # ---------------------------------------------------------------- files

    def save(self, path: PathLike) -> None:
        """Write the state: a file of JSON, some kilobytes, in one step.

        Parameters
        ----------
        path : path-like
            File to write; ``search.monitor(..., path=path)`` reads it.
        """
        write_record(path, KIND, VERSION, self._identity() | {name: _plain(getattr(self, name)) for name in _STATE})

    def _identity(self) -> dict[str, Any]:
        """What makes it this monitor: the model, what is watched, and how."""
        names = ("classes_", "class_count_", "n_features_in_", "best_score_", "best_threshold_")
        parts = [type(self.search.best_estimator_).__name__, *(str(getattr(self.search, name, "")) for name in names)]
        model = hashlib.sha256(repr(parts).encode()).hexdigest()
        settings = {name: getattr(self, name) for name in ("side", "level", "alpha", "audit")}
        return {"model": model, "metric": self.metric.name, **settings}

    def _resume(self, content: dict[str, Any]) -> None:
        for name, own in self._identity().items():
            if content.get(name) != own:
                fault = "is of another model" if name == "model" else f"has {name}={content.get(name)!r}, not {own!r}"
                raise ValueError(
                    f"{self.path} {fault}; it was left as it is. Give the model and the options that it was written "
                    "with, or another path to start again"
                )
        for name in _STATE:
            own, value = getattr(self, name), content[name]
            setattr(self, name, np.array(value) if isinstance(own, np.ndarray) else value)


_STATE = ("alarm", "n_batches", "_n_counted", "_mixed", "_best", "_starts", "_since", "_whole", "_history")


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _exp(log: float) -> float:
    """Without an overflow."""
    return float(np.exp(min(log, 700.0)))


def _check_audit(audit: Any) -> float:
    return 0.0 if not isinstance(audit, bool) and audit == 0 else check_share(audit, "audit")


def _terms(metric: Any, search: Any) -> dict[str, tuple[float, float]]:
    """What samples of each cell add to a metric that can be watched on predictions of a search."""
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
    """Which labels are there."""
    if labels.dtype == object:
        # NaN is not equal to itself, and whether pandas.NA is, is missing as well.
        same = [label is not None and label == label for label in labels]
        return np.array([isinstance(each, bool | np.bool_) and bool(each) for each in same], dtype=bool)
    return labels == labels


def _ratio(sums: Array) -> float:
    return float(sums[4] / sums[5]) if sums[5] > 0.0 else float("nan")


def _of_share(ones: float, trials: float, alpha: float) -> tuple[float, float]:
    """Shares at which a mixture of all others is no more than ``1 / alpha`` times as likely, whenever one looks."""
    zeros, most = trials - ones, -np.log(alpha)
    mixture = betaln(ones + 0.5, zeros + 0.5) - betaln(0.5, 0.5)

    def excess(share: float) -> float:
        return float(mixture - xlogy(ones, share) - xlog1py(zeros, -share)) - most

    middle = ones / trials if trials else 0.5
    ends: list[Any] = [brentq(excess, edge, middle) if excess(edge) > 0.0 else edge for edge in (1e-12, 1.0 - 1e-12)]
    return (0.0 if ones == 0 else float(ends[0])), (1.0 if zeros == 0 else float(ends[1]))


def _asymptotic(sums: Array, alpha: float, counted: float) -> tuple[float, float]:
    """Values whose sum ``top - value bottom`` a normal mixture leaves room for (Waudby-Smith and others, 2024)."""
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
