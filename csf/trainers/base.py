"""The contract of a trainer: one base, one fold, many costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from csf._common.sklearn import clone
from csf._common.typing import Costs, Estimator
from csf.data.costs import CostChannel
from csf.data.folds import Fold
from csf.data.responses import Response, respond, respond_classes

__all__ = ["Maker", "Trainer", "Training"]

# maker(base, folds, channel, normalize, prepared) returns a list of trainers, one for each fold, or None.
Maker: TypeAlias = Callable[..., "list[Trainer] | None"]


class Training(NamedTuple):
    """Result of one training.

    Parameters
    ----------
    model : object
        What the trainer predicts with.
    state : object, default=None
        What a later training of the same data can start from; ``None`` where every training starts from scratch.
    gap : float, default=None
        How far the objective can be from its optimum at most, as a share of it; ``None`` where unknown.
    costs : tuple of float, default=None
        The costs of this training; the default of `Trainer.estimator` needs them where ``model`` is no
        object of the base's class.
    """

    model: Any
    state: object = None
    gap: float | None = None
    costs: Costs | None = None


class Trainer(ABC):
    """Trains a base on one fold for any costs.

    A trainer of your own writes `fit`. That is all where its models are fitted objects of the base's class. Where they
    are something lighter, such as coefficients, it writes `predict` too; `estimator`, which is asked for once at the
    end of a search, then trains the base itself, unless you know a shorter way.

    Parameters
    ----------
    base : estimator
        Unfitted classifier with its parameters set.
    fold : Fold
        Data to train on and to predict.
    channel : CostChannel
        How costs reach the base.
    normalize : {"none", "mean"}, default="none"
        See `csf.data.costs.cost_sample_weight`.

    Attributes
    ----------
    releases_gil : bool
        Whether trainings run well in threads of one process.
    family : str or None
        Trainers of the same fold and family, e.g. of the settings of ``param_grid``, can start from each other's
        states; ``None`` where there are no states.
    """

    releases_gil: bool = False
    family: str | None = None

    def __init__(self, base: Estimator, fold: Fold, channel: CostChannel, normalize: str = "none") -> None:
        # Slices alone: a worker process gets no more than it needs.
        self.base, self.fold, self.channel, self.normalize = base, fold.sliced, channel, normalize

    def prepare(self, starts: Sequence[Any]) -> None:  # noqa: B027 (most have nothing to prepare)
        """Do what trainings from these states have in common, before some of them run side by side.

        Parameters
        ----------
        starts : sequence of state
            What `fit` will be given.
        """

    @abstractmethod
    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train with the given class costs.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``; where no class means nothing to find (`Fold.n_alike`), a weight for each code.
        starts : sequence of state, default=()
            States of earlier trainings, the nearest first.

        Returns
        -------
        Training
            The result.
        """

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict a part of the fold; by default the model is asked, as the base's class answers.

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
            Own decision, scores where they are wanted, and what is found in codes of the fold's targets. Where no
            class means nothing to find (`Fold.n_alike`), the decision is codes, and scores are those of all classes:
            probabilities, if the base has them.
        """
        X = self.fold.X_test if part == "test" else self.fold.X_train
        if self.fold.n_alike is None:
            return respond(training.model, X, 0, tune=tune)
        return respond_classes(training.model, X, self.fold.n_alike, tune=tune)

    def estimator(self, training: Training) -> Estimator:
        """Fitted object of the base's class that has learnt the codes of the fold's targets.

        By default the model, if it is one, else a clone of the base, trained with the costs of ``training``.

        Parameters
        ----------
        training : Training
            Result of `fit`.

        Returns
        -------
        estimator
            The object.

        Raises
        ------
        TypeError
            If the base has to be trained and the training does not say at which costs.
        """
        if type(training.model) is type(self.base):
            return training.model
        if training.costs is None:
            raise TypeError(
                f"{type(self).__name__}.fit returned a {type(training.model).__name__}, no {type(self.base).__name__}, "
                "and no costs to train one with; return Training(model, costs=costs), or write estimator"
            )
        return self.train_base(training.costs)

    def train_base(self, costs: Costs, **fit_params: Any) -> Estimator:
        """Train a clone of the base on the training part.

        Parameters
        ----------
        costs : tuple of float
            As for `fit`.
        **fit_params : object
            Further arguments of its ``fit``, beside the fold's.

        Returns
        -------
        estimator
            The fitted clone.
        """
        return self.channel.fit(
            clone(self.base),
            self.fold.X_train,
            self.fold.y_train,
            costs,
            sample_weight=self.fold.weight_train,
            normalize=self.normalize,
            fit_params=self.fold.fit_params | fit_params,
        )

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Where costs lie among all trainings of the family, for the choice of a start.

        Parameters
        ----------
        costs : tuple of float
            As for `fit`.

        Returns
        -------
        tuple of float
            Coordinates; near means alike.
        """
        return costs
