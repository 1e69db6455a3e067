"""Train and test parts of a ``cv`` argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv

from csf._common.indices import small_indices
from csf._common.typing import Array, IntArray, RandomState_, Samples
from csf._common.validation import check_seed

__all__ = ["resolve_splits"]

# Classes with too few samples that an error names.
_MOST_NAMED = 5


def _pairs(cv: Iterable[Any]) -> list[Any]:
    """Splits that are given one by one, as pairs."""
    cv = list(cv)
    for split in cv:
        if not isinstance(split, (Sequence, np.ndarray)) or isinstance(split, str) or len(split) != 2:
            raise ValueError(f"cv must give pairs (train, test) of indices or masks, got {split!r}")
    return cv


def resolve_splits(
    cv: Any,
    X: Samples,
    y: ArrayLike,
    *,
    random_state: RandomState_ = None,
    split_params: dict[str, Any] | None = None,
) -> list[tuple[IntArray, IntArray]]:
    """Train and test indices of a ``cv`` argument.

    Parameters
    ----------
    cv : int, float, splitter, iterable or None
        Folds, a held-out share, a splitter, or the splits themselves; ``None`` means 5 folds.
    X : array-like
        Samples.
    y : array-like of shape (n_samples,)
        The user's labels.
    random_state : int, RandomState or None
        Seed of a float ``cv``.
    split_params : dict, default=None
        Arguments of the splitter, such as ``groups``.

    Returns
    -------
    list of tuple of ndarray
        Train and test indices.

    Raises
    ------
    ValueError
        If a class has fewer samples than there are folds, a split is no pair of places in the data, or its training
        part has one class only.
    """
    check_seed(random_state)
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        cv = _pairs(cv)
    y = np.asarray(y)
    classes, counts = np.unique(y, return_counts=True)
    if isinstance(cv, bool):
        raise TypeError(f"cv must be an int, a float, a splitter, an iterable of splits or 'prefit', got {cv!r}")
    if isinstance(cv, (float, np.floating)):
        if not 0.0 < cv < 1.0:
            raise ValueError(f"cv={cv!r}: a float is the share held out, in (0, 1); an int is a number of folds")
        if counts.min() < 2:
            raise ValueError(f"cv={cv!r} needs at least 2 samples of each class, the rarer one has {counts.min()}")
        n_test = int(np.ceil(cv * y.shape[0]))
        if min(n_test, y.shape[0] - n_test) < 2:
            raise ValueError(f"cv={cv!r} leaves {n_test} of {y.shape[0]} samples to test on; both parts need 2")
        splitter: Any = StratifiedShuffleSplit(1, test_size=cv, random_state=random_state)
    else:
        n_folds: Any = 5 if cv is None else cv
        if isinstance(n_folds, (int, np.integer)) and n_folds > counts.min():
            raise ValueError(
                f"cv={n_folds} needs at least {n_folds} samples of each class, "
                f"{_rarest(classes, counts, int(n_folds))}; use fewer folds, or a float such as cv=0.3"
            )
        splitter = _splitter(n_folds, y)
    splits = [_places(split, y.shape[0]) for split in splitter.split(X, y, **(split_params or {}))]
    if not splits:
        raise ValueError(f"cv={cv!r} gave no split; at least one (train, test) pair is needed")
    for number, (train, test) in enumerate(splits):
        learnt = y[train]
        if not (learnt[1:] != learnt[:1]).any() or test.shape[0] == 0:
            raise ValueError(
                f"split {number} of cv has {train.shape[0]} training samples of "
                f"{np.unique(learnt).shape[0]} class(es) and {test.shape[0]} test samples; it needs both classes "
                "to train on and a sample to test on. Use a stratified splitter"
            )
    return splits


def _rarest(classes: Array, counts: IntArray, needed: int) -> str:
    """Who has too few samples."""
    if classes.shape[0] == 2:
        return f"the rarer one has n_samples={counts.min()}"
    few = {str(name): int(count) for name, count in zip(classes, counts) if count < needed}
    shown = ", ".join(f"{count} of {name!r}" for name, count in list(few.items())[:_MOST_NAMED])
    return f"and there are {shown}" + (f", and {len(few) - _MOST_NAMED} more such" if len(few) > _MOST_NAMED else "")


def _splitter(cv: Any, y: Array) -> Any:
    """`check_cv`, which looks for real numbers among labels that are none for longer than the folds take."""
    if isinstance(cv, (int, np.integer)) and y.ndim == 1 and y.dtype.kind in "biu":
        return StratifiedKFold(int(cv))
    return check_cv(cv, y, classifier=True)  # pyright: ignore[reportArgumentType] (any cv)


def _places(split: Any, n_samples: int) -> tuple[IntArray, IntArray]:
    """Train and test indices of a split that is given as indices or as masks."""
    accepted = f"a split of cv must be a pair (train, test) of indices from 0 to {n_samples - 1} or of masks"
    try:
        parts = [np.asarray(part) for part in split]
    except TypeError:
        raise TypeError(f"{accepted}, got {split!r}") from None
    if len(parts) != 2 or any(part.ndim != 1 for part in parts):
        raise ValueError(f"{accepted}, got arrays of shapes {[part.shape for part in parts]}")
    train, test = (_indices(part, n_samples, accepted) for part in parts)
    return train, test


def _indices(part: Array, n_samples: int, accepted: str) -> IntArray:
    if part.dtype == bool:
        if part.shape[0] != n_samples:
            raise ValueError(f"{accepted}, got a mask of {part.shape[0]} for {n_samples} samples")
        return small_indices(np.flatnonzero(part), n_samples)
    if part.size and not np.issubdtype(part.dtype, np.integer):
        raise ValueError(f"{accepted}, got values such as {part.tolist()[0]!r}")
    if part.size and not 0 <= part.min() <= part.max() < n_samples:
        raise ValueError(f"{accepted}, got {part.min()} to {part.max()}")
    return small_indices(part, n_samples)
