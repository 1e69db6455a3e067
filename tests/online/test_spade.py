"""SPADE against its literal form, and the laws of its duals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import spade as oracle
from scipy import sparse

from csf.metrics import GMean, HMean, MinRate, QMean, get_metric
from csf.online import SPADE as Learner
from csf.online import _ascent
from csf.online._ascent import dual_projection, dual_tangent, initial_scalars


def SPADE(*args, **options):
    """With the published steps."""
    return Learner(*args, **({"step": "paper", "passes": 25} | options))


METRICS = {"min_rate": MinRate(), "hmean": HMean(), "qmean": QMean(), "gmean": GMean()}
PLACES = {"min_rate": _ascent.MIN, "hmean": _ascent.HMEAN, "qmean": _ascent.QMEAN, "gmean": _ascent.GMEAN}
each_metric = pytest.mark.parametrize("name", METRICS)
VARIANTS = {
    "default": {},
    "small ball": {"radius": 1.5, "eta0": 20.0},
    "medium steps": {"eta0": 50.0, "dual_eta0": 1.0},
    "logistic": {"reward": "logistic", "gain": 0.0, "eta0": 100.0},
    "balanced": {"sampling": "balanced"},
    "closed": {"dual": "closed", "memory": 1.0},
    "balanced and closed": {"sampling": "balanced", "dual": "closed", "memory": 0.9},
    "known share": {"pos": 0.25, "eps": "fixed"},
}


def stream(n=250, d=5, seed=0, pos=0.25):
    """Rows of length at most 1 whose scale is 1, and signs."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < pos).astype(int)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    X[:, 0] += 1.5 * y
    X /= 1.001 * np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    X[0] = np.append(0.999, np.zeros(d - 1))
    return X, y


def numbers_drawn(seed, n):
    """First random numbers of a learner with this seed."""
    return np.random.default_rng(np.random.RandomState(seed).randint(np.iinfo(np.int32).max)).random(n)


def literally(model, X, y):
    """What the oracle says after each example, of a learner with these parameters."""
    given = model.get_params()
    uniforms = numbers_drawn(given["random_state"], y.size)
    rows = np.column_stack([X, np.full(y.size, 1.0)]).tolist()
    names = ("radius", "eta0", "dual_eta0", "pos", "memory", "gain")
    return oracle.spade(
        rows, np.where(y == 1, 1, -1).tolist(), get_metric(given["metric"]), kind=given["reward"],
        uniforms=uniforms.tolist() if given["sampling"] == "balanced" else None,
        closed=given["dual"] == "closed", fixed_eps=given["eps"] == "fixed", **{name: given[name] for name in names},
    )  # fmt: skip


@pytest.mark.slow
@each_metric
@pytest.mark.parametrize(
    ("variant", "kind"), [("default", sparse.csr_array), *((variant, np.asarray) for variant in VARIANTS)]
)
def test_it_is_the_literal_algorithm_step_by_step(name, variant, kind):
    X, y = stream()
    model = SPADE(name, random_state=3, **VARIANTS[variant])
    expected = list(literally(model, X, y))
    rows = kind(X)
    for i in range(y.size):
        model.partial_fit(rows[i : i + 1], y[i : i + 1], classes=[0, 1])
        last, mean, dual, steps = expected[i]
        assert model.n_updates_ == steps
        np.testing.assert_allclose(model.dual_, dual, atol=1e-10)
        np.testing.assert_allclose(model.coef_last_[0], last[:-1], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), mean, rtol=1e-10, atol=1e-10)
    assert model.x_scale_ == 1.0


# ---------------------------------------------------------------- duals

NUMBERS = st.one_of(st.floats(-3.0, 3.0), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0]))


def is_in_region(name, a, b, eps):
    root = np.sqrt(eps)
    return {
        "min_rate": abs(a + b - 1.0) <= 1e-9 and min(a, b) >= 0.0,
        "hmean": np.sqrt(max(a, 0)) + np.sqrt(max(b, 0)) >= np.sqrt(2.0) - 1e-9 and 0 <= min(a, b) <= max(a, b) <= 2,
        "qmean": a * a + b * b <= 0.5 + 1e-9 and min(a, b) >= 0.0,
        "gmean": a * b >= 0.25 - 1e-9 and 0.5 * root - 1e-9 <= min(a, b) <= max(a, b) <= 0.5 / root * (1 + 1e-9),
    }[name]


