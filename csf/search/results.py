"""What a search reports: the winner, the bound, and all trials as a dict of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.typing import Array
from csf._common.warn import warn
from csf.bounds import upper_bound
from csf.trials import best_trial, first_line, gap

if TYPE_CHECKING:
    from csf.study.study import Study
    from csf.trials import Trial


__all__ = ["Summary", "cv_results", "summary"]

# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


@dataclass(frozen=True, eq=False)
class Summary:
    """What the trials of a search say.

    Parameters
    ----------
    trials : list of Trial
        Those of all settings.
    n_splits : int
        Number of splits.
    winner : Trial
        The trial that was chosen.
    index : int
        Its place.
    params : dict
        Its setting.
    upper_bound : float
        Best value still possible.
    gap : float
        Its distance from the best value attained.
    stop_reason : str
        Why the search ended.
    table : dict of ndarray
        See `cv_results`.
    """

    trials: list[Trial]
    n_splits: int
    winner: Trial
    index: int
    params: dict[str, Any]
    upper_bound: float
    gap: float | None
    stop_reason: str
    table: dict[str, Array]


def summary(
    studies: list[Study],
    settings: list[dict[str, Any]],
    n_splits: int,
    *,
    stopped: str | None = None,
    winner: Trial | None = None,
) -> Summary:
    """Results of a search that come from its trials.

    Parameters
    ----------
    studies : list of Study
        One for each setting, all with the same metric, share of positives and bound.
    settings : list of dict
        Parameters of the base for each setting.
    n_splits : int
        Number of splits.
    stopped : str, default=None
        Why the search ended before its studies did.
    winner : Trial, default=None
        The trial that was chosen; ``None`` takes the best one.

    Returns
    -------
    Summary
        The results.

    Raises
    ------
    ValueError, TypeError
        If every trial failed: the kind of the first error, with its text.
    """
    trials = [trial for study in studies for trial in study.trials]
    winner = best_trial(trials) if winner is None else winner
    if winner is None:
        raise _nothing_worked(trials)
    if winner.duality_gap is not None and winner.duality_gap > _OPEN:
        warn(
            f"the objective of the best model may be {winner.duality_gap:.0%} above its optimum; scale the features, "
            "lower C, or raise max_iter of the base",
            ConvergenceWarning,
        )
    # One bound for all settings: it speaks of every classifier on these data, whatever its parameters.
    first = studies[0]
    ceiling = upper_bound(trials, first.metric, pos=first.pos, bound=first.bound)
    return Summary(
        trials=trials,
        n_splits=n_splits,
        winner=winner,
        index=next(i for i, trial in enumerate(trials) if trial is winner),
        params=settings[winner.setting],
        upper_bound=ceiling,
        gap=gap(trials, ceiling),
        stop_reason=stopped or "; ".join(dict.fromkeys(study.stop_reason for study in studies if study.stop_reason)),
        table=cv_results(trials, settings, n_splits),
    )


def _nothing_worked(trials: list[Trial]) -> Exception:
    """Error for a search without a complete trial: the causes in a line each, then the first traceback."""
    errors = [trial.error for trial in trials if trial.error]
    causes = list(dict.fromkeys(map(first_line, errors))) or ["no trial was made"]
    more = "".join(f"\nothers: {cause}" for cause in causes[1:])
    first = "".join(f"\nThe first error was:\n{error}" for error in errors[:1] if error.rstrip() != causes[0])
    kind = TypeError if causes[0].startswith("TypeError: ") else ValueError
    return kind(f"all {len(trials)} trials failed: {causes[0]}{more}{first}")


def cv_results(trials: list[Trial], settings: list[dict[str, Any]], n_folds: int) -> dict[str, Array]:
    """Table of all trials.

    Parameters
    ----------
    trials : list of Trial
        Complete and failed trials.
    settings : list of dict
        Parameters of the base for each setting.
    n_folds : int
        Number of folds.

    Returns
    -------
    dict of ndarray
        One entry a trial in each array: ``params`` and ``param_*``, ``split{i}_test_score``, their ``mean_`` and
        ``std_``, the ``pooled_test_score`` that selects, its ``rank_test_score`` (after the constraint), the
        tuned ``threshold``, the
        ``value`` and errors ``fn``, ``fp`` of the classifier's own decision, the
        ``duality_gap`` of linear models, times in seconds, ``state`` and
        ``error``. It opens as a DataFrame.
    """

    def column(get: Callable[[Trial], float | None], missing: float = np.nan) -> Array:
        return np.array([missing if get(t) is None else get(t) for t in trials], dtype=float)

    table = {"params": np.array([{"t": t.t, **settings[t.setting]} for t in trials], dtype=object)}
    table["param_t"] = column(lambda t: t.t)
    table["param_c_fn"] = column(lambda t: t.c_fn)
    table["param_c_fp"] = column(lambda t: t.c_fp)
    for name in dict.fromkeys(name for setting in settings for name in setting):
        values = [settings[t.setting].get(name) for t in trials]
        table[f"param_{name}"] = np.empty(len(values), dtype=object)
        table[f"param_{name}"][:] = values
    folds = np.full((len(trials), n_folds), np.nan)
    for row, trial in zip(folds, trials):
        row[: len(trial.fold_scores)] = [np.nan if score is None else score for score in trial.fold_scores]
    table |= {f"split{i}_test_score": folds[:, i] for i in range(n_folds)}
    measured = np.isfinite(folds).any(axis=1)
    table["mean_test_score"], table["std_test_score"] = np.full((2, len(trials)), np.nan)
    table["mean_test_score"][measured] = np.nanmean(folds[measured], axis=1)
    table["std_test_score"][measured] = np.nanstd(folds[measured], axis=1)
    score = table["pooled_test_score"] = column(lambda t: t.score)
    # As trials win: the smaller miss of the constraint, then the larger score; failed trials come last.
    failed = np.isnan(score)
    missed = np.where(failed, np.inf, column(lambda t: t.violation))
    known = np.where(failed, -np.inf, score)
    better = (missed < missed[:, None]) | ((missed == missed[:, None]) & (known > known[:, None]))
    table["rank_test_score"] = 1 + better.sum(axis=1)
    table["threshold"] = column(lambda t: t.threshold)
    table["value"] = column(lambda t: t.value)
    table["fn"] = column(lambda t: t.profile and t.profile.fn)
    table["fp"] = column(lambda t: t.profile and t.profile.fp)
    table["duality_gap"] = column(lambda t: t.duality_gap)
    table["fit_time"] = column(lambda t: t.fit_time)
    table["score_time"] = column(lambda t: t.score_time)
    table["state"] = np.array([t.state for t in trials])
    table["error"] = np.array([t.error for t in trials], dtype=object)
    return table
