"""Which trial wins: the best one, or the neutral weights where its gain could be luck."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf._validation import check_count, generator
from csf.errors.profile import ErrorProfile
from csf.metrics import get_metric
from csf.search.states import decode, encode

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["Choice", "GainRule", "gain_error"]

# Bootstrap draws held at once, to bound the memory of weighted samples.
_BLOCK = 1 << 20


class Choice(NamedTuple):
    """The winner of a `GainRule` and what decided.

    Parameters
    ----------
    key : object
        Name of the winner.
    best : object
        Name of the candidate with the largest value, the winner unless its gain was too small.
    gain : float
        Value of ``best`` minus that of the best neutral candidate; NaN where there is none.
    error : float
        Bootstrap standard error of ``gain``; NaN where it was not needed.
    """

    key: Any
    best: Any
    gain: float
    error: float


class _Candidate(NamedTuple):
    key: Any
    violation: float
    value: float
    decided: BoolArray

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better: first the demand, then the metric, as for the trials of a search."""
        return self.violation, -self.value


class GainRule:
    """Chooses among candidates that were all judged on the same held-out samples.

    The largest of many estimates is an optimistic one. With few positives a search over costs picks winners whose
    gain over plain training is luck, so the best candidate has to beat the best *neutral* one (both classes cost the
    same) by a share of the standard error of their difference; else the neutral one wins.

    Candidates come one after the other and only the two best are kept, so that memory does not grow with them.

    Parameters
    ----------
    metric : str or Metric
        What is maximised. A constraint of the metric comes first: a candidate that satisfies it needs no gain over
        a neutral one that does not.
    is_pos : ndarray of bool, shape (n_samples,)
        Truth of the held-out samples.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    samples : ndarray of int, shape (n_samples,), default=None
        Which sample each entry is, where some were held out more than once, as in repeated cross-validation.
    min_gain : float, default=0.5
        Gain that is asked for, in standard errors, >= 0; with 0 the best candidate wins unless it only ties.
    n_bootstrap : int, default=200
        Number of bootstrap samples.
    random_state : int, default=0
        Seed of the bootstrap.

    Notes
    -----
    The thresholds of the candidates stay what they are in all bootstrap samples. The error is that of the two given
    decisions, not that of choosing them.

    Examples
    --------
    >>> is_pos = np.arange(20) < 4
    >>> rule = GainRule("f1", is_pos)
    >>> rule.add("neutral", np.arange(20) < 2, neutral=True)
    >>> rule.add("one more found", np.arange(20) < 3, neutral=False)
    >>> rule.add("all found", is_pos, neutral=False)
    >>> rule.choose().key, rule.choose().gain
    ('all found', 0.333)
    """

    def __init__(
        self,
        metric: str | Metric,
        is_pos: BoolArray,
        sample_weight: Array | None = None,
        *,
        samples: IntArray | None = None,
        min_gain: float = 0.5,
        n_bootstrap: int = 200,
        random_state: int = 0,
    ) -> None:
        if not (isinstance(min_gain, Real) and 0.0 <= min_gain < np.inf):
            raise ValueError(f"min_gain must be a number of standard errors >= 0, got {min_gain!r}")
        self.metric, self.is_pos = get_metric(metric), is_pos
        self.sample_weight, self.samples = sample_weight, samples
        self.min_gain, self.random_state = float(min_gain), random_state
        self.n_bootstrap = check_count(n_bootstrap, "n_bootstrap")
        self._best: _Candidate | None = None
        self._neutral: _Candidate | None = None

    def add(self, key: object, decided: BoolArray, *, neutral: bool) -> None:
        """Take note of a candidate.

        Parameters
        ----------
        key : object
            Name of the candidate, such as the index of its trial.
        decided : ndarray of bool, shape (n_samples,)
            Which held-out samples it predicts positive.
        neutral : bool
            Whether both classes cost it the same.

        Raises
        ------
        ValueError
            If there are more or fewer decisions than samples.
        """
        decided = np.asarray(decided, dtype=bool)
        if decided.shape != self.is_pos.shape:
            raise ValueError(f"decided must have shape {self.is_pos.shape} like is_pos, got {decided.shape}")
        profile = ErrorProfile.from_masks(self.is_pos, decided, sample_weight=self.sample_weight)
        constraint = self.metric.constraint
        violation = 0.0 if constraint is None else constraint.violation(profile.fn, profile.fp, pos=profile.pos)
        candidate = _Candidate(key, float(violation), self.metric.of(profile), decided)
        # Of equals the first one stays.
        if self._best is None or candidate.rank < self._best.rank:
            self._best = candidate
        if neutral and (self._neutral is None or candidate.rank < self._neutral.rank):
            self._neutral = candidate

    def to_record(self) -> list[Any]:
        """Plain description of the two candidates that count, for a file.

        Returns
        -------
        list
            Their keys (lists, where they are tuples), decisions and kinds.
        """
        known = [each for each in (self._best, self._neutral) if each is not None]
        known = known[:1] if self._best is self._neutral else known
        return [[each.key, encode(np.packbits(each.decided)), each is self._neutral] for each in known]

    def restore(self, record: list[Any]) -> None:
        """Take note of the candidates of a file.

        Parameters
        ----------
        record : list
            As `to_record` returns it.
        """
        for key, packed, neutral in record:
            decided = np.unpackbits(decode(packed), count=self.is_pos.size)
            self.add(tuple(key), decided.astype(bool), neutral=neutral)

    def choose(self) -> Choice:
        """The winner among all candidates so far.

        Returns
        -------
        Choice
            The winner and its gain.

        Raises
        ------
        ValueError
            If there is no candidate.
        """
        best, neutral = self._best, self._neutral
        if best is None:
            raise ValueError("there is no candidate to choose; add one first")
        if neutral is None:
            return Choice(best.key, best.key, np.nan, np.nan)
        gain = best.value - neutral.value
        if best is neutral or best.violation < neutral.violation:
            return Choice(best.key, best.key, gain, np.nan)
        error = gain_error(
            self.metric,
            self.is_pos,
            best.decided,
            neutral.decided,
            self.sample_weight,
            samples=self.samples,
            n_bootstrap=self.n_bootstrap,
            random_state=self.random_state,
        )
        winner = best if gain > self.min_gain * error else neutral
        return Choice(winner.key, best.key, gain, error)


