"""Training data in one record, and its splits into training parts and held-out parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    GroupShuffleSplit,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import check_random_state

from csf._common.dtypes import is_object, is_whole
from csf._common.sklearn import num_samples, safe_indexing, slice_params
from csf._common.typing import Array, BoolArray, Folding, IntArray, Params, RandomState_, Samples, Targets
from csf._common.validation import are_missing, as_array, check_labels, check_seed, check_weights, small_indices
from csf.data.labels import Labels, label_strata, refuse_weightless


@dataclass(frozen=True, eq=False)
class Task:
    """Samples, their codes and weights, and whatever else trainings receive.

    With several labels per sample the codes are 0 and 1, of shape (n_samples, n_labels).

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
    groups : ndarray of int, shape (n_samples,), default=None
        Which samples belong together: they are held out, drawn and left out together.
    pairwise : bool, default=False
        Whether X is a kernel or distances between all samples, whose columns are samples too.
    """

    X: Samples
    codes: IntArray
    weight: Array | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels | None = None
    groups: IntArray | None = None
    pairwise: bool = False

    def samples(self, rows: IntArray, train: IntArray) -> Samples:
        """Return some samples, as a base that is trained on the samples ``train`` reads them."""
        X = safe_indexing(self.X, rows)
        if not self.pairwise:
            return X
        if np.shape(self.X) != (self.n_samples, self.n_samples):
            raise ValueError(
                "a precomputed kernel or distance is a square matrix of all samples with each other, got shape "
                f"{np.shape(self.X)} for {self.n_samples} samples; leave those of weight 0 out of rows and columns"
            )
        return safe_indexing(X, train, axis=1)

    def without(self, names: Collection[str]) -> Self:
        """Leave out arguments of the base's ``fit``."""
        params = {name: values for name, values in self.fit_params.items() if name not in names}
        return replace(self, fit_params=params)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.codes.shape[0]

    @property
    def n_alike(self) -> int | None:
        """Number of classes where none of them is the null class, else ``None``."""
        return None if self.labels is None else self.labels.n_alike

    @property
    def strata(self) -> Array:
        """Labels to stratify splits by: the user's labels, or strata that represent several labels."""
        return label_strata(self.codes) if self.codes.ndim == 2 else self.user_labels.decode(self.codes)

    @cached_property
    def columns(self) -> list[Self]:
        """List of the tasks of all labels, the same objects each time."""
        return [replace(self, codes=codes.astype(np.int64)) for codes in self.codes.T]

    @property
    def user_labels(self) -> Labels:
        """The user's labels, or the codes where there are no others."""
        return Labels(np.arange(max(self.codes.max(), 1) + 1), 0) if self.labels is None else self.labels

    @property
    def several(self) -> bool:
        """True where there are more than two classes."""
        return bool(self.codes.max() > 1)


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

    def on(self, task: Task) -> Fold:
        """Return the fold of a task of the same samples with other weights; both share the slices of the samples."""
        fold = replace(self, given=task)
        vars(fold)["_alike"] = self
        return fold

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
        """Fold of the same rows whose slices of the samples this one shares, see `LabelFold`."""
        return None

    @cached_property
    def X_train(self) -> Samples:
        """Training samples."""
        return self.task.samples(self.train, self.train) if self._alike is None else self._alike.X_train

    @cached_property
    def X_test(self) -> Samples:
        """Held-out samples."""
        return self.task.samples(self.test, self.train) if self._alike is None else self._alike.X_test

    @cached_property
    def y_train(self) -> IntArray:
        """Training targets."""
        return self.task.codes[self.train]

    @cached_property
    def is_pos_train(self) -> BoolArray:
        """Mask of the training samples with code 1."""
        return self._targets == 1

    @cached_property
    def labels(self) -> Labels:
        """The user's labels, on which a base is trained."""
        return self.task.user_labels

    @property
    def n_alike(self) -> int | None:
        """See `Task.n_alike`."""
        return self.labels.n_alike

    @cached_property
    def codes_train(self) -> IntArray:
        """Codes that occur among the training targets, in their order."""
        return np.unique(self._targets)

    @property
    def _targets(self) -> IntArray:
        """Training targets, not kept: only `y_train` spends eight bytes per sample on them."""
        return self.y_train if self.given is None else self.given.codes[self.train]

    @cached_property
    def sign_train(self) -> IntArray:
        """Sign of each training sample, 1 for code 1 and -1 otherwise, in a byte each; all trainers share it."""
        return np.where(self.is_pos_train, 1, -1).astype(np.int8)

    @cached_property
    def y_test(self) -> IntArray:
        """Held-out targets."""
        return self.task.codes[self.test]

    @cached_property
    def weight_train(self) -> Array | None:
        """Training weights, or ``None``."""
        return None if self.task.weight is None else self.task.weight[self.train]

    @cached_property
    def weight_test(self) -> Array | None:
        """Weights of the held-out samples, or ``None``."""
        return None if self.task.weight is None else self.task.weight[self.test]

    @property
    def holds_out_both(self) -> bool:
        """True where both of two classes have positive weight in the held-out part."""
        counted = self.y_test if self.weight_test is None else self.y_test[self.weight_test > 0]
        return np.unique(counted > 0).size == 2

    @cached_property
    def fit_params(self) -> Params:
        """Arguments of the base's ``fit``; those with one entry per sample are sliced."""
        return slice_params(dict(self.task.fit_params), self.train, self.task.n_samples)

    @cached_property
    def sliced(self) -> Fold:
        """The same fold with all slices made and without the task, so that a worker process receives nothing else."""
        fold = self._without_task("X_train", "X_test", "y_train", "fit_params")
        # The samples would be in memory twice for as long as this fold lives.
        vars(self).pop("X_train")
        vars(self).pop("X_test")
        return fold

    @cached_property
    def held_out(self) -> Fold:
        """The same fold with the held-out samples alone, and without the task."""
        fold = self._without_task("X_test")
        vars(self).pop("X_test")
        return fold

    @cached_property
    def without_samples(self) -> Fold:
        """The same fold with only its targets and weights, which suffice to evaluate predictions."""
        fold, targets = self._without_task(), self._targets
        # A byte a sample is enough to compare codes with, and there is one such array for each fold.
        vars(fold)["y_train"] = targets.astype(np.min_scalar_type(targets.max()))
        return fold

    def _without_task(self, *names: str) -> Fold:
        fold = replace(self, given=None)
        # A cached property is found in the instance before it is computed.
        for name in ("labels", "y_test", "weight_train", "weight_test", *names):
            vars(fold)[name] = getattr(self, name)
        return fold


