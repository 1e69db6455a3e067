"""Trials in the plane of levels and metric values, with what they speak against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf.plots._cone_data import cone_data
from csf.plots._cone_drawing import draw_area, draw_trials, frame, write
from csf.plots._searched import study_of
from csf.plots._style import Bounded, Excess, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

    from csf.metrics.base import Metric
    from csf.plots._searched import FittedSearch, Told
    from csf.trials import Trial

__all__ = ["ConeDisplay"]


class ConeDisplay:
    """Trials in the plane of levels and metric values, and what they speak against.

    It is recommended to use `from_estimator`, `from_study` or `from_trials` to create a display. All parameters are
    stored as attributes. By default nothing that is shown lies in a shaded area; with a ``bound`` of its own the area
    is what that bound rules out for exact learners, and trials of real ones may lie there.

    Parameters
    ----------
    t : ndarray of shape (n_trials,)
        Levels of the complete trials, or with ``ratio`` their ratios of costs.
    value : ndarray of shape (n_trials,)
        Metric of their own decisions; NaN where these miss the constraint.
    attained : ndarray of shape (n_trials,)
        Best metric that each trial shows over all cuts of its score; equal to ``value`` without scores, NaN where no
        cut satisfies the constraint.
    cones : list of ndarray of shape (n_corners, 2)
        Corners ``(level, metric)`` of the shaded region of each trial, or of all trials together where the
        bound has no cones.
    levels, envelope : ndarray of shape (n_levels,)
        Lower edge of the shaded area.
    best_possible : float
        The bound: largest value that is expected of any model like these.
    others : ndarray of shape (n_others, 2), default=()
        Trials of other settings of the base, ``(t, attained)``.
    groups : ndarray of int, shape (n_others,), default=()
        Their settings.
    failed : ndarray of shape (n_failed,), default=()
        Levels of failed trials.
    winner : int, default=None
        Index of the winner in ``t``.
    winner_value : float, default=None
        Metric of the winner at the cut that was chosen; ``None`` means its ``attained``.
    feasible : bool, default=True
        Whether the winner satisfies the constraint, if there is one.
    span : tuple of float, default=(0.0, 1.0)
        Range of the metric and of the levels.
    diagonal : bool, default=True
        Whether levels are values of the metric, so that the diagonal means something.
    ratio : bool, default=False
        Whether ``t`` are ratios of costs, on a logarithmic axis.
    metric_name : str, default="metric"
        Name of the metric.
    constraint : str, default=None
        What must hold besides.
    demand : float, default=None
        Level that the constrained rate misses. All heights are then values of this rate, not of the metric.
    claim : str, default="not expected"
        What is said of the shaded area.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    union_ : matplotlib PolyCollection or None
        Everything above the envelope.
    cones_ : matplotlib PolyCollection
        The shaded regions: the darker a place, the more trials speak against it.
    points_, tops_ : matplotlib Line2D
        Own decisions of the trials, and their best cuts.
    others_ : list of matplotlib Line2D
        Trials of other settings, a line each.
    cuts_ : matplotlib LineCollection
        What the best cut of each trial adds to it.
    envelope_line_, bound_line_ : matplotlib Line2D or None
        Upper envelope and bound; where no trial satisfies the constraint ``None`` and the demand.
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
    (array([0.5]), array([0.667]), 0.737)
    """

    ax_: Axes
    figure_: Figure | SubFigure
    union_: PolyCollection | None
    cones_: PolyCollection
    points_: Line2D
    tops_: Line2D
    others_: list[Line2D]
    cuts_: LineCollection
    envelope_line_: Line2D | None
    bound_line_: Line2D | None
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
        others: ArrayLike = (),
        groups: ArrayLike = (),
        failed: ArrayLike = (),
        winner: int | None = None,
        winner_value: float | None = None,
        feasible: bool = True,
        span: tuple[float, float] = (0.0, 1.0),
        diagonal: bool = True,
        ratio: bool = False,
        metric_name: str = "metric",
        constraint: str | None = None,
        demand: float | None = None,
        claim: str = "not expected",
    ) -> None:
        self.t, self.value, self.attained = t, value, attained
        self.cones, self.levels, self.envelope = cones, levels, envelope
        self.best_possible = best_possible
        self.others, self.groups = np.asarray(others, dtype=float).reshape(-1, 2), np.asarray(groups, dtype=int)
        self.failed, self.winner, self.winner_value = np.asarray(failed), winner, winner_value
        self.feasible, self.span, self.diagonal, self.ratio = feasible, span, diagonal, ratio
        self.metric_name, self.constraint, self.demand, self.claim = metric_name, constraint, demand, claim

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
        ratio: bool = False,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the cones of trials and draw them.

        Parameters
        ----------
        trials : sequence of Trial
            Trials in any order.
        metric : Metric
            What they were trained for.
        pos : float
            Share of positives, in (0, 1).
        bound : str or type, default=None
            A name in `csf.bounds.BOUNDS`: what it rules out for exact learners, with own decisions. ``None`` draws
            cones of the best cuts, raised until no trial lies in one, below the bound by support lines; over the ratios
            of costs, and for metrics without levels, the bound alone.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`. With the paper's 0 the best value possible may lie
            below values that are already there.
        ceiling : float, default=None
            Height of the dashed line; ``None`` means the best value possible by the bound.
        ratio : bool, default=False
            Draw over the ratio of costs, not over the level. Trials without a level are drawn so in any case, unless
            there is a ``bound``, which leaves them out.
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
            If there is no complete trial, or none with a level where these are needed.
        TypeError
            If the bound does not serve the metric.
        """
        data = cone_data(trials, metric, pos=pos, bound=bound, eps=eps, ceiling=ceiling, ratio=ratio)
        return cls(**data).plot(ax, **plot_kwargs)

    @classmethod
    def from_study(
        cls,
        study: Told,
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
            As for `from_trials`; a ladder of costs is drawn over their ratio.

        Returns
        -------
        ConeDisplay
            The display, drawn.
        """
        ratio = bound is None and study.strategy.name == "ladder"
        options = {"bound": bound, "eps": eps, "ratio": ratio, "ax": ax}
        return cls.from_trials(study.trials, study.metric, pos=study.pos, **options, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: FittedSearch,
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
            Which setting of its ``param_grid``; ``None`` means that of the winner, with the others in grey and the
            bound of the whole search.
        bound, eps, ax, **plot_kwargs
            As for `from_trials`; a ladder of costs is drawn over their ratio.

        Returns
        -------
        ConeDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        study = study_of(search, setting)
        if bound is not None or setting is not None:
            return cls.from_study(study, bound=bound, eps=eps, ax=ax, **plot_kwargs)
        winner = search.trials_[search.best_index_]
        data = cone_data(
            study.trials,
            study.metric,
            pos=study.pos,
            eps=eps,
            others=[trial for other in search.studies_ if other is not study for trial in other.trials],
            ratio=study.strategy.name == "ladder",
            # One bound in texts, files and plots.
            ceiling=search.upper_bound_ if eps == "evidence" else None,
            winner=winner,
        )
        # On the training part nobody cut anything.
        value = search.best_score_ if search.bound_on == "validation" else None
        return cls(**data, winner_value=value).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        top: float | None = None,
        bottom: float | None = None,
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
        top, bottom : float, default=None
            Ends of the metric's axis; ``None`` gives the trials the room that they need.
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
        bottom, top = self.bottom if bottom is None else bottom, self.top if top is None else top
        draw_area(self, ax, bottom, cone_kwargs, envelope_kwargs)
        draw_trials(self, ax, point_kwargs, bottom)
        frame(self, ax, bottom, top)
        self.labels_ = write(self, ax, bottom, top) if labels else []
        return self

    @property
    def _shown(self) -> tuple[float, float]:
        """Smallest and largest height that has to be seen."""
        ends = [self.best_possible, np.nan if self.demand is None else self.demand]
        heights = np.concatenate([self.value, self.attained, self.others[:, 1], ends])
        return float(np.nanmin(heights)), float(np.nanmax(heights))

    @property
    def top(self) -> float:
        """Upper end of the metric's axis: room above the bound for what is not expected."""
        (low, high), (lo, hi) = self._shown, self.span
        return min(high + max(0.6 * (high - low), 0.02 * (hi - lo)), hi)

    @property
    def bottom(self) -> float:
        """Lower end of the metric's axis."""
        (low, high), (lo, hi) = self._shown, self.span
        bottom = low - max(0.25 * (high - low), 0.02 * (hi - lo))
        return lo if bottom < lo + 0.2 * (hi - lo) and self.diagonal else max(bottom, lo)
