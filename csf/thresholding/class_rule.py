"""A fitted classifier of several classes, and the linear rule of its probabilities: one object that predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Estimator, IntArray, Samples
from csf._common.validation import check_weights
from csf.data.responses import DECISION_FIRST, PROBABILITIES_FIRST, answer_of_classes, class_scores, response_method
from csf.thresholding.linear_rule import LinearRule, confusion_of

if TYPE_CHECKING:
    from csf.thresholding._calibration import ClassCalibrator

__all__ = ["RuleOfClasses", "aligned_scores", "codes_of", "no_threshold", "without_weights"]


def aligned_scores(
    estimator: Estimator, X: Samples, columns: IntArray, n_classes: int, methods: Sequence[str]
) -> Array:
    """Scores of all classes, in the order of codes; ``columns`` are the codes of the estimator's own scores."""
    scores, probabilities = class_scores(estimator, X, methods), response_method(estimator, methods) == "predict_proba"
    answer = answer_of_classes(scores, columns, n_classes, probabilities=probabilities)
    assert answer.score is not None, "it is made of scores"
    return answer.score


def codes_of(known: Array, classes: Array) -> IntArray:
    """Codes of an estimator's classes: places among the sorted labels; as they are where it was trained on codes."""
    if np.isin(known, classes).all():
        return np.searchsorted(classes, known)
    if not np.isin(known, np.arange(classes.shape[0])).all():
        raise ValueError(
            f"the base has learnt the classes {known.tolist()}, and y holds {classes.tolist()}; give labels that the "
            "base knows"
        )
    return known


def without_weights(proba: Array, class_weights: Array | None) -> Array:
    """Probabilities as if a training had not weighted its classes."""
    if class_weights is None:
        return proba
    proba = proba / class_weights
    total = proba.sum(axis=1, keepdims=True)
    return np.divide(proba, total, out=proba, where=total > 0.0)


def no_threshold() -> ValueError:
    """What is said to who asks for thresholds of several classes."""
    return ValueError("several classes have no threshold: rule_ says what decides, and confusion_ what comes of it")


@dataclass(frozen=True, eq=False)
class RuleOfClasses:
    """Predicts one of several classes that are all alike, with a fitted classifier and a rule of its probabilities.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    classes : ndarray of shape (n_classes,)
        The user's labels, in the order of codes.
    known : ndarray of shape (n_known,)
        The estimator's own classes: labels, or codes where some are no labels. It may lack some.
    rule : LinearRule
        What decides.
    class_weights : ndarray of shape (n_classes,), default=None
        Weights of its training, which are taken out of its probabilities.
    calibrator : ClassCalibrator, default=None
        What makes probabilities of decision scores.
    own : bool, default=False
        Whether the rule is the estimator's own decision, which reads its scores as they are.
    """

    estimator: Estimator
    classes: Array
    known: Array
    rule: LinearRule
    class_weights: Array | None = None
    calibrator: ClassCalibrator | None = None
    own: bool = False

    def predict(self, X: Samples) -> Array:
        """The user's labels."""
        if self.own and response_method(self.estimator) is None:
            return self.classes[self._columns[np.searchsorted(self.known, self.estimator.predict(X))]]
        return self.classes[self.decision_function(X).argmax(axis=1)]

    def curve(self, *_: object) -> NoReturn:
        """An error: no threshold decides."""
        raise no_threshold()

    def decision_function(self, X: Samples) -> Array:
        """Scores of the classes: the largest one is predicted, the first of equal ones."""
        return self.rule.scores(self._scores(X, PROBABILITIES_FIRST) if self.own else self.probabilities(X))

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the classes, with the class weights taken out again."""
        return self.probabilities(X)

    def probabilities(self, X: Samples) -> Array:
        """What the rule reads, unless the estimator decides by itself."""
        if self.calibrator is not None:
            return without_weights(self.calibrator.predict(self._scores(X, DECISION_FIRST)), self.class_weights)
        return without_weights(self._scores(X, ("predict_proba",)), self.class_weights)

    def confusion(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None = None) -> Array:
        """Confusion matrix of predictions: shares of the weight, rows true and columns predicted."""
        labels, weight = np.asarray(y).reshape(-1), check_weights(sample_weight, predicted.shape[0])
        strange = labels[~np.isin(labels, self.classes)]
        if strange.size:
            raise ValueError(
                f"y holds {strange.tolist()[0]!r}, which is none of the fitted classes {self.classes.tolist()}"
            )
        codes, decided = (np.searchsorted(self.classes, given) for given in (labels, predicted))
        return confusion_of(codes, decided, self.classes.shape[0], weight)

    def _scores(self, X: Samples, methods: Sequence[str]) -> Array:
        return aligned_scores(self.estimator, X, self._columns, self.classes.shape[0], methods)

    @property
    def _columns(self) -> IntArray:
        """Code of each score of the estimator."""
        return codes_of(self.known, self.classes)
