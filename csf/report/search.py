"""What the page of a search shows: of two classes, of several that are alike, or of each class against the rest."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.metrics import get_constraint
from csf.plots import ConeDisplay, ProgressDisplay, ThresholdCurveDisplay
from csf.report.checks import findings, gain_over_equal
from csf.report.facts import (
    base_name,
    metric_name,
    other_costs,
    parameter_names,
    parameters_of,
    short,
    spread,
    target_name,
)
from csf.report.figures import Drawn, figure
from csf.report.held_out import MOST_CLASSES, HeldOut, confusion, matrix_of

if TYPE_CHECKING:
    from csf.plots._searched import FittedAnySearch, FittedClassSearch, FittedMacroSearch, FittedSearch

__all__ = ["class_data", "macro_data", "search_data"]

# A page of more rows is too heavy; the best ones are shown.
MOST_ROWS = 1000


def search_data(search: FittedSearch, held: HeldOut | None, mute: Collection[str]) -> dict[str, Any]:
    """What ``search.html.j2`` lays out."""
    return _of_any(search, held, mute, _threshold_lead(search)) | {
        "gain": gain_over_equal(search),
        "figures": _figures(search, held),
    }


def class_data(search: FittedClassSearch, held: HeldOut | None, mute: Collection[str]) -> dict[str, Any]:
    """What ``classes.html.j2`` lays out."""
    power = search.trials_[search.best_index_].t
    lead = "equal class weights" if power == 0.0 else f"class weights in proportion to share^-{power:.3g}"
    own = "its own decision" if search.rule_.kind == "argmax" else "a tuned rule of its probabilities"
    return _of_any(search, held, mute, f"{_winner(search)}, trained with {lead}, predicts by {own}.") | {
        "power": power,
        "rule": _rule(search),
        "out_of_fold": matrix_of(search, search.confusion_ * search.class_count_.sum()),
        "values": [search.cv_results_[name].tolist() for name in ("value", "tuned_value", "judged_value")],
    }


def macro_data(search: FittedMacroSearch, held: HeldOut | None, mute: Collection[str]) -> dict[str, Any]:
    """What ``macro.html.j2`` lays out."""
    each = list(zip([short(label, 40) for label in search.classes_.tolist()], search.searches_))
    name = metric_name(search.search)
    lead = f"One search for each of {len(each)} classes, lowest for “{each[search.best_scores_.argmin()][0]}”."
    out_of_fold = ("out-of-fold", search.best_score_, "", f"mean {name} of each class against the rest")
    return {
        "lead": lead,
        "metric": f"mean {name}",
        "estimates": [*_held_estimate(held), out_of_fold],
        "searches": [(label, one, parameters_of(one)) for label, one in each],
        "findings": [
            found._replace(text=f"{label}: {found.text}")
            for label, one in each
            for found in findings(one, None, mute)
            if found.code != "CSF010"
        ],
        "held": held,
        "matrix": None if held is None else confusion(search, held),
    }


def _of_any(search, held, mute, lead):
    """What all pages of one search show."""
    params = search.get_params(deep=False)
    return {
        "lead": lead,
        "search": search,
        "metric": metric_name(search),
        "constraint": get_constraint(search.constraint),
        "estimates": _estimates(search, held),
        "findings": findings(search, held, mute),
        "held": held,
        "matrix": None if held is None else confusion(search, held),
        "trials": _shown_trials(search),
        # Splits may be given as arrays of row numbers, which tell nobody anything.
        "arguments": [(key, short(" ".join(repr(value).split()), 300)) for key, value in params.items()],
    }


def _held_estimate(held):
    if held is None:
        return []
    own = held.judged[0]
    return [("held-out", own.value, spread(own.interval), f"{held.y.shape[0]} samples unseen by fit")]


def _estimates(search: FittedAnySearch, held: HeldOut | None) -> list[tuple[str, float, str, str]]:
    """Values of the winner, the one to trust most first: name, value, 90 % interval, and what the value is."""
    rows: list[Any] = _held_estimate(held)
    # Searches read from older files, and some configurations, know fewer of these.
    corrected = getattr(search, "corrected_score_", np.nan)
    if not np.isnan(corrected):
        what = f"to expect on new data: out-of-fold, without what choosing among {search.n_trials_} trials adds"
        rows.append(("cross-validated", corrected, spread(search.score_interval_), what))  # pyright: ignore[reportAttributeAccessIssue]
    what = "on the samples that chose trial and threshold: optimistic"
    rows.append(("out-of-fold", search.best_score_, "", what))
    return rows


def _winner(search: FittedAnySearch) -> str:
    return f"The winner is {', '.join(filter(None, [base_name(search.base), parameters_of(search)]))}"


def _threshold_lead(search: FittedSearch) -> str:
    """The winner in one sentence."""
    c_fn, c_fp = search.best_cost_weights_
    target, ratio = target_name(search), f"{max(c_fn / c_fp, c_fp / c_fn):.3g}"
    if c_fn == c_fp:
        trained = f"equal class weights ({other_costs(search)})"
    elif c_fn > c_fp:
        trained = f"class weights {ratio} : 1 (a missed {target} costs as much as {ratio} false positives)"
    else:
        trained = f"class weights 1 : {ratio} (a false positive costs {ratio} times as much as a missed {target})"
    decides = "predicts by its own decision"
    if search.best_threshold_ is not None and search.threshold is not None:
        found = f"a class other than “{short(search.null_class_, 40)}”" if search.pos_label_ is None else target
        decides = f"predicts {found} from a score of {search.best_threshold_:.4g} on"
    return f"{_winner(search)}, trained with {trained}; {decides}."


def _rule(search: FittedClassSearch) -> dict[str, Any]:
    """A row for each class: what it weighs in training, and its slope and offset where they are tuned."""
    rule, labels = search.rule_, [short(label, 40) for label in search.classes_.tolist()]
    tuned = rule.kind != "argmax" and rule.matrix is None
    numbers = [search.class_costs_, *([rule.slopes, rule.offsets] if tuned else [])]
    matrix = None
    if rule.matrix is not None and len(labels) <= MOST_CLASSES:
        matrix = list(zip(labels, rule.matrix.tolist()))
    rows = list(zip(labels, search.class_count_.tolist(), zip(*(column.tolist() for column in numbers))))
    return {"tuned": tuned, "labels": labels, "rows": rows, "matrix": matrix}


def _figures(search: FittedSearch, held: HeldOut | None) -> dict[str, Drawn]:
    data = () if held is None else (held.X, held.y)
    weight = None if held is None else held.weight
    return {
        "cones": figure("cones", lambda ax: ConeDisplay.from_estimator(search, ax=ax), size=(5.6, 4.4)),
        "progress": figure("progress", lambda ax: ProgressDisplay.from_estimator(search, ax=ax), size=(5.6, 4.4)),
        "threshold": figure(
            "threshold",
            lambda ax: ThresholdCurveDisplay.from_estimator(search, *data, sample_weight=weight, name="", ax=ax),
        ),
    }


def _shown_trials(search: FittedAnySearch) -> dict[str, Any]:
    """Rows of the table of trials, the winner first and then by rank, and the errors of those that failed."""
    constraint, results = get_constraint(search.constraint), search.cv_results_
    known = ("param_t", "param_c_fn", "param_c_fp")
    varied = [key for key in results if key.startswith("param_") and key not in known]
    order = np.argsort(results["rank_test_score"], kind="stable").tolist()
    order = sorted(order[:MOST_ROWS], key=lambda at: at != search.best_index_)
    return {
        "rate": None if constraint is None else constraint.quantity.name,
        "parameters": list(parameter_names(key.removeprefix("param_") for key in varied).values()),
        "rows": [
            (at, search.trials_[at], results["std_test_score"][at], [_parameter(results[key][at]) for key in varied])
            for at in dict.fromkeys([search.best_index_, *order])
        ],
        "errors": [(at, short(trial.error, 2000)) for at, trial in enumerate(search.trials_) if trial.error],
    }


def _parameter(value: Any) -> tuple[str, float | None]:
    """A parameter as it is shown, and the number that rows are sorted by, if it is one."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return short(value, 40), float(value) if plain else None
