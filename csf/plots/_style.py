"""What all displays share: colours that survive colour blindness, axes, labels written next to what they name."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["label", "new_axes", "outline", "study_of", "styled", "tidy"]

# Okabe and Ito's palette, and greys.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
INK, GREY, PALE = "#222222", "#6B6B6B", "#D9D9D9"
CYCLE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
LINES = ("-", "--", "-.", ":")


def new_axes(ax, *, figsize=(5.4, 4.2)):
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def styled(artist, given, **defaults):
    """Default arguments of an artist, overruled by given ones under whatever alias (``lw``, ``linewidth``)."""
    from matplotlib.cbook import normalize_kwargs

    return normalize_kwargs(defaults, artist) | normalize_kwargs(given or {}, artist)


def tidy(ax):
    """Leave the two axis lines that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def label(ax, text, xy, *, color=INK, offset=(0, 0), ha="left", va="center", **text_kw):
    """Text next to a point of the data, offset in points, on a veil that keeps it readable."""
    veil = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    style = {"color": color, "fontsize": 9, "ha": ha, "va": va, "bbox": veil, "annotation_clip": False}
    return ax.annotate(text, xy, xytext=offset, textcoords="offset points", **(style | text_kw))


def study_of(search, setting=None):
    """Study of a fitted search: that of the winner, or of one setting of its ``param_grid``."""
    check_is_fitted(search, "trials_")
    if setting is None:
        setting = search.trials_[search.best_index_].setting
    if not 0 <= setting < len(search.studies_):
        raise ValueError(f"setting must be in 0..{len(search.studies_) - 1} or None for the winner's, got {setting!r}")
    return search.studies_[setting]


def outline(polygon):
    """Corners of a shapely polygon; none for an empty one."""
    return np.asarray(polygon.exterior.coords) if polygon.geom_type == "Polygon" else np.empty((0, 2))
