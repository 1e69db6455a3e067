"""Small data sets that run through whole experiments in a second."""

import numpy as np
import pytest
from command_builders import customers, error_of, ok, one_thread, run  # noqa: F401  # fixtures
from experiment_builders import small_set

from notebooks.experiments.command import main
from notebooks.experiments.protocols import Protocol

QUICK = {"C": (0.25, 4.0), "n_trials": 4}


@pytest.fixture
def command():
    """What the fixtures run."""
    return main


@pytest.fixture
def data():
    """A binary problem with a fifth of positives."""
    return small_set()


@pytest.fixture
def paper():
    """The paper's protocol with two penalties and four trials."""
    return Protocol("paper", official_test=True, guided_by="train", **QUICK)


@pytest.fixture
def modern():
    """Pooled folds, three of them."""
    return Protocol("modern", n_folds=3, **QUICK)


@pytest.fixture
def folder(tmp_path):
    """A folder of data sets: one binary, one with classes, one sparse with an official test part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0.8).astype(int)
    np.savez(tmp_path / "plain.npz", X=X, y=np.where(y, 1, -1))
    np.savez(tmp_path / "abalone.npz", X=X, y=np.array([9, 10, 12])[rng.integers(0, 3, 120)])
    pieces = {"X_data": np.ones(120), "X_indices": rng.integers(0, 7, 120), "X_indptr": np.arange(121)}
    is_test = np.arange(120) % 3 == 0
    np.savez(
        tmp_path / "sparse.npz", **pieces, X_shape=np.array([120, 7]), y=y + 5, positive=np.array([6]), is_test=is_test
    )
    return tmp_path