class LabelFold(Fold):
    """Split of a task with several labels: its entries are all labels of a row, then those of the next row.

    ``train`` and ``test`` hold the row of each entry, so that the entries of a row count as one sample in resampling.
    """

    @classmethod
    def of(cls, task: Task, train: IntArray, test: IntArray) -> LabelFold:
        """Create the fold of a split of rows."""
        return cls(task, *(np.repeat(rows, task.codes.shape[1]) for rows in (train, test)))

    @cached_property
    def columns(self) -> list[Fold]:
        """Fold of each label; all of them share the slices of the samples."""
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
        """Training targets of the entries."""
        return self._codes(self.train)

    @cached_property
    def y_test(self) -> IntArray:
        """Held-out targets of the entries."""
        return self._codes(self.test)

    @property
    def _targets(self) -> IntArray:
        return self.y_train


def read_groups(groups: ArrayLike | None, n_samples: int) -> IntArray | None:
    """Encode the groups of samples as integers from 0; return ``None`` where there are none."""
    if groups is None:
        return None
    given = as_array(groups, "groups")
    if given.shape != (n_samples,):
        raise ValueError(
            f"groups must have one entry for each of {n_samples} samples, such as the customer, got shape {given.shape}"
        )
    missing = np.count_nonzero(are_missing(given))
    if missing:
        raise ValueError(
            f"groups contains NaN or None in {missing} of {n_samples} samples; name the group of each, or drop these"
        )
    codes = np.unique(given.astype(str) if is_object(given) else given, return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError(f"groups holds {given.tolist()[0]!r} alone; at least two groups are needed")
    return codes


def group_folds(cv: Folding, y: Array, groups: IntArray, *, random_state: RandomState_) -> Folding:
    """Return splits that keep groups together, in place of a number of folds, a share, or csf's default splits."""
    if isinstance(cv, (float, np.floating)):
        return GroupShuffleSplit(1, test_size=cv, random_state=random_state)
    whole = isinstance(cv, (int, np.integer))
    n_folds = int(cv) if whole else getattr(cv, "cvargs", {}).get("n_splits", 5)
    repeats = 1 if whole else (len(cv) if isinstance(cv, list) else cv.get_n_splits()) // n_folds
    n_groups = np.unique(groups).size
    if n_folds > n_groups:
        raise ValueError(f"{n_folds} folds need at least {n_folds} groups, got {n_groups}; use fewer folds")
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=repeats).tolist()
    folds = [StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed) for seed in seeds]
    return [split for splitter in folds for split in splitter.split(y, y, groups)]


