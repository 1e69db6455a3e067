"""Fast trainers of linear models give what scikit-learn documents, as the base's own class, from shared data."""

import pickle

import numpy as np
import pytest
from builders import paper_search
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from csf.data.costs import CostChannel, cost_sample_weight
from csf.data.folds import Task, make_folds
from csf.trainers import GenericTrainer, make_trainers
from csf.trainers.linear import LinearSVCTrainer, LogisticTrainer

ROUTE = CostChannel("sample_weight", "sample_weight")
X, Y = make_classification(240, 7, n_informative=4, weights=[0.75], flip_y=0.1, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, 240)
SPLITS = list(StratifiedKFold(3).split(X, Y))
TIGHT = {"tol": 1e-8, "max_iter": 100_000}


def trainers_of(base, data=X, y=Y, weight=None, **options):
    return make_trainers(base, make_folds(Task(data, y, weight), SPLITS), ROUTE, **options)


def is_fast(base, data=X, **options):
    return isinstance(trainers_of(base, data, **options)[0], LinearSVCTrainer | LogisticTrainer)


# ---------------------------------------------------------------- the same models

BASES = {
    "squared hinge": LinearSVC(**TIGHT),
    "squared hinge, dual": LinearSVC(dual=True, C=0.1, random_state=0, **TIGHT),
    "no intercept": LinearSVC(fit_intercept=False, C=10.0, **TIGHT),
    "intercept scaling": LinearSVC(intercept_scaling=20.0, **TIGHT),
    "class weight": LinearSVC(class_weight={0: 0.5, 1: 3.0}, **TIGHT),
    "class weight of one": LinearSVC(class_weight={1: 3.0}, **TIGHT),
    "balanced": LinearSVC(class_weight="balanced", **TIGHT),
    "hinge": LinearSVC(loss="hinge", C=0.01, random_state=0, **TIGHT),
    "hinge, no intercept": LinearSVC(loss="hinge", C=0.01, fit_intercept=False, random_state=0, **TIGHT),
    "logistic": LogisticRegression(**TIGHT),
    "logistic, newton-cholesky": LogisticRegression(solver="newton-cholesky", C=30.0, **TIGHT),
    "logistic, no intercept": LogisticRegression(fit_intercept=False, C=0.1, **TIGHT),
    "logistic, liblinear": LogisticRegression(solver="liblinear", intercept_scaling=4.0, **TIGHT),
    "logistic, balanced": LogisticRegression(class_weight="balanced", **TIGHT),
    "logistic, class weight": LogisticRegression(class_weight={0: 0.5, 1: 3.0}, **TIGHT),
}


@pytest.mark.parametrize(
    ("normalize", "kind", "weight"),
    [("none", np.asarray, None), ("mean", sparse.csr_array, WEIGHT)],
    ids=["none-dense-plain", "mean-CSR-weighted"],
)
@pytest.mark.parametrize("base", BASES)
def test_models_are_those_of_the_generic_trainer(base, normalize, kind, weight):
    base, data = BASES[base], kind(X)
    fast = trainers_of(base, data, weight=weight, normalize=normalize)
    generic = trainers_of(base, data, weight=weight, normalize=normalize, engine="generic")
    for one, other, (train, test) in zip(fast, generic, SPLITS, strict=True):
        assert isinstance(one, LinearSVCTrainer | LogisticTrainer)
        assert isinstance(other, GenericTrainer)
        trained, expected = one.fit((1.7, 0.3)), other.fit((1.7, 0.3))
        ours, theirs = one.estimator(trained), other.estimator(expected)
        assert vars(ours).keys() == vars(theirs).keys()
        assert type(ours) is type(theirs)
        assert ours.get_params() == theirs.get_params()
        for name, value in vars(theirs).items():
            if name.endswith("_") and name not in ("n_iter_", "coef_", "intercept_"):
                np.testing.assert_array_equal(getattr(ours, name), value)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
        assert (ours.coef_.shape, ours.intercept_.shape) == (theirs.coef_.shape, np.atleast_1d(theirs.intercept_).shape)
        assert type(ours.n_iter_) is type(theirs.n_iter_)
        assert 0.0 <= trained.gap <= 1e-7
        for part, at in (("train", train), ("test", test)):
            answer = one.predict(trained, part, tune=True)
            np.testing.assert_allclose(answer.score, ours.decision_function(data[at]), atol=1e-9)
            np.testing.assert_array_equal(answer.decided, ours.predict(data[at]) == 1)
            assert one.predict(trained, part, tune=False).score is None


