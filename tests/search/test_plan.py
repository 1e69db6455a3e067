"""What tells the checkpoint of one search from that of another: all that decides the trials, and nothing else."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from csf import Study
from csf.search.config import SearchConfig
from csf.search.problem import open_checkpoint

BASES, DATA = (LinearSVC(),), (np.arange(4.0),)


def opened(path, bases=BASES, data=DATA, **options):
    config = SearchConfig(base=LinearSVC(), checkpoint=path, **options)
    study = Study("f1", pos=0.2)
    return open_checkpoint(config, list(bases), data, [study]), study


@pytest.fixture
def path(tmp_path):
    """A file of a search with one pending trial."""
    path = tmp_path / "c.json"
    checkpoint, study = opened(path)
    study.ask()
    checkpoint.save([study])
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"bases": [LinearSVC(C=2.0)]},
        {"bases": [LinearSVC(), LinearSVC()]},
        {"data": (np.arange(5.0),)},
        {"metric": "f2"},
        {"constraint": "precision >= 0.5"},
        {"strategy": "grid"},
        {"threshold": "tune"},
        {"normalize": "none"},
        {"bound_on": "train"},
        {"engine": "generic"},
        {"weighting": "one-vs-rest"},
        {"sample_weight_name": "sample_weight"},
        {"min_gain": 1.0},
    ],
    ids=str,
)
def test_what_decides_the_trials_is_another_search(path, options):
    with pytest.raises(ValueError, match="belongs to another search"):
        opened(path, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"n_trials": 20},
        {"n_jobs": 2},
        {"verbose": 1},
        {"time_limit": 5.0},
        {"tol": 0.1},
        {"refit": False},
        {"error_score": "raise"},
        {"callbacks": [print]},
        {"bound": "diagonal"},
    ],
    ids=str,
)
def test_what_does_not_goes_on_with_the_same_one(path, options):
    _, study = opened(path, **options)
    assert len(study.trials) == 1


def test_how_large_a_gain_has_to_be_is_decided_when_all_is_over(tmp_path):
    checkpoint, study = opened(tmp_path / "c.json", min_gain=1.0)
    study.ask()
    checkpoint.save([study])
    assert len(opened(tmp_path / "c.json", min_gain=2.0)[1].trials) == 1


def test_without_a_path_there_is_none():
    assert opened(None)[0] is None
