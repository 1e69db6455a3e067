"""Reports in a real browser: nothing to complain about, no request, sorting by mouse and keyboard, both themes."""

import numpy as np
import pytest
from browser import Browser, needs_chromium
from builders_of_reports import EVIL, KINDS, fitted

from csf.report import Comparison, write_comparison

pytestmark = [needs_chromium, pytest.mark.slow]
pytest.importorskip("tornado")

CELLS = "[...document.querySelectorAll('#trials tbody tr')].map(r => r.cells[%d].textContent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser.page()


@pytest.fixture
def opened(page, tmp_path):
    """Open the report of a kind of search, in a file whose name has quotes."""

    def open_(kind, **options):
        search, X, y = fitted(kind)
        path = tmp_path / f"re'po\"rt & {kind}.html"
        search.report(path, X, y, rivals={EVIL: y}, title=EVIL)
        page.complaints.clear()
        page.requests.clear()
        page.open(path.as_uri(), **options)
        return page

    return open_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1100, 500, 390])
def test_pages_open_in_silence_ask_for_nothing_and_fit(opened, kind, width):
    page = opened(kind, width=width)
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.requests if url.startswith("file:")]) == 1
    assert page.ask("document.querySelector('h1').textContent") == EVIL
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    assert page.ask("[...document.querySelectorAll('.numbers p')].every(card => card.scrollWidth <= card.clientWidth)")


def test_tables_sort_by_a_click_and_back(opened):
    page = opened("plain")
    at = page.ask("[...document.querySelectorAll('#trials th')].findIndex(h => h.textContent === 'tuned f1')")
    press = f"document.querySelectorAll('#trials th')[{at}].querySelector('button').click()"
    before = page.ask(CELLS % at)
    page.ask(press)
    down = page.ask(CELLS % at)
    page.ask(press)
    up = page.ask(CELLS % at)
    assert down == sorted(before, key=float, reverse=True)
    assert up == sorted(before, key=float)
    assert page.ask(f"document.querySelectorAll('#trials th')[{at}].getAttribute('aria-sort')") == "ascending"


def test_numbers_that_are_missing_stay_below(opened):
    page = opened("failed")
    at = page.ask("[...document.querySelectorAll('#trials th')].findIndex(h => h.textContent === 'tuned f1')")
    for _ in range(2):
        page.ask(f"document.querySelectorAll('#trials th')[{at}].querySelector('button').click()")
        assert page.ask(CELLS % at)[-1] == "–"


def test_all_that_can_be_done_can_be_done_by_keyboard(opened):
    page = opened("plain")
    reached = []
    for _ in range(40):
        page.press("Tab", 9)
        reached.append(page.ask("document.activeElement.textContent.trim().slice(0, 30)"))
    assert {"Dark page", "Result", "c_fn", "All arguments"} <= set(reached)
    page.ask("document.querySelectorAll('#trials th button')[2].focus()")
    page.press("Enter", 13)
    assert page.ask("document.querySelectorAll('#trials th')[2].getAttribute('aria-sort')") == "descending"


def test_themes_follow_the_reader_and_the_button(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('figure svg')).fill"
    page = opened("plain", dark=True)
    dark = page.ask(colour), page.ask(ink)
    page.ask("document.getElementById('theme').click()")
    light = page.ask(colour), page.ask(ink)
    assert light == ("rgb(255, 255, 255)", "rgb(34, 34, 34)")
    assert dark != light
    assert page.ask("document.getElementById('theme').textContent") == "Dark page"


def test_the_confusion_matrix_is_that_of_the_predictions(opened):
    page = opened("three")
    search, X, y = fitted("three")
    rows = page.ask(
        "[...document.querySelectorAll('#held-out table')]"
        ".find(t => t.caption.textContent.startsWith('Confusion')).tBodies[0].innerText.split('\\n')"
        ".map(line => line.split('\\t').slice(1).map(cell => parseInt(cell)))"
    )
    found = search.predict(X)
    assert rows == [[int(np.sum((y == a) & (found == b))) for b in search.classes_] for a in search.classes_]


def test_a_comparison_opens_as_well(page, tmp_path):
    outcomes = [Comparison(EVIL, np.array([0.5, 0.7]), 0.0, 0.0, np.nan, 0.2)]
    write_comparison(tmp_path / "c.html", outcomes, metric_name="f1", reference=EVIL, facts={})
    page.complaints.clear()
    page.open((tmp_path / "c.html").as_uri())
    assert page.complaints == []
    assert EVIL in page.ask("document.body.innerText")
