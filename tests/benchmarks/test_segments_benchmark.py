import pytest

from tests.benchmarks import segments


def test_a_threshold_within_a_limit_is_one():
    y, score, segment = segments.sample("two segments", 400, segments.np.random.default_rng(0))
    cut = segments.single_threshold(y, score, segment, "recall", 0.1)
    assert segments.f1_and_gap(y, (score >= cut) * 1.0, segment, "recall")[1] <= 0.1


@pytest.mark.filterwarnings("ignore")
def test_certificates_have_rows():
    row = segments.certified("two segments", "selection_rate", 2, n_samples=600)
    assert set(row) >= {"signed", "false", "at most"}


@pytest.mark.slow
@pytest.mark.simulation
@pytest.mark.parametrize("name", segments.POPULATIONS)
def test_certified_gaps_are_seldom_false(name):
    """At most 10 % plus two standard errors of 100 searches."""
    assert float(segments.certified(name, "recall", 100)["false"].rstrip("%")) <= 16.0
