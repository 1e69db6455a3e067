"""Several labels at once: a trainer for each on the same fold, all with the same costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Costs, Estimator
from csf.data.responses import Response
from csf.trainers.base import Trainer, Training

if TYPE_CHECKING:
    from csf.data.folds import Fold, LabelFold

__all__ = ["LabelsTrainer", "label_trainers"]


class LabelsTrainer(Trainer):
    """Trains the base for each label; its answers are those for all labels of a sample, then of the next one."""

    def __init__(self, base: Estimator, parts: Sequence[Trainer]) -> None:
        self.base, self.parts = base, parts
        self.releases_gil = all(part.releases_gil for part in parts)

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of boosters comes late)
        """Settings whose trainings help each other for every label."""
        families = [part.family for part in self.parts]
        return None if None in families else " and ".join(dict.fromkeys(map(str, families)))

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Those of all labels; see `Trainer.position`."""
        return tuple(chain.from_iterable(part.position(costs) for part in self.parts))

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train for each label; see `Trainer.fit`."""
        made = [part.fit(costs, [state[at] for state in starts]) for at, part in enumerate(self.parts)]
        # Where nothing was trained, e.g. where all was read off other trainings, there is nothing new to start from.
        trained = self.family is not None and any(each.state is not None for each in made)
        states = tuple(each.state for each in made) if trained else None
        gaps = [each.gap for each in made if each.gap is not None]
        return Training(made, states, max(gaps) if len(gaps) == len(made) else None)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Ask for each label; see `Trainer.predict`."""
        answers = [each.predict(made, part, tune=tune) for each, made in zip(self.parts, training.model)]
        scores = [answer.score for answer in answers if answer.score is not None]
        decided = np.column_stack([answer.decided for answer in answers]).ravel()
        return Response(decided, np.column_stack(scores).ravel() if tune else None)

    def estimator(self, training: Training) -> list[Estimator]:
        """Fitted bases, one a label; see `Trainer.estimator`."""
        return [part.estimator(made) for part, made in zip(self.parts, training.model)]


def label_trainers(
    base: Estimator, folds: Sequence[LabelFold], make: Callable[[list[Fold]], list[Trainer]]
) -> list[Trainer]:
    """Trainers of a base for several labels, one for each fold; ``make`` makes those of one label."""
    parts = [make(list(column)) for column in zip(*(fold.columns for fold in folds))]
    return [LabelsTrainer(base, of_fold) for of_fold in zip(*parts)]
