"""Checkpoints: what is restored, and files that are refused and left alone."""

import copy
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
from csf.metrics.hull import Hull
from csf.search.checkpoint import Checkpoint, encode
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


def edited(**changes):
    """Studies, one trial of which says something else."""
    first, second = good()["studies"]
    return [[first[0] | changes, *first[1:]], second]


FILES = {
    "torn": (text()[:-9], "is damaged or not a csf-checkpoint file"),
    "empty": ("", "is damaged or not a csf-checkpoint file"),
    "a study": (text(kind="csf-study"), "is not a csf-checkpoint file; it was left as it is"),
    "older": (text(version=1), "has version 1 of the csf-checkpoint format; this csf reads 4.* with the csf that"),
    "newer": (text(version=5), "has version 5 of the csf-checkpoint format; this csf reads 4"),
    "no fingerprint": (text(fingerprint="missing"), "belongs to another search"),
    "no studies": (text(studies="missing"), r"is damaged \(KeyError\('studies'\)\); it was left as it is"),
    "one study only": (text(studies=good()["studies"][:1]), "is damaged .*it was left as it is"),
    "strange trials": (text(studies=[[{}], []]), "is damaged .*it has the entries"),
    "numbers": (text(studies=[1, 2]), "is damaged .*it was left as it is"),
    "a score of 7": (text().replace('"score": 0.5', '"score": 7.0'), "its content and its checksum differ"),
    "no checksum": (json.dumps({"format": "csf-checkpoint", "version": 4} | good()), "its content and its checksum"),
    "a key twice": (text().replace("{", '{"format": "csf-checkpoint", ', 1), "a key occurs twice"),
    "a huge number": (text().replace("0.2", "2" * 5000), "is damaged or not a csf-checkpoint file"),
    "deep": ("[" * 100_000, "is damaged or not a csf-checkpoint file"),
    "a mark of order": ("\ufeff" + text(), "is damaged or not a csf-checkpoint file .*BOM"),
    "a cost of nothing": (text(studies=edited(costs=[float("nan"), 1.0])), "costs must be positive numbers, got "),
    "no score": (text(studies=edited(score=None)), "trial 0 is complete without"),
    "a score of words": (text(studies=edited(score="0.5")), "score must be a number or null, got '0.5'"),
    "a true score": (text(studies=edited(score=True)), "score must be a number or null, got True"),
    "no such setting": (text(studies=edited(setting=5)), "trials of setting 0 say another"),
    "a number twice": (text(studies=edited(number=1)), "trials must have numbers of their own"),
    "other costs": (text(studies=edited(costs=[0.5, 1.0])), "but its level .* has others"),
    "an infinite level": (text(studies=edited(t=float("inf"))), "t must be a number or null, got inf"),
    "a threshold of nothing": (text(studies=edited(threshold="nan")), "threshold must be the text of a number"),
    "a score of others": (text(studies=edited(score=0.75)), "trial 0 has score=0.75, but its errors give 0.5"),
    "a negative value": (text(studies=edited(value=-0.5)), "trial 0 has value=-0.5, but its errors give 0.5"),
    "more attained": (text(studies=edited(attained=0.9)), "trial 0 has attained=0.9, but its errors give"),
    "a rate of nothing": (text(studies=edited(rate=0.5)), "trial 0 has rate=0.5, but its errors give None"),
    "a violation": (text(studies=edited(violation=0.1)), "trial 0 has violation=0.1, but its errors give 0.0"),
    "a huge score": (text(studies=edited(score=1e308)), "trial 0 has score=1e\\+308, but its errors give 0.5"),
    "a huge score in a fold": (text(studies=edited(fold_scores=[1e308])), "trial 0 has the score 1e\\+308 in a fold"),
    "a huge integer": (text(studies=edited(score=10**400)), "score must be a number or null, got 1000"),
    "a huge setting": (text(studies=edited(number=2**70)), "number must be an integer >= 0, got 118"),
    "no chosen errors": (text(studies=edited(chosen=None)), "trial 0 is complete without profile, chosen or hull"),
    "no hull": (text(studies=edited(hull=None)), "trial 0 is complete without profile, chosen or hull"),
    "a hull outside": (text(studies=edited(hull=[[0.3, 0.1]])), r"trial 0 has a hull with shares outside \[0, "),
    "a hull of nothing": (text(studies=edited(hull=[])), "is damaged"),
    "a profile of words": (text(studies=edited(profile={"fn": "0.1"})), "is damaged"),
    "studies of dicts": (text(studies={"0": []}), "is damaged"),
    "other data": (text(studies=edited(profile={"fn": 0.1, "fp": 0.1, "pos": 0.3})), "share of positives of 0.3"),
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


KEPT = {
    "no scores": lambda kept: kept.pop("scores"),
    "no memory": lambda kept: kept.pop("memory"),
    "scores of words": lambda kept: kept.update(scores="none"),
    "scores of one trial": lambda kept: kept["scores"][1].pop(),
    "scores of another trial": lambda kept: kept["scores"][1][0][0].__setitem__(1, 7),
    "scores twice": lambda kept: kept["scores"][1].__setitem__(1, kept["scores"][1][0]),
    "scores of other samples": lambda kept: kept["scores"][1][0].__setitem__(1, encode(np.zeros(5))),
    "scores that are missing": lambda kept: kept["scores"][1][0].__setitem__(1, encode(np.full(60, np.nan))),
    "scores of another type": lambda kept: kept["scores"][1][0].__setitem__(1, encode(np.zeros(60, dtype=int))),
    "no packed array": lambda kept: kept["scores"][1][0].__setitem__(1, ["array", "<f8", [60], "AAAA"]),
    "an unknown type": lambda kept: kept["scores"][1][0].__setitem__(1, ["array", "what", [60], "AAAA"]),
    "dropped trials": lambda kept: kept["scores"].__setitem__(0, -1),
    "an order of other trials": lambda kept: kept["memory"].update(order=[[0, 0], [0, 5]]),
    "an order of one trial": lambda kept: kept["memory"].update(order=[[0, 0]]),
    "an order of words": lambda kept: kept["memory"].update(order="first"),
    "states of one fold": lambda kept: kept["memory"]["states"].pop(),
    "a state of no setting": lambda kept: kept["memory"]["states"][0][0].__setitem__(0, 9),
    "a state elsewhere": lambda kept: kept["memory"]["states"][0][0].__setitem__(1, [0.1, 0.2]),
    "a state of words": lambda kept: kept["memory"]["states"][0].__setitem__(0, "none"),
    "an unknown state": lambda kept: kept["memory"]["states"][0][0].__setitem__(2, ["what", 1]),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_file_keeps_besides_trials_is_checked_too(stopped, name):
    """Forged with a correct checksum, it ended in any error, or was believed."""
    fitted, content = stopped
    content = copy.deepcopy(content)
    KEPT[name](content["kept"])
    with pytest.raises(ValueError, match=r"c\.json is damaged \(.*\); it was left as it is"):
        fitted(content)


def test_an_intact_file_goes_on(stopped):
    fitted, content = stopped
    assert fitted(content).trials_ == fitted(content | {"kept": None}, checkpoint=None).trials_


def test_good_content_is_good(tmp_path):
    (tmp_path / "c.json").write_text(text())
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert len(fresh[0].trials) == 3
