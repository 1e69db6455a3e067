"""What a strategy proposed, as a level and costs that can be trained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from csf.strategies import Proposal
from csf.trials import same_costs

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.metrics.base import Metric

__all__ = ["checked_proposal"]


def checked_proposal(
    proposal: Proposal | float, metric: Metric, *, pos: float, strategy: str
) -> tuple[float | None, float, float]:
    """Level and costs of a proposal.

    Parameters
    ----------
    proposal : Proposal or float
        What a strategy returned; a number is a level.
    metric : Metric
        What is maximised.
    pos : float
        Share of positives.
    strategy : str
        Name of the strategy, for errors.

    Returns
    -------
    t : float or None
        The level; ``None`` for costs of no level.
    c_fn, c_fp : float
        The costs.

    Raises
    ------
    TypeError, ValueError
        If it is no proposal, outside the range, or its costs cannot be trained with.
    """
    t: float | None
    if isinstance(proposal, Proposal):
        t, (c_fn, c_fp) = _checked_costs(proposal, metric, pos, strategy)
    else:
        # Levels at the ends of the range have a class without cost; the nearest one that can be trained is taken.
        t = metric.clip_level(_checked_level(proposal, metric, pos, strategy), pos=pos)
        c_fn, c_fp = metric.cost_weights(t, pos=pos)
    if not (c_fn > 0 and c_fp > 0):
        raise ValueError(
            f"metric {metric.name!r} gives the costs (c_fn, c_fp) = ({c_fn:g}, {c_fp:g}) at level {t}: a "
            "class without weight leaves nothing to learn. Such a metric is maximised by predicting one class "
            "everywhere; add a constraint, e.g. metric='recall', constraint='precision >= 0.8'"
        )
    return t, float(c_fn), float(c_fp)


def _checked_costs(proposal: Proposal, metric: Metric, pos: float, strategy: str) -> tuple[float | None, Costs]:
    c_fn, c_fp = float(proposal.c_fn), float(proposal.c_fp)
    if not (0 < c_fn < math.inf and 0 < c_fp < math.inf):
        raise ValueError(f"strategy {strategy!r} proposed {proposal}; costs must be positive and finite")
    if proposal.t is None:
        return None, (c_fn, c_fp)
    t = _checked_level(proposal.t, metric, pos, strategy)
    a_fn, a_fp = metric.cost_weights(t, pos=pos)
    if not same_costs((c_fn, c_fp), (a_fn, a_fp)):
        raise ValueError(
            f"strategy {strategy!r} proposed {proposal}, but level {t:g} has costs in the ratio "
            f"{a_fn:g} : {a_fp:g}; give t=None for costs of no level"
        )
    return t, (c_fn, c_fp)


def _checked_level(level: float, metric: Metric, pos: float, strategy: str) -> float:
    lo, hi = metric.range(pos)
    try:
        t = float(level)
    except (TypeError, ValueError):
        raise TypeError(
            f"strategy {strategy!r} proposed {level!r}; accepted: a level in [{lo:g}, {hi:g}], a Proposal, or None to "
            "end"
        ) from None
    if not lo <= t <= hi:
        raise ValueError(f"strategy {strategy!r} proposed t={t!r}, outside the range [{lo:g}, {hi:g}]")
    return t
