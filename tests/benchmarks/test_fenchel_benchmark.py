"""The tables of the benchmark can be made, and hold what the package promises."""

import pytest

from tests.benchmarks import data
from tests.benchmarks.fenchel import amp_rows, certificate_rows, gmean_rows, solver_rows
from tests.benchmarks.tables import markdown


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(data.data_folder() is None, reason="needs the real data sets: set CSF_DATA")
def test_tables_of_one_set():
    certificates = certificate_rows(("wine",))
    assert all(row["gap"] <= 1e-4 and row["least rise"] >= 0 for row in certificates)
    levels = amp_rows(("wine",), ("f1",), n_levels=20)
    assert all(row["rises"] and row["SVMs"] <= 8 and row["AMP - grid"] >= -1e-7 for row in levels)
    assert all(row["own: gap"] <= 1e-6 for row in solver_rows(("wine",)))
    table = markdown(gmean_rows(("wine",), Cs=(1.0, None), n_splits=2))
    assert table.splitlines()[0].startswith("| set | C | FenchelSVM |")
    assert len(table.splitlines()) == 4


def test_missing_data_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CSF_DATA", str(tmp_path / "nowhere"))
    assert data.data_folder() is None
    with pytest.raises(FileNotFoundError, match="set the environment variable CSF_DATA"):
        data.load_binary("wine")
