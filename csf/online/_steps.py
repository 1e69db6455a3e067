"""Rules of steps: a learner takes the one that its parameter ``step`` names, and asks no more which one it has."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, FloatArray, Samples
from csf._common.validation import check_choice, check_count, check_positive
from csf.online.base import LinearOnlineClassifier

__all__ = ["StepRule", "SteppingLearner", "check_step"]


class StepRule(ABC):
    """How a linear learner steps, and what it has learnt so.

    Parameters of the learner are read where they are needed, so that changes of them count from the next chunk on.
    """

    # Whether rows come at length at most 1, or as they are.
    scales_rows = True
    # Score from which on the positive class is predicted; the least score of such a prediction.
    threshold, cut = 0.0, float(np.nextafter(0.0, np.inf))

    @abstractmethod
    def __init__(self, learner: Any, n_features: int) -> None:
        """Fresh state."""

    @staticmethod
    def check(learner: Any) -> None:
        """Raise for a bad parameter of the learner that this rule alone has, if there is any."""
        return

    def meet(self, learner: Any, X: Samples, y: FloatArray) -> None:
        """Look at a whole chunk before it is learnt in pieces; most rules need not."""
        return

    @abstractmethod
    def learn(self, learner: Any, X: Samples, y: FloatArray) -> Any:
        """Learn rows in order."""

    @abstractmethod
    def weights(self) -> tuple[Array, Array]:
        """Weights to predict with, and those of the last step."""

    def n_updates(self, n_seen: int) -> int:
        """Steps made: one for each example, unless overridden."""
        return n_seen


class SteppingLearner(LinearOnlineClassifier):
    """Base of learners with the parameters ``step``, ``prior`` and ``window``.

    They have ``_rules``, by the values of ``step``, and the names of parameters of the published rule alone.
    """

    step: Literal["adaptive", "paper"]
    prior: float
    window: int | None

    _rules: ClassVar[Mapping[str, type[StepRule]]]
    _of_paper: ClassVar[tuple[str, ...]]
    _rule: Any  # of the class that `_rules` says

    @property
    def n_updates_(self) -> int:
        """Steps made."""
        check_is_fitted(self)
        return self._rule.n_updates(self.n_seen_)

    @property
    def _scales_rows(self) -> bool:
        return self._rule.scales_rows

    def _check_parameters(self) -> None:
        check_step(self, of_paper=self._of_paper)
        check_positive(self.prior, "prior")
        self._rules[self.step].check(self)

    def _start(self, n_features: int) -> None:
        self._rule = self._rules[self.step](self, n_features)

    def _learn(self, X: Samples, y: FloatArray) -> list[Any]:
        self._rule.meet(self, X, y)
        return super()._learn(X, y)

    def _step(self, X: Samples, y: FloatArray) -> Any:
        return self._rule.learn(self, X, y)

    def _weights(self) -> tuple[Array, Array]:
        return self._rule.weights()


def check_step(learner: Estimator, *, of_paper: tuple[str, ...]) -> None:
    """Check ``step`` and ``window``; parameters of the published rule alone must keep their defaults with the other."""
    check_choice(learner.step, "step", ("adaptive", "paper"))
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
    parameters = inspect.signature(kind).parameters
    return [(name, parameters[name].default) for name in names]