def make_folds(task: Task, splits: Iterable[tuple[IntArray, IntArray]]) -> list[Fold]:
    """Create the folds of all splits.

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


def check_training_parts(folds: Sequence[Fold]) -> None:
    """Raise a ValueError where a training part has no row of positive weight of a class."""
    task = folds[0].task
    names = task.user_labels.by_code
    for number, fold in enumerate(folds if task.codes.ndim == 1 else ()):
        weight = None if task.weight is None else task.weight[fold.train]
        learnt = np.bincount(task.codes[fold.train], weight, names.size)
        if not learnt.all():
            raise ValueError(
                f"without fold {number} there is no {names.tolist()[int(learnt.argmin())]!r} row of positive weight to "
                "train on; use fewer folds, or a cv that leaves all classes in each training part"
            )


def pool_held_out(folds: Sequence[Fold]) -> tuple[IntArray, Array | None, IntArray]:
    """Concatenate the targets, weights and sample indices of the held-out parts of all folds."""
    weights = [fold.weight_test for fold in folds if fold.weight_test is not None]
    y, samples = (pooled([getattr(fold, name) for fold in folds]) for name in ("y_test", "test"))
    return y, pooled(weights) if weights else None, samples


def pooled(parts: Sequence[Targets]) -> Targets:
    """Concatenate the values of the folds; those of a single fold are returned as they are."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def bound_share(folds: list[Fold], *, on_train: bool) -> float:
    """Compute the share of positives in the data that the bounds use: all held-out parts, or the training parts."""
    parts = [(f.y_train, f.weight_train) if on_train else (f.y_test, f.weight_test) for f in folds]
    total = float(sum(y.size if weight is None else weight.sum() for y, weight in parts))
    positive = float(sum(np.count_nonzero(y) if weight is None else weight[y > 0].sum() for y, weight in parts))
    if not 0.0 < positive < total:
        raise ValueError(
            f"the {'training' if on_train else 'held-out'} parts of cv hold a weight of {positive:g} in the positive "
            f"class of {total:g} in all; both classes are needed. Use a stratified splitter"
        )
    return positive / total


class ClassShares(Protocol):
    """Shares of the classes that studies begin with."""

    @property
    def pos(self) -> float:
        """Share of positives in what the bounds read."""
        ...

    @property
    def class_shares(self) -> Array:
        """Share of each class among all rows."""
        ...


