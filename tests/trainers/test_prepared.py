"""What settings share: csf's own part by name, that of other makers as in a dict."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.data.costs import cost_channel
from csf.data.folds import Task, make_folds
from csf.trainers import Prepared, make_trainers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] > 0.3).astype(int)
SPLITS = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]


def made(base, shared, splits=SPLITS, X=X):
    return make_trainers(base, make_folds(Task(X, Y), splits), cost_channel(base), shared=shared)


def test_makers_keep_what_they_like_as_in_a_dict():
    prepared = Prepared()
    prepared["mine"] = 1
    assert prepared.setdefault("mine", 2) == 1
    assert dict(prepared) == {"mine": 1}
    del prepared["mine"]
    assert len(prepared) == 0
    assert prepared.matrix is None
    with pytest.raises(KeyError, match="mine"):
        prepared["mine"]


@pytest.mark.parametrize("kind", [Prepared, dict])
def test_the_samples_are_checked_once(kind):
    shared = kind()
    first, second = (made(LinearSVC(C=C), shared)[0] for C in (1.0, 2.0))
    assert Prepared.of(shared).features.number == 2
    assert first._train.X is second._train.X is Prepared.of(shared).matrix
    assert made(LinearSVC(), kind())[0]._train.X is not None


def test_an_empty_record_is_the_same_one():
    """An empty mapping is false; it must not be taken for none."""
    prepared = Prepared()
    assert Prepared.of(prepared) is prepared
    assert Prepared.of(None) is not Prepared.of(None)


def test_steps_are_fitted_once_for_the_same_splits():
    prepared, base = Prepared(), make_pipeline(StandardScaler(), LogisticRegression())
    same = [made(base.set_params(logisticregression__C=C), prepared) for C in (1.0, 2.0)]
    assert same[0][0].steps is same[1][0].steps
    assert len(prepared.steps) == 1
    made(base, prepared, SPLITS[::-1])
    made(base.set_params(standardscaler__with_mean=False), prepared)
    assert len(prepared.steps) == 3


class Refusing(StandardScaler):
    """Fails, and counts how often."""

    calls = 0

    def fit_transform(self, X, y=None):
        type(self).calls += 1
        raise ValueError("no")


def test_steps_that_fail_are_not_tried_again():
    prepared, base = Prepared(), make_pipeline(Refusing(), LogisticRegression())
    made(base, prepared)
    made(base, prepared)
    assert Refusing.calls == 1
    assert prepared.steps[0].steps is None
