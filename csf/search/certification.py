"""Tests of the constraint of a winner: what each kind of problem gives, and what becomes of the winner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Label
from csf.thresholding.certificates import CROSS_FITTED, Decisions, certify, certify_decisions

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint, Review
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.exact_tests import ScoredSamples


def n_promises(constraint: object, review: Review | None, answers: Sequence[Label]) -> int:
    """Count what a search promises of its answers: its constraint, and each limit of its review on wrong ones."""
    return (constraint is not None) + (0 if review is None else len(review.limits_on(answers)))


def confidence_in_each(confidence: float, n_tests: int) -> float:
    """Return the confidence in each of some promises with which all together hold as wanted (Bonferroni)."""
    # One promise alone has the very number that was wanted.
    return confidence + (1.0 - confidence) * (1.0 - 1.0 / n_tests)


def with_tested_threshold(
    won: Any, metric: Metric, entries: ScoredSamples, held_back: ScoredSamples | None, confidence: float
) -> Any:
    """Return a winner with the best threshold that passes, on samples held back or on its own held-out entries."""
    if held_back is not None:
        test = certify(held_back, metric, confidence, entries)
    else:
        # Without splits nothing was trained.
        test = certify(entries, metric, confidence, rows=CROSS_FITTED if won.n_splits else None)
    return _tested_by(won.at_threshold(test.threshold), test)


def with_tested_step(
    steps: Sequence[Any],
    constraint: Constraint,
    searched: Sequence[Decisions],
    held_back: Sequence[Decisions],
    confidence: float,
    names: Sequence[str] = (),
) -> Any:
    """Return the best of winners that were tuned to stricter and stricter levels, the strictest one first.

    Each part of the constraint, in each named segment, reads decisions about searched samples and those held back.
    """
    values = np.array([step.score for step in steps])
    test, place = certify_decisions(constraint, searched, held_back, values, confidence, names)
    return _tested_by(steps[place], test)


def _tested_by(won: Any, test: Guarantee) -> Any:
    """Keep the test of a winner; warn where no decision passes."""
    if not test.holds:
        warn(str(test))
    return won.tested_by(test)
