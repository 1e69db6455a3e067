"""How a `ConeDisplay` is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf.plots._style import BLUE, GREY, INK, ORANGE, PALE, VERMILLION, label, place, styled, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation


__all__ = ["draw_area", "draw_trials", "frame", "write"]


def draw_area(display: Any, ax: Axes, bottom: float, cone_kwargs: Any, envelope_kwargs: Any) -> None:
    """What the trials speak against, and how high that leaves the metric."""
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

    display.union_ = display.envelope_line_ = display.bound_line_ = display.diagonal_line_ = None
    # Overlapping cones darken towards the same grey, whatever their number.
    alpha = 1.0 - 0.45 ** (1.0 / max(len(display.cones), 1))
    style = styled(PolyCollection, cone_kwargs, facecolor=GREY, edgecolor="none", alpha=alpha, zorder=1)
    display.cones_ = PolyCollection(display.cones, **style)
    ax.add_collection(display.cones_)
    if display.demand is not None:
        style = {"color": VERMILLION, "linewidth": 1.2, "linestyle": "--", "zorder": 3}
        (display.bound_line_,) = ax.plot(_sides(display), [display.demand] * 2, **style)
    if display.diagonal and bottom <= display.span[0]:
        style = {"color": INK, "linewidth": 0.9, "linestyle": ":", "zorder": 2}
        (display.diagonal_line_,) = ax.plot(display.span, display.span, **style)
    if not display.levels.size:
        return
    style = styled(PolyCollection, cone_kwargs, facecolor=PALE, edgecolor="none", zorder=0)
    levels, envelope = display.levels, display.envelope
    if display.ratio:  # as far as the axes go
        levels, envelope = np.array(_sides(display)), envelope[[0, -1]]
    display.union_ = ax.fill_between(levels, envelope, display.span[1], **style)
    style = styled(Line2D, envelope_kwargs, color=INK, linewidth=1.0, zorder=2)
    (display.envelope_line_,) = ax.plot(levels, envelope, **style)
    style = {"color": VERMILLION, "linewidth": 1.2, "linestyle": "--", "zorder": 3}
    (display.bound_line_,) = ax.plot(_sides(display), [display.best_possible] * 2, **style)


def draw_trials(display: Any, ax: Axes, point_kwargs: Any, bottom: float) -> None:
    """Trials with their best cuts, those of other settings, the winner, and failures on the axis."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    display.others_ = []
    for group in np.unique(display.groups):
        x, y = display.others[display.groups == group].T
        order = np.argsort(x, kind="stable")
        style = {"color": "#A9B8C4", "linewidth": 0.8 if display.ratio else 0.0, "marker": "o", "markersize": 2.5}
        display.others_ += ax.plot(x[order], y[order], zorder=2.5, **style)
    t, value, attained = display.t, display.value, display.attained
    stems = np.stack([np.column_stack([t, value]), np.column_stack([t, attained])], axis=1)
    display.cuts_ = LineCollection(list(stems), color=BLUE, linewidth=1.0, zorder=3)
    ax.add_collection(display.cuts_)
    order = np.argsort(t, kind="stable")
    style = {"color": BLUE, "marker": "_", "markersize": 6, "zorder": 3.5}
    style |= {"linestyle": "-" if display.ratio and display.feasible else "none", "linewidth": 1.6}
    (display.tops_,) = ax.plot(t[order], attained[order], **style)
    hollow = {} if display.feasible else {"markerfacecolor": "white"}
    style = styled(Line2D, point_kwargs, color=BLUE, marker="o", markersize=4.5, linestyle="none", zorder=4, **hollow)
    (display.points_,) = ax.plot(t, value, **style)
    display.winner_ = display.failed_ = None
    if display.winner is not None:
        style = {"color": ORANGE, "marker": "o", "markersize": 8, "markeredgecolor": INK, "linestyle": "none"}
        if not display.feasible:
            style["markerfacecolor"] = "white"
        x, y = float(t[display.winner]), _winner_height(display)
        # A cut that holds on other draws is not the best one of these samples: the dot of the trial is above it.
        ax.plot([x, x], [y, attained[display.winner]], color=INK, linewidth=1.2, zorder=4.5)
        (display.winner_,) = ax.plot([x], [y], zorder=5, **style)
    if len(display.failed):
        style = {"color": INK, "marker": "x", "markersize": 6, "linestyle": "none", "zorder": 5, "clip_on": False}
        (display.failed_,) = ax.plot(display.failed, np.full(len(display.failed), bottom), **style)


