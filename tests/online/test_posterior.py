"""OFO: the loop against the literal algorithm, and where its threshold goes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_posteriors import KnownPosterior, best_threshold, beta_stream
from oracles.ofo import ofo as literal_ofo
from scipy.special import logit
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, fbeta_score, jaccard_score
from sklearn.naive_bayes import BernoulliNB

from csf.metrics import get_metric
from csf.online import OFO as Learner
from csf.online import OnlineLogistic
from csf.online.posterior import ofo


def OFO(*args, **options):
    """With the published steps."""
    return Learner(*args, **({"step": "paper"} | options))


streams = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=200)


def run(proba, is_pos, *, beta=1.0, a=0.0, b=0.0, forgetting=1.0, size=None):
    """State and counts after chunks of ``size``."""
    proba, is_pos = np.asarray(proba, dtype=float), np.asarray(is_pos, dtype=bool)
    state, counts = np.array([a, b, a / b if b > 0 else 0.0]), np.zeros(4, dtype=np.int64)
    size = size or max(len(proba), 1)
    for start in range(0, len(proba), size):
        part = slice(start, start + size)
        factors = np.full(proba[part].size, float(forgetting))
        ofo(proba[part], is_pos[part], state, beta**2, factors, counts)
    return state, counts


@given(stream=streams, beta=st.floats(0.01, 10.0), forgetting=st.floats(0.5, 1.0), prior=st.floats(0.0, 20.0))
def test_every_step_is_that_of_the_literal_algorithm(stream, beta, forgetting, prior):
    proba, is_pos = zip(*stream)
    a = 0.3 * prior / (1 + beta**2)
    steps = list(literal_ofo(proba, is_pos, beta=beta, a=a, b=prior, forgetting=forgetting))
    for i in (1, len(stream) // 2, len(stream)):
        state, counts = run(proba[:i], is_pos[:i], beta=beta, a=a, b=prior, forgetting=forgetting)
        if i:
            _, tau, numerator, denominator = steps[i - 1]
            np.testing.assert_allclose(state, [numerator, denominator, tau], rtol=1e-10, atol=1e-10)
            emitted = [y_hat for y_hat, *_ in steps[:i]]
            assert counts[0] == sum(e and p for e, p in zip(emitted, is_pos))
            assert counts[:2].sum() == sum(emitted)
            assert counts.sum() == i


@given(stream=streams, size=st.integers(1, 50), window=st.sampled_from([np.inf, 9.0]))
def test_late_examples_weigh_more(stream, size, window):
    """Sums of literal weights: t, or more where a window grows faster."""
    proba, is_pos = (np.array(part) for part in zip(*stream))
    state, counts = np.array([0.0, 0.0, 0.5]), np.zeros(4, dtype=np.int64)
    for start in range(0, proba.size, size):
        part = slice(start, start + size)
        forgetting = Learner(window=window)._forgetting(start, proba[part].size)
        ofo(proba[part], is_pos[part], state, 1.0, forgetting, counts)
    a = b = weight = 0.0
    tau = 0.5
    for t, (p, y) in enumerate(stream, start=1):
        weight = 1.0 if t == 1 else weight / min(t / (t + 1.0), 1.0 - 1.0 / window)
        predicted = p >= tau
        a, b = a + weight * (predicted and y), b + weight * (y + predicted)
        tau = a / b if b else tau
    assert state[2] == pytest.approx(tau, rel=1e-9)
    assert counts.sum() == proba.size


@given(stream=streams, beta=st.floats(0.1, 5.0), size=st.integers(1, 50))
def test_threshold_is_the_measure_of_what_was_emitted(stream, beta, size):
    proba, is_pos = zip(*stream)
    (_, _, tau), (tp, fp, fn, _) = run(proba, is_pos, beta=beta, size=size)
    value = (1 + beta**2) * tp / max((1 + beta**2) * tp + beta**2 * fn + fp, 1e-300)
    assert tau == pytest.approx(value / (1 + beta**2), rel=1e-9)
    assert 0.0 <= tau <= 1.0 / (1.0 + beta**2)


@pytest.mark.parametrize("law", [(0.5, 3.0), (2.0, 5.0), (0.05, 2.0)])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_threshold_tends_to_the_best_with_known_posteriors(law, beta):
    best = best_threshold(*law, beta**2)
    errors = {}
    for n in (2_000, 200_000):
        errors[n] = np.mean([abs(run(*beta_stream(*law, n, seed), beta=beta)[0][2] - best) for seed in range(10)])
    assert errors[200_000] < 0.5 * errors[2_000]
    assert errors[200_000] < (0.01 if law[0] > 0.1 else 0.03)


def test_online_value_is_the_metric_of_emitted_predictions():
    eta, y = beta_stream(2.0, 5.0, 3000, 1)
    emitted = np.array([y_hat for y_hat, *_ in literal_ofo(np.append([0.5], eta[1:]), y, beta=1.0)])
    for metric, score in (("f1", f1_score), ("jaccard", jaccard_score)):
        model = OFO(metric, posterior=KnownPosterior()).partial_fit(eta[:, None], y)
        assert model.online_value_ == pytest.approx(score(y, emitted))
        assert model.online_value_ == pytest.approx(get_metric(metric).of(model.online_profile_))
    assert model.threshold_ == pytest.approx(f1_score(y, emitted) / 2)
    model = OFO("f2", posterior=KnownPosterior()).partial_fit(eta[:, None], y)
    emitted = [y_hat for y_hat, *_ in literal_ofo(np.append([0.5], eta[1:]), y, beta=2.0)]
    assert model.online_value_ == pytest.approx(fbeta_score(y, emitted, beta=2.0))


def test_no_positives_for_a_hundred_thousand_examples():
    X = np.random.default_rng(0).standard_normal((100_000, 3))
    model = OFO().partial_fit(X, np.zeros(100_000), classes=[0, 1])
    assert model.threshold_ == 0.0
    assert model.online_counts_ == {"tp": 0, "fp": 100_000, "fn": 0, "tn": 0}
    assert model.online_value_ == 0.0
    assert model.predict(X[:100]).all()
    y = (X[:, 0] > 1.0).astype(int)
    model.partial_fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.7  # the false positives of the start are never forgotten
    model = OFO(forgetting=0.999).partial_fit(X, np.zeros(100_000), classes=[0, 1]).partial_fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.85


def test_predicting_changes_nothing():
    X = np.random.default_rng(0).standard_normal((500, 3))
    model = OFO().partial_fit(X, (X[:, 0] > 0.5).astype(int))
    state = model._state.copy(), model.posterior_._rule.v.copy(), model.online_counts_
    model.predict(X), model.predict_proba(X), model.decision_function(X)
    assert np.array_equal(state[0], model._state)
    assert np.array_equal(state[1], model.posterior_._rule.v)
    assert state[2] == model.online_counts_


def test_a_threshold_stays_where_everything_is_forgotten():
    (a, _, tau), _ = run(np.zeros(4000), np.zeros(4000, dtype=bool), a=3.0, b=10.0, forgetting=0.5)
    assert a == 0.0
    assert np.isfinite(tau)
    state = np.array([0.0, 0.0, 0.25])  # nothing is left of either
    ofo(np.zeros(3), np.zeros(3, dtype=bool), state, 1.0, np.full(3, 0.5), np.zeros(4, dtype=np.int64))
    assert state.tolist() == [0.0, 0.0, 0.25]


def test_decisions_tell_neighbouring_probabilities_apart():
    """Where their log-odds are the same number."""
    model = OFO(posterior=KnownPosterior()).partial_fit([[0.2], [0.8]], [0, 1])
    cuts = np.random.default_rng(0).uniform(0.1, 0.5, 200)
    below = np.nextafter(cuts, 0.0)
    alike = logit(below) == logit(cuts)
    assert alike.any()
    for cut, proba in zip(cuts[alike], below[alike]):
        model._state[2] = cut
        assert model.predict([[proba], [cut]]).tolist() == [0, 1]


def test_a_prior_sets_the_first_threshold():
    assert run([0.29, 0.31], [False, False], a=3.0, b=10.0)[1].tolist() == [0, 1, 0, 1]
    assert run([], [], a=3.0, b=10.0)[0][2] == 0.3
    with pytest.raises(ValueError, match=r"prior must be \(a, b\) with 0 <= a <= 0.5 \* b, got \(6.0, 10.0\)"):
        OFO(prior=(6.0, 10.0)).partial_fit([[0.0], [1.0]], [0, 1])


def test_forgetting_follows_a_change():
    eta, y = beta_stream(0.5, 3.0, 20_000, 0)
    later, later_y = beta_stream(5.0, 2.0, 5_000, 1)
    best = best_threshold(5.0, 2.0, 1.0)
    both = np.append(eta, later), np.append(y, later_y)
    remembers, forgets = run(*both)[0][2], run(*both, forgetting=0.999)[0][2]
    assert abs(forgets - best) < 0.03 < abs(remembers - best)


@pytest.mark.parametrize(
    "learner", [None, OnlineLogistic(step="paper"), BernoulliNB(), SGDClassifier(loss="log_loss", random_state=0)]
)
def test_learners_predict_before_they_learn(learner):
    """Labels that have nothing to do with the features cannot be foreseen."""
    rng = np.random.default_rng(0)
    X, y = np.hstack([np.eye(400), rng.standard_normal((400, 1))]), rng.integers(0, 2, 400)
    for batch_size in (1, 50):
        model = OFO(posterior=learner, batch_size=batch_size).partial_fit(X, y)
        assert model.online_profile_.tpr - model.online_profile_.fpr < 0.15


def test_learners_from_elsewhere_are_cloned_and_used_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = np.where(X[:, 0] + rng.standard_normal(3000) > 1.0, "yes", "no")
    learner = SGDClassifier(loss="log_loss", random_state=0)
    model = OFO(posterior=learner, batch_size=100, pos_label="yes").partial_fit(X, y)
    alone = SGDClassifier(loss="log_loss", random_state=0)
    for start in range(0, 3000, 100):
        alone.partial_fit(X[start : start + 100], y[start : start + 100], classes=["no", "yes"])
    assert not hasattr(learner, "coef_")
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.intercept_, alone.intercept_)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X) == "yes", alone.predict_proba(X)[:, 1] >= model.threshold_)
    assert f1_score(y, model.predict(X), pos_label="yes") > f1_score(y, alone.predict(X), pos_label="yes")
    swapped = OFO(posterior=learner, batch_size=100, pos_label="no").partial_fit(X, y)
    np.testing.assert_array_equal(swapped.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(swapped.decision_function(X) > 0, swapped.predict(X) == "yes")
    np.testing.assert_array_equal(swapped.predict(X) == "no", alone.predict_proba(X)[:, 0] >= swapped.threshold_)


def test_a_posterior_that_fails_leaves_the_batches_before():
    class Fragile(KnownPosterior):
        def partial_fit(self, X, y, classes=None):
            if (X == 0.25).any():
                raise RuntimeError("a quarter")
            return super().partial_fit(X, y, classes)

    eta, y = beta_stream(2.0, 5.0, 100, 0)
    expected = OFO(posterior=Fragile(), batch_size=10).partial_fit(eta[:50, None], y[:50])
    model = OFO(posterior=Fragile(), batch_size=10)
    eta[57] = 0.25
    with pytest.raises(RuntimeError, match="a quarter"):
        model.partial_fit(eta[:, None], y)
    assert model.n_seen_ == 50
    assert model.threshold_ == expected.threshold_
    assert model.online_counts_ == expected.online_counts_
