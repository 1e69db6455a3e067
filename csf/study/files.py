"""Studies as files: what they know is written; their metric and strategy are code, and named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from csf._common.files import read_record, write_record
from csf._common.identity import named
from csf._common.typing import PathLike
from csf._common.validation import check_count, check_fraction
from csf.trials import Trial

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Strategy

__all__ = ["StudyRecord", "read_study", "write_study"]

FORMAT = "csf-study"
VERSION = 3


@dataclass(frozen=True, eq=False)
class StudyRecord:
    """What a file keeps of a study.

    Parameters
    ----------
    metric, strategy : list of str
        What they are called, and a hash of what they do, see `csf._common.identity.named`.
    pos : float
        Share of positives.
    n_trials : int
        Largest number of trials.
    tol : float or None
        Gap at which it ends.
    trials : list of Trial
        The trials.
    """

    metric: list[str]
    strategy: list[str]
    pos: float
    n_trials: int
    tol: Any
    trials: list[Trial]

    def check_made_with(self, metric: Metric, strategy: Strategy, path: PathLike) -> None:
        """A ValueError where the study was written with another metric or strategy."""
        now = {"metric": named(metric), "strategy": named(strategy)}
        for name, then in (("metric", self.metric), ("strategy", self.strategy)):
            if then != now[name]:
                how = "with other parameters, other code or other values that its functions enclose"
                other = now[name][0] if then[0] != now[name][0] else how
                raise ValueError(f"{path} was made with {name} {then[0]}, not {other}")


def write_study(path: PathLike, study: Any, strategy: Strategy) -> None:
    """Write a study, with the strategy that it was given; see `csf.Study.save`."""
    write_record(
        path,
        FORMAT,
        VERSION,
        {
            "metric": named(study.metric),
            "strategy": named(strategy),
            "pos": study.pos,
            "n_trials": study.n_trials,
            "tol": study.tol,
            "stop_reason": study.stop_reason,
            "trials": [trial.to_dict() for trial in study.trials],
        },
    )


def read_study(path: PathLike) -> StudyRecord:
    """Read what a file keeps of a study.

    Parameters
    ----------
    path : path-like
        File written by `write_study`.

    Returns
    -------
    StudyRecord
        Its content.

    Raises
    ------
    ValueError
        If the file is damaged or not a study.
    """
    content = read_record(path, FORMAT, VERSION)
    try:
        return StudyRecord(
            pos=check_fraction(content["pos"], "pos"),
            n_trials=check_count(content["n_trials"], "n_trials"),
            tol=content["tol"],
            metric=list(content["metric"]),
            strategy=list(content["strategy"]),
            trials=[Trial.from_dict(record) for record in content["trials"]],
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); it was left as it is") from error
