"""A Gaussian belief about the weights of a logistic model, literally: one example at a time, nothing gathered.

The covariance is inverted anew for each example; the most probable score is found by bisection. Values are divided by
the largest so far, where a value counts as larger if it is so by a tenth.
"""

import numpy as np


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z)) if z >= 0 else np.exp(z) / (1.0 + np.exp(z))


def settled(score, reach, target):
    """Root z of z = score + reach * (target - sigmoid(z))."""
    lo, hi = score - reach, score + reach
    for _ in range(200):
        z = 0.5 * (lo + hi)
        if z - score - reach * (target - sigmoid(z)) > 0.0:
            hi = z
        else:
            lo = z
    return 0.5 * (lo + hi)


def enlarged(mean, precision, j, growth, prior):
    """The same belief where feature j has a larger unit, after an observation that its weight is 0."""
    change = np.eye(mean.size)
    change[j, j] = growth
    mean, precision = change @ mean, np.linalg.inv(change) @ precision @ np.linalg.inv(change)
    at = precision @ mean
    precision[j, j] += prior * (1.0 - growth**-2)
    return np.linalg.solve(precision, at), precision


def gaussian_belief(rows, labels, *, prior=1.0, weights=(1.0, 1.0), offset=0.0, diagonal=False, intercept=0.1):
    """Yield (moderated log-odds before, weights) after each example; the last value of a row is the constant 1.

    With ``diagonal`` only variances are kept, a unit goes half-way to a larger value and the mean keeps its number
    then, and log-odds are plain.
    """
    n = rows.shape[1]
    mean, unit = np.zeros(n), np.append(np.zeros(n - 1), 1.0)
    precision = np.diag(np.append(np.full(n - 1, prior), intercept))
    for row, b in zip(rows, labels, strict=True):
        for j in range(n - 1):
            if abs(row[j]) > 1.1 * unit[j]:
                new = abs(row[j])
                if unit[j] > 0.0:
                    if diagonal:
                        new = np.sqrt(unit[j] * new)
                    kept = mean.copy()
                    mean, precision = enlarged(mean, precision, j, new / unit[j], prior)
                    if diagonal:
                        mean = kept
                unit[j] = new
        x = row / np.where(unit > 0.0, unit, 1.0)
        along = np.linalg.solve(precision, x)
        score, reach, cost = mean @ x, along @ x, weights[0] if b else weights[1]
        p = sigmoid(settled(score + offset, cost * reach, float(b)))
        mean = mean + cost * (b - p) * along
        more = cost * p * (1.0 - p) * np.outer(x, x)
        precision = precision + (np.diag(np.diag(more)) if diagonal else more)
        moderated = score if diagonal else score / np.sqrt(1.0 + np.pi / 8.0 * reach)
        yield moderated, mean / np.where(unit > 0.0, unit, np.inf)
