"""OMCSL, literally: rows and signs in, one list of weights an expert."""

import math


def dot(w, x):
    return sum(a * b for a, b in zip(w, x, strict=True))


def slope(margin, loss):
    """Minus the derivative of the loss."""
    if loss == "hinge":
        return 1.0 if margin < 1.0 else 0.0
    return 1.0 / (1.0 + math.exp(margin)) if margin < 700 else 0.0


def choose(values, rate, uniform):
    highest = max(values)
    weights = [math.exp(rate * (value - highest)) for value in values]
    passed, total = 0.0, sum(weights)
    for k, weight in enumerate(weights):
        passed += weight / total
        if uniform < passed:
            return k
    return len(values) - 1


def area(scores, signs, measure):
    """Area under the ROC curve by pairs, or the mean precision at the score of each positive; 0 without a class."""
    pos = [s for s, y in zip(scores, signs) if y > 0]
    neg = [s for s, y in zip(scores, signs) if y < 0]
    if not (pos and neg):
        return 0.0
    if measure == "auroc":
        return sum((p > q) + 0.5 * (p == q) for p in pos for q in neg) / (len(pos) * len(neg))
    above = [(sum(p >= s for p in pos), sum(q >= s for q in neg)) for s in pos]
    return sum(tp / (tp + fp) for tp, fp in above) / len(pos)


def omcsl(rows, signs, uniforms, *, n_experts, beta=1.0, eta0=1.0, gamma=20.0, loss="logistic", radius=100.0,
          measure=None, n_bins=100):  # fmt: skip
    """Yield a dict for each example; ``gamma=None`` is the square root of t, ``measure=None`` the F-measure."""
    levels = [1.0 - j / (n_experts + 1) for j in range(1, n_experts + 1)]
    costs = [((1 + beta**2 - level) / (1 + beta**2), level / (1 + beta**2)) for level in levels]
    W = [[0.0] * len(rows[0]) for _ in levels]
    mean = [list(w) for w in W]
    a, c, values = [0] * n_experts, [0.0] * n_experts, [0.0] * n_experts
    bins, drawn = [[] for _ in levels], []
    for t, (x, y, uniform) in enumerate(zip(rows, signs, uniforms), start=1):
        z = [dot(w, x) for w in W]
        k = choose(values, gamma if gamma is not None else math.sqrt(t), uniform)
        for j in range(n_experts):
            a[j] += int(y > 0 and z[j] > 0)
            c[j] += beta**2 * int(y > 0) + int(z[j] > 0)
            bins[j].append(min(int(n_bins / (1.0 + math.exp(-z[j]))), n_bins - 1))
            values[j] = (1 + beta**2) * a[j] / c[j] if c[j] > 0 else 0.0
            if measure:
                values[j] = area(bins[j], signs, measure)
            rate = eta0 / math.sqrt(t) * costs[j][0 if y > 0 else 1] * slope(y * z[j], loss) * y
            W[j] = [wi + rate * xi for wi, xi in zip(W[j], x)]
            length = math.sqrt(dot(W[j], W[j]))
            if length > radius:
                W[j] = [wi * radius / length for wi in W[j]]
            mean[j] = [old + (new - old) / t for old, new in zip(mean[j], W[j])]
        drawn.append(bins[k][-1])
        yield {
            "bins": bins, "drawn": drawn,
            "k": k, "emitted": z[k] > 0, "z": z, "a": list(a), "c": list(c), "values": list(values),
            "W": [list(w) for w in W], "mean": [list(w) for w in mean],
        }  # fmt: skip
