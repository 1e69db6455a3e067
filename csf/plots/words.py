"""Text for numbers, parameters and names of fitted searches in plots, reports and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline

from csf._common.sklearn import named_models
from csf._common.typing import Estimator, IntArray
from csf.search.config import MODEL

if TYPE_CHECKING:
    from csf.search import CostSearch


def digits(value: float | None, spec: str = ".3f") -> str:
    """Format a number; a dash stands for a missing one."""
    if value is None or value != value:
        return "–"
    return format(value, spec).replace(",", "\u202f").replace("inf", "∞")


def short(value: object, length: int = 80) -> str:
    """Format a value as text of limited length."""
    text = format(value, ".4g") if isinstance(value, float) else str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def spread(interval: tuple[float, float] | None, spec: str = ".3f") -> str:
    """Format an interval; empty without one."""
    if interval is None or not np.isfinite(interval).all():
        return ""
    low, high = interval
    return f"{low:{spec}} to {high:{spec}}"


def parameter_names(keys: Iterable[str]) -> dict[str, str]:
    """Shorten the parameters of a base by their step names, except where two would become equal."""
    own = {key: key.rpartition("__")[2] for key in keys}
    return {key: name if list(own.values()).count(name) == 1 else key for key, name in own.items()}


def parameters_of(search: CostSearch) -> str:
    """List the parameters of the winner; empty without a grid."""
    names = parameter_names(search.best_params_)
    return ", ".join(f"{names[key]} = {short(value)}" for key, value in search.best_params_.items())


def base_name(base: Estimator) -> str:
    """Name a base and its steps, or each of several models by its own name."""
    if (models := named_models(base)) is not None:
        return "; ".join(f"{name}: {base_name(each)}" for name, each in models)
    if isinstance(base, Pipeline):
        return ", ".join(base_name(step) for _, step in base.steps if step not in (None, "passthrough"))
    inner = getattr(base, "estimator", None)
    return type(base).__name__ + (f" of {base_name(inner)}" if hasattr(inner, "fit") else "")


def winning_base(search: CostSearch) -> Estimator:
    """Return the base, or the winning one where several models were searched."""
    return dict(named_models(search.base) or ()).get(search.best_params_.get(MODEL), search.base)


def target_name(search: CostSearch) -> str:
    """Name the class to detect: the positive one, or any other than the null class if there are several."""
    if search.pos_label_ is None:
        return f"sample other than {short(search.null_class_, 40)}"
    return f"“{short(search.pos_label_, 40)}”"


def strategy_name(search: CostSearch) -> str:
    """Return the name of a strategy given as a name, a class or an object."""
    strategy = search.strategy
    return strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)


def class_order(search: CostSearch) -> IntArray:
    """Return the order of the classes in tables: the negative (or null) class first, the positive one last.

    Every confusion matrix has this order, with true classes as rows and predicted ones as columns.
    """
    null = getattr(search, "null_class_", None)
    return np.array(sorted(range(search.classes_.size), key=lambda at: search.classes_[at] != null))


def metric_name(search: CostSearch) -> str:
    """Return the name of the metric that a search maximises."""
    return search.result_.read_metric(search.metric).name


def other_costs(search: CostSearch) -> str:
    """Describe the costs that were tried besides equal ones."""
    tried = {round(np.log(t.c_fn / t.c_fp), 9) for t in search.trials_ if t.state == "complete" and t.c_fn != t.c_fp}
    if not tried:
        why = search.stop_reason_
        if named_models(search.base) is not None:
            why = search.studies_[search.trials_[search.best_index_].setting].stop_reason or why
        return f"no other costs were tried ({why})"
    return f"{len(tried)} other ratios of costs were tried" if len(tried) > 1 else "1 other ratio of costs was tried"
