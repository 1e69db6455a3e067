"""The winner, trained once more on everything."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC

from csf import CostSearch

X = np.linspace(0.0, 1.0, 120)[:, None]
Y = (np.arange(120) >= 90).astype(int)


class Drifting(ClassifierMixin, BaseEstimator):
    """Scores that move with the number of training samples, by more than they differ among each other."""

    def __init__(self, drift=1.0):
        self.drift = drift

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.size_ = np.unique(y), len(y)
        return self

    def decision_function(self, X):
        return X[:, 0] + self.drift * self.size_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


@pytest.mark.parametrize(("drift", "found"), [(1.0, "all"), (-1.0, "none")])
def test_a_threshold_that_does_not_pass_on_is_said(drift, found):
    search = paper_search(Drifting(drift), n_trials=2)
    with pytest.warns(UserWarning, match=f"finds {found} of its samples positive"):
        search.fit(X, Y)
    assert search.best_score_ > 0.9
    assert np.unique(search.predict(X)).size == 1


def test_a_winner_that_is_as_useless_on_held_out_data_is_not_news():
    constant = np.zeros_like(X)
    search = CostSearch(LinearSVC(), n_trials=2).fit(constant, Y)
    assert np.unique(search.predict(constant)).size == 1
