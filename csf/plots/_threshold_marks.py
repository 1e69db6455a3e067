"""What a threshold curve is marked with: its folds, and the chosen threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array
from csf.plots._style import BLUE, INK, VERMILLION, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

__all__ = ["draw_band", "draw_fold_marks", "draw_threshold"]


def draw_band(ax: Axes, thresholds: Array, fold_values: Array, given: dict[str, Any]) -> PolyCollection:
    """From the lowest to the highest fold."""
    style = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": f"{len(fold_values)} folds"}
    return ax.fill_between(thresholds, fold_values.min(axis=0), fold_values.max(axis=0), **(style | given))


def draw_fold_marks(ax: Axes, thresholds: Array, fold_thresholds: Array) -> Line2D:
    """Thresholds of the folds at the foot of the axes, those that the axes reach."""
    inside = fold_thresholds[(fold_thresholds >= thresholds[-1]) & (fold_thresholds <= thresholds[0])]
    style = {"color": BLUE, "marker": "|", "markersize": 9, "markeredgewidth": 1.6, "linestyle": "none"}
    return ax.plot(inside, np.full(inside.shape, 0.02), transform=ax.get_xaxis_transform(), **style)[0]


def draw_threshold(
    ax: Axes, thresholds: Array, threshold: float, value: float, metric_name: str
) -> tuple[Line2D | None, Annotation]:
    """The chosen threshold; an infinite one can only be written down."""
    first, last = thresholds[-1], thresholds[0]
    text, line = f"{metric_name} = {value:.3f} at {threshold:.3g}", None
    at = float(np.clip(threshold, first, last))
    if np.isfinite(threshold):
        line = ax.axvline(threshold, color=VERMILLION, linewidth=1.2, zorder=2)
        ax.plot([threshold], [value], "o", color=VERMILLION, markersize=6, zorder=4)
    else:
        text += ": " + ("nothing is positive" if threshold > 0 else "everything is positive")
    left = at > 0.5 * (first + last)
    side = {"ha": "right" if left else "left", "offset": (-8 if left else 8, 8)}
    return line, label(ax, text, (at, value), color=INK, va="bottom", **side)
