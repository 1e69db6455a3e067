"""What several studies of one search train next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from csf.study.study import Study
    from csf.trials import Trial

__all__ = ["next_batch"]


def next_batch(studies: list[Study]) -> list[tuple[int, Trial]]:
    """Settings and trials to train now: those left pending by an earlier run, then new ones.

    Parameters
    ----------
    studies : list of Study
        One for each setting.

    Returns
    -------
    list of tuple of (int, Trial)
        Place of the study and trial; empty when all studies are over.

    Examples
    --------
    >>> from csf import Study
    >>> studies = [Study(pos=0.2, n_trials=1), Study(pos=0.2, n_trials=1)]
    >>> [(setting, trial.t) for setting, trial in next_batch(studies)]
    [(0, 0.5), (1, 0.5)]
    """
    numbered = list(enumerate(studies))
    left = [(setting, trial) for setting, study in numbered for trial in study.trials if trial.state == "pending"]
    if left:
        return left
    try:
        return [(setting, trial) for setting, study in numbered for trial in study.ask_batch()]
    except BaseException:
        # Ctrl-C, or a strategy's error: a part of a batch would be trained first when the search goes on, and what is
        # asked for after it would know its results.
        for study in studies:
            study.forget_pending()
        raise
