"""Failed trials of a search: each cause is reported once, and how often it came again; and when nothing can work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import FitFailedWarning

from csf._common.messages import warn
from csf.trials import first_line

if TYPE_CHECKING:
    from csf.trials import Trial

__all__ = ["Failures", "nothing_worked"]

# A user who reads of missing values is told how to fill them in.
_MISSING = re.compile(r"contains NaN|missing value", re.IGNORECASE)
# So is who reads of texts.
_TEXTS = re.compile(r"could not convert string to float", re.IGNORECASE)
_ENCODE = (
    "X holds texts. Encode them inside the base, make_pipeline(OneHotEncoder(handle_unknown='ignore'), ...), or take "
    "one that accepts them"
)
_INFINITE = re.compile(r"contains infinity", re.IGNORECASE)
_REPLACE = "Clip infinite values with numpy.clip, or make them missing with X.replace([inf, -inf], nan) and impute them"
_FILL_IN = (
    "Fill in missing values inside the base, make_pipeline(SimpleImputer(), ...), or take one that accepts them, such "
    "as HistGradientBoostingClassifier"
)


class Failures:
    """Counts failed trials by their causes.

    ``n_settings`` of the base differ in what may decide whether it can be trained; those that a search made up itself
    do not.

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

    def __init__(self, n_settings: int = 1) -> None:
        self._times: Counter[str] = Counter()
        self._n_settings = n_settings
        self._hopeless: set[int] = set()

    @property
    def leave_no_hope(self) -> bool:
        """Whether no setting can be trained, so that more trials would be a waste of time."""
        return len(self._hopeless) >= self._n_settings

    def add(self, trial: Trial, error: str, *, setting: int = 0, everywhere: bool = False) -> None:
        """Count a trial, and warn of it unless others failed like it.

        Parameters
        ----------
        trial : Trial
            The trial.
        error : str
            What went wrong; its first line distinguishes causes.
        setting : int, default=0
            Whose trial it is.
        everywhere : bool, default=False
            Whether it went wrong on every fold in the same way.
        """
        # Unequal costs can be what a base cannot take. Equal ones ask no more of it than to be trained at all.
        if everywhere and len(set(trial.costs)) == 1:
            self._hopeless.add(setting)
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


def nothing_worked(trials: Sequence[Any], *, ended: bool = False) -> Exception:
    """Error for a search without a complete trial: the causes in a line each, a way out, then the first traceback.

    One that ``ended`` with what fails on every fold is raised from the error itself, which is not reported twice.
    """
    errors = [trial.error for trial in trials if trial.error]
    causes = list(dict.fromkeys(map(first_line, errors))) or ["no trial was made"]
    more = "".join(f"\nothers: {cause}" for cause in causes[1:])
    ways = {_FILL_IN: _MISSING, _ENCODE: _TEXTS, _REPLACE: _INFINITE}
    hint = "".join(f"\n{way}" for way, kind in ways.items() if any(map(kind.search, causes)))
    first = "".join(f"\nThe first error was:\n{error}" for error in errors[:1] if error.rstrip() != causes[0])
    kind = TypeError if causes[0].startswith("TypeError: ") else ValueError
    if ended:
        how, first = "trials failed on every fold in the same way, and no others were tried", ""
    else:
        how = f"{len(trials)} trials failed"
    return kind(f"all {how}: {causes[0]}{more}{hint}{first}")
