"""Decisions of a search as data, for scores of its base that are computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.messages import listed
from csf._common.sklearn import last_name
from csf._common.typing import Array, FloatArray, IntArray, Label, Params
from csf._common.validation import as_array, float_columns
from csf.data.responses import compare
from csf.export.rules import SavedRule, finite, fitted_winner, plain_label
from csf.export.tools import class_rule, cost_rule
from csf.search import CostSearch
from csf.search.kinds import LABELS
from csf.thresholding.row_thresholds import RowThresholds

_BY_THRESHOLD = (
    "f = the largest score of a class other than null, the first of equal ones, g = the score of null; s = f of two "
    "classes (a decision function is times -1 where null is the last class), else f - g of decision functions and "
    "f / (f + g), or 0.5 where both are 0, of probabilities; the class of f where s >= threshold, else null"
)


@dataclass(frozen=True, eq=False)
class ScoreRule(SavedRule):
    """Rule that predicts a class other than ``null`` where its score reaches the threshold.

    Of two classes the score is that of the class other than ``null``. Of more it compares the best class other than
    ``null``, of score f, with ``null``, of score g: f - g of a decision function, f / (f + g) of probabilities.

    Parameters
    ----------
    base : str
        Name of the class of the estimator, of a pipeline that of its last step.
    reads : {"decision_function", "predict_proba"}
        Method of the estimator that gives the scores.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the estimator's columns.
    null : label
        The negative class, or the class of nothing to find.
    threshold : float
        Least score of another class, maybe infinite.

    Examples
    --------
    >>> rule = ScoreRule("LogisticRegression", "predict_proba", np.array(["no", "yes"]), "no", 0.3)
    >>> rule.decide([[0.8, 0.2], [0.6, 0.4]])
    array(['no', 'yes'], dtype='<U3')
    """

    base: str
    reads: str
    classes: Array
    null: Label
    threshold: float

    def decide(self, scores: ArrayLike) -> Array:
        """Predict labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, n_classes)
            Output of the estimator's method ``reads``; of two classes the probabilities of the one that is not ``null``
            suffice.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Raises
        ------
        ValueError
            If the scores have another shape, or some are NaN.
        """
        return self.decide_at(scores, self.threshold)

    def decide_at(self, scores: ArrayLike, threshold: float | Array) -> Array:
        """Predict labels by one threshold, or by that of each row."""
        given, n_classes = float_columns(scores, self.classes.tolist(), "scores"), self.classes.size
        if given.shape[1:] not in ([(), (2,)] if n_classes == 2 else [(n_classes,)]) or not given.ndim:
            raise ValueError(
                f"scores must be what {self.base}.{self.reads} answers for {n_classes} classes, got {given.shape}"
            )
        if np.isnan(given).any():
            raise ValueError(f"scores are NaN in {np.isnan(given).sum()} places; accepted: numbers and +-inf")
        score, found = self._compared(given, self.classes.tolist().index(self.null))
        return np.where(score >= threshold, self.classes[found], self.null).astype(self.classes.dtype)

    def _compared(self, scores: FloatArray, column: int) -> tuple[Array, IntArray | int]:
        """Compare the best class outside the column of ``null`` with this one; return the score and the class."""
        if self.classes.size > 2:
            return compare(scores, column, probabilities=self.reads == "predict_proba")
        if scores.ndim == 2:
            return scores[:, 1 - column], 1 - column
        return -scores if column and self.reads == "decision_function" else scores, 1 - column

    def to_dict(self) -> Params:
        """Return the rule as plain numbers, strings and lists.

        Returns
        -------
        dict
            One entry a parameter, and the rule in words; an infinite threshold as the largest or smallest number
            there is.
        """
        labels: Params = {"classes": self.classes.tolist(), "null": plain_label(self.null)}
        named = {"rule": _BY_THRESHOLD, "base": self.base, "reads": self.reads}
        return named | labels | {"threshold": finite(self.threshold)}


@dataclass(frozen=True, eq=False)
class SegmentRules(SavedRule):
    """Rules of two classes with a threshold for each segment of the rows.

    Parameters
    ----------
    by : str
        What the segments are values of.
    rules : dict of label to ScoreRule
        Rule of each segment.

    Examples
    --------
    >>> known = "LogisticRegression", "predict_proba", np.array([0, 1]), 0
    >>> rules = SegmentRules("sex", {"f": ScoreRule(*known, 0.3), "m": ScoreRule(*known, 0.6)})
    >>> rules.decide([0.4, 0.4, 0.7], ["f", "m", "m"])
    array([1, 0, 1])
    """

    by: str
    rules: dict[Label, ScoreRule]

    def decide(self, scores: ArrayLike, by: ArrayLike) -> Array:
        """Predict labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 2)
            As for `ScoreRule.decide`.
        by : array-like of shape (n_samples,)
            Segment of each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Raises
        ------
        ValueError
            If the scores have another shape, some are NaN, or a segment has no rule.
        """
        classes = next(iter(self.rules.values())).classes.tolist()
        given, segments = float_columns(scores, classes, "scores", by=by), as_array(by, "by").tolist()
        unknown = [each for each in segments if each not in self.rules]
        if unknown or len(segments) != len(given):
            raise ValueError(
                f"by must be one of {listed(self.rules)} for each of {len(given)} rows, got "
                + (f"{unknown[0]!r}" if unknown else f"{len(segments)} values")
            )
        answers = np.array([rule.decide(given) for rule in self.rules.values()])
        places = {name: at for at, name in enumerate(self.rules)}
        return answers[[places[each] for each in segments], np.arange(len(segments))]

    def to_dict(self) -> Params:
        """Return the rules as plain numbers, strings and lists.

        Returns
        -------
        dict
            ``by``, and ``segments``: the value of each, and the entries of its rule, see `ScoreRule.to_dict`.
        """
        rows = [{"segment": plain_label(name)} | rule.to_dict() for name, rule in self.rules.items()]
        return {"rule": "each row by the rule of its segment", "by": self.by, "segments": rows}


@dataclass(frozen=True, eq=False)
class RowThresholdRules(SavedRule):
    """Rule of two classes with thresholds that depend on a value beside each row.

    Parameters
    ----------
    rule : ScoreRule
        Rule of the scores; its threshold is added to those of the rows.
    thresholds : RowThresholds
        Threshold of each row.
    """

    rule: ScoreRule
    thresholds: RowThresholds

    def decide(self, scores: ArrayLike, by: ArrayLike) -> Array:
        """Predict labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 2)
            As for `ScoreRule.decide`.
        by : array-like of shape (n_samples,)
            Value beside each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Raises
        ------
        ValueError
            If the scores have another shape, some are NaN, or no threshold is for a value.
        """
        given, values = float_columns(scores, self.rule.classes.tolist(), "scores", by=by), as_array(by, "by")
        cuts = self.thresholds.of_rows(self.thresholds.values(np.empty((values.shape[0], 0)), values))
        return self.rule.decide_at(given, self.rule.threshold + cuts)

    def to_dict(self) -> Params:
        """Return the rule as plain numbers, strings and lists.

        Returns
        -------
        dict
            The entries of `ScoreRule.to_dict`, and ``by_row``: those of `RowThresholds.to_dict`.
        """
        return self.rule.to_dict() | {"by_row": self.thresholds.to_dict()}


@dataclass(frozen=True, eq=False)
class LabelRules(SavedRule):
    """Rules of several labels a sample.

    Parameters
    ----------
    labels : list
        Names of the labels.
    rules : tuple of ScoreRule
        Rule of each label, of the classes 0 and 1.

    Examples
    --------
    >>> rule = ScoreRule("LogisticRegression", "predict_proba", np.array([0, 1]), 0, 0.3)
    >>> LabelRules(["sport", "politics"], (rule, rule)).decide([[0.2, 0.4], [0.6, 0.9]])
    array([[0, 1],
           [1, 1]])
    """

    labels: list[Label]
    rules: tuple[ScoreRule, ...]

    def decide(self, scores: ArrayLike) -> Array:
        """Predict 1 where a sample has a label, else 0.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            A column for each label: the output of its estimator's method ``reads``, of probabilities that of class 1.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Zeros and ones.

        Raises
        ------
        ValueError
            If the scores have another shape, or some are NaN.
        """
        given = float_columns(scores, self.labels, "scores")
        if given.ndim != 2 or given.shape[1] != len(self.rules):
            raise ValueError(f"scores must have a column for each of {len(self.rules)} labels, got {given.shape}")
        return np.column_stack([rule.decide(column) for rule, column in zip(self.rules, given.T)])

    def to_dict(self) -> Params:
        """Return the rules as plain numbers, strings and lists.

        Returns
        -------
        dict
            ``labels``: the name of each label, and the entries of its rule, see `ScoreRule.to_dict`.
        """
        labels = [{"label": plain_label(name)} | rule.to_dict() for name, rule in zip(self.labels, self.rules)]
        return {"rule": "each label by its own rule, on the scores of its own estimator", "labels": labels}


def decision_rule(search: CostSearch) -> Any:
    """Convert the decision of a search to data, for any base and any kind of problem.

    The model itself stays where it is, or goes elsewhere by other ways, such as skl2onnx: the rule says which of its
    methods to ask, and ``decide`` makes labels of the answers.

    Parameters
    ----------
    search : CostSearch
        Fitted with ``refit=True``.

    Returns
    -------
    ScoreRule, ClassRule, CostRule, LabelRules, SegmentRules or RowThresholdRules
        Of two classes, or several beside a null class; of several classes that are all alike; of costs of rows; of
        several labels a sample; of thresholds by segment; of other thresholds by row.

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
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = CostSearch(RandomForestClassifier(5, random_state=0), cv=3).fit(X, y == 2)
    >>> rule = decision_rule(search)
    >>> rule.base, rule.reads, bool((rule.decide(search.best_estimator_.predict_proba(X)) == search.predict(X)).all())
    ('RandomForestClassifier', 'predict_proba', True)
    """
    fitted_winner(search)
    kind, used = search.result_.kind, search.decision_rule_
    if kind == "multiclass":
        return class_rule(search)
    if kind == "row_costs":
        return cost_rule(search)
    if kind == "segments":
        shift = search.best_threshold_
        cuts = {name: replace(_of_threshold(used), threshold=cut + shift) for name, cut in search.thresholds_.items()}
        return SegmentRules(used.thresholds.segments.by, cuts)
    if kind == "row_thresholds":
        return RowThresholdRules(_of_threshold(used), used.thresholds)
    if kind in LABELS:
        return LabelRules(search.label_names_.tolist(), tuple(_of_threshold(rule) for rule in used.by_label))
    return _of_threshold(used)


def _of_threshold(used: Any) -> ScoreRule:
    """Describe the rule of a threshold on the scores of an estimator."""
    cut = float(used.cut)
    return ScoreRule(last_name(used.estimator), str(used.method), used.listed, used.null, cut)
