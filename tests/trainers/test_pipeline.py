"""Pipelines: the steps before the last one are fitted once for each fold, and change no result."""

import numpy as np
import pandas
import pytest
from builders import paper_search
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler, TargetEncoder
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.data.costs import CostChannel
from csf.data.folds import Task, make_folds
from csf.trainers import GenericTrainer, make_trainers
from csf.trainers.linear import LinearSVCTrainer
from csf.trainers.registry import PipelineTrainer

X, Y = make_classification(240, 7, n_informative=4, weights=[0.75], flip_y=0.1, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, 240)
SPLITS = list(StratifiedKFold(3).split(X, Y))
PLAIN_STEPS = StandardScaler(), LogisticRegression()
TIGHT = LinearSVC(tol=1e-8, max_iter=100_000)


def trainers_of(base, data=X, *, weight=None, shared=None, engine="auto", folds=None):
    name = "sample_weight"
    last = base
    while isinstance(last, Pipeline):
        name, last = f"{last.steps[-1][0]}__{name}", last.steps[-1][1]
    prefix, _, argument = name.rpartition("__")
    channel = CostChannel("sample_weight", "__".join([*reversed(prefix.split("__")), argument]))
    folds = make_folds(Task(data, Y, weight), SPLITS) if folds is None else folds
    return make_trainers(base, folds, channel, shared=shared, engine=engine)


def scores(model, data):
    return model.decision_function(data) if hasattr(model, "decision_function") else model.predict_proba(data)[:, 1]


# ---------------------------------------------------------------- the same models

ENCODER = make_column_transformer((TargetEncoder(random_state=0), [0]), remainder="passthrough")
PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), TIGHT),
    "selected": make_pipeline(StandardScaler(), SelectKBest(k=3), TIGHT),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
    "nested first": make_pipeline(make_pipeline(StandardScaler(), MaxAbsScaler()), TIGHT),
    "nested last": Pipeline([("scale", StandardScaler()), ("rest", make_pipeline(MaxAbsScaler(), TIGHT))]),
    "passed through": Pipeline([("scale", StandardScaler()), ("none", "passthrough"), ("svm", TIGHT)]),
    "codes of the target": make_pipeline(ENCODER, TIGHT),
    "sparse": make_pipeline(MaxAbsScaler(), TIGHT),
    "frames": make_pipeline(StandardScaler().set_output(transform="pandas"), TIGHT),
    "frames of polars": make_pipeline(StandardScaler().set_output(transform="polars"), TIGHT),
    "frames with prefixes": make_pipeline(
        make_column_transformer(
            (StandardScaler(), [0, 1]), remainder="passthrough", verbose_feature_names_out=True
        ).set_output(transform="pandas"),
        TIGHT,
    ),
    "frames for a tree": make_pipeline(
        StandardScaler().set_output(transform="pandas"), DecisionTreeClassifier(max_depth=3, random_state=0)
    ),
}


@pytest.mark.filterwarnings("ignore:.TargetEncoder:FutureWarning")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("base", PIPELINES)
def test_models_are_those_of_the_generic_trainer(base, weight):
    data = sparse.csr_array(np.where(X > 0, X, 0.0)) if base == "sparse" else np.round(X)
    base = PIPELINES[base]
    fast = trainers_of(base, data, weight=weight)
    generic = trainers_of(base, data, weight=weight, engine="generic")
    for one, other, (train, test) in zip(fast, generic, SPLITS, strict=True):
        assert isinstance(one, PipelineTrainer)
        trained, expected = one.fit((1.7, 0.3)), other.fit((1.7, 0.3))
        ours, theirs = one.estimator(trained), other.estimator(expected)
        assert type(ours) is Pipeline
        assert [name for name, _ in ours.steps] == [name for name, _ in theirs.steps]
        assert (ours.n_features_in_, list(ours.classes_)) == (7, [0, 1])
        np.testing.assert_allclose(scores(ours, data[test]), scores(theirs, data[test]), atol=1e-3)
        answer, wanted = one.predict(trained, "test", tune=True), other.predict(expected, "test", tune=True)
        np.testing.assert_allclose(answer.score, wanted.score, atol=1e-3)
        assert one.predict(trained, "train", tune=True).score.shape == train.shape


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_between_steps_cost_no_more_and_change_nothing(package, log):
    """All trainings share the steps of a fold; a plain search of frames is the one of arrays."""
    pytest.importorskip(package)
    framed = make_pipeline(Counter(log), StandardScaler().set_output(transform=package), LogisticRegression())
    search, plain = (CostSearch(base, cv=3).fit(X, Y) for base in (framed, make_pipeline(*PLAIN_STEPS)))
    assert sum(what == "fit" for what, _ in LOGS[log]) == 4
    assert [trial.score for trial in search.trials_] == [trial.score for trial in plain.trials_]
    assert search.best_threshold_ == plain.best_threshold_
    np.testing.assert_array_equal(search.predict(X), plain.predict(X))
    names = search.best_estimator_[1].get_feature_names_out()
    np.testing.assert_array_equal(search.best_estimator_[-1].feature_names_in_, names)


