"""Trials of several classes that are all alike: trained at powers of the shares, judged by confusion matrices."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.typing import Array, Costs, PathLike
from csf._common.validation import check_count
from csf.strategies import Grid, Ladder, get_strategy
from csf.study.history import History
from csf.trials import check_fields, is_close

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric

__all__ = ["ClassStudy", "ClassTrial", "Matrix"]

Matrix = tuple[tuple[float, ...], ...]
# Steps of the ladder from equal class weights to balanced ones.
_RUNGS = 3
_MATRICES = ("own", "tuned", "judged")


@dataclass(frozen=True, slots=True)
class ClassTrial:
    """One training at class weights ``share ** -t``; never changes once made.

    Parameters
    ----------
    number : int
        Running number within its study, from 0.
    t : float
        Power: 0 for equal class weights, 1 for balanced ones.
    costs : tuple of float, shape (n_classes,)
        Class weights in the order of the classes, of mean 1 over the samples.
    state : {"pending", "complete", "failed"}, default="pending"
        Asked for, answered, or failed.
    own : tuple of tuple of float, default=None
        Held-out confusion matrix of the base's own decision, shares of all samples: rows true, columns predicted.
    tuned, judged : tuple of tuple of float, default=None
        Those of a rule tuned on all held-out samples, and of rules tuned on other samples than they decide; ``None``
        where none is tuned.
    value : float, default=None
        Metric of ``own``.
    score : float, default=None
        The larger of ``value`` and the metric of ``judged``.
    fold_scores : tuple of float, default=()
        Metric of the own decision within each fold.
    setting : int, default=0
        Which setting of the base's parameters was trained.
    error : str, default=None
        Why a failed trial failed.
    duality_gap : float, default=None
        As of `csf.trials.Trial`.
    fit_time, score_time : float, default=0.0
        Seconds spent in the base, summed over folds; not part of equality.
    """

    number: int
    t: float
    costs: Costs
    state: str = "pending"
    own: Matrix | None = None
    tuned: Matrix | None = None
    judged: Matrix | None = None
    value: float | None = None
    score: float | None = None
    fold_scores: tuple[float | None, ...] = ()
    setting: int = 0
    error: str | None = None
    duality_gap: float | None = field(default=None, compare=False)
    fit_time: float = field(default=0.0, compare=False)
    score_time: float = field(default=0.0, compare=False)

    @property
    def violation(self) -> float:
        """0: there is no constraint on several classes."""
        return 0.0

    @property
    def feasible(self) -> bool:
        """There is nothing to satisfy."""
        return True

    @property
    def rate(self) -> None:
        """There is no constrained rate."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """Trial of a dict made by `to_dict`; a ValueError where it is none."""
        try:
            check_fields(record, cls)
            record = dict(record)
            record["costs"], record["fold_scores"] = tuple(record["costs"]), tuple(record["fold_scores"])
            for name in _MATRICES:
                if record[name] is not None:
                    record[name] = tuple(map(tuple, record[name]))
            return cls(**record)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"this is not the record of a trial: {error!r}") from error


class ClassStudy(History[ClassTrial]):
    """Class weights to train at, all of them asked for at once.

    Parameters
    ----------
    metric : ConfusionMetric
        What is maximised.
    strategy : str or Strategy
        ``"ladder"`` or ``"grid"``.
    shares : ndarray of shape (n_classes,)
        Shares of the classes.
    n_trials : int
        Largest number of trials.
    """

    def __init__(self, metric: ConfusionMetric, strategy: Any, *, shares: Array, n_trials: int) -> None:
        super().__init__()
        self.metric, self.shares = metric, shares
        self._powers = _powers(strategy, check_count(n_trials, "n_trials"))
        if np.ptp(shares) <= 1e-9:
            self._powers = self._powers[:1]

    @property
    def most_trials(self) -> int:
        """How many trials there will be at most."""
        return len(self._powers)

    def class_weights(self, power: float) -> Costs:
        """Weights ``share ** -power``, of mean 1 over the samples."""
        weights = self.shares**-power
        return tuple((weights / np.average(weights, weights=self.shares)).tolist())

    def ask_batch(self) -> list[ClassTrial]:
        """Pending trials at all powers that were not tried yet."""
        if any(trial.state == "pending" for trial in self.trials):
            return []
        tried = {trial.t for trial in self.trials}
        first = 1 + max((trial.number for trial in self.trials), default=-1)
        powers = [power for power in self._powers if power not in tried]
        batch = [ClassTrial(first + at, power, self.class_weights(power)) for at, power in enumerate(powers)]
        self.trials += batch
        if not batch:
            alike = ": classes of the same size leave equal class weights only" if len(self._powers) == 1 else ""
            self.stop_reason = f"all {len(self._powers)} class weights were tried{alike}"
        return batch

    def record(self, trial: ClassTrial | int, *, setting: int = 0, **results: Any) -> ClassTrial:
        """Complete a pending trial."""
        return self._settle(trial, state="complete", setting=setting, **results)

    def trial_of(self, record: dict[str, Any]) -> ClassTrial:
        """`ClassTrial.from_dict`."""
        return ClassTrial.from_dict(record)

    def check(self, trials: list[ClassTrial], path: PathLike) -> None:
        """A ValueError unless trials of a file are some of this study, and say what their matrices say."""
        try:
            if len({trial.t for trial in trials}) < len(trials) or len({t.number for t in trials}) < len(trials):
                raise ValueError("trials must have numbers and powers of their own")
            for trial in trials:
                if trial.t not in self._powers or not np.allclose(trial.costs, self.class_weights(trial.t)):
                    raise ValueError(f"trial {trial.number} has the class weights {trial.costs} at power {trial.t}")
                if trial.state == "complete":
                    self._check_computed(trial)
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); it was left as it is") from error

    def _check_computed(self, trial: ClassTrial) -> None:
        for name in _MATRICES:
            matrix = getattr(trial, name)
            if matrix is None and name != "own":
                continue
            counted = np.asarray(matrix, dtype=float)
            if counted.shape != (self.shares.size,) * 2 or (counted < 0.0).any() or not is_close(counted.sum(), 1.0):
                raise ValueError(f"trial {trial.number} has no confusion matrix {name} of {self.shares.size} classes")
        computed = judged_fields(self.metric, trial.own, trial.tuned, trial.judged)
        for name, value in computed.items():
            if name in ("value", "score") and not is_close(getattr(trial, name), value):
                raise ValueError(f"trial {trial.number} has {name}={getattr(trial, name)!r}, but it comes to {value!r}")


def judged_fields(metric: ConfusionMetric, own: Any, tuned: Any = None, judged: Any = None) -> dict[str, Any]:
    """Fields of a complete trial from its confusion matrices."""
    matrices = {"own": own, "tuned": tuned, "judged": judged}
    values = {name: float(metric.value(np.asarray(each))) for name, each in matrices.items() if each is not None}
    plain = {
        name: None if each is None else tuple(map(tuple, np.asarray(each).tolist())) for name, each in matrices.items()
    }
    return {**plain, "value": values["own"], "score": max(values["own"], values.get("judged", -np.inf))}


def _plain(matrix: Any) -> Matrix:
    return tuple(map(tuple, np.asarray(matrix).tolist()))


def _powers(strategy: Any, n_trials: int) -> list[float]:
    """Powers of the shares that a strategy asks for."""
    given = get_strategy(strategy)
    if not isinstance(given, (Ladder, Grid)):
        raise ValueError(
            f"strategy={strategy!r} searches the costs of two errors; several classes are searched by 'ladder' or "
            "'grid', which go from equal class weights to balanced ones"
        )
    rungs = _RUNGS if isinstance(strategy, str) and isinstance(given, Ladder) else given.size or n_trials
    return np.linspace(0.0, 1.0, min(rungs, n_trials)).tolist()
