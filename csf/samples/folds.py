"""Splits of the data: views of indices; slices are made where a base classifier needs them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from csf._common.typing import IntArray
from csf._sklearn import safe_indexing, slice_params

__all__ = ["Data", "Fold", "bound_share", "make_folds"]


@dataclass(frozen=True, eq=False)
class Data:
    """What a search was given, once for all folds.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Targets: 0 where there is nothing to find, 1 for the positive class or 1, 2, … for several.
    sample_weight : ndarray of shape (n_samples,), default=None
        The user's weights.
    fit_params : dict, default={}
        Further arguments of the base's ``fit``.
    """

    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None = None
    fit_params: dict = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the data.

    Parameters
    ----------
    data : Data or None
        The data; ``None`` once only slices are needed.
    train, test : ndarray of int
        Indices of its two parts.
    """

    data: Data | None
    train: np.ndarray
    test: np.ndarray

    @cached_property
    def X_train(self) -> Any:
        """Samples to train on."""
        return safe_indexing(self.data.X, self.train)

    @cached_property
    def X_test(self) -> Any:
        """Samples held out."""
        return safe_indexing(self.data.X, self.test)

    @cached_property
    def y_train(self) -> Any:
        """Targets to train on."""
        return self.data.y[self.train]

    @cached_property
    def y_test(self) -> Any:
        """Targets held out."""
        return self.data.y[self.test]

    @cached_property
    def weight_train(self) -> Any:
        """Weights to train with, or ``None``."""
        return None if self.data.sample_weight is None else self.data.sample_weight[self.train]

    @cached_property
    def weight_test(self) -> Any:
        """Weights held out, or ``None``."""
        return None if self.data.sample_weight is None else self.data.sample_weight[self.test]

    @cached_property
    def fit_params(self) -> Any:
        """Arguments of the base's ``fit``; those with one entry a sample are sliced."""
        return slice_params(self.data.fit_params, self.train, self.data.y.shape[0])

    @cached_property
    def sliced(self) -> Any:
        """The same fold with all slices made and without the data, so that a worker process gets no more."""
        fold = self._without_data("X_train", "X_test", "fit_params")
        vars(self).pop("X_train")
        vars(self).pop("X_test")
        return fold

    @cached_property
    def labels(self) -> Any:
        """The same fold with its targets and weights alone."""
        return self._without_data()

    def _without_data(self, *names):
        fold = replace(self, data=None)
        for name in ("y_train", "y_test", "weight_train", "weight_test", *names):
            vars(fold)[name] = getattr(self, name)
        return fold


def make_folds(data: Data, splits: list[tuple[IntArray, IntArray]]) -> list[Fold]:
    """Folds of all splits.

    Parameters
    ----------
    data : Data
        The data.
    splits : list of tuple of ndarray
        Train and test indices.

    Returns
    -------
    list of Fold
        In the order of the splits.
    """
    return [Fold(data, train, test) for train, test in splits]


def bound_share(folds: list[Fold], *, on_train: Any) -> Any:
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
