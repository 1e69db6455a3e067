"""All trials of a search as a dict of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array
from csf.metrics.base import rank

if TYPE_CHECKING:
    from csf.trials import Trial

__all__ = ["cv_results", "setting_columns", "split_columns", "trial_columns"]


def cv_results(trials: list[Trial], settings: list[dict[str, Any]], n_folds: int) -> dict[str, Array]:
    """Table of all trials in their order, with what every fold says."""
    table = {"params": np.array([{"t": t.t, **settings[t.setting]} for t in trials], dtype=object)}
    table["param_t"] = _column(trials, lambda t: t.t)
    table["param_c_fn"] = _column(trials, lambda t: t.c_fn)
    table["param_c_fp"] = _column(trials, lambda t: t.c_fp)
    table |= setting_columns(trials, settings) | split_columns(trials, n_folds)
    table["threshold"] = _column(trials, lambda t: t.threshold)
    table["fn"] = _column(trials, lambda t: t.profile and t.profile.fn)
    table["fp"] = _column(trials, lambda t: t.profile and t.profile.fp)
    return table | trial_columns(trials)


def setting_columns(trials: Sequence[Any], settings: list[dict[str, Any]]) -> dict[str, Array]:
    """A column for each parameter that was searched."""
    table = {}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        values = [settings[t.setting].get(name) for t in trials]
        table[f"param_{name}"] = np.empty(len(values), dtype=object)
        table[f"param_{name}"][:] = values
    return table


def split_columns(trials: Sequence[Any], n_folds: int) -> dict[str, Array]:
    """Scores in the folds, of all folds pooled, and their ranks."""
    folds = np.full((len(trials), n_folds), np.nan)
    for row, trial in zip(folds, trials):
        row[: len(trial.fold_scores)] = [np.nan if score is None else score for score in trial.fold_scores]
    table = {f"split{i}_test_score": folds[:, i] for i in range(n_folds)}
    measured = np.isfinite(folds).any(axis=1)
    table["mean_test_score"], table["std_test_score"] = np.full((2, len(trials)), np.nan)
    table["mean_test_score"][measured] = np.nanmean(folds[measured], axis=1)
    table["std_test_score"][measured] = np.nanstd(folds[measured], axis=1)
    table["pooled_test_score"] = _column(trials, lambda t: t.score)
    table["rank_test_score"] = _ranks(trials)
    return table


def trial_columns(trials: Sequence[Any]) -> dict[str, Array]:
    """What trials of any kind tell besides."""
    table = {name: _column(trials, attrgetter(name)) for name in ("value", "duality_gap", "fit_time", "score_time")}
    table["state"] = np.array([t.state for t in trials])
    table["error"] = np.array([t.error for t in trials], dtype=object)
    return table


def _column(trials: Sequence[Any], get: Callable[[Any], float | None]) -> Array:
    return np.array([np.nan if get(t) is None else get(t) for t in trials], dtype=float)


def _ranks(trials: Sequence[Any]) -> Array:
    """Place of each trial as trials win, 1 for the best; equals share it, failed trials come last."""
    keys = [rank(np.inf, -np.inf) if trial.score is None else rank(trial.violation, trial.score) for trial in trials]
    first = {key: place for place, key in reversed(list(enumerate(sorted(keys), start=1)))}
    return np.array([first[key] for key in keys])
