"""Winners of any base for other tools: classes of scikit-learn, ONNX, rules for several classes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from csf._common.typing import Array, Estimator, FloatArray, Keywords, Label, Params
from csf._common.validation import float_columns
from csf.data.labels import places_of
from csf.data.responses import DECISION_FIRST, PROBABILITIES_FIRST, log_odds, response_method
from csf.export.rules import SavedRule, Winner, finite, fitted_winner, linear_rule, plain_label, winner_of
from csf.metrics.constraints import ANSWERS
from csf.metrics.row_costs import RowCosts
from csf.search import CostSearch
from csf.thresholding.linear_rule import ClassProbabilityRule, without_weights
from csf.thresholding.row_costs import FARTHEST, CostDecision, RowCostRule, unweighted


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
    kinds = {"i": np.int64, "u": np.int64, "b": np.int64, "f": np.float64, "U": np.str_}
    if labels.dtype.kind not in kinds:
        raise TypeError(f"ONNX has no labels such as {rule.positive!r}; fit the search on numbers or strings")
    typed = labels.astype(kinds[labels.dtype.kind])
    if typed.dtype.kind == "U":
        typed = typed.astype(object)
    constants = {
        "coef": rule.coef[:, None],
        "intercept": np.array([rule.intercept]),
        "threshold": np.array([finite(rule.threshold)]),
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


@dataclass(frozen=True, eq=False)
class ClassRule(SavedRule):
    """Rule that predicts the class with the largest ``slope * p - offset``, where p are an estimator's probabilities.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the estimator's columns.
    reads : {"predict_proba", "decision_function"}
        Method of the estimator that gives the scores.
    slopes, offsets : ndarray of shape (n_classes,)
        Of the probabilities.
    class_weights : ndarray of shape (n_classes,), default=None
        Probabilities are divided by these first, and scaled to sum 1 again; ``None`` takes them as they are.
    matrix : ndarray of shape (n_classes, n_classes), default=None
        Where it is given, the class with the largest entry of ``p @ matrix`` is predicted instead.
    calibration : ndarray of shape (n_classes, 2), default=None
        Where it is given, scores s become probabilities first: ``1 / (1 + exp(-(slope * s + intercept)))`` for each
        class, scaled to sum 1.
    precision : {"float64", "float32"}, default="float64"
        Precision to which scores are rounded first.

    Examples
    --------
    >>> rule = ClassRule(np.array(["a", "b"]), "predict_proba", np.array([1.0, 3.0]), np.array([0.0, 0.2]))
    >>> rule.decide(np.array([[0.9, 0.1], [0.6, 0.4]]))
    array(['a', 'b'], dtype='<U1')
    """

    classes: Array
    reads: str
    slopes: FloatArray
    offsets: FloatArray
    class_weights: FloatArray | None = None
    matrix: FloatArray | None = None
    calibration: FloatArray | None = None
    precision: str = "float64"

    def decide(self, scores: ArrayLike) -> Array:
        """Predict labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes)
            Output of the estimator's method ``reads``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The first one of equal classes.
        """
        given = float_columns(scores, self.classes.tolist(), "scores")
        proba = np.ascontiguousarray(given, dtype=self.precision).astype(float)
        if self.calibration is not None:
            proba = expit(proba * self.calibration[:, 0] + self.calibration[:, 1])
            proba = without_weights(proba, np.ones(self.classes.shape[0]))
        proba = without_weights(proba, self.class_weights)
        return self.classes[ClassProbabilityRule(self.slopes, self.offsets, self.matrix).decide(proba)]

    def to_dict(self) -> Params:
        """Return the rule as plain numbers, strings and lists.

        Returns
        -------
        dict
            One entry a parameter, and the rule in words.
        """
        steps = [f"s = what the estimator answers, as {self.precision}"]
        if self.calibration is not None:
            steps.append("s = 1 / (1 + exp(-(slope * s + intercept))) by calibration, divided by its sum")
        if self.class_weights is not None:
            steps.append("s = s / class_weights, divided by its sum")
        largest = "slopes * s - offsets" if self.matrix is None else "s @ matrix"
        numbers = {
            name: getattr(self, name) for name in ("class_weights", "slopes", "offsets", "matrix", "calibration")
        }
        return {
            "rule": "; ".join([*steps, f"the class with the largest of {largest}, the first of equal ones"]),
            "reads": self.reads,
            "classes": self.classes.tolist(),
            **{name: None if values is None else values.tolist() for name, values in numbers.items()},
        }


def class_rule(search: CostSearch) -> ClassRule:
    """Convert the decision rule of a search with several classes that are all alike.

    ``best_estimator_`` and this table predict what the search does: the estimator alone where its own decision won,
    which makes slopes 1 and offsets 0.

    Parameters
    ----------
    search : CostSearch
        Fitted, of three or more classes without a null class. Its ``best_estimator_`` has ``predict_proba`` or
        ``decision_function``.

    Returns
    -------
    ClassRule
        Its ``decide`` takes the scores of ``best_estimator_``.

    Raises
    ------
    TypeError
        If the winner has no scores.
    ValueError
        If the search is none of several classes, has no fitted winner, or that one does not know all classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> base = make_pipeline(StandardScaler(), LogisticRegression())
    >>> search = CostSearch(base, "f1_macro", n_trials=1, param_grid=None, cv=3).fit(X, y)
    >>> rule = class_rule(search)
    >>> bool((rule.decide(search.best_estimator_.predict_proba(X)) == search.predict(X)).all())
    True
    """
    fitted_winner(search)
    if search.result_.kind != "multiclass":
        raise ValueError(
            "the search has two classes, several labels, or a class of nothing to find, which a threshold decides "
            "about; csf.export.fixed_threshold and linear_rule export one of two classes"
        )
    used = search.decision_rule_
    if used.known.size < used.classes.size:
        raise ValueError(f"the winner knows {used.known.size} of {used.classes.size} classes; fit it on all of them")
    calibrator = None if used.own else used.calibrator
    reads = response_method(used.estimator, PROBABILITIES_FIRST if calibrator is None else DECISION_FIRST)
    if reads is None:
        raise TypeError(f"{type(used.estimator).__name__} has no scores, it decides alone; export best_estimator_")
    at = places_of(np.asarray(used.estimator.classes_), used.classes)  # of the estimator's columns
    return ClassRule(
        used.classes[at],
        reads,
        used.rule.slopes[at],
        used.rule.offsets[at],
        None if used.own or used.class_weights is None else used.class_weights[at],
        None if used.rule.matrix is None else used.rule.matrix[np.ix_(at, at)],
        None if calibrator is None else np.array([_sigmoid(calibrator.calibrators[place]) for place in at]),
        used.precision if not used.own else ClassRule.precision,
    )


def _sigmoid(calibrator: Any) -> tuple[float, float]:
    """Return the slope and intercept of a sigmoid of the score itself."""
    slope = calibrator.slope_
    return slope, calibrator.intercept_


# ---------------------------------------------------------------- three answers

_BY_SCORE = 's = what the estimator answers to "reads"; positive where s >= upper, negative where s < lower'
_BY_COSTS = (
    's = what the estimator answers to "reads", a probability p as log(p / (1 - p)), at least -farthest and at most '
    "farthest; z = slope * s + intercept - offset; p = 1 / (1 + exp(-z)). Costs: of negative p * (fn - tp), of "
    "positive (1 - p) * (fp - tn), of a review cost + error * (both together). The answer of least cost, where "
    'negative and positive stand for their labels, but "review" in place of positive where z < upper, and of negative '
    "where z >= lower"
)


def review_rule(search: CostSearch) -> Params:
    """Describe the choice between three answers in words and numbers.

    Parameters
    ----------
    search : CostSearch
        Fitted with a ``review``.

    Returns
    -------
    dict
        Plain numbers and strings: the ``rule`` in words, the estimator's method (``reads``), and the numbers. An
        infinite one is the largest or smallest number there is: no score reaches an ``upper`` of 1.8e308, and all
        reach one of -1.8e308. Where errors have costs in each row, these are inputs.

    Raises
    ------
    TypeError
        If rows have costs of their own, and the training of the winner had weights.
    ValueError
        If the search has no third answer, or no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> from csf.metrics import Review
    >>> X, y = load_digits(return_X_y=True)
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3, review=Review(at_most=0.05)).fit(X, y == 8)
    >>> rule = review_rule(search)
    >>> rule["reads"], rule["lower"] < rule["upper"]
    ('decision_function', True)
    """
    fitted_winner(search)
    bands, used = search.review_bands(), search.decision_rule_
    if not hasattr(bands, "lower"):
        raise TypeError(
            f"a file of rules holds reviews of two classes, and those of {type(bands).__name__} have no two scores "
            "between which rows are reviewed; keep the search (joblib, skops) and call predict_with_review"
        )
    ends = {"lower": bands.lower, "upper": bands.upper}
    content: Params = {"rule": f'{_BY_SCORE}, else "review"', "reads": used.method}
    if isinstance(used, RowCostRule):
        if used.power or any(used.decision.extra):
            raise TypeError(
                "the training of this winner weighed rows by their costs, or a constraint adds to them; write the "
                "answers of search.predict_with_review(X), or save the model (csf search --save)"
            )
        content, offset = {"rule": _BY_COSTS, "reads": used.method}, used.cut
        if used.decision.is_constant:
            never, offset = ("positive" if used.decision.kind == "negative" else "negative"), 0.0
            rule = f'{_BY_COSTS}; where fn > tp and fp > tn it is never "{never}"'
            content |= {"rule": rule, "never": never}
        costs = {"cost": bands.review.cost + bands.extra_cost, "error": bands.review.error, "offset": offset}
        calibration = zip(("slope", "intercept", "farthest"), _calibration(used))
        ends = costs | dict(calibration) | ends
    content |= dict(zip(ANSWERS[::2], map(plain_label, bands.names)))
    return content | {name: finite(value) for name, value in ends.items()}


# ---------------------------------------------------------------- costs of each row


@dataclass(frozen=True, eq=False)
class CostRule(SavedRule):
    """Rule that predicts ``positive`` where the log-odds of a row plus log(gain / loss) reach ``threshold``.

    Gain = fn - tp is what the answer "positive" saves in a positive row, and loss = fp - tn what it costs in a negative
    one.

    Parameters
    ----------
    reads : {"decision_function", "predict_proba"}
        Method of the estimator that gives the scores; a probability p becomes log(p / (1 - p)).
    negative, positive : label
        The classes.
    threshold : float
        Threshold of the sum.
    power : float, default=0.0
        This times log(gain / loss) is subtracted from the score first.
    slope, intercept : float, default=1.0 and 0.0
        ``slope * score + intercept`` are the log-odds.
    farthest : float, default=40.0
        Scores are clipped to the range from minus this to this.
    extra_fn, extra_fp : float, default=0.0
        What a false negative and a false positive cost besides in each row, for a constraint.
    column : int, default=1
        Column of ``predict_proba`` that is the positive class.

    Examples
    --------
    >>> rule = CostRule("predict_proba", "paid", "lost", 0.0)
    >>> rule.decide([0.1, 0.1], fn=[5.0, 100.0], fp=2.0)  # 0.1 * 5 < 0.9 * 2 < 0.1 * 100
    array(['paid', 'lost'], dtype='<U4')
    """

    reads: str
    negative: Label
    positive: Label
    threshold: float
    power: float = 0.0
    slope: float = 1.0
    intercept: float = 0.0
    farthest: float = FARTHEST
    extra_fn: float = 0.0
    extra_fp: float = 0.0
    column: int = 1

    def decide(self, scores: ArrayLike, *, fn: Any, fp: Any, tp: Any = 0.0, tn: Any = 0.0) -> Array:
        """Predict labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 2)
            Output of the estimator's method ``reads``; the probabilities of the positive class suffice.
        fn, fp, tp, tn : float or array-like of shape (n_samples,)
            Costs of the four outcomes, finite numbers >= 0.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``positive`` or ``negative``.
        """
        classes = [self.negative, self.positive][:: 1 if self.column else -1]
        given = float_columns(scores, classes, "scores", fn=fn, fp=fp, tp=tp, tn=tn)
        given = given[:, self.column] if given.ndim == 2 else given
        table = RowCosts(fn=None).table(given[:, None], fn_cost=fn, fp_cost=fp, tp_cost=tp, tn_cost=tn)
        extra = (self.extra_fn, self.extra_fp)
        decision = CostDecision("sigmoid", self.threshold, self.slope, self.intercept, self.farthest, extra)
        odds = unweighted(log_odds(given, self.reads), table.shift, self.power)
        return np.where(decision.decide(odds, table), self.positive, self.negative)

    def to_dict(self) -> Params:
        """Return the rule as plain numbers and strings.

        Returns
        -------
        dict
            One entry a parameter, and the rule in words; an infinite threshold as the largest or smallest number
            there is.
        """
        score = (
            "decision_function"
            if self.reads == "decision_function"
            else "log(p / (1 - p)), p = column of predict_proba"
        )
        return {
            "rule": f"s = {score}; z = s - power * log((fn - tp) / (fp - tn)), from -farthest to farthest; "
            "gain = fn + extra_fn - tp; loss = fp + extra_fp - tn; positive where slope * z + intercept + log(gain / "
            "loss), rounded to 9 decimals, >= threshold, else negative. Where gain <= 0 and loss >= 0: negative; else "
            "where loss <= 0: positive",
            **vars(self),
            "threshold": finite(self.threshold),
        }


def cost_rule(search: CostSearch) -> CostRule:
    """Convert the decision rule of a search for costs of rows; the costs of a row are its inputs.

    Parameters
    ----------
    search : CostSearch
        Fitted with a `csf.metrics.RowCosts`, ``"savings"``, ``"cost"`` or ``"benefit"``.

    Returns
    -------
    CostRule
        Its ``decide`` takes the scores of ``best_estimator_``, and predicts what the search does.

    Raises
    ------
    ValueError
        If the search is for something else, or has no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> costs = {"fn_cost": X[:, 2] + 1.0, "fp_cost": 4.0}
    >>> search = CostSearch(LogisticRegression(C=0.01), "savings", cv=3).fit(X / 16, y == 8, **costs)
    >>> rule, score = cost_rule(search), search.best_estimator_.decision_function(X / 16)
    >>> bool((rule.decide(score, fn=X[:, 2] + 1.0, fp=4.0) == search.predict(X / 16, **costs)).all())
    True
    """
    fitted_winner(search)
    if search.result_.kind != "row_costs":
        raise ValueError("the search knows no costs of rows; csf.export.fixed_threshold exports one threshold for all")
    used = search.decision_rule_
    names = used.names.tolist()
    at = names.index(search.pos_label_)
    method, column = str(used.method), used.listed.tolist().index(names[at])
    numbers = *_calibration(used), *used.decision.extra
    return CostRule(method, names[1 - at], names[at], float(used.cut), used.power, *numbers, column=column)


def _calibration(used: RowCostRule) -> tuple[float, float, float]:
    """Return slope and intercept of the log-odds as a function of the score, and the largest absolute score."""
    decision, slope = used.decision, used.decision.slope
    if used.method == "decision_function" and used.listed.tolist().index(used.null) == 1:
        slope = -slope  # the decisions of a fitted base are about the other class
    return slope, decision.intercept, decision.farthest
