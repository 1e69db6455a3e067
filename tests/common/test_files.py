"""Files that are written whole, damaged ones, and cells of tables."""

import ast
import bz2
import errno
import gzip
import lzma
import math
import os
import re
import stat
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import interrupted, paper_search
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

import csf
from csf import Study
from csf._common import files
from csf._common.files import cell, read_arrays, read_record, reading, replaced, write_json, write_record
from csf.cli.data import FeatureColumns, ReadOptions, read_dataset
from csf.cli.predict import load_model, save_model
from csf.cli.problem import draw_search
from csf.cli.tables import CliError
from csf.streams import iter_arrays, iter_parquet, iter_svmlight, save_stream
from notebooks.experiments.datasets import load_set
from notebooks.experiments.report import write_rows

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and locks of POSIX")


def written(path, text="new", **options):
    with replaced(path, **options) as file:
        file.write(text)


def names(folder):
    return sorted(os.listdir(folder))


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    return path


class Failed(Exception):
    pass


def fail(path):
    with replaced(path) as file:
        file.write("half")
        raise Failed


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize("kind", [str, os.fspath, os.fsencode, lambda path: path])
def test_a_file_is_replaced_whatever_names_it(old, kind):
    written(kind(old))
    assert old.read_text() == "new"
    assert names(old.parent) == ["a.json"]


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written("b.json")
    (tmp_path / "below").mkdir()
    written("below/../c.json", b"bytes", mode="wb")
    assert names(tmp_path) == ["b.json", "below", "c.json"]


def test_nothing_is_seen_before_the_end(old):
    with replaced(old) as file:
        file.write("new")
        file.flush()
        assert old.read_text() == "old"
    assert old.read_text() == "new"


def test_an_error_leaves_the_old_file(old):
    before = old.stat()
    with pytest.raises(Failed):
        fail(old)
    assert (old.read_text(), old.stat()) == ("old", before)
    assert names(old.parent) == ["a.json"]


def test_text_is_utf_8_and_line_ends_stay(tmp_path):
    written(tmp_path / "t", "ü\r\n", newline="")
    assert (tmp_path / "t").read_bytes() == "ü\r\n".encode()


def test_content_that_json_does_not_know_leaves_the_old_file(old):
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(old, {"a": object()})
    assert old.read_text() == "old"


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # between open and with, a file is closed by its end alone
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", [write_json, lambda path, content: write_record(path, "kind", 1, content)])
def test_ctrl_c_at_any_line_leaves_the_old_or_the_new_file(tmp_path, write):
    path, seen = tmp_path / "a.json", set()
    write(path, {"a": 1})
    old = path.read_bytes()
    write(path, {"a": 2})
    new = path.read_bytes()
    for at in range(1, 2000):
        path.write_bytes(old)
        try:
            interrupted(lambda: write(path, {"a": 2}), at)
            break
        except KeyboardInterrupt:
            seen.add(path.read_bytes())
    assert 30 < at < 2000
    assert seen == {old, new}


# ---------------------------------------------------------------- full disk


