"""Targets: classes as codes, with 0 for the null class, and several labels per sample as columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from csf._common.dtypes import is_number
from csf._common.messages import did_you_mean, plain
from csf._common.typing import Array, Estimator, IntArray, Label, Samples
from csf._common.validation import as_array, check_binary_target, check_labels, check_weights, in_named_order, names_on

Result = TypeVar("Result")


class LearntClasses(NamedTuple):
    """Classes that an estimator has learnt, ascending, by its names; their codes; its name of the null class."""

    known: Array
    codes: IntArray
    null: Label

    def encode(self, predicted: ArrayLike) -> IntArray:
        """Convert the estimator's predictions to codes."""
        if not np.isin(predicted, self.known).all():
            unknown, learnt = np.setdiff1d(predicted, self.known).tolist(), self.known.tolist()
            raise ValueError(f"the base predicted the classes {unknown}, but it was trained on {learnt} alone")
        return self.codes[np.searchsorted(self.known, predicted)]


def learnt_classes(estimator: Estimator) -> Array:
    """Return the classes of a fitted classifier in ascending order, whatever the order of its ``classes_``."""
    listed = np.asarray(estimator.classes_)
    known = np.unique(listed)
    if known.shape != listed.shape:
        raise ValueError(f"{type(estimator).__name__} lists classes twice: classes_ is {listed.tolist()}")
    return known


def places_of(known: Array, classes: Array) -> IntArray:
    """Return the indices, among the sorted labels, of learnt classes that are labels or already such indices."""
    learnt, given = known.tolist(), classes.tolist()
    if set(learnt) <= set(given):
        return np.array([given.index(label) for label in learnt])
    if not set(learnt) <= set(range(len(given))):
        raise ValueError(f"the base has learnt the classes {learnt}, and y holds {given}; give labels that it knows")
    return known.astype(np.int64)


