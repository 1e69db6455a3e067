"""The search over an engine: the plan, loop and choice of searches in memory, with another place to train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from csf._common.messages import warn
from csf._common.typing import Estimator
from csf.cluster.engine import Engine, FoldTotals
from csf.cluster.training import EngineTrainer
from csf.search.config import SearchConfig
from csf.search.deadline import Deadline
from csf.search.defaults import FAST, SLOW, Pace, margin_of, steps_of
from csf.search.loop import SearchLoop
from csf.search.outcome import SearchOutcome, conclude
from csf.search.plan import open_checkpoint
from csf.search.race import Race, races
from csf.search.studies import make_studies

if TYPE_CHECKING:
    from csf.study import Study
    from csf.trainers.base import Training

__all__ = ["EngineSearch"]


@dataclass
class EngineSearch:
    """A cost search on the data of an engine.

    Parameters
    ----------
    engine : Engine
        Where the data are.
    bases : list of estimator
        Unfitted bases, one for each setting.
    settings : list of dict
        Parameters in which they differ. They race as in memory where held-out scores are collected.
    config : SearchConfig
        What the search is asked for, as `csf.CostSearch` describes it; folds are those of the engine.
    fast : bool, default=False
        Whether trainings cost little: the ladder is longer then, and costs need no margin over equal ones.

    Attributes
    ----------
    totals : FoldTotals
        What the folds weigh.
    studies : list of Study
        One for each setting.
    trainer : EngineTrainer
        Where trials were trained; ``trainer.counted`` says how each threshold was found.
    """

    engine: Engine
    bases: list[Estimator]
    settings: list[dict[str, Any]]
    config: SearchConfig
    fast: bool = False
    totals: FoldTotals = field(init=False)
    studies: list[Study] = field(init=False)
    trainer: EngineTrainer = field(init=False)
    _loop: SearchLoop = field(init=False, repr=False)

    def run(self) -> SearchOutcome:
        """Search.

        Returns
        -------
        SearchOutcome
            What was found; the winner is not trained on everything yet.

        Raises
        ------
        ValueError, TypeError
            If a fold lacks a class, or every trial failed.
        """
        config = self.config
        deadline = None if config.time_limit is None else Deadline(config.time_limit)
        self.totals = self.engine.totals()
        self.totals.check()
        options = {"tune": config.tunes, "normalize": config.normalize}
        self.trainer = EngineTrainer(self.engine, self.bases, config.aim, self.totals, **options)
        race = self._race()
        self._warn_of_counts()
        self._loop = loop = SearchLoop(
            self.studies,
            self.trainer,
            raise_errors=config.error_score == "raise",
            checkpoint=open_checkpoint(config, self.bases, (self.engine.identity, self.totals.weight), self.studies),
            callbacks=list(config.callbacks or ()),
            verbose=config.verbose,
            deadline=deadline,
            race=race,
        )
        stopped, margin = loop.run(), margin_of(config.threshold, self._pace)
        return conclude(
            config,
            self.studies,
            self.settings,
            self.totals.n_folds,
            loop.store,
            margin=margin,
            stopped=stopped,
            counted=self.trainer.counted,
        )

    @property
    def _pace(self) -> Pace:
        return FAST if self.fast else SLOW

    def _race(self) -> Race | None:
        """Make the studies, and what decides which of them go on: where held-out scores are at hand, as in memory."""
        store = self.trainer.store if races(self.config) else None
        steps = steps_of(self.config.param_grid, self.settings, self._pace)
        if store is None:
            # What a race alone goes on to.
            n_settings = sum(not step.beyond for step in steps)
            self.bases, self.settings = self.bases[:n_settings], self.settings[:n_settings]
        self.studies = make_studies(self.config, len(self.settings), pos=self.totals.pos, pace=self._pace)
        return None if store is None or len(steps) == 1 else Race(self.studies, steps, store, self.config.aim)

    def _warn_of_counts(self) -> None:
        """What was asked for and cannot be had of counts."""
        config = self.config
        told = ["threshold='stable' chooses as 'tune' does"] if config.threshold == "stable" else []
        told += [] if config.min_gain is None else [f"min_gain={config.min_gain:g} is not asked"]
        if told and self.trainer.store is None:
            warn(
                f"the folds hold {int(self.totals.rows[:-1].sum())} rows, too many for their scores to be collected: "
                f"{' and '.join(told)}, and there are no corrected scores and no margin of the bound, as nothing is "
                "drawn again. Of so many rows chance decides little; to say that you mean it, give threshold='tune'"
                + (" and no min_gain" if config.min_gain is not None else "")
            )

    def train_on_everything(self, found: SearchOutcome) -> Training:
        """Train the winner of an outcome on all rows."""
        winner = found.winner
        # One fold's solution is as near as another's.
        starts = self._loop.work(winner.setting, winner).starts
        return self.trainer.train_on_everything(winner.setting, winner.costs, starts[0])
