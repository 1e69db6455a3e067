"""How a `ThresholdCurveDisplay` is drawn, beside its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["LEGEND", "TITLE", "draw_demands", "draw_folds", "line_style", "mark"]

TITLE: dict[str, Any] = {"loc": "left", "fontsize": 9, "pad": 24}
LEGEND: dict[str, Any] = {"fontsize": 8.5, "columnspacing": 1.0, "handlelength": 1.5, "handletextpad": 0.4}
_STYLES = {"precision": (GREEN, "--"), "recall": (ORANGE, "-."), "predicted positive": (GREY, ":")}
# Rounding of a rate that just satisfies a demand.
_SLACK = 1e-9


def line_style(rate: str) -> tuple[str, str]:
    """Colour and dashes of a rate."""
    return _STYLES.get(rate, (PURPLE, "--"))


def draw_demands(display: Any, ax: Axes) -> None:
    """Levels of the constraints, in the colours of their rates."""
    display.demand_lines_ = [
        ax.axhline(level, color=line_style(rate)[0], linewidth=0.8, linestyle=(0, (1, 3)))
        for rate, _, level, _ in display.demands
    ]


def draw_folds(display: Any, ax: Axes, fill_between_kwargs: dict[str, Any]) -> None:
    """From the lowest to the highest fold, and their thresholds at the foot of the axes."""
    folds, thresholds, marks = display.fold_values, display.thresholds, display.fold_thresholds
    assert folds is not None, "asked for where there are folds"
    style = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": f"{len(folds)} folds"}
    lowest, highest = folds.min(axis=0), folds.max(axis=0)
    display.fill_between_ = ax.fill_between(thresholds, lowest, highest, **(style | fill_between_kwargs))
    if marks is None:
        return
    inside = marks[(marks >= thresholds[-1]) & (marks <= thresholds[0])]
    style = {"color": BLUE, "marker": "|", "markersize": 9, "markeredgewidth": 1.6, "linestyle": "none"}
    transform = ax.get_xaxis_transform()
    (display.fold_marks_,) = ax.plot(inside, np.full(inside.shape, 0.02), transform=transform, **style)


def mark(display: Any, ax: Axes, threshold: float, value: float) -> None:
    """Mark the chosen threshold and its interval, and say what it does; an infinite one can only be written down."""
    text = f"{display.short_name} = {value:.3f} at {threshold:.3g}"
    if np.isfinite(threshold):
        display.threshold_line_ = ax.axvline(threshold, color=VERMILLION, linewidth=1.2, zorder=2)
        ax.plot([threshold], [value], "o", color=VERMILLION, markersize=6, zorder=4)
    else:
        text += ": " + ("nothing is positive" if threshold > 0 else "everything is positive")
    if display.threshold_interval is not None and not np.isnan(display.threshold_interval).any():
        low, high = display.threshold_interval
        ends = max(low, display.thresholds[-1]), min(high, display.thresholds[0])
        display.interval_ = ax.axvspan(*ends, color=VERMILLION, alpha=0.12, linewidth=0, zorder=0)
        text += f" (90 % interval {low:.3g} to {high:.3g})"
    for rate, side, level, seen in display.demands:
        holds = seen >= level - _SLACK if side == ">=" else seen <= level + _SLACK
        verdict = "holds" if holds else "does not hold (infeasible)"
        text += f"\n{rate} = {seen:.3g}: {rate} {side} {level:g} {verdict}"
    display.label_ = ax.set_title(text if not display.name else f"{display.name}: {text}", **TITLE)
