"""What linear models start from, and how a search that goes on gets it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from csf._common.typing import Costs
from csf.search.states import decode, encode
from csf.trainers.warm_starts import Known, WarmStarts

if TYPE_CHECKING:
    from csf.search.waves import Startable
    from csf.trials import Trial


__all__ = ["Memory"]

# Characters of all states in a file; larger ones are not written but computed once more.
_LARGEST = 1 << 26


class Memory:
    """States of earlier trainings on all folds; ``startables`` has a row for each setting, an entry for each fold."""

    def __init__(self, startables: list[list[Startable]]) -> None:
        self.startables = startables
        # Trials in their order, and the states of each fold: one attribute, so that Ctrl-C leaves both or neither.
        self._told: tuple[list[list[int]], list[WarmStarts]] = [], [WarmStarts() for _ in startables[0]]
        # Large states take long to describe: what was described for the file before is kept, by the id of its entry,
        # together with the entry, so that the id stays its own.
        self._texts: dict[int, tuple[Known, list[Any]]] = {}

    @property
    def order(self) -> list[list[int]]:
        """Setting and number of all trials, in the order in which they were answered."""
        return self._told[0]

    @property
    def _starts(self) -> list[WarmStarts]:
        return self._told[1]

    def starts(self, setting: int, fold: int, costs: Costs) -> Sequence[Any]:
        """States for a training to start from, the nearest first."""
        trainer = self.startables[setting][fold]
        return () if trainer.family is None else self._starts[fold].nearest(trainer.family, trainer.position(costs))

    def add(self, setting: int, trial: Trial, states: Sequence[object]) -> None:
        """Keep the states of a trial, one a fold, once."""
        if [setting, trial.number] in self.order:
            return
        told = [starts.copy() for starts in self._starts]
        for trainer, starts, state in zip(self.startables[setting], told, states):
            if state is not None and trainer.family is not None:
                starts.add(trainer.family, trainer.position(trial.costs), state)
        self._told = [*self.order, [setting, trial.number]], told

    def to_record(self) -> dict[str, Any]:
        """Plain description for a file.

        Returns
        -------
        dict
            All trials in the order in which they were answered, and the states: ``None`` where these cannot be written
            or are too large.
        """
        texts: dict[int, tuple[Known, list[Any]]] = {}
        for fold, starts in enumerate(self._starts):
            families = [row[fold].family for row in self.startables]
            for entry in starts.known:
                if id(entry) in self._texts:
                    texts[id(entry)] = self._texts[id(entry)]
                    continue
                try:
                    record = [families.index(entry.family), list(entry.position), encode(entry.state)]
                    texts[id(entry)] = entry, record
                except TypeError:
                    return {"order": self.order, "states": None}
        self._texts = texts
        size = sum(map(_length, (text for _, text in texts.values())))
        states = [[texts[id(entry)][1] for entry in starts.known] for starts in self._starts]
        return {"order": self.order, "states": states if size <= _LARGEST else None}

    def restore(
        self, record: dict[str, Any], trials: Mapping[tuple[int, int], Trial], *, scores_known: bool
    ) -> list[list[int]]:
        """Take over the states of a file, given by ``trials``, which are known to be those of this search.

        Setting and number of the trials that have to be trained once more, in this order, for want of their states or
        of held-out scores. A ValueError or the like where the record is not one of these trials.
        """
        order = record["order"]
        told = [key for key, trial in trials.items() if trial.state != "pending"]
        if sorted(map(tuple, order)) != sorted(told):
            raise ValueError(f"the order {order} is not one of the trials {told}")
        if record["states"] is None or not scores_known:
            return order
        for fold, (starts, entries) in enumerate(zip(self._starts, record["states"], strict=True)):
            row = [startables[fold] for startables in self.startables]
            known = {(trainer.family, trainer.position(trials[key].costs)) for key in told for trainer in row}
            for setting, position, state in entries:
                family, position = row[setting].family, tuple(position)
                if (family, position) not in known:
                    raise ValueError(f"a state at {position}, where no trial was")
                starts.add(family, position, decode(state))
        self._told = order, self._starts
        return []


def _length(text: object) -> int:
    """Characters of a description, about."""
    if isinstance(text, str):
        return len(text)
    return sum(map(_length, text)) if isinstance(text, list) else 8
