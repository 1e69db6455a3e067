"""Columns that ``csf predict`` writes: answers, scores, expected gains, reasons, and those of the data."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import numpy as np

from csf._common.files import cell
from csf._common.typing import Params, Samples
from csf.cli.data import read_columns, read_ids
from csf.cli.tables import CliError, TableFormat
from csf.thresholding.class_answers import REVIEW

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.search import CostSearch

REASON, DECISION = "reason", "decision"
# What several classes have one column of each.
_BY_CLASS = "score", "probability"


def written(search: CostSearch, X: Samples, labels: Array, limits: Params, options: Namespace) -> dict[str, Array]:
    """Return the columns to write, by name: those of ``--columns`` in their order, or all but the reasons."""
    form = TableFormat.of(options)
    ids = {} if options.id is None else {str(cell(options.id)): read_ids(options.data, options.id, form)}
    results = {"prediction": labels, **_scores(search, X), **_decisions(search, X, limits, options.columns)}
    if options.columns is None:
        return ids | results
    if REASON in options.columns:
        results[REASON] = _reasons(search, X, labels, results, limits)
    of_kind = {kind: [name for name in results if name.startswith(f"{kind} ")] for kind in _BY_CLASS}
    names = [part for name in options.columns for part in of_kind.get(name) or [name]]
    others = [name for name in names if name not in results]
    try:
        known = results | (read_columns(options.data, others, form) if others else {})
    except CliError as error:
        raise CliError(f"--columns: {error}. Results of this model are {', '.join([*results, REASON])}") from error
    return ids | {str(cell(name)): known[name] for name in names}


def _decisions(search, X, limits, columns):
    """Return the answers with reviews, which reasons tell too; none where neither is written."""
    if search.review is None or (columns is not None and not {DECISION, REASON} & set(columns)):
        return {}
    try:
        return {DECISION: search.predict_with_review(X, **limits)}
    except ValueError as error:
        known = ",".join(columns or ("prediction", "score", "probability"))
        raise CliError(f"column {DECISION}: {error}. Without it: --columns {known}") from error


def _scores(search, X):
    """Return the scores that thresholds are for, and the probabilities of the positive class if the base has them.

    Each of several classes has a column; the class with the largest score is predicted. With costs of rows there is a
    column of what the positive answer is expected to save.
    """
    if search.pos_label_ is None:
        answers = {"score": search.decision_function(X)}
        if hasattr(search, "predict_proba"):
            answers["probability"] = search.predict_proba(X)
        names = search.classes_.tolist()
        return {f"{kind} {name}": column for kind, table in answers.items() for name, column in zip(names, table.T)}
    positive, rule = list(search.classes_).index(search.pos_label_), search.decision_rule_
    columns = {"score": rule.raw(X)}
    if hasattr(search, "row_costs_"):
        columns["expected_gain"] = rule.ranked(X)[1]
    if hasattr(search, "predict_proba"):
        columns["probability"] = search.predict_proba(X)[:, positive]
    return columns


def _reasons(search, X, labels, results, limits):
    """Explain the answer of each row: score and threshold, the limit that decided otherwise, a review."""
    reasons = _of_classes(search, results) if search.pos_label_ is None else _of_two(search, X, results)
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    if limits:
        names = " and ".join(f"--{name.replace('_', '-')} {_in_option(limit)}" for name, limit in limits.items())
        differs = labels != search.predict(X)
        reasons = [f"{text}, but {names} decides" if other else text for text, other in zip(reasons, differs.tolist())]
    reviewed = results[DECISION] == REVIEW if DECISION in results else np.zeros(labels.size, dtype=bool)
    return np.array([f"review: {text}" if r else text for text, r in zip(reasons, reviewed.tolist())], dtype=object)


def _of_two(search, X, results):
    """Compare the score of each row with its threshold; with costs of rows, say what the positive answer saves."""
    rule, gains = search.decision_rule_, results.get("expected_gain")
    pairs = zip(results["score"].tolist(), rule.cuts(X).tolist())
    texts = [f"score {score:.6g} {'>=' if score >= cut else '<'} {cut:.6g}" for score, cut in pairs]
    return texts if gains is None else [f"{t}, expected gain {g:.6g}" for t, g in zip(texts, gains.tolist())]


def _of_classes(search, results):
    """Give the two largest scores of each row, with their classes."""
    names = search.classes_.tolist()
    scores = np.column_stack([results[f"score {name}"] for name in names])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2].tolist()
    return [
        f"score {row[first]:.6g} of {names[first]}, next {row[second]:.6g} of {names[second]}"
        for row, (first, second) in zip(scores.tolist(), order)
    ]


def _in_option(limit):
    """Format a limit as the option has it."""
    return ",".join(f"{name}={value}" for name, value in limit.items()) if isinstance(limit, dict) else str(limit)
