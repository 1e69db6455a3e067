"""What a search accepts, checked before anything is trained."""

from __future__ import annotations

from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from csf._common.names import did_you_mean
from csf._common.typing import Estimator
from csf._sklearn import clone
from csf._validation import check_choice, check_n_jobs, check_number, check_path, check_seed
from csf.costs.one_vs_rest import WEIGHTINGS
from csf.costs.weights import NORMALIZATIONS
from csf.scores.responses import response_method
from csf.search.calibration import check_confidence
from csf.search.defaults import AUTO
from csf.trainers import ENGINES

__all__ = ["check_arguments", "with_setting"]

CHOICES = {
    "threshold": ("stable", "tune", None),
    "normalize": NORMALIZATIONS,
    "bound_on": ("validation", "train"),
    "engine": ENGINES,
    "weighting": WEIGHTINGS,
}


def check_arguments(search: Estimator) -> None:
    """Check the arguments of a search that no other part checks.

    Parameters
    ----------
    search : CostSearch
        The search.

    Raises
    ------
    TypeError, ValueError
        If one cannot be used.
    """
    base, gain, error_score = search.base, search.min_gain, search.error_score
    if isinstance(base, type) or not hasattr(base, "fit"):
        raise TypeError(f"base must be a classifier object with fit, e.g. LinearSVC(), got {base!r}")
    for name, accepted in CHOICES.items():
        check_choice(getattr(search, name), name, accepted)
    check_n_jobs(search.n_jobs)
    if error_score != "raise" and not (isinstance(error_score, float) and np.isnan(error_score)):
        raise ValueError(f"error_score must be 'raise' or nan, got {error_score!r}")
    if gain is not None and not (isinstance(gain, Real) and 0.0 <= float(gain) < np.inf):
        raise ValueError(f"min_gain must be a number of standard errors >= 0, or None, got {gain!r}")
    check_confidence(search)
    if isinstance(search.param_grid, str):
        check_choice(search.param_grid, "param_grid", (AUTO,))
    elif search.param_grid is not None:
        try:
            empty = not len(ParameterGrid(search.param_grid))
        except (TypeError, ValueError) as error:
            raise type(error)(f"param_grid={search.param_grid!r} cannot be used: {error}") from None
        if empty:
            raise ValueError(f"param_grid={search.param_grid!r} cannot be used: it holds no setting; give None")
    check_seed(search.random_state)
    if not isinstance(search.callbacks, (list, tuple, NoneType)) or not all(map(callable, search.callbacks or ())):
        raise TypeError(f"callbacks must be a list of functions f(study, trial) or None, got {search.callbacks!r}")
    check_path(search.checkpoint, "checkpoint")
    if search.time_limit is not None:
        check_number(search.time_limit, "time_limit", positive=True)
    if search.threshold is not None and response_method(base) is None:
        raise ValueError(
            f"threshold={search.threshold!r} needs decision_function or predict_proba, and {type(base).__name__} has "
            "neither; use threshold=None"
        )


def with_setting(base: Estimator, setting: dict[str, Any]) -> Estimator:
    """Unfitted base with one setting of ``param_grid``.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    setting : dict
        Values of its parameters.

    Returns
    -------
    estimator
        A clone.

    Raises
    ------
    ValueError
        If it has no such parameter, with the name that was probably meant, or refuses a value.
    """
    own = clone(base)
    try:
        return own.set_params(**clone(setting, safe=False))
    except ValueError as error:
        known = own.get_params(deep=True)
        name = next((name for name in setting if name not in known), None)
        if name is None:
            raise
        inner = next((other for other in known if other.endswith(f"__{name.rpartition('__')[2]}")), None)
        hint = did_you_mean(name, known) if inner is None else f". Did you mean {inner!r}?"
        raise ValueError(
            f"param_grid: Invalid parameter {name!r} for {type(base).__name__}; it has {', '.join(known)}{hint}"
        ) from error
