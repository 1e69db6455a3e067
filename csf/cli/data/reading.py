"""From the name of a data set to the module that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from csf._common.messages import did_you_mean
from csf._common.typing import Samples
from csf.cli.data import builtin, npz, svmlight, table
from csf.cli.data.files import format_suffix
from csf.cli.errors import CliError

if TYPE_CHECKING:
    from csf.cli.data.dataset import Dataset, Features, ReadOptions


__all__ = ["read_dataset", "read_samples"]


def read_dataset(source: str, options: ReadOptions) -> Dataset:
    """Labelled data.

    Parameters
    ----------
    source : str
        A table (see `csf.cli.data.table.SUFFIXES`), a LIBSVM file, a built-in set such as ``"digits:8"``, or
        ``"csf-data:NAME"``.
    options : ReadOptions
        What the command line says about columns and classes.

    Returns
    -------
    Dataset
        The problem.

    Raises
    ------
    CliError
        If it cannot be read.

    Examples
    --------
    >>> from csf.cli.data.dataset import ReadOptions
    >>> read_dataset("digits:8", ReadOptions()).pos
    0.097
    """
    return _reader(source).read_labelled(source, options)


def read_samples(source: str, features: Features) -> Samples:
    """Samples for a trained model.

    Parameters
    ----------
    source : str
        As for `read_dataset`.
    features : Features
        What the model takes.

    Returns
    -------
    DataFrame, ndarray or CSR matrix of shape (n_samples, n_features)
        The samples, as the model takes them.

    Raises
    ------
    CliError
        If it cannot be read or has other features.
    """
    return _reader(source).read_unlabelled(source, features)


def _reader(source):
    """Module that reads a source."""
    if npz.is_npz(source):
        return npz
    path = Path(source)
    if not path.exists():
        if builtin.is_builtin(source):
            return builtin
        hint = did_you_mean(source.partition(":")[0], builtin.BUILTIN)
        raise CliError(
            f"there is no file {source!r}, and built-in sets are {builtin.describe()}; or csf-data:NAME{hint}"
        )
    if path.is_dir():
        raise CliError(f"{source} is a folder; give a file")
    suffix = format_suffix(source)
    if suffix in table.SUFFIXES:
        return table
    if svmlight.is_svmlight(source, suffix):
        return svmlight
    raise CliError(
        f"cannot recognise the format of {source}; accepted: {', '.join(table.SUFFIXES)}, and LIBSVM files "
        "(label index:value ...)"
    )
