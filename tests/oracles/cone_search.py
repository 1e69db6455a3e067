"""CONE as the paper suggests to program it: a dense grid of the (t, F) square, one bit a place."""

import numpy as np
from oracles.cone import cone_height

COLUMNS, ROWS = 2000, 2000


def next_level(history, pos, beta):
    """Next level after trials ``(t, fn, fp)``, or ``None`` where the grid is too coarse to decide.

    t_opt maximises the highest free place over t; of several, the middle of the widest run. The answer is the middle
    of the two neighbours of t_opt among 0, 1 and the levels tried.
    """
    levels = (np.arange(COLUMNS) + 0.5) / COLUMNS
    heights = (np.arange(ROWS) + 0.5) / ROWS
    free = np.ones((ROWS, COLUMNS), dtype=bool)
    for t, fn, fp in history:
        # a cone is two straight lines
        cone = np.interp(levels, [0.0, t, 1.0], [cone_height(at, t, fn, fp, pos, beta) for at in (0.0, t, 1.0)])
        free &= heights[:, None] <= cone
    highest = np.where(free.any(axis=0), ROWS - np.argmax(free[::-1], axis=0), 0)
    top = highest == highest.max()
    starts = np.flatnonzero(np.diff(np.concatenate([[0], top.astype(int)])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([top.astype(int), [0]])) == -1) + 1
    widths = ends - starts
    widest = np.argmax(widths)
    t_opt = (starts[widest] + ends[widest]) / 2 / COLUMNS
    tried = np.array([0.0, *sorted(t for t, _, _ in history), 1.0])
    at = np.searchsorted(tried, t_opt)
    # Runs that nearly tie, places that nearly are as high, and an optimum next to a tried level: too close to call.
    rivals = np.delete(widths, widest)
    near_top = (highest >= highest.max() - 3) & ~top
    away = np.flatnonzero(near_top) / COLUMNS
    elsewhere = (away < tried[at - 1]) | (away > tried[at])
    on_edge = np.abs(tried - t_opt).min() < 3 / COLUMNS
    if on_edge or elsewhere.any() or (rivals.size and rivals.max() > widths[widest] - 4):
        return None
    return 0.5 * (tried[at - 1] + tried[at])
