"""The net of small searches compares two versions, and sees a number that differs."""

import json

import pytest

from tests.benchmarks import net


@pytest.mark.slow
def test_a_version_is_compared_with_itself(tmp_path, capsys):
    path = tmp_path / "numbers.json"
    net.main(["--only", "prefit", "--out", str(path)])
    net.main(["--only", "prefit", "--against", str(path)])
    assert "0 of 3 searches differ" in capsys.readouterr().out
    numbers = json.loads(path.read_text())
    numbers["two prefit"]["best_threshold_"][0] += 1e-6
    path.write_text(json.dumps(numbers))
    net.main(["--only", "prefit", "--against", str(path)])
    assert "two prefit: best_threshold_\n1 of 3" in capsys.readouterr().out


def test_numbers_texts_and_what_one_version_lacks_differ():
    before = {"a": {"x": [1.0, float("nan")], "y": ["no"]}, "b": {"x": [1.0]}}
    assert net.differences(before, {"a": {"x": [1.0 + 1e-12, float("nan")], "y": ["no"]}, "b": {"x": [1.0]}}) == {}
    assert net.differences(before, {"a": {"x": [1.0, 2.0], "y": ["yes"]}}) == {"a": ["x", "y"], "b": ["x"]}
