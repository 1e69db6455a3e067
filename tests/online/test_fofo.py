"""FOFO: the loop against the literal algorithm, stage by stage, and where its threshold goes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_posteriors import KnownPosterior, best_threshold, best_value, beta_stream
from oracles.fofo import fofo as literal_fofo
from oracles.fofo import number_of_stages
from scipy import stats
from sklearn.metrics import f1_score, jaccard_score

from csf.online import FOFO as Learner
from csf.online.posterior import n_stages


def FOFO(*args, **options):
    """With the published steps."""
    return Learner(*args, **({"step": "paper"} | options))


LAWS = [(0.5, 3.0), (2.0, 5.0), (0.05, 2.0)]


def known(eta, y, batch_size=None, **settings):
    """FOFO on known posteriors; a batch before them gives the learner its start."""
    model = FOFO(posterior=KnownPosterior(), batch_size=batch_size or len(eta), **settings)
    model._n_expected = None
    model.classes_, model.pos_label_, model.n_features_in_, model.n_seen_ = np.array([0, 1]), 1, 1, 1
    model._records, model._rng = [], np.random.default_rng(0)
    model._start(1)
    model.posterior_.partial_fit(None, None, classes=[0, 1])
    model._learn(np.asarray(eta, dtype=float)[:, None], np.where(y, 1.0, -1.0))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "settings",
    [
        {"horizon": 1},
        {"horizon": 37},
        {"horizon": 500},
        {"horizon": 3000, "step_scale": 10.0},
        {"horizon": 3000, "step_scale": 1000.0},  # thrown from one end of the interval to the other
        {"horizon": 10_000_000},
        {"horizon": None},
        {"horizon": None, "step_scale": 3.0},
    ],
    ids=str,
)
def test_every_step_is_that_of_the_literal_algorithm(law, settings):
    eta, y = beta_stream(*law, 3500, 3)
    for metric, beta in (("f1", 1.0), ("f0.5", 0.5)):
        steps = list(literal_fofo(eta, y, beta=beta, **settings))
        emitted = np.array([step["y_hat"] for step in steps])
        model, seen = None, 0
        for stop in (1, 2, 36, 37, 38, 250, 999, 1000, 1001, 2999, 3000, 3001, 3500):
            if model is None:
                model = known(eta[:stop], y[:stop], metric=metric, **settings)
            else:
                model._learn(eta[seen:stop, None], np.where(y[seen:stop], 1.0, -1.0))
            seen = stop
            step = steps[stop - 1]
            assert model.threshold_ == pytest.approx(step["mean"], abs=1e-10)
            assert model.pos_share_ == pytest.approx(step["pi"], abs=1e-10)
            assert model._state[3] == pytest.approx(step["theta"], abs=1e-10)
            counts = model.online_counts_
            assert counts["tp"] == emitted[:stop] @ y[:stop]
            assert counts["tp"] + counts["fp"] == emitted[:stop].sum()


@given(n=st.integers(1, 10**9))
def test_number_of_stages(n):
    assert n_stages(n) == number_of_stages(n) >= 1


def test_published_numbers_of_stages():
    assert [n_stages(10**k) for k in range(2, 7)] == [1, 2, 4, 5, 7]
    assert [n_stages(n) for n in (1, 2, 3, 43)] == [1, 1, 1, 1]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("horizon", ["known", None])
def test_threshold_tends_to_the_best_with_known_posteriors(law, horizon):
    for metric, squared_beta in (("f1", 1.0), ("f2", 4.0)):
        best, errors = best_threshold(*law, squared_beta), {}
        for n in (3_000, 100_000):
            options = {"metric": metric, "horizon": n if horizon else None, "step_scale": 3.0}
            runs = [known(*beta_stream(*law, n, seed), **options).threshold_ - best for seed in range(8)]
            errors[n] = np.mean(np.abs(runs))
        assert errors[100_000] < 0.5 * errors[3_000]
        assert errors[100_000] < 0.02


def test_constant_posteriors():
    """theta* = pos / (1 + beta^2 pos)."""
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.3
    model = known(np.full(y.size, y.mean()), y, horizon=y.size, step_scale=10.0)
    assert model.threshold_ == pytest.approx(0.3 / 1.3, abs=2e-3)


def test_nothing_but_negatives_leaves_the_threshold_at_zero():
    model = known(np.zeros(5000), np.zeros(5000, dtype=bool))
    assert model.threshold_ == 0.0
    X = np.random.default_rng(0).standard_normal((100_000, 3))
    model = FOFO(step_scale=10.0).partial_fit(X, np.zeros(100_000), classes=[0, 1])
    assert 0.0 <= model.threshold_ < 0.05
    y = (X[:, 0] > 1.0).astype(int)
    assert f1_score(y, model.partial_fit(X, y).predict(X)) > 0.9


def test_jaccard_has_the_threshold_of_f1_and_its_own_value():
    eta, y = beta_stream(2.0, 5.0, 20_000, 0)
    f1, jaccard = known(eta, y, step_scale=3.0), known(eta, y, metric="jaccard", step_scale=3.0)
    assert jaccard.threshold_ == f1.threshold_
    emitted = [step["y_hat"] for step in literal_fofo(eta, y, beta=1.0, step_scale=3.0)]
    assert jaccard.online_value_ == pytest.approx(jaccard_score(y, emitted))
    assert f1.online_value_ == pytest.approx(f1_score(y, emitted))
    best = best_value(2.0, 5.0, 1.0)
    assert jaccard.threshold_ == pytest.approx(best / 2, abs=0.02)


def test_fit_knows_the_horizon_and_a_stream_does_not():
    X = np.random.default_rng(0).standard_normal((500, 2))
    y = (X[:, 0] > 0.5).astype(int)
    fitted = FOFO(passes=3, shuffle=False).fit(X, y)
    told = FOFO(horizon=1500)
    for _ in range(3):
        told.partial_fit(X, y)
    assert fitted.threshold_ == told.threshold_
    assert fitted.threshold_ != FOFO(passes=3, shuffle=False, horizon=600).fit(X, y).threshold_
    in_blocks = FOFO()
    for _ in range(3):
        in_blocks.partial_fit(X, y)
    assert in_blocks.threshold_ != told.threshold_


def test_the_scale_of_steps_moves_faster():
    eta, y = beta_stream(0.05, 2.0, 20_000, 0)
    best = best_threshold(0.05, 2.0, 1.0)
    errors = [abs(known(eta, y, horizon=20_000, step_scale=scale).threshold_ - best) for scale in (1.0, 10.0)]
    assert errors[1] < errors[0]


def test_on_a_stream_with_learnt_posteriors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 5))
    y = (rng.random(60_000) < stats.logistic.cdf(2.0 * X[:, 0] - 3.0)).astype(int)
    model = FOFO(horizon=60_000, step_scale=3.0).partial_fit(X, y)
    proba = stats.logistic.cdf(2.0 * X[:, 0] - 3.0)
    cuts = np.linspace(0.05, 0.6, 56)
    best = max(f1_score(y, proba >= cut) for cut in cuts)
    assert f1_score(y, model.predict(X)) > best - 0.01
    assert model.threshold_ == pytest.approx(best / 2, abs=0.03)
    assert model.online_value_ > best - 0.05
