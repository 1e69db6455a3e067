"""Best value possible against the excess of the trained models over the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf.bounds import get_bound, known_profiles
from csf.metrics import LinearFractional
from csf.plots.drawing import (
    GREY,
    INK,
    Bounded,
    Display,
    bound_title,
    draw_bounds,
    label,
    right_labels,
    study_of,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.plots.drawing import Told
    from csf.search import CostSearch


__all__ = ["BoundEpsilonDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class BoundEpsilonDisplay(Display):
    """How the best value possible depends on how far the trained models are from the best of their class.

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes.

    Parameters
    ----------
    eps : ndarray of shape (n_eps,)
        Excess weighted error that every trained model may have, as a share of all samples.
    best_possible : ndarray of shape (n_bounds, n_eps)
        Best value possible for each bound.
    names : list of str
        Names of the bounds.
    evidence : float
        Largest excess that the trials themselves show: of one model over a cheaper threshold on it or another model.
    attained : float
        Best value that the trials show.
    n_samples : int, default=None
        Number of samples that the trials are evaluated on, to show ``eps`` in samples; ``None`` shows shares.
    metric_name : str, default="metric"
        Name of the metric.
    span : tuple of float, default=(0.0, 1.0)
        Range of the metric.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        One for each bound.
    attained_line_, evidence_line_ : matplotlib Line2D
        Best value seen, and largest excess seen.
    labels_ : list of matplotlib Annotation
        Names next to what they name.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("f1", pos=0.2, n_trials=1)
    >>> _ = study.tell(study.ask(), profile=ErrorProfile(fn=0.05, fp=0.1, pos=0.2))
    >>> display = BoundEpsilonDisplay.from_study(study, eps=[0.0, 0.01], bounds=["diagonal", "support"])
    >>> display.best_possible.round(2)
    array([[0.75, 0.78],
           [0.74, 0.76]])
    """

    eps: Array
    best_possible: Array
    names: list[str]
    evidence: float
    attained: float
    n_samples: int | None = None
    metric_name: str = "metric"
    span: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def from_study(
        cls,
        study: Told,
        *,
        eps: ArrayLike | None = None,
        bounds: Sequence[Bounded] | None = None,
        n_samples: int | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the bounds of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with complete trials.
        eps : array-like of shape (n_eps,), default=None
            Excesses >= 0, as shares of all samples (not in samples). ``None`` means 41 of them, up to the largest
            excess that the trials show, and at least a twentieth of the positives.
        bounds : sequence of str or type, default=None
            Names in `csf.bounds.BOUNDS`. ``None`` means all that serve the metric.
        n_samples : int, default=None
            Number of samples that the trials are evaluated on; with it the axis counts samples.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        BoundEpsilonDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no trial is complete.
        """
        told = [trial for trial in study.trials if trial.state == "complete"]
        if not told:
            raise ValueError("there is no complete trial to bound anything with; tell the study its first results")
        if bounds is None:
            linear = isinstance(study.metric, LinearFractional)
            bounds = ("parambath", "envelope", "diagonal", "support") if linear else ("support",)
        known = known_profiles(told)
        assert known is not None  # some trial is complete
        evidence = max(
            trial.c_fn * trial.profile.fn + trial.c_fp * trial.profile.fp - known.cheapest(*trial.costs)
            for trial in told
            if trial.profile is not None
        )
        if eps is None:
            eps = np.linspace(0.0, max(1.25 * evidence, 0.05 * study.pos), 41)
        eps = np.asarray(eps, dtype=float)
        options = {"pos": study.pos}
        return cls(
            eps=eps,
            best_possible=np.array(
                [[get_bound(b)(told, study.metric, eps=e, **options).best_possible() for e in eps] for b in bounds]
            ),
            names=[bound_title(bound) for bound in bounds],
            evidence=max(float(evidence), 0.0),
            attained=max(
                [trial.attained for trial in told if trial.feasible and trial.attained is not None], default=np.nan
            ),
            n_samples=n_samples,
            metric_name=study.metric.name,
            span=study.metric.range(study.pos),
        ).plot(ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: CostSearch,
        *,
        setting: int | None = None,
        eps: ArrayLike | None = None,
        bounds: Sequence[Bounded] | None = None,
        n_samples: int | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the bounds of a fitted search and draw them; nothing is trained.

        Parameters
        ----------
        search : CostSearch
            A fitted search.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        eps, bounds, n_samples, ax, **plot_kwargs
            As for `from_study`.

        Returns
        -------
        BoundEpsilonDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        options = {"eps": eps, "bounds": bounds, "n_samples": n_samples, "ax": ax}
        return cls.from_study(study_of(search, setting), **options, **plot_kwargs)

    def plot(self, ax: Axes | None = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        line_kwargs : dict, default=None
            Arguments of matplotlib for the lines of the bounds.

        Returns
        -------
        BoundEpsilonDisplay
            ``self``.
        """
        ax = self._begin(ax)
        unit = 1 if self.n_samples is None else self.n_samples
        x = unit * self.eps
        self.lines_, colors = draw_bounds(ax, x, self.best_possible, self.names, line_kwargs)
        self.attained_line_ = ax.axhline(self.attained, color=INK, linewidth=0.9)
        self.evidence_line_ = ax.axvline(unit * self.evidence, color=GREY, linewidth=0.9, linestyle=":")
        heights = np.append(self.best_possible, self.attained)
        low, high = np.nanmin(heights), np.nanmax(heights)
        (lo, hi), room = self.span, max(0.08 * (high - low), 0.005 * (self.span[1] - self.span[0]))
        top = min(high + room, hi + 0.2 * room)
        ax.set(xlim=(x[0], x[-1]), ylim=(max(low - room, lo), top))
        share = "as a share of all samples" if self.n_samples is None else "in samples"
        ax.set(xlabel=f"excess of every trained model, {share}", ylabel=f"best possible {self.metric_name}")
        tidy(ax)
        texts, ends = [f"best seen {self.attained:.3f}", *self.names], [self.attained, *self.best_possible[:, -1]]
        colors, nothing = [INK, *colors], bool(np.isnan(self.attained))
        self.labels_ = right_labels(ax, [(x[-1], end) for end in ends[nothing:]], texts[nothing:], colors[nothing:])
        if nothing:
            text = "no trial satisfies the constraint"
            self.labels_.append(label(ax, text, (x[0], top), va="top", offset=(8, -8)))
        style = {"va": "top", "offset": (-3, -2), "rotation": 90, "ha": "right", "color": GREY}
        self.labels_.append(label(ax, "largest excess seen", (unit * self.evidence, top), **style))
        return self
