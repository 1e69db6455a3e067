"""The losses of linear models: value, slope, curvature and certified gap of each, for memory and partitions alike.

A loss is a function of the margin z, the score times the sign of the class. Factors of rows are minus the weighted
slopes times the signs: what the rows are summed with to the coefficients that belong to them as dual variables.

Compiled loops that fuse several of these with the steps of one method stand here too: a kernel's helpers and its loss
are in its own file, so that code that numba keeps cannot be older than they are.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, IntArray
from csf.solvers.base import Scalar

_FAST = {"contract", "reassoc", "nsz"}


class Loss(Protocol):
    """A smooth loss, summed over samples with a weight each."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> float:
        """Value; ``factor`` receives the factors of the rows."""
        ...

    def value(self, margins: Array, weight: Array) -> Scalar:
        """Value alone."""
        ...

    def curvature(self, margins: Array, weight: Array) -> Array:
        """Second derivatives in the margins."""
        ...


def least_gap(w: Array, ridge: Array, pulls: Array) -> tuple[Scalar, Array]:
    """Half the squared way from coefficients to those of their dual variables, and factors that make these feasible.

    Where all coefficients are regularised that is half the squared slope, and the whole gap: the objective is strongly
    convex. A free constant, whose ``ridge`` is 0, asks for equal sums of the dual variables of both classes: that of
    the larger one is scaled down, and what its losses leave comes on top. ``pulls`` are the sums of the rows of each
    class times their factors.
    """
    scale = np.ones(2)
    if ridge[-1] == 0.0:
        sums = np.abs(pulls[:, -1])
        scale = sums.min() / np.maximum(sums, np.finfo(float).tiny)
    change = (w - scale @ pulls) * ridge
    return 0.5 * change @ change, scale


class _Logistic:
    """``log(1 + exp(-z))``."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> Scalar:
        """See `Loss.terms`."""
        # numpy's exponentials are several times faster than those of compiled loops, and cost no compilation. Two of
        # them are faster than one and a choice by the sign.
        low, rest, small = np.empty((3, margins.size))
        np.minimum(margins, 0.0, out=low)
        np.subtract(low, margins, out=rest)
        np.exp(np.add(low, rest, out=small), out=small)
        np.multiply(weight, np.exp(rest, out=rest), out=rest)
        loss = weight @ np.subtract(np.log1p(small, out=factor), low, out=low)
        np.divide(rest, np.add(small, 1.0, out=small), out=factor)
        factor *= sign
        return loss

    def value(self, margins: Array, weight: Array) -> Scalar:
        """See `Loss.value`."""
        return weight @ np.logaddexp(0.0, -margins)

    def curvature(self, margins: Array, weight: Array | None) -> Array:
        """See `Loss.curvature`; ``None`` are weights of 1."""
        small = np.abs(margins)
        np.exp(np.negative(small, out=small), out=small)
        small /= np.square(1.0 + small)
        return small if weight is None else np.multiply(small, weight, out=small)

    def lost(self, margins: Array, weight: Array, less: Scalar) -> Scalar:
        """Most that dual variables of some samples lose beyond the first order where they are made ``less`` smaller.

        For a factor s = 1 - less that is at most 1 - s times the loss, and at most :math:`(1-s)^2 e^{-z} / 2s`.
        """
        each = np.minimum(0.5 * less**2 / (1.0 - less) * np.exp(-margins), less * np.logaddexp(0.0, -margins))
        return weight @ each


class _SquaredHinge:
    """``max(0, 1 - z)^2``."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> float:
        """See `Loss.terms`; compiled, in one pass."""
        return _squared_terms(margins, sign, weight, factor)

    # The same without the other terms. They are summed in another order than in the compiled loop: solvers that only
    # ask for them keep their last digits.
    def value(self, margins: Array, weight: Array) -> Scalar:
        """See `Loss.value`."""
        return weight @ np.maximum(1.0 - margins, 0.0) ** 2

    def pull(self, margins: Array, weight: Array) -> Array:
        """Minus the slopes in the margins."""
        return 2.0 * weight * np.maximum(1.0 - margins, 0.0)

    def curvature(self, margins: Array, weight: Array) -> Array:
        """See `Loss.curvature`."""
        return np.where(margins < 1.0, 2.0 * weight, 0.0)

    def dual_value(self, dual: Array, w: Array, inverse: Array) -> Scalar:
        """What no objective is below: ``inverse`` is half the inverse of each weight, ``w`` belongs to ``dual``."""
        return dual.sum() - 0.5 * w @ w - 0.5 * inverse @ dual**2


