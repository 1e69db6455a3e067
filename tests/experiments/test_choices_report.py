"""Verdicts over families, from cells whose numbers are made up."""

import csv
import json

import numpy as np
import pytest
from experiment_builders import small_set
from scipy import stats

from notebooks.experiments.choices import ExactThreshold, OuterFolds
from notebooks.experiments.choices_report import ChoicesReport, write_choices
from notebooks.experiments.run import Plan

SETS = ("car-good", "car-vgood", "iris0", "wine")
METHODS = {"rival": ExactThreshold("logistic"), "plain": ExactThreshold("logistic")}
# Means over two splits: +0.04, -0.02 (one family), +0.03, 0.
GAINS = {"car-good": (0.02, 0.06), "car-vgood": (-0.02, -0.02), "iris0": (0.0, 0.06), "wine": (0.0, 0.0)}


def cell(data, method, split, value, **more):
    entries = {"fn": 0.05, "fp": 0.1 if method == "rival" else 0.01, "pos": 0.2, "fits": 16, "seconds": 0.5}
    return {"data": data, "method": method, "split": split, "value": value, "chosen_value": 0.5, **entries, **more}


def made(sets=SETS):
    rows = [cell(name, "rival", n, 0.5) for name in sets for n in range(2)]
    return rows + [
        cell(name, "plain", n, 0.5 + gain, seconds=2.0) for name in sets for n, gain in enumerate(GAINS[name])
    ]


def report(rows=None, constraint=None, sets=SETS):
    plan = Plan([small_set(name) for name in sets], METHODS, OuterFolds(), n_splits=2)
    return ChoicesReport(plan, made(sets) if rows is None else rows, constraint)


def test_families_are_the_sample():
    found, gains = report().verdict("plain"), np.array([0.01, 0.03, 0.0])
    assert (found.mean, found.value) == pytest.approx((gains.mean(), 0.5 + gains.mean()))
    assert found.error == pytest.approx(gains.std(ddof=1) / np.sqrt(3))
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 2) * found.error)
    assert (found.wins, found.losses, found.set_wins, found.set_losses) == (2, 0, 2, 1)
    assert (found.worst_family, found.worst) == ("wine", 0.0)
    assert (found.seconds, found.fits, found.satisfied) == (2.0, 16.0, 1.0)


def test_the_table_says_so():
    text = report().markdown(command="python choices")
    assert "| plain | 51.3 | +1.33 ± 0.88 | [-2.46, +5.13] | 2 : 0 | 2 : 1 | wine +0.00 | 2 | 16 |" in text
    assert "| rival | 50.0 | - | - | - | - | - | 0.5 | 16 |" in text
    assert "4 data sets of 3 families" in text
    assert "| car | +1.00 |" in text
    assert "    python choices" in text


def test_sets_on_which_a_method_failed_are_left_out_and_told():
    rows = [row for row in made() if (row["data"], row["method"], row["split"]) != ("wine", "plain", 1)]
    rows.append({"data": "wine", "method": "plain", "split": 1, "error": "ValueError: no", "seconds": 0.1})
    found = report(rows)
    assert list(found.differences("plain")) == list(SETS[:3])
    assert "- plain on wine, split 1: ValueError: no" in found.markdown()


def test_one_family_has_no_interval_and_without_the_rival_there_is_no_verdict():
    text = report(sets=("car-good", "car-vgood")).markdown()
    assert "| plain | 51.0 | +1.00 | - | 1 : 0 | 1 : 1 | car +1.00 | 2 | 16 |" in text
    alone = report([row for row in made() if row["method"] == "plain"])
    assert (alone.verdict("plain"), alone.verdicts()) == (None, [])


def test_constraints_are_judged_on_test_parts():
    found = report(constraint="precision >= 0.9")
    assert (found.verdict("rival").satisfied, found.verdict("plain").satisfied) == (0.0, 1.0)
    text = found.markdown()
    assert "# f1 with precision >= 0.9 x 100" in text
    assert "| constraint holds |" in text
    assert "| 2 | 16 | 100 % |" in text


def test_files(tmp_path):
    found = report()
    paths = write_choices(found, tmp_path, command="csf x")
    assert {"choices.md", "choices.json", "cells.csv"} <= {path.name for path in paths}
    content = json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))
    assert content["methods"][1]["mean"] == pytest.approx(0.04 / 3)
    assert content["families"]["car"] == {"plain": pytest.approx(0.01)}
    assert content["sets"]["plain"]["iris0"] == pytest.approx(0.03)
    with open(tmp_path / "cells.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["family"] for row in rows} == {"car", "iris", "wine"}
    assert len(rows) == 16
    write_choices(report(sets=("iris0",)), tmp_path)  # one family: an error that is not known
    content = json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))
    assert content["methods"][1]["error"] is None
