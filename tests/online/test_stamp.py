"""STAMP against its literal form, and the laws of its levels."""

from typing import ClassVar

import numpy as np
import pytest
from online.test_spade import stream, toy
from oracles import stamp as oracle
from scipy import sparse
from scipy.optimize import linprog

from csf.fenchel import AMP
from csf.metrics import (
    BalancedAccuracy,
    Coefficients,
    FBeta,
    GowerLegendre,
    Jaccard,
    LinearFractional,
    get_metric,
)
from csf.online import STAMP as Learner
from csf.online.spade import StagedSteps


def STAMP(*args, **options):
    """With the published steps."""
    return Learner(*args, **({"step": "paper", "passes": 10} | options))


METRICS = [FBeta(), FBeta(2.0), FBeta(0.5), Jaccard(), GowerLegendre(2.0), GowerLegendre(0.5)]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
VARIANTS = {
    "default": {},
    "surrogate": {"level": "surrogate"},
    "logistic surrogate": {"level": "surrogate", "reward": "logistic", "eta0": 3.0},
    "small ball": {"radius": 0.5, "growth": 1.5, "model_stage": 15},
    "even stages": {"growth": 1.0, "challenge_stage": 7},
}


@pytest.mark.slow
@each_metric
@pytest.mark.parametrize(
    ("variant", "kind"), [("default", sparse.csr_array), *((variant, np.asarray) for variant in VARIANTS)]
)
def test_it_is_the_literal_algorithm_step_by_step(metric, variant, kind):
    X, y = stream()
    model = STAMP(metric, **{"model_stage": 20, "challenge_stage": 20, **VARIANTS[variant]})
    given = model.get_params()
    names = {
        "radius": "radius",
        "eta0": "eta0",
        "growth": "growth",
        "s0": "model_stage",
        "challenge": "challenge_stage",
    }
    options = {ours: given[theirs] for ours, theirs in names.items()}
    options |= {"surrogate": given["level"] == "surrogate", "kind": given["reward"]}
    rows = np.column_stack([X, np.ones(y.size)]).tolist()
    signs = np.where(y == 1, 1, -1).tolist()
    rows_given = kind(X)
    for i, (last, used, level) in enumerate(oracle.stamp(rows, signs, metric, **options)):
        model.partial_fit(rows_given[i : i + 1], y[i : i + 1], classes=[0, 1])
        assert model.level_ == pytest.approx(level, abs=1e-10)
        np.testing.assert_allclose(model.coef_last_[0], last[:-1], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), used, rtol=1e-10, atol=1e-10)
    assert len(model.levels_) >= 2


# ---------------------------------------------------------------- levels


@each_metric
@pytest.mark.parametrize("level", ["actual", "surrogate"])
def test_levels_stay_below_one(metric, level):
    X, y = toy(3000)
    levels = STAMP(metric, level=level, model_stage=20, challenge_stage=20, growth=1.0).partial_fit(X, y).levels_
    assert len(levels) == 75
    assert levels.min() >= 0.0
    assert levels.max() < 1.0


@pytest.mark.parametrize("level", ["actual", "surrogate"])
def test_perfect_predictions_leave_the_level_just_below_one(level):
    X = np.tile([[1.0, 0.0], [-1.0, 0.0]], (500, 1))
    model = STAMP(level=level, eta0=5.0).partial_fit(X, np.tile([1, 0], 500))
    assert model.level_ == pytest.approx(0.999)
    assert model.predict([[1.0, 0.0], [-1.0, 0.0]]).tolist() == [1, 0]


def test_levels_rise_and_come_near_the_best_threshold():
    rising = []
    for seed in range(20):
        X, y = toy(25_000, seed=seed)
        rising.append(STAMP(random_state=0).partial_fit(X, y).levels_)
    rising = np.array(rising)
    mean, error = rising.mean(axis=0), rising.std(axis=0, ddof=1) / np.sqrt(20)
    assert (np.diff(mean) > -2.0 * np.hypot(error[1:], error[:-1])).all()
    assert mean[-1] > mean[0] + 0.1


def test_level_zero_predicts_all_positive():
    X, y = stream()
    model = STAMP(model_stage=500).partial_fit(X, y)
    assert model.level_ == 0.0
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("only", [0, 1])
def test_a_challenge_of_one_class_keeps_the_level(only):
    X, y = stream()
    model = STAMP(start_level=0.3, model_stage=100, challenge_stage=100).partial_fit(X[:100], y[:100])
    assert model.partial_fit(X[:100], np.full(100, only)).levels_.tolist() == [0.3]


def test_a_vanishing_denominator_falls_back_to_predictions():
    """Average rewards far below 0 make F-beta's denominator negative."""
    metric, model = FBeta(), STAMP(level="surrogate").partial_fit(*stream(110))
    model._rule.tally[:] = 3.0, 1.0, 2.0, 4.0, -500.0, -5.0
    assert model._rule.reached(model) == pytest.approx(metric.value(0.2, 0.1, pos=0.5))
    model._rule.tally[4:] = 4.0, 3.0
    assert model._rule.reached(model) == pytest.approx(2 * 0.8 / (1 + 1 + 0.8 - 0.6))


@each_metric
def test_weights_are_the_costs_of_the_level(metric):
    X, y = stream(180)
    model = STAMP(metric, start_level=0.3, model_stage=20, challenge_stage=20).partial_fit(X, y)
    assert model._rule.learning
    assert tuple(model._rule.scalars[5:7]) == pytest.approx(metric.cost_weights(model.level_, pos=0.5))
    assert tuple(model._rule.scalars[5:7]) == pytest.approx(oracle.weights_of(metric, model.level_))


