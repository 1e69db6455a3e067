"""fit_stream, save_stream, load_stream: learners go on as if nothing had happened."""

import hashlib
from itertools import islice

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

from csf.online import FOFO, OMCSL, SPADE, STAMP
from csf.streams import fit_stream, iter_arrays, load_stream, save_stream
from csf.structural import OnePassMiniBatch, TwoPassMiniBatch

X, Y = make_classification(200, 5, random_state=0)


def learner():
    return SGDClassifier(average=True, random_state=3)


def test_fits_every_chunk_in_turn():
    expected = learner()
    for _ in range(2):
        for at in range(0, 200, 30):
            expected.partial_fit(X[at : at + 30], Y[at : at + 30], classes=[0, 1])
    fitted = fit_stream(learner(), iter_arrays(X, Y, 30, passes=2), classes=[0, 1])
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)


def test_any_iterable_of_pairs_will_do():
    fitted = fit_stream(learner(), ((X[at::2], Y[at::2]) for at in range(2)), classes=[0, 1])
    assert fitted.t_ == 201


def test_classes_are_needed_only_once():
    fitted = fit_stream(learner(), [(X[:50], Y[:50])], classes=[0, 1])
    assert fit_stream(fitted, [(X[50:], Y[50:])]).t_ == 201


class Crash(Exception):
    """A power cut."""


class Crashing(SGDClassifier):
    """Fails at its 6th chunk, once."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if getattr(self, "t_", 1) > 100 and not getattr(Crashing, "crashed", False):
            Crashing.crashed = True
            raise Crash
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def test_goes_on_after_a_crash_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(Crashing, "crashed", False, raising=False)
    path = tmp_path / "state.joblib"
    chunks = iter_arrays(X, Y, 20, passes=2)
    with pytest.raises(Crash):
        fit_stream(Crashing(average=True, random_state=3), chunks, classes=[0, 1], save_to=path, save_every=2)
    half, rest = load_stream(path)
    assert (half.t_, rest.n_rows) == (81, 80)
    fit_stream(half, rest, save_to=path, save_every=2)
    expected = fit_stream(learner(), iter_arrays(X, Y, 20, passes=2), classes=[0, 1])
    np.testing.assert_array_equal(half.coef_, expected.coef_)
    assert [file.name for file in tmp_path.iterdir()] == ["state.joblib"]


@pytest.mark.parametrize(
    "blank",
    [
        FOFO(horizon=None),
        OMCSL("auroc", n_bins=10, random_state=0),
        SPADE("gmean", step="paper", sampling="balanced", random_state=0),
        STAMP(step="paper", model_stage=20, challenge_stage=20),
        OnePassMiniBatch("f1", buffer_size=50),
        TwoPassMiniBatch("pauc", buffer_size=30, reservoir_size=20, random_state=0),
    ],
    ids=lambda blank: type(blank).__name__,
)
def test_learners_of_csf_go_on_bit_for_bit(tmp_path, blank):
    path = tmp_path / "state.joblib"
    chunks = iter_arrays(X, Y, 17, passes=2)
    save_stream(path, fit_stream(clone(blank), islice(chunks, 9), classes=[0, 1]), chunks)
    half, rest = load_stream(path)
    expected = fit_stream(clone(blank), iter_arrays(X, Y, 17, passes=2), classes=[0, 1])
    np.testing.assert_array_equal(fit_stream(half, rest).coef_, expected.coef_)
    assert half.threshold_ == expected.threshold_
    assert getattr(half, "online_value_", None) == getattr(expected, "online_value_", None)
    assert half.n_seen_ == expected.n_seen_ == 400


def test_streams_of_one_class_need_both_labels():
    with pytest.raises(ValueError, match=r"the first chunk has one class only \(0\); give both labels"):
        fit_stream(SPADE(), iter_arrays(X, np.zeros_like(Y), 50))
    fitted = fit_stream(SPADE(), iter_arrays(X, np.zeros_like(Y), 50), classes=[0, 1])
    assert fitted.n_seen_ == 200
    assert not fitted.predict(X).any()


def test_a_bad_chunk_leaves_what_was_learnt_before():
    spoilt = X.copy()
    spoilt[130, 2] = np.nan
    learner = SPADE()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit_stream(learner, iter_arrays(spoilt, Y, 40), classes=[0, 1])
    assert learner.n_seen_ == 120
    np.testing.assert_array_equal(learner.coef_, SPADE().partial_fit(X[:120], Y[:120]).coef_)


def test_the_end_is_saved_and_nothing_is_left_after_it(tmp_path):
    path = tmp_path / "state.joblib"
    fitted = fit_stream(learner(), iter_arrays(X, Y, 30), classes=[0, 1], save_to=path)
    again, rest = load_stream(path)
    assert fit_stream(again, rest) is again
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_a_failed_saving_leaves_the_one_before(tmp_path):
    path = tmp_path / "state.joblib"
    save_stream(path, learner(), iter_arrays(X, Y, 30))
    before = path.read_bytes()
    generator = (pair for pair in [(X, Y)])
    with pytest.raises(TypeError, match=r"cannot save this stream or learner: .*generator"):
        save_stream(path, learner(), generator)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.joblib"]


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "list.joblib"
    joblib.dump([1, 2], path)
    with pytest.raises(ValueError, match=r"list\.joblib was not written by csf\.streams\.save_stream"):
        load_stream(path)
    content = path.read_bytes()
    path.write_bytes(content + b"\ncsf-stream sha256 " + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(ValueError, match=r"list\.joblib was not written by csf\.streams\.save_stream"):
        load_stream(path)
    content = b"no pickle"
    path.write_bytes(content + b"\ncsf-stream sha256 " + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(ValueError, match=r"cannot read .*list\.joblib as a file of csf\.streams\.save_stream: "):
        load_stream(path)
    with pytest.raises(FileNotFoundError):
        load_stream(tmp_path / "missing.joblib")


def test_damaged_files_are_refused_before_they_are_unpickled(tmp_path, monkeypatch):
    """Flipped bits were believed, cut files raised whatever pickle raises."""
    path = tmp_path / "state.joblib"
    chunks = iter_arrays(X, Y, 20)
    save_stream(path, learner().partial_fit(*next(chunks), classes=[0, 1]), chunks)
    whole = path.read_bytes()
    assert load_stream(path)[1].n_rows == 20
    monkeypatch.setattr(joblib, "load", None)
    rng = np.random.default_rng(0)
    for at in [0, 1, len(whole) - 1, len(whole) - 65, *rng.integers(len(whole), size=100)]:
        for damaged in (whole[:at], flipped(whole, at, 1 << rng.integers(8)), whole + whole[:at] + b"x"):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"state\.joblib (is damaged: its content and|was not written by csf)"):
                load_stream(path)


def flipped(content, at, bits):
    return content[:at] + bytes([content[at] ^ bits]) + content[at + 1 :]


def test_empty_streams_are_refused():
    with pytest.raises(ValueError, match="the stream has no chunks"):
        fit_stream(learner(), [])


def test_learners_need_partial_fit():
    with pytest.raises(TypeError, match="cannot learn from a stream: it has no partial_fit"):
        fit_stream(object(), [(X, Y)])


def test_save_every_is_a_count():
    with pytest.raises(ValueError, match="save_every must be an int >= 1, got 0"):
        fit_stream(learner(), [(X, Y)], save_every=0)


def test_the_file_to_save_to_is_a_path():
    with pytest.raises(TypeError, match=r"save_to must be the path of a file or None, got 2.5"):
        fit_stream(FOFO(), iter_arrays([[0.0], [1.0]], [0, 1], 2), save_to=2.5)