class _Hinge:
    """``max(0, 1 - z)``, which has no curvature; `multiplier_terms` smooths it."""

    def value(self, margins: Array, weight: Array) -> Scalar:
        """See `Loss.value`."""
        return weight @ np.maximum(1.0 - margins, 0.0)

    def dual_value(self, dual: Array, w: Array) -> Scalar:
        """What no objective is below, for dual variables between 0 and the weights, whose coefficients are ``w``."""
        return dual.sum() - 0.5 * w @ w


LOGISTIC, SQUARED_HINGE, HINGE = _Logistic(), _SquaredHinge(), _Hinge()


@njit(cache=True, nogil=True, fastmath=_FAST)
def _slope_and_curvature(
    length: float, margins: Array, along: Array, weight: Array, w_step: Scalar, step_step: Scalar
) -> tuple[float, float]:
    slope, curvature = w_step + length * step_step, step_step
    for i in range(margins.size):
        slack = 1.0 - margins[i] - length * along[i]
        push = 2.0 * weight[i] * along[i] if slack > 0.0 else 0.0
        slope -= push * slack
        curvature += push * along[i]
    return slope, curvature


@njit(cache=True, nogil=True, fastmath=_FAST)
def _squared_terms(margins: Array, sign: Array, weight: Array, factor: Array) -> float:
    """Weighted squared-hinge loss; ``factor`` receives minus its slopes in the scores."""
    loss = 0.0
    for i in range(margins.size):
        slack = max(1.0 - margins[i], 0.0)
        lost = weight[i] * slack
        loss += lost * slack
        factor[i] = 2.0 * lost * sign[i]
    return loss


@njit(cache=True, nogil=True)
def note_changes(
    factor: Array, weight: Array, was_active: BoolArray, places: IntArray, change: Array
) -> tuple[int, int]:
    """Write the samples that began or ceased to lose, and by how much their outer products change the Hessian.

    ``factor`` is what `_squared_terms` wrote; ``was_active`` is brought up to date. Returns how many samples changed
    and how many lose now. There are no branches, since no one can foresee them.
    """
    count, n_active = 0, 0
    for i in range(factor.size):
        active = factor[i] != 0.0
        places[count] = i
        change[count] = 2.0 * weight[i] * (1.0 if active else -1.0)
        count += active != was_active[i]
        n_active += active
        was_active[i] = active
    return count, n_active


@njit(cache=True, nogil=True)
def hinge_step(
    margins: Array, along: Array, weight: Array, initial: Scalar, w_step: Scalar, step_step: Scalar
) -> float:
    """Length that minimises the squared-hinge objective along a step, or 0 where rounding hides descent.

    ``initial`` is the slope at length 0; ``w_step`` and ``step_step`` are the products of the coefficients and of
    the step with the step.
    """
    if not initial < 0.0:
        return 0.0
    # The slope rises along the step, in pieces: Newton's method for its root, kept within the bracket [low, high],
    # whose lower end is always safe to take. Most steps of length 1 pass the first look.
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        slope, curvature = _slope_and_curvature(length, margins, along, weight, w_step, step_step)
        if abs(slope) <= 1e-2 * abs(initial):
            return length
        if slope < 0.0:
            low = length
        else:
            high = length
        length -= slope / curvature
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low


