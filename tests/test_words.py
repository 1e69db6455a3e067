"""What a user reads is in the words of the field: pages, notebooks, docstrings of the reference, messages, labels.

Names in code (parameters, attributes, classes) stay as they are; backticks, examples and references are not read.
"""

import ast
import functools
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHOWN = {"label", "xlabel", "ylabel", "title", "suptitle", "help"}  # arguments that are shown, of one word too

# What is not said, and what is said instead.
WORDS = {
    r"cuts?|cutting(?! planes?)": "threshold (as a verb: put a threshold on, split, shorten)",
    r"ceilings?": "upper bound",
    r"rungs?": "ratio of costs",
    r"rooms?|house|staircases?|floors?": "package, layer; what is left to gain",
    r"hears?|heard|hearts?": "is given, reads; core",
    r"(?:what )?to mind": "warnings, notes",
    r"neutral": "equal (costs, weights)",
    r"told|tells|tell apart|cannot tell": "given, reported, distinguished (`tell` of a study in backticks)",
    r"(?:un)?luck(?:y|ily)?": "chance",
    r"price[sd]?|pricing": "cost, class cost",
    r"laws?": "property, check",
    r"plain calls?": "default search",
    r"speaks?|spoken": "refers to, holds for; rules out",
    r"teach(?:es)?|taught": "train, give",
    r"anew": "again, from scratch",
    r"disguise|twins?|gravest|evened|evens|parted|mend(?:ed|s)?|veil|marvels?|relatives|hollow": "a plain word",
    r"(?:trials?|scores?|data|rows|samples|evidence|counts|folds|draws|trainings?) (?:say|says|said)": "show",
    r"says? (?:little|nothing|something|more|less|too)": "is little evidence, carries no information",
    r"loses no finished work": "keeps finished trials",
    r"every second time": "about half the time",
    r"what is to gain|what (?:is|was) meant|is concerned|takes? for granted": "a plain clause: subject, verb, object",
    r"out of folds?(?= (?:scores?|predictions?|values?|F1))": "out-of-fold",
    r"(?:maxim|minim|optim|regular|general|initial|recogn|standard|serial|summar|random|penal)iz(?:e[sdr]?|ing|ations?)"
    r"|normaliz(?:e[sd]|ing|ations?)|behaviors?|colors?|label(?:ed|ing)|centers?|analyz(?:e[sd]?)|gray": "British",
}
# Of lower-case text, and without a look behind: so it is fast enough for all of csf.
ODD = re.compile("(?:" + "|".join(f"({pattern})" for pattern in WORDS) + r")(?![\w=(]|-\w)")
INSIDE = re.compile(r"[\w.=-]")  # what comes before a part of a name

# Not prose: examples, code, mathematics, references, headings of parameters, options of pages, markup.
SKIPPED = re.compile(
    r"^ *>>>[^\n]*(\n *\S[^\n]*)*"
    r"|^ *```.*?```|``.*?``|`[^`]*`|\$\$.*?\$\$"
    r"|^ *\.\. \[\d+\][^\n]*(\n *[^.\s][^\n]*)*"
    r"|^ *[\w*, ]+ : [^\n]*|^ *[A-Z]\w+$"
    r"|\A---\n.*?^---$|\]\([^)]*\)|\{[{%#].*?[}%#]\}|<[^<>\n]*>",
    flags=re.DOTALL | re.MULTILINE,
)


def faults(text):
    """Lines (from 0), words and what to say instead."""
    if not ODD.search(text.lower()):
        return
    text = SKIPPED.sub(lambda match: "\n" * match.group().count("\n") or " ", text).lower()
    for match in ODD.finditer(text):
        if not INSIDE.match(text, match.start() - 1) or match.start() == 0:
            yield text.count("\n", 0, match.start()), match.group(), list(WORDS.values())[match.lastindex - 1]


@functools.cache
def trees():
    """Every file of csf that has an odd word somewhere, parsed."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "csf").rglob("*.py"))}
    return {path: ast.parse(text) for path, text in texts.items() if ODD.search(text.lower())}


@functools.cache
def exported():
    """Names in the `__all__` of any module."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "csf").rglob("*.py"))
    lists = (found.group() for text in texts if (found := re.search(r"^__all__ = [^\])]*", text, re.MULTILINE)))
    return {name for found in lists for name in re.findall(r"\w+", found)}


def _docstring(node):
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def _documented(path, tree):
    """Docstrings that the reference shows: public modules, exported names, their public methods."""
    if any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(ROOT).parts):
        return
    yield _docstring(tree)
    for node in tree.body:
        if getattr(node, "name", None) in exported():
            yield _docstring(node)
            members = node.body if isinstance(node, ast.ClassDef) else []
            yield from (_docstring(each) for each in members if not getattr(each, "name", "_").startswith("_"))


def literals(path, tree):
    """Texts of a file that a user can read, as nodes: docstrings of the reference, messages, labels, help."""
    yield from filter(None, _documented(path, tree))
    statements = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            statements.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value and id(node) not in statements:
                yield node
        elif isinstance(node, ast.keyword) and node.arg in SHOWN:
            word = getattr(node.value, "value", None)
            if isinstance(word, str) and " " not in word:
                yield node.value


def pages():
    """Markdown, markdown of notebooks and templates of reports: where they are, and what they hold."""
    for path in [ROOT / "README.md", *(ROOT / "notebooks").rglob("*.md"), *(ROOT / "csf").rglob("*.j2")]:
        yield path, path.read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        yield path, "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_pages_use_the_words_of_the_field():
    found = [
        f"{path.relative_to(ROOT)}:{line + 1} {word!r}: {instead}"
        for path, text in pages()
        for line, word, instead in faults(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_code_uses_the_words_of_the_field():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno + line} {word!r}: {instead}"
        for path, tree in trees().items()
        for node in literals(path, tree)
        for line, word, instead in faults(node.value)
    ]
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize(
    "text",
    [
        "the best cut of its score",
        "Neutral costs",
        "winners are luck",
        "says little",
        "what the trials say",
        "color",
        "every second time",
    ],
)
def test_odd_words_are_found(text):
    assert list(faults(text))


@pytest.mark.parametrize(
    "text", ["see `cut`", "a cutting plane", "cut : Cut", ">>> cut = 1\ncut", "neutral_first", "shortcut", "`ceiling`"]
)
def test_names_and_examples_are_not_read(text):
    assert not list(faults(text))