def names_of_answers(null: Label, positive: Label) -> list[Label]:
    """Return the null class, and the positive one of two classes or what stands for all others."""
    return [plain(null), f"not {null}" if positive is None else plain(positive)]


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes of a problem, with or without a null class.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    null : label
        The class of nothing to find, the negative one of two; ``None`` where all are alike.

    Examples
    --------
    >>> labels = Labels(np.array(["bird", "none", "tree"]), "none")
    >>> labels.encode(np.array(["tree", "none", "bird"]))
    array([2, 0, 1])
    >>> labels.decode(np.array([2, 0, 1]))
    array(['tree', 'none', 'bird'], dtype='<U4')
    """

    classes: Array
    null: Label

    def __post_init__(self) -> None:
        """Keep the null class as a label of Python, which messages and attributes show."""
        object.__setattr__(self, "null", plain(self.null))

    @property
    def by_code(self) -> Array:
        """Label of each code: the null class first, if there is one, then the others in their order."""
        if self.null is None:
            return self.classes
        is_null = self.classes == self.null
        return np.concatenate([self.classes[is_null], self.classes[~is_null]])

    @property
    def answers(self) -> list[Label]:
        """Names of the answers of two classes, or of a null class and all others together; else the labels."""
        labels = self.by_code.tolist()
        return labels if self.null is None else names_of_answers(self.null, self.positive)

    @property
    def n_alike(self) -> int | None:
        """Number of classes where none of them is the null class, else ``None``."""
        return self.classes.shape[0] if self.null is None else None

    @property
    def positive(self) -> Label:
        """The positive one of two classes; ``None`` for more."""
        return plain(self.by_code[1]) if self.classes.shape[0] == 2 else None

    @property
    def positive_is_first(self) -> bool:
        """True where there are two classes and the first one is positive."""
        return bool(self.positive is not None and self.positive == self.classes[0])

    def encode(self, y: Array) -> IntArray:
        """Convert labels to codes.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Labels, all of them in ``classes``.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            The codes.
        """
        codes = np.empty(self.classes.shape[0], dtype=np.int64)
        codes[np.searchsorted(self.classes, self.by_code)] = np.arange(codes.shape[0])
        return codes[np.searchsorted(self.classes, y)]

    def decode(self, codes: IntArray) -> Array:
        """Convert codes to labels.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        return self.by_code[codes]

    def learnt_by(self, estimator: Estimator) -> LearntClasses:
        """Return the classes that an estimator has learnt; all of them where it does not say."""
        known = learnt_classes(estimator) if hasattr(estimator, "classes_") else self.classes
        codes = self.encode(self.classes)[places_of(known, self.classes)]
        return LearntClasses(known, codes, next(iter(known[codes == 0]), self.null))

    def check_codes(self, known: ArrayLike) -> None:
        """Raise a ValueError where it is unclear whether the classes of a fitted base are labels or codes.

        Parameters
        ----------
        known : array-like of shape (n_known,)
            The base's classes: labels all of them, or codes.

        Raises
        ------
        ValueError
            If some are labels, but not all. Of two classes that is no error where these labels are their own codes,
            such as the 1 of labels -1 and 1. If they are codes, and the null class is not the first of the labels.
        """
        learnt, given = np.asarray(known).tolist(), self.classes.tolist()
        both = [label for label in learnt if label in given]
        if 0 < len(both) < len(learnt) and (len(given) > 2 or [given.index(label) for label in both] != both):
            codes = ", ".join(f"{code} for {label!r}" for code, label in enumerate(self.by_code.tolist()))
            raise ValueError(
                f"the base was trained on the classes {learnt}, but y has {given}. Only {both} are in both, so it is "
                "unclear whether the base was trained on labels or on codes of them. Give samples with the labels "
                f"that the base was trained on; if it was trained on codes, give codes as y: {codes}"
            )
        if self.by_code.tolist() != given:
            raise ValueError(
                f"the base was trained on {learnt}, and y has {given}: give the labels that it was trained on"
            )

    def count(self, codes: IntArray) -> IntArray:
        """Count the samples of each class.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Codes.

        Returns
        -------
        ndarray of int, shape (n_classes,)
            How many there are, in the order of ``classes``.

        Examples
        --------
        >>> Labels(np.array(["bird", "none"]), "none").count(np.array([0, 0, 1]))
        array([1, 2])
        """
        places = np.searchsorted(self.classes, self.by_code)
        return np.bincount(places[codes], minlength=self.classes.shape[0])


def refuse_weightless(classes: Sequence[Label], weight: str = "sample_weight") -> None:
    """Raise a ValueError for classes of which each sample has weight 0: nothing is known of them."""
    if classes:
        raise ValueError(
            f"{weight} is zero for every sample of the classes {list(classes)}; remove these samples, or give at least "
            "one a positive weight"
        )


def read_labels(y: ArrayLike, *, pos_label: Label = None, null_class: Label = None) -> tuple[Labels, IntArray]:
    """Read the labels of a target and their codes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: numbers, booleans or strings of two or more classes.
    pos_label : label, default=None
        The positive one of two classes; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    null_class : label, default=None
        The class that means nothing to find; ``None`` for two classes.

    Returns
    -------
    labels : Labels
        The classes.
    codes : ndarray of int, shape (n_samples,)
        0 for the null class, 1, 2, … for the others.

    Raises
    ------
    ValueError
        If ``y`` cannot be used, the positive or null class is unknown, or both are given.

    Examples
    --------
    >>> read_labels(["a", "b", "c", "b"], null_class="b")[1]
    array([1, 0, 2, 0])
    """
    if null_class is None:
        classes, is_pos, pos_label = check_binary_target(y, pos_label)
        return Labels(classes, classes[classes != pos_label][0]), is_pos.astype(np.int64)
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} and null_class={null_class!r} are both given; two classes need one of them, more "
            "classes null_class alone"
        )
    y, classes = check_labels(y)
    if null_class not in classes.tolist():
        hint = did_you_mean(null_class, classes.tolist())
        raise ValueError(f"null_class={null_class!r} is not a label of y, which holds {classes.tolist()}{hint}")
    labels = Labels(classes, classes[classes.tolist().index(null_class)])
    return labels, labels.encode(y)


