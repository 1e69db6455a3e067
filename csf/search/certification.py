"""Tests of the constraint of a winner: what each kind of problem gives, and what becomes of the winner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.messages import warn
from csf.thresholding.certificates import CROSS_FITTED, Decisions, certify, certify_decisions

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.exact_tests import ScoredSamples


class ConstraintTest(ABC):
    """Test of the decisions of a winner."""

    def run(self, confidence: float) -> Any:
        """Return the winner with the best decision that passes, and warn where none does."""
        won, test = self._tested(confidence)
        if not test.holds:
            warn(str(test))
        return won.tested_by(test)

    @abstractmethod
    def _tested(self, confidence: float) -> tuple[Any, Guarantee]:
        """Return the winner with another decision, and its test."""


@dataclass(frozen=True, eq=False)
class ScoreTest(ConstraintTest):
    """Test of a threshold of a winner: on samples that were held back, or on all those of its own scores."""

    won: Any
    metric: Metric
    entries: ScoredSamples
    held_back: ScoredSamples | None

    def _tested(self, confidence: float) -> tuple[Any, Guarantee]:
        if self.held_back is not None:
            test = certify(self.held_back, self.metric, confidence, self.entries)
        else:
            # Without splits nothing was trained.
            test = certify(self.entries, self.metric, confidence, rows=CROSS_FITTED if self.won.n_splits else None)
        return self.won.at_threshold(test.threshold), test


@dataclass(frozen=True, eq=False)
class StepTest(ConstraintTest):
    """Test of decisions that were tuned to stricter and stricter levels, the strictest one first.

    Each part of the constraint, in each segment, reads them about searched samples and about those held back.
    """

    steps: Sequence[Any]
    constraint: Constraint
    searched: Sequence[Decisions]
    held_back: Sequence[Decisions]
    # Of segments.
    names: Sequence[str] = ()

    def _tested(self, confidence: float) -> tuple[Any, Guarantee]:
        values = np.array([step.score for step in self.steps])
        parts = self.searched, self.held_back
        test, place = certify_decisions(self.constraint, *parts, values, confidence, self.names)
        return self.steps[place], test
