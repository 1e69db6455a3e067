"""The table and the picture of what time and memory grow with; nothing is said about the times."""

import sys

import pytest

from tests.benchmarks import scale

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the resident memory from /proc")


@linux
@pytest.mark.slow
def test_the_table_and_its_picture(tmp_path):
    rows = list(scale.scale_rows(("samples", "values in a row"), shrink=100))
    assert [row["value"] for row in rows if row["varied"] == "samples"] == [100, 1000, 10_000, 100_000]
    assert all(row["seconds"] > 0.0 for row in rows)
    scale.draw_scale(rows, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 10_000


def test_samples_of_a_file_are_those_of_memory(tmp_path, monkeypatch):
    kept = scale._samples(1000, 3, 0, 50, tmp_path)
    monkeypatch.setattr(scale, "_MAPPED", 100)
    mapped = scale._samples(1000, 3, 0, 50, tmp_path)
    assert (kept[0] == mapped[0]).all()
    assert (kept[1] == mapped[1]).all()
    assert kept[1].sum() == 100
