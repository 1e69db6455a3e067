"""What the user gave, in one record for everything that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from csf._common.typing import Array, IntArray, Samples
from csf.samples.label_matrix import label_strata
from csf.samples.labels import Labels

__all__ = ["Task"]


@dataclass(frozen=True, eq=False)
class Task:
    """Samples, their codes and weights, and whatever else trainings are given.

    Of several labels a sample the codes are 0 and 1, of shape (n_samples, n_labels).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    codes : ndarray of int, shape (n_samples,)
        Targets: 0 where there is nothing to find, 1 for the positive class or 1, 2, … for several; or codes of classes
        that are all alike.
    weight : ndarray of shape (n_samples,), default=None
        The user's weights.
    fit_params : mapping, default={}
        Further arguments of the base's ``fit``.
    labels : Labels, default=None
        The user's labels of the codes; ``None`` for problems that are made of codes.
    """

    X: Samples
    codes: IntArray
    weight: Array | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.codes.shape[0]

    @property
    def n_alike(self) -> int | None:
        """Number of classes where none means nothing to find, else ``None``."""
        return None if self.labels is None else self.labels.n_alike

    @property
    def strata(self) -> Array:
        """What splitters stratify by: the user's labels, as everywhere else, or one that stands for several labels."""
        return label_strata(self.codes) if self.codes.ndim == 2 else self.user_labels.decode(self.codes)

    @cached_property
    def columns(self) -> list[Self]:
        """The task of each of several labels, the same object each time."""
        return [replace(self, codes=codes.astype(np.int64)) for codes in self.codes.T]

    @property
    def user_labels(self) -> Labels:
        """The user's labels, or the codes where there are no others."""
        return Labels(np.unique(self.codes), 0) if self.labels is None else self.labels

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return bool(self.codes.max() > 1)
