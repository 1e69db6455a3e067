"""What all learners of structural losses promise: contract of streams, results, rows, one class, easy and rare data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import f1_score
from structural_streams import each_loss, sparse_rows, stream

from csf.metrics import get_metric
from csf.structural import (
    FTRL,
    CuttingPlane,
    OnePassMiniBatch,
    PartialAUC,
    ProjectedSubgradient,
    TwoPassMiniBatch,
    get_loss,
)
from csf.testing import check_online

BUFFERS = {"buffer_size": 40, "passes": 3, "random_state": 0}
LEARNERS = {
    "1PMB": OnePassMiniBatch("f1", **BUFFERS),
    "1PMB, pAUC": OnePassMiniBatch("pauc", eta=5.0, radius=30.0, **BUFFERS),
    "1PMB, tuned": OnePassMiniBatch("qmean", tune_threshold=True, averaging="uniform", **BUFFERS),
    "2PMB": TwoPassMiniBatch("prbep", reservoir_size=20, **BUFFERS),
    "2PMB, as it is": TwoPassMiniBatch("f2", reweight=False, fit_intercept=False, **BUFFERS),
    "FTRL": FTRL("f1", random_state=0),
    "FTRL, pAUC": FTRL(PartialAUC(0.5), refit=60, random_state=0),
    "cutting plane": CuttingPlane("f1", C=1e4),
    "subgradient": ProjectedSubgradient("pauc", max_iter=50),
}
STREAMING = {name: learner for name, learner in LEARNERS.items() if hasattr(learner, "partial_fit")}
# Solvers stop within a gap, so that sums in another order may end elsewhere in it.
SOLVED = ("FTRL", "FTRL, pAUC", "cutting plane")
each_learner = pytest.mark.parametrize("name", LEARNERS)


def assert_same(name, one, other, coef=None):
    """Same weights, up to rounding."""
    tolerance = 1e-5 if name in SOLVED else 1e-8
    expected = one.coef_ if coef is None else coef
    np.testing.assert_allclose(other.coef_, expected, rtol=tolerance, atol=tolerance * np.abs(one.coef_).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMING)
def test_streaming_learners_keep_the_contract(name):
    assert check_online(STREAMING[name]) is None


@each_learner
def test_results_have_the_names_of_all_linear_learners(name):
    X, y = stream(1, pos=0.2)
    model = clone(LEARNERS[name]).fit(X, y)
    assert model.coef_.shape == model.coef_last_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)
    assert np.isfinite(model.threshold_)
    assert model.n_seen_ == model.get_params().get("passes", 1) * y.size
    assert model.n_updates_ >= 1
    assert all(isinstance(values, np.ndarray) for values in model.history_.values())
    np.testing.assert_allclose(clone(LEARNERS[name]).fit(X, y).coef_, model.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["1PMB", "1PMB, tuned", "2PMB, as it is", "FTRL", "cutting plane"])
def test_the_intercept_belongs_to_a_constant_feature(name):
    X, y = stream(7, pos=0.2, length=0.6)  # no scale, with or without the feature
    model = clone(LEARNERS[name]).set_params(fit_intercept=True, intercept_scaling=0.5).fit(X, y)
    other = clone(LEARNERS[name]).set_params(fit_intercept=False).fit(np.column_stack([X, np.full(y.size, 0.5)]), y)
    assert_same(name, model, other, coef=np.append(model.coef_, model.intercept_ / 0.5)[None, :])
    assert model.intercept_[0] != 0.0
    assert other.intercept_[0] == 0.0


@each_learner
def test_single_precision_is_read_exactly(name):
    X = stream(3, pos=0.2)[0].astype(np.float32)
    y = stream(3, pos=0.2)[1]
    double = clone(LEARNERS[name]).fit(X.astype(np.float64), y)
    for rows in (X, sparse.csr_array(X)):
        assert_same(name, double, clone(LEARNERS[name]).fit(rows, y))


SPARSE = [
    (OnePassMiniBatch(buffer_size=45, radius=30.0, random_state=0), 1e-10),
    (OnePassMiniBatch(buffer_size=45, eta=20.0, radius=30.0, random_state=0), 1e-10),
    (TwoPassMiniBatch(buffer_size=45, reservoir_size=30, radius=30.0, passes=3, random_state=0), 1e-9),
    (FTRL(random_state=0), 1e-6),
    (ProjectedSubgradient(max_iter=20), 1e-9),
]


@each_loss
@pytest.mark.parametrize(("learner", "tolerance"), SPARSE, ids=repr)
def test_sparse_rows_give_the_same(loss, learner, tolerance):
    X, y = stream(3, n=600 if hasattr(learner, "passes") else 200, d=12)
    D, S = sparse_rows(X)
    dense, csr = (clone(learner).set_params(loss=loss).fit(rows, y) for rows in (D, S))
    near = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(csr.coef_, dense.coef_, **near)
    np.testing.assert_allclose(csr.intercept_, dense.intercept_, **near)
    np.testing.assert_allclose(
        csr.decision_function(S), dense.decision_function(D), rtol=10 * tolerance, atol=10 * tolerance
    )


@each_learner
def test_constant_columns_and_doubled_rows_do_no_harm(name):
    X, y = stream(4, n=300, pos=0.2)
    more = np.hstack([X, np.full((300, 1), 0.2), np.zeros((300, 1))])
    model = clone(LEARNERS[name]).fit(np.repeat(more, 2, axis=0), np.repeat(y, 2))
    assert np.isfinite(model.coef_).all()
    assert model.coef_[0, -1] == 0.0
    plain = clone(LEARNERS[name]).fit(X, y)
    assert f1_score(y, model.predict(more)) > f1_score(y, plain.predict(X)) - 0.1


@each_learner
def test_one_class_is_refused_by_fit_and_learnt_by_streams_that_know_both_labels(name):
    X, y = stream(5, pos=0.2)
    learner = clone(LEARNERS[name])
    way_out = r"fit needs both; partial_fit\(X, y, classes=\[0, 1\]\)" if name in STREAMING else "check the split"
    with pytest.raises(ValueError, match=f"y has one class only .*{way_out}"):
        learner.fit(X, np.ones(y.size))
    if name not in STREAMING:
        return
    for only in (-1, 1):
        model = clone(learner).partial_fit(X, np.full(y.size, only), classes=[-1, 1])
        assert (model.n_seen_, model.n_updates_) == (y.size, 0)
        assert not model.coef_.any()
        assert np.unique(model.predict(X)).tolist() == [-1]  # nothing is positive before there is a reason
        assert np.isfinite(model.partial_fit(X, y).coef_).all()
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            model.partial_fit(X[:0], y[:0])


@pytest.mark.parametrize("metric", ["gmean", "hmean", "qmean", "min_rate"])
def test_swapped_classes_turn_the_minimum_for_symmetric_metrics(metric):
    """Not step by step: at zero weights several labellings are worst, and either class may be taken first."""
    X, y = stream(6, n=150, pos=0.2)
    one, other = (CuttingPlane(metric, C=1e3, eps=1e-5).fit(X, labels) for labels in (y, -y))
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-4)
    np.testing.assert_allclose(other.coef_, -one.coef_, atol=0.05 * np.abs(one.coef_).max())
    score = np.random.default_rng(0).normal(size=y.size)
    assert get_loss(metric).value(-score, y < 0) == pytest.approx(get_loss(metric).value(score, y > 0))


@each_loss
@pytest.mark.parametrize("kind", [OnePassMiniBatch, TwoPassMiniBatch, CuttingPlane, ProjectedSubgradient, FTRL])
def test_separable_classes_are_separated(kind, loss):
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.3).astype(int)
    X = rng.uniform(-1.0, 1.0, (5000, 4))
    X[:, 0] = np.where(y == 1, 1.0, -1.0) * rng.uniform(0.3, 1.0, 5000)
    predicted = (CuttingPlane(loss, C=1e4) if kind is CuttingPlane else kind(loss)).fit(X, y).predict(X)
    assert f1_score(y, predicted) >= 0.98
    assert get_metric("gmean").score(y, predicted) >= 0.98


@pytest.mark.parametrize(
    ("kind", "kwargs", "error", "match"),
    [
        (OnePassMiniBatch, {"loss": "auc"}, ValueError, "unknown loss 'auc'"),
        (OnePassMiniBatch, {"loss": 1}, TypeError, "loss must be a name"),
        (OnePassMiniBatch, {"buffer_size": 1}, ValueError, "buffer_size must be an int >= 2, got 1"),
        (OnePassMiniBatch, {"buffer_size": 10.0}, TypeError, "buffer_size must be an int"),
        (OnePassMiniBatch, {"eta": 0.0}, ValueError, "eta must be positive"),
        (OnePassMiniBatch, {"averaging": "suffix"}, ValueError, "averaging must be one of"),
        (OnePassMiniBatch, {"radius": np.inf}, ValueError, "radius must be positive and finite"),
        (OnePassMiniBatch, {"passes": 0}, ValueError, "passes must be an int >= 1"),
        (OnePassMiniBatch, {"shuffle": "yes"}, TypeError, "shuffle must be True or False"),
        (OnePassMiniBatch, {"tune_threshold": 1}, TypeError, "tune_threshold must be True or False"),
        (OnePassMiniBatch, {"fit_intercept": None}, TypeError, "fit_intercept must be True or False"),
        (OnePassMiniBatch, {"intercept_scaling": -1.0}, ValueError, "intercept_scaling must be positive"),
        (TwoPassMiniBatch, {"reservoir_size": 0}, ValueError, "reservoir_size must be an int >= 1"),
        (TwoPassMiniBatch, {"reweight": 2}, TypeError, "reweight must be True or False"),
        (TwoPassMiniBatch, {"buffer_size": 1}, ValueError, "buffer_size must be an int >= 2"),
        (CuttingPlane, {"C": 0.0}, ValueError, "C must be positive"),
        (CuttingPlane, {"eps": -1.0}, ValueError, "eps must be positive"),
        (CuttingPlane, {"max_iter": 0}, ValueError, "max_iter must be an int >= 1"),
        (CuttingPlane, {"drop_after": 0}, ValueError, "drop_after must be an int >= 1"),
        (CuttingPlane, {"loss": "auc"}, ValueError, "unknown loss"),
        (CuttingPlane, {"fit_intercept": "no"}, TypeError, "fit_intercept must be True or False"),
        (CuttingPlane, {"intercept_scaling": 0.0}, ValueError, "intercept_scaling must be positive"),
        (CuttingPlane, {"tune_threshold": None}, TypeError, "tune_threshold must be True or False"),
        (ProjectedSubgradient, {"radius": 0.0}, ValueError, "radius must be positive"),
        (ProjectedSubgradient, {"eta": -1.0}, ValueError, "eta must be positive"),
        (ProjectedSubgradient, {"tol": 0.0}, ValueError, "tol must be positive"),
        (ProjectedSubgradient, {"max_iter": 1.5}, TypeError, "max_iter must be an int"),
        (ProjectedSubgradient, {"patience": 0}, ValueError, "patience must be an int >= 1"),
        (FTRL, {"refit": "often"}, ValueError, "refit must be one of .* or a number of examples, got 'often'"),
        (FTRL, {"refit": 0}, ValueError, "refit must be an int >= 1"),
        (FTRL, {"refit": 2.5}, TypeError, "refit must be one of"),
        (FTRL, {"refit": True}, TypeError, "refit must be one of"),
        (FTRL, {"eta": 0.0}, ValueError, "eta must be positive"),
        (FTRL, {"eps": 0.0}, ValueError, "eps must be positive"),
        (FTRL, {"max_planes": 0}, ValueError, "max_planes must be an int >= 1"),
        (FTRL, {"radius": -1.0}, ValueError, "radius must be positive"),
    ],
)
def test_bad_parameters_are_named(kind, kwargs, error, match):
    X, y = stream(n=20, pos=0.5)
    with pytest.raises(error, match=match):
        kind(**kwargs).fit(X, y)
