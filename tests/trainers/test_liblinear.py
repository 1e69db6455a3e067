"""LIBLINEAR's own package trains what scikit-learn documents, within the gaps that csf's solvers certify."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from builders import paper_search
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.data.costs import CostChannel, cost_sample_weight
from csf.data.folds import Task, make_folds
from csf.solvers import Hinge, Logistic, Rows, SquaredHinge
from csf.trainers import Prepared, Training, make_trainers
from csf.trainers import linear as csf_linear
from csf.trainers.linear import LiblinearTrainer

CHANNEL = CostChannel("sample_weight", "sample_weight")
X, Y = make_classification(240, 7, n_informative=4, weights=[0.75], flip_y=0.1, random_state=0)
SPLITS = list(StratifiedKFold(3).split(X, Y))
COSTS = (1.7, 0.3)
TIGHT = {"tol": 1e-7, "random_state": 0}
SVC, LOGISTIC = {"C": 0.05, "max_iter": 100_000} | TIGHT, {"solver": "liblinear", "max_iter": 10_000} | TIGHT

# Every loss and penalty that LIBLINEAR has, and the number of its solver.
BASES = {
    "squared hinge": (LinearSVC(dual=False, **SVC), 2),
    "squared hinge, auto": (LinearSVC(intercept_scaling=3.0, **SVC), 2),
    "squared hinge, dual": (LinearSVC(dual=True, **SVC), 1),
    "squared hinge, class weight": (LinearSVC(class_weight={1: 2.0}, **SVC), 2),
    "hinge": (LinearSVC(loss="hinge", C=0.005, max_iter=100_000, **TIGHT), 3),
    "squared hinge, L1": (LinearSVC(penalty="l1", dual=False, **SVC), 5),
    "squared hinge, no intercept": (LinearSVC(fit_intercept=False, **SVC), 2),
    "logistic": (LogisticRegression(intercept_scaling=2.0, **LOGISTIC), 0),
    "logistic, L1": (LogisticRegression(l1_ratio=1.0, **LOGISTIC), 6),
    "logistic, dual": (LogisticRegression(dual=True, **LOGISTIC), 7),
    "logistic, free intercept": (LogisticRegression(tol=1e-7, max_iter=10_000), 0),
    "logistic, no intercept": (LogisticRegression(fit_intercept=False, **LOGISTIC), 0),
    "logistic, L1, free intercept": (LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=10_000, **TIGHT), 6),
}
bases = pytest.mark.parametrize("name", BASES)


def trainers_of(base, data=X, y=Y, weight=None, engine="liblinear", **options):
    return make_trainers(base, make_folds(Task(data, y, weight), SPLITS), CHANNEL, engine=engine, **options)


def objective(model, train, weight):
    """What the model's parameters say is minimised."""
    of_pos, free = (model.class_weight or {}).get(1, 1.0), getattr(model, "solver", "liblinear") != "liblinear"
    scaling = getattr(model, "intercept_scaling", 1.0)
    intercept = np.ravel(model.intercept_)[0]
    w = np.append(model.coef_[0], 0.0 if free else intercept / scaling)
    margins = np.where(Y[train] == 1, 1.0, -1.0) * (X[train] @ model.coef_[0] + intercept)
    slack = np.maximum(1.0 - margins, 0.0)
    losses = {"hinge": slack, "squared_hinge": slack**2, None: np.logaddexp(0.0, -margins)}
    l1 = model.penalty == "l1" or getattr(model, "l1_ratio", None) == 1.0
    weight = weight * np.where(Y[train] == 1, of_pos, 1.0)
    return (np.abs(w).sum() if l1 else 0.5 * w @ w) + model.C * weight @ losses[getattr(model, "loss", None)]


# ---------------------------------------------------------------- the same models


