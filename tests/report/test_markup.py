"""Markup: whatever is put in, nothing but what was made on purpose comes out as HTML."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.report.markup import Cell, Markup, element, join, listing, number, table


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


# HTML has no carriage returns and null characters of its own.
texts = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1)


@given(texts, texts)
def test_texts_and_attributes_are_read_back_as_they_are(text, attribute):
    found = read(element("p", text, title=attribute))
    assert found.tags == ["p"]
    assert "".join(found.texts) == text
    assert found.attributes == [("title", attribute)]


def test_markup_is_kept_and_texts_are_not():
    assert join([Markup("<b>"), "<i>", None]) == "<b>&lt;i&gt;"
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert element("p", hidden=True, title=None, id=False) == "<p hidden></p>"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (None, "–"), (float("nan"), "–"), (float("-inf"), "-∞"), (2, "2.000")]
)
def test_numbers(value, shown):
    assert number(value).shown == shown


def test_tables_mark_a_row_and_carry_the_numbers_that_they_sort_by():
    rows = [[Cell("a"), number(0.25)], [Cell("<b>"), number(None)]]
    found = read(table("what", ["name", "f1"], rows, marked=1, sortable=True))
    assert found.tags.count("button") == 2
    assert ("data-key", "0.25") in found.attributes
    assert ("class", "marked") in found.attributes
    assert "<b>" in found.texts
    assert "button" not in read(table("what", ["name", "f1"], rows)).tags


def test_lists_leave_out_what_has_no_value():
    assert read(listing([("a", "1"), ("b", None)])).texts == ["a", "1"]
