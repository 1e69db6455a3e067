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
    decision = csf.tune_threshold(frame["label"], frame["judge"], pos_label="bad", random_state=0)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["threshold"] == pytest.approx(decision.threshold)
    assert found["value"] == pytest.approx(decision.value)
    assert found["interval"] == pytest.approx(decision.interval)
    assert f"predict bad where judge >= {decision.threshold:.6g}" in said
    assert "400 rows, 20 % of them bad" in said


@pytest.mark.slow
def test_groups_weights_certificates_and_a_page(scores, ok, tmp_path):
    path, _ = scores
    options = ["--target", "label", "--score", "judge", "--positive", "bad", "--metric", "recall"]
    page = tmp_path / "page.html"
    said = ok(
        *("threshold", path, *options, "--group", "customer", "--sample-weight", "weight"),
        *("--constraint", "precision >= 0.5", "--report", page),
    )
    assert " precision on these samples: precision >= 0.5 holds" in said
    assert page.exists()
    said = ok("threshold", path, *options, "--constraint", "precision >= 0.5", "--confidence", "0.8")
    assert "precision >= 0.5 holds with confidence 0.8" in said


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_demands_are_certain_together(scores, ok, error_of, tmp_path, sign):
    path, frame = scores
    frame.assign(judge=sign * frame["judge"]).to_csv(path, index=False)
    command = ["threshold", path, "--target", "label", "--score", "judge", "--positive", "bad", "--metric", "f1"]
    command += [] if sign > 0.0 else ["--lower-is-positive"]
    out, demands = tmp_path / "found.json", "gmean >= 0.5, fpr <= 0.3"
    printed = ok(*command, "--certify", demands, "--json", out)
    band = csf.certify(frame["label"] == "bad", np.asarray(frame["judge"]))
    best, record = band.best("f1", demands), json.loads(out.read_text(encoding="utf-8"))["certified"]
    assert record == {"threshold": sign * best.threshold, "value": best.value, "holds": True, "demands": demands}
    side = ">=" if sign > 0.0 else "<="
    assert f"certain with confidence 0.9: {demands} where judge {side} {sign * best.threshold:.6g}" in printed
    printed = ok(*command, "--certify", "precision >= 0.99", "--confidence", "0.99")
    assert "no threshold makes precision >= 0.99 certain with confidence 0.99: label more rows" in printed
    assert "leave out --group" in error_of(*command, "--certify", demands, "--group", "customer")


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


@pytest.mark.slow
def test_lower_scores_may_be_positive(scores, ok, run, tmp_path):
    """The same rows as with the sign changed, and the threshold of the scores as they are given."""
    _, frame = scores
    out, lower = tmp_path / "found.json", tmp_path / "lower.csv"
    frame.assign(judge=5.0 - frame["judge"]).to_csv(lower, index=False)
    common = ("--target", "label", "--score", "judge", "--pos", "bad")
    said = ok("threshold", lower, *common, "--lower-is-positive", "--json", out, "--report", tmp_path / "page.html")
    decision = csf.tune_threshold(frame["label"], frame["judge"], pos_label="bad", random_state=0)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["threshold"] == pytest.approx(5.0 - decision.threshold)
    assert found["value"] == pytest.approx(decision.value)
    assert f"predict bad where judge <= {found['threshold']:.6g}" in said
    assert "f1 of -judge" in (tmp_path / "page.html").read_text(encoding="utf-8")
    code, _, err = run("threshold", lower, *common)
    assert code == 0
    assert "give --lower-is-positive, or the other --positive" in err
    assert "pos_label" not in err


def test_rows_without_a_label_and_their_groups(scores, ok, error_of, tmp_path):
    _, frame = scores
    gaps, common = (
        tmp_path / "gaps.csv",
        ("--target", "label", "--score", "judge", "--pos", "bad", "--group", "customer"),
    )
    frame["label"] = frame["label"].where(np.arange(400) % 10 > 0)
    frame["customer"] = frame["customer"].where(frame["label"].notna())  # groups of dropped rows do not matter
    frame.to_csv(gaps, index=False, sep=";", decimal=",")
    assert "give --decimal ," in error_of("threshold", gaps, *common, "--drop-unlabelled")
    assert "missing in 40 of 400 rows; --drop-unlabelled" in error_of("threshold", gaps, *common, "--decimal", ",")
    said = ok("threshold", gaps, *common, "--drop-unlabelled", "--decimal", ",")
    assert "360 rows (40 without a label dropped), 20 % of them bad" in said


def test_labels_that_miss_positives(scores, ok, error_of, tmp_path):
    path, frame = scores
    options = ["threshold", path, "--target", "label", "--score", "judge", "--pos", "bad"]
    said = ok(*options, "--labelled", "0.5", "--json", tmp_path / "found.json")
    metric = csf.metrics.Incomplete("f1", labelled=0.5)
    decision = csf.tune_threshold(frame["label"], frame["judge"], metric, pos_label="bad", random_state=0)
    assert f"{decision.value:.3f} true f1 (50 % of the positives labelled) to expect on new data, 90 % interval" in said
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["labelled"] == 0.5
    assert "true f1 (40 % to 60 % of the positives labelled)" in ok(*options, "--labelled", "0.4,0.6")
    assert "must be a share in (0, 1], or two such as 0.15,0.3, got '2'" in error_of(*options, "--labelled", "2")


def test_thresholds_have_the_digits_that_decide_the_rows(ok, tmp_path):
    """A precision that is certain above a score of two decimals is not certain where that score is found too."""
    rng = np.random.default_rng(5)
    y = (rng.random(1200) < 0.2).astype(int)
    score, path = np.round(rng.normal(size=1200) + 1.5 * y, 2), tmp_path / "scores.csv"
    pd.DataFrame({"y": y, "s": score}).to_csv(path, index=False)
    demands = "precision >= 0.6, recall >= 0.2"
    printed = ok("threshold", path, "--target", "y", "--score", "s", "--certify", demands)
    shown = float(re.search(r"certain with confidence 0.9: .* where s >= (\S+),", printed)[1])
    band = csf.certify(y, score)
    assert band.holds(demands, shown)
    assert not band.holds(demands, float(f"{shown:.6g}"))
    # Demands may be given one by one.
    each = [part for demand in demands.split(", ") for part in ("--certify", demand)]
    assert ok("threshold", path, "--target", "y", "--score", "s", *each) == printed
