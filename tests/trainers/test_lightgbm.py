"""The trainer of LightGBM gives what its fit gives, to the last bit."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from csf.data.costs import cost_channel
from csf.data.folds import Task, make_folds
from csf.testing import check_trainer
from csf.trainers import GenericTrainer, Prepared, make_trainers
from csf.trainers.boosters import LightGBMTrainer

lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")

X, Y = make_classification(200, 6, weights=[0.8], flip_y=0.1, random_state=0)
SPLITS = list(StratifiedKFold(2).split(X, Y))
# Equal costs after others: the weights of the training before have to go.
COSTS = ((1.7, 0.3), (1.0, 1.0), (0.2, 1.0))
PARAMS = {"n_estimators": 5, "n_jobs": 1, "verbose": -1}


def base(**params):
    return lightgbm.LGBMClassifier(**PARAMS | params)


def with_categories(X):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["kind"] = pd.Categorical(np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-1.0, 1.0])])
    frame.loc[::7, "x1"] = np.nan
    return frame


CONTAINERS = {
    "dense": lambda X: X,
    "float32, by columns": lambda X: np.asfortranarray(X, dtype=np.float32),
    "whole numbers": lambda X: np.round(4 * X).astype(np.int64),
    "csr": lambda X: sparse.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0)),
    "categories": with_categories,
}
USERS_WEIGHTS = {"none": None, "some": np.linspace(0.0, 3.0, Y.size), "ones": np.ones(Y.size)}


def trainers(base, X=X, *, y=Y, weight=None, engine="auto", normalize="none", prepared=None, **fit_params):
    folds = make_folds(Task(X, y, weight, fit_params), SPLITS)
    return inner(make_trainers(base, folds, cost_channel(base), normalize, prepared, engine=engine))


def inner(made):
    """What trains, without what reads fewer rounds off it."""
    return [getattr(trainer, "inner", trainer) for trainer in made]


def answers(trainer, costs=COSTS):
    """Everything that a search asks for, for all costs."""
    found = []
    for each in costs:
        training = trainer.fit(each)
        found += [trainer.predict(training, part, tune=tune) for part in ("train", "test") for tune in (True, False)]
    return [array for response in found for array in (response.decided, response.score) if array is not None]


def assert_same(fast, slow, costs=COSTS):
    assert [type(trainer) for trainer in fast] == [LightGBMTrainer] * len(SPLITS)
    for one, other in zip(fast, slow):
        for mine, theirs in zip(answers(one, costs), answers(other, costs), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("container", CONTAINERS)
def test_answers_are_those_of_fit(container):
    options = {"X": CONTAINERS[container](X), "weight": USERS_WEIGHTS["some"]}
    assert_same(trainers(base(), **options), trainers(base(), engine="generic", **options))


@pytest.mark.parametrize("normalize", ["none", "mean"])
@pytest.mark.parametrize("weight", USERS_WEIGHTS)
def test_so_it_is_for_all_weights(weight, normalize):
    options = {"weight": USERS_WEIGHTS[weight], "normalize": normalize}
    assert_same(trainers(base(), **options), trainers(base(), engine="generic", **options))


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.6, "random_state": 3},
        {"boosting_type": "dart"},
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        {"data_sample_strategy": "goss"},
        {"is_unbalance": True},
        {"max_bin": 15, "extra_trees": True, "monotone_constraints": [1, 0, 0, 0, 0, -1]},
        {"linear_tree": True},
        {"random_state": np.random.RandomState(0), "subsample": 0.7, "subsample_freq": 1},
    ],
    ids="-".join,
)
def test_so_it_is_for_other_parameters(params):
    assert_same(trainers(base(**params)), trainers(base(**params), engine="generic"))


def test_versions_without_decisions_are_asked_for_probabilities(monkeypatch):
    monkeypatch.delattr(lightgbm.LGBMClassifier, "decision_function", raising=False)
    assert_same(trainers(base()), trainers(base(), engine="generic"))
    assert 0.0 < min(answers(trainers(base())[0])[1]) < 1.0


def test_settings_share_a_dataset_where_they_can():
    folds, prepared = make_folds(Task(X, Y), SPLITS), Prepared()
    grid = list(ParameterGrid({"num_leaves": [4, 15], "reg_lambda": [0.0, 5.0], "min_child_samples": [5, 20]}))
    for setting in grid:
        each = base(**setting)
        fast = inner(make_trainers(each, folds, cost_channel(each), "none", prepared))
        assert_same(fast, trainers(each, engine="generic"), COSTS[:2])
    known = prepared["lightgbm"]
    assert [len(known[fold]) for fold in folds] == [2, 2]  # one for each min_child_samples
    del fast, folds
    gc.collect()
    assert len(known) == 0


def test_problems_with_other_labels_on_the_same_samples_do_not():
    prepared, other = Prepared(), (np.roll(Y, 3))
    assert_same(trainers(base(), prepared=prepared), trainers(base(), engine="generic"))
    assert_same(trainers(base(), y=other, prepared=prepared), trainers(base(), y=other, engine="generic"))


def test_threads_take_turns_with_a_dataset():
    fast, slow = trainers(base())[0], trainers(base(), engine="generic")[0]
    many = COSTS * 3
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda costs: answers(fast, [costs]), many))
    for mine, costs in zip(found, many):
        np.testing.assert_array_equal(mine[1], answers(slow, [costs])[1])


def test_a_pickle_leaves_the_dataset_behind():
    trainer = trainers(base())[0]
    before = len(pickle.dumps(trainer))
    wanted = answers(trainer)
    assert len(pickle.dumps(trainer)) == before
    np.testing.assert_array_equal(answers(pickle.loads(pickle.dumps(trainer)))[-1], wanted[-1])


def focal(y_true, raw):
    p = 1.0 / (1.0 + np.exp(-raw))
    return p - y_true, p * (1.0 - p)


class Mine(lightgbm.LGBMClassifier):
    """May learn something else."""


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (lambda: base(class_weight={0: 1.0, 1: 3.0}), {}),
        (lambda: base(objective=focal), {}),
        (lambda: base(objective="cross_entropy"), {}),
        (lambda: base(num_iterations=5), {}),
        (lambda: base(early_stopping_round=3), {}),
        (lambda: Mine(**PARAMS), {}),
        (base, {"feature_name": [f"f{i}" for i in range(6)]}),
        (base, {"eval_set": [(X, Y)]}),
        (base, {"X": X.tolist()}),
        (base, {"y": np.arange(Y.size) % 3}),
    ],
)
def test_all_else_is_fitted_each_time(made, options):
    assert {type(trainer) for trainer in trainers(made(), **options)} == {GenericTrainer}


def test_other_boosting_is_fitted_each_time():
    """Their bins depend on the weights."""
    xgboost = pytest.importorskip("xgboost")
    for other in (HistGradientBoostingClassifier(), xgboost.XGBClassifier()):
        assert {type(trainer) for trainer in trainers(other)} == {GenericTrainer}


def test_it_is_the_last_step_of_pipelines_too():
    made = make_pipeline(MaxAbsScaler(), base())
    fast, slow = trainers(made), trainers(made, engine="generic")
    assert {type(trainer.last.inner) for trainer in fast} == {LightGBMTrainer}
    for one, other in zip(fast, slow):
        np.testing.assert_array_equal(answers(one)[1], answers(other)[1])


@pytest.mark.parametrize("params", [{}, {"colsample_bytree": 0.5}], ids=str)
def test_the_contract_of_trainers_holds(params):
    assert check_trainer(make_trainers, base(min_child_samples=5, **params)) is None


def test_trainings_on_folds_end_without_text_and_the_fitted_base_is_one(monkeypatch):
    written = []
    to_text = lightgbm.Booster.model_to_string
    monkeypatch.setattr(
        lightgbm.Booster, "model_to_string", lambda *args, **more: written.append(1) or to_text(*args, **more)
    )
    trainer = trainers(base())[0]
    assert isinstance(trainer.fit((1.0, 1.0)).model, lightgbm.Booster)
    assert not written
    assert type(trainer.fitted((1.0, 1.0))) is lightgbm.LGBMClassifier
    assert len(written) == 1
