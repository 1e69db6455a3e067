"""Few trials go to folds where leave-one-out scores have compared all."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.search.shortlist import LISTED

X, Y = make_classification(2400, 6, n_informative=4, weights=[0.93], flip_y=0.04, class_sep=0.6, random_state=0)
BOOSTER = HistGradientBoostingClassifier(max_iter=5)
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())


def numbers_of_folds(search):
    return [sum(score is not None for score in trial.fold_scores) for trial in search.trials_]


@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC(), PIPELINE], ids=["logistic", "svc", "pipeline"])
def test_the_winner_and_equal_costs_are_trained_on_folds_and_few_others(base):
    search = CostSearch(base, random_state=0).fit(X, Y)
    count = numbers_of_folds(search)
    assert search.n_splits_ == 15
    assert search.stop_reason_.endswith(LISTED)
    assert set(count) == {0, 15}
    assert 1 <= count.count(15) <= 4
    assert count[0] == count[search.best_index_] == 15
    assert search.trials_[0].costs[0] == search.trials_[0].costs[1]
    table = search.cv_results_
    assert np.isfinite(table["pooled_test_score"]).all()
    np.testing.assert_array_equal(np.isfinite(table["split0_test_score"]), np.array(count) == 15)
    assert len(search.result_.store) == search.n_trials_
    assert "15" in str(search.summary())


def test_all_trials_have_scores_near_those_of_folds():
    quick = CostSearch(LogisticRegression(), random_state=0).fit(X, Y)
    # A callback wants to see every training.
    full = CostSearch(LogisticRegression(), random_state=0, callbacks=[lambda study, trial: False]).fit(X, Y)
    assert min(numbers_of_folds(full)) == 15
    known = {(trial.setting, trial.costs): trial.score for trial in full.trials_}
    both = [(trial.score, known[key]) for trial in quick.trials_ if (key := (trial.setting, trial.costs)) in known]
    assert len(both) >= 5
    np.testing.assert_allclose(*zip(*both), atol=0.03)
    assert abs(quick.corrected_score_ - full.corrected_score_) < 0.03
    assert abs(quick.upper_bound_ - full.upper_bound_) < 0.05


def test_the_result_does_not_depend_on_the_number_of_jobs():
    one, two = (CostSearch(LinearSVC(), random_state=0, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert one.best_threshold_ == two.best_threshold_
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize(
    "options",
    [{"cv": 3}, {"sample_weight": np.arange(Y.size) % 2 + 1.0}, {"rows": 1500}, {"base": BOOSTER}],
    ids=["cv", "weights", "few rows", "no linear model"],
)
def test_other_searches_train_every_trial_on_folds(options):
    rows, weight = options.pop("rows", Y.size), options.pop("sample_weight", None)
    base = options.pop("base", LinearSVC())
    search = CostSearch(base, random_state=0, **options).fit(X[:rows], Y[:rows], sample_weight=weight)
    assert set(numbers_of_folds(search)) == {search.n_splits_}


def test_a_decision_is_worth_what_it_promises():
    X, y = make_classification(8000, 6, n_informative=4, weights=[0.93], flip_y=0.04, class_sep=0.6, random_state=1)
    search = CostSearch(LinearSVC(), random_state=0).fit(X[:2500], y[:2500])
    assert min(numbers_of_folds(search)) == 0
    low, high = search.score_interval_
    assert low - 0.03 <= f1_score(y[2500:], search.predict(X[2500:])) <= high + 0.03
