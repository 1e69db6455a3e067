"""Displays of the value of decisions: by the costs of each row, with limited capacity, and with a third answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Keywords, Label
from csf._common.validation import check_binary_target, check_scores, floats, warn_of_order
from csf.evaluate.draws import bootstrap_counts
from csf.metrics.constraints import ANSWERS
from csf.plots.drawing import BLUE, GREY, ORANGE, Display, tidy
from csf.plots.words import metric_name, short
from csf.thresholding.curve import check_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.search import CostSearch
    from csf.thresholding.capacity import Reviewed

# ---------------------------------------------------------------- costs of each row


_N_DRAWS = 200
_LEVELS = (0.05, 0.95)


def answers_to_all(search: CostSearch) -> dict[str, float]:
    """Return the mean out-of-fold cost of a row for one answer to all rows, for one threshold, and by row."""
    result, store = search.result_, search.held_out_
    to_all = store.costs_at(result.held_out_odds, np.array([-np.inf, result.alone, np.inf]), store.copies).tolist()
    names = "positive for all rows", "one threshold on the probability", "negative for all rows"
    by_row = store.costs_at(result.held_out_scores, np.array([result.tuned.threshold]), store.copies)
    return dict(zip(names, to_all)) | {"each row by its own costs": by_row.item()}


def draw_costs(ax: Axes, search: CostSearch) -> None:
    """Draw the mean out-of-fold cost of a row against the threshold of its log-odds plus log(gain / loss)."""
    result, store = search.result_, search.held_out_
    score = result.held_out_scores
    finite = score[np.isfinite(score)]
    # The same answer to all rows is that of a threshold beyond the last score.
    threshold, ends = np.clip(result.tuned.threshold, finite.min(), finite.max()), np.quantile(finite, [0.01, 0.99])
    cuts = np.linspace(min(ends[0], threshold), max(ends[1], threshold), 101)
    draws = [store.costs_at(score, cuts, counts) for counts in bootstrap_counts(store.copies, _N_DRAWS, 0)]
    banded(
        ax, cuts, store.costs_at(score, cuts, store.copies), np.concatenate(draws, axis=1), "each row by its own costs"
    )
    ax.axvline(threshold, color=ORANGE, linestyle="--", label="threshold in use")
    for (name, cost), dashes in zip(list(answers_to_all(search).items())[:3], (":", "-.", "--")):
        ax.axhline(cost, color=GREY, linestyle=dashes, linewidth=1, label=name)
    ax.set(xlabel="threshold of log-odds + log(gain / loss)", ylabel="mean cost of a row, out-of-fold")
    ax.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    tidy(ax)


def banded(ax: Axes, x: Array, values: Array, drawn: Array, name: str) -> None:
    """Draw a line with the 90 % interval over bootstrap draws, one per column of ``drawn``."""
    low, high = np.quantile(drawn, _LEVELS, axis=1)
    ax.fill_between(x, low, high, color=BLUE, alpha=0.15, linewidth=0, label="90 % interval")
    ax.plot(x, values, color=BLUE, label=name)


@dataclass(kw_only=True, eq=False, repr=False)
class NetBenefitDisplay(Display):
    """Net benefit against the threshold probability, known in medicine as the decision curve.

    It is recommended to use `from_predictions` to create a display. All parameters are stored as attributes. Who acts
    from a probability t on takes a false positive to cost t / (1 - t) of what a true positive is worth: the net benefit
    is the share of true positives minus that rate times the share of false positives [1]_.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Threshold probabilities, ascending.
    values : ndarray of shape (n_thresholds,)
        Net benefit at each of them.
    drawn : ndarray of shape (n_thresholds, n_draws)
        The same on bootstrap draws of the samples.
    treat_all : ndarray of shape (n_thresholds,)
        That of the answer "positive" to all; the answer "negative" to all has 0.
    name : str, default="classifier"
        Name of the classifier.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    References
    ----------
    .. [1] A. J. Vickers, E. B. Elkin, "Decision curve analysis: a novel method for evaluating prediction models",
       Medical Decision Making 26, 2006.

    Examples
    --------
    >>> display = NetBenefitDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], thresholds=[0.25, 0.5])
    >>> display.values, display.treat_all
    (array([0.417, 0.25 ]), array([0.333, 0.   ]))
    """

    thresholds: Array
    values: Array
    drawn: Array
    treat_all: Array
    name: str = "classifier"

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        pos_label: Label = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the decision curve of probabilities, preferably out-of-fold ones.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_proba : array-like of shape (n_samples,)
            Probabilities of the positive class, such as those of `sklearn.model_selection.cross_val_predict`.
        thresholds : array-like of shape (n_thresholds,), default=None
            Threshold probabilities in (0, 1); ``None`` takes 0.01, 0.02, ..., 0.99.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **options
            ``name`` of the classifier.

        Returns
        -------
        NetBenefitDisplay
            The display, drawn.
        """
        warn_of_order(y_true=y_true, y_proba=y_proba)
        is_pos = check_binary_target(y_true, pos_label)[1]
        p = check_scores(y_proba, is_pos.size)
        check_probabilities(p, "y_proba")
        cuts = np.unique(np.linspace(0.01, 0.99, 99) if thresholds is None else np.asarray(thresholds, dtype=float))
        if not ((cuts > 0.0) & (cuts < 1.0)).all():
            raise ValueError(f"thresholds must be probabilities in (0, 1), got {cuts.tolist()}")
        rates, place = cuts / (1.0 - cuts), np.searchsorted(cuts, p, side="right")

        def benefit(counts: Array) -> Array:
            worth = np.stack([np.bincount(place, counts * is_class, cuts.size + 1) for is_class in (is_pos, ~is_pos)])
            right, wrong = worth[:, ::-1].cumsum(axis=1)[:, -2::-1]
            return (right - rates * wrong) / counts.sum()

        every = np.ones(p.size, dtype=np.int64)
        drawn = [benefit(counts) for block in bootstrap_counts(every, _N_DRAWS, 0) for counts in block.T]
        treat_all = is_pos.mean() - rates * (~is_pos).mean()
        curves: Keywords = {"values": benefit(every), "drawn": np.stack(drawn, axis=1), "treat_all": treat_all}
        return cls(thresholds=cuts, **curves, **options).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the decision curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.

        Returns
        -------
        NetBenefitDisplay
            ``self``.
        """
        ax = self._begin(ax)
        banded(ax, self.thresholds, self.values, self.drawn, self.name)
        ax.plot(self.thresholds, self.treat_all, color=ORANGE, linestyle="--", label="treat all")
        ax.axhline(0.0, color=GREY, linestyle=":", label="treat none")
        most = max(self.values.max(), self.treat_all.max())
        ax.set(xlabel="threshold probability", ylabel="net benefit", ylim=(-0.15 * most, 1.1 * most))
        ax.legend(fontsize=8, frameon=False)
        tidy(ax)
        return self


# ---------------------------------------------------------------- few rows


_N_SHARES = 24


@dataclass(kw_only=True, eq=False, repr=False)
class CapacityDisplay(Display):
    """Expected value against the share of the rows that can be acted on, from held-out scores.

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
        assessment = search.assess()
        evaluation = search.result_.evaluation(assessment.random_state)
        answers, weight = evaluation.answers, evaluation.terms.weight
        pays = float(weight @ (answers.codes == 1) / weight.sum())
        most = min(1.2 * max(pays, 0.01), 0.999)
        shares = np.linspace(most / _N_SHARES, most, _N_SHARES) if at_most is None else floats(at_most, "at_most")
        if not ((shares > 0.0) & (shares < 1.0)).all():
            raise ValueError(f"at_most must be shares of the rows in (0, 1), got {shares.tolist()}")
        limits = [{1: share} for share in shares.tolist()]
        expected = [worth for worth, _ in evaluation.within(limits, assessment)]
        values = np.array([answer.corrected_score for answer in expected])
        other, ranked = None, search.result_.answers_by_probability
        if ranked is not None:
            both = (ranked, answers)
            by_probability, by_gain = (
                np.array([evaluation.value(answers.within(limit, weight)) for limit in limits]) for answers in both
            )
            other = values + by_probability - by_gain
        shown = {"by_probability": other, "metric_name": metric_name(search)}
        drawn = values[:, None] + [answer.errors for answer in expected]
        return cls(at_most=shares, values=values, drawn=drawn, pays=pays, **shown).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the expected values.

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


