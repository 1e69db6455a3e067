"""Linear winners as coefficients, an intercept and a threshold of the features themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from csf._common.files import write_json
from csf._common.typing import Array, FloatArray, Label, PathLike, Samples
from csf.export._parts import decision, linear_part
from csf.export.winner import winner_of
from csf.search import CostSearch

__all__ = ["LinearRule", "linear_rule"]


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Predict ``positive`` where ``X @ coef + intercept >= threshold``, else ``negative``.

    Parameters
    ----------
    coef : ndarray of shape (n_features,)
        Coefficients of the features as they come: scaling is in them.
    intercept : float
        What is added to each score.
    threshold : float
        The threshold, maybe infinite.
    negative, positive : label
        The classes.
    features : list of str or None
        Names of the features, where they are known.

    Examples
    --------
    >>> rule = LinearRule(np.array([1.0, -2.0]), 0.5, 0.0, "no", "yes", None)
    >>> rule.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    coef: FloatArray
    intercept: float
    threshold: float
    negative: Label
    positive: Label
    features: list[str] | None

    def score(self, X: Samples) -> FloatArray:
        """Scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef + intercept``.
        """
        X = X if hasattr(X, "tocsr") else np.asarray(X, dtype=float)
        return np.asarray(X @ self.coef).ravel() + self.intercept

    def predict(self, X: Samples) -> Array:
        """Labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``positive`` where the score reaches the threshold.
        """
        return np.where(self.score(X) >= self.threshold, self.positive, self.negative)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists.

        Returns
        -------
        dict
            One entry a parameter; an infinite threshold as the largest or smallest number there is.
        """
        return {
            "rule": "positive where sum(coef * features) + intercept >= threshold, else negative",
            "coef": self.coef.tolist(),
            **decision(self),
            "features": self.features,
        }

    def save(self, path: PathLike) -> None:
        """Write the rule as JSON, for any language.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        write_json(path, self.to_dict())


def linear_rule(search: CostSearch) -> LinearRule:
    """The rule of a search whose winner is linear.

    Parameters
    ----------
    search : CostSearch
        Fitted, of two classes. The base has ``coef_`` and ``intercept_``, alone or at the end of a pipeline of
        StandardScaler, MinMaxScaler (without ``clip``) and MaxAbsScaler.

    Returns
    -------
    LinearRule
        It predicts what the search does, but for scores that rounding moves over the threshold.

    Raises
    ------
    TypeError
        If the winner is not linear in the features.
    ValueError
        If the search has several classes, or no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3).fit(X, y == 8)
    >>> rule = linear_rule(search)
    >>> rule.coef.shape, bool((rule.predict(X) == search.predict(X)).all())
    ((64,), True)
    """
    winner = winner_of(search)
    coef, intercept = linear_part(winner.estimator, winner)
    names = getattr(search, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    return LinearRule(coef, intercept, winner.threshold, winner.negative, winner.positive, features)
