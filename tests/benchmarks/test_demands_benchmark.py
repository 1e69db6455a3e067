import pytest

from tests.benchmarks import demands

# Some demands of small samples cannot be certified.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", demands.POPULATIONS)
def test_certificates_of_populations_have_rows(name):
    row = demands.certified(name, 2, n_samples=600)
    assert row["searches"] == 2
    assert set(row) >= {"signed", "false", "allowed"}


@pytest.mark.parametrize("name", demands.CASES)
def test_reviews_have_rows(name):
    assert set(demands.reviewed(name, 2)) == {"reviews", "fits", "bias", "interval holds"}


@pytest.mark.slow
@pytest.mark.simulation
@pytest.mark.parametrize("name", demands.POPULATIONS)
def test_certificates_are_seldom_false(name):
    """At most 10 % plus two standard errors of 100 searches."""
    row = demands.certified(name, 100)
    assert float(row["false"].rstrip("%")) <= 16.0


@pytest.mark.slow
@pytest.mark.simulation
@pytest.mark.parametrize("name", demands.CASES)
def test_intervals_of_reviews_hold(name):
    """90 % of them, but for what chance leaves of 60."""
    assert float(demands.reviewed(name, 60)["interval holds"].rstrip("%")) >= 80.0
