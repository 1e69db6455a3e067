"""What different bounds make of the same trials, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.typing import Array
from csf.bounds import get_bound
from csf.metrics import LinearFractional
from csf.plots._cone_data import cone_data
from csf.plots._searched import study_of
from csf.plots._style import (
    Bounded,
    Excess,
    bound_title,
)
from csf.plots.cone import ConeDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.plots._searched import FittedSearch, Told


__all__ = ["BoundComparisonDisplay"]

ROUNDING = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class BoundComparisonDisplay:
    """Regions that several bounds rule out for exact learners, from the same trials.

    It is recommended to use `from_estimator` or `from_study` to create a display. All parameters are stored as
    attributes.

    Parameters
    ----------
    names : list of str
        Names of the bounds.
    panels : list of dict
        Arguments of a `ConeDisplay` for each bound.
    area : ndarray of shape (n_bounds,)
        Share of the plane of levels and metric values that is ruled out, in [0, 1].
    violations : ndarray of shape (n_bounds,)
        Number of trials whose own decision lies there: real learners are not exact.

    Attributes
    ----------
    displays_ : list of ConeDisplay
        The panels, drawn.
    axes_ : ndarray of matplotlib Axes
        Where they were drawn.
    figure_ : matplotlib Figure
        Figure of the axes.

    Examples
    --------
    >>> from csf import ErrorProfile, Study
    >>> study = Study("f1", pos=0.2, n_trials=1)
    >>> _ = study.tell(study.ask(), profile=ErrorProfile(fn=0.05, fp=0.1, pos=0.2))
    >>> display = BoundComparisonDisplay.from_study(study, bounds=["parambath", "envelope", "support"])
    >>> display.area.round(2)
    array([0.01, 0.25, 0.3 ])
    """

    names: list[str]
    panels: list[dict[str, Any]]
    area: Array
    violations: Array

    @classmethod
    def from_study(
        cls,
        study: Told,
        *,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        axes: Sequence[Axes] | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the regions of a study and draw them.

        Parameters
        ----------
        study : Study
            A study with complete trials.
        bounds : sequence of str or type, default=None
            Names in `csf.bounds.BOUNDS`. ``None`` means ``"parambath"``, ``"envelope"`` and ``"support"``, and the
            last one alone for metrics without levels.
        eps : float, callable or "evidence", default="evidence"
            Excess of the trained models, see `csf.bounds.Bound`; the papers draw their regions with 0.
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each bound; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        BoundComparisonDisplay
            The display, drawn.
        """
        if bounds is None:
            bounds = (
                ("parambath", "envelope", "support") if isinstance(study.metric, LinearFractional) else ("support",)
            )
        panels = [cone_data(study.trials, study.metric, pos=study.pos, bound=name, eps=eps) for name in bounds]
        lo, hi = study.metric.range(study.pos)
        regions = [get_bound(name)(study.trials, study.metric, pos=study.pos, eps=eps).region() for name in bounds]
        return cls(
            names=[bound_title(name) for name in bounds],
            panels=panels,
            area=np.array([region.area for region in regions]) / (hi - lo) ** 2,
            violations=np.array([_violations(panel) for panel in panels]),
        ).plot(axes, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        search: FittedSearch,
        *,
        setting: int | None = None,
        bounds: Sequence[Bounded] | None = None,
        eps: Excess = "evidence",
        axes: Sequence[Axes] | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Compute the regions of a fitted search and draw them; nothing is trained.

        Parameters
        ----------
        search : CostSearch
            A fitted search. Its trials are drawn on the data of its ``bound_on``.
        setting : int, default=None
            Which setting of its ``param_grid``; ``None`` means that of the winner.
        bounds, eps, axes, **plot_kwargs
            As for `from_study`.

        Returns
        -------
        BoundComparisonDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        """
        return cls.from_study(study_of(search, setting), bounds=bounds, eps=eps, axes=axes, **plot_kwargs)

    def plot(self, axes: Sequence[Axes] | None = None, **cone_kwargs: Any) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each bound; ``None`` makes a figure.
        **cone_kwargs
            Arguments of `ConeDisplay.plot`.

        Returns
        -------
        BoundComparisonDisplay
            ``self``.
        """
        if axes is None:
            import matplotlib.pyplot as plt

            size = 4.2 * len(self.names), 4.0
            panels = plt.subplots(1, len(self.names), figsize=size, squeeze=False, layout="constrained")[1]
        else:
            panels = np.asarray(axes)
        self.axes_ = panels.ravel()
        if self.axes_.size != len(self.names):
            raise ValueError(f"axes must hold one of the {len(self.names)} bounds each, got {self.axes_.size}")
        self.figure_ = self.axes_[0].figure
        self.displays_ = [ConeDisplay(**panel) for panel in self.panels]
        # One scale for all: the one that shows the trials best.
        scale: dict[str, Any] = {"top": min(display.top for display in self.displays_)} | cone_kwargs
        for ax, display, name, area, n in zip(self.axes_, self.displays_, self.names, self.area, self.violations):
            inside = f", {n} trial{'s' if n > 1 else ''} inside" if n else ""
            ax.set_title(f"{name}: {area:.0%} ruled out{inside}", fontsize=10)
            display.plot(ax, **scale)
        return self


def _violations(panel):
    """Number of trials above the bound at their own level; none where no trial satisfies the constraint."""
    if not panel["levels"].size:
        return 0
    bound = panel["envelope"][np.searchsorted(panel["levels"], panel["t"])]
    return int(np.sum(panel["value"] > bound + ROUNDING))
