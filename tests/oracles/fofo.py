"""FOFO, literally: posteriors and labels (0, 1) in, stage by stage."""

import math
from itertools import islice


def number_of_stages(n):
    if n <= 2:
        return 1
    return max(1, math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1)


class Fofo:
    """Share of positives and count of examples, which all runs share."""

    def __init__(self, beta, step_scale=1.0):
        self.beta, self.step_scale = beta, step_scale
        self.highest = 1.0 / (1.0 + beta**2)
        self.pi, self.t = 0.0, 0

    def run(self, stream, n, theta_hat, radius, *, forever):
        """Yield a dict for each example; the last stage takes what remains, of n examples or of the stream."""
        m = number_of_stages(n)
        n0 = n // m
        for k in range(1, m + 1):
            gamma = self.step_scale * radius / math.sqrt(10 * n0)
            first = theta = mean = theta_hat
            lo, hi = max(0.0, first - radius), min(self.highest, first + radius)
            length = n0 if k < m else None if forever else n - n0 * (m - 1)
            total = first
            for tau, (eta, y) in enumerate(islice(stream, length), start=1):
                y_hat = 1 if eta >= mean else 0
                self.t += 1
                self.pi += (y - self.pi) / self.t
                gradient = self.beta**2 * self.pi * theta - max(eta - theta, 0.0)
                theta = min(max(theta - gamma * gradient, lo), hi)
                total += theta
                mean = total / (tau + 1)
                yield {
                    "y_hat": y_hat, "theta": theta, "mean": mean, "first": first, "radius": radius, "stage": k,
                    "pi": self.pi,
                }  # fmt: skip
            theta_hat, radius = mean, radius / 2


def fofo(posteriors, labels, *, beta, horizon=None, step_scale=1.0):
    """Yield a dict for each example; without a horizon in blocks of 1000, 2000, ... examples."""
    algorithm = Fofo(beta, step_scale)
    stream = iter(list(zip(posteriors, labels)))
    if horizon is not None:
        yield from algorithm.run(stream, horizon, 0.0, algorithm.highest, forever=True)
        return
    n, theta, radius, left = 1000, 0.0, algorithm.highest, len(labels)
    while left > 0:
        for step in algorithm.run(stream, n, theta, radius, forever=False):
            theta = step["mean"]
            left -= 1
            yield step
        n, radius = 2 * n, algorithm.highest / 2
