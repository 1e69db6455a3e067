"""Cells: kept as they finish, computed once, never mixed up."""

import json
from dataclasses import replace

import numpy as np
import pytest
from experiment_builders import small_set

from notebooks.experiments.methods import METHODS, Search
from notebooks.experiments.run import LARGE, Plan, environment, read_cells, run_cells


class Failing(Search):
    """A search that counts its runs and may fail or be interrupted."""

    runs = 0
    error = None

    def run(self, context):
        """Fail or run."""
        type(self).runs += 1
        if self.error is not None and type(self).runs > 1:
            raise self.error
        return super().run(context)


@pytest.fixture
def plan(paper):
    methods = {name: METHODS[name] for name in ("SVM-IR", "pooled-threshold")}
    return Plan([small_set("one"), small_set("two", 1)], methods, paper, n_splits=2)


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_rows_are_the_results_in_the_order_of_the_plan_each_in_a_file_that_is_kept(plan, tmp_path, monkeypatch):
    rows = run_cells(plan, tmp_path)
    assert [(row["data"], row["method"], row["split"]) for row in rows] == [
        (data, method, split) for data in ("one", "two") for method in plan.methods for split in (0, 1)
    ]
    assert all(0 <= row["value"] <= 1 and row["fits"] >= 2 for row in rows)
    paths = list(tmp_path.rglob("*.json"))
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    assert len(contents) == len(rows)
    assert all(content["row"] in rows for content in contents)
    monkeypatch.setattr("notebooks.experiments.run._run_group", None)
    assert read_cells(plan, tmp_path) == run_cells(plan, tmp_path) == rows
    paths[0].write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="is damaged or not a csf-cell file"):
        run_cells(plan, tmp_path)
    assert {"python", "csf", "numpy", "scikit-learn"} <= set(environment())


def test_more_splits_methods_and_sets_are_added(plan, tmp_path):
    first = run_cells(plan, tmp_path)
    larger = replace(
        plan, n_splits=3, methods=plan.methods | {"LR+T": METHODS["LR+T"]}, data=[*plan.data, small_set("three", 2)]
    )
    rows = run_cells(larger, tmp_path)
    assert len(rows) == 3 * 3 * 3
    assert [row for row in rows if row in first] == first
    assert without_seconds(run_cells(larger, tmp_path / "fresh")) == without_seconds(rows)


@pytest.mark.slow
def test_result_does_not_depend_on_the_workers(plan, tmp_path):
    assert without_seconds(run_cells(plan, tmp_path / "a", n_jobs=2)) == without_seconds(
        run_cells(plan, tmp_path / "b")
    )


def test_interruption_keeps_what_is_finished(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(Failing, "runs", 0)
    monkeypatch.setattr(Failing, "error", KeyboardInterrupt())
    plan = replace(plan, methods={"a": METHODS["SVM-IR"], "b": Failing("svc", "grid")}, data=plan.data[:1])
    with pytest.raises(KeyboardInterrupt):
        run_cells(plan, tmp_path)
    kept = read_cells(plan, tmp_path)
    assert [(row["method"], row["split"]) for row in kept] == [("a", 0), ("a", 1), ("b", 0)]
    monkeypatch.setattr(Failing, "error", None)
    rows = run_cells(plan, tmp_path)
    assert Failing.runs == 3
    assert len(rows) == 4
    assert [row for row in rows if row in kept] == kept
    assert not list(tmp_path.rglob("*.tmp"))


def test_failed_cells_are_kept_and_tried_again(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(Failing, "runs", 0)
    monkeypatch.setattr(Failing, "error", ValueError("no luck"))
    plan = replace(plan, methods={"b": Failing("svc", "grid")}, data=plan.data[:1])
    good, bad = run_cells(plan, tmp_path)
    assert "error" not in good
    assert bad["error"] == "ValueError: no luck"
    assert "value" not in bad
    monkeypatch.setattr(Failing, "error", None)
    assert "value" in run_cells(plan, tmp_path)[1]


def test_cells_of_other_settings_are_refused(plan, tmp_path, modern):
    run_cells(plan, tmp_path)
    for change in (
        *({"seed": 1}, {"metric": "f2"}, {"methods": {"SVM-IR": METHODS["SVM-grid"]}}),
        *({"data": [small_set("one", 7)]}, {"protocol": modern}),
    ):
        with pytest.raises(ValueError, match="was made with other settings"):
            run_cells(replace(plan, **change), tmp_path)


def test_large_sets_may_have_fewer_splits(plan):
    rng = np.random.default_rng(0)
    large = replace(plan.data[0], name="large", X=rng.random((LARGE, 1)), y=np.arange(LARGE) % 5 == 0)
    plan = replace(plan, data=[plan.data[0], large], n_splits=4, n_splits_large=2)
    assert [plan.splits_of(data) for data in plan.data] == [4, 2]
    assert [data.name for data, *_ in plan.cells()] == ["large"] * 2 + ["one"] * 4
    assert replace(plan, n_splits_large=None).splits_of(large) == 4


def test_methods_are_left_out_where_they_do_not_fit(plan):
    from scipy import sparse

    plan = replace(plan, methods={"TunedThreshold": METHODS["TunedThreshold"], "SVM-IR": METHODS["SVM-IR"]})
    classes = replace(plan.data[0], y=np.arange(300) % 3, null_class=0)
    assert plan.applies("TunedThreshold", classes) == "two classes only"
    assert plan.applies("SVM-IR", classes) is None
    wide = replace(plan.data[0], X=sparse.csr_array((300, 2000)))
    plan = replace(plan, methods={"boosting+T": METHODS["boosting+T"], "SVM-IR": METHODS["SVM-IR"]})
    assert plan.applies("boosting+T", wide) == "too many features for a dense copy"
    assert plan.applies("SVM-IR", wide) is None


def test_names_that_no_file_can_have(plan, tmp_path):
    data = [replace(plan.data[0], name="a/b:c"), replace(plan.data[0], name="a_b_c")]
    plan = replace(plan, data=data, methods={"m@1 / 2": METHODS["SVM-IR"]})
    assert len(run_cells(plan, tmp_path)) == 4
    assert len(list(tmp_path.rglob("*.json"))) == 4
