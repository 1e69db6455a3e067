"""Confidence sequences: the values of a metric against which no bet has won much, whenever one looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, gammaln, logsumexp, xlog1py, xlogy

from csf._common.typing import Array, IntArray

# Places of weights, and of costs, as parts of the largest one. Closer ones would narrow intervals by 4 % at most.
_WEIGHTS = np.append(0.5 ** np.arange(6), 0.0)
_COSTS = np.append(0.5 ** (0.5 * np.arange(24)), 0.0)
# Part of the largest possible stake that a bet takes at most.
_LARGEST = 1.0 - 1e-9
# Relative precision of a stake, of which any one is valid, and of an end.
_NEAR = 1e-5
# That of an end of a share, which is cheap: the smallest that there is.
_EXACT = 4.0 * float(np.finfo(float).eps)
# Powers of 2 below the ratio so far at which an end is searched where there is no lowest one.
_FARTHEST = 40
# Counted samples at which an asymptotic interval is narrowest.
_NARROWEST = 500.0
# Counted samples after which half of the weight of all starts of bets is spent.
_UNIT = 100.0
# Parts of the mixture that an interval of a share bets on, and how many samples each says its share by: those on the
# level itself make intervals narrower where it is kept, or nearly, and hardly wider elsewhere.
_PARTS, _SURE = np.array([0.5, 0.25, 0.25]), np.array([0.0, 30.0, 200.0])
# As many costs of one size must have been met, in effect, before they say how much costs vary.
ENOUGH = 100.0


class TermHistogram:
    """Counts of what samples add to the numerator and the denominator of a metric, at fixed places.

    A sample between places counts at several of them in parts, so that sums stay what they are. The logarithm is
    concave: samples in parts win a little less in each bet than the samples themselves. So what they win is evidence.

    Parameters
    ----------
    fixed, per_cost : ndarray of shape (n_kinds, 2)
        What samples of each kind add if their weight is 1: a fixed amount, and one for each unit of their cost.
    max_weight, max_cost : float or None
        The largest weight, and the largest cost. ``None`` where there are no costs, and for weights up to 1, which are
        parts of a sample.

    Attributes
    ----------
    places : ndarray of shape (n_places, 2)
        Numerator and denominator.
    """

    def __init__(self, fixed: Array, per_cost: Array, max_weight: float | None, max_cost: float | None) -> None:
        self._weights = np.array([1.0, 0.0]) if max_weight is None else max_weight * _WEIGHTS
        self._costs = np.zeros(1) if max_cost is None else max_cost * _COSTS
        # Weight 0 adds nothing: it has no place.
        self._is_kept = slice(0, 1) if max_weight is None else slice(None)
        terms = fixed[:, None] + self._costs[:, None] * per_cost[:, None]
        self.places = (self._weights[self._is_kept, None, None, None] * terms).reshape(-1, 2)

    def count(self, kinds: IntArray, parts: Array, weight: Array, cost: Array) -> Array:
        """Count samples of these weights and costs at the places; they are of ``kinds`` (n, m), in parts that add to 1.

        Parameters
        ----------
        kinds : ndarray of int, shape (n_samples, n_parts)
            Kinds of a sample.
        parts : ndarray of shape (n_samples, n_parts)
            How much of it is of each, which adds up to 1.
        weight, cost : ndarray of shape (n_samples,)
            Its weight and its cost.

        Returns
        -------
        ndarray of shape (n_places,)
            The counts.
        """
        n_kinds = len(self.places) // (self._costs.size * self._weights[self._is_kept].size)
        counts = np.zeros((self._weights.size, n_kinds * self._costs.size))
        for heavy, part in _split(weight, self._weights):
            for dear, share in _split(cost, self._costs):
                places = (heavy[:, None] * n_kinds + kinds) * self._costs.size + dear[:, None]
                counts += np.bincount(places.ravel(), ((part * share)[:, None] * parts).ravel(), counts.size).reshape(
                    counts.shape
                )
        return counts[self._is_kept].ravel()


def _split(values: Array, places: Array) -> Iterator[tuple[IntArray, Array]]:
    """Yield the places above and below values, and the parts that belong there; places fall to 0."""
    if places.size == 1:
        yield np.zeros(values.size, dtype=np.int64), np.ones(values.size)
        return
    above = np.clip(np.searchsorted(-places, -values, side="right") - 1, 0, places.size - 2)
    part = np.clip((values - places[above + 1]) / (places[above] - places[above + 1]), 0.0, 1.0)
    yield above, part
    yield above + 1, 1.0 - part


def log_capital(value: float, places: Array, counts: Array) -> float:
    """Compute the logarithm of the capital of the best constant bet on samples against a value.

    Parameters
    ----------
    value : float
        A value of the metric. Where it is true, the mean of ``top - value bottom`` is 0.
    places : ndarray of shape (n_places, 2)
        Numerators and denominators that samples can have, and so the largest possible stake.
    counts : ndarray of shape (n_places,)
        How many samples have these.

    Returns
    -------
    float
        The logarithm; it increases with the distance of a value from that of the samples.
    """
    gains = places @ (1.0, -value)
    if gains @ counts < 0.0:
        gains = -gains
    # At the end of the range nothing can be lost: any stake is possible.
    gains = gains / max(-gains.min(), 1e-12 * gains.max())
    is_counted = counts > 0.0
    gains, counts = gains[is_counted], counts[is_counted]

    def growth(stake: float) -> float:
        return float(counts @ (gains / (1.0 + stake * gains)))

    if growth(_LARGEST) >= 0.0:
        stake = _LARGEST
    else:
        stake = _root(growth, 0.0, _LARGEST) if growth(0.0) > 0.0 else 0.0
    return float(counts @ np.log1p(stake * gains))


def log_limit(n: float, alpha: float) -> float:
    """Compute the logarithm that `log_capital` of the true value reaches on n samples with probability alpha at most.

    A mixture of all bets (a universal portfolio of two assets, by Cover and Ordentlich) is a martingale, and behind the
    best one of them by no more than this factor [1]_.

    References
    ----------
    .. [1] F. Orabona, K.-S. Jun, "Tight concentrations and confidence sequences from the regret of universal
       portfolio", IEEE Transactions on Information Theory 70, 2024.
    """
    return float(-np.log(alpha) + gammaln(n + 1.0) - gammaln(n + 0.5) + 0.5 * np.log(np.pi))


def of_terms(places: Array, counts: Array, n: float, alpha: float) -> tuple[float, float]:
    """Find the ratios of sums against which no bet on bounded terms has won ``1 / alpha``, whenever one looks."""
    some = places[:, 1] > 0.0
    ratios = places[some, 0] / places[some, 1]
    # A numerator below 0 beside a denominator of 0 leaves the ratio no lower end.
    unbounded = bool((places[~some, 0] < 0.0).any())
    low, high = -np.inf if unbounded else float(ratios.min()), float(ratios.max())
    top, bottom = counts @ places
    if not bottom > 0.0:
        return low, high
    middle, limit = float(np.clip(top / bottom, low, high)), log_limit(n, alpha)

    def excess(value: float) -> float:
        return log_capital(value, places, counts) - limit

    if unbounded:
        below = middle - 2.0 ** np.arange(_FARTHEST)
        low = next((value for value in below.tolist() if excess(value) > 0.0), low)
    low, high = (_root(excess, end, middle) if np.isfinite(end) and excess(end) > 0.0 else end for end in (low, high))
    return low, high


def _root(function: Callable[[float], float], low: float, high: float, rtol: float = _NEAR) -> float:
    """Find where a function is 0 between two places at which its signs differ."""
    return float(brentq(function, low, high, rtol=rtol))  # pyright: ignore[reportArgumentType]


def of_share(ones: float, trials: float, alpha: float, level: float) -> tuple[float, float]:
    """Find the shares at which a mixture of others is at most ``1 / alpha`` times as likely, whenever one looks.

    Half of the mixture knows nothing of the share (Jeffreys' prior), the rest is around the ``level``.
    """
    zeros, most = trials - ones, -np.log(alpha)
    prior = 0.5 + _SURE * level, 0.5 + _SURE * (1.0 - level)
    mixture = logsumexp(betaln(prior[0] + ones, prior[1] + zeros) - betaln(*prior), b=_PARTS)

    def excess(share: float) -> float:
        return float(mixture - xlogy(ones, share) - xlog1py(zeros, -share)) - most

    middle = ones / trials if trials else 0.5
    ends = 1e-12, 1.0 - 1e-12
    low, high = (_root(excess, end, middle, _EXACT) if excess(end) > 0.0 else end for end in ends)
    return (0.0 if ones == 0 else low), (1.0 if zeros == 0 else high)


def log_opened(before: float, counted: float) -> float:
    """Compute the logarithm of the weight of bets that start between two numbers of counted samples."""
    return float(np.log(_UNIT / (_UNIT + before) - _UNIT / (_UNIT + counted)))


def log_capital_of(mixed: Array, counted: float) -> Array:
    """Compute the logarithm of the mean capital of bets, (..., n_stakes); what has not started yet is kept in cash."""
    return np.logaddexp(logsumexp(mixed, axis=-1) - np.log(mixed.shape[-1]), np.log(_UNIT / (_UNIT + counted)))


def effective(sums: Array) -> float:
    """Compute how many samples of one size vary as much as those with these sums of numerators and their squares."""
    return float(sums[0] ** 2 / sums[2]) if sums[2] > 0.0 else 0.0


def asymptotic(sums: Array, alpha: float, counted: float) -> tuple[float, float]:
    """Find the values whose sum ``top - value bottom`` a normal mixture allows (Waudby-Smith and others, 2024).

    The sums are those of numerators, denominators, and their products. There is no interval, but (NaN, NaN), before
    they say how much numerators vary.
    """
    top, bottom, tops, products, bottoms = sums
    scale = counted * (2.0 * np.log(1.0 / alpha) + np.log(2.0 * np.log(1.0 / alpha) + 1.0)) / _NARROWEST
    if effective(sums) < ENOUGH:
        return np.nan, np.nan
    room = 2.0 * (scale + 1.0) / scale * np.log(np.sqrt(scale + 1.0) / alpha)
    # (top - v bottom)^2 <= room (tops - 2 v products + v^2 bottoms), a quadratic in the value v.
    a = bottom**2 - room * bottoms
    if not a > 0.0:
        return 0.0, np.inf
    b, c = top * bottom - room * products, top**2 - room * tops
    root = np.sqrt(max(b * b - a * c, 0.0))
    return max(float((b - root) / a), 0.0), float((b + root) / a)
