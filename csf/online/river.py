"""Models of the library river as learners of posteriors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.typing import Array, Estimator, FloatArray, Label, RandomState_, Samples
from csf.data.responses import margin
from csf.online.base import NUMBERS, OnlineClassifier

__all__ = ["RiverClassifier"]


class RiverClassifier(OnlineClassifier):
    """Binary classifier of river with scikit-learn's interface, to be a learner of `OFO` or `FOFO`.

    It needs the extra ``csf-search[river]``. Models see each row as a dict from column numbers to values; sparse rows
    leave out what is not stored. All of it is Python, one example after the other.

    Parameters
    ----------
    model : river classifier, default=None
        Model or pipeline with ``learn_one`` and ``predict_proba_one``; it is copied, never changed. ``None`` is
        ``river.linear_model.LogisticRegression()``.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}. The model sees True for it, False for the other.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    model_ : river classifier
        The model, trained.
    threshold_ : float
        Positive is predicted where its probability is at least 0.5.
    n_seen_ : int
        Examples learnt from.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] J. Montiel et al., "River: machine learning for streaming data in Python", JMLR 22, 2021.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.online import OFO
    >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
    >>> OFO(posterior=RiverClassifier()).partial_fit(X, y).online_value_
    0.914
    """

    model_: Estimator
    threshold_: float

    def __init__(
        self,
        model: Estimator = None,
        *,
        passes: int = 1,
        shuffle: bool = True,
        pos_label: Label = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.model = model
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of both classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``.
        """
        positive = self._posteriors(X)
        columns = [1.0 - positive, positive]
        return np.column_stack(columns if self.pos_label_ == self.classes_[1] else columns[::-1])

    def decision_function(self, X: Samples) -> Array:
        """Probability less 0.5; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; their sign is turned where the positive class is ``classes_[0]``.
        """
        return margin(self._posteriors(X), self.threshold_, self.pos_label_ == self.classes_[1])

    def _posteriors(self, X: Samples) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **NUMBERS)
        return np.array([self._posterior(row) for row in _dicts(X)])

    def _posterior(self, row: dict[int, float]) -> float:
        """Probability of True; 1/2 where the model does not know."""
        proba = self.model_.predict_proba_one(row)
        return float(proba.get(True, 1.0 - proba[False] if False in proba else 0.5))

    def _check_parameters(self) -> None:
        for method in ("learn_one", "predict_proba_one"):
            if self.model is not None and not hasattr(self.model, method):
                raise TypeError(f"model must be a classifier of river with {method}, got {self.model!r}")

    def _start(self, n_features: int) -> None:
        self.threshold_ = 0.5
        self.model_ = _default_model() if self.model is None else copy.deepcopy(self.model)

    def _step(self, X: Samples, y: FloatArray) -> FloatArray:
        proba = np.empty(y.size)
        for i, (row, positive) in enumerate(zip(_dicts(X), (y > 0.0).tolist())):
            proba[i] = self._posterior(row)
            self.model_.learn_one(row, positive)
        return proba

    def _predict_then_learn(self, X: Samples, y: FloatArray) -> FloatArray:
        """Probability of the positive class in each checked row before it is learnt, which it then is."""
        return np.concatenate(self._learn(X, y))


def _dicts(X: Samples) -> Iterator[dict[int, float]]:
    """Rows as dicts, one after the other."""
    if not issparse(X):
        for row in X:
            yield dict(enumerate(row.tolist()))
        return
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        yield dict(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist()))


def _default_model() -> Any:
    try:
        from river.linear_model import LogisticRegression
    except ImportError as error:
        raise ImportError("RiverClassifier without a model needs river: pip install 'csf-search[river]'") from error
    return LogisticRegression()
