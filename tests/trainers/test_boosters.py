"""Settings that differ in their rounds are read off one training, and say what trainings of their own would."""

import pickle
from functools import wraps

import numpy as np
import pytest
from builders import paper_search
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.data.costs import cost_channel
from csf.data.folds import Task, make_folds
from csf.search.loop import decode, encode
from csf.testing import check_trainer
from csf.trainers import Prepared, make_trainers
from csf.trainers.boosters import RoundsTrainer, rounds_of

X, Y = make_classification(120, 5, weights=[0.7], flip_y=0.1, random_state=0)
SPLITS = list(StratifiedKFold(2).split(X, Y))
COSTS = ((1.0, 1.0), (1.7, 0.3))
ROUNDS = (3, 8, 5)


def lightgbm(**params):
    module = pytest.importorskip("lightgbm")
    return module.LGBMClassifier(**{"n_jobs": 1, "verbose": -1, "subsample": 0.8, "subsample_freq": 1} | params)


def xgboost(**params):
    return pytest.importorskip("xgboost").XGBClassifier(**{"n_jobs": 1, "subsample": 0.8} | params)


def trees(**params):
    return GradientBoostingClassifier(**{"random_state": 0, "subsample": 0.8, "max_depth": 2} | params)


def histograms(**params):
    return HistGradientBoostingClassifier(**{"random_state": 0, "max_features": 0.7} | params)


MADE = [lightgbm, xgboost, trees, histograms]


def of_rounds(make, number):
    base = make()
    return base.set_params(**{rounds_of(base).name: number})


def families(make, *, engine="auto", wrap=lambda base: base, y=Y):
    """Trainers of all settings, by setting and fold."""
    folds, prepared = make_folds(Task(X, y), SPLITS), Prepared()
    bases = [wrap(of_rounds(make, number)) for number in ROUNDS]
    return [make_trainers(base, folds, cost_channel(base), "mean", prepared, engine=engine) for base in bases]


def counted(trainers):
    """Numbers of rounds that these train from here on."""
    seen = []

    def counting(trainer):
        def fit(costs, fit=trainer.fit):
            seen.append(rounds_of(trainer.base).number)
            return fit(costs)

        return fit

    for trainer in (trainer.inner for row in trainers for trainer in row):
        trainer.fit = counting(trainer)
    return seen


@pytest.mark.parametrize("make", MADE)
def test_what_is_read_is_what_trainings_of_their_own_say(make):
    fast, slow = families(make), families(make, engine="generic")
    seen = counted(fast)
    for fold in range(len(SPLITS)):
        states = []
        for costs in COSTS:
            for one, other in zip(fast, slow):
                training = one[fold].fit(costs, states[::-1])
                if training.state is not None:
                    states.append(decode(encode(training.state)))
                mine = one[fold].predict(training, "test", tune=True)
                theirs = other[fold].predict(other[fold].fit(costs), "test", tune=True)
                np.testing.assert_array_equal(mine.score, theirs.score)
                np.testing.assert_array_equal(mine.decided, theirs.decided)
                assert one[fold].predict(training, "test", tune=False).score is None
        assert len(states) == len(COSTS)
    assert seen == [max(ROUNDS)] * (len(SPLITS) * len(COSTS))


@pytest.mark.parametrize("make", [trees, lightgbm])
def test_what_was_not_read_is_trained_when_it_is_asked_for(make):
    (short, *_), (alone, *_) = families(make)[0], families(make, engine="generic")[0]
    read, own = short.fit((1.0, 1.0)), alone.fit((1.0, 1.0))
    np.testing.assert_array_equal(
        short.predict(read, "train", tune=True).score, alone.predict(own, "train", tune=True).score
    )
    model = short.estimator(read)
    assert type(model) is type(short.base)
    np.testing.assert_array_equal(model.predict_proba(X), alone.estimator(own).predict_proba(X))


@pytest.mark.parametrize("make", MADE)
def test_a_worker_is_sent_all_that_it_needs(make):
    (trainer, *_) = families(make)[0]
    sent = pickle.loads(pickle.dumps(trainer))
    mine, theirs = (each.predict(each.fit((1.2, 0.8)), "test", tune=True) for each in (trainer, sent))
    np.testing.assert_array_equal(mine.score, theirs.score)


def test_one_setting_alone_is_trained_as_ever():
    (trainer, *_) = make_trainers(trees(), make_folds(Task(X, Y), SPLITS), cost_channel(trees()), "mean", Prepared())
    assert isinstance(trainer, RoundsTrainer)
    assert trainer.family is None
    assert trainer.fit((1.0, 1.0)).state is None
    assert check_trainer(make_trainers, trees(n_estimators=3)) is None


