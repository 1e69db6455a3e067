"""Settings drop out where held-out scores leave no doubt that others are better."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from builders import paper_search, told
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch, Study
from csf.data.labels import Labels
from csf.evaluate import Chooser, Resampling, ScoreStore
from csf.metrics import Constrained, FBeta, get_constraint, get_metric
from csf.search.config import BEYOND, MULTIPLES, RaceStep, SearchConfig, settings_of, steps_of
from csf.search.loop import EarlierSolutions, SearchLoop
from csf.search.problems.multiclass import MulticlassProblem
from csf.search.selection import DROPPED, N_DRAWS, EqualWeightsFirst, Race, choose, stable_choice
from csf.strategies import Cone, EqualCostsFirst, Ladder
from csf.trainers.base import WarmStarts

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
        self.race = Race(self.studies, steps or [RaceStep()] * len(noise), self.store, F1)
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
    tried = Tried([3.0, 0.0, 0.1], steps=[RaceStep(), RaceStep(), RaceStep(0, outside=True)]).run()
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
    chain = [RaceStep(), RaceStep(0), RaceStep(1), RaceStep(0), RaceStep(3)]
    # Upwards it gets better and better, downwards it is worse at once: the last one there is never tried.
    tried = Tried([2.0, 1.0, 0.2, 3.0, 3.0], chain).run()
    assert tried.asked[:2] == [[0], [1, 3]]
    assert tried.asked[2] == [2]
    assert not tried.studies[4].trials


@pytest.mark.parametrize(("noise", "reached"), [([1.0, 0.0, 0.0], True), ([0.0, 0.0, 0.0], False)])
def test_beyond_the_grid_only_from_its_best_one(noise, reached):
    tried = Tried(noise, [RaceStep(), RaceStep(0), RaceStep(1, outside=True)])
    assert tried.studies[2].dropped
    tried.run()
    assert bool(tried.studies[2].trials) == reached


def test_a_race_that_knows_nothing_asks_everyone():
    race = Race([Study("f1", Ladder(2), pos=0.2) for _ in range(2)], [RaceStep()] * 2, ScoreStore(IS_POS), F1)
    assert [setting for setting, _ in race.ask()] == [0, 1]


def test_steps_lead_away_from_the_own_setting():
    multiples = [*MULTIPLES, *BEYOND]
    steps = steps_of("auto", settings_of("auto", LinearSVC(), multiples=multiples))
    for multiple, step in zip(multiples, steps):
        if multiple != 1.0:
            assert step.before is not None
            assert abs(np.log(multiples[step.before] / multiple)) == pytest.approx(np.log(4.0))
            assert abs(np.log(multiples[step.before])) < abs(np.log(multiple))
        assert step.outside == (multiple in BEYOND)
    assert steps_of({"C": [1.0, 2.0]}, [{}, {}]) == [RaceStep(), RaceStep()]


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


# ---------------------------------------------------------------- winner and cut by the mean over draws


def best_cut(score, is_pos, weight, metric):
    """Value and cut by trying all of them."""
    best = (-1.0, None)
    levels = np.unique(score)
    for below, cut in pairwise(levels):
        found = score >= cut
        tp, fp, pos = (float(weight @ part) for part in (found & is_pos, found & ~is_pos, is_pos))
        value = 2 * tp / (pos + tp + fp)
        if value > best[0] + 1e-12:
            best = (value, (below + cut) / 2)
    return best


def scores(n=300, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < n // 5
    return is_pos, rng.normal(size=n) + shift * is_pos


def test_the_cut_is_the_mean_of_the_best_cuts_of_draws():
    """Literally, on the same draws: the mean of the log-odds of what they find."""
    is_pos, score = scores()
    score = score.astype(np.float32).astype(float)
    value, cut = best_cut(score, is_pos, np.ones(300), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    thresholds = Resampling(store, FBeta(), n_draws=N_DRAWS).thresholds((0, 0))
    expected = expit(logit([np.mean(score >= threshold) for threshold in thresholds]).mean())
    found = stable_choice(store, FBeta())
    assert np.mean(score >= found.threshold) == pytest.approx(expected, abs=0.51 / 300)
    assert np.quantile(score, 1 - expected) == pytest.approx(found.threshold, abs=0.02)
    assert found.profile.fn == pytest.approx(np.mean(is_pos & (score < found.threshold)))
    assert found.threshold != cut


def test_one_setting_can_be_the_one_that_others_have_to_beat():
    """Equal costs of another setting need the margin too where fewer rounds have to gain over the base's own."""
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    for setting, noise in enumerate((0.0, 0.05)):
        each = score + noise * np.random.default_rng(5).normal(size=300)
        value, cut = best_cut(each, is_pos, np.ones(300), None)
        store.add((setting, 0), score=each, threshold=cut, value=value, equal_costs=True)
    assert [stable_choice(store, FBeta(), chooser=Chooser(1.0, base_setting=setting)).key for setting in (0, 1)] == [
        (0, 0),
        (1, 0),
    ]
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)) == stable_choice(store, FBeta())


