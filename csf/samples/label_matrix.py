"""Targets of several labels: a column of 0 and 1 for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from csf._common.validation import check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, IntArray

__all__ = ["LabelMatrix", "has_several_columns", "label_strata", "read_codes"]

# From so many samples of the rarest label on, any folds have about the same share of it.
_MANY = 1000


def has_several_columns(y: Any) -> bool:
    """Whether a target has a column for each of several labels; a single column is one label a sample."""
    if issparse(y):
        return True
    try:
        shape = np.shape(y)
    except ValueError:
        raise ValueError(
            "y is a list of lists of different lengths; several labels a sample are a matrix of 0 and 1 with a column "
            "for each label, as sklearn.preprocessing.MultiLabelBinarizer makes it"
        ) from None
    return len(shape) > 1 and shape[1:] != (1,)


@dataclass(frozen=True, eq=False)
class LabelMatrix:
    """Labels of a target with several columns.

    Parameters
    ----------
    codes : ndarray of int8, shape (n_samples, n_labels)
        1 where a sample has a label, else 0.
    names : ndarray of shape (n_labels,)
        Names of the columns of a frame; else their places.
    order : ndarray of int, shape (n_labels,)
        The columns in an order that their contents decide: what is computed in it does not depend on the user's.
    """

    codes: Array
    names: Array
    order: IntArray

    @classmethod
    def read(cls, y: Any, sample_weight: ArrayLike | None = None) -> LabelMatrix:
        """Labels of a target; a ValueError that names the column of which there is nothing to learn."""
        names, codes = _table(y)
        weight = check_weights(sample_weight, codes.shape[0])
        counted = codes if weight is None else codes[weight > 0.0]
        alike = np.flatnonzero((counted == counted[:1]).all(axis=0))
        if alike.size:
            at, whose = int(alike[0]), "samples" if weight is None else "samples with a positive weight"
            raise ValueError(
                f"column {names.tolist()[at]!r} of y is {counted[0, at]} for all {len(counted)} {whose}: there is "
                "nothing to learn; leave it out"
            )
        order = sorted(range(names.size), key=lambda at: codes[:, at].tobytes())
        return cls(codes, names, np.array(order))

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return self.codes.shape[1]

    @property
    def ordered(self) -> Array:
        """The codes in `order`."""
        return np.ascontiguousarray(self.codes[:, self.order])

    def given(self, parts: list[Any]) -> list[Any]:
        """What was made for each label in `order`, in the user's order."""
        return [parts[at] for at in np.argsort(self.order)]


def read_codes(y: Any, n_labels: int) -> Array:
    """Codes of a target with a given number of labels, which may have some of them in no sample."""
    codes = _table(y)[1]
    if codes.shape[1] != n_labels:
        raise ValueError(f"y must have a column for each of {n_labels} labels, got {codes.shape[1]}")
    return codes


def _table(y: Any) -> tuple[Array, Array]:
    """Names of the columns and the codes."""
    y = y.toarray() if issparse(y) else y
    values, named = np.asarray(y), getattr(y, "columns", None)
    if values.ndim != 2 or values.shape[1] < 2 or not values.shape[0]:
        raise ValueError(f"y of several labels must have shape (n_samples, n_labels), got {values.shape}")
    names = np.arange(values.shape[1]) if named is None else np.array([*named, None], dtype=object)[:-1]
    codes = [_codes(values[:, at], name) for at, name in enumerate(names.tolist())]
    return names, np.column_stack(codes)


def _codes(values: Array, name: Any) -> Array:
    """Codes of one label; a ValueError that names the column if it is none."""
    try:
        if values.dtype.kind not in "biuf" and any(isinstance(value, str) for value in values.tolist()):
            raise ValueError
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} of y holds {values.tolist()[0]!r}; {_ACCEPTED}") from None
    if np.isnan(numbers).any():
        raise ValueError(f"column {name!r} of y contains NaN; {_ACCEPTED}")
    other = (numbers != 0.0) & (numbers != 1.0)
    if other.any():
        raise ValueError(f"column {name!r} of y holds {values[other].tolist()[0]!r}; {_ACCEPTED}")
    return numbers.astype(np.int8)


_ACCEPTED = (
    "each column must hold 0 and 1 alone: whether a sample has the label. Of a target with one of several classes a "
    "sample give one column of classes"
)


def label_strata(codes: Array) -> IntArray:
    """Strata of samples such that folds have like shares of all labels: the rarest value that a sample has.

    Values are 1 of labels that less than half of the samples have, else 0. Samples without any are a stratum too, which
    takes in strata with fewer samples than the rarest value has: no fold needs one of each of these.
    """
    n_samples, n_labels = codes.shape
    rare = codes != (2 * codes.sum(axis=0, dtype=np.int64) > n_samples)
    counts = rare.sum(axis=0)
    by_count = np.argsort(counts, kind="stable")
    strata = np.where(rare.any(axis=1), rare[:, by_count].argmax(axis=1), n_labels)
    least, sizes = min(int(counts.min()), _MANY), np.bincount(strata, minlength=n_labels + 1)
    strata[sizes[strata] < least] = n_labels
    sizes = np.bincount(strata, minlength=n_labels + 1)
    if sizes[n_labels] < least:
        strata[strata == n_labels] = sizes.argmax()
    return strata
