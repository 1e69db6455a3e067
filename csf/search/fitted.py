"""What a fitted search knows, set by name in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from csf._common.typing import Array, Costs, Estimator, Label
from csf._common.warn import warn

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.search.results import Summary
    from csf.search.stable_choice import StableChoice
    from csf.study.study import Study
    from csf.trials import Trial

__all__ = ["SearchResults"]


class SearchResults:
    """Fitted attributes of `csf.CostSearch`, where they are described."""

    best_t_: float | None
    best_cost_weights_: Costs
    best_threshold_: float | None
    best_score_: float
    best_params_: dict[str, Any]
    best_index_: int
    best_estimator_: Estimator
    upper_bound_: float
    gap_: float
    stop_reason_: str
    feasible_: bool
    constraint_value_: float | None
    gain_: float
    gain_by_luck_: float
    gain_error_: float
    trials_: list[Trial]
    studies_: list[Study]
    cv_results_: dict[str, Array]
    n_trials_: int
    n_splits_: int
    refit_time_: float
    classes_: Array
    class_count_: Array
    pos_label_: Label
    null_class_: Label
    n_features_in_: int
    feature_names_in_: Array

    def _forget(self) -> None:
        """Drop what the fit to come may not set: it must not be left from an earlier one."""
        gains = "gain_", "gain_by_luck_", "gain_error_", "guarantee_"
        for name in ("best_estimator_", "refit_time_", "n_features_in_", "feature_names_in_", *gains):
            vars(self).pop(name, None)

    def _report(self, metric: Metric, told: Summary, cut: StableChoice | None = None) -> None:
        """Set the results that come from the trials; the winner is cut elsewhere where that is more stable."""
        winner = told.winner
        assert winner.score is not None, "a winner is complete"
        assert told.gap is not None, "a winner attained something"
        self.trials_, self.n_trials_, self.n_splits_ = told.trials, len(told.trials), told.n_splits
        self.best_index_ = told.index
        self.best_t_ = winner.t
        self.best_cost_weights_ = winner.costs
        self.best_threshold_ = winner.threshold if cut is None else cut.threshold
        self.best_score_ = winner.score if cut is None else metric.of(cut.profile)
        self.best_params_ = told.params
        self.feasible_ = winner.feasible
        self.constraint_value_ = winner.rate
        self.upper_bound_, self.gap_ = told.upper_bound, told.gap
        self.stop_reason_ = told.stop_reason
        self.cv_results_ = told.table
        if not self.feasible_:
            warn(
                f"no trial satisfies {metric.constraint} on held-out data; the closest one has "
                f"{self.constraint_value_:.4g}. Loosen the constraint, or add trials or features",
            )
