"""What a search is asked for: one record and one set of defaults for searches in memory, on Dask and on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from csf._common.sklearn import last_step
from csf._common.typing import Estimator, Label, PathLike, RandomState_
from csf._common.validation import (
    check_choice,
    check_fraction,
    check_grid,
    check_n_jobs,
    check_number,
    check_path,
    check_seed,
)
from csf.data.costs import NORMALIZATIONS, WEIGHTINGS
from csf.data.responses import response_method
from csf.metrics.registry import aim
from csf.search.defaults import AUTO
from csf.search.guarantee import check_rates
from csf.trainers import ENGINES

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.study.study import Bound

__all__ = ["SearchConfig"]

_CHOICES = {
    "threshold": ("stable", "tune", None),
    "refit": (True, False, "folds"),
    "normalize": NORMALIZATIONS,
    "bound_on": ("validation", "train"),
    "engine": ENGINES,
    "weighting": WEIGHTINGS,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchConfig:
    """Arguments of a search, as `csf.CostSearch` describes them.

    The defaults are those of every search: a class that has another one says why in its docstring.
    """

    base: Estimator = None
    metric: str | Metric = "f1"
    strategy: Any = "ladder"
    n_trials: int = 10
    param_grid: dict[str, Any] | list[dict[str, Any]] | Literal["auto"] | None = AUTO
    constraint: Any = None
    confidence: float | None = None
    calibration: float = 0.3
    threshold: Literal["stable", "tune"] | None = "stable"
    cv: Any = None
    refit: bool | Literal["folds"] = True
    n_jobs: int | None = None
    engine: Literal["auto", "generic", "liblinear"] = "auto"
    pos_label: Label = None
    null_class: Label = None
    weighting: Literal["class", "one-vs-rest"] = "class"
    normalize: Literal["none", "mean"] = "mean"
    sample_weight_name: str | None = None
    min_gain: float | None = None
    bound: Bound = "support"
    bound_on: Literal["validation", "train"] = "validation"
    tol: float | None = None
    time_limit: float | None = None
    random_state: RandomState_ = None
    verbose: int = 0
    error_score: str | float = np.nan
    checkpoint: PathLike | None = None
    callbacks: list[Callable[..., Any]] | None = None

    @classmethod
    def of(cls, search: Estimator) -> Self:
        """Arguments of a search, checked; what it does not let choose is as everywhere."""
        known = search.get_params(False)
        given = {each.name: known[each.name] for each in fields(cls) if each.name in known}
        config = cls(**given)
        config.check()
        return config

    @property
    def aim(self) -> Metric:
        """What is maximised: the metric, under the constraint."""
        return aim(self.metric, self.constraint)

    @property
    def tunes(self) -> bool:
        """Whether a threshold decides, or the base itself."""
        return self.threshold is not None

    @property
    def averages_folds(self) -> bool:
        """Whether the mean of the models of all folds predicts."""
        return self.refit == "folds"

    @property
    def splits_are_given(self) -> bool:
        """Whether ``cv`` is a list of splits."""
        return isinstance(self.cv, Iterable) and not isinstance(self.cv, str) and not hasattr(self.cv, "split")

    def check(self) -> None:
        """Raise an error for what no other part checks, before any training."""
        base, error_score = self.base, self.error_score
        if isinstance(base, type) or not hasattr(base, "fit"):
            raise TypeError(f"base must be a classifier object with fit, e.g. LinearSVC(), got {base!r}")
        if isinstance(last_step(base)[1], RegressorMixin):
            raise TypeError(f"base must be a classifier, got {base!r}, a regressor; e.g. RidgeClassifier for Ridge")
        self.check_options()
        check_n_jobs(self.n_jobs)
        if error_score != "raise" and not (isinstance(error_score, float) and np.isnan(error_score)):
            raise ValueError(f"error_score must be 'raise' or nan, got {error_score!r}")
        self._check_confidence()
        self._check_grid()
        check_seed(self.random_state)
        if not isinstance(self.callbacks, (list, tuple, NoneType)) or not all(map(callable, self.callbacks or ())):
            raise TypeError(f"callbacks must be a list of functions f(study, trial) or None, got {self.callbacks!r}")
        if self.tunes and response_method(base) is None:
            raise ValueError(
                f"threshold={self.threshold!r} needs decision_function or predict_proba, and {type(base).__name__} has "
                "neither; use threshold=None"
            )

        if self.averages_folds and not (self.tunes and hasattr(base, "predict_proba")):
            raise ValueError(
                f"refit='folds' is a threshold on the mean of probabilities; got threshold={self.threshold!r} and "
                f"{type(base).__name__}, which needs predict_proba. Use refit=True, or calibrate the base"
            )

    def refuse_mean_of_folds(self, why: str) -> None:
        """Raise a ValueError if the mean of the models of all folds is asked for where there is none."""
        if self.averages_folds:
            raise ValueError(f"refit='folds' is for searches of two classes in memory, and {why}; use refit=True")

    def check_options(self, names: Mapping[str, str] | None = None) -> None:
        """The checks that do not depend on where the data are; ``names`` are those that a search has for options."""
        called, gain = {each.name: each.name for each in fields(self)} | dict(names or {}), self.min_gain
        if isinstance(self.threshold, Real):
            way = "for a number take sklearn.model_selection.FixedThresholdClassifier"
            raise ValueError(f"threshold must be one of {_CHOICES['threshold']}, got {self.threshold!r}; {way}")
        for name, accepted in _CHOICES.items():
            check_choice(getattr(self, name), called[name], accepted)
        if gain is not None and not (isinstance(gain, Real) and 0.0 <= float(gain) < np.inf):
            raise ValueError(f"{called['min_gain']} must be a number of standard errors >= 0, or None, got {gain!r}")
        check_path(self.checkpoint, called["checkpoint"])
        if self.time_limit is not None:
            check_number(self.time_limit, called["time_limit"], positive=True)

    def _check_grid(self) -> None:
        if isinstance(self.param_grid, str):
            check_choice(self.param_grid, "param_grid", (AUTO,))
        elif self.param_grid is not None:
            check_grid(self.param_grid)

    def _check_confidence(self) -> None:
        if self.confidence is None:
            return
        check_fraction(self.confidence, "confidence")
        check_fraction(self.calibration, "calibration")
        missing = {
            "a constraint, such as 'precision >= 0.8'": self.constraint is None,
            "a threshold, 'stable' or 'tune'": not self.tunes,
            "refit=True": not self.refit,
        }
        for what, absent in missing.items():
            if absent:
                raise ValueError(f"confidence={self.confidence!r} needs {what}; give it, or leave out confidence")
        check_rates(self.aim.constraint)
        if self.splits_are_given:
            raise ValueError(
                "with confidence, a part of the samples is held out before they are split, so that cv cannot be splits "
                "of all of them; give a number of folds, a share, a splitter or 'prefit'"
            )
