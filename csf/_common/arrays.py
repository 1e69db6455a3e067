"""Forms of arrays that results do not depend on, and that take little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from csf._common.typing import IntArray, Samples

__all__ = ["canonical_csr", "small_indices"]


def canonical_csr(X: Samples) -> Samples:
    """Sparse samples as CSR with sorted columns, each at most once and none holding a 0; others as they are.

    What the caller gave is never changed, and not copied where it is in this form.
    """
    if not issparse(X):
        return X
    rows: Any = X if X.format == "csr" else csr_array(X)
    if rows.has_canonical_format and np.count_nonzero(rows.data) == rows.nnz:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    # Last: two entries of one place may add up to 0.
    rows.eliminate_zeros()
    return rows


def small_indices(at: IntArray, n_samples: int) -> IntArray:
    """Places among some samples as 4 bytes each, wherever these reach.

    Five folds keep five places for each sample: in 8 bytes they take a third of what thirty float32 features do.
    """
    return at.astype(np.int32 if n_samples <= np.iinfo(np.int32).max else np.int64, copy=False)
