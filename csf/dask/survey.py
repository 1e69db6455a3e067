"""The first pass over Dask collections: labels, weights and folds are checked and summed up."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from csf._common.typing import Array, IntArray, Label
from csf.cluster.engine import FoldTotals
from csf.dask.collections import DaskData, Mark, RawPart, matrix

__all__ = ["Survey", "check_labels_given", "survey"]

# More labels than anyone has classes.
_MOST_LABELS = 100


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass found.

    ``table`` is a pandas frame with the ``weight`` and number of ``rows`` of each partition, fold and label;
    ``marks`` are by what partitions are known again; ``checksum`` is that of everything, where it was asked for.
    """

    table: Any
    marks: dict[int, Mark]
    checksum: int

    @property
    def labels(self) -> Array:
        """All labels."""
        return np.unique(np.array(self.table["label"].tolist()))

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return 1 + int(self.table["fold"].max())

    def count(self, labels: Array) -> IntArray:
        """Rows of each label."""
        return np.array([self.table.loc[self.table["label"] == label, "rows"].sum() for label in labels])

    def fold_totals(self, pos_label: Label) -> FoldTotals:
        """What each fold weighs."""
        fold, is_pos = self.table["fold"].to_numpy(), (self.table["label"] == pos_label).to_numpy(dtype=int)
        weight, rows = np.zeros((self.n_folds + 1, 2)), np.zeros(self.n_folds + 1, dtype=np.int64)
        np.add.at(weight, (fold, is_pos), self.table["weight"])
        np.add.at(rows, fold, self.table["rows"])
        return FoldTotals(weight, rows)

    def n_training(self, fold: int | None, n_parts: int) -> list[int]:
        """Rows of each partition that a fold trains on."""
        kept = self.table if fold is None else self.table[self.table["fold"] != fold]
        return kept.groupby("part")["rows"].sum().reindex(range(n_parts), fill_value=0).tolist()


def survey(data: DaskData, check_rows: Callable[[RawPart], None], *, checksum: bool) -> Survey:
    """Make the first pass, with a check of the features; with ``checksum`` other data are recognised by them."""
    return data.reduced(partial(_of_part, check_rows=check_rows, checksum=checksum), _merged)


def check_labels_given(part: RawPart) -> None:
    """Raise a ValueError where a label is missing, in whatever way arrays and frames say so."""
    import pandas  # which Dask's frames need

    if np.any(pandas.isna(part.y)) or (part.y.dtype.kind == "f" and np.isinf(part.y).any()):
        raise ValueError(
            f"y contains NaN, None or infinity in partition {part.index}: labels are missing there; drop those rows or "
            "give them a class"
        )


def _of_part(part: RawPart, *, check_rows: Callable[[RawPart], None], checksum: bool) -> Survey:
    import pandas

    n_rows, weight = part.y.shape[0], part.weight
    if weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"sample_weight must be finite numbers >= 0, which it is not in partition {part.index}")
    check_labels_given(part)
    if part.fold.dtype.kind not in "iu" or (n_rows and part.fold.min() < -1):
        raise ValueError(
            f"folds must be integers: 0, 1, ... for rows that are held out, -1 for those that never are; in partition "
            f"{part.index} they are not"
        )
    rows = pandas.DataFrame({"fold": part.fold, "label": part.y, "weight": 1.0 if weight is None else weight})
    cells = rows.groupby(["fold", "label"])["weight"].agg(weight="sum", rows="size").reset_index()
    n_labels = len(set(cells["label"]))
    if n_labels > _MOST_LABELS:
        raise ValueError(f"y must hold two class labels, got {n_labels} different values in one partition")
    check_rows(part)
    return Survey(cells.assign(part=part.index), {part.index: part.mark}, _checksum(part) if checksum else 0)


def _checksum(part: RawPart) -> int:
    """Number that other content gives another one of, almost surely; sums of it do not depend on an order."""
    from pandas import util

    hash_rows: Any = util.hash_pandas_object
    crc, pieces = part.mark.labels, [part.weight]
    # Frames may have columns that are no numbers.
    X = hash_rows(part.X, index=False) if hasattr(part.X, "columns") else matrix(part.X)
    pieces += [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for piece in pieces:
        crc = zlib.crc32(np.ascontiguousarray(piece if piece is not None else 0).tobytes(), crc)
    # Spread over 64 bits, so that sums of parts seldom agree.
    return (crc * 0x9E3779B97F4A7C15 + part.index * 0xBF58476D1CE4E5B9) % 2**64


def _merged(parts: Sequence[Survey]) -> Survey:
    import pandas

    # Empty partitions say nothing, not even which kind their labels are of.
    told = [part.table for part in parts if len(part.table)] or [parts[0].table]
    marks = dict(mark for part in parts for mark in part.marks.items())
    return Survey(pandas.concat(told, ignore_index=True), marks, sum(part.checksum for part in parts) % 2**64)
