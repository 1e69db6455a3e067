"""Displays of bounds: regions of several bounds side by side, and the plane of error profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import numpy as np

from csf._common.typing import Array, Keywords, Params
from csf.bounds import SupportLineBound, get_bound, known_profiles
from csf.metrics.trials import best_trial
from csf.plots.cone import ConeDisplay, ConeStyle, cone_data
from csf.plots.drawing import (
    GREEN,
    PURPLE,
    SKY,
    VERMILLION,
    Bounded,
    Display,
    Excess,
    Palette,
    bound_title,
    draw_winner,
    label,
    names_of,
    place,
    study_of,
    styled,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial
    from csf.plots.drawing import StudyLike
    from csf.search import CostSearch

ROUNDING = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class BoundComparisonDisplay:
    """Regions that several bounds rule out for exact learners, from the same trials.

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes.

    Parameters
    ----------
    names : list of str
        Names of the bounds.
    panels : list of dict
        Arguments of a `ConeDisplay` for each bound.
    area : ndarray of shape (n_bounds,)
        Share of the plane of levels and metric values that is ruled out, in [0, 1].
    violations : ndarray of shape (n_bounds,)
        Number of trials whose own decision lies there: real learners are not exact.

    Attributes
    ----------
    displays_ : list of ConeDisplay
        The panels, drawn.
    axes_ : ndarray of matplotlib Axes
        Where they were drawn.
    figure_ : matplotlib Figure
        Figure of the axes.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("f1", pos=0.2, n_trials=1)
    >>> _ = study.tell(study.ask(), profile=ErrorProfile(fn=0.05, fp=0.1, pos=0.2))
    >>> display = BoundComparisonDisplay.from_study(study, bounds=["parambath", "envelope", "support"])
    >>> display.area.round(2)
    array([0.01, 0.25, 0.3 ])
    """

    names: list[str]
    panels: list[Keywords]
    area: Array
    violations: Array

    @classmethod
    def from_study(
        cls,
        study: StudyLike,
        *,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        axes: Sequence[Axes] | None = None,
        **plot_kwargs: Unpack[ConeStyle],
    ) -> Self:
        """Compute the regions of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with complete trials.
        bounds : sequence of str or type, default=None
            Names in `csf.bounds.BOUNDS`. ``None`` means ``"parambath"``, ``"envelope"`` and ``"support"``, and the
            last one alone for metrics without levels.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`; the papers draw their regions with 0.
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each bound; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        BoundComparisonDisplay
            The display, drawn.
        """
        if bounds is None:
            bounds = ("parambath", "envelope", "support") if study.metric.has_levels else ("support",)
        panels = [cone_data(study.trials, study.metric, pos=study.pos, bound=name, eps=eps) for name in bounds]
        lo, hi = study.metric.range(study.pos)
        regions = [get_bound(name)(study.trials, study.metric, pos=study.pos, eps=eps).region() for name in bounds]
        return cls(
            names=[bound_title(name) for name in bounds],
            panels=panels,
            area=np.array([region.area for region in regions]) / (hi - lo) ** 2,
            violations=np.array([_violations(panel) for panel in panels]),
        ).plot(axes, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        axes: Sequence[Axes] | None = None,
        **plot_kwargs: Unpack[ConeStyle],
    ) -> Self:
        """Compute the regions of a fitted search and draw them, without training.

        Parameters
        ----------
        search : CostSearch
            A fitted search. Its trials are drawn on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        bounds, eps, axes, **plot_kwargs
            As for `from_study`.

        Returns
        -------
        BoundComparisonDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        return cls.from_study(study_of(search, setting), bounds=bounds, eps=eps, axes=axes, **plot_kwargs)

    def plot(self, axes: Sequence[Axes] | None = None, **cone_kwargs: Unpack[ConeStyle]) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each bound; ``None`` makes a figure.
        **cone_kwargs
            Arguments of `ConeDisplay.plot`.

        Returns
        -------
        BoundComparisonDisplay
            ``self``.
        """
        if axes is None:
            import matplotlib.pyplot as plt

            size = 4.2 * len(self.names), 4.0
            panels = plt.subplots(1, len(self.names), figsize=size, squeeze=False, layout="constrained")[1]
        else:
            panels = np.asarray(axes)
        self.axes_ = panels.ravel()
        if self.axes_.size != len(self.names):
            raise ValueError(f"axes must hold one of the {len(self.names)} bounds each, got {self.axes_.size}")
        self.figure_ = self.axes_[0].figure
        self.displays_ = [ConeDisplay(**panel) for panel in self.panels]
        # One scale for all: the one that shows the trials best.
        style: ConeStyle = {"top": min(display.top for display in self.displays_), **cone_kwargs}
        for ax, display, name, area, n in zip(self.axes_, self.displays_, self.names, self.area, self.violations):
            inside = f", {n} trial{'s' if n > 1 else ''} inside" if n else ""
            ax.set_title(f"{name}: {area:.0%} ruled out{inside}", fontsize=10)
            display.plot(ax, **style)
        return self


def _violations(panel):
    """Count the trials above the bound at their own level; 0 where no trial satisfies the constraint."""
    if not panel["levels"].size:
        return 0
    bound = panel["envelope"][np.searchsorted(panel["levels"], panel["t"])]
    return int(np.sum(panel["value"] > bound + ROUNDING))


class ProfileStyle(TypedDict, total=False):
    """Arguments of `ErrorProfileDisplay.plot`."""

    rates: bool
    labels: bool
    point_kwargs: Params | None
    line_kwargs: Params | None


@dataclass(kw_only=True, eq=False, repr=False)
class ErrorProfileDisplay(Display):
    """Errors of the trials, their support lines, and the metric over both.

    No model of a class whose cheapest models are known lies below a support line; for real learners profiles there are
    not expected. The bound is the value of the contour that touches their edge (in a search a margin below it).

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes; profiles are shares of all samples there, whatever is drawn.

    Parameters
    ----------
    profiles : ndarray of shape (n_trials, 2)
        ``(fn, fp)`` of the trials' own decisions.
    window : tuple of float
        Largest ``fn`` and ``fp`` that are drawn.
    lines : ndarray of shape (n_trials, 2, 2)
        Ends of the support lines, where they leave the box of all profiles.
    known : ndarray of shape (n_known, 2)
        Lower-left hull of all profiles that some threshold of some model attains.
    possible : ndarray of shape (n_corners, 2)
        Lower-left edge of the profiles that are still possible.
    grid_fn, grid_fp : ndarray of shape (n_grid,)
        Errors at which the metric is known.
    values : ndarray of shape (n_grid, n_grid)
        Metric there, a row for each ``grid_fp``.
    best_possible : float
        The bound.
    pos : float
        Share of positives.
    winner : tuple of float, default=None
        ``(fn, fp)`` of the winner at its best threshold.
    feasible : bool, default=True
        Whether the winner satisfies the constraint, if there is one.
    demands : ndarray of shape (n_demands, 2, 2), default=()
        Ends of the lines that constraints draw.
    metric_name : str, default="metric"
        Name of the metric.
    constraint : str, default=None
        What must hold besides.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    points_, known_line_, possible_line_ : matplotlib Line2D
        Trials, known hull, and edge of the possible profiles.
    support_lines_ : matplotlib LineCollection
        The support lines.
    not_expected_ : matplotlib Polygon
        Everything below the edge.
    demand_lines_ : matplotlib LineCollection
        Where the constraints begin to be missed.
    contours_, best_contour_ : matplotlib QuadContourSet
        Contours of the metric, and the one at the bound (``None`` where it is not in the window, or where no trial
        satisfies the constraint).
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

    profiles: Array
    window: tuple[float, float]
    lines: Array
    known: Array
    possible: Array
    grid_fn: Array
    grid_fp: Array
    values: Array
    best_possible: float
    pos: float
    winner: tuple[float, float] | None = None
    feasible: bool = True
    demands: Any = ()  # any array-like; stored as an array
    metric_name: str = "metric"
    constraint: str | None = None

    def __post_init__(self) -> None:
        self.demands = np.asarray(self.demands, dtype=float).reshape(-1, 2, 2)

    @classmethod
    def from_study(
        cls,
        study: StudyLike,
        *,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Unpack[ProfileStyle],
    ) -> Self:
        """Compute the profiles of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with complete trials; any metric.
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
        return cls(**profile_data(study, eps=eps)).plot(ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Unpack[ProfileStyle],
    ) -> Self:
        """Compute the profiles of a fitted search and draw them, without training.

        Parameters
        ----------
        search : CostSearch
            A fitted search; its profiles are those on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner, with the bound of the whole search.
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
        study = study_of(search, setting)
        if setting is not None or eps != "evidence":
            return cls.from_study(study, eps=eps, ax=ax, **plot_kwargs)
        trial, upper_bound = search.trials_[search.best_index_], search.upper_bound_
        return cls(**profile_data(study, eps=eps, winner=trial, upper_bound=upper_bound)).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        rates: bool = True,
        labels: bool = True,
        point_kwargs: Params | None = None,
        line_kwargs: Params | None = None,
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
        ax = self._begin(ax, (5.4, 5.0))
        unit = np.array([self.pos, 1.0 - self.pos]) if rates else np.ones(2)
        self._draw_plane(ax, unit, line_kwargs)
        self._draw_trials(ax, unit, point_kwargs)
        share = "" if rates else ", share of all samples"
        names = ("false negative rate", "false positive rate") if rates else ("false negatives", "false positives")
        ax.set(xlabel=names[0] + share, ylabel=names[1] + share)
        right, top = np.array(self.window) / unit
        ax.set(xlim=(0.0, right), ylim=(0.0, top))
        tidy(ax)
        self.labels_ = self._write(ax, unit) if labels else []
        return self

    def _draw_plane(self, ax, unit, line_kwargs):
        """Draw the metric, the support lines, and the region that they rule out."""
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Polygon

        page = Palette.of(ax)
        edge, (right, top) = self.possible / unit, np.array([self.pos, 1.0 - self.pos]) / unit
        below = [(edge[0, 0], top), *edge, (right, edge[-1, 1]), (right, 0.0), (0.0, 0.0), (0.0, top)]
        self.not_expected_ = ax.add_patch(Polygon(below, facecolor=page.pale, edgecolor="none", zorder=0))
        grid = self.grid_fn / unit[0], self.grid_fp / unit[1], self.values
        self.contours_ = ax.contour(*grid, levels=9, colors=SKY, linewidths=0.7, zorder=1)
        style = {"color": PURPLE, "linewidth": 1.4, "linestyle": "-.", "zorder": 2}
        self.demand_lines_ = LineCollection(self.demands / unit, **style)
        ax.add_collection(self.demand_lines_)
        style = styled(LineCollection, line_kwargs, color=page.grey, linewidth=0.7, zorder=2)
        self.support_lines_ = ax.add_collection(LineCollection(self.lines / unit, **style))
        (self.possible_line_,) = ax.plot(*edge.T, color=page.ink, linewidth=1.4, zorder=3)
        self.best_contour_ = None
        if self.feasible and self.values.min() < self.best_possible < self.values.max():
            style = {"colors": VERMILLION, "linestyles": "--", "linewidths": 1.4, "zorder": 3}
            self.best_contour_ = ax.contour(*grid, levels=[self.best_possible], **style)

    def _draw_trials(self, ax, unit, point_kwargs):
        """Draw the profiles of the trials, the known hull, and the winner."""
        from matplotlib.lines import Line2D

        (self.known_line_,) = ax.plot(*(self.known / unit).T, color=GREEN, linewidth=1.4, zorder=3)
        style = styled(
            Line2D, point_kwargs, color=Palette.of(ax).blue, marker="o", markersize=4.5, linestyle="none", zorder=4
        )
        (self.points_,) = ax.plot(*(self.profiles / unit).T, **style)
        self.winner_ = None
        if self.winner is not None:
            x, y = np.array(self.winner) / unit
            self.winner_ = draw_winner(ax, x, y, self.feasible)

    def _write(self, ax, unit):
        """Write each name next to what it names."""
        (_, right), (_, top) = ax.get_xlim(), ax.get_ylim()
        page = Palette.of(ax)
        style: Keywords = {"va": "bottom", "color": page.grey}
        labels = [label(ax, "not expected", (0.02 * right, 0.02 * top), **style)]
        known = _inside(self.known / unit, right, top)
        parts = [] if self.best_contour_ is None else self.best_contour_.allsegs[0]
        contour = _inside(np.concatenate([np.empty((0, 2)), *parts]), right, top)
        points = self.profiles / unit
        if contour.size:
            text = f"upper bound {self.best_possible:.3f}"
            start = contour[contour[:, 0].argmin()]
            style = {"offset": (8, -1), "va": "top"} if start[1] > 0.9 * top else {"offset": (5, 7)}
            labels.append(label(ax, text, start, color=VERMILLION, **style))
        if not self.feasible:
            text = f"infeasible: no trial satisfies {self.constraint}"
            labels.append(label(ax, text, (right, top), va="top", ha="right", offset=(-6, -4), color=VERMILLION))
        elif self.demands.size:
            ends = _inside((self.demands / unit).reshape(-1, 2), right, top)
            if ends.size:
                labels.append(place(ax, f"{self.constraint}", ends[-1], points=points, others=labels, color=PURPLE))
        if self.winner is not None:
            name = "winner" if self.feasible else "closest"
            point = np.array(self.winner) / unit
            labels.append(place(ax, name, point, points=points, others=labels))
        if known.size:
            middle = known[np.abs(known / [right, top] - 0.5).sum(axis=1).argmin()]
            labels.append(place(ax, "reached", middle, points=points, others=labels, color=GREEN))
        outside = len(points) - len(_inside(points, right, top))
        if outside:
            text = f"{outside} trial{'s' if outside > 1 else ''} outside"
            corner: Keywords = {"ha": "right", "fontsize": 8, "color": page.grey}
            corner |= {"va": "top", "offset": (-4, -4)} if self.feasible else {"va": "bottom", "offset": (-4, 3)}
            labels.append(label(ax, text, (right, top if self.feasible else 0.0), **corner))
        return [*labels, *ax.clabel(self.contours_, fontsize=7, colors=page.blue)]


def _inside(points, right, top):
    """Return the points that lie within the axes."""
    return points[(points <= [right, top]).all(axis=1)]


GRID = 161
# The winner stands at this share of the axes, and no axis is shorter than this share of its class.
_SHARE, _LEAST = 0.45, 0.01


def profile_data(
    study: StudyLike, *, eps: Excess, winner: Trial | None = None, upper_bound: float | None = None
) -> Keywords:
    """Compute the arrays of an `ErrorProfileDisplay`, see `ErrorProfileDisplay.from_study`."""
    complete = sorted((t for t in study.trials if t.state == "complete"), key=lambda trial: trial.number)
    if not complete:
        raise ValueError("there is no complete trial to draw; tell the study its first results")
    metric, pos = study.metric, study.pos
    bound = SupportLineBound(complete, metric, pos=pos, eps=eps)
    profiles = np.array([(trial.profile.fn, trial.profile.fp) for trial in complete if trial.profile is not None])
    costs = np.array([trial.costs for trial in complete])
    least = (costs * profiles).sum(axis=1) - bound.excess()
    winner, known = winner if winner in complete else best_trial(complete), known_profiles(complete)
    assert winner is not None  # some trial is complete
    assert known is not None
    profile, box = _best_profile(winner, metric), np.array([pos, 1.0 - pos])
    window = np.clip(np.array(profile) / _SHARE, _LEAST * box, box)
    grid_fn, grid_fp = np.linspace(0.0, window[0], GRID), np.linspace(0.0, window[1], GRID)
    parts = () if metric.constraint is None else metric.constraint.parts
    lines = [part.half_plane(pos=pos) for part in parts]
    return {
        "profiles": profiles,
        "window": (float(window[0]), float(window[1])),
        "lines": np.array([_ends(c, rhs, box) for c, rhs in zip(costs, least)]),
        "known": known.points,
        "possible": bound.chain_,
        "grid_fn": grid_fn,
        "grid_fp": grid_fp,
        "values": metric.value(*np.meshgrid(grid_fn, grid_fp), pos=pos),
        "best_possible": bound.best_possible() if upper_bound is None else upper_bound,
        "pos": pos,
        "winner": profile,
        "feasible": winner.feasible,
        "demands": [_ends(np.array(costs), rhs, window) for costs, rhs in lines],
        **names_of(metric),
    }


def _best_profile(trial: Trial, metric: Metric) -> tuple[float, float]:
    """Return the errors at the best known threshold of a trial, or of its own decision where that is as good."""
    profile = trial.profile
    assert profile is not None, "a complete trial has a profile"
    points = np.array([(profile.fn, profile.fp), *([] if trial.hull is None else trial.hull.points)])
    values = np.asarray(metric.value(*points.T, pos=profile.pos), dtype=float)
    if metric.constraint is not None:
        missed = metric.constraint.violation(*points.T, pos=profile.pos)
        values = np.where(missed <= missed.min(), values, -np.inf)
    fn, fp = points[np.argmax(values)].tolist()
    return fn, fp


def _ends(costs: Array, rhs: float, box: Array) -> list[tuple[float, float]]:
    """Return two points where the line ``costs·e = rhs`` crosses the sides of a box, or touches it."""
    (a, b), (right, top) = costs, box
    crossings = [(x, (rhs - a * x) / b) for x in (0.0, right) if b] + [((rhs - b * y) / a, y) for y in (0.0, top) if a]
    inside = [(x, y) for x, y in crossings if -1e-12 <= x <= right + 1e-12 and -1e-12 <= y <= top + 1e-12]
    return [min(inside), max(inside)] if inside else [crossings[0], crossings[0]]
