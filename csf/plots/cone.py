"""Display of trials in the plane of levels and metric values, with the regions that they rule out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import numpy as np

from csf._common.typing import Array, Keywords, Params
from csf.bounds import get_bound
from csf.bounds.cone import ConeBound, UnreachableCone
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import best_trial, same_costs
from csf.plots.drawing import (
    Bounded,
    Display,
    Excess,
    Palette,
    along,
    draw_winner,
    label,
    lay_out,
    names_of,
    place,
    right_labels,
    study_of,
    styled,
    tidy,
)
from csf.plots.words import parameter_names, short
from csf.search.config import MODEL
from csf.strategies.base import level_of_costs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.text import Annotation
    from shapely.geometry.base import BaseGeometry

    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial
    from csf.plots.drawing import StudyLike
    from csf.search import CostSearch


class ConeStyle(TypedDict, total=False):
    """Arguments of `ConeDisplay.plot`."""

    top: float | None
    bottom: float | None
    labels: bool
    point_kwargs: Params | None
    cone_kwargs: Params | None
    envelope_kwargs: Params | None


@dataclass(kw_only=True, eq=False, repr=False)
class ConeDisplay(Display):
    """Trials in the plane of levels and metric values, with the regions that they rule out.

    Each training with other class costs aims at a level t of the metric. The value that it attains there rules out a
    cone above it: models with costs near these are not expected in the cone. Other costs may still reach the area that
    no cone covers, up to the upper bound. Cones of a search begin above their trial by the margin of its bound.

    It is recommended to use `from_estimator`, `from_study` or `from_trials` to create a display. All parameters are
    stored as attributes. By default no trial that is shown lies in a shaded area; with a ``bound`` of its own the area
    is what that bound rules out for exact learners, and trials of real ones may lie there.

    Parameters
    ----------
    t : ndarray of shape (n_trials,)
        Levels of the complete trials, or with ``ratio`` their ratios of costs.
    value : ndarray of shape (n_trials,)
        Metric of their own decisions; NaN where these miss the constraint.
    attained : ndarray of shape (n_trials,)
        Best metric that each trial shows over all thresholds on its score; equal to ``value`` without scores, NaN where
        no threshold satisfies the constraint.
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
    names : dict of int to str, default={}
        What is written at the ends of their lines, and at the end of that of the winner.
    own_setting : int, default=0
        Setting of the trials in ``t``.
    failed : ndarray of shape (n_failed,), default=()
        Levels of failed trials.
    ratios : ndarray of shape (n_ticks, 2), default=()
        Ticks of the lower axis: levels, and the ratio of costs at each.
    winner : int, default=None
        Index of the winner in ``t``.
    expected : float, default=None
        Metric of the winner to expect on new data.
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
    claim : str, default="ruled out"
        What is said of the shaded area.
    caption : str, default=""
        What dots and areas are, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    union_ : matplotlib PolyCollection or None
        Everything above the envelope.
    cones_ : matplotlib PolyCollection
        The shaded regions: the darker a place, the more trials rule it out.
    points_, tops_ : matplotlib Line2D
        Own decisions of the trials, and their best thresholds.
    others_ : list of matplotlib Line2D
        Trials of other settings, a line each.
    stems_ : matplotlib LineCollection
        What the best threshold of each trial adds to it.
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

    t: Array
    value: Array
    attained: Array
    cones: list[Array]
    levels: Array
    envelope: Array
    best_possible: float
    others: Any = ()  # any array-like; stored as arrays, as the two that follow
    groups: Any = ()
    names: dict[int, str] = field(default_factory=dict)
    own_setting: int = 0
    failed: Any = ()
    ratios: Any = ()
    winner: int | None = None
    expected: float | None = None
    feasible: bool = True
    span: tuple[float, float] = (0.0, 1.0)
    diagonal: bool = True
    ratio: bool = False
    metric_name: str = "metric"
    constraint: str | None = None
    demand: float | None = None
    claim: str = "ruled out"
    caption: str = ""

    def __post_init__(self) -> None:
        self.others = np.asarray(self.others, dtype=float).reshape(-1, 2)
        self.groups, self.failed = np.asarray(self.groups, dtype=int), np.asarray(self.failed)
        self.ratios = np.asarray(self.ratios, dtype=float).reshape(-1, 2)

    @classmethod
    def from_trials(
        cls,
        trials: Sequence[Trial],
        metric: Metric,
        *,
        pos: float,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        upper_bound: float | None = None,
        ratio: bool = False,
        ax: Axes | None = None,
        **plot_kwargs: Unpack[ConeStyle],
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
            cones of the best thresholds, raised until no trial lies in one, and the bound by support lines; for
            metrics without cones, and costs that no level has, the bound alone.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`. With the paper's 0 the best value possible may lie
            below values that are already there.
        upper_bound : float, default=None
            Height of the dashed line; ``None`` means the best value possible by the bound.
        ratio : bool, default=False
            Draw over the ratio of costs, not over the level. Costs that no level has are drawn so in any case, unless
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
        data = cone_data(trials, metric, pos=pos, bound=bound, eps=eps, upper_bound=upper_bound, ratio=ratio)
        return cls(**data).plot(ax, **plot_kwargs)

    @classmethod
    def from_study(
        cls,
        study: StudyLike,
        *,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Unpack[ConeStyle],
    ) -> Self:
        """Compute the cones of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with complete trials.
        bound, eps, ax, **plot_kwargs
            As for `from_trials`.

        Returns
        -------
        ConeDisplay
            The display, drawn.
        """
        return cls.from_trials(study.trials, study.metric, pos=study.pos, bound=bound, eps=eps, ax=ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        bound: Bounded | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Unpack[ConeStyle],
    ) -> Self:
        """Compute the cones of a fitted search and draw them, without training.

        Parameters
        ----------
        search : CostSearch
            A fitted search. Its trials are drawn on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner, with the others in grey and the
            bound of the whole search.
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
            # One bound in texts, files and plots.
            upper_bound=search.upper_bound_ if eps == "evidence" else None,
            margin=search.bound_margin_ if eps == "evidence" else 0.0,
            winner=winner,
        )
        names = {"names": setting_names(search), "own_setting": winner.setting}
        expected = getattr(search, "corrected_score_", None)  # which older files lack
        return cls(**data, **names, expected=expected).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        top: float | None = None,
        bottom: float | None = None,
        labels: bool = True,
        point_kwargs: Params | None = None,
        cone_kwargs: Params | None = None,
        envelope_kwargs: Params | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        top, bottom : float, default=None
            Ends of the metric's axis; ``None`` gives the trials the space that they need.
        labels : bool, default=True
            Whether names are written next to what they name.
        point_kwargs, cone_kwargs, envelope_kwargs : dict, default=None
            Arguments of matplotlib for the points, the cones and the envelope.

        Returns
        -------
        ConeDisplay
            ``self``.
        """
        ax = self._begin(ax, (6.4, 4.6))
        bottom, top = self.bottom if bottom is None else bottom, self.top if top is None else top
        self._draw_area(ax, bottom, cone_kwargs, envelope_kwargs)
        self._draw_trials(ax, point_kwargs, bottom)
        self._frame(ax, bottom, top)
        self.labels_ = self._write(ax, bottom, top) if labels else []
        return self

    @property
    def _shown(self) -> tuple[float, float]:
        """Smallest and largest height that must be visible."""
        ends = [self.best_possible, np.nan if self.demand is None else self.demand]
        heights = np.concatenate([self.value, self.attained, self.others[:, 1], ends])
        return float(np.nanmin(heights)), float(np.nanmax(heights))

    @property
    def top(self) -> float:
        """Upper end of the metric's axis, which leaves space above the bound for the values that are not expected."""
        (low, high), (lo, hi) = self._shown, self.span
        return min(high + max((0.6 if self.ratio else 1.0) * (high - low), 0.02 * (hi - lo)), hi)

    @property
    def bottom(self) -> float:
        """Lower end of the metric's axis."""
        (low, high), (lo, hi) = self._shown, self.span
        bottom = low - max(0.25 * (high - low), 0.02 * (hi - lo))
        return lo if bottom < lo + 0.2 * (hi - lo) and self.diagonal else max(bottom, lo)

    def _draw_area(self, ax: Axes, bottom: float, cone_kwargs: Params | None, envelope_kwargs: Params | None) -> None:
        """Draw the area that the trials rule out, its lower edge, and the bound."""
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D

        page = Palette.of(ax)
        self.union_ = self.envelope_line_ = self.bound_line_ = self.diagonal_line_ = None
        # Overlapping cones darken towards the same grey, whatever their number.
        alpha = 1.0 - 0.7 ** (1.0 / max(len(self.cones), 1))
        style = styled(PolyCollection, cone_kwargs, facecolor=page.grey, edgecolor="none", alpha=alpha, zorder=1)
        self.cones_ = PolyCollection(self.cones, **style)
        ax.add_collection(self.cones_)
        style = {"facecolor": "none", "edgecolor": page.grey, "linewidth": 0.6, "alpha": 0.55, "zorder": 1.2}
        ax.add_collection(PolyCollection(self.cones, **style))
        if self._is_curve:
            ax.add_collection(self._lifts(page.grey))
        dashed: Keywords = {"color": page.vermillion, "linewidth": 1.4, "linestyle": (0, (5, 2.5)), "zorder": 3}
        if self.demand is not None:
            (self.bound_line_,) = ax.plot(self._sides(), [self.demand] * 2, **dashed)
        if self.diagonal and bottom <= self.span[0]:
            style = {"color": page.grey, "linewidth": 0.9, "linestyle": ":", "zorder": 2}
            (self.diagonal_line_,) = ax.plot(self.span, self.span, **style)
        if not self.levels.size:
            return
        style = styled(PolyCollection, cone_kwargs, facecolor=page.pale, edgecolor="none", alpha=0.4, zorder=0)
        levels, envelope = self.levels, self.envelope
        if self.ratio:  # as far as the axes go
            levels, envelope = np.array(self._sides()), envelope[[0, -1]]
        # The bound reads all trials at once, and so it may lie below where their cones meet.
        lowest = envelope if np.isnan(self.best_possible) else np.minimum(envelope, self.best_possible)
        self.union_ = ax.fill_between(levels, lowest, self.span[1], **style)
        # Without cones the edge is the bound itself.
        style = styled(Line2D, envelope_kwargs, color=page.ink, linewidth=0.0 if self.ratio else 1.2, zorder=2)
        (self.envelope_line_,) = ax.plot(levels, envelope, **style)
        (self.bound_line_,) = ax.plot(self._sides(), [self.best_possible] * 2, **dashed)

    def _lifts(self, color: str) -> LineCollection:
        """Return the lines from the best trial at each level to the tip of its cone."""
        from matplotlib.collections import LineCollection

        trials = np.concatenate([np.column_stack([self.t, self.attained]), self.others])
        tips = [cone[np.argmin(cone[:, 1])] for cone in self.cones if len(cone)]
        below = [trials[np.isclose(trials[:, 0], tip[0])] for tip in tips]
        lines = [[(tip[0], np.nanmax(points[:, 1])), tip] for tip, points in zip(tips, below) if len(points)]
        return LineCollection(lines, color=color, linewidth=0.8, linestyle=":", zorder=1.5)

    def _draw_trials(self, ax: Axes, point_kwargs: Params | None, bottom: float) -> None:
        """Draw the trials, their best thresholds, trials of other settings, the winner, and the failed trials."""
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        page = Palette.of(ax)
        self.others_ = []
        for group in np.unique(self.groups):
            x, y = self.others[self.groups == group].T
            order = np.argsort(x, kind="stable")
            style = {"color": page.grey, "alpha": 0.6, "linewidth": 0.8, "marker": "o", "markersize": 2.5}
            self.others_ += ax.plot(x[order], y[order], zorder=2.5, **style)
        t, value, attained = self.t, self.value, self.attained
        stems = np.stack([np.column_stack([t, value]), np.column_stack([t, attained])], axis=1)
        self.stems_ = LineCollection(list(stems), color=page.blue, linewidth=1.0, zorder=3)
        ax.add_collection(self.stems_)
        order = np.argsort(t, kind="stable")
        style = {"color": page.blue, "marker": "_", "markersize": 6, "zorder": 3.5}
        style |= {"linestyle": "-" if self._is_curve else "none", "linewidth": 1.6}
        (self.tops_,) = ax.plot(t[order], attained[order], **style)
        dots: Keywords = {"color": page.blue, "marker": "o", "markersize": 5, "linestyle": "none", "zorder": 4}
        style = styled(Line2D, point_kwargs, **dots, **({} if self.feasible else {"markerfacecolor": page.paper}))
        (self.points_,) = ax.plot(t, value, **style)
        self.winner_ = self.failed_ = None
        if self.winner is not None:
            self.winner_ = draw_winner(ax, float(t[self.winner]), float(attained[self.winner]), self.feasible)
        if len(self.failed):
            style = {"color": page.ink, "marker": "x", "markersize": 6, "linestyle": "none", "zorder": 5}
            (self.failed_,) = ax.plot(self.failed, np.full(len(self.failed), bottom), clip_on=False, **style)

    @property
    def _is_curve(self) -> bool:
        """True where every trial's own decision is as good as its best threshold, so that a line joins the trials."""
        return self.feasible and bool(np.array_equal(self.value, self.attained, equal_nan=True))

    def _sides(self) -> tuple[float, float]:
        """Return the left and right end of the area."""
        if not self.ratio:
            return self.span
        x = np.concatenate([self.t, self.others[:, 0]])
        room = max((float(x.max()) / float(x.min())) ** 0.06, 1.2)
        return float(x.min()) / room, float(x.max()) * room

    def _frame(self, ax: Axes, bottom: float, top: float) -> None:
        """Set the limits and labels of the axes, with a small margin so that points at the edge are fully visible."""
        lo, hi = self.span
        y_room = 0.02 * (top - bottom)
        ax.set(ylim=(bottom - (y_room if bottom == lo else 0.0), top + (y_room if top == hi else 0.0)))
        under = f" with {self.constraint}" if self.constraint is not None and self.feasible else ""
        where = " at the best threshold" if self.caption and self._is_curve else ""
        ax.set_ylabel(f"{self.metric_name}{under}{where}")
        if self.ratio:
            from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

            # As levels have it: equal costs at the right, or what is closest to them.
            sides = self._sides()
            if abs(np.log(sides[0])) < abs(np.log(sides[1])):
                sides = sides[::-1]
            ax.set(xscale="log", xlim=sides, xlabel=RATIO)
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        else:
            ax.set(xlabel=f"level t{self._meaning_of_t()}", xlim=(lo - 0.015 * (hi - lo), hi + 0.015 * (hi - lo)))
        tidy(ax)
        if len(self.ratios):
            # Cones are straight over the level, and readers know the ratio: it stands where they look first.
            ax.xaxis.tick_top()
            ax.xaxis.set_label_position("top")
            levels, ratios = self.ratios.T
            below = ax.secondary_xaxis("bottom")
            below.set_xticks(levels, [f"{ratio:g}" for ratio in ratios])
            below.set_xlabel(RATIO)

    def _meaning_of_t(self) -> str:
        if len(self.ratios):
            return " (the costs follow from it)"
        return f": the {self.metric_name} for which these costs are best" if self.diagonal else ""

    def _write(self, ax: Axes, bottom: float, top: float) -> list[Annotation]:
        """Write each name next to what it names."""
        page = Palette.of(ax)
        if self.caption:
            lay_out(ax)
            width = ax.get_window_extent().width * 72.0 / ax.figure.figure.dpi
            lines = [textwrap.fill(line, max(int(width / 3.75), 30)) for line in self.caption.splitlines()]
            ax.set_title("\n".join(lines), loc="left", fontsize=8, color=page.grey, linespacing=1.35, pad=8)
        labels = self._line_labels(ax)
        left = ax.get_xlim()[0]
        if not self.feasible:
            demand = self.demand or 0.0
            low = demand < bottom + 0.12 * (top - bottom)
            style = {"va": "bottom" if low else "top", "offset": (8, 4 if low else -4), "color": page.vermillion}
            labels.append(label(ax, f"asked for: {self.constraint}", (left, demand), **style))
        else:
            labels += self._bound_labels(ax, bottom, top)
        if self.diagonal and bottom <= self.span[0]:
            s = bottom + 0.12 * (top - bottom)
            style = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True, "va": "top"}
            labels.append(label(ax, f"t = {self.metric_name}", (s, s), offset=(2, -2), bbox=None, **style))
        if len(self.failed):
            labels.append(label(ax, "failed", (self.failed[0], bottom), offset=(5, 7)))
        if self.winner is not None:
            labels.append(self._winner_label(ax, labels))
        return labels

    def _line_labels(self, ax: Axes) -> list[Annotation]:
        """Write each setting's parameters at the right end of its line, or of the best lines if there are many."""
        page = Palette.of(ax)
        lines = {self.own_setting: np.column_stack([self.t, self.attained])}
        lines |= {int(group): self.others[self.groups == group] for group in np.unique(self.groups)}
        lines = {setting: line[np.isfinite(line[:, 1])] for setting, line in lines.items() if setting in self.names}
        # The winner's line first, then the others from the best one on.
        order = sorted(
            (setting for setting, line in lines.items() if len(line)),
            key=lambda setting: (setting != self.own_setting, -lines[setting][:, 1].max()),
        )
        if len(order) < 2:
            return []
        left, right = ax.get_xlim()
        rightward = np.sign(right - left)
        ends = [lines[setting][np.argmax(lines[setting][:, 0] * rightward)] for setting in order]
        texts = [self.names[setting] for setting in order[:_MOST_NAMES]]
        if len(order) > _MOST_NAMES:
            texts[-1] += f"  (and {len(order) - _MOST_NAMES} more)"
        colors = [page.blue if setting == self.own_setting else page.grey for setting in order]
        notes = right_labels(ax, [(x, y) for x, y in ends[:_MOST_NAMES]], texts, colors, size=8)
        notes[0].set_fontweight("bold")
        return notes

    def _bound_labels(self, ax: Axes, bottom: float, top: float) -> list[Annotation]:
        """Write the names of the bound and of the area above it."""
        page, (left, right) = Palette.of(ax), ax.get_xlim()
        far_left = self.winner is not None and _share(ax, self.t[self.winner]) > 0.5
        if self.envelope[0] != self.envelope[-1]:  # where cones leave more room
            far_left = bool(self.envelope[0] > self.envelope[-1])
        far, ha, inward = (left, "left", 5) if far_left else (right, "right", -5)
        # Below the line where there is room above the trials.
        seen = np.nanmax(np.concatenate([self.attained, self.others[:, 1]]))
        below = self.best_possible - seen > 0.08 * (top - bottom)
        style = {"ha": ha, "va": "top" if below else "bottom", "offset": (inward, -3 if below else 3)}
        text = f"upper bound {self.best_possible:.3f} for any costs"
        labels = [label(ax, text, (far, min(self.best_possible, top)), color=page.vermillion, **style)]
        place = self._widest_place(ax)
        return labels if place is None else [*labels, label(ax, self.claim, place, ha="center", bbox=None)]

    def _widest_place(self, ax: Axes) -> tuple[float, float] | None:
        """Find the place in the shaded area with the most space for its label; ``None`` if there is too little."""
        from shapely import affinity, box
        from shapely.geometry import Polygon
        from shapely.ops import polylabel

        assert self.union_ is not None, "asked for where there is an area"
        # In units of letters, which are higher than wide.
        letter = np.array([0.5, 1.2]) * 9 * ax.figure.figure.dpi / 72.0
        edge = ax.transData.transform(self.union_.get_paths()[0].vertices) / letter
        window = np.concatenate(ax.get_window_extent().get_points() / np.concatenate([letter, letter]).reshape(2, 2))
        shown = Polygon(edge).buffer(0).intersection(box(*window))
        # A line of words is as high as a letter and as wide as all of them.
        flat = np.array([len(self.claim) / 2.0, 1.0])
        parts = [part for part in getattr(shown, "geoms", [shown]) if part.geom_type == "Polygon" and part.area > 0]
        squeezed = [affinity.scale(part, 1.0 / flat[0], 1.0, origin=(0, 0)) for part in parts]
        if not squeezed:
            return None
        largest = max(squeezed, key=lambda part: part.area)
        # The middle of an even band, else where it is widest.
        widest, middle = polylabel(largest, tolerance=0.1), largest.centroid
        room = largest.exterior.distance(widest)
        if room < 0.9:
            return None
        if not largest.contains(middle) or largest.exterior.distance(middle) < 0.9 * room:
            middle = widest
        x, y = ax.transData.inverted().transform(np.array([middle.x * flat[0], middle.y]) * letter)
        return float(x), float(y)

    def _winner_label(self, ax: Axes, others: list[Annotation]) -> Annotation:
        t, value = float(self.t[self.winner]), float(self.attained[self.winner])
        order = np.argsort(self.t, kind="stable")
        # What is drawn of the trials as points: their stems and lines.
        seen = [np.column_stack([self.t, h]) for h in np.linspace(self.value, self.attained, 9)]
        seen += [along(self.t[order], self.attained[order])] if self._is_curve else []
        seen += [along(*map(np.asarray, line.get_data())) for line in self.others_]
        if self.feasible:  # the area and the line below it are no place for it, either
            heights = np.linspace(self.best_possible, ax.get_ylim()[1], 9)
            x = np.geomspace(*self._sides(), 40) if self.ratio else np.linspace(*self._sides(), 40)
            seen += [np.column_stack([x, np.full(40, height)]) for height in heights]
        points = np.concatenate(seen)
        name = "winner" if self.feasible else "closest"
        where = f"costs {t:.3g} : 1" if self.ratio else f"t = {t:.2f}"
        text = f"{name}: {self.metric_name} {value:.3f} at {where}"
        if self.expected is not None and self.feasible and np.isfinite(self.expected):
            text += f"\n{self.expected:.3f} to expect on new data"
        return place(ax, text, (t, value), points=points[np.isfinite(points).all(axis=1)], others=others)


def _share(ax: Axes, x: float) -> float:
    """Return the position of ``x`` between the left (0) and the right (1) side of the axes."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((x, ax.get_ylim()[0])))[0])


# ---------------------------------------------------------------- what is shown


RATIO = "cost of a false negative / cost of a false positive"
# Lines that are named.
_MOST_NAMES = 9
# What the pictures say of themselves.
_DOTS = "A dot is a trial: the model trained with one ratio of costs, scored on held-out folds."
_CONES = "Grey is ruled out: by a cone above each best trial, and by all trials together above the dashed line."
_AREA = "Together the trials rule out the grey area: no costs are expected to reach it."
_MISSED = "No trial satisfies {}. Each dot is one trial, at the threshold that comes closest."
# Levels at which a bound is drawn; the apexes of the cones come on top.
GRID = 257


def cone_data(
    trials: Sequence[Trial],
    metric: Metric,
    *,
    pos: float,
    bound: Bounded | None = None,
    eps: Excess = "evidence",
    others: Sequence[Trial] = (),
    ratio: bool = False,
    upper_bound: float | None = None,
    margin: float = 0.0,
    winner: Trial | None = None,
) -> Keywords:
    """Compute the arrays of a `ConeDisplay`, see `ConeDisplay.from_trials`."""
    trials, others = (_with_levels(group, metric, pos) for group in (trials, others))
    complete = sorted((trial for trial in trials if trial.state == "complete"), key=lambda trial: trial.number)
    tuned = any(trial.threshold is not None for trial in complete)
    if bound is None:
        ratio = ratio or any(trial.t is None for trial in complete) or (tuned and not metric.has_levels)
    if not ratio:
        complete = [trial for trial in complete if trial.t is not None]
    if not complete:
        raise ValueError(
            "there is no complete trial with a level to draw: tell the study its first results, or search with a cv "
            "other than 'prefit', which trains at no level"
        )
    shown = next((trial for trial in complete if winner is not None and trial.number == winner.number), None)
    winner = shown or best_trial(complete)
    assert winner is not None  # some trial is complete
    others = [trial for trial in others if trial.state == "complete" and (ratio or trial.t is not None)]
    data = {
        "t": _places(complete, ratio),
        "value": np.array([own_value(trial, metric) for trial in complete]),
        "attained": np.array([shown_value(trial) for trial in complete]),
        "others": np.column_stack([_places(others, ratio), [shown_value(trial) for trial in others]]),
        "groups": np.array([trial.setting for trial in others], dtype=int),
        "failed": _places([trial for trial in trials if trial.state == "failed" and (ratio or trial.t)], ratio),
        "winner": next((i for i, trial in enumerate(complete) if trial is winner), None),
        "feasible": winner.feasible,
        "span": metric.range(pos),
        "diagonal": metric.has_levels and not ratio,
        "ratio": ratio,
        **names_of(metric),
    }
    if not winner.feasible:
        return data | _missed(complete, others, metric, ratio)
    if bound is not None:
        return data | _asked_area(complete, metric, data, pos=pos, bound=bound, eps=eps, upper_bound=upper_bound)
    data["caption"] = f"{_DOTS}\n{_AREA}"
    if tuned:
        data["value"] = data["attained"]  # what a model decides by itself says nothing of a curve over costs
    data["ratios"] = _ratios(metric, pos) if data["diagonal"] else ()
    return data | _drawn_area(
        [*complete, *others], metric, data, pos=pos, eps=eps, upper_bound=upper_bound, margin=margin
    )


def _missed(complete: Sequence[Trial], others: Sequence[Trial], metric: Metric, ratio: bool) -> Keywords:
    """Compute the arrays of an infeasible search: the constrained rate at each trial's closest threshold, no area."""
    rates = np.array([trial.rate for trial in complete], dtype=float)
    empty = np.empty(0)
    assert metric.constraint is not None, "missed by all trials"
    return {
        "value": rates,
        "attained": rates,
        "others": np.column_stack([_places(others, ratio), np.array([trial.rate for trial in others], dtype=float)]),
        "cones": [],
        "levels": empty,
        "envelope": empty,
        "best_possible": np.nan,
        "diagonal": False,
        "metric_name": metric.constraint.name,
        "demand": metric.constraint.level,
        "caption": _MISSED.format(metric.constraint),
    }


def shown_value(trial: Trial) -> float:
    """Return the best value of a trial over all thresholds; NaN where no threshold satisfies the constraint."""
    assert trial.attained is not None, "a complete trial has values"
    return trial.attained if trial.feasible else np.nan


def own_value(trial: Trial, metric: Metric) -> float:
    """Return the value of a trial's own decision; NaN where it misses the constraint."""
    profile, constraint = trial.profile, metric.constraint
    assert profile is not None, "a complete trial has a profile"
    assert trial.value is not None, "a complete trial has a value"
    if constraint is not None and constraint.violation(profile.fn, profile.fp, pos=profile.pos) > 0:
        return np.nan
    return trial.value


def setting_names(search: CostSearch) -> dict[int, str]:
    """Return the parameters in which the settings of a search differ, as text by setting number."""
    params = dict(zip((trial.setting for trial in search.trials_), search.cv_results_["params"]))
    every = dict.fromkeys(key for values in params.values() for key in values if key != "t")
    keys = [key for key in every if len({repr(values.get(key)) for values in params.values()}) > 1]
    # Of several models each has parameters of its own.
    short_keys = {key: key.rpartition("__")[2] for key in keys} if MODEL in keys else parameter_names(keys)

    def text(values: Params) -> str:
        parts = [
            short(values[key]) if key == MODEL else f"{short_keys[key]} = {_rounded(values[key])}"
            for key in keys
            if key in values
        ]
        return short(", ".join(parts), 32)

    return {setting: text(values) for setting, values in params.items()} if keys else {}


def _rounded(value: object) -> str:
    return format(value, ".3g") if isinstance(value, float) else short(value, 20)


def _places(trials: Sequence[Trial], ratio: bool) -> Array:
    """Return the position of each trial on the axis: its level, or its ratio of costs."""
    return np.array([trial.c_fn / trial.c_fp if ratio else trial.t for trial in trials], dtype=float)


def _with_levels(trials: Sequence[Trial], metric: Metric, pos: float) -> list[Trial]:
    """Give trials without a level the end of the range that has their costs, if there is one."""
    ends = [(end, metric.cost_weights(end, pos=pos)) for end in metric.range(pos)]

    def level(trial: Trial) -> float | None:
        return next((end for end, costs in ends if min(costs) > 0.0 and same_costs(costs, trial.costs)), None)

    return [trial if trial.t is not None else replace(trial, t=level(trial)) for trial in trials]


# Ratios of costs that are marked, and how close marks may be as a share of the axis.
_MARKED, _APART = (0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0), 0.08


def _ratios(metric: Metric, pos: float) -> list[tuple[float, float]]:
    """Return the levels of round ratios of costs, with these ratios."""
    lo, hi = metric.range(pos)
    levels: list[tuple[float, float]] = []
    for ratio in _MARKED:
        # One level beyond either end: these have round ratios too.
        level = level_of_costs(metric, ratio, 1.0, pos=pos)
        if level is None:
            level = next((end for end in (lo, hi) if same_costs(metric.cost_weights(end, pos=pos), (ratio, 1.0))), None)
        if level is not None and all(abs(level - other) >= _APART * (hi - lo) for other, _ in levels):
            levels.append((level, ratio))
    return levels


def _asked_area(complete, metric, data, *, pos, bound, eps, upper_bound):
    """Compute the area that the requested bound rules out for exact learners, even where trials lie in it."""
    limit = get_bound(bound)(complete, metric, pos=pos, eps=eps)
    lo, hi = data["span"]
    levels = np.union1d(np.linspace(lo, hi, GRID), data["t"])
    parts = getattr(limit, "polygons", None)
    regions = [limit.region()] if parts is None else parts()
    return {
        "cones": [corners(region) for region in regions],
        "levels": levels,
        "envelope": np.clip(limit.upper_bound(levels), lo, hi),
        "best_possible": limit.best_possible() if upper_bound is None else upper_bound,
        "claim": "ruled out for exact learners",
    }


def _drawn_area(trials, metric, data, *, pos, eps, upper_bound, margin):
    """Compute the area that all trials rule out: values above the bound, and cones that contain no trial."""
    lo, hi = data["span"]
    if upper_bound is None:
        upper_bound = get_bound("support")(trials, metric, pos=pos, eps=eps).best_possible()
    seen = np.concatenate([np.column_stack([data["t"], data["attained"]]), data["others"]])
    seen = seen[~np.isnan(seen[:, 1])]
    top = min(max(upper_bound, seen[:, 1].max()), hi)
    if data["ratio"]:
        ends = np.array([np.min(data["t"]), np.max(data["t"])])
        return {"cones": [], "levels": ends, "envelope": np.array([top, top]), "best_possible": top}
    levels = np.union1d(np.linspace(lo, hi, GRID), data["t"])
    if not metric.has_levels:
        envelope = get_bound("support")(trials, metric, pos=pos, eps=eps).upper_bound(levels)
        lift = np.nanmax(data["attained"] - np.interp(data["t"], levels, envelope), initial=0.0)
        return {"cones": [], "levels": levels, "envelope": np.clip(envelope + lift, lo, top), "best_possible": top}
    limit = ConeBound([_as_shown(trial, metric) for trial in _highest(trials)], metric, pos=pos, eps=eps)
    values = limit.cones.value
    limit.cones = _lifted(limit.cones, seen)
    limit.cones = limit.cones._replace(value=np.maximum(limit.cones.value, values + margin))
    return {
        "cones": [corners(region) for region in limit.polygons()],
        "levels": levels,
        "envelope": np.clip(limit.upper_bound(levels), lo, hi),
        "best_possible": top,
        "caption": data["caption"].replace(_AREA, _CONES),
    }


def _highest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best trial at each level, as the others rule out less."""
    feasible = sorted((trial for trial in trials if trial.feasible), key=shown_value)
    return list(dict(zip(np.round(_places(feasible, ratio=False), 9).tolist(), feasible)).values())


def _as_shown(trial: Trial, metric: Metric) -> Trial:
    """Replace a trial's own decision by its best threshold, from which its cone starts."""
    profile = trial.profile
    assert profile is not None, "a complete trial has a profile"
    assert trial.value is not None, "a complete trial has a value"
    if trial.hull is None or trial.attained is None or trial.attained <= trial.value:
        return trial
    values = metric.value(*trial.hull.points.T, pos=profile.pos)
    fn, fp = trial.hull.points[np.argmax(values)].tolist()
    return replace(trial, profile=ErrorProfile(fn, fp, profile.pos))


def _lifted(cones: UnreachableCone, seen: Array) -> UnreachableCone:
    """Raise the cones until no observed point lies in one: off the diagonal they are guides, not proofs."""
    away = np.subtract.outer(seen[:, 0], cones.t)
    heights = cones.value + np.where(away < 0, -np.asarray(cones.slope_left), cones.slope_right) * away
    return cones._replace(value=cones.value + np.max(seen[:, 1:] - heights, axis=0, initial=0.0))


def corners(region: BaseGeometry) -> Array:
    """Return the corners of a shapely polygon, or of its largest part if divided; none if empty."""
    parts = [part for part in getattr(region, "geoms", [region]) if part.geom_type == "Polygon"]
    largest = max(parts, key=lambda part: part.area, default=None)
    return np.empty((0, 2)) if largest is None or largest.is_empty else np.asarray(largest.exterior.coords)
