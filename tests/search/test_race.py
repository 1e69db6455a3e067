"""Settings drop out where held-out scores leave no doubt that others are better."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.evaluate import ScoreStore
from csf.metrics import get_metric
from csf.search.config import BEYOND, MULTIPLES, Step, settings_of, steps_of
from csf.search.selection import DROPPED, Race
from csf.search.study import Study
from csf.strategies import Ladder

RNG = np.random.default_rng(0)
IS_POS = np.arange(2000) < 400
SIGNAL = 1.5 * IS_POS + RNG.normal(size=2000)
F1 = get_metric("f1")


class Tried:
    """A race whose settings have given scores: signal and so much noise of their own."""

    def __init__(self, noise, steps=None, size=3):
        self.noise = noise
        self.studies = [Study("f1", Ladder(size), pos=0.2) for _ in noise]
        self.store = ScoreStore(IS_POS)
        self.race = Race(self.studies, steps or [Step()] * len(noise), self.store, F1)
        self.asked = []

    def run(self):
        while batch := self.race.ask():
            self.asked.append([setting for setting, _ in batch])
            for setting, trial in batch:
                self.tell(setting, trial)
        return self

    def tell(self, setting, trial):
        noise = np.random.default_rng(setting).normal(size=2000)
        score = SIGNAL + self.noise[setting] * noise
        told = self.studies[setting].tell(trial, IS_POS, y_score=score)
        self.store.add_trial((setting, trial.number), told, score, None)


def test_what_is_far_behind_is_trained_at_equal_costs_alone():
    tried = Tried([0.0, 3.0, 1.5, 4.0]).run()
    assert tried.asked[0] == [0, 1, 2, 3]
    assert set(tried.asked[1]) == {0}
    assert [study.dropped for study in tried.studies] == [False, True, True, True]
    assert [len(study.trials) for study in tried.studies] == [3, 1, 1, 1]
    assert {study.stop_reason for study in tried.studies[1:]} == {DROPPED}


def test_nothing_is_dropped_where_there_are_equal_costs_alone():
    tried = Tried([0.0, 3.0, 1.5], size=1).run()
    assert not any(study.dropped for study in tried.studies)
    (reason,) = {study.stop_reason for study in tried.studies}
    assert reason == "strategy ladder is done: its only ratio is that of equal costs; strategy=Ladder(3) tries others"


def test_what_was_not_reached_is_no_reason_to_end():
    """Beyond an end that does not lead nothing is tried, and nothing was behind."""
    tried = Tried([3.0, 0.0, 0.1], steps=[Step(), Step(), Step(0, beyond=True)]).run()
    assert tried.studies[1].trials
    assert not tried.studies[2].trials
    assert tried.studies[2].dropped
    assert tried.studies[2].stop_reason is None


def test_what_is_in_doubt_goes_on():
    # The first one is the base's own: it loses to the others, of which neither is clearly better.
    tried = Tried([3.0, 0.0, 0.1]).run()
    assert set(tried.asked[1]) == {1, 2}


def test_where_nothing_gains_the_own_setting_alone_goes_on():
    tried = Tried([0.0, 0.01, 0.005]).run()
    assert set(tried.asked[1]) == {0}


def test_settings_are_tried_outwards_as_long_as_they_gain():
    chain = [Step(), Step(0), Step(1), Step(0), Step(3)]
    # Upwards it gets better and better, downwards it is worse at once: the last one there is never tried.
    tried = Tried([2.0, 1.0, 0.2, 3.0, 3.0], chain).run()
    assert tried.asked[:2] == [[0], [1, 3]]
    assert tried.asked[2] == [2]
    assert not tried.studies[4].trials


@pytest.mark.parametrize(("noise", "reached"), [([1.0, 0.0, 0.0], True), ([0.0, 0.0, 0.0], False)])
def test_beyond_the_grid_only_from_its_best_one(noise, reached):
    tried = Tried(noise, [Step(), Step(0), Step(1, beyond=True)])
    assert tried.studies[2].dropped
    tried.run()
    assert bool(tried.studies[2].trials) == reached


def test_a_race_that_knows_nothing_asks_everyone():
    race = Race([Study("f1", Ladder(2), pos=0.2) for _ in range(2)], [Step()] * 2, ScoreStore(IS_POS), F1)
    assert [setting for setting, _ in race.ask()] == [0, 1]


def test_steps_lead_away_from_the_own_setting():
    multiples = [*MULTIPLES, *BEYOND]
    steps = steps_of("auto", settings_of("auto", LinearSVC(), multiples=multiples))
    for multiple, step in zip(multiples, steps):
        if multiple != 1.0:
            assert step.before is not None
            assert abs(np.log(multiples[step.before] / multiple)) == pytest.approx(np.log(4.0))
            assert abs(np.log(multiples[step.before])) < abs(np.log(multiple))
        assert step.beyond == (multiple in BEYOND)
    assert steps_of({"C": [1.0, 2.0]}, [{}, {}]) == [Step(), Step()]


# ---------------------------------------------------------------- searches

X = np.random.default_rng(1).normal(size=(3000, 5))
Y = (X[:, 0] + np.random.default_rng(2).normal(size=3000) > 1.4).astype(int)


@pytest.fixture(scope="module")
def search():
    return CostSearch(LogisticRegression(), random_state=0, cv=3).fit(X, Y)


def test_the_table_tells_what_dropped_out(search):
    table = search.cv_results_
    left = {trial.setting for trial, dropped in zip(search.trials_, table["dropped"]) if not dropped}
    assert search.n_trials_ < 42
    assert 0 < len(left) < len({trial.setting for trial in search.trials_})
    assert DROPPED in search.stop_reason_
    # What dropped out has equal costs alone, and lost nothing of what it is worth.
    assert {trial.costs for trial in search.trials_ if trial.setting not in left} == {(1.0, 1.0)}


def test_a_race_goes_on_after_a_pause_as_without_it(search, tmp_path):
    for n in (1, 4, search.n_trials_ - 2):
        file = tmp_path / f"{n}.json"
        left = iter([False] * (n - 1) + [True])
        options = {"random_state": 0, "cv": 3, "checkpoint": file}
        CostSearch(LogisticRegression(), callbacks=[lambda study, trial, left=left: next(left)], **options).fit(X, Y)
        resumed = CostSearch(LogisticRegression(), **options).fit(X, Y)
        assert resumed.trials_ == search.trials_
        assert resumed.best_threshold_ == search.best_threshold_


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": "tune"},
        {"constraint": "fpr <= 0.3"},
        {"strategy": "imbalance_ratio"},
        {"strategy": Ladder(2, race=False)},
    ],
    ids=str,
)
def test_without_a_stable_choice_all_settings_are_trained(options):
    fitted = CostSearch(LinearSVC(), cv=2, n_trials=2, **options).fit(X[:400], Y[:400])
    assert len({trial.setting for trial in fitted.trials_}) == len(MULTIPLES)
    assert not fitted.cv_results_["dropped"].any()
