"""Held-out scores of all trials of a search, kept within a memory limit."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray, Keywords
from csf.metrics.base import rank

if TYPE_CHECKING:
    from csf.metrics.trials import Trial


# Setting and number of a trial.
TrialKey = tuple[int, int]
# Bytes of all scores together.
MAX_BYTES = 1 << 25
# How many scores are looked at to find out whether float32 keeps them apart.
_LOOKED_AT = 10_000
# Scores closer than that, relative to their size, are the same: products of equal rows differ in their last digits.
_LAST_DIGITS = 16 * float(np.finfo(np.float64).eps)
# Whole weights count rows while these are no more than so many; each draw takes as long as so many rows would.
_MOST_COPIES = 1 << 20
# So many samples of a class with the same weight above 1 are not so often there by chance.
_CONSTANT = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialRow(ABC):
    """Predictions of one trial for the held-out entries, of two classes or of several."""

    key: TrialKey
    score: Array | None
    decided: Array | None
    value: float
    violation: float = 0.0
    equal_costs: bool = False

    @property
    @abstractmethod
    def arrays(self) -> tuple[Array | None, ...]:
        """Arrays that the trial does not contain."""

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays if array is not None)

    @property
    def rank(self) -> tuple[float, float, int, int]:
        """Sort key, smaller is better, see `csf.metrics.base.rank`."""
        setting, number = self.key
        return rank(self.violation, self.value, number, setting)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreRow(TrialRow):
    """Predictions of one trial with a score and a threshold.

    Parameters
    ----------
    key : tuple of int
        Setting and number of the trial.
    score : ndarray of shape (n_entries,) or None
        Scores, larger for the positive class, float32 where that keeps them apart; ``None`` for own decisions.
    decided : ndarray of bool, shape (n_entries,), or None
        Own decisions, where there are no scores.
    value : float
        Metric at the threshold.
    violation : float, default=0.0
        By how much the constraint is missed there.
    equal_costs : bool, default=False
        Whether both classes cost the same.
    lost : ndarray of bool, shape (n_entries,), default=None
        Entries of several classes that are taken for the wrong one at every threshold; ``None`` for no entry.
    class_gaps : ndarray of shape (n_entries, n_classes - 1), default=None
        By how much each class scores below the best one, of several beside a null class; ``None`` where that is not
        known.
    threshold : float, default=None
        The threshold that the trial chose.
    on_folds : bool, default=True
        Whether the scores are of models that were trained on folds; those of others are estimates, which do not win.
    """

    lost: BoolArray | None = None
    class_gaps: Array | None = None
    threshold: float | None = None
    on_folds: bool = True

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """Arrays that the trial does not contain."""
        known = self.score, self.decided, self.lost
        return known if self.class_gaps is None else (*known, self.class_gaps)

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays, but for the gaps between classes, which have a limit of their own."""
        return super().n_bytes - (0 if self.class_gaps is None else self.class_gaps.nbytes)