def read_classes(y: ArrayLike) -> tuple[Labels, IntArray]:
    """Read the labels of a target without a null class, and their codes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: numbers or strings of three or more classes.

    Returns
    -------
    labels : Labels
        The classes, none of which means nothing to find.
    codes : ndarray of int, shape (n_samples,)
        Places among the sorted classes.

    Raises
    ------
    ValueError
        If ``y`` cannot be used, or has two classes.

    Examples
    --------
    >>> read_classes(["b", "a", "c", "b"])[1]
    array([1, 0, 2, 1])
    """
    y, classes = check_labels(y)
    if classes.shape[0] == 2:
        raise ValueError(
            f"y holds two classes {classes.tolist()}, one of which is what there is to find; use read_labels, with "
            "pos_label= if that is not 1"
        )
    return Labels(classes, None), np.searchsorted(classes, y)


# From so many samples of the rarest label on, any folds have about the same share of it.
_MANY = 1000


def has_several_columns(y: ArrayLike) -> bool:
    """Check whether a target has a column for each of several labels; a single column is one label per sample."""
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
    def read(cls, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LabelMatrix:
        """Read the labels of a target; raise a ValueError that names a column in which there is nothing to learn."""
        names, codes = _table(y)
        weight = check_weights(sample_weight, codes.shape[0])
        counted = codes if weight is None else codes[weight > 0.0]
        alike = np.flatnonzero((counted == counted[:1]).all(axis=0))
        if alike.size:
            column, whose = int(alike[0]), "samples" if weight is None else "samples with a positive weight"
            raise ValueError(
                f"column {names.tolist()[column]!r} of y is {counted[0, column]:g} for all {len(counted)} {whose}, so "
                "there is nothing to learn; leave it out"
            )
        order = sorted(range(names.size), key=lambda label: codes[:, label].tobytes())
        return cls(codes, names, np.array(order))

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return self.codes.shape[1]

    @property
    def ordered(self) -> Array:
        """The codes, with columns in `order`."""
        return np.ascontiguousarray(self.codes[:, self.order])

    def given(self, parts: list[Result]) -> list[Result]:
        """Rearrange the results of all labels from `order` to the user's order."""
        return [parts[label] for label in np.argsort(self.order)]


def read_codes(y: ArrayLike, label_names: Sequence[Label]) -> Array:
    """Read the codes of a target whose labels are known by name; some labels may occur in no sample."""
    codes = _table(in_named_order(y, label_names, "y"))[1]
    if codes.shape[1] != len(label_names):
        raise ValueError(f"y must have a column for each of {len(label_names)} labels, got {codes.shape[1]}")
    return codes


def _table(y: Samples) -> tuple[Array, Array]:
    """Return the names of the columns and the codes."""
    values, named = as_array(y, "y"), names_on(y)
    if values.ndim != 2 or values.shape[1] < 2 or not values.shape[0]:
        raise ValueError(f"y of several labels must have shape (n_samples, n_labels), got {values.shape}")
    names = np.arange(values.shape[1]) if named is None else np.array([*named, None], dtype=object)[:-1]
    codes = [_codes(values[:, column], name) for column, name in enumerate(names.tolist())]
    return names, np.column_stack(codes)


def _codes(values: Array, name: object) -> Array:
    """Convert one label to codes; raise a ValueError that names the column if it has other values."""
    try:
        if not is_number(values) and any(isinstance(value, str) for value in values.tolist()):
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
    """Assign samples to strata by the rarest label value of each, so that folds have similar shares of all labels.

    Values are 1 for labels that less than half of the samples have, else 0. Samples with no such value form a stratum
    too, which absorbs strata with fewer samples than the rarest value has: no fold needs one of each of these.
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
