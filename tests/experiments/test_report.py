"""Tables of results."""

import csv

import numpy as np
import pytest
from experiment_builders import small_set

from notebooks.experiments.methods import METHODS
from notebooks.experiments.published import TABLE_2
from notebooks.experiments.report import Report, write_report
from notebooks.experiments.run import Plan
from notebooks.experiments.statistics import paired_difference

NAMES = ("SVM-CONE", "pooled-threshold", "csf", "boosting+T")


def rows(data, seed):
    rng = np.random.default_rng(seed)
    errors = {"fn": 0.1, "fp": 0.1, "pos": 0.2, "C": 1.0, "t": None, "threshold": -np.inf, "seconds": 0.5}
    return [
        {"data": data, "method": name, "split": split, "value": value, "chosen_value": value, "fits": 10 * at + split}
        | errors
        for at, name in enumerate(NAMES)
        for split, value in enumerate((0.3 + 0.1 * at + 0.05 * rng.random(4)).round(4))
    ]


@pytest.fixture
def plan(paper):
    data = [small_set("wine"), small_set("other", 1)]
    return Plan(data, {name: METHODS[name] for name in NAMES}, paper, n_splits=4)


@pytest.fixture
def report(plan):
    return Report(plan, rows("wine", 0) + rows("other", 1))


def cells_of(text, title):
    """Cells of the table below a title, by the first column."""
    lines = text.split(f"## {title}")[1].split("\n\n")[1].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in table}


def test_means_and_errors_stand_beside_the_papers_numbers(report):
    cells = cells_of(report.markdown(), "Test f1")
    values = report.values("wine", "SVM-CONE")
    error = values.std(ddof=1) / 2
    assert cells["SVM-CONE"][0] == f"{100 * values.mean():.1f} ± {100 * error:.1f} [22.7]"
    assert "[" not in cells["csf"][0] + cells["SVM-CONE"][1]
    assert cells["method"] == ["wine", "other", "mean", "rank", "rank among linear"]
    assert [cells[name][3] for name in NAMES] == ["4.00", "3.00", "2.00", "1.00"]
    assert [cells[name][4] for name in NAMES] == ["3.00", "2.00", "1.00", "-"]


def test_paper_is_quoted_for_its_protocol_and_metric_only(plan, modern):
    from dataclasses import replace

    text = Report(replace(plan, protocol=modern), rows("wine", 0)).markdown()
    assert "22.7" not in text
    text = Report(replace(plan, metric="f2"), rows("wine", 0)).markdown()
    assert "22.7" not in text


def test_differences_are_paired_and_marked(report):
    cells = cells_of(report.markdown(), "Difference to pooled-threshold")
    found = paired_difference(
        report.values("wine", "csf"), report.values("wine", "pooled-threshold"), test_train_ratio=1 / 3
    )
    assert report.difference("wine", "csf") == found
    text = f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    assert cells["csf"][0] == text + "*"
    assert cells["csf"][3] == "2 : 0"
    assert cells["SVM-CONE"][3] == "0 : 2"
    assert "pooled-threshold" not in cells
    plain = report.difference("wine", "csf", how="t")
    assert plain.error < found.error


def test_failed_and_missing_cells_are_told(plan):
    some = rows("wine", 0) + rows("other", 1)
    some[0] = {"data": "wine", "method": "SVM-CONE", "split": 0, "error": "ValueError: no luck", "seconds": 0.1}
    report = Report(plan, some)
    text = report.markdown()
    assert "- SVM-CONE on wine, split 0: ValueError: no luck" in text
    cells = cells_of(text, "Test f1")
    assert cells["SVM-CONE"][0] == "- [22.7]"
    assert report.difference("wine", "SVM-CONE") is None
    # only the other set has all methods
    assert report.ranking().n_sets == 1
    assert report.ranking(linear=True).n_sets == 1


def test_one_split_has_no_intervals_and_without_the_reference_there_are_no_differences(plan):
    text = Report(plan, [row for row in rows("wine", 0) if row["split"] == 0]).markdown()
    assert "±" not in cells_of(text, "Test f1")["csf"][0]
    assert "[" not in cells_of(text, "Difference to pooled-threshold")["csf"][0]
    text = Report(plan, [row for row in rows("wine", 0) if row["method"] != "pooled-threshold"]).markdown()
    assert "Difference" not in text


def test_files(report, tmp_path):
    paths = write_report(report, tmp_path, command="python table2", environment={"numpy": "9"})
    assert {"table.md", "results.csv", "ranks.png", "ranks_linear.png"} <= {path.name for path in paths}
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert text.startswith("# f1 x 100, protocol paper\n\n    python table2\n")
    assert "Splits: wine 4, other 4; seed 0. 25 % to test on" in text
    assert "numpy 9;" in text
    assert cells_of(text, "Cost")["csf"][0] == "22, 0.5 s"
    with open(tmp_path / "results.csv", encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(report.rows)
    assert float(read[3]["value"]) == report.rows[3]["value"]
    assert float(read[0]["threshold"]) == -np.inf
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "results.parquet")
    assert table.column("value").to_pylist() == [row["value"] for row in report.rows]
    assert table.column("t").to_pylist() == [None] * len(report.rows)


def test_published_table_is_complete():
    assert set(TABLE_2) == {"adult", "abalone10", "abalone12", "pageblocks", "wine", "letter", "news20"}
    assert all(len(row) == 9 and set(row) <= set(METHODS) for row in TABLE_2.values())
    assert TABLE_2["wine"]["SVM-CONE"] == (22.7, 6.0)
    assert TABLE_2["abalone12"]["LR-bisection"] == (17.7, 3.7)
