"""Splits of the data: views of indices; slices are made where a base classifier needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from csf._common.sklearn import safe_indexing, slice_params
from csf._common.typing import Array, BoolArray, IntArray, Samples
from csf.samples.task import Task

__all__ = ["Fold", "LabelFold", "bound_share", "make_folds"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of a task.

    Parameters
    ----------
    given : Task or None
        The task; ``None`` once only slices are needed, see `task`.
    train, test : ndarray of int
        Indices of its two parts.
    """

    given: Task | None
    train: IntArray
    test: IntArray

    @property
    def task(self) -> Task:
        """The whole task.

        Raises
        ------
        ValueError
            If this fold holds slices alone.
        """
        if self.given is None:
            raise ValueError("this fold holds its own slices alone, not the task that they were taken from")
        return self.given

    @cached_property
    def _alike(self) -> Fold | None:
        """Fold of the same rows whose slices of the samples serve this one too, see `LabelFold`."""
        return None

    @cached_property
    def X_train(self) -> Samples:
        """Samples to train on."""
        return safe_indexing(self.task.X, self.train) if self._alike is None else self._alike.X_train

    @cached_property
    def X_test(self) -> Samples:
        """Samples held out."""
        return safe_indexing(self.task.X, self.test) if self._alike is None else self._alike.X_test

    @cached_property
    def y_train(self) -> IntArray:
        """Targets to train on."""
        return self.task.codes[self.train]

    @cached_property
    def is_pos_train(self) -> BoolArray:
        """Which samples to train on have code 1."""
        return self._targets == 1

    @cached_property
    def n_alike(self) -> int | None:
        """See `Task.n_alike`."""
        return self.task.n_alike

    @cached_property
    def codes_train(self) -> IntArray:
        """Codes that occur among the targets to train on, in their order."""
        return np.unique(self._targets)

    @property
    def _targets(self) -> IntArray:
        """Targets to train on; eight bytes a sample are kept for those alone who ask for `y_train`."""
        return self.y_train if self.given is None else self.given.codes[self.train]

    @cached_property
    def sign_train(self) -> IntArray:
        """1 for these and -1 for the others in a byte each, once for all trainers of the fold."""
        return np.where(self.is_pos_train, 1, -1).astype(np.int8)

    @cached_property
    def y_test(self) -> IntArray:
        """Targets held out."""
        return self.task.codes[self.test]

    @cached_property
    def weight_train(self) -> Array | None:
        """Weights to train with, or ``None``."""
        return None if self.task.weight is None else self.task.weight[self.train]

    @cached_property
    def weight_test(self) -> Array | None:
        """Weights held out, or ``None``."""
        return None if self.task.weight is None else self.task.weight[self.test]

    @cached_property
    def fit_params(self) -> dict[str, Any]:
        """Arguments of the base's ``fit``; those with one entry a sample are sliced."""
        return slice_params(dict(self.task.fit_params), self.train, self.task.n_samples)

    @cached_property
    def sliced(self) -> Fold:
        """The same fold with all slices made and without the task, so that a worker process gets no more."""
        fold = self._without_task("X_train", "X_test", "y_train", "fit_params")
        # The samples would be in memory twice for as long as this fold lives.
        vars(self).pop("X_train")
        vars(self).pop("X_test")
        return fold

    @cached_property
    def without_samples(self) -> Fold:
        """The same fold with its targets and weights alone: what judging predictions takes."""
        fold, targets = self._without_task(), self._targets
        # A byte a sample is enough to compare codes with, and there is one such array for each fold.
        vars(fold)["y_train"] = targets.astype(np.min_scalar_type(targets.max()))
        return fold

    def _without_task(self, *names: str) -> Fold:
        fold = replace(self, given=None)
        # A cached property is found in the instance before it is computed.
        for name in ("n_alike", "y_test", "weight_train", "weight_test", *names):
            vars(fold)[name] = getattr(self, name)
        return fold


class LabelFold(Fold):
    """One split of a task with several labels: its entries are all labels of a row, then those of the next row.

    ``train`` and ``test`` have the row of each entry, so that entries of a row are one sample to whoever draws samples.
    """

    @classmethod
    def of(cls, task: Task, train: IntArray, test: IntArray) -> LabelFold:
        """Fold of the rows of a split."""
        return cls(task, *(np.repeat(rows, task.codes.shape[1]) for rows in (train, test)))

    @cached_property
    def columns(self) -> list[Fold]:
        """The fold of each label, with slices of the samples that all of them share."""
        n_labels = self.task.codes.shape[1]
        folds = [Fold(task, self.train[::n_labels], self.test[::n_labels]) for task in self.task.columns]
        for fold in folds[1:]:
            vars(fold)["_alike"] = folds[0]
        return folds

    def _codes(self, rows: IntArray) -> IntArray:
        codes = self.task.codes
        return codes[rows[:: codes.shape[1]]].ravel().astype(np.int64)

    @cached_property
    def y_train(self) -> IntArray:
        """Targets of the entries to train on."""
        return self._codes(self.train)

    @cached_property
    def y_test(self) -> IntArray:
        """Targets of the entries held out."""
        return self._codes(self.test)

    @property
    def _targets(self) -> IntArray:
        return self.y_train


def make_folds(task: Task, splits: Iterable[tuple[IntArray, IntArray]]) -> list[Fold]:
    """Folds of all splits.

    Parameters
    ----------
    task : Task
        The task.
    splits : iterable of tuple of ndarray
        Train and test indices.

    Returns
    -------
    list of Fold
        In the order of the splits.
    """
    made = Fold if task.codes.ndim == 1 else LabelFold.of
    return [made(task, train, test) for train, test in splits]


def bound_share(folds: list[Fold], *, on_train: bool) -> float:
    """Share of positives in the data that the bounds read: all held-out parts, or the training parts."""
    parts = [(f.y_train, f.weight_train) if on_train else (f.y_test, f.weight_test) for f in folds]
    total = float(sum(y.size if weight is None else weight.sum() for y, weight in parts))
    positive = float(sum(np.count_nonzero(y) if weight is None else weight[y > 0].sum() for y, weight in parts))
    if not 0.0 < positive < total:
        raise ValueError(
            f"the {'training' if on_train else 'held-out'} parts of cv hold a weight of {positive:g} in the positive "
            f"class of {total:g} in all; both classes are needed. Use a stratified splitter"
        )
    return positive / total
