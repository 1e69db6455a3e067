"""Trials of an unfinished search on disk, and how a later search finds out that they are its own."""

import os
import pickle

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
        Everything that decides the results: base, metric, strategy, data, splits. A hash of it is kept in the file;
        classes count by their names, functions by their names and code.
    """

    def __init__(self, path, content):
        self.path = os.fspath(path)
        self.fingerprint = joblib.hash(describe(content))

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
            pairs = list(zip(studies, histories, strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path} is damaged ({error!r}); it was left as it is") from error
        for study, trials in pairs:
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


def describe(content):
    """Plain description of a search's content that is the same in every process.

    Parameters
    ----------
    content : object
        Estimators, arrays, functions, plain values, and tuples, lists and dicts of these.

    Returns
    -------
    object
        Names, hashes and plain values.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> describe(LinearSVC(C=2.0))[1]["C"]
    2.0
    """
    if content is None or isinstance(content, (bool, int, float, str)):
        return content
    if isinstance(content, dict):
        return {str(key): describe(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [describe(value) for value in content]
    if hasattr(content, "get_params") and not isinstance(content, type):
        return [_name(type(content)), describe(content.get_params(deep=False))]
    if hasattr(content, "__code__"):  # two functions may share a name, two lambdas always do
        return [_name(content), joblib.hash((content.__code__.co_code, repr(content.__code__.co_names)))] + [
            describe(constant) for constant in content.__code__.co_consts if not hasattr(constant, "co_code")
        ]
    if isinstance(content, type) or hasattr(content, "__qualname__"):
        return _name(content)
    try:
        return joblib.hash(content)
    except pickle.PicklingError:
        return [_name(type(content)), describe(vars(content))]


def _name(part):
    return f"{part.__module__}.{part.__qualname__}"
