"""STAMP, literally: rows and signs in, lists of weights out."""

import math

from oracles.spade import dot, reward, within


def weights_of(metric, v):
    """Weights of a positive and a negative example at level v."""
    if metric.name == "jaccard":
        return 1.0, v
    if metric.name.startswith("gower"):
        return (1.0 + (metric.sigma - 1.0) * v,) * 2
    return 1.0 + metric.beta**2 - v, v


def canonical_value(metric, P, N, theta):
    """Value of two rates, or of average rewards; None where its denominator is too small."""
    if metric.name == "jaccard":
        top, below, unit = P, 1.0 + theta - theta * N, 1.0 + theta
    elif metric.name.startswith("gower"):
        top, unit = P + theta * N, metric.sigma * (1.0 + theta)
        below = unit + (1.0 - metric.sigma) * (P + theta * N)
    else:
        squared = metric.beta**2
        top, unit = (1.0 + squared) * P, squared + theta
        below = squared + theta + P - theta * N
    return top / below if below / unit > 1e-6 else None


def stamp(rows, signs, metric, *, radius=100.0, eta0=50.0, s0=100, challenge=100, growth=2.0, surrogate=False,
          kind="hinge"):  # fmt: skip
    """Yield (w, model, v) after each example; the model is the mean once a tenth of its stage is done."""
    w = [0.0] * len(rows[0])
    model, mean, v, e, k, learning = list(w), [0.0] * len(w), 0.0, 0, 0, True
    tally = {}
    for x, y in zip(rows, signs, strict=True):
        k += 1
        score = dot(w, x)
        r, slope = reward(y * score, kind)
        if learning:
            step = eta0 / math.sqrt(k) * weights_of(metric, v)[0 if y > 0 else 1] * slope * y
            w = within([wi + step * xi for wi, xi in zip(w, x)], radius)
            mean = [m + (wi - m) / k for m, wi in zip(mean, w)]
            if k == int(s0 * growth**e):
                w = model = list(mean)
                k, learning, tally = 0, False, {"n+": 0, "n-": 0, "hit+": 0, "hit-": 0, "r+": 0.0, "r-": 0.0}
        else:
            sign = "+" if y > 0 else "-"
            tally["n" + sign] += 1
            tally["hit" + sign] += int((score > 0) == (y > 0))
            tally["r" + sign] += r
            if k == int(challenge * growth**e):
                if tally["n+"] and tally["n-"]:
                    rates = tally["hit+"] / tally["n+"], tally["hit-"] / tally["n-"]
                    means = tally["r+"] / tally["n+"], tally["r-"] / tally["n-"]
                    theta = tally["n-"] / tally["n+"]
                    value = canonical_value(metric, *(means if surrogate else rates), theta)
                    value = value if value is not None else canonical_value(metric, *rates, theta)
                    v = min(max(value, 0.0), 0.999)
                k, learning, e, mean = 0, True, e + 1, [0.0] * len(w)
        used = list(mean) if learning and k >= 0.1 * int(s0 * growth**e) else list(model)
        yield list(w), used, v
