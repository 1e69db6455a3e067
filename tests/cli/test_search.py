"""csf search."""

import csv
import json
import re
import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import csf.cli.search
from csf import CostSearch, Trial
from csf.cli.predict import load_model, required_trust
from csf.cli.problem import BASES, POOLED, RIVALS, Budget, base_names, make_base
from csf.cli.search import _SLOW, _judged, _valid
from csf.metrics import get_metric
from csf.plugin import PlugInClassifier
from csf.report.facts import Facts
from csf.report.held_out import HeldOut, Judged
from csf.search.workers import LocalTrainer
from csf.strategies import STRATEGIES, Ladder
from csf.thresholding.certificates import Guarantee

pytest.importorskip("skops")
pandas = pytest.importorskip("pandas")

# What the papers do, three trials of it; the plain call has tests of its own.
PAPER = ("--strategy", "cone", "--threshold", "tune", "--normalize", "none")
GRID = ("--trials", 3, "--cv", 3, *PAPER, "--verbose")
SHORT = (*GRID[:-1], "--param", "C=1")
QUICK = (*SHORT, "--verbose")
_RIVALS = [name for name in RIVALS if name != _SLOW]


def rows_of(text, first):
    """Cells of the table whose header starts with a word."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first}"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def methods_of(text):
    return {row[0]: row[1:] for row in rows_of(text, "method")}


def test_the_report_tells_the_data_the_trials_the_winner_and_the_rivals(ok):
    text = ok("search", "digits:8", *QUICK)
    assert text.startswith("digits:8: 1797 rows, 64 features, 9.68 % positive (8)\n")
    assert "training on 1347 rows, 450 held out (stratified, seed 0)" in text
    assert "maximising f1 of linear-svc, up to 3 trials by the strategy cone, 3 folds" in text
    trials = [line for line in text.splitlines() if re.match(r"\| [ *] \|  ", line)]
    assert len(trials) == 3
    assert sum(line.startswith("| *") for line in trials) == 1
    assert re.search(r"LinearSVC with C = 1, trained with (equal )?class weights", text)
    assert re.search(r"Class weights \(c_fn : c_fp\): 1\.\d+ : 0\.\d+\.\n", text)
    assert re.search(r"0\.\d{3} +f1 out-of-fold, the largest of many\n", text)
    assert "\nIt ended because: all 3 trials" in text
    assert re.search(r"0\.\d{3} +upper bound of f1, an estimate for these parameters and folds \(support\)\n", text)
    assert re.search(r"\+0\.\d{3} +at most, with other class weights \(in 19 of 20 searches; mostly far less\)\n", text)
    assert re.search(r"0\.\d{3} +f1 to expect on new data\n0\.\d{3} to 0\.\d{3}  90 % interval of it", text)
    assert list(methods_of(text)) == [
        "csf, cone",
        "base as it is",
        'base, class_weight="balanced"',
        "exact pooled threshold",
    ]
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text


def test_the_rivals_are_what_they_are_called(ok):
    methods = methods_of(ok("search", "digits:8", *QUICK))
    X, digit = load_digits(return_X_y=True)
    y = (digit == 8).astype(int)
    labels = np.where(digit == 8, "8", "not 8")
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, stratify=labels, random_state=0)
    scaler = StandardScaler().fit(X[train])
    Z, new = scaler.transform(X[train]), scaler.transform(X[test])
    # scaling within folds and on all training rows differ too little to move a printed digit here
    models = {
        "base as it is": LinearSVC(dual=False),
        'base, class_weight="balanced"': LinearSVC(dual=False, class_weight="balanced"),
        "exact pooled threshold": PlugInClassifier(LinearSVC(dual=False), cv=3),
    }
    for name, model in models.items():
        expected = f1_score(y[test], model.fit(Z, y[train]).predict(new))
        assert float(methods[name][0]) == pytest.approx(expected, abs=2e-2 if "pooled" in name else 6e-5)


def test_the_same_seed_gives_the_same_report(ok):
    def report(seed):
        text = ok("search", "breast_cancer", *GRID, "--base", "sgd", "--seed", seed)
        return [row[:-1] for row in rows_of(text, " ")], [row[0] for row in methods_of(text).values()]

    assert report(1) == report(1)
    assert report(1) != report(2)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_searched_and_saved(ok, strategy, tmp_path):
    path = tmp_path / "m.skops"
    assert f"csf, {strategy}" in methods_of(ok("search", "iris:1", *QUICK, "--strategy", strategy, "--save", path))
    assert load_model(path)[0].trials_


# Names of all metrics are read in one place.
@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "recall", "precision", "gmean", "mcc", "f3"])
def test_metrics_are_searched_and_saved(ok, metric, tmp_path):
    needed = {"recall": "precision >= 0.5", "precision": "recall >= 0.5"}
    options = ["--constraint", needed[metric]] if metric in needed else []
    options += ["--metric", metric, "--save", tmp_path / "m.skops"]
    assert "csf, cone" in methods_of(ok("search", "wine:1", *QUICK, *options))
    assert load_model(tmp_path / "m.skops")[0].trials_


@pytest.mark.slow
def test_a_table_with_weights_and_a_grid(ok, table, tmp_path):
    options = ["--target", "outcome", "--positive", "churn", "--param", "C=0.1,1", *GRID]
    text = ok("search", table, *options, "--sample-weight", "weight", "--save", tmp_path / "m.skops")
    assert f"{table}: 240 rows, 4 features (3 categorical), " in text
    assert "% positive (churn), weighted" in text
    assert "up to 3 trials of each of 2 settings" in text
    assert "|   C |" in text
    assert re.search(r"LinearSVC with C = (0\.1|1), trained", text)
    search, features = load_model(tmp_path / "m.skops")
    assert features.numeric == ("age",)
    assert search.classes_.tolist() == ["churn", "stay"]
    assert search.pos_label_ == "churn"
    plain = ok("search", table, *options, "--drop", "weight")
    assert methods_of(text)["base as it is"] != methods_of(plain)["base as it is"]
    assert [row[5] for row in rows_of(text, " ")] != [row[5] for row in rows_of(plain, " ")]


def test_a_svmlight_file(ok, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{1 if a + b > 1.2 else -1} 1:{a:.3f} 7:{b:.3f}" for a, b in rng.random((90, 2))]
    path = tmp_path / "data"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for base in ("linear-svc", "hist-gradient-boosting"):
        options = ["--param", "max_iter=5"] if base.startswith("hist") else []
        assert ": 90 rows, 7 features" in ok("search", path, "--base", base, *options, *GRID)


def test_a_constraint_is_reported(ok, run):
    text = ok("search", "breast_cancer", *QUICK, "--metric", "recall", "--constraint", "precision >= 0.9")
    assert "maximising recall with precision >= 0.9 of linear-svc" in text
    assert re.search(r"0\.9\d\d +precision out-of-fold: precision >= 0\.9 holds", text)
    assert all(len(row) == 3 for row in methods_of(text).values())
    options = ["--metric", "recall", "--constraint", "precision >= 0.99", "--threshold", "none", "--trials", 1]
    code, text, err = run("search", "iris:1", "-v", "--cv", 3, *options)
    assert code == 0
    assert "precision >= 0.99 does not hold" in text
    assert "csf: warning: no trial satisfies precision >= 0.99" in err


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--bound", "parambath"), ("--normalize", "mean"), ("--cv", 4), ("--seed", 7)])
def test_options_reach_the_search(ok, option, tmp_path):
    def winner(*options):
        ok("search", "digits:8", *GRID, "--param", "C=0.001", *options, "--json", tmp_path / "r.json")
        return json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["winner"]

    assert winner(*option) != winner()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("iris:1", ("--test-size", 0), "training on 150 rows, none held out"),
        ("csf-data:mine", (), "training on 90 rows, 30 held out (official split)"),
        ("iris:1", ("--cv", 0.3), "strategy cone, 1 fold\n"),
        ("iris:1", ("--tol", 1), "is at most tol=1"),
        ("iris:1", ("--model", "logistic,sgd", "--trials", 1), "maximising f1 of logistic,sgd, up to 1 trials of each"),
        ("iris:1", ("--base", "nearest-neighbors"), "takes no weights, so that other costs cannot reach it"),
        (
            "iris:1",
            ("--base", "nearest-neighbors"),
            'base, class_weight="balanced": left out, the base has no class_weight',
        ),
        ("wine", ("--metric", "f1_macro", "--strategy", "ladder"), "178 rows, 13 features, 3 classes (class_0 33.1 %"),
        ("wine:2", ("--metric", "f1_macro", "--strategy", "ladder"), "27 % positive (class_2)"),
    ],
)
def test_what_is_said_of_options(ok, tmp_path, monkeypatch, source, options, said):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y, is_test = (X[:, 0] + rng.normal(size=120) > 1).astype(int), np.arange(120) >= 90
    np.savez_compressed(tmp_path / "mine.npz", X=X, y=y, positive=np.array([1]), is_test=is_test)
    monkeypatch.setenv("CSF_DATA", str(tmp_path))
    text = ok("search", source, *GRID, *options)
    assert said in text
    assert ("base as it is" in text) == ("--test-size" not in options)


def test_own_decisions(ok):
    text = ok("search", "iris:1", *QUICK, "--threshold", "none")
    own, tuned = zip(*(row[4:6] for row in rows_of(text, " ")))
    assert own == tuned


def test_all_results_as_json(ok, tmp_path):
    ok("search", "digits:8", *GRID, "--param", "C=0.1,1", "--json", tmp_path / "r.json")
    report = strict((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert all(isinstance(trial["threshold"], float) for trial in (report["winner"], *report["trials"]))
    assert report["data"] == {
        "name": "digits:8",
        "rows": 1797,
        "features": 64,
        "positive": "8",
        "share_of_positives": pytest.approx(0.0968, abs=1e-4),
    }
    assert report["options"]["metric"] == "f1"
    assert len(report["trials"]) == 6
    winner = report["winner"]
    trial = report["trials"][winner["trial"]]
    assert (trial["t"], trial["score"], trial["threshold"]) == (winner["t"], winner["out_of_fold"], winner["threshold"])
    assert trial["params"]["classifier__C"] == winner["params"]["classifier__C"]
    assert report["held_out"][0]["method"] == "csf, cone"
    params = trial.pop("params")
    # Numbers are numbers in the report; records of trials write thresholds, which may be infinite, as text.
    assert params["t"] == Trial.from_dict(trial | {"threshold": repr(trial["threshold"])}).t


@pytest.mark.slow
def test_a_search_goes_on_from_its_checkpoint(ok, error_of, table, tmp_path):
    options = ["--target", "outcome", "--positive", "churn", "--cv", 3, "-v", "--checkpoint", tmp_path / "c.json"]
    first, second = (rows_of(ok("search", table, *options, "--trials", 3), " ") for _ in range(2))
    # Times are kept as well, so that not even those change.
    assert first == second
    assert "belongs to another search" in error_of("search", "iris:2", "-q", *options[4:6], *options[-2:])


def test_quiet_and_verbose(run):
    assert run("search", "iris:1", *SHORT, "--quiet") == (0, "", "")
    code, out, err = run("search", "iris:1", *SHORT)
    assert (code, err) == (0, "")
    data, verdict, more, expected, held, compared, winner, *_, following = out.splitlines()
    assert data.startswith("iris:1: 150 rows")
    assert re.fullmatch(r"0\.\d{3} f1 to expect on new data, 90 % interval 0\.\d{3} to 0\.\d{3}", expected)
    assert re.search(
        r"on 38 held-out samples, .*; [+-]0\.\d{3} compared with “exact pooled threshold” \(",
        f"{held} {compared.strip()}",
    )
    assert winner.startswith("LinearSVC")
    assert verdict.startswith("Take the simpler method. ")
    assert more.endswith("(CSF009)")
    assert following.startswith("Next: csf compare ")
    assert following.endswith(" Details: --verbose")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("base", "param"),
    [("linear-svc", "C=1"), ("random-forest", "n_estimators=2"), ("hist-gradient-boosting", "max_iter=5")],
)
def test_the_saved_model_comes_with_its_command(ok, tmp_path, base, param):
    pytest.importorskip("skops", minversion="0.15", reason="skops trusted trees before 0.15")
    path = tmp_path / "m.skops"
    text = ok("search", "iris:1", *GRID, "--base", base, "--param", param, "--save", path)
    assert f"use it with: csf predict {path} DATA\n" in text
    assert len(ok("predict", path, "iris").splitlines()) == 151


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_the_plot(ok, tmp_path, metric):
    ok("search", "digits:8", *QUICK, "--metric", metric, "--plot", tmp_path / "cones.png")
    assert (tmp_path / "cones.png").read_bytes().startswith(b"\x89PNG")


def test_searches_that_cannot_be_made_are_one_line(error_of, run, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,y\n" + "".join(f"{i % 9},{int(i < 3)}\n" for i in range(40)), encoding="utf-8")
    assert error_of("search", path, "--target", "y", "--cv", 5).startswith(
        "cv=5 needs at least 5 samples of each class"
    )
    code, _, err = run("search", "iris:1", *GRID, "--param", "C=-1")
    assert code == 2
    last = err.splitlines()[-1]
    assert last.startswith("csf: error: all 3 trials failed: ")
    assert last.count("'C' parameter of LinearSVC must be") == 1


def test_missing_extras_are_named_before_the_search(error_of, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert error_of("search", table, "--target", "y") == "reading CSV needs pandas: pip install 'csf-search[cli]'"
    monkeypatch.setitem(sys.modules, "skops.io", None)
    message = "saving a model needs skops: pip install 'csf-search[cli]'"
    assert error_of("search", "iris:1", "--save", tmp_path / "m.skops") == message


def strict(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_json_does_not_know_have_texts():
    given = {"a": np.inf, "b": [-np.inf, np.nan, np.float64(0.5)], 3: (np.int64(2), None, True), "d": np.array([1.0])}
    assert strict(json.dumps(_valid(given))) == {"a": "inf", "b": ["-inf", None, 0.5], "3": [2, None, True], "d": [1.0]}
    assert _valid(Trial) == str(Trial)


@pytest.mark.slow
def test_the_report_is_written_of_a_table_with_categories_and_quotes_in_its_name(ok, table):
    data = table.rename(table.with_name("cus'to\"mers <b>.csv"))
    path = table.with_name("re'port.html")
    text = ok("search", data, "--target", "outcome", "--positive", "churn", *QUICK, "--report", path)
    assert f"report: {path}" in text
    page = path.read_text(encoding="utf-8")
    assert "mers &lt;b&gt;.csv: 240 rows, 5 features (" in page
    assert "&#34;balanced&#34;" in page
    assert "this search is ahead by" in page


@pytest.mark.slow
def test_without_options_it_is_the_plain_call(ok, tmp_path):
    text = ok("search", "iris:1", "-v", "--json", tmp_path / "r.json", "--save", tmp_path / "m.skops")
    assert "up to 6 trials of each of 7 settings (and of 4 beyond them, as long as an end is best)" in text
    assert " by the strategy ladder, 15 folds" in text
    assert "30 more trials, none with a larger tuned value" in text
    assert re.search(r"\n[+-]0\.\d{3} +compared with “exact pooled threshold” ", text)
    search, _ = load_model(tmp_path / "m.skops")
    assert (search.n_trials_, search.n_splits_) == (42, 15)
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert len(report["trials"]) == 42
    own, *rivals = report["held_out_intervals"]
    assert own["interval"][0] <= own["value"] <= own["interval"][1]
    assert [each["name"] for each in rivals] == [
        "base as it is",
        'base, class_weight="balanced"',
        "exact pooled threshold",
    ]
    assert all(each["difference"] == pytest.approx(own["value"] - each["value"]) for each in rivals)


def test_the_time_limit_is_that_of_the_whole_command(ok, tmp_path):
    """The rivals were not under it; what is left out is said."""
    text = ok("search", "iris:1", "-v", "--time-limit", 1e-6, "--json", tmp_path / "r.json")
    assert "leaves no time for another trial and the refit, the part of the search in 1e-06 s" in " ".join(text.split())
    for name in _RIVALS:
        assert re.search(rf"^{re.escape(name)}: left out, the time limit of 1e-06 s leaves no time for it", text, re.M)
    assert re.search(r"\n0\.\d{3} +f1 on \d+ held-out samples\n", text)
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in report["held_out_intervals"]] == ["csf"]
    assert len(report["trials"]) == 1


@pytest.mark.parametrize("seconds", [0.8, 1.2])
def test_a_rival_is_trained_where_there_is_time_for_it(seconds):
    budget = Budget(2.0, clock=iter([10.0, 11.0]).__next__)
    assert (budget.refusal(seconds) is None) == (seconds <= 1.0)
    assert Budget(None).refusal(seconds) is Budget(None).share(0.5) is None


def test_what_rivals_are_expected_to_take_comes_from_the_search(ok, monkeypatch):
    """The exact threshold is one trial a setting and a last training; the others train once."""
    seen = {}

    def note(problem, setup, search, seconds):
        seen.update(expected=expected(problem, setup, search, seconds), setup=setup, search=search, seconds=seconds)
        return seen["expected"]

    expected = csf.cli.search._expected_seconds
    monkeypatch.setattr("csf.cli.search._expected_seconds", note)
    ok("search", "iris:1", "--param", "C=1,2", "--trials", 2, "--cv", 2)
    search, training = seen["search"], seen["search"].refit_time_
    trial = (seen["seconds"] - training) / search.n_trials_
    plain = pytest.approx(5 * training)
    assert seen["expected"] == {_RIVALS[0]: plain, _RIVALS[1]: plain, POOLED: pytest.approx(2 * trial + training)}


def test_bars_are_shown_on_a_terminal(run, monkeypatch):
    assert run("search", "iris:1", *QUICK)[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    code, _, err = run("search", "iris:1", *QUICK)
    assert code == 0
    assert "trial" in err
    assert "csf, rivals" in err
    assert run("search", "iris:1", *SHORT, "--quiet") == (0, "", "")


def interrupted_training(monkeypatch, after):
    """Ctrl-C in the training that follows so many trials."""
    plain, trained = LocalTrainer.train, []

    def train(self, batch, *, raise_errors):
        for result in plain(self, batch, raise_errors=raise_errors):
            if len(trained) == after:
                raise KeyboardInterrupt
            trained.append(result)
            yield result

    monkeypatch.setattr(LocalTrainer, "train", train)


@pytest.mark.slow
def test_an_interrupted_search_writes_what_there_is_and_trains_no_rivals(run, monkeypatch, tmp_path):
    monkeypatch.setattr("csf.cli.search._run_rival", None)
    outputs = ["--save", tmp_path / "m.skops", "--json", tmp_path / "r.json", "--rule", tmp_path / "rule.json"]
    with monkeypatch.context() as patch:
        interrupted_training(patch, 0)
        code, out, err = run("search", "iris:1", *QUICK, *outputs)
    assert (code, err) == (130, "csf: error: interrupted\n")
    assert "c_fn" not in out
    assert not (tmp_path / "m.skops").exists()
    interrupted_training(monkeypatch, 1)
    code, out, err = run("search", "iris:1", *QUICK, *outputs, "--report", tmp_path / "r.html")
    assert code == 130
    assert err.endswith("csf: error: interrupted\n")
    assert "It ended because: interrupted\n" in out
    assert all(f"\n{name}: left out, interrupted\n" in out for name in _RIVALS)
    assert load_model(tmp_path / "m.skops")[0].n_trials_ == 1
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (len(report["trials"]), len(report["held_out"])) == (1, 4)
    assert (tmp_path / "rule.json").exists()
    assert (tmp_path / "r.html").exists()


def test_an_interrupted_rival_is_the_last_one(run, monkeypatch, tmp_path):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(RIVALS, _RIVALS[0], interrupt)
    code, out, err = run("search", "iris:1", *QUICK, "--save", tmp_path / "m.skops")
    assert (code, err) == (130, "csf: error: interrupted\n")
    assert re.search(r"\n[+-]0\.\d{3} +compared with “exact pooled threshold” ", out)
    assert all(f"\n{name}: left out, interrupted\n" in out for name in _RIVALS[:2])
    assert load_model(tmp_path / "m.skops")[0].n_trials_ == 3


def test_a_rival_that_keeps_no_constraint_is_not_compared():
    search = CostSearch(LinearSVC(), constraint="precision >= 0.9")
    own, rival = ("csf", 0.5, (0.4, 0.6), 0.0, (0.0, 0.0)), (POOLED, 0.7, (0.6, 0.8), -0.2, (-0.3, -0.1))

    def said(own_missed, rival_missed, **promises):
        judged = [Judged(*own, own_missed), Judged(*rival, rival_missed)]
        held = HeldOut(None, np.zeros(9), None, {}, judged)
        search.result_, search.best_score_ = SimpleNamespace(read_metric=get_metric), 0.5
        vars(search).update(promises)
        about = {"winner": "", "template": "", "figures": {}}
        return _judged(Facts(search=search, held=held, **about), POOLED)

    for missed, who in (((0.0, 0.1), "rival"), ((0.1, 0.0), "search")):
        assert f"no comparison with the {POOLED}: the {who} misses the constraint on these rows" in said(*missed)
    for missed in (0.0, 0.1):
        assert "compared with “" in said(missed, missed)
    text = said(0.0, 0.0, guarantee_=Guarantee("precision >= 0.9", 0.9, False, 0.0, 0.5, {}, 10, 5, 1))
    assert "precision >= 0.9 could not be shown for the search" in text
    assert "compared with “" not in text


def test_what_a_search_promises_the_threshold_beside_it_promises(ok, tmp_path, monkeypatch):
    """The same calibration samples stand for both; where they do not for the threshold, it is left out."""
    promised = []
    fit = CostSearch.fit

    def watched(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        promised.append(self.guarantee_)
        return self

    monkeypatch.setattr(CostSearch, "fit", watched)
    options = ["--metric", "recall", "--constraint", "precision >= 0.7", "--confidence", 0.8, "--strategy", "ladder"]
    text = ok("search", "digits:3", "-v", "--trials", 1, "--cv", 3, "--param", "C=0.01", *options)
    own, rival = promised
    assert (own.n_samples, own.n_positives, own.confidence) == (rival.n_samples, rival.n_positives, 0.8)
    assert own.holds
    assert rival.holds
    assert "compared with “exact pooled threshold” " in text
    assert str(own) in " ".join(text.split())
    assert "out-of-fold precision" not in text
    promises = {name: cells[2] for name, cells in methods_of(text).items()}
    assert promises == {"csf, ladder": "yes", **dict.fromkeys(_RIVALS, "no"), POOLED: "yes"}

    def failed(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        if isinstance(self.strategy, Ladder):
            self.guarantee_ = replace(self.guarantee_, holds=False)
        return self

    monkeypatch.setattr(CostSearch, "fit", failed)
    text = ok("search", "digits:3", "-v", "--trials", 1, "--cv", 3, "--param", "C=0.01", *options)
    assert "exact pooled threshold: left out, no threshold certifies precision >= 0.7" in text
    assert "compared with “exact pooled threshold" not in text


def test_a_constraint_with_confidence(ok, tmp_path):
    options = ["--metric", "recall", "--constraint", "precision >= 0.7", "--confidence", 0.8]
    ok("search", "digits:3", *QUICK, *options, "--save", tmp_path / "m.skops", "--json", tmp_path / "all.json")
    search, _ = load_model(tmp_path / "m.skops")
    assert search.confidence == 0.8
    assert search.guarantee_.holds
    told = json.loads((tmp_path / "all.json").read_text())
    assert told["winner"]["guarantee"] == asdict(search.guarantee_)
    assert {each["method"]: each["promised"] for each in told["held_out"]}["base as it is"] is False


def test_rules_of_features_without_names_are_those_of_their_numbers(ok, tmp_path):
    text = ok("search", "iris:1", *QUICK, "--rule", tmp_path / "rule.json", "--save", tmp_path / "m.skops")
    assert f"rule: {tmp_path}/rule.json" in text
    rule = json.loads((tmp_path / "rule.json").read_text())
    assert len(rule["coef"]) == 4
    assert rule["features"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "base"),
    [
        (("--base", "random-forest"), "RandomForestClassifier"),
        (("--base", "logistic,hist-gradient-boosting"), None),
        (("--fn-cost", 20, "--fp-cost", 5, "--metric", "cost"), None),
    ],
)
def test_rules_of_other_models_are_decisions_on_their_scores(options, base, ok, tmp_path):
    path = tmp_path / "rule.json"
    text = ok("search", "iris:1", "--trials", 3, "--cv", 3, "--no-rivals", *options, "--rule", path)
    scored = json.loads(path.read_text(encoding="utf-8"))["rule"]["estimator"]
    assert f"rule: {path}" in text
    assert scored["reads"] in ("predict_proba", "decision_function")
    assert base is None or (scored["base"], len(scored["classes_"])) == (base, 2)


@pytest.mark.slow
def test_checks_are_printed_with_codes_that_can_be_muted(ok, error_of, tmp_path):
    options = ["iris:1", *QUICK, "--test-size", 0, "--report", tmp_path / "r.html"]
    text = ok("search", *options, "--json", tmp_path / "r.json")
    assert "\nCSF010 no held-out data: Judge the winner on samples that fit has not seen" in text
    assert "samples that fit has not seen" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["checks"]
    assert [each["code"] for each in told] == re.findall(r"^(CSF\d+) ", text, re.M)
    assert "CSF010" not in ok("search", *options, "--mute", "CSF010")
    assert "Left out here: CSF010." in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "invalid choice: 'CSF01'" in error_of("search", *options, "--mute", "CSF01")


def test_the_search_alone_where_no_rivals_are_wanted_has_all_the_time(ok, monkeypatch, tmp_path):
    def searched(*more):
        text = ok("search", "iris:1", *QUICK, *more, "--time-limit", 1000, "--save", tmp_path / "m.skops")
        return text, load_model(tmp_path / "m.skops")[0].time_limit

    assert 600 < searched()[1] <= 2000 / 3
    monkeypatch.setattr("csf.cli.search._run_rival", None)
    assert 950 < searched("--test-size", 0)[1] <= 1000
    text, limit = searched("--no-rivals")
    assert re.search(r"\n0\.\d{3} +f1 on \d+ held-out samples\n", text)
    assert not any(name in text for name in _RIVALS)
    assert 950 < limit <= 1000


def test_a_column_is_one_measure_and_the_winner_is_told_with_the_threshold_in_use(ok, tmp_path):
    options = ["--param", "C=0.01", "--cv", 3, "--no-rivals", "-v", "--save", tmp_path / "m.skops"]
    text = ok("search", "digits:8", *options)
    search = load_model(tmp_path / "m.skops")[0]
    row, trial = next(line for line in text.splitlines() if line.startswith("| *")), search.trials_[search.best_index_]
    assert search.best_threshold_ != trial.threshold
    assert f" {trial.threshold:.4g} |" in row
    assert f" {trial.score:.4f} |" in row
    assert f"Threshold of the score: {search.best_threshold_:.4g}" in text
    assert re.search(rf"{search.best_score_:.3f} +f1 out-of-fold", text)


KINDS = np.array(["setosa", "versicolor", "virginica"])
OF_CLASSES = ("--metric", "f1_macro", "--cv", 3, "--param", "C=1", "--verbose")


@pytest.fixture
def flowers(tmp_path):
    """Irises, the last kind rare, two of their columns."""
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:50, 50:100, 100:125]
    frame = pandas.DataFrame(X[rows, :2], columns=["length", "width"])
    path = tmp_path / "flowers.csv"
    frame.assign(kind=KINDS[y[rows]]).to_csv(path, index=False)
    return path


def test_a_search_tells_its_rule_its_value_and_what_it_does_on_held_out_rows(ok, flowers, tmp_path):
    files = {"--json": "r.json", "--save": "m.skops", "--report": "r.html", "--plot": "c.png"}
    outputs = [word for option, name in files.items() for word in (option, tmp_path / name)]
    text = ok("search", flowers, "--target", "kind", "--base", "logistic", *OF_CLASSES, *outputs)
    assert "125 rows, 2 features, 3 classes (setosa 40 %, versicolor 40 %, virginica 20 %)\n" in text
    assert "maximising f1_macro of logistic, up to 3 trials by the strategy ladder, 3 folds" in text
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    winner = report["winner"]
    assert report["data"]["classes"] == KINDS.tolist()
    assert re.search(rf"{winner['out_of_fold']:.3f} +f1_macro out-of-fold", text)
    low, high = winner["score_interval"]
    assert f"{low:.3f} to {high:.3f}  90 % interval of it" in text
    assert [row[0] for row in rows_of(text, "class ")] == KINDS.tolist()
    # The same search by hand, on the same split.
    frame = pandas.read_csv(flowers)
    train, test = train_test_split(frame, test_size=0.25, stratify=frame["kind"], random_state=0)
    search, _ = load_model(tmp_path / "m.skops")
    base = make_base("logistic", load_model(tmp_path / "m.skops")[1])
    same = CostSearch(base, "f1_macro", param_grid={"classifier__C": [1]}, cv=3, random_state=0)
    same.fit(train[["length", "width"]], train["kind"])
    predicted = same.predict(test[["length", "width"]])
    np.testing.assert_array_equal(search.predict(test[["length", "width"]]), predicted)
    shown = [[float(cell) for cell in row[1:]] for row in rows_of(text, "truth")]
    np.testing.assert_array_equal(shown, confusion_matrix(test["kind"], predicted))
    values = {row[0]: float(row[1]) for row in rows_of(text, "method")}
    assert values["csf, ladder"] == pytest.approx(f1_score(test["kind"], predicted, average="macro"), abs=5e-5)
    plain = base.fit(train[["length", "width"]], train["kind"]).predict(test[["length", "width"]])
    assert values["base as it is"] == pytest.approx(f1_score(test["kind"], plain, average="macro"), abs=5e-5)
    assert list(values)[2:] == ['base, class_weight="balanced"', "tuned rule, equal weights"]
    assert re.search(r"\n[+-]0\.\d{3} +compared with “base as it is”", text)
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100


@pytest.mark.parametrize("base", ["logistic", "linear-svc"])
def test_a_saved_model_predicts_labels_with_scores_of_each_class(base, ok, flowers, tmp_path):
    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    ok("search", flowers, "--target", "kind", "--base", base, *OF_CLASSES[:-1], "--test-size", 0, "--save", model, "-q")
    assert required_trust(model) == []
    search, _ = load_model(model)
    X = pandas.read_csv(flowers)[["length", "width"]]
    text = ok("predict", model, flowers, "-o", out)
    names, counts = np.unique(search.predict(X), return_counts=True)
    assert text.endswith("predicted " + ", ".join(f"{n} ({c})" for n, c in zip(names, counts)) + "\n")
    with open(out, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = ["score", "probability"] if base == "logistic" else ["score"]
    assert list(rows[0]) == ["prediction", *(f"{kind} {name}" for kind in kinds for name in KINDS)]
    scores = np.array([[float(row[f"score {name}"]) for name in KINDS] for row in rows])
    np.testing.assert_array_equal(KINDS[scores.argmax(axis=1)], [row["prediction"] for row in rows])
    np.testing.assert_array_equal(search.predict(X), [row["prediction"] for row in rows])


@pytest.mark.slow
def test_compare_takes_the_strategies_that_several_classes_have(ok, flowers):
    text = ok("compare", flowers, "--target", "kind", "--base", "logistic", *OF_CLASSES, "--splits", 2, "--trials", 2)
    rows = rows_of(text, "method")
    assert sorted(row[0] for row in rows) == [
        "base as it is",
        'base, class_weight="balanced"',
        "csf, grid",
        "csf, ladder",
        "tuned rule, equal weights",
    ]
    assert [row[2] for row in rows if row[0] == "base as it is"] == ["-"]
    assert "difference: paired, to the base as it is" in text
    assert "csf, cone: left out" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metric", "f1"), "search all classes by a metric such as --metric f1_macro"),
        (("--metric", "f1_macro", "--constraint", "recall >= 0.5"), "write recall[setosa] >= 0.5 for one of"),
        (
            ("--metric", "f1_macro", "--strategy", "cone"),
            "several classes, and costs of rows, are searched by 'ladder' or 'grid'",
        ),
        (("--metric", "f1_macro", "--tol", 0.1), "there is no upper bound for several classes"),
    ],
)
def test_what_several_classes_do_not_have_is_refused(options, words, error_of, flowers):
    assert words in error_of("search", flowers, "--target", "kind", *options)


def test_several_bases_are_one_search(ok, tmp_path):
    options = ["--base", "logistic,sgd", "--trials", 1, "--cv", 3, "--no-rivals", "--quiet"]
    ok("search", "iris:1", *options, "--json", tmp_path / "r.json", "--save", tmp_path / "m.skops")
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert {trial["params"]["model"] for trial in report["trials"]} == {"logistic", "sgd"}
    assert report["winner"]["params"]["model"] in ("logistic", "sgd")
    assert len(ok("predict", tmp_path / "m.skops", "iris").splitlines()) == 151


def test_groups_of_bases_are_those_that_are_installed(monkeypatch):
    monkeypatch.setattr("csf.cli.problem.find_spec", lambda name: None)
    assert base_names("auto") == ["logistic", "random-forest"]
    assert set(base_names("all")) == set(BASES) - {"lightgbm", "xgboost"}
    assert base_names("forest, sgd") == ["random-forest", "sgd"]


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        ("search", ["--base", "logistic,forst"], "invalid choice: 'forst'"),
        ("search", ["--base", "logistic,sgd", "--param", "C=1"], "--param is for one base"),
        ("compare", ["--base", "logistic,sgd"], "csf compare takes one base, got logistic,sgd"),
    ],
)
def test_what_several_bases_cannot_have(run, verb, options, message):
    code, _, err = run(verb, "iris:1", *options)
    assert code == 2
    assert message in err


@pytest.mark.slow
def test_a_file_sorted_by_class_with_its_row_number(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.sort(rng.random(400) < 0.3).astype(int)
    path = tmp_path / "sorted.csv"
    pandas.DataFrame({"x": rng.normal(size=400) + y, "y": y}).to_csv(path)  # with the index, which has no name
    flags = ("search", path, "--target", "y", "--base", "random-forest", "--trials", 1, "--cv", 3, "--no-rivals")
    page = tmp_path / "page.html"
    _, out, err = run(*flags, "--report", page)
    assert "unless it is a time, leave it out with --drop 'Unnamed: 0'" in err
    assert "\nLook at its features before you use it. The winner uses 'Unnamed: 0'" in out
    assert "\nNext: --drop COLUMN leaves a column out. Details: --verbose\n" in out
    assert "Look at its features before you use it." in page.read_text(encoding="utf-8")
    _, out, err = run(*flags, "--drop", "Unnamed: 0")
    assert err == ""
    assert "Look at its features" not in out


def test_a_class_of_several_is_watched(ok, error_of, flowers, tmp_path):
    model, state = tmp_path / "m.skops", tmp_path / "state.json"
    ok("search", flowers, "--target", "kind", *OF_CLASSES[:-1], "--test-size", 0, "--save", model, "-q")
    name, other = KINDS[1], KINDS[2]
    text = ok("monitor", model, flowers, "--target", "kind", "--state", state, "--constraint", f"recall[{name}] >= 0.2")
    assert text.startswith(f"recall[{name}] >= 0.2: no evidence against it")
    both = f"recall[{name}] >= 0.2, precision[{other}] >= 0.2"
    plot = ("--plot", tmp_path / "both.png")
    text = ok(
        "monitor", model, flowers, "--target", "kind", "--state", tmp_path / "g.json", "--constraint", both, *plot
    )
    assert text.startswith("2 monitors: no evidence against any of them")
    wanted = ("monitor", model, flowers, "--target", "kind", "--state", tmp_path / "n.json")
    assert "there is no 'odd'; accepted:" in error_of(*wanted, "--constraint", "recall[odd] >= 0.2")
    assert "cannot watch f1_macro" in error_of(*wanted)


@pytest.fixture
def visits(tmp_path):
    """Visits of customers: all rows of a customer share a class."""
    rng = np.random.default_rng(0)
    customer, sick = np.repeat(np.arange(90), 5), np.repeat(rng.random(90) < 0.3, 5)
    frame = pandas.DataFrame({"x": rng.normal(size=450) + sick, "customer": customer, "sick": sick.astype(int)})
    path = tmp_path / "visits.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_groups_stay_together(ok, visits, tmp_path, monkeypatch):
    fitted = []
    fit = CostSearch.fit

    def spy(self, X, y, **options):
        fitted.append((list(X.columns), options.get("groups")))
        return fit(self, X, y, **options)

    monkeypatch.setattr(CostSearch, "fit", spy)
    flags = ("--base", "logistic", "--trials", 1, "--param", "C=1", "--report", tmp_path / "r.html", "-v")
    text = ok("search", visits, "--target", "sick", "--group", "customer", *flags)
    assert "held out (stratified, groups of customer together)" in text
    frame = pandas.read_csv(visits).assign(hospital=lambda data: "H" + (data.customer % 7).astype(str))
    frame.drop(columns="customer").to_csv(tmp_path / "of_hospitals.csv", index=False)
    ok("search", tmp_path / "of_hospitals.csv", "--target", "sick", "--group", "hospital", *flags)
    assert re.search(r"<td>H\d</td>", (tmp_path / "r.html").read_text(encoding="utf-8"))
    del fitted[2:]
    assert len(fitted) == 2  # the search, and the exact threshold beside it
    for columns, groups in fitted:
        assert columns == ["x"]
        assert np.unique(groups, return_counts=True)[1].tolist() == [5] * np.unique(groups).size


def test_the_decisive_reason_comes_first_and_each_figure_says_of_which_rows(ok, visits):
    demand = ("--metric", "precision", "--constraint", "recall >= 0.9", "--drop", "customer")
    out = ok("search", visits, "--target", "sick", "--base", "logistic", "--trials", 1, "--no-rivals", *demand)
    _, reason, *rest = out.splitlines()
    missed = re.match(
        r"Do not use it as it is\. Held-out recall (0\.\d{3}) \((\d+) of (\d+)\), below the demanded 0\.9\b", reason
    )
    assert missed
    assert float(missed[1]) == pytest.approx(int(missed[2]) / int(missed[3]), abs=5e-4)
    assert "--confidence 0.9" in out
    said = " ".join(" ".join(rest).split())
    assert re.search(r"to expect on new data, .*; 0\.\d{3} recall out-of-fold: recall >= 0\.9 holds", said)
    assert re.search(rf"on \d+ held-out samples, .*; recall {missed[1]} \({missed[2]} of {missed[3]}\)", said)
