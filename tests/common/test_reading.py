"""Damaged files: whatever bytes are wrong or missing, one kind of error names the file."""

import bz2
import gzip
import lzma
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from builders import paper_search
from scipy import sparse
from sklearn.svm import LinearSVC

from csf._common.reading import read_arrays, reading
from csf.cli.data import Features, ReadOptions, read_dataset
from csf.cli.predict import load_model, save_model
from csf.cli.shared import CliError
from csf.streams import iter_parquet, iter_svmlight
from notebooks.experiments.datasets import load_set

N = 120
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
SVMLIGHT = "".join(f"{y} 1:{a:.4f} 3:{b:.4f}\n" for y, (a, b) in zip(Y, RNG.random((N, 2)))).encode()
CSV = ("a,b,y\n" + "".join(f"{a:.4f},{'uvw'[i % 3]},{i % 2}\n" for i, a in enumerate(RNG.random(N)))).encode()
ROWS = zip(RNG.random(N), "uvw" * (N // 3), Y)
JSONL = "".join(f'{{"a": {a:.4f}, "b": "{b}", "y": {y}}}\n' for a, b, y in ROWS).encode()
FRAME = pd.DataFrame({"a": RNG.random(N), "c": np.arange(N), "b": list("uv") * (N // 2), "y": Y})


def read_table(path):
    return read_dataset(str(path), ReadOptions("y", "1"))


def read_svmlight(path):
    return read_dataset(str(path), ReadOptions())


def stream_svmlight(path):
    return list(iter_svmlight(path, 32, n_features=3))


def stream_parquet(path):
    return list(iter_parquet(path, 32, target="y", features=["a", "c"]))


def parquet(path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(path, compression="gzip")
    return path.read_bytes()


def dense(path):
    np.savez_compressed(path, X=RNG.random((N, 3)), y=Y, positive=np.array([1]))
    return path.read_bytes()


def csr(path):
    X = sparse.random_array((N, 6), density=0.3, format="csr", rng=RNG)
    np.savez(path, X_data=X.data, X_indices=X.indices, X_indptr=X.indptr, X_shape=X.shape, y=Y)
    return path.read_bytes()


def model(path):
    pytest.importorskip("skops")
    X = RNG.normal(size=(40, 2))
    save_model(path, paper_search(LinearSVC(), n_trials=1, cv=2).fit(X, X[:, 0] > 0), Features("dense", 2))
    return path.read_bytes()


READERS = {
    "stream.svm": (lambda _: SVMLIGHT, stream_svmlight),
    "stream.svm.gz": (lambda _: gzip.compress(SVMLIGHT), stream_svmlight),
    "stream.svm.bz2": (lambda _: bz2.compress(SVMLIGHT), stream_svmlight),
    "stream.parquet": (parquet, stream_parquet),
    "rows.svm": (lambda _: SVMLIGHT, read_svmlight),
    "rows.svm.gz": (lambda _: gzip.compress(SVMLIGHT), read_svmlight),
    "rows.svm.bz2": (lambda _: bz2.compress(SVMLIGHT), read_svmlight),
    "rows.data.gz": (lambda _: gzip.compress(SVMLIGHT), read_svmlight),
    "rows.data.xz": (lambda _: lzma.compress(SVMLIGHT), read_svmlight),
    "table.csv": (lambda _: CSV, read_table),
    "table.csv.gz": (lambda _: gzip.compress(CSV), read_table),
    "table.csv.bz2": (lambda _: bz2.compress(CSV), read_table),
    "table.csv.xz": (lambda _: lzma.compress(CSV), read_table),
    "table.jsonl": (lambda _: JSONL, read_table),
    "table.jsonl.gz": (lambda _: gzip.compress(JSONL), read_table),
    "table.ndjson.bz2": (lambda _: bz2.compress(JSONL), read_table),
    "table.jsonl.xz": (lambda _: lzma.compress(JSONL), read_table),
    "table.parquet": (parquet, read_table),
    "dense.npz": (dense, lambda path: read_dataset(f"csf-data:{path.stem}", ReadOptions())),
    "csr.npz": (csr, lambda path: read_dataset(f"csf-data:{path.stem}", ReadOptions())),
    "set.npz": (dense, lambda path: load_set(path.parent, path.stem)),
    "model.skops": (model, load_model),
}


def damaged(content, rng, n):
    """The content with up to four other bytes, or cut off."""
    for k in range(n):
        wrong = bytearray(content)
        if k % 3 == 2:
            yield bytes(wrong[: rng.integers(len(wrong))])
            continue
        for _ in range(1 if k % 3 else 4):
            wrong[rng.integers(len(wrong))] ^= int(rng.integers(1, 256))
        yield bytes(wrong)


def read_damaged(name, folder, monkeypatch, n):
    """Read ``n`` damaged versions; how many were noticed."""
    monkeypatch.setenv("CSF_DATA", str(folder))
    make, read = READERS[name]
    path, said = folder / name, []
    content, rng = make(path), np.random.default_rng(1)
    path.write_bytes(content)
    read(path)
    for wrong in damaged(content, rng, n):
        path.write_bytes(wrong)
        try:
            read(path)
        except (ValueError, CliError) as error:
            said.append(str(error))
    # what is readable, but no target any more, is said in the words of the target
    unnamed = [text for text in said if path.stem not in text and "target" not in text]
    assert not unnamed, unnamed[:3]
    return len(said)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore:column .*:UserWarning")
def test_damaged_files_are_named(name, tmp_path, monkeypatch):
    noticed = read_damaged(name, tmp_path, monkeypatch, 30)
    assert noticed >= (28 if name.endswith(("gz", "bz2", "xz")) else 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore:column .*:UserWarning")
def test_damaged_files_are_named_many_times(name, tmp_path, monkeypatch):
    assert read_damaged(name, tmp_path, monkeypatch, 600) > 200


def test_a_stream_that_goes_on_in_a_damaged_file(tmp_path):
    path = tmp_path / "rows.svm.gz"
    packed = gzip.compress(SVMLIGHT)
    path.write_bytes(packed)
    chunks = iter_svmlight(path, 32, n_features=3)
    next(chunks)
    state = chunks.__getstate__()
    path.write_bytes(packed[:20] + b"\xff" * 40 + packed[60:])
    chunks.__dict__.update(state)
    with pytest.raises(ValueError, match=r"rows\.svm\.gz is damaged before line 32: "):
        next(chunks)


@pytest.mark.parametrize(
    ("caught", "text"),
    [
        (ValueError("three"), "cannot read rows.csv as a table: three"),
        (KeyError("column"), "cannot read rows.csv as a table: KeyError: 'column'"),
        (EOFError(), "cannot read rows.csv as a table: EOFError"),
        (zlib.error("bad"), "cannot read rows.csv as a table: error: bad"),
        (zipfile.BadZipFile("no zip"), "cannot read rows.csv as a table: BadZipFile: no zip"),
    ],
)
def test_what_libraries_raise_becomes_one_error(caught, text):
    with pytest.raises(ValueError, match=f"^{text}$"), reading("rows.csv", "a table"):
        raise caught


def test_a_file_that_cannot_be_opened_keeps_its_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none.npz")
    with pytest.raises(CliError, match=r"cannot read .*none\.npz as a data set: \[Errno 2\]"):
        read_arrays(tmp_path / "none.npz", CliError)


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"X": np.ones((3, 2)), "y": np.arange(4)}, r"X must have rows .*X \(3, 2\), y \(4,\)"),
        ({"X": np.ones(3), "y": np.arange(3)}, r"X must have rows and columns"),
        ({"X": np.ones((3, 2)), "y": np.arange(3), "is_test": np.ones(2)}, r"is_test \(2,\)"),
        ({"X": np.array([["a"]]), "y": np.arange(1)}, "could not convert string to float"),
        ({"X_data": np.ones(1), "y": np.arange(1)}, "KeyError: 'X_indices'"),
    ],
)
def test_arrays_must_fit_together(arrays, text, tmp_path):
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(ValueError, match=rf"set\.npz.*{text}"):
        read_arrays(tmp_path / "set.npz")


def test_indices_outside_the_matrix_are_noticed(tmp_path):
    """scipy believes them, and reads memory that is not its own."""
    parts = {"X_data": np.ones(2), "X_indices": np.array([0, 9]), "X_indptr": np.array([0, 1, 2]), "X_shape": (2, 3)}
    np.savez(tmp_path / "set.npz", y=np.arange(2), **parts)
    with pytest.raises(ValueError, match=r"cannot read .*set\.npz as a data set: .*indices"):
        read_arrays(tmp_path / "set.npz")
