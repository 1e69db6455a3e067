"""The table of prices has its lines; nothing is said about the times."""

import numpy as np
import pytest

from tests.benchmarks import price
from tests.benchmarks.bases import LINEAR


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("base", LINEAR)
def test_the_table(base):
    (given,) = price.sets(("sparse",), shrink=400)
    (row,) = price.rows([given], [base], n_runs=1)
    assert (row["data"], row["base"]) == ("sparse", base)
    assert float(row["search / cold"]) > 0
    assert 0.0 <= float(row["gap"]) <= 6e-3
    assert -1e-9 <= float(row["off"]) <= 6e-3
    assert float(row["base off"]) >= -1e-9


def test_drawn_sets():
    (_, dense, y), (_, csr, _) = price.sets(("dense", "sparse"), shrink=100)
    assert (dense.shape, dense.dtype, csr.shape) == ((10_000, 30), np.float32, (1000, 500))
    np.testing.assert_allclose(np.sqrt(csr.multiply(csr).sum(axis=1)), 1.0)
    assert y.mean() == pytest.approx(0.1, abs=1e-3)
