"""The page of one search for each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from csf.metrics import get_metric
from csf.report.advice import to_mind
from csf.report.data import HeldOut, class_table, confusion, judged_table
from csf.report.facts import asked, parameter_names, short
from csf.report.held_out import judge, macro_problems
from csf.report.markup import Cell, element, join, listing, number, table
from csf.report.page import Section, make_page

if TYPE_CHECKING:
    from csf.plots._searched import FittedMacroSearch

__all__ = ["macro_page"]

# Names of the facts that are the same for all classes.
_SHARED = ("Maximise", "Under the constraint", "Base classifier", "Strategy", "Settings of the base", "Judged on")


def macro_page(search: FittedMacroSearch, held: HeldOut | None, title: str, facts: Mapping[str, str]) -> str:
    """The page of a fitted macro search.

    Parameters
    ----------
    search : MacroCostSearch
        Fitted.
    held : HeldOut or None
        Data that it has not seen.
    title : str
        Heading of the page.
    facts : dict of str to str
        Further facts on what was asked.

    Returns
    -------
    str
        The page.
    """
    metric = get_metric(search.search.metric)
    lead = (
        f"One search for each of {search.classes_.shape[0]} classes: mean {metric.name} {search.best_score_:.3f} of "
        f"each class against the rest, lowest for “{short(search.classes_[search.best_scores_.argmin()], 40)}”."
    )
    sections = [Section("classes", "The classes", _classes(search, metric.name))]
    if held is not None:
        present = np.unique(held.y)
        judged = judge(metric, macro_problems(present), held.y, held.answers, held.weight)
        lead += f" One class for each sample, on held-out data: {judged[0].value:.3f}."
        content = join([judged_table(f"mean {metric.name}", judged), confusion(search.classes_, held)])
        sections.append(Section("held-out", "On data that was not searched", content))
    sections += [
        Section("notes", "What to mind", _notes(search)),
        Section("asked", "What was asked, of which data", _asked(search, held, facts)),
    ]
    return make_page(title, lead, sections)


def _classes(search, name):
    header = ["class", f"{name} out of fold", "room up to", "level t", "c_fn", "c_fp", "cut", "parameters", "trials"]
    rows = []
    for label, one in zip(search.classes_.tolist(), search.searches_):
        c_fn, c_fp = one.best_cost_weights_
        names = parameter_names(one.best_params_)
        parameters = ", ".join(f"{names[key]} = {short(value)}" for key, value in one.best_params_.items())
        row = [Cell(short(label)), number(one.best_score_), number(one.upper_bound_), number(one.best_t_, ".4g")]
        row += [number(c_fn, ".4g"), number(c_fp, ".4g"), number(one.best_threshold_, ".4g")]
        rows.append([*row, Cell(parameters or "–"), number(one.n_trials_, ".0f")])
    return table("Searches of each class against the rest", header, rows, sortable=True)


def _notes(search):
    texts = [
        f"{short(label, 40)}: {text}"
        for label, one in zip(search.classes_.tolist(), search.searches_)
        for text in to_mind(one, [])
    ]
    return element("ul", *(element("li", text) for text in texts or ["Nothing stands out."]), class_="notes")


def _asked(search, held, facts):
    first = [item for item in asked(search.searches_[0]) if item[0] in _SHARED]
    # Each search counts its class, which it calls 1, and the rest.
    known = np.array([one.class_count_[1] for one in search.searches_])
    roles = dict.fromkeys(search.classes_.tolist(), "against the rest")
    return join([listing([*facts.items(), *first]), class_table(search.classes_, known, held, roles)])
