"""The lower-left edge of all profiles that support lines leave possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csf._common.typing import Array

__all__ = ["clip_chain", "best_on_chain", "support_chain"]


def support_chain(c_fn: Array, c_fp: Array, rhs: Array, *, pos: float) -> Array:
    """Lower-left edge of the box bounded by support lines."""
    neg = 1.0 - pos
    upright = c_fp <= 1e-15 * (c_fn + c_fp)
    left = float(np.max(rhs[upright] / c_fn[upright], initial=0.0))
    slope = np.append(0.0, -c_fn[~upright] / c_fp[~upright])
    height = np.append(0.0, rhs[~upright] / c_fp[~upright])
    lines = _upper_envelope(slope, height)
    # Corners where neighbouring lines of the envelope meet, then the cuts at the sides of the box.
    (s, h) = lines.T
    x = (h[1:] - h[:-1]) / (s[:-1] - s[1:]) if s.size > 1 else np.empty(0)
    left = max(left, float(np.max((h - neg) / np.where(s < 0, -s, np.inf))))
    left = min(left, pos)
    inner = (x > left) & (x < pos)
    ends = np.array([left, pos])
    low, high = (np.multiply.outer(ends, s) + h).max(axis=1)
    # Of the two lines of a corner the flatter one tells its height with the smaller rounding error.
    y = np.clip(np.concatenate([[low], (s[1:] * x + h[1:])[inner], [high]]), 0.0, neg)
    x = np.concatenate([[left], x[inner], [pos]])
    last = np.flatnonzero(y <= y[-1])[0]
    return np.column_stack([x, y])[: last + 1]


def _upper_envelope(slope: Array, height: Array) -> Array:
    """Lines ``slope x + height`` that are highest somewhere, by increasing slope."""
    order = np.lexsort((-height, slope))
    kept = []
    for s, h in zip(slope[order].tolist(), height[order].tolist()):
        if kept and s == kept[-1][0]:
            continue
        while len(kept) > 1:
            (s0, h0), (s1, h1) = kept[-2], kept[-1]
            if (h0 - h) * (s1 - s0) > (h0 - h1) * (s - s0):
                break
            kept.pop()
        kept.append((s, h))
    return np.array(kept)


def clip_chain(chain: Array, normal: tuple[float, ...], rhs: float) -> Array:
    """Part of a chain with ``normal·e <= rhs``."""
    excess = chain @ np.asarray(normal, dtype=float) - rhs
    inside = excess <= 0
    if inside.all():
        return chain
    cross = inside[:-1] != inside[1:]
    at = np.flatnonzero(cross)
    share = excess[at] / (excess[at] - excess[at + 1])
    corners = chain[at] + share[:, None] * (chain[at + 1] - chain[at])
    points = np.concatenate([chain[inside], corners])
    return points[np.lexsort((-points[:, 1], points[:, 0]))]


def best_on_chain(chain: Array, value: Callable[[Array, Array], Array], *, tol: float = 1e-06) -> float:
    """Upper bound on a metric that falls with both errors, over everything above and right of a chain.

    Parameters
    ----------
    chain : ndarray of shape (n_vertices, 2)
        Vertices by increasing fn and decreasing fp; at least one.
    value : callable
        ``value(fn, fp)``, vectorised, not increasing in either argument.
    tol : float, default=1e-6
        Largest surplus over the true maximum, in units of the metric.

    Returns
    -------
    float
        The maximum, or up to ``tol`` more; never less.

    Notes
    -----
    On a piece of the chain the metric is at most its value at the corner that takes the smaller error of both
    ends. Pieces that may still hold more than the best point so far are split into eight.
    """
    left, right = chain[:-1], chain[1:]
    best = ceiling = float(np.max(value(chain[:, 0], chain[:, 1])))
    if not left.size:
        return best
    share = np.linspace(0.0, 1.0, 9)[:, None]
    for _ in range(20):
        corners = value(left[:, 0], right[:, 1])
        promising = corners > best + tol
        # Pieces that are given up keep their say: the true maximum may lie on one of them.
        ceiling = max(ceiling, float(np.max(corners[~promising], initial=-np.inf)))
        if not promising.any():
            return max(best, ceiling)
        left, right = left[promising, None], right[promising, None]
        points = left + share * (right - left)
        best = max(best, float(np.max(value(points[..., 0], points[..., 1]))))
        left, right = points[:, :-1].reshape(-1, 2), points[:, 1:].reshape(-1, 2)
    return max(ceiling, float(value(left[:, 0], right[:, 1]).max()))
