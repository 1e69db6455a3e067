"""Topic ``decisions`` of ``honesty``: bias and coverage of the values of plain, limited and reviewed decisions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from csf import CostSearch
from csf.metrics import Column, Review, RowCosts

__all__ = ["decisions"]

QUICK = {"n_trials": 1, "param_grid": None, "cv": 5}
N_ROWS, N_NEW, SHARE, REVIEW_COST = 800, 20_000, 0.08, 0.3
COSTS = RowCosts(fn=Column(2), fp=1.0)


@dataclass
class Population:
    """Rows with targets, of which samples are drawn, and what decisions about them are worth."""

    target: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    metric: Any
    value: Callable[..., float]
    base: Any = field(default_factory=LogisticRegression)
    # A class or label with a limit; None limits all positive predictions.
    limited: Any = None
    # What reviews cost, or none where only their number is limited.
    review: Review = field(default_factory=lambda: Review(at_most=SHARE))
    options: dict[str, Any] = field(default_factory=dict)
    by: bool = False

    def draw(self, n_rows, seed):
        """Draw features, targets and the segments of rows."""
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=(n_rows, 2)), np.exp(0.7 * rng.normal(size=n_rows) + 1.0)])
        segment = rng.integers(0, 2, n_rows)
        X[:, 0] += 0.5 * segment
        return X, self.target(X, rng), {"by": segment} if self.by else {}

    @property
    def limits(self):
        """The capacity."""
        return SHARE if self.limited is None else {self.limited: SHARE}


def _logistic(X, rng, shift=-2.0):
    return (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-(1.5 * X[:, 0] + X[:, 1] + shift)))).astype(int)


def _classes(X, rng):
    logits = np.column_stack([np.full(len(X), 1.5), 1.5 * X[:, 0], 1.5 * X[:, 1]])
    return (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def _labels(X, rng):
    return np.column_stack([_logistic(X, rng), _logistic(X[:, [1, 0]], rng, -2.5)])


def _f1(X, y, answers, reviewed, average="binary"):
    return float(f1_score(y, np.where(reviewed, y, answers), average=average))


def _f1_beside_null(X, y, answers, reviewed):
    predicted = np.where(reviewed, y, answers)
    right = int(((predicted == y) & (y > 0)).sum())
    # A row of another class than the one it gets is missed, and no false alarm.
    false_alarms, missed = int(((predicted > 0) & (y == 0)).sum()), int((y > 0).sum()) - right
    return 2.0 * right / (2.0 * right + false_alarms + missed)


def _savings(X, y, answers, reviewed):
    paid, all_positive = np.where(y, (1 - answers) * X[:, 2], answers * 1.0), float((1 - y).sum())
    paid = np.where(reviewed, REVIEW_COST, paid)
    return float(1.0 - paid.sum() / min(all_positive, float(y @ X[:, 2])))


_COSTLY = {"metric": COSTS, "value": _savings, "review": Review(cost=REVIEW_COST)}
POPULATIONS = {
    "two classes": Population(_logistic, "f1", _f1),
    "costs of rows": Population(_logistic, **_COSTLY),
    "several classes": Population(_classes, "f1_macro", partial(_f1, average="macro"), limited=1),
    "labels": Population(_labels, "f1_micro", partial(_f1, average="micro"), limited=0),
    "null class": Population(
        _classes,
        "f1",
        _f1_beside_null,
        base=OneVsRestClassifier(LogisticRegression()),
        limited=1,
        options={"null_class": 0},
    ),
    "segments": Population(_logistic, "f1", _f1, options={"constraint": "recall gap <= 0.1 by region"}, by=True),
    "segments, costs": Population(_logistic, **_COSTLY, options={"constraint": "recall gap <= 0.1 by region"}, by=True),
}


def _as_labels(answers, y):
    """Split answers with reviews into labels, and where a review is."""
    reviewed = answers.astype(str) == "review"
    return np.where(reviewed, 0, np.where(reviewed, "0", answers.astype(str)).astype(int)).astype(y.dtype), reviewed


def _shown(search, population, new, y, beside):
    """Yield decision, value and interval that are said, and the value on new rows."""
    predicted, none = search.predict(new, **beside), np.zeros(y.shape, dtype=bool)
    yield "plain", search.corrected_score_, search.score_interval_, population.value(new, y, predicted, none)
    if not population.by:
        capacity = search.at_capacity(population.limits)
        predicted = search.predict(new, at_most=population.limits)
        yield "capacity", capacity.value, capacity.interval, population.value(new, y, predicted, none)
    worth = search.review_
    answers, reviewed = _as_labels(np.asarray(search.predict_with_review(new, **beside)), y)
    yield "review", worth.value, worth.interval, population.value(new, y, answers, reviewed)


def decisions(n_draws):
    """Bias of values, and how often 90 % intervals hold the value of the decisions of the fitted search on new rows."""
    for name, population in POPULATIONS.items():
        new, y, beside = population.draw(N_NEW, 10**6)
        found: dict[str, list[tuple[float, bool]]] = {}
        for seed in range(n_draws):
            X, known, given = population.draw(N_ROWS, seed)
            options = QUICK | {"review": population.review, "random_state": seed} | population.options
            search = CostSearch(population.base, population.metric, **options).fit(X, known, **given)
            for decision, value, (low, high), truth in _shown(search, population, new, y, beside):
                found.setdefault(decision, []).append((value - truth, low <= truth <= high))
        for decision, draws in found.items():
            errors, held = np.transpose(draws).astype(float)
            error = errors.std() / np.sqrt(n_draws)
            yield {
                "population": name,
                "decision": decision,
                "draws": n_draws,
                "bias": float(errors.mean()),
                "error of it": float(error),
                "held by 90 % intervals": float(held.mean()),
            }
