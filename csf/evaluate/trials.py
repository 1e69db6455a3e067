"""Records of trials, and the held-out scores of all trials of a search, kept within a memory limit."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypedDict, TypeVar, final

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.metrics.base import rank
from csf.metrics.profile import ErrorProfile, Hull

if TYPE_CHECKING:
    from csf.metrics.base import Metric


Matrix = tuple[tuple[float, ...], ...]


class _Cut(Protocol):
    """A threshold and what it achieves, see `csf.thresholding.Cut`."""

    @property
    def threshold(self) -> float: ...

    @property
    def profile(self) -> ErrorProfile: ...


class _Curve(Protocol):
    """All thresholds of a score, see `csf.thresholding.ThresholdCurve`."""

    def lower_hull(self) -> Array: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One training at one level t; never changes once made.

    Parameters
    ----------
    number : int
        Running number within its study, from 0.
    t : float or None
        Level aimed at; ``None`` where the costs belong to no level. Of several classes the power of their shares: 0
        for equal class weights, 1 for balanced ones.
    costs : tuple of float
        Costs ``(c_fn, c_fp)`` of a false negative and of a false positive; of several classes the weight of each.
    state : {"pending", "complete", "failed"}, default="pending"
        Asked for, answered, or failed.
    profile : ErrorProfile, default=None
        Errors of the classifier's own decision. Strategies and bounds read it.
    value : float, default=None
        Metric of ``profile``, of several classes of ``own``.
    attained : float, default=None
        Best metric value that this trial shows on the data of ``profile``, over all known thresholds; what a bound is
        compared with.
    threshold : float, default=None
        Threshold on the score that was best for the metric; ``None`` where only the own decision is known.
    score : float, default=None
        Metric at ``threshold`` (``value`` without one); of several classes the larger of ``value`` and the metric of
        ``judged``.
    rate : float, default=None
        Constrained rate at ``threshold``, where there is a constraint.
    violation : float, default=0.0
        By how much the constraint is missed there; 0 where it holds.
    hull : Hull, default=None
        Known profiles on the data of ``profile``: those of all thresholds on the score, or the own decision alone.
    chosen : ErrorProfile, default=None
        Errors at ``threshold``, on held-out data (those of the own decision without one); ``score`` is their metric.
    fold_scores : tuple of float, default=()
        ``score`` within each fold; of several classes ``value`` there.
    own : tuple of tuple of float, default=None
        Of several classes: held-out confusion matrix of the base's own decision, shares of all samples, rows true and
        columns predicted.
    tuned, judged : tuple of tuple of float, default=None
        Those of a rule tuned on all held-out samples, and of rules tuned on other samples than they decide; ``None``
        where none is tuned.
    setting : int, default=0
        Which setting of the base's parameters was trained.
    error : str, default=None
        Why a failed trial failed.
    duality_gap : float, default=None
        How far the objective of the model, on the worst fold, can be from its optimum, as a share of it; known for
        the linear models of `csf.solvers`.
    fit_time, score_time : float, default=0.0
        Seconds spent in the base, summed over folds; not part of equality.

    Examples
    --------
    >>> Trial(number=0, t=0.5, costs=(1.5, 0.5)).state
    'pending'
    """

    number: int
    t: float | None
    costs: Costs
    state: str = "pending"
    profile: ErrorProfile | None = None
    value: float | None = None
    attained: float | None = None
    threshold: float | None = None
    score: float | None = None
    rate: float | None = None
    violation: float = 0.0
    hull: Hull | None = None
    chosen: ErrorProfile | None = None
    fold_scores: tuple[float | None, ...] = ()
    own: Matrix | None = None
    tuned: Matrix | None = None
    judged: Matrix | None = None
    setting: int = 0
    error: str | None = None
    duality_gap: float | None = field(default=None, compare=False)
    fit_time: float = field(default=0.0, compare=False)
    score_time: float = field(default=0.0, compare=False)

    @property
    def c_fn(self) -> float:
        """Cost of a false negative, of two classes."""
        c_fn, _ = self.costs
        return c_fn

    @property
    def c_fp(self) -> float:
        """Cost of a false positive, of two classes."""
        _, c_fp = self.costs
        return c_fp

    @property
    def feasible(self) -> bool:
        """Whether the constraint, if any, holds."""
        return self.violation == 0

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON.

        Returns
        -------
        dict
            One entry a field; infinite thresholds as strings.
        """
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("profile", "chosen"):
            if record[name] is not None:
                record[name] = asdict(record[name])
        if self.hull is not None:
            record["hull"] = self.hull.points.tolist()
        if self.threshold is not None:
            record["threshold"] = repr(float(self.threshold))
        record["costs"], record["fold_scores"] = list(self.costs), list(self.fold_scores)
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """Trial of a dict made by `to_dict`.

        Parameters
        ----------
        record : dict
            As `to_dict` returns it.

        Returns
        -------
        Trial
            An equal trial.

        Raises
        ------
        ValueError
            If the record is not that of a trial.
        """
        try:
            record = dict(record)
            for name in ("profile", "chosen"):
                if record[name] is not None:
                    record[name] = ErrorProfile(**record[name])
            if record["hull"] is not None:
                record["hull"] = Hull(record["hull"])
            if record["threshold"] is not None:
                record["threshold"] = float(record["threshold"])
            record["costs"], record["fold_scores"] = tuple(record["costs"]), tuple(record["fold_scores"])
            for name in ("own", "tuned", "judged"):
                if record[name] is not None:
                    record[name] = tuple(map(tuple, record[name]))
            return cls(**record)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"this is not the record of a trial: {error!r}") from error


class OutcomeFields(TypedDict):
    """Fields of a `Trial` that say what its model does on one data set; see there."""

    profile: ErrorProfile
    value: float
    attained: float
    threshold: float | None
    score: float
    rate: float | None
    violation: float
    hull: Hull
    chosen: ErrorProfile


@final
class CompleteFields(OutcomeFields, total=False):
    """Fields of a complete `Trial`; see there."""

    fold_scores: tuple[float | None, ...]
    duality_gap: float | None
    fit_time: float
    score_time: float


@final
class FailedFields(TypedDict):
    """Fields of a failed `Trial`; see there."""

    error: str
    fit_time: float
    score_time: float


def same_costs(costs: Costs, others: Costs) -> bool:
    """Whether two pairs of costs are in the same ratio."""
    (c_fn, c_fp), (a_fn, a_fp) = costs, others
    return abs(c_fn * a_fp - c_fp * a_fn) <= 1e-6 * (c_fn * a_fp + c_fp * a_fn)


def check_share(profile: ErrorProfile, pos: float) -> None:
    """Raise a ValueError for a profile of data with another share of positives."""
    if abs(profile.pos - pos) > 1e-5 * min(pos, 1.0 - pos):
        raise ValueError(
            f"the given data have a share of positives of {profile.pos:.6g}, the study pos={pos:.6g}; bounds need one "
            "share: give Study the share of the data that the trials are evaluated on"
        )


def outcome(
    metric: Metric, profile: ErrorProfile, *, hull: Hull | None = None, cut: _Cut | None = None
) -> OutcomeFields:
    """Fields of a complete `Trial` whose model was evaluated on one data set.

    Parameters
    ----------
    metric : Metric
        What is maximised; its ``constraint`` attribute, if any, counts.
    profile : ErrorProfile
        Errors of the model's own decision.
    hull : Hull, default=None
        Known profiles of all its thresholds; ``None`` knows only the own decision.
    cut : Cut, default=None
        The best of all thresholds; ``None`` keeps the own decision.

    Returns
    -------
    OutcomeFields
        Everything but times and folds.
    """
    chosen = profile if cut is None else cut.profile
    known = np.array([(profile.fn, profile.fp), (chosen.fn, chosen.fp)])
    hull = Hull(known) if hull is None else hull
    known = np.concatenate([hull.points, known])
    values = metric.value(known[:, 0], known[:, 1], pos=profile.pos)
    rate, violation = None, 0.0
    constraint = metric.constraint
    if constraint is not None:
        rate = constraint.quantity.of(chosen)
        violation = constraint.violation(chosen.fn, chosen.fp, pos=chosen.pos)
        values = values[constraint.violation(known[:, 0], known[:, 1], pos=profile.pos) == 0]
    return {
        "profile": profile,
        "value": metric.of(profile),
        "attained": float(np.max(values, initial=metric.range(profile.pos)[0])),
        "threshold": None if cut is None else cut.threshold,
        "score": metric.of(chosen),
        "rate": rate,
        "violation": violation,
        "hull": hull,
        "chosen": chosen,
    }


def known_hull(profile: ErrorProfile, curve: _Curve | None) -> Hull:
    """Hull of a model's own decision and all thresholds on its score (``None`` for no score)."""
    points = [[(profile.fn, profile.fp)]]
    return Hull(np.concatenate(points if curve is None else [*points, curve.lower_hull()]))


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """Complete trial that wins: the smallest violation, then the largest score, then the earliest."""
    complete = [trial for trial in trials if trial.state == "complete"]

    def place(trial: Trial) -> tuple[float, ...]:
        return rank(trial.violation, _score(trial), trial.number, trial.setting)

    return min(complete, key=place, default=None)


