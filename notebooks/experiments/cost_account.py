"""What a method costs by itself, however much it shares with others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, Costs
    from notebooks.experiments.training_cache import Trained, TrainingCache

__all__ = ["CostAccount"]


class CostAccount:
    """Trainings and seconds of one method, as if it were alone."""

    def __init__(self) -> None:
        self.fits, self._start, self._away, self._charged = 0, time.perf_counter(), 0.0, 0.0
        self._paid: set[int] = set()

    def trained(self, cache: TrainingCache, setting: int, costs: Costs) -> Trained:
        """A training of the cache, with the time that it and those it started from took when they were made."""
        start = time.perf_counter()
        trained = cache.trained(setting, costs)
        self._away += time.perf_counter() - start
        self._pay(cache, trained)
        return trained

    def _pay(self, cache: TrainingCache, trained: Trained) -> None:
        if id(trained) not in self._paid:
            self._paid.add(id(trained))
            self._charged += trained.seconds
            self.fits += len(cache.folds)
            for start in trained.starts:
                self._pay(cache, start)

    def tested(self, cache: TrainingCache, setting: int, costs: Costs) -> tuple[Array, BoolArray]:
        """Test scores and lost samples; without a refit their model is one that was trained before, and free."""
        start = time.perf_counter()
        score, lost, seconds = cache.tested(setting, costs)
        self._away += time.perf_counter() - start
        self._charged += seconds if cache.refit else 0.0
        self.fits += int(cache.refit)
        return score, lost

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start - self._away + self._charged
