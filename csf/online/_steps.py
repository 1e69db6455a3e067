"""The choice of steps: without tuning, or as published."""

from __future__ import annotations

import functools
import inspect

from csf._common.typing import Estimator
from csf._validation import check_choice, check_count

__all__ = ["check_step"]

STEPS = ("adaptive", "paper")


def check_step(learner: Estimator, *, of_paper: tuple[str, ...]) -> None:
    """Check the parameters ``step`` and ``window`` of a learner.

    Parameters
    ----------
    learner : estimator
        With both.
    of_paper : tuple of str
        Parameters that the published steps alone have: they must keep their defaults with others.
    """
    check_choice(learner.step, "step", STEPS)
    if learner.step == "paper":
        if learner.window is not None:
            raise ValueError(f"window={learner.window!r} is for step='adaptive'; step='paper' looks back upon all")
        return
    if learner.window is not None:
        check_count(learner.window, "window", minimum=2)
    for name, default in _defaults(type(learner), of_paper):
        value = getattr(learner, name)
        if value is not default and value != default:
            raise ValueError(
                f"{name}={value!r} is for step='paper', and step='adaptive' has no {name}; give step='paper', or "
                f"leave {name}={default!r}"
            )


@functools.cache
def _defaults(kind, names):
    """Names and default values of parameters of a class."""
    parameters = inspect.signature(kind).parameters
    return [(name, parameters[name].default) for name in names]
