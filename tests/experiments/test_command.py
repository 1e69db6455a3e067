"""The command of the experiments."""

import json
import shlex

import numpy as np
import pytest
from sklearn.datasets import make_classification

from notebooks.experiments.command import FIGURE_SETS, STREAM_SETS
from notebooks.experiments.datasets import TABLE_SETS
from notebooks.experiments.methods import METHODS


@pytest.fixture
def folder(tmp_path):
    """Folder with two data sets."""
    for seed, name in enumerate(("wine", "other")):
        X, y = make_classification(160, 4, weights=[0.8], class_sep=0.8, flip_y=0.05, random_state=seed)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    np.savez(tmp_path / "many.npz", X=np.tile(np.eye(12), (5, 1)), y=np.arange(60) % 3)
    return tmp_path


def table(folder, *more, sets="wine,other", methods="svm-ir,pooled-threshold"):
    options = ["--sets", sets, "--methods", methods, "--splits", 2]
    return ["table2", "--data", folder, "--out", folder / "out", *options, *more]


def test_table_is_printed_and_written(run, folder):
    code, out, err = run(*table(folder))
    assert (code, "8/8" in err) == (0, True)
    assert "wine: 160 rows, 4 features" in out
    assert "| SVM-IR |" in out
    assert "## Difference to pooled-threshold" in out
    text = (folder / "out" / "table.md").read_text(encoding="utf-8")
    assert "--methods SVM-IR,pooled-threshold" in text
    assert (folder / "out" / "ranks.png").exists()
    assert "numpy" in json.loads((folder / "out" / "environment.json").read_text(encoding="utf-8"))


def test_printed_command_repeats_the_run(run, ok, folder):
    _, out, _ = run(*table(folder, "--jobs", 1, "--seed", 3, "--large-splits", 1))
    command = shlex.split(out.splitlines()[0].removeprefix("repeat with: "))
    assert command[:4] == ["python", "-m", "notebooks.experiments", "table2"]
    assert command[command.index("--large-splits") + 1] == "1"
    first = (folder / "out" / "results.csv").read_text(encoding="utf-8")
    assert ok(*command[3:], "--quiet") == ""
    assert (folder / "out" / "results.csv").read_text(encoding="utf-8") == first


def test_tables_with_categories_are_data_sets_too(run, folder, table_file):
    code, out, _ = run(*table(folder, sets=f"wine,{table_file}:outcome=churn"))
    assert code == 0
    assert "customers: 240 rows, 5 features, 20 % positive" in out
    assert "- [" not in out


@pytest.fixture
def table_file(customers, tmp_path):
    path = tmp_path / "customers.csv"
    customers.drop(columns="weight").assign(note=1.0).to_csv(path, index=False)
    return path


def test_sets_of_several_classes(run, folder):
    _, out, _ = run(*table(folder, sets="wine,many", methods="svm-ir,TunedThreshold"))
    assert "many: 60 rows, 12 features, 3 classes, class 0 is nothing to find" in out
    assert "Left out: TunedThreshold on many (two classes only)" in out
    assert "| SVM-IR | " in out
    assert "Failed" not in out
    _, out, _ = run(*table(folder, sets="wine,many:1", methods="svm-ir"), "--out", folder / "one")
    assert "many:1: 60 rows, 12 features, 33.3 % positive" in out


def test_usual_sets_are_those_of_the_folder(run, folder):
    assert set(FIGURE_SETS) | set(STREAM_SETS) <= set(TABLE_SETS)
    argv = table(folder, methods="lr-bisection")
    at = argv.index("--sets")
    _, out, _ = run(*argv[:at], *argv[at + 2 :])
    assert "--sets wine " in out
    (folder / "wine.npz").unlink()
    (folder / "many.npz").unlink()
    _, out, _ = run(*argv[:at], *argv[at + 2 :], "--out", folder / "next")
    assert "--sets other " in out


@pytest.mark.slow
def test_all_methods_and_protocols(run, folder):
    for protocol in ("paper", "modern"):
        argv = ["table2", "--data", folder, "--out", folder / protocol, "--sets", "wine", "--splits", 1]
        _, out, _ = run(*argv, "--protocol", protocol)
        assert all(f"| {name} |" in out for name in METHODS)
        assert "Failed" not in out


@pytest.mark.slow
def test_figures(ok, folder):
    argv = ["figures", "--data", folder, "--out", folder / "f", "--sets", "wine", "--splits", 1]
    assert ok(*argv, "--quiet") == ""
    assert {f"figure{n}_wine.png" for n in (4, 5, 6, 7)} <= {path.name for path in (folder / "f").iterdir()}


@pytest.mark.slow
def test_streams(run, folder):
    argv = ["stream", "--data", folder, "--out", folder / "s", "--sets", "wine", "--splits", 2]
    code, out, _ = run(*argv, "--methods", "ofo,sgd", "--every", 50)
    assert code == 0
    assert "| OFO |" in out
    assert (folder / "s" / "stream_wine_examples.png").exists()


