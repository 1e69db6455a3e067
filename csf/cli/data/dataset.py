"""What reading gives, and how a model remembers the features it was trained on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from csf._common.typing import Array, BoolArray, Label, Samples
from csf.cli.errors import CliError
from csf.data.labels import Labels

__all__ = ["Dataset", "Features", "ReadOptions", "matched", "refuse_column_options"]

# Dense copies of sparse data are made up to this many numbers (1 GiB).
_MAX_DENSE = 1 << 27


@dataclass(frozen=True)
class ReadOptions:
    """What the command line says about the columns of a data set.

    Parameters
    ----------
    target : str, default=None
        Column of the labels.
    positive : str, default=None
        The positive class.
    sample_weight : str, default=None
        Column of the sample weights.
    drop : tuple of str, default=()
        Columns to leave out.
    several : bool, default=False
        Whether more than two classes stay as they are where none is positive.
    """

    target: str | None = None
    positive: str | None = None
    sample_weight: str | None = None
    drop: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True)
class Features:
    """The features that a model takes.

    Parameters
    ----------
    kind : {"frame", "dense", "sparse"}
        Named columns, an array or a sparse matrix.
    n_features : int
        Number of features.
    numeric, categorical : tuple of str, default=()
        Columns of a frame.
    zero_based : bool, default=False
        Whether the numbers of features in a LIBSVM file start at 0.
    """

    kind: str
    n_features: int
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    zero_based: bool = False

    @classmethod
    def of(cls, X: Samples, *, zero_based: bool = False) -> Self:
        """Features of an array or a sparse matrix.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Samples.
        zero_based : bool, default=False
            See `Features`.

        Returns
        -------
        Features
            Without names.
        """
        return cls("sparse" if sparse.issparse(X) else "dense", X.shape[1], zero_based=zero_based)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists.

        Returns
        -------
        dict
            One entry a field.
        """
        record = asdict(self)
        return record | {"numeric": list(self.numeric), "categorical": list(self.categorical)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """Features of a dict made by `to_dict`.

        Parameters
        ----------
        record : dict
            As `to_dict` returns it.

        Returns
        -------
        Features
            Equal features.
        """
        columns: dict[str, Any] = {name: tuple(record[name]) for name in ("numeric", "categorical")}
        return cls(**record | columns)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A problem of two classes, or of several.

    Parameters
    ----------
    name : str
        What the user called it.
    X : DataFrame, ndarray or CSR array of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Labels.
    pos_label : label
        Positive class; ``None`` of several classes, none of which is special.
    features : Features
        Describes ``X``.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights.
    is_test : ndarray of bool, shape (n_samples,), default=None
        Official test part.
    """

    name: str
    X: Samples
    y: Array
    pos_label: Label
    features: Features
    sample_weight: Array | None = None
    is_test: BoolArray | None = None

    @property
    def pos(self) -> float:
        """Share of positives; weighted where there are weights."""
        return float(np.average(self.y == self.pos_label, weights=self.sample_weight))

    @cached_property
    def labels(self) -> Labels:
        """The classes and their codes; of two the positive one has code 1."""
        classes = np.unique(self.y)
        return Labels(classes, None if self.pos_label is None else classes[classes != self.pos_label][0])


def matched(X: Samples, features: Features, source: str) -> Samples:
    """An array in the form that a model was trained on."""
    if features.kind == "frame":
        raise CliError(f"the model takes a table with named columns (CSV, ...); {source} has none")
    if X.shape[1] != features.n_features:
        raise CliError(f"the model takes {features.n_features} features; {source} has {X.shape[1]}")
    if features.kind == "sparse":
        return sparse.csr_matrix(X)
    return densified(X, source)


def densified(X: Samples, source: str) -> Array:
    """A dense copy of a sparse matrix; dense data as it is.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples.
    source : str
        Where ``X`` comes from, for messages.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The same numbers.

    Raises
    ------
    CliError
        If it would not fit into 1 GiB.
    """
    if not sparse.issparse(X):
        return X
    if X.shape[0] * X.shape[1] > _MAX_DENSE:
        raise CliError(
            f"the base takes dense data only, and {source} ({X.shape[0]} x {X.shape[1]}, sparse) is too large for "
            "that; use --base linear-svc, logistic, sgd, random-forest, lightgbm or xgboost"
        )
    return X.toarray()


def refuse_column_options(options: ReadOptions, source: str) -> None:
    """Refuse options that name columns, for a source that has no named columns."""
    for flag, value in (("target", options.target), ("sample-weight", options.sample_weight), ("drop", options.drop)):
        if value:
            raise CliError(f"--{flag} names a column of a table (CSV, ...); {source} has no named columns")
