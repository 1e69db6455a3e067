"""Known error profiles, kept as the lower-left convex hull of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from csf._common.compiled import njit
from csf._common.typing import Array, Values
from csf._common.validation import floats

# Shares are at most 1; what is far beyond has no costs that a float can hold.
_LARGEST = 1e150


class Hull:
    """Lower-left convex hull of error profiles: everything that can be cheapest for some costs >= 0.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        Error profiles ``(fn, fp)``, in any order; at least one.

    Attributes
    ----------
    points : ndarray of shape (n_vertices, 2)
        Vertices, by increasing ``fn`` and decreasing ``fp``.

    Examples
    --------
    >>> hull = Hull([(0.0, 0.5), (0.1, 0.1), (0.2, 0.2), (0.3, 0.0)])
    >>> hull.points.tolist()
    [[0.0, 0.5], [0.1, 0.1], [0.3, 0.0]]
    >>> hull.cheapest(2.0, 1.0)
    0.3
    """

    __slots__ = ("points",)

    def __init__(self, points: ArrayLike) -> None:
        given = floats(points, "points")
        if given.ndim != 2 or given.shape[1] != 2 or given.shape[0] == 0:
            raise ValueError(f"points must have shape (n_points, 2) with n_points >= 1, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"points must be finite, got {given[~np.isfinite(given).all(axis=1)][0].tolist()}")
        large = (np.abs(given) > _LARGEST).any(axis=1)
        if large.any():
            raise ValueError(f"points must be shares of all samples, got {given[large][0].tolist()}")
        self.points: Array = _lower_left(given + 0.0)  # no negative zeros: they would be equal and hash differently
        self.points.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hull) and np.array_equal(self.points, other.points)

    def __hash__(self) -> int:
        return hash(self.points.tobytes())

    def __reduce__(self) -> tuple[type[Hull], tuple[Array]]:
        # For files that rebuild objects by calling a trusted type; the hull of its own corners is itself.
        return Hull, (self.points,)

    def __repr__(self) -> str:
        return f"Hull({self.points.tolist()})"

    def cheapest(self, c_fn: Values, c_fp: Values) -> Values:
        """Smallest weighted error ``c_fn fn + c_fp fp`` of the known profiles.

        Parameters
        ----------
        c_fn, c_fp : float or ndarray of shape (n_costs,)
            Costs, >= 0.

        Returns
        -------
        float or ndarray of shape (n_costs,)
            Cost of the cheapest known profile, for each pair of costs.
        """
        cost = np.multiply.outer(c_fn, self.points[:, 0]) + np.multiply.outer(c_fp, self.points[:, 1])
        cheapest = cost.min(axis=-1)
        return cheapest if cheapest.ndim else float(cheapest)

    @staticmethod
    def union(hulls: Sequence[Hull]) -> Hull:
        """Hull of several hulls together.

        Parameters
        ----------
        hulls : sequence of Hull
            At least one.

        Returns
        -------
        Hull
            Their common hull. A sequence that grows by one costs one merge: the union of all but the last is
            remembered.
        """
        hulls = tuple(hulls)
        key = tuple(map(id, hulls))
        if (whole := _UNIONS.get(key)) is not None:
            return whole[1]
        known = _UNIONS.get(key[:-1])
        parts = hulls if known is None else (known[1], hulls[-1])
        merged = Hull(np.concatenate([hull.points for hull in parts]))
        with _LOCK:
            _UNIONS[key] = (hulls, merged)  # holds the hulls, so that their ids stay theirs
            while len(_UNIONS) > 32:
                _UNIONS.pop(next(iter(_UNIONS)))
        return merged

    @staticmethod
    def mean(hulls: Sequence[Hull], shares: Sequence[float] | Array) -> Hull:
        """Hull of the weighted means of profiles, one taken from each hull: what folds know together.

        Parameters
        ----------
        hulls : sequence of Hull
            At least one.
        shares : array-like of shape (n_hulls,)
            Weights of the hulls, summing to 1.

        Returns
        -------
        Hull
            The cheapest mean for some costs is the mean of the cheapest, so its edges are all edges, by slope.

        Examples
        --------
        >>> Hull.mean([Hull([(0.0, 0.4), (0.2, 0.0)]), Hull([(0.1, 0.1)])], [0.5, 0.5]).points.tolist()
        [[0.05, 0.25], [0.15, 0.05]]
        """
        start = sum(share * hull.points[0] for hull, share in zip(hulls, shares))
        edges = np.concatenate([share * np.diff(hull.points, axis=0) for hull, share in zip(hulls, shares)])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # tiny edges, and folds without a share
            edges = edges[np.argsort(edges[:, 1] / edges[:, 0], kind="stable")]
        return Hull(np.concatenate([[start], start + np.cumsum(edges, axis=0)]))


_UNIONS: dict[tuple[int, ...], tuple[tuple[Hull, ...], Hull]] = {}
_LOCK = Lock()  # searches may run in several threads


def _lower_left(points: Array) -> Array:
    """Vertices of the lower-left hull, by increasing fn."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    # A profile that is nowhere below all earlier ones is dominated.
    lowest = np.minimum.accumulate(points[:, 1])
    points = points[np.concatenate([[True], points[1:, 1] < lowest[:-1]])]
    if _is_convex(points):
        return points
    chain = np.empty_like(points)
    return chain[: _convex_chain(points, chain)].copy()


def _is_convex(points):
    """Whether all points are corners, as `_convex_chain` decides: loading a hull from a file compiles nothing then."""
    before, at, after = points[:-2], points[1:-1], points[2:]
    into, over = at - before, after - before
    return bool((into[:, 0] * over[:, 1] > into[:, 1] * over[:, 0]).all())


@njit(cache=True, nogil=True)
def _convex_chain(points, chain):
    """Write the corners of the lower hull of points with rising fn to ``chain``. Return their number."""
    size = 0
    for k in range(points.shape[0]):
        fn, fp = points[k, 0], points[k, 1]
        while size > 1:
            x0, y0, x1, y1 = chain[size - 2, 0], chain[size - 2, 1], chain[size - 1, 0], chain[size - 1, 1]
            if (x1 - x0) * (fp - y0) > (y1 - y0) * (fn - x0):
                break
            size -= 1
        chain[size, 0], chain[size, 1] = fn, fp
        size += 1
    return size
