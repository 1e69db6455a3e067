"""Files with flipped bytes, missing ends and edited values: refused and left as they are, or read as they were.

``CSF_FUZZ_FILES`` gives the number of damaged files of each kind.
"""

import json
import os

import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from csf import Study
from csf.search.loop import Checkpoint

pytestmark = pytest.mark.slow

FILES = int(os.environ.get("CSF_FUZZ_FILES", "300"))
# Values that an editor might write in place of another one.
VALUES = [
    *(0, 1, -1, 5, 7.0, 0.5, 1e300, float("nan"), float("inf"), 2**70),
    *(None, True, "", "0.5", "complete", [], {}, [0.5]),
]


def flipped(raw, rng):
    at = rng.integers(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << rng.integers(8))]) + raw[at + 1 :]


def cut(raw, rng):
    return raw[: rng.integers(len(raw))]


def swapped(raw, rng):
    """A piece is written over another one."""
    first, second, size = rng.integers(len(raw)), rng.integers(len(raw)), rng.integers(1, 40)
    return raw[:first] + raw[second : second + size] + raw[first + size :]


def zeroed(raw, rng):
    at, size = rng.integers(len(raw)), rng.integers(1, 600)
    return raw[:at] + bytes(size) + raw[at + size :]


def doubled(raw, rng):
    return raw + raw[rng.integers(len(raw)) :]


def redigited(raw, rng):
    """One digit becomes another one."""
    places = [at for at, byte in enumerate(raw) if chr(byte).isdigit()]
    at = places[rng.integers(len(places))]
    return raw[:at] + str(rng.integers(10)).encode() + raw[at + 1 :]


def places(content):
    """All entries of lists and dicts in a value, as the container and the key."""
    keys = content if isinstance(content, dict) else range(len(content))
    for key in list(keys):
        yield content, key
        if isinstance(content[key], dict | list):
            yield from places(content[key])


def edited(raw, rng):
    """One value becomes another one, or goes, in a file that stays valid JSON."""
    content = json.loads(raw)
    known = list(places(content))
    inside, key = known[rng.integers(len(known))]
    if rng.random() < 0.2:
        del inside[key]
    else:
        inside[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(content).encode()


def nudged(raw, rng):
    """One number becomes one nearby."""
    content = json.loads(raw)
    known = [(inside, key) for inside, key in places(content) if type(inside[key]) is float]
    inside, key = known[rng.integers(len(known))]
    inside[key] *= 1 + 10.0 ** -rng.integers(1, 15)
    return json.dumps(content).encode()


DAMAGES = [flipped, cut, swapped, zeroed, doubled, redigited, edited, nudged]


@pytest.fixture(scope="module")
def data():
    return make_classification(120, 4, weights=[0.7], flip_y=0.1, random_state=0)


def search(path=None, **options):
    base = LinearSVC(loss="hinge", max_iter=100_000)
    return paper_search(base, n_trials=4, cv=2, param_grid={"C": [0.1, 1.0]}, checkpoint=path, **options)


@pytest.fixture(scope="module")
def whole(data):
    return search().fit(*data)


@pytest.fixture(scope="module")
def raw_checkpoint(data, tmp_path_factory):
    """A search that was stopped in its middle."""
    path = tmp_path_factory.mktemp("checkpoint") / "c.json"
    search(path, callbacks=[lambda study, trial: trial.number == 2]).fit(*data)
    return path.read_bytes()


@pytest.fixture(scope="module")
def raw_study(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "s.json"
    whole.studies_[0].save(path)
    return path.read_bytes()


def attack(read, raw, path, *, number, seed):
    """Numbers of damaged files that were refused and that were read; those read said what the whole one says."""
    path.write_bytes(raw)
    good, counts, rng = read(path), {"refused": 0, "read": 0}, np.random.default_rng(seed)
    for at in range(number):
        bad = DAMAGES[at % len(DAMAGES)](raw, rng)
        path.write_bytes(bad)
        os.utime(path, ns=(10**18, 10**18))
        try:
            found = read(path)
        except ValueError:
            counts["refused"] += 1
        else:
            assert found == good, DAMAGES[at % len(DAMAGES)].__name__
            counts["read"] += 1
        assert path.read_bytes() == bad
        assert path.stat().st_mtime_ns == 10**18
    return counts


def test_damaged_studies(raw_study, whole, tmp_path):
    def read(path):
        study = Study.load(path)
        return study.trials, study.pos, study.n_trials, study.tol, study.upper_bound

    counts = attack(read, raw_study, tmp_path / "s.json", number=FILES, seed=1)
    assert counts["refused"] > 0.9 * FILES


def test_damaged_checkpoints(raw_checkpoint, whole, tmp_path, monkeypatch):
    known = json.loads(raw_checkpoint)["fingerprint"]
    monkeypatch.setattr("csf.search.loop.fingerprint", lambda content: known)

    def read(path):
        checkpoint = Checkpoint(path, None)
        studies = [Study("f1", pos=study.pos, n_trials=4) for study in whole.studies_]
        checkpoint.restore(studies)
        return [study.trials for study in studies], checkpoint.kept

    counts = attack(read, raw_checkpoint, tmp_path / "c.json", number=FILES, seed=2)
    assert counts["refused"] > 0.9 * FILES


def test_searches_with_damaged_checkpoints(raw_checkpoint, whole, data, tmp_path):
    """The whole way: a damaged file ends the search before it begins, and stays."""
    rng, path = np.random.default_rng(3), tmp_path / "c.json"
    for at in range(max(FILES // 8, len(DAMAGES))):
        bad = DAMAGES[at % len(DAMAGES)](raw_checkpoint, rng)
        path.write_bytes(bad)
        os.utime(path, ns=(10**18, 10**18))
        try:
            found = search(path).fit(*data)
        except ValueError:
            assert path.read_bytes() == bad
            assert path.stat().st_mtime_ns == 10**18
        else:
            assert found.trials_ == whole.trials_
            assert found.best_index_ == whole.best_index_
    assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
