"""HTML that cannot be broken by what it shows: texts are escaped unless they are markup made here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Cell", "Markup", "element", "join", "listing", "number", "table"]

_EMPTY = {"link", "meta"}


class Markup(str):
    """HTML that was made on purpose; every other text is escaped where it is put into a page."""

    __slots__ = ()


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Parameters
    ----------
    shown : str
        What readers see.
    key : float, default=None
        Number that sorting goes by; ``None`` sorts by the text.
    """

    shown: str
    key: float | None = None


def join(parts: Iterable[str | None]) -> Markup:
    """Parts one after the other, those that are no markup escaped.

    Parameters
    ----------
    parts : iterable of str or None
        Texts and markup; ``None`` is left out.

    Returns
    -------
    Markup
        Safe to put into a page.

    Examples
    --------
    >>> join(["<b>", Markup("<i>"), None])
    '&lt;b&gt;<i>'
    """
    return Markup(
        "".join(part if isinstance(part, Markup) else html.escape(part) for part in parts if part is not None)
    )


def element(tag: str, /, *children: str | None, **attributes: str | bool | None) -> Markup:
    """An element with escaped children and attributes.

    Parameters
    ----------
    tag : str
        Name of the element.
    *children : str or None
        Texts and markup.
    **attributes : str, bool or None
        ``True`` writes the name alone, ``False`` and ``None`` nothing; ``class_`` stands for ``class`` and
        ``aria_label`` for ``aria-label``.

    Returns
    -------
    Markup
        The element.

    Examples
    --------
    >>> element("p", "a < b", class_='"')
    '<p class="&quot;">a &lt; b</p>'
    """
    written = ""
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            written += f" {key}"
        elif value is not None and value is not False:
            written += f' {key}="{html.escape(value)}"'
    if tag in _EMPTY:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{join(children)}</{tag}>")


def number(value: float | None, spec: str = ".3f") -> Cell:
    """Cell of a number; a dash where there is none.

    Parameters
    ----------
    value : float or None
        The number.
    spec : str, default=".3f"
        How it is written.

    Returns
    -------
    Cell
        Sorted by the number.

    Examples
    --------
    >>> number(0.5), number(None)
    (Cell(shown='0.500', key=0.5), Cell(shown='–', key=None))
    """
    if value is None or value != value:
        return Cell("–")
    return Cell(format(float(value), spec).replace("inf", "∞"), float(value))


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    marked: int | None = None,
    names: int = 1,
    sortable: bool = False,
) -> Markup:
    """A table that scrolls in itself where a screen is narrow.

    Parameters
    ----------
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence of Cell
        The cells.
    marked : int, default=None
        Row to mark.
    names : int, default=1
        Number of columns, from the left, that hold names; the others hold numbers.
    sortable : bool, default=False
        Whether a click on a column's name sorts by it.

    Returns
    -------
    Markup
        The table.
    """
    heads = []
    for at, name in enumerate(header):
        inside = element("button", name, type="button") if sortable and name else name
        heads.append(element("th", inside, scope="col", class_=None if at < names else "n"))
    body = []
    for at, row in enumerate(rows):
        cells = [
            element(
                "td",
                cell.shown,
                class_=None if place < names else "n",
                data_key=None if cell.key is None else repr(cell.key),
            )
            for place, cell in enumerate(row)
        ]
        body.append(element("tr", *cells, class_="marked" if at == marked else None))
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        class_="sortable" if sortable else None,
    )
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def listing(items: Iterable[tuple[str, str | None]]) -> Markup:
    """Names with their values, those without a value left out.

    Parameters
    ----------
    items : iterable of tuple of str
        Names and values.

    Returns
    -------
    Markup
        A description list.
    """
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in items if value is not None]
    return element("dl", *pairs)
