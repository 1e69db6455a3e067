"""The bound of a search with its margin."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import LinearSVC

from csf.bounds import upper_bound
from csf.evaluate import standard_error
from csf.search.bounds import bound_with_margin


@pytest.fixture(scope="module")
def data():
    return make_classification(400, 6, weights=[0.85], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def search(data):
    return paper_search(LinearSVC(), n_trials=4, cv=3).fit(*data)


def of(search, trials=None, **changed):
    study = search.studies_[0]
    options = {"pos": study.pos, "bound": "support", "store": search.held_out_} | changed
    return bound_with_margin(search.trials_ if trials is None else trials, study.metric, **options)


def test_it_is_what_a_search_reports(search):
    found, study = of(search), search.studies_[0]
    assert (found.value, found.margin) == (search.upper_bound_, search.bound_margin_)
    best = search.trials_[search.best_index_]
    error = standard_error(search.held_out_, search.held_out_[0, best.number], study.metric)
    assert found.margin == pytest.approx(2.4 * 4**-0.25 * error)
    bound = upper_bound(search.trials_, study.metric, pos=study.pos, bound="support")
    assert found.value == pytest.approx(bound + found.margin)
    assert search.gap_ == pytest.approx(search.upper_bound_ - max(trial.attained for trial in search.trials_))


def test_the_margin_falls_with_the_number_of_trials(search):
    best = search.trials_[search.best_index_]
    alone = of(search, [best])
    assert alone.margin == pytest.approx(4**0.25 * of(search).margin)


def test_repeated_folds_lower_it(data):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    found = paper_search(LinearSVC(), n_trials=4, cv=cv).fit(*data)
    best = found.trials_[found.best_index_]
    error = standard_error(found.held_out_, found.held_out_[0, best.number], found.studies_[0].metric)
    assert found.bound_margin_ == pytest.approx(2.4 * 4**-0.25 * error / 2)


@pytest.mark.parametrize("changed", [{"bound": "diagonal"}, {"store": None}])
def test_bounds_of_the_papers_and_of_the_training_part_have_no_margin(search, changed):
    study = search.studies_[0]
    found = of(search, **changed)
    bound = changed.get("bound", "support")
    assert found == (upper_bound(search.trials_, study.metric, pos=study.pos, bound=bound), 0.0)


def test_it_never_leaves_the_range_of_the_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0.8).astype(int)
    found = paper_search(LinearSVC(C=100.0), n_trials=2, cv=3).fit(X, y)
    assert found.upper_bound_ <= 1.0
    assert found.bound_margin_ >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_dense_sweeps_stay_below_it(metric):
    """In nine of ten small problems at least, of which each has its own luck."""
    covered = []
    for seed in range(20):
        X, y = make_classification(500, 6, weights=[0.9], class_sep=0.8, flip_y=0.03, random_state=seed)
        dense = paper_search(LinearSVC(), metric, "grid", n_trials=99, refit=False).fit(X, y)
        found = paper_search(LinearSVC(), metric, n_trials=5, refit=False).fit(X, y)
        covered.append(found.upper_bound_ >= max(trial.attained for trial in dense.trials_))
    assert np.mean(covered) >= 0.9