def test_a_full_disk_leaves_the_old_file(old, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{re.escape(str(old))}'"):
        written(old)
    assert old.read_text() == "old"
    assert names(old.parent) == ["a.json"]


@POSIX
def test_a_limit_of_the_size_of_files_leaves_the_old_file(old):
    code = (
        "import resource, signal, sys; from csf._common.files import write_json; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "write_json(sys.argv[1], list(range(10_000)))"
    )
    done = subprocess.run([sys.executable, "-c", code, old], capture_output=True, text=True)
    assert "File too large" in done.stderr
    assert old.read_text() == "old"
    assert names(old.parent) == ["a.json"]


def search_of_two_trials():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    return paper_search(LinearSVC(), n_trials=2, cv=2).fit(X, (X[:, 0] > 0.5).astype(int))


def model(folder):
    pytest.importorskip("skops")
    save_model(folder / "m.skops", search_of_two_trials(), FeatureColumns("dense", 1))


def figure(folder):
    draw_search(folder / "cones.png", search_of_two_trials())


def tables(folder):
    write_rows([{"data": "a", "value": 0.5}], folder)


def stream(folder):
    save_stream(folder / "s", SGDClassifier(), iter_arrays([[0.0], [1.0]], [0, 1], 1))


def study(folder):
    Study(pos=0.2).save(folder / "s.json")


@pytest.mark.parametrize("write", [model, figure, tables, stream, study])
def test_every_writer_leaves_the_old_file_when_the_disk_is_full(tmp_path, write, monkeypatch):
    write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{re.escape(str(tmp_path))}"):
        write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# Files that are nobody's result: counters of one run.
EXEMPT = {("report/page.py", "savefig")}
WRITERS = {"write_text", "write_bytes", "savefig", "mkstemp", "NamedTemporaryFile", "savez", "savez_compressed"}


def writes(call):
    """Whether a call writes a file."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    modes = [a.value for a in [*call.args, *(k.value for k in call.keywords)] if isinstance(a, ast.Constant)]
    if name == "open":
        return any(isinstance(mode, str) and re.fullmatch(r"[rwaxbt+]+", mode) and mode[0] in "wax" for mode in modes)
    return name in WRITERS


def test_nothing_is_written_in_another_way():
    root = Path(csf.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        names = {getattr(call.func, "id", None) or call.func.attr for call in calls if writes(call)}
        found |= {(path.relative_to(root).as_posix(), name) for name in names}
    assert {(path, name) for path, name in found if path != "_common/files.py"} == EXEMPT


def test_writers_of_one_file_in_threads_do_not_meet(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    texts = [str(number) * 10_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: [written(tmp_path / "a", text) for _ in range(5)], texts))
    assert (tmp_path / "a").read_text() in texts
    assert names(tmp_path) == ["a"]


# ---------------------------------------------------------------- permissions, links, what is no file


@POSIX
@pytest.mark.parametrize("mode", [0o664, 0o600, 0o755, 0o640])
def test_permissions_stay(old, mode):
    old.chmod(mode)
    written(old)
    assert stat.S_IMODE(old.stat().st_mode) == mode


@POSIX
@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_new_files_have_the_usual_permissions(tmp_path, mask):
    before = os.umask(mask)
    try:
        written(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask


@POSIX
def test_a_private_file_is_never_open_to_others(old):
    old.chmod(0o600)
    with replaced(old):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in old.parent.iterdir()}
    assert modes == {0o600}


@POSIX
def test_links_are_followed(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    link.symlink_to("far/target")
    for text in ("first", "second"):  # there is no target yet, then there is one
        written(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert (names(tmp_path), names(tmp_path / "far")) == (["far", "link"], ["target"])


@POSIX
def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        written(tmp_path / "a")


@POSIX
def test_pipes_and_devices_are_written_as_they_are(tmp_path):
    written(os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    written(tmp_path / "pipe")
    assert reader.communicate()[0] == b"new"
    assert names(tmp_path) == ["pipe"]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"directory|denied"):
        written(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot write into its folder: .*nowhere"):
        written(tmp_path / "nowhere" / "a")


def test_long_names(tmp_path):
    path = tmp_path / ("ü" * 120 + ".json")
    for _ in range(2):
        written(path)
    assert names(tmp_path) == [path.name]
    with pytest.raises(OSError, match="too long"):
        written(tmp_path / ("a" * 300))
    assert names(tmp_path) == [path.name]


def as_nobody(function):
    """Exit code of a child without rights that runs a function."""
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            function()
            os._exit(0)
        except PermissionError as error:
            os.write(1, f"{error}".encode())
            os._exit(13)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@POSIX
def test_folders_and_files_that_must_not_be_written(old, tmp_path):
    for folder in [tmp_path, *list(tmp_path.parents)[:-1]]:
        if folder.stat().st_uid == os.getuid() and "pytest-of" in str(folder):
            folder.chmod(0o755)
    assert as_nobody(lambda: written(old)) == 13
    old.chmod(0o444)
    assert as_nobody(lambda: written(old)) == 13
    assert old.read_text() == "old"


# ---------------------------------------------------------------- records


def test_records_come_back_to_the_last_digit(tmp_path):
    content = {"numbers": [0.1, 1e-300, -0.0, float("inf"), 3, None, True], "text": "ü\ud800\n", "below": {"a": []}}
    write_record(tmp_path / "r", "kind", 3, content)
    found = read_record(tmp_path / "r", "kind", 3)
    assert repr(found) == repr({"format": "kind", "version": 3} | content)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"[" * 10**6, b'{"a": ' * 10**5, b"1" * 5000, b"null", b'"\\ud800"'])
def test_other_files_are_refused_and_stay(tmp_path, raw):
    path = tmp_path / "r"
    path.write_bytes(raw)
    before = path.stat().st_mtime_ns
    with pytest.raises(ValueError, match=r"r is (damaged or )?not a kind file.*it was left as it is"):
        read_record(path, "kind", 1)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (raw, before)


def test_a_folder_is_no_record(tmp_path):
    with pytest.raises(OSError, match=r"directory|denied"):
        read_record(tmp_path, "kind", 1)


@pytest.mark.parametrize("version", [1.0, True, "1", None, 2, [1]])
def test_versions_are_exact(tmp_path, version):
    write_record(tmp_path / "r", "kind", version, {})
    with pytest.raises(ValueError, match=r"has version .* of the kind format; this csf reads 1"):
        read_record(tmp_path / "r", "kind", 1)


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


def search_model(path):
    pytest.importorskip("skops")
    X = RNG.normal(size=(40, 2))
    save_model(path, paper_search(LinearSVC(), n_trials=1, cv=2).fit(X, X[:, 0] > 0), FeatureColumns("dense", 2))
    return path.read_bytes()


READERS = {
    "stream.svm": (lambda _: SVMLIGHT, stream_svmlight),
    "stream.svm.gz": (lambda _: gzip.compress(SVMLIGHT), stream_svmlight),
    "stream.parquet": (parquet, stream_parquet),
    "rows.svm": (lambda _: SVMLIGHT, read_svmlight),
    "rows.svm.bz2": (lambda _: bz2.compress(SVMLIGHT), read_svmlight),
    "table.csv.gz": (lambda _: gzip.compress(CSV), read_table),
    "table.jsonl.xz": (lambda _: lzma.compress(JSONL), read_table),
    "table.parquet": (parquet, read_table),
    "dense.npz": (dense, lambda path: read_dataset(f"csf-data:{path.stem}", ReadOptions())),
    "csr.npz": (csr, lambda path: read_dataset(f"csf-data:{path.stem}", ReadOptions())),
    "set.npz": (dense, lambda path: load_set(path.parent, path.stem)),
    "model.skops": (search_model, load_model),
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


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "- 1 2"])
def test_formulas_get_an_apostrophe(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a", "a=b", "", "-1", "+1.5", "-1e-3", -1, -0.5, 3, True, None, -math.inf, "'=1"])
def test_everything_else_is_left_as_it_is(value):
    assert cell(value) == value
    assert type(cell(value)) is type(value)
