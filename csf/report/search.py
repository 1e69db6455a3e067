"""The page of one cost search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.errors.profile import ErrorProfile
from csf.metrics import get_constraint, get_metric
from csf.plots import ConeDisplay, ProgressDisplay, ThresholdCurveDisplay
from csf.report.advice import to_mind, to_try
from csf.report.data import HeldOut, class_table, confusion, judged_table
from csf.report.facts import asked, parameter_names, short, winner_facts, winner_sentence
from csf.report.figures import figure
from csf.report.held_out import judge, one_problem
from csf.report.markup import Cell, Markup, element, join, listing, number, table
from csf.report.page import Section, make_page

if TYPE_CHECKING:
    from csf.plots._searched import FittedSearch
    from csf.report.held_out import Judged

__all__ = ["search_page", "trials_table"]

# A page of more rows is too heavy; the best ones are shown.
MOST_ROWS = 1000


def search_page(search: FittedSearch, held: HeldOut | None, title: str, facts: Mapping[str, str]) -> str:
    """The page of a fitted search.

    Parameters
    ----------
    search : CostSearch
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
    judged = [] if held is None else _judged(search, held)
    missed = None if held is None else _missed(search, held)
    sections = [
        Section("winner", "The winner", listing(winner_facts(search))),
        *(
            []
            if held is None
            else [Section("held-out", "On data that was not searched", _held(search, held, judged, missed))]
        ),
        Section(
            "notes",
            "What to mind, what to try next",
            _notes([*([missed] if missed else []), *to_mind(search, judged)], to_try(search, judged)),
        ),
        Section("ceiling", "What the ceiling says", _ceiling(search)),
        *([] if held is None else [Section("threshold", "The cut of the score", _threshold(search, held))]),
        Section("trials", "All trials", trials_table(search)),
        Section("asked", "What was asked, of which data", _asked(search, held, facts)),
    ]
    return make_page(title, _lead(search, judged), sections)


def _judged(search, held):
    return judge(get_metric(search.metric), one_problem(search.null_class_), held.y, held.answers, held.weight)


def _lead(search, judged):
    sentence = winner_sentence(search)
    if judged:
        low, high = judged[0].interval
        sentence += f" On held-out data: {judged[0].value:.3f} ({low:.3f} to {high:.3f})."
    return sentence


def _asked(search, held, facts):
    roles: dict[Any, str] = {search.null_class_: "nothing to find" if search.pos_label_ is None else "negative"}
    if search.pos_label_ is not None:
        roles[search.pos_label_] = "positive"
    counts = search.class_count_
    items = [*facts.items(), *asked(search)]
    items.append(("Samples learnt from", f"{int(counts.sum()):,}".replace(",", "\u202f")))
    if hasattr(search, "n_features_in_"):
        items.append(("Features", str(search.n_features_in_)))
    details = element("details", element("summary", "All arguments"), listing(_arguments(search)))
    return join([listing(items), class_table(search.classes_, counts, held, roles), details])


def _arguments(search):
    # Splits may be given as arrays of row numbers, which tell nobody anything.
    params = search.get_params(deep=False)
    return [(key, short(" ".join(repr(value).split()), 300)) for key, value in params.items()]


def _missed(search, held: HeldOut) -> str | None:
    """That the constraint is missed on held-out data, where it is."""
    constraint = get_constraint(search.constraint)
    if constraint is None:
        return None
    profile = ErrorProfile.from_classes(
        held.y, held.answers["this search"], null_class=search.null_class_, sample_weight=held.weight
    )
    if constraint.violation(profile.fn, profile.fp, pos=profile.pos) == 0:
        return None
    value = constraint.quantity.of(profile)
    return f"{constraint} does not hold on held-out data: {value:.3f}."


def _held(search, held: HeldOut, judged: Sequence[Judged], missed: str | None):
    text = (
        f"{held.y.shape[0]} samples that the search has not seen. The interval holds 90 % of 1000 resamples of them: "
        "it tells how far other data of the same kind may fall, not how another training would."
    )
    constraint = get_constraint(search.constraint)
    verdict = None if constraint is None else element("p", missed or f"{constraint} holds here.")
    return join(
        [
            element("p", text),
            judged_table(get_metric(search.metric).name, judged),
            verdict,
            confusion(search.classes_, held),
        ]
    )


