"""Shared parts of displays and reports: data read from fitted searches, colours, axes and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Keywords, Params
from csf.search.kinds import is_search

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

    from csf.metrics import Metric
    from csf.metrics.trials import Trial
    from csf.search import CostSearch
    from csf.strategies.base import StrategyLike


class StudyLike(Protocol):
    """Trials of one metric on one data set: a `csf.Study`, or one of a search."""

    metric: Metric
    strategy: StrategyLike
    pos: float
    bound: str | type

    @property
    def trials(self) -> Sequence[Trial]:
        """Trials in the order of their numbers."""
        ...


def study_of(search: CostSearch, setting: int | None = None) -> StudyLike:
    """Return the study of a fitted search: that of the winner, or of one setting of its ``param_grid``."""
    if hasattr(search, "tell"):
        raise TypeError("a Study is drawn by from_study, not by from_estimator")
    if not is_search(search):
        raise TypeError(f"from_estimator needs a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    search.result_.supports.require("study")
    return search.result_.study(setting)


# ---------------------------------------------------------------- drawing


# A bound by its name or its class, and the excess of trained models that bounds take.
Bounded: TypeAlias = str | type
Excess: TypeAlias = float | str | Callable[..., float]

# Okabe and Ito's colours, and greys.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
INK, GREY, PALE = "#222222", "#6B6B6B", "#D9D9D9"


class Palette(NamedTuple):
    """Colours that stand out from a light or a dark page."""

    ink: str = INK
    grey: str = GREY
    pale: str = PALE
    paper: str = "#FFFFFF"
    blue: str = BLUE
    vermillion: str = VERMILLION
    green: str = GREEN

    @classmethod
    def of(cls, ax: Axes) -> Palette:
        """Choose the palette for light pages, or for dark ones where the axes are dark."""
        from matplotlib.colors import to_hex, to_rgb

        red, green, blue = to_rgb(ax.get_facecolor())
        if 0.299 * red + 0.587 * green + 0.114 * blue > 0.4:
            return cls()
        paper = to_hex(ax.get_facecolor())
        return cls("#E6E8EA", "#9AA1A9", "#3A4046", paper, SKY, "#FF8F4D", "#2FC79B")


TITLES = {
    "support": "support lines",
    "diagonal": "cones on the diagonal",
    "envelope": "cones",
    "parambath": "Parambath et al.",
}
# Colour and line style of each bound, the same in all displays; other bounds take the rest in turn.
BOUND_STYLES = {
    "support": (GREEN, "-"),
    "diagonal": (BLUE, "--"),
    "envelope": (ORANGE, "-."),
    "parambath": (PURPLE, ":"),
}


def names_of(metric: Metric) -> dict[str, str | None]:
    """Return the names of a metric and of its constraint, as arguments of the displays."""
    return {
        "metric_name": metric.unconstrained.name,
        "constraint": None if metric.constraint is None else str(metric.constraint),
    }


class Display:
    """Base of displays: arrays, and a `plot` that draws them unchanged and sets ``ax_`` and ``figure_``."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _begin(self, ax: Axes | None, figsize: tuple[float, float] = (5.4, 4.2)) -> Axes:
        """Return the given axes, or those of a new figure."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=figsize, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def styled(artist: type[Artist], given: Params | None, **defaults: object) -> Keywords:
    """Merge the default arguments of an artist with the given ones, under any alias (``lw``, ``linewidth``)."""
    from matplotlib.cbook import normalize_kwargs

    return normalize_kwargs(defaults, artist) | normalize_kwargs(given or {}, artist)


def tidy(ax: Axes) -> None:
    """Hide the top and right axis lines."""
    ax.spines[["top", "right"]].set_visible(False)


def label(
    ax: Axes,
    text: str,
    xy: tuple[float, float],
    *,
    color: str | None = None,
    offset: tuple[float, float] = (0, 0),
    ha: str = "left",
    va: str = "center",
    **text_kw: Any,
) -> Annotation:
    """Write text next to a data point, offset in points, on a translucent background that keeps it readable."""
    page = Palette.of(ax)
    veil = {"facecolor": page.paper, "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    style = {"color": color or page.ink, "fontsize": 9, "ha": ha, "va": va, "bbox": veil}
    style |= {"annotation_clip": False, "zorder": 6}
    return ax.annotate(text, xy, xytext=offset, textcoords="offset points", **(style | text_kw))


def place(
    ax: Axes, text: str, xy: tuple[float, float], *, points: Array, others: Sequence[Annotation] = (), **text_kw: Any
) -> Annotation:
    """Label a point so that as few other points and labels as possible are hidden, with a line to the point."""
    from matplotlib.text import Text

    lay_out(ax)
    arrow = {"arrowstyle": "-", "color": Palette.of(ax).ink, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 4}
    note = label(ax, text, xy, arrowprops=arrow, **text_kw)
    pixels = ax.transData.transform(points)
    boxes = [extent(other) for other in others]
    inside = ax.get_window_extent()

    def badness(place):
        note.xyann, side = place[:2], place[2]
        note.set_horizontalalignment(side)
        note.get_window_extent()
        box = Text.get_window_extent(note).padded(3)
        hidden = sum(box.contains(x, y) for x, y in pixels) + 30 * sum(box.overlaps(other) for other in boxes)
        sides = inside.x0 <= box.x0 and box.x1 <= inside.x1
        far = (abs(place[0]) + abs(place[1])) / 50.0
        heights = inside.y0 <= box.y0 and box.y1 <= inside.y1
        return hidden + 100 * (not sides) + 100 * (not heights) + far

    steps = [
        (dx, dy, "center" if not dx else "left" if dx > 0 else "right")
        for dy in (-26, -44, 20, 28, -64, 46, -90, 64, -120)
        for dx in (12, -12, 0, 50, -50, 100, -100)
    ]
    badness(min(steps, key=badness))
    return note


def lay_out(ax: Axes) -> None:
    """Lay out the figure, so that the axes have their final positions."""
    figure = ax.figure.figure  # that of a subfigure, too
    layout = figure.get_layout_engine()
    if layout is None:
        return
    for _ in range(2):  # labels beside the axes move these, and are moved by them
        layout.execute(figure)


def extent(note: Annotation) -> Bbox:
    """Return the box of an annotation's text in pixels, without its line."""
    from matplotlib.text import Text

    note.get_window_extent()  # brings its position up to date
    return Text.get_window_extent(note)


