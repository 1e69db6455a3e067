"""Winners of two classes for other tools: classes of scikit-learn, ONNX."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from csf._common.typing import Estimator, Keywords
from csf.export.records import plain
from csf.export.rules import Winner, linear_rule, winner_of
from csf.search import CostSearch


def fixed_threshold(search: CostSearch) -> FixedThresholdClassifier:
    """Convert the winner and its threshold to a classifier of scikit-learn that predicts what the search does.

    Parameters
    ----------
    search : CostSearch
        Fitted, of two classes.

    Returns
    -------
    sklearn.model_selection.FixedThresholdClassifier
        Of a `sklearn.frozen.FrozenEstimator`; ready to predict, to be pickled, and to be used where csf is not
        installed (but the packages of the base are).

    Raises
    ------
    TypeError
        If the winner has no scores, or its class names cannot be changed where yours are not 0 and 1.
    ValueError
        If the search has several classes, or no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3).fit(X, y == 8)
    >>> model = fixed_threshold(search)
    >>> bool((model.predict(X) == search.predict(X)).all())
    True
    """
    winner = winner_of(search)
    named = _with_names(winner)
    options: Keywords = {"threshold": winner.threshold, "pos_label": winner.positive}
    options["response_method"] = winner.method
    return FixedThresholdClassifier(FrozenEstimator(named), **options)


def _with_names(winner: Winner) -> Estimator:
    """Return the estimator with the user's names of the classes; a copy where they differ."""
    if (winner.known_negative, winner.known_positive) == (winner.negative, winner.positive):
        return winner.estimator
    names = {winner.known_negative: winner.negative, winner.known_positive: winner.positive}
    return _renamed(winner.estimator, names)


def _renamed(estimator: Estimator, names: dict) -> Estimator:
    renamed = copy.copy(estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        renamed.steps = [*estimator.steps[:-1], (name, _renamed(last, names))]
        return renamed
    if "classes_" not in vars(estimator):
        raise TypeError(
            f"the classes of {type(estimator).__name__} cannot be renamed to {list(names.values())}; fit the search on "
            "labels 0 and 1, or wrap the predictions of best_estimator_ yourself"
        )
    renamed.classes_ = np.array([names[label] for label in estimator.classes_.tolist()])
    return renamed


# ---------------------------------------------------------------- ONNX


# Old enough for every runtime of the last years.
OPSET, IR = 17, 8


def to_onnx(search: CostSearch) -> Any:
    """Convert a linear winner to an ONNX model.

    Parameters
    ----------
    search : CostSearch
        Fitted, as for `csf.export.linear_rule`, to labels that are numbers, booleans or strings.

    Returns
    -------
    onnx.ModelProto
        Its input ``X`` holds doubles of shape (n_samples, n_features), its outputs are ``label`` and ``score``, the
        score minus the threshold.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If the winner is not linear in the features: convert ``best_estimator_`` with skl2onnx then, and apply
        ``best_threshold_`` to the output that equals ``search.score_samples(X)``.
    ValueError
        If the search has several classes, or no fitted winner.
    """
    rule = linear_rule(search)
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install onnx; linear_rule needs nothing") from error
    labels = np.array([rule.negative, rule.positive])
    kinds = dict.fromkeys("iub", (np.int64, TensorProto.INT64))
    kinds |= {"f": (np.float64, TensorProto.DOUBLE), "U": (object, TensorProto.STRING)}
    known = kinds.get(labels.dtype.kind)
    if known is None:
        raise TypeError(f"ONNX has no labels such as {rule.positive!r}; fit the search on numbers or strings")
    typed, kind = labels.astype(known[0]), known[1]
    constants = {
        "coef": rule.coef[:, None],
        "intercept": np.array([rule.intercept]),
        "threshold": np.array([plain(rule.threshold)]),
        "negative": typed[:1],
        "positive": typed[1:],
        "axis": np.array([1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["X", "coef"], ["product"]),
        helper.make_node("Squeeze", ["product", "axis"], ["column"]),
        helper.make_node("Add", ["column", "intercept"], ["value"]),
        helper.make_node("Sub", ["value", "threshold"], ["score"]),
        helper.make_node("GreaterOrEqual", ["value", "threshold"], ["found"]),
        helper.make_node("Where", ["found", "positive", "negative"], ["label"]),
    ]
    graph = helper.make_graph(
        nodes,
        "csf",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, rule.coef.shape[0]])],
        [
            helper.make_tensor_value_info("label", kind, [None]),
            helper.make_tensor_value_info("score", TensorProto.DOUBLE, [None]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="csf")
    model.ir_version = IR
    checker.check_model(model)
    return model