@pytest.mark.parametrize("base", [LinearSVC(), LogisticRegression()], ids=["svc", "logistic"])
def test_the_final_estimator_is_whole(base):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).add_prefix("x")
    search = paper_search(base, n_trials=2, cv=3).fit(frame, Y)
    model = search.best_estimator_
    assert type(model) is type(base)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 7
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
    assert not hasattr(clone(model), "coef_")
    assert not hasattr(base, "coef_")
    assert model.densify() is model
    model.sparsify()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_coefficients_are_as_tight_as_tol_asks():
    for tol in (1e-1, 1e-4, 1e-7):
        assert trainers_of(LinearSVC(tol=tol))[0].fit((1.0, 1.0)).gap <= 1e-3 * tol
        assert trainers_of(LinearSVC(tol=tol, loss="hinge"))[0].fit((1.0, 1.0)).gap <= tol
        assert trainers_of(LogisticRegression(tol=tol))[0].fit((1.0, 1.0)).gap <= tol


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_values_of_other_types(kind, dtype):
    data = (10 * X).astype(dtype)
    for base in (LinearSVC(**TIGHT), LogisticRegression(**TIGHT)):
        ours, theirs = (trainers_of(base, kind(data), engine=engine)[0] for engine in ("auto", "generic"))
        assert isinstance(ours, LinearSVCTrainer | LogisticTrainer)
        ours, theirs = (trainer.estimator(trainer.fit((1.5, 0.5))) for trainer in (ours, theirs))
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


# ---------------------------------------------------------------- what is not served


class Mine(LinearSVC):
    """Learns something else, perhaps."""


@pytest.mark.parametrize(
    "base",
    [
        Mine(),
        LinearSVC(penalty="l1", dual=False),
        LinearSVC(loss="hinge", dual=False),
        LinearSVC(loss="log"),
        LinearSVC(class_weight={0: 0.0, 1: 1.0}),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(C=0.0),
        LinearSVC(C=np.nan),
        LinearSVC(C="1"),
        LinearSVC(C=True),
        LinearSVC(tol=-1.0),
        LinearSVC(max_iter=0),
        LinearSVC(max_iter=10.5),
        LinearSVC(intercept_scaling=0.0),
        LinearSVC(fit_intercept="yes"),
        LinearSVC(dual=3),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        LogisticRegression(C=np.inf),
        LogisticRegression(solver="liblinear", dual=True),
        LogisticRegression(warm_start=True),
        LogisticRegression(solver="adam"),
        LogisticRegression(C=-1.0),
        LogisticRegression(intercept_scaling="a"),
    ],
    ids=repr,
)
def test_other_bases_are_trained_by_themselves(base):
    assert not is_fast(base)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_every_solver_of_logistic_regression_is_served(solver):
    assert is_fast(LogisticRegression(solver=solver))


@pytest.mark.parametrize(
    "data",
    [
        np.where(X > 2, np.nan, X),
        np.where(X > 2, np.inf, X),
        X.astype(str).astype(object) + "a",
        X[:, 0],
        X[:, :0],
        X + 1j,
    ],
    ids=["NaN", "infinite", "text", "one column", "no column", "complex"],
)
def test_data_that_the_base_refuses_are_left_to_it(data):
    assert not is_fast(LinearSVC(), data)


