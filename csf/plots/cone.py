"""Unreachable cones in the plane of levels and metric values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf.plots._cone_data import cone_data
from csf.plots._style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    VERMILLION,
    Bounded,
    Excess,
    label,
    new_axes,
    place,
    study_of,
    styled,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

    from csf.metrics.base import Metric
    from csf.search.estimator import CostSearch
    from csf.study.study import Study
    from csf.trials import Trial


__all__ = ["ConeDisplay"]


class ConeDisplay:
    """Trials in the plane of levels and metric values, and what they make unreachable.

    It is recommended to use `from_estimator`, `from_study` or `from_trials` to create a display. All parameters are
    stored as attributes.

    Parameters
    ----------
    t, value : ndarray of shape (n_trials,)
        Levels of the complete trials and metric of their own decisions.
    attained : ndarray of shape (n_trials,)
        Best metric that each trial shows over all cuts of its score; equal to ``value`` without scores. Where no cut
        satisfies the constraint, that of the cut which misses it least.
    cones : list of ndarray of shape (n_corners, 2)
        Corners ``(level, metric)`` of the unreachable region of each trial, or of all trials together where the
        bound has no cones.
    levels, envelope : ndarray of shape (n_levels,)
        Largest value that the bound leaves at each level.
    best_possible : float
        Largest value that any model can have according to the bound.
    failed : ndarray of shape (n_failed,), default=()
        Levels of failed trials.
    winner : int, default=None
        Index of the winner in ``t``.
    feasible : bool, default=True
        Whether the winner satisfies the constraint, if there is one.
    span : tuple of float, default=(0.0, 1.0)
        Range of the metric and of the levels.
    diagonal : bool, default=True
        Whether levels are values of the metric, so that the diagonal means something.
    metric_name : str, default="metric"
        Name of the metric.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    union_ : matplotlib PolyCollection
        Everything above the envelope.
    cones_ : matplotlib PolyCollection
        The unreachable regions, one shade each: the darker a place, the more trials exclude it.
    points_ : matplotlib Line2D
        The trials.
    cuts_ : matplotlib LineCollection
        What the best cut of each trial adds to it.
    envelope_line_, bound_line_ : matplotlib Line2D
        Upper envelope and best possible value.
    diagonal_line_, winner_, failed_ : matplotlib Line2D or None
        Diagonal, winner and failed trials.
    labels_ : list of matplotlib Annotation
        Names next to what they name.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("f1", pos=0.2, n_trials=1)
    >>> _ = study.tell(study.ask(), profile=ErrorProfile(fn=0.05, fp=0.1, pos=0.2))
    >>> display = ConeDisplay.from_study(study)
    >>> display.t, display.value, display.best_possible
    (array([0.5]), array([0.667]), 0.750)
    """

    ax_: Axes
    figure_: Figure | SubFigure
    union_: PolyCollection
    cones_: PolyCollection
    points_: Line2D
    cuts_: LineCollection
    envelope_line_: Line2D
    bound_line_: Line2D
    diagonal_line_: Line2D | None
    winner_: Line2D | None
    failed_: Line2D | None
    labels_: list[Annotation]

    def __init__(
        self,
        *,
        t: Array,
        value: Array,
        attained: Array,
        cones: list[Array],
        levels: Array,
        envelope: Array,
        best_possible: float,
        failed: ArrayLike = (),
        winner: int | None = None,
        feasible: bool = True,
        span: tuple[float, float] = (0.0, 1.0),
        diagonal: bool = True,
        metric_name: str = "metric",
    ) -> None:
        self.t, self.value, self.attained = t, value, attained
        self.cones, self.levels, self.envelope = cones, levels, envelope
        self.best_possible = best_possible
        self.failed, self.winner, self.feasible = np.asarray(failed), winner, feasible
        self.span, self.diagonal = span, diagonal
        self.metric_name = metric_name

    @classmethod
    def from_trials(
        cls,
        trials: Sequence[Trial],
        metric: Metric,
        *,
        pos: float,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        ceiling: float | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the cones of trials and draw them.

        Parameters
        ----------
        trials : sequence of Trial
            Trials in any order; those without a level are left out.
        metric : Metric
            What they were trained for.
        pos : float
            Share of positives, in (0, 1).
        bound : str or type, default=None
            A name in `csf.bounds.BOUNDS`. ``None`` draws the cones of ``"envelope"`` with the best value possible
            by ``"diagonal"`` (of a search its ``upper_bound_``), and for metrics without levels the slices of
            ``"support"``.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`. With the paper's 0 the best value possible may lie
            below values that are already there.
        ceiling : float, default=None
            Height of the dashed line; ``None`` means the best value possible by the bound.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ConeDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no trial has a level.
        TypeError
            If the bound does not serve the metric.
        """
        data = cone_data(trials, metric, pos=pos, bound=bound, eps=eps)
        data["best_possible"] = data["best_possible"] if ceiling is None else ceiling
        return cls(**data).plot(ax, **plot_kwargs)

    @classmethod
    def from_study(
        cls,
        study: Study,
        *,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the cones of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with told trials.
        bound, eps, ax, **plot_kwargs
            As for `from_trials`.

        Returns
        -------
        ConeDisplay
            The display, drawn.
        """
        options = {"bound": bound, "eps": eps, "ax": ax}
        return cls.from_trials(study.trials, study.metric, pos=study.pos, **options, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the cones of a fitted search and draw them; nothing is trained.

        Parameters
        ----------
        search : CostSearch
            A fitted search. Its trials are drawn on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        bound, eps, ax, **plot_kwargs
            As for `from_trials`.

        Returns
        -------
        ConeDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        # One bound in texts, files and plots: that of the search, unless another one is asked for.
        if bound is None and setting is None and eps == "evidence" and hasattr(search, "upper_bound_"):
            plot_kwargs = {"ceiling": search.upper_bound_} | plot_kwargs
        return cls.from_study(study_of(search, setting), bound=bound, eps=eps, ax=ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        top: float | None = None,
        labels: bool = True,
        point_kwargs: dict[str, Any] | None = None,
        cone_kwargs: dict[str, Any] | None = None,
        envelope_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        top : float, default=None
            Upper end of the metric's axis; ``None`` gives low values the room that they need.
        labels : bool, default=True
            Whether names are written next to what they name.
        point_kwargs, cone_kwargs, envelope_kwargs : dict, default=None
            Arguments of matplotlib for the points, the cones and the envelope.

        Returns
        -------
        ConeDisplay
            ``self``.
        """
        ax = self.ax_ = new_axes(ax)
        self.figure_ = ax.figure
        self._draw_bound(ax, cone_kwargs, envelope_kwargs)
        self._draw_trials(ax, point_kwargs)
        top = self.top if top is None else top
        self._frame(ax, top)
        self.labels_ = self._write(ax, top) if labels else []
        return self

    def _draw_bound(self, ax, cone_kwargs, envelope_kwargs):
        """What is unreachable, and how high that leaves the metric."""
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D

        style = styled(PolyCollection, cone_kwargs, facecolor=PALE, edgecolor="none", zorder=0)
        self.union_ = ax.fill_between(self.levels, self.envelope, self.span[1], **style)
        # Overlapping cones darken towards the same grey, whatever their number.
        alpha = 1.0 - 0.45 ** (1.0 / max(len(self.cones), 1))
        style = styled(PolyCollection, cone_kwargs, facecolor=GREY, edgecolor="none", alpha=alpha, zorder=1)
        self.cones_ = ax.add_collection(PolyCollection(self.cones, **style))
        style = styled(Line2D, envelope_kwargs, color=INK, linewidth=1.0, zorder=2)
        (self.envelope_line_,) = ax.plot(self.levels, self.envelope, **style)
        self.diagonal_line_ = None
        if self.diagonal:
            style = {"color": INK, "linewidth": 0.9, "linestyle": ":", "zorder": 2}
            (self.diagonal_line_,) = ax.plot(self.span, self.span, **style)
        style = {"color": VERMILLION, "linewidth": 1.2, "linestyle": "--", "zorder": 3}
        (self.bound_line_,) = ax.plot(self.span, [self.best_possible] * 2, **style)

    def _draw_trials(self, ax, point_kwargs):
        """Trials with their best cuts, the winner, and failures on the axis."""
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        stems = np.stack([np.column_stack([self.t, self.value]), np.column_stack([self.t, self.attained])], axis=1)
        self.cuts_ = ax.add_collection(LineCollection(list(stems), color=BLUE, linewidth=1.0, zorder=3))
        style = styled(Line2D, point_kwargs, color=BLUE, marker="o", markersize=4.5, linestyle="none", zorder=4)
        (self.points_,) = ax.plot(self.t, self.value, **style)
        self.winner_ = self.failed_ = None
        if self.winner is not None:
            at = [self.t[self.winner]], [self.attained[self.winner]]
            style = {"color": ORANGE, "marker": "o", "markersize": 8, "markeredgecolor": INK, "linestyle": "none"}
            (self.winner_,) = ax.plot(*at, zorder=5, **style)
        if len(self.failed):
            style = {"color": INK, "marker": "x", "markersize": 6, "linestyle": "none", "zorder": 5}
            (self.failed_,) = ax.plot(self.failed, np.full(len(self.failed), self.span[0]), **style)

    @property
    def top(self) -> float:
        """Upper end of the metric's axis that gives low values the room that they need."""
        lo, hi = self.span
        highest = max(self.best_possible, float(np.max(self.attained)))
        top = lo + max(2.0 * (highest - lo), 0.05 * (hi - lo))
        return hi if top > lo + 0.75 * (hi - lo) else top

    def _frame(self, ax, top):
        lo, hi = self.span
        # A little room, so that points on an axis are seen whole.
        x_room, y_room = 0.015 * (hi - lo), 0.02 * (top - lo)
        ax.set(xlabel="level t", ylabel=self.metric_name)
        ax.set(xlim=(lo - x_room, hi + x_room), ylim=(lo - y_room, top + (y_room if top == hi else 0.0)))
        tidy(ax)

    def _write(self, ax, top):
        """Names, each next to what it names."""
        lo, hi = self.span
        middle = 0.5 * (lo + hi)
        winner_left = self.winner is not None and self.t[self.winner] < middle
        far, ha, inward = (hi, "right", -3) if winner_left else (lo, "left", 3)
        best = f"bound{'' if self.feasible else ' (infeasible)'} {self.best_possible:.3f}"
        high = self.best_possible > lo + 0.9 * (top - lo)
        style = {"ha": ha, "va": "top" if high else "bottom", "offset": (inward, -3 if high else 3)}
        labels = [label(ax, best, (far, min(self.best_possible, top)), color=VERMILLION, **style)]
        at = np.argmin(self.envelope + 0.5 * np.abs(self.levels - middle) * (top - lo) / (hi - lo))
        room = top - max(self.envelope[at], self.best_possible)
        if room > 0.15 * (top - lo):
            xy = self.levels[at], top - 0.4 * room
            labels.append(label(ax, "not expected", xy, ha="center"))
        if self.diagonal:
            s = lo + 0.12 * (top - lo)
            style = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True, "va": "top"}
            labels.append(label(ax, f"t = {self.metric_name}", (s, s), offset=(2, -2), bbox=None, **style))
        if len(self.failed):
            labels.append(label(ax, "failed", (self.failed[0], lo), offset=(5, 7)))
        if self.winner is not None:
            t, value = self.t[self.winner], self.attained[self.winner]
            points = np.concatenate([np.column_stack([self.t, self.value]), np.column_stack([self.t, self.attained])])
            name, miss = ("winner", "") if self.feasible else ("closest", " (infeasible)")
            text = f"{name}: t = {t:.3g}\n{self.metric_name} = {value:.3f}{miss}"
            labels.append(place(ax, text, (t, value), points=points, others=labels))
        return labels
