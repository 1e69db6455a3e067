"""How data are split, scaled and used to choose: the paper's way and today's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from csf._common.sklearn import clone, safe_indexing
from csf._common.typing import IntArray, Samples

if TYPE_CHECKING:
    from notebooks.experiments.datasets import DataSet


__all__ = ["PROTOCOLS", "Protocol", "Split"]

# So many positives among the pooled held-out samples, and more partitions into folds are not worth their time.
_ENOUGH = 2000


@dataclass(frozen=True, eq=False)
class Split:
    """One split of one data set, scaled."""

    X: Samples
    y: IntArray  # 0 for the negative or null class, 1, 2, … for the others
    X_test: Samples
    y_test: IntArray
    folds: list[tuple[IntArray, IntArray]]  # rows of ``X`` to train on, and held out to choose by
    seed: int  # of what is left to chance in methods
    n_folds: int | None

    def repeated(self, n_repeats: int) -> list[tuple[IntArray, IntArray]]:
        """Folds of several partitions of the training samples; the first one is ``folds``."""
        if self.n_folds is None:
            return self.folds
        n_repeats = min(n_repeats, -(-_ENOUGH // int(np.count_nonzero(self.y))))
        seeds = np.random.SeedSequence(self.seed).generate_state(n_repeats - 1)
        return self.folds + [pair for seed in seeds for pair in _folds(self.n_folds, int(seed), self.y)]


@dataclass(frozen=True)
class Protocol:
    """Rules of an experiment.

    Parameters
    ----------
    name : str
        Name for tables.
    C : tuple of float
        Penalties of the linear learners to choose from.
    n_trials : int, default=19
        Trainings of a search, for each penalty.
    n_folds : int, default=None
        Folds whose pooled held-out predictions choose; the winner is trained once more on all training data.
        ``None`` holds out one part: models are judged as they were trained on the rest.
    test_size : float, default=0.25
        Share of the samples to test on.
    validation_size : float, default=1/3
        Share of the training samples to hold out where ``n_folds`` is ``None``.
    official_test : bool, default=False
        Whether an official test part is used where there is one.
    guided_by : {"train", "validation"}, default="validation"
        Data whose error profiles guide the strategies.

    Examples
    --------
    >>> PROTOCOLS["paper"].C[0], PROTOCOLS["paper"].C[-1], len(PROTOCOLS["paper"].C)
    (0.0156, 64.0, 13)
    """

    name: str
    C: tuple[float, ...]
    n_trials: int = 19
    n_folds: int | None = None
    test_size: float = 0.25
    validation_size: float = 1 / 3
    official_test: bool = False
    guided_by: Literal["train", "validation"] = "validation"
    engine: Literal["auto", "liblinear"] = "auto"  # what trains linear models, see `csf.CostSearch`

    @property
    def refit(self) -> bool:
        """Whether winners are trained once more on all training data."""
        return self.n_folds is not None

    @property
    def test_train_ratio(self) -> float:
        """Test samples for each training sample, for corrected intervals."""
        return self.test_size / (1.0 - self.test_size)

    def split(self, data: DataSet, number: int, *, seed: int = 0) -> Split:
        """One split of a data set.

        Parameters
        ----------
        data : DataSet
            The problem.
        number : int
            Number of the split, from 0; the same number gives the same split, however many are made.
        seed : int, default=0
            Seed of the experiment.

        Returns
        -------
        Split
            All parts stratified, features scaled by the training samples (labels and test part play no role there).
        """
        seeds = np.random.SeedSequence([seed, number]).generate_state(3)
        test_seed, fold_seed, method_seed = (int(s) for s in seeds)
        if self.official_test and data.is_test is not None:
            train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
        else:
            splitter = StratifiedShuffleSplit(1, test_size=self.test_size, random_state=test_seed)
            train, test = next(splitter.split(np.zeros(data.y.shape[0]), data.y))
        y = data.codes
        if self.n_folds is None:
            splitter = StratifiedShuffleSplit(1, test_size=self.validation_size, random_state=fold_seed)
            folds: list[tuple[IntArray, IntArray]] = list(splitter.split(np.zeros(train.size), y[train]))
        else:
            folds = _folds(self.n_folds, fold_seed, y[train])
        scaler = clone(data.transformer()).fit(safe_indexing(data.X, train))
        X, X_test = (scaler.transform(safe_indexing(data.X, part)) for part in (train, test))
        return Split(X, y[train], X_test, y[test], folds, method_seed, self.n_folds)


def _folds(n_folds: int, seed: int, y: IntArray) -> list[tuple[IntArray, IntArray]]:
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(y.size), y))


def _powers(*exponents: int) -> tuple[float, ...]:
    return tuple(2.0**exponent for exponent in exponents)


_PAPER = Protocol("paper", _powers(*range(-6, 7)), official_test=True, guided_by="train")
PROTOCOLS = {
    "paper": _PAPER,
    # As the paper's authors trained: by LIBLINEAR itself, each model anew.
    "liblinear": replace(_PAPER, name="liblinear", engine="liblinear"),
    "modern": Protocol("modern", _powers(-6, -4, -2, 0, 2, 4, 6), n_trials=11, n_folds=5),
}
