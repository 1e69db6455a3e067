"""Checkpoints: what is restored, and files that are refused and left alone."""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch, ErrorProfile, Study
from csf._common.files import write_record
from csf.evaluate.trials import outcome
from csf.metrics import FBeta
from csf.metrics.profile import Hull
from csf.search.checkpoint import Checkpoint
from csf.strategies import Cone, Grid

CONTENT = (LinearSVC(C=2.0), FBeta(), Grid(3), np.arange(4.0))


def studies(n_trials=3):
    return [Study("f1", Grid(3), pos=0.2, n_trials=n_trials) for _ in range(2)]


def told_studies():
    pair = studies()
    for study in pair:
        trials = study.ask_batch()
        number = pair.index(study)
        profile = ErrorProfile(fn=0.1, fp=0.1, pos=0.2)
        study.record(trials[0], setting=number, **outcome(study.metric, profile, hull=Hull([(0.1, 0.1)])))
        study.fail(trials[1], "no", setting=number)
    return pair


def test_all_trials_come_back_pending_ones_too(tmp_path):
    saved, fresh = told_studies(), studies()
    Checkpoint(tmp_path / "c.json", CONTENT).save(saved)
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert [study.trials for study in fresh] == [study.trials for study in saved]
    assert [study.state()["pending"] for study in fresh] == [1, 1]


def test_without_a_file_nothing_happens(tmp_path):
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert [study.trials for study in fresh] == [[], []]
    assert not (tmp_path / "c.json").exists()


OTHERS = {
    "base": (LinearSVC(C=3.0), *CONTENT[1:]),
    "kind of base": (LogisticRegression(C=2.0), *CONTENT[1:]),
    "metric": (CONTENT[0], FBeta(2.0), *CONTENT[2:]),
    "strategy": (*CONTENT[:2], Grid(4), CONTENT[3]),
    "kind of strategy": (*CONTENT[:2], Cone(), CONTENT[3]),
    "data": (*CONTENT[:3], np.arange(4.0) + 1e-12),
    "type of data": (*CONTENT[:3], np.arange(4.0, dtype=np.float32)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_search_is_refused_and_the_file_left_alone(tmp_path, name):
    path = tmp_path / "c.json"
    Checkpoint(path, CONTENT).save(told_studies())
    before = path.read_bytes()
    checkpoint, fresh = Checkpoint(path, OTHERS[name]), studies()
    with pytest.raises(ValueError, match=r"belongs to another search: the data, splits, .* give another checkpoint"):
        checkpoint.restore(fresh)
    assert path.read_bytes() == before
    assert fresh[0].trials == []


def good(**changes):
    record = {"fingerprint": Checkpoint("", CONTENT).fingerprint, "kept": None}
    histories = [[{**t.to_dict(), "setting": n} for t in study.trials] for n, study in enumerate(told_studies())]
    return {name: value for name, value in (record | {"studies": histories} | changes).items() if value != "missing"}


def text(*, kind="csf-checkpoint", version=4, **changes):
    """A file that is intact, whatever it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        write_record(path, kind, version, good(**changes))
        return path.read_text()


FILES = {
    "torn": (text()[:-9], "is damaged or not a csf-checkpoint file"),
    "empty": ("", "is damaged or not a csf-checkpoint file"),
    "a study": (text(kind="csf-study"), "is not a csf-checkpoint file; it was left as it is"),
    "older": (text(version=1), "has version 1 of the csf-checkpoint format; this csf reads 4.* with the csf that"),
    "newer": (text(version=5), "has version 5 of the csf-checkpoint format; this csf reads 4"),
    "no fingerprint": (text(fingerprint="missing"), "belongs to another search"),
    "no studies": (text(studies="missing"), r"is damaged \(KeyError\('studies'\)\); it was left as it is"),
    "one study only": (text(studies=good()["studies"][:1]), "is damaged .*it was left as it is"),
    "strange trials": (text(studies=[[{}], []]), "is damaged .*it was left as it is"),
    "numbers": (text(studies=[1, 2]), "is damaged .*it was left as it is"),
    "a score of 7": (text().replace('"score": 0.5', '"score": 7.0'), "its content and its checksum differ"),
    "no checksum": (json.dumps({"format": "csf-checkpoint", "version": 4} | good()), "its content and its checksum"),
    "a key twice": (text().replace("{", '{"format": "csf-checkpoint", ', 1), "a key occurs twice"),
    "a huge number": (text().replace("0.2", "2" * 5000), "is damaged or not a csf-checkpoint file"),
    "deep": ("[" * 100_000, "is damaged or not a csf-checkpoint file"),
    "a mark of order": ("\ufeff" + text(), "is damaged or not a csf-checkpoint file .*BOM"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named_and_left_alone(tmp_path, name):
    content, message = FILES[name]
    path, fresh = tmp_path / "c.json", studies()
    path.write_text(content, encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18))
    checkpoint = Checkpoint(path, CONTENT)
    with pytest.raises(ValueError, match=message):
        checkpoint.restore(fresh)
    assert path.read_text(encoding="utf-8") == content
    assert path.stat().st_mtime_ns == 10**18
    assert [study.trials for study in fresh] == [[], []]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Data, a search on them, and the content of its checkpoint after two of three trials."""
    path = tmp_path_factory.mktemp("stopped") / "c.json"
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.7).astype(int)

    def fitted(content=None, **options):
        if content is not None:
            write_record(path, "csf-checkpoint", 4, content)
        options = {"strategy": "cone", "threshold": "tune", "n_trials": 3, "cv": 2, "param_grid": None} | options
        return CostSearch(LinearSVC(loss="hinge"), **{"checkpoint": path} | options).fit(X, y)

    fitted(callbacks=[lambda study, trial: trial.number == 1])
    content = json.loads(path.read_text())
    del content["sha256"]
    return fitted, content


def test_an_intact_file_goes_on(stopped):
    fitted, content = stopped
    assert fitted(content).trials_ == fitted(content | {"kept": None}, checkpoint=None).trials_


def test_good_content_is_good(tmp_path):
    (tmp_path / "c.json").write_text(text())
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert len(fresh[0].trials) == 3
