"""CostSearch that keeps equal costs unless others gain more than luck would."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from csf import Study
from csf.evaluate import ScoreStore
from csf.search.checkpoint import Memory
from csf.search.loop import SearchLoop
from csf.search.selection import GainRule
from csf.strategies import EqualCostsFirst, Grid, get_strategy
from csf.testing import check_strategy
from csf.trainers.base import WarmStarts


def problem(seed, weights=0.9, n=400):
    X, y = make_classification(n, 6, n_informative=3, weights=[weights], class_sep=0.7, flip_y=0.05, random_state=seed)
    return X, y


def searched(data, base=None, **options):
    base = LinearSVC() if base is None else base
    return paper_search(base, **({"n_trials": 5, "cv": 3, "min_gain": 0.5} | options)).fit(*data)


def held_out_scores(base, data, splits, costs, weight):
    X, y = data
    weight = np.where(y == 1, *costs) * weight
    fitted = (
        base.fit(X[train], y[train], sample_weight=weight[train]).decision_function(X[test]) for train, test in splits
    )
    return np.concatenate(list(fitted))


@pytest.mark.parametrize("min_gain", [0.0, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("threshold", ["tune", None])
def test_the_winner_is_that_of_the_rule_on_all_held_out_decisions(min_gain, threshold):
    data = problem(1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, data[1].size)
    options = {"param_grid": {"C": [0.01, 1.0]}, "threshold": threshold, "engine": "generic"}
    search = paper_search(LinearSVC(), n_trials=4, cv=3, min_gain=min_gain, **options).fit(*data, weight)
    splits = list(StratifiedKFold(3).split(*data))
    order = np.concatenate([test for _, test in splits])
    store = ScoreStore(data[1][order] == 1, weight[order], samples=order)
    for at, trial in enumerate(search.trials_):
        base = LinearSVC(C=search.cv_results_["param_C"][at])
        score = held_out_scores(base, data, splits, trial.costs, weight)
        own = {"score": score, "threshold": trial.threshold} if threshold else {"decided": score > 0}
        store.add((trial.setting, trial.number), value=trial.score, equal_costs=trial.c_fn == trial.c_fp, **own)
    choice = GainRule(min_gain).choose(store, "f1")
    chosen = search.trials_[search.best_index_]
    assert (chosen.setting, chosen.number) == choice.key
    told = search.gain_, search.gain_by_luck_, search.gain_error_
    assert told == pytest.approx((choice.gain, choice.luck, choice.error), nan_ok=True)
    winner = search.trials_[search.best_index_]
    assert (search.best_score_, search.best_cost_weights_) == (winner.score, winner.costs)
    if min_gain == 100.0:
        assert search.best_cost_weights_ == (1.0, 1.0)


def test_equal_costs_come_first_for_each_setting_and_count_as_a_trial():
    search = searched(problem(2), param_grid={"C": [0.1, 1.0]}, n_trials=4)
    assert search.n_trials_ == 8
    for study in search.studies_:
        assert study.trials[0].costs == (1.0, 1.0)
        assert study.trials[0].t is None
        assert study.trials[1].t == 0.5
        assert len({trial.costs for trial in study.trials}) == 4
    assert searched(problem(2), n_trials=1).best_cost_weights_ == (1.0, 1.0)


def test_large_gains_are_taken_and_small_ones_are_not():
    """Costs help where no threshold is tuned and positives are few, and hardly where classes are even."""
    rare = searched(problem(3, 0.95, 1500), threshold=None, strategy="grid")
    assert rare.gain_ > 0.5 * rare.gain_error_
    assert rare.best_cost_weights_ != (1.0, 1.0)
    even = searched(problem(4, 0.5), min_gain=2.0)
    assert 0.0 < even.gain_ <= 2.0 * even.gain_error_
    assert even.best_cost_weights_ == (1.0, 1.0)
    assert even.best_score_ <= max(trial.score for trial in even.trials_)


def test_several_classes():
    X, y = make_classification(
        400, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, weights=[0.8, 0.1], random_state=1
    )
    search = searched((X, y), LogisticRegression(), null_class=0, min_gain=50.0)
    assert search.best_cost_weights_ == (1.0, 1.0)
    assert np.isfinite(search.gain_error_)


def test_a_resumed_search_knows_what_the_finished_trials_decided(tmp_path):
    data, path = problem(1), tmp_path / "search.json"
    whole = searched(data, n_trials=6)

    def stop(study, trial):
        return trial.number == 2

    searched(data, n_trials=6, checkpoint=path, callbacks=[stop])
    resumed = searched(data, n_trials=6, checkpoint=path)
    assert [t.costs for t in resumed.trials_] == [t.costs for t in whole.trials_]
    assert resumed.best_index_ == whole.best_index_
    assert resumed.gain_ == pytest.approx(whole.gain_, abs=1e-9)
    again = searched(data, n_trials=6, checkpoint=path)  # nothing is left to train
    assert (again.best_index_, again.gain_) == (resumed.best_index_, pytest.approx(resumed.gain_))
    with pytest.raises(ValueError, match="belongs to another search"):
        searched(data, n_trials=6, checkpoint=path, min_gain=None)


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
    return search.trials_, search.best_index_, search.gain_, search.gain_error_


# Each is called for the third trial in that call; states are kept for three folds.
TOLD = [(Study, "record", 3), (SearchLoop, "_record", 3), (ScoreStore, "put", 3), (Memory, "add", 3)]


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
@pytest.mark.parametrize(("owner", "name"), [(Memory, "restore"), (SearchLoop, "_next_batch")])
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


def test_nothing_is_left_of_an_earlier_fit():
    data = problem(1)
    search = searched(data)
    assert hasattr(search, "gain_")
    assert not hasattr(search.set_params(min_gain=None).fit(*data), "gain_")


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan, "half"])
def test_bad_gains(value):
    with pytest.raises(ValueError, match="min_gain must be a number of standard errors >= 0, or None, got"):
        searched(problem(1), min_gain=value)


@pytest.mark.parametrize("inner", ["cone", "grid", "support"])
def test_the_strategy_keeps_the_contract(inner):
    check_strategy(EqualCostsFirst(get_strategy(inner)))
    assert EqualCostsFirst(get_strategy(inner)).name == inner
    assert EqualCostsFirst(get_strategy(inner)).batch_size == get_strategy(inner).batch_size
    assert EqualCostsFirst(Grid()).with_budget(1) == EqualCostsFirst(Grid(1))


def test_the_strategy_refuses_what_the_inner_one_does():
    with pytest.raises(TypeError, match="needs a linear-fractional metric"):
        searched(problem(1), strategy="bisection", metric="gmean")
