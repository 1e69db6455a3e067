"""What a search asks of the place where it trains: this wave of trials, on all folds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from csf._common.typing import Array, Costs
    from csf.resampling import ScoreStore
    from csf.trials import CompleteFields, FailedFields, Trial

__all__ = ["FailedEverywhere", "Said", "Startable", "TrainedTrial", "WaveTrainer", "Work"]


class Startable(Protocol):
    """What decides which earlier trainings a new one can start from."""

    @property
    def family(self) -> str | None: ...

    def position(self, costs: Costs) -> tuple[float, ...]: ...


class Work(NamedTuple):
    """A trial to train, and for each fold the states that it may start from."""

    setting: int
    trial: Trial
    starts: list[Sequence[Any]]


class Said(NamedTuple):
    """What a trial predicts for the held-out entries of all folds, one after the other."""

    score: Array | None
    decided: Array | None
    # Of classes that are all alike, what rules decide that were tuned on other samples.
    lost: Array | None = None


class FailedEverywhere(NamedTuple):
    """The error of a trial that failed on every fold alike, where it is at hand."""

    error: BaseException | None


@dataclass(frozen=True, eq=False)
class TrainedTrial:
    """What the trainings of one trial on all folds gave; ``failed`` where these failed in one way on all of them.

    ``states`` has what later trainings start from, one entry a fold; ``said`` is ``None`` for failed trials, and where
    held-out scores stay where they are.
    """

    fields: CompleteFields | FailedFields
    states: Sequence[object]
    fit_times: list[float]
    said: Said | None = None
    failed: FailedEverywhere | None = None


class WaveTrainer(ABC):
    """Trains and judges trials on folds, here or wherever the data are.

    ``startables`` has one row for each setting and in it one entry for each fold. ``store`` takes the held-out scores;
    it is ``None`` where they are too many to be collected.
    """

    startables: list[list[Any]]
    store: ScoreStore | None

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.startables[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    @abstractmethod
    def waves(self, batch: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Settings and trials of a batch in the groups that are trained at once."""

    @abstractmethod
    def train(self, wave: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """Train a wave; results in its order, whatever order they come in.

        With ``raise_errors`` a training that fails ends all, else it is the result of its trial.
        """
