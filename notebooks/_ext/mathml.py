"""Formulas as MathML, which browsers draw by themselves: no script, and nothing to fetch."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    # What only lines up several formulas says nothing to a single one.
    text = re.sub(r"\\begin\{(split|aligned)\}|\\end\{(split|aligned)\}|&", "", node.astext())
    parts = [convert(part, display="block") for part in re.split(r"\n\s*\n", text) if part.strip()]
    self.body.append(f'<div class="formula">{"".join(parts)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
