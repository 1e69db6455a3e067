"""Alerts of a batch of which at most a share is wrong on average: p-values against held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.stats import beta, binom

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray
from csf.data.responses import TIE
from csf.evaluate.entry_means import n_independent

if TYPE_CHECKING:
    from csf.evaluate.draws import Units
    from csf.evaluate.stores import HeldOutEntries

# Equal scores of new and held-out rows may differ by so many units in the last place.
_LAST_PLACES = 4.0
# So many times as many alerts as among held-out rows are said, where they are there by chance this rarely.
_FAR_MORE, _CHANCE = 5.0, 1e-4


@dataclass(frozen=True, eq=False)
class WrongAlerts:
    """Scores of held-out rows for which an alert would be wrong, such as negatives.

    Parameters
    ----------
    scores : ndarray of shape (n_scores,)
        Scores, ascending; minus infinity where the rule makes no row an alert.
    shares : ndarray of shape (n_scores + 1,)
        Share of the weight of these rows that is at each score or above; 0 at the end.
    n_rows : float
        For how many independent rows of equal weight they stand.
    trained : WrongAlerts, default=None
        Scores of training rows by the final model, where those of held-out rows are from models of fewer rows. A
        p-value is then the larger one of both: training rows are fitted too well, but fewer rows can give other scores.
    every : WrongAlerts, default=None
        Scores of all held-out rows, whether an alert would be wrong or not.
    margin : ndarray of shape (n_scores + 1,), default=None
        What is added to a share, as the models of the folds, and so the final one, differ: half the standard deviation
        of their shares beyond that of chance.
    exact : bool, default=False
        Whether the held-out rows are scored by the model that predicts, which has not been trained on them.

    Notes
    -----
    A row of weight 2 is two rows. A sample of repeated folds has several scores, which share its weight. Rows of a
    group depend on each other, and weights that are no counts make some rows matter more: the number of independent
    rows is then Kish's effective one, the squared sum of the weights of units (samples or groups) over the sum of their
    squares.

    Examples
    --------
    >>> known = WrongAlerts(np.array([0.1, 0.3, 0.6]), np.array([1.0, 2 / 3, 1 / 3, 0.0]), 3.0)
    >>> known.p_values(np.array([0.0, 0.3, 0.5, 0.9]))
    array([1.  , 0.75, 0.5 , 0.25])
    """

    scores: Array
    shares: Array
    n_rows: float
    trained: WrongAlerts | None = None
    every: WrongAlerts | None = None
    margin: Array | None = None
    exact: bool = False

    @classmethod
    def of(cls, score: Array, wrong: BoolArray, units: Units | HeldOutEntries) -> Self:
        """Collect the entries for which an alert would be wrong; ``units`` say what the entries are of.

        Parameters
        ----------
        score : ndarray of shape (n_entries,)
            Scores, larger where an alert is rather right.
        wrong : ndarray of bool, shape (n_entries,)
            Where an alert would be wrong.
        units : Units or HeldOutEntries
            Samples and weights of the entries.

        Returns
        -------
        WrongAlerts
            The scores.
        """
        weight = units.weights_in(units.copies) * wrong
        used = np.flatnonzero(weight > 0.0)
        used = used[np.argsort(score[used], kind="stable")]
        tail = np.append(np.cumsum(weight[used][::-1])[::-1], 0.0)
        margin = None if units.folds is None else _spread(weight[used], units.folds[used])
        known = cls(score[used], tail / (tail[0] or 1.0), n_independent(units, weight), margin=margin)
        return known if wrong.all() else replace(known, every=cls.of(score, np.ones_like(wrong), units))

    def of_sample(self, n_rows: float) -> Self:
        """Return what a sample says about as many rows: shares less the standard error that the sample leaves."""
        if self.n_rows >= n_rows:
            return self
        error = np.sqrt(self.shares * (1.0 - self.shares) / max(self.n_rows, 1.0))
        return replace(self, shares=np.maximum(self.shares - error, 0.0), n_rows=n_rows)

    def p_values(self, score: Array) -> Array:
        """Compute for new rows how often a row for which an alert is wrong scores as high.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores of new rows by the same model.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values in (0, 1]: one more than the held-out rows at least as high, over one more than all of them; or the
            same of training rows, where that is more.
        """
        given = np.asarray(score).astype(self.scores.dtype)
        with np.errstate(invalid="ignore"):
            lowest = np.where(np.isfinite(given), given - _LAST_PLACES * np.spacing(np.abs(given)), given)
        places = np.searchsorted(self.scores, lowest, side="left")
        p_values = (1.0 + self.n_rows * self.shares[places]) / (self.n_rows + 1.0)
        if self.trained is not None:
            p_values = np.maximum(p_values, self.trained.p_values(score))
            if self.margin is not None:
                p_values = np.minimum(p_values + self.margin[places], 1.0)
        return np.where(np.isnan(given), 1.0, p_values)

    def share_of_wrong(self, p_values: Array) -> float:
        """Estimate the share of rows of a batch for which an alert would be wrong, by Storey's estimate; at most 1.

        1 where p-values are approximate, of out-of-fold scores.
        """
        if not self.exact:
            return 1.0
        return min(1.0, 2.0 * (1.0 + float((p_values > 0.5).sum())) / max(p_values.size, 1))


def _spread(weight: Array, folds: IntArray) -> Array:
    """Compute the margin at entries that ascend by score, see `WrongAlerts`, and 0 beyond the last one."""
    means, squares, chance, n_folds = np.zeros(weight.size + 1), np.zeros(weight.size + 1), 0.0, 0
    for fold in np.unique(folds):
        there = weight * (folds == fold)
        share = np.append(np.cumsum(there[::-1])[::-1], 0.0) / there.sum()
        n_folds += 1
        change = share - means
        means += change / n_folds
        squares += change * (share - means)
        chance += (there @ there) / there.sum() ** 2
    if n_folds < 2:
        return np.zeros(weight.size + 1)
    excess = squares / (n_folds - 1) - means * (1.0 - means) * chance / n_folds
    return 0.5 * np.sqrt(np.maximum(excess, 0.0))


class ComparedRows(NamedTuple):
    """Labelled rows that limits compare with: what decides reads of them.

    ``truth`` are codes, a column for each of several labels, and ``units`` say what the rows are of.
    """

    rows: Any
    truth: Array
    units: Units | HeldOutEntries

    def alerts(self, score: Array, place: int) -> WrongAlerts:
        """Collect the rows for which an alert of a class or label would be wrong."""
        wrong = self.truth != place if self.truth.ndim == 1 else self.truth[:, place] <= 0
        return WrongAlerts.of(score, wrong, self.units)


@dataclass(frozen=True, eq=False)
class AlertLimit:
    r"""Largest share of wrong alerts in a batch, on average over batches.

    Parameters
    ----------
    known : WrongAlerts
        Held-out rows for which an alert would be wrong.
    share : float
        The largest share, in (0, 1).

    Notes
    -----
    The procedure of Benjamini and Hochberg [1]_ on p-values against held-out rows [2]_: of ``m`` rows with the p-values
    :math:`p_{(1)} \le \dots \le p_{(m)}` the first ``k`` are alerts, with the largest ``k`` for which
    :math:`p_{(k)} \le q \, k / m`. The mean share of wrong alerts over batches, 0 in a batch without alerts, is then
    at most ``q`` times the share of rows for which an alert would be wrong. Where the held-out rows are scored by the
    model that predicts, that share is estimated by the p-values above 1/2 [4]_, and ``q`` is divided by it. The mean is
    kept for any ``k`` of the rows with p-values of at most :math:`q \, k / m`, whichever they are, as long as p-values
    alone say how many [3]_. Where there may be no more than ``n`` alerts, ``k`` is the largest one up to ``n``, and any
    ``k`` of these rows will do.

    References
    ----------
    .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
       57, 1995.
    .. [2] S. Bates, E. Candès, L. Lei, Y. Romano, M. Sesia, "Testing for outliers with conformal p-values", Annals of
       Statistics 51, 2023.
    .. [3] G. Blanchard, E. Roquain, "Two simple sufficient conditions for FDR control", Electronic Journal of
       Statistics 2, 2008.
    .. [4] J. Storey, J. Taylor, D. Siegmund, "Strong control, conservative point estimation and simultaneous
       conservative consistency of false discovery rates", Journal of the Royal Statistical Society B 66, 2004.

    Examples
    --------
    >>> known = WrongAlerts(np.arange(99.0), np.arange(99, -1, -1) / 99, 99.0)
    >>> AlertLimit(known, 0.2).passing(np.array([3.0, 20.0, 94.5, 98.5, 99.5]))
    array([False, False,  True,  True,  True])
    """

    known: WrongAlerts
    share: float

    def passing(self, score: Array, most: int | None = None) -> BoolArray:
        """Mark the rows of a batch that are alerts, or of which any so many are alerts.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores of all rows of the batch, minus infinity for those that cannot be alerts whatever the limit.
        most : int, default=None
            Largest number of alerts; ``None`` for no limit.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            Alerts: none scores below a row that is none. Where more than ``most`` rows are marked, any ``most`` of them
            keep the limit.

        Raises
        ------
        ValueError
            If the batch is a single row.

        Warns
        -----
        UserWarning
            If no score can make a row an alert, as there are too few held-out rows for the share and the number, or far
            more rows are alerts than among held-out rows.
        """
        if score.size == 1:
            raise ValueError(
                "wrong_at_most= decides the rows of a batch together, and this is one row: alone it would be a wrong "
                f"alert in {self.share:.0%} of cases. Give all rows of the batch, or compare score_samples of the row "
                "with the smallest score of an alert in the last batch"
            )
        n_most = score.size if most is None else min(most, score.size)
        p_values = self.known.p_values(score)
        level = self.share / self.known.share_of_wrong(p_values)
        if n_most and (self.known.n_rows + 1.0) * level * n_most < score.size * (1.0 - TIE):
            few = n_most < score.size
            warn(
                f"no row can be an alert of which at most a share of {self.share:g} is wrong"
                + f", with at most {n_most} alerts in {score.size} rows" * few
                + f": held-out rows for which an alert would be wrong stand for {self.known.n_rows:.0f}, and "
                f"{score.size / (level * n_most) - 1.0:.0f} are needed at least. Fit on more rows, or allow "
                + "more alerts, " * few
                + "a larger share"
            )
        ordered = np.sort(p_values)[:n_most]
        # Rounding makes no difference where a p-value is at its limit.
        limits = level * np.arange(1, ordered.size + 1) / max(score.size, 1) * (1.0 + TIE)
        steps = np.flatnonzero(ordered <= limits)
        passing = p_values <= (limits[steps[-1]] if steps.size else 0.0)
        if passing.any() and self.known.every is not None:
            self._warn_of_many(int(passing.sum()), score.size, self.known.every)
        return passing

    def _warn_of_many(self, n_alerts: int, n_rows: int, held_out: WrongAlerts) -> None:
        """Warn of far more alerts than there would be among as many held-out rows, beyond chance in both."""
        shares, known = held_out.p_values(held_out.scores), held_out.n_rows + 1.0
        p_values = self.known.p_values(held_out.scores)
        level = self.share / self.known.share_of_wrong(p_values)
        share = shares[p_values <= level * shares].max(initial=1.0 / known)
        likely = beta.isf(_CHANCE, known * share, known * (1.0 - share)) if share < 1.0 else 1.0
        if n_alerts > _FAR_MORE * share * n_rows and binom.sf(n_alerts - 1, n_rows, likely) < _CHANCE:
            warn(
                f"{n_alerts} of {n_rows} rows are alerts, {n_alerts / n_rows / share:.0f} times as many as of held-out "
                f"rows ({share:.2%}). Unless positives are so much more frequent, negatives look otherwise than those "
                f"that were compared with, and more than {self.share:.0%} of the alerts are wrong: check some of them, "
                "and fit on newer rows"
            )


# Limits by the place of a class or label; of two classes 1 is the positive one.
AlertLimits: TypeAlias = Mapping[int, AlertLimit]
NO_LIMITS: AlertLimits = MappingProxyType({})


def of_positive(limits: AlertLimits, label: int) -> AlertLimits:
    """Return the limit on one of several labels as one on the positive class of two."""
    return {1: limits[label]} if label in limits else NO_LIMITS


def no_scores(use: str) -> ValueError:
    """Build the error for what needs scores where a base's own decisions were kept."""
    return ValueError(
        f"threshold=None keeps the base's own predictions, so there is no score {use}; use threshold='stable'"
    )


def largest_of(scores: Array, limited: Sequence[int]) -> IntArray:
    """Find which of the classes with a limit has the largest score in each row: the row is an alert of no other one.

    So as many rows of a class are alerts as its limit counts.
    """
    return np.asarray(limited)[scores[:, limited].argmax(axis=1)]


def sureness_of(proba: Array, place: int, answers: IntArray) -> Array:
    """Return the probabilities of an answer that limits compare; rows of other answers are below all others."""
    return np.where(answers == place, proba[:, place], -np.inf)


def allowed_alerts(limits: AlertLimits, proba: Array, answers: IntArray, at_most: Mapping[int, int]) -> BoolArray:
    """Mark the answers that limits on wrong alerts leave open, of shape (n_rows, n_classes).

    A class with a limit is open to rows that pass, among those with it in ``answers``; ``at_most`` has the largest
    numbers of answers.
    """
    allowed = np.ones(proba.shape, dtype=bool)
    for place, limit in limits.items():
        allowed[:, place] = limit.passing(sureness_of(proba, place, answers), at_most.get(place))
    return allowed
