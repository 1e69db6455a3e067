"""Searches over an engine for costs of rows: trials are judged from collected log-odds, as in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.data.folds import Task, make_folds, pool_held_out
from csf.distributed.engine import EngineSearch, EngineTrainer
from csf.evaluate import MAX_BYTES
from csf.metrics.row_costs import RowCosts
from csf.search.problems.row_costs import RowCostEvaluator, RowCostProblem, RowCostResult, RowCostStudy, conclude
from csf.search.training import FoldResult, HeldOutPredictions
from csf.thresholding.certificates import check_rates
from csf.thresholding.row_costs import RowCostStore

if TYPE_CHECKING:
    from csf.data.labels import Labels
    from csf.distributed.counts import PartScores
    from csf.metrics.trials import Trial
    from csf.search.problems.base import SearchResult


class RowCostTrainer(EngineTrainer):
    """Trainer whose trials are judged as in memory, by the log-odds of all rows in folds or of a sample of them."""

    def __init__(self, judge: RowCostEvaluator, *given: Any, **options: Any) -> None:
        self.judge = judge
        super().__init__(*given, **options)

    def _store(self, entries: PartScores) -> RowCostStore:
        assert entries.fold is not None, "rows of a search are in folds"
        self._at = [np.flatnonzero(entries.fold == fold) for fold in range(self.n_folds)]
        task = Task(None, entries.is_pos.astype(np.int64), entries.weight)
        self._folds = make_folds(task, [(at[:0], at) for at in self._at])
        truth, weight, samples = pool_held_out(self._folds)
        return self.judge.store(truth, weight, samples=samples, max_bytes=MAX_BYTES)

    def _fields(self, models: list[object], trial: Trial) -> tuple[Any, HeldOutPredictions | None]:
        scored = self.engine.scores(models)
        score = scored.collected()
        if np.isnan(score).any():
            raise ValueError("the base gave NaN scores")
        results = [FoldResult(score=score[at], method=scored.method) for at in self._at]
        return self.judge.judge(self._folds, results, trial)


@dataclass
class RowCostEngineSearch(EngineSearch):
    """Search for costs of rows on the data of an engine; see `EngineSearch` for the other parameters.

    Parameters
    ----------
    costs : RowCosts
        Costs of the rows, which the engine reads.
    labels : Labels
        The two classes.
    likely : bool
        Whether the scores of all bases are log-odds or probabilities.
    """

    costs: RowCosts = field(default_factory=RowCosts)
    labels: Labels = field(kw_only=True)
    likely: bool = False
    problem: RowCostProblem = field(init=False)

    def _planned(self) -> tuple[None, list[str]]:
        """Make studies and trainer, with trainings of weighed rows; nothing races."""
        n_rows, first = int(self.totals.rows.sum()), len(self.bases)
        more = RowCostProblem.weighings(self.config, self._models, n_rows)
        powers = {at: power for at, (_, power) in enumerate(more, first)}
        self.costs.check_sums(self.engine.cost_sums([0.0, *powers.values()]))
        problem = RowCostProblem(self.labels, self.costs, self.engine.entry_costs())
        constraint = problem.read_constraint(self.config.constraint)
        if constraint is not None:
            check_rates(constraint)
        self.problem = replace(problem, constraint=constraint)
        self.studies = [RowCostStudy(self.costs, powers.get(at, 0.0)) for at in range(first + len(more))]
        self.bases = self.bases + [self.bases[at] for at, _ in more]
        self.settings = self.settings + [self.settings[at] for at, _ in more]
        judge, options = RowCostEvaluator(self.problem, likely=self.likely), {"normalize": self.config.normalize}
        self.trainer = RowCostTrainer(
            judge, self.engine, self.bases, None, self.totals, powers=powers, sampled=False, **options
        )
        return None, []

    def _concluded(self, searched: SearchResult) -> RowCostResult:
        """Choose training and decision."""
        return conclude(searched)
