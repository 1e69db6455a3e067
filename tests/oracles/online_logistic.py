"""Online logistic regression, literally: dense lists, the average as a running convex combination."""

import math


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def shares(averaging, gain):
    """Share rho_t of the newest weights, for t = 1, 2, ..."""
    t = 0
    while True:
        t += 1
        if averaging == "none":
            yield 1.0
        elif averaging == "uniform":
            yield 1.0 / t
        elif averaging == "poly":
            yield (1.0 + gain) / (t + gain)
        else:
            yield 1.0 / (t - 2 ** math.floor(math.log2(t)) + 1)


def dot(w, x):
    return sum(a * b for a, b in zip(w, x, strict=True))


def online_logistic(rows, labels, *, eta0, alpha=0.0, radius=None, averaging="poly", gain=3.0):
    """Yield (posterior before the step, last weights, averaged weights); labels are 0 and 1."""
    w = w_bar = [0.0] * len(rows[0])
    for t, (x, b, rho) in enumerate(zip(rows, labels, shares(averaging, gain)), start=1):
        proba = min(max(sigmoid(dot(w_bar, x)), 1e-12), 1.0 - 1e-12)
        eta = eta0 / math.sqrt(t) if alpha == 0 else eta0 / (1.0 + eta0 * alpha * t)
        error = sigmoid(dot(w, x)) - b
        w = [wj - eta * (error * xj + alpha * wj) for wj, xj in zip(w, x)]
        length = math.sqrt(dot(w, w))
        if radius is not None and length > radius:
            w = [wj * radius / length for wj in w]
        w_bar = [(1.0 - rho) * old + rho * new for old, new in zip(w_bar, w)]
        yield proba, w, w_bar
