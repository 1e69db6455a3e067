"""Linear models of several classes, trained on shared rows from their own earlier solutions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.data.costs import cost_channel, one_vs_rest_channel
from csf.data.folds import Fold, Task
from csf.trainers import GenericTrainer, make_trainers
from csf.trainers.multiclass import LinearSVCsTrainer, OneVsRestTrainer

X, Y = make_classification(
    240, 7, n_informative=5, n_classes=4, n_clusters_per_class=1, weights=[0.5, 0.3, 0.1], random_state=1
)
WEIGHT = np.random.default_rng(0).uniform(0.3, 3.0, Y.size)
TRAIN, TEST = np.arange(0, 160), np.arange(160, 240)
BASES = {
    "svm": OneVsRestClassifier(LinearSVC(dual=False, tol=1e-8)),
    "hinge": OneVsRestClassifier(LinearSVC(loss="hinge", tol=1e-6, max_iter=200_000, random_state=0)),
    "logistic": OneVsRestClassifier(LogisticRegression(tol=1e-9, max_iter=10_000)),
    "own weights": OneVsRestClassifier(LogisticRegression(tol=1e-9, max_iter=10_000, class_weight={0: 0.5, 1: 3.0})),
    "no intercept": OneVsRestClassifier(LinearSVC(dual=False, tol=1e-8, fit_intercept=False)),
    "alone": LinearSVC(dual=False, tol=1e-8),
}
ROUTES = {"class": cost_channel, "one-vs-rest": one_vs_rest_channel}


def fold_of(y=Y, weight=None, matrix=X):
    return Fold(Task(matrix, y, weight), TRAIN, TEST)


def trainer_of(base, fold, *, weighting="class", engine="auto", normalize="none"):
    return make_trainers(base, [fold], ROUTES[weighting](base), normalize, engine=engine)[0]


def objectives(base, model, weight):
    """Value of what each problem minimises."""
    inner = getattr(base, "estimator", base)
    parts = getattr(model, "estimators_", None)
    rows = (
        [(p.coef_[0], np.ravel(p.intercept_)[0]) for p in parts] if parts else list(zip(model.coef_, model.intercept_))
    )
    values = []
    for k, (w, b) in enumerate(rows):
        sign = np.where(Y[TRAIN] == (k if len(rows) > 1 else 1), 1.0, -1.0)
        margins, regularised = sign * (X[TRAIN] @ w + b), 0.5 * w @ w
        if isinstance(inner, LogisticRegression):
            loss = np.logaddexp(0.0, -margins)
        else:
            regularised += 0.5 * b * b
            loss = np.maximum(1.0 - margins, 0.0) ** (1 if inner.loss == "hinge" else 2)
        own = np.where(sign > 0, *[(inner.class_weight or {}).get(c, 1.0) for c in (1, 0)])
        values.append(regularised + weight[k] @ (own * loss))
    return np.array(values)


@pytest.mark.parametrize("matrix", [X, sparse.csr_array(X), X.astype(np.float32)], ids=["dense", "CSR", "float32"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", BASES)
def test_it_trains_what_a_clone_of_the_base_would(name, weight, matrix):
    base, fold = BASES[name], fold_of(weight=weight, matrix=matrix)
    trainer, other = trainer_of(base, fold), trainer_of(base, fold, engine="generic")
    assert isinstance(trainer, LinearSVCsTrainer if name == "alone" else OneVsRestTrainer)
    assert isinstance(other, GenericTrainer)
    training, plain = trainer.fit((1.7, 0.4)), other.fit((1.7, 0.4))
    model = trainer.estimator(training)
    assert type(model) is type(plain.model)
    assert vars(model).keys() == vars(plain.model).keys()
    costs = np.where(Y[TRAIN] > 0, 1.7, 0.4) * (1.0 if weight is None else weight[TRAIN])
    ours, theirs = (objectives(base, m, [costs] * 4) for m in (model, plain.model))
    assert (ours <= theirs * (1.0 + 1e-5) + 1e-9).all()
    if name != "hinge":  # its solution need not be unique
        np.testing.assert_allclose(
            model.decision_function(X), plain.model.decision_function(X), atol=3e-3 if name != "alone" else 1e-3
        )
        assert np.array_equal(model.predict(X), plain.model.predict(X))


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("tune", [True, False])
@pytest.mark.parametrize("y", [Y, np.minimum(Y, 1)], ids=["four", "two"])
def test_it_predicts_what_its_estimator_does(part, tune, y):
    trainer = trainer_of(OneVsRestClassifier(LinearSVC()), fold_of(y))
    training = trainer.fit((1.5, 0.5))
    model, at = trainer.estimator(training), TRAIN if part == "train" else TEST
    answer = trainer.predict(training, part, tune=tune)
    assert np.array_equal(np.where(answer.decided, answer.found, 0), model.predict(X[at]))
    assert (answer.score is not None) == tune
    if tune:
        scores = model.decision_function(X[at])
        expected = scores if scores.ndim == 1 else scores[:, 1:].max(axis=1) - scores[:, 0]
        np.testing.assert_allclose(answer.score, expected, atol=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("own", [{0: 0.5, 1: 1.0, 2: 2.0, 3: 5.0}, {2: 4.0}, "balanced"], ids=str)
def test_own_weights_of_several_classes_are_those_of_the_base(own, weight):
    """In each problem the class to be found has its own weight, and the rest 1."""
    base = LinearSVC(class_weight=own, dual=False, tol=1e-10, max_iter=10_000)
    fold = fold_of(weight=weight)
    ours, theirs = (trainer_of(base, fold, engine=engine) for engine in ("auto", "generic"))
    assert type(ours) is LinearSVCsTrainer
    model, expected = (each.estimator(each.fit((1.5, 0.5))) for each in (ours, theirs))
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-3)


@pytest.mark.parametrize("weighting", ROUTES)
@pytest.mark.parametrize("name", ["svm", "hinge", "logistic", "own weights"])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_starts_change_the_work_not_the_solution(name, weighting, sparse_rows):
    """Each class starts from its own earlier solutions, with many features as with few."""
    rng = np.random.default_rng(0)
    wide = sparse.csr_array(sparse.random(240, 700, 0.02, rng=rng))
    base, fold = clone(BASES[name]), fold_of(matrix=wide if sparse_rows else X)
    trainer = trainer_of(base, fold, weighting=weighting)
    states = [trainer.fit(costs).state for costs in ((1.2, 0.8), (1.6, 0.4), (1.9, 0.1))]
    cold, warm = trainer.fit((1.5, 0.5)), trainer.fit((1.5, 0.5), states)
    for first, second in zip(cold.model, warm.model, strict=True):
        assert second.model.objective == pytest.approx(first.model.objective, rel=3e-4)
    assert warm.gap <= 1e-3


@pytest.mark.parametrize("normalize", ["none", "mean"])
@pytest.mark.parametrize("name", ["svm", "logistic", "own weights"])
def test_costs_of_each_problem(name, normalize):
    base, fold = BASES[name], fold_of(weight=WEIGHT)
    both = (trainer_of(base, fold, weighting="one-vs-rest", engine=e, normalize=normalize) for e in ("auto", "generic"))
    (first, second) = (trainer.estimator(trainer.fit((1.7, 0.4))) for trainer in both)
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), atol=3e-3)


def test_threads_change_nothing():
    fold = fold_of()
    one, two = (trainer_of(OneVsRestClassifier(LinearSVC(), n_jobs=n), fold) for n in (None, 2))
    first, second = one.estimator(one.fit((1.5, 0.5))), two.estimator(two.fit((1.5, 0.5)))
    assert np.array_equal(first.decision_function(X), second.decision_function(X))


def test_a_class_that_the_training_part_lacks_is_left_out():
    y = Y.copy()
    y[TRAIN[y[TRAIN] == 2]] = 1
    trainer = trainer_of(OneVsRestClassifier(LinearSVC()), fold_of(y))
    training = trainer.fit((1.5, 0.5))
    assert trainer.estimator(training).classes_.tolist() == [0, 1, 3]
    assert set(trainer.predict(training, "test", tune=True).found) <= {1, 3}


@pytest.mark.parametrize(
    "base",
    [
        OneVsRestClassifier(RandomForestClassifier(2)),
        OneVsRestClassifier(make_pipeline(StandardScaler(), LinearSVC())),
        OneVsRestClassifier(LinearSVC(penalty="l1", dual=False)),
        LinearSVC(multi_class="crammer_singer"),
        LogisticRegression(),
    ],
    ids=repr,
)
def test_other_models_of_several_classes_are_cloned(base):
    assert isinstance(trainer_of(base, fold_of()), GenericTrainer)


def test_data_that_the_base_refuses_are_left_to_it():
    bad = X.copy()
    bad[3, 2] = np.nan
    assert isinstance(trainer_of(OneVsRestClassifier(LinearSVC()), fold_of(matrix=bad)), GenericTrainer)
