"""Small streams and settings that the tests of learners share."""

import numpy as np
import pytest
from scipy import sparse

each_loss = pytest.mark.parametrize("loss", ["prbep", "f1", "pauc"])


def stream(seed=0, n=600, d=4, pos=0.1, noise=0.3, length=0.9):
    """Rows no longer than ``length`` and labels -1 and 1, of which about a share ``pos`` is 1.

    Learners scale rows by a power of two: at a length of 1 the rounding of a processor would choose which one.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X *= length / np.linalg.norm(X, axis=1).max()
    score = X[:, 0] / X[:, 0].std() + noise * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1.0 - pos), 1, -1)


def weights(model):
    """Weights of the rows as the kernels see them, that of the constant feature last."""
    return np.append(model.coef_[0] / model.x_scale_, model.intercept_)


def with_constant(model, X):
    """Rows as the kernels see them: scaled, with the constant feature."""
    return np.c_[X * model.x_scale_, np.ones(len(X))]


def sparse_rows(X, seed=0):
    """The rows with half of the entries set to 0, but for the column that matters, dense and sparse."""
    kept = np.random.default_rng(seed).random(X.shape) < 0.5
    kept[:, 0] = True
    X = X * kept
    return X, sparse.csr_array(X)
