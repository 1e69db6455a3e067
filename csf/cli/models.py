"""Base classifiers by name, and the pipelines that bring data into a form that they take."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from csf._common.messages import did_you_mean
from csf.cli.errors import CliError, require

if TYPE_CHECKING:
    from csf.cli.data import Features

__all__ = ["BASES", "CLASSIFIER", "LINEAR", "make_base", "parse_grid", "takes_sparse"]

# Name of the classifier's step in the pipelines.
CLASSIFIER = "classifier"


def _lightgbm():
    return require("lightgbm", "--base lightgbm").LGBMClassifier(verbose=-1)


def _xgboost():
    return require("xgboost", "--base xgboost").XGBClassifier()


BASES = {
    "linear-svc": partial(LinearSVC, dual=False),  # pyright: ignore[reportArgumentType]  # "auto" or a bool
    "logistic": partial(LogisticRegression, max_iter=1000),
    "sgd": SGDClassifier,
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    "random-forest": RandomForestClassifier,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
}
# Those that need features of similar size and can be written as a rule, and those that take no sparse data.
LINEAR = ("linear-svc", "logistic", "sgd")
_DENSE_ONLY = ("hist-gradient-boosting",)


def takes_sparse(name: str) -> bool:
    """Whether the base of a name takes sparse data."""
    return name not in _DENSE_ONLY


def make_base(name: str, features: Features) -> Pipeline:
    """Pipeline of preparation and the step ``"classifier"``; columns of a frame are chosen by name."""
    classifier = BASES[name]()
    linear = name in LINEAR
    if features.kind == "frame":
        return Pipeline([("prepare", _columns(features, linear, takes_sparse(name))), (CLASSIFIER, classifier)])
    if linear:
        scaler = MaxAbsScaler() if features.kind == "sparse" else StandardScaler()
        return Pipeline([("scale", scaler), (CLASSIFIER, classifier)])
    return Pipeline([(CLASSIFIER, classifier)])


def _columns(features, linear, sparse_output):
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return ColumnTransformer(
        [
            ("numeric", make_pipeline(impute, StandardScaler()) if linear else impute, list(features.numeric)),
            ("categorical", OneHotEncoder(handle_unknown="ignore"), list(features.categorical)),
        ],
        sparse_threshold=0.3 if sparse_output else 0.0,
        verbose_feature_names_out=False,
    )


def parse_grid(texts: Sequence[str], base: Pipeline) -> dict[str, Any]:
    """Grid of the pipeline's parameters from texts such as ``"C=0.1,1,10"``; values are Python literals, or strings."""
    known = base.named_steps[CLASSIFIER].get_params()
    grid = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise CliError(f"--param must be NAME=VALUE,VALUE,..., such as C=0.1,1,10; got {text!r}")
        if name not in known:
            hint = did_you_mean(name, known)
            raise CliError(f"--param: the base has no parameter {name!r}; it has {', '.join(sorted(known))}{hint}")
        if f"{CLASSIFIER}__{name}" in grid:
            raise CliError(f"--param {name} is given twice; list all its values in one")
        grid[f"{CLASSIFIER}__{name}"] = [_literal(value.strip()) for value in values.split(",")]
    return grid


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
