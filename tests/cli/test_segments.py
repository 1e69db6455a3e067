"""Thresholds by segment on the command line."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from tests.search.problems.test_segments import samples

pytest.importorskip("skops")
QUICK = ("--target", "target", "--base", "logistic", "--cv", 3)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    X, y, sex = samples(1200)
    path = tmp_path_factory.mktemp("people") / "people.csv"
    X.assign(sex=sex, p=X["a"] + (sex == "m"), target=y).to_csv(path, index=False)
    return path


def test_search_and_predict(ok, people, tmp_path):
    files = {name: tmp_path / name for name in ("all.json", "model.skops", "report.html", "rule.json", "cut.svg")}
    flags = ("--json", files["all.json"], "--save", files["model.skops"], "--report", files["report.html"])
    flags += ("--rule", files["rule.json"], "--plot", files["cut.svg"])
    text = ok("search", people, "-v", *QUICK, "--constraint", "recall gap <= 0.1 by sex", *flags)
    assert "is what the limit costs" in text
    assert "recall gap by sex out-of-fold: " in text
    winner = json.loads(files["all.json"].read_text())["winner"]
    assert set(winner["segments"]) == {"f", "m"}
    rule = json.loads(files["rule.json"].read_text())
    assert rule["rule"]["thresholds"]["segments"]["by"] == "sex"
    assert "Segments by sex" in files["report.html"].read_text()
    written = pd.read_csv(io.StringIO(ok("predict", files["model.skops"], people)))
    frame = pd.read_csv(people)
    found = written["prediction"].to_numpy() == 1
    # The printed rule decides the scores that are written.
    cuts = {name: float(cut) for cut, name in re.findall(r"(-?[\d.e-]+) for ([fm])\b", " ".join(text.split()))}
    np.testing.assert_array_equal(written["score"] >= frame["sex"].map(cuts), found)
    recalls = [found[(frame["sex"] == each) & (frame["target"] == 1)].mean() for each in "fm"]
    assert np.ptp(recalls) < 0.2


def test_a_segment_that_the_model_does_not_know(ok, error_of, people, tmp_path):
    model, other = tmp_path / "model.skops", tmp_path / "new.csv"
    ok("search", people, *QUICK, "--constraint", "precision >= 0.4 in each sex", "--save", model, "--no-rivals")
    pd.read_csv(people).assign(sex="x").to_csv(other, index=False)
    assert "known: ['f', 'm']" in error_of("predict", model, other)
    demand = ("--constraint", "recall gap <= 0.1 by sex")
    assert "use csf search" in error_of("compare", people, *QUICK, *demand)


def test_thresholds_of_a_column_of_scores(ok, people, tmp_path):
    path = tmp_path / "all.json"
    flags = ("--target", "target", "--score", "p", "--constraint", "recall gap <= 0.1 by sex", "--json", path)
    text = ok("threshold", people, *flags)
    assert "where p of f >= " in text
    assert "where p of m >= " in text
    assert set(json.loads(path.read_text())["thresholds"]) == {"f", "m"}
