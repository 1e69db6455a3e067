"""Lists of pages that are their table of contents too.

``cards``, a line ``page: what it shows`` for each, shows pages with their first picture, which they have just drawn, so
that nothing is stored and nothing gets old. ``linked-pages`` takes the pages that this one links to in its tables and
lists, in their order.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective


class Card(nodes.General, nodes.Element):
    """A page to be shown, until all pages are read."""


def contents(env, docnames):
    """Return a hidden table of contents of these pages."""
    parts = {"entries": [(None, name) for name in docnames], "includefiles": docnames, "parent": env.docname}
    options = {"maxdepth": -1, "caption": None, "rawcaption": "", "glob": False, "hidden": True, "includehidden": False}
    toctree = addnodes.toctree("", **parts, **options, numbered=0, titlesonly=False)
    return nodes.compound("", toctree, classes=["toctree-wrapper"])


class LinkedPages(SphinxDirective):
    """The table of contents of the pages that a page links to, one in each row or item."""

    def run(self):
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        files = re.findall(r"^(?:\| |- \*\*)\[[^\]]*\]\(([\w./]+)\.(?:md|ipynb)\)", text, flags=re.MULTILINE)
        return [contents(self.env, [self.env.relfn2path(f"{name}.md")[0].removesuffix(".md") for name in files])]


class Cards(SphinxDirective):
    """One card for each line."""

    has_content = True

    def run(self):
        grid, docnames = nodes.container(classes=["cards"]), []
        for line in self.content:
            page, _, text = line.partition(": ")
            docname = self.env.relfn2path(f"{page}.md")[0].removesuffix(".md")
            self.env.note_dependency(f"{docname}.md")
            grid += Card(docname=docname, text=text)
            docnames.append(docname)
        return [grid, contents(self.env, docnames)]


def show(app, doctree, docname):
    """Put picture, title and text in the place of each card."""
    for card in list(doctree.findall(Card)):
        page = app.env.get_doctree(card["docname"])
        picture = next(page.findall(nodes.image), None)
        if picture is None:
            raise ValueError(f"{docname} shows {card['docname']} as a card, which has no picture")
        title = app.env.titles[card["docname"]].astext()
        shown = nodes.image(uri=picture["uri"], candidates=picture["candidates"], alt="")
        link = nodes.reference("", "", refuri=app.builder.get_relative_uri(docname, card["docname"]), internal=True)
        link += [shown, nodes.strong(text=title)]
        box = nodes.container("", nodes.paragraph("", "", link), classes=["card-of-page"])
        box += nodes.paragraph(text=card["text"])
        card.replace_self(box)


def setup(app):
    app.add_node(Card)
    app.add_directive("cards", Cards)
    app.add_directive("linked-pages", LinkedPages)
    app.connect("doctree-resolved", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
