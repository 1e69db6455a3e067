"""Templates: whatever is put in, nothing but what was made on purpose comes out as HTML."""

from html.parser import HTMLParser

import pytest
from builders_of_reports import EVIL, fitted
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from csf.plots.words import digits
from csf.report.page import templates


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def read(source, **data):
    """What a template that may use all parts says."""
    page = templates().from_string('{% import "parts.html.j2" as parts %}' + source)
    reader = Reader()
    reader.feed(page.render(**data))
    reader.close()
    return reader


# HTML has no carriage returns and null characters of its own.
texts = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1)


@given(texts, texts)
def test_texts_and_attributes_are_read_back_as_they_are(text, attribute):
    source = "{% call parts.table(title) %}{{ parts.name(text) }}{% endcall %}"
    found = read(source, text=text, title=attribute)
    assert found.tags == ["div", "table", "caption", "td"]
    assert text in "".join(found.texts)
    assert ("aria-label", attribute) in found.attributes


def test_figures_are_kept_and_texts_are_not():
    drawn = {"error": None, "opening": Markup("<svg>"), "content": Markup("<b></svg>")}
    assert read("{{ parts.figure(drawn, alt, alt) }}", drawn=drawn, alt="<i>").tags == [
        *("figure", "svg", "title", "b", "figcaption")
    ]
    assert read("{{ parts.figure(drawn, 'What', '') }}", drawn={"error": "<i>"}).texts[0] == "No what: <i>."


def test_a_title_that_calls_itself_markup_is_a_text(tmp_path):
    search, _, _ = fitted("plain")
    search.report(tmp_path / "r.html", title=Markup(EVIL))
    assert EVIL not in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (None, "–"), (float("nan"), "–"), (float("-inf"), "-∞"), (2, "2.000")]
)
def test_numbers(value, shown):
    assert digits(value) == shown
    assert "".join(read("{{ parts.number(value) }}", value=value).texts).strip() == shown


@pytest.mark.parametrize("sortable", [True, False])
def test_tables_mark_a_row_and_carry_the_numbers_that_they_sort_by(sortable):
    source = """
    {% call parts.table("what", sortable) %}
    {{ parts.head(["name", "f1"], sortable=sortable) }}
    {% for name, value in rows %}
    {% call parts.row(loop.last) %}{{ parts.name(name) }}{{ parts.number(value) }}{% endcall %}
    {% endfor %}
    {% endcall %}
    """
    found = read(source, rows=[("a", 0.25), ("<b>", None)], sortable=sortable)
    assert found.tags.count("button") == 2 * sortable
    assert [value for key, value in found.attributes if key == "data-key"] == ["0.25"]
    assert found.attributes.count(("class", "marked")) == 1
    assert "<b>" in found.texts


def test_lists_leave_out_what_has_no_value():
    found = read("{{ parts.listing(pairs) }}", pairs=[("a", "1"), ("b", None)])
    assert [text for text in found.texts if text.strip()] == ["a", "1"]
