"""Trials as a dict of arrays, as scikit-learn's searches report them."""

import numpy as np

__all__ = ["cv_results"]


def cv_results(trials, settings, n_folds):
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
        ``value`` and errors ``fn``, ``fp`` of the classifier's own decision, times in seconds, ``state`` and
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
    table["fit_time"] = column(lambda t: t.fit_time)
    table["score_time"] = column(lambda t: t.score_time)
    table["state"] = np.array([t.state for t in trials])
    table["error"] = np.array([t.error for t in trials], dtype=object)
    return table
