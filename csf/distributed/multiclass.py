"""Searches over an engine for several classes: trials are judged from collected class probabilities, as in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from csf.distributed.engine import EngineSearch
from csf.distributed.judged import JudgedTrainer
from csf.search.problems.multiclass import MulticlassEvaluator, MulticlassProblem, MulticlassResult, conclude_classes
from csf.search.study import MulticlassStudy
from csf.search.training import FoldResult

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.data.labels import Labels
    from csf.search.problems.results import SearchRecord


class MulticlassEngineTrainer(JudgedTrainer):
    """Trainer of several classes; the scores of an engine are class probabilities."""

    def _result(self, score: Array, method: str) -> FoldResult:
        return FoldResult(decided=score.argmax(axis=1), score=score, method=method)


@dataclass
class MulticlassEngineSearch(EngineSearch):
    """Search for several classes on the data of an engine; see `EngineSearch` for the other parameters.

    All trainings have equal class weights, and nothing races: each training scores the rows of its fold once.

    Parameters
    ----------
    labels : Labels
        Three or more classes without a null class.
    """

    labels: Labels = field(kw_only=True)
    problem: MulticlassProblem = field(init=False)

    def _planned(self) -> tuple[None, list[str]]:
        """Make studies and trainer."""
        config, totals = self.config, self.totals.weight.sum(axis=0)
        self.problem = MulticlassProblem.of_labels(config, self.labels)
        why = "on a cluster only the settings and the rule of the class probabilities are searched"
        self.studies = [
            MulticlassStudy(
                self.problem.metric, config.strategy, shares=totals / totals.sum(), n_trials=config.n_trials, why=why
            )
            for _ in self.bases
        ]
        judge = MulticlassEvaluator(self.problem.metric, self.labels.classes.size, margins=False, tune=config.tunes)
        self.trainer = MulticlassEngineTrainer(
            judge, self.engine, self.bases, None, self.totals, normalize=config.normalize
        )
        return None, []

    def _concluded(self, searched: SearchRecord) -> MulticlassResult:
        """Choose setting and rule."""
        return conclude_classes(searched, self.labels)
