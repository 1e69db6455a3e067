"""SPADE, literally: rows and signs in, lists of weights out; projections of duals have tests of their own."""

import math
from dataclasses import replace

from csf.metrics import GMean, QMean
from csf.online._ascent import dual_projection
from csf.online.spade import MEASURES


def dot(w, x):
    return sum(a * b for a, b in zip(w, x, strict=True))


def reward(margin, kind):
    """Reward of a margin, and its slope."""
    if kind == "hinge":
        return min(1.0, margin), float(margin < 1.0)
    softplus = math.log1p(math.exp(-margin)) if margin > -700 else -margin
    sigmoid = 1.0 / (1.0 + math.exp(margin)) if margin < 700 else 0.0
    return 1.0 - softplus / math.log(2.0), sigmoid / math.log(2.0)


def within(w, radius):
    length = math.sqrt(dot(w, w))
    return [wi * radius / length for wi in w] if length > radius else w


def spade(
    rows, signs, metric, *, radius=100.0, eta0=100.0, dual_eta0=0.2, kind="hinge", pos=None, uniforms=None,
    closed=False, memory=0.99, fixed_eps=False, gain=0.0,
):  # fmt: skip
    """Yield (w, mean w, (alpha, beta), steps) after each example; with ``uniforms``, sampling is balanced."""
    w = [0.0] * len(rows[0])
    mean, a, b, t = list(w), 0.5, 0.5, 0
    met, learnt, averages = {1: 0, -1: 0}, {1: 0, -1: 0}, {1: 0.0, -1: 0.0}
    for i, (x, y) in enumerate(zip(rows, signs, strict=True)):
        met[y] += 1
        p = pos if pos is not None else min(max((met[1] + 0.5) / (met[1] + met[-1] + 1.0), 1e-3), 0.999)
        if uniforms is not None:
            own = p if y > 0 else 1.0 - p
            if own > 0.5 and uniforms[i] >= (1.0 - own) / own:
                yield list(w), list(mean), (a, b), t
                continue
            p = 0.5
        t += 1
        learnt[y] += 1
        share = p if y > 0 else 1.0 - p
        rate = min(p, 1.0 - p) / math.sqrt(t)
        r, slope = reward(y * dot(w, x), kind)
        step = eta0 * rate * (a if y > 0 else b) / share * slope * y
        region = metric
        if isinstance(metric, GMean) and not fixed_eps:
            # at t = 1 the box is one point; the metric wants eps < 1
            region = replace(metric, eps=min(t**-0.25, 1.0 - 1e-16))
            r += t**-0.25
        averages[y] += max(1.0 / learnt[y], 1.0 - memory) * (r - averages[y])
        if learnt[1] and learnt[-1]:
            if closed:
                a, b = region.dual(averages[1], averages[-1])
            else:
                da = db = float(isinstance(metric, QMean))  # slopes of the conjugate
                da, db = (r / share if y > 0 else 0.0) - da, (r / share if y < 0 else 0.0) - db
                a, b = a - dual_eta0 * rate * da, b - dual_eta0 * rate * db
                a, b = dual_projection(MEASURES[type(metric)], a, b, getattr(region, "eps", 0.0))
        w = within([wi + step * xi for wi, xi in zip(w, x)], radius)
        mean = [m + (1.0 + gain) / (t + gain) * (wi - m) for m, wi in zip(mean, w)]
        yield list(w), list(mean), (a, b), t
