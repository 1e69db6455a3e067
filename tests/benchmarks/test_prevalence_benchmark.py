"""The simulations behind intervals of shares run and give rows."""

import pytest

from tests.benchmarks import prevalence


@pytest.mark.filterwarnings("ignore:the probabilities of the known samples")
@pytest.mark.parametrize("name", ["few known positives", "too sure"])
def test_settings_give_rows(name):
    (row,) = prevalence.rows({name: prevalence.SETTINGS[name]}, 3)
    assert row["setting"] == name
    assert float(row["interval holds"].rstrip("%")) >= 33
    assert len(prevalence.SETTINGS) >= 6
