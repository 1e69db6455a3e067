"""The winner as scikit-learn's own FixedThresholdClassifier."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from csf._common.typing import Estimator
from csf.export.winner import Winner, winner_of
from csf.search import CostSearch

__all__ = ["fixed_threshold"]


def fixed_threshold(search: CostSearch) -> FixedThresholdClassifier:
    """The winner and its threshold as a classifier of scikit-learn, which predicts what the search does.

    Parameters
    ----------
    search : CostSearch
        Fitted, of two classes.

    Returns
    -------
    sklearn.model_selection.FixedThresholdClassifier
        Of a `sklearn.frozen.FrozenEstimator`; ready to predict, to be pickled, and to be used where csf is not
        installed (what the base needs has to be there).

    Raises
    ------
    TypeError
        If the winner has no scores, or no names of classes that can be changed where yours are not 0 and 1.
    ValueError
        If the search has several classes, or no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3).fit(X, y == 8)
    >>> model = fixed_threshold(search)
    >>> bool((model.predict(X) == search.predict(X)).all())
    True
    """
    winner = winner_of(search)
    named = _with_names(winner)
    options: dict[str, Any] = {"threshold": winner.threshold, "pos_label": winner.positive}
    options["response_method"] = winner.method
    return FixedThresholdClassifier(FrozenEstimator(named), **options)


def _with_names(winner: Winner) -> Estimator:
    """The estimator with the user's names of the classes; a copy where they differ."""
    if (winner.known_negative, winner.known_positive) == (winner.negative, winner.positive):
        return winner.estimator
    names = {winner.known_negative: winner.negative, winner.known_positive: winner.positive}
    return _renamed(winner.estimator, names)


def _renamed(estimator: Estimator, names: dict) -> Estimator:
    renamed = copy.copy(estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        renamed.steps = [*estimator.steps[:-1], (name, _renamed(last, names))]
        return renamed
    if "classes_" not in vars(estimator):
        raise TypeError(
            f"the classes of {type(estimator).__name__} cannot be renamed to {list(names.values())}; fit the search on "
            "labels 0 and 1, or wrap the predictions of best_estimator_ yourself"
        )
    renamed.classes_ = np.array([names[label] for label in estimator.classes_.tolist()])
    return renamed