class HeldOutEntries:
    """Entries of samples that were held out: an entry is one sample in one held-out part."""

    # Number of the fold that each entry was held out of; ``None`` where nothing was trained.
    folds: IntArray | None = None
    # Values of the entries that decisions read beside scores, by name.
    beside: Mapping[str, Array] = MappingProxyType({})

    def __init__(
        self,
        truth: Array,
        weight: Array | None = None,
        *,
        samples: IntArray | None = None,
        copies: IntArray | None = None,
    ) -> None:
        self.truth, self.weight = truth, weight
        places = np.arange(truth.size) if samples is None else _ranks(samples)
        self.samples = places.astype(np.int32, copy=False)
        self.n_samples = int(places.max()) + 1
        self.copies = _copies(self) if copies is None else copies
        # Mean number of entries of a row: of folds that are repeated it has several.
        self.repeats = float(self.copies[self.samples].sum() / self.copies.sum())
        self.has_groups = False

    @classmethod
    def of_rows(cls, n_rows: int, weight: Array | None, groups: IntArray | None) -> Self:
        """Describe rows that no model has been trained on, by their weights and groups; they have no truth."""
        rows = cls(np.zeros(n_rows, dtype=bool), weight)
        rows.draw_together(groups)
        return rows

    @property
    def once(self) -> bool:
        """True where each sample is one entry, in their order."""
        return self.n_samples == self.samples.size and bool((self.samples[1:] > self.samples[:-1]).all())

    @property
    def importance(self) -> Array | None:
        """Weight of one copy of each entry up to a factor; ``None`` where all are equal, or 1 in groups."""
        if self.weight is None:
            return None
        copies = self.copies[self.samples]
        weight = np.divide(self.weight, copies, out=np.zeros(copies.size), where=copies > 0)
        if self.has_groups and _are_counts(weight):
            # Each row of a group stands for so many.
            return None if (weight == 1.0).all() else weight
        if (weight[copies > 0] == weight[copies > 0][:1]).all():
            return None
        # A power of two: nothing is rounded, and squares of it stay numbers.
        return np.ldexp(weight, -int(np.frexp(weight.max())[1]))

    def weights_in(self, counts: Array) -> Array:
        """Compute the weight of each entry where each sample occurs ``counts`` times."""
        return counts[self.samples] * (1.0 if self.importance is None else self.importance)

    def draw_together(self, groups: IntArray | None) -> None:
        """Treat the entries of each group as one sample; ``None`` leaves the rows as they are.

        A group is drawn or left out as a whole, and weights determine the importance of its entries.
        """
        if groups is None:
            return
        self.samples, self.has_groups = _ranks(groups).astype(np.int32), True
        self.n_samples = int(self.samples.max()) + 1
        self.copies = (np.bincount(self.samples, self.weight) > 0.0).astype(np.int64)


R = TypeVar("R", bound=TrialRow)
# A store of trials of any kind.
Store: TypeAlias = "EntryStore[Any]"


