"""Figures as vector graphics whose colours follow the page, by day, by night and on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from csf._common.typing import Axes

__all__ = ["Drawn", "figure"]

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


class Drawn(NamedTuple):
    """Markup of a graphic, split where its title belongs, or why there is none."""

    opening: str = ""
    content: str = ""
    error: str | None = None


def figure(name: str, draw: Callable[[Axes], object], *, size: tuple[float, float] = (7.2, 4.6)) -> Drawn:
    """Graphic of what ``draw`` puts on the axes that it is given; identifiers begin with the name."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        # One of its own works without a screen and leaves pyplot alone.
        drawn = Figure(figsize=size, layout="constrained")
        try:
            draw(drawn.subplots())
        except (ValueError, TypeError) as error:
            return Drawn(error=str(error))
        drawn.patch.set_visible(False)
        for ax in drawn.axes:
            ax.patch.set_visible(False)
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue(), name)


def _inline(svg: str, name: str) -> Drawn:
    """The graphic within a page: identifiers of its own, colours of the page, no comments."""
    from markupsafe import Markup

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    for colour, themed in _THEMED.items():
        svg = svg.replace(f": {colour}", f": var(--fig-{themed})")
    opening, _, content = svg.removeprefix("<svg ").partition(">")
    return Drawn(Markup(f'<svg role="img" {opening}>'), Markup(content))
