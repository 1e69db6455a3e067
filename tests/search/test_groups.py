"""Rows that belong together are held out, drawn and left out together."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB

from csf import CostSearch
from csf.data.folds import group_folds, read_groups

OPTIONS = {"n_trials": 2, "param_grid": None, "random_state": 0}
SIZE = 6


@pytest.fixture(scope="module")
def rows():
    """Groups of six rows that are the same but for the last one."""
    X, y = make_classification(150, 5, weights=[0.75], flip_y=0.15, random_state=0)
    return np.repeat(X, SIZE, axis=0), np.repeat(y, SIZE), np.repeat(np.arange(150), SIZE)


@pytest.mark.parametrize("cv", [None, 3, 0.3])
def test_folds_keep_groups_together(rows, cv):
    X, y, groups = rows
    search = CostSearch(LogisticRegression(), cv=cv, refit=False, **OPTIONS)
    given = []
    search.set_params(callbacks=[lambda study, trial: given.append(trial)]).fit(X, y, groups=groups)
    store = search.held_out_
    assert store.n_samples <= 150
    assert store.has_groups
    plain = CostSearch(LogisticRegression(), cv=cv, refit=False, **OPTIONS).fit(X, y)
    assert plain.held_out_.n_samples > 150 * 1.5


def test_the_number_of_folds_and_repeats_stays():
    y, groups = np.arange(200) % 4 == 0, np.arange(200) // 5
    for cv, n_splits in ((4, 4), (0.25, 1)):
        splits = group_folds(cv, y, groups, random_state=0)
        splits = splits if isinstance(splits, list) else list(splits.split(y, y, groups))
        assert len(splits) == n_splits
        assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)


def test_a_splitter_of_ones_own_is_taken(rows):
    X, y, groups = rows
    search = CostSearch(LogisticRegression(), cv=GroupKFold(4), **OPTIONS).fit(X, y, groups=groups)
    assert search.n_splits_ == 4
    assert search.held_out_.n_samples == 150


def test_copies_of_rows_tell_no_more_than_the_rows(rows):
    """Six equal rows a group: the interval is that of the 150 different rows."""
    X, y, groups = rows
    model = GaussianNB().fit(X[: 50 * SIZE], y[: 50 * SIZE])
    X, y, groups = (part[50 * SIZE :] for part in (X, y, groups))
    grouped = CostSearch(model, cv="prefit").fit(X, y, groups=groups)
    different = CostSearch(model, cv="prefit").fit(X[::SIZE], y[::SIZE])
    alone = CostSearch(model, cv="prefit").fit(X, y)
    width = [np.diff(search.score_interval_).item() for search in (grouped, different, alone)]
    assert width[0] == pytest.approx(width[1], rel=0.15)
    assert width[2] < 0.6 * width[0]
    assert grouped.best_score_ == alone.best_score_


def test_groups_of_one_row_change_little(rows):
    X, y, _ = rows
    X, y = X[::SIZE], y[::SIZE]
    model = GaussianNB().fit(X[:50], y[:50])
    single = CostSearch(model, cv="prefit").fit(X[50:], y[50:], groups=np.arange(100))
    plain = CostSearch(model, cv="prefit").fit(X[50:], y[50:])
    assert single.best_score_ == plain.best_score_
    assert single.score_interval_ == pytest.approx(plain.score_interval_, abs=0.05)


def test_weights_names_and_files_of_groups(rows, tmp_path):
    X, y, groups = rows
    names = np.array([f"customer {group:03d}" for group in groups], dtype=object)
    weight = np.random.default_rng(0).integers(1, 5, y.size).astype(float)
    options = OPTIONS | {"checkpoint": tmp_path / "search"}
    search = CostSearch(LogisticRegression(), **options).fit(X, y, sample_weight=weight, groups=names)
    again = CostSearch(LogisticRegression(), **options).fit(X, y, sample_weight=weight, groups=groups)
    assert again.trials_[0].score == search.trials_[0].score
    assert search.held_out_.copies.tolist() == [1] * search.held_out_.n_samples
    loaded = pickle.loads(pickle.dumps(search))
    assert loaded.score_interval_ == search.score_interval_
    moved = search.at_prevalence(0.1)
    assert moved.score_interval_[0] <= moved.corrected_score_ <= moved.score_interval_[1]


def test_several_classes_have_groups_too(rows):
    X, y, groups = rows
    y = np.where(X[:, 0] > 1.0, 2, y)
    search = CostSearch(LogisticRegression(), "f1_macro", **OPTIONS).fit(X, y, groups=groups)
    plain = CostSearch(LogisticRegression(), "f1_macro", **OPTIONS).fit(X, y)
    assert search.held_out_.n_samples == 150
    assert np.diff(search.score_interval_) > 1.3 * np.diff(plain.score_interval_)


def test_certificates_count_groups(rows):
    """Copies of rows certify no more than the rows do."""
    X, y, groups = rows
    options = OPTIONS | {"constraint": "precision >= 0.5", "confidence": 0.8, "metric": "recall"}
    search = CostSearch(LogisticRegression(), **options).fit(X, y, groups=groups)
    assert search.guarantee_.n_samples <= 50
    plain = CostSearch(LogisticRegression(), **options).fit(X, y)
    assert plain.guarantee_.n_samples == 270


def test_groups_that_cannot_be_used():
    with pytest.raises(ValueError, match="one entry for each of 5 samples"):
        read_groups([1, 2], 5)
    with pytest.raises(ValueError, match="at least two groups"):
        read_groups(["a"] * 5, 5)
    with pytest.raises(ValueError, match="5 folds need at least 5 groups, got 3"):
        group_folds(5, np.arange(9) % 2, np.arange(9) // 3, random_state=0)
