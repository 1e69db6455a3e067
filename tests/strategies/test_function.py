"""Functions as strategies."""

import pytest

from csf import Study
from csf.strategies import FunctionStrategy, Proposal


def lower(trials, *, metric, pos):
    return 0.5 ** (len(trials) + 1) if len(trials) < 3 else None


class Callable:
    def __call__(self, trials, *, metric, pos):
        return Proposal(None, 2.0, 1.0) if not trials else None


def test_a_function_decides():
    study = Study("f1", lower, pos=0.1, n_trials=9)
    levels = []
    while (trial := study.ask()) is not None:
        levels.append(trial.t)
        study.fail(trial, "skipped")
    assert levels == [0.5, 0.25, 0.125]
    assert study.stop_reason == "strategy lower is done"


def test_it_gets_the_trials_the_metric_and_the_share():
    seen = []

    def spy(trials, *, metric, pos):
        seen.append((trials, metric, pos))
        return 0.5

    study = Study("f2", spy, pos=0.25)
    study.ask()
    assert seen == [((), study.metric, 0.25)]


@pytest.mark.parametrize(
    ("function", "name"), [(lower, "lower"), (Callable(), "Callable"), (lambda *_, **__: None, "<lambda>")]
)
def test_names(function, name):
    assert FunctionStrategy(function).name == name


def test_an_object_may_propose_costs():
    trial = Study("f1", Callable(), pos=0.1).ask()
    assert (trial.t, trial.costs) == (None, (2.0, 1.0))
