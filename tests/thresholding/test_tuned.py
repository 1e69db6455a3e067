"""Metrics at the best threshold of what is scored: exact, and as other libraries take them."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_curve
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from csf.thresholding import catboost_metric, lightgbm_metric, tuned_scorer, xgboost_metric

X, Y = make_classification(300, 6, weights=[0.85], flip_y=0.1, random_state=0)


@given(st.integers(0, 200))
def test_the_value_is_the_largest_one_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, 20)]
    score = rng.integers(0, 8, y.size).astype(float)
    weight = rng.integers(1, 4, y.size).astype(float)
    expected = max(f1_score(y, score >= at, sample_weight=weight) for at in np.unique(score))
    assert lightgbm_metric()(y, score, weight) == ("tuned_f1", pytest.approx(expected), True)


def test_recall_at_a_precision_is_that_of_the_precision_recall_curve():
    model = LogisticRegression().fit(X, Y)
    precision, recall, _ = precision_recall_curve(Y, model.decision_function(X))
    assert tuned_scorer("recall", "precision >= 0.8")(model, X, Y) == pytest.approx(recall[precision >= 0.8].max())
    assert tuned_scorer("recall", "precision >= 1, recall >= 1")(model, X, Y) == 0.0


def test_a_grid_search_takes_the_scorer():
    names = np.array(["no", "yes"])[Y]
    search = GridSearchCV(
        LinearSVC(), {"C": [0.01, 1.0]}, scoring=tuned_scorer("f1", pos_label="yes"), cv=3, error_score="raise"
    )
    search = clone(search).fit(X, names)
    plain = GridSearchCV(LinearSVC(), {"C": [0.01, 1.0]}, scoring="f1", cv=3).fit(X, Y)
    assert (search.cv_results_["mean_test_score"] >= plain.cv_results_["mean_test_score"]).all()
    assert pickle.loads(pickle.dumps(search.scoring)) == search.scoring


def test_what_cannot_be_scored_is_refused():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="unknown metric 'f_one'"):
        tuned_scorer("f_one")
    with pytest.raises(ValueError, match="pos_label"):
        tuned_scorer("f1")(model, X, np.array(["no", "yes"])[Y])
    with pytest.raises(ValueError, match="NaN"):
        xgboost_metric()(Y, np.full(Y.size, np.nan))


def test_lightgbm_stops_by_it():
    lightgbm = pytest.importorskip("lightgbm")
    weight = np.random.default_rng(0).integers(1, 3, Y.size).astype(float)
    data = lightgbm.Dataset(X[:200], Y[:200], params={"verbose": -1})
    held = lightgbm.Dataset(X[200:], Y[200:], weight=weight[200:], reference=data)
    seen, options = {}, {"objective": "binary", "metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 4}
    callbacks = [lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(seen)]
    booster = lightgbm.train(options, data, 30, valid_sets=[held], feval=lightgbm_metric(), callbacks=callbacks)
    values = seen["valid_0"]["tuned_f1"]
    assert booster.best_iteration == int(np.argmax(values)) + 1
    scores = booster.predict(X[200:], num_iteration=booster.best_iteration)
    assert values[booster.best_iteration - 1] == pytest.approx(lightgbm_metric()(Y[200:], scores, weight[200:])[1])
    model = lightgbm.LGBMClassifier(n_estimators=3, metric="None", verbose=-1, n_jobs=1)
    fit = {
        "eval_set": [(X[200:], Y[200:])],
        "eval_metric": lightgbm_metric("gmean"),
        "eval_sample_weight": [weight[200:]],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:200], Y[:200], **fit)
    scores = model.predict_proba(X[200:])[:, 1]
    expected = lightgbm_metric("gmean")(Y[200:], scores, weight[200:])[1]
    assert model.evals_result_["valid_0"]["tuned_gmean"][-1] == pytest.approx(expected)


def test_catboost_asks_for_the_same_value():
    weight, score = np.random.default_rng(0).integers(1, 3, Y.size).astype(float), X[:, 0]
    expected = lightgbm_metric()(Y, score, weight)[1]
    asked = catboost_metric()
    assert asked.is_max_optimal()
    assert asked.get_final_error(*asked.evaluate([score], Y, weight)) == pytest.approx(expected)
    assert asked.evaluate([score], Y, None)[0] == pytest.approx(lightgbm_metric()(Y, score)[1])


@pytest.mark.filterwarnings("ignore:Can.t optimze method")
def test_catboost_stops_by_it():
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 20, "depth": 2, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(eval_metric=catboost_metric(), early_stopping_rounds=4, **options)
    model.fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]))
    (values,) = (part for name, part in model.get_evals_result()["validation"].items() if name != "Logloss")
    assert model.get_best_iteration() == int(np.argmax(values))
    score = model.predict(X[200:], prediction_type="RawFormulaVal")
    assert max(values) == pytest.approx(lightgbm_metric()(Y[200:], score)[1])


def test_xgboost_stops_by_it():
    xgboost = pytest.importorskip("xgboost")
    data, held = xgboost.DMatrix(X[:200], Y[:200]), xgboost.DMatrix(X[200:], Y[200:])
    seen, options = {}, {"objective": "binary:logistic", "disable_default_eval_metric": 1, "nthread": 1, "max_depth": 2}
    booster = xgboost.train(
        options,
        data,
        20,
        evals=[(held, "held")],
        custom_metric=xgboost_metric(),
        early_stopping_rounds=4,
        maximize=True,
        evals_result=seen,
        verbose_eval=False,
    )
    values = seen["held"]["tuned_f1"]
    assert booster.best_iteration == int(np.argmax(values))
    stop = xgboost.callback.EarlyStopping(rounds=4, maximize=True)
    model = xgboost.XGBClassifier(
        n_estimators=20, max_depth=2, n_jobs=1, eval_metric=xgboost_metric(), callbacks=[stop]
    )
    model.fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])], verbose=False)
    values = model.evals_result()["validation_0"]["tuned_f1"]
    assert model.best_iteration == int(np.argmax(values))
    scores = model.predict_proba(X[200:])[:, 1]
    assert values[model.best_iteration] == pytest.approx(xgboost_metric()(Y[200:], scores), abs=1e-6)
