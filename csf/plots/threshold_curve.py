"""Display of a metric, precision, recall and the share predicted positive, against the threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import last_step, num_samples, safe_indexing
from csf._common.typing import Array, Estimator, IntArray, Keywords, Label, Params, Samples
from csf._common.validation import check_binary_target, check_class_weights, check_weights
from csf.data.labels import read_codes
from csf.data.responses import DECISION_FIRST, PROBABILITIES_FIRST, margin, positive_score
from csf.metrics import Precision, PredictedPositiveRate, Recall, get_metric
from csf.metrics.registry import aim_of, truth_of
from csf.metrics.row_costs import COSTS
from csf.plots.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, Display, tidy
from csf.plots.words import metric_name, short
from csf.search.kinds import is_search
from csf.thresholding.curve import ValuedCurve, sweep, threshold_curve
from csf.thresholding.row_thresholds import BY
from csf.thresholding.rule import ThresholdClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve

_COMPANIONS: Keywords = {
    "precision": Precision(),
    "recall": Recall(),
    "predicted positive": PredictedPositiveRate(),
}
_TITLE: Keywords = {"loc": "left", "fontsize": 9}
# Lines named side by side above the axes, and the height of a row of names in points.
_N_ABREAST, _ROW = 5, 14
_LEGEND: Keywords = {"fontsize": 8.5, "columnspacing": 1.0, "handlelength": 1.5, "handletextpad": 0.4}
# Colours and dash patterns of rates, and in turn of the lines that have other names.
_OTHERS = [(color, style) for style in ("--", "-.", ":") for color in (PURPLE, GREEN, ORANGE, SKY)]
_STYLES = {"precision": (GREEN, "--"), "recall": (ORANGE, "-."), "predicted positive": (GREY, ":")}
# Rounding of a rate that just satisfies a demand.
_SLACK = 1e-9
_NO_SCORES = "give X and y: {} keeps no scores of its own to draw"
# Threshold of the same answer to all rows.
_OF_ANSWERS = {"negative": np.inf, "positive": -np.inf}
# More lines of labels could not be told apart.
MOST_LABELS = 8
# Enough for any screen, few enough for a vector graphic.
N_DRAWN = 500
TAIL = 0.02


class CurveStyle(TypedDict, total=False):
    """Arguments of `ThresholdCurveDisplay.plot`."""

    line_kwargs: Keywords | None
    fill_between_kwargs: Keywords | None


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
    bounds : dict of str to ndarray of shape (n_thresholds,), default={}
        Lower bounds, by the name of the rate in ``companions``, that hold together with the confidence of a search;
        they are shaded up to the rate.
    name : str, default=None
        Name of the classifier, for the title.
    axis_name : str
        Name of the horizontal axis.

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
    bounds: Mapping[str, Array] = field(default_factory=dict)
    name: str | None = None
    axis_name: str = "threshold: predict positive from this score on"

    @classmethod
    def from_curves(
        cls,
        curve: ThresholdCurve,
        metric: str | Metric | None = None,
        *,
        threshold: float | None = None,
        threshold_interval: tuple[float, float] | None = None,
        fold_curves: Sequence[ThresholdCurve] = (),
        fold_thresholds: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Unpack[CurveStyle],
    ) -> Self:
        """Draw threshold curves that were computed before.

        Parameters
        ----------
        curve : ThresholdCurve
            All thresholds on a score.
        metric : str or Metric, default=None
            What to draw besides precision, recall and the share predicted positive; ``None`` means the values of a
            `csf.thresholding.ValuedCurve`, and F1 of other curves.
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
        data = _curve_data(curve, metric, threshold, fold_curves, fold_thresholds)
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
        **plot_kwargs: Unpack[CurveStyle],
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
            with their metric, constraint and threshold. A search for costs of rows is drawn by what its decisions save
            or cost, with the other rates of rows that count the same; one of several labels that have a search each by
            a line for each of the `MOST_LABELS` lowest labels, and their mean, against the distance from the
            thresholds. Of scores that were held back (``confidence=``) or given, the area down to what is certain
            of precision and recall, at all thresholds together, is shaded (see `csf.certify`).
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
            Arguments of `plot`; and those of rows that ``predict`` takes, such as ``fn_cost`` and ``by``.

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
        if is_search(estimator):
            costs = {key: plot_kwargs.pop(key) for key in (*COSTS, BY) if key in plot_kwargs}
            data = _search_data(estimator, X, y, sample_weight, metric, threshold, costs)
            return cls(**data, name=name).plot(ax, **plot_kwargs)
        given, options = estimator, {"name": name, "ax": ax} | plot_kwargs
        tuned = isinstance(given, ThresholdClassifier)
        if tuned:
            metric = aim_of(estimator) if metric is None else metric
            threshold, pos_label = estimator.best_threshold_ if threshold is None else threshold, estimator.pos_label_
        options |= {"threshold": threshold}
        if X is None and y is None and tuned:
            folds = {"fold_curves": estimator.fold_curves_, "fold_thresholds": estimator.fold_thresholds_}
            return cls.from_curves(estimator.curve_, metric, **folds, **options)
        if X is None or y is None:
            raise ValueError(_NO_SCORES.format(name))
        if tuned:
            score = estimator.positive_score(X)
        else:
            _, _, pos_label = check_binary_target(y, pos_label)
            score = positive_score(estimator, X, pos_label, PROBABILITIES_FIRST)
        weight, metric = check_weights(sample_weight, num_samples(X), X=X, y=y), "f1" if metric is None else metric
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
        curves = held_out(cv_results, X, y, sample_weight, pos_label)
        model, n_models = curves.model, len(cv_results["estimator"])
        name = f"{type(model).__name__}, {n_models} models" if name is None else name
        options = {"fold_curves": curves.fold_curves, "name": name, "ax": ax, "threshold": threshold} | plot_kwargs
        if not curves.from_cut:
            return cls.from_curves(curves.curve, "f1" if metric is None else metric, **options)
        if metric is None:
            metric = aim_of(model)
        options["threshold"] = 0.0 if threshold is None else threshold
        display = cls.from_curves(curves.curve, metric, **options)
        display.axis_name = "threshold, minus that of each model"
        display.ax_.set_xlabel(display.axis_name)
        return display

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: Keywords | None = None,
        fill_between_kwargs: Keywords | None = None,
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
        others = cycle(_OTHERS)
        for key, values in self.companions.items():
            color, style = _STYLES[key] if key in _STYLES else next(others)
            style = {"color": color, "linestyle": style, "linewidth": 1.4, "label": key}
            (self.companion_lines_[key],) = ax.plot(self.thresholds, values, **style)
            if key in self.bounds:
                lowest = np.minimum(self.bounds[key], values)
                ax.fill_between(self.thresholds, lowest, values, color=color, alpha=0.15, linewidth=0, zorder=1)
        style = {"color": BLUE, "linewidth": 2.2, "label": self.short_name, "zorder": 3}
        (self.line_,) = ax.plot(self.thresholds, self.values, **(style | (line_kwargs or {})))
        ax.set(xlabel=self.axis_name, ylabel="value")
        ax.set_title(self.name or "", **self._title)
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
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=_N_ABREAST, **_LEGEND)
        return self

    @property
    def _title(self) -> Keywords:
        """Arguments of the title, which is above the names of the lines."""
        n_lines = 1 + len(self.companions) + (self.fold_values is not None)
        return _TITLE | {"pad": 10 + _ROW * -(-n_lines // _N_ABREAST)}

    @property
    def short_name(self) -> str:
        """Name of the metric without its constraints."""
        return self.metric_name.partition(",")[0] if self.demands else self.metric_name

    def _draw_demands(self, ax: Axes) -> None:
        """Draw the levels of the constraints in the colours of their rates."""
        lines = self.companion_lines_
        self.demand_lines_ = [
            ax.axhline(level, color=lines.get(rate, self.line_).get_color(), linewidth=0.8, linestyle=(0, (1, 3)))
            for rate, _, level, _ in self.demands
        ]

    def _draw_folds(self, ax: Axes, fill_between_kwargs: Keywords) -> None:
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
        self.label_ = ax.set_title(text if not self.name else f"{self.name}: {text}", **self._title)


def _curve_data(
    curve: ThresholdCurve,
    metric: str | Metric | None,
    threshold: float | None,
    fold_curves: Sequence[ThresholdCurve] = (),
    fold_thresholds: ArrayLike | None = None,
) -> Keywords:
    """Compute the arrays of a `ThresholdCurveDisplay`, see `ThresholdCurveDisplay.from_curves`."""
    if isinstance(curve, ValuedCurve) and metric is None:
        threshold = float(curve.thresholds[np.nanargmax(curve.values)]) if threshold is None else threshold
        data = _rates_at(curve.counted, None, threshold)
        cuts, value = curve.cuts_at(data["thresholds"]), float(curve.values[curve.cuts_at(threshold)])
        return data | {"values": curve.values[cuts], "value": value}
    curve = curve.counted if isinstance(curve, ValuedCurve) else curve
    metric = get_metric("f1" if metric is None else metric)
    constraint = metric.constraint
    data = _rates_at(curve, metric, curve.best(metric, constraint).threshold if threshold is None else threshold)
    if not len(fold_curves):
        return data
    at_cuts = [(fold, fold.cuts_at(data["thresholds"])) for fold in fold_curves]
    if fold_thresholds is None:
        fold_thresholds = [fold.best(metric, constraint).threshold for fold in fold_curves]
    return data | {
        "fold_values": np.array([metric.value(fold.fn[i], fold.fp[i], pos=fold.pos) for fold, i in at_cuts]),
        "fold_thresholds": np.asarray(fold_thresholds, dtype=float),
    }


def _rates_at(curve: ThresholdCurve, metric: Metric | None, threshold: float) -> Keywords:
    """Compute the arrays of a metric, if there is one, and of the rates beside it."""
    if not np.isfinite(curve.thresholds).any():
        raise ValueError("all scores are equal: there is no threshold between them to draw")
    constraint = None if metric is None else metric.constraint
    parts = () if constraint is None else constraint.parts
    aim, truth = None if metric is None else metric.unconstrained, truth_of(metric)
    companions = {key: rate if truth is None else truth.like(rate) for key, rate in _COMPANIONS.items()}
    names = {rate: name for name, rate in companions.items()}
    demanded = {part.quantity.name: part.rate for part in parts if part.quantity not in names}
    # What is maximised needs no second line.
    rates = {key: rate for key, rate in (companions | demanded).items() if rate != aim}
    cuts, chosen = _drawn_cuts(curve, threshold), curve.at(threshold)
    fn, fp = curve.fn[cuts], curve.fp[cuts]
    named = [(names.get(part.quantity, part.quantity.name), part) for part in parts]
    data = {
        "thresholds": curve.thresholds[cuts],
        "companions": {key: rate.value(fn, fp, pos=curve.pos) for key, rate in rates.items()},
        "threshold": float(threshold),
        "demands": [(key, part.side, part.level, part.rate.of(chosen)) for key, part in named],
    }
    if metric is None:
        return data
    return data | {
        "values": metric.value(fn, fp, pos=curve.pos),
        "value": metric.of(chosen),
        "metric_name": metric.name,
    }


def _search_data(
    search: Estimator,
    X: Samples,
    y: Samples,
    weight: ArrayLike | None,
    metric: str | Metric | None,
    threshold: float | None,
    costs: Params,
) -> Keywords:
    """Compute the arrays of a fitted search, on new data or on its held-out scores."""
    result = search.result_
    result.supports.require("ThresholdCurveDisplay")
    cut = search.best_threshold_ if threshold is None else threshold
    # Of many rows on a cluster no scores are kept.
    if (X is None or y is None) and (X is not y or cut is None):
        raise ValueError(_NO_SCORES.format(type(search).__name__))
    if hasattr(search, "searches_"):
        return _label_data(search, *_margins(search, X, y, weight), metric, 0.0 if threshold is None else threshold)
    curve = search.held_out_curve() if X is None else search.threshold_curve(X, y, weight, **costs)
    # The same answer to all rows is that of a threshold beyond the last score.
    cut = _OF_ANSWERS.get(getattr(search, "row_rule_", ""), cut)
    searched = None if isinstance(curve, ValuedCurve) else result.metric
    data = _curve_data(curve, searched if metric is None else metric, cut)
    # The name of a metric with a constraint says both.
    plain = metric is None and (searched is None or searched.constraint is None)
    data |= {"metric_name": metric_name(search)} if plain else {}
    if (paid := getattr(search, "row_costs_", None)) is not None:
        # Money and shares have no axis in common.
        data |= {} if paid.measure == "savings" or metric is not None else {"companions": {}}
        return data | {"axis_name": "threshold of log-odds + log(gain / loss)"}
    interval = None if X is not None or cut != search.best_threshold_ else getattr(search, "threshold_interval_", None)
    band = result.band(search.confidence or 0.9) if X is None else None
    bounds = {} if band is None else {rate: band.worst_at(rate, data["thresholds"]) for rate in ("precision", "recall")}
    return data | {"threshold_interval": interval, "bounds": bounds}


def _margins(search: Estimator, X: Samples, y: Samples, weight: ArrayLike | None) -> tuple[Array, Array, Array | None]:
    """Return truth and scores of labels, which count from the threshold of each, and the weights of samples."""
    if X is not None:
        truth = read_codes(y, search.label_names_)
        return truth > 0, search.decision_function(X), check_weights(weight, truth.shape[0])
    search.searches_[0].held_out_curve()  # which says where no scores were kept
    scores = [margin(one.result_.row.score, one.best_threshold_, True) for one in search.searches_]
    stores = [one.held_out_ for one in search.searches_]
    return np.column_stack([store.is_pos for store in stores]), np.column_stack(scores), stores[0].weight


def _label_data(
    search: Estimator, truth: Array, scores: Array, weight: Array | None, metric: str | Metric | None, threshold: float
) -> Keywords:
    """Compute the arrays of labels that have a threshold each: their mean, and the lowest of them."""
    metric = get_metric(search.searches_[0].metric if metric is None else metric)
    curves = [sweep(is_pos, score, weight) for is_pos, score in zip(truth.T, scores.T)]
    pairs = sweep(truth.ravel(), scores.ravel(), None if weight is None else np.repeat(weight, len(curves)))
    data = _curve_data(pairs, metric, threshold, curves, fold_thresholds=())
    values, cuts = data["fold_values"], [(curve, curve.cuts_at(threshold)) for curve in curves]
    chosen = [metric.value(curve.fn[cut], curve.fp[cut], pos=curve.pos) for curve, cut in cuts]
    lowest, names = np.argsort(chosen, kind="stable")[:MOST_LABELS].tolist(), search.label_names_.tolist()
    return data | {
        "values": values.mean(axis=0),
        "value": float(np.mean(chosen)),
        "fold_values": None,
        "companions": {short(names[label], 24): values[label] for label in lowest},
        "metric_name": f"{metric.name}, mean of {len(curves)} labels",
        "axis_name": "threshold, minus that of each label",
    }


def _drawn_cuts(curve: ThresholdCurve, threshold: float) -> IntArray:
    """Choose at most about `N_DRAWN` thresholds: evenly by rank and by score, and the chosen one.

    Outliers would compress the rest of the curve: thresholds are left out that fewer than `TAIL` of the positives
    reach, or all but fewer than `TAIL` of the negatives.
    """
    low, last = np.flatnonzero(np.isfinite(curve.thresholds))[[0, -1]].tolist()
    chosen = min(max(int(curve.cuts_at(threshold)), low), last)
    split = np.flatnonzero((curve.fn <= (1.0 - TAIL) * curve.pos) & (curve.fp <= (1.0 - TAIL) * (1.0 - curve.pos)))
    first, last = np.clip([split[0], split[-1]], low, last) if split.size else (low, last)
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
