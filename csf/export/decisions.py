"""Decisions of a search as data, for scores of its base that are computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Label, Params
from csf._common.validation import float_columns
from csf.export.records import SavedRule, in_files
from csf.export.rules import fitted_winner
from csf.search import CostSearch
from csf.thresholding.alerts import AlertLimit
from csf.thresholding.base import DecisionRule


@in_files
@dataclass(frozen=True, eq=False)
class ScoreRule(SavedRule):
    """Decision of a search, for scores of its base.

    Parameters
    ----------
    rule : DecisionRule
        What decides about scores.
    reviews : ReviewRule or LabelReviews, default=None
        Which rows are reviewed, where the search has a ``review``.
    alerts, alerts_beside_reviews : tuple of (int, AlertLimit), default=()
        Limits on wrong alerts by the place of a class or label, and those of answers with reviews.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = CostSearch(RandomForestClassifier(5, random_state=0), cv=3).fit(X, y == 2)
    >>> rule = decision_rule(search)
    >>> rule.base, rule.reads, bool((rule.decide(search.best_estimator_.predict_proba(X)) == search.predict(X)).all())
    ('RandomForestClassifier', 'predict_proba', True)
    """

    rule: DecisionRule
    reviews: Any = None
    alerts: tuple[tuple[int, AlertLimit], ...] = ()
    alerts_beside_reviews: tuple[tuple[int, AlertLimit], ...] = ()

    @property
    def base(self) -> str:
        """Name of the class of the estimator, of a pipeline that of its last step; labels may have several."""
        return self._common("base", "are of several classes")

    @property
    def reads(self) -> str:
        """Method of the estimator that gives the scores; labels may have several, see `by_label`."""
        return self._common("reads", "are asked for scores by several methods")

    def _common(self, name: str, differ: str) -> str:
        """Return what is known of the estimator, or of those of labels; raise an AttributeError where these differ."""
        known = [getattr(one.rule.estimator, name) for one in self.by_label or [self]]
        if len(set(known)) > 1:
            raise AttributeError(
                f"the estimators of the labels {differ}, {known}: by_label has a rule for each of "
                "best_estimator_.estimators_"
            )
        return known[0]

    @property
    def by_label(self) -> list[ScoreRule]:
        """Rule of each of several labels; else none."""
        return [ScoreRule(rule) for rule in getattr(self.rule, "by_label", ())]

    def decide(
        self,
        scores: ArrayLike,
        at_most: float | Mapping[Label, float] | None = None,
        *,
        by: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        fp_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Array:
        """Predict labels, as `csf.CostSearch.predict` does.

        Parameters
        ----------
        scores : array-like of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Output of the estimator's method ``reads``; of two classes the probabilities of the one that is not the null
            class suffice. Of several labels a column for each, of probabilities that of class 1, as
            ``best_estimator_`` gives them.
        at_most : int, float or dict, default=None
            Limits as for `csf.CostSearch.predict`. Of equal scores at the border no one knows which row is which: those
            that come first are taken.
        by : array-like of shape (n_samples,), default=None
            Segment of each row, or what else its threshold depends on.
        fn_cost, fp_cost, tp_cost, tn_cost : float or array-like of shape (n_samples,), default=None
            Costs of the rows, those that the search has no numbers of.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; of several labels zeros and ones.

        Raises
        ------
        ValueError
            If the scores have another shape, some are NaN, or a segment has no threshold.
        """
        beside = {"by": by, "fn_cost": fn_cost, "fp_cost": fp_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        rule, given = self._of_rows(scores, beside)
        is_limited = self.alerts or at_most is not None
        return rule.predict_within(given, at_most, dict(self.alerts)) if is_limited else rule.predict(given)

    def decide_with_review(
        self, scores: ArrayLike, at_most: float | Mapping[Label, float] | None = None, **beside: ArrayLike
    ) -> Array:
        """Answer with labels or ``"review"``, as `csf.CostSearch.predict_with_review` does.

        Parameters
        ----------
        scores, at_most, **beside
            As for `decide`.

        Returns
        -------
        ndarray of object, shape (n_samples,) or (n_samples, n_labels)
            Labels, or ``"review"``.

        Raises
        ------
        ValueError
            If the search has no ``review``, or for the reasons of `decide`.
        """
        if self.reviews is None:
            raise ValueError("the search has no third answer; fit it with review=csf.metrics.Review(cost=...)")
        rule, given = self._of_rows(scores, beside)
        return self.reviews.answers(rule, given, at_most, dict(self.alerts_beside_reviews))

    def _of_rows(self, scores: ArrayLike, beside: Mapping[str, ArrayLike | None]) -> tuple[DecisionRule, Array]:
        """Return the rule for rows with what is given beside them, and their scores."""
        rule, names = self.rule, list(self.rule.score_names)
        beside = {name: values for name, values in beside.items() if values is not None}
        given = float_columns(scores, names, "scores", **beside)
        is_one = given.ndim == 1 and len(names) == 2 and not self.by_label
        if not is_one and given.shape[1:] != (len(names),):
            what = (
                f"a column for each of {len(names)} labels"
                if self.by_label
                else (f"what {self.base}.{self.reads} answers for {len(names)} classes")
            )
            raise ValueError(f"scores must have {what}, got {given.shape}")
        if np.isnan(given).any():
            raise ValueError(f"scores are NaN in {np.isnan(given).sum()} places; accepted: numbers and +-inf")
        return rule.for_rows(beside), given

    @property
    def in_words(self) -> Params:
        """The rule and its reviews in words."""
        words: Params = {"words": self.rule.in_words}
        return words if self.reviews is None else words | {"words_of_reviews": self.rule.review_in_words}


def decision_rule(search: CostSearch, wrong_at_most: float | Mapping[Label, float] | None = None) -> ScoreRule:
    """Convert the decision of a search to data, for any base and any kind of problem.

    The model itself stays where it is, or goes elsewhere by other ways, such as skl2onnx: the rule says which of its
    methods to ask, and ``decide`` makes labels of the answers.

    Parameters
    ----------
    search : CostSearch
        Fitted with ``refit=True``.
    wrong_at_most : float or dict, default=None
        Largest share of wrong alerts, as for `csf.CostSearch.predict`: scores are then those of a batch, and the rule
        holds the held-out scores that they are compared with.

    Returns
    -------
    ScoreRule
        The rule.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the search is not fitted.
    TypeError
        If ``search`` is none, or its winner has no scores.
    ValueError
        If the search has no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> base = make_pipeline(StandardScaler(), LogisticRegression())
    >>> search = CostSearch(base, "f1_macro", n_trials=1, param_grid=None, cv=3).fit(X, y)
    >>> rule = decision_rule(search)
    >>> bool((rule.decide(search.best_estimator_.predict_proba(X)) == search.predict(X)).all())
    True
    """
    fitted_winner(search)
    rule, reviews = search.decision_rule_.on_scores(), None if search.review is None else search.review_bands()
    alerts, others = (search._alert_limits(wrong_at_most, bands) for bands in (None, reviews))
    return ScoreRule(rule, reviews, tuple(alerts.items()), tuple(others.items()))
