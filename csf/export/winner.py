"""The winner of a search: its estimator, its cut, and what the user calls its two classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Estimator, Label
from csf.search import CostSearch

__all__ = ["Winner", "winner_of"]


class Winner(NamedTuple):
    """What predicts."""

    estimator: Estimator
    threshold: float
    positive: Label
    negative: Label
    known_positive: Label
    known_negative: Label


def winner_of(search: CostSearch) -> Winner:
    """Winner of a fitted search of two classes."""
    if not isinstance(search, CostSearch):
        raise TypeError(f"search must be a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    if not hasattr(search, "best_estimator_"):
        raise ValueError("this CostSearch was fitted with refit=False and has no model to export; use refit=True")
    if search.pos_label_ is None:
        raise ValueError(
            f"the search knows {len(search.classes_)} classes; a single cut tells two apart. Export best_estimator_ "
            "itself, whose score of the null class is to be moved by best_threshold_"
        )
    threshold = search.best_threshold_
    if threshold is None:
        raise TypeError(f"{type(search.best_estimator_).__name__} has no scores to cut; export best_estimator_ itself")
    if search.threshold is None:  # the base's own decision leaves a score at its threshold negative
        threshold = float(np.nextafter(threshold, np.inf))
    names, known = search._names.tolist(), search._known.tolist()
    at = names.index(search.pos_label_)
    return Winner(search.best_estimator_, float(threshold), names[at], names[1 - at], known[at], known[1 - at])