def _winner_height(display: Any) -> float:
    if display.winner_value is None or not display.feasible:
        return float(display.attained[display.winner])
    return display.winner_value


def _sides(display: Any) -> tuple[float, float]:
    """Where the area begins and ends."""
    if not display.ratio:
        return display.span
    x = np.concatenate([display.t, display.others[:, 0]])
    room = max((float(x.max()) / float(x.min())) ** 0.06, 1.2)
    return float(x.min()) / room, float(x.max()) * room


def frame(display: Any, ax: Axes, bottom: float, top: float) -> None:
    """Axes, with a little room so that points on an axis are seen whole."""
    lo, hi = display.span
    y_room = 0.02 * (top - bottom)
    ax.set(ylim=(bottom - (y_room if bottom == lo else 0.0), top + (y_room if top == hi else 0.0)))
    under = f" with {display.constraint}" if display.constraint is not None and display.feasible else ""
    ax.set_ylabel(display.metric_name + under)
    if display.ratio:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        ax.set(xscale="log", xlim=_sides(display), xlabel="ratio of costs, c_fn / c_fp")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set(xlabel="level t", xlim=(lo - 0.015 * (hi - lo), hi + 0.015 * (hi - lo)))
    tidy(ax)


def write(display: Any, ax: Axes, bottom: float, top: float) -> list[Annotation]:
    """Names, each next to what it names."""
    left, right = ax.get_xlim()
    labels = []
    if not display.feasible:
        text, demand = f"infeasible: no trial satisfies {display.constraint}", display.demand or 0.0
        labels.append(label(ax, text, (left, demand), va="top", offset=(8, -4), color=VERMILLION))
    else:
        labels += _bound_labels(display, ax, bottom, top)
    if display.diagonal and bottom <= display.span[0]:
        s = bottom + 0.12 * (top - bottom)
        style = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True, "va": "top"}
        labels.append(label(ax, f"t = {display.metric_name}", (s, s), offset=(2, -2), bbox=None, **style))
    if len(display.failed):
        labels.append(label(ax, "failed", (display.failed[0], bottom), offset=(5, 7)))
    if len(display.others_):
        text = f"grey: {len(display.others_)} other settings of the base"
        labels.append(label(ax, text, (right, bottom), ha="right", va="bottom", offset=(-4, 3), color=GREY, fontsize=8))
    if display.winner is not None:
        labels.append(_winner_label(display, ax, labels))
    return labels


def _bound_labels(display: Any, ax: Axes, bottom: float, top: float) -> list[Annotation]:
    """The bound, and what is said of the area above it."""
    left, right = ax.get_xlim()
    far_left = display.winner is not None and _share(ax, display.t[display.winner]) > 0.5
    far, ha, inward = (left, "left", 5) if far_left else (right, "right", -5)
    high = display.best_possible > bottom + 0.9 * (top - bottom)
    style = {"ha": ha, "va": "top" if high else "bottom", "offset": (inward, -3 if high else 3)}
    text = f"bound {display.best_possible:.3f}"
    labels = [label(ax, text, (far, min(display.best_possible, top)), color=VERMILLION, **style)]
    middle = np.sqrt(left * right) if display.ratio else 0.5 * (left + right)
    room = top - max(float(np.interp(middle, display.levels, display.envelope)), display.best_possible)
    if room > 0.15 * (top - bottom):
        labels.append(label(ax, display.claim, (middle, top - 0.4 * room), ha="center"))
    return labels


def _winner_label(display: Any, ax: Axes, others: list[Annotation]) -> Annotation:
    t, value = float(display.t[display.winner]), _winner_height(display)
    seen = [np.column_stack([display.t, display.value]), np.column_stack([display.t, display.attained])]
    points = np.concatenate([*seen, display.others])
    name = "winner" if display.feasible else "closest"
    at = f"costs {t:.3g} : 1" if display.ratio else f"t = {t:.3g}"
    text = f"{name}: {at}\n{display.metric_name} = {value:.3f}"
    if display.attained[display.winner] - value >= 0.0005:
        text += " at its stable cut"
    return place(ax, text, (t, value), points=points[np.isfinite(points).all(axis=1)], others=others)


def _share(ax: Axes, x: float) -> float:
    """Where a place lies between the left (0) and the right (1) side of the axes."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((x, ax.get_ylim()[0])))[0])
