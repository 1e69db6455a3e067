"""Training any base classifier many times, with other costs each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Costs, Estimator
from csf.trainers.base import Trainer, Training

__all__ = ["GenericTrainer", "seeded"]


class GenericTrainer(Trainer):
    """Clone and fit: serves every base that takes weights.

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

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from csf.data import CostChannel, Fold, Task
    >>> task = Task(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]))
    >>> fold = Fold(task, np.array([0, 1, 2]), np.array([3]))
    >>> trainer = GenericTrainer(LinearSVC(), fold, CostChannel("sample_weight", "sample_weight"))
    >>> trainer.predict(trainer.fit((1.5, 0.5)), "test", tune=False).decided
    array([ True])
    """

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train a fresh clone of the base; see `Trainer.fit`."""
        return Training(self.train_base(costs))

    def estimator(self, training: Training) -> Estimator:
        """The model itself, whatever its class; see `Trainer.estimator`."""
        return training.model


def seeded(base: Estimator, random_state: np.random.RandomState | None) -> Estimator:
    """Clone of a base whose unset ``random_state`` parameters are set.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    random_state : RandomState or None
        ``None`` leaves the base as it is.

    Returns
    -------
    estimator
        The clone. All trials and folds share its seeds, so that costs are compared on equal terms.
    """
    base = clone(base)
    if random_state is not None:
        unset = [
            name
            for name, value in sorted(base.get_params(deep=True).items())
            if value is None and name.rpartition("__")[2] == "random_state"
        ]
        base.set_params(**{name: int(random_state.randint(np.iinfo(np.int32).max)) for name in unset})
    return base
