"""What a search is worth where only some rows can be acted on, and with a third answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf._common.validation import floats
from csf.metrics.constraints import ANSWERS
from csf.show._shared import BLUE, GREY, ORANGE, Display, is_row_search, tidy
from csf.show.held_out import metric_name
from csf.show.row_costs import banded
from csf.thresholds.capacity import values_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.search import CostSearch

_N_SHARES = 60


@dataclass(kw_only=True, eq=False, repr=False)
class CapacityDisplay(Display):
    """Value to expect against the share of the rows that can be acted on, from held-out scores.

    It is recommended to use `from_estimator` to create a display. All parameters are stored as attributes.

    Parameters
    ----------
    at_most : ndarray of shape (n_shares,)
        Shares of the rows, ascending.
    values : ndarray of shape (n_shares,)
        Value to expect at each of them.
    drawn : ndarray of shape (n_shares, n_draws)
        The same on bootstrap draws of the samples.
    pays : float
        Share of the rows that are acted on without a limit.
    by_probability : ndarray of shape (n_shares,), default=None
        Values where the rows with the largest probabilities are acted on, in place of those with the largest expected
        gain; ``None`` where errors have no costs in each row.
    metric_name : str, default="value"
        Name of the values.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf import CostSearch
    >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
    >>> search = CostSearch(LogisticRegression(), param_grid=None, n_trials=1).fit(X, y)
    >>> display = CapacityDisplay.from_estimator(search, at_most=[0.02, 0.05])
    >>> bool(display.values[0] < display.values[1])
    True
    """

    at_most: Array
    values: Array
    drawn: Array
    pays: float
    by_probability: Array | None = None
    metric_name: str = "value"

    @classmethod
    def from_estimator(cls, search: CostSearch, *, at_most: ArrayLike | None = None, ax: Axes | None = None) -> Self:
        """Draw the values of a fitted search.

        Parameters
        ----------
        search : CostSearch
            Fitted, of two classes, with its held-out scores.
        at_most : array-like of shape (n_shares,), default=None
            Shares of the rows in (0, 1); ``None`` goes a little beyond those that pay.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.

        Returns
        -------
        CapacityDisplay
            The display, drawn.
        """
        ranked, counts = search._ranked(), search.held_out_.copies
        pays = float(ranked.sums(np.ones(1), counts)[1][0])
        most = min(1.2 * max(pays, 0.01), 0.999)
        at = np.linspace(most / _N_SHARES, most, _N_SHARES) if at_most is None else floats(at_most, "at_most")
        if not ((at > 0.0) & (at < 1.0)).all():
            raise ValueError(f"at_most must be shares of the rows in (0, 1), got {at.tolist()}")
        values, errors = values_at(ranked, at, search.assess(), search._luck)
        other = None
        if is_row_search(search):
            known = search._ranked(by_gain=False)
            other = known.value(known.sums(at, counts)[0], counts) - search._luck
        shown = {"by_probability": other, "metric_name": metric_name(search)}
        return cls(at_most=at, values=values, drawn=values[:, None] + errors, pays=pays, **shown).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.

        Returns
        -------
        CapacityDisplay
            ``self``.
        """
        ax = self._begin(ax)
        name = "largest scores" if self.by_probability is None else "largest expected gain"
        banded(ax, 100.0 * self.at_most, self.values, self.drawn, name)
        if self.by_probability is not None:
            ax.plot(100.0 * self.at_most, self.by_probability, color=ORANGE, linestyle="--", label="most probable")
        ax.axvline(100.0 * self.pays, color=GREY, linestyle=":", label="more do not pay")
        ax.set(xlabel="% of the rows that can be acted on", ylabel=f"{self.metric_name} to expect")
        ax.legend(fontsize=8, frameon=False, loc="lower right")
        tidy(ax)
        return self


# ---------------------------------------------------------------- three answers


def reviewed_in_words(search: CostSearch, name: str) -> str:
    """What three answers are worth."""
    worth, (low, high) = search.review_, search.review_.interval
    sent = ", ".join(f"{worth.shares[answer]:.1%} {answer} ({_wrong(worth.wrong[answer])})" for answer in ANSWERS)
    shown = "".join(f"; {guarantee}" for guarantee in worth.guarantees.values())
    return f"{name} {worth.value:.4f}, 90 % interval [{low:.4f}, {high:.4f}]; {sent}{shown}"


def _wrong(rate: float) -> str:
    return "none" if np.isnan(rate) else f"{rate:.1%} wrong"


def draw_review(ax: Axes, search: CostSearch) -> None:
    """How many rows get each of three answers, by their held-out scores."""
    bands, found, store = search._bands, search._outcome, search.held_out_
    rows, weight = found.leaning(bands.review, bands.extra_cost), store.weights_in(store.copies)
    answers, score = bands.decide(rows), rows.score
    low, high = np.quantile(score[np.isfinite(score)], [0.002, 0.998])
    bins = np.linspace(low, high, 50)
    n_rows, worth = int(search.class_count_.sum()), search.review_
    parts = [score[answers == answer] for answer in ANSWERS]
    weights = [weight[answers == answer] * n_rows / weight.sum() for answer in ANSWERS]
    names = [f"{each}: {n_rows * worth.shares[each]:,.0f} rows, {_wrong(worth.wrong[each])}" for each in ANSWERS]
    ax.hist(parts, bins.tolist(), weights=weights, color=[GREY, ORANGE, BLUE], label=names, stacked=True)
    ax.set(xlabel="log-odds" if is_row_search(search) else "score", ylabel="rows")
    ax.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    tidy(ax)
