"""The laws of every registered metric, strategy and trainer, and of those with other parameters."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.metrics import (
    METRICS,
    Constrained,
    CustomMetric,
    FBeta,
    GowerLegendre,
    LinearFractional,
    Tversky,
    WeightedAccuracy,
    get_constraint,
    get_metric,
)
from csf.strategies import STRATEGIES, Bisection, Cone, Dinkelbach, FunctionStrategy, Grid, get_strategy
from csf.testing import check_metric, check_strategy, check_trainer
from csf.trainers import GenericTrainer, make_trainers, registry

NEED_LEVELS = ("bisection", "dinkelbach")
ONE_CLASS = ("recall", "specificity")


@pytest.mark.parametrize("name", METRICS)
def test_registered_metrics(name):
    for seed in range(3):
        check_metric(get_metric(name), random_state=seed)


@pytest.mark.parametrize(
    "metric",
    [
        FBeta(1e-3),
        FBeta(1e3),
        Tversky(0.0, 5.0),
        Tversky(5.0, 0.0),
        GowerLegendre(0.01),
        WeightedAccuracy(100.0, 0.01),
        CustomMetric(lambda pos: (1.0, -2.0, -1.0, 1.0, 1.0, 0.0), levels=(-2.0, 1.0)),
        Constrained(get_metric("recall"), get_constraint("precision >= 0.8")),
    ],
    ids=lambda metric: metric.name,
)
def test_other_metrics(metric):
    check_metric(metric)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard", "gmean", "min_rate", "accuracy", "precision"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_registered_strategies(name, metric):
    if name in NEED_LEVELS and not isinstance(get_metric(metric), LinearFractional):
        with pytest.raises(TypeError, match=f"strategy '{name}' needs a linear-fractional metric"):
            get_strategy(name).check_metric(get_metric(metric))
        return
    check_strategy(get_strategy(name), metric=metric, n_trials=12)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["precision >= 0.8", "fpr <= 0.05", "predicted_positive_rate <= 0.1"])
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in NEED_LEVELS])
def test_strategies_under_a_constraint(name, constraint):
    metric = Constrained(get_metric("recall"), get_constraint(constraint))
    check_strategy(get_strategy(name), metric=metric, n_trials=10)


def two_levels(trials, *, metric, pos):
    return (0.3, 0.6)[len(trials)] if len(trials) < 2 else None


@pytest.mark.parametrize(
    "strategy",
    [
        Cone(depth=3),
        Cone(eps="evidence"),
        Cone(eps=0.01),
        Cone(batch_size=4),
        Grid(7),
        Bisection(0.1),
        Dinkelbach(0.01),
        pytest.param(FunctionStrategy(two_levels), id="two_levels"),
    ],
    ids=repr,
)
def test_other_strategies(strategy):
    check_strategy(strategy, n_trials=16)


# Bases of every registered type, each with the numbers of classes that its trainer serves.
FAST = [
    (LinearSVC(), 2),
    (LinearSVC(C=30.0, class_weight={1: 2.0}), 2),
    (LinearSVC(), 3),
    (LinearSVC(loss="hinge"), 2),
    (LogisticRegression(), 2),
    (LogisticRegression(solver="liblinear", C=10.0), 2),
    (OneVsRestClassifier(LinearSVC()), 2),
    (OneVsRestClassifier(LogisticRegression()), 3),
    (make_pipeline(StandardScaler(), LinearSVC()), 2),
    (make_pipeline(StandardScaler(), LinearSVC(loss="hinge")), 3),
    (make_pipeline(StandardScaler(), LogisticRegression()), 2),
]
GENERIC = [
    LinearSVC(),
    GaussianNB(),
    RidgeClassifier(),
    SGDClassifier(),
    SVC(),
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(5),
    HistGradientBoostingClassifier(max_iter=5),
    make_pipeline(StandardScaler(), GaussianNB()),
]


def generic(base, folds, channel, normalize, shared):
    return [GenericTrainer(base, fold, channel, normalize) for fold in folds]


def test_every_registered_base_is_checked():
    assert {type(base) for base, _ in FAST} == set(registry._MAKERS)


@pytest.mark.slow
@pytest.mark.parametrize(("base", "n_classes"), FAST, ids=repr)
def test_registered_trainers(base, n_classes):
    check_trainer(make_trainers, base, n_classes=n_classes)


@pytest.mark.slow
@pytest.mark.parametrize("base", GENERIC, ids=repr)
def test_the_trainer_of_all_others(base):
    check_trainer(generic, base)
