"""Display of a metric, precision, recall and the share predicted positive, against the threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import last_step, num_samples, safe_indexing
from csf._common.typing import Array, Estimator, IntArray, Label, Samples
from csf._common.validation import check_binary_target, check_class_weights, check_weights
from csf.data.responses import DECISION_FIRST, PROBABILITIES_FIRST, positive_score
from csf.metrics import Constrained, Precision, PredictedPositiveRate, Recall, get_metric
from csf.metrics.registry import aim_of
from csf.plots.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, Display, tidy
from csf.search.kinds import is_search
from csf.thresholding.curve import sweep, threshold_curve
from csf.thresholding.rule import ThresholdClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve

_COMPANIONS: dict[str, Any] = {
    "precision": Precision(),
    "recall": Recall(),
    "predicted positive": PredictedPositiveRate(),
}
_NAMES = {rate: name for name, rate in _COMPANIONS.items()}
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 9, "pad": 24}
_LEGEND: dict[str, Any] = {"fontsize": 8.5, "columnspacing": 1.0, "handlelength": 1.5, "handletextpad": 0.4}
_STYLES = {"precision": (GREEN, "--"), "recall": (ORANGE, "-."), "predicted positive": (GREY, ":")}
# Rounding of a rate that just satisfies a demand.
_SLACK = 1e-9
# Enough for any screen, few enough for a vector graphic.
N_DRAWN = 500
TAIL = 0.02


@dataclass(kw_only=True, eq=False, repr=False)
class ThresholdCurveDisplay(Display):
    """Metric, precision, recall and share predicted positive, against the threshold on a score.

    It is recommended to use `from_estimator`, `from_cv_results`, `from_predictions` or `from_curves` to create a
    display. All parameters are stored as attributes.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Finite thresholds, decreasing.
    values : ndarray of shape (n_thresholds,)
        Metric at each of them.
    companions : dict of str to ndarray of shape (n_thresholds,)
        Further rates at each of them, by name.
    threshold, value : float, default=None
        The chosen threshold, maybe infinite, and the metric there; ``None`` marks nothing.
    threshold_interval : tuple of float, default=None
        Where the best threshold is by these data, with ends that may be infinite.
    fold_values : ndarray of shape (n_folds, n_thresholds), default=None
        Metric of each held-out fold.
    fold_thresholds : ndarray of shape (n_folds,), default=None
        Best threshold of each fold.
    metric_name : str, default="metric"
        Name of the metric.
    demands : sequence of tuple, default=()
        ``(rate, side, level)`` of each constraint, of which ``rate`` is a key of ``companions``, with the value of the
        rate at the threshold as a fourth entry.
    name : str, default=None
        Name of the classifier, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The metric.
    companion_lines_ : dict of str to Line2D
        The further rates.
    fill_between_ : matplotlib PolyCollection or None
        From the lowest to the highest fold.
    threshold_line_, fold_marks_ : matplotlib artists or None
        The chosen threshold, and those of the folds at the foot of the axes.
    interval_ : matplotlib Polygon or None
        The interval of the threshold.
    demand_lines_ : list of matplotlib Line2D
        Levels of the constraints.

    Examples
    --------
    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display = ThresholdCurveDisplay.from_curves(curve, "f1")
    >>> display.thresholds, display.values
    (array([0.6  , 0.375, 0.225]), array([0.667, 0.5  , 0.8  ]))
    """

    thresholds: Array
    values: Array
    companions: dict[str, Array]
    threshold: float | None = None
    value: float | None = None
    threshold_interval: tuple[float, float] | None = None
    fold_values: Array | None = None
    fold_thresholds: Array | None = None
    metric_name: str = "metric"
    demands: Sequence[tuple[str, str, float, float]] = ()
    name: str | None = None

    # Name of the horizontal axis.
    axis_name = "threshold: predict positive from this score on"

    @classmethod
    def from_curves(
        cls,
        curve: ThresholdCurve,
        metric: str | Metric = "f1",
        *,
        threshold: float | None = None,
        threshold_interval: tuple[float, float] | None = None,
        fold_curves: Sequence[ThresholdCurve] = (),
        fold_thresholds: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw threshold curves that were computed before.

        Parameters
        ----------
        curve : ThresholdCurve
            All thresholds on a score.
        metric : str or Metric, default="f1"
            What to draw besides precision, recall and the share predicted positive.
        threshold : float, default=None
            Threshold to mark; ``None`` marks the best for the metric.
        threshold_interval : tuple of float, default=None
            Interval of it to mark.
        fold_curves : sequence of ThresholdCurve, default=()
            Curves of held-out folds, in the same units.
        fold_thresholds : array-like of shape (n_folds,), default=None
            Threshold of each fold; ``None`` marks the best for the metric.
        name : str, default=None
            Title.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ThresholdCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If all scores are equal, so that no finite threshold exists.
        """
        data = _curve_data(curve, get_metric(metric), threshold, fold_curves, fold_thresholds)
        display = cls(**data, threshold_interval=threshold_interval, name=name)
        return display.plot(ax, **plot_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        metric: str | Metric = "f1",
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the thresholds of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_score : array-like of shape (n_samples,)
            Scores, larger for the positive class.
        metric : str or Metric, default="f1"
            What to draw besides precision, recall and the share predicted positive.
        threshold : float, default=None
            Threshold to mark; ``None`` marks the best for the metric.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
        name : str, default=None
            Title.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ThresholdCurveDisplay
            The display, drawn.
        """
        curve = threshold_curve(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)
        return cls.from_curves(curve, metric, threshold=threshold, name=name, ax=ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        metric: str | Metric | None = None,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the thresholds on a fitted classifier's score.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier; of `CostSearch`, `PlugInClassifier` and the like the score that their threshold is for,
            with their metric, constraint and threshold.
        X : array-like of shape (n_samples, n_features), default=None
            Data. ``None`` shows the pooled out-of-fold scores that the classifier was tuned on: of a `CostSearch` those
            of the winner with the 90 % interval of its threshold, of a `PlugInClassifier` with its folds.
        y : array-like of shape (n_samples,), default=None
            Labels.
        metric : str or Metric, default=None
            ``None`` takes the classifier's own, or ``"f1"``.
        threshold : float, default=None
            Threshold to mark; ``None`` takes the classifier's own, or the best for the metric on these data.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means that of the classifier, or 1 for labels {0, 1} or {-1, 1}.
        name : str, default=None
            Title; ``None`` takes the name of the class.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ThresholdCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are no data and the classifier keeps no curve.
        TypeError
            If it has no score of one positive class.
        """
        check_is_fitted(estimator)
        name = type(estimator).__name__ if name is None else name
        searched, given = is_search(estimator), estimator
        if searched and not estimator.result_.has_threshold:
            estimator.result_.study()  # which says what there is to draw
        tuned = isinstance(given, ThresholdClassifier) and not searched
        if tuned or searched:
            metric = aim_of(estimator) if metric is None else metric
            threshold = estimator.best_threshold_ if threshold is None else threshold
        if tuned:
            pos_label = estimator.pos_label_
        options = {"threshold": threshold, "name": name, "ax": ax} | plot_kwargs
        metric = "f1" if metric is None else metric
        if X is None and y is None and tuned:
            folds = {"fold_curves": estimator.fold_curves_, "fold_thresholds": estimator.fold_thresholds_}
            return cls.from_curves(estimator.curve_, metric, **folds, **options)
        if X is None and y is None and searched and threshold is not None:
            # Of many rows on a cluster no scores are kept.
            found = getattr(estimator, "threshold_interval_", None) if threshold == estimator.best_threshold_ else None
            return cls.from_curves(estimator.held_out_curve(), metric, threshold_interval=found, **options)
        if X is None or y is None:
            raise ValueError(f"give X and y: {name} keeps no scores of its own to draw")
        if searched:
            return cls.from_curves(estimator.threshold_curve(X, y, sample_weight), metric, **options)
        if tuned:
            score = estimator.positive_score(X)
        else:
            _, _, pos_label = check_binary_target(y, pos_label)
            score = positive_score(estimator, X, pos_label, PROBABILITIES_FIRST)
        weight = check_weights(sample_weight, num_samples(X), X=X, y=y)
        return cls.from_predictions(
            np.asarray(y), score, metric=metric, sample_weight=weight, pos_label=pos_label, **options
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Samples,
        y: ArrayLike,
        *,
        metric: str | Metric | None = None,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw the thresholds of cross-validated classifiers on the data that each of them has not seen.

        Scores of `CostSearch`, `PlugInClassifier` and the like, alone or at the end of pipelines, count from
        the threshold of each model: 0 is what they chose. The marks at the bottom show where each fold had its best
        threshold.

        Parameters
        ----------
        cv_results : dict
            Result of `sklearn.model_selection.cross_validate` with ``return_estimator=True`` and
            ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            The data that were cross-validated.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        metric : str or Metric, default=None
            ``None`` takes the classifiers' own, or ``"f1"``.
        threshold : float, default=None
            Threshold to mark; ``None`` marks the classifiers' own, 0, or for others the best of the pooled scores.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means that of the classifiers, or 1 for labels {0, 1} or {-1, 1}.
        name : str, default=None
            Title; ``None`` takes the name of the class and the number of models.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ThresholdCurveDisplay
            The display, drawn. Its ``value`` at 0 is the metric of all held-out predictions together.

        Raises
        ------
        ValueError
            If ``cv_results`` lacks the models or their parts of the data, or there are not two classes.
        TypeError
            If the classifiers have no score of one positive class.
        """
        found = held_out(cv_results, X, y, sample_weight, pos_label)
        model, n_models = found.model, len(cv_results["estimator"])
        name = f"{type(model).__name__}, {n_models} models" if name is None else name
        options = {"fold_curves": found.fold_curves, "name": name, "ax": ax, "threshold": threshold} | plot_kwargs
        if not found.from_cut:
            return cls.from_curves(found.curve, "f1" if metric is None else metric, **options)
        if metric is None:
            metric = aim_of(model)
        options["threshold"] = 0.0 if threshold is None else threshold
        display = cls.from_curves(found.curve, metric, **options)
        display.axis_name = "threshold, minus that of each model"
        display.ax_.set_xlabel(display.axis_name)
        return display

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        fill_between_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curves and the chosen threshold.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kwargs : dict, default=None
            Arguments of ``Axes.plot`` for the metric.
        fill_between_kwargs : dict, default=None
            Arguments of ``Axes.fill_between`` for the folds.

        Returns
        -------
        ThresholdCurveDisplay
            The display itself.
        """
        ax = self._begin(ax)
        self.fill_between_ = self.fold_marks_ = None
        if self.fold_values is not None:
            self._draw_folds(ax, fill_between_kwargs or {})
        self.companion_lines_ = {}
        for key, values in self.companions.items():
            color, style = _line_style(key)
            style = {"color": color, "linestyle": style, "linewidth": 1.4, "label": key}
            (self.companion_lines_[key],) = ax.plot(self.thresholds, values, **style)
        style = {"color": BLUE, "linewidth": 2.2, "label": self.short_name, "zorder": 3}
        (self.line_,) = ax.plot(self.thresholds, self.values, **(style | (line_kwargs or {})))
        ax.set(xlabel=self.axis_name, ylabel="value")
        ax.set_title(self.name or "", **_TITLE)
        everything = np.concatenate([self.values, *self.companions.values()])
        if everything.min() >= 0.0 and everything.max() <= 1.0:
            ax.set_ylim(0.0, 1.02)
        if self.thresholds[-1] < self.thresholds[0]:
            ax.set_xlim(self.thresholds[-1], self.thresholds[0])
        tidy(ax)
        self._draw_demands(ax)
        self.threshold_line_ = self.label_ = self.interval_ = None
        if self.threshold is not None and self.value is not None:
            self._mark(ax, self.threshold, self.value)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=5, **_LEGEND)
        return self

    @property
    def short_name(self) -> str:
        """Name of the metric without its constraints."""
        return self.metric_name.partition(",")[0] if self.demands else self.metric_name

    def _draw_demands(self, ax: Axes) -> None:
        """Draw the levels of the constraints in the colours of their rates."""
        self.demand_lines_ = [
            ax.axhline(level, color=_line_style(rate)[0], linewidth=0.8, linestyle=(0, (1, 3)))
            for rate, _, level, _ in self.demands
        ]

    def _draw_folds(self, ax: Axes, fill_between_kwargs: dict[str, Any]) -> None:
        """Draw the range from the lowest to the highest fold, and the folds' thresholds at the foot of the axes."""
        folds, thresholds, marks = self.fold_values, self.thresholds, self.fold_thresholds
        assert folds is not None, "asked for where there are folds"
        style = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": f"{len(folds)} folds"}
        lowest, highest = folds.min(axis=0), folds.max(axis=0)
        self.fill_between_ = ax.fill_between(thresholds, lowest, highest, **(style | fill_between_kwargs))
        if marks is None:
            return
        inside = marks[(marks >= thresholds[-1]) & (marks <= thresholds[0])]
        style = {"color": BLUE, "marker": "|", "markersize": 9, "markeredgewidth": 1.6, "linestyle": "none"}
        transform = ax.get_xaxis_transform()
        (self.fold_marks_,) = ax.plot(inside, np.full(inside.shape, 0.02), transform=transform, **style)

    def _mark(self, ax: Axes, threshold: float, value: float) -> None:
        """Mark the chosen threshold, its interval and its value; an infinite threshold is only written down."""
        text = f"{self.short_name} = {value:.3f} at threshold {threshold:.3g}"
        if np.isfinite(threshold):
            self.threshold_line_ = ax.axvline(threshold, color=VERMILLION, linewidth=1.2, zorder=2)
            ax.plot([threshold], [value], "o", color=VERMILLION, markersize=6, zorder=4)
        else:
            text += ": " + ("nothing is positive" if threshold > 0 else "everything is positive")
        if self.threshold_interval is not None and not np.isnan(self.threshold_interval).any():
            low, high = self.threshold_interval
            ends = max(low, self.thresholds[-1]), min(high, self.thresholds[0])
            self.interval_ = ax.axvspan(*ends, color=VERMILLION, alpha=0.12, linewidth=0, zorder=0)
            text += f"\n90 % interval of the best threshold: {low:.3g} to {high:.3g}"
        for rate, side, level, seen in self.demands:
            holds = seen >= level - _SLACK if side == ">=" else seen <= level + _SLACK
            verdict = "holds" if holds else "does not hold (infeasible)"
            text += f"\n{rate} = {seen:.3g}: {rate} {side} {level:g} {verdict}"
        self.label_ = ax.set_title(text if not self.name else f"{self.name}: {text}", **_TITLE)


def _line_style(rate: str) -> tuple[str, str]:
    """Return the colour and dash pattern of a rate."""
    return _STYLES.get(rate, (PURPLE, "--"))


def _curve_data(
    curve: ThresholdCurve,
    metric: Metric,
    threshold: float | None,
    fold_curves: Sequence[ThresholdCurve],
    fold_thresholds: ArrayLike | None,
) -> dict[str, Any]:
    """Compute the arrays of a `ThresholdCurveDisplay`, see `ThresholdCurveDisplay.from_curves`."""
    constraint = metric.constraint
    if curve.thresholds.shape[0] < 3:
        raise ValueError("all scores are equal: there is no threshold between them to draw")
    threshold = curve.best(metric, constraint).threshold if threshold is None else threshold
    parts = () if constraint is None else constraint.parts
    aim = metric.metric if isinstance(metric, Constrained) else metric
    demanded = {part.quantity.name: part.quantity for part in parts if part.quantity not in _NAMES}
    # What is maximised needs no second line.
    rates = {key: rate for key, rate in (_COMPANIONS | demanded).items() if rate != aim}
    cuts, chosen = _drawn_cuts(curve, threshold), curve.at(threshold)
    fn, fp, thresholds = curve.fn[cuts], curve.fp[cuts], curve.thresholds[cuts]
    named = [(_NAMES.get(part.quantity, part.quantity.name), part) for part in parts]
    data = {
        "thresholds": thresholds,
        "values": metric.value(fn, fp, pos=curve.pos),
        "companions": {key: rate.value(fn, fp, pos=curve.pos) for key, rate in rates.items()},
        "threshold": float(threshold),
        "value": metric.of(chosen),
        "metric_name": metric.name,
        "demands": [(key, part.side, part.level, part.rate.of(chosen)) for key, part in named],
    }
    if not len(fold_curves):
        return data
    at = [(fold, fold.cuts_at(thresholds)) for fold in fold_curves]
    if fold_thresholds is None:
        fold_thresholds = [fold.best(metric, constraint).threshold for fold in fold_curves]
    return data | {
        "fold_values": np.array([metric.value(fold.fn[i], fold.fp[i], pos=fold.pos) for fold, i in at]),
        "fold_thresholds": np.asarray(fold_thresholds, dtype=float),
    }


def _drawn_cuts(curve: ThresholdCurve, threshold: float) -> IntArray:
    """Choose at most about `N_DRAWN` thresholds: evenly by rank and by score, and the chosen one.

    Outliers would compress the rest of the curve: thresholds are left out that fewer than `TAIL` of the positives
    reach, or all but fewer than `TAIL` of the negatives.
    """
    last = curve.thresholds.shape[0] - 2
    chosen = min(max(int(curve.cuts_at(threshold)), 1), last)
    split = np.flatnonzero((curve.fn <= (1.0 - TAIL) * curve.pos) & (curve.fp <= (1.0 - TAIL) * (1.0 - curve.pos)))
    first, last = np.clip([split[0], split[-1]], 1, last) if split.size else (1, last)
    first, last = min(first, chosen), max(last, chosen)
    by_number = np.linspace(first, last, N_DRAWN // 2).astype(int)
    by_score = curve.cuts_at(np.linspace(curve.thresholds[first], curve.thresholds[last], N_DRAWN // 2))
    return np.unique(np.clip(np.concatenate([by_number, by_score, [chosen]]), first, last))


# ---------------------------------------------------------------- models of cross-validation


class HeldOutCurves(NamedTuple):
    """Curve of all test parts and of each, the first model, and whether scores count from its threshold."""

    curve: ThresholdCurve
    fold_curves: list[ThresholdCurve]
    model: Estimator
    from_cut: bool


def held_out(
    cv_results: Mapping[str, Any], X: Samples, y: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label
) -> HeldOutCurves:
    """Compute the scores of all test parts by the models that were trained without them."""
    models, tests = _models_and_parts(cv_results, num_samples(X))
    model = last_step(models[0])[1]
    # Each fold may have chosen another setting, whose scores have other units; what they share is the chosen cut.
    from_cut = isinstance(model, ThresholdClassifier)
    if from_cut and pos_label is None:
        pos_label = model.pos_label_
    _, is_pos, pos_label = check_binary_target(y, pos_label)
    weight = check_class_weights(sample_weight, is_pos, X=X, y=y)
    methods = DECISION_FIRST if from_cut else PROBABILITIES_FIRST
    scores = [positive_score(m, safe_indexing(X, test), pos_label, methods) for m, test in zip(models, tests)]
    parts = [(is_pos[test], score, None if weight is None else weight[test]) for test, score in zip(tests, scores)]
    pooled = np.concatenate(tests)
    curve = sweep(is_pos[pooled], np.concatenate(scores), None if weight is None else weight[pooled])
    return HeldOutCurves(curve, [sweep(*part) for part in parts if _has_both(part[0], part[2])], model, from_cut)


def _models_and_parts(cv_results: Mapping[str, Any], n_samples: int) -> tuple[list[Estimator], list[Array]]:
    """Return the fitted models and the samples that each of them has not seen."""
    if not {"estimator", "indices"} <= set(cv_results):
        raise ValueError(
            f"cv_results holds {sorted(cv_results)} and no models with their parts of the data; call "
            "cross_validate(..., return_estimator=True, return_indices=True)"
        )
    tests = [np.asarray(test) for test in cv_results["indices"]["test"]]
    last = max(int(test.max()) for test in tests)
    if last >= n_samples:
        raise ValueError(
            f"X has {n_samples} samples, cv_results refers to sample {last}; give the X and y that were cross-validated"
        )
    return list(cv_results["estimator"]), tests


def _has_both(is_pos: Array, weight: Array | None) -> bool:
    counts = is_pos if weight is None else is_pos[weight > 0]
    return bool(counts.any() and not counts.all())