def test_other_arguments_of_fit_are_left_to_the_base():
    folds = make_folds(Task(X, Y, None, {"check_input": False}), SPLITS)
    assert isinstance(make_trainers(LinearSVC(), folds, ROUTE)[0], GenericTrainer)
    class_weight = CostChannel("class_weight", "class_weight")
    assert isinstance(make_trainers(LinearSVC(), make_folds(Task(X, Y), SPLITS), class_weight)[0], GenericTrainer)


# ---------------------------------------------------------------- shared data


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_folds_and_settings_share_the_given_matrix(kind):
    data, folds, shared = kind(X), make_folds(Task(kind(X), Y), SPLITS), {}
    data = folds[0].task.X
    values = data if kind is np.asarray else data.data
    for base in (LinearSVC(), LinearSVC(C=3.0), LinearSVC(intercept_scaling=2.0)):
        for trainer in make_trainers(base, folds, ROUTE, shared=shared):
            for rows in (trainer._train, trainer._test, trainer._solver.rows):
                assert np.shares_memory(rows.X if kind is np.asarray else rows.X.data, values)
    assert all(not {"X_train", "X_test"} & vars(fold).keys() for fold in folds)


def test_an_unsorted_matrix_is_sorted_once_and_elsewhere():
    data = sparse.csr_array(X)
    data.indices[:2], data.data[:2] = data.indices[1::-1].copy(), data.data[1::-1].copy()
    data.has_sorted_indices = False
    before, shared = data.indices.copy(), {}
    made = [make_trainers(LinearSVC(C=C), make_folds(Task(data, Y), SPLITS), ROUTE, shared=shared) for C in (1.0, 2.0)]
    assert np.shares_memory(made[0][0]._train.X.data, made[1][2]._train.X.data)
    np.testing.assert_array_equal(data.indices, before)
    np.testing.assert_allclose(
        made[0][0].fit((1.0, 1.0)).model.w, trainers_of(LinearSVC())[0].fit((1.0, 1.0)).model.w, atol=1e-6
    )


# ---------------------------------------------------------------- starts


@pytest.mark.parametrize("width", [7, 600])
@pytest.mark.parametrize("base", ["squared hinge", "hinge", "logistic", "logistic, liblinear", "class weight"])
def test_starts_change_nothing_but_the_last_digits(base, width):
    rng = np.random.default_rng(1)
    data = np.column_stack([X, rng.normal(size=(240, width - 7)) / np.sqrt(width)])
    base = clone(BASES[base]).set_params(tol=1e-8, C=0.1)
    trainer, starts = trainers_of(base, data)[0], []
    for c_fn in (1.0, 1.5, 1.9, 1.99, 1.2):
        costs = (c_fn, 2.0 - c_fn)
        warm, cold = trainer.fit(costs, starts), trainer.fit(costs)
        assert max(warm.gap, cold.gap) <= 1e-6
        np.testing.assert_allclose(warm.model.w, cold.model.w, atol=5e-2 * np.abs(cold.model.w).max())
        reach = 2.0 * np.sqrt(2e-6 * cold.model.objective)
        assert np.linalg.norm(warm.model.w[:-1] - cold.model.w[:-1]) <= reach
        starts = [warm.state, *starts]


