"""LIBSVM (svmlight) files, plain or compressed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_svmlight_file

from csf._common.files import reading
from csf._common.typing import Samples
from csf.cli.data.dataset import Dataset, Features, matched, refuse_column_options
from csf.cli.data.files import first_line, opened
from csf.cli.data.targets import as_labels, read_target
from csf.cli.errors import CliError

if TYPE_CHECKING:
    from csf.cli.data.dataset import ReadOptions


__all__ = ["is_svmlight", "read_labelled", "read_unlabelled"]

_SUFFIXES = {".svm", ".svmlight", ".libsvm"}
_LINE = re.compile(r"[+-]?[\d.]\S*(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")


def is_svmlight(path: str, suffix: str) -> bool:
    """Whether a file is a LIBSVM file, by its suffix or by its first line."""
    return suffix in _SUFFIXES or _LINE.fullmatch(first_line(path)) is not None


def read_labelled(path: str, options: ReadOptions) -> Dataset:
    """LIBSVM file with its labels."""
    refuse_column_options(options, path)
    X, y = _load(path, zero_based=True)
    # Most files count features from 1; one that never uses number 0 is taken for such a file.
    zero_based = bool(X.nnz) and int(X.indices.min()) == 0
    X = X if zero_based else X[:, 1:]
    if X.shape[1] == 0:
        raise CliError(f"{path} has no features")
    y, pos_label = read_target(as_labels(y), options.positive, several=options.several)
    return Dataset(path, X, y, pos_label, Features.of(X, zero_based=zero_based))


def read_unlabelled(path: str, features: Features) -> Samples:
    """Samples of a LIBSVM file, for a trained model; the labels do not matter."""
    if features.kind == "frame":
        return matched(None, features, path)
    X, _ = _load(path, zero_based=features.zero_based, n_features=features.n_features)
    return matched(X, features, path)


def _load(path, **options):
    with reading(path, "a LIBSVM file", CliError), opened(path, "rb") as file:
        X, y = load_svmlight_file(file, dtype=np.float64, **options)
    if X.shape[0] == 0:
        raise CliError(f"{path} has no rows")
    return X, y
