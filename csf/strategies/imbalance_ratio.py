"""The imbalance ratio: one training with balanced classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf.strategies.base import Proposal, Strategy, balanced_level

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.trials import Trial


__all__ = ["ImbalanceRatio"]


@dataclass(frozen=True)
class ImbalanceRatio(Strategy):
    """One trial in which each class costs the share of the other one: ``c_fn = 1 - pos``, ``c_fp = pos``.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> ImbalanceRatio().propose([], metric=FBeta(), pos=0.1)
    Proposal(t=0.2, c_fn=0.9, c_fp=0.1)
    """

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """The balanced costs, once, see `Strategy.propose`."""
        if trials:
            return None
        return Proposal(balanced_level(metric, pos=pos), 1.0 - pos, pos)

    def most_trials(self, n_trials: int) -> int:
        """A single one, see `Strategy.most_trials`."""
        return 1

    @property
    def name(self) -> str:
        """``"imbalance_ratio"``."""
        return "imbalance_ratio"
