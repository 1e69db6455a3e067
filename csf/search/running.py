"""From a plan to a fitted winner: the trials, the choice among them, the last training."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._sklearn import open_callback_context
from csf.search.calibration import CalibratedMixin
from csf.search.loop import SearchLoop
from csf.search.outcomes import warn_of_one_side
from csf.search.plan import make_plan, open_checkpoint
from csf.search.results import summary

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.samples.task import Task
    from csf.search.deadline import Deadline
    from csf.search.plan import Plan
    from csf.trainers import Prepared

__all__ = ["RunningMixin"]


class RunningMixin(CalibratedMixin):
    """How `csf.CostSearch` runs its search; its arguments are described there."""

    bound_on: str
    error_score: Any
    n_jobs: int | None
    callbacks: Any
    verbose: int
    min_gain: float | None
    refit: bool
    # methods of the classes that are used together with this one
    _route: Any

    def _search(
        self, metric: Metric, task: Task, prepared: Prepared, deadline: Deadline | None, max_bytes: int
    ) -> None:
        fit_params, split_params = self._route(task.fit_params)
        plan = make_plan(self, metric, replace(task, fit_params=fit_params), split_params, prepared)
        self.studies_ = plan.studies
        context = open_callback_context(self, max_subtasks=None)
        loop = SearchLoop(
            studies=plan.studies,
            trainers=[plan.setup.trainers(base, plan.folds) for base in plan.bases],
            folds=plan.folds,
            tune=self.threshold is not None,
            on_train=self.bound_on == "train",
            raise_errors=self.error_score == "raise",
            n_jobs=self.n_jobs,
            checkpoint=open_checkpoint(self, plan),
            callbacks=list(self.callbacks or ()),
            context=context,
            verbose=self.verbose,
            min_gain=self.min_gain,
            stable=plan.margin if self.threshold == "stable" else None,
            deadline=deadline,
            max_bytes=max_bytes,
        )
        stopped = loop.run()
        chosen = loop.choose()
        told = summary(plan.studies, plan.settings, len(plan.splits), stopped=stopped, winner=chosen.trial)
        self._report(metric, told, chosen.cut)
        if (gain := chosen.gain) is not None:
            self.gain_, self.gain_by_luck_, self.gain_error_ = gain.gain, gain.luck, gain.error
        self._keep_winner(metric, loop.held_out)
        # The last training is the largest: what the folds and their trainers hold is let go before it.
        plan = replace(plan, folds=[])
        del loop
        if self.refit:
            self._refit(plan)
        context.end()

    def _refit(self, plan: Plan) -> None:
        """Train the winner on everything."""
        start = time.perf_counter()
        winner = replace(self.trials_[self.best_index_], threshold=self.best_threshold_, score=self.best_score_)
        trainer = plan.final_trainer(winner.setting)
        training = trainer.fit(winner.costs)
        estimator, labels = trainer.estimator(training), plan.task.user_labels
        known = np.asarray(getattr(estimator, "classes_", np.arange(labels.classes.size)))
        self._adopt(estimator, known, labels.decode(known))
        self.refit_time_ = time.perf_counter() - start
        answer = trainer.predict(training, "train", tune=self.threshold is not None)
        warn_of_one_side(plan.studies[0].metric, winner, answer)