def _notes(minded: Sequence[str], ideas: Sequence[str]) -> Markup:
    def items(texts, otherwise):
        return element("ul", *(element("li", text) for text in texts or [otherwise]), class_="notes")

    return join(
        [
            element("h3", "To mind"),
            items(minded, "Nothing stands out."),
            element("h3", "To try next"),
            items(ideas, "Nothing in this search asks for more."),
        ]
    )


def _ceiling(search):
    name = get_metric(search.metric).name
    if not search.feasible_:
        ceiling = f"{search.upper_bound_:.3f}"
        text = f"No trial satisfies the constraint: the ceiling of {ceiling} is that of classifiers which do."
    else:
        text = (
            f"The evidence of {search.n_trials_} trials leaves room for {name} up to {search.upper_bound_:.3f} on "
            f"these data, {search.gap_:.3f} above the best value seen."
        )
    caveat = (
        "It is read off the models that were trained, and speaks of classifiers like them: this base, these "
        "parameters, these folds. It is no proof about others."
    )
    cones = figure(
        "cones",
        "Cone plot: metric of each trial against the costs that it was trained for",
        "Each dot is one training, over its level or its ratio of costs; a line above it is what its best cut adds. "
        "Shades mark values that the trainings so far speak against.",
        lambda ax: ConeDisplay.from_estimator(search, ax=ax),
        size=(5.6, 4.4),
    )
    progress = figure(
        "progress",
        "Progress: best value seen and room left after each trial",
        "Where both lines meet, more levels of the same base are not expected to help.",
        lambda ax: ProgressDisplay.from_estimator(search, ax=ax),
        size=(5.6, 4.4),
    )
    return join(
        [element("p", text), element("p", caveat, class_="soft"), element("div", cones, progress, class_="pair")]
    )


def _threshold(search, held):
    return figure(
        "threshold",
        "Threshold curve: what the cut of the score does to the metric, precision and recall on held-out data",
        "The mark is the cut that was chosen on held-out folds; a flat curve around it means that little hangs on it.",
        lambda ax: ThresholdCurveDisplay.from_estimator(
            search, held.X, held.y, sample_weight=held.weight, name="", ax=ax
        ),
    )


def trials_table(search: FittedSearch) -> Markup:
    """All trials as a table that sorts by any column.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    Markup
        The table; of very many trials the best.
    """
    constraint, name, results = get_constraint(search.constraint), get_metric(search.metric).name, search.cv_results_
    varied = [key for key in results if key.startswith("param_") and key not in ("param_t", "param_c_fn", "param_c_fp")]
    header = [
        "trial",
        "level t",
        "c_fn",
        "c_fp",
        *parameter_names(key.removeprefix("param_") for key in varied).values(),
    ]
    header += [f"{name} at its cut", "over folds ±", *([constraint.quantity.name] if constraint else [])]
    header += [f"own {name}", "cut", "seconds", "state"]
    shown = _shown(search)
    rows = []
    for at in shown:
        trial = search.trials_[at]
        state = "winner" if at == search.best_index_ else trial.state
        row = [Cell(str(at), at), number(trial.t, ".4g")]
        row += [number(trial.c_fn, ".4g"), number(trial.c_fp, ".4g"), *(_parameter(results[key][at]) for key in varied)]
        row += [number(trial.score), number(results["std_test_score"][at])]
        row += [number(trial.rate)] if constraint else []
        row += [number(trial.value), number(trial.threshold, ".4g"), number(trial.fit_time, ".2f"), Cell(state)]
        rows.append(row)
    marked = shown.index(search.best_index_)
    whole = table(f"{len(rows)} of {search.n_trials_} trials", header, rows, marked=marked, sortable=True)
    errors = [(f"Trial {at}", short(trial.error, 2000)) for at, trial in enumerate(search.trials_) if trial.error]
    failed = element(
        "details",
        element("summary", f"Errors of {len(errors)} failed trials"),
        *(element("div", element("h3", at), element("pre", text, class_="scroll")) for at, text in errors[:20]),
    )
    return join([element("div", whole, class_="tall") if len(rows) > 25 else whole, failed if errors else None])


def _shown(search) -> list[int]:
    if search.n_trials_ <= MOST_ROWS:
        return list(range(search.n_trials_))
    return sorted(np.argsort(search.cv_results_["rank_test_score"], kind="stable")[:MOST_ROWS].tolist())


def _parameter(value):
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(short(value, 40), float(value) if plain else None)
