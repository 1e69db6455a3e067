"""How good learners are while they learn, against examples or against seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from csf._common.typing import Array
from csf._common.validation import check_choice
from csf.metrics import get_metric
from csf.plots._style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Display,
    right_labels,
    styled,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.streams.prequential import PrequentialResult


__all__ = ["StreamDisplay"]

# Colour and line style of each learner: neighbours differ in both.
STYLES = [
    *(
        (BLUE, "-"),
        (VERMILLION, "--"),
        (GREEN, "-."),
        (PURPLE, "-"),
        (ORANGE, "--"),
        (INK, ":"),
        (SKY, "-."),
        (GREY, "-"),
    )
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
        **plot_kwargs: Any,
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

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
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
        return [STYLES[i % len(STYLES)] for i in range(len(self.curves))]

    def _label_ends(self):
        """Name and last value of each curve, at the right end of the axes."""
        shown = [(line, values[np.isfinite(values)]) for line, (_, values) in zip(self.lines_, self.curves.values())]
        shown = [(line, values[-1]) for line, values in shown if values.size]
        if not shown:
            return []
        right = max(np.asarray(line.get_xdata())[-1] for line, _ in shown)
        self.ax_.set_xlim(right=right)
        ends = [end for _, end in shown]
        texts = [f"{line.get_label()} {end:.3f}" for line, end in shown]
        return right_labels(self.ax_, right, ends, texts, [str(line.get_color()) for line, _ in shown])
