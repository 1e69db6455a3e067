"""Which trainer serves which base, and trainers of one's own."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.data.costs import CostChannel
from csf.data.folds import Task, make_folds
from csf.trainers import ENGINES, GenericTrainer, make_trainers, register_trainer, registry
from csf.trainers.linear import LinearSVCTrainer, LogisticTrainer

X, Y = make_classification(120, 5, weights=[0.75], random_state=0)
FOLDS = make_folds(Task(X, Y), StratifiedKFold(3).split(X, Y))
ROUTE = CostChannel("sample_weight", "sample_weight")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is forgotten."""
    monkeypatch.setattr(registry, "_MAKERS", dict(registry._MAKERS))


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (LinearSVC(), LinearSVCTrainer),
        (LogisticRegression(), LogisticTrainer),
        (RandomForestClassifier(), GenericTrainer),
    ],
    ids=repr,
)
def test_every_fold_has_a_trainer(base, kind):
    assert [type(trainer) for trainer in make_trainers(base, FOLDS, ROUTE)] == [kind] * 3
    generic = make_trainers(base, FOLDS, ROUTE, engine="generic")
    assert [type(trainer) for trainer in generic] == [GenericTrainer] * 3


def test_engines_have_names():
    assert ENGINES == ("auto", "generic", "liblinear")


class Remembering(GenericTrainer):
    """Starts from the costs of the training before."""

    family = "bayes"
    calls = []  # noqa: RUF012

    def fit(self, costs, starts=()):
        type(self).calls.append((costs, tuple(starts)))
        return super().fit(costs)._replace(state=costs, gap=1e-5)


def test_a_trainer_of_ones_own_is_used_and_gets_its_states():
    def maker(base, folds, channel, normalize, shared):
        shared["made"] = True
        return [Remembering(base, fold, channel, normalize) for fold in folds]

    register_trainer(GaussianNB, maker)
    Remembering.calls.clear()
    search = paper_search(GaussianNB(), n_trials=3, cv=2).fit(X, Y)
    costs = [trial.costs for trial in search.trials_]
    by_trial = [starts for _, starts in Remembering.calls[:6:2]]
    assert by_trial[0] == ()
    assert by_trial[1] == (costs[0],)
    assert set(by_trial[2]) == set(costs[:2])
    assert [trial.duality_gap for trial in search.trials_] == [1e-5] * 3
    np.testing.assert_array_equal(
        search.predict(X), paper_search(GaussianNB(), n_trials=3, cv=2, engine="generic").fit(X, Y).predict(X)
    )


def test_it_serves_the_last_step_of_a_pipeline_too():
    register_trainer(GaussianNB, lambda base, folds, *rest: [Remembering(base, fold, *rest[:2]) for fold in folds])
    Remembering.calls.clear()
    paper_search(make_pipeline(StandardScaler(), GaussianNB()), n_trials=2, cv=2).fit(X, Y)
    assert len(Remembering.calls) == 5


def test_a_maker_may_decline():
    register_trainer(GaussianNB, lambda *arguments: None)
    assert type(make_trainers(GaussianNB(), FOLDS, ROUTE)[0]) is GenericTrainer


def test_subclasses_are_not_served():
    class Mine(LinearSVC):
        pass

    assert type(make_trainers(Mine(), FOLDS, ROUTE)[0]) is GenericTrainer
