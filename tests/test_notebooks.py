"""Every notebook runs, with the real data and without, and what is stored of it is small and clean."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 600
LARGEST = 300_000


def name(path):
    return path.stem


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    """Notebooks that measure over many splits measure over few here; what is stored in them took longer."""
    monkeypatch.setenv("CSF_SPLITS", "2")


@pytest.fixture(autouse=True)
def project_on_the_path(monkeypatch):
    """The kernel finds `tests.benchmarks`, wherever csf and the tests were started from."""
    given = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *([given] if given else [])]))


def run(path, folder):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_runs(path):
    run(path, FOLDER)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_runs_without_the_real_data(path, tmp_path, monkeypatch):
    monkeypatch.setenv("CSF_DATA", "")
    folder = tmp_path / "project" / "notebooks"
    folder.mkdir(parents=True)
    run(path, folder)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_what_is_stored_is_valid_complete_small_and_clean(path):
    assert path.stat().st_size < LARGEST
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].cell_type == "markdown"
    assert "**Data:**" in notebook.cells[0].source
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(output.output_type != "error" and output.get("name") != "stderr" for output in outputs)
    texts = [output.get("text", "") + str(output.get("data", {}).get("text/plain", "")) for output in outputs]
    assert not re.search(r"/(root|home|tmp|work|Users)/", "".join(texts))
