"""The simulations behind corrected scores, guarantees and the gain rule run and give rows."""

import pytest

from tests.benchmarks import honesty


@pytest.mark.parametrize(("topic", "columns"), [("score", 6), ("constraints", 9), ("gain", 5)])
def test_topics_give_rows(topic, columns):
    row = next(honesty.TOPICS[topic](4))
    assert len(row) == columns


def test_the_truth_of_the_simulation_is_what_many_samples_show():
    store = honesty.simulated(0, 200_000, 0.2, [1.5])
    row = store[0, 0]
    assert row.value == pytest.approx(honesty._f1(row.threshold, 0.2, 1.5), abs=0.01)
