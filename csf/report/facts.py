"""What a fitted search was asked, what it found, and how sure that is, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from csf._common.typing import Estimator
from csf.metrics import get_constraint, get_metric

if TYPE_CHECKING:
    from csf.plots._searched import FittedAnySearch, FittedSearch

__all__ = [
    "base_name",
    "estimates",
    "gain_of",
    "other_costs",
    "parameter_names",
    "parameters_of",
    "short",
    "spread",
    "strategy_name",
    "target_name",
    "winner_sentence",
]


def short(value: Any, length: int = 80) -> str:
    """A value as text of a bounded length."""
    text = format(value, ".4g") if isinstance(value, float) else str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def spread(interval: tuple[float, float] | None, spec: str = ".3f") -> str:
    """An interval as text, empty where there is none."""
    if interval is None or not np.isfinite(interval).all():
        return ""
    low, high = interval
    return f"{low:{spec}} to {high:{spec}}"


def parameter_names(keys: Iterable[str]) -> dict[str, str]:
    """Parameters of a base without the steps in front, wherever that leaves no two of them alike."""
    own = {key: key.rpartition("__")[2] for key in keys}
    return {key: name if list(own.values()).count(name) == 1 else key for key, name in own.items()}


def parameters_of(search: FittedAnySearch) -> str:
    """Parameters of the winner; empty without a grid."""
    names = parameter_names(search.best_params_)
    return ", ".join(f"{names[key]} = {short(value)}" for key, value in search.best_params_.items())


def base_name(base: Estimator) -> str:
    """Names of a base and its steps."""
    if isinstance(base, Pipeline):
        return ", ".join(base_name(step) for _, step in base.steps if step not in (None, "passthrough"))
    inner = getattr(base, "estimator", None)
    return type(base).__name__ + (f" of {base_name(inner)}" if hasattr(inner, "fit") else "")


def target_name(search: FittedSearch) -> str:
    """What is to be found, as a noun: the positive class; with several, what they are not."""
    if search.pos_label_ is None:
        return f"sample other than {short(search.null_class_, 40)}"
    return f"“{short(search.pos_label_, 40)}”"


def strategy_name(search: FittedAnySearch) -> str:
    """Name of a strategy that was given by name, as a class or as an object."""
    strategy: Any = search.strategy
    return strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)


def estimates(search: FittedAnySearch) -> list[tuple[str, str | None]]:
    """What the search says of its own score: the selected value, and what is left of it without the selection."""
    # Here alone: searches of some configurations, and older ones read from files, know fewer of these.
    corrected = getattr(search, "corrected_score_", None)
    interval = spread(getattr(search, "score_interval_", None))
    name = get_metric(search.metric).name
    return [
        (f"{name} out of fold", f"{search.best_score_:.3f}"),
        (f"{name}, selection taken out", None if corrected is None or np.isnan(corrected) else f"{corrected:.3f}"),
        ("90 % interval of it", interval or None),
        ("90 % interval of the cut", spread(getattr(search, "threshold_interval_", None), ".4g") or None),
    ]


def gain_of(search: FittedSearch) -> str | None:
    """The gain that a gain rule looked at, where there is one."""
    gain, error = getattr(search, "gain_", None), getattr(search, "gain_error_", None)
    if gain is None or np.isnan(gain):
        return None
    return f"{gain:+.3f}" + ("" if error is None or np.isnan(error) else f" ± {error:.3f}")


def other_costs(search: FittedSearch) -> str:
    """What else was tried beside equal costs, in words."""
    tried = {round(np.log(t.c_fn / t.c_fp), 9) for t in search.trials_ if t.state == "complete" and t.c_fn != t.c_fp}
    if not tried:
        return f"no other costs were tried ({search.stop_reason_})"
    return f"{len(tried)} other ratios of costs were tried" if len(tried) > 1 else "1 other ratio of costs was tried"


def winner_sentence(search: FittedSearch) -> str:
    """The winner in one sentence."""
    c_fn, c_fp = search.best_cost_weights_
    name, target = get_metric(search.metric).name, target_name(search)
    if c_fn == c_fp:
        trained = f"trained with the same cost for both errors ({other_costs(search)})"
    else:
        more, who = (c_fn / c_fp, "missing") if c_fn > c_fp else (c_fp / c_fn, "falsely reporting")
        trained = f"trained as if {who} a {target} cost {more:.3g} times as much as the other error"
    if search.threshold is None:
        cut = "with its own decision"
    else:
        cut = f"positive from a score of {search.best_threshold_:.4g} on"
    base = ", ".join(filter(None, [base_name(search.base), parameters_of(search)]))
    miss = "" if search.feasible_ else f" It does not satisfy {get_constraint(search.constraint)}."
    return (
        f"The winner is {base}, {trained}, {cut}: {name} {search.best_score_:.3f} on "
        f"samples that its {'folds' if search.n_splits_ else 'base'} had not learnt from.{miss}"
    )
