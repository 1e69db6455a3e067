"""Real binary data sets for measurements and tests, from the folder that ``CSF_DATA`` names."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse

from csf._common.files import read_arrays
from notebooks.experiments.datasets import folder_names, load_set

__all__ = ["BINARY_SETS", "ROOT", "all_sets", "data_folder", "drawn_rows", "load_arrays", "load_binary", "size_of"]

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

# Files of several classes: which one counts as positive; and those that are there under other names.
SEVERAL = {"letter": "letter:1", "news20": "news20:1"}
LEFT_OUT = ("abalone", "news20_bydate")


def data_folder():
    """Folder of the data sets: ``CSF_DATA``, else ``shared/data`` beside the project."""
    given = os.environ.get("CSF_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def load_arrays(stem):
    """Samples and all arrays of a file in the folder."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data sets: set the environment variable CSF_DATA to their folder")
    return read_arrays(folder / f"{stem}.npz")


def load_binary(name):
    """Features scaled to [0, 1] and targets of one set."""
    stem, positive = (BINARY_SETS | TEXT_SETS)[name]
    X, arrays = load_arrays(stem)
    y = np.isin(arrays["y"], arrays["positive"] if positive is None else positive).astype(int)
    return X if sparse.issparse(X) else (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300), y


def all_sets(most):
    """Every binary set of the folder and of the folders in it, the small ones first."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data sets: set the environment variable CSF_DATA to their folder")
    found = []
    for place in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        # Of sets with several classes one is taken: the paper's, or the first one.
        names = [SEVERAL.get(name, name) for name in folder_names(place) if name not in LEFT_OUT]
        for name in names:
            data = load_set(place, name)
            if data.is_multiclass:
                continue
            X, y = data.X, np.asarray(data.y).astype(int)
            if y.size > most:
                at = np.sort(np.random.default_rng(0).permutation(y.size)[:most])
                X, y = X[at], y[at]
            found.append((name, data.transformer().fit_transform(X), y))
    return sorted(found, key=lambda row: row[2].size)


def drawn_rows(rng, n, n_columns, stored, dtype=np.float64):
    """CSR rows of ``stored`` random values in columns that are equally frequent; values of one place are added up."""
    columns = np.sort(rng.integers(n_columns, size=(n, stored), dtype=np.int32), axis=1)
    ends = np.arange(0, n * stored + 1, stored, dtype=np.int32)
    X = sparse.csr_array((rng.random(n * stored, dtype=dtype), columns.ravel(), ends), shape=(n, n_columns))
    X.sum_duplicates()
    return X


def size_of(X):
    """Bytes of samples, dense or CSR."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)
