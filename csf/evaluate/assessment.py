"""Value of a winner on new data: its corrected score and its intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from csf._common.typing import Array, IntArray
from csf._common.validation import check_fraction
from csf.evaluate.choices import JudgedDecisions
from csf.evaluate.draws import LARGE, LeftOut, Units, judge_left_out
from csf.evaluate.stores import TrialKey

# ---------------------------------------------------------------- the assessment


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
    judged : JudgedDecisions, default=None
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
    judged: JudgedDecisions | None = field(default=None, repr=False)
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

    def over_range(self, value: float, ends: Sequence[float]) -> Assessment:
        """Widen the errors of a value to those of its values at both ends of what it rests on."""
        if value <= 0.0:
            return self
        low, high = min(ends) / value, max(ends) / value
        drawn = self.corrected_score + self.errors
        return replace(self, errors=np.where(self.errors < 0.0, low, high) * drawn - self.corrected_score)


N_DRAWS = 200
# Those of more than `LARGE` samples: as many as fill blocks of 32.
_N_DRAWS_OF_MANY = 96


def n_draws_of(copies: IntArray) -> int:
    """Choose the number of draws: fewer for many samples, where percentiles vary less and draws take longer."""
    return N_DRAWS if copies.sum() <= LARGE else _N_DRAWS_OF_MANY


def interval(values: Array, level: float) -> tuple[float, float]:
    """Compute the percentile interval of values that may be infinite; NaN without a value."""
    tail = 0.5 * (1.0 - check_fraction(level, "level"))
    values = values[~np.isnan(values)]
    if not values.size:
        return np.nan, np.nan
    low, high = np.quantile(values, [tail, 1.0 - tail], method="nearest")
    return float(low), float(high)


def mean_assessment(parts: Sequence[Assessment]) -> Assessment:
    """Combine assessments of several values on the same samples into that of their mean, without a threshold interval.

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
    together = JudgedDecisions.mean([part.judged for part in parts if part.judged is not None])
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


# ---------------------------------------------------------------- the choice


class Candidate(NamedTuple):
    """Trial with a decision rule, by the rule's name."""

    key: TrialKey
    rule: str


Winner = TypeVar("Winner", bound=tuple[object, ...])


class Choice(ABC, Generic[Winner]):
    """Choice of a winner that can be made again on parts of the held-out samples.

    The winner is chosen, and its decision tuned, on two thirds of the samples. The sums of its decisions about the
    left-out thirds are pooled before the metric is computed from them.
    """

    random_state: int
    # Smallest and largest value of the metric.
    value_range: tuple[float, float]
    # Size of a difference that matters, as 1 for rates: partitions are drawn until they say so much.
    unit: float = 1.0

    @property
    @abstractmethod
    def units(self) -> Units:
        """Units that are drawn."""

    @abstractmethod
    def judge(self, counts: Array, first: int) -> Array:
        """Choose on parts that hold each unit ``counts`` times; sum the decisions about the rest, a row for each part.

        ``first`` is the number of the first part.
        """

    @abstractmethod
    def value(self, sums: Array) -> float:
        """Compute the metric from sums of decisions."""

    @abstractmethod
    def errors(self, winner: Winner) -> Array:
        """Draw bootstrap errors of the value of a winner's decisions."""

    def threshold_interval(self, winner: Winner) -> tuple[float, float]:
        """Compute the interval of the winner's threshold; NaN where no threshold decides."""
        return np.nan, np.nan

    @cached_property
    def left_out(self) -> LeftOut:
        """Sums of decisions about each left-out part."""
        return judge_left_out(self.units, self.judge, lambda sums: self.value(sums) / self.unit, self.random_state)

    @property
    def corrected_score(self) -> float:
        """Expected value of the winner on new data, corrected for the choice; NaN where no part holds all classes."""
        return self.unit * self.left_out.corrected_score

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of `corrected_score` that comes from the finite number of random partitions."""
        return self.unit * self.left_out.monte_carlo_error

    def assess(self, winner: Winner, *, trained: bool = True) -> Assessment:
        """Assess a winner; ``trained`` is False for models that were fitted to other samples."""
        spread = SPREAD if trained else 1.0
        return Assessment(
            self.corrected_score,
            spread * self.errors(winner),
            self.threshold_interval(winner),
            self.value_range,
            random_state=self.random_state,
            spread=spread,
            monte_carlo_error=self.monte_carlo_error,
        )


class CandidateChoice(Choice[Candidate]):
    """Choice among trials and decision rules, for one part of the samples after the other."""

    @abstractmethod
    def choose(self, counts: Array) -> Candidate:
        """Choose the candidate that wins on samples with these counts."""

    @abstractmethod
    def outside(self, candidate: Candidate, counts: Array) -> Array:
        """Tune a candidate on samples with these counts; sum its decisions about all others."""

    def judge(self, counts: Array, first: int) -> Array:
        """Choose on parts, and sum the decisions about the rest; see `Choice.judge`."""
        return np.array([self.outside(self.choose(held), held) for held in counts.T.astype(np.int64)])


# ---------------------------------------------------------------- fitted classifiers


def seed_of(random_state: object) -> int:
    """Return the seed of the draws: the user's where it is a number."""
    return random_state if isinstance(random_state, int) else 0


class AssessedMixin(ABC):
    """Corrected score and intervals of a fitted classifier, computed on first access."""

    held_out_: Any

    @abstractmethod
    def _assess_scores(self) -> Assessment | None:
        """Assess the classifier by its held-out scores; return ``None`` where there are none."""

    def assess(self) -> Assessment:
        """Assess the corrected score with its bootstrap, once, from the held-out scores that ``fit`` kept.

        Returns
        -------
        Assessment
            See `csf.evaluate.assess`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.
        """
        if "_assessment" not in vars(self):
            assessment = self._assess_scores()
            if assessment is None:
                raise NotFittedError(f"this {type(self).__name__} is not fitted, or was fitted without held-out data")
            self._assessment = assessment
        return self._assessment

    @property
    def corrected_score_(self) -> float:
        """Expected value on new data: ``best_score_`` corrected for the choice of trial and threshold."""
        return self.assess().corrected_score

    @property
    def score_interval_(self) -> tuple[float, float]:
        """90 % interval for the value of the fitted model on new data, around ``corrected_score_``."""
        return self.assess().score_interval

    @property
    def threshold_interval_(self) -> tuple[float, float]:
        """90 % interval of the best threshold of the winner's held-out scores, over other draws of the samples.

        Percentiles of the best thresholds of bootstrap draws; NaN where none is tuned.
        """
        return self.assess().threshold_interval
