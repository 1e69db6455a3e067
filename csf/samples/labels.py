"""Labels of classes as codes: 0 where there is nothing to find, or in the order of classes that are all alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from csf._common.names import did_you_mean
from csf._common.typing import Array, IntArray, Label
from csf._common.validation import check_binary_target, check_labels

__all__ = ["Labels", "read_classes", "read_labels"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes of a problem, one of which may mean that there is nothing to find.

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

    @property
    def by_code(self) -> Array:
        """Label of each code: the null class first, if there is one, then the others in their order."""
        if self.null is None:
            return self.classes
        is_null = self.classes == self.null
        return np.concatenate([self.classes[is_null], self.classes[~is_null]])

    @property
    def n_alike(self) -> int | None:
        """Number of classes where none means nothing to find, else ``None``."""
        return self.classes.shape[0] if self.null is None else None

    @property
    def positive(self) -> Label:
        """The other one of two classes; ``None`` of more."""
        return self.by_code[1] if self.classes.shape[0] == 2 else None

    def encode(self, y: Array) -> IntArray:
        """Codes of labels.

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
        """Labels of codes.

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
            such as the 1 of labels -1 and 1.
        """
        learnt, given = np.asarray(known).tolist(), self.classes.tolist()
        both = [label for label in learnt if label in given]
        if 0 < len(both) < len(learnt) and (len(given) > 2 or self.encode(np.array(both)).tolist() != both):
            codes = ", ".join(f"{code} for {label!r}" for code, label in enumerate(self.by_code.tolist()))
            raise ValueError(
                f"the base has learnt the classes {learnt}, and y holds {given}: {both} are in "
                "both, others are not, so the base may have learnt labels or codes of them. Give samples whose labels "
                f"the base has learnt; to a base that has learnt codes, give codes as y: {codes}"
            )

    def count(self, codes: IntArray) -> IntArray:
        """Samples of each class.

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


def read_labels(y: ArrayLike, *, pos_label: Label = None, null_class: Label = None) -> tuple[Labels, IntArray]:
    """Labels of a target and their codes.

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
    """Labels of a target of classes that are all alike, and their codes.

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
