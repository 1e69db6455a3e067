"""Pages as cards, each with the first picture of its page: ``cards``, a line ``page: what it shows`` for each of them.

Pictures are those that the pages have just drawn, so that nothing is stored and nothing gets old.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Card(nodes.General, nodes.Element):
    """A page to be shown, until all pages are read."""


class Cards(SphinxDirective):
    """One card for each line."""

    has_content = True

    def run(self):
        grid = nodes.container(classes=["cards"])
        for line in self.content:
            page, _, text = line.partition(": ")
            docname = self.env.relfn2path(f"{page}.md")[0].removesuffix(".md")
            self.env.note_dependency(f"{docname}.md")
            grid += Card(docname=docname, text=text)
        return [grid]


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
    app.connect("doctree-resolved", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
