"""What a fitted classifier can say of its own value on new data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.exceptions import NotFittedError

from csf._common.typing import Array, BoolArray
from csf.metrics import get_metric
from csf.resampling.choices import BEST, Chooser
from csf.resampling.outcomes import Judged
from csf.resampling.resampling import LARGE, N_DRAWS, N_DRAWS_OF_MANY, Resampling, interval
from csf.resampling.store import EntryStore, ScoreStore

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling.store import TrialKey

__all__ = [
    "LEVEL",
    "AssessedMixin",
    "Assessment",
    "Question",
    "ThresholdQuestion",
    "assess",
    "mean_assessment",
    "seed_of",
]

# Coverage of all intervals.
LEVEL = 0.9
# How much larger the error of a corrected score is than that of the same decisions on samples that no model, choice or
# threshold has seen: models of other training parts differ from the one that is returned, and what chose it has seen
# the samples that judge it. The ratio was 0.9 to 1.4 in 13 populations; with this one 90 % intervals cover
# (`tests.benchmarks honesty refits`).
SPREAD = 1.2


@dataclass(frozen=True, eq=False)
class Assessment:
    """Corrected value of a winner, with intervals.

    Parameters
    ----------
    corrected_score : float
        Value to expect on new data.
    errors : ndarray of shape (n_draws,)
        Its errors: those of a bootstrap of the decisions, ``spread`` times as large.
    threshold_interval : tuple of float
        90 % interval of its threshold; NaN for own decisions.
    value_range : tuple of float
        Smallest and largest value of the metric.
    judged : Judged, default=None
        The decisions, for `mean_assessment`.
    random_state : int, default=0
        Seed of the draws.
    spread : float, default=1.2
        What training, choice and threshold add to the errors; 1 where the model was fitted to other samples.
    monte_carlo_error : float, default=NaN
        Standard error of ``corrected_score`` because it is a mean over some of all partitions; another seed moves it by
        so much.

    Notes
    -----
    Intervals lie between the smallest and the largest value of the metric, and hold the corrected score.
    """

    corrected_score: float
    errors: Array = field(repr=False)
    threshold_interval: tuple[float, float]
    value_range: tuple[float, float]
    judged: Judged | None = field(default=None, repr=False)
    random_state: int = 0
    spread: float = SPREAD
    monte_carlo_error: float = np.nan

    @property
    def score_interval(self) -> tuple[float, float]:
        """90 % interval for the value of the returned model on new data."""
        middle = self.corrected_score
        low, high = interval(self.errors + middle, LEVEL)
        lowest, largest = self.value_range
        return min(max(low, lowest), middle), max(min(high, largest), middle)


def assess(
    store: ScoreStore,
    metric: str | Metric,
    winner: TrialKey,
    *,
    random_state: int = 0,
    chooser: Chooser = BEST,
    trained: bool = True,
) -> Assessment:
    """Correct the value of the winner of a search.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of all trials.
    metric : str or Metric
        What was maximised.
    winner : tuple of int
        The trial that was chosen.
    random_state : int, default=0
        Seed.
    chooser : Chooser, optional
        How it was chosen; the best trial at its best threshold if not given.
    trained : bool, default=True
        Whether the scores are those of models trained on parts of the same samples, in whose place another one is
        used; ``False`` for a model that was fitted to other samples.

    Returns
    -------
    Assessment
        See `csf.resampling.Resampling` for how.

    Examples
    --------
    >>> from csf.resampling import ScoreStore
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> store.add((0, 0), score=rng.normal(size=500) + is_pos, threshold=0.5, value=0.48)
    >>> found = assess(store, "f1", (0, 0))
    >>> found.corrected_score, found.score_interval, found.threshold_interval
    (0.461, (0.398, 0.524), (0.241, 1.24))
    """
    # Chance has little say in percentiles of many samples, and draws of them take their time.
    n_draws = N_DRAWS if store.copies.sum() <= LARGE else N_DRAWS_OF_MANY
    metric = get_metric(metric)
    options = {"n_draws": n_draws, "random_state": random_state, "chooser": chooser}
    sampled = Resampling(store, metric, keep=[winner], **options)
    judged, spread = Judged.of(store, store[winner], metric), SPREAD if trained else 1.0
    return Assessment(
        sampled.corrected_score,
        spread * judged.errors(n_draws, random_state),
        sampled.threshold_interval(winner, LEVEL),
        metric.range(float(np.average(store.is_pos, weights=store.weight))),
        judged,
        random_state,
        spread,
        sampled.monte_carlo_error,
    )


def mean_assessment(parts: Sequence[Assessment]) -> Assessment:
    """Assessment of the mean of several values on the same samples; their thresholds have no common interval.

    Parameters
    ----------
    parts : sequence of Assessment
        Of problems on the same samples: these are drawn for all of them at once.

    Returns
    -------
    Assessment
        That of the mean.
    """
    ranges = np.array([part.value_range for part in parts])
    together = Judged.mean([part.judged for part in parts if part.judged is not None])
    spread = max(part.spread for part in parts)
    # The partitions of all parts are the same: their errors do not cancel.
    by_chance = [part.monte_carlo_error for part in parts]
    return Assessment(
        float(np.mean([part.corrected_score for part in parts])),
        spread * together.errors(parts[0].errors.size, parts[0].random_state),
        (np.nan, np.nan),
        (float(ranges[:, 0].min()), float(ranges[:, 1].max())),
        spread=spread,
        monte_carlo_error=float(np.mean(by_chance)),
    )


class Question(Protocol):
    """What is asked about held-out scores."""

    def answer(self, store: Any) -> Assessment: ...


@dataclass(frozen=True, eq=False)
class ThresholdQuestion:
    """What a winner of two classes is worth; ``decided`` are decisions that took the place of its own.

    ``chooser`` and ``trained`` are those of `assess`.
    """

    metric: Metric
    winner: TrialKey
    random_state: object
    decided: BoolArray | None = None
    chooser: Chooser = BEST
    trained: bool = True

    def answer(self, store: ScoreStore) -> Assessment:
        """The assessment."""
        if self.decided is not None:
            given, store = store, ScoreStore(store.is_pos, store.weight, samples=store.samples, copies=store.copies)
            store.add(self.winner, decided=self.decided, value=given[self.winner].value)
        seed = seed_of(self.random_state)
        return assess(store, self.metric, self.winner, random_state=seed, chooser=self.chooser, trained=self.trained)


def seed_of(random_state: object) -> int:
    """Seed of draws: that of the user where it is a number."""
    return random_state if isinstance(random_state, int) else 0


class AssessedMixin:
    """Corrected score and intervals of a fitted classifier, computed when they are first asked for.

    ``fit`` calls `_keep_scores` with what they are computed from.
    """

    held_out_: Any
    _question: Question

    def _keep_scores(self, store: EntryStore[Any], question: Question) -> None:
        """Keep held-out scores and what is asked about them."""
        self.held_out_, self._question = store, question
        vars(self).pop("_assessment", None)

    def assess(self) -> Assessment:
        """Corrected score with its bootstrap; computed once, from the held-out scores that ``fit`` kept.

        Returns
        -------
        Assessment
            See `csf.resampling.assess`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.
        """
        if "_assessment" not in vars(self):
            if not hasattr(self, "_question"):
                raise NotFittedError(f"this {type(self).__name__} is not fitted, or was fitted without held-out data")
            self._assessment = self._question.answer(getattr(self, "held_out_", None))
        return self._assessment

    @property
    def corrected_score_(self) -> float:
        """Value to expect on new data: ``best_score_`` without what choosing trial and threshold added to it."""
        return self.assess().corrected_score

    @property
    def score_interval_(self) -> tuple[float, float]:
        """90 % interval for the value of the fitted model on new data, around ``corrected_score_``."""
        return self.assess().score_interval

    @property
    def threshold_interval_(self) -> tuple[float, float]:
        """90 % interval of the best threshold of the winner's held-out scores if other samples had been drawn.

        Percentiles of the best thresholds of bootstrap draws; NaN where none is tuned.
        """
        return self.assess().threshold_interval
