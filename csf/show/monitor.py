"""What a monitor has seen, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.typing import Array
from csf.show._shared import BLUE, GREEN, GREY, INK, VERMILLION, Display, label, styled, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.evaluate import Monitor

__all__ = ["MonitorDisplay"]

# Most names of batches at the axis.
_MOST_NAMES = 5
# Largest evidence that is shown, and one over the smallest one.
_FARTHEST = 1e4


@dataclass(kw_only=True, eq=False, repr=False)
class MonitorDisplay(Display):
    """Values of a watched metric by batch, its level, and the evidence against it.

    It is recommended to use `from_monitor` to create a display. All parameters are stored as attributes.

    Parameters
    ----------
    names : list of str
        Batches.
    values : ndarray of shape (n_batches,)
        Metric on each batch; NaN where nothing counts.
    evidence : ndarray of shape (n_batches,)
        Capital after each batch, as a share of what sets off an alarm.
    level : float
        The level.
    metric_name : str
        Name of the metric.
    alarm : str, default=None
        Batch since which the level is probably lost.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the values.
    figure_ : matplotlib figure
        Figure of the plot.

    Examples
    --------
    >>> MonitorDisplay(
    ...     names=["May", "June"], values=np.array([0.62, 0.48]), evidence=np.array([0.05, 1.4]), level=0.6,
    ...     metric_name="f1", alarm="June",
    ... ).plot().ax_.get_ylabel()
    'f1'
    """

    names: list[str]
    values: Array
    evidence: Array
    level: float
    metric_name: str
    alarm: str | None = None

    @classmethod
    def from_monitor(cls, monitor: Monitor) -> Self:
        """Display of a monitor.

        Parameters
        ----------
        monitor : Monitor
            After some updates.

        Returns
        -------
        MonitorDisplay
            Not drawn yet.
        """
        names, values, capital = zip(*monitor.history) if monitor.history else ((), (), ())
        return cls(
            names=list(names),
            values=np.array(values),
            evidence=np.array(capital) * monitor.alpha,
            level=monitor.level,
            metric_name=monitor.metric.name,
            alarm=monitor.alarm or None,
        )

    def plot(self, ax: Axes | None = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw the values, and on a second axis the evidence on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kw : dict, default=None
            Arguments of the line of values.

        Returns
        -------
        MonitorDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        from matplotlib.lines import Line2D

        ax = self._begin(ax, (6.4, 3.6))
        at = np.arange(len(self.names))
        ax.plot(at, self.values, **styled(Line2D, line_kw, color=BLUE, marker="o", markersize=4, linewidth=1.6))
        ax.axhline(self.level, color=GREEN, linestyle="--", linewidth=1.2)
        label(ax, f"level {self.level:.3g}", (0, self.level), color=GREEN, offset=(0, 7))
        ax.set_ylabel(self.metric_name, color=BLUE)
        other: Any = ax.twinx()
        # It is decided at 1: what is far beyond, or far below, is drawn at the edge.
        shown = np.clip(self.evidence, 1.0 / _FARTHEST, _FARTHEST)
        other.plot(at, shown, color=GREY, linewidth=1.2)
        other.axhline(1.0, color=VERMILLION, linestyle=":", linewidth=1.2)
        other.set_yscale("log")
        other.set_ylim(min(0.03, np.min(shown, initial=1.0) / 2), max(3.0, np.max(shown, initial=1.0) * 2))
        other.set_ylabel("evidence (alarm at 1)", color=GREY)
        other.spines[["top"]].set_visible(False)
        if self.alarm in self.names:
            place = self.names.index(self.alarm)
            ax.axvspan(place - 0.5, at[-1] + 0.5, color=VERMILLION, alpha=0.08, linewidth=0)
            label(ax, f"lost since {self.alarm}", (place - 0.4, ax.get_ylim()[1]), color=INK, va="top", offset=(2, -3))
        step = max(1, -(-len(self.names) // _MOST_NAMES))
        ax.set_xticks(at[::step], self.names[::step])
        ax.set_xlabel("batch")
        tidy(ax)
        return self
