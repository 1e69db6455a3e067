"""Checkpoints: trials, solutions and held-out scores in a file."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.files import read_record, write_record
from csf._common.identity import fingerprint
from csf._common.typing import Costs, PathLike
from csf.evaluate.trials import Trial
from csf.solvers import HingeSolution, Solution
from csf.trainers.base import Known, WarmStarts

if TYPE_CHECKING:
    from csf.evaluate import TrialKey
    from csf.search.study import History
    from csf.search.training import Startable

# ---------------------------------------------------------------- states as JSON


_SOLUTIONS = {kind.__name__: kind for kind in (HingeSolution, Solution)}


def encode(state: Any) -> Any:
    """Plain description of a state.

    Parameters
    ----------
    state : object
        Arrays, numbers, texts, solutions of `csf.solvers`, and tuples and lists of these.

    Returns
    -------
    object
        For JSON; arrays are packed.

    Raises
    ------
    TypeError
        If the state holds something else.

    Examples
    --------
    >>> decode(encode((np.arange(3), "a", None)))
    (array([0, 1, 2]), 'a', None)
    """
    if state is None or type(state) in (bool, int, float, str):
        return state
    if isinstance(state, tuple | list):
        return [type(state).__name__, *map(encode, state)]
    if isinstance(state, np.ndarray) and not state.dtype.hasobject:
        packed = zlib.compress(np.ascontiguousarray(state).tobytes(), 1)
        return ["array", state.dtype.str, list(state.shape), base64.b64encode(packed).decode("ascii")]
    if isinstance(state, np.generic):
        return ["number", encode(np.asarray(state))]
    name = type(state).__name__
    if _SOLUTIONS.get(name) is type(state):
        return [name, *(encode(getattr(state, field.name)) for field in fields(_SOLUTIONS[name]))]
    raise TypeError(f"a state that holds a {name} cannot be kept in a file")


def decode(record: Any) -> Any:
    """State of a description.

    Parameters
    ----------
    record : object
        As `encode` returns it.

    Returns
    -------
    object
        The state.

    Raises
    ------
    ValueError
        If the record is none.
    """
    if not isinstance(record, list):
        return record
    try:
        kind, *parts = record
        if kind == "array":
            dtype, shape, packed = parts
            return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=dtype).reshape(shape).copy()
        if kind == "number":
            return decode(parts[0])[()]
        parts = [decode(part) for part in parts]
        return {"tuple": tuple, "list": list}[kind](parts) if kind not in _SOLUTIONS else _SOLUTIONS[kind](*parts)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"this is not the record of a state: {error!r}") from error


# ---------------------------------------------------------------- earlier solutions


# Characters of all states in a file; larger ones are not written but computed once more.
_LARGEST_STATES = 1 << 26


class Memory:
    """States of earlier trainings on all folds; ``startables`` has a row for each setting, an entry for each fold."""

    def __init__(self, startables: list[list[Startable]]) -> None:
        self.startables = startables
        # Trials in their order, and the states of each fold: one attribute, so that Ctrl-C leaves both or neither.
        self._known: tuple[list[list[int]], list[WarmStarts]] = [], [WarmStarts() for _ in startables[0]]
        # Large states take long to describe: what was described for the file before is kept, by the id of its entry,
        # together with the entry, so that the id stays its own.
        self._texts: dict[int, tuple[Known, list[Any]]] = {}

    @property
    def order(self) -> list[list[int]]:
        """Setting and number of all trials, in the order in which they were answered."""
        return self._known[0]

    @property
    def _starts(self) -> list[WarmStarts]:
        return self._known[1]

    def starts(self, setting: int, fold: int, costs: Costs) -> Sequence[Any]:
        """States for a training to start from, the nearest first."""
        trainer = self.startables[setting][fold]
        return () if trainer.family is None else self._starts[fold].nearest(trainer.family, trainer.position(costs))

    def add(self, setting: int, trial: Trial, states: Sequence[object]) -> None:
        """Keep the states of a trial, one a fold, each once; those of its further folds may come later."""
        again = [setting, trial.number] in self.order
        copies = [starts.copy() for starts in self._starts]
        for trainer, starts, state in zip(self.startables[setting], copies, states):
            if state is not None and trainer.family is not None:
                family, position = trainer.family, trainer.position(trial.costs)
                if not (again and any(each.family == family and each.position == position for each in starts.known)):
                    starts.add(family, position, state)
        self._known = self.order if again else [*self.order, [setting, trial.number]], copies

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
        return {"order": self.order, "states": states if size <= _LARGEST_STATES else None}

    def restore(self, record: dict[str, Any], *, scores_known: bool) -> list[list[int]]:
        """Take over the states of a file.

        Setting and number of the trials that have to be trained once more, in this order, for want of their states or
        of held-out scores.
        """
        order = record["order"]
        if record["states"] is None or not scores_known:
            return order
        for fold, (starts, entries) in enumerate(zip(self._starts, record["states"], strict=True)):
            for setting, position, state in entries:
                starts.add(self.startables[setting][fold].family, tuple(position), decode(state))
        self._known = order, self._starts
        return []


def _length(text: object) -> int:
    """Characters of a description, about."""
    if isinstance(text, str):
        return len(text)
    return sum(map(_length, text)) if isinstance(text, list) else 8


# ---------------------------------------------------------------- held-out scores


# Bytes of all scores in a file; of more, the trainings that gave them are repeated.
_LARGEST = 1 << 24


def scores_to_record(store: Any, texts: dict[TrialKey, list[Any]]) -> list[Any] | None:
    """Plain description of a store: its rows and how many were dropped; ``None`` where they are too large.

    ``texts`` keeps what was described before.
    """
    rows = list(store)
    if sum(row.n_bytes for row in rows) > _LARGEST:
        return None
    described = {row.key: texts.get(row.key) or _text(row) for row in rows}
    texts.clear()
    texts.update(described)
    return [store.n_dropped, list(described.values())]


def restore_scores(store: Any, record: list[Any] | None, trials: Mapping[TrialKey, Trial]) -> bool:
    """Fill a store from a file, as it was when it got the trials; whether the file holds scores."""
    if record is None:
        return False
    n_dropped, rows = record
    for (setting, number), *parts in rows:
        store.add_trial((setting, number), trials[setting, number], *map(decode, parts))
    store.n_dropped = n_dropped
    return True


def _text(row: Any) -> list[Any]:
    """Plain description of a row: what its trial does not say itself."""
    return [list(row.key), *map(encode, row.arrays)]


# ---------------------------------------------------------------- the file


FORMAT = "csf-checkpoint"
VERSION = 4


class Checkpoint:
    """A file that holds the trials of all studies of one search, their states and their held-out scores.

    Parameters
    ----------
    path : path-like
        The file; it need not exist.
    content : tuple
        Everything that decides the results: base, metric, strategy, data, splits. A hash of it is kept in the file,
        see `csf._common.identity`.
    """

    def __init__(self, path: PathLike, content: tuple[Any, ...]) -> None:
        self.path = os.fsdecode(path)
        self.fingerprint = fingerprint(content)
        # What the file keeps besides trials.
        self.kept: dict[str, Any] | None = None
        self._texts: dict[TrialKey, list[Any]] = {}

    def restore(self, studies: Sequence[History]) -> None:
        """Fill studies with the trials of the file, if there is one.

        Parameters
        ----------
        studies : list of History
            Fresh studies, one for each setting of the base.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another search; it is left as it is.
        """
        if not os.path.exists(self.path):
            return
        content = read_record(self.path, FORMAT, VERSION)
        if content.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{self.path} belongs to another search: the data, splits, base, metric, strategy or settings differ. "
                "It was left as it is; give another checkpoint path, or remove it to start again"
            )
        with self._reading():
            records_of = zip(studies, content["studies"], strict=True)
            pairs = [(study, [Trial.from_dict(record) for record in records]) for study, records in records_of]
            kept = content["kept"]
        self.kept = kept
        for study, trials in pairs:
            study.trials = trials

    def resume(self, studies: Sequence[History], memory: Memory, store: Any) -> tuple[list[list[int]], bool]:
        """Give back what an earlier run knew besides its trials.

        Setting and number of the trials that have to be trained once more, in this order, and whether the store (if
        there is one) has their scores.
        """
        if self.kept is None:
            return [], True
        trials = {(at, trial.number): trial for at, study in enumerate(studies) for trial in study.trials}
        with self._reading():
            scores_known = store is None or restore_scores(store, self.kept["scores"], trials)
            return memory.restore(self.kept["memory"], scores_known=scores_known), scores_known

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Context in which what the file says is taken over: whatever does not fit is one ValueError."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"{self.path} is damaged ({error!r}); it was left as it is") from error

    def save(self, studies: Sequence[History], memory: Memory | None = None, store: Any = None) -> None:
        """Write the trials of all studies, pending ones too (a later search trains these first), states and scores."""
        histories = [[trial.to_dict() for trial in study.trials] for study in studies]
        scores = None if store is None else scores_to_record(store, self._texts)
        kept = None if memory is None else {"memory": memory.to_record(), "scores": scores}
        write_record(self.path, FORMAT, VERSION, {"fingerprint": self.fingerprint, "studies": histories, "kept": kept})
