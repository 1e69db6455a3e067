"""The net of small searches: the numbers of the reference, and the comparison of two versions."""

import json

import numpy as np
import pytest

from tests.benchmarks import net
from tests.benchmarks.net_numbers import condense, differences, measure
from tests.benchmarks.net_searches import FEATURES, KINDS, MORE, OF_MORE, WITHOUT_A_SEARCH, searches


@pytest.mark.slow
def test_numbers_are_those_of_the_reference():
    """Where a change is meant: ``python -m tests.benchmarks net --write``, see `tests.benchmarks.net`."""
    made_on, before = net.read_reference()
    if made_on != net.machine():
        pytest.skip(f"last digits are those of a machine; the reference was computed with {', '.join(made_on)}")
    assert differences(before, json.loads(json.dumps(net.comparable(net.measured())))) == {}


@pytest.mark.slow
def test_a_version_is_compared_with_itself(tmp_path, capsys):
    path = tmp_path / "numbers.json"
    net.main(["--only", "two prefit, c", "--out", str(path)])
    net.main(["--only", "two prefit, c", "--against", str(path)])
    assert "\n0 of 3 searches differ" in capsys.readouterr().out
    numbers = json.loads(path.read_text())
    numbers["two prefit, constraint"]["best_threshold_"][0] += 1e-6
    path.write_text(json.dumps(numbers))
    net.main(["--only", "two prefit, c", "--against", str(path)])
    assert "two prefit, constraint: best_threshold_\n1 of 3" in capsys.readouterr().out


def test_each_kind_has_each_feature_that_it_can_have():
    names = searches().keys()
    assert len(names) >= 150
    for feature in FEATURES:
        more = () if feature in OF_MORE else MORE
        for kind in KINDS.keys() - {*WITHOUT_A_SEARCH.get(feature, ()), *more}:
            assert f"{kind}, {feature}" in names
    assert all(kind in KINDS for kinds in WITHOUT_A_SEARCH.values() for kind in kinds)
    assert {*MORE} <= KINDS.keys()
    assert WITHOUT_A_SEARCH.keys() | {*OF_MORE} <= FEATURES.keys()


def test_numbers_of_a_search_and_refusals_are_told():
    told = measure(KINDS["two prefit"].search(n_trials=1))
    assert len(told["predict"]) == len(KINDS["two prefit"].y)
    assert told["predict at_most"].count(1.0) == 20
    assert told["decision_rule"][0].startswith("words")
    assert told["linear_rule"] == ["TypeError"]
    assert 0.0 < told["corrected_score_"][0] < 1.0


def test_numbers_texts_and_what_one_version_lacks_differ():
    before = {"a": {"x": [1.0, float("nan")], "y": ["no"]}, "b": {"x": [1.0]}}
    assert differences(before, {"a": {"x": [1.0 + 1e-12, float("nan")], "y": ["no"]}, "b": {"x": [1.0]}}) == {}
    assert differences(before, {"a": {"x": [1.0, 2.0], "y": ["yes"]}}) == {"a": ["x", "y"], "b": ["x"]}


def test_each_number_and_text_has_a_part_in_condensed_lists():
    values = [*np.random.default_rng(1).normal(size=40).tolist(), "a", float("inf")]
    before = {"a": {"x": json.loads(json.dumps(condense(values)))}}
    assert differences(before, {"a": {"x": values}}) == {}
    for at in range(len(values)):
        moved = [*values]
        moved[at] = "b" if at == 40 else float("-inf") if at == 41 else values[at] + 1e-6
        assert differences(before, {"a": {"x": moved}}) == {"a": ["x"]}
    assert differences(before, {"a": {"x": [values[1], values[0], *values[2:]]}}) == {"a": ["x"]}
