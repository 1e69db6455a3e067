"""Failed trials of a search: each cause is told once, and how often it came again at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sklearn.exceptions import FitFailedWarning

from csf._common.warn import warn
from csf.trials import first_line

if TYPE_CHECKING:
    from csf.trials import Trial

__all__ = ["Failures"]


class Failures:
    """Counts failed trials by their causes.

    Examples
    --------
    >>> import warnings
    >>> from csf import Study
    >>> failures, study = Failures(), Study(pos=0.2)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     for _ in range(3):
    ...         failures.add(study.ask(), "ValueError: no")
    ...     failures.warn_of_more(n_complete=2)
    >>> len(told), str(told[1].message)
    (2, '3 trials failed and are left out, 2 are complete. Causes: ValueError: no (3 times)')
    """

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def add(self, trial: Trial, error: str) -> None:
        """Count a trial, and warn of it unless others failed like it.

        Parameters
        ----------
        trial : Trial
            The trial.
        error : str
            What went wrong; its first line tells causes apart.
        """
        cause = first_line(error)
        self._times[cause] += 1
        if self._times[cause] == 1:
            warn(
                f"trial {trial.number} (t={trial.t}, costs {trial.costs}) failed and is left out; its error is in "
                f"trials_: {cause}",
                FitFailedWarning,
            )

    def warn_of_more(self, n_complete: int) -> None:
        """Tell at the end how many trials failed like the first ones, where others did not.

        Parameters
        ----------
        n_complete : int
            Number of trials that did not fail.
        """
        if n_complete and self._times.total() > len(self._times):
            causes = "; ".join(f"{cause} ({times} times)" for cause, times in self._times.most_common())
            warn(
                f"{self._times.total()} trials failed and are left out, {n_complete} are complete. Causes: {causes}",
                FitFailedWarning,
            )
