"""What a search reports while it runs: its bar, its time limit, what the rest takes, and failed trials."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from sklearn.exceptions import FitFailedWarning

from csf._common.messages import warn
from csf.evaluate.trials import first_line

if TYPE_CHECKING:
    from csf.evaluate.trials import Trial

__all__ = [
    "Deadline",
    "Failures",
    "Forecast",
    "LAST",
    "Progress",
    "nothing_worked",
]

# ---------------------------------------------------------------- time limit


# The last training sees everything and starts from nothing: its time is that of a fold's first training by this much.
LAST = 1.5


@dataclass
class Deadline:
    """Knows when there is no time left for another trial.

    Parameters
    ----------
    seconds : float
        Time from now on.
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.

    Examples
    --------
    >>> times = iter([0.0, 2.0, 4.0, 9.0])
    >>> deadline = Deadline(10.0, clock=lambda: next(times))
    >>> deadline.passes([1.0, 1.0]), deadline.passes([0.5, 0.5]), deadline.passes([0.5, 0.5])
    (False, False, True)
    """

    seconds: float
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _start: float = field(init=False, repr=False)
    _last: float = field(init=False, repr=False)
    _training: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._start = self._last = self.clock()

    def begin(self) -> None:
        """Trials start now; what was done before them is no measure of their time."""
        self._last = self.clock()

    def passes(self, fold_seconds: list[float]) -> bool:
        """Whether another trial like the one that has just ended, and the last training, would end too late.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of its folds.

        Returns
        -------
        bool
            Whether the search has to stop.
        """
        now = self.clock()
        trial, self._last = now - self._last, now
        self._training = max([self._training, *fold_seconds])
        return now + trial + LAST * self._training > self._start + self.seconds


# ---------------------------------------------------------------- forecast


# Seconds of a rest that nobody has to be told of.
_SHORT = 30.0
_LOGGER = logging.getLogger("csf")


class Forecast:
    """Logs one line when a trial shows that the rest takes long.

    A logger and no warning: it is no fault, and programs that turn warnings into errors go on. Python shows the line on
    stderr where nobody has set up logging.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last = clock, clock()
        self._n_trials, self._is_logged = 0, False

    def add_trial(self, fold_seconds: list[float], *, left: int, is_like_first: bool) -> None:
        """Say how many seconds the rest takes at most, where they are many.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of the folds of the trial that has just ended.
        left : int
            Trials that are left at most.
        is_like_first : bool
            Whether later trials take as long as the first one, not starting from earlier solutions.
        """
        now = self._clock()
        trial, self._last = now - self._last, now
        self._n_trials += 1
        rest = left * trial + LAST * max(fold_seconds, default=0.0)
        if not self._is_logged and rest > _SHORT and (is_like_first or self._n_trials > 1):
            self._is_logged = True
            _LOGGER.warning(
                "the search takes %.0f s more at most: %d trials like the last one of %.0f s, and the last training; "
                "time_limit= ends it in time, n_jobs= shares it among processors, a smaller n_trials= shortens it, and "
                "verbose=1 shows its progress",
                *(rest, left, trial),
            )


# ---------------------------------------------------------------- progress bar


class Progress:
    """A progress bar, or nothing.

    Parameters
    ----------
    total, done : int
        Number of trials, and of those that are finished.
    shown : bool
        Whether there is a bar.
    """

    def __init__(self, *, total: int, done: int, shown: bool) -> None:
        self._bar: Any = None
        if shown:
            # Few look at bars, and everyone would wait for the import.
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, desc="csf", unit="trial")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def expect(self, total: int) -> None:
        """So many trials there will be at most, as far as is known now."""
        if self._bar is not None:
            self._bar.total = total

    def step(self, note: Callable[[], str]) -> None:
        """Count one more trial; the note is asked for where it is shown."""
        if self._bar is not None:
            self._bar.set_postfix_str(note(), refresh=False)
            self._bar.update()

    def finish(self) -> None:
        """All is done, although a strategy or a tolerance may have ended some studies early."""
        if self._bar is not None:
            self._bar.total = self._bar.n


# ---------------------------------------------------------------- failed trials


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