def test_interruption_says_how_to_go_on(run, folder, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("notebooks.experiments.command.run_cells", interrupt)
    code, out, err = run(*table(folder))
    assert code == 130
    assert "the same command goes on from there" in out
    assert err == "csf: error: interrupted\n"


def test_out_that_is_a_file(error_of, folder):
    assert error_of(*table(folder, "--quiet", "--out", folder / "wine.npz")).endswith("is a file; give a folder")


def test_cells_of_another_run(run, error_of, folder):
    run(*table(folder))
    assert "was made with other settings" in error_of(*table(folder, "--quiet", "--seed", 5))


def test_empty_folder(error_of, tmp_path):
    (tmp_path / "empty").mkdir()
    argv = ["table2", "--data", tmp_path / "empty", "--out", tmp_path / "o"]
    assert "holds no data set" in error_of(*argv)


def choices(folder, *more, methods="own c"):
    options = ["--base", "logistic", "--methods", methods, "--splits", "3x1", "--large-splits", "3x1"]
    return ["choices", "--data", folder, "--out", folder / "out", *options, *more]


def test_choices(run, ok, folder, tmp_path):
    (tmp_path / "more").mkdir()
    (folder / "other.npz").rename(tmp_path / "more" / "other.npz")
    np.savez(tmp_path / "more" / "few.npz", X=np.eye(9), y=np.arange(9) < 2, positive=np.array([True]))
    code, out, err = run(*choices(folder, "--data", tmp_path / "more"))
    assert (code, "12/12" in err) == (0, True)
    assert "left out: many has several classes; name one of them with --sets many:LABEL" in out
    assert "left out: few: class True has 2 samples, 4 are needed" in out
    assert "| rival | " in out
    assert "| own C | " in out
    assert "2 data sets of 2 families" in out
    command = shlex.split(
        next(line for line in out.splitlines() if "repeat with" in line).removeprefix("repeat with: ")
    )
    first = (folder / "out" / "choices.md").read_text(encoding="utf-8")
    assert ok(*command[3:], "--quiet") == ""
    assert (folder / "out" / "choices.md").read_text(encoding="utf-8") == first
    assert f"    {shlex.join(command)}" in first


def test_choices_under_a_constraint(run, folder):
    more = ["--sets", "wine", "--metric", "recall", "--constraint", "precision >= 0.5"]
    _, out, _ = run(*choices(folder, *more))
    assert "# recall with precision >= 0.5 x 100" in out
    assert "--constraint 'precision >= 0.5'" in out


@pytest.mark.parametrize(
    ("argv", "more", "message"),
    [
        (table, ["--methods", "svm-ir,magic"], "--methods: unknown 'magic'; known: SVM, SVM-IR"),
        (table, ["--sets", "nowhere"], "no data set 'nowhere' in"),
        (table, ["--sets", "wine,wine"], "--sets names a data set twice"),
        (table, ["--sets", "none.csv:y=1"], "there is no file 'none.csv'"),
        (table, ["--splits", "0"], "--splits must be at least 1, got 0"),
        (table, ["--large-splits", "0"], "--large-splits must be at least 1"),
        (table, ["--seed", "-1"], "--seed must be at least 0"),
        (table, ["--jobs", "0"], "--jobs must not be 0"),
        (table, ["--metric", "magic"], "unknown metric 'magic'"),
        (table, ["--data", "/nowhere"], "--data /nowhere: there is no such folder"),
        (table, ["--protocol", "magic"], "invalid choice: 'magic'"),
        (choices, ["--splits", "5"], "must be FOLDSxREPEATS with 2 folds and more, such as 5x2; got '5'"),
        (choices, ["--splits", "1x2"], "must be FOLDSxREPEATS"),
        (choices, ["--splits", "5x0"], "must be FOLDSxREPEATS"),
        (choices, ["--large-splits", "4x1"], "--splits 3x1 and --large-splits 4x1 need equally many folds"),
        (choices, ["--base", "magic"], "invalid choice: 'magic'"),
        (choices, ["--methods", "magic"], "--methods: unknown 'magic'; known: rival, own C, wide C, plain, paper"),
        (choices, ["--data", "/nowhere"], "--data /nowhere: there is no such folder"),
        (choices, ["--sets", "nowhere"], "no data set 'nowhere' in"),
        (choices, ["--constraint", "magic"], "magic"),
        (choices, ["--seed", "-1"], "--seed must be at least 0"),
    ],
)
def test_mistakes(error_of, folder, argv, more, message):
    assert message in error_of(*argv(folder, "--quiet"), *more)


@pytest.mark.parametrize("kind", ["table2", "figures", "stream", "choices"])
def test_help(kind, command, capsys):
    with pytest.raises(SystemExit, match="0"):
        command([kind, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m notebooks.experiments {kind} [options] --data DIR --out DIR\n")
    assert "FILE:COLUMN=VALUE" in text
    assert max(map(len, text.splitlines())) <= 100
