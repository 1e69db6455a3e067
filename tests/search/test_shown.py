"""What a fitted search gives to people's tools."""

import sys

import numpy as np
import pytest
from builders_of_reports import data, fitted
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from csf import CostSearch


def test_the_frame_holds_the_trials():
    pandas = pytest.importorskip("pandas")
    search, _, _ = fitted("plain")
    frame = search.trials_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == search.n_trials_
    assert frame.index[frame["winner"]].tolist() == [search.best_index_]
    assert frame["param_C"].tolist() == search.cv_results_["param_C"].tolist()
    assert frame["feasible"].all()
    np.testing.assert_array_equal(frame["pooled_test_score"], search.cv_results_["pooled_test_score"])


def test_the_frame_tells_constraints_and_failures():
    pytest.importorskip("pandas")
    search, _, _ = fitted("infeasible")
    frame = search.trials_frame()
    assert not frame["feasible"].any()
    assert frame.loc[frame["winner"], "rate"].item() == search.constraint_value_
    failed = fitted("failed")[0].trials_frame()
    assert failed.loc[failed["state"] == "failed", "feasible"].eq(False).all()


def test_the_frame_asks_for_a_fit_and_for_pandas(monkeypatch):
    with pytest.raises(NotFittedError):
        CostSearch(LinearSVC()).trials_frame()
    search, _, _ = fitted("plain")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas: install it, or read cv_results_"):
        search.trials_frame()


def test_samples_of_each_class_are_counted():
    search, _, _ = fitted("three")
    counts = [np.sum(data(3)[1] == label) for label in (0, 1, 2)]
    assert search.class_count_.tolist() == counts
    coded = CostSearch(LinearSVC(), n_trials=1, pos_label="a", cv=2).fit(np.eye(6), list("aabbbb"))
    assert coded.class_count_.tolist() == [2, 4]
