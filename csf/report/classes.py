"""What the page of one search of several classes shows, none of which is special."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.metrics import get_confusion_metric
from csf.report.advice import to_mind_of_classes, to_try_of_classes
from csf.report.facts import base_name, estimates, parameters_of, short, spread, strategy_name
from csf.report.held_out import MOST_CLASSES, HeldOut, judge_classes, matrix_rows
from csf.report.search import arguments_of, shown_trials
from csf.thresholding.linear_rule import counts_of

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.plots._searched import FittedClassSearch

__all__ = ["class_data"]


def class_data(search: FittedClassSearch, held: HeldOut | None, facts: Mapping[str, str]) -> dict[str, Any]:
    """What ``classes.html.j2`` lays out."""
    metric = get_confusion_metric(search.metric)
    lead, judged, shown = _winner(search, metric.name), [], None
    n_learnt = int(search.class_count_.sum())
    if held is not None:
        judged = judge_classes(metric, search.classes_, held.y, held.answers, held.weight)
        lead += f" On held-out data: {judged[0].value:.3f} ({spread(judged[0].interval)})."
        shown = _shown(search.classes_, _counted(search.classes_, held)) | {
            "n_samples": held.y.shape[0],
            "judged": judged,
            "weighted": held.weight is not None,
        }
    return {
        "lead": lead,
        "search": search,
        "metric": metric.name,
        "base": base_name(search.base),
        "strategy": strategy_name(search),
        "estimates": estimates(search),
        "parameters": parameters_of(search),
        "power": search.trials_[search.best_index_].t,
        "decision": _decision(search),
        "rule": _rule(search),
        "out_of_fold": _shown(search.classes_, search.confusion_ * n_learnt),
        "held": shown,
        "to_mind": to_mind_of_classes(search, judged),
        "to_try": to_try_of_classes(search, judged),
        "trials": shown_trials(search, ("param_t",)),
        "values": [search.cv_results_[name].tolist() for name in ("value", "tuned_value", "judged_value")],
        "facts": list(facts.items()),
        "n_learnt": n_learnt,
        "arguments": arguments_of(search),
    }


def _winner(search: FittedClassSearch, name: str) -> str:
    """The winner in one sentence."""
    power = search.trials_[search.best_index_].t
    trained = "equal class weights" if power == 0.0 else f"class weights in proportion to share^-{power:.3g}"
    own = "its own decision" if search.rule_.kind == "argmax" else "a tuned rule of its probabilities"
    base = ", ".join(filter(None, [base_name(search.base), parameters_of(search)]))
    return (
        f"The winner is {base}, trained with {trained}, with {own}: {name} {search.corrected_score_:.3f} is to be "
        f"expected on new data ({spread(search.score_interval_)})."
    )


def _decision(search: FittedClassSearch) -> str:
    """What decides, in words."""
    rule = search.rule_
    if rule.kind == "argmax":
        return "Predict the class with the largest score of the base: its own decision, nothing of it is tuned."
    if rule.matrix is not None:
        return (
            "Predict the class k with the largest sum of G(j, k) p(j) over the classes j, where p(j) is the "
            "probability of class j, the class weights of the training taken out."
        )
    return (
        "Predict the class with the largest a p − b, where p is its probability (class weights of the training taken "
        "out), a its slope and b its offset."
    )


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


def _counted(classes: Array, held: HeldOut) -> Array:
    """Confusion matrix of the search on held-out data, in samples or their weights."""
    true, predicted = (np.searchsorted(classes, each) for each in (held.y, held.answers["this search"]))
    return counts_of(true, predicted, classes.size, held.weight).astype(float)


def _shown(classes: Array, counts: Array) -> dict[str, Any]:
    """A confusion matrix, and what it says of each class."""
    labels = [short(label, 40) for label in classes.tolist()]
    true, predicted, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    with np.errstate(invalid="ignore"):  # a class that is nowhere has no recall
        values = np.column_stack([right / true, right / predicted, 2 * right / (true + predicted)])
    return {
        "scores": list(zip(labels, true.tolist(), predicted.tolist(), values.tolist())),
        "labels": labels,
        "rows": matrix_rows(labels, counts),
    }
