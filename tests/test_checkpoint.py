"""Checkpoints: what is restored, and files that are refused and left alone."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import ErrorProfile, Study
from csf.checkpoint import Checkpoint, describe
from csf.metrics import CustomMetric, FBeta
from csf.strategies import Cone, Grid

CONTENT = (LinearSVC(C=2.0), FBeta(), Grid(3), np.arange(4.0))


def six(pos):
    return 2 * pos, -2, 0, 2 * pos, -1, 1


def studies(n_trials=3):
    return [Study("f1", Grid(3), pos=0.2, n_trials=n_trials) for _ in range(2)]


def told_studies():
    pair = studies()
    for study in pair:
        trials = study.ask_batch()
        study.tell(trials[0], profile=ErrorProfile(fn=0.1, fp=0.1, pos=0.2))
        study.fail(trials[1], "no")
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
    record = {"format": "csf-checkpoint", "version": 1, "fingerprint": Checkpoint("", CONTENT).fingerprint}
    histories = [[trial.to_dict() for trial in study.trials] for study in told_studies()]
    return {name: value for name, value in (record | {"studies": histories} | changes).items() if value != "missing"}


FILES = {
    "torn": (json.dumps(good())[:-9], "is damaged or not a csf-checkpoint file"),
    "empty": ("", "is damaged or not a csf-checkpoint file"),
    "a study": (json.dumps(good(format="csf-study")), "is not a csf-checkpoint file; it was left as it is"),
    "newer": (json.dumps(good(version=2)), "has version 2 of the csf-checkpoint format; this csf reads 1"),
    "no fingerprint": (json.dumps(good(fingerprint="missing")), "belongs to another search"),
    "no studies": (json.dumps(good(studies="missing")), r"is damaged \(KeyError\('studies'\)\); it was left as it is"),
    "one study only": (json.dumps(good(studies=good()["studies"][:1])), "is damaged .*it was left as it is"),
    "strange trials": (json.dumps(good(studies=[[{}], []])), "is damaged .*this is not the record of a trial"),
    "numbers": (json.dumps(good(studies=[1, 2])), "is damaged .*it was left as it is"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named_and_left_alone(tmp_path, name):
    text, message = FILES[name]
    path, fresh = tmp_path / "c.json", studies()
    path.write_text(text)
    checkpoint = Checkpoint(path, CONTENT)
    with pytest.raises(ValueError, match=message):
        checkpoint.restore(fresh)
    assert path.read_text() == text
    assert [study.trials for study in fresh] == [[], []]


def test_good_content_is_good(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(good()))
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert len(fresh[0].trials) == 3


@pytest.mark.parametrize(
    "content",
    [
        np.arange(5),
        sparse.csr_array(np.eye(3)),
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        CustomMetric(six),
        CustomMetric(lambda pos: six(pos)),
        {"C": [1, 2], "dual": None},
        [LinearSVC(), (1, "two", 3.0)],
    ],
    ids=lambda content: type(content).__name__,
)
def test_descriptions_are_plain_and_the_same_again(content):
    assert Checkpoint("", content).fingerprint == Checkpoint("", content).fingerprint
    json.dumps(describe(content))
    assert "0x" not in json.dumps(describe(content))


def test_functions_count_by_their_code():
    """Two lambdas share a name; a search must not resume with the trials of the other one's strategy."""
    strategies = [lambda trials, *, metric, pos: 0.2, lambda trials, *, metric, pos: 0.6]
    assert describe(strategies[0]) != describe(strategies[1])
    assert describe(strategies[0]) == describe(strategies[0])
    json.dumps(describe(strategies[0]))
