"""The winner of a search: its estimator, its threshold, and what the user calls its two classes."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Estimator, Label
from csf.search import CostSearch

__all__ = ["Winner", "fitted_winner", "winner_of"]


class Winner(NamedTuple):
    """What predicts: labels are what the user and what the estimator calls them, ``method`` gives the score."""

    estimator: Estimator
    threshold: float
    positive: Label
    negative: Label
    known_positive: Label
    known_negative: Label
    method: str


def fitted_winner(search: CostSearch) -> None:
    """Raise an error unless it is a search with a fitted winner."""
    if not isinstance(search, CostSearch):
        raise TypeError(f"search must be a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    if not hasattr(search, "best_estimator_"):
        raise ValueError("this CostSearch was fitted with refit=False and has no model to export; use refit=True")


def winner_of(search: CostSearch) -> Winner:
    """Winner of a fitted search of two classes.

    Parameters
    ----------
    search : CostSearch
        Fitted with ``refit=True``.

    Returns
    -------
    Winner
        What predicts.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the search is not fitted.
    TypeError
        If it is no search, or its winner has no scores.
    ValueError
        If it has several classes or labels, or was fitted with ``refit=False``.
    """
    fitted_winner(search)
    if hasattr(search, "label_names_"):
        raise ValueError(
            f"the search has {len(search.classes_)} labels a sample, each with a model of its own; export "
            "searches_[k], which metric='f1_macro' gives, or best_estimator_.estimators_ with best_threshold_"
        )
    if hasattr(search, "class_costs_"):
        raise ValueError(
            f"the search knows {len(search.classes_)} classes; a single threshold separates two. Export "
            "best_estimator_ with csf.export.class_rule(search), a table that decides by its probabilities"
        )
    if search.pos_label_ is None:
        raise ValueError(
            f"the search knows {len(search.classes_)} classes; a single threshold separates two. Export "
            "best_estimator_ itself, whose score of the null class is to be moved by best_threshold_"
        )
    rule = search._predicting
    names, known = rule.names.tolist(), rule.known.tolist()
    at = names.index(search.pos_label_)
    return Winner(rule.estimator, float(rule.cut), names[at], names[1 - at], known[at], known[1 - at], str(rule.method))
