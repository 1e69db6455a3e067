"""Look-up of metrics by name, object or function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from csf._common.messages import did_you_mean
from csf._common.sklearn import scorer_parts
from csf._common.typing import Estimator, Label
from csf._common.validation import check_labels
from csf.metrics.averages import AVERAGES, EMPTY, OF_CLASSES, Averaged
from csf.metrics.base import Measure, Metric, wrong_direction
from csf.metrics.confusion import ConfusionMetric, cost_matrix_of
from csf.metrics.constraints import Constrained, all_of, get_constraint
from csf.metrics.functions import Function, LabelFunction, confusion_of_function, metric_of_function
from csf.metrics.incomplete import TrueMetric, metric_of_truth
from csf.metrics.named import CONFUSION_METRICS, MEANT, METRICS, known_name, measure_named
from csf.metrics.row_costs import RowCosts, row_costs

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.metrics.constraints import Constraint

# What the ``metric`` of a search may be. Costs of rows are refused where there are no rows of X.
MetricLike: TypeAlias = str | Metric | ConfusionMetric | RowCosts | Callable[..., float]

# Metrics that no threshold changes: what helps with them, what they judge, and words in their names.
_UNCHANGED = {
    "cross_val_score of scikit-learn": ("the order of the scores", ("average_precision", "auc", "ndcg", "gini")),
    "csf.thresholding and CalibratedClassifierCV calibrate": ("probabilities", ("log_loss", "brier", "crossentropy")),
}
# What there is instead of other averages over classes.
_AVERAGES = {
    **dict.fromkeys(
        OF_CLASSES,
        "Averages over classes are those of ratios of sums, such as 'f1_macro', 'jaccard_weighted' and 'recall_macro'; "
        "'gmean', 'mcc' and 'cohen_kappa' take any number of classes without one",
    ),
    "samples": "Averages over samples ('f1_samples') are for several labels of each sample, y of shape (n_samples, "
    "n_labels) with 0 and 1",
}

Read = TypeVar("Read")


def _remembered(read: Callable[[Any], Read]) -> Callable[[Any], Read]:
    """Decorate what reads a metric: once if that is hashable, however often a search needs it."""
    remember = lru_cache(maxsize=256)(read)

    @wraps(read)
    def look_up(metric: object) -> Read:
        try:
            hash(metric)
        except TypeError:
            return read(metric)
        return remember(metric)

    return look_up


def get_metric(metric: MetricLike) -> Metric:
    """Look up the metric of a name, or return the object itself.

    Parameters
    ----------
    metric : str, Metric, ConfusionMetric or callable
        A name in ``METRICS`` or another one of the same metric, such as ``"youden"`` and ``"sensitivity"``,
        ``"f<beta>"`` for any positive beta, or a metric; of a `MeanCost` the least is sought. A metric of any number of
        classes, by its name in ``CONFUSION_METRICS`` or as an object, becomes the same one of two classes
        (`OfTwoClasses`). A function ``f(y_true, y_pred, sample_weight=...)`` of labels or a scorer of one is called
        with the codes 0 and 1, 1 for the positive class; one that has the values of a metric here becomes that metric.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    ValueError
        If the name is unknown, or the function is one of scores, takes no ``sample_weight``, depends on more than the
        counts of the confusion matrix, or rises with an error.
    TypeError
        If it is neither a name nor a metric nor a function.

    Examples
    --------
    >>> get_metric("f2"), get_metric("f0.25")
    (FBeta(beta=2.0), FBeta(beta=0.25))
    >>> get_metric("f1_macro")
    OfTwoClasses(confusion=Averaged(metric=FBeta(beta=1.0), average='macro', null=None))
    >>> from sklearn.metrics import fbeta_score, make_scorer
    >>> get_metric(make_scorer(fbeta_score, beta=3))
    FBeta(beta=3.0)
    """
    known = get_quantity(metric).maximised
    _check_direction(known)
    return known


@_remembered
def _check_direction(metric: Measure) -> None:
    """Raise a ValueError where a metric is not larger without errors than where all is wrong."""
    pairs: list[tuple[float, float]] = []
    with suppress(Exception):  # what has no value here is told on use
        pairs = metric.values_at_ends()
    for best, worst in pairs:
        if best <= worst:
            raise ValueError(wrong_direction(metric.name, best, worst))


def get_quantity(metric: MetricLike) -> Metric:
    """Look up a quantity as `get_metric` does; also rates and costs that are minimised, or neither."""
    if isinstance(metric, Measure):
        return metric.of_two
    if row_costs(metric) is not None:
        raise ValueError(
            f"metric={metric!r} has costs for each row: csf.CostSearch decides each row by its own costs, in memory. "
            "Use a metric with one cost for each kind of error here, such as csf.metrics.WeightedAccuracy"
        )
    if _is_function(metric):
        return _two_classes_of(metric)
    if not isinstance(metric, str):
        raise TypeError(
            f"metric must be a name or a csf.metrics.Metric object, got {metric!r}; for a metric of your own, give a "
            "function f(y_true, y_pred, sample_weight=None), subclass csf.metrics.Metric or use a CustomMetric"
        )
    if (measure := measure_named(metric).of_two() or measure_named(metric).of_classes()) is None:
        names = ", ".join(dict.fromkeys([*METRICS, *CONFUSION_METRICS]))
        known = f"unknown metric {metric!r}; known: {names}, f<beta>_macro, f<beta>, or a Metric object"
        raise ValueError(known + _hint(metric))
    return measure.of_two


def positive_class(metric: MetricLike, y: ArrayLike, pos_label: Label, *, matters: bool = False) -> Label:
    """Return the positive class of a target for a metric, or ``pos_label`` as it is.

    A scorer may name the class. Of two classes that a metric treats alike, such as the MCC, the second one will do,
    unless it ``matters`` for something else.
    """
    named = _label_of_scorer(metric)
    if named is None:
        alike = pos_label is None and not matters and _treats_classes_alike(metric)
        classes = check_labels(y)[1] if alike else np.empty(0)
        return classes[1] if classes.size == 2 else pos_label
    if pos_label is not None and pos_label != named:
        raise ValueError(
            f"the scorer has pos_label={named!r}, and pos_label={pos_label!r} is given besides; leave one of them out"
        )
    return named


def _label_of_scorer(metric: object) -> Label:
    """Return the positive class that a scorer names, or ``None``."""
    parts = scorer_parts(metric)
    return None if parts is None else parts.options.get("pos_label")


def _treats_classes_alike(metric: MetricLike) -> bool:
    """Check whether a metric of two classes stays the same where their names are exchanged."""
    try:
        known = get_metric(metric)
        both = [
            (known.value(fn, fp, pos=pos), known.value(fp, fn, pos=1.0 - pos))
            for pos in (0.1, 0.3, 0.6)
            for fn, fp in ((0.2 * pos, 0.4 * (1.0 - pos)), (0.7 * pos, 0.1 * (1.0 - pos)))
        ]
    except (TypeError, ValueError):  # said where the metric is used
        return False
    return all(np.isclose(*pair, rtol=1e-9, atol=1e-12) for pair in both)


def for_classes(metric: Any, classes: Array) -> Any:
    """Put the costs of a metric in the order of the classes, and have scorers name the second one by its code 1.

    Other metrics are returned unchanged.
    """
    parts = scorer_parts(metric)
    if parts is not None and len(classes) == 2 and parts.options.get("pos_label") == classes[1]:
        options = parts.options | {"pos_label": 1}
        return make_scorer(
            parts.function, greater_is_better=parts.sign > 0.0, response_method=parts.response, **options
        )
    return metric.for_classes(classes) if isinstance(metric, Measure) else metric


def metric_of(search: Estimator) -> Any:
    """Return the metric of a fitted search, with its costs in the order of the classes."""
    null = getattr(search, "null_class_", None)
    return for_classes(search.metric, search.classes_ if null is None else np.array([null, search.pos_label_], object))


def get_confusion_metric(metric: MetricLike) -> ConfusionMetric:
    """Look up the metric of any number of classes, from a name or an object.

    Parameters
    ----------
    metric : str, ConfusionMetric, Metric or callable
        A name in ``CONFUSION_METRICS``, ``"f<beta>_macro"`` for any positive beta, or a metric. Metrics of two classes
        become those of the same name, where there are such. Functions of labels and scorers are called with the codes
        0, 1, 2, ... of the classes, see `get_metric`.

    Returns
    -------
    ConfusionMetric
        The metric.

    Raises
    ------
    ValueError
        If the name is unknown, or the metric is for two classes alone.
    TypeError
        If it is neither a name nor a metric.

    Examples
    --------
    >>> get_confusion_metric("jaccard_weighted"), get_confusion_metric("linear_kappa")
    (Averaged(metric=Jaccard(), average='weighted', null=None), WeightedKappa(weights='linear'))
    >>> get_confusion_metric("f1")
    Traceback (most recent call last):
        ...
    ValueError: 'f1' is a metric of two classes; for more, write 'f1_macro', ...
    """
    if isinstance(metric, Measure):
        if isinstance(given := metric.of_classes, ConfusionMetric):
            _check_direction(given)
            return given
        # Parameters of two classes alone, such as prices of errors, have no place in a metric of more.
        named = measure_named(metric.name)
        name, is_known = metric.name, True
        measure = named.of_classes() if type(metric) is type(named.of_two()) else None
    elif _is_function(metric):
        return _classes_of(metric)
    elif isinstance(metric, str):
        named = measure_named(metric)
        measure, name, is_known = named.of_classes(), metric, named.of_two() is not None
    else:
        raise TypeError(
            f"metric must be a name or a csf.metrics.ConfusionMetric object, got {metric!r}; for a metric of your own, "
            "give a function f(y_true, y_pred, sample_weight=None), subclass csf.metrics.ConfusionMetric or use "
            "csf.metrics.ConfusionFunction"
        )
    if measure is not None:
        return measure
    if is_known:
        macro = f"{name}_macro" if measure_named(f"{name}_macro").of_classes() else "f1_macro"
        raise ValueError(
            f"{name!r} is a metric of two classes; for more, write {macro!r}, a mean over classes, or another of "
            f"{', '.join(CONFUSION_METRICS)}, or a csf.metrics.ConfusionMetric object. Where one class means nothing "
            "to find, give null_class="
        )
    raise ValueError(
        f"unknown metric of several classes {name!r}; known: {', '.join(CONFUSION_METRICS)}, f<beta>_macro, "
        f"other averages of ratios such as precision_weighted, or a ConfusionMetric object{_hint(name)}"
    )


def _is_function(metric: object) -> bool:
    """Check whether a metric is a function of labels or a scorer; classes and metric objects are neither."""
    return callable(metric) and not isinstance(metric, type | Measure)


@_remembered
def _two_classes_of(function: Function) -> Metric:
    """Build the binary metric of a function of labels."""
    name = _name_of_function(function)
    named = measure_named(name)
    known = [named.of_two(), *(make() for make in METRICS.values())]
    of_classes = [named.of_classes(), *(make() for make in CONFUSION_METRICS.values())]
    known += [metric.of_two for metric in of_classes if metric is not None]
    return metric_of_function(function, name, [metric for metric in known if metric is not None])


@_remembered
def _classes_of(function: Function) -> ConfusionMetric:
    """Build the metric of any number of classes of a function of labels."""
    name = _name_of_function(function)
    known = [measure_named(name).of_classes(), *(make() for make in CONFUSION_METRICS.values())]
    return confusion_of_function(function, name, [metric for metric in known if metric is not None])


def _name_of_function(function: Function) -> str:
    """Return the name of a function of labels; raise a ValueError where no threshold changes what it measures."""
    name = _name_of(function)
    if what := _unchanged(name):
        raise ValueError(f"metric must be one of labels{what}")
    return name or type(function).__name__


def _name_of(function: Function) -> str:
    """Derive the name of a function or scorer of scikit-learn, as in its list of scorers; empty where it has none."""
    parts = scorer_parts(function)
    if isinstance(function, partial):
        options, function = function.keywords, function.func
    else:
        options, function = ({}, function) if parts is None else (parts.options, parts.function)
    name = "" if isinstance(function, type) else getattr(function, "__name__", "").removesuffix("_score")
    if name == "fbeta" and "beta" in options:
        name = f"f{options['beta']:g}"
    if name == "cohen_kappa" and options.get("weights"):
        return f"{options['weights']}_kappa"
    average = options.get("average", "binary")
    return name if average in ("binary", None) else f"{name}_{average}"


def _hint(name: str) -> str:
    """Suggest a replacement for a name that is unknown here."""
    if not name:
        return ""
    if what := _unchanged(name):
        return what
    if (named := measure_named(name)).of_two() or named.of_classes():
        return f". Did you mean {name!r}?"
    average = name.rpartition("_")[2]
    if average in _AVERAGES:
        return f". {_AVERAGES[average]}"
    if named.limited() is not None:
        return f". It is a rate to limit, constraint='{known_name(name)} <= 0.1', beside a metric such as 'f1'"
    return did_you_mean(name, [*METRICS, *CONFUSION_METRICS], MEANT)


def _unchanged(name: str) -> str:
    """Explain that no threshold changes a metric, and what to do instead; return "" for other metrics."""
    plain_name = name.removeprefix("neg_")
    for kind, (what, words) in _UNCHANGED.items():
        if any(word in plain_name for word in words):
            return (
                f". {name!r} judges {what}, which no threshold changes: judge bases by it ({kind}), and search for a "
                "metric of decisions, such as 'f1' or 'balanced_accuracy'"
            )
    return ""


def aim(metric: MetricLike, constraint: str | Constraint | None) -> Metric:
    """Combine a metric with its constraint; return the metric itself where there is none."""
    metric = get_metric(metric)
    constraint = constraint_of_truth(metric, get_constraint(constraint))
    return metric if constraint is None else Constrained(metric, constraint)


def constraint_of_truth(metric: object, constraint: Constraint | None) -> Constraint | None:
    """Make a constraint one of the truth where the metric is; it has to hold at both ends of a range of shares."""
    if constraint is None or (truth := truth_of(metric)) is None:
        return constraint
    parts = []
    for part in constraint.parts:
        if truth_of(part.quantity) is not None:
            parts.append(part)
            continue
        # The larger share first: there precision is smallest.
        for end in reversed(truth.extremes):
            quantity = end.like(part.rate).as_ratio
            if quantity is None:
                raise ValueError(
                    f"constraint {constraint}: {part.name} of the truth is no ratio of what labels show; constrain "
                    "precision, recall, fpr, f<beta> or another rate"
                )
            parts.append(replace(part, quantity=quantity))
    return all_of(parts)


def truth_of(metric: object) -> TrueMetric | None:
    """Return the metric of the truth that a metric is, averages or constrains; ``None`` where labels are the truth."""
    return getattr(metric, "truth", None)


def Incomplete(
    metric: MetricLike, *, labelled: float | ArrayLike | None = None, missed: float = 0.0, false: float = 0.0
) -> TrueMetric:
    r"""Make the metric of the truth where labels miss some of the positives, or mark some of the negatives.

    Frauds that nobody noticed, faults that were not reported, relevant pages that nobody judged: a label says
    "negative" for many positives. F1 of such labels is no F1, and its best threshold finds far too little. If labels
    are wrong at random within each class and the rates are known, the metric of the truth follows from the labels, and
    so do its best threshold, its interval, bounds and constraints.

    Parameters
    ----------
    metric : str, Metric or callable
        What is maximised of the truth, as for `csf.CostSearch`: any metric of two classes. For several labels a sample
        ``Averaged(Incomplete("f1", labelled=0.2))``.
    labelled : float or array-like of two floats, default=None
        Share of the positives that are labelled positive, in (0, 1]; no negative is. Of a range ``(0.15, 0.3)`` the
        geometric middle is maximised; intervals reach over the range, and constraints hold at both ends. It has to be
        known from elsewhere: by labelling some rows again, or by an estimate, such as those of the package pulearn.
    missed, false : float, default=0.0
        Share of the positives that are labelled negative, and of the negatives that are labelled positive, in place of
        ``labelled``; together less than 1.

    Returns
    -------
    TrueMetric
        The metric, for ``metric=`` of searches, `csf.tune_threshold`, `csf.metric_interval` and the rest.
        ``constraint="precision >= 0.8"`` beside it is one on the precision of the truth. Reviews, constraints by
        segments and `csf.CostSearch.at_prevalence` need complete labels and are refused.

    Raises
    ------
    ValueError
        If rates are outside their ranges or not given, or costs belong to rows or to a matrix of classes.

    Notes
    -----
    With a share c of the positives labelled, P labelled positives, TP of them found and :math:`\hat P` predicted,

    .. math:: F_1 = \frac{2 TP}{c \hat P + P} = \frac{2}{1 + c} F_\beta, \qquad \beta = 1 / \sqrt{c}

    where the right-hand side is of the labels. So the classifier with the best true F1 is that with the best
    :math:`F_\beta` of the labels; of :math:`F_{\beta'}` it is :math:`\beta^2 = \beta'^2 / c`. Estimates are not clipped
    where they exceed 1, see `csf.metrics.incomplete.TrueRatio`.

    Where positives that are easy to find are labelled more often than others, what is found holds more labels than the
    share c, and the true value is smaller than the estimate. For F1 the order of thresholds then is a little wrong too,
    in the direction of fewer predicted positives than would be best.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> metric = Incomplete("f1", labelled=0.25)
    >>> metric.name
    'true f1 (25 % of the positives labelled)'
    >>> metric.value(fn=0.01, fp=0.05, pos=0.02), 2 / 1.25 * FBeta(beta=2.0).value(fn=0.01, fp=0.05, pos=0.02)
    (0.571, 0.571)
    """
    base = get_quantity(metric)
    if base.truth is not None or base.constraint is not None or cost_matrix_of(base) is not None:
        raise ValueError(
            f"Incomplete takes a metric of two classes without a constraint, got {metric!r}; accepted: a name such as "
            "'f1' or 'gmean', or an object such as csf.metrics.WeightedAccuracy(w_fn=5.0) for costs. A constraint is "
            "given beside it: constraint='precision >= 0.8'"
        )
    return metric_of_truth(base, labelled, missed, false)


def aim_of(search: Estimator) -> Metric:
    """Return the metric of a search or a similar object, under its constraint if it has one."""
    return aim(search.metric, getattr(search, "constraint", None))


# ---------------------------------------------------------------- metrics of several labels


def get_label_metric(metric: object) -> Averaged:
    """Look up the metric of several labels of a name, or return the object itself.

    Parameters
    ----------
    metric : str, Averaged or callable
        Name of a metric of two classes and how it is averaged: ``"f1_macro"``, ``"f2_micro"``, ``"f1_samples"``,
        ``"gmean_macro"``; or a function or scorer of scikit-learn with the values of such a metric.

    Returns
    -------
    Averaged
        The metric.

    Raises
    ------
    ValueError
        If it is not defined for several labels.

    Examples
    --------
    >>> get_label_metric("f2_macro")
    Averaged(metric=FBeta(beta=2.0), average='macro', null=None)
    """
    if isinstance(metric, Averaged):
        if metric.null is not None:
            raise ValueError(f"null={metric.null!r} is a class, and y has several labels a sample; leave it out")
        return metric
    name, base, average = _parts(metric)
    if _is_function(metric):
        known = _label_metric_of(metric)
        if known is None:
            raise ValueError(
                f"metric={metric!r} has the values of no mean over labels or samples that csf knows, and y has several "
                f"columns; write 'f1_macro' {_OF_LABELS}, or csf.metrics.Averaged(csf.metrics.get_metric(function)) "
                "for a function of a single label"
            )
        return known
    if average not in AVERAGES:
        if isinstance(name, str) and measure_named(name).of_two() is None:
            raise ValueError(f"metric={metric!r} is unknown for several labels; write 'f1_macro' {_OF_LABELS}")
        raise ValueError(
            f"metric={metric!r} is one of a single label, with y a 1d array, and y has several columns; write "
            f"'{name or 'f1'}_macro' {_OF_LABELS}, or csf.metrics.Averaged(metric) for an object"
        )
    return Averaged(get_metric(base), average)


_OF_LABELS = (
    "for the mean over labels, 'f1_micro' for the F-measure of all labels together, 'f1_samples' for the mean over "
    "samples, or 'accuracy_micro', which is 1 less the Hamming loss"
)


@_remembered
def _label_metric_of(function: Function) -> Averaged | None:
    """Find the metric of several labels of a function or scorer of scikit-learn, by its name and some of its values."""
    parts, rng = scorer_parts(function), np.random.default_rng(0)
    call = (
        LabelFunction(function)
        if parts is None
        else LabelFunction(partial(parts.function, **parts.options), parts.sign)
    )
    base, _, average = _name_of(function).rpartition("_")
    # A sample and a label without any, and predictions of both kinds.
    truth, pred = (rng.random((2, 16, 4)) < 0.4) * 1
    truth[:2], pred[0], truth[:, 0], truth[:, 1], pred[:, 1] = 0, 0, 0, 0, 0
    weight = rng.uniform(0.5, 2.0, 16)
    one, is_of_labels = measure_named(base).of_two(), parts is None or parts.response == "predict"
    for other in EMPTY if average in EMPTY else [average]:
        if other in AVERAGES and one is not None and is_of_labels:
            metric = Averaged(one, other)
            if np.isclose(call.of(truth, pred, weight), metric.of(truth, pred, weight)):
                return metric
    return None


def is_label_metric(metric: object) -> bool:
    """Check whether a metric includes an average over labels."""
    return _parts(metric)[2] in AVERAGES


def _parts(metric: object) -> tuple[Any, str, str]:
    """Split the name of a metric into the name, the averaged metric and the average."""
    # Averages over classes, which objects of that name are, are averages over labels here.
    name = metric if isinstance(metric, str) else getattr(metric, "name", None)
    base, _, average = name.rpartition("_") if isinstance(name, str) else ("", "", "")
    return name, base, average
