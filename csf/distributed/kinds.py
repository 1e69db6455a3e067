"""Searches over an engine by the kind of problem, and the rules that predict in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from csf._common.typing import Keywords
from csf.distributed.engine import Engine, EngineSearch
from csf.distributed.multiclass import MulticlassEngineSearch
from csf.distributed.row_costs import RowCostEngineSearch
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from csf._common.typing import Estimator, Params
    from csf.data.labels import Labels
    from csf.metrics.row_costs import RowCosts
    from csf.search.config import SearchConfig
    from csf.thresholding.base import DecisionRule


def engine_search(
    engine: Engine,
    bases: list[Estimator],
    settings: list[Params],
    config: SearchConfig,
    *,
    labels: Labels,
    costs: RowCosts | None,
    likely: bool,
    **options: Any,
) -> EngineSearch:
    """Make the search for several classes, for costs of rows, or for costs and a threshold of two classes."""
    if labels.n_alike is not None:
        return MulticlassEngineSearch(engine, bases, settings, config, labels=labels, **options)
    if costs is not None:
        more: Keywords = {"costs": costs, "labels": labels, "likely": likely}
        return RowCostEngineSearch(engine, bases, settings, config, **options, **more)
    return EngineSearch(engine, bases, settings, config, **options)


def rule_in_memory(search: EngineSearch, found: Any, local: Estimator, labels: Labels, method: str) -> DecisionRule:
    """Return the rule that predicts with the winner, a classifier in memory whose ``method`` gives its scores."""
    if isinstance(search, MulticlassEngineSearch):
        return found.rule_with(local, labels)
    learnt = labels.learnt_by(local)
    names = labels.decode(learnt.codes)
    if isinstance(search, RowCostEngineSearch):
        return search.problem.rule_by(found, local, learnt.known, names, method)
    return ThresholdRule.of(
        local,
        known=learnt.known,
        names=names,
        null=labels.null,
        threshold=found.threshold,
        method=method,
        tuned=found.config.tunes,
        costs=found.winner.costs,
    )
