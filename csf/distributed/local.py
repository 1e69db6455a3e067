"""Fitted searches in memory from the results of engines, and options that engines do not have."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import BaseEstimator, ClassifierMixin

from csf._common.sklearn import options_of
from csf._common.typing import Estimator, Keywords, Params
from csf.search.config import SearchConfig, SearchOptions
from csf.search.estimator import CostSearch

if TYPE_CHECKING:
    from csf.search.problems.results import SearchResult
    from csf.thresholding.base import DecisionRule


Kind = TypeVar("Kind", bound=type)


def without_options_of_memory(kind: Kind) -> Kind:
    """Decorate a search so that it refuses the options that `csf.CostSearch` alone has, with the reason."""
    init: Any = kind.__init__

    @wraps(init)
    def checked(self: object, *args: object, **given: object) -> None:
        for name, known in options_of(SearchConfig).items():
            if name in given and known.in_memory:
                raise TypeError(
                    f"{name}={given[name]!r} is not for data on a cluster: {known.in_memory}. Leave it out, or use "
                    "csf.CostSearch on rows in memory"
                )
        init(self, *args, **given)

    kind.__init__ = checked
    return kind


class RemoteClassifier(ClassifierMixin, BaseEstimator):
    """Placeholder for a classifier that is not available in memory.

    Parameters
    ----------
    name : str, default=""
        Its class.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name


def local_search(
    config: SearchConfig, base: Estimator, result: SearchResult, rule: DecisionRule | None, known: Params
) -> CostSearch:
    """Make a fitted search in memory from an engine's result; ``known`` are attributes that no result has."""
    in_memory: Keywords = {"base": base, "checkpoint": None, "callbacks": None}
    options: Keywords = {option.name: getattr(config, option.name) for option in fields(SearchOptions)} | in_memory
    options["refit"] = rule is not None
    search = CostSearch(**options)
    vars(search).update(known)
    search._publish(replace(result, config=replace(result.config, **in_memory)), rule)
    if rule is not None:
        search.best_estimator_ = rule.estimator
    return search
