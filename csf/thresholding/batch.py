"""Limited capacity in one batch: the rows that keep an answer of which there may be only so many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye, issparse, kron

from csf._common.messages import listed, shown
from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Label, Samples
from csf._common.validation import check_fraction, place_of, place_or_none
from csf.data.labels import names_of_answers

# Rounding of a share times a number of rows that is whole.
ROUNDING = 1e-9


def check_capacity(at_most: object, n_rows: int) -> int:
    """Return the number of rows that ``at_most`` allows to be acted on."""
    if isinstance(at_most, (bool, np.bool_)) or not isinstance(at_most, Real):
        raise TypeError(f"at_most must be a number of rows or a share of them in (0, 1), got {shown(at_most)}")
    if isinstance(at_most, Integral):
        if at_most < 0:
            raise ValueError(
                f"at_most must be a number of rows >= 0 or a share of them in (0, 1), got {shown(at_most)}"
            )
        return min(int(at_most), n_rows)
    if not 0.0 < float(at_most) < 1.0:
        raise ValueError(
            f"at_most must be a share of the rows in (0, 1) or a number of them, an int, got {shown(at_most)}; leave "
            "it out where there is no limit"
        )
    return int(float(at_most) * n_rows + ROUNDING)


def places_limited(
    limits: object, names: Sequence[Label], what: str = "class", option: str = "at_most", example: float = 50
) -> dict[int, Any]:
    """Read limits by class or label; return them by place."""
    if not isinstance(limits, Mapping):
        raise TypeError(
            f"{option} must say which {what} it limits, of {listed(names)}: a dict such as "
            f"{shown({names[-1]: example})}, got {shown(limits)}"
        )
    return {place_of(name, names, option): limit for name, limit in limits.items()}


def shares_limited(
    limits: object,
    names: Sequence[Label],
    what: str = "class",
    option: str = "at_most",
    *,
    example: float = 0.05,
    check: Callable[[object, str], float] = check_fraction,
) -> dict[int, float]:
    """Read limits by class or label that are shares of the rows; return them by place."""
    known = places_limited(limits, names, what, option, example)
    return {place: check(share, f"{option} of {names[place]!r}") for place, share in known.items()}


def limit_of_positives(
    limit: object, names: Sequence[Label], option: str = "at_most", *, example: float = 0.05
) -> object:
    """Read a limit that may be a dict with the positive class, the last one of ``names``."""
    if not isinstance(limit, Mapping):
        return limit
    if len(names) != 2 or list(places_limited(limit, names, option=option)) != [1]:
        wanted = shown({names[-1]: example})
        raise ValueError(f"{option} limits the positive class alone, {wanted}, got {shown(limit)}")
    return next(iter(limit.values()))


def limit_of_others(limit: object, classes: Sequence[Label], null: Label, option: str = "at_most") -> object:
    """Read a limit beside a null class: return the value of one on all other classes together, others as they are.

    Their name, ``"not none"``, may be that of a class, which comes first.
    """
    _, every = names_of_answers(null, None)
    if not isinstance(limit, Mapping) or every not in map(str, limit) or place_or_none(every, classes) is not None:
        return limit
    if len(limit) > 1:
        raise ValueError(
            f"{option}={shown(limit)} limits all classes but {null} together, by {shown(every)}, and single ones of "
            "them; give one or the other"
        )
    return next(iter(limit.values()))


def refuse_null(at_most: object, names: Sequence[Label], null: Label, example: float = 0.05) -> None:
    """Raise a ValueError for a limit on the null class among those on single classes."""
    if list(names).index(null) in places_limited(at_most, names):
        raise ValueError(
            f"at_most={shown(at_most)} limits the null class {shown(null)}; limit others of "
            f"{listed(name for name in names if name != null)}, or all of them together by a number such as {example}"
        )


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


def _by_content(X: Samples, chosen: IntArray) -> IntArray:
    """Order rows by a digest of their values, so that no value is preferred."""
    rows: Any = safe_indexing(X, chosen)
    rows = np.asarray(rows.toarray() if issparse(rows) else rows).tolist()
    return np.argsort([blake2b(repr(row).encode(), digest_size=16).hexdigest() for row in rows], kind="stable")


def lift_of(gains: Array) -> float:
    """Compute more than any differences of gains add up to in an exchange, which passes each answer once."""
    finite = gains[np.isfinite(gains)]
    return (gains.shape[1] + 1.0) * (float(np.ptp(finite)) or 1.0) if finite.size else 1.0


def with_lifted(gains: Array, answers: IntArray, lifted: BoolArray) -> Array:
    """Lift the answers to some rows above all others."""
    gains = gains.copy()
    gains[lifted, answers[lifted]] += lift_of(gains)
    return gains


def best_answers(gains: Array, limits: Mapping[int, int], X: Samples | None = None) -> IntArray:
    """Give rows the answers of largest total gain, where no more than some number of rows gets each limited answer.

    Parameters
    ----------
    gains : ndarray of shape (n_rows, n_answers)
        What each answer to a row gains; minus infinity where it is out of the question.
    limits : dict of int to int
        Largest number of rows that get an answer. They must leave an answer to each row.
    X : array-like of shape (n_rows, n_features), default=None
        Samples, whose content says which of equal rows keep an answer.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        The columns of ``gains`` that rows get.
    """
    gains = _finite(gains)
    answers = gains.argmax(axis=1)
    limits = {answer: limit for answer, limit in limits.items() if limit < len(gains)}
    if all(np.count_nonzero(answers == answer) <= limit for answer, limit in limits.items()):
        return answers
    # Limits move no row whose best answer has none.
    moving = np.flatnonzero(np.isin(answers, list(limits)))
    keys = gains[moving]
    order = np.lexsort(keys.T)
    moving, keys = moving[order], keys[order]
    if X is not None and (same := (keys[1:] == keys[:-1]).all(axis=1)).any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        places = np.zeros(moving.size)
        places[tied[_by_content(X, moving[tied])]] = np.arange(tied.size)
        moving = moving[np.lexsort((places, np.append(0, np.cumsum(~same))))]
    if len(limits) == 1:
        answers[moving] = _ranked(gains[moving], *limits.items())
    else:
        shares, _ = _transported(gains[moving] / np.ptp(gains[moving]), np.ones(moving.size), limits)
        answers[moving] = shares.argmax(axis=1)
    return answers


def shared_answers(gains: Array, limits: Mapping[int, float], weight: Array) -> Array:
    """Give entries answers in parts, of largest total gain, where no more than some weight gets each limited answer.

    Entries of equal gains get each answer in the same part, so that one of weight 2 is worth two of weight 1.

    Parameters
    ----------
    gains : ndarray of shape (n_entries, n_answers)
        As for `best_answers`.
    limits : dict of int to float
        Largest sum of weights that gets an answer. They must leave an answer to each entry.
    weight : ndarray of shape (n_entries,)
        Weights, >= 0.

    Returns
    -------
    ndarray of shape (n_entries, n_answers)
        Share of each entry that gets an answer.
    """
    gains = _finite(gains)
    answers = gains.argmax(axis=1)
    shares = np.eye(gains.shape[1])[answers]
    if all(weight[answers == answer].sum() <= limit + ROUNDING for answer, limit in limits.items()):
        return shares
    moving = np.flatnonzero(np.isin(answers, list(limits)) & (weight > 0.0))
    distinct, place = np.unique(gains[moving], axis=0, return_inverse=True)
    of_distinct, _ = _transported(
        distinct / (np.ptp(distinct) or 1.0), np.bincount(place.ravel(), weight[moving]), limits
    )
    of_distinct = np.where(of_distinct <= ROUNDING, 0.0, of_distinct)
    shares[moving] = (of_distinct / of_distinct.sum(axis=1, keepdims=True))[place.ravel()]
    return shares


def _finite(gains: Array) -> Array:
    """Replace what answers gain that are out of the question by less than any sum of gains is worth."""
    possible = np.isfinite(gains)
    return gains if possible.all() else np.where(possible, gains, gains[possible].min() - lift_of(gains))


def _ranked(gains: Array, limited: tuple[int, int]) -> IntArray:
    """Give rows an answer, of which there are so many, in the order of what they lose by their next best one."""
    (answer, limit), others = limited, gains.copy()
    others[:, answer] = -np.inf
    answers, order = others.argmax(axis=1), np.argsort(others.max(axis=1) - gains[:, answer], kind="stable")
    answers[order[:limit]] = answer
    return answers


def reviewed_within(
    gains: Array, barred: BoolArray, decided: IntArray, limits: Mapping[int, int], X: Samples, *, review: int
) -> IntArray:
    """Limit answers, reviews among them, where some answers to some rows are barred.

    ``decided`` are the answers without limits. A row to which only barred answers are left is reviewed, whatever the
    limit on reviews.
    """
    rows = np.arange(len(gains))
    kept = all(np.count_nonzero(decided == answer) <= limit for answer, limit in limits.items())
    if kept and not barred[rows, decided].any():
        return decided
    answers = best_answers(np.where(barred, -np.inf, gains), limits, X)
    return np.where(barred[rows, answers], review, answers)


# Of 50 000 rows one program of all takes 10.6 s, and these parts 0.07 s, with the same answers.
# Most rows in the first linear program, the part of the rows that tells prices, the rows near a border in square roots
# of their number, and the largest gain by another answer that counts as none.
_FIRST, _PART, _NEAR, _NO_GAIN = 300, 10, 5, 1e-6


def _transported(gains: Array, taken: Array, limits: Mapping[int, float]) -> tuple[Array, Array]:
    """Solve the transportation problem of rows that take some of a limit; return shares of answers, and their prices.

    At the right prices each row gets the answer of largest gain less price, and only rows near a border need a linear
    program. A part of the rows tells about what prices are; other rows join where these were wrong.
    """
    n_rows, places, room = len(gains), list(limits), np.array(list(limits.values()), dtype=float)
    if n_rows <= _FIRST:
        return _solved(gains, taken, places, room)
    part = slice(None, None, _PART)
    rounded_up = room * taken[part].sum() / taken.sum() + taken.max()
    _, prices = _transported(gains[part], taken[part], dict(zip(places, rounded_up)))
    answers, ordered = (gains - prices).argmax(axis=1), np.sort(gains - prices, axis=1)
    distance = ordered[:, -1] - ordered[:, -2]
    tied, wrong = np.zeros(n_rows, dtype=bool), np.ones(n_rows, dtype=bool)
    while True:
        nearest = np.sort(distance[wrong])
        tied |= wrong & (distance <= nearest[: _NEAR * int(n_rows**0.5)][-1])
        left = room - [taken[~tied & (answers == answer)].sum() for answer in places]
        if (left >= -ROUNDING).all():
            shares = np.eye(gains.shape[1])[answers]
            shares[tied], prices = _solved(gains[tied], taken[tied], places, np.maximum(left, 0.0))
            net = gains - prices
            wrong = ~tied & (net.max(axis=1) > net[np.arange(n_rows), answers] + _NO_GAIN)
            if not wrong.any():
                return shares, prices
        else:
            wrong = ~tied


def _solved(gains: Array, taken: Array, places: Sequence[int], room: Array) -> tuple[Array, Array]:
    """Solve the linear program of all rows; return shares of answers, and prices of all answers."""
    n_rows, n_answers = gains.shape
    solution = linprog(
        -(gains * taken[:, None]).ravel(),
        A_ub=kron(taken[None], np.eye(n_answers)[places]),
        b_ub=room,
        A_eq=kron(eye(n_rows), np.ones((1, n_answers))),
        b_eq=np.ones(n_rows),
        bounds=(0.0, 1.0),
        method="highs-ds",
    )
    assert solution.success, solution.message
    prices = np.zeros(n_answers)
    prices[places] = -solution.ineqlin.marginals
    return solution.x.reshape(n_rows, n_answers), prices


def limits_of(at_most: object, names: Sequence[Label], n_rows: int) -> dict[int, int]:
    """Read the numbers of rows that some classes may get; raise a ValueError where rows are left without a class."""
    limits = {answer: check_capacity(limit, n_rows) for answer, limit in places_limited(at_most, names).items()}
    if len(limits) == len(names) and sum(limits.values()) < n_rows:
        raise ValueError(
            f"at_most={shown(at_most)} limits all classes to {sum(limits.values())} of {n_rows} rows; leave a "
            "class without a limit"
        )
    return limits


def batch_within(scores: Array, at_most: object, names: Sequence[Label], X: Samples) -> IntArray:
    """Choose the class of each row of a batch, with limits on the numbers of some classes."""
    return best_answers(scores, limits_of(at_most, names, len(scores)), X)


def named_answers(codes: IntArray, names: Sequence[Label]) -> Array:
    """Return the names of answers as objects: labels of any type, and "review"."""
    known = np.empty(len(names), dtype=object)
    known[:] = names
    return known[codes]
