"""Names of measures: the one table of their metrics, other names, and the limits that make sense."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from csf.metrics import binary, confusion
from csf.metrics.averages import OF_CLASSES, Averaged
from csf.metrics.base import LinearFractional, Metric
from csf.metrics.concave import GMean, HMean, MinRate, QMean
from csf.metrics.confusion import ConfusionMetric


class NamedMeasure(NamedTuple):
    """Measure that has a name, as a metric of two classes, of any number of them, or of both.

    Attributes
    ----------
    make_of_two, make_of_classes : callable or None
        What makes the metric of two classes, and that of any number of classes.
    other_names : str
        Further names that are accepted, divided by spaces.
    sides : tuple of {">=", "<="}
        On which sides a constraint on the rate makes sense; what can be limited from above is not maximised.
    """

    make_of_two: Callable[[], Metric] | None = None
    make_of_classes: Callable[[], ConfusionMetric] | None = None
    other_names: str = ""
    sides: tuple[str, ...] = ()

    def of_two(self) -> Metric | None:
        """Make the metric of two classes to maximise, if there is one."""
        return None if self.make_of_two is None or "<=" in self.sides else self.make_of_two()

    def of_classes(self) -> ConfusionMetric | None:
        """Make the metric of any number of classes, if there is one."""
        return None if self.make_of_classes is None else self.make_of_classes()

    def limited(self) -> LinearFractional | None:
        """Make the rate that can be constrained, if there is one."""
        rate = self.make_of_two() if self.make_of_two is not None and self.sides else None
        return None if rate is None else rate.as_ratio


_AT_LEAST, _AT_MOST = (">=",), ("<=",)
# The statistic of Kolmogorov and Smirnov is the informedness at the best threshold.
_YOUDEN = "bookmaker_informedness youden youden_j youdens_j youden_index true_skill_statistic tss ks"

MEASURES = {
    "f1": NamedMeasure(binary.FBeta, None, "dice", _AT_LEAST),
    "f2": NamedMeasure(partial(binary.FBeta, 2.0), sides=_AT_LEAST),
    "f0.5": NamedMeasure(partial(binary.FBeta, 0.5), sides=_AT_LEAST),
    "jaccard": NamedMeasure(binary.Jaccard, None, "iou threat_score critical_success_index csi", _AT_LEAST),
    "tversky": NamedMeasure(binary.Tversky),
    "gower_legendre": NamedMeasure(binary.GowerLegendre),
    "f1_macro": NamedMeasure(None, partial(Averaged, binary.FBeta()), "macro_f1"),
    "f2_macro": NamedMeasure(None, partial(Averaged, binary.FBeta(2.0))),
    "f0.5_macro": NamedMeasure(None, partial(Averaged, binary.FBeta(0.5))),
    "f1_micro": NamedMeasure(None, partial(Averaged, binary.FBeta(), "micro"), "micro_f1"),
    "f1_weighted": NamedMeasure(None, partial(Averaged, binary.FBeta(), "weighted")),
    "jaccard_macro": NamedMeasure(None, partial(Averaged, binary.Jaccard())),
    "accuracy": NamedMeasure(binary.WeightedAccuracy, confusion.ConfusionAccuracy, sides=_AT_LEAST),
    "balanced_accuracy": NamedMeasure(binary.BalancedAccuracy, confusion.BalancedAccuracyOfClasses, sides=_AT_LEAST),
    "precision": NamedMeasure(binary.Precision, None, "ppv positive_predictive_value", _AT_LEAST),
    "recall": NamedMeasure(binary.Recall, None, "sensitivity tpr true_positive_rate", _AT_LEAST),
    "specificity": NamedMeasure(binary.Specificity, None, "selectivity tnr true_negative_rate", _AT_LEAST),
    "npv": NamedMeasure(binary.NegativePredictiveValue, None, "negative_predictive_value", _AT_LEAST),
    "gmean": NamedMeasure(GMean, confusion.GMeanOfClasses, "geometric_mean"),
    "hmean": NamedMeasure(HMean, None, "harmonic_mean"),
    "qmean": NamedMeasure(QMean, None, "quadratic_mean"),
    "min_rate": NamedMeasure(MinRate),
    "cohen_kappa": NamedMeasure(
        binary.CohenKappa, confusion.KappaOfClasses, "kappa cohens_kappa heidke_skill_score hss"
    ),
    "mcc": NamedMeasure(
        binary.MCC, confusion.MCCOfClasses, "matthews matthews_correlation matthews_corrcoef phi phi_coefficient"
    ),
    "quadratic_kappa": NamedMeasure(None, confusion.WeightedKappa, "qwk"),
    "linear_kappa": NamedMeasure(None, partial(confusion.WeightedKappa, "linear")),
    "fowlkes_mallows": NamedMeasure(binary.FowlkesMallows, None, "fmi fowlkes_mallows_index"),
    "informedness": NamedMeasure(binary.Informedness, None, _YOUDEN, _AT_LEAST),
    "fpr": NamedMeasure(binary.FalsePositiveRate, None, "false_positive_rate fall_out", _AT_MOST),
    "fnr": NamedMeasure(binary.FalseNegativeRate, None, "false_negative_rate miss_rate", _AT_MOST),
    "predicted_positive_rate": NamedMeasure(
        binary.PredictedPositiveRate, None, "predicted_rate selection_rate", (*_AT_LEAST, *_AT_MOST)
    ),
}

METRICS: dict[str, Callable[[], Metric]] = {
    name: measure.make_of_two
    for name, measure in MEASURES.items()
    if measure.make_of_two is not None and "<=" not in measure.sides
}
# Metrics of any number of classes. A name that is in `METRICS` too stands for either, by the number of classes.
CONFUSION_METRICS: dict[str, Callable[[], ConfusionMetric]] = {
    name: measure.make_of_classes for name, measure in MEASURES.items() if measure.make_of_classes is not None
}
# What can be constrained, and what of it is a ratio of sums over samples.
RATES = {name: rate for name, measure in MEASURES.items() if (rate := measure.limited()) is not None}
RATIOS = tuple(name for name, rate in RATES.items() if rate.terms() is not None)

# Another name -> the name in csf.
SYNONYMS = {other: name for name, measure in MEASURES.items() for other in measure.other_names.split()}
# What may be meant by other spellings, and by metrics that csf has in another form: for messages, letters alone.
MEANT = {other.replace("_", ""): name for other, name in SYNONYMS.items()}
MEANT |= {"fbeta": "f2", "weightedkappa": "quadratic_kappa", "sumsensspec": "balanced_accuracy"}

_F_BETA = re.compile(r"f(\d+(?:\.\d*)?|\.\d+)")


def known_name(name: str) -> str:
    """Return the name in csf of another one; others unchanged.

    Examples
    --------
    >>> known_name("sensitivity"), known_name("f2")
    ('recall', 'f2')
    """
    return SYNONYMS.get(name, name)


def measure_named(name: str) -> NamedMeasure:
    """Look up what a name stands for, ``f<beta>`` and ``<ratio>_<average>`` too; nothing for unknown names."""
    name = known_name(name)
    if name in MEASURES:
        return MEASURES[name]
    if (match := _F_BETA.fullmatch(name)) is not None and float(match[1]) > 0.0:
        return NamedMeasure(partial(binary.FBeta, float(match[1])), sides=_AT_LEAST)
    base, _, average = name.rpartition("_")
    metric = measure_named(base).of_two() if base and average in OF_CLASSES else None
    if metric is None or metric.terms() is None:
        return NamedMeasure()
    return NamedMeasure(None, partial(Averaged, metric, average))
