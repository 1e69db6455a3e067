"""One page that carries all it needs: style, script and figures, and lets the browser load nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from csf._common.files import replaced
from csf._common.typing import PathLike
from csf._common.version import __version__
from csf.report.markup import Markup, element, join

__all__ = ["Section", "make_page", "write_page"]


@dataclass(frozen=True)
class Section:
    """Part of a page with a heading of its own.

    Parameters
    ----------
    name : str
        Its address within the page.
    title : str
        Its heading.
    content : Markup
        What it says.
    """

    name: str
    title: str
    content: Markup


def make_page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The page as text.

    Parameters
    ----------
    title : str
        Its heading.
    lead : str
        The outcome in a sentence or two.
    sections : sequence of Section
        What follows, in order.

    Returns
    -------
    str
        HTML that loads nothing, runs no script but its own, and reads the same on paper, by day and by night.
    """
    style = Markup(files("csf.report").joinpath("report.css").read_text(encoding="utf-8"))
    script = Markup(files("csf.report").joinpath("report.js").read_text(encoding="utf-8"))
    links = [element("li", element("a", part.title, href=f"#{part.name}")) for part in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", style),
    )
    body = element(
        "body",
        element(
            "header",
            element("button", "Dark page", id="theme", type="button", hidden=True),
            element("h1", title),
            element("p", lead, class_="lead"),
            element("nav", element("ul", *links), aria_label="Sections"),
        ),
        element("main", *map(_section, sections)),
        element("footer", f"Written by csf {__version__}."),
        element("script", script),
    )
    return "<!DOCTYPE html>\n" + element("html", head, "\n", body, lang="en") + "\n"


def write_page(path: PathLike, page: str) -> None:
    """Write a page.

    Parameters
    ----------
    path : path-like
        File to write; it is replaced as a whole or stays as it is.
    page : str
        The page.
    """
    # Labels may hold half of a surrogate pair, which no file can.
    with replaced(path, errors="replace") as file:
        file.write(page)


def _section(part):
    heading = element("h2", part.title, id=f"{part.name}-title")
    return element("section", heading, join([part.content]), id=part.name, aria_labelledby=f"{part.name}-title")


def _policy(script):
    """What the browser is allowed to do: this script, styles and pictures of the page itself, and no request."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
