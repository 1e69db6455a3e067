"""Displays of values over time: of a search by trial, of learners along a stream, of a monitor by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from csf._common.sklearn import named_models
from csf._common.typing import Array, Keywords, Params
from csf._common.validation import check_choice
from csf.bounds import get_bound
from csf.metrics import get_metric
from csf.plots.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Bounded,
    Display,
    Excess,
    Palette,
    bound_title,
    draw_bounds,
    label,
    names_of,
    right_labels,
    study_of,
    styled,
    tidy,
)
from csf.search.config import MODEL
from csf.search.margin import bound_with_margin as ceiling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial
    from csf.monitoring import Monitor
    from csf.plots.drawing import StudyLike
    from csf.search import CostSearch
    from csf.streams import PrequentialResult

# More trials than this are drawn as a line without dots.
MANY = 30


@dataclass(kw_only=True, eq=False, repr=False)
class ProgressDisplay(Display):
    """Best value so far, and the bound on it, against the number of trials.

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes.

    Parameters
    ----------
    n_trials : ndarray of shape (n_steps,)
        Number of trials made.
    attained : ndarray of shape (n_steps,)
        Best value that these trials show; NaN before the first result.
    best_possible : ndarray of shape (n_bounds, n_steps)
        Best value possible for each bound.
    names : list of str
        Names of the bounds.
    metric_name : str, default="metric"
        Name of the metric.
    span : tuple of float, default=(0.0, 1.0)
        Range of the metric.
    constraint : str, default=None
        What must hold besides.
    reference : float, default=None
        A value to compare with, such as the best of a dense sweep of levels.
    models : dict of str to int, default={}
        Of several models the number of the first trial, by what is written there.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        Best value seen.
    bound_lines_ : list of matplotlib Line2D
        One for each bound.
    reference_line_ : matplotlib Line2D or None
        The value to compare with.
    labels_ : list of matplotlib Annotation
        Names at the ends of the lines.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("f1", pos=0.2, n_trials=2)
    >>> while (trial := study.ask()) is not None:
    ...     _ = study.tell(trial, profile=ErrorProfile(fn=0.1 * trial.t, fp=0.1, pos=0.2))
    >>> display = ProgressDisplay.from_study(study, bounds=["support"])
    >>> display.attained, display.best_possible
    (array([0.667, 0.737]), array([[0.737, 0.829]]))
    """

    n_trials: Array
    attained: Array
    best_possible: Array
    names: list[str]
    metric_name: str = "metric"
    span: tuple[float, float] = (0.0, 1.0)
    constraint: str | None = None
    reference: float | None = None
    models: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_study(
        cls,
        study: StudyLike,
        *,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        reference: float | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Params | None,
    ) -> Self:
        """Compute the progress of a study and draw it.

        Parameters
        ----------
        study : Study
            A study with complete trials.
        bounds : sequence of str or type, default=None
            Names in `csf.bounds.BOUNDS`. ``None`` means that of the study.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`. A later trial may raise a bound: it shows that
            earlier models were not the cheapest ones.
        reference : float, default=None
            A value to compare with, such as the best of a dense sweep of levels.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ProgressDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no trial is complete.
        """
        trials = sorted((t for t in study.trials if t.state != "pending"), key=lambda trial: trial.number)
        names = ["upper bound"] if bounds is None else [bound_title(bound) for bound in bounds]
        bounds = (study.bound,) if bounds is None else bounds

        def heights(seen):
            return [get_bound(b)(seen, study.metric, pos=study.pos, eps=eps).best_possible() for b in bounds]

        return cls(**_course(trials, study, names, heights), reference=reference).plot(ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        reference: float | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Params | None,
    ) -> Self:
        """Compute the progress of a fitted search and draw it, without training.

        Parameters
        ----------
        search : CostSearch
            A fitted search.
        setting : int, default=None
            Which setting of its ``param_grid``. ``None`` means all of them, one after the other, below the
            ``upper_bound_`` that the search had then, with its margin; with ``bounds`` or ``eps`` that of the winner.
        bounds, eps, reference, ax, **plot_kwargs
            As for `from_study`.

        Returns
        -------
        ProgressDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        study = study_of(search, setting)
        if setting is not None or bounds is not None or eps != "evidence":
            return cls.from_study(study, bounds=bounds, eps=eps, reference=reference, ax=ax, **plot_kwargs)
        # Of many rows on a cluster no scores are kept.
        store = getattr(search, "held_out_", None) if search.bound_on == "validation" else None

        def heights(seen):
            return [ceiling(seen, study.metric, pos=study.pos, bound=search.bound, store=store).value]

        data = _course(search.trials_, study, ["upper bound"], heights)
        return cls(**data, reference=reference, models=_begins(search)).plot(ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: Params | None = None,
        bound_kwargs: Params | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kwargs, bound_kwargs : dict, default=None
            Arguments of matplotlib for the best value seen and for the bounds.

        Returns
        -------
        ProgressDisplay
            ``self``.
        """
        from matplotlib.lines import Line2D

        ax = self._begin(ax)
        if np.isnan(self.attained[-1]):
            self.bound_lines_, self.reference_line_ = [], None
            (self.line_,) = ax.plot(self.n_trials, self.attained)
            self._frame(ax, *self.span)
            ax.set_xlim(0.5, self.n_trials[-1] + 0.5)
            text = f"infeasible: no trial satisfies\n{self.constraint or 'the constraint'}"
            self.labels_ = [label(ax, text, (ax.get_xlim()[0], self.span[1]), va="top", offset=(8, -8))]
            return self
        page = Palette.of(ax)
        self.bound_lines_, colors = draw_bounds(ax, self.n_trials, self.best_possible, self.names, bound_kwargs)
        marker = "o" if self.n_trials.size <= MANY else ""
        style = styled(Line2D, line_kwargs, color=page.ink, marker=marker, markersize=4, linewidth=1.2, zorder=3)
        (self.line_,) = ax.plot(self.n_trials, self.attained, **style)
        texts, colors = ["best seen", *self.names], [page.ink, *colors]
        ends = [self.attained[-1], *self.best_possible[:, -1]]
        self.reference_line_ = None
        if self.reference is not None:
            self.reference_line_ = ax.axhline(self.reference, color=page.green, linewidth=1.0, linestyle=":")
            texts, colors, ends = [*texts, "reference"], [*colors, page.green], [*ends, self.reference]
        # From the first third of the search on, everything is shown; what comes before may leave the picture.
        late = self.n_trials.size // 3
        heights = np.concatenate([self.best_possible[:, late:].ravel(), self.attained[late:], ends])
        low, high = np.nanmin(heights), np.nanmax(heights)
        room = max(0.35 * (high - low), 0.01 * (self.span[1] - self.span[0]))
        self._frame(ax, max(low - room, self.span[0] - 0.02 * room), min(high + room, self.span[1] + 0.02 * room))
        for text, first in self.models.items():
            ax.axvline(first - 0.5, color=page.grey, linewidth=0.6)
            style = {"rotation": 90, "va": "bottom", "fontsize": 7, "color": page.grey, "zorder": 4}
            under = {"facecolor": page.paper, "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
            ax.text(first - 0.4, 0.02, text, transform=ax.get_xaxis_transform(), bbox=under, **style)
        texts = [f"{text} {end:.3f}" for text, end in zip(texts, ends)]
        self.labels_ = right_labels(ax, [(self.n_trials[-1], end) for end in ends], texts, colors)
        return self

    def _frame(self, ax, low, high):
        from matplotlib.ticker import MaxNLocator

        under = f" with {self.constraint}" if self.constraint is not None else ""
        ax.set(ylim=(low, high), xlabel="number of trials", ylabel=self.metric_name + under)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)


def _course(
    trials: Sequence[Trial], study: StudyLike, names: list[str], heights: Callable[[Sequence[Trial]], list[float]]
) -> Keywords:
    """Compute the arguments of a `ProgressDisplay` for trials in the order in which they were made."""
    if all(trial.attained is None for trial in trials):
        raise ValueError("there is no complete trial to draw; tell the study its first results")
    # what misses the constraint attains nothing
    attained = [np.nan if trial.attained is None or not trial.feasible else trial.attained for trial in trials]
    steps, metric = range(1, len(trials) + 1), study.metric
    return {
        "n_trials": np.array(steps),
        "attained": np.fmax.accumulate(attained),
        "best_possible": np.array([heights(trials[:n]) for n in steps]).T,
        "names": names,
        **names_of(metric),
        "span": metric.range(study.pos),
    }


def _begins(search: CostSearch) -> dict[str, int]:
    """Return the number of each model's first trial, by the name of the model and when it was dropped."""
    first_trials: dict[str, int] = {}
    for name in dict(named_models(search.base) or ()):
        trials = np.flatnonzero(search.cv_results_[f"param_{MODEL}"] == name).tolist()
        folds = max((len(search.trials_[trial].fold_scores) for trial in trials), default=0)
        dropped = trials and search.cv_results_["dropped"][trials].all()
        when = f": dropped after {folds} of {search.n_splits_} folds" if dropped else ""
        first_trials |= {f"{name}{when}": trials[0] + 1} if trials else {}
    return first_trials


# Colour and line style of each learner: neighbours differ in both.
STYLES = [
    *((BLUE, "-"), (VERMILLION, "--"), (GREEN, "-."), (PURPLE, "-")),
    *((ORANGE, "--"), (None, ":"), (SKY, "-."), (GREY, "-")),
]
AXES = {"examples": "examples", "seconds": "seconds of the learner"}


@dataclass(kw_only=True, eq=False, repr=False)
class StreamDisplay(Display):
    """Curves of learners along a stream.

    It is recommended to use `from_results` to create a display. All parameters are stored as attributes.

    Parameters
    ----------
    curves : dict of str to tuple of ndarray
        For each learner where it was measured, examples or seconds, and the values there; NaN leaves a gap.
    metric_name : str, default="metric"
        Name of the metric.
    against : {"examples", "seconds"}, default="examples"
        What the horizontal axis counts.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        One for each learner.
    labels_ : list of matplotlib Annotation
        Names and last values at the ends of the lines.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays, prequential
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> result = prequential(SGDClassifier(random_state=0), iter_arrays(X, y, 100), classes=[0, 1])
    >>> display = StreamDisplay.from_results({"SGD": result}, metric="gmean")
    >>> n_examples, values = display.curves["SGD"]
    >>> n_examples, values
    (array([1000, 2000, 3000, 4000]), array([0.641, 0.661, 0.686, 0.676]))
    """

    curves: dict[str, tuple[Array, ...]]
    metric_name: str = "metric"
    against: Literal["examples", "seconds"] = "examples"

    @classmethod
    def from_results(
        cls,
        results: dict[str, PrequentialResult],
        *,
        metric: str | Metric | None = None,
        window: int | None = None,
        against: Literal["examples", "seconds"] = "examples",
        ax: Axes | None = None,
        **plot_kwargs: Params | None,
    ) -> Self:
        """Compute the curves of several learners and draw them.

        Parameters
        ----------
        results : dict of str to PrequentialResult
            What `csf.streams.prequential` gave, by the names of the learners.
        metric : str or Metric, default=None
            Metric of all curves; ``None`` means that of the first result.
        window : int, default=None
            Number of last examples that each value looks at, see `csf.streams.PrequentialResult.curve`; ``None``
            means that of the first result, 0 all examples.
        against : {"examples", "seconds"}, default="examples"
            What the horizontal axis counts.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        StreamDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are no results, or ``against`` is unknown.
        """
        check_choice(against, "against", AXES)
        if not results:
            raise ValueError("there is no result to draw; give a dict of names and prequential results")
        first = next(iter(results.values()))
        metric = first.metric if metric is None else get_metric(metric)
        window = first.window if window is None else window or None
        curves = {
            name: (result.n_examples if against == "examples" else result.seconds, result.curve(metric, window=window))
            for name, result in results.items()
        }
        name = metric.name if window is None else f"{metric.name} of the last {window:,} examples".replace(",", " ")
        return cls(curves=curves, metric_name=name, against=against).plot(ax, **plot_kwargs)

    def plot(self, ax: Axes | None = None, *, line_kwargs: Params | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kwargs : dict, default=None
            Arguments of the lines.

        Returns
        -------
        StreamDisplay
            ``self``.
        """
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        ax = self._begin(ax, (6.4, 4.0))
        self.lines_ = []
        for (name, (x, values)), (color, dashes) in zip(self.curves.items(), self._styles()):
            style = styled(Line2D, line_kwargs, color=color, linestyle=dashes, linewidth=1.6, label=name)
            # a curve of one point has no line
            marker = {"marker": "o", "markersize": 4} if np.isfinite(values).sum() == 1 else {}
            self.lines_ += ax.plot(x, values, **(marker | style))
        ax.set(xlabel=AXES[self.against], ylabel=self.metric_name)
        ax.xaxis.set_major_locator(MaxNLocator(5))  # long numbers need room
        if self.against == "examples":
            ax.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}".replace(",", " "))
        tidy(ax)
        self.labels_ = self._label_ends()
        return self

    def _styles(self):
        ink = Palette.of(self.ax_).ink
        return [(color or ink, dashes) for color, dashes in (STYLES * len(self.curves))[: len(self.curves)]]

    def _label_ends(self):
        """Write the name and last value of each curve at the right end of the axes."""
        shown = [(line, values[np.isfinite(values)]) for line, (_, values) in zip(self.lines_, self.curves.values())]
        shown = [(line, values[-1]) for line, values in shown if values.size]
        if not shown:
            return []
        right = max(np.asarray(line.get_xdata())[-1] for line, _ in shown)
        self.ax_.set_xlim(right=right)
        ends = [end for _, end in shown]
        texts = [f"{line.get_label()} {end:.3f}" for line, end in shown]
        return right_labels(
            self.ax_, [(right, end) for end in ends], texts, [str(line.get_color()) for line, _ in shown]
        )


# Most names of batches at the axis.
_MOST_NAMES = 5
# Largest evidence that is shown, and one over the smallest one.
_FARTHEST = 1e4


@dataclass(kw_only=True, eq=False, repr=False)
class MonitorDisplay(Display):
    """Values of a monitored metric by batch, its level, and the evidence against it.

    It is recommended to use `from_monitor` to create a display. All parameters are stored as attributes.

    Parameters
    ----------
    names : list of str
        Batches.
    values : ndarray of shape (n_batches,)
        Metric on each batch; NaN where nothing counts.
    evidence : ndarray of shape (n_batches,)
        Capital after each batch, as a share of what sets off an alarm.
    level : float
        The level.
    metric_name : str
        Name of the metric.
    alarm : str, default=None
        Batch since which the metric is probably below its level.
    n_waiting : int, default=0
        Batches at the end that wait for labels, and have no value yet.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the values.
    figure_ : matplotlib figure
        Figure of the plot.

    Examples
    --------
    >>> MonitorDisplay(
    ...     names=["May", "June"], values=np.array([0.62, 0.48]), evidence=np.array([0.05, 1.4]), level=0.6,
    ...     metric_name="f1", alarm="June",
    ... ).plot().ax_.get_ylabel()
    'f1'
    """

    names: list[str]
    values: Array
    evidence: Array
    level: float
    metric_name: str
    alarm: str | None = None
    n_waiting: int = 0

    @classmethod
    def from_monitor(cls, monitor: Monitor) -> Self:
        """Create the display of a monitor, without drawing it.

        Parameters
        ----------
        monitor : Monitor
            After some updates.

        Returns
        -------
        MonitorDisplay
            Not drawn yet.
        """
        names, values, capital = zip(*monitor.history) if monitor.history else ((), (), ())
        return cls(
            names=list(names),
            values=np.array(values),
            evidence=np.array(capital) / monitor.limit,
            level=monitor.level,
            metric_name=monitor.name,
            alarm=monitor.alarm or None,
            n_waiting=monitor.n_waiting,
        )

    def plot(self, ax: Axes | None = None, *, line_kw: Params | None = None) -> Self:
        """Draw the values, and on a second axis the evidence on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kw : dict, default=None
            Arguments of the line of values.

        Returns
        -------
        MonitorDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        from matplotlib.lines import Line2D

        ax = self._begin(ax, (6.4, 3.6))
        places = np.arange(len(self.names))
        ax.plot(places, self.values, **styled(Line2D, line_kw, color=BLUE, marker="o", markersize=4, linewidth=1.6))
        ax.axhline(self.level, color=GREEN, linestyle="--", linewidth=1.2)
        label(ax, f"level {self.level:.3g}", (0, self.level), color=GREEN, offset=(0, 7))
        ax.set_ylabel(self.metric_name, color=BLUE)
        other = ax.twinx()
        # It is decided at 1: what is far beyond, or far below, is drawn at the edge.
        shown = np.clip(self.evidence, 1.0 / _FARTHEST, _FARTHEST)
        other.plot(places, shown, color=GREY, linewidth=1.2)
        other.axhline(1.0, color=VERMILLION, linestyle=":", linewidth=1.2)
        other.set_yscale("log")
        lowest, highest = float(np.min(shown, initial=1.0)), float(np.max(shown, initial=1.0))
        other.set_ylim(min(0.03, lowest / 2), max(3.0, highest * 2))
        other.set_ylabel("evidence (alarm at 1)", color=GREY)
        other.spines[["top"]].set_visible(False)
        if self.alarm in self.names:
            place = self.names.index(self.alarm)
            ax.axvspan(place - 0.5, places[-1] + 0.5, color=VERMILLION, alpha=0.08, linewidth=0)
            label(ax, f"lost since {self.alarm}", (place - 0.4, ax.get_ylim()[1]), va="top", offset=(2, -3))
        if self.n_waiting:
            ax.axvspan(places[-1] + 0.5 - self.n_waiting, places[-1] + 0.5, color=GREY, alpha=0.12, linewidth=0)
            text = f"{self.n_waiting} without all labels"
            label(ax, text, (places[-1] + 0.4, ax.get_ylim()[0]), ha="right", va="bottom", offset=(-2, 3))
        step = max(1, -(-len(self.names) // _MOST_NAMES))
        ax.set_xticks(places[::step], self.names[::step])
        ax.set_xlabel("batch")
        tidy(ax)
        return self
