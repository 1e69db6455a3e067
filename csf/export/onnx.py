"""Linear winners as ONNX, in double precision: other runtimes predict the same labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from csf.export.linear import linear_rule
from csf.search import CostSearch

__all__ = ["to_onnx"]

# Old enough for every runtime of the last years.
OPSET, IR = 17, 8


def to_onnx(search: CostSearch) -> Any:
    """A linear winner as an ONNX model.

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
    kinds = {"i": np.int64, "u": np.int64, "b": np.int64, "f": np.float64, "U": np.str_}
    if labels.dtype.kind not in kinds:
        raise TypeError(f"ONNX has no labels such as {rule.positive!r}; fit the search on numbers or strings")
    typed = labels.astype(kinds[labels.dtype.kind])
    if typed.dtype.kind == "U":
        typed = typed.astype(object)
    constants = {
        "coef": rule.coef[:, None],
        "intercept": np.array([rule.intercept]),
        "threshold": np.array([np.nan_to_num(rule.threshold)]),
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
    kind = {"i": TensorProto.INT64, "f": TensorProto.DOUBLE}.get(typed.dtype.kind, TensorProto.STRING)
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