# ---------------------------------------------------------------- several classes


def draw_confusion(ax: Axes, search: CostSearch) -> None:
    """Draw the share of each true class that is predicted as each class, out of fold."""
    from sklearn.metrics import ConfusionMatrixDisplay

    shares = search.confusion_ / search.confusion_.sum(axis=1, keepdims=True)
    ConfusionMatrixDisplay(shares, display_labels=search.classes_).plot(ax=ax, cmap="Blues", values_format=".2g")
    ax.set_title("Share of each class, out of fold")


# ---------------------------------------------------------------- three answers


def reviewed_in_words(worth: Reviewed) -> str:
    """Say which share of the rows gets each of the answers with reviews, and how many of them are wrong."""
    sent = ", ".join(
        f"{share:.1%} {short(answer)} ({_wrong(worth.wrong[answer])})" for answer, share in worth.shares.items()
    )
    return "; ".join([sent, *map(str, worth.guarantees.values())])


def _wrong(rate: float) -> str:
    return "none" if np.isnan(rate) else f"{rate:.1%} wrong"


def draw_review(ax: Axes, search: CostSearch) -> None:
    """Draw a histogram of the held-out scores, stacked by the three answers that the rows receive."""
    bands, result, store = search.review_bands(), search.result_, search.held_out_
    rows, weight = result.allowed_answers(bands.review, bands.extra_cost), store.weights_in(store.copies)
    answers, score = bands.decide(rows), rows.score
    low, high = np.quantile(score[np.isfinite(score)], [0.002, 0.998])
    bins = np.linspace(low, high, 50)
    n_rows, worth = int(search.class_count_.sum()), search.review_
    parts = [score[answers == answer] for answer in ANSWERS]
    weights = [weight[answers == answer] * n_rows / weight.sum() for answer in ANSWERS]
    named = str(bands.names[0]), ANSWERS[1], str(bands.names[1])
    names = [f"{answer}: {n_rows * worth.shares[answer]:,.0f} rows, {_wrong(worth.wrong[answer])}" for answer in named]
    ax.hist(parts, bins.tolist(), weights=weights, color=[GREY, ORANGE, BLUE], label=names, stacked=True)
    ax.set(xlabel=result.score_name, ylabel="rows")
    ax.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    tidy(ax)
