"""Trials of an unfinished search on disk, and how a later search finds out that they are its own."""

import os

import joblib

from csf._files import read_json, write_json
from csf.trials import Trial

__all__ = ["Checkpoint"]

FORMAT = "csf-checkpoint"
VERSION = 1


class Checkpoint:
    """A file that holds the trials of all studies of one search.

    Parameters
    ----------
    path : path-like
        The file; it need not exist.
    content : tuple
        Everything that decides the results: base, metric, strategy, data, splits. Its hash is kept in the file.
    """

    def __init__(self, path, content):
        self.path = os.fspath(path)
        self.fingerprint = joblib.hash(content)

    def restore(self, studies):
        """Fill studies with the trials of the file, if there is one.

        Parameters
        ----------
        studies : list of Study
            Fresh studies, one for each setting of the base.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another search; it is left as it is.
        """
        if not os.path.exists(self.path):
            return
        content = read_json(self.path, FORMAT, VERSION)
        if content.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{self.path} belongs to another search: the data, splits, base, metric, strategy or settings differ. "
                "It was left as it is; give another checkpoint path, or remove it to start anew"
            )
        try:
            histories = [[Trial.from_dict(record) for record in history] for history in content["studies"]]
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self.path} is damaged ({error!r}); it was left as it is") from error
        for study, trials in zip(studies, histories, strict=True):
            study.trials = trials

    def save(self, studies):
        """Write the trials of all studies, pending ones too: a later search trains these first.

        Parameters
        ----------
        studies : list of Study
            The studies of the search.
        """
        histories = [[trial.to_dict() for trial in study.trials] for study in studies]
        write_json(
            self.path, {"format": FORMAT, "version": VERSION, "fingerprint": self.fingerprint, "studies": histories}
        )