@pytest.mark.parametrize("grid", [{"intercept_scaling": [1.0, 10.0]}, {"fit_intercept": [True, False]}])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_settings_with_other_constant_features_do_not_start_from_each_other(grid, loss):
    """Scores that belong to one of them would silently be taken for those of the other."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(120, 600))
    y = (data[:, 0] + 0.5 * rng.normal(size=120) > 0.8).astype(int)
    base = LinearSVC(loss=loss, C=0.01)
    search = paper_search(base, n_trials=3, cv=2, param_grid=grid, refit=False).fit(data, y)
    for trial in search.trials_:
        (setting,) = (trial.setting,)
        (values,) = grid.values()
        alone = clone(base).set_params(**{next(iter(grid)): values[setting], "tol": 1e-8})
        for (train, test), score in zip(StratifiedKFold(2).split(data, y), trial.fold_scores, strict=True):
            weight = cost_sample_weight(y[train] == 1, trial.costs)
            scores = alone.fit(data[train], y[train], sample_weight=weight).decision_function(data[test])
            predicted = scores >= trial.threshold
            true = 2 * (predicted & (y[test] == 1)).sum() / (predicted.sum() + y[test].sum())
            assert score == pytest.approx(true, abs=0.05)
        assert 0 <= trial.duality_gap <= 1e-2


def test_positions_grow_with_the_weight_of_a_class():
    small, large = (trainers_of(LinearSVC(C=C, class_weight={1: 2.0}))[0] for C in (0.1, 10.0))
    assert small.position((1.0, 1.0)) == pytest.approx(np.log([0.2, 0.1]))
    assert large.position((1.0, 1.0)) == pytest.approx(np.log([20.0, 10.0]))
    assert small.family == large.family != trainers_of(LinearSVC(loss="hinge"))[0].family
    assert trainers_of(LogisticRegression())[0].family != trainers_of(LogisticRegression(solver="liblinear"))[0].family


@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize("base", [LinearSVC(**TIGHT), LogisticRegression(**TIGHT)], ids=repr)
def test_normalised_weights_keep_the_size_of_the_users_weights(base, engine):
    """Equal costs are no costs at all, and weights of 3 are samples that are there three times."""
    times = np.random.default_rng(0).integers(1, 4, Y.size)
    rows = np.repeat(np.arange(Y.size), times)

    def coefficients(X, y, weight, costs):
        folds = make_folds(Task(X, y, weight), [(np.arange(y.size), np.arange(y.size))])
        trainer = make_trainers(base, folds, ROUTE, "mean", engine=engine)[0]
        return trainer.estimator(trainer.fit(costs)).coef_

    plain = clone(base).fit(X, Y, sample_weight=0.1 * times).coef_
    np.testing.assert_allclose(coefficients(X, Y, 0.1 * times, (0.7, 0.7)), plain, atol=1e-4)
    repeated = coefficients(X[rows], Y[rows], None, (1.8, 0.2))
    np.testing.assert_allclose(coefficients(X, Y, times.astype(float), (1.8, 0.2)), repeated, atol=1e-4)


# ---------------------------------------------------------------- starts that have seen what is held out


def first_scores(base, X, y, splits):
    """Held-out scores of first trainings, and their largest gap."""
    folds, score, gaps = make_folds(Task(X, y), splits), np.zeros(y.size), []
    for trainer, fold in zip(make_trainers(base, folds, CostChannel("sample_weight", "sample_weight")), folds):
        training = trainer.fit((1.0, 1.0))
        score[fold.test] = trainer.predict(training, "test", tune=True).score
        gaps.append(training.gap)
    return score, max(gaps)


@pytest.mark.parametrize("tol", [0.1, 0.03])
def test_first_trainings_forget_what_their_start_has_seen(tol):
    """Folds start from a solution on all samples: scores that still know it would be too good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = (X[:, 0] + 2.0 * rng.normal(size=300) > 1.0).astype(int)
    splits = list(StratifiedKFold(5).split(X, y))
    score, gap = first_scores(LogisticRegression(tol=tol), X, y, splits)
    exact, _ = first_scores(LogisticRegression(tol=1e-9), X, y, splits)
    seen = LogisticRegression(tol=1e-9, max_iter=1000).fit(X, y).decision_function(X) - exact
    # Part of the way from the right scores to those of the start.
    assert (score - exact) @ seen / (seen @ seen) <= 0.09
    assert gap <= 0.1 * tol * (1.0 + 1e-9)


def test_first_trainings_of_hinges_get_closer_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = (X[:, 0] + 2.0 * rng.normal(size=300) > 1.0).astype(int)
    base = LinearSVC(loss="hinge", tol=0.01, max_iter=100_000)
    assert first_scores(base, X, y, list(StratifiedKFold(5).split(X, y)))[1] <= 0.1 * 0.01 * (1.0 + 1e-9)
