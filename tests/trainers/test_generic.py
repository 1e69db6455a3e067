"""Clone and fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from csf.data.costs import CostChannel
from csf.data.folds import Fold, Task
from csf.trainers import GenericTrainer, seeded

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.tile([0, 0, 1], 10)
FOLD = Fold(Task(X, Y, np.linspace(1.0, 2.0, 30), {"mark": np.arange(30)}), np.arange(24), np.arange(24, 30))


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
