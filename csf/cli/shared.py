"""What all commands share: errors that users can correct, the seconds they have, tables for a terminal, figures."""

from __future__ import annotations

import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from csf._common.files import write_figure
from csf.show.cone import ConeDisplay
from csf.show.report import Comparison, draw_outcomes

if TYPE_CHECKING:
    from csf.search import CostSearch


class CliError(Exception):
    """Something in the command or the data that the user can correct; shown as one line."""


def require(module: str, purpose: str) -> ModuleType:
    """Import a package of the extra ``csf-search[cli]``."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise CliError(f"{purpose} needs {package}: pip install 'csf-search[cli]'") from error


class Budget:
    """Seconds from now on; ``None`` for no limit."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._start = clock()

    def share(self, part: float) -> float | None:
        """A part of the seconds that are left, more than 0; ``None`` without a limit."""
        return None if self.seconds is None else max(part * self._left(), 1e-9)

    def refusal(self, seconds: float) -> str | None:
        """Why something that takes about so long is left out; ``None`` where there is time for it."""
        if self.seconds is None or seconds <= self._left():
            return None
        about = f", which takes about {seconds:.1f} s" if seconds else ""
        return f"the time limit of {self.seconds:g} s leaves no time for it{about}"

    def _left(self) -> float:
        assert self.seconds is not None, "asked for with a limit only"
        return self._start + self.seconds - self._clock()


def shows_progress(options: Namespace) -> bool:
    """Whether a command shows bars: on a terminal, unless it is asked to be quiet."""
    return not options.quiet and sys.stderr.isatty()


def format_number(value: float | None, spec: str = ".4f") -> str:
    """A number as text; ``-`` where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return format(value, spec) if math.isfinite(value) else str(float(value))


def format_mean(mean: float, spread: float, spec: str = ".4f") -> str:
    """A mean and its spread, such as ``0.8125 ± 0.0312``; a spread that is not known (NaN) is left out."""
    if math.isnan(spread):
        return format_number(mean, spec)
    return f"{format_number(mean, spec)} ± {format_number(spread, spec.lstrip('+'))}"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Table with aligned columns; all but the ``left`` first ones hold numbers, which stand at the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        padded = (
            cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(zip(cells, widths))
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 2) if at < left else "-" * (width + 1) + ":" for at, width in enumerate(widths))
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])


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
        ConeDisplay.from_estimator(search, ax=ax)
    write_figure(path, figure)


def draw_comparison(path: str, outcomes: Sequence[Comparison], metric_name: str) -> None:
    """Draw the values of methods on all splits, and their means."""
    figure, ax = _new_figure(1.2 + 0.4 * len(outcomes))
    draw_outcomes(ax, outcomes, metric_name)
    ax.set_xlabel(f"{metric_name} on held-out data (points: splits, bars: means)")
    write_figure(path, figure)
