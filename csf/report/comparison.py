"""The page of several methods on the same splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csf._common.typing import Array, Axes, PathLike
from csf.report.facts import short
from csf.report.figures import figure
from csf.report.page import write_page

__all__ = ["Comparison", "write_comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """One method on all splits.

    Parameters
    ----------
    method : str
        Its name.
    values : ndarray of shape (n_splits,)
        The metric on the held-out parts.
    difference, error : float
        Mean of the paired differences to the reference and its standard error; NaN where unknown.
    rate : float
        Mean of the constrained rate; NaN without a constraint.
    fits, seconds : float
        Mean number of trainings of the base, and mean time, per split.

    Examples
    --------
    >>> Comparison("plain", np.array([0.5, 0.7]), -0.1, 0.02, np.nan, 1.0, 0.2).method
    'plain'
    """

    method: str
    values: Array
    difference: float
    error: float
    rate: float
    fits: float
    seconds: float


def write_comparison(
    path: PathLike,
    outcomes: Sequence[Comparison],
    *,
    metric_name: str,
    reference: str,
    facts: Mapping[str, str],
    notes: Sequence[str] = (),
) -> None:
    """Write a comparison as one page for a browser.

    Parameters
    ----------
    path : path-like
        File to write.
    outcomes : sequence of Comparison
        The methods, in the order of the page.
    metric_name : str
        What was measured.
    reference : str
        Method that the others are compared with; its difference is not shown.
    facts : dict of str to str
        What was asked, of which data.
    notes : sequence of str, default=()
        Notes below the table.

    Raises
    ------
    ValueError
        If there is no method, or none is called like the reference.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "comparison.html")
    >>> plain = Comparison("plain", np.array([0.5, 0.7]), 0.0, 0.0, np.nan, 1.0, 0.2)
    >>> write_comparison(path, [plain], metric_name="f1", reference="plain", facts={})
    >>> os.path.getsize(path) > 1000
    True
    """
    if reference not in [one.method for one in outcomes]:
        raise ValueError(f"reference must be a method of outcomes, got {reference!r}")
    best = max(outcomes, key=lambda one: one.values.mean())
    write_page(
        path,
        "comparison.html.j2",
        title="Comparison of methods",
        lead=f"{best.method} has the highest mean {metric_name} of {len(outcomes)} methods: {best.values.mean():.3f} "
        f"over {best.values.shape[0]} splits into training and held-out samples.",
        metric=str(metric_name),
        reference=reference,
        best=best,
        constrained=any(np.isfinite(one.rate) for one in outcomes),
        methods=[(one, one.values.mean(), _deviation(one.values)) for one in outcomes],
        splits=figure("splits", lambda ax: _draw(ax, outcomes, metric_name), size=(7.2, 1.2 + 0.4 * len(outcomes))),
        to_mind=_notes(outcomes, reference, best, notes),
        facts=[(str(name), str(value)) for name, value in facts.items()],
    )


def _deviation(values: Array) -> float | None:
    """Standard deviation over splits; ``None`` of one."""
    return float(values.std(ddof=1)) if values.shape[0] > 1 else None


def _draw(ax: Axes, outcomes: Sequence[Comparison], metric_name: str) -> None:
    for at, one in enumerate(outcomes):
        ax.plot(one.values, [at] * one.values.shape[0], "o", color="#6b6b6b", alpha=0.5, markersize=4, zorder=1)
        ax.plot(one.values.mean(), at, "|", color="#0072b2", markersize=18, markeredgewidth=2.5, zorder=2)
    ax.set_yticks(range(len(outcomes)), [short(one.method, 40) for one in outcomes])
    ax.invert_yaxis()
    ax.set_xlabel(f"{metric_name} on held-out samples")
    ax.grid(axis="x", color="#d9d9d9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)


def _notes(outcomes: Sequence[Comparison], reference: str, best: Comparison, notes: Sequence[str]) -> list[str]:
    texts = []
    if best.method != reference and np.isfinite(best.error) and best.difference < 2 * best.error:
        texts.append(
            f"{best.method} is ahead of {reference} by {best.difference:+.3f} ± {best.error:.3f}, less than two "
            "standard errors: it may be chance, and the simpler method will do."
        )
    if best.values.shape[0] < 5:
        texts.append(f"{best.values.shape[0]} splits are few: add some (--splits) before you decide.")
    return [*texts, *map(str, notes)]