def right_labels(
    ax: Axes, ends: Sequence[tuple[float, float]], texts: Sequence[str], colors: Sequence[str], *, size: float = 9
) -> list[Annotation]:
    """Write labels to the right of the axes, at or near the height of their line's end, and joined to it."""
    from sklearn.isotonic import isotonic_regression

    low, high = ax.get_ylim()
    heights = np.array([(y - low) / (high - low) for _, y in ends])
    order = np.argsort(heights, kind="stable")
    # The least moves that leave each label a line of its own.
    lay_out(ax)
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.figure.dpi
    steps = np.arange(order.size) * 1.3 * size / (box.height * points)
    spread = np.empty(order.size)
    spread[order] = isotonic_regression(heights[order] - steps) + steps
    notes = []
    for end, text, color, height in zip(ends, texts, colors, spread.tolist()):
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)}
        style: Keywords = {"fontsize": size, "va": "center", "annotation_clip": False, "arrowprops": line}
        place = 1.0 + 10.0 / (box.width * points), height
        notes.append(ax.annotate(text, end, xytext=place, textcoords="axes fraction", color=color, **style))
    return notes


def along(x: Array, y: Array) -> Array:
    """Return points along a line, dense enough for labels to avoid it."""
    steps, places = np.linspace(0, len(x) - 1, 12 * len(x)), np.arange(len(x))
    return np.column_stack([np.interp(steps, places, x), np.interp(steps, places, y)])


def bound_title(bound: Bounded) -> str:
    """Return the display name of a bound."""
    return TITLES.get(bound, bound) if isinstance(bound, str) else bound.__name__


def draw_bounds(
    ax: Axes, x: Array, heights: Array, names: Sequence[str], given: Params | None
) -> tuple[list[Line2D], list[str]]:
    """Draw a line for each named bound, and return the lines and their colours."""
    from matplotlib.lines import Line2D

    lines, styles = [], _bound_styles(names, Palette.of(ax))
    for height, (color, dashes) in zip(heights, styles):
        lines += ax.plot(x, height, **styled(Line2D, given, color=color, linestyle=dashes, linewidth=1.8))
    return lines, [color for color, _ in styles]


def draw_winner(ax: Axes, x: float, y: float, feasible: bool) -> Line2D:
    """Draw the winner as a dot, unfilled where it misses the constraint."""
    page = Palette.of(ax)
    style: Keywords = {"color": ORANGE, "marker": "o", "markersize": 8, "markeredgecolor": page.ink}
    style |= {"linestyle": "none", "zorder": 5} | ({} if feasible else {"markerfacecolor": page.paper})
    (dot,) = ax.plot([x], [y], **style)
    return dot


def _bound_styles(names: Sequence[str], page: Palette) -> list[tuple[str, str]]:
    """Choose a colour and a line style for each named bound."""
    rest = iter([(VERMILLION, "--"), (SKY, "-."), (page.grey, ":"), (page.ink, "-")] * len(names))
    styles = {title: BOUND_STYLES[name] for name, title in TITLES.items()}
    return [styles[name] if name in styles else next(rest) for name in names]
