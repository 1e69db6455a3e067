"""Logistic regression of several classes that are all alike: scikit-learn's optimum, from earlier solutions."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf.data.costs import CostChannel, cost_channel, cost_sample_weight
from csf.data.folds import Fold, Task, make_folds
from csf.data.labels import read_classes
from csf.trainers import GenericTrainer, Prepared, make_trainers
from csf.trainers.multiclass import MultinomialTrainer

X, Y = make_classification(
    240, 7, n_informative=5, n_classes=4, n_clusters_per_class=1, weights=[0.5, 0.3, 0.1], random_state=1
)
LABELS = read_classes(Y)[0]
WEIGHT = np.random.default_rng(0).uniform(0.3, 3.0, Y.size)
TRAIN, TEST = np.arange(160), np.arange(160, 240)
COSTS = (0.6, 2.0, 0.3, 1.7)
EXACT = LogisticRegression(tol=1e-10, max_iter=10_000)
BASES = {
    "plain": EXACT,
    "newton": clone(EXACT).set_params(solver="newton-cholesky"),
    "weak": clone(EXACT).set_params(C=20.0, solver="newton-cholesky"),
    "strong": clone(EXACT).set_params(C=0.01),
    "no intercept": clone(EXACT).set_params(fit_intercept=False),
    "balanced": clone(EXACT).set_params(class_weight="balanced"),
    "own": clone(EXACT).set_params(class_weight={0: 0.5, 3: 4.0}),
}
FORMS = {"dense": np.asarray, "CSR": sparse.csr_array, "float32": np.float32}


def fold_of(weight=None, samples=X, train=TRAIN, test=TEST):
    return Fold(Task(samples, Y, weight, labels=LABELS), train, test)


def trainer_of(base, fold, engine="auto", normalize="none"):
    return make_trainers(base, [fold], cost_channel(base), normalize, engine=engine)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", BASES)
def test_it_finds_what_the_base_finds(name, weight, form):
    base, samples = BASES[name], FORMS[form](X)
    ours = trainer_of(base, fold_of(weight, samples), normalize="mean")
    exact = fold_of(weight, np.float64(samples) if form == "float32" else samples)  # else the base has 7 digits
    theirs = trainer_of(base, exact, "generic", "mean")
    assert (type(ours), type(theirs)) == (MultinomialTrainer, GenericTrainer)
    training, plain = ours.fit(COSTS), theirs.fit(COSTS)
    model, expected = ours.estimator(training), theirs.estimator(plain)
    assert vars(model).keys() == vars(expected).keys()
    for name in ("coef_", "intercept_"):
        found, known = getattr(model, name), getattr(expected, name)
        assert found.shape == known.shape
        np.testing.assert_allclose(found, known, atol=1e-5 * max(1.0, np.abs(known).max()))
    assert (model.classes_.tolist(), model.n_iter_.shape) == (expected.classes_.tolist(), expected.n_iter_.shape)
    for part in ("train", "test"):
        answer, other = (each.predict(t, part, tune=True) for each, t in ((ours, training), (theirs, plain)))
        np.testing.assert_allclose(answer.score, other.score, atol=1e-6)
        assert np.array_equal(answer.decided, other.decided)
        assert np.array_equal(answer.decided, answer.score.argmax(axis=1))
        silent = ours.predict(training, part, tune=False)
        assert silent.score is None
        assert np.array_equal(silent.decided, answer.decided)


def test_a_class_that_the_training_part_lacks_has_no_probability():
    ours, theirs = (trainer_of(EXACT, fold_of(train=TRAIN[Y[TRAIN] != 1]), engine) for engine in ("auto", "generic"))
    assert type(ours) is MultinomialTrainer
    training = ours.fit(COSTS)
    answer, other = (each.predict(each.fit(COSTS), "test", tune=True).score for each in (ours, theirs))
    np.testing.assert_allclose(answer, other, atol=1e-6)
    assert (answer[:, 1] == 0.0).all()
    assert ours.estimator(training).classes_.tolist() == [0, 2, 3]
    again = ours.fit((1.0, 1.0, 1.0, 1.0), [training.state])
    np.testing.assert_allclose(again.model.w, ours.fit((1.0, 1.0, 1.0, 1.0)).model.w, atol=1e-5)


def test_of_two_classes_the_base_itself_is_trained():
    """The penalty of its one model counts once, that of two models twice."""
    trainer = trainer_of(EXACT, fold_of(train=TRAIN[Y[TRAIN] < 2]))
    assert type(trainer) is GenericTrainer
    answer = trainer.predict(trainer.fit(COSTS), "test", tune=True)
    assert (answer.score[:, 2:] == 0.0).all()


@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(C=np.inf),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        LogisticRegression(solver="liblinear"),
        LogisticRegression(warm_start=True),
        type("Own", (LogisticRegression,), {})(),
    ],
)
def test_other_problems_are_left_to_the_base(base):
    assert type(trainer_of(base, fold_of())) is GenericTrainer


def test_other_channels_and_arguments_are_left_to_the_base():
    routed = CostChannel("class_weight", "class_weight")
    assert type(make_trainers(EXACT, [fold_of()], routed)[0]) is GenericTrainer
    task = Task(X, Y, fit_params={"note": 1}, labels=LABELS)
    assert type(trainer_of(EXACT, Fold(task, TRAIN, TEST))) is GenericTrainer
    assert type(trainer_of(EXACT, fold_of(samples=np.where(X > 2.5, np.nan, X)))) is GenericTrainer


def test_a_class_of_nothing_to_find_is_left_to_the_base():
    assert type(trainer_of(EXACT, Fold(Task(X, Y), TRAIN, TEST))) is GenericTrainer


SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))


def folds_of(base, prepared=None, splits=SPLITS):
    folds = make_folds(Task(X, Y, WEIGHT, labels=LABELS), splits)
    return make_trainers(base, folds, cost_channel(base), "mean", Prepared() if prepared is None else prepared)


USUAL = LogisticRegression(tol=1e-5)


@pytest.mark.parametrize("base", [USUAL, make_pipeline(StandardScaler(), USUAL)], ids=["alone", "in a pipeline"])
def test_starts_change_nothing_but_the_time(base):
    states = [trainer.fit((1.0, 1.0, 1.0, 1.0)).state for trainer in folds_of(base)]
    other = clone(base).set_params(**{("" if base is USUAL else "logisticregression__") + "C": 4.0})
    for known, (train, test), trainer in zip(states, SPLITS, folds_of(other)):
        warm = trainer.fit(COSTS, [known])
        task = Task(X, Y, WEIGHT, labels=LABELS)
        alone = trainer_of(other, Fold(task, train, test), normalize="mean").fit(COSTS)
        np.testing.assert_allclose(warm.model.w, alone.model.w, atol=1e-2)
        assert warm.model.objective == pytest.approx(alone.model.objective, rel=1e-7)
        assert warm.model.n_iter < alone.model.n_iter


@pytest.mark.parametrize("base", [EXACT, clone(USUAL).set_params(C=3.0)], ids=["exact", "usual"])
def test_the_solution_itself_is_a_start_that_needs_no_step(base):
    for trainer in folds_of(base):
        training = trainer.fit(COSTS)
        assert trainer.fit(COSTS, [training.state]).model.n_iter == 0


def test_a_start_for_other_weights_has_their_logarithms_in_its_constants():
    """Where the model holds, these and nothing else change."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    y = rng.integers(0, 3, 6000)
    samples = rng.normal(size=(6000, 2)) + centres[y]
    everything = np.arange(6000)
    fold = Fold(Task(samples, y, labels=read_classes(y)[0]), everything, everything)
    trainer = trainer_of(LogisticRegression(C=1e3), fold)
    equal, costs = trainer.fit((1.0, 1.0, 1.0)), (0.3, 1.0, 3.0)
    change = np.log(costs) - np.log(costs).mean()
    moved = trainer._at_weights(equal.state[1], np.log(costs))
    np.testing.assert_allclose(moved - equal.model.w, np.outer(change, [0.0, 0.0, 1.0]))
    near, far = (np.abs(trainer.fit(costs).model.w - w).max() for w in (moved, equal.model.w))
    assert near < 0.2 * far


