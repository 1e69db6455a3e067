"""The plane of error profiles: what was trained, what is known and what is still possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.typing import Array
from csf.bounds import SupportLineBound, known_profiles
from csf.plots._style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    SKY,
    VERMILLION,
    Excess,
    label,
    new_axes,
    place,
    study_of,
    styled,
    tidy,
)
from csf.trials import best_trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from matplotlib.text import Text

    from csf.search.estimator import CostSearch
    from csf.study.study import Study


__all__ = ["ErrorProfileDisplay"]

GRID = 161


class ErrorProfileDisplay:
    """Errors of the trials, the support lines that they draw, and the metric over both.

    No model of the class lies below a support line, so that only profiles above all of them are possible. The best
    value possible is that of the contour that touches their edge.

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes; profiles are shares of all samples there, whatever is drawn.

    Parameters
    ----------
    profiles : ndarray of shape (n_trials, 2)
        ``(fn, fp)`` of the trials' own decisions.
    lines : ndarray of shape (n_trials, 2, 2)
        Ends of the support lines, where they leave the box of all profiles.
    known : ndarray of shape (n_known, 2)
        Lower-left hull of all profiles that some cut of some model attains.
    possible : ndarray of shape (n_corners, 2)
        Lower-left edge of the profiles that are still possible.
    grid_fn, grid_fp : ndarray of shape (n_grid,)
        Errors at which the metric is known.
    values : ndarray of shape (n_grid, n_grid)
        Metric there, a row for each ``grid_fp``.
    best_possible : float
        Best value possible.
    pos : float
        Share of positives.
    winner : int, default=None
        Index of the winner in ``profiles``.
    feasible : bool, default=True
        Whether the winner satisfies the constraint, if there is one.
    metric_name : str, default="metric"
        Name of the metric.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    points_, known_line_, possible_line_ : matplotlib Line2D
        Trials, known hull, and edge of what is possible.
    support_lines_ : matplotlib LineCollection
        The support lines.
    impossible_ : matplotlib Polygon
        Everything below the edge.
    contours_, best_contour_ : matplotlib QuadContourSet
        Contours of the metric, and the one at the best value possible (``None`` at the ends of its range).
    winner_ : matplotlib Line2D or None
        The winner.
    labels_ : list of matplotlib Annotation
        Names next to what they name.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("gmean", pos=0.2, n_trials=1)
    >>> _ = study.tell(study.ask(), profile=ErrorProfile(fn=0.05, fp=0.1, pos=0.2))
    >>> display = ErrorProfileDisplay.from_study(study)
    >>> display.profiles, display.best_possible
    (array([[0.05, 0.1 ]]), 0.812)
    """

    ax_: Axes
    figure_: Figure | SubFigure
    points_: Line2D
    known_line_: Line2D
    possible_line_: Line2D
    support_lines_: LineCollection
    impossible_: Polygon
    contours_: QuadContourSet
    best_contour_: QuadContourSet | None
    winner_: Line2D | None
    labels_: list[Text]

    def __init__(
        self,
        *,
        profiles: Array,
        lines: Array,
        known: Array,
        possible: Array,
        grid_fn: Array,
        grid_fp: Array,
        values: Array,
        best_possible: float,
        pos: float,
        winner: int | None = None,
        feasible: bool = True,
        metric_name: str = "metric",
    ) -> None:
        self.profiles, self.lines, self.known, self.possible = profiles, lines, known, possible
        self.grid_fn, self.grid_fp, self.values = grid_fn, grid_fp, values
        self.best_possible, self.pos, self.winner = best_possible, pos, winner
        self.feasible, self.metric_name = feasible, metric_name

    @classmethod
    def from_study(
        cls,
        study: Study,
        *,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the profiles of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with told trials; any metric.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.SupportLineBound`.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ErrorProfileDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no trial is complete.
        """
        told = sorted((t for t in study.trials if t.state == "complete"), key=lambda trial: trial.number)
        if not told:
            raise ValueError("there is no complete trial to draw; tell the study its first results")
        bound = SupportLineBound(told, study.metric, pos=study.pos, eps=eps)
        profiles = np.array([(trial.profile.fn, trial.profile.fp) for trial in told if trial.profile is not None])
        costs = np.array([trial.costs for trial in told])
        least = (costs * profiles).sum(axis=1) - bound.excess()
        grid_fn, grid_fp = np.linspace(0.0, study.pos, GRID), np.linspace(0.0, 1.0 - study.pos, GRID)
        winner, known = best_trial(told), known_profiles(told)
        assert winner is not None  # some trial is complete
        assert known is not None
        return cls(
            profiles=profiles,
            lines=np.array([_ends(c, rhs, study.pos) for c, rhs in zip(costs, least)]),
            known=known.points,
            possible=bound.chain_,
            grid_fn=grid_fn,
            grid_fp=grid_fp,
            values=study.metric.value(*np.meshgrid(grid_fn, grid_fp), pos=study.pos),
            best_possible=bound.best_possible(),
            pos=study.pos,
            winner=next(i for i, trial in enumerate(told) if trial is winner),
            feasible=winner.feasible,
            metric_name=study.metric.name,
        ).plot(ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the profiles of a fitted search and draw them; nothing is trained.

        Parameters
        ----------
        search : CostSearch
            A fitted search; its profiles are those on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        eps, ax, **plot_kwargs
            As for `from_study`.

        Returns
        -------
        ErrorProfileDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        return cls.from_study(study_of(search, setting), eps=eps, ax=ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        rates: bool = True,
        labels: bool = True,
        point_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        rates : bool, default=True
            Whether the axes are rates within each class (``fnr``, ``fpr``) or shares of all samples (``fn``, ``fp``).
        labels : bool, default=True
            Whether names are written next to what they name.
        point_kwargs, line_kwargs : dict, default=None
            Arguments of matplotlib for the trials and for the support lines.

        Returns
        -------
        ErrorProfileDisplay
            ``self``.
        """
        ax = self.ax_ = new_axes(ax, figsize=(5.4, 5.0))
        self.figure_ = ax.figure
        unit = np.array([self.pos, 1.0 - self.pos]) if rates else np.ones(2)
        self._draw_plane(ax, unit, line_kwargs)
        self._draw_trials(ax, unit, point_kwargs)
        share = "" if rates else ", share of all samples"
        names = ("false negative rate", "false positive rate") if rates else ("false negatives", "false positives")
        ax.set(xlabel=names[0] + share, ylabel=names[1] + share)
        reach = np.max(self.profiles / unit, axis=0)
        box = np.array([self.pos, 1.0 - self.pos]) / unit
        right, top = np.clip(1.12 * reach, 0.02 * box, box)
        ax.set(xlim=(0.0, right), ylim=(0.0, top))
        tidy(ax)
        self.labels_ = self._write(ax, unit) if labels else []
        return self

    def _draw_plane(self, ax, unit, line_kwargs):
        """The metric, the support lines, and what they forbid."""
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Polygon

        edge, (right, top) = self.possible / unit, np.array([self.pos, 1.0 - self.pos]) / unit
        below = [(edge[0, 0], top), *edge, (right, edge[-1, 1]), (right, 0.0), (0.0, 0.0), (0.0, top)]
        self.impossible_ = ax.add_patch(Polygon(below, facecolor=PALE, edgecolor="none", zorder=0))
        grid = self.grid_fn / unit[0], self.grid_fp / unit[1], self.values
        self.contours_ = ax.contour(*grid, levels=9, colors=SKY, linewidths=0.7, zorder=1)
        style = styled(LineCollection, line_kwargs, color=GREY, linewidth=0.7, zorder=2)
        self.support_lines_ = ax.add_collection(LineCollection(self.lines / unit, **style))
        (self.possible_line_,) = ax.plot(*edge.T, color=INK, linewidth=1.4, zorder=3)
        self.best_contour_ = None
        if self.values.min() < self.best_possible < self.values.max():
            style = {"colors": VERMILLION, "linestyles": "--", "linewidths": 1.4, "zorder": 3}
            self.best_contour_ = ax.contour(*grid, levels=[self.best_possible], **style)

    def _draw_trials(self, ax, unit, point_kwargs):
        """What was trained, and what is known of it."""
        from matplotlib.lines import Line2D

        (self.known_line_,) = ax.plot(*(self.known / unit).T, color=GREEN, linewidth=1.4, zorder=3)
        style = styled(Line2D, point_kwargs, color=BLUE, marker="o", markersize=4.5, linestyle="none", zorder=4)
        (self.points_,) = ax.plot(*(self.profiles / unit).T, **style)
        self.winner_ = None
        if self.winner is not None:
            style = {"color": ORANGE, "marker": "o", "markersize": 8, "markeredgecolor": INK, "linestyle": "none"}
            (self.winner_,) = ax.plot(*(self.profiles[[self.winner]] / unit).T, zorder=5, **style)

    def _write(self, ax, unit):
        """Names, each next to what it names."""
        (_, right), (_, top) = ax.get_xlim(), ax.get_ylim()
        labels = [label(ax, "impossible for the class", (0.02 * right, 0.02 * top), va="bottom", color=GREY)]
        known = _inside(self.known / unit, right, top)
        parts = [] if self.best_contour_ is None else self.best_contour_.allsegs[0]
        contour = _inside(np.concatenate([np.empty((0, 2)), *parts]), right, top)
        points = self.profiles / unit
        if contour.size:
            text = f"best possible {self.metric_name} {self.best_possible:.3f}"
            start = contour[contour[:, 0].argmin()]
            style: dict[str, Any] = {"offset": (8, -1), "va": "top"} if start[1] > 0.9 * top else {"offset": (5, 7)}
            labels.append(label(ax, text, start, color=VERMILLION, **style))
        if known.size:
            labels.append(place(ax, "known", known[0], points=points, others=labels, color=GREEN))
        if self.winner is not None:
            name = "winner" if self.feasible else "closest (infeasible)"
            labels.append(place(ax, name, points[self.winner], points=points, others=labels))
        return [*labels, *ax.clabel(self.contours_, fontsize=7, colors=BLUE)]


def _inside(points, right, top):
    """Points that the axes show."""
    return points[(points <= [right, top]).all(axis=1)]


def _ends(costs, rhs, pos):
    """Two points where the line ``costs·e = rhs`` crosses the sides of the box, or touches it."""
    (a, b), neg = costs, 1.0 - pos
    crossings = [(x, (rhs - a * x) / b) for x in (0.0, pos)] + [((rhs - b * y) / a, y) for y in (0.0, neg)]
    inside = [(x, y) for x, y in crossings if -1e-12 <= x <= pos + 1e-12 and -1e-12 <= y <= neg + 1e-12]
    return [min(inside), max(inside)] if inside else [crossings[0], crossings[0]]
