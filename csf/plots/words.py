"""Text for numbers, parameters and names of fitted searches in plots, reports and the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline

from csf._common.sklearn import last_step, named_models
from csf._common.typing import Estimator, IntArray, Label
from csf.search.config import MODEL

if TYPE_CHECKING:
    from csf.metrics.profile import ErrorProfile
    from csf.search import CostSearch
    from csf.thresholding.exchange import ExchangeRate


def digits(value: float | None, spec: str = ".3f") -> str:
    """Format a number; a dash stands for a missing one."""
    if value is None or value != value:
        return "–"
    return format(value, spec).replace(",", "\u202f").replace("inf", "∞")


def short(value: object, length: int = 80) -> str:
    """Format a value as text of limited length."""
    text = format(value, ".4g") if isinstance(value, float) else str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def wrapped(text: str) -> str:
    """Break a text into lines of 100 characters, but no word."""
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


def spread(interval: tuple[float, float] | None, spec: str = ".3f") -> str:
    """Format an interval; empty without one."""
    if interval is None or not np.isfinite(interval).all():
        return ""
    low, high = interval
    return f"{low:{spec}} to {high:{spec}}"


def parameter_names(keys: Iterable[str]) -> dict[str, str]:
    """Shorten the parameters of a base by their step names, except where two would become equal."""
    short_keys = {key: key.rpartition("__")[2] for key in keys}
    return {key: name if list(short_keys.values()).count(name) == 1 else key for key, name in short_keys.items()}


def base_name(base: Estimator) -> str:
    """Name a base and its steps, or each of several models by its own name."""
    if (models := named_models(base)) is not None:
        return "; ".join(f"{name}: {base_name(model)}" for name, model in models)
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
    return np.array(sorted(range(search.classes_.size), key=lambda code: search.classes_[code] != null))


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


def worth_in_words(rates: Mapping[Label, ExchangeRate]) -> str:
    """Say what one miss is treated as worth, or one false alarm where that is more; by segment where there are some."""
    if not rates:
        return ""
    turned = all(rate.value < 1.0 for rate in rates.values())
    what, unit = ("false alarm", " misses") if turned else ("miss", " false alarms")
    parts = []
    for segment, rate in rates.items():
        text = (rate.inverse if turned else rate).in_words("" if parts else unit)
        parts.append(text if segment is None else f"{text} for {short(segment, 40)}")
    return f"One {what} is treated as worth {', '.join(parts)}."


def rule_of_rates(errors: ErrorProfile) -> str:
    """Say which demand would give the same rule as the costs that are given."""
    alerts = errors.pos - errors.fn + errors.fp
    precision = f", at precision {(errors.pos - errors.fn) / alerts:.2g}" if alerts > 0.0 else ""
    return f"Out-of-fold, these costs make the rule of recall >= {errors.tpr:.2g}{precision}."


def model_in_words(search: CostSearch) -> str:
    """Name the winning model with its parameters."""
    parameters = {key: value for key, value in search.best_params_.items() if key != MODEL}
    names = parameter_names(parameters)
    listed = ", ".join(f"{names[key]} = {short(value)}" for key, value in parameters.items())
    return type(last_step(winning_base(search))[1]).__name__ + (f" with {listed}" if listed else "")


def threshold_in_words(search: Estimator) -> str:
    """Format the threshold, with its probability where the score is not one, or those by row."""
    if hasattr(search, "thresholds_"):
        return ", ".join(f"{_least(cut)} for {short(name, 40)}" for name, cut in search.thresholds_.items())
    threshold, proba = search.best_threshold_, getattr(search, "best_threshold_proba_", None)
    same = proba is None or abs(proba - threshold) < 1e-6
    return _least(threshold) if same else f"{_least(threshold)} (predict_proba: {proba:.3g})"


def _least(threshold: float) -> str:
    """Format a threshold with four digits, or as many as keep the rows whose score equals it."""
    return next(text for digits in range(4, 18) if float(text := f"{threshold:.{digits}g}") <= threshold)
