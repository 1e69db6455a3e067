"""Several monitors of one stream under one alarm level, such as one for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from csf._common.typing import Array, Estimator, Label, PathLike, Samples
from csf._common.validation import check_fraction, check_path, in_named_order, warn_of_order
from csf.monitoring.cohorts import row_ids
from csf.monitoring.monitor import Monitor
from csf.monitoring.records import Recorded, State

if TYPE_CHECKING:
    from csf.monitoring.terms import Watchable

# The column of a label, or ``None``, and the first arguments of its monitor.
Watched: TypeAlias = "tuple[int | None, tuple[Estimator, Watchable, str, float, str | None, int | None]]"

__all__ = [
    "MonitorGroup",
]


class MonitorGroup(Recorded):
    """Monitors of several labels, or of several constraints, under one alarm level; made by ``CostSearch.monitor``.

    Each monitor has an equal part of ``alpha``: the probability that any of them ever alarms while all levels are kept
    is at most ``alpha``, however labels depend on each other.

    Attributes
    ----------
    monitors : dict of str to Monitor
        Monitors by what they watch, such as ``"f1[cat]"``.
    alarm : False or str
        ``False``, or which monitor was the first with an alarm, and the batch since which its metric is probably
        below its level, such as ``"f1[cat]: June"``. An alarm stays.
    history : dict of str to list
        `Monitor.history` of each monitor.
    n_waiting : int
        Batches that wait for labels.
    awaited : list of int or str
        Ids of their rows.

    See Also
    --------
    CostSearch.monitor : Makes one.
    Monitor : Each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf import CostSearch
    >>> X, Y = make_multilabel_classification(2000, n_classes=2, random_state=0)
    >>> search = CostSearch(LogisticRegression(), "f1_macro", n_trials=2, param_grid=None, cv=3).fit(X[:1000], Y[:1000])
    >>> monitor = search.monitor("f1 >= 0.5")
    >>> monitor.update(Y[1000:1500], search.predict(X[1000:1500]), name="June")
    False
    >>> monitor.update(Y[1500:] ^ np.array([0, 1]), search.predict(X[1500:]), name="July")
    'f1[1]: July'
    """

    def __init__(
        self, watched: Sequence[Watched], names: Sequence[Label], *, alpha: float, path: PathLike | None, **options: Any
    ) -> None:
        check_path(path, "path")
        self._record, self.path, self._names = ("csf-monitor-group", 1), path, names
        self.alpha = check_fraction(alpha, "alpha")
        self.alarm: Literal[False] | str = False
        share = self.alpha / len(watched)
        monitors = [Monitor(*what, alpha=share, path=None, **options) for _, what in watched]
        self.monitors = {monitor.name: monitor for monitor in monitors}
        # Columns of the labels of each; ``None`` for one label a row.
        self._columns = [column for column, _ in watched]
        if len(self.monitors) < len(watched):
            raise ValueError(
                f"{', '.join(monitor.demand for monitor in monitors)} are twice of one metric; give it once"
            )
        self._resume()

    @property
    def history(self) -> dict[str, list[tuple[str, float, float]]]:
        """History of each monitor."""
        return {name: monitor.history for name, monitor in self.monitors.items()}

    @property
    def n_waiting(self) -> int:
        """Number of batches that wait for labels of any monitor."""
        return max(monitor.n_waiting for monitor in self.monitors.values())

    @property
    def awaited(self) -> list[int | str]:
        """Ids of the rows of batches that wait for labels of any monitor."""
        return list(dict.fromkeys(row for monitor in self.monitors.values() for row in monitor.awaited))

    def __repr__(self) -> str:
        return f"MonitorGroup({', '.join(monitor.demand for monitor in self.monitors.values())}, alarm={self.alarm!r})"

    def report(self) -> str:
        """Summarise the evidence of each monitor so far and what to do.

        Returns
        -------
        str
            The text.
        """
        first = f"ALARM, first {self.alarm}" if self.alarm else "no evidence against any of them"
        return "\n\n".join([f"{len(self.monitors)} monitors: {first}", *map(Monitor.report, self.monitors.values())])

    def plot(self) -> dict[str, Any]:
        """Draw each monitor below the others, see `csf.plots.MonitorDisplay`.

        Returns
        -------
        dict of str to csf.plots.MonitorDisplay
            The displays, which share a figure.
        """
        import matplotlib.pyplot as plt

        n = len(self.monitors)
        _, axes = plt.subplots(n, squeeze=False, figsize=(6.4, 3.2 * n), layout="constrained")
        return {name: monitor.plot(ax) for (name, monitor), ax in zip(self.monitors.items(), axes.ravel())}

    def expect(self, y_pred: ArrayLike, *, rows: ArrayLike | None = None, **options: Any) -> None:
        """Remember a batch of decisions whose labels come later, see `Monitor.expect`.

        Parameters
        ----------
        y_pred : array-like of shape (n_samples, n_labels) or (n_samples,)
            What the search predicted.
        rows : array-like of int or str, shape (n_samples,), default=None
            Their ids; ``None`` takes the pandas index of ``y_pred``.
        **options : object
            ``sample_weight`` and ``name``, as for `Monitor.expect`.

        Raises
        ------
        ValueError
            As `Monitor.expect`; then no monitor remembers anything.
        """
        warn_of_order(y_pred=y_pred, rows=rows, **options)
        ids = row_ids(rows, y_pred, "y_pred")
        with self._saved():
            for monitor, predicted in zip(self.monitors.values(), self._parts(y_pred, "y_pred")):
                monitor.expect(predicted, rows=ids, **options)

    def update(
        self, y: ArrayLike | None, y_pred: ArrayLike | None = None, *, rows: ArrayLike | None = None, **options: Any
    ) -> Literal[False] | str:
        """Take labels, and give each monitor its own; see `Monitor.update`.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_labels) or (n_samples,), or None
            Labels; ``None`` or NaN where one is not known. ``None`` where predictions alone count.
        y_pred : array-like of the shape of ``y``, default=None
            What the search predicted. ``None`` for rows that were given to `expect`.
        rows : array-like of int or str, shape (n_samples,), default=None
            Ids of rows that are expected. ``None`` without ``y_pred`` takes the pandas index of ``y``.
        **options : object
            ``sample_weight``, ``cost`` and ``name``, as for `Monitor.update`.

        Returns
        -------
        False or str
            `alarm`.

        Raises
        ------
        ValueError
            As `Monitor.update`; then no monitor counts anything.
        """
        warn_of_order(y=y, y_pred=y_pred, rows=rows, **options)
        ids = row_ids(rows, y, "y") if y_pred is None and y is not None else rows
        with self._saved():
            parts = self._parts(y, "y"), self._parts(y_pred, "y_pred")
            for (name, monitor), truth, predicted in zip(self.monitors.items(), *parts):
                since = monitor.update(truth, predicted, rows=ids, **options)
                if since and not self.alarm:
                    self.alarm = f"{name}: {since}"
        return self.alarm

    def _parts(self, labels: Samples, what: str) -> list[Samples]:
        """Return the labels of each monitor: a column, or all."""
        if labels is None or None in self._columns:
            return [labels] * len(self.monitors)
        labels = in_named_order(labels, self._names, what)
        table: Array = labels.toarray() if issparse(labels) else np.asanyarray(labels)
        if table.ndim != 2 or table.shape[1] != len(self._names):
            raise ValueError(
                f"labels and predictions must have a column for each of {len(self._names)} labels, got shape "
                f"{table.shape}"
            )
        return [table[:, column] for column in self._columns]

    def _content(self) -> State:
        """Return the states of all monitors, as JSON can hold them."""
        return {"alarm": self.alarm, "monitors": {name: monitor._content() for name, monitor in self.monitors.items()}}

    def _restore(self, content: State, path: object) -> None:
        """Set the states that `_content` returned; raise a ValueError where it is something else."""
        states, alarm = content.get("monitors"), content.get("alarm")
        names = list(states) if isinstance(states, dict) else states
        if not isinstance(states, dict) or set(states) != set(self.monitors) or not isinstance(alarm or "", str):
            raise ValueError(
                f"{path} is of the monitors {names}, not {list(self.monitors)}; it was left as it is. Give the model "
                "and the constraint that it was written with, or another path to start again"
            )
        for name, monitor in self.monitors.items():
            monitor._restore(states[name], path)
        self.alarm = alarm or False
