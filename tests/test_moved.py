"""Modules and classes under the names that they had before: imports and pickles of earlier versions."""

import pickle
from importlib import import_module

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import csf
from csf import _moved
from csf.costs import CostChannel, OneVsRestChannel
from csf.errors import ErrorProfile
from csf.errors.hull import Hull
from csf.samples import Fold, Labels, Task
from csf.search import CostSearch, MacroCostSearch
from csf.search.loop import SearchLoop
from csf.study import Study
from csf.trainers import GenericTrainer
from csf.trainers.warm_starts import WarmStarts
from csf.trials import Trial

# Names that pickles and programs may hold, and what is found there now.
OLD = {
    ("csf.costs", "OneVsRestRoute"): OneVsRestChannel,
    ("csf.costs", "WeightRoute"): CostChannel,
    ("csf.folds", "Data"): Task,
    ("csf.folds", "Fold"): Fold,
    ("csf.hull", "Hull"): Hull,
    ("csf.labels", "Labels"): Labels,
    ("csf.macro", "MacroCostSearch"): MacroCostSearch,
    ("csf.one_vs_rest", "OneVsRestRoute"): OneVsRestChannel,
    ("csf.profiles", "ErrorProfile"): ErrorProfile,
    ("csf.runner", "Runner"): SearchLoop,
    ("csf.search", "CostSearch"): CostSearch,
    ("csf.study", "Study"): Study,
    ("csf.trainers.starts", "Starts"): WarmStarts,
    ("csf.trials", "Trial"): Trial,
}


@pytest.mark.parametrize(("module", "name"), OLD)
def test_pickles_find_the_old_names(module, name):
    by_name = b"c" + f"{module}\n{name}\n".encode() + b"."  # what pickle writes for a class
    assert pickle.loads(by_name) is OLD[module, name]


@pytest.mark.parametrize("name", _moved.MOVED)
def test_every_old_module_is_importable(name):
    home = import_module(_moved.MOVED[name])
    public = next(each for each in home.__all__ if not each.startswith("_"))
    assert getattr(import_module(name), public) is getattr(home, public)


def test_what_was_never_there_is_refused_by_name():
    with pytest.raises(AttributeError, match=r"attribute 'Dat' on <module 'csf\.folds'"):
        pickle.loads(b"ccsf.folds\nDat\n.")


def restored(kind, state):
    """Object of a pickle that holds the attributes of an earlier version."""
    made = object.__new__(kind)
    made.__setstate__(state)
    return pickle.loads(pickle.dumps(made))


def test_a_task_of_the_earlier_names_is_read():
    y = np.array([0, 1])
    task = restored(Task, {"X": np.eye(2), "y": y, "sample_weight": np.ones(2), "fit_params": {"a": 1}})
    np.testing.assert_array_equal(task.codes, y)
    np.testing.assert_array_equal(task.weight, np.ones(2))
    assert (task.fit_params, task.labels) == ({"a": 1}, None)


def test_a_fold_of_the_earlier_names_is_read():
    fold = restored(Fold, {"data": Task(np.eye(2), np.array([0, 1])), "train": np.array([1]), "test": np.array([0])})
    assert fold.y_train.tolist() == [1]
    assert fold.data is fold.task


def test_trainers_written_for_the_earlier_names_go_on_working():
    class Old(GenericTrainer):
        def __init__(self, base, fold, route, normalize):
            self.base, self.fold, self.route, self.normalize = base, fold.sliced, route, normalize

        def fit(self, costs, starts=()):
            assert self.route is self.channel
            return super().fit(costs, starts)

    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    fold = Fold(Task(X, y), np.arange(4), np.arange(4))
    assert fold.data.y is fold.task.codes
    assert fold.data.sample_weight is None
    trainer = Old(LinearSVC(), fold, CostChannel("sample_weight", "sample_weight"), "none")
    assert trainer.predict(trainer.fit((1.0, 1.0)), "test", tune=False).decided.tolist() == [False, False, True, True]


def test_old_modules_are_attributes_of_the_package():
    assert csf.profiles.ErrorProfile is ErrorProfile