def test_folds_start_from_the_whole_and_in_no_order():
    cold = [trainer_of(EXACT, Fold(Task(X, Y, WEIGHT, labels=LABELS), *each), normalize="mean") for each in SPLITS]
    forwards, backwards = folds_of(EXACT), folds_of(EXACT)
    first = [trainer.fit(COSTS).model for trainer in forwards]
    second = [trainer.fit(COSTS).model for trainer in backwards[::-1]][::-1]
    for one, other, trainer in zip(first, second, cold):
        assert np.array_equal(one.w, other.w)
        alone = trainer.fit(COSTS).model
        np.testing.assert_allclose(one.w, alone.w, atol=1e-5)
        assert one.n_iter < alone.n_iter


def test_trainings_that_start_from_the_whole_are_close():
    """To what samples that are held out have told the start, the base's tolerance says too little."""
    base = LogisticRegression(tol=1e-3)
    for trainer, exact in zip(folds_of(base), folds_of(EXACT)):
        gap = trainer.fit((1.0,) * 4).model.objective - exact.fit((1.0,) * 4).model.objective
        assert 0.0 <= gap <= 1e-3


def test_earlier_settings_share_a_family_that_is_theirs():
    one, two, other = (
        folds_of(base)[0].family for base in (EXACT, clone(EXACT).set_params(C=3.0), BASES["no intercept"])
    )
    assert one == two != other


def test_positions_are_logarithms_of_all_that_multiplies_the_losses():
    base = LogisticRegression(C=2.0, class_weight={1: 3.0})
    position = trainer_of(base, fold_of()).position(COSTS)
    np.testing.assert_allclose(np.exp(position), 2.0 * np.array(COSTS) * [1.0, 3.0, 1.0, 1.0])


def test_it_travels():
    trainer = folds_of(EXACT)[0]
    again = pickle.loads(pickle.dumps(trainer))
    assert np.array_equal(trainer.fit(COSTS).model.w, again.fit(COSTS).model.w)


def test_separable_classes_end_without_a_warning():
    y = np.repeat([0, 1, 2], 8)
    samples = np.column_stack([y * 1.0, y % 2]) * 100.0
    everything = np.arange(24)
    fold = Fold(Task(samples, y, labels=read_classes(y)[0]), everything, everything)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = trainer_of(LogisticRegression(C=1e6), fold)
        answer = trainer.predict(trainer.fit((1.0, 1.0, 1.0)), "test", tune=True)
    assert np.array_equal(answer.decided, y)
    assert np.isfinite(answer.score).all()


def test_equal_weights_of_any_size_are_the_plain_training():
    ours = trainer_of(EXACT, fold_of(), normalize="mean")
    model = ours.estimator(ours.fit((0.2, 0.2, 0.2, 0.2)))
    plain = clone(EXACT).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    assert cost_sample_weight(Y, (0.2,) * 4, normalize="mean")[0] == pytest.approx(1.0)
