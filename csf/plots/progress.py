"""How the best value and the bounds come together, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.typing import Array
from csf.bounds import get_bound
from csf.metrics import LinearFractional
from csf.plots._style import (
    INK,
    Bounded,
    Excess,
    bound_styles,
    bound_title,
    label,
    new_axes,
    right_labels,
    study_of,
    styled,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

    from csf.search.estimator import CostSearch
    from csf.study.study import Study


__all__ = ["ProgressDisplay"]


class ProgressDisplay:
    """Best value seen and best value possible against the number of trials.

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

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        Best value seen.
    bound_lines_ : list of matplotlib Line2D
        One for each bound.
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

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    bound_lines_: list[Line2D]
    labels_: list[Annotation]

    def __init__(
        self,
        *,
        n_trials: Array,
        attained: Array,
        best_possible: Array,
        names: list[str],
        metric_name: str = "metric",
        span: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.n_trials, self.attained, self.best_possible = n_trials, attained, best_possible
        self.names, self.metric_name, self.span = names, metric_name, span

    @classmethod
    def from_study(
        cls,
        study: Study,
        *,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the course of a study and draw it.

        Parameters
        ----------
        study : Study
            A study with told trials.
        bounds : sequence of str or type, default=None
            Names in `csf.bounds.BOUNDS`. ``None`` means ``"envelope"``, ``"diagonal"`` and ``"support"``, and the
            last one alone for metrics without levels.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`. A later trial may raise a bound: it shows that
            earlier models were not the cheapest ones.
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
        told = [trial.attained is not None for trial in trials]
        if not any(told):
            raise ValueError("there is no complete trial to draw; tell the study its first results")
        if bounds is None:
            linear = isinstance(study.metric, LinearFractional)
            bounds = ("envelope", "diagonal", "support") if linear else ("support",)
        # what misses the constraint attains nothing
        attained = [np.nan if trial.attained is None or not trial.feasible else trial.attained for trial in trials]
        steps = range(1, len(trials) + 1)
        options = {"pos": study.pos, "eps": eps}
        return cls(
            n_trials=np.array(steps),
            attained=np.fmax.accumulate(attained),
            best_possible=np.array(
                [[get_bound(b)(trials[:n], study.metric, **options).best_possible() for n in steps] for b in bounds]
            ),
            names=[bound_title(bound) for bound in bounds],
            metric_name=study.metric.name,
            span=study.metric.range(study.pos),
        ).plot(ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the course of a fitted search and draw it; nothing is trained.

        Parameters
        ----------
        search : CostSearch
            A fitted search.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        bounds, eps, ax, **plot_kwargs
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
        return cls.from_study(study_of(search, setting), bounds=bounds, eps=eps, ax=ax, **plot_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        bound_kwargs: dict[str, Any] | None = None,
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
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_ = new_axes(ax)
        self.figure_ = ax.figure
        styles = bound_styles(self.names)
        self.bound_lines_ = []
        for heights, (color, dashes) in zip(self.best_possible, styles):
            style = styled(Line2D, bound_kwargs, color=color, linestyle=dashes, linewidth=1.8)
            self.bound_lines_ += ax.plot(self.n_trials, heights, **style)
        style = styled(Line2D, line_kwargs, color=INK, marker="o", markersize=4, linewidth=1.2, zorder=3)
        (self.line_,) = ax.plot(self.n_trials, self.attained, **style)
        # From the first third of the search on, everything is shown; what comes before may leave the picture.
        late = self.n_trials.size // 3
        heights = np.append(self.best_possible[:, late:].ravel(), self.attained[late:])
        low, high = np.nanmin(heights), np.nanmax(heights)
        room = max(0.35 * (high - low), 0.01 * (self.span[1] - self.span[0]))
        ax.set(ylim=(max(low - room, self.span[0] - 0.02 * room), min(high + room, self.span[1] + 0.02 * room)))
        ax.set(xlabel="number of trials", ylabel=self.metric_name)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)
        texts, colors = ["best seen", *self.names], [INK, *(color for color, _ in styles)]
        ends = [self.attained[-1], *self.best_possible[:, -1]]
        nothing = bool(np.isnan(ends[0]))
        texts = [f"{text} {end:.3f}" for text, end in zip(texts, ends)]
        self.labels_ = right_labels(ax, self.n_trials[-1], ends[nothing:], texts[nothing:], colors[nothing:])
        if nothing:
            middle = ax.get_xlim()[0], ax.get_ylim()[1]
            self.labels_.append(label(ax, "no trial satisfies the constraint", middle, va="top", offset=(8, -8)))
        return self