def _score(trial: Trial) -> float:
    """Score of a complete trial."""
    assert trial.score is not None, "a complete trial has a score"
    return trial.score


def gap(trials: Sequence[Trial], bound: float) -> float | None:
    """Upper bound minus the best value that the trials attain, not below 0; ``None`` without one.

    NaN where no trial satisfies the constraint: the bound is then that of classifiers of which none is known.
    """
    attained = [(trial.attained, trial.feasible) for trial in trials if trial.attained is not None]
    if not attained:
        return None
    known = [value for value, feasible in attained if feasible]
    return max(bound - max(known), 0.0) if known else float("nan")


def first_line(error: str) -> str:
    """What went wrong in one line: in a traceback the kind of the last exception, with the first line of its text.

    Parameters
    ----------
    error : str
        Text of an error, as in `Trial`.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> first_line("Traceback (most recent call last):\\n  ...\\nValueError: X contains NaN.\\nSee the documentation.")
    'ValueError: X contains NaN.'
    """
    lines = error.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    return next((line for line in lines if line.strip() and not line.startswith(" ")), "no reason is given")


# A user who reads of missing values is told how to fill them in.
_MISSING = re.compile(r"contains NaN|missing value", re.IGNORECASE)
# So is who reads of texts.
_TEXTS = re.compile(r"(could not|cannot) convert .* to float|dtypes .*must be int, float", re.IGNORECASE)
_ENCODE = (
    "X holds texts. Encode them inside the base, make_pipeline(OneHotEncoder(handle_unknown='ignore'), ...), or, for "
    "LightGBM and XGBoost, make them X.astype({'town': 'category'}), or, for CatBoost, fit(X, y, cat_features=['town'])"
)
_INFINITE = re.compile(r"contains infinity", re.IGNORECASE)
_REPLACE = "Clip infinite values with numpy.clip, or make them missing with X.replace([inf, -inf], nan) and impute them"
_FILL_IN = (
    "Fill in missing values inside the base, make_pipeline(SimpleImputer(), ...), or take one that accepts them, such "
    "as HistGradientBoostingClassifier"
)


