"""Real binary data sets for measurements and tests, from the folder that ``CSF_DATA`` names."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse

from csf._common.reading import read_arrays

__all__ = ["BINARY_SETS", "ROOT", "data_folder", "load_arrays", "load_binary"]

# Of the project: other processes find `tests` there, wherever this one was started.
ROOT = Path(__file__).parents[2]

# name: file and the labels that count as positive (None: as the file says)
BINARY_SETS = {
    "adult": ("adult", None),
    "abalone10": ("abalone", (10,)),
    "abalone12": ("abalone", (12,)),
    "pageblocks": ("pageblocks", None),
    "wine": ("wine", None),
    "mammography": ("mammography", None),
}
# One class of several against the rest.
TEXT_SETS = {"news20": ("news20", (1,))}


def data_folder():
    """Folder of the data sets: ``CSF_DATA``, else ``shared/data`` beside the project.

    Returns
    -------
    Path or None
        The folder, or ``None`` where there is none.
    """
    given = os.environ.get("CSF_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def load_arrays(stem):
    """Samples and all arrays of a file in the folder.

    Parameters
    ----------
    stem : str
        Name of the file without its suffix.

    Returns
    -------
    X : ndarray or CSR array of shape (n_samples, n_features)
        Features as they are.
    arrays : dict of ndarray
        Everything in the file.

    Raises
    ------
    FileNotFoundError
        If there is no folder of data sets, or no such file.
    """
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data sets: set the environment variable CSF_DATA to their folder")
    return read_arrays(folder / f"{stem}.npz")


def load_binary(name):
    """Features scaled to [0, 1] and targets of one set.

    Parameters
    ----------
    name : str
        A key of ``BINARY_SETS``, or ``"news20"``: word counts, class 1 against the rest.

    Returns
    -------
    X : ndarray or CSR array of shape (n_samples, n_features)
        Features, each moved and divided to span [0, 1]; sparse ones are indicators or counts, as they are.
    y : ndarray of int, shape (n_samples,)
        1 for the positive class, else 0.

    Raises
    ------
    FileNotFoundError
        If there is no folder of data sets.
    """
    stem, positive = (BINARY_SETS | TEXT_SETS)[name]
    X, arrays = load_arrays(stem)
    y = np.isin(arrays["y"], arrays["positive"] if positive is None else positive).astype(int)
    return X if sparse.issparse(X) else (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300), y
