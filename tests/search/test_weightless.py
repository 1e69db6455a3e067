"""Samples of weight 0 are as if they were not there, whatever the kind of problem and the splits."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.fenchel import AMP, FenchelSVM
from csf.metrics import Incomplete, RowCosts
from csf.plugin import BisectionPlugIn, PlugInClassifier

N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
SCORE = X[:, 0] - X[:, 1] + RNG.logistic(size=N)
Y, KINDS = (SCORE > 1.0).astype(int), np.digitize(SCORE, [-1.0, 1.0])
LABELS = np.column_stack([Y, SCORE < -1.0]).astype(int)
WEIGHT = RNG.permutation(np.tile([0.0, 1.0, 2.0], N // 3))
KEPT = WEIGHT > 0.0
AMOUNT, SEGMENT = RNG.lognormal(size=N), RNG.choice(["a", "b"], N)
LOGISTIC = LogisticRegression()
SCALED = make_pipeline(StandardScaler(), LOGISTIC)
BOOSTING = HistGradientBoostingClassifier(random_state=0, max_iter=8)
FEW = {"param_grid": None, "n_trials": 2, "cv": 3, "random_state": 0}


SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
PLACE = np.cumsum(KEPT) - 1
OF_KEPT = [tuple(PLACE[part[KEPT[part]]] for part in split) for split in SPLITS]
FOLD = np.arange(N) % 3


def check(model, y=Y, other=None, **params):
    """Fit with the samples of weight 0 and without them; both models decide alike."""
    without = model if other is None else other
    expected = deepcopy(without)
    fitted = model.fit(X, y, sample_weight=WEIGHT, **params)
    of_rows = {name: value[KEPT] if np.ndim(value) else value for name, value in params.items()}
    expected.fit(X[KEPT], y[KEPT], sample_weight=WEIGHT[KEPT], **of_rows)
    given = {name: value for name, value in params.items() if name != "groups"}
    np.testing.assert_array_equal(fitted.predict(X, **given), expected.predict(X, **given))
    return fitted, expected


@pytest.mark.slow
@pytest.mark.parametrize("base", [LOGISTIC, SCALED, BOOSTING], ids=["logistic", "pipeline", "boosting"])
@pytest.mark.parametrize("metric", ["f1", Incomplete("f1", labelled=0.8), RowCosts(fn=5.0, fp=1.0)], ids=str)
def test_two_classes(base, metric):
    fitted, expected = check(CostSearch(base, metric, **FEW))
    assert fitted.best_score_ == pytest.approx(expected.best_score_)
    assert fitted.score_interval_ == pytest.approx(expected.score_interval_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y", "options"),
    [
        (KINDS, {"metric": "f1_macro"}),
        (KINDS, {"metric": "f1", "null_class": 0}),
        (KINDS, {"metric": "f1_macro", "constraint": "recall[2] >= 0.5"}),
        (LABELS, {"metric": "f1_macro"}),
        (LABELS, {"metric": "f1_micro"}),
        (LABELS, {"metric": "f1_samples"}),
        (Y, {"metric": "f1", "refit": "folds"}),
        (Y, {"metric": "f1", "constraint": "precision >= 0.5", "confidence": 0.8}),
        (Y, {"metric": "f1", "base": [LOGISTIC, BOOSTING]}),
    ],
)
def test_kinds_and_options(y, options):
    check(CostSearch(**{"base": LOGISTIC} | FEW | options), y)


def test_what_is_given_by_row():
    check(CostSearch(LOGISTIC, "savings", **FEW), fn_cost=AMOUNT, fp_cost=0.5)
    check(CostSearch(LOGISTIC, "f1", constraint="recall gap <= 0.2 by kind", **FEW), by=SEGMENT)
    check(CostSearch(LOGISTIC, "f1", **FEW), groups=np.arange(N) // 4)


@pytest.mark.slow
def test_splits_by_places():
    options = FEW | {"base": BOOSTING, "metric": "f1"}
    given, kept = CostSearch(**options | {"cv": SPLITS}), CostSearch(**options | {"cv": OF_KEPT})
    check(given, other=kept)
    masks = [tuple(np.isin(np.arange(N), part) for part in split) for split in SPLITS]
    check(CostSearch(**options | {"cv": masks}), other=kept)
    predefined = CostSearch(**options | {"cv": PredefinedSplit(FOLD[KEPT])})
    check(CostSearch(**options | {"cv": PredefinedSplit(FOLD)}), other=predefined)
    with pytest.raises(ValueError, match="indices from 0 to 599"):
        CostSearch(**options | {"cv": [(np.arange(500), np.arange(500, 700))]}).fit(X, Y, sample_weight=WEIGHT)


def test_a_base_that_is_fitted():
    base = LogisticRegression().fit(X, Y)
    fitted, expected = check(CostSearch(base, "f1", cv="prefit"))
    assert fitted.best_threshold_ == expected.best_threshold_


METHODS = [PlugInClassifier(BOOSTING, cv=3), BisectionPlugIn(LOGISTIC), FenchelSVM(), AMP()]


@pytest.mark.slow
@pytest.mark.parametrize("model", METHODS, ids=lambda model: type(model).__name__)
def test_other_methods(model):
    check(model)


@pytest.mark.parametrize(("y", "metric"), [(Y, "f1"), (KINDS, "f1_macro")], ids=["two classes", "three classes"])
def test_a_class_without_weight_is_refused(y, metric):
    for labels in (y, y.reshape(-1, 1)):
        with pytest.raises(ValueError, match=r"sample_weight is zero for every sample of (one class|the classes)"):
            CostSearch(LOGISTIC, metric, **FEW).fit(X, labels, sample_weight=(y != 1).astype(float))
