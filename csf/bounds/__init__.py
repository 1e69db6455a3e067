"""Upper bounds on the value that a search can still reach, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from csf._common.messages import look_up
from csf.bounds.cone import ConeBound, DiagonalBound, ParambathBound, UnreachableCone
from csf.bounds.support_line import Bound, SupportLineBound, known_profiles

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial

__all__ = [
    "BOUNDS",
    "Bound",
    "UnreachableCone",
    "ConeBound",
    "DiagonalBound",
    "ParambathBound",
    "SupportLineBound",
    "get_bound",
    "known_profiles",
    "upper_bound",
]


BOUNDS: dict[str, type[Bound]] = {
    "support": SupportLineBound,
    "diagonal": DiagonalBound,
    "envelope": ConeBound,
    "parambath": ParambathBound,
}


def get_bound(name: str | type[Bound]) -> type[Bound]:
    """Return the class of a bound.

    Parameters
    ----------
    name : str or type
        A name in ``BOUNDS``, or a subclass of `Bound`.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> get_bound("diagonal").__name__
    'DiagonalBound'
    """
    if isinstance(name, type) and issubclass(name, Bound):
        return name
    return look_up(name, BOUNDS, "bound", "or a subclass of csf.bounds.Bound")


def upper_bound(trials: Sequence[Trial], metric: Metric, *, pos: float, bound: str | type[Bound]) -> float:
    """Compute the best value still possible after some trials.

    Parameters
    ----------
    trials : list of Trial
        What was tried; trials without a profile do not count.
    metric : Metric
        What is maximised.
    pos : float
        Share of positives in the data of the trials' profiles, in (0, 1).
    bound : str or type
        As for `get_bound`.

    Returns
    -------
    float
        In units of the metric, at least what the trials attained; the end of its range without a trial.
    """
    possible = float(get_bound(bound)(trials, metric, pos=pos).best_possible())
    # Cones of inexact learners know nothing of a better one at costs of no level: what was observed is possible.
    return max([possible, *(trial.attained for trial in trials if trial.attained is not None and trial.feasible)])
