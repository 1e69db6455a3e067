"""What a search reports: the winner, the bound, and all trials as a dict of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.typing import Array
from csf._common.warn import warn
from csf.bounds import upper_bound
from csf.trials import best_trial, first_line, gap

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.study.study import Study
    from csf.trials import Trial


__all__ = ["cv_results", "report"]

# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


def report(
    studies: list[Study],
    settings: list[dict[str, Any]],
    n_splits: int,
    *,
    metric: Metric,
    pos: float,
    bound: str | type,
    stopped: str | None = None,
    winner: Trial | None = None,
) -> dict[str, Any]:
    """Fitted attributes of a search that come from its trials.

    Parameters
    ----------
    studies : list of Study
        One for each setting.
    settings : list of dict
        Parameters of the base for each setting.
    n_splits : int
        Number of splits.
    metric : Metric
        What was maximised.
    pos : float
        Share of positives in the data of the bounds.
    bound : str or type
        See `csf.bounds.get_bound`.
    stopped : str, default=None
        Why the search ended before its studies did.
    winner : Trial, default=None
        The trial that was chosen; ``None`` takes the best one.

    Returns
    -------
    dict
        Attribute names and values, see `csf.CostSearch`.

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
    ceiling = upper_bound(trials, metric, pos=pos, bound=bound)
    return {
        "trials_": trials,
        "n_trials_": len(trials),
        "n_splits_": n_splits,
        "best_index_": next(i for i, trial in enumerate(trials) if trial is winner),
        "best_t_": winner.t,
        "best_cost_weights_": winner.costs,
        "best_threshold_": winner.threshold,
        "best_score_": winner.score,
        "best_params_": settings[winner.setting],
        "feasible_": winner.feasible,
        "constraint_value_": winner.rate,
        "upper_bound_": ceiling,
        "gap_": gap(trials, ceiling),
        "stop_reason_": stopped or "; ".join(dict.fromkeys(study.stop_reason for study in studies)),
        "cv_results_": cv_results(trials, settings, n_splits),
    }


def _nothing_worked(trials):
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

    def column(get, missing=np.nan):
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
