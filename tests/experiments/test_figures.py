"""Figures 4 to 7 on a small data set."""

import numpy as np
import pytest
from builders import paper_search
from experiment_builders import small_set

from csf.bounds import ConeBound
from csf.metrics import FBeta
from notebooks.experiments.figures import budget_methods, make_figures, progress_rows, training_studies
from notebooks.experiments.methods import METHODS
from notebooks.experiments.run import Plan, run_cells
from notebooks.experiments.training_cache import BASES, SplitContext


@pytest.fixture
def plan(paper):
    return Plan([small_set()], {}, paper, n_splits=2)


@pytest.mark.slow
def test_all_figures_and_their_numbers_are_written(plan, tmp_path):
    paths = make_figures(plan, tmp_path / "new")
    names = {path.name for path in paths}
    assert {f"figure{number}_small.png" for number in (4, 5, 6, 7)} | {"figure6.csv", "figure7.csv"} <= names
    for path in paths:
        assert path.suffix != ".png" or path.read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "new" / "figure6.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "data,approach,models,attained,bound"


def test_budget_of_a_search_is_what_a_shorter_search_gives(plan, tmp_path):
    methods = budget_methods((2, 3))
    assert methods["SVM-CONE@2"].n_trials == 2
    assert methods["LR-bisection"] is METHODS["LR-bisection"]
    chosen = {name: methods[name] for name in ("SVM-CONE@2", "SVM-CONE@3")}
    rows = run_cells(Plan(plan.data, chosen, plan.protocol, 1), tmp_path)
    split = plan.protocol.split(plan.data[0], 0)
    for row, n_trials in zip(rows, (2, 3), strict=True):
        search = paper_search(
            BASES["hinge"].estimator,
            n_trials=n_trials,
            param_grid={"C": plan.protocol.C},
            cv=split.folds,
            threshold=None,
            bound_on="train",
            refit=False,
        ).fit(split.X, split.y)
        assert (row["t"], row["chosen_value"]) == (search.best_t_, search.best_score_)


def test_progress_is_that_of_prefixes_and_new_grids(plan):
    context = SplitContext(plan.protocol.split(plan.data[0], 0), FBeta(), plan.protocol)
    grid, cone = training_studies(context)
    rows = progress_rows(context, grid, cone, (1, 2, 4, 9))
    assert [row["models"] for row in rows] == [1, 1, 2, 2, 4, 4]  # the search has four trials
    cones = [row for row in rows if row["approach"] == "cone"]
    for row in cones:
        trials = cone.trials[: row["models"]]
        assert row["attained"] == max(trial.value for trial in trials)
        assert row["bound"] == ConeBound(trials, FBeta(), pos=cone.pos, eps=0.0).best_possible()
    assert all(np.diff([row["bound"] for row in cones]) <= 1e-12)
    last = [row for row in rows if row["approach"] == "grid"][-1]
    assert last["attained"] == max(trial.value for trial in grid.trials)
