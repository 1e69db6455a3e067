"""Class weights that a search of several classes asks for, and records of its trials."""

import json
from dataclasses import replace

import numpy as np
import pytest

from csf.evaluate.trials import Trial
from csf.metrics import get_confusion_metric
from csf.search.study import ClassStudy, judged_fields
from csf.strategies import Grid, Ladder

SHARES = np.array([0.6, 0.3, 0.1])
METRIC = get_confusion_metric("f1_macro")
OWN = np.array([[0.5, 0.1, 0.0], [0.1, 0.2, 0.0], [0.05, 0.05, 0.0]])
JUDGED = np.array([[0.45, 0.1, 0.05], [0.1, 0.2, 0.0], [0.0, 0.05, 0.05]])


def study(strategy="ladder", n_trials=20, shares=SHARES):
    return ClassStudy(METRIC, strategy, shares=shares, n_trials=n_trials)


@pytest.mark.parametrize(
    ("strategy", "n_trials", "powers"),
    [
        ("ladder", 20, [0.0, 0.5, 1.0]),
        ("ladder", 2, [0.0, 1.0]),
        ("ladder", 1, [0.0]),
        (Ladder(5), 20, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("grid", 4, [0.0, 1 / 3, 2 / 3, 1.0]),
        (Grid(size=2), 20, [0.0, 1.0]),
    ],
)
def test_powers_go_from_equal_class_weights_to_balanced_ones(strategy, n_trials, powers):
    asked = study(strategy, n_trials)
    batch = asked.ask_batch()
    assert [trial.t for trial in batch] == pytest.approx(powers)
    assert [trial.number for trial in batch] == list(range(len(powers)))
    assert asked.most_trials == len(powers)


def test_class_weights_are_powers_of_the_shares_of_mean_one():
    equal, half, balanced = study().ask_batch()
    assert equal.costs == (1.0, 1.0, 1.0)  # to the last digit: the base as it is
    assert balanced.costs == pytest.approx(1.0 / (3.0 * SHARES))
    assert np.array(half.costs) ** 2 * SHARES == pytest.approx(half.costs[0] ** 2 * SHARES[0])
    assert SHARES @ half.costs == pytest.approx(1.0)


def test_the_study_is_over_when_all_powers_were_asked_for():
    asked = study()
    batch = asked.ask_batch()
    assert asked.ask_batch() == []  # they are pending
    assert asked.stop_reason is None
    for trial in batch[:2]:
        asked.record(trial, **judged_fields(METRIC, OWN))
    asked.fail(batch[2], "no")
    assert asked.ask_batch() == []
    assert asked.stop_reason == "all 3 class weights were tried"


def test_what_was_pending_is_asked_for_again():
    asked = study()
    first, *_ = asked.ask_batch()
    asked.record(first, **judged_fields(METRIC, OWN))
    asked.forget_pending()
    again = asked.ask_batch()
    assert [(trial.number, trial.t) for trial in again] == [(1, 0.5), (2, 1.0)]


def test_classes_of_the_same_size_leave_equal_weights():
    asked = study(shares=np.full(4, 0.25))
    (trial,) = asked.ask_batch()
    assert trial.costs == (1.0,) * 4
    asked.record(trial, **judged_fields(METRIC, np.eye(4) / 4))
    asked.ask_batch()
    assert (
        asked.stop_reason == "all 1 class weights were tried: classes of the same size leave equal class weights only"
    )


@pytest.mark.parametrize("strategy", ["cone", "bisection"])
def test_strategies_of_two_costs_are_refused(strategy):
    with pytest.raises(ValueError, match=f"strategy='{strategy}' searches the costs of two .* 'ladder' or 'grid'"):
        study(strategy)


def test_the_score_is_the_larger_of_own_and_judged():
    own, judged = (float(METRIC.value(matrix)) for matrix in (OWN, JUDGED))
    assert judged > own
    fields = judged_fields(METRIC, OWN, tuned=np.diag(SHARES), judged=JUDGED)
    assert (fields["value"], fields["score"]) == (own, judged)
    assert judged_fields(METRIC, JUDGED, judged=OWN)["score"] == judged
    assert judged_fields(METRIC, OWN)["score"] == own


def told():
    trial, *_ = study().ask_batch()
    return replace(trial, state="complete", fold_scores=(0.5, None), **judged_fields(METRIC, OWN, OWN, JUDGED))


def test_records_come_back_from_a_file_as_they_were():
    trial = told()
    assert Trial.from_dict(json.loads(json.dumps(trial.to_dict()))) == trial
    with pytest.raises(ValueError, match="not the record of a trial"):
        Trial.from_dict(trial.to_dict() | {"own": 3})
