"""What a fitted search was asked, what it found, and how sure that is, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from csf._common.typing import Estimator
from csf.metrics import get_constraint, get_metric

if TYPE_CHECKING:
    from csf.plots._searched import FittedSearch

__all__ = [
    "asked",
    "base_name",
    "estimates",
    "parameter_names",
    "short",
    "spread",
    "target_name",
    "winner_facts",
    "winner_sentence",
]


def short(value: Any, length: int = 80) -> str:
    """A value as text of a bounded length.

    Parameters
    ----------
    value : object
        Anything.
    length : int, default=80
        Largest number of characters.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> short("a" * 10, 5), short(0.1 + 0.2)
    ('aaaa…', '0.3')
    """
    text = format(value, ".4g") if isinstance(value, float) else str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def spread(interval: tuple[float, float] | None, spec: str = ".3f") -> str:
    """An interval as text, empty where there is none.

    Parameters
    ----------
    interval : tuple of float or None
        Its ends.
    spec : str, default=".3f"
        How they are written.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> spread((0.1, 0.25))
    '0.100 to 0.250'
    """
    if interval is None or not np.isfinite(interval).all():
        return ""
    low, high = interval
    return f"{low:{spec}} to {high:{spec}}"


def parameter_names(keys: Iterable[str]) -> dict[str, str]:
    """Parameters of a base as readers call them.

    Parameters
    ----------
    keys : iterable of str
        Names in ``param_grid``, with the steps of pipelines in front.

    Returns
    -------
    dict of str to str
        The names without their steps, wherever that leaves no two of them alike.

    Examples
    --------
    >>> parameter_names(["classifier__C", "scale__copy", "scale__clip__copy"])
    {'classifier__C': 'C', 'scale__copy': 'scale__copy', 'scale__clip__copy': 'scale__clip__copy'}
    """
    own = {key: key.rpartition("__")[2] for key in keys}
    return {key: name if list(own.values()).count(name) == 1 else key for key, name in own.items()}


def base_name(base: Estimator) -> str:
    """Names of a base and its steps.

    Parameters
    ----------
    base : estimator
        The base.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> base_name(make_pipeline(StandardScaler(), LinearSVC()))
    'StandardScaler, LinearSVC'
    """
    if isinstance(base, Pipeline):
        return ", ".join(base_name(step) for _, step in base.steps if step not in (None, "passthrough"))
    inner = getattr(base, "estimator", None)
    return type(base).__name__ + (f" of {base_name(inner)}" if hasattr(inner, "fit") else "")


def target_name(search: FittedSearch) -> str:
    """What is to be found, as a noun.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    str
        The positive class; with several, what they are not.
    """
    if search.pos_label_ is None:
        return f"sample other than {short(search.null_class_, 40)}"
    return f"“{short(search.pos_label_, 40)}”"


def asked(search: FittedSearch) -> list[tuple[str, str | None]]:
    """What the search was asked to do.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    list of tuple of str
        Names and values.
    """
    constraint = get_constraint(search.constraint)
    strategy: Any = search.strategy
    named = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    settings = len(search.studies_)
    return [
        ("Maximise", get_metric(search.metric).name),
        ("Under the constraint", None if constraint is None else str(constraint)),
        ("To find", target_name(search)),
        ("Base classifier", base_name(search.base)),
        ("Strategy", f"{named}, up to {search.n_trials} levels"),
        ("Settings of the base", str(settings) if settings > 1 else None),
        (
            "Judged on",
            f"{search.n_splits_} folds, pooled" if search.n_splits_ else "the data given, by the fitted base",
        ),
        ("Trainings", f"{search.n_trials_ * search.n_splits_}" if search.n_splits_ else None),
        ("It ended because", search.stop_reason_ or None),
    ]


def estimates(search: FittedSearch) -> list[tuple[str, str | None]]:
    """What the search says of its own score: the selected value, and what is left of it without the selection.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    list of tuple of str
        Names and values; ``None`` for what this search does not know.
    """
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


def winner_facts(search: FittedSearch) -> list[tuple[str, str | None]]:
    """What won.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    list of tuple of str
        Names and values.
    """
    c_fn, c_fp = search.best_cost_weights_
    constraint = get_constraint(search.constraint)
    held = None
    if constraint is not None and search.constraint_value_ is not None:
        verdict = "holds" if search.feasible_ else "does not hold"
        held = f"{search.constraint_value_:.3f}: {constraint} {verdict}"
    threshold = search.best_threshold_
    names = parameter_names(search.best_params_)
    parameters = ", ".join(f"{names[key]} = {short(value)}" for key, value in search.best_params_.items())
    return [
        *estimates(search),
        ("Level t", None if search.best_t_ is None else f"{search.best_t_:.4g}"),
        ("Cost of a miss, c_fn", f"{c_fn:.4g}"),
        ("Cost of a false alarm, c_fp", f"{c_fp:.4g}"),
        ("Cut of the score", None if threshold is None else f"{threshold:.4g}"),
        ("Parameters of the base", parameters or None),
        ("Constraint out of fold", held),
        ("Gain over equal costs", _gain(search)),
    ]


def _gain(search):
    """The gain that a gain rule looked at, where there is one."""
    gain, error = getattr(search, "gain_", None), getattr(search, "gain_error_", None)
    if gain is None or np.isnan(gain):
        return None
    return f"{gain:+.3f}" + ("" if error is None or np.isnan(error) else f" ± {error:.3f}")


def winner_sentence(search: FittedSearch) -> str:
    """The winner in one sentence.

    Parameters
    ----------
    search : CostSearch
        Fitted.

    Returns
    -------
    str
        The sentence.
    """
    c_fn, c_fp = search.best_cost_weights_
    name, target = get_metric(search.metric).name, target_name(search)
    if c_fn == c_fp:
        trained = "trained with the same cost for both errors"
    else:
        more, who = (c_fn / c_fp, "missing") if c_fn > c_fp else (c_fp / c_fn, "falsely reporting")
        trained = f"trained as if {who} a {target} cost {more:.3g} times as much as the other error"
    if search.threshold is None:
        cut = "with its own decision"
    else:
        cut = f"positive from a score of {search.best_threshold_:.4g} on"
    names = parameter_names(search.best_params_)
    parameters = "".join(f", {names[key]} = {short(value)}" for key, value in search.best_params_.items())
    miss = "" if search.feasible_ else f" It does not satisfy {get_constraint(search.constraint)}."
    return (
        f"The winner is {base_name(search.base)}{parameters}, {trained}, {cut}: {name} {search.best_score_:.3f} on "
        f"samples that its {'folds' if search.n_splits_ else 'base'} had not learnt from.{miss}"
    )
