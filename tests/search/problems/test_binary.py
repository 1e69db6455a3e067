"""``refit="folds"``: the mean of the models of all folds, cut by what its own out-of-fold means say."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.export import fixed_threshold, linear_rule
from csf.thresholding import sweep

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
Y = (X[:, 0] + RNG.normal(size=160) > 1.0).astype(int)
CV = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
TREES = GradientBoostingClassifier(n_estimators=8, max_depth=1, random_state=0)
BASES = {"trees": TREES, "in a pipeline": make_pipeline(StandardScaler(), TREES), "logistic": LogisticRegression()}


def search(base=TREES, y=Y, **options):
    return CostSearch(base, **{"cv": CV, "refit": "folds", "strategy": "grid", "n_trials": 2} | options).fit(X, y)


def means(found, base):
    """Mean of the models of all folds, and its out-of-fold means, by hand."""
    c_fn, c_fp = found.best_cost_weights_
    weight = np.where(Y == 1, c_fn, c_fp)
    everywhere, held_out = np.zeros(Y.size), np.zeros(Y.size)
    for train, test in CV.split(X, Y):
        model = clone(base).set_params(**found.best_params_)
        own = weight[train] / weight[train].mean()
        name = f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"
        model.fit(X[train], Y[train], **({} if np.all(own == 1.0) else {name: own}))
        everywhere += model.predict_proba(X)[:, 1] / 6
        held_out[test] += model.predict_proba(X[test])[:, 1] / 2
    return everywhere, held_out


@pytest.mark.parametrize("name", BASES)
def test_the_mean_predicts_and_its_own_means_are_cut(name):
    base = BASES[name].set_params(tol=1e-10) if name == "logistic" else BASES[name]
    found = search(base, threshold="tune")
    everywhere, held_out = means(found, base)
    close = {"rtol": 1e-3 if name == "logistic" else 1e-12}
    assert isinstance(found.best_estimator_, VotingClassifier)
    np.testing.assert_allclose(found.best_estimator_.predict_proba(X)[:, 1], everywhere, **close)
    best = sweep(Y == 1, held_out).best(found.result_.metric)
    assert found.best_score_ == pytest.approx(best.value)
    np.testing.assert_allclose(found.best_threshold_, best.threshold, **close)
    np.testing.assert_array_equal(found.predict(X) == 1, found.best_estimator_.predict_proba(X)[:, 1] >= best.threshold)
    np.testing.assert_allclose(found.threshold_interval_, np.clip(found.threshold_interval_, 0.0, 1.0))


def test_the_stable_cut_is_told_and_all_else_speaks_of_it():
    found = search()
    assert 0.0 < found.best_threshold_ < 1.0
    assert found.best_score_ == pytest.approx(f1_score(Y, means(found, TREES)[1] >= found.best_threshold_))
    assert found.n_features_in_ == found.best_estimator_.n_features_in_ == 4
    np.testing.assert_array_equal(found.decision_function(X) > 0, found.predict(X) == 1)
    assert found.predict_proba(X).shape == (160, 2)
    low, high = found.threshold_interval_
    assert low <= found.best_threshold_ <= high
    moved = found.at_prevalence(0.02)
    assert moved.best_threshold_ > found.best_threshold_
    assert moved.predict(X).sum() < found.predict(X).sum()


def test_names_of_labels_and_of_features_are_the_users():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = CostSearch(TREES, cv=2, refit="folds", pos_label="yes").fit(frame, np.where(Y == 1, "yes", "no"))
    assert set(found.predict(frame)) == {"no", "yes"}
    assert found.best_estimator_.feature_names_in_.tolist() == list("abcd")
    assert (fixed_threshold(found).predict(frame) == found.predict(frame)).all()


@pytest.mark.slow
def test_it_is_pickled_exported_and_the_same_whatever_the_workers():
    found, other = search(), search(n_jobs=2)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    np.testing.assert_array_equal(other.decision_function(X), found.decision_function(X))
    np.testing.assert_array_equal(fixed_threshold(found).predict(X), found.predict(X))
    with pytest.raises(TypeError, match="VotingClassifier"):
        linear_rule(found)


@pytest.mark.parametrize("constraint", ["precision >= 0.5"])
def test_a_constraint_is_judged_by_the_mean(constraint):
    found = search(metric="recall", constraint=constraint)
    held_out = means(found, TREES)[1] >= found.best_threshold_
    assert found.feasible_
    assert found.constraint_value_ == pytest.approx(np.mean(Y[held_out]))
    assert found.best_score_ == pytest.approx(np.mean(held_out[Y == 1]))


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"base": LinearSVC()}, Y, "needs predict_proba and a threshold.* and LinearSVC. Use refit=True, or calibrate"),
        ({"threshold": None}, Y, "threshold=None"),
        ({"metric": "f1_samples"}, np.column_stack([Y, 1 - Y]), "refit='folds' is not for metric='f1_samples'"),
        ({"refit": "fold"}, Y, "refit must be one of"),
    ],
    ids=str,
)
def test_where_there_is_no_such_mean_the_way_out_is_told(options, y, message):
    with pytest.raises(ValueError, match=message):
        search(y=y, **options)
