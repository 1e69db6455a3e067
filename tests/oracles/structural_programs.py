"""Regularised structural losses as convex programs with all their constraints, for a general solver."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def all_cuts(name, is_pos, *, beta=0.1):
    """Every linear piece of a loss in the scores, as rows of slopes and offsets; for a dozen samples."""
    n, n_pos = len(is_pos), int(is_pos.sum())
    pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
    slopes, offsets = [], []
    if name == "pauc":
        count = int(np.ceil(beta * len(neg) - 1e-9))
        for top in combinations(neg, count):
            pairs = [(i, k) for i in pos for k in top]
            for bits in range(2 ** len(pairs)):
                chosen = [pair for b, pair in enumerate(pairs) if bits >> b & 1]
                slope = np.zeros(n)
                for i, k in chosen:
                    slope[i] -= 1.0
                    slope[k] += 1.0
                slopes.append(slope / len(pairs))
                offsets.append(len(chosen) / len(pairs))
        return np.array(slopes), np.array(offsets)
    for bits in range(2**n):
        label = np.array([bits >> i & 1 for i in range(n)], dtype=bool)
        tp, fp = np.sum(label & is_pos), np.sum(label & ~is_pos)
        if name == "prbep" and tp + fp != n_pos:
            continue
        offsets.append(1.0 - (tp / n_pos if name == "prbep" else 2.0 * tp / (tp + fp + n_pos)))
        slopes.append(2.0 / n * (label.astype(float) - is_pos))
    return np.array(slopes), np.array(offsets)


def minimise_pieces(X, slopes, offsets, C):
    """Minimum of half the squared norm plus C times the largest piece, by a general solver of smooth programs.

    The solver keeps its constraints up to a tolerance only: the value at its weights is computed anew.
    """
    G = slopes @ X
    d = X.shape[1]
    start = np.append(np.zeros(d), offsets.max())
    result = minimize(
        lambda z: 0.5 * z[:d] @ z[:d] + C * z[d],
        start,
        jac=lambda z: np.append(z[:d], C),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda z: z[d] - offsets - G @ z[:d],
                "jac": lambda z: np.hstack([-G, np.ones((len(G), 1))]),
            },
            {"type": "ineq", "fun": lambda z: z[d], "jac": lambda z: np.append(np.zeros(d), 1.0)},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    w = result.x[:d]
    return w, 0.5 * w @ w + C * max((offsets + G @ w).max(), 0.0)


def minimise_by_bundle(value_and_slope, X, C, *, rounds=300, tol=1e-7):
    """The same for any number of pieces: SLSQP over those met so far, the plainest bundle there is."""
    d = X.shape[1]
    slopes, offsets, best, least = [], [], np.inf, -np.inf
    w = np.zeros(d)
    for _ in range(rounds):
        value, slope = value_and_slope(X @ w)
        objective = 0.5 * w @ w + C * value
        best = min(best, objective)
        slopes.append(slope)
        offsets.append(value - slope @ (X @ w))
        w, model = minimise_pieces(X, np.array(slopes), np.array(offsets), C)
        least = max(least, model)
        if best - least <= tol * max(1.0, C):
            break
    return best


def minimise_in_ball(value_and_slope, d, radius, *, rounds=200, tol=1e-9):
    """Least value of a convex function of weights in a ball: a bundle again, its models solved as cone programs."""
    slopes, offsets, best, least = [], [], np.inf, -np.inf
    w = np.zeros(d)
    for _ in range(rounds):
        value, slope = value_and_slope(w)
        best = min(best, value)
        slopes.append(slope)
        offsets.append(value - slope @ w)
        w, model = _model_in_ball(np.array(slopes), np.array(offsets), radius)
        least = max(least, model)
        if best - least <= tol:
            break
    return best


def _model_in_ball(G, offsets, radius):
    """Weights that minimise the largest of some planes in a ball, and a lower bound by the planes' mixture."""
    n = len(offsets)
    result = minimize(
        lambda a: radius * np.sqrt(a @ G @ (a @ G) + 1e-24) - a @ offsets,
        np.full(n, 1.0 / n),
        jac=lambda a: radius * G @ (a @ G) / np.sqrt(a @ G @ (a @ G) + 1e-24) - offsets,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(n)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    a = np.maximum(result.x, 0.0) / np.maximum(result.x, 0.0).sum()
    slope = a @ G
    length = np.linalg.norm(slope)
    return -radius * slope / max(length, 1e-300), a @ offsets - radius * length