def test_other_parameters_other_labels_and_other_samples_are_other_families():
    folds, prepared, base = make_folds(Task(X, Y), SPLITS), Prepared(), trees(n_estimators=3)
    other_folds = make_folds(Task(X, 1 - Y), SPLITS)
    made = [
        make_trainers(each, given, cost_channel(base), "mean", prepared)[0]
        for each, given in ((base, folds), (trees(n_estimators=4, max_depth=1), folds), (base, other_folds))
    ]
    assert [trainer.family for trainer in made] == [None] * 3


@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(),
        LogisticRegression(),
        trees(n_iter_no_change=3),
        trees(warm_start=True),
        histograms(early_stopping=True),
        histograms(warm_start=True),
        histograms(max_iter=0),
        type("Mine", (GradientBoostingClassifier,), {})(),
    ],
    ids=str,
)
def test_other_bases_have_no_rounds_to_read(base):
    assert rounds_of(base) is None


@pytest.mark.parametrize(
    "params",
    [{"boosting_type": "dart"}, {"boosting_type": "rf"}, {"boosting": "dart"}, {"early_stopping_round": 3}],
    ids=str,
)
def test_nor_has_lightgbm_that_stops_early_or_changes_its_trees(params):
    assert rounds_of(lightgbm(**params)) is None
    assert rounds_of(lightgbm()).number == 100


@pytest.mark.parametrize(
    "params",
    [{"booster": "dart"}, {"early_stopping_rounds": 3}, {"callbacks": []}, {"process_type": "update"}],
    ids=str,
)
def test_nor_has_xgboost_that_does(params):
    assert rounds_of(xgboost(**params)) is None
    assert rounds_of(xgboost()).number == 100


def test_scikit_learn_stops_early_where_there_are_many_samples():
    assert rounds_of(histograms(), 10_000).number == 100
    assert rounds_of(histograms(), 10_001) is None
    assert rounds_of(histograms(early_stopping=False), 10_001) is not None


@pytest.mark.parametrize("wrap", [lambda base: base, lambda base: make_pipeline(StandardScaler(), base)])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_searches_find_the_same(wrap, n_jobs):
    """In threads, which start at once; that trainers travel to processes is tested above."""
    base = wrap(trees())
    name = next(name for name in base.get_params() if name.endswith("n_estimators"))
    options = {"param_grid": {name: list(ROUNDS)}, "n_trials": 2, "cv": 2, "random_state": 0}
    with parallel_config("threading"):
        fast = paper_search(base, n_jobs=n_jobs, **options).fit(X, Y)
    slow = paper_search(base, engine="generic", **options).fit(X, Y)
    assert [trial.score for trial in fast.trials_] == [trial.score for trial in slow.trials_]
    assert fast.best_params_ == slow.best_params_
    np.testing.assert_array_equal(fast.decision_function(X), slow.decision_function(X))


@pytest.mark.parametrize("bound_on", ["validation", "train"])
def test_a_search_that_goes_on_finds_the_same(bound_on, tmp_path):
    options = {"param_grid": {"n_estimators": list(ROUNDS)}, "cv": 2, "random_state": 0, "bound_on": bound_on}
    whole = CostSearch(trees(), **options).fit(X, Y)
    seen = []

    def stop(study, trial):
        seen.append(trial)
        return len(seen) == 2

    path = tmp_path / "c.json"
    CostSearch(trees(), checkpoint=path, callbacks=[stop], **options).fit(X, Y)
    resumed = CostSearch(trees(), checkpoint=path, **options).fit(X, Y)
    assert resumed.trials_ == whole.trials_
    assert resumed.best_threshold_ == whole.best_threshold_


def test_labels_share_trainings_too(monkeypatch):
    labels = np.column_stack([Y, X[:, 0] > 0.3]).astype(int)
    options = {"metric": "f1_micro", "param_grid": {"n_estimators": list(ROUNDS)}, "cv": 2, "n_trials": 1}
    slow = CostSearch(trees(), engine="generic", **options).fit(X, labels)
    fitted, fit = [], GradientBoostingClassifier.fit

    @wraps(fit)
    def counting(self, *args, **more):
        fitted.append(self.n_estimators)
        return fit(self, *args, **more)

    monkeypatch.setattr(GradientBoostingClassifier, "fit", counting)
    fast = CostSearch(trees(), **options).fit(X, labels)
    assert [trial.score for trial in fast.trials_] == [trial.score for trial in slow.trials_]
    own = [fast.best_params_["n_estimators"]] * 2
    assert fitted == [max(ROUNDS)] * 4 + own
