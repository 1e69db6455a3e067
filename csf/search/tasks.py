"""One training on one fold, as it travels to where it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from csf.search.outcomes import FoldResult, run_fold

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.samples.folds import Fold
    from csf.trainers.base import Trainer

__all__ = ["FoldTask", "Part"]


@dataclass(frozen=True, eq=False)
class Part:
    """What the trainings of one setting on one fold have in common.

    Parameters
    ----------
    trainer : Trainer
        Trains on the fold; it has the samples that it needs.
    fold : Fold
        Targets and weights that its predictions are judged by; it needs no samples.
    """

    trainer: Trainer
    fold: Fold


@dataclass(frozen=True, eq=False)
class FoldTask:
    """One training.

    Parameters
    ----------
    setting, fold : int
        Where the `Part` is found that it belongs to.
    costs : tuple of float
        ``(c_fn, c_fp)``.
    starts : sequence, default=()
        States of earlier trainings, the nearest first.
    tune : bool, default=True
        Whether scores are needed, or the base's own predictions.
    on_train : bool, default=False
        Whether bounds read the training part.
    """

    setting: int
    fold: int
    costs: Costs
    starts: Sequence[Any] = ()
    tune: bool = True
    on_train: bool = False

    def run(self, part: Part) -> FoldResult:
        """Train on the part, here and now; see `csf.search.outcomes.run_fold`."""
        return run_fold(part.trainer, part.fold, self.costs, self.starts, tune=self.tune, on_train=self.on_train)
