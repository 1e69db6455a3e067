"""Clone and fit; and which states are kept and handed on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.data.costs import CostChannel, cost_channel
from csf.data.folds import Fold, Task, make_folds
from csf.data.labels import Labels
from csf.solvers import Solution
from csf.trainers import GenericTrainer, Prepared, make_trainers, seeded
from csf.trainers.base import WarmStarts, with_methods

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.tile([0, 0, 1], 10)
FOLD = Fold(Task(X, Y, np.linspace(1.0, 2.0, 30), {"mark": np.arange(30)}), np.arange(24), np.arange(24, 30))


PLAIN = CostChannel("sample_weight", "sample_weight")


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what its fit was given."""

    def fit(self, X, y, sample_weight=None, mark=None):
        self.seen_ = X, y, sample_weight, mark
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


# ---------------------------------------------------------------- scores of another method


SEVERAL = Labels(np.arange(3), None)
SPLITS = [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]


def folds_of(n_classes):
    y = np.tile([0, 1, 2, 0, 1], 18) % n_classes
    samples = np.random.default_rng(0).normal(size=(90, 3)) + y[:, None]
    return make_folds(Task(samples, y, labels=SEVERAL if n_classes == 3 else None), SPLITS)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
@pytest.mark.parametrize(
    "base", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())], ids=["alone", "pipeline"]
)
def test_scores_come_from_the_method_that_is_asked_for(base, method, n_classes):
    folds = folds_of(n_classes)
    made = make_trainers(base, folds, cost_channel(base))
    costs = (1.0,) * n_classes
    for fold, own, trainer in zip(folds, made, with_methods(made, base, folds, [method])):
        training = trainer.fit(costs)
        answer = trainer.predict(training, "test", tune=True)
        expected = getattr(trainer.estimator(training), method)(fold.X_test)
        expected = expected[:, 1] if n_classes == 2 and expected.ndim == 2 else expected
        np.testing.assert_allclose(answer.score, expected, atol=1e-9)
        np.testing.assert_array_equal(answer.decided, own.predict(training, "test", tune=True).decided)
        assert (trainer.family, trainer.position(costs)) == (own.family, own.position(costs))
        assert trainer.releases_gil == own.releases_gil
        assert (trainer is own) == (method == ("decision_function" if n_classes == 2 else "predict_proba"))


def test_settings_that_differ_in_rounds_have_their_own_probabilities():
    folds, prepared = folds_of(2), Prepared()
    bases = [GradientBoostingClassifier(n_estimators=number, random_state=0) for number in (20, 5)]
    made = [with_methods(make_trainers(b, folds, PLAIN, "none", prepared), b, folds, ["predict_proba"]) for b in bases]
    for base, trainers in zip(bases, made):
        training = trainers[0].fit((1.0, 1.0))
        score = trainers[0].predict(training, "test", tune=True).score
        alone = clone(base).fit(folds[0].X_train, folds[0].y_train)
        np.testing.assert_allclose(score, alone.predict_proba(folds[0].X_test)[:, 1], atol=1e-12)


def test_a_method_that_the_base_lacks_is_an_error():
    folds = folds_of(2)
    (trainer, _) = with_methods(make_trainers(LinearSVC(), folds, PLAIN), LinearSVC(), folds, ["predict_proba"])
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        trainer.predict(trainer.fit((1.0, 1.0)), "test", tune=True)


# ---------------------------------------------------------------- clone and fit


def test_a_clone_is_fitted_with_costs_weights_and_arguments_of_the_part():
    base = Recorder()
    trainer = GenericTrainer(base, FOLD, CostChannel("sample_weight", "sample_weight"))
    training = trainer.fit((1.5, 0.5), starts=("ignored",))
    seen = training.model.seen_
    np.testing.assert_array_equal(seen[0], X[:24])
    np.testing.assert_array_equal(seen[1], Y[:24])
    np.testing.assert_allclose(seen[2], np.where(Y[:24] == 1, 1.5, 0.5) * np.linspace(1.0, 2.0, 30)[:24])
    np.testing.assert_array_equal(seen[3], np.arange(24))
    assert not hasattr(base, "seen_")
    assert (training.state, training.gap, trainer.family) == (None, None, None)
    assert trainer.estimator(training) is training.model


