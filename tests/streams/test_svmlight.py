"""iter_svmlight: the same rows as scikit-learn's reader, line numbers in errors, bounded memory."""

import bz2
import gzip
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from csf.streams import iter_svmlight

N_FEATURES = 6
OPEN = {"": open, ".gz": gzip.open, ".bz2": bz2.open}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("svmlight")


def write(path, text):
    with OPEN[path.suffix if path.suffix in OPEN else ""](path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def random_file(path, n_rows, *, zero_based=False, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, N_FEATURES), density=0.4, rng=rng, format="csr")
    y = np.where(rng.random(n_rows) < 0.3, 1, -1)
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made at random\nfor a test")
    return path


def joined(chunks):
    Xs, ys = zip(*chunks)
    return sparse.vstack(Xs).toarray(), np.concatenate(ys)


@pytest.mark.parametrize("suffix", OPEN)
@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_rows_are_those_of_scikit_learn(folder, suffix, zero_based, size):
    plain = random_file(folder / f"plain{zero_based}.svm", 50, zero_based=zero_based)
    path = write(folder / f"rows{zero_based}.svm{suffix}", plain.read_bytes())
    chunks = list(iter_svmlight(path, size, n_features=N_FEATURES, zero_based=zero_based))
    assert [y.shape[0] for _, y in chunks] == [size] * (50 // size) + [50 % size] * (50 % size > 0)
    X, y = load_svmlight_file(str(path), n_features=N_FEATURES, zero_based=zero_based)
    A, b = joined(chunks)
    np.testing.assert_array_equal(A, X.toarray())
    np.testing.assert_array_equal(b, y)
    assert chunks[0][0].indices.dtype == np.int32


@given(
    lines=st.lists(st.sampled_from(["1 1:2", "-1 2:1 3:0.5 # rest", "0", "", "  ", "# note", "\t# note", "1\t6:1 "]))
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_chunks_are_full_whatever_lies_between_the_rows(folder, lines, ending, last):
    path = write(folder / "between.svm", ending.join(lines) + (ending if last else ""))
    rows = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    chunks = list(iter_svmlight(path, 2, n_features=N_FEATURES))
    assert [y.shape[0] for _, y in chunks] == [2] * (len(rows) // 2) + [1] * (len(rows) % 2)
    np.testing.assert_array_equal(np.concatenate([[], *(y for _, y in chunks)]), [float(r.split()[0]) for r in rows])


@pytest.mark.parametrize("suffix", OPEN)
@pytest.mark.parametrize("taken", [0, 1, 4, 7, 8, 13])
def test_a_restored_stream_goes_on_at_its_place(folder, suffix, taken):
    plain = random_file(folder / "place.svm", 33)
    path = write(folder / f"place.svm{suffix}", plain.read_bytes())
    chunks = iter_svmlight(path, 5, n_features=N_FEATURES, passes=2)
    for _ in range(taken):
        next(chunks)
    rest, expected = list(pickle.loads(pickle.dumps(chunks))), list(chunks)
    assert len(rest) == len(expected) == 14 - taken
    for (A, a), (B, b) in zip(rest, expected):
        np.testing.assert_array_equal(A.toarray(), B.toarray())
        np.testing.assert_array_equal(a, b)


GOOD = "1 1:1\n\n# note\n-1 2:1\n"


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 a:2", "invalid literal"),
        ("1 2:x", "could not convert"),
        ("yes 2:1", "could not convert"),
        ("1,2 2:1", "could not convert"),
        ("1 2", "need more than 1 value"),
        ("1 3:1 2:1", "sorted and unique"),
        ("1 2:1 2:1", "sorted and unique"),
        ("1 0:1", "Invalid index 0"),
        ("1 7:1", r"accepted: .* ascending indices from 1 to 6"),
        ("1 99999999999:1", "too large"),
        ("1 2:nan", "NaN or infinity"),
        ("nan 2:1", "NaN or infinity"),
        ("1 2:1e999", "NaN or infinity"),
        ("9007199254740993 2:1", r"a label of 2\^53 or more is not exact as a float"),
    ],
)
def test_errors_name_the_line(folder, line, message, size):
    path = write(folder / "bad.svm", GOOD + line + "\n1 1:1\n")
    chunks = iter_svmlight(path, size, n_features=N_FEATURES)
    for _ in range(2 // size):
        next(chunks)
    with pytest.raises(ValueError, match=rf"bad\.svm, line 5: .*{message}"):
        next(chunks)


def test_line_numbers_survive_a_pickle_and_the_next_pass(folder):
    path = write(folder / "late.svm", GOOD)
    chunks = iter_svmlight(path, 1, n_features=N_FEATURES, passes=2)
    next(chunks)
    chunks = pickle.loads(pickle.dumps(chunks))
    write(path, GOOD.replace("-1 2:1", "-1 2:y"))
    with pytest.raises(ValueError, match=r"late\.svm, line 4: "):
        next(chunks)


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_damaged_archives(folder, suffix):
    path = write(folder / f"half.svm{suffix}", b"".join(b"1 1:%d\n" % n for n in range(20000)))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"half\.svm.* is damaged after line"):
        list(iter_svmlight(path, 100, n_features=1))
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"half\.svm.* is damaged after line 0"):
        list(iter_svmlight(path, 100, n_features=1))


def test_a_file_that_has_changed_is_noticed(folder):
    path = write(folder / "changed.svm", GOOD)
    chunks = iter_svmlight(path, 1, n_features=N_FEATURES)
    next(chunks)
    other = pickle.loads(pickle.dumps(chunks))
    write(path, "1 1:1000\n1 1:1\n")
    with pytest.raises(ValueError, match="has changed: byte 6 is no longer the end of line 1"):
        next(other)
    write(path, "1")
    with pytest.raises(ValueError, match="has changed"):
        next(other)


def test_a_file_must_be_there(folder):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.svm"):
        iter_svmlight(folder / "missing.svm", 10, n_features=2)


def test_number_of_features_is_checked(folder):
    path = write(folder / "features.svm", GOOD)
    with pytest.raises(ValueError, match="n_features must be an int >= 1, got 0"):
        iter_svmlight(path, 10, n_features=0)


def test_nothing_in_the_file(folder):
    assert list(iter_svmlight(write(folder / "nothing.svm", "# note\n\n"), 10, n_features=2, passes=2)) == []


@pytest.mark.parametrize("suffix", OPEN)
def test_progress_is_in_bytes_of_the_file(folder, suffix, capsys):
    path = write(folder / f"bar.svm{suffix}", "1 1:1\n" * 1000)
    list(iter_svmlight(path, 100, n_features=1, passes=2, progress=True))
    size = path.stat().st_size
    total = f"{2 * size / 1000:.1f}k" if size > 500 else str(2 * size)
    assert f"{total}/{total}" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_memory_does_not_grow_with_the_file(folder, suffix):
    peaks = []
    for n_rows in (2_000, 20_000):
        path = write(folder / f"long.svm{suffix}", b"1 1:1 2:1 3:1 4:1\n-1 5:0.25\n" * (n_rows // 2))
        list(iter_svmlight(path, 100, n_features=N_FEATURES))  # imports and caches
        tracemalloc.start()
        for _ in iter_svmlight(path, 500, n_features=N_FEATURES):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 50_000