class Categories(TransformerMixin, BaseEstimator):
    """Frames whose categories are those of the part at hand."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return pandas.DataFrame({"a": X[:, 0], "b": pandas.Categorical([f"{len(X)}"] * len(X))})


def test_frames_whose_parts_differ_in_kind_are_fitted_whole():
    base = make_pipeline(Categories(), DecisionTreeClassifier())
    assert all(type(trainer) is GenericTrainer for trainer in trainers_of(base))


def test_texts_become_scores():
    words = np.array(["cat", "dog", "owl", "fox", "elk"])
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(words, 5), *(["owl"] * y)]) for y in Y]
    base = make_pipeline(TfidfVectorizer(), LinearSVC())
    options = {"n_trials": 3, "cv": 3}
    fast, generic = (paper_search(base, engine=engine, **options).fit(texts, Y) for engine in ("auto", "generic"))
    np.testing.assert_allclose([t.score for t in fast.trials_], [t.score for t in generic.trials_], atol=1e-9)
    np.testing.assert_array_equal(fast.predict(texts), generic.predict(texts))
    assert max(t.duality_gap for t in fast.trials_) <= 1e-6


# ---------------------------------------------------------------- fitted once

LOGS = {}


class Counter(TransformerMixin, BaseEstimator):
    """Notes on how many samples it is fitted and what it transforms."""

    def __init__(self, log, shift=0.0):
        self.log, self.shift = log, shift

    def fit(self, X, y=None):
        LOGS[self.log].append(("fit", len(X)))
        return self

    def transform(self, X):
        LOGS[self.log].append(("transform", len(X)))
        return X + self.shift

    def __sklearn_is_fitted__(self):
        return True


@pytest.fixture
def log(request):
    LOGS[request.node.name] = []
    yield request.node.name
    del LOGS[request.node.name]


def test_steps_are_fitted_once_for_each_fold_and_for_the_last_training(log):
    base = make_pipeline(Counter(log), LinearSVC())
    search = paper_search(base, n_trials=6, cv=3).fit(X, Y)
    assert search.n_trials_ == 6
    fits = [number for what, number in LOGS[log] if what == "fit"]
    assert fits == [160, 160, 160, 240]


def test_settings_of_the_last_step_share_the_others(log):
    base = make_pipeline(Counter(log), LinearSVC())
    paper_search(base, n_trials=2, cv=3, param_grid={"linearsvc__C": [0.1, 1.0, 10.0]}, refit=False).fit(X, Y)
    assert sum(what == "fit" for what, _ in LOGS[log]) == 3


def test_settings_of_the_other_steps_do_not_share(log):
    base = make_pipeline(Counter(log), LinearSVC())
    grid = {"counter__shift": [0.0, 5.0], "linearsvc__C": [0.1, 1.0]}
    search = paper_search(base, n_trials=2, cv=3, param_grid=grid, refit=False).fit(X, Y)
    assert sum(what == "fit" for what, _ in LOGS[log]) == 6
    generic = paper_search(base, n_trials=2, cv=3, param_grid=grid, refit=False, engine="generic").fit(X, Y)
    np.testing.assert_allclose([t.score for t in search.trials_], [t.score for t in generic.trials_], atol=1e-9)


def test_only_settings_on_the_same_data_start_from_each_other():
    shared, folds = {}, make_folds(Task(X, Y), SPLITS)
    first = make_pipeline(MaxAbsScaler(), LinearSVC())
    others = [
        make_pipeline(MaxAbsScaler(), LinearSVC(C=9.0)),
        make_pipeline(StandardScaler(), LinearSVC()),
        make_pipeline(FunctionTransformer(lambda X: X + 1), LinearSVC()),
        make_pipeline(FunctionTransformer(lambda X: X + 1), LinearSVC()),
    ]
    families = [trainers_of(base, shared=shared, folds=folds)[0].family for base in [first, *others]]
    assert families[0] == families[1]
    assert len(set(families)) == 4  # functions without a name are never the same
    assert trainers_of(make_pipeline(MaxAbsScaler(), DecisionTreeClassifier()))[0].family is None


def test_steps_left_to_chance_are_drawn_once():
    """Wide enough for solvers that start from scores: those of another projection would be wrong ones."""
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(240, 700))])
    base = make_pipeline(GaussianRandomProjection(600), LinearSVC(C=0.001, tol=1e-8))
    search = paper_search(base, n_trials=3, cv=3, param_grid={"linearsvc__C": [1e-3, 1e-2]}).fit(wide, Y)
    assert max(t.duality_gap for t in search.trials_) <= 1e-6
    assert search.trials_[3].score == pytest.approx(search.trials_[0].score, abs=0.1)


def test_the_given_steps_stay_unfitted():
    base = make_pipeline(StandardScaler(), LinearSVC())
    search = paper_search(base, n_trials=2, cv=3).fit(X, Y)
    assert not hasattr(base[0], "mean_")
    assert not hasattr(search.base[-1], "coef_")
    np.testing.assert_allclose(search.best_estimator_[0].mean_, X.mean(axis=0))


# ---------------------------------------------------------------- what is not served


@pytest.mark.parametrize(
    "base",
    [
        make_pipeline(LinearSVC()),
        make_pipeline(FunctionTransformer(np.ndarray.tolist), LinearSVC()),
        make_pipeline(SelectKBest(k=99), StandardScaler(), FunctionTransformer(lambda X: 1 / 0), LinearSVC()),
    ],
    ids=["one step", "lists", "failing"],
)
@pytest.mark.filterwarnings("ignore:k=99:UserWarning")
def test_other_pipelines_are_fitted_whole(base):
    assert all(type(trainer) is GenericTrainer for trainer in trainers_of(base))


def test_weights_for_another_step_are_left_to_the_pipeline():
    base = make_pipeline(StandardScaler(), LinearSVC())
    folds = make_folds(Task(X, Y), SPLITS)
    channel = CostChannel("sample_weight", "standardscaler__sample_weight")
    assert type(make_trainers(base, folds, channel)[0]) is GenericTrainer
    folds = make_folds(Task(X, Y, None, {"linearsvc__mark": 3}), SPLITS)
    channel = CostChannel("sample_weight", "linearsvc__sample_weight")
    assert type(make_trainers(base, folds, channel)[0]) is GenericTrainer


def test_a_last_step_that_is_not_fast_still_saves_the_others():
    (trainer, *_) = trainers_of(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    assert type(trainer.last) is GenericTrainer
    assert not trainer.releases_gil
    (trainer, *_) = trainers_of(make_pipeline(StandardScaler(), LinearSVC()))
    assert type(trainer.last) is LinearSVCTrainer
    assert trainer.releases_gil


def test_errors_of_steps_are_recorded_with_each_trial():
    def refuse(X):
        raise ArithmeticError("no such column")

    base = make_pipeline(FunctionTransformer(refuse), LogisticRegression())
    search = paper_search(base, n_trials=2, cv=3)
    with (
        pytest.warns(FitFailedWarning, match="no such column"),
        pytest.raises(ValueError, match=r"all 2 trials failed(.|\n)*no such column"),
    ):
        search.fit(X, Y)
