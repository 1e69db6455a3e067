"""Exit codes, messages and the ways to start the command."""

import re
import subprocess
import sys
import warnings

import pytest

import csf
from csf.cli import main


def test_the_module_can_be_run():
    result = subprocess.run([sys.executable, "-m", "csf", "--version"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"csf {csf.__version__}\n", "")


def test_the_version_is_told_without_loading_what_searches():
    """Importing scikit-learn takes seconds; the version alone needs none of it."""
    program = """
import sys
from csf.cli import main
assert main(["--version"]) == 0
assert not {"numpy", "sklearn", "scipy"} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"csf {csf.__version__}\n", "")


def test_without_arguments_it_says_what_to_do_next(ok):
    text = ok()
    assert len(text.splitlines()) <= 12
    assert {"search", "predict", "monitor", "threshold", "compare"} <= set(re.findall(r"^  csf (\w+)", text, re.M))


@pytest.mark.slow
def test_built_in_sets_need_no_extras():
    program = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "skops", "pyarrow"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from csf.cli import main
sys.exit(main(["search", "iris:1", "--trials", "1", "--cv", "2", "--quiet"]))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("argv", [["--help"], ["search", "--help"], ["compare", "--help"], ["predict", "--help"]])
def test_help_fits_into_100_columns(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit, match="0"):
        main(argv)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text


def test_help_shows_examples_names_and_exit_codes(capsys):
    def help_of(*argv):
        with pytest.raises(SystemExit, match="0"):
            main([*argv, "--help"])
        return capsys.readouterr().out

    text = help_of()
    assert "csf search payments" in text
    codes = text.partition("exit codes:\n")[2].splitlines()
    assert [line.split()[0] for line in codes] == ["0", "1", "2", "3", "130"]
    names = ("breast_cancer", "digits:0 to digits:9", "csf-data:NAME", "gmean", "xgboost")
    assert all(name in help_of("search") for name in names)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["find"], "argument COMMAND: invalid choice: 'find'"),
        (["search"], "the following arguments are required: DATA; see csf search --help"),
        (["search", "digits:8", "--strategy", "tree"], "argument --strategy: invalid choice: 'tree'"),
        (["search", "digits:8", "--base", "svm"], "argument --base/--model: invalid choice: 'svm'"),
        (["search", "digits:8", "--trials", "0"], "argument --trials: must be an int >= 1, got 0"),
        (["search", "digits:8", "--trials", "x"], "argument --trials: must be an int >= 1, got 'x'"),
        (["search", "digits:8", "--cv", "1"], "argument --cv: must be folds >= 2, a share in (0, 1) or 'oob', got '1'"),
        (["search", "digits:8", "--test-size", "1"], "argument --test-size: must be a share in [0, 1), got '1'"),
        (["search", "digits:8", "--tol", "-1"], "argument --tol: must be >= 0 and finite, got -1"),
        (["search", "digits:8", "--jobs", "0"], "argument --jobs: must be a number of workers, -1"),
        (["search", "digits:8", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q/--quiet"),
        (["search", "digits:8", "--metric", "auc"], "unknown metric 'auc'; known: f1, "),
        (["search", "digits:8", "--constraint", "precision"], "cannot read constraint 'precision'; accepted: "),
        (["search", "digits:8", "--param", "C"], "--param must be NAME=VALUE"),
        (["search", "digits:10"], "digits has no class '10'"),
        (["search", "digits:8", "--plot", "cones.xyz"], "--plot cones.xyz: the suffix must be one of"),
        (
            ["search", "digits:8", "--save", "model.pkl"],
            "models are files of skops; give a name such as model.skops",
        ),
        (["search", "nothing.csv", "--target", "y"], "there is no file 'nothing.csv'"),
        (["search", "digits:8", "--strategy", "bisection", "--metric", "gmean"], "strategy 'bisection' needs a linear"),
        (["compare", "digits:8", "--splits", "0"], "argument --splits: must be an int >= 1"),
        (["compare", "digits:8", "--test-size", "0"], "compare needs a held-out part"),
        (["predict", "model.skops"], "the following arguments are required: DATA; see csf predict --help"),
        (["predict", "model.skops", "digits"], "cannot read model.skops: No such file or directory"),
    ],
)
def test_errors_of_use_are_one_line(argv, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*argv)
    assert code == 2
    assert err.startswith(f"csf: error: {message}")
    assert err.count("\n") == 1


def test_a_metric_that_one_answer_to_all_maximises_is_warned_of(run):
    code, _, err = run("search", "digits:8", "--metric", "recall", "--strategy", "cone")
    warning, error = err.splitlines()
    assert code == 2
    assert warning.startswith("csf: warning: recall is largest when every sample is predicted positive")
    assert "metric 'recall' gives the costs" in error


@pytest.mark.parametrize("flag", ["--save", "--json", "--plot", "--checkpoint"])
def test_files_that_cannot_be_written_are_refused_before_the_search(flag, error_of, tmp_path):
    assert error_of("search", "digits:8", flag, tmp_path).endswith("it is a folder")
    assert "there is no folder" in error_of("search", "digits:8", flag, tmp_path / "no" / "file.png")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RuntimeError(), 1, "RuntimeError; --debug shows where"),
        (ValueError("all failed:\nTraceback\n  File\nValueError: bad C\n"), 2, "all failed: ValueError: bad C"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_and_warnings_are_one_line_with_a_code_of_their_own(run, monkeypatch, error, code, message):
    def warn(options):
        warnings.warn("first\nmore\nlast", UserWarning, stacklevel=1)
        raise error

    monkeypatch.setattr("csf.cli.search.load_problem", warn)
    assert run("search", "digits:8") == (code, "", f"csf: warning: first last\ncsf: error: {message}\n")
    found, _, err = run("search", "digits:8", "--debug")
    assert (found, "Traceback" in err) == (code, code != 130)
    assert err.endswith(f"csf: error: {message}\n")


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error():
    command = [sys.executable, "-m", "csf", "search", "iris:1", "--trials", "1", "--cv", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
