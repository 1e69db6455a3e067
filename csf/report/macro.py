"""What the page of one search for each class shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.metrics import get_constraint, get_metric
from csf.report.advice import to_mind
from csf.report.facts import base_name, parameters_of, short, strategy_name
from csf.report.held_out import HeldOut, confusion, count_classes, judge, macro_problems

if TYPE_CHECKING:
    from csf.plots._searched import FittedMacroSearch

__all__ = ["macro_data"]


def macro_data(search: FittedMacroSearch, held: HeldOut | None, facts: Mapping[str, str]) -> dict[str, Any]:
    """What ``macro.html.j2`` lays out."""
    metric, constraint = get_metric(search.search.metric), get_constraint(search.search.constraint)
    each = list(zip(search.classes_.tolist(), search.searches_))
    lead = (
        f"One search for each of {search.classes_.shape[0]} classes: mean {metric.name} {search.best_score_:.3f} of "
        f"each class against the rest, lowest for “{short(search.classes_[search.best_scores_.argmin()], 40)}”."
    )
    shown = None
    if held is not None:
        judged = judge(metric, macro_problems(np.unique(held.y)), held.y, held.answers, held.weight)
        lead += f" One class for each sample, on held-out data: {judged[0].value:.3f}."
        shown = {"judged": judged, "confusion": confusion(search.classes_, held)}
    # Each search counts its class, which it calls 1, and the rest.
    known = np.array([one.class_count_[1] for one in search.searches_])
    roles = dict.fromkeys(search.classes_.tolist(), "against the rest")
    return {
        "lead": lead,
        "metric": metric.name,
        "searches": [(short(label), one, parameters_of(one)) for label, one in each],
        "held": shown,
        "to_mind": [f"{short(label, 40)}: {text}" for label, one in each for text in to_mind(one, [])],
        "constraint": None if constraint is None else str(constraint),
        "base": base_name(search.search.base),
        "strategy": strategy_name(search.search),
        "facts": list(facts.items()),
        "counted": count_classes(search.classes_, known, held, roles),
    }