def gain_error(
    metric: str | Metric,
    is_pos: BoolArray,
    decided: BoolArray,
    reference: BoolArray,
    sample_weight: Array | None = None,
    *,
    samples: IntArray | None = None,
    n_bootstrap: int = 200,
    random_state: int = 0,
) -> float:
    """Bootstrap standard error of the difference of a metric between two decisions on the same samples.

    Parameters
    ----------
    metric : str or Metric
        The metric.
    is_pos, decided, reference : ndarray of bool, shape (n_samples,)
        Truth and the two decisions.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    samples : ndarray of int, shape (n_samples,), default=None
        Which sample each entry is, where some appear more than once; ``None`` means that all differ. Entries of one
        sample are drawn together: repeating a cross-validation does not make more samples of it.
    n_bootstrap : int, default=200
        Number of bootstrap samples, each of which counts every sample a Poisson(1) number of times.
    random_state : int, default=0
        Seed.

    Returns
    -------
    float
        Standard deviation of the difference over the bootstrap samples that hold both classes; infinite where fewer
        than two of them do, since nothing is known then.

    Notes
    -----
    Samples that add the same to all sums are drawn together, as a Poisson number with their count as its mean:
    without weights the time does not depend on the number of samples.

    Examples
    --------
    >>> is_pos = np.arange(100) < 20
    >>> gain_error("f1", is_pos, np.arange(100) < 15, np.arange(100) < 10)
    0.09
    """
    metric, rng, n_bootstrap = get_metric(metric), generator(random_state), check_count(n_bootstrap, "n_bootstrap")
    weight = np.ones(is_pos.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # What each entry adds to the weights of both classes and of both errors of both decisions.
    errors = [part for d in (decided, reference) for part in (is_pos & ~d, ~is_pos & d)]
    added = np.column_stack([is_pos, ~is_pos, *errors]) * weight[:, None]
    if samples is not None:
        at = np.unique(samples, return_inverse=True)[1].ravel()
        added = np.column_stack([np.bincount(at, column) for column in added.T])
    added, counts = np.unique(added, axis=0, return_counts=True)
    block, gains = max(_BLOCK // counts.size, 1), []
    for start in range(0, n_bootstrap, block):
        drawn = rng.poisson(counts, size=(min(block, n_bootstrap - start), counts.size))
        gains += [_gain(metric, *sums) for sums in drawn @ added]
    gains = np.array(gains)[np.isfinite(gains)]
    return float(gains.std(ddof=1)) if gains.size > 1 else np.inf


def _gain(metric: Metric, pos: float, neg: float, *errors: float) -> float:
    """Difference of the metric from the weights of both classes, and of errors (fn, fp) of both decisions."""
    if pos <= 0.0 or neg <= 0.0:
        return np.nan
    total = pos + neg
    value, reference = (
        metric.value(fn / total, fp / total, pos=pos / total) for fn, fp in zip(errors[::2], errors[1::2])
    )
    return float(value - reference)
