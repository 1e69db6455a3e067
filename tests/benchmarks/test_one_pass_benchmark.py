"""The tables of what one pass teaches can be made; nothing is said about which learner leads."""

import numpy as np
import pytest

from tests.benchmarks.data import data_folder
from tests.benchmarks.one_pass import change_rows, learning_rows, prevalence_change, rivals, unit_rows


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="no data sets")
def test_every_learner_has_its_row():
    rows = list(learning_rows(("wine",), n_orders=1))
    assert [row["name"] for row in rows] == [*rivals(), "batch plug-in"]
    for row in rows:
        assert row["data"] == "wine"
        assert 0.0 <= row["own"] <= row["best_cut"] + 1e-9 <= 1.0 + 1e-9
        assert 0.0 < row["average_precision"] <= 1.0
        assert row["seconds"] > 0.0


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="no data sets")
def test_units_of_features_hardly_matter():
    rows = list(unit_rows(("abalone10",), n_orders=2))
    assert [row["name"] for row in rows] == ["OFO", "FOFO", "STAMP"]
    for row in rows:
        assert row["raw"] == pytest.approx(row["divided"], abs=0.02)
        assert row["tenfold"] < 0.01


def test_only_the_share_changes():
    X, y = prevalence_change(20_000, seed=3)
    assert y[:10_000].mean() == pytest.approx(0.1, abs=0.01)
    assert y[10_000:].mean() == pytest.approx(0.01, abs=0.004)
    for half in (slice(None, 10_000), slice(10_000, None)):
        np.testing.assert_allclose(X[half][y[half] == 1].mean(axis=0), [1.5, 1.5, 0, 0, 0], atol=0.3)


@pytest.mark.slow
def test_after_the_change_windows_come_close_to_learners_of_the_new_part():
    """As near as 0.03 after as many positives as the latter need to settle, which is about 50."""
    rows = list(change_rows(n_pos=(50,), windows=(2000,), n_orders=20))
    assert [row["name"] for row in rows] == ["OFO", "FOFO", "STAMP"]
    for row in rows:
        assert row["own"] >= row["fresh"] - 0.03
