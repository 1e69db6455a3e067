"""The adapter for models of river: rows, labels, and its place behind a threshold."""

import sys

import numpy as np
import pytest
from oracles.fofo import fofo as literal_fofo
from oracles.ofo import ofo as literal_ofo
from scipy import sparse
from sklearn.base import clone

from csf.online import FOFO, OFO, RiverClassifier

river = pytest.importorskip("river", reason="needs the extra csf-search[river]")


def stream(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * (rng.random((n, 3)) < 0.7)
    return X, (X[:, 0] > 0.4).astype(int)


def river_model():
    from river import linear_model

    return linear_model.LogisticRegression()


def test_the_model_learns_the_rows_in_order_as_dicts():
    X, y = stream()
    model = RiverClassifier(river_model()).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    alone = river_model()
    for row, label in zip(X.tolist(), y.tolist()):
        alone.learn_one(dict(enumerate(row)), label == 1)
    expected = [alone.predict_proba_one(dict(enumerate(row)))[True] for row in X.tolist()]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] >= 0.5)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)


def test_sparse_rows_leave_out_what_is_not_stored():
    X, y = stream()
    dense, sparse_ = RiverClassifier().partial_fit(X, y), RiverClassifier().partial_fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.predict_proba(X), sparse_.predict_proba(sparse.csr_array(X)))


def test_the_model_given_is_never_changed():
    X, y = stream()
    given = river_model()
    RiverClassifier(given).fit(X, y)
    assert not given.weights
    assert clone(RiverClassifier(given)).fit(X, y).score(X, y) > 0.8


def test_pipelines_trees_and_any_labels():
    from river import preprocessing, tree

    X, y = stream(2000)
    labels = np.where(y == 1, "rare", "common")
    for model in (preprocessing.StandardScaler() | river_model(), tree.HoeffdingTreeClassifier()):
        ours = RiverClassifier(model, pos_label="rare").partial_fit(X[:1], labels[:1], classes=["common", "rare"])
        ours.partial_fit(X[1:], labels[1:])
        assert ours.classes_.tolist() == ["common", "rare"]
        assert ours.score(X, labels) > 0.9
        np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1.0)
        first = RiverClassifier(model, pos_label="common").partial_fit(X, labels)
        assert first.score(X, labels) > 0.9
        np.testing.assert_array_equal(first.predict(X) == "rare", first.decision_function(X) > 0)


@pytest.mark.parametrize("kind", [OFO, FOFO])
def test_thresholds_on_a_model_of_river(kind):
    """Each row is predicted before the model learns it, in chunks of any size."""
    X, y = stream(1500)
    model = kind(posterior=RiverClassifier(river_model()), step="paper").partial_fit(X, y)
    chunks = kind(posterior=RiverClassifier(river_model()), step="paper")
    for start in range(0, 1500, 70):
        chunks.partial_fit(X[start : start + 70], y[start : start + 70], classes=[0, 1])
    assert model.threshold_ == chunks.threshold_ > 0.0
    assert model.online_counts_ == chunks.online_counts_
    alone, posteriors = river_model(), []
    for row, label in zip(X.tolist(), y.tolist()):
        posteriors.append(alone.predict_proba_one(dict(enumerate(row)))[True])
        alone.learn_one(dict(enumerate(row)), label == 1)
    if kind is OFO:
        *_, (_, threshold, _, _) = literal_ofo(posteriors, y, beta=1.0)
    else:
        *_, step = literal_fofo(posteriors, y, beta=1.0)
        threshold = step["mean"]
    assert model.threshold_ == pytest.approx(threshold, abs=1e-12)
    assert not hasattr(model, "coef_")


def test_river_is_only_needed_for_its_own_default(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "river.linear_model", None)
    X, y = stream()

    class Constant:
        def learn_one(self, row, label):
            self.seen = getattr(self, "seen", 0) + 1

        def predict_proba_one(self, row):
            return {}

    assert RiverClassifier(Constant()).fit(X, y).predict_proba(X[:1]).tolist() == [[0.5, 0.5]]
    with pytest.raises(ImportError, match=r"without a model needs river: pip install 'csf-search\[river\]'"):
        RiverClassifier().fit(X, y)
    with pytest.raises(TypeError, match="model must be a classifier of river with learn_one, got 3"):
        RiverClassifier(3).fit(X, y)
