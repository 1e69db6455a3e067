"""Settings of boosters that are tried besides the base's own."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from csf.trainers.boosters import _SYNONYMS, _UNSAID, _VARIANTS, is_rounds, rounds_of, variants_of

X, Y = make_classification(300, 5, weights=[0.7], flip_y=0.1, random_state=0)


def lightgbm(**params):
    return pytest.importorskip("lightgbm").LGBMClassifier(**{"n_jobs": 1, "verbose": -1} | params)


def xgboost(**params):
    return pytest.importorskip("xgboost").XGBClassifier(**{"n_jobs": 1} | params)


def catboost(**params):
    options = {"thread_count": 1, "verbose": 0, "random_seed": 0, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostClassifier(**options | params)


def histograms(**params):
    return HistGradientBoostingClassifier(**{"random_state": 0} | params)


MADE = {"lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost, "histograms": histograms}


@pytest.mark.parametrize("name", MADE)
def test_three_variants_of_each_library_train_other_models(name):
    variants = variants_of(MADE[name]())
    assert len(variants) == 3
    answers = [MADE[name](**variant).fit(X, Y).predict_proba(X)[:, 1] for variant in [{}, *variants]]
    assert len({answer.round(6).tobytes() for answer in answers}) == 4
    assert all(0.0 < answer.min() < answer.max() < 1.0 for answer in answers)


@pytest.mark.parametrize(
    "base", [GradientBoostingClassifier(), RandomForestClassifier(), LogisticRegression()], ids=str
)
def test_other_bases_have_none(base):
    assert variants_of(base) == []


def test_nor_have_subclasses_and_linear_boosters():
    assert variants_of(type("Mine", (HistGradientBoostingClassifier,), {})()) == []
    assert variants_of(xgboost(booster="gblinear")) == []


@pytest.mark.parametrize(
    ("name", "params", "kept"),
    [
        ("lightgbm", {"num_leaves": 15}, "num_leaves"),
        ("lightgbm", {"min_data_in_leaf": 5}, "min_child_samples"),
        ("lightgbm", {"lambda_l2": 1.0}, "reg_lambda"),
        ("lightgbm", {"eta": 0.3}, "learning_rate"),
        ("lightgbm", {"num_iterations": 30}, "n_estimators"),
        ("lightgbm", {"feature_fraction": 0.9}, "colsample_bytree"),
        ("lightgbm", {"extra_tree": False}, "extra_trees"),
        ("xgboost", {"eta": 0.1}, "learning_rate"),
        ("xgboost", {"max_depth": 4}, "max_depth"),
        ("xgboost", {"lambda": 2.0}, "reg_lambda"),
        ("catboost", {"n_estimators": 50}, "iterations"),
        ("catboost", {"max_depth": 4}, "depth"),
        ("catboost", {"reg_lambda": 4}, "l2_leaf_reg"),
        ("histograms", {"max_leaf_nodes": 15}, "max_leaf_nodes"),
        ("histograms", {"max_iter": 50}, "max_iter"),
        # No limit is a choice as well.
        ("histograms", {"max_leaf_nodes": None}, "max_leaf_nodes"),
    ],
    ids=str,
)
def test_what_the_user_has_set_stays(name, params, kept):
    make = MADE[name]
    before = {name for variant in variants_of(make()) for name in variant}
    after = variants_of(make(**params))
    assert kept in before
    assert {name for variant in after for name in variant} == before - {kept}
    assert all(after)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lightgbm", {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31}),
        ("xgboost", {"n_estimators": 100, "learning_rate": 0.3, "max_depth": 6, "min_child_weight": 1}),
        ("xgboost", {"reg_lambda": 1.0, "colsample_bytree": 1.0, "subsample": 1, "max_leaves": 0}),
        ("catboost", {"iterations": 1000, "depth": 6, "l2_leaf_reg": 3.0, "rsm": 1}),
        ("histograms", {"max_iter": 100, "max_leaf_nodes": 31}),
    ],
    ids=str,
)
def test_a_default_that_is_written_out_is_one(name, params):
    assert variants_of(MADE[name](**params)) == variants_of(MADE[name]())
    for parameter, value in params.items():
        if parameter not in ("num_leaves", "max_leaf_nodes", "max_leaves"):
            assert variants_of(MADE[name](**{parameter: 2 * value})) != variants_of(MADE[name]())


def test_the_defaults_that_xgboost_does_not_say_are_those_it_trains_with():
    xgb = pytest.importorskip("xgboost")
    config = json.loads(xgb.XGBClassifier().fit(X[:50], Y[:50]).get_booster().save_config())["learner"]
    trained = config["gradient_booster"]["tree_train_param"]
    unsaid = dict(_UNSAID["xgboost.XGBClassifier"])
    assert unsaid.pop("n_estimators") == int(config["gradient_booster"]["gbtree_model_param"]["num_trees"])
    assert {name: float(trained[name]) for name in unsaid} == pytest.approx(unsaid)


def test_variants_without_anything_left_or_alike_are_left_out():
    base = lightgbm(num_leaves=15, learning_rate=0.2)
    assert [set(variant) for variant in variants_of(base)] == [
        {"n_estimators", "min_child_samples", "reg_lambda"},
        {"n_estimators", "colsample_bytree", "extra_trees"},
    ]


def test_names_of_one_parameter_are_in_one_group():
    names = [name for group in _SYNONYMS for name in group]
    assert len(names) == len(set(names))
    assert {name for variants in _VARIANTS.values() for each in variants for name in each} <= set(names)


def test_numbers_of_rounds_are_told_from_other_parameters():
    assert all(map(is_rounds, ["n_estimators", "last__max_iter", "iterations"]))
    assert not any(map(is_rounds, ["max_depth", "n_estimators__other", "C"]))


def test_rounds_of_catboost_are_read_where_its_learning_rate_is_fixed():
    assert rounds_of(catboost()) is None
    assert rounds_of(catboost(iterations=8)) is None
    assert rounds_of(catboost(iterations=8, learning_rate=0.1, od_wait=3)) is None
    base = catboost(iterations=8, learning_rate=0.1)
    known = rounds_of(base)
    assert (known.name, known.number) == ("iterations", 8)
    first = known.ask(base.fit(X, Y), "predict_proba", 3, X)
    np.testing.assert_array_equal(first, catboost(iterations=3, learning_rate=0.1).fit(X, Y).predict_proba(X))
