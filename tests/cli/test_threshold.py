"""``csf threshold``: a threshold on a column of scores."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import csf


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(400) < 80
    frame = pd.DataFrame(
        {
            "judge": rng.normal(size=400) + 2.0 * y,
            "label": np.where(y, "bad", "good"),
            "customer": [f"c{at // 4:03d}" for at in range(400)],
            "weight": rng.integers(1, 4, 400),
            "note": [f"text {at}" for at in range(400)],
        }
    )
    path = tmp_path / "judged.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_it_is_decide(scores, ok, tmp_path):
    path, frame = scores
    out = tmp_path / "found.json"
    said = ok("threshold", path, "--target", "label", "--score", "judge", "--pos", "bad", "--json", out)
    decision = csf.decide(frame["label"], frame["judge"], pos_label="bad", random_state=0)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["threshold"] == pytest.approx(decision.threshold)
    assert found["value"] == pytest.approx(decision.value)
    assert found["interval"] == pytest.approx(decision.interval)
    assert f"predict bad where judge >= {decision.threshold:.6g}" in said
    assert "400 rows, 20 % of them bad" in said


def test_groups_weights_certificates_and_a_page(scores, ok, tmp_path):
    path, _ = scores
    options = ["--target", "label", "--score", "judge", "--positive", "bad", "--metric", "recall"]
    page = tmp_path / "page.html"
    said = ok(
        *("threshold", path, *options, "--group", "customer", "--sample-weight", "weight"),
        *("--constraint", "precision >= 0.5", "--report", page),
    )
    assert "on these rows: precision >= 0.5 holds" in said
    assert page.exists()
    said = ok("threshold", path, *options, "--constraint", "precision >= 0.5", "--confidence", "0.8")
    assert "precision >= 0.5 holds with confidence 0.8" in said


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--target", "labels", "--score", "judge"], "no column 'labels'; .*Did you mean 'label'"),
        (["--target", "label", "--score", "judge"], "name the positive class with --positive"),
        (["--target", "label", "--score", "note", "--positive", "bad"], "column 'note' must hold numbers"),
        (["--target", "label", "--positive", "bad"], "--score"),
        (["--target", "label", "--score", "judge", "--positive", "bad", "--metric", "auc"], "unknown metric 'auc'"),
    ],
)
def test_errors_are_one_line(scores, error_of, options, what):
    assert re.search(what, error_of("threshold", scores[0], *options))
