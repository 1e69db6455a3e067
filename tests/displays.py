"""Small studies and searches that all displays are tested on, and processes that know nothing of csf."""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from csf import ErrorProfile, Study

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _same_style():
    """No display changes global settings of matplotlib or leaves a figure open behind a test."""
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture
def study():
    """Five told trials and a failed one, of a study on F1."""
    study = Study("f1", pos=0.2, n_trials=6)
    study.fail(study.ask(), "no memory")
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=ErrorProfile(fn=0.04 + 0.1 * trial.t, fp=0.02 / (0.2 + trial.t), pos=0.2))
    return study


@pytest.fixture(scope="session")
def data():
    """A small problem with rare positives."""
    return make_classification(400, 6, weights=[0.85], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.fixture(scope="session")
def search(data):
    """A fitted search on F1 whose bounds read the training part."""
    return paper_search(LinearSVC(dual=False), "f1", n_trials=6, cv=0.3, bound_on="train", random_state=0).fit(*data)


@pytest.fixture(scope="session")
def concave_search(data):
    """A fitted search on the G-mean, which has no levels."""
    return paper_search(LinearSVC(dual=False), "gmean", n_trials=4, cv=0.3, random_state=0).fit(*data)


@pytest.fixture(scope="session")
def grid_search(data):
    """A fitted search over two settings of the base."""
    options = {"n_trials": 3, "cv": 0.3, "random_state": 0, "param_grid": {"C": [1.0, 1e-4]}}
    return paper_search(LinearSVC(dual=False), "f1", **options).fit(*data)


@pytest.fixture(scope="session")
def unfitted():
    """A search before its ``fit``."""
    return paper_search(LinearSVC())


GUIDE = Path(__file__).parents[1] / "notebooks/guide/export.md"


@pytest.fixture
def without_csf():
    """Run code in a process that cannot import csf: what it prints."""

    def run(code, folder, *words):
        block = "import sys; sys.modules['csf'] = None\n"
        done = subprocess.run(
            [sys.executable, "-I", "-c", block + code, *map(str, words)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def guide():
    """Code of the guide that has a word in it."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return lambda word: next(block for block in blocks if word in block)
