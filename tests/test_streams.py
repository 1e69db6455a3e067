"""Chunks of arrays; learners fitted from them, saved in mid-stream, and going on as if nothing had happened."""

import hashlib
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

from csf.online import FOFO
from csf.streams import ChunkIterator, fit_stream, iter_arrays, load_stream, save_stream


class Counting(ChunkIterator):
    """Numbers 0 to 4; the one at ``bad`` cannot be read."""

    def __init__(self, *, bad=None, **options):
        super().__init__(1, **options)
        self.bad = bad

    def _size(self):
        return 5

    def _read(self, place):
        for at in range(place, 5):
            if at == self.bad:
                raise ValueError(f"number {at} is bad")
            yield np.array([[at]]), np.array([at]), at + 1, at + 1


def numbers(chunks):
    return [int(y[0]) for _, y in chunks]


def test_passes_and_counters():
    chunks = Counting(passes=2)
    assert (chunks.n_rows, chunks.n_passes) == (0, 0)
    assert numbers(chunks) == [0, 1, 2, 3, 4] * 2
    assert (chunks.n_rows, chunks.n_passes) == (10, 2)
    assert list(chunks) == []


@pytest.mark.parametrize("taken", range(11))
def test_a_pickle_goes_on_with_the_next_chunk(taken):
    chunks = Counting(passes=2)
    for _ in range(taken):
        next(chunks)
    other = pickle.loads(pickle.dumps(chunks))
    assert other.n_rows == taken
    assert numbers(other) == ([0, 1, 2, 3, 4] * 2)[taken:]
    assert numbers(chunks) == ([0, 1, 2, 3, 4] * 2)[taken:]


def test_an_error_is_met_again_and_hides_nothing():
    chunks = Counting(bad=2)
    assert int(next(chunks)[1][0]) == 0
    next(chunks)
    for _ in range(2):
        with pytest.raises(ValueError, match="number 2 is bad"):
            next(chunks)
    assert chunks.n_rows == 2
    chunks.bad = None
    assert numbers(chunks) == [2, 3, 4]


def test_progress_bar_counts_all_passes_and_starts_where_the_stream_does(capsys):
    chunks = Counting(passes=2, progress=True)
    for _ in range(6):
        next(chunks)
    numbers(pickle.loads(pickle.dumps(chunks)))
    assert "60%" in (err := capsys.readouterr().err)
    assert "10/10" in err


def test_no_bar_without_progress(capsys):
    numbers(Counting())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["chunk_size", "passes"])
def test_counts_are_checked(name):
    options = {"chunk_size": 2, "passes": 1} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be an int >= 1, got 0"):
        iter_arrays([[1.0]], [0], **options)


# ---------------------------------------------------------------- arrays


X = np.arange(14.0).reshape(7, 2)
Y = np.array(list("abaabba"))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_chunks_join_to_the_whole(kind, size):
    chunks = list(iter_arrays(kind(X), Y, size))
    assert [y.shape[0] for _, y in chunks[:-1]] == [min(size, 7)] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.concatenate([y for _, y in chunks]), Y)
    parts = [part.toarray() if sparse.issparse(part) else np.asarray(part) for part, _ in chunks]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert isinstance(chunks[0][0], pd.DataFrame) == (kind is pd.DataFrame)


def test_no_rows_give_no_chunks():
    assert list(iter_arrays(X[:0], Y[:0], 4)) == []


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        iter_arrays(X, Y[:3], 2)


@pytest.mark.parametrize("layout", ["coo", "csc", "bsr", "dia", "lil", "dok"])
def test_every_sparse_layout_is_cut_by_rows(layout):
    X = np.arange(12.0).reshape(6, 2)
    chunks = [part for part, _ in iter_arrays(sparse.csr_matrix(X).asformat(layout), np.arange(6), 4)]
    assert np.array_equal(sparse.vstack(chunks).toarray(), X)


def test_rows_and_passes_are_counted():
    chunks = iter_arrays(np.arange(3.0)[:, None], [0, 1, 0], 2, passes=2)
    assert [y.size for _, y in chunks] == [2, 1, 2, 1]
    assert (chunks.n_rows, chunks.n_passes) == (6, 2)


# ---------------------------------------------------------------- fitting


SAMPLES, LABELS = make_classification(200, 5, random_state=0)


def learner():
    return SGDClassifier(average=True, random_state=3)


def test_fits_every_chunk_in_turn():
    expected = learner()
    for _ in range(2):
        for at in range(0, 200, 30):
            expected.partial_fit(SAMPLES[at : at + 30], LABELS[at : at + 30], classes=[0, 1])
    fitted = fit_stream(learner(), iter_arrays(SAMPLES, LABELS, 30, passes=2), classes=[0, 1])
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)


def test_any_iterable_of_pairs_will_do():
    fitted = fit_stream(learner(), ((SAMPLES[at::2], LABELS[at::2]) for at in range(2)), classes=[0, 1])
    assert fitted.t_ == 201


def test_classes_are_needed_only_once():
    fitted = fit_stream(learner(), [(SAMPLES[:50], LABELS[:50])], classes=[0, 1])
    assert fit_stream(fitted, [(SAMPLES[50:], LABELS[50:])]).t_ == 201


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
    chunks = iter_arrays(SAMPLES, LABELS, 20, passes=2)
    with pytest.raises(Crash):
        fit_stream(Crashing(average=True, random_state=3), chunks, classes=[0, 1], save_to=path, save_every=2)
    half, rest = load_stream(path)
    assert (half.t_, rest.n_rows) == (81, 80)
    fit_stream(half, rest, save_to=path, save_every=2)
    expected = fit_stream(learner(), iter_arrays(SAMPLES, LABELS, 20, passes=2), classes=[0, 1])
    np.testing.assert_array_equal(half.coef_, expected.coef_)
    assert [file.name for file in tmp_path.iterdir()] == ["state.joblib"]


def test_the_end_is_saved_and_nothing_is_left_after_it(tmp_path):
    path = tmp_path / "state.joblib"
    fitted = fit_stream(learner(), iter_arrays(SAMPLES, LABELS, 30), classes=[0, 1], save_to=path)
    again, rest = load_stream(path)
    assert fit_stream(again, rest) is again
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_a_failed_saving_leaves_the_one_before(tmp_path):
    path = tmp_path / "state.joblib"
    save_stream(path, learner(), iter_arrays(SAMPLES, LABELS, 30))
    before = path.read_bytes()
    generator = (pair for pair in [(SAMPLES, LABELS)])
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
    chunks = iter_arrays(SAMPLES, LABELS, 20)
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
        fit_stream(object(), [(SAMPLES, LABELS)])


def test_save_every_is_a_count():
    with pytest.raises(ValueError, match="save_every must be an int >= 1, got 0"):
        fit_stream(learner(), [(SAMPLES, LABELS)], save_every=0)


def test_the_file_to_save_to_is_a_path():
    with pytest.raises(TypeError, match=r"save_to must be the path of a file or None, got 2.5"):
        fit_stream(FOFO(), iter_arrays([[0.0], [1.0]], [0, 1], 2), save_to=2.5)
