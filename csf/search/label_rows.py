"""Who wins a search of the mean F-beta of rows, which no costs aim at: equal costs, and a shared threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.resampling import seed_of
from csf.resampling.outcomes import decisions
from csf.resampling.rows import LabelRows, RowDraws, assess_rows
from csf.search.failures import nothing_worked
from csf.search.outcome import SearchOutcome
from csf.search.stable_choice import N_DRAWS, averaged_cut
from csf.thresholding import sweep

if TYPE_CHECKING:
    from csf.resampling import Assessment, ScoreRow, ScoreStore, TrialKey
    from csf.search.config import SearchConfig
    from csf.study.study import Study

__all__ = ["RowOutcome", "conclude_rows"]


@dataclass(frozen=True)
class RowQuestion:
    """What a winner by the mean over rows is worth."""

    n_labels: int
    beta: float
    winner: TrialKey
    random_state: int

    def answer(self, store: ScoreStore) -> Assessment:
        """The assessment."""
        return assess_rows(store, self.n_labels, self.beta, self.winner, self.random_state)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowOutcome(SearchOutcome):
    """What a search of the mean over rows found."""

    n_labels: int
    beta: float

    @property
    def question(self) -> Any:
        """What is asked about the held-out scores."""
        return RowQuestion(self.n_labels, self.beta, self.key, seed_of(self.config.random_state))


def conclude_rows(
    config: SearchConfig,
    studies: list[Study],
    settings: list[dict[str, Any]],
    n_splits: int,
    store: ScoreStore,
    *,
    n_labels: int,
    beta: float,
    margin: float | None,
    stopped: str | None = None,
) -> RowOutcome:
    """Outcome of trials that were judged on all pairs of a row and a label, now by the mean over rows."""
    if not len(store):
        raise nothing_worked([trial for study in studies for trial in study.trials])
    truth = LabelRows(store.is_pos, n_labels, beta)
    for row in list(store):
        store.put(_judged(row, store, truth))
    won = min(store, key=lambda row: row.rank) if margin is None else _stable(store, truth)
    for study in studies:
        study.trials = [
            replace(trial, threshold=store[key].threshold, score=store[key].value) if key in store else trial
            for trial in study.trials
            for key in [(trial.setting, trial.number)]
        ]
    store.put(won)
    trials = [trial for study in studies for trial in study.trials]
    return RowOutcome(
        config=config,
        studies=studies,
        settings=settings,
        n_splits=n_splits,
        store=store,
        stop_reason=stopped or "all settings are done",
        winner=next(trial for trial in trials if (trial.setting, trial.number) == won.key),
        threshold=won.threshold,
        score=won.value,
        feasible=True,
        constraint_value=None,
        upper_bound=np.nan,
        gap=np.nan,
        bound_margin=np.nan,
        n_labels=n_labels,
        beta=beta,
    )


def _judged(row: ScoreRow, store: ScoreStore, truth: LabelRows) -> ScoreRow:
    """The row at the cut that is best for the mean over rows."""
    if row.score is None:
        return replace(row, value=_value(decisions(row), store, truth))
    threshold, value = truth.best_cut(row.score, store.weight)
    return replace(row, threshold=threshold, value=value)


def _value(found: Any, store: ScoreStore, truth: LabelRows) -> float:
    weight = None if store.weight is None else store.weight[:: truth.n_labels]
    return float(np.average(truth.values(found), weights=weight))


def _stable(store: ScoreStore, truth: LabelRows) -> ScoreRow:
    """The row that is best on average over draws, cut at the mean of its best cuts; see `stable_choice`."""
    draws = RowDraws(store, truth.n_labels, truth.beta, N_DRAWS, 0)
    values = np.array([values for _, values in draws.retuned])
    at = int(values.mean(axis=1).argmax())
    row = draws.rows[at]
    if row.score is None or row.threshold is None:
        return row
    score = row.score

    def value(cut: float) -> float:
        return _value(score >= cut, store, truth)

    curve = sweep(store.is_pos, score.astype(np.float64), store.weight)
    cut = averaged_cut(curve, row.threshold, draws.thresholds(at), value, float(values[at].std()))
    return replace(row, threshold=cut, value=value(cut))
