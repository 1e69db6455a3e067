"""What linear models start from: kept once, in its order, and got back from a file."""

from types import SimpleNamespace

import numpy as np
import pytest

from csf.evaluate.trials import Trial
from csf.search import checkpoint as module
from csf.search.checkpoint import Memory


def startable(family):
    return SimpleNamespace(family=family, position=lambda costs: costs)


def trial(number, c_fn=1.0):
    return Trial(number=number, t=None, costs=(c_fn, 1.0))


def memory_of(*families, n_folds=2):
    return Memory([[startable(family) for _ in range(n_folds)] for family in families])


def test_a_trial_that_is_told_twice_is_kept_once():
    memory = memory_of("a")
    for _ in range(2):
        memory.add(0, trial(0), ["one", "two"])
    assert memory.order == [[0, 0]]
    assert list(memory.starts(0, 0, (1.0, 1.0))) == ["one"]
    assert list(memory.starts(0, 1, (1.0, 1.0))) == ["two"]


def test_states_are_those_of_the_family_and_the_nearest_come_first():
    memory = memory_of("a", "b", "a", None)
    memory.add(0, trial(0, 1.0), ["far", "far"])
    memory.add(1, trial(0, 2.0), ["other", "other"])
    memory.add(2, trial(0, 2.0), ["near", None])
    memory.add(3, trial(0, 2.0), ["lost", "lost"])
    assert memory.order == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert list(memory.starts(0, 0, (2.0, 1.0))) == ["near", "far"]
    assert list(memory.starts(2, 1, (2.0, 1.0))) == ["far"]
    assert list(memory.starts(1, 0, (2.0, 1.0))) == ["other"]
    assert list(memory.starts(3, 0, (2.0, 1.0))) == []


def test_what_was_known_before_a_trial_is_not_changed_by_it():
    """Ctrl-C between two lines leaves all of a trial or nothing of it."""
    memory = memory_of("a")
    before = memory._known
    memory.add(0, trial(0), ["one", "two"])
    assert before[0] == []
    assert all(starts.known == () for starts in before[1])


TRIALS = {(1, 0): trial(0), (0, 0): trial(0, 2.0), (0, 1): trial(1)}


def filled():
    memory = memory_of("a", "b")
    memory.add(1, TRIALS[1, 0], [np.arange(3.0), np.arange(2.0)])
    memory.add(0, TRIALS[0, 0], [("text", 1), None])
    return memory


def test_a_file_gives_all_of_it_back():
    memory, other = filled(), memory_of("a", "b")
    assert other.restore(memory.to_record(), scores_known=True) == []
    assert other.order == [[1, 0], [0, 0]]
    np.testing.assert_array_equal(other.starts(1, 0, (1.0, 1.0))[0], np.arange(3.0))
    assert list(other.starts(0, 0, (1.0, 1.0))) == [("text", 1)]
    assert list(other.starts(0, 1, (1.0, 1.0))) == []


@pytest.mark.parametrize("why", ["scores", "size", "kind"])
def test_what_cannot_be_got_back_is_trained_again_in_its_order(why, monkeypatch):
    memory, other = filled(), memory_of("a", "b")
    if why == "kind":
        memory.add(0, TRIALS[0, 1], [object(), None])
    if why == "size":
        monkeypatch.setattr(module, "_LARGEST_STATES", 10)
    record = memory.to_record()
    assert (record["states"] is None) == (why != "scores")
    assert other.restore(record, scores_known=why != "scores") == memory.order
    assert other.order == []


def test_states_are_described_once(monkeypatch):
    memory, described = filled(), []
    monkeypatch.setattr(module, "encode", lambda state: described.append(state) or "text")
    first = memory.to_record()
    assert len(described) == 3
    memory.add(0, trial(1), ["more", None])
    assert memory.to_record()["states"][0][:2] == first["states"][0]
    assert len(described) == 4