@dataclass(frozen=True, eq=False)
class FoldShares:
    """Shares of the classes of a task and its folds, whose held-out or training parts the bounds read."""

    folds: list[Fold]
    on_train: bool = False

    @property
    def pos(self) -> float:
        """See `bound_share`."""
        return bound_share(self.folds, on_train=self.on_train)

    @property
    def class_shares(self) -> Array:
        """Share of each class among all samples."""
        task = self.folds[0].task
        totals = np.bincount(task.codes, task.weight, task.user_labels.classes.size)
        return totals / totals.sum()


def first_repeat(splits: Sequence[tuple[IntArray, IntArray]]) -> int:
    """Count the splits that hold out each sample once; all of them where the first ones do not."""
    tests = [test for _, test in splits]
    n_samples = np.unique(np.concatenate(tests)).size
    for count in range(1, len(tests)):
        first = np.concatenate(tests[:count])
        if first.size == np.unique(first).size == n_samples:
            return count
    return len(tests)


# Held-out samples of a class with which the threshold costs less than 0.2 points of F1: of normal scores with 2 to 30 %
# positives, the root of the mean square of what one tuned on so many positives loses is 0.07 to 0.19 points.
ENOUGH = 2000


def enough_splits(
    splits: list[tuple[IntArray, IntArray]],
    codes: IntArray,
    weight: Array | None = None,
    groups: IntArray | None = None,
    *,
    share: float = 1.0,
) -> list[tuple[IntArray, IntArray]]:
    """Return as many of the first splits as hold out enough of each class (of each label): all where none are enough.

    Parameters
    ----------
    splits : list of tuple of ndarray
        Train and test indices, which hold out random samples.
    codes : ndarray of int, shape (n_samples,) or (n_samples, n_labels)
        Codes of the samples.
    weight : ndarray of shape (n_samples,), default=None
        What each sample contributes to the value. Uneven weights count as fewer samples: the squared sum divided by
        the sum of squares.
    groups : ndarray of int, shape (n_samples,), default=None
        Samples of a group count as one.
    share : float, default=1.0
        Share of the usual number that is enough.

    Examples
    --------
    >>> splits = [(np.array([], dtype=int), np.arange(start, 20_000, 4)) for start in range(4)]
    >>> [len(enough_splits(splits, np.arange(20_000) < n_pos)) for n_pos in (2000, 4000, 8000)]
    [4, 2, 1]
    """
    enough, columns = share * ENOUGH, [codes] if codes.ndim == 1 else list(codes.T)
    kinds = [(column, code) for column in columns for code in np.unique(column)]
    if min(np.count_nonzero(column == code) for column, code in kinds) < enough:
        return splits
    sums = np.zeros((2, len(kinds)))
    for count, (_, test) in enumerate(splits, start=1):
        for place, (column, code) in enumerate(kinds):
            of_kind = test[column[test] == code]
            held_out = np.ones(of_kind.size) if weight is None else weight[of_kind]
            if groups is not None:
                held_out = np.bincount(groups[of_kind], held_out)
            sums[:, place] += held_out.sum(), held_out @ held_out
        if (sums[0] ** 2 >= enough * sums[1]).all() and sums[1].all():
            return splits[:count]
    return splits


# Classes with too few samples that an error names.
_MOST_NAMED = 5


def _pairs(cv: Iterable[Folding]) -> list[Folding]:
    """Convert splits that are given one by one to pairs."""
    cv = list(cv)
    for split in cv:
        if not isinstance(split, (Sequence, np.ndarray)) or isinstance(split, str) or len(split) != 2:
            raise ValueError(f"cv must give pairs (train, test) of indices or masks, got {split!r}")
    return cv


