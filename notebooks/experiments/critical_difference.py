"""Average ranks of methods on a line, with bars over those that are not significantly different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from csf.plots.drawing import BLUE, GREY, INK, Display, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["CriticalDifferenceDisplay"]

# Heights of rows of names and of bars, in units of the vertical axis.
ROW, BAR = 1.0, 0.45


class Ranked(Protocol):
    """What is drawn of a ranking."""

    @property
    def names(self) -> Sequence[str]:
        """Methods."""
        ...

    @property
    def ranks(self) -> ArrayLike:
        """Average rank of each, 1 is best."""
        ...

    @property
    def critical_difference(self) -> float:
        """Ranks at most this far apart do not differ; NaN where it is not known."""
        ...


@dataclass(kw_only=True, eq=False, repr=False)
class CriticalDifferenceDisplay(Display):
    """Critical-difference diagram: the best method stands at the left, bars join those that do not differ.

    Parameters
    ----------
    names : sequence of str
        Methods.
    ranks : array-like of shape (n_methods,)
        Average ranks over data sets, 1 is best.
    critical_difference : float
        Ranks that are at most this far apart are not significantly different; NaN draws no bars.
    highlight : sequence of str, default=()
        Methods to be set in colour.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        From each rank to its name, in the order of ``names``.
    labels_ : list of matplotlib Text
        The names, in that order.
    bars_ : list of matplotlib Line2D
        One for each of `groups`.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> display = CriticalDifferenceDisplay(
    ...     names=["grid", "cone", "plain"], ranks=[1.5, 1.6, 2.9], critical_difference=1.0
    ... )
    >>> display.groups()
    [('grid', 'cone')]
    """

    names: Sequence[str]
    ranks: Any  # any array-like; stored as an array
    critical_difference: float
    highlight: Sequence[str] = ()

    def __post_init__(self) -> None:
        given = self.ranks
        self.names, self.ranks = list(self.names), np.asarray(given, dtype=float)
        if self.ranks.shape != (len(self.names),) or not np.isfinite(self.ranks).all():
            raise ValueError(f"ranks must be {len(self.names)} finite numbers, one a method, got {given!r}")

    @classmethod
    def from_ranking(
        cls, ranking: Ranked, *, highlight: Sequence[str] = (), ax: Axes | None = None, **plot_kwargs: Any
    ) -> Self:
        """Draw the ranks that a comparison found.

        Parameters
        ----------
        ranking : object
            Anything with ``names``, ``ranks`` and ``critical_difference``.
        highlight : sequence of str, default=()
            Methods to be set in colour.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        CriticalDifferenceDisplay
            The display, drawn.
        """
        display = cls(
            names=ranking.names,
            ranks=ranking.ranks,
            critical_difference=ranking.critical_difference,
            highlight=highlight,
        )
        return display.plot(ax, **plot_kwargs)

    def groups(self) -> list[tuple[str, ...]]:
        """Largest sets of methods whose ranks are at most the critical difference apart.

        Returns
        -------
        list of tuple of str
            Two methods or more each, by rank, the best group first; none of them inside another.
        """
        order = np.argsort(self.ranks, kind="stable")
        ranks, groups, last = self.ranks[order], [], 0
        for first in range(order.size):
            end = int(np.searchsorted(ranks, ranks[first] + self.critical_difference, side="right"))
            # A group that ends where the one before it ended is a part of that one.
            if end - first > 1 and end > last and not np.isnan(self.critical_difference):
                groups.append(tuple(self.names[at] for at in order[first:end]))
                last = end
        return groups

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kwargs, bar_kwargs : dict, default=None
            Arguments of matplotlib for the lines to the names and for the bars.

        Returns
        -------
        CriticalDifferenceDisplay
            ``self``.
        """
        from matplotlib.lines import Line2D

        groups = self.groups()
        half = (len(self.names) + 1) // 2
        depth = (len(groups) + 1) * BAR
        height = 2.0 + 0.22 * (half * ROW + depth)
        ax = self._begin(ax, (7.6, height))
        low, high = np.floor(self.ranks.min()), max(np.ceil(self.ranks.max()), np.floor(self.ranks.min()) + 1)
        self._draw_scale(ax, low, high)
        order = np.argsort(self.ranks, kind="stable")
        style = styled(Line2D, line_kwargs, linewidth=0.9)
        margin = 0.04 * (high - low)
        drawn = {}
        for place, at in enumerate(order.tolist()):
            left = place < half
            row = place if left else len(order) - 1 - place
            end = (low - margin) if left else (high + margin)
            drawn[at] = self._draw_name(ax, at, -(depth + row * ROW), end, left, style)
        self.lines_, self.labels_ = ([drawn[at][part] for at in range(len(drawn))] for part in (0, 1))
        style = styled(Line2D, bar_kwargs, color=INK, linewidth=3.5, solid_capstyle="round")
        rank = dict(zip(self.names, self.ranks))
        beyond = 0.012 * (high - low)  # so that equal ranks have a bar that can be seen
        self.bars_ = [
            ax.plot([rank[group[0]] - beyond, rank[group[-1]] + beyond], [-(place + 1) * BAR] * 2, **style)[0]
            for place, group in enumerate(groups)
        ]
        ax.set(xlim=(low - 0.42 * (high - low), high + 0.42 * (high - low)), ylim=(-(depth + half * ROW), 3.2))
        ax.axis("off")
        return self

    def _draw_scale(self, ax, low, high):
        """Line of ranks with its ticks, and the critical difference above it."""
        ax.plot([low, high], [0, 0], color=INK, linewidth=1.0)
        for tick in np.arange(low, high + 1):
            ax.plot([tick, tick], [0, 0.25], color=INK, linewidth=1.0)
            ax.text(tick, 0.45, f"{tick:g}", ha="center", va="bottom", fontsize=9, color=INK)
        ax.text(0.5 * (low + high), 1.35, "average rank (1 is best)", ha="center", va="bottom", fontsize=9, color=GREY)
        if not np.isnan(self.critical_difference):
            end = low + min(self.critical_difference, high - low)
            ax.plot([low, end], [2.45, 2.45], color=GREY, linewidth=1.5, marker="|", markersize=7)
            arrow = "" if self.critical_difference <= high - low else ", beyond the scale"
            text = f"critical difference {self.critical_difference:.2f}{arrow}"
            ax.text(low, 2.75, text, ha="left", va="bottom", fontsize=9, color=GREY)

    def _draw_name(self, ax, at, height, end, left, style):
        """Line from the rank of a method down to its row, and its name and rank at the end."""
        name, rank = self.names[at], self.ranks[at]
        color = BLUE if name in self.highlight else INK
        (line,) = ax.plot([rank, rank, end], [0, height, height], **{"color": color} | style)
        text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        return line, ax.annotate(
            text,
            (end, height),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=color,
            fontweight="bold" if name in self.highlight else "normal",
        )
