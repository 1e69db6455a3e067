"""Figures as vector graphics whose colours follow the page, by day, by night and on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from csf._common.typing import Axes
from csf.report.markup import Markup, element

__all__ = ["figure"]

# Colours of the displays that would vanish on a dark page, and the page's own that take their place.
_THEMED = {
    "#ffffff": "paper",
    "#000000": "ink",
    "#222222": "ink",
    "#6b6b6b": "grey",
    "#d9d9d9": "pale",
    "#0072b2": "blue",
    "#d55e00": "vermillion",
    "#009e73": "green",
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "csf",
    "text.parse_math": False,  # names are texts, with whatever dollars they hold
    "text.usetex": False,
}


def figure(
    name: str, alt: str, caption: str, draw: Callable[[Axes], object], *, size: tuple[float, float] = (7.2, 4.6)
) -> Markup:
    """A figure with its caption; where it cannot be drawn, the reason.

    Parameters
    ----------
    name : str
        Letters that begin its identifiers, others than those of all figures of a page.
    alt : str
        What it shows, for those who cannot see it.
    caption : str
        What to see in it.
    draw : callable
        Draws on the axes that it is given.
    size : tuple of float, default=(7.2, 4.6)
        Width and height in inches.

    Returns
    -------
    Markup
        The figure.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        # One of its own works without a screen and leaves pyplot alone.
        drawn = Figure(figsize=size, layout="constrained")
        try:
            draw(drawn.subplots())
        except (ValueError, TypeError) as error:
            return element("p", f"No {alt[:1].lower()}{alt[1:]}: {error}.", class_="soft")
        drawn.patch.set_visible(False)
        for ax in drawn.axes:
            ax.patch.set_visible(False)
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return element("figure", _inline(buffer.getvalue(), name, alt), element("figcaption", caption))


def _inline(svg: str, name: str, alt: str) -> Markup:
    """The graphic within a page: identifiers of its own, colours of the page, no comments, a name that is read out."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    for colour, themed in _THEMED.items():
        svg = svg.replace(f": {colour}", f": var(--fig-{themed})")
    label = element("title", alt)
    return Markup(re.sub(r"<svg ([^>]*)>", lambda found: f'<svg role="img" {found[1]}>{label}', svg, count=1))
