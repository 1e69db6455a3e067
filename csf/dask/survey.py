"""The first pass over Dask collections: labels, weights and folds are checked and summed up."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from csf._common.typing import Array, Label
from csf.cluster.engine import FoldTotals
from csf.dask.collections import DaskData, RawPart, matrix

__all__ = ["Survey", "check_labels_given", "survey"]

# More labels than anyone has classes.
_MOST_LABELS = 100


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass found.

    ``totals`` has the weight and number of rows by fold and label, ``rows`` the number of rows of each partition by
    fold; ``checksum`` is that of everything, where it was asked for.
    """

    totals: dict[tuple[int, Label], tuple[float, int]]
    rows: dict[int, dict[int, int]]
    checksum: int

    @property
    def labels(self) -> Array:
        """All labels."""
        return np.unique(np.array([label for _, label in self.totals]))

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return 1 + max((fold for fold, _ in self.totals), default=-1)

    def count(self, labels: Array) -> Array:
        """Rows of each label."""
        return np.array([sum(n for (_, own), (_, n) in self.totals.items() if own == each) for each in labels])

    def fold_totals(self, pos_label: Label) -> FoldTotals:
        """What each fold weighs."""
        weight, rows = np.zeros((self.n_folds + 1, 2)), np.zeros(self.n_folds + 1, dtype=np.int64)
        for (fold, label), (total, count) in sorted(self.totals.items(), key=lambda item: str(item[0])):
            weight[fold, int(label == pos_label)] += total
            rows[fold] += count
        return FoldTotals(weight, rows)


def survey(data: DaskData, *, checksum: bool) -> Survey:
    """Make the first pass; with ``checksum`` it reads all features too, so that other data can be told from these."""
    return data.reduced(partial(_of_part, checksum=checksum), _merged)


def check_labels_given(part: RawPart) -> None:
    """Raise a ValueError where a label is missing, in whatever way arrays and frames say so."""
    import pandas  # which Dask's frames need

    if pandas.isna(part.y).any() or (part.y.dtype.kind == "f" and np.isinf(part.y).any()):
        raise ValueError(
            f"y contains NaN, None or infinity in partition {part.index}: labels are missing there; drop those rows or "
            "give them a class"
        )


def _of_part(part: RawPart, *, checksum: bool) -> Survey:
    n_rows, weight = part.y.shape[0], part.weight
    if weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("sample_weight must be finite numbers >= 0")
    check_labels_given(part)
    if part.fold.dtype.kind not in "iu" or (n_rows and part.fold.min() < -1):
        raise ValueError("folds must be integers: 0, 1, ... for rows that are held out, -1 for those that never are")
    labels, codes = np.unique(part.y, return_inverse=True)
    if labels.shape[0] > _MOST_LABELS:
        raise ValueError(f"y must hold two class labels, got {labels.shape[0]} different values in one partition")
    folds, places = np.unique(part.fold, return_inverse=True)
    cells = places * labels.shape[0] + codes
    size = folds.shape[0] * labels.shape[0]
    counts = np.bincount(cells, minlength=size)
    sums = counts if weight is None else np.bincount(cells, weights=weight, minlength=size)
    totals = {
        (int(fold), label): (float(sums[cell]), int(counts[cell]))
        for cell, (fold, label) in enumerate((fold, label) for fold in folds for label in labels.tolist())
        if counts[cell]
    }
    rows = {part.index: {int(fold): int((part.fold == fold).sum()) for fold in folds}}
    return Survey(totals, rows, _checksum(part) if checksum else 0)


def _checksum(part: RawPart) -> int:
    """Number that other content gives another one of, almost surely; sums of it do not depend on an order."""
    crc = part.index + 1
    pieces: list[Any] = [part.y if part.y.dtype != object else part.y.astype(str), part.weight, part.fold]
    X = matrix(part.X)
    pieces += [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for piece in pieces:
        crc = zlib.crc32(np.ascontiguousarray(piece if piece is not None else 0).tobytes(), crc)
    # Spread over 64 bits, so that sums of parts seldom agree.
    return (crc * 0x9E3779B97F4A7C15 + part.index * 0xBF58476D1CE4E5B9) % 2**64


def _merged(parts: Sequence[Survey]) -> Survey:
    totals: dict[tuple[int, Label], tuple[float, int]] = {}
    rows: dict[int, dict[int, int]] = {}
    for part in parts:
        rows |= part.rows
        for cell, (total, count) in part.totals.items():
            before = totals.get(cell, (0.0, 0))
            totals[cell] = before[0] + total, before[1] + count
    return Survey(totals, rows, sum(part.checksum for part in parts) % 2**64)
