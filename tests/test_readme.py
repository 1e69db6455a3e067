"""What the README and the guide show is what happens."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn.datasets import make_classification

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "notebooks").glob("*.md")),
    *sorted((ROOT / "notebooks/guide").glob("*.md")),
]
# What several pages show is run once.
SHOWN = {
    found: f"{page.stem}-{number}"
    for page in reversed(PAGES)
    for number, found in enumerate(
        re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    )
}


def blocks(page, language):
    """Blocks of code in a language on a page of the guide."""
    text = (ROOT / f"notebooks/guide/{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


LONG = ("classes-2",)
# Pages of results, where figures of the README come from.
KNOWN = ("results", "guide/numbers", "guide/row_costs")
EXAMPLES = [pytest.param(*found, id=name, marks=[pytest.mark.slow] * (name in LONG)) for found, name in SHOWN.items()]


def test_there_are_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.slow
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_examples_print_what_is_shown(code, output, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some write a file
    exec(code, {})
    assert capsys.readouterr().out == output


def test_optuna_finds_parameters(capsys):
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("lightgbm")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = make_classification(1500, 12, weights=[0.93], flip_y=0.03, random_state=0)
    exec(blocks("what_you_have", "py")[0], {"X": X, "y": y})
    assert "to expect from" in capsys.readouterr().out


@pytest.mark.slow
def test_saved_searches_predict_the_same_in_another_process(tmp_path):
    for name in ("skops", "onnx", "onnxruntime"):
        pytest.importorskip(name)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for code in blocks("saving", "py"):
        words = [sys.executable, "-W", "error", "-c", code]
        printed = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
    assert len(printed.splitlines()) == 7
    assert all(line.endswith(" True") for line in printed.splitlines())
    assert (tmp_path / "small.skops").stat().st_size < 100_000
    assert (tmp_path / "small.pickle").stat().st_size < 100_000


@pytest.mark.parametrize("marker", ["run", "test"])
def test_each_set_up_command_is_one_line(marker):
    (block,) = re.findall(rf"<!-- ci: {marker} -->\n```sh\n(.*?)```", TEXT, flags=re.DOTALL)
    assert block.count("\n") == 1


def test_files_that_are_linked_exist():
    lost = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            # The reference is written while the site is built.
            if "://" not in target and "api/" not in target and not (page.parent / target).exists():
                lost.append(f"{page.name}: {target}")
    assert not lost


def test_the_readme_is_short():
    assert len(TEXT.splitlines()) <= 160


def test_the_distribution_is_called_by_its_name_everywhere():
    """Another package has the name that csf is imported by: nobody is to install that one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    files = [*PAGES, ROOT / "pyproject.toml", *(ROOT / "csf").rglob("*.py")]
    wrong = [path for path in files if re.search(r"\bcsf\[|pip install csf\b(?!-)", path.read_text(encoding="utf-8"))]
    assert not wrong
    assert f"version: {project['version']}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_figures_of_the_readme_stand_in_the_results():
    section = TEXT.split("## What was measured\n")[1].split("\n## ")[0]
    known = "".join((ROOT / f"notebooks/{name}.md").read_text(encoding="utf-8") for name in KNOWN)
    figures = re.findall(r"(?<![\w.-])[+−]?\d+(?:\.\d+)?", re.sub(r"F1|arXiv [\d.]+|Kovács \d+", "", section))
    assert len(figures) > 20
    assert not [figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]*\d)", known)]
