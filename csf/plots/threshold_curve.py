"""A metric, precision, recall and the share predicted positive, against the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, Label
from csf._validation import check_binary_target
from csf.metrics import get_metric
from csf.metrics.aim import aim_of
from csf.plots._cross_validated import CrossValidatedMixin
from csf.plots._searched import is_macro_search, is_search
from csf.plots._style import BLUE, new_axes, tidy
from csf.plots._threshold_data import curve_data
from csf.plots._threshold_drawing import LEGEND, TITLE, draw_demands, draw_folds, line_style, mark
from csf.scores.responses import positive_score
from csf.thresholding import threshold_curve
from csf.thresholding._pooled import PooledThresholdClassifier
from csf.thresholding._scores import RESPONSE_METHODS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve


__all__ = ["ThresholdCurveDisplay"]


class ThresholdCurveDisplay(CrossValidatedMixin):
    """What the threshold on a score does to a metric, to precision, recall and the share predicted positive.

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

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    companion_lines_: dict[str, Line2D]
    fill_between_: PolyCollection | None
    threshold_line_: Line2D | None
    fold_marks_: Line2D | None
    interval_: Artist | None
    demand_lines_: list[Line2D]
    label_: Text | None

    def __init__(
        self,
        *,
        thresholds: Array,
        values: Array,
        companions: dict[str, Array],
        threshold: float | None = None,
        value: float | None = None,
        threshold_interval: tuple[float, float] | None = None,
        fold_values: Array | None = None,
        fold_thresholds: Array | None = None,
        metric_name: str = "metric",
        demands: Sequence[tuple[str, str, float, float]] = (),
        name: str | None = None,
    ) -> None:
        self.thresholds, self.values, self.companions = thresholds, values, companions
        self.threshold, self.value, self.threshold_interval = threshold, value, threshold_interval
        self.fold_values, self.fold_thresholds = fold_values, fold_thresholds
        self.metric_name, self.demands, self.name = metric_name, demands, name

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
        """Draw threshold curves that are there already.

        Parameters
        ----------
        curve : ThresholdCurve
            All cuts of a score.
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
        data = curve_data(curve, get_metric(metric), threshold, fold_curves, fold_thresholds)
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
        """Draw the cuts of given scores.

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
        """Draw the cuts of a fitted classifier's score.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier; of `CostSearch`, `PlugInClassifier` and relatives of that the score that they cut, with
            their metric, constraint and threshold.
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
        if is_macro_search(estimator):
            raise TypeError(
                "a MacroCostSearch has one threshold for each class; draw that of one class k with "
                "from_estimator(macro.searches_[k], X, y == macro.classes_[k])"
            )
        check_is_fitted(estimator)
        name = type(estimator).__name__ if name is None else name
        tuned = isinstance(estimator, PooledThresholdClassifier)
        if tuned:
            metric = aim_of(estimator) if metric is None else metric
            threshold = estimator.threshold_ if threshold is None else threshold
            pos_label = estimator.pos_label_
        searched = is_search(estimator)
        if searched:
            metric = aim_of(estimator) if metric is None else metric
            threshold = estimator.best_threshold_ if threshold is None else threshold
        options = {"threshold": threshold, "name": name, "ax": ax} | plot_kwargs
        metric = "f1" if metric is None else metric
        if X is None and y is None and tuned:
            folds = {"fold_curves": estimator.fold_curves_, "fold_thresholds": estimator.fold_thresholds_}
            return cls.from_curves(estimator.curve_, metric, **folds, **options)
        if X is None and y is None and searched and threshold is not None:
            found = estimator.threshold_interval_ if threshold == estimator.best_threshold_ else None
            return cls.from_curves(estimator.held_out_curve(), metric, threshold_interval=found, **options)
        if X is None or y is None:
            raise ValueError(f"give X and y: {name} keeps no scores of its own to draw")
        if searched:
            return cls.from_curves(estimator.threshold_curve(X, y, sample_weight), metric, **options)
        if tuned:
            score = estimator.positive_score(X)
        else:
            _, _, pos_label = check_binary_target(y, pos_label)
            score = positive_score(estimator, X, pos_label, RESPONSE_METHODS)
        return cls.from_predictions(
            y, score, metric=metric, sample_weight=sample_weight, pos_label=pos_label, **options
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        fill_between_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

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
        ax = self.ax_ = new_axes(ax)
        self.figure_ = ax.figure
        self.fill_between_ = self.fold_marks_ = None
        if self.fold_values is not None:
            draw_folds(self, ax, fill_between_kwargs or {})
        self.companion_lines_ = {}
        for key, values in self.companions.items():
            color, style = line_style(key)
            style = {"color": color, "linestyle": style, "linewidth": 1.4, "label": key}
            (self.companion_lines_[key],) = ax.plot(self.thresholds, values, **style)
        style = {"color": BLUE, "linewidth": 2.2, "label": self.short_name, "zorder": 3}
        (self.line_,) = ax.plot(self.thresholds, self.values, **(style | (line_kwargs or {})))
        ax.set(xlabel=self.axis_name, ylabel="value")
        ax.set_title(self.name or "", **TITLE)
        everything = np.concatenate([self.values, *self.companions.values()])
        if everything.min() >= 0.0 and everything.max() <= 1.0:
            ax.set_ylim(0.0, 1.02)
        if self.thresholds[-1] < self.thresholds[0]:
            ax.set_xlim(self.thresholds[-1], self.thresholds[0])
        tidy(ax)
        draw_demands(self, ax)
        self.threshold_line_ = self.label_ = self.interval_ = None
        if self.threshold is not None and self.value is not None:
            mark(self, ax, self.threshold, self.value)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=5, **LEGEND)
        return self

    @property
    def short_name(self) -> str:
        """Name of the metric; constraints are named besides."""
        return self.metric_name.partition(",")[0] if self.demands else self.metric_name
