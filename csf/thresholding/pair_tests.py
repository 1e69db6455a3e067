"""Exact tests of a gap or a ratio of the rates of two segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, ndtr, xlog1py, xlogy
from scipy.stats import beta, binom

from csf._common.typing import Array, IntArray

if TYPE_CHECKING:
    from csf.metrics.comparisons import PairLimit
    from csf.metrics.constraints import Share

# Part of the error that is spent on the rate that both hypotheses leave open, and pieces that its range is cut into.
_NUISANCE, _PIECES = 0.01, 100
# Numbers of ones that are less likely than this are added to the p-value without a look at them.
_FAR = 1e-9


def excess_probability(
    first: tuple[int, int], second: tuple[int, int], share: Share, limit: PairLimit, error: float = 0.1
) -> float:
    """Compute the p-value of the hypothesis that one rate is too large beside another one, or just at the limit.

    Each pair has the ones and the counted samples of one segment, independent binomials. The excess of the observed
    rates is the statistic. Small ones get rarer with the first rate and more frequent with the second one, so that the
    hypothesis is likeliest where the rates are just at the limit. There the second rate is left open: the largest
    probability over its exact confidence interval counts, plus the probability that this one misses it [1]_. Pieces of
    that interval are bounded by the more favourable end for either rate, so that the p-value is not too small.

    References
    ----------
    .. [1] R. Berger, D. Boos, "P values maximized over a confidence set for the nuisance parameter", Journal of the
       American Statistical Association 89, 1994.

    Examples
    --------
    >>> from csf.metrics.comparisons import NO_LIMIT, PairLimit
    >>> from csf.metrics.binary import Recall
    >>> from csf.metrics.constraints import share_of
    >>> excess_probability((400, 500), (410, 500), share_of(Recall()), PairLimit(scale=1.0, slack=0.05))
    0.0055
    """
    (x, n), (y, m) = first, second
    if not n or not m:
        return 1.0
    observed = limit.excess(share.value(x / n), share.value(y / m))
    miss = _NUISANCE * error
    if share.top == (1.0, 0.0) and share.bottom == (1.0, 1.0):
        # Of many samples Hoeffding's bound is small enough.
        bound = float(np.exp(-2.0 * max(-observed, 0.0) ** 2 / (limit.scale**2 / n + 1.0 / m)))
        if bound <= miss:
            return bound
    low = beta.ppf(0.5 * miss, y, m - y + 1) if y else 0.0
    high = beta.ppf(1.0 - 0.5 * miss, y + 1, m - y) if y < m else 1.0
    # No rate is too large beside one that the largest value is allowed beside.
    high = min(high, share.share(limit.excess(share.value(1.0), 0.0)))
    if low >= high:
        return miss
    ends = np.linspace(low, high, _PIECES + 1)
    least = np.clip(share.share(limit.largest_beside(np.asarray(share.value(ends[:-1])))), 0.0, 1.0)
    ones, others = _likely(n, least), _likely(m, ends[1:])
    # From so many ones of the second on the excess is no larger than the observed one.
    rates = limit.excess(np.asarray(share.value(ones / n)), observed)
    # Beyond the largest value no number of ones is enough.
    beyond = rates > np.asarray(share.value(1.0)) + 1e-9
    enough = np.where(beyond, m + 1.0, np.ceil(m * np.asarray(share.share(rates)) - 1e-9))
    tails = np.cumsum(_chances(others, m, ends[1:])[:, ::-1], axis=1)[:, ::-1]
    tails = np.pad(tails, ((0, 0), (0, 1)))[:, np.clip(enough - others[0], 0, others.size).astype(int)]
    chance = (_chances(ones, n, least) * tails).sum(axis=1)
    return float(min(1.0, chance.max() + 4.0 * _FAR + miss))


def _likely(n: int, shares: Array) -> IntArray:
    """List the numbers of ones among n samples that are not too unlikely for ascending shares."""
    return np.arange(int(binom.ppf(_FAR, n, shares[0])), int(binom.isf(_FAR, n, shares[-1])) + 1)


def _chances(ones: IntArray, n: int, shares: Array) -> Array:
    """Compute binomial probabilities of numbers of ones, a row for each share; faster than those of `binom`."""
    ways = gammaln(n + 1.0) - gammaln(ones + 1.0) - gammaln(n - ones + 1.0)
    return np.exp(ways + xlogy(ones, shares[:, None]) + xlog1py(n - ones, -shares[:, None]))


def violation_of_pairs(counts: IntArray, share: Share, limit: PairLimit, error: float) -> float:
    """Compute the p-value of the hypothesis that the rates of some two segments break a limit, or are just at it.

    Every pair has to pass, so that the largest p-value counts; those of the largest excess come first, and the first
    one that fails ends the test.
    """
    pairs, p = [(tuple(a), tuple(b)) for a, b in permutations(counts.tolist(), 2)], 0.0
    for a, b in sorted(pairs, key=lambda pair: -limit.excess(*(ones / max(n, 1) for ones, n in pair))):
        p = max(p, excess_probability(a, b, share, limit, error))
        if p > error:
            break
    return p


def expected_violation_of_pairs(
    counts: Sequence[IntArray], share: Share, limit: PairLimit, n_rows: int
) -> Callable[[float], Array]:
    """Predict the p-value of each of some decisions, counted on so many rows, for any number of rows.

    By normal approximation.
    """
    ones, n = np.stack(counts)[..., 0].astype(float), np.stack(counts)[..., 1].astype(float)
    # A sample of either kind besides: shares of 0 and 1 are not sure.
    rate = (ones + 0.5) / (n + 1.0)
    value = np.asarray(share.value(rate))
    slope = np.asarray(share.value(np.minimum(rate + 1e-6, 1.0))) - value
    variance = (slope / 1e-6) ** 2 * rate * (1.0 - rate) / np.maximum(n, 1.0)

    def p(n_units: float) -> Array:
        excess = limit.excess(value[:, :, None], value[:, None, :])
        spread = np.sqrt((limit.scale**2 * variance[:, :, None] + variance[:, None, :]) * n_rows / n_units)
        pairs = ndtr(excess / spread)
        pairs[:, np.arange(excess.shape[1]), np.arange(excess.shape[1])] = 0.0
        return pairs.max(axis=(1, 2))

    return p
