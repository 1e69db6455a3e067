"""Real binary data sets for measurements and tests, from the folder that ``CSF_DATA`` names."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse

__all__ = ["BINARY_SETS", "data_folder", "load_binary"]

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
    folder = Path(given) if given else Path(__file__).parents[2].parent / "shared" / "data"
    return folder if folder.is_dir() else None


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
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data sets: set the environment variable CSF_DATA to their folder")
    stem, positive = (BINARY_SETS | TEXT_SETS)[name]
    with np.load(folder / f"{stem}.npz", allow_pickle=False) as file:
        y = np.isin(file["y"], file["positive"] if positive is None else positive).astype(int)
        if "X" in file.files:
            X = file["X"].astype(float)
            return (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300), y
        parts = (file["X_data"].astype(float), file["X_indices"], file["X_indptr"])
        return sparse.csr_array(parts, shape=tuple(int(n) for n in file["X_shape"])), y
