"""The highest point under cones, by looking at every place where it could be."""

import numpy as np


def height(cones, levels, hi):
    """Envelope at each level: the lowest cone, cut at ``hi``."""
    lowest = np.full(np.shape(levels), float(hi))
    for t, value, left, right in zip(*cones, strict=True):
        if np.isfinite(value):
            lowest = np.minimum(lowest, value + np.where(levels < t, left, right) * np.abs(levels - t))
    return lowest


def candidates(cones, lo, hi):
    """Ends, apexes, crossings of all pairs of lines and of each with the ceiling."""
    lines = []
    for t, value, left, right in zip(*cones, strict=True):
        if np.isfinite(value):
            lines += [(value + left * t, -left), (value - right * t, right)]
    lines.append((hi, 0.0))
    levels = [lo, hi, *cones[0]]
    for i, (h0, s0) in enumerate(lines):
        levels += [(h1 - h0) / (s0 - s1) for h1, s1 in lines[:i] if s0 != s1]
    levels = np.array(levels)
    return np.unique(levels[(levels >= lo) & (levels <= hi)])


def highest(cones, lo, hi, is_open=None):
    """Height of the highest point in the open intervals between apexes."""
    edges = np.concatenate([[lo], np.sort(cones[0]), [hi]])
    is_open = np.ones(edges.size - 1, dtype=bool) if is_open is None else is_open
    levels = candidates(cones, lo, hi)
    best = -np.inf
    for start, end, allowed in zip(edges[:-1], edges[1:], is_open, strict=True):
        inside = levels[(levels >= start) & (levels <= end)]
        if allowed:
            best = max(best, height(cones, inside, hi).max())
    return best


def best_on_diagonal(cones, lo, hi):
    """Largest s with s below every cone at s: one of the ends, or where some line meets the diagonal."""
    levels = [lo, hi]
    for t, value, left, right in zip(*cones, strict=True):
        for start, slope in ((value + left * t, -left), (value - right * t, right)):
            if slope != 1.0:
                levels.append(start / (1.0 - slope))
    levels = np.array([s for s in levels if lo <= s <= hi])
    below = levels - 1e-9 * (hi - lo)
    allowed = height(cones, below, np.inf) >= below
    return levels[allowed].max() if allowed.any() else lo