def drop_weightless(
    X: Samples, y: ArrayLike, sample_weight: ArrayLike | None, params: Params, cv: Folding
) -> tuple[Samples, Targets, ArrayLike | None, Params, Folding]:
    """Drop samples of weight 0, which would take part in folds, and in bins and leaves of a base.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels.
    sample_weight : array-like of shape (n_samples,) or None
        The user's weights.
    params : dict
        Further arguments of ``fit``; those with one entry per sample lose the same ones.
    cv : int, float, splitter, iterable or None
        As for `resolve_splits`. Splits that are given by places become those of the samples that are left.

    Returns
    -------
    tuple
        The same five arguments, unchanged where all weights are positive.

    Raises
    ------
    ValueError
        If the weights are not finite numbers >= 0 of which one is positive, one for each sample, or a class has no
        sample left.
    """
    weight = check_weights(sample_weight, num_samples(X))
    if weight is None or weight.all():
        return X, y, sample_weight, params, cv
    rows, n_samples = np.flatnonzero(weight), weight.size
    labels = safe_indexing(y, rows)
    if np.shape(y)[1:] in ((), (1,)):  # labels, or a column of them
        given, kept = (np.asarray(part).ravel() for part in (y, labels))
        if lost := set(given.tolist()).difference(kept.tolist()):
            # A label that is missing is no class, and never equal to itself.
            refuse_weightless([label for label in check_labels(given)[1].tolist() if label in lost])
    if isinstance(cv, PredefinedSplit):
        cv = cv.split()
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        place = np.cumsum(weight > 0.0) - 1
        splits = [_places(split, n_samples) for split in _pairs(cv)]
        cv = [tuple(place[part[weight[part] > 0.0]] for part in split) for split in splits]
    return safe_indexing(X, rows), labels, weight[rows], slice_params(params, rows, n_samples), cv


def resolve_splits(
    cv: Folding,
    X: Samples,
    y: ArrayLike,
    *,
    random_state: RandomState_ = None,
    split_params: Params | None = None,
) -> list[tuple[IntArray, IntArray]]:
    """Return the train and test indices of a ``cv`` argument.

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
    groups = (split_params or {}).get("groups")
    grouped = (
        [] if groups is None else [label for label in classes if np.unique(np.asarray(groups)[y == label]).size < 2]
    )
    if grouped:
        raise ValueError(
            f"all samples of class {grouped[0].item()!r} are in one of the groups, which folds keep together: no model "
            "can learn that class and be judged on it. Give smaller groups, or leave groups out"
        )
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
        splitter: Folding = StratifiedShuffleSplit(1, test_size=cv, random_state=random_state)
    else:
        n_folds: Folding = 5 if cv is None else cv
        if isinstance(n_folds, (int, np.integer)) and n_folds > counts.min():
            raise ValueError(
                f"cv={n_folds} needs at least {n_folds} samples of each class, "
                f"{_rarest(classes, counts, int(n_folds))}; use fewer folds, or a float such as cv=0.3"
            )
        splitter = _splitter(n_folds, y)
    splits = [_places(split, y.shape[0]) for split in splitter.split(X, y, **(split_params or {}))]
    if not splits:
        raise ValueError(f"cv={cv!r} yields no splits; at least one (train, test) pair is needed")
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
    """Describe the classes that have too few samples."""
    if classes.shape[0] == 2:
        return f"the rarer one has n_samples={counts.min()}"
    few = {str(name): int(count) for name, count in zip(classes, counts) if count < needed}
    shown = ", ".join(f"{count} of {name!r}" for name, count in list(few.items())[:_MOST_NAMED])
    return f"and there are {shown}" + (f", and {len(few) - _MOST_NAMED} more such" if len(few) > _MOST_NAMED else "")


def _splitter(cv: Folding, y: Array) -> Folding:
    """Call `check_cv` on integer labels where possible, as it takes long to search other labels for real numbers."""
    if isinstance(cv, (int, np.integer)) and y.ndim == 1 and is_whole(y):
        return StratifiedKFold(int(cv))
    return check_cv(cv, y, classifier=True)  # pyright: ignore[reportArgumentType] (any cv)


def _places(split: Iterable[ArrayLike], n_samples: int) -> tuple[IntArray, IntArray]:
    """Read the train and test indices of a split that is given as indices or as masks."""
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
