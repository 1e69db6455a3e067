"""The paper's Figures 4 to 7 for any data sets: bounds on training data, and test values for small budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.files import write_figure
from csf._common.typing import PathLike
from csf.bounds import get_bound
from csf.metrics import get_metric
from csf.search.study import Study
from csf.strategies import Grid
from notebooks.experiments.methods import METHODS, CostAccount, Search
from notebooks.experiments.report import new_figure, write_rows
from notebooks.experiments.run import run_cells
from notebooks.experiments.statistics import mean_and_error
from notebooks.experiments.training_cache import SplitContext

if TYPE_CHECKING:
    from notebooks.experiments.run import Plan


__all__ = ["BUDGETS", "budget_methods", "draw_budgets", "draw_studies", "make_figures", "progress_rows"]

# Numbers of models of Figure 7; a grid has to be trained anew for each of them.
BUDGETS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 19)
# Searches that go on as long as the budget lasts, and single trainings beside them.
CURVES = ("SVM-grid", "SVM-CONE", "SVM-CONE+T", "LR-grid+T")
LINES = ("LR-bisection", "pooled-threshold")
# Bounds of Figures 4 to 6: the paper's and the one that it improves on.
PARAMBATH, CONES = "parambath", "envelope"


def make_figures(plan: Plan, folder: PathLike, *, n_jobs: int | None = None, verbose: bool = False) -> list[Path]:
    """Compute and draw Figures 4 to 7 for each data set of a plan."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plan, paths, rows = replace(plan, methods=budget_methods()), [], []
    cells = run_cells(plan, folder, n_jobs=n_jobs, verbose=verbose)
    for data in plan.data:
        context = SplitContext(plan.protocol.split(data, 0, seed=plan.seed), get_metric(plan.metric), plan.protocol)
        grid, cone = training_studies(context)
        paths += draw_studies(grid, data.name, context, folder)
        progress = progress_rows(context, grid, cone)
        rows += [{"data": data.name} | row for row in progress]
        paths.append(draw_progress(progress, data.name, plan.metric, folder))
        own = [cell for cell in cells if cell["data"] == data.name and "value" in cell]
        if own:
            paths.append(draw_budgets(own, data.name, plan.metric, folder))
    paths += write_rows(rows, folder, "figure6", ("data", "approach", "models", "attained", "bound"))
    return paths + write_rows(cells, folder, "figure7")


# ------------------------------------------------------------------------------------------- Figures 4, 5 and 6


def training_studies(context: SplitContext) -> tuple[Study, Study]:
    """Grid and cone search of weighted SVMs with the penalty that the grid's winner has."""
    cache, account = context.cache("hinge"), CostAccount()
    searches = [Search("hinge", strategy, tune=False) for strategy in ("grid", "cone")]
    grids, cones = (search.studies(context, account) for search in searches)
    trials = [trial for study in grids for trial in study.trials]
    setting = searches[0].winner(cache, trials).setting
    return grids[setting], cones[setting]


def draw_studies(grid: Study, name: str, context: SplitContext, folder: PathLike) -> list[Path]:
    """Figures 4 and 5: bounds of the same models against their excess, and what is unreachable without one."""
    from csf.plots import BoundComparisonDisplay
    from notebooks.experiments.bound_excess import BoundEpsilonDisplay

    cache = context.cache("hinge")
    n_samples = cache.folds[0].y_train.size if cache.on_train else cache.is_pos.size
    paths = [Path(folder) / f"figure{number}_{name}.png" for number in (4, 5)]
    ax = new_figure(5.4, 4.2).subplots()
    display = BoundEpsilonDisplay.from_study(grid, bounds=(PARAMBATH, CONES), n_samples=n_samples, ax=ax)
    ax.set_title(name)
    write_figure(paths[0], display.figure_)
    axes = new_figure(8.4, 4.0).subplots(1, 2)
    display = BoundComparisonDisplay.from_study(grid, bounds=(PARAMBATH, CONES), eps=0.0, axes=axes)
    display.figure_.suptitle(name)
    write_figure(paths[1], display.figure_)
    return paths