@bases
@pytest.mark.parametrize(
    ("kind", "normalize"), [(np.asarray, "none"), (sparse.csr_array, "mean")], ids=["dense", "CSR"]
)
def test_models_are_those_of_scikit_learn(name, kind, normalize):
    base, solver = BASES[name]
    fast = trainers_of(base, kind(X), normalize=normalize)
    generic = trainers_of(base, kind(X), normalize=normalize, engine="generic")
    for one, other, (train, test) in zip(fast, generic, SPLITS, strict=True):
        assert one._solver == solver
        trained, expected = one.fit(COSTS), other.fit(COSTS)
        ours, theirs = one.estimator(trained), other.estimator(expected)
        assert type(ours) is type(theirs)
        assert vars(ours).keys() == vars(theirs).keys()
        assert ours.n_iter_ > 0
        assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
        weight = cost_sample_weight(Y[train] == 1, COSTS, normalize=normalize)
        assert objective(ours, train, weight) == pytest.approx(objective(theirs, train, weight), rel=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        for part, at in (("train", train), ("test", test)):
            np.testing.assert_allclose(
                one.predict(trained, part, tune=True).score, ours.decision_function(X[at]), atol=1e-9
            )


@pytest.mark.parametrize("name", ["squared hinge", "squared hinge, dual", "hinge", "logistic", "logistic, dual"])
def test_solutions_lie_within_the_certified_gap(name):
    """What csf proves that no objective is below, LIBLINEAR does not go below; both end at the same coefficients."""
    base, solver = BASES[name]
    trainer, (train, _) = trainers_of(base)[0], SPLITS[0]
    found = trainer.fit(COSTS).model
    rows, sign = Rows(X[train], constant=base.intercept_scaling), np.where(Y[train] == 1, 1.0, -1.0)
    weight = base.C * cost_sample_weight(Y[train] == 1, COSTS)
    kinds = {2: SquaredHinge, 1: SquaredHinge, 3: Hinge}
    ours = kinds[solver](rows, sign) if solver in kinds else Logistic(rows, sign, penalise_constant=True)
    known = ours.solve(weight, tol=1e-9)
    theirs = objective(trainer.estimator(Training(found)), train, weight / base.C)
    assert known.objective - known.gap <= theirs * (1.0 + 1e-12)
    assert theirs <= known.objective * (1.0 + 1e-6)
    reach = np.sqrt(2.0 * known.gap) + np.sqrt(2.0 * (theirs - known.objective + known.gap))
    assert np.linalg.norm(found.w - known.w) <= reach * (1.0 + 1e-6)


@bases
def test_costs_are_class_weights(name):
    base, _ = BASES[name]
    own = (base.class_weight or {}).get(1, 1.0)
    weighed = clone(base).set_params(class_weight={1: own * COSTS[0], 0: COSTS[1]})
    one, other = trainers_of(base)[0].fit(COSTS), trainers_of(weighed)[0].fit((1.0, 1.0))
    np.testing.assert_array_equal(one.model.w, other.model.w)


def test_balanced_class_weights_multiply_costs():
    trainer = trainers_of(LinearSVC(class_weight="balanced", **SVC))[0]
    n_pos, n = np.count_nonzero(Y[SPLITS[0][0]]), SPLITS[0][0].size
    weights = {1: COSTS[0] * n / (2 * n_pos), 0: COSTS[1] * n / (2 * (n - n_pos))}
    other = trainers_of(LinearSVC(class_weight=weights, **SVC))[0].fit((1.0, 1.0))
    np.testing.assert_allclose(trainer.fit(COSTS).model.w, other.model.w, rtol=1e-9)


def test_equal_weights_of_samples_are_weights_of_their_classes():
    base, _ = BASES["squared hinge"]
    weight = np.where(Y == 1, 3.0, 0.5)
    ours, theirs = (trainers_of(base, weight=weight, engine=engine)[0] for engine in ("liblinear", "generic"))
    ours, theirs = (trainer.estimator(trainer.fit(COSTS)) for trainer in (ours, theirs))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_more_features_than_samples_are_solved_in_the_dual():
    wide = np.random.default_rng(0).normal(size=(240, 400))
    assert trainers_of(LinearSVC(), wide)[0]._solver == 1
    assert trainers_of(LinearSVC(penalty="l1", dual="auto"), wide)[0]._solver == 5


# ---------------------------------------------------------------- the same numbers again


@pytest.mark.parametrize("name", ["squared hinge, dual", "hinge", "squared hinge, L1", "logistic"])
def test_trainings_repeat_to_the_last_bit(name):
    base, _ = BASES[name]
    base = clone(base).set_params(tol=1e-2)
    first, again = trainers_of(base)[0], pickle.loads(pickle.dumps(trainers_of(base)[0]))
    expected = first.fit(COSTS).model
    first.fit((0.3, 1.7))
    for trainer in (first, again, pickle.loads(pickle.dumps(first)), trainers_of(base, sparse.csr_array(X))[0]):
        np.testing.assert_array_equal(trainer.fit(COSTS).model.w, expected.w)
        assert trainer.fit(COSTS).model.n_iter == expected.n_iter


def test_the_seed_is_the_bases():
    one, two, same = (
        trainers_of(LinearSVC(dual=True, tol=0.5, random_state=seed))[0].fit(COSTS).model.w
        for seed in (0, 1, np.random.RandomState(0))
    )
    assert (one != two).any()
    np.testing.assert_array_equal(one, same)
    state = np.random.RandomState(3)
    base = LinearSVC(dual=True, tol=0.5, random_state=state)
    trainer = trainers_of(base)[0]
    np.testing.assert_array_equal(trainer.fit(COSTS).model.w, trainer.fit(COSTS).model.w)


@pytest.mark.parametrize("base", [LinearSVC(dual=False), LinearSVC(dual=True, tol=1e-2, C=0.01)], ids=repr)
def test_threads_do_not_disturb_each_other(base):
    trainers = trainers_of(base)
    alone = [trainer.fit(COSTS).model for trainer in trainers]
    found = {}
    threads = [
        threading.Thread(target=lambda k=k: found.update({k: trainers[k % 3].fit(COSTS).model})) for k in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, model in found.items():
        np.testing.assert_array_equal(model.w, alone[k % 3].w)
        assert model.n_iter == alone[k % 3].n_iter
    assert all(trainer.releases_gil == (not base.dual) for trainer in trainers)


def test_samples_are_handed_over_once(monkeypatch):
    from liblinear import liblinear

    made, convert = [], liblinear.csr_to_problem
    monkeypatch.setattr(liblinear, "csr_to_problem", lambda *args: made.append(args) or convert(*args))
    prepared = Prepared()
    for C in (0.5, 1.0, 2.0):
        for trainer in trainers_of(LinearSVC(C=C), shared=prepared):
            for costs in ((1.0, 1.0), COSTS):
                trainer.fit(costs)
    assert len(made) == 1
    made.clear()
    held = len(csf_linear._SAMPLES)
    del prepared, trainer
    assert len(csf_linear._SAMPLES) < held


def test_a_limit_that_is_reached_is_told():
    trainer = trainers_of(LinearSVC(loss="hinge", C=1e3, tol=1e-9))[0]
    with pytest.warns(ConvergenceWarning, match="LIBLINEAR stopped at its own limit"):
        assert trainer.fit(COSTS).model.n_iter == 300
    # At that limit the squared hinge goes on with Newton steps, and ends.
    assert trainers_of(LinearSVC(dual=True, C=1e3, tol=1e-4))[0].fit(COSTS).model.n_iter > 300


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize("base", [LinearSVC(C=0.1), LogisticRegression(C=0.1, solver="liblinear")], ids=repr)
@pytest.mark.parametrize("wrap", [lambda base: base, lambda base: make_pipeline(StandardScaler(), base)])
def test_a_search_is_that_of_the_generic_engine(base, wrap):
    ours, theirs = (
        paper_search(wrap(clone(base).set_params(tol=1e-6)), n_trials=4, engine=engine, random_state=0).fit(X, Y)
        for engine in ("liblinear", "generic")
    )
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)
    assert type(ours.best_estimator_) is type(theirs.best_estimator_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert [trial.duality_gap for trial in ours.trials_] == [None] * len(ours.trials_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict(X), ours.predict(X))
    again = clone(ours).set_params(n_jobs=2).fit(X, Y)
    assert [(a.t, a.value) for a in again.trials_] == [(b.t, b.value) for b in ours.trials_]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_problem_for_each_class(n_classes):
    data, y = make_classification(300, 6, n_informative=4, n_classes=n_classes, random_state=0)
    base = OneVsRestClassifier(LogisticRegression(solver="liblinear", tol=1e-7))
    more = {"null_class": 0, "weighting": "one-vs-rest"} if n_classes > 2 else {}
    ours, theirs = (
        paper_search(base, n_trials=3, cv=3, engine=engine, **more).fit(data, y) for engine in ("liblinear", "generic")
    )
    np.testing.assert_array_equal(ours.predict(data), theirs.predict(data))
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)


# ---------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(),
        make_pipeline(StandardScaler(), RandomForestClassifier()),
        OneVsRestClassifier(RandomForestClassifier()),
        LinearSVC(loss="hinge", dual=False),
        LinearSVC(penalty="l1", loss="hinge"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(class_weight={0: 0.0, 1: 1.0}),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        LogisticRegression(dual=True),
        LogisticRegression(C=np.inf),
        LogisticRegression(warm_start=True),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:the base has class_weight")
def test_bases_that_it_has_no_solver_for(base):
    with pytest.raises(ValueError, match=r"engine='liblinear' trains LinearSVC and LogisticRegression.*use engine="):
        paper_search(base, engine="liblinear").fit(X, Y)


def test_weights_within_a_class():
    weight = np.random.default_rng(0).uniform(0.2, 3.0, Y.size)
    with pytest.raises(
        ValueError, match=r"weighs classes, not single samples.*drop sample_weight, or use engine='auto'"
    ):
        paper_search(LinearSVC(), engine="liblinear").fit(X, Y, sample_weight=weight)


def test_several_costs_against_one_class():
    data, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    for base in (LinearSVC(), OneVsRestClassifier(LinearSVC())):
        with pytest.raises(ValueError, match="have different costs with weighting='class'; use OneVsRestClassifier"):
            paper_search(base, engine="liblinear", null_class=0).fit(data, y)


def test_other_ways_of_weights_and_arguments():
    folds = make_folds(Task(X, Y, None, {"check_input": False}), SPLITS)
    with pytest.raises(ValueError, match=r"cannot train .* with these samples and arguments"):
        make_trainers(LinearSVC(), folds, CHANNEL, engine="liblinear")
    with pytest.raises(ValueError, match="samples must be finite"):
        trainers_of(LinearSVC(), np.where(X > 2, np.nan, X))


def test_a_training_part_of_one_class():
    folds = make_folds(Task(X, Y), [(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))])
    with pytest.raises(ValueError, match="needs samples of both classes in each training part"):
        make_trainers(LinearSVC(), folds, CHANNEL, engine="liblinear")


@pytest.mark.slow
def test_it_is_imported_where_it_is_used():
    code = "import sys, csf, csf.trainers.linear; sys.exit('liblinear.liblinear' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert LiblinearTrainer.serves(LinearSVC())
