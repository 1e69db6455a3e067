"""Thresholds for scores without a model: scores of human raters, queries, rules or networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin

from csf._common.dtypes import is_number
from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Keywords, Label, PathLike, RandomState_, Samples
from csf._common.validation import check_labels, float_columns, warn_of_order
from csf.data.labels import read_labels
from csf.search.config import SearchConfig
from csf.search.estimator import CostSearch
from csf.thresholding.band import ConfidenceBand

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint
    from csf.metrics.registry import MetricLike
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.curve import ThresholdCurve
    from csf.thresholding.linear_rule import ClassProbabilityRule

# Probability with which all bounds of a band hold.
CONFIDENCE = 0.9
# Rows of probabilities sum to 1 up to the rounding of single precision and of printed digits.
_SUM = 1e-3
# Standard errors by which the area under a ROC curve is below 0.5 where scores are taken for reversed.
_CLEARLY, _MANY = 4.0, 100_000


class _Given(ClassifierMixin, BaseEstimator):
    """Fitted classifier whose samples are the scores of a model."""

    def __init__(self, classes: Any, positive: Label = None) -> None:
        self.classes, self.positive = classes, positive

    @property
    def classes_(self) -> Array:
        """Sorted labels, in the order of the columns."""
        return np.asarray(self.classes)

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Return the classifier unchanged."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class GivenScores(_Given):
    """Classifier whose samples are scores: one column for two classes, else one for each class."""

    def decision_function(self, X: Samples) -> Array:
        """Return the scores; for two classes those of the second one."""
        X = np.asarray(X)
        if X.shape[1] > 1:
            return X
        return -X[:, 0] if self.positive == self.classes_[0] else X[:, 0]


class GivenProbabilities(_Given):
    """Classifier whose samples are probabilities, one column for each class."""

    def predict_proba(self, X: Samples) -> Array:
        """Return the probabilities."""
        return np.asarray(X)


@dataclass(frozen=True, eq=False)
class Decision:
    """Threshold on given scores, and the value to expect of it.

    Parameters
    ----------
    search : CostSearch
        The search for it, with all that is known: ``search.report``, `csf.export`, `csf.plots`.
    """

    search: CostSearch

    def __repr__(self) -> str:
        how = "rule" if hasattr(self.search, "rule_") else f"threshold={self.threshold:.4g}"
        how = f"thresholds={self.thresholds}" if self.thresholds else how
        low, high = self.interval
        certified = "" if self.certificate is None else f", certified={self.certificate.holds}"
        return f"Decision({how}, value={self.value:.4g}, interval=({low:.4g}, {high:.4g}){certified})"

    @property
    def threshold(self) -> float:
        """Smallest score that is predicted positive; for three and more classes see `rule`."""
        return self.search.best_threshold_

    @property
    def thresholds(self) -> dict[Label, float]:
        """Smallest score that is predicted positive in each segment; empty without a constraint by segments."""
        return getattr(self.search, "thresholds_", {})

    @property
    def rule(self) -> ClassProbabilityRule:
        """Decision rule on the scores of three and more classes."""
        return self.search.rule_

    @property
    def value(self) -> float:
        """Value of the metric to expect on new data; ``search.best_score_`` is the value on these samples."""
        return self.search.corrected_score_

    @property
    def interval(self) -> tuple[float, float]:
        """90 % interval of `value`."""
        return self.search.score_interval_

    @property
    def certificate(self) -> Guarantee | None:
        """Certificate of the threshold; ``None`` without ``confidence``."""
        return getattr(self.search, "guarantee_", None)

    @property
    def curve(self) -> ThresholdCurve:
        """All thresholds on these samples."""
        return self.search.held_out_curve()

    def predict(
        self,
        score: ArrayLike,
        at_most: float | Mapping[Label, float] | None = None,
        *,
        wrong_at_most: float | Mapping[Label, float] | None = None,
        by: ArrayLike | None = None,
    ) -> Array:
        """Predict the labels of new samples from their scores; the options are those of `csf.CostSearch.predict`."""
        X, given = _columns(score, self.search.classes_, by=by), {} if by is None else {"by": by}
        return self.search.predict(X, at_most=at_most, wrong_at_most=wrong_at_most, **given)

    def report(self, path: PathLike, **options: Any) -> None:
        """Write a report as one page for a browser, see `csf.CostSearch.report`."""
        self.search.report(path, **options)


def tune_threshold(
    y: ArrayLike,
    score: ArrayLike,
    metric: MetricLike = SearchConfig.metric,
    *,
    constraint: str | Constraint | None = SearchConfig.constraint,
    confidence: float | None = SearchConfig.confidence,
    calibration: float | Literal["cross-fit"] | None = SearchConfig.calibration,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label = SearchConfig.pos_label,
    random_state: RandomState_ = SearchConfig.random_state,
) -> Decision:
    """Choose the best threshold on given scores for a metric, and estimate its value on new data.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels.
    score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores, larger for samples that look positive; of three and more classes a column for each: a frame's by their
        names, others in the order of the sorted labels. What gave them has not been fitted to these samples.
    metric, constraint, confidence, calibration
        As for `csf.CostSearch`, which this is with ``cv="prefit"``, for a model that nobody has: a threshold is tested
        on all samples.
    by : array-like of shape (n_samples,), default=None
        Segments of a constraint such as ``"recall gap <= 0.05 by sex"``.
    groups : array-like of shape (n_samples,), default=None
        Which samples belong together, such as those of one customer.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0; whole numbers count equal samples.
    pos_label, random_state
        As for `csf.CostSearch`.

    Returns
    -------
    Decision
        ``threshold``, ``value``, ``interval``, ``certificate``, ``curve``, ``predict(score)`` and ``report(path)``.

    Raises
    ------
    ValueError
        If labels or scores cannot be used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(500) < 100
    >>> decision = tune_threshold(y, rng.normal(size=500) + 2 * y, "f1")
    >>> decision.threshold, decision.value, decision.interval
    (1.24, 0.732, (0.683, 0.781))
    >>> decision.predict([0.4, 1.4])
    array([False,  True])
    """
    rows = {name: values for name, values in (("by", by), ("groups", groups)) if values is not None}
    warn_of_order(y=y, score=score, sample_weight=sample_weight, **rows)
    labels, known = check_labels(y)
    X = _scores(score, len(labels), known)
    if X.shape[1] == 1:
        base = GivenScores(known, _positive_of(y, pos_label, X[:, 0]))
    else:  # other scores than probabilities are calibrated
        are_probabilities = (X >= 0.0).all() and np.abs(X.sum(axis=1) - 1.0).max() <= _SUM
        base = (GivenProbabilities if are_probabilities else GivenScores)(known)
    options: Keywords = {"metric": metric, "constraint": constraint, "confidence": confidence}
    options |= {"calibration": calibration, "pos_label": pos_label, "random_state": random_state}
    search = CostSearch(base, cv="prefit", **options)
    return Decision(search.fit(X, y, sample_weight, **rows))


def certify(
    y: ArrayLike, score: ArrayLike, confidence: float = CONFIDENCE, *, pos_label: Label = SearchConfig.pos_label
) -> ConfidenceBand:
    """Bound all rates and metrics at all thresholds of given scores, so that they hold together on new data.

    Look at the scores first, and ask for any number of demands after that: with the confidence all that the band says
    is true. One demand that was named before the data were seen is tested more sharply by `csf.tune_threshold` with
    ``confidence``.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels of two classes, of samples drawn by chance from those that come; weights and groups have no band.
    score : array-like of shape (n_samples,)
        Scores, larger for positives, of a model that was fitted to other samples.
    confidence : float, default=0.9
        Probability that all bounds hold, in (0, 1).
    pos_label : label, default=None
        Positive class, as for `csf.CostSearch`.

    Returns
    -------
    ConfidenceBand
        ``best(metric, demands)``, ``at(threshold)``, ``holds(demands, threshold)`` and ``worst(metric)``.

    Raises
    ------
    ValueError
        If labels or scores cannot be used, or the confidence is not in (0, 1).

    Examples
    --------
    >>> rng, y = np.random.default_rng(0), np.arange(2000) < 300
    >>> band = certify(y, rng.normal(size=2000) + 2 * y)
    >>> band.best("recall", "precision >= 0.5")
    CertifiedThreshold(threshold=1.33, value=0.642, holds=True)
    >>> band.holds("gmean >= 0.75, fpr <= 0.3", 1.0)
    True
    """
    warn_of_order(y=y, score=score)
    labels, known = check_labels(y)
    if known.size != 2:
        raise ValueError(
            f"y must have two classes, got {known.tolist()}; of one against the rest give certify(y == label, score)"
        )
    _, code = read_labels(y, pos_label=pos_label)
    (values,) = _scores(score, len(labels), known).T
    _warn_of_reversed(code > 0, values)
    return ConfidenceBand(code > 0, values, confidence)


def _positive_of(y: ArrayLike, pos_label: Label, score: Array) -> Label:
    """Read the positive class; warn where its scores are the smaller ones."""
    labels, code = read_labels(y, pos_label=pos_label)
    _warn_of_reversed(code > 0, score)
    return labels.positive


def _warn_of_reversed(is_pos: BoolArray, score: Array) -> None:
    """Warn where positives have smaller scores than negatives, by more than chance explains."""
    # A hundred thousand of each class show what chance cannot.
    places = (np.flatnonzero(of_class) for of_class in (is_pos, ~is_pos))
    positives, negatives = (score[rows[:: max(rows.size // _MANY, 1)]] for rows in places)
    n_pos, n_neg = positives.size, negatives.size
    area = (rankdata(np.concatenate([positives, negatives]))[:n_pos].mean() - 0.5 * (n_pos + 1)) / n_neg
    if area < 0.5 - _CLEARLY * np.sqrt((1.0 / n_pos + 1.0 / n_neg) / 12.0):
        warn(
            f"the scores of positives are smaller than those of negatives (area under the ROC curve {area:.2f}), and a "
            "threshold predicts positive where scores are large; give -score, or the other pos_label"
        )


def _columns(score: ArrayLike, classes: Array, **rows: object) -> Array:
    """Arrange scores as columns: one for two classes, else one for each class, in the order of these by name."""
    X, width = float_columns(score, classes.tolist(), "score", **rows), 1 if classes.size == 2 else classes.size
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.shape[1] != width:
        wanted = "(n_samples,)" if width == 1 else f"(n_samples, {width}), a column for each class"
        hint = "; give the one of the positive class, such as score[:, 1]" if width == 1 and X.shape[1:] == (2,) else ""
        raise ValueError(f"score must have shape {wanted} of {classes.tolist()}, got {X.shape}{hint}")
    missing = int(np.isnan(X).any(axis=1).sum())
    if missing:
        raise ValueError(f"score contains NaN in {missing} of {len(X)} samples; drop these, or give them a score")
    return X


def _scores(score: ArrayLike, n_samples: int, classes: Array) -> Array:
    """Arrange scores as columns; raise a ValueError where no threshold can separate them."""
    X = _columns(score, classes)
    if len(X) != n_samples:
        raise ValueError(f"score has {len(X)} samples, and y {n_samples}; give one score for each label")
    different = np.array([X.min(), X.max()])
    if different[0] == different[1]:
        raise ValueError(f"score is {different[0]:g} for all samples: no threshold separates any of them")
    are_labels = X.shape[1] == 1 and is_number(classes) and np.isin(different, classes).all()
    if are_labels and np.isin(X[:, 0], different).all():
        raise ValueError(
            f"score holds the labels {different.tolist()} alone, which are decisions already; give scores or "
            "probabilities. What decisions are worth says csf.metric_interval(y, pred)"
        )
    return X
