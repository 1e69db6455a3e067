"""Trials of several classes that are all alike: trained at powers of the shares, judged by confusion matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, Costs
from csf._common.validation import check_count
from csf.evaluate.trials import Matrix, Trial
from csf.search.strategies import Grid, Ladder, get_strategy
from csf.search.study import History

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric

__all__ = [
    "ClassStudy",
    "powers_of",
]

# Steps of the ladder from equal class weights to balanced ones.
_RUNGS = 3


class ClassStudy(History):
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
    why : str, default=""
        Why class weights cannot differ, where they cannot.
    """

    def __init__(self, metric: ConfusionMetric, strategy: Any, *, shares: Array, n_trials: int, why: str = "") -> None:
        super().__init__()
        self.metric, self.shares = metric, shares
        self._powers = powers_of(strategy, check_count(n_trials, "n_trials"))
        alike = "classes of the same size leave equal class weights only" if np.ptp(shares) <= 1e-9 else ""
        self._why = why or alike
        if self._why:
            self._powers = self._powers[:1]

    @property
    def most_trials(self) -> int:
        """How many trials there will be at most."""
        return len(self._powers)

    def class_weights(self, power: float) -> Costs:
        """Weights ``share ** -power``, of mean 1 over the samples."""
        weights = self.shares**-power
        return tuple((weights / np.average(weights, weights=self.shares)).tolist())

    def ask_batch(self) -> list[Trial]:
        """Pending trials at all powers that were not tried yet."""
        if any(trial.state == "pending" for trial in self.trials):
            return []
        tried = {trial.t for trial in self.trials}
        first = 1 + max((trial.number for trial in self.trials), default=-1)
        powers = [power for power in self._powers if power not in tried]
        batch = [Trial(first + at, power, self.class_weights(power)) for at, power in enumerate(powers)]
        self.trials += batch
        if not batch:
            why = f": {self._why}" if self._why else ""
            self.stop_reason = f"all {len(self._powers)} class weights were tried{why}"
        return batch

    def record(self, trial: Trial | int, *, setting: int = 0, **results: Any) -> Trial:
        """Complete a pending trial."""
        return self._settle(trial, state="complete", setting=setting, **results)


def judged_fields(metric: ConfusionMetric, own: Any, tuned: Any = None, judged: Any = None) -> dict[str, Any]:
    """Fields of a complete trial from its confusion matrices."""
    matrices = {"own": own, "tuned": tuned, "judged": judged}
    values = {name: float(metric.value(np.asarray(each))) for name, each in matrices.items() if each is not None}
    plain = {name: None if each is None else _plain(each) for name, each in matrices.items()}
    return {**plain, "value": values["own"], "score": max(values["own"], values.get("judged", -np.inf))}


def _plain(matrix: Any) -> Matrix:
    return tuple(map(tuple, np.asarray(matrix).tolist()))


def powers_of(strategy: Any, n_trials: int) -> list[float]:
    """Powers of the shares that a strategy asks for."""
    given = get_strategy(strategy)
    if not isinstance(given, (Ladder, Grid)):
        raise ValueError(
            f"strategy={strategy!r} searches the costs of two errors; several classes, and costs of rows, are "
            "searched by 'ladder' or 'grid', which go from no weights to those that balance the classes or the costs"
        )
    rungs = _RUNGS if isinstance(strategy, str) and isinstance(given, Ladder) else given.size or n_trials
    return np.linspace(0.0, 1.0, min(rungs, n_trials)).tolist()
