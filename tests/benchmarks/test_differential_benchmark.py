"""Random problems are as literal definitions say, and a difference is told with the seed that repeats it."""

import numpy as np
import pytest

from tests.benchmarks import differential


@pytest.mark.parametrize("kind", differential.KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_differs(kind, seed):
    assert differential.wrong(kind, seed) == []


def test_differences_and_crashes_are_told(capsys, monkeypatch):
    monkeypatch.setitem(differential.KINDS, "segments", lambda rng: 1 / 0)
    differential.main(["--kind", "segments", "--problems", "2", "--seed", "5"])
    assert "segments 6: ZeroDivisionError" in (out := capsys.readouterr().out)
    assert "2 of 2 problems are wrong {'segments': 2}" in out


def test_alerts_that_are_too_many_or_too_unsure_are_wrong():
    p, alerts = np.array([0.01, 0.02, 0.9, 0.95]), np.array([True, True, False, False])
    assert differential.check_alerts(alerts, p, 0.2) == []
    assert differential.check_alerts(alerts, p, 0.2, 1) == ["2 alerts, 1 by definition"]
    assert "an alert with p 0.9500" in differential.check_alerts(alerts[::-1], p, 0.2)[0]
