"""Trials that were asked for and answered, whatever they were trained for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from csf._common.typing import Costs, PathLike
from csf.trials import Trial, best_trial

__all__ = ["History"]


class History(ABC):
    """Trials in the order in which they were asked for, and why no more are."""

    # Whether a race between settings leaves it out.
    dropped = False

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.stop_reason: str | None = None

    @property
    @abstractmethod
    def most_trials(self) -> int:
        """How many trials there will be at most."""

    @abstractmethod
    def ask_batch(self) -> list[Trial]:
        """Pending trials to train at once; empty when the search is over."""

    @abstractmethod
    def record(self, trial: Trial | int, *, setting: int = 0, **results: Any) -> Trial:
        """Complete a pending trial."""

    @abstractmethod
    def check(self, trials: list[Trial], path: PathLike) -> None:
        """A ValueError unless trials of a file can be those of this study."""

    def fail(self, trial: Trial | int, error: str | Exception, **results: Any) -> Trial:
        """Report that a trial's training failed; the search goes on without it.

        Parameters
        ----------
        trial : Trial or int
            A pending trial of this study, or its number.
        error : str or Exception
            What went wrong.
        **results
            Further fields of the `Trial`.

        Returns
        -------
        Trial
            The failed trial.
        """
        return self._settle(trial, state="failed", error=str(error), **results)

    def _settle(self, trial: Trial | int, **changes: Any) -> Trial:
        number = getattr(trial, "number", trial)
        at = next((at for at, known in enumerate(self.trials) if known.number == number), None)
        if at is None or self.trials[at].state != "pending":
            state = "unknown" if at is None else self.trials[at].state
            pending = [t.number for t in self.trials if t.state == "pending"]
            raise ValueError(f"trial {number!r} is {state} in this study; pending trials: {pending}")
        known = self.trials[at]
        costs: Costs = getattr(trial, "costs", known.costs)
        if costs != known.costs:
            text = f"trial {number} has the costs {known.costs} in this study and {costs} where it comes from"
            raise ValueError(f"{text}: it belongs to another study")
        self.trials[at] = replace(known, **changes)
        return self.trials[at]

    def forget_pending(self) -> None:
        """Drop trials that were asked for and never answered, e.g. after an interruption."""
        self.trials = [trial for trial in self.trials if trial.state != "pending"]

    @property
    def best_trial(self) -> Trial | None:
        """Complete trial with the largest score (feasible ones first, then the earliest), or ``None``."""
        return best_trial(self.trials)

    @property
    def best_score(self) -> float | None:
        """Score of `best_trial`, or ``None`` before the first result."""
        return None if self.best_trial is None else self.best_trial.score
