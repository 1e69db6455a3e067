"""Data sets in the folder that ``CSF_DATA`` names.

A set is a ``numpy.savez_compressed`` file ``NAME.npz`` with the labels ``y`` and the samples: ``X``, or a CSR matrix
as ``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``. ``positive`` (labels that count as positive; empty or
absent for multiclass sets) and ``is_test`` (the official test part) are optional.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from csf._common.files import read_arrays
from csf._common.messages import did_you_mean
from csf._common.typing import Samples
from csf.cli.data.dataset import Dataset, Features, matched, refuse_column_options
from csf.cli.data.targets import read_target
from csf.cli.errors import CliError

if TYPE_CHECKING:
    from csf.cli.data.dataset import ReadOptions


__all__ = ["PREFIX", "is_npz", "read_labelled", "read_unlabelled"]

PREFIX = "csf-data:"


def is_npz(source: str) -> bool:
    """Whether a source is one such as ``"csf-data:adult"``."""
    return source.startswith(PREFIX)


def read_labelled(source: str, options: ReadOptions) -> Dataset:
    """Set of the folder, with its official split where it has one."""
    refuse_column_options(options, source)
    name, _, positive = source.removeprefix(PREFIX).partition(":")
    X, arrays = _load(name)
    y = arrays["y"]
    positive = positive or options.positive
    if positive is None and arrays.get("positive", np.empty(0)).size:
        y, pos_label = np.isin(y, arrays["positive"]).astype(np.int64), 1
    else:
        y, pos_label = read_target(y, positive, several=options.several)
    return Dataset(source, X, y, pos_label, Features.of(X), is_test=arrays.get("is_test"))


def read_unlabelled(source: str, features: Features) -> Samples:
    """Samples of a set of the folder, for a trained model."""
    X, _ = _load(source.removeprefix(PREFIX).partition(":")[0])
    return matched(X, features, source)


def _load(name):
    folder = os.environ.get("CSF_DATA")
    if not folder:
        raise CliError(
            f"{PREFIX}{name} is looked up in the folder that the environment variable CSF_DATA names; set it"
        )
    path = Path(folder) / f"{name}.npz"
    known = sorted(file.stem for file in Path(folder).glob("*.npz"))
    if name not in known:
        hint = did_you_mean(name, known)
        raise CliError(f"no data set {name!r} in CSF_DATA ({folder}); there are: {', '.join(known) or 'none'}{hint}")
    X, arrays = read_arrays(path, CliError)
    return sparse.csr_matrix(X) if sparse.issparse(X) else X, arrays
