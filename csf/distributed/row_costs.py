"""Searches over an engine for costs of rows: trials are judged from collected log-odds, as in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from csf.distributed.engine import EngineSearch
from csf.distributed.judged import JudgedTrainer
from csf.metrics.row_costs import RowCosts
from csf.search.problems.row_costs import PowerStudy, RowCostEvaluator, RowCostProblem, RowCostResult, conclude
from csf.search.training import FoldResult
from csf.thresholding.exact_tests import check_rates

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.data.labels import Labels
    from csf.search.problems.results import SearchRecord


class RowCostTrainer(JudgedTrainer):
    """Trainer for costs of rows; scores become log-odds."""

    def _result(self, score: Array, method: str) -> FoldResult:
        return FoldResult(score=score, method=method)


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
            constraint.require_all_rows()
            check_rates(constraint)
        self.problem = replace(problem, constraint=constraint)
        self.studies = [PowerStudy(self.costs, powers.get(at, 0.0)) for at in range(first + len(more))]
        self.bases = self.bases + [self.bases[at] for at, _ in more]
        self.settings = self.settings + [self.settings[at] for at, _ in more]
        judge, options = RowCostEvaluator(self.problem, likely=self.likely), {"normalize": self.config.normalize}
        self.trainer = RowCostTrainer(
            judge, self.engine, self.bases, None, self.totals, powers=powers, sampled=False, **options
        )
        return None, []

    def _concluded(self, searched: SearchRecord) -> RowCostResult:
        """Choose training and decision."""
        return conclude(searched)
