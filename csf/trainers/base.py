"""The contract of a trainer: one base, one fold, many costs."""

from abc import ABC, abstractmethod
from typing import NamedTuple

__all__ = ["Trainer", "Training"]


class Training(NamedTuple):
    """Result of one training.

    Parameters
    ----------
    model : object
        What the trainer predicts with.
    state : object, default=None
        What a later training of the same data can start from; ``None`` where every training starts anew.
    gap : float, default=None
        How far the objective can be from its optimum at most, as a share of it; ``None`` where unknown.
    """

    model: object
    state: object = None
    gap: float | None = None


class Trainer(ABC):
    """Trains a base on one fold for any costs.

    Attributes
    ----------
    releases_gil : bool
        Whether trainings run well in threads of one process.
    family : str or None
        Trainers of the same fold and family, e.g. of the settings of ``param_grid``, can start from each other's
        states; ``None`` where there are no states.
    """

    releases_gil = False
    family = None

    @abstractmethod
    def fit(self, costs, starts=()):
        """Train with the given class costs.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``.
        starts : sequence of state, default=()
            States of earlier trainings, the nearest first.

        Returns
        -------
        Training
            The result.
        """

    @abstractmethod
    def predict(self, training, part, *, tune):
        """Predict a part of the fold.

        Parameters
        ----------
        training : Training
            Result of `fit`.
        part : {"train", "test"}
            Which part.
        tune : bool
            Whether scores are wanted.

        Returns
        -------
        Response
            Own decision, scores where they are wanted, and what is found in codes of the fold's targets.
        """

    @abstractmethod
    def estimator(self, training):
        """Fitted object of the base's class that has learnt the codes of the fold's targets.

        Parameters
        ----------
        training : Training
            Result of `fit`.

        Returns
        -------
        estimator
            The object.
        """

    def position(self, costs):
        """Where costs lie among all trainings of the family, for the choice of a start.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``.

        Returns
        -------
        tuple of float
            Coordinates; near means alike.
        """
        return costs
