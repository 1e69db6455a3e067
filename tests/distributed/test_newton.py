"""Linear models by sums over parts: the solutions of csf.solvers, certified, in a few passes, and their scalers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from csf.distributed import Job
from csf.distributed.newton import (
    LinearProblem,
    Moments,
    Part,
    Scaling,
    add_answers,
    answers,
    scalers_of,
    solve_together,
)
from csf.solvers import Logistic, Rows, SquaredHinge

BASES = {
    "squared hinge": LinearSVC(C=0.7, tol=1e-8),
    "without intercept": LinearSVC(fit_intercept=False, tol=1e-8),
    "class weights": LinearSVC(class_weight={1: 3.0}, intercept_scaling=2.0, tol=1e-8),
    "logistic": LogisticRegression(tol=1e-10),
    "logistic, large C": LogisticRegression(C=1e4, tol=1e-10),
    "liblinear": LogisticRegression(solver="liblinear", tol=1e-10),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)) * [1.0, 3.0, 0.2, 1.0, 1.0]
    return X, X[:, 0] + 0.5 * rng.normal(size=600) > 1.0, rng.integers(0, 4, 600) / 2.0, rng.integers(0, 3, 600)


class Asked:
    """Passes over some parts, counted."""

    def __init__(self, X, is_pos, weight, fold, n_parts=3):
        rows = np.array_split(np.arange(is_pos.size), n_parts)
        self.parts = [Part(X[at], is_pos[at], None if weight is None else weight[at], fold[at]) for at in rows]
        self.count = 0

    def __call__(self, questions):
        self.count += 1
        return add_answers([answers(part, questions) for part in self.parts])


def solved(base, X, is_pos, weight, fold, left_out, costs):
    """The same problem by the solvers of one machine, to the last digits."""
    problem = LinearProblem.of(base)
    at = np.flatnonzero(fold != left_out) if left_out is not None else np.arange(fold.size)
    rows, sign = Rows(X[at], constant=problem.constant), np.where(is_pos[at], 1.0, -1.0)
    scaled = np.where(is_pos[at], costs[0] * problem.scale[0], costs[1] * problem.scale[1])
    scaled = scaled if weight is None else scaled * weight[at]
    solver = Logistic(rows, sign, penalise_constant=not problem.free) if problem.logistic else SquaredHinge(rows, sign)
    return solver.solve(scaled, tol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("base", BASES)
def test_solutions_are_those_of_one_machine(data, base, weighted):
    X, is_pos, weight, fold = data
    weight = weight if weighted else None
    ask = Asked(X, is_pos, weight, fold)
    jobs = [Job(BASES[base], k, costs) for k in (0, 2, None) for costs in ((1.6, 0.4), (0.5, 1.5))]
    models = solve_together(jobs, 5, ask)
    # One step of all jobs a pass; one job after the other would take several times as many.
    assert ask.count <= 30
    for job, model in zip(jobs, models, strict=True):
        known = solved(job.base, X, is_pos, weight, fold, job.fold, job.costs)
        assert model.objective >= known.objective * (1 - 1e-12)
        # The gap is a proof, and it is not much larger than what it proves.
        assert model.objective - known.objective <= model.relative_gap * model.objective + 1e-9 * known.objective
        # Steps end where rounding hides what is left.
        assert model.relative_gap <= 1e-7
        np.testing.assert_allclose(model.w, known.w, atol=1e-4 if "large" in base else 1e-5)
        np.testing.assert_allclose(model.scores(X), Rows(X, constant=model.constant).scores(model.w))


@pytest.mark.parametrize("base", [LinearSVC(), LogisticRegression()])
def test_each_gap_is_a_proof_on_the_way(data, base):
    X, is_pos, weight, fold = data
    best = solved(base, X, is_pos, weight, fold, None, (1.0, 1.0)).objective
    gaps = []
    for steps in range(1, 6):
        base.set_params(max_iter=steps, tol=1e-12)
        (model,) = solve_together([Job(base, None, (1.0, 1.0))], 5, Asked(X, is_pos, weight, fold))
        assert model.n_iter <= steps
        assert model.objective - best <= model.relative_gap * model.objective * (1 + 1e-9) + 1e-9 * best
        gaps.append(model.relative_gap)
    assert gaps[-1] < 1e-3 * gaps[0]


def test_trainings_do_not_depend_on_each_other_or_on_empty_parts(data):
    ask, with_empty = Asked(*data), Asked(*data)
    with_empty.parts.insert(1, Part(*(each[:0] for each in data)))
    jobs = [Job(LinearSVC(), 0, (1.6, 0.4)), Job(LogisticRegression(), 1, (0.5, 1.5)), Job(LinearSVC(), None, (1, 1))]
    together, again = (solve_together(jobs, 5, each) for each in (ask, with_empty))
    for job, model, same in zip(jobs, together, again, strict=True):
        (alone,) = solve_together([job], 5, ask)
        np.testing.assert_array_equal(alone.w, model.w)
        np.testing.assert_allclose(same.w, model.w, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_features_that_are_too_large_or_none(data, value):
    X, is_pos, weight, fold = data
    X = X.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match="the features are not finite, or too large"):
        solve_together([Job(LinearSVC(), 3, (1.0, 1.0))], 5, Asked(X, is_pos, weight + 1, fold))


def test_a_start_saves_passes(data):
    ask = Asked(*data)
    (cold,) = solve_together([Job(LogisticRegression(), 0, (1.0, 1.0))], 5, ask)
    first, ask.count = ask.count, 0
    (warm,) = solve_together([Job(LogisticRegression(), 0, (1.01, 0.99), [cold.w])], 5, ask)
    assert ask.count < first
    assert warm.relative_gap <= 1e-4


def test_a_step_that_is_too_long_is_shortened():
    """Far out, where the logistic loss is nearly straight, the whole step goes up."""
    X = np.array([[1.0], [1.1], [-1.0], [0.9]])
    is_pos, fold = np.array([True, False, False, True]), np.zeros(4, dtype=int)
    base = LogisticRegression(C=100.0, tol=1e-9, solver="liblinear")
    (model,) = solve_together([Job(base, None, (1.0, 1.0), [np.array([30.0, -20.0])])], 1, Asked(X, is_pos, None, fold))
    known = solved(base, X, is_pos, None, fold, None, (1.0, 1.0))
    assert model.objective == pytest.approx(known.objective, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("base", [LinearSVC(tol=1e-5), LogisticRegression(tol=1e-7)])
@pytest.mark.parametrize("kind", ["CSR", "dense"])
def test_many_features_go_without_a_matrix(base, kind):
    rng = np.random.default_rng(1)
    X = sparse.random(300, 600, density=0.05, random_state=1, format="csr")
    is_pos, fold = X @ rng.normal(size=600) > 0.3, rng.integers(0, 2, 300)
    X = X if kind == "CSR" else X.toarray()
    (model,) = solve_together([Job(base, 0, (1.5, 0.5))], 600, Asked(X, is_pos, None, fold))
    known = solved(base, X, is_pos, None, fold, 0, (1.5, 0.5))
    assert model.relative_gap < 1e-6
    assert model.objective == pytest.approx(known.objective, rel=1e-6)


@pytest.mark.parametrize("base", [LinearSVC(tol=1e-300), LogisticRegression(tol=1e-300, max_iter=1000)])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_a_tolerance_that_rounding_does_not_reach_ends_the_search_all_the_same(base, far):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 5))
        is_pos = X[:, 0] + 0.5 * rng.normal(size=300) > 1.0
        ask = Asked(X + far, is_pos, None, np.zeros(300, dtype=int))
        (model,) = solve_together([Job(base, None, (1.6, 0.4))], 5, ask)
        assert model.n_iter < 500
        assert model.relative_gap < 1e-6


@pytest.mark.parametrize("base", [LinearSVC(C=1e-200), LogisticRegression(C=1e-200, solver="liblinear")])
def test_losses_that_vanish_beside_the_penalty_leave_nothing_to_find(data, base):
    X, is_pos, weight, fold = data
    (model,) = solve_together([Job(base, 0, (1.6, 0.4))], 5, Asked(X, is_pos, 1e-200 * weight, fold))
    assert model.w.tolist() == [0.0] * 6
    assert (model.objective, model.relative_gap, model.n_iter) == (0.0, 0.0, 0)


# ---------------------------------------------------------------- scalers


# A column far from 0, one of large values, one that is constant, one of zeros.
X = np.random.default_rng(0).normal(size=(500, 5)) * [1, 1e-2, 1e4, 0, 0] + [0, 2000, 3, 7, 0]
CHAINS = {
    "standard": [StandardScaler()],
    "scale alone": [StandardScaler(with_mean=False)],
    "range": [MinMaxScaler((-1, 2))],
    "largest": [MaxAbsScaler()],
    "two": [MinMaxScaler(), StandardScaler(with_std=False)],
}


def moments_of(X, n_parts=4):
    rows = np.array_split(np.arange(X.shape[0]), n_parts)
    return Moments.merged([Moments.of(X[at]) for at in rows])


@pytest.mark.parametrize("chain", CHAINS)
def test_scalers_are_those_of_all_rows(chain):
    scaling = Scaling.of(CHAINS[chain], moments_of(X), 1.0, None)
    known = make_pipeline(*CHAINS[chain]).fit(X)
    found = X
    for scaler in scaling.scalers:
        found = scaler.transform(found)
        assert scaler.n_samples_seen_ == 500
    np.testing.assert_allclose(found, known.transform(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(X * scaling.slope + scaling.shift, known.transform(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("chain", ["scale alone", "largest"])
def test_sparse_rows(chain):
    rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    scaling, known = Scaling.of(CHAINS[chain], moments_of(rows), 0.0, None), make_pipeline(*CHAINS[chain]).fit(rows)
    np.testing.assert_allclose(scaling.scalers[0].transform(rows).toarray(), known.transform(rows).toarray(), rtol=1e-6)
    assert not scaling.shift.any()


def test_a_shift_that_cannot_be_taken_in_is_refused():
    rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    with pytest.raises(
        ValueError, match="sparse features would be dense where a scaler shifts them; use StandardScaler"
    ):
        Scaling.of(CHAINS["standard"], moments_of(rows), 1.0, None)
    with pytest.raises(ValueError, match="a model without an intercept is another where a scaler shifts them"):
        Scaling.of(CHAINS["standard"], moments_of(X), 0.0, None)


def test_pipelines_of_scalers():
    assert scalers_of(LogisticRegression()) is None
    assert scalers_of(make_pipeline(LogisticRegression())) is None
    assert scalers_of(make_pipeline(MinMaxScaler(clip=True), LogisticRegression())) is None
    assert len(scalers_of(make_pipeline(*CHAINS["two"], LogisticRegression()))) == 2