def boundary(name, eps):
    """Points of the region, dense on its border."""
    z = np.linspace(0.0, 1.0, 20_001)
    half = 0.5 / np.sqrt(eps)
    u = 0.5 * (2.0 * half) ** np.linspace(-1.0, 1.0, 20_001)
    return {
        "min_rate": (z, 1.0 - z),
        "hmean": (2.0 * z**2, 2.0 * (1.0 - z) ** 2),
        "qmean": (np.sqrt(0.5) * np.sin(np.pi / 2 * z), np.sqrt(0.5) * np.cos(np.pi / 2 * z)),
        "gmean": (u, 0.25 / u),
    }[name]


@each_metric
@settings(max_examples=60)
@given(a=NUMBERS, b=NUMBERS, eps=st.sampled_from([1e-3, 0.1, 0.9]))
def test_projections_are_the_nearest_points(name, a, b, eps):
    c, d = dual_projection(PLACES[name], a, b, eps)
    assert is_in_region(name, c, d, eps)
    np.testing.assert_allclose(dual_projection(PLACES[name], c, d, eps), (c, d), atol=1e-9)
    distance = np.hypot(c - a, d - b)
    slack = 1e-9 * max(1.0, abs(a), abs(b))
    assert distance <= slack or not is_in_region(name, a, b, eps)
    np.testing.assert_allclose(dual_projection(PLACES[name], b, a, eps), (d, c), atol=1e-6 * max(1.0, abs(a), abs(b)))
    along = boundary(name, eps)
    assert distance <= np.hypot(along[0] - a, along[1] - b).min() + slack


@each_metric
@settings(max_examples=60)
@given(p=st.floats(-5.0, 1.0), n=st.floats(-5.0, 1.0), eps=st.sampled_from([1e-3, 0.1]))
def test_best_duals_are_those_of_the_metric(name, p, n, eps):
    metric = GMean(eps) if name == "gmean" else METRICS[name]
    np.testing.assert_allclose(dual_tangent(PLACES[name], p, n, eps), metric.dual(p, n), rtol=1e-9, atol=1e-12)


@each_metric
@pytest.mark.parametrize("p", [0.0, -1.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [0.0, -1.0, 0.5, 1.0])
def test_best_duals_in_corners(name, p, n):
    np.testing.assert_allclose(dual_tangent(PLACES[name], p, n, 1e-3), METRICS[name].dual(p, n))


@pytest.mark.slow
@each_metric
@pytest.mark.parametrize("dual", ["gradient", "closed"])
@pytest.mark.parametrize("eps", ["schedule", "fixed"])
def test_duals_stay_in_their_region_whatever_the_rewards(name, dual, eps):
    """Long constant features and a huge ball make rewards of -1e6."""
    rng = np.random.default_rng(0)
    options = {"dual": dual, "eps": eps, "eta0": 1e6, "radius": 1e6, "dual_eta0": 1.0}
    model, X, worst = SPADE(name, **options), rng.choice([-1.0, 1.0], (300, 1)), 0.0
    for x, y in zip(X, rng.integers(2, size=300)):
        if model.__dict__.get("n_seen_"):
            worst = min(worst, (2 * y - 1) * model.decision_function(x[None])[0])
        model.partial_fit(x[None], [y], classes=[0, 1])
        width = 1e-3 if eps == "fixed" else max(model.n_updates_, 1) ** -0.25
        if min(model._rule.scalars[[_ascent.N_POS, _ascent.N_NEG]]) > 0:
            assert is_in_region(name, *model.dual_, width)
    assert worst < -1e5


@each_metric
def test_prices_wait_for_both_classes(name):
    X, _ = stream(50)
    model = SPADE(name).partial_fit(X, np.zeros(50), classes=[0, 1])
    assert model.dual_ == (0.5, 0.5)
    assert model.n_updates_ == 50
    assert model.coef_.any()
    assert model.partial_fit(X[:5], np.ones(5)).dual_ != (0.5, 0.5)


@each_metric
@pytest.mark.parametrize("dual", ["gradient", "closed"])
def test_swapped_classes_swap_the_prices(name, dual):
    X, y = stream()
    # an estimated share is not exactly that of the other class
    one = SPADE(name, dual=dual, pos=0.25).partial_fit(X, y)
    other = SPADE(name, dual=dual, pos=0.75).partial_fit(-X, 1 - y)
    np.testing.assert_allclose(other.dual_, one.dual_[::-1], rtol=1e-9)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)
    np.testing.assert_allclose(other.intercept_, -one.intercept_, rtol=1e-9)


