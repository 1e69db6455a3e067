"""What displays and reports read of fitted searches: they import none, so that a search can write its own report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Costs, Label

if TYPE_CHECKING:
    from csf.metrics import Metric
    from csf.resampling import ScoreStore
    from csf.thresholding import LinearRule
    from csf.trials import Trial

__all__ = [
    "FittedAnySearch",
    "FittedClassSearch",
    "FittedMacroSearch",
    "FittedSearch",
    "NOT_OF_CLASSES",
    "Told",
    "is_class_search",
    "is_macro_search",
    "is_search",
    "study_of",
]


NOT_OF_CLASSES = (
    "this is drawn of two classes, whose costs and thresholds are in one line; of several, draw "
    "sklearn.metrics.ConfusionMatrixDisplay(search.confusion_, display_labels=search.classes_).plot(), or write "
    "search.report('report.html')"
)


class Told(Protocol):
    """A study: trials of one metric on one data set."""

    metric: Metric
    strategy: Any
    pos: float
    bound: Any

    @property
    def trials(self) -> Sequence[Trial]:
        """In the order of their numbers."""
        ...


class FittedAnySearch(Protocol):
    """What all searches tell."""

    base: Any
    metric: Any
    constraint: Any
    strategy: Any
    best_index_: int
    best_score_: float
    best_params_: dict[str, Any]
    classes_: Array
    class_count_: Array
    cv_results_: dict[str, Any]
    n_features_in_: int
    n_splits_: int
    n_trials_: int
    stop_reason_: str
    studies_: Any
    trials_: list[Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As of any estimator."""
        ...

    def predict(self, X: Any) -> Array:
        """Labels."""
        ...


class FittedSearch(FittedAnySearch, Protocol):
    """A search for the costs of one class, with what ``fit`` found."""

    threshold: Any
    bound: Any
    bound_on: str
    n_trials: int
    best_t_: float | None
    best_cost_weights_: Costs
    best_threshold_: float | None
    constraint_value_: float | None
    feasible_: bool
    gap_: float
    held_out_: ScoreStore
    null_class_: Label
    pos_label_: Label
    upper_bound_: float


class FittedClassSearch(FittedAnySearch, Protocol):
    """A search of several classes that are all alike."""

    class_costs_: Array
    confusion_: Array
    corrected_score_: float
    rule_: LinearRule
    score_interval_: tuple[float, float]


class FittedMacroSearch(Protocol):
    """One search for each class."""

    search: Any
    best_score_: float
    best_scores_: Array
    classes_: Array
    searches_: Any

    def predict(self, X: Any) -> Array:
        """Labels."""
        ...


def is_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch`, fitted or not."""
    return hasattr(type(part), "held_out_curve")


def is_class_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch` that was fitted to several classes that are all alike."""
    return hasattr(part, "class_costs_")


def is_macro_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `MacroCostSearch`, fitted or not."""
    return hasattr(type(part), "threshold_intervals_")


def study_of(search: FittedSearch, setting: int | None = None) -> Told:
    """Study of a fitted search: that of the winner, or of one setting of its ``param_grid``."""
    if hasattr(search, "tell"):
        raise TypeError("a Study is drawn by from_study, not by from_estimator")
    if is_macro_search(search):
        raise TypeError("a MacroCostSearch holds one search for each class; draw macro.searches_[k] for one class k")
    if not is_search(search):
        raise TypeError(f"from_estimator needs a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    if is_class_search(search):
        raise ValueError(NOT_OF_CLASSES)
    if hasattr(search, "searches_"):
        raise TypeError("each label has a search of its own; draw searches_[k] for one label k")
    if setting is None:
        setting = search.trials_[search.best_index_].setting
    if setting is None or not 0 <= setting < len(search.studies_):
        raise ValueError(f"setting must be in 0..{len(search.studies_) - 1} or None for the winner's, got {setting!r}")
    return search.studies_[setting]
