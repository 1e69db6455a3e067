"""Figures of the commands; matplotlib is imported when one is drawn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from csf._common.files import write_figure
from csf._common.typing import Array
from csf.cli.errors import CliError, require

if TYPE_CHECKING:
    from csf.search.estimator import CostSearch


__all__ = ["check_figure", "draw_comparison", "draw_search"]


def _new_figure(height):
    # A figure of its own works without a screen and leaves pyplot alone.
    figure = require("matplotlib.figure", "a plot").Figure(figsize=(7.2, height), layout="constrained")
    return figure, figure.subplots()


def check_figure(path: str | None) -> None:
    """Refuse figures in a format that cannot be written."""
    if path is None:
        return
    figure, _ = _new_figure(1.0)
    known = sorted(figure.canvas.get_supported_filetypes())
    if os.path.splitext(path)[1][1:].lower() not in known:
        raise CliError(f"--plot {path}: the suffix must be one of {', '.join(known)}")


def draw_search(path: str, search: CostSearch) -> None:
    """Draw the cones of a fitted search; of several classes the confusion matrix of the held-out samples."""
    figure, ax = _new_figure(5.4)
    if hasattr(search, "confusion_"):
        from sklearn.metrics import ConfusionMatrixDisplay

        shares = search.confusion_ / search.confusion_.sum(axis=1, keepdims=True)
        ConfusionMatrixDisplay(shares, display_labels=search.classes_).plot(ax=ax, cmap="Blues", values_format=".2g")
        ax.set_title("Share of each class, out of fold")
    else:
        from csf.show.cone import ConeDisplay

        ConeDisplay.from_estimator(search, ax=ax)
    write_figure(path, figure)


def draw_comparison(path: str, names: list[str], values: Array, metric_name: str) -> None:
    """Draw the values of methods on all splits, and their means."""
    figure, ax = _new_figure(1.2 + 0.4 * len(names))
    for at, row in enumerate(values):
        ax.plot(row, [at] * len(row), "o", color="0.65", markersize=4, zorder=1)
        ax.plot(row.mean(), at, "|", color="tab:blue", markersize=18, markeredgewidth=2.5, zorder=2)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(f"{metric_name} on held-out data (points: splits, bars: means)")
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    write_figure(path, figure)