# ---------------------------------------------------------------- what it finds


def surrogate(metric, model, X, y):
    """Extension of the metric at the average rewards of each class."""
    score = X @ model.coef_[0] + model.intercept_[0]
    r = np.minimum(1.0, np.where(y == 1, score, -score))
    return metric.extension(r[y == 1].mean(), r[y == 0].mean()), r[y == 1].mean(), r[y == 0].mean()


def toy(n=4000, pos=0.1, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < pos).astype(int)
    X = rng.standard_normal((n, 3)) + 1.3 * y[:, None]
    return X / np.linalg.norm(X, axis=1).max(), y


def best_surrogate(metric, X, y, start, radius, steps=3000):
    """Batch subgradient ascent with the same ball, from weights at hand."""
    Z = np.column_stack([X, np.ones(y.size)])
    w, best = np.array(start), -np.inf
    sign = np.where(y == 1, 1.0, -1.0)
    for t in range(1, steps + 1):
        margin = sign * (Z @ w)
        r = np.minimum(1.0, margin)
        means = r[y == 1].mean(), r[y == 0].mean()
        best = max(best, float(metric.extension(*means)))
        duals = metric.dual(*means)
        weight = np.where(y == 1, duals[0] / (y == 1).sum(), duals[1] / (y == 0).sum()) * (margin < 1.0) * sign
        w = w + 3.0 / np.sqrt(t) * (Z.T @ weight)
        w *= min(1.0, radius / np.linalg.norm(w))
    return best


@pytest.mark.slow
@each_metric
@pytest.mark.parametrize("sampling", ["all", "balanced"])
def test_surrogate_is_near_its_maximum(name, sampling):
    X, y = toy()
    metric = METRICS[name]
    model = SPADE(name, eta0=100.0, passes=5 if sampling == "all" else 20, sampling=sampling, random_state=0).fit(X, y)
    reached, *means = surrogate(metric, model, X, y)
    start = np.append(model.coef_[0], model.intercept_)
    assert reached >= best_surrogate(metric, X, y, start, 100.0) - 0.01
    if name == "min_rate":
        assert abs(means[0] - means[1]) < 0.05
    # any point of the region bounds the value from above
    for a, b in [model.dual_, *zip(*[part[::2000] for part in boundary(name, 1e-3)])]:
        assert reached <= a * means[0] + b * means[1] - metric.conjugate(a, b) + 1e-6


@each_metric
def test_prices_bound_every_iterate_from_above(name):
    X, y = toy(600)
    model, metric = SPADE(name, fit_intercept=False, eps="fixed"), METRICS[name]
    for start in range(0, y.size, 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20], classes=[0, 1])
        a, b = model.dual_
        for w in (model.coef_[0], model.coef_last_[0]):
            r = np.minimum(1.0, np.where(y == 1, 1.0, -1.0) * (X @ w))
            means = r[y == 1].mean(), r[y == 0].mean()
            bound = a * means[0] + b * means[1] - metric.conjugate(a, b)
            assert metric.extension(*means) - 1e-6 <= bound < np.inf


@each_metric
def test_rare_positives_are_found(name):
    rng = np.random.default_rng(0)
    y = (rng.random(30_000) < 0.01).astype(int)
    X = rng.standard_normal((y.size, 3)) + 1.2 * y[:, None]
    model = SPADE(name, passes=2, random_state=0).fit(X, y)
    assert model.predict(X)[y == 1].mean() > 0.5
    assert METRICS[name].score(y, model.predict(X)) > 0.7