@pytest.mark.parametrize(("part", "at"), [("train", slice(24)), ("test", slice(24, 30))])
def test_both_parts_are_predicted(part, at):
    trainer = GenericTrainer(Recorder(), FOLD, CostChannel("sample_weight", "sample_weight"))
    training = trainer.fit((1.0, 1.0))
    answer = trainer.predict(training, part, tune=True)
    np.testing.assert_array_equal(answer.score, X[at, 0])
    np.testing.assert_array_equal(answer.decided, X[at, 0] > 0)
    assert trainer.predict(training, part, tune=False).score is None


def test_costs_can_go_by_class_weight():
    fold = Fold(Task(X, Y), FOLD.train, FOLD.test)
    trainer = GenericTrainer(DecisionTreeClassifier(), fold, CostChannel("class_weight", "class_weight"), "mean")
    weights = trainer.fit((3.0, 1.0)).model.class_weight
    assert weights[1] == pytest.approx(3 * weights[0])
    assert (8 * weights[1] + 16 * weights[0]) / 24 == pytest.approx(1.0)


def test_unset_seeds_are_set_once_for_all_trials():
    base = make_pipeline(StandardScaler(), RandomForestClassifier())
    first, second = (seeded(base, np.random.RandomState(3)) for _ in range(2))
    seed = first.get_params()["randomforestclassifier__random_state"]
    assert seed == second.get_params()["randomforestclassifier__random_state"]
    assert base.get_params()["randomforestclassifier__random_state"] is None
    assert seeded(SGDClassifier(random_state=7), np.random.RandomState(3)).random_state == 7
    assert seeded(SGDClassifier(), None).random_state is None


# ---------------------------------------------------------------- earlier states


def test_families_are_kept_apart():
    starts = WarmStarts()
    starts.add("svm", (0.0, 0.0), "a")
    starts.add("logistic", (0.0, 0.0), "b")
    assert starts.nearest("svm", (5.0, 5.0)) == ["a"]
    assert starts.nearest("other", (0.0, 0.0)) == []


def test_equally_near_ones_come_latest_first():
    starts = WarmStarts()
    for name in "abc":
        starts.add("svm", (1.0,), name)
    assert starts.nearest("svm", (1.0,)) == ["c", "b", "a"]


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), max_size=60), st.floats(-10, 10))
def test_the_nearest_of_the_latest_are_given_in_order(places, at):
    starts = WarmStarts()
    for number, place in enumerate(places):
        starts.add("svm", place, (number, place))
    given_states = starts.nearest("svm", (at, at))
    distances = [abs(x - at) + abs(y - at) for _, (x, y) in given_states]
    assert distances == sorted(distances)
    assert len(given_states) == min(6, len(places))
    kept = [np.abs(np.subtract(place, at)).sum() for place in places[-24:]]
    assert distances == sorted(kept)[:6]
    assert all(number >= len(places) - 24 for number, _ in given_states)


def test_large_states_are_kept_in_smaller_numbers():
    """Solutions of many classes with many features: their arrays count, wherever in a state they are."""
    starts = WarmStarts()
    for number in range(10):
        solution = Solution(np.zeros(1_000_000), 1.0, 0.0, 1, margins=None)
        starts.add("logistic", (float(number),), tuple((np.zeros(2), part) for part in [solution] * 2))
    assert [int(state[0][1].w.size) for state in starts.nearest("logistic", (0.0,))] == [1_000_000] * 4
    for number in range(5):
        starts.add("logistic", (float(number),), (np.zeros(10_000_000),))
    assert len(starts.nearest("logistic", (0.0,))) == 3
