"""The simulations behind corrected scores and guarantees run and give rows."""

import json

import pytest

from tests.benchmarks import honesty, refits


@pytest.mark.parametrize(
    ("topic", "columns"),
    [("score", 6), ("constraints", 9), ("intervals", 6), ("corners", 7), ("coverage", 6), ("decisions", 6)],
)
def test_topics_give_rows(topic, columns):
    row = next(honesty.TOPICS[topic](4))
    assert len(row) == columns


def test_the_truth_of_the_simulation_is_what_many_samples_show():
    store = honesty.simulated(0, 200_000, 0.2, [1.5])
    row = store[0, 0]
    assert row.value == pytest.approx(honesty._f1(row.threshold, 0.2, 1.5), abs=0.01)


def test_draws_of_populations_are_kept_and_gone_on_from(tmp_path, monkeypatch):
    small = refits.Population("gaussian", "svc", 20, param_grid=None)
    monkeypatch.setattr(refits, "POPULATIONS", [small])
    path = tmp_path / "draws.json"
    list(refits.refits(1, path))
    first = json.loads(path.read_text())
    row, mean = refits.refits(2, path)
    again = json.loads(path.read_text())
    assert again[small.name]["0"] == first[small.name]["0"]
    assert row["draws"] == mean["draws"] == 2
    assert all(each["interval"][0] <= each["corrected"] <= each["interval"][1] for each in again[small.name].values())


def test_a_generated_population_is_the_same_in_all_draws():
    population = refits.POPULATIONS[0]
    (X, y), whole = population.draw(0)
    (other, _), again = population.draw(1)
    assert whole[0] is again[0]
    assert X.shape == other.shape == (y.size, 5)
    assert (other != X).all()
