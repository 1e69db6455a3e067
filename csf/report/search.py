"""What the page of one cost search shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.errors.profile import ErrorProfile
from csf.metrics import get_constraint, get_metric
from csf.plots import ConeDisplay, ProgressDisplay, ThresholdCurveDisplay
from csf.report.advice import to_mind, to_try
from csf.report.facts import (
    base_name,
    estimates,
    gain_of,
    parameter_names,
    parameters_of,
    short,
    strategy_name,
    target_name,
    winner_sentence,
)
from csf.report.figures import Drawn, figure
from csf.report.held_out import HeldOut, confusion, count_classes, judge, one_problem

if TYPE_CHECKING:
    from csf.plots._searched import FittedAnySearch, FittedSearch

__all__ = ["arguments_of", "search_data", "shown_trials"]

# A page of more rows is too heavy; the best ones are shown.
MOST_ROWS = 1000


def search_data(search: FittedSearch, held: HeldOut | None, facts: Mapping[str, str]) -> dict[str, Any]:
    """What ``search.html.j2`` lays out."""
    metric, constraint = get_metric(search.metric), get_constraint(search.constraint)
    lead, judged, shown, missed = winner_sentence(search), [], None, None
    if held is not None:
        judged = judge(metric, one_problem(search.null_class_), held.y, held.answers, held.weight, constraint)
        low, high = judged[0].interval
        lead += f" On held-out data: {judged[0].value:.3f} ({low:.3f} to {high:.3f})."
        missed = _missed(search, held)
        shown = {
            "n_samples": held.y.shape[0],
            "judged": judged,
            "missed": missed,
            "confusion": confusion(search.classes_, held),
        }
    return {
        "lead": lead,
        "search": search,
        "metric": metric.name,
        "constraint": None if constraint is None else str(constraint),
        "base": base_name(search.base),
        "strategy": strategy_name(search),
        "target": target_name(search),
        "estimates": estimates(search),
        "parameters": parameters_of(search),
        "gain": gain_of(search),
        "held": shown,
        "to_mind": [*([missed] if missed else []), *to_mind(search, judged)],
        "to_try": to_try(search, judged),
        "figures": _figures(search, held),
        "trials": shown_trials(search, ("param_t", "param_c_fn", "param_c_fp")),
        "facts": list(facts.items()),
        "counted": count_classes(search.classes_, search.class_count_, held, _roles(search)),
        "arguments": arguments_of(search),
    }


def _missed(search: FittedSearch, held: HeldOut) -> str | None:
    """That the constraint is missed on held-out data, where it is."""
    constraint = get_constraint(search.constraint)
    if constraint is None:
        return None
    profile = ErrorProfile.from_classes(
        held.y, held.answers["this search"], null_class=search.null_class_, sample_weight=held.weight
    )
    if constraint.violation(profile.fn, profile.fp, pos=profile.pos) == 0:
        return None
    return f"{constraint} does not hold on held-out data: {constraint.quantity.of(profile):.3f}."


def _figures(search: FittedSearch, held: HeldOut | None) -> dict[str, Drawn]:
    drawn = {
        "cones": figure("cones", lambda ax: ConeDisplay.from_estimator(search, ax=ax), size=(5.6, 4.4)),
        "progress": figure("progress", lambda ax: ProgressDisplay.from_estimator(search, ax=ax), size=(5.6, 4.4)),
    }
    if held is not None:
        drawn["threshold"] = figure(
            "threshold",
            lambda ax: ThresholdCurveDisplay.from_estimator(
                search, held.X, held.y, sample_weight=held.weight, name="", ax=ax
            ),
        )
    return drawn


def shown_trials(search: FittedAnySearch, known: Sequence[str]) -> dict[str, Any]:
    """Rows of the table of trials, of very many the best, and the errors of those that failed.

    ``known`` are columns of parameters that are not the base's.
    """
    constraint, results = get_constraint(search.constraint), search.cv_results_
    varied = [key for key in results if key.startswith("param_") and key not in known]
    numbers = range(search.n_trials_)
    if search.n_trials_ > MOST_ROWS:
        numbers = sorted(np.argsort(results["rank_test_score"], kind="stable")[:MOST_ROWS].tolist())
    return {
        "rate": None if constraint is None else constraint.quantity.name,
        "parameters": list(parameter_names(key.removeprefix("param_") for key in varied).values()),
        "rows": [
            (at, search.trials_[at], results["std_test_score"][at], [_parameter(results[key][at]) for key in varied])
            for at in numbers
        ],
        "errors": [(at, short(trial.error, 2000)) for at, trial in enumerate(search.trials_) if trial.error],
    }


def _parameter(value: Any) -> tuple[str, float | None]:
    """A parameter as it is shown, and the number that rows are sorted by, if it is one."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return short(value, 40), float(value) if plain else None


def _roles(search: FittedSearch) -> dict[Any, str]:
    if search.pos_label_ is None:
        return {search.null_class_: "nothing to find"}
    return {search.null_class_: "negative", search.pos_label_: "positive"}


def arguments_of(search: FittedAnySearch) -> list[tuple[str, str]]:
    # Splits may be given as arrays of row numbers, which tell nobody anything.
    params = search.get_params(deep=False)
    return [(key, short(" ".join(repr(value).split()), 300)) for key, value in params.items()]