def nothing_worked(trials: Sequence[Any], *, ended: bool = False) -> Exception:
    """Error for a search without a complete trial: the causes in a line each, a way out, then the first traceback.

    One that ``ended`` with what fails on every fold is raised from the error itself, which is not reported twice.
    """
    errors = [trial.error for trial in trials if trial.error]
    causes = list(dict.fromkeys(map(first_line, errors))) or ["no trial was made"]
    more = "".join(f"\nothers: {cause}" for cause in causes[1:])
    ways = {_FILL_IN: _MISSING, _ENCODE: _TEXTS, _REPLACE: _INFINITE}
    hint = "".join(f"\n{way}" for way, kind in ways.items() if any(map(kind.search, causes)))
    first = "".join(f"\nThe first error was:\n{error}" for error in errors[:1] if error.rstrip() != causes[0])
    kind = TypeError if causes[0].startswith("TypeError: ") else ValueError
    if ended:
        how, first = "trials failed on every fold in the same way, and no others were tried", ""
    else:
        how = f"{len(trials)} trials failed"
    return kind(f"all {how}: {causes[0]}{more}{hint}{first}")


# ---------------------------------------------------------------- held-out scores of trials


# Setting and number of a trial.
TrialKey = tuple[int, int]
# Bytes of all scores together.
MAX_BYTES = 1 << 25
# How many scores are looked at to find out whether float32 keeps them apart.
_LOOKED_AT = 10_000
# Whole weights count rows while these are no more than so many; each draw takes as long as so many rows would.
_MOST_COPIES = 1 << 20
# So many samples of a class with the same weight above 1 are not so often there by chance.
_CONSTANT = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialRow:
    """What one trial predicts for the held-out entries, of two classes or of several."""

    key: TrialKey
    score: Array | None
    decided: Array | None
    value: float
    violation: float = 0.0
    equal_costs: bool = False

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """What the trial does not say itself."""
        raise NotImplementedError

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays if array is not None)

    @property
    def rank(self) -> tuple[float, float, int, int]:
        """Smaller is better, see `csf.metrics.base.rank`."""
        setting, number = self.key
        return rank(self.violation, self.value, number, setting)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreRow(TrialRow):
    """What one trial predicts where a score has a threshold.

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
    threshold : float, default=None
        The threshold that the trial chose.
    """

    lost: BoolArray | None = None
    threshold: float | None = None

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """What the trial does not say itself."""
        return self.score, self.decided, self.lost


