"""Trials of an unfinished search on disk, and how a later search finds out that they are its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from csf._common.files import read_record, write_record
from csf._common.identity import fingerprint
from csf._common.typing import PathLike
from csf.trials import Trial

if TYPE_CHECKING:
    from csf.study.history import History


__all__ = ["Checkpoint"]

FORMAT = "csf-checkpoint"
VERSION = 4


class Checkpoint:
    """A file that holds the trials of all studies of one search.

    Parameters
    ----------
    path : path-like
        The file; it need not exist.
    content : tuple
        Everything that decides the results: base, metric, strategy, data, splits. A hash of it is kept in the file,
        see `csf._common.identity`.

    Attributes
    ----------
    kept : dict or None
        What the file keeps besides trials; ``None`` without a file.
    """

    def __init__(self, path: PathLike, content: tuple[Any, ...]) -> None:
        self.path = os.fsdecode(path)
        self.fingerprint = fingerprint(content)
        self.kept: dict[str, Any] | None = None

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
        with self.reading():
            told = zip(studies, content["studies"], strict=True)
            pairs = [(study, [Trial.from_dict(record) for record in records]) for study, records in told]
            kept = content["kept"]
        for number, (study, trials) in enumerate(pairs):
            study.check(trials, self.path)
            if any(trial.setting != number for trial in trials if trial.state != "pending"):
                raise ValueError(
                    f"{self.path} is damaged (trials of setting {number} say another); it was left as it is"
                )
        self.kept = kept
        for study, trials in pairs:
            study.trials = trials

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context in which what the file says is taken over: whatever does not fit is one ValueError."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"{self.path} is damaged ({error!r}); it was left as it is") from error

    def save(self, studies: Sequence[History], kept: dict[str, Any] | None = None) -> None:
        """Write the trials of all studies, pending ones too: a later search trains these first.

        Parameters
        ----------
        studies : list of History
            The studies of the search.
        kept : dict, default=None
            Plain description of whatever else the search needs to go on.
        """
        histories = [[trial.to_dict() for trial in study.trials] for study in studies]
        write_record(self.path, FORMAT, VERSION, {"fingerprint": self.fingerprint, "studies": histories, "kept": kept})
