"""Limited capacity in one batch: the rows that keep an answer of which there may be only so many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Label, Samples
from csf._common.validation import place_of

# Rounding of a share times a number of rows that is whole.
ROUNDING = 1e-9


def check_capacity(at_most: object, n_rows: int) -> int:
    """Return the number of rows that ``at_most`` allows to be acted on."""
    if isinstance(at_most, (bool, np.bool_)) or not isinstance(at_most, Real):
        raise TypeError(f"at_most must be a number of rows or a share of them in (0, 1), got {at_most!r}")
    if isinstance(at_most, Integral):
        if at_most < 0:
            raise ValueError(f"at_most must be a number of rows >= 0 or a share of them in (0, 1), got {at_most!r}")
        return min(int(at_most), n_rows)
    if not 0.0 < float(at_most) < 1.0:
        raise ValueError(
            f"at_most must be a share of the rows in (0, 1) or a number of them, an int, got {at_most!r}; leave it "
            "out where there is no limit"
        )
    return int(float(at_most) * n_rows + ROUNDING)


def places_limited(
    limits: object, names: Sequence[Label], what: str = "class", option: str = "at_most", example: float = 50
) -> dict[int, Any]:
    """Read limits by class or label; return them by place."""
    if not isinstance(limits, Mapping):
        raise TypeError(
            f"{option} must say which {what} it limits, of {list(names)}: a dict such as {{{names[-1]!r}: {example}}}, "
            f"got {limits!r}"
        )
    return {place_of(name, names, option): limit for name, limit in limits.items()}


def best_rows(decided: BoolArray, rank: Array, limit: int, X: Samples) -> BoolArray:
    """Select at most ``limit`` of the decided rows, those of highest rank, whatever the order of the rows."""
    if np.count_nonzero(decided) <= limit:
        return decided
    if not limit:
        return np.zeros_like(decided)
    border = np.partition(rank[decided], -limit)[-limit]
    best, tied = decided & (rank > border), np.flatnonzero(decided & (rank == border))
    n_free = limit - np.count_nonzero(best)
    best[tied if tied.size == n_free else tied[_by_content(X, tied)[:n_free]]] = True
    return best


def _by_content(X: Samples, at: IntArray) -> IntArray:
    """Order rows by a digest of their values, so that no value is preferred."""
    rows: Any = safe_indexing(X, at)
    rows = np.asarray(rows.toarray() if issparse(rows) else rows).tolist()
    return np.argsort([blake2b(repr(row).encode(), digest_size=16).hexdigest() for row in rows], kind="stable")


def answers_within(scores: Array, limited: Sequence[int], keep: Callable[[int, BoolArray, Array], BoolArray]) -> Array:
    """Give each row the answer of its largest score, with limits on some answers.

    ``keep(answer, decided, margin)`` selects the rows that keep an answer, by what they lose with their next best one.
    The others get that one, until no answer has too many: rows propose, and answers keep the best (D. Gale, L. Shapley,
    "College admissions and the stability of marriage", 1962).
    """
    scores, rows = np.array(scores, dtype=float), np.arange(len(scores))
    while True:
        answers, n_refused = scores.argmax(axis=1), 0
        for answer in limited:
            decided = answers == answer
            if not decided.any():
                continue
            others = scores[decided].copy()
            others[:, answer] = -np.inf
            margin = np.zeros(rows.size)
            margin[decided] = scores[decided, answer] - others.max(axis=1)
            refused = decided & ~keep(answer, decided, margin)
            scores[refused, answer] = -np.inf
            n_refused += int(refused.sum())
        if not n_refused:
            return answers


def limits_of(at_most: object, names: Sequence[Label], n_rows: int) -> dict[int, int]:
    """Read the numbers of rows that some classes may get; raise a ValueError where rows are left without a class."""
    limits = {at: check_capacity(limit, n_rows) for at, limit in places_limited(at_most, names).items()}
    if len(limits) == len(names) and sum(limits.values()) < n_rows:
        raise ValueError(
            f"at_most={at_most!r} limits all classes to {sum(limits.values())} of {n_rows} rows; leave a class without "
            "a limit"
        )
    return limits


def batch_within(scores: Array, at_most: object, names: Sequence[Label], X: Samples) -> IntArray:
    """Choose the class of each row of a batch, with limits on the numbers of some classes."""
    limits = limits_of(at_most, names, len(scores))
    return answers_within(scores, list(limits), lambda at, decided, margin: best_rows(decided, margin, limits[at], X))