def test_the_winner_is_best_on_average_not_once():
    """One lucky cut of a bad score does not win."""
    is_pos, good = scores(shift=1.5)
    _, bad = scores(seed=1, shift=0.6)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=bad, threshold=0.5, value=0.99)
    store.add((0, 1), score=good, threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta()).key == (0, 1)
    assert stable_choice(store, FBeta(), among=(0, 0)).key == (0, 0)


def test_equals_are_decided_for_the_first():
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    for key in ((1, 0), (0, 0), (0, 1)):
        store.add(key, score=score, threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta()).key == (0, 0)


def test_between_two_distant_cuts_the_better_one_is_taken_not_their_mean():
    """Half of the positives is far above all negatives, the other half just above them: both ends are good cuts."""
    rng = np.random.default_rng(0)
    is_pos = np.arange(3000) < 200
    score = np.where(np.arange(3000) < 100, 20.0, rng.normal(size=3000).clip(max=1.9))
    score[100:200] = 2.0
    score[200:400] = np.linspace(3.0, 10.0, 200)  # in between there are negatives alone
    value, cut = best_cut(score, is_pos, np.ones(3000), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    drawn = Resampling(store, FBeta(), n_draws=N_DRAWS).thresholds((0, 0))
    assert min(np.mean(drawn > 11), np.mean(drawn < 3)) > 0.1
    assert stable_choice(store, FBeta()).threshold == cut


@pytest.mark.parametrize("name", ["f2", "gmean", "jaccard", "mcc"])
def test_any_metric_has_one(name):
    is_pos, score = scores()
    metric = get_metric(name)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=0.9, value=0.5)
    found = stable_choice(store, metric)
    assert np.isfinite(found.threshold)
    assert metric.of(found.profile) > 0.3


def test_constraints_and_empty_stores_have_none():
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    assert stable_choice(store, FBeta()) is None
    store.add((0, 0), score=score, threshold=0.9, value=0.6)
    assert stable_choice(store, Constrained(FBeta(), get_constraint("precision >= 0.5"))) is None


def test_a_cut_at_infinity_stays_there():
    is_pos = np.arange(20) < 10
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.zeros(20), threshold=-np.inf, value=2 / 3)
    assert stable_choice(store, FBeta()).threshold == -np.inf
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=np.inf, value=0.0)  # which draws have no say in
    assert stable_choice(store, FBeta()).threshold == np.inf


def test_infinite_scores_have_a_cut_too():
    is_pos, score = scores()
    score[[0, 1, 60]], score[-5:] = np.inf, -np.inf
    value, cut = best_cut(score, is_pos, np.ones(300), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    assert stable_choice(store, FBeta()).threshold == pytest.approx(cut, abs=0.5)


@pytest.mark.parametrize("base", ["scores", "ties"])
def test_one_ranking_finds_the_same_samples_on_any_scale_and_in_any_order(base):
    """As users call it, with a model that is fitted already."""
    rng = np.random.default_rng(1)
    y = (rng.random(600) < 0.15).astype(int)
    score = rng.normal(size=600) + 1.3 * y
    score = score.round(1) if base == "ties" else score
    found = []
    for scale in (np.asarray, lambda s: 3e4 * s - 7e3, lambda s: np.exp(2 * s), lambda s: expit(4 * s)):
        search = CostSearch(Given(scale).fit(), cv="prefit").fit(score[:, None], y)
        found.append(search.predict(score[:, None]))
    order = rng.permutation(600)
    search = CostSearch(Given(np.asarray).fit(), cv="prefit").fit(score[order, None], y[order])
    found.append(search.predict(score[:, None]))
    assert 20 < found[0].sum() < 300
    assert (np.array(found) == found[0]).all()


class Given(ClassifierMixin, BaseEstimator):
    """Scores by the first feature, as they are or on another scale."""

    def __init__(self, scale):
        self.scale = scale

    def fit(self, X=None, y=None):
        self.classes_, self.n_features_in_ = np.array([0, 1]), 1
        return self

    def decision_function(self, X):
        return self.scale(X[:, 0])

    def predict(self, X):
        return (self.decision_function(X) >= 0).astype(int)


def test_where_costs_hardly_change_the_model_they_have_to_gain_more():
    """A gain that some draws have and others do not is none there."""
    is_pos, score = scores(n=1000)
    rng = np.random.default_rng(3)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=0.9, value=0.6, equal_costs=True)
    for number in range(1, 6):
        store.add((0, number), score=score + rng.normal(scale=0.2, size=1000), threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)).key == (0, 0)
    _, better = scores(n=1000, seed=5, shift=3.0)
    store.add((0, 6), score=better, threshold=1.5, value=0.8)
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)).key == (0, 6)


def test_without_held_out_scores_the_best_trial_wins():
    equal, better = told(0, None, 0.3, 0.2, pos=0.2, costs=(1.0, 1.0)), told(1, 0.5, 0.2, 0.2, pos=0.2)
    won = choose([equal, better], get_metric("f1"), chooser=Chooser(1e9))
    assert (won.trial, won.score) == (better, better.score)


# ---------------------------------------------------------------- searches that begin with equal costs


