"""Data sets of an experiment: a folder of ``.npz`` files, or arrays of your own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from csf._common.files import read_arrays
from csf._common.messages import did_you_mean
from csf._common.typing import Array, BoolArray, Estimator, IntArray, PathLike, Samples

__all__ = ["TABLE_SETS", "DataSet", "folder_names", "load_set"]

# Sets of the papers that are one class of a file with several.
ALIASES = {"abalone10": "abalone:10", "abalone12": "abalone:12"}
# The tables' data sets, in their order.
TABLE_SETS = ("adult", "abalone10", "abalone12", "pageblocks", "wine", "mammography", "letter", "news20")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A classification problem.

    Parameters
    ----------
    name : str
        Name in tables.
    X : ndarray, CSR array or frame of shape (n_samples, n_features)
        Samples, not scaled.
    y : ndarray of shape (n_samples,)
        Booleans, ``True`` for the positive class; class numbers for a multiclass problem.
    is_test : ndarray of bool, shape (n_samples,), default=None
        Official test part.
    prepare : transformer, default=None
        Unfitted; brings the samples into the form that learners take. ``None`` scales each feature to [0, 1] (sparse
        ones by their largest absolute value).
    null_class : int, default=None
        Class that is "nothing to find"; multiclass problems only.

    Examples
    --------
    >>> import numpy as np
    >>> data = DataSet("tiny", np.eye(16), np.arange(16) < 4)
    >>> data.pos, data.is_multiclass
    (0.25, False)
    """

    name: str
    X: Samples
    y: Array
    is_test: BoolArray | None = None
    prepare: Estimator | None = None
    null_class: int | None = None

    def __post_init__(self) -> None:
        if self.X.shape[0] != self.y.shape[0]:
            raise ValueError(f"{self.name}: X has {self.X.shape[0]} rows and y {self.y.shape[0]}")
        classes, counts = np.unique(self.y, return_counts=True)
        if classes.size < 2:
            raise ValueError(f"{self.name}: all {self.y.size} samples belong to one class; two are needed")
        if counts.min() < 4:
            raise ValueError(f"{self.name}: class {classes[counts.argmin()]} has {counts.min()} samples, 4 are needed")
        if self.is_multiclass and self.null_class not in classes:
            raise ValueError(f"{self.name}: null_class must be one of {classes.tolist()}, got {self.null_class!r}")

    @property
    def is_multiclass(self) -> bool:
        """Whether there are class numbers instead of booleans."""
        return self.y.dtype != bool

    @property
    def pos(self) -> float:
        """Share of samples that there is something to find in: positives, or all but the null class."""
        return float(np.mean(self.y != self.null_class) if self.is_multiclass else np.mean(self.y))

    @property
    def codes(self) -> IntArray:
        """0 for the negative or null class, 1, 2, … for the others."""
        if not self.is_multiclass:
            return self.y.astype(np.int64)
        others = np.unique(self.y[self.y != self.null_class])
        return np.where(self.y == self.null_class, 0, 1 + np.searchsorted(others, self.y))

    @cached_property
    def digest(self) -> str:
        """Short hash of the samples and labels, so that results of changed data are not mixed up."""
        sha = hashlib.sha256(np.ascontiguousarray(self.y).tobytes())
        if sparse.issparse(self.X):
            parts = [self.X.data, self.X.indices, self.X.indptr]
        elif isinstance(self.X, np.ndarray):
            parts = [self.X]
        else:
            parts = [np.array([str(value) for value in self.X[name]]) for name in self.X.columns]
        for part in parts:
            sha.update(np.ascontiguousarray(part).tobytes())
        return sha.hexdigest()[:16]

    def transformer(self) -> Estimator:
        """Unfitted preparation of the samples.

        Returns
        -------
        transformer
            ``prepare``, or the scaler that fits ``X``.
        """
        if self.prepare is not None:
            return self.prepare
        return MaxAbsScaler() if sparse.issparse(self.X) else MinMaxScaler()


def folder_names(folder: PathLike) -> list[str]:
    """Names of the data sets in a folder."""
    stems = {path.stem for path in Path(folder).glob("*.npz")}
    known = {alias for alias, source in ALIASES.items() if source.partition(":")[0] in stems}
    return sorted(stems | known)


def load_set(folder: PathLike, name: str) -> DataSet:
    """Data set of a folder.

    Parameters
    ----------
    folder : path-like
        Folder of ``NAME.npz`` files with ``y`` and ``X``, or ``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``
        of a CSR matrix. ``positive`` (labels of the positive class; empty for multiclass sets) and ``is_test`` (the
        official test part) are optional.
    name : str
        ``"NAME"``, or ``"NAME:LABEL"`` for one label against the rest. Labels 0 and 1, or -1 and 1, need no
        ``positive``. The first class of a multiclass set is the null class.

    Returns
    -------
    DataSet
        The data set.

    Raises
    ------
    ValueError
        If there is no such set or label, or the file has no samples and labels.
    """
    stem, _, label = ALIASES.get(name, name).partition(":")
    if not (Path(folder) / f"{stem}.npz").is_file():
        known = ", ".join(folder_names(folder)) or "none"
        hint = did_you_mean(stem, folder_names(folder))
        raise ValueError(f"no data set {name!r} in {folder}; there are: {known}{hint}")
    path = Path(folder) / f"{stem}.npz"
    X, arrays = read_arrays(path)
    y, null_class = _target(arrays, label, path)
    return DataSet(name, X, y, arrays.get("is_test"), null_class=null_class)


def _target(arrays, label, path):
    """Booleans and ``None``, or class numbers and the null class."""
    y, positive = arrays["y"], arrays.get("positive", np.empty(0))
    classes = np.unique(y)
    if label:
        match = [value for value in classes if str(value) == label]
        if not match:
            raise ValueError(f"{path} has no label {label!r}; its labels are {', '.join(map(str, classes))}")
        return y == match[0], None
    if positive.size:
        return np.isin(y, positive), None
    if classes.size == 2 and classes[0] in (-1, 0) and classes[1] == 1:
        return y == 1, None
    if y.dtype.kind not in "iu":
        raise ValueError(f"{path}: the labels of a multiclass set must be whole numbers, they are {y.dtype}")
    return y, int(classes[0])
