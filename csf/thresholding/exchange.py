"""What a threshold stands for: how many false alarms one miss is treated as worth there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from csf.evaluate.entry_means import mean_of_entries, weights_of_units

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray
    from csf.evaluate.draws import Units

# Level of the interval, a prior that keeps odds finite where scores separate the classes, and the steps of the fit.
_LEVEL, _RIDGE, _STEPS = 0.9, 0.1, 50


class ScoredEntries(NamedTuple):
    """Held-out entries with their scores, and the threshold that decides them."""

    entries: Units
    score: Array
    threshold: float


class ExchangeRate(NamedTuple):
    """False alarms that one miss is treated as worth by a threshold, and both ends of the 90 % interval.

    Examples
    --------
    >>> print(ExchangeRate(4.53, 3.52, 5.21))
    4.5 (3.5 to 5.2)
    >>> ExchangeRate(123.4, 98.7, 150.2).in_words(" false alarms")
    '120 false alarms (99 to 150)'
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.in_words("")

    def in_words(self, unit: str) -> str:
        """Format the rate, with its unit, and the interval.

        Parameters
        ----------
        unit : str
            Such as ``" false alarms"``.

        Returns
        -------
        str
            Numbers of two digits.
        """
        value, low, high = (f"{float(f'{number:.2g}'):g}" for number in self)
        return f"{value}{unit} ({low} to {high})"

    @property
    def inverse(self) -> ExchangeRate:
        """The misses that one false alarm is treated as worth."""
        return ExchangeRate(1.0 / self.value, 1.0 / self.high, 1.0 / self.low)


def exchange_rate(entries: Units, score: Array, threshold: float) -> ExchangeRate:
    """Estimate the odds against a positive at a threshold, from held-out scores.

    Who predicts positive from there on acts as if one miss was worth so many false alarms: with these costs both
    answers to a row at the threshold cost the same.

    Parameters
    ----------
    entries : Units
        Truth of both classes, weights, and which entries go together.
    score : ndarray of shape (n_entries,)
        Finite scores, of which the order alone counts.
    threshold : float
        The threshold.

    Returns
    -------
    ExchangeRate
        The odds by a logistic regression on the normal quantile of the rank (the mean of the ranks in both classes) and
        its square; its interval allows for the chance in the samples, at this threshold.

    Raises
    ------
    ValueError
        If the threshold is infinite, or a class has no scores.

    Examples
    --------
    >>> from csf.evaluate.draws import Units
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=5000)
    >>> is_pos = rng.random(5000) < 1.0 / (1.0 + np.exp(2.0 - score))
    >>> print(exchange_rate(Units(is_pos, None, np.arange(5000), np.ones(5000, dtype=int)), score, 0.5))
    4.3 (4 to 4.7)
    """
    is_pos = entries.is_pos
    if not np.isfinite(threshold) or is_pos.all() or not is_pos.any():
        raise ValueError(
            f"threshold {threshold:g} of {score.size} scores, {int(is_pos.sum())} of them of positives, stands for no "
            "exchange rate: it takes scores of both classes, and a threshold between them"
        )
    weights = weights_of_units(entries)
    u = _quantiles(is_pos, score, weights, score)
    point, columns = (
        _quantiles(is_pos, score, weights, np.array([threshold])),
        np.column_stack([np.ones(u.size), u, u * u]),
    )
    prior, coef = _RIDGE * np.diag([0.0, 1.0, 1.0]), np.zeros(3)
    coef[0] = np.log(weights[is_pos].sum() / weights[~is_pos].sum())
    for _ in range(_STEPS):
        proba = expit(columns @ coef)
        hessian = (columns * (weights * proba * (1.0 - proba))[:, None]).T @ columns + prior
        step = np.linalg.solve(hessian, columns.T @ (weights * (is_pos - proba)) - prior @ coef)
        coef = coef + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    place = np.array([1.0, point[0], point[0] ** 2])
    # How far each entry moves the logit there.
    moves = columns @ np.linalg.solve(hessian, place) * (is_pos - proba)
    variance = mean_of_entries(entries, moves[:, None])[1].item() * weights.sum() ** 2
    middle, half = -place @ coef, ndtri(0.5 + _LEVEL / 2.0) * np.sqrt(variance)
    value, low, high = np.exp(np.clip([middle, middle - half, middle + half], -700.0, 700.0)).tolist()
    return ExchangeRate(value, low, high)


def _quantiles(is_pos: BoolArray, score: Array, weight: Array, points: Array) -> Array:
    """Compute normal quantiles of the mean of the weighted ranks within both classes."""
    share = np.zeros(points.size)
    for among in (is_pos, ~is_pos):
        order = np.argsort(score[among], kind="stable")
        values, below = score[among][order], np.concatenate([[0.0], np.cumsum(weight[among][order])])
        first, last = (below[np.searchsorted(values, points, side=side)] for side in ("left", "right"))
        # Half a sample at both ends keeps all quantiles finite.
        share += 0.5 * (0.5 * (first + last) + 0.5) / (below[-1] + 1.0)
    return ndtri(share)