R = TypeVar("R", bound=TrialRow)


class EntryStore(Generic[R]):
    """What the trials of one search say about the same held-out entries, in no more than so many bytes.

    Beyond these the worst trials are dropped, but never the best one and the best one with equal costs.
    """

    def __init__(
        self,
        truth: Array,
        weight: Array | None = None,
        *,
        samples: IntArray | None = None,
        copies: IntArray | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.truth, self.weight, self.max_bytes = truth, weight, max_bytes
        at = np.arange(truth.size) if samples is None else _ranks(samples)
        self.samples = at.astype(np.int32)
        self.n_samples = int(at.max()) + 1
        self.copies = _copies(self) if copies is None else copies
        # Mean number of entries of a row: of folds that are repeated it has several.
        self.repeats = float(self.copies[self.samples].sum() / self.copies.sum())
        self.has_groups = False
        self.n_dropped = 0
        self._rows: dict[TrialKey, R] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Formats such as that of skops know no keys but texts and numbers.
        return vars(self) | {"_rows": list(self._rows.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_rows": {row.key: row for row in state["_rows"]}})

    def __len__(self) -> int:
        return len(self._rows)

    def only(self, key: TrialKey) -> Self:
        """A copy with the row of one trial."""
        lean = copy.copy(self)
        lean._rows = {key: self._rows[key]}
        if (unmoved := getattr(self, "unmoved", None)) is not None:
            vars(lean)["unmoved"] = unmoved.only(key)
        return lean

    @property
    def importance(self) -> Array | None:
        """Weight of one copy of each entry up to a factor; ``None`` where all weigh the same."""
        if self.weight is None:
            return None
        each = self.copies[self.samples]
        weight = np.divide(self.weight, each, out=np.zeros(each.size), where=each > 0)
        if (weight[each > 0] == weight[each > 0][:1]).all():
            return None
        # A power of two: nothing is rounded, and squares of it stay numbers.
        return np.ldexp(weight, -int(np.frexp(weight.max())[1]))

    def weights_in(self, counts: Array) -> Array:
        """Weight of each entry where each sample is there so often."""
        return counts[self.samples] * (1.0 if self.importance is None else self.importance)

    def draw_together(self, groups: IntArray | None) -> None:
        """Take the entries of each group for one sample; ``None`` leaves the rows alone.

        A group is drawn or left out whole, and weights say how much each of its entries matters.
        """
        if groups is None:
            return
        self.samples, self.has_groups = _ranks(groups).astype(np.int32), True
        self.n_samples = int(self.samples.max()) + 1
        self.copies = (np.bincount(self.samples, self.weight) > 0.0).astype(np.int64)

    def __iter__(self) -> Iterator[R]:
        """The rows that are kept, by number and then setting of their trials: of equals the first one wins."""
        return iter(sorted(self._rows.values(), key=lambda row: row.key[::-1]))

    def __getitem__(self, key: TrialKey) -> R:
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def put(self, row: R) -> None:
        """Keep a row as it is."""
        self._rows[row.key] = row
        self._drop()

    def discard(self, key: TrialKey) -> None:
        """Forget the row of a trial, if it is kept."""
        self._rows.pop(key, None)

    def _drop(self) -> None:
        """Drop the worst rows while all of them are too large."""
        while len(self._rows) > 1 and sum(row.n_bytes for row in self._rows.values()) > self.max_bytes:
            ranked = sorted(self._rows.values(), key=lambda row: row.rank)
            kept = {ranked[0].key, *[row.key for row in ranked if row.equal_costs][:1]}
            worst = next((row for row in reversed(ranked) if row.key not in kept), None)
            if worst is None:
                return
            del self._rows[worst.key]
            self.n_dropped += 1


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

    # Share of the rows that trials were judged by: below 1 for a sample of them.
    share: float = 1.0
    # What it was moved from, which has the share of positives of the data and the rows of all trials.
    unmoved: ScoreStore | None = None

    @property
    def is_pos(self) -> BoolArray:
        """Truth of the entries."""
        return self.truth

    def add(
        self,
        key: TrialKey,
        *,
        score: Array | None = None,
        decided: BoolArray | None = None,
        lost: BoolArray | None = None,
        threshold: float | None = None,
        value: float,
        violation: float = 0.0,
        equal_costs: bool = False,
    ) -> None:
        """Keep what a trial predicts, scores or own decisions; see `ScoreRow`.

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
                score=None if score is None else _small(score),
                decided=None if score is not None else np.asarray(decided, dtype=bool),
                lost=lost if lost is not None and lost.any() else None,
                threshold=threshold,
                value=float(value),
                violation=float(violation),
                equal_costs=bool(equal_costs),
            )
        )

    def add_trial(
        self, key: TrialKey, trial: Trial, score: Array | None, decided: Array | None, lost: Array | None = None
    ) -> None:
        """Keep what a complete trial predicts: its scores where it has a threshold, else its decisions."""
        assert trial.score is not None, "a complete trial has a score"
        tuned = trial.threshold is not None
        self.add(
            key,
            score=score if tuned else None,
            decided=None if tuned else decided,
            lost=lost,
            threshold=trial.threshold,
            value=trial.score,
            violation=trial.violation,
            equal_costs=trial.costs[0] == trial.costs[1],
        )


def _ranks(samples: IntArray) -> IntArray:
    """Numbers of samples, counted anew from 0 in their order where some are missing."""
    if samples.size == 0 or samples.min() < 0 or samples.max() > 4 * samples.size:
        return np.unique(samples, return_inverse=True)[1].ravel()
    # No sort: numbers of samples are small.
    return (np.cumsum(np.bincount(samples) > 0) - 1)[samples]


def _copies(store: EntryStore[Any]) -> IntArray:
    """How many samples each one stands for, by the weights."""
    copies = np.ones(store.n_samples, dtype=np.int64)
    if store.weight is None:
        return copies
    each = np.zeros(store.n_samples)
    each[store.samples] = store.weight
    whole = (each == np.floor(each)).all() and each.sum() <= _MOST_COPIES
    if not whole:
        return copies * (each > 0.0)
    _warn_of_shares(store, each)
    return each.astype(np.int64)


def _warn_of_shares(store: EntryStore[Any], each: Array) -> None:
    """Say where whole weights are hardly counts: those of one class are one number, those of others are not."""
    of_class = [each[np.unique(store.samples[store.truth == kind])] for kind in np.unique(store.truth)]
    of_class = [weight[weight > 0.0] for weight in of_class]
    constant = [weight[0] for weight in of_class if weight.size >= _CONSTANT and (weight == weight[0]).all()]
    if constant and max(constant) > 1.0 and len(np.unique(each[each > 0.0])) > 1:
        warn(
            f"all samples of one class have the weight {max(constant):g}, those of others have another one. Whole "
            "weights are taken as counts of equal samples, and intervals are too narrow where they are none: if they "
            "are how much a sample matters, divide such weights by their mean"
        )


def _small(score: Array) -> Array:
    """Scores as float32, unless some of them would fall together: it is their order that counts."""
    score = np.asarray(score)
    with np.errstate(over="ignore"):
        small = score.astype(np.float32)
    if score.dtype == np.float32 or np.count_nonzero(np.isinf(small)) != np.count_nonzero(np.isinf(score)):
        return small if score.dtype == np.float32 else score.astype(np.float64)
    some = slice(None, None, max(score.size // _LOOKED_AT, 1))
    # In order: the same scores are neighbours, in float32 as before.
    looked_at = np.sort(score[some])
    merged = _n_different(looked_at) - _n_different(looked_at.astype(np.float32))
    return small if merged == 0 else score.astype(np.float64)


def _n_different(ordered: Array) -> int:
    """Number of different values of sorted ones."""
    return ordered.size and 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
