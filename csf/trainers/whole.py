"""One solution on all samples, from which the first trainings of all folds start."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from csf._common.typing import Costs
from csf.data.folds import Fold
from csf.trainers.base import Trainer
from csf.trainers.prepared import Prepared

__all__ = ["Whole", "shared_whole"]


class Whole:
    """State of a training with equal costs on all samples, made when it is first asked for.

    Folds share most of their samples, so that each is a small change of it. It depends on the data and on the base
    alone: which fold asks first changes nothing.
    """

    def __init__(self, make: Callable[[], Trainer], neutral: Costs = (1.0, 1.0)) -> None:
        self._make, self._neutral, self._state, self._lock = make, neutral, None, RLock()
        self._trainer: Any = None

    @property
    def trainer(self) -> Any:
        """What trains on all samples, the same object each time."""
        with self._lock:
            if self._trainer is None:
                self._trainer = self._make()
            return self._trainer

    def state(self) -> Any:
        """The state, the same one each time."""
        with self._lock:
            if self._state is None:
                self._state = self.trainer.fit(self._neutral).state
            return self._state

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_neutral": self._neutral, "_state": self._state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _trainer=None, _lock=RLock())


def shared_whole(name: str, make: Callable[[], Trainer], folds: list[Fold], prepared: Prepared) -> Whole | None:
    """The start of all folds of a setting, and of its last training on everything."""
    task = folds[0].task
    # Searches of several classes share what is prepared, and may run side by side: each has its own.
    key = f"{name} {id(task)}"
    if key not in prepared and len(folds) > 1:
        prepared[key] = (
            task,
            Whole(make, (1.0,) * (task.n_alike or 2)),
        )  # with the task, whose number nothing else gets while it lives
    return prepared.get(key, (None, None))[1]
