"""What ``csf search`` says of several classes that are all alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf.cli.models import CLASSIFIER
from csf.cli.tables import format_number, format_table
from csf.show.held_out import short
from csf.thresholding.linear_rule import counts_of

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.cli.problem import Part, Problem
    from csf.search import CostSearch

__all__ = ["class_record", "class_rows", "class_winner", "confusion_table"]

# Classes whose confusion matrix fits beside each other on a terminal.
_MOST_CLASSES = 12


def class_rows(search: CostSearch, problem: Problem, shown: list[int]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of trials."""
    name, table = problem.metric.name, search.cv_results_
    varied = [key for key in search.best_params_ if len({trial.setting for trial in search.trials_}) > 1]
    header = ["", "power s", *(key.removeprefix(f"{CLASSIFIER}__") for key in varied)]
    header += [f"own {name}", "rule", "rule, cross-fitted", "fit s"]
    rows = []
    for at in shown:
        trial = search.trials_[at]
        row = ["*" if at == search.best_index_ else "", format_number(trial.t, ".4g")]
        row += [str(table[f"param_{key}"][at]) for key in varied]
        row += ["failed" if trial.state == "failed" else format_number(trial.value)]
        row += [format_number(table[f"{kind}_value"][at]) for kind in ("tuned", "judged")]
        rows.append([*row, format_number(trial.fit_time, ".2f")])
    return header, rows


def class_winner(search: CostSearch, problem: Problem) -> str:
    """The winner, and what it is worth."""
    name, (low, high) = problem.metric.name, search.score_interval_
    parameters = "".join(f"{key.removeprefix(f'{CLASSIFIER}__')} = {v}, " for key, v in search.best_params_.items())
    power = search.trials_[search.best_index_].t
    weights = "equal class weights" if power == 0.0 else f"class weights share^-{power:.4g}"
    return "\n".join(
        [
            f"* {parameters}{weights}; predicts {_decision(search)}",
            f"  to expect on new data: {name} {search.corrected_score_:.4f}, 90 % interval [{low:.4f}, {high:.4f}]",
            f"  out-of-fold {name} {search.best_score_:.4f}; {search.stop_reason_}",
            "",
            _rule_table(search),
        ]
    )


def _decision(search):
    rule = search.rule_
    if rule.kind == "argmax":
        return "the class of the largest score"
    return "the class of the largest " + ("a p - b" if rule.matrix is None else "p G (the matrix G: --json)")


def _rule_table(search):
    """Weights of the classes in training, and the slopes and offsets of a tuned rule."""
    rule = search.rule_
    tuned = rule.kind != "argmax" and rule.matrix is None
    columns = [rule.slopes, rule.offsets] if tuned else []
    header = ["class", "class weight", *(["slope a", "offset b"] if tuned else [])]
    rows = [
        [short(label, 40), *(format_number(value, ".4g") for value in values)]
        for label, *values in zip(search.classes_.tolist(), search.class_costs_, *columns)
    ]
    return format_table(header, rows)


def confusion_table(classes: Array, test: Part, labels: Array) -> str:
    """Confusion matrix of held-out rows: how many of each class, in sample weights where there are some."""
    if classes.size > _MOST_CLASSES:
        return f"{classes.size} classes are too many for a confusion matrix here; --report and --plot have it"
    counts = counts_of(test.codes, np.searchsorted(classes, labels), classes.size, test.weight)
    names = [short(label, 20) for label in classes.tolist()]
    rows = [[name, *(format_number(float(count), ".6g") for count in row)] for name, row in zip(names, counts)]
    return format_table(["truth \\ predicted", *names], rows)


def class_record(search: CostSearch) -> dict[str, Any]:
    """The winner as plain numbers, strings and lists."""
    rule = search.rule_
    return {
        "trial": search.best_index_,
        "power": search.trials_[search.best_index_].t,
        "class_weights": search.class_costs_,
        "rule": rule.kind,
        "slopes": rule.slopes,
        "offsets": rule.offsets,
        "matrix": rule.matrix,
        "params": search.best_params_,
        "out_of_fold": search.best_score_,
        "confusion": search.confusion_,
        "corrected": search.corrected_score_,
        "score_interval": search.score_interval_,
        "stop_reason": search.stop_reason_,
    }