class EntryStore(HeldOutEntries, ABC, Generic[R]):
    """Predictions of the trials of one search for the same held-out entries, within a memory limit.

    Beyond the limit the worst trials are dropped, but never the best one and the best one with equal costs.
    """

    # What it was moved from, which has the shares of the data and the rows of all trials.
    unmoved: Self | None = None

    def __init__(
        self,
        truth: Array,
        weight: Array | None = None,
        *,
        samples: IntArray | None = None,
        copies: IntArray | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(truth, weight, samples=samples, copies=copies)
        self.max_bytes, self.n_dropped = max_bytes, 0
        self._rows: dict[TrialKey, R] = {}

    def __getstate__(self) -> Keywords:
        # Formats such as that of skops know no keys but texts and numbers.
        return vars(self) | {"_rows": list(self._rows.values())}

    def __setstate__(self, state: Keywords) -> None:
        vars(self).update(state | {"_rows": {row.key: row for row in state["_rows"]}})

    def __len__(self) -> int:
        return len(self._rows)

    def only(self, *keys: TrialKey) -> Self:
        """Copy the store with the rows of some trials."""
        lean = copy.copy(self)
        lean._rows = {key: self._rows[key] for key in keys}
        if self.unmoved is not None:
            lean.unmoved = self.unmoved.only(*keys)
        return lean

    @abstractmethod
    def add_trial(
        self,
        key: TrialKey,
        trial: Trial,
        score: Array | None,
        decided: Array | None,
        lost: Array | None = None,
        class_gaps: Array | None = None,
    ) -> None:
        """Store the predictions of a complete trial, see `csf.search.training.HeldOutPredictions`."""

    def __iter__(self) -> Iterator[R]:
        """Iterate over the kept rows, by number and then setting of their trials: among equals the first one wins."""
        return iter(sorted(self._rows.values(), key=lambda row: row.key[::-1]))

    def __getitem__(self, key: TrialKey) -> R:
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def put(self, row: R) -> None:
        """Store a row as it is."""
        self._rows[row.key] = row
        self._drop()

    def discard(self, key: TrialKey) -> None:
        """Remove the row of a trial, if it is kept."""
        self._rows.pop(key, None)

    def _drop(self) -> None:
        """Drop the worst rows until the rest fits the memory limit."""
        while len(self._rows) > 1 and sum(row.n_bytes for row in self._rows.values()) > self.max_bytes:
            worst = _worst(self._rows.values())
            if worst is None:
                return
            del self._rows[worst.key]
            self.n_dropped += 1


def _worst(rows: Collection[R]) -> R | None:
    """Find the worst of some rows other than the best one and the best one with equal costs."""
    ranked = sorted(rows, key=lambda row: row.rank)
    kept = {ranked[0].key, *[row.key for row in ranked if row.equal_costs][:1]}
    return next((row for row in reversed(ranked) if row.key not in kept), None)


class ScoreStore(EntryStore[ScoreRow]):
    """Pooled held-out scores of the trials of one search, all on the same entries.

    An entry is one sample in one held-out part: with repeated folds a sample has several. Beyond ``max_bytes`` the
    worst trials are dropped, but never the best one and the best one with equal costs.

    Parameters
    ----------
    truth : ndarray of bool, shape (n_entries,)
        Truth of the entries; with several classes whether there is something to find.
    weight : ndarray of shape (n_entries,), default=None
        The user's weights >= 0. Whole numbers stand for so many samples each, unless they sum to more than a million;
        others say how much one sample matters, and only their ratios count.
    samples : ndarray of int, shape (n_entries,), default=None
        Which sample each entry is; ``None`` means that all differ.
    copies : ndarray of int, shape (n_samples,), default=None
        How many samples each one stands for; ``None`` takes it from the weights.
    max_bytes : int, default=33554432
        Largest size of all scores together.

    Attributes
    ----------
    n_samples : int
        Number of different samples.
    copies : ndarray of int, shape (n_samples,)
        How many samples each one stands for.
    n_dropped : int
        Number of trials that were dropped.

    Examples
    --------
    >>> store = ScoreStore(np.array([False, True, True]))
    >>> store.add((0, 0), score=np.array([0.1, 0.4, 0.8]), threshold=0.25, value=1.0)
    >>> len(store), store.n_samples
    (1, 3)
    """

    # Whether entries are a sample of the rows that trials were judged by, and the share of these.
    is_sample: bool = False
    share: float = 1.0
    # Codes of the true classes, of several beside a null class.
    codes: IntArray | None = None

    @property
    def is_pos(self) -> BoolArray:
        """True classes of the entries."""
        return self.truth

    def add(
        self,
        key: TrialKey,
        *,
        score: Array | None = None,
        decided: BoolArray | None = None,
        lost: BoolArray | None = None,
        class_gaps: Array | None = None,
        threshold: float | None = None,
        value: float,
        violation: float = 0.0,
        equal_costs: bool = False,
    ) -> None:
        """Store the predictions of a trial, scores or its own decisions; see `ScoreRow`.

        Raises
        ------
        ValueError
            If there are neither scores nor decisions, or not one for each entry.
        """
        given = score if score is not None else decided
        if given is None or given.shape != self.is_pos.shape:
            raise ValueError(f"a trial has one score or decision for each of {self.is_pos.size} entries, got {given!r}")
        self.put(
            ScoreRow(
                key=key,
                score=None if score is None else kept(score),
                decided=None if score is not None else np.asarray(decided, dtype=bool),
                lost=lost if lost is not None and lost.any() else None,
                class_gaps=class_gaps,
                threshold=threshold,
                value=float(value),
                violation=float(violation),
                equal_costs=bool(equal_costs),
            )
        )

    def put(self, row: ScoreRow) -> None:
        """Store a row as it is; beyond the memory limit the worst rows do without gaps between classes."""
        super().put(row)
        if row.class_gaps is None:
            return
        compared = {row.key: row.class_gaps.nbytes for row in self._rows.values() if row.class_gaps is not None}
        while sum(compared.values()) > self.max_bytes:
            worst = _worst([self._rows[key] for key in compared])
            if worst is None:
                return
            self._rows[worst.key] = replace(worst, class_gaps=None)
            del compared[worst.key]

    def add_trial(
        self,
        key: TrialKey,
        trial: Trial,
        score: Array | None,
        decided: Array | None,
        lost: Array | None = None,
        class_gaps: Array | None = None,
    ) -> None:
        """Store the predictions of a complete trial: its scores where it has a threshold, else its decisions."""
        assert trial.score is not None, "a complete trial has a score"
        tuned = trial.threshold is not None
        self.add(
            key,
            score=score if tuned else None,
            decided=None if tuned else decided,
            lost=lost,
            class_gaps=class_gaps if tuned else None,
            threshold=trial.threshold,
            value=trial.score,
            violation=trial.violation,
            equal_costs=trial.costs[0] == trial.costs[1],
        )


def _ranks(samples: IntArray) -> IntArray:
    """Renumber the samples consecutively from 0 in their order."""
    if samples.size == 0 or samples.min() < 0 or samples.max() > 4 * samples.size:
        return np.unique(samples, return_inverse=True)[1].ravel()
    if samples.size == samples.max() + 1 and (samples[1:] > samples[:-1]).all():
        return samples
    # No sort: numbers of samples are small.
    return (np.cumsum(np.bincount(samples) > 0) - 1)[samples]


def _copies(entries: HeldOutEntries) -> IntArray:
    """Compute how many samples each one represents, from the weights."""
    if entries.weight is None:
        return np.broadcast_to(np.int64(1), entries.n_samples)  # ones that take no memory
    weights = np.zeros(entries.n_samples)
    weights[entries.samples] = entries.weight
    if not _are_counts(weights):
        return (weights > 0.0).astype(np.int64)
    _warn_of_shares(entries, weights)
    return weights.astype(np.int64)


def _are_counts(weights: Array) -> bool:
    """Check whether weights are numbers of equal rows."""
    return bool((weights == np.floor(weights)).all() and weights.sum() <= _MOST_COPIES)


def _warn_of_shares(entries: HeldOutEntries, weights: Array) -> None:
    """Warn where whole weights are hardly counts: those of one class are all equal, and those of others differ."""
    of_class = [weights[np.unique(entries.samples[entries.truth == kind])] for kind in np.unique(entries.truth)]
    of_class = [weight[weight > 0.0] for weight in of_class]
    constant = [weight[0] for weight in of_class if weight.size >= _CONSTANT and (weight == weight[0]).all()]
    if constant and max(constant) > 1.0 and len(np.unique(weights[weights > 0.0])) > 1:
        warn(
            f"all samples of one class have the weight {max(constant):g}, those of others have another one. Whole "
            "weights are taken as counts of equal samples, and intervals are too narrow where they are none: if they "
            "are how much a sample matters, divide such weights by their mean"
        )


def kept(score: Array) -> Array:
    """Convert held-out scores to the precision in which they are kept: float32 unless decisions would notice.

    They notice where different scores become equal, or another class the largest of a row (n, n_classes), and where
    scores are infinite: a threshold between such a score and the next one is that one itself. Rules of several classes
    read the scores of new rows in the same precision.
    """
    with np.errstate(over="ignore"):
        small = score.astype(np.float32)
    if np.array_equal(small, score):
        return small
    if not np.isfinite(small).all() or (score.ndim == 2 and (small.argmax(axis=1) != score.argmax(axis=1)).any()):
        return score.astype(np.float64)
    some = slice(None, None, max(score.size // _LOOKED_AT, 1))
    # In order: the same scores are neighbours, in float32 as before.
    looked_at = np.sort(score.ravel()[some])
    merged = _n_different(looked_at) - _n_different(looked_at.astype(np.float32))
    return small if merged == 0 else score.astype(np.float64)


def _n_different(ordered: Array) -> int:
    """Count the distinct values in a sorted array, whatever their last digits."""
    below, above = ordered[:-1], ordered[1:]
    with np.errstate(invalid="ignore", over="ignore"):  # infinite scores are as many in single precision
        differ = above - below > _LAST_DIGITS * np.maximum(np.abs(below), np.abs(above))
    return ordered.size and 1 + int(np.count_nonzero(differ))
