"""The comparison of SPADE with the plug-in rule runs on small data."""

import numpy as np
import pytest

from tests.benchmarks.data import data_folder
from tests.benchmarks.online import dense_stream
from tests.benchmarks.spade import data_sets, spade_rows


def test_rows():
    rows = list(
        spade_rows(metrics=["qmean"], options=[{"passes": 1}], n_splits=2, sets={"small": dense_stream(800, 3)})
    )
    assert [row["learner"] for row in rows] == ["plug-in", "SPADE(passes=1)"]
    assert rows[0]["to_plug_in"] == 0.0
    assert rows[1]["to_plug_in"] == pytest.approx(rows[1]["value"] - rows[0]["value"])
    assert min(row["value"] for row in rows) > 0.6
    assert min(row["seconds"] for row in rows) > 0.0


@pytest.mark.skipif(data_folder() is None, reason="no folder of data sets: set CSF_DATA")
def test_data_sets():
    for X, y in data_sets().values():
        assert X.shape[0] == y.size
        assert 0 < y.mean() < 0.5
        assert np.abs(X).max() <= 1.0
