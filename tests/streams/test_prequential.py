"""prequential: predictions come before learning, counts are exact, curves are those of the metric."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

from csf.metrics import get_metric
from csf.streams import PrequentialResult, iter_arrays, prequential


class Parrot(ClassifierMixin, BaseEstimator):
    """Predicts what its table says, and remembers how many examples it had learnt by then."""

    def __init__(self, table=None):
        self.table = table
        self.n_learnt = 0
        self.asked, self.taught, self.classes_given = [], [], []

    def predict(self, X):
        if self.n_learnt == 0 and self.table is None:
            raise NotFittedError("not yet")
        rows = np.asarray(X.todense() if sparse.issparse(X) else X)[:, 0].astype(int)
        self.asked.append((self.n_learnt, rows.tolist()))
        return np.zeros(len(rows), dtype=int) if self.table is None else self.table[rows]

    def partial_fit(self, X, y, classes=None):
        self.n_learnt += len(y)
        self.classes_given.append(classes)
        return self


def stream(y, size):
    return iter_arrays(np.arange(len(y), dtype=float)[:, None], y, size)


def naive(metric, y, predicted, n, window):
    y, predicted = y[:n][-window:], predicted[:n][-window:]
    return metric.score(y, predicted) if len(set(y)) == 2 else np.nan


@given(seed=st.integers(0, 10**6), size=st.integers(1, 60), every=st.integers(1, 30), width=st.integers(1, 4))
def test_curves_are_those_of_the_metric_on_the_predictions(seed, size, every, width):
    rng = np.random.default_rng(seed)
    y, table = rng.integers(0, 2, 100), rng.integers(0, 2, 100)
    result = prequential(Parrot(table), stream(y, size), metric="gmean", window=width * every, every=every)
    np.testing.assert_array_equal(result.n_examples, [*range(every, 100, every), 100])
    assert (np.diff(result.seconds) > 0).all()
    full = 100 // every  # an end between two records has a longer window
    windowed = [naive(get_metric("gmean"), y, table, n, width * every) for n in result.n_examples[:full]]
    np.testing.assert_allclose(result.values[:full], windowed, atol=1e-12)
    cumulative = [naive(get_metric("f1"), y, table, n, 100) for n in result.n_examples]
    np.testing.assert_allclose(result.curve("f1"), cumulative, atol=1e-12)


def test_the_last_window_is_at_least_as_long_as_it_should():
    y = np.array([0, 1] * 5)
    table = np.array([1, 0] * 3 + [0, 1] * 2)  # the last 4 are right
    result = prequential(Parrot(table), stream(y, 10), metric="accuracy", every=3, window=3)
    assert result.n_examples.tolist() == [3, 6, 9, 10]
    # the last record looks at 7 to 10, not at 8 to 10
    np.testing.assert_allclose(result.values, [0.0, 0.0, 1.0, 1.0], atol=1e-12)
    assert result.counts[-1].sum() == 10


def test_predictions_come_before_learning():
    learner = Parrot(np.ones(12, dtype=int))
    prequential(learner, stream(np.array([0, 1] * 6), 5), every=4)
    assert all(n_learnt == rows[0] for n_learnt, rows in learner.asked)
    assert [row for _, rows in learner.asked for row in rows] == list(range(12))


def test_chunks_are_cut_where_a_record_is_due():
    learner = Parrot(np.ones(12, dtype=int))
    prequential(learner, stream(np.array([0, 1] * 6), 5), every=4)
    assert [len(rows) for _, rows in learner.asked] == [4, 1, 3, 2, 2]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_whatever_chunks_hold(make):
    y = np.array([0, 1] * 6)
    X = make(np.arange(12.0)[:, None])
    result = prequential(Parrot(y), [(X, y.tolist())], every=5)
    assert result.counts.tolist() == [[2, 0, 0, 3], [5, 0, 0, 5], [6, 0, 0, 6]]


def test_what_cannot_predict_yet_only_learns():
    learner = Parrot()
    result = prequential(learner, stream(np.array([0, 1] * 6), 4), every=4, classes=[0, 1])
    assert result.counts.sum(axis=1).tolist() == [0, 4, 8]
    assert np.isnan(result.values[0])
    assert learner.classes_given == [[0, 1], None, None]


def test_scikit_learn_learner_with_text_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] > 0.5, "rare", "common")
    options = {"every": 50, "classes": ["common", "rare"], "metric": "recall", "pos_label": "rare"}
    result = prequential(SGDClassifier(random_state=0), iter_arrays(X, y, 50), **options)
    assert result.counts[:, [0, 2]].sum(axis=1)[-1] == (y[50:] == "rare").sum()
    assert result.values[-1] > 0.8


def test_labels_need_a_positive_one():
    with pytest.raises(ValueError, match=r"pos_label=None stands for 1 .* y holds 'a'"):
        prequential(Parrot(np.array(["a", "b"])), stream(np.array(["a", "b"]), 2))


def test_the_learner_knows_its_positive_class():
    learner = Parrot(np.array(["a", "b", "a"]))
    learner.pos_label_ = "a"
    assert prequential(learner, stream(np.array(["a", "b", "b"]), 2)).counts[-1].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be an int >= 1, got 0"),
        ({"window": 1500}, "window must be a multiple of every=1000, where the records are, got 1500"),
        ({"window": 0}, "window must be an int >= 1, got 0"),
        ({"metric": "f"}, "unknown metric 'f'"),
    ],
)
def test_arguments_are_checked_before_anything_is_learnt(options, message):
    learner = Parrot(np.ones(4, dtype=int))
    with pytest.raises(ValueError, match=message):
        prequential(learner, stream(np.array([0, 1, 0, 1]), 2), **options)
    assert learner.n_learnt == 0


def test_one_class_has_counts_but_no_value():
    result = prequential(Parrot(np.array([0, 1, 0, 1])), stream(np.zeros(4, dtype=int), 2), metric="gmean", every=2)
    assert result.counts.tolist() == [[0, 1, 0, 1], [0, 2, 0, 2]]
    assert np.isnan(result.values).all()


def test_empty_streams_are_refused():
    with pytest.raises(ValueError, match="the stream has no chunks"):
        prequential(Parrot(), [])


def test_window_of_a_curve_is_checked():
    result = PrequentialResult(np.array([5]), np.array([1.0]), np.array([[1, 1, 1, 2]]), 5, get_metric("f1"), None)
    with pytest.raises(ValueError, match="window must be a multiple of every=5"):
        result.curve("f1", window=7)