def progress_rows(
    context: SplitContext, grid: Study, cone: Study, budgets: Sequence[int] = BUDGETS
) -> list[dict[str, Any]]:
    """Figure 6: best value and bound on the training data as models are added."""
    # A grid of each size is trained anew and has the bound of its own paper; a cone search just goes on.
    cache, account, rows = context.cache("hinge"), CostAccount(), []
    for size in (k for k in budgets if k <= len(cone.trials)):
        study = Study(context.metric, Grid(size), pos=cache.pos, n_trials=size)
        while (trial := study.ask()) is not None:
            fields = account.trained(cache, grid.trials[0].setting, trial.costs).fields(tune=False)
            study.record(trial, setting=grid.trials[0].setting, **fields)
        for approach, trials, bound in (("grid", study.trials, PARAMBATH), ("cone", cone.trials[:size], CONES)):
            best = max(trial.value for trial in trials if trial.value is not None)
            possible = get_bound(bound)(trials, context.metric, pos=cache.pos, eps=0.0).best_possible()
            rows.append({"approach": approach, "models": size, "attained": best, "bound": float(possible)})
    return rows


def draw_progress(rows: list[dict[str, Any]], name: str, metric: str, folder: PathLike) -> Path:
    """Figure 6 of one data set."""
    from csf.plots.drawing import BLUE, ORANGE

    ax, top = new_figure(5.4, 4.2).subplots(), max(row["bound"] for row in rows if row["approach"] == "cone")
    for approach, color in (("grid", ORANGE), ("cone", BLUE)):
        own = [row for row in rows if row["approach"] == approach]
        models = [row["models"] for row in own]
        ax.plot(models, [row["attained"] for row in own], "o-", color=color, label=f"{approach}, best seen")
        ax.plot(models, [row["bound"] for row in own], "--", color=color, label=f"{approach}, its bound")
    low = min(row["attained"] for row in rows)
    ax.set(xlabel="number of models", ylabel=f"{metric} on training data", title=name)
    ax.set_ylim(max(low - 0.05, 0.0), min(max(1.25 * top, 1.5 * low), 1.02))
    _finish(ax)
    ax.legend(frameon=False)
    path = Path(folder) / f"figure6_{name}.png"
    write_figure(path, ax.figure)
    return path


# ------------------------------------------------------------------------------------------------------ Figure 7


def budget_methods(budgets: Sequence[int] = BUDGETS) -> dict[str, Any]:
    """Methods of Figure 7: ``"method@models"`` for each number of models, and the single trainings."""
    searches = {f"{name}@{size}": replace(METHODS[name], n_trials=size) for name in CURVES for size in budgets}
    return searches | {name: METHODS[name] for name in LINES}


def draw_budgets(rows: list[dict[str, Any]], name: str, metric: str, folder: PathLike) -> Path:
    """Figure 7 of one data set: test values against the number of models."""
    from csf.plots.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, right_labels

    values = {}
    for row in rows:
        values.setdefault(row["method"], []).append(row["value"])
    ax, ends, texts, colors = new_figure(6.4, 4.4).subplots(), [], [], []
    for curve, color in zip(CURVES, (ORANGE, BLUE, GREEN, PURPLE)):
        sizes = sorted(int(key.split("@")[1]) for key in values if key.startswith(f"{curve}@"))
        if not sizes:
            continue
        mean, error = np.array([mean_and_error(values[f"{curve}@{size}"]) for size in sizes]).T
        ax.plot(sizes, mean, "o-", color=color, markersize=4)
        ax.fill_between(sizes, mean - error, mean + error, color=color, alpha=0.12, linewidth=0)
        ends, texts, colors = [*ends, mean[-1]], [*texts, curve], [*colors, color]
    for line, color in zip(LINES, (VERMILLION, GREY)):
        if line in values:
            mean = float(np.mean(values[line]))
            ax.axhline(mean, color=color, linestyle=":", linewidth=1.5)
            ends, texts, colors = [*ends, mean], [*texts, line], [*colors, color]
    ax.set(xlabel="number of models, for each penalty", ylabel=f"{metric} on test data", title=name)
    _finish(ax)
    right_labels(ax, [(ax.get_xlim()[1], end) for end in ends], texts, colors)
    path = Path(folder) / f"figure7_{name}.png"
    write_figure(path, ax.figure)
    return path


def _finish(ax):
    from matplotlib.ticker import MaxNLocator

    from csf.plots.drawing import tidy

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax)