# Without branches, which no one can foresee, and without counted places to write to, loops take a sixth of the time.
@njit(cache=True, nogil=True, fastmath=_FAST)
def survey(
    margins: Array, before: Array, share: Array, weight: Array, sign: Array, band: float, near: BoolArray, factor: Array
) -> tuple[float, float, float]:
    """Which samples are near the margin, and how far coefficients and dual variables are from each other.

    Near are those within a band around the margin, which is wider by what moved them from the margins ``before``,
    those whose dual variables do not belong to their side, and those that were near already. The dual variables of the
    others are set to their side; ``factor`` receives the factors of their rows, and 0 for those that are near. Returns
    the loss of all, how much of it the dual variables given leave, and the weight of the samples that lose and are not
    near.
    """
    loss, slack, lost = 0.0, 0.0, 0.0
    for i in range(margins.size):
        below = 1.0 - margins[i]
        hinge = max(below, 0.0)
        missing = hinge - share[i] * below
        loss += weight[i] * hinge
        slack += weight[i] * missing
        is_near = near[i] | (missing > 0.0) | (abs(below) < band + abs(margins[i] - before[i]))
        near[i] = is_near
        own = 1.0 if below > 0.0 else 0.0
        share[i] = share[i] if is_near else own
        taken = 0.0 if is_near else own * weight[i]
        factor[i] = taken * sign[i]
        lost += taken
    return loss, slack, lost


@njit(cache=True, nogil=True, fastmath=_FAST)
def multiplier_terms(
    margins: Array, share: Array, weight: Array, sign: Array, penalty: float, clipped: Array, factor: Array
) -> tuple[float, float]:
    """Loss, and how much of it the next dual variables leave; writes these and the factors of the rows."""
    loss, slack = 0.0, 0.0
    for i in range(margins.size):
        below = 1.0 - margins[i]
        hinge = max(below, 0.0)
        next_share = min(max(share[i] + penalty * below, 0.0), 1.0)
        clipped[i] = next_share
        factor[i] = weight[i] * next_share * sign[i]
        loss += weight[i] * hinge
        slack += weight[i] * (hinge - next_share * below)
    return loss, slack


@njit(cache=True, nogil=True, fastmath=_FAST)
def note_free(margins: Array, share: Array, penalty: float, free: BoolArray, changed: BoolArray) -> tuple[int, int]:
    """Mark the samples that are strictly between their bounds, and those for which that has changed; count both."""
    n_changed, n_free = 0, 0
    for i in range(margins.size):
        target = share[i] + penalty * (1.0 - margins[i])
        is_free = (target > 0.0) & (target < 1.0)
        is_changed = is_free != free[i]
        changed[i] = is_changed
        free[i] = is_free
        n_changed += is_changed
        n_free += is_free
    return n_changed, n_free


@njit(cache=True, nogil=True, fastmath=_FAST)
def multiplier_step(
    margins: Array,
    along: Array,
    share: Array,
    weight: Array,
    penalty: float,
    initial: Scalar,
    w_step: Scalar,
    step_step: Scalar,
) -> float:
    """Length of a Newton step that about minimises the augmented Lagrangian, or 0 where rounding hides descent.

    ``initial`` is the slope at length 0; ``w_step`` and ``step_step`` are products with the step.
    """
    # Newton's method for the root of the slope, within a bracket whose lower end is safe; see `hinge_step`.
    low, high, length = 0.0, np.inf, 1.0
    if not initial < 0.0:
        return 0.0
    for _ in range(60):
        first, curvature = w_step + length * step_step, 0.0
        for i in range(margins.size):
            target = share[i] + penalty * (1.0 - margins[i] - length * along[i])
            pull = weight[i] * along[i]
            first -= pull * min(max(target, 0.0), 1.0)
            curvature += pull * along[i] * ((target > 0.0) & (target < 1.0))
        if abs(first) <= 0.1 * abs(initial):
            return length
        if first < 0.0:
            low = length
        else:
            high = length
        length -= first / (step_step + penalty * curvature)
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low
