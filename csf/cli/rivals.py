"""What a cost search has to beat: the same base with less done to it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import ParameterGrid, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from csf._common.sklearn import clone, safe_indexing
from csf._common.typing import Array, Estimator, IntArray, Samples
from csf.cli.models import CLASSIFIER
from csf.metrics import ConfusionMetric
from csf.metrics.profile import ErrorProfile
from csf.search import CostSearch
from csf.search.defaults import AUTO
from csf.strategies import Ladder
from csf.thresholding.linear_rule import confusion_of

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint

__all__ = ["CLASS_RIVALS", "EQUAL", "PLAIN", "POOLED", "RIVALS", "NotApplicable", "Setup", "value_of"]

PLAIN = "base as it is"
POOLED = "exact pooled threshold"
EQUAL = "tuned rule, equal weights"


class NotApplicable(Exception):
    """Why a rival cannot be run on these data."""


@dataclass(frozen=True)
class Setup:
    """What all methods of one comparison share."""

    base: Pipeline
    # Where it is empty, searches choose the C of linear bases, and so does the exact threshold, which has to be the
    # same but for the costs.
    grid: dict[str, list[Any]]
    # A ConfusionMetric of several classes, else a Metric.
    metric: Any
    constraint: Constraint | None
    splits: list[tuple[IntArray, IntArray]]
    n_jobs: int | None
    seed: int
    # Probability with which the constraint has to hold on new data, and what splits the part that is searched then.
    confidence: float | None = None
    cv: Any = None
    n_classes: int = 2

    def bases(self) -> list[Pipeline]:
        """The base with each setting of its parameters."""
        return [clone(self.base).set_params(**setting) for setting in ParameterGrid(self.grid)]

    def weight_params(self, weight: Array | None) -> dict[str, Any]:
        """Arguments of the base's ``fit`` that carry the sample weights; none without weights."""
        return {} if weight is None else {f"{CLASSIFIER}__sample_weight": weight}


def value_of(metric: Any, codes: IntArray, decided: IntArray, n_classes: int, weight: Array | None) -> float:
    """Metric of decisions; of two classes code 1 is the positive one."""
    if isinstance(metric, ConfusionMetric):
        return float(metric.value(confusion_of(codes, decided, n_classes, weight)))
    return metric.of(ErrorProfile.from_masks(codes == 1, decided == 1, sample_weight=weight))


def fit_plain(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """The base and its own decision; its parameters chosen on pooled held-out predictions."""
    return _fit_best(setup, setup.bases(), X, y, weight)


def fit_balanced(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """The base with ``class_weight="balanced"``; parameters as in `fit_plain`."""
    name = f"{CLASSIFIER}__class_weight"
    if name not in setup.base.get_params():
        raise NotApplicable("the base has no class_weight")
    return _fit_best(setup, [base.set_params(**{name: "balanced"}) for base in setup.bases()], X, y, weight)


def fit_pooled(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """Equal costs, the best decision on the held-out scores (of two classes of all cuts); parameters by its metric.

    Where the search promises its constraint, so does this one, on the same calibration samples.
    """
    search = CostSearch(
        setup.base,
        setup.metric,
        Ladder(1),
        param_grid=setup.grid or AUTO,
        constraint=setup.constraint,
        threshold="tune",
        confidence=setup.confidence,
        cv=setup.splits if setup.confidence is None else setup.cv,
        n_jobs=setup.n_jobs,
        random_state=setup.seed,
    )
    if setup.confidence is None:
        return search.fit(X, y, sample_weight=weight)
    with warnings.catch_warnings():  # the reason says as much
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, y, sample_weight=weight)
    if not search.guarantee_.holds:
        raise NotApplicable(str(search.guarantee_))
    return search


def fit_tuned(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """scikit-learn's threshold: the mean over folds at 100 thresholds."""
    if weight is not None:
        raise NotApplicable("its scorer gets no sample weights without metadata routing")
    scorer = make_scorer(setup.metric.score, pos_label=1)
    options = {"scoring": scorer, "cv": setup.splits, "n_jobs": setup.n_jobs, "random_state": setup.seed}
    fitted = [TunedThresholdClassifierCV(base, **options).fit(X, y) for base in setup.bases()]
    return max(fitted, key=lambda model: model.best_score_)


RIVALS = {
    PLAIN: fit_plain,
    'base, class_weight="balanced"': fit_balanced,
    POOLED: fit_pooled,
    "TunedThresholdClassifierCV": fit_tuned,
}
# Several classes have no threshold: the rule of equal class weights is what is tuned there.
CLASS_RIVALS = {name: RIVALS[name] for name in (PLAIN, 'base, class_weight="balanced"')} | {EQUAL: fit_pooled}


def _fit_best(setup, bases, X, y, weight):
    """The best of several bases, fitted to everything; a single one needs no choice."""
    if len(bases) > 1:
        bases = sorted(bases, key=lambda base: _held_out_value(setup, base, X, y, weight), reverse=True)
    return bases[0].fit(X, y, **setup.weight_params(weight))


def _held_out_value(setup, base, X, y, weight):
    """Metric of the pooled held-out predictions."""
    truth, predicted, weights = [], [], []
    for train, test in setup.splits:
        model = clone(base)
        model.fit(safe_indexing(X, train), y[train], **setup.weight_params(None if weight is None else weight[train]))
        truth.append(y[test])
        predicted.append(model.predict(safe_indexing(X, test)))
        weights.append(None if weight is None else weight[test])
    pooled = None if weight is None else np.concatenate(weights)
    return value_of(setup.metric, np.concatenate(truth), np.concatenate(predicted), setup.n_classes, pooled)
