"""What the predictions that a study was told say of its best trial on new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, BoolArray
from csf.resampling import Assessment, ScoreStore, assess

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.trials import Trial

__all__ = ["ToldScores"]


class ToldScores:
    """Corrected score and intervals of a study whose trials were told with labels and predictions.

    All trials have to be judged on the same samples. Scores are kept in memory alone, not in files.
    """

    metric: Metric
    trials: list[Trial]
    best_trial: Any
    _held_out: ScoreStore | None = None
    _truth: tuple[BoolArray, Array | None] | None = None

    def _hear(self, trial: Trial, is_pos: BoolArray, weight: Array | None, said: Array) -> None:
        """Keep what a complete trial was told with: scores where it has a threshold, else decisions."""
        if self._truth is None:
            self._truth, self._held_out = (is_pos, weight), ScoreStore(is_pos, weight)
        truth, known = self._truth
        same_weight = weight is known if weight is None or known is None else np.array_equal(weight, known)
        if not (np.array_equal(is_pos, truth) and same_weight):
            self._held_out = None  # of other samples, nothing can be drawn together
        if self._held_out is not None:
            self._held_out.hear((0, trial.number), trial, said, said)

    @property
    def assessment(self) -> Assessment | None:
        """Corrected score of the best trial with its bootstrap, see `csf.resampling.assess`.

        ``None`` unless all trials up to now were told with labels and predictions of the same samples.
        """
        best, complete = self.best_trial, [trial for trial in self.trials if trial.state == "complete"]
        store = self._held_out
        if store is None or best is None or len(store) + store.n_dropped < len(complete):
            return None
        return assess(store, self.metric, (0, best.number))

    @property
    def corrected_score(self) -> float | None:
        """Value of the best trial to expect on new data, or ``None``; see `assessment`."""
        return None if (found := self.assessment) is None else found.corrected_score

    @property
    def score_interval(self) -> tuple[float, float] | None:
        """90 % interval for that value, or ``None``."""
        return None if (found := self.assessment) is None else found.score_interval

    @property
    def threshold_interval(self) -> tuple[float, float] | None:
        """90 % interval of the best trial's threshold, or ``None``."""
        return None if (found := self.assessment) is None else found.threshold_interval
