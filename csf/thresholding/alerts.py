"""Alerts of a batch of which at most a share is wrong on average: p-values against held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from scipy.stats import false_discovery_control

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Label, Samples
from csf._common.validation import check_fraction
from csf.thresholding.batch import best_rows

if TYPE_CHECKING:
    from csf.evaluate.draws import Units
    from csf.evaluate.stores import Store

# Equal scores of new and held-out rows may differ by so many units in the last place.
_LAST_PLACES = 4.0


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

    @classmethod
    def of(cls, score: Array, wrong: BoolArray, units: Units | Store) -> Self:
        """Collect the entries for which an alert would be wrong; ``units`` say what the entries are of.

        Parameters
        ----------
        score : ndarray of shape (n_entries,)
            Scores, larger where an alert is rather right.
        wrong : ndarray of bool, shape (n_entries,)
            Where an alert would be wrong.
        units : Units or EntryStore
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
        of_units = np.bincount(units.samples, weight, minlength=units.copies.size)
        squares = float((of_units**2 / np.maximum(units.copies, 1)).sum())
        total = float(tail[0])
        return cls(score[used], tail / (total or 1.0), total**2 / squares if squares > 0.0 else 0.0)

    def p_values(self, score: Array) -> Array:
        """Compute for new rows how often a row for which an alert is wrong scores as high.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores of new rows by the same model.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values in (0, 1]: one more than the held-out rows at least as high, over one more than all of them.
        """
        given = np.asarray(score).astype(self.scores.dtype)
        with np.errstate(invalid="ignore"):
            lowest = np.where(np.isfinite(given), given - _LAST_PLACES * np.spacing(np.abs(given)), given)
        share = self.shares[np.searchsorted(self.scores, lowest, side="left")]
        return np.where(np.isnan(given), 1.0, (1.0 + self.n_rows * share) / (self.n_rows + 1.0))


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
    at most ``q`` times the share of rows for which an alert would be wrong. That holds for any ``k`` of the rows with
    p-values of at most :math:`q \, k / m`, whichever they are, as long as p-values alone say how many [3]_.

    References
    ----------
    .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
       57, 1995.
    .. [2] S. Bates, E. Candès, L. Lei, Y. Romano, M. Sesia, "Testing for outliers with conformal p-values", Annals of
       Statistics 51, 2023.
    .. [3] G. Blanchard, E. Roquain, "Two simple sufficient conditions for FDR control", Electronic Journal of
       Statistics 2, 2008.

    Examples
    --------
    >>> known = WrongAlerts(np.arange(99.0), np.arange(99, -1, -1) / 99, 99.0)
    >>> AlertLimit(known, 0.2).passing(np.array([3.0, 20.0, 94.5, 98.5, 99.5]))
    array([False, False,  True,  True,  True])
    """

    known: WrongAlerts
    share: float

    def passing(self, score: Array) -> BoolArray:
        """Mark the rows of a batch that are alerts.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores of all rows of the batch, minus infinity for those that cannot be alerts whatever the limit.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            Alerts: none scores below a row that is none.

        Raises
        ------
        ValueError
            If the batch is a single row.

        Warns
        -----
        UserWarning
            If no score can make a row an alert.
        """
        if score.size == 1:
            raise ValueError(
                "wrong_at_most= decides the rows of a batch together, and this is one row: alone it would be a wrong "
                f"alert in {self.share:.0%} of cases. Give all rows of the batch, or compare score_samples of the row "
                "with the smallest score of an alert in the last batch"
            )
        if (self.known.n_rows + 1.0) * self.share < 1.0:
            warn(
                f"no row can be an alert of which at most a share of {self.share:g} is wrong: held-out rows for which "
                f"an alert would be wrong stand for {self.known.n_rows:.0f}, and {1.0 / self.share - 1.0:.0f} are "
                "needed at least. Fit on more rows, or allow a larger share"
            )
        return false_discovery_control(self.known.p_values(score)) <= self.share

    def surest(self, score: Array, most: int, X: Samples) -> BoolArray:
        """Mark the rows of a batch of which the best ``most`` by another rank than the score are the alerts.

        Where too few p-values are so small that any rows will do, those of largest score are the alerts.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            As for `passing`.
        most : int
            Largest number of alerts.
        X : array-like of shape (n_samples, n_features)
            Samples, whose content says which of equal scores count.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            The rows.
        """
        passing = self.passing(score)
        if np.count_nonzero(passing) <= most:
            return passing
        any_will_do = self.known.p_values(score) <= self.share * most / score.size
        return any_will_do if np.count_nonzero(any_will_do) >= most else best_rows(passing, score, most, X)


# Limits by the place of a class or label; of two classes 1 is the positive one.
AlertLimits: TypeAlias = Mapping[int, AlertLimit]
NO_LIMITS: AlertLimits = MappingProxyType({})


def of_positive(limits: AlertLimits, label: int) -> AlertLimits:
    """Return the limit on one of several labels as one on the positive class of two."""
    return {1: limits[label]} if label in limits else NO_LIMITS


def no_scores_to_compare() -> ValueError:
    """Build the error for limits on wrong alerts where a base's own decisions were kept."""
    return ValueError(
        "threshold=None keeps the base's own predictions, so there is no score for wrong_at_most to compare rows by; "
        "use threshold='stable'"
    )


def limits_on_alerts(
    shares: Mapping[int, object], known: Callable[[int], WrongAlerts], names: Sequence[Label]
) -> dict[int, AlertLimit]:
    """Check largest shares of wrong alerts by place; combine them with what is ``known`` of each place's rows."""
    for at, share in shares.items():
        check_fraction(share, f"wrong_at_most of {names[at]!r}")
    return {at: AlertLimit(known(at), float(share)) for at, share in shares.items()}  # pyright: ignore[reportArgumentType] (it is checked)


def alerted_scores(scores: Array, limits: AlertLimits, proba: Array, *, lift: bool = True) -> Array:
    """Change the scores of classes so that the largest one respects limits on wrong alerts, and return them.

    A class with a limit is out of the question for rows that do not pass. With ``lift`` those that pass get it,
    whatever the scores of classes without a limit.
    """
    changed, finite = scores.astype(float), scores[np.isfinite(scores)]
    beyond = float(np.ptp(finite)) + 1.0 if lift and finite.size else 0.0
    for at, limit in limits.items():
        changed[:, at] = np.where(limit.passing(proba[:, at]), changed[:, at] + beyond, -np.inf)
    return changed
