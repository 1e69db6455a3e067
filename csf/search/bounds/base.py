"""What every bound offers: the best value still possible, over all levels and at each of them."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf._common.validation import check_fraction, floats
from csf.evaluate.trials import Trial
from csf.metrics import LinearFractional
from csf.metrics.base import Metric
from csf.metrics.hull import Hull
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

__all__ = [
    "Bound",
    "complete_trials",
    "known_profiles",
]


def complete_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that carry a profile, by number."""
    return sorted((trial for trial in check_trials(trials) if trial.state == "complete"), key=lambda t: t.number)


def check_trials(trials: Sequence[Trial]) -> list[Trial]:
    """List of trials; a TypeError for anything else."""
    try:
        checked = list(trials)
    except TypeError:
        raise TypeError(f"trials must be a sequence of csf.Trial, got {trials!r}") from None
    for trial in checked:
        if not isinstance(trial, Trial):
            raise TypeError(f"trials must be a sequence of csf.Trial, got {trial!r} among them")
    return checked


def check_eps(eps: float | str | Callable[..., float]) -> None:
    """Check an excess of trained models over the cheapest ones."""
    is_number = isinstance(eps, numbers.Real) and not eps < 0 and eps < np.inf
    if not (is_number or (callable(eps) and not isinstance(eps, type)) or (isinstance(eps, str) and eps == "evidence")):
        raise ValueError(f"eps must be a number >= 0, a function of a trial or 'evidence', got {eps!r}")


def known_profiles(trials: Sequence[Trial]) -> Hull | None:
    """Hull of every profile that some trained model attains, or ``None`` without one."""
    hulls = [trial.hull if trial.hull is not None else _own(trial) for trial in complete_trials(trials)]
    return Hull.union(hulls) if hulls else None


def profile_of(trial: Trial) -> ErrorProfile:
    """Profile of a trial that is complete."""
    assert trial.profile is not None, f"trial {trial.number} is complete and has no profile"
    return trial.profile


def weighted_errors(trials: Sequence[Trial]) -> Array:
    """Weighted error of each complete trial at its own costs."""
    profiles = [(trial, profile_of(trial)) for trial in trials]
    return np.array([trial.c_fn * profile.fn + trial.c_fp * profile.fp for trial, profile in profiles])


def _own(trial: Trial) -> Hull:
    profile = profile_of(trial)
    return Hull([(profile.fn, profile.fp)])


class Bound(ABC):
    """Upper bound on the metric, from trials that are already there.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order; only complete ones count.
    metric : Metric
        What the trials were trained for.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of each trained model over the cheapest model of its class, in units of the weighted error
        ``c_fn fn + c_fp fp``: a number, a function of a `Trial`, or ``"evidence"``, the excess over the cheapest
        profile known from all trials and all their thresholds.

    Attributes
    ----------
    proven_at_levels : bool
        Whether `upper_bound` is proven at every level. `best_possible` is proven for each bound of csf, both for an
        ``eps`` that is not too small.
    """

    proven_at_levels: bool = True

    def __init__(
        self,
        trials: Sequence[Trial],
        metric: Metric,
        *,
        pos: float,
        eps: float | str | Callable[..., float] = "evidence",
    ) -> None:
        if not isinstance(metric, Metric):
            raise TypeError(f"metric must be a csf.metrics.Metric object, got {metric!r}")
        check_eps(eps)
        self.trials, self.metric, self.pos, self.eps = complete_trials(trials), metric, check_fraction(pos, "pos"), eps
        self.lo, self.hi = metric.range(pos)

    def excess(self) -> Array:
        """Excess of each complete trial, in order of their numbers.

        Returns
        -------
        ndarray of shape (n_trials,)
            Weighted errors by which a better model may exist, >= 0.
        """
        if callable(self.eps):
            return np.array([float(self.eps(trial)) for trial in self.trials])
        if self.eps != "evidence":
            return np.full(len(self.trials), float(self.eps))
        if not self.trials:
            return np.empty(0)
        c_fn, c_fp = np.array([trial.costs for trial in self.trials]).T
        own = weighted_errors(self.trials)
        known = known_profiles(self.trials)
        assert known is not None  # there is a trial
        return np.maximum(own - known.cheapest(c_fn, c_fp), 0.0)

    @abstractmethod
    def upper_bound(self, levels: ArrayLike) -> Array:
        """Largest metric value that a model trained at each level can have.

        Parameters
        ----------
        levels : array-like of shape (n_levels,)
            Levels t.

        Returns
        -------
        ndarray of shape (n_levels,)
            Values, at most the end of the metric's range.
        """

    def _levels(self, levels: ArrayLike) -> Array:
        """Levels as numbers."""
        checked = floats(levels, "levels")
        if not np.isfinite(checked).all():
            raise ValueError(f"levels must be finite, got {checked.tolist()}")
        return checked

    @abstractmethod
    def best_possible(self) -> float:
        """Largest metric value that any model of the class can have.

        Returns
        -------
        float
            The bound on the optimum.
        """

    @abstractmethod
    def region(self) -> BaseGeometry:
        """Unreachable part of the (level, metric) plane.

        Returns
        -------
        shapely.Geometry
            A polygon, several, or an empty one.
        """


def require_linear_fractional(metric: Metric, user: str) -> LinearFractional:
    """The metric; a TypeError that says what to use instead where it is not linear-fractional."""
    if not isinstance(metric, Metric):
        raise TypeError(f"{user} needs a csf.metrics.Metric object, got {metric!r}")
    if not isinstance(metric, LinearFractional):
        raise TypeError(
            f"{user} needs a linear-fractional metric (FBeta, Jaccard, ...); {metric.name} has no levels to draw "
            "cones at. Use the support-line bound (bound='support') and the strategies 'cone' or 'support', which "
            "serve every metric"
        )
    return metric