def problem(seed, weights=0.9, n=400):
    X, y = make_classification(n, 6, n_informative=3, weights=[weights], class_sep=0.7, flip_y=0.05, random_state=seed)
    return X, y


def searched(data, base=None, **options):
    base = LinearSVC() if base is None else base
    return paper_search(base, **({"strategy": EqualCostsFirst(Cone()), "n_trials": 5, "cv": 3} | options)).fit(*data)


def test_equal_costs_come_first_for_each_setting_and_count_as_a_trial():
    search = searched(problem(2), param_grid={"C": [0.1, 1.0]}, n_trials=4)
    assert search.n_trials_ == 8
    for study in search.studies_:
        assert study.trials[0].costs == (1.0, 1.0)
        assert study.trials[0].t is None
        assert study.trials[1].t == 0.5
        assert len({trial.costs for trial in study.trials}) == 4
    assert searched(problem(2), n_trials=1).best_cost_weights_ == (1.0, 1.0)


def test_a_resumed_search_knows_what_the_finished_trials_decided(tmp_path):
    data, path = problem(1), tmp_path / "search.json"
    whole = searched(data, n_trials=6)

    def stop(study, trial):
        return trial.number == 2

    searched(data, n_trials=6, checkpoint=path, callbacks=[stop])
    resumed = searched(data, n_trials=6, checkpoint=path)
    assert [t.costs for t in resumed.trials_] == [t.costs for t in whole.trials_]
    assert resumed.best_index_ == whole.best_index_
    assert resumed.best_score_ == pytest.approx(whole.best_score_, abs=1e-9)
    again = searched(data, n_trials=6, checkpoint=path)  # nothing is left to train
    assert (again.best_index_, again.best_score_) == (resumed.best_index_, pytest.approx(resumed.best_score_))
    with pytest.raises(ValueError, match="belongs to another search"):
        searched(data, n_trials=6, checkpoint=path, strategy="cone")


def strike(monkeypatch, owner, name, at, *, after=False):
    """Ctrl-C in the ``at``-th call of a method, once: before its work or after it."""
    work, calls = getattr(owner, name), []

    def struck(self, *args, **kwargs):
        calls.append(None)
        result = work(self, *args, **kwargs) if after or len(calls) != at else None
        if len(calls) == at:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, struck)


def knowledge(search):
    return search.trials_, search.best_index_, search.best_score_


# Each is called for the third trial in that call; states are kept for three folds.
TOLD = [(Study, "record", 3), (SearchLoop, "_record", 3), (ScoreStore, "put", 3), (EarlierSolutions, "add", 3)]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name", "call"), [*TOLD, (WarmStarts, "add", 8)])
def test_ctrl_c_between_a_record_and_its_decisions_loses_neither(tmp_path, monkeypatch, owner, name, call, after):
    """The trial that is being told counts with all that it decides and leaves, in the result and in the file."""
    data, path = problem(1), tmp_path / "search.json"
    whole = searched(data, n_trials=6)
    with monkeypatch.context() as patch:
        strike(patch, owner, name, call, after=after)
        with pytest.warns(UserWarning, match="the search was interrupted"):
            partial = searched(data, n_trials=6, checkpoint=path)
    three = searched(data, n_trials=6, callbacks=[lambda study, trial: trial.number == 2])
    np.testing.assert_equal(knowledge(partial), knowledge(three))

    told = []
    resumed = searched(data, n_trials=6, checkpoint=path, callbacks=[lambda study, trial: told.append(trial.number)])
    np.testing.assert_equal(knowledge(resumed), knowledge(whole))
    assert told == [3, 4, 5]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), [(EarlierSolutions, "restore"), (SearchLoop, "_next_trials")])
def test_ctrl_c_while_a_search_resumes_loses_nothing(tmp_path, monkeypatch, owner, name, after):
    data, path = problem(1), tmp_path / "search.json"
    whole = searched(data, n_trials=6)
    stopped = searched(data, n_trials=6, checkpoint=path, callbacks=[lambda study, trial: trial.number == 2])
    with monkeypatch.context() as patch:
        strike(patch, owner, name, 1, after=after)
        with pytest.warns(UserWarning, match="the search was interrupted"):
            partial = searched(data, n_trials=6, checkpoint=path)
    np.testing.assert_equal(knowledge(partial), knowledge(stopped))
    np.testing.assert_equal(knowledge(searched(data, n_trials=6, checkpoint=path)), knowledge(whole))


def test_the_strategy_refuses_what_the_inner_one_does():
    with pytest.raises(TypeError, match="needs a linear-fractional metric"):
        searched(problem(1), strategy="bisection", metric="gmean")


@pytest.mark.parametrize(("n_rows", "drops"), [(9_999, False), (10_000, True)])
def test_settings_for_several_classes_drop_out_from_ten_thousand_rows_on(n_rows, drops):
    config = SearchConfig.of(CostSearch(LogisticRegression(), "f1_macro"))
    problem = MulticlassProblem.of_labels(config, Labels(np.arange(3), None))
    plan = SimpleNamespace(n_rows=n_rows, models=config.models, studies=[None] * 3)
    assert isinstance(problem.race(config, plan, None), EqualWeightsFirst) == drops
