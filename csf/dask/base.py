"""What a search on Dask needs of a kind of base: trainings, and models in memory that score one partition at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from csf._common.typing import Array, Estimator, Label, Samples
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.cluster.engine import Job
    from csf.dask.collections import DaskData
    from csf.dask.survey import Survey

__all__ = ["DaskBase", "Scorer"]

# Scores of rows in memory; it travels to the partitions.
Scorer: TypeAlias = Callable[[Samples], Array]


class DaskBase(ABC):
    """How one kind of base is trained on Dask collections.

    Attributes
    ----------
    natural_threshold : float
        Score above which a model predicts the positive class by itself.
    """

    natural_threshold: float

    @property
    def own_cut(self) -> float:
        """See `csf.cluster.Scored`."""
        return float(np.nextafter(self.natural_threshold, np.inf))

    @abstractmethod
    def check(self, base: Estimator) -> None:
        """Raise a ValueError where the base has parameters that cannot be served.

        Parameters
        ----------
        base : estimator
            The base with one setting of its parameters.
        """

    @abstractmethod
    def train(self, jobs: Sequence[Job], data: DaskData, found: Survey, pos_label: Label) -> list[Training | Exception]:
        """Train, see `csf.cluster.Engine.train`.

        Parameters
        ----------
        jobs : sequence of Job
            The trainings.
        data : DaskData
            The collections.
        found : Survey
            What is known of them.
        pos_label : label
            The positive class.

        Returns
        -------
        list of Training or Exception
            One for each job.
        """

    @abstractmethod
    def scorer(self, model: Any) -> Scorer:
        """Scores of a model for rows in memory.

        Parameters
        ----------
        model : object
            Model of a training.

        Returns
        -------
        callable
            ``scorer(X)``, which can be pickled.
        """

    @abstractmethod
    def fitted(self, base: Estimator, model: Any, names: Array | None) -> Estimator:
        """What the user gets of a model: an object of the base's class that knows the classes 0 and 1.

        Parameters
        ----------
        base : estimator
            The base that was trained.
        model : object
            Its model.
        names : ndarray of str or None
            Names of the features.

        Returns
        -------
        estimator
            The fitted base.
        """

    @abstractmethod
    def local(self, fitted: Estimator) -> Estimator:
        """Classifier in memory that predicts what a fitted base does.

        Parameters
        ----------
        fitted : estimator
            As `fitted` returns it.

        Returns
        -------
        estimator
            The classifier.
        """