def test_balanced_sampling_takes_both_classes_equally_often():
    X, y = toy(20_000)
    model = SPADE(sampling="balanced", passes=1, random_state=0).fit(X, y)
    assert model.n_seen_ == y.size
    assert model.n_updates_ == pytest.approx(2 * y.sum(), rel=0.05)
    assert model._rule.scalars[_ascent.N_POS] == y.sum()


# ---------------------------------------------------------------- when to stop


def passes_made(scores, patience):
    """Passes until the score has not risen by 1e-4 in so many."""
    best, last_rise = scores[0], 0
    for number, score in enumerate(scores):
        if score > best + 1e-4:
            best, last_rise = score, number
        if number - last_rise >= patience:
            return number + 1
    return len(scores)


@each_metric
def test_it_stops_when_held_out_samples_say_so(name):
    X, y = toy(3000)
    y = np.where(y == 1, "a", "b")
    common = {"pos_label": "a", "random_state": 3}
    full = SPADE(name, patience=100, **common).fit(X, y)
    assert full.validation_scores_.shape == (25,)
    lengths = set()
    for patience in (1, 3, 6):
        model = SPADE(name, patience=patience, **common).fit(X, y)
        n_passes = passes_made(full.validation_scores_, patience)
        np.testing.assert_array_equal(model.validation_scores_, full.validation_scores_[:n_passes])
        assert model.n_seen_ == n_passes * (y.size - np.ceil(0.1 * (y == "a").sum()) - np.ceil(0.1 * (y == "b").sum()))
        lengths.add(n_passes)
    assert min(lengths) < 25
    assert len(lengths) > 1


@pytest.mark.parametrize(("rise", "n_passes"), [(2e-4, 6), (4e-5, 3), (-0.1, 3)])
def test_what_counts_as_a_rise(monkeypatch, rise, n_passes):
    scores = iter(0.5 + rise * np.arange(6))
    monkeypatch.setattr(Learner, "_score", lambda *args: next(scores))
    assert SPADE(patience=2, passes=6).fit(*toy(200)).validation_scores_.size == n_passes


@pytest.mark.parametrize("pos_label", [1, 0])
def test_held_out_samples_are_a_tenth_of_each_class_and_not_learnt(pos_label):
    X, y = toy(1005)
    model = SPADE(patience=2, passes=4, shuffle=False, random_state=3, pos_label=pos_label).fit(X, y)
    rng = np.random.default_rng(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    places = [rng.permutation(np.flatnonzero(y == label)) for label in (pos_label, 1 - pos_label)]
    out = np.concatenate([of_class[: -(-of_class.size // 10)] for of_class in places])
    rest = np.setdiff1d(np.arange(y.size), out)
    again = SPADE(shuffle=False, pos_label=pos_label)
    for value in model.validation_scores_:
        again.partial_fit(X[rest], y[rest])
        assert value == pytest.approx(METRICS["qmean"].score(y[out], again.predict(X[out])))
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-9, atol=1e-12)
    assert again.validation_scores_.size == SPADE(passes=1).fit(X, y).validation_scores_.size == 0


def test_one_sample_of_a_class_cannot_be_held_out():
    X, _ = toy(100)
    model = SPADE(patience=3)
    with pytest.raises(ValueError, match="patience=3 holds out samples of each class, and one of them has a single"):
        model.fit(X, np.arange(100) == 5)
    assert not hasattr(model, "classes_")
    assert model.fit(X, np.arange(100) < 2).validation_scores_.size > 0
    assert SPADE(patience=3).partial_fit(X, np.arange(100) == 5).n_seen_ == 100


# ---------------------------------------------------------------- shares


def test_the_estimated_share_stays_off_zero_and_one():
    s, count = initial_scalars(), _ascent._count_class
    assert count(s, True, 0.0) == pytest.approx(1.5 / 2.0)
    assert count(s, False, 0.0) == pytest.approx(1.5 / 3.0)
    s[_ascent.MET_NEG] = 1e6
    assert count(s, False, 0.0) == 1e-3
    s[_ascent.MET_POS] = 1e12
    assert count(s, True, 0.0) == 1.0 - 1e-3
    assert count(s, True, 0.2) == 0.2