def test_weights_that_need_the_share_of_positives_do_not_depend_on_cuts():
    X, y = stream()
    whole, cut = (STAMP(BalancedAccuracy(), model_stage=20, challenge_stage=20) for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1])
    for start in range(0, y.size, 13):
        cut.partial_fit(X[start : start + 13], y[start : start + 13], classes=[0, 1])
    np.testing.assert_allclose(whole.coef_, cut.coef_, rtol=1e-9, atol=1e-12)
    assert whole._rule.scalars[5] > 2 * whole._rule.scalars[6]


# ---------------------------------------------------------------- stages


def test_stages_grow_and_the_history_tells():
    X, y = toy(3100)
    model = STAMP().partial_fit(X, y)
    assert len(model.levels_) == 4  # 200 + 400 + 800 + 1600 = 3000
    assert model.n_updates_ == 1500 + 100
    assert model.n_seen_ == 3100
    assert model.history_["epochs"].tolist() == [0] * 8 + [1, 1, 2, 3]
    assert model.history_["level"][-1] == model.levels_[2]
    assert STAMP(growth=1e9, model_stage=5, challenge_stage=5).partial_fit(X, y)._rule.length > 1e9
    assert STAMP(growth=1e300, model_stage=1, challenge_stage=1).partial_fit(X, y)._rule.length == 2**60


def test_a_young_model_stage_is_not_used_yet():
    X, y = stream()
    model = STAMP(model_stage=100, challenge_stage=50).partial_fit(X[:150], y[:150])
    complete = model.coef_.copy()
    model.partial_fit(X[150:169], y[150:169])
    np.testing.assert_array_equal(model.coef_, complete)
    assert not np.array_equal(model.coef_last_, complete)
    assert not np.array_equal(model.partial_fit(X[169:170], y[169:170]).coef_, complete)


def test_the_average_of_a_stage_starts_the_next():
    X, y = stream()
    model = STAMP(model_stage=100, challenge_stage=50).partial_fit(X[:100], y[:100])
    np.testing.assert_allclose(model.coef_, model.coef_last_, rtol=1e-9, atol=1e-12)
    assert model._rule.scalars[3] == pytest.approx(model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2)


# ---------------------------------------------------------------- what it finds


def overlapping(n=300):
    """Rows of length at most 1 whose scale is 1, and labels that no line separates."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.standard_normal((n, 2)) + y[:, None] * np.array([1.0, 0.5])
    return X / (1.001 * np.linalg.norm(X, axis=1).max()), y


class ExactSteps(StagedSteps):
    """Each model stage ends with the best weights of all samples, by linear programming."""

    def climb(self, learner, X, y):
        pass

    def end_stage(self, learner):
        if self.learning:
            X, y = overlapping()
            n, price_pos, price_neg = y.size, *self.prices
            margins = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(n)])
            costs = np.append(np.zeros(3), np.where(y == 1, price_pos, price_neg))  # of the weights, of the losses
            limits = {"A_ub": np.hstack([-margins, -np.eye(n)]), "b_ub": -np.ones(n)}
            self.v = linprog(costs, bounds=[(None, None)] * 3 + [(0.0, None)] * n, **limits).x[:3]
        super().end_stage(learner)


class ExactStages(Learner):
    _rules: ClassVar = {"paper": ExactSteps}


pseudo_linear = pytest.mark.parametrize("name", ["f1", "f2", "jaccard"])


@pseudo_linear
def test_with_exact_stages_on_all_samples_it_is_amp(name):
    X, y = overlapping()
    exact = AMP(name, C=1e5, level="surrogate", tol=1e-9).fit(X, y)
    stages = {"level": "surrogate", "growth": 1.0, "model_stage": y.size, "challenge_stage": y.size}
    model = ExactStages(name, step="paper", start_level=exact.history_["level"][0], **stages)
    for _ in range(2 * exact.n_iter_):
        model.partial_fit(X, y)
    np.testing.assert_allclose(model.levels_, exact.history_["next_level"], atol=1e-5)
    assert model.level_ == pytest.approx(exact.level_, abs=1e-5)


@pytest.mark.slow
@pseudo_linear
def test_long_stages_on_samples_drawn_again_and_again_reach_the_level_of_amp(name):
    X, y = overlapping()
    exact = AMP(name, C=1e5, level="surrogate", tol=1e-9).fit(X, y)
    errors = []
    for n in (10_000, 1_500_000):
        drawn = [np.random.default_rng(seed).integers(y.size, size=n) for seed in range(3)]
        models = [STAMP(name, level="surrogate", radius=30.0, eta0=30.0).partial_fit(X[r], y[r]) for r in drawn]
        errors.append(np.mean([abs(model.level_ - exact.level_) for model in models]))
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 3e-3
    reward = np.minimum(1.0, np.where(y == 1, 1.0, -1.0) * (X @ models[0].coef_[0] + models[0].intercept_[0]))
    means = reward[y == 1].mean(), reward[y == 0].mean()
    value = oracle.canonical_value(get_metric(name), *means, (y == 0).sum() / (y == 1).sum())
    assert exact.level_ - 3e-3 < value < exact.level_ + 1e-5


# ---------------------------------------------------------------- refusals


class Rising(LinearFractional):
    """Share of predicted positives."""

    name = "rising"

    def coefficients(self, pos):
        return Coefficients(pos, -1.0, 1.0, 1.0, 0.0, 0.0)


def test_metrics_that_rise_with_an_error_are_refused():
    model = STAMP(Rising())
    with pytest.raises(ValueError, match=r"'rising' is worth .*; larger must be better"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_accuracy_in_disguise():
    """The Gower-Legendre similarity weighs classes alike, as accuracy does."""
    X, y = toy(2000)
    one = STAMP(GowerLegendre(1.0), random_state=0).fit(X, y)
    other = STAMP("accuracy", random_state=0).fit(X, y)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
