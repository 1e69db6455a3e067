"""What a search on Dask needs of a kind of base: trainings, and models in memory that score one partition at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from csf._common.typing import Array, Estimator, Label, Samples
from csf.data.responses import NATURAL_THRESHOLDS, above
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.cluster.engine import Job
    from csf.dask.collections import DaskData, RawPart
    from csf.dask.survey import Survey

__all__ = ["DaskBase", "Scorer"]

# Scores of rows in memory; it can be pickled, and travels to the partitions.
Scorer: TypeAlias = Callable[[Samples], Array]


class DaskBase(ABC):
    """How one kind of base is trained on Dask collections; ``method`` of its models gives the scores."""

    method: str

    @property
    def own_cut(self) -> float:
        """See `csf.cluster.Scored`."""
        return above(NATURAL_THRESHOLDS[self.method])

    def most_jobs(self, n_folds: int, n_features: int) -> int:
        """See `csf.cluster.Engine.most_jobs`."""
        return n_folds

    @abstractmethod
    def check(self, base: Estimator) -> None:
        """Raise a ValueError where the base has parameters that cannot be served."""

    def check_rows(self, part: RawPart) -> None:
        """Raise a TypeError or ValueError where the features of a partition cannot be trained on."""
        return

    @abstractmethod
    def train(self, jobs: Sequence[Job], data: DaskData, found: Survey, pos_label: Label) -> list[Training | Exception]:
        """Train, see `csf.cluster.Engine.train`."""

    @abstractmethod
    def scorer(self, model: Any) -> Scorer:
        """Scores of a model for rows in memory."""

    @abstractmethod
    def fitted(self, base: Estimator, model: Any, names: Array | None) -> Estimator:
        """What the user gets of a model: an object of the base's class that knows the classes 0 and 1."""

    @abstractmethod
    def in_memory(self, base: Estimator) -> Estimator:
        """Unfitted classifier with the base's parameters for data in memory."""

    @abstractmethod
    def local(self, fitted: Estimator) -> Estimator:
        """Classifier in memory that predicts what a fitted base does."""
