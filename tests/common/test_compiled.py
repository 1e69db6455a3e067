"""Compiled code: kept in one place outside the package, never stale, and not needed."""

import ast
import ctypes
import importlib
import inspect
import os
import pickle
import pkgutil
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import csf
from csf._common import compile_cache
from csf._common.compiled import Kernel, _names, njit

PACKAGE = Path(csf.__file__).parent
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders of Windows have no owner and mode")

USE = """
import warnings; warnings.simplefilter("error")
import numpy as np
import csf
from csf.thresholding import sweep
truth, score = np.tile([False, True, True, False], 20_000), np.tile([0.1, 0.3, 0.2, 0.2], 20_000)
best = sweep(truth, score).best(csf.metrics.get_metric("f1"))
print(best.value)
"""


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Homes of this test alone, and no choice of the user."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def folder():
    """The folder as a new process would choose it."""
    return compile_cache._folder.__wrapped__()


def kernels():
    """All compiled functions of csf."""
    for module in pkgutil.walk_packages(csf.__path__, "csf."):
        if not module.name.endswith("__main__"):
            for part in vars(importlib.import_module(module.name)).values():
                if isinstance(part, Kernel):
                    yield part.dispatcher()
                elif isinstance(part, Dispatcher):
                    yield part


def test_every_kernel_is_kept_in_the_same_place():
    found = set(kernels())
    assert len(found) > 50
    own = compile_cache._Cache if compile_cache._folder() is not None else type(None)
    assert not [kernel.py_func for kernel in found if not isinstance(kernel._cache, own)]


def test_the_choice_comes_before_the_user_s_folder(places, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(places / "chosen"))
    assert folder().parent == places / "chosen" / "csf"
    monkeypatch.setattr(numba.config, "CACHE_DIR", os.devnull)
    assert folder().parent == places / "cache" / "csf"
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert folder() is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder of other systems")
@pytest.mark.parametrize("relative", ["", "cache"])
def test_without_a_usable_cache_folder_it_is_that_of_the_home(places, monkeypatch, relative):
    monkeypatch.chdir(places)
    monkeypatch.setenv("HOME", str(places / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", relative)
    assert folder().is_relative_to(places / "home" / ".cache")
    assert not (places / "cache").exists()


@posix
def test_what_csf_makes_is_private(places):
    assert stat.S_IMODE(folder().parent.stat().st_mode) == 0o700


def test_only_edits_of_files_with_kernels_change_the_folder(places, monkeypatch):
    before = folder()
    copy = Path(shutil.copytree(PACKAGE, places / "csf"))
    monkeypatch.setattr(compile_cache, "__file__", str(copy / "_common" / "compile_cache.py"))
    with (copy / "search" / "estimator.py").open("a") as file:
        file.write("# edited")
    assert folder() == before
    with Path(copy, *kernel_files()[0].relative_to(PACKAGE).parts).open("a") as file:
        file.write("# edited")
    assert folder() != before


def kernel_files():
    """Source files of all kernels."""
    return sorted({Path(inspect.getsourcefile(kernel.py_func)) for kernel in kernels()})


def test_kernels_read_nothing_from_files_without_kernels():
    """Else an edit there would leave compiled code stale: the folder is named after the files that hold kernels."""
    files = kernel_files()
    assert all(compile_cache._HOLDS_KERNELS.search(path.read_bytes()) for path in files)
    foreign = []
    for kernel in set(kernels()):
        function = kernel.py_func
        module = inspect.getmodule(function)
        imported = {
            alias.asname or alias.name: node.module
            for node in ast.parse(inspect.getsource(module)).body
            if isinstance(node, ast.ImportFrom) and node.module.startswith("csf")
            for alias in node.names
        }
        for name in set(_names(function.__code__)) & set(imported):
            source = Path(inspect.getsourcefile(importlib.import_module(imported[name])))
            foreign += [] if source in files else [f"{function.__qualname__} reads {name} of {imported[name]}"]
    assert not foreign


def test_csf_without_sources_keeps_nothing(places, monkeypatch):
    monkeypatch.setattr(compile_cache, "__file__", str(places / "archive.zip" / "_common" / "compile_cache.py"))
    assert folder() is None


def test_folders_of_old_versions_do_not_pile_up(places):
    shelf = places / "cache" / "csf"
    for age in range(2 * compile_cache.KEPT):
        (shelf / f"{age:016x}").mkdir(parents=True)
        os.utime(shelf / f"{age:016x}", (1e9 - age, 1e9 - age))
    new = folder()
    assert {path.name for path in shelf.iterdir()} == {new.name, *(f"{age:016x}" for age in range(compile_cache.KEPT))}
    assert folder() == new


def plain(x):
    """A kernel."""
    return x * 2.0 + 1.0


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Function that decorates the kernel as a new process would, with a folder of this test."""
    monkeypatch.setattr(compile_cache, "_folder", lambda: tmp_path)
    return lambda: compile_cache.compiled(plain, cache=True, nogil=True)


def test_code_is_compiled_once(kept, tmp_path):
    first, second = kept(), kept()
    assert (first(1.0), second(1.0)) == (3.0, 3.0)
    assert sum(first.stats.cache_misses.values()) == sum(second.stats.cache_hits.values()) == 1
    assert {path.suffix for path in tmp_path.rglob("*.*") if path.is_file()} == {".nbi", ".nbc"}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda text: b"", lambda text: text[: len(text) // 2], lambda text: b"junk" + text])
def test_damaged_files_are_replaced(kept, tmp_path, suffix, damage):
    kept()(1.0)
    (path,) = tmp_path.rglob(f"*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    second, third = kept(), kept()
    assert (second(1.0), third(1.0)) == (3.0, 3.0)
    assert sum(second.stats.cache_misses.values()) == sum(third.stats.cache_hits.values()) == 1


def test_code_of_another_signature_is_not_used(kept, tmp_path):
    kept()(1.0)
    (number,) = tmp_path.rglob("*.nbc")
    code = number.read_bytes()
    kept()(np.ones(2))
    for path in tmp_path.rglob("*.nbc"):
        path.write_bytes(code)
    np.testing.assert_array_equal(kept()(np.ones(2)), [3.0, 3.0])
    kept()(1.0)
    both = kept()
    both(1.0), both(np.ones(2))
    assert sum(both.stats.cache_hits.values()) == 2


def test_folder_that_cannot_be_written_costs_nothing_but_time(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "_folder", lambda: Path(os.devnull) / "none")
    assert kept()(1.0) == 3.0


def test_code_that_numba_cannot_give_is_used_and_not_kept(kept, tmp_path, monkeypatch):
    def fail(self, sig, data):
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(compile_cache.FunctionCache, "save_overload", fail)
    assert kept()(1.0) == 3.0
    assert list(tmp_path.rglob("*.nb?")) == []


def test_other_packages_keep_their_own_places():
    before = numba.config.CACHE_DIR
    compile_cache.compiled(plain)
    assert before == numba.config.CACHE_DIR
    assert not isinstance(numba.njit(plain)._cache, compile_cache._Cache)


@njit(cache=False)
def tripled(x):
    return 3.0 * x


@njit(cache=False)
def sixfold(x):
    return 2.0 * tripled(x)


def test_a_loop_is_compiled_when_it_is_first_called():
    """Its helpers with it; numba meets its own objects alone."""
    waiting = sixfold
    assert isinstance(waiting, Kernel)
    assert waiting.__name__ == "sixfold"
    assert waiting.py_func(1.0) == waiting(1.0) == pickle.loads(pickle.dumps(waiting))(1.0) == 6.0
    assert isinstance(tripled, Dispatcher)
    assert waiting.dispatcher() is waiting.dispatcher() is sixfold


LIGHT = """
import sys
import csf
from csf.search import CostSearch
from csf.search.study import Study
import csf.bounds, csf.metrics, csf.online, csf.plots, csf.strategies, csf.streams, csf.structural, csf.thresholding
print(*sorted({name.split(".")[0] for name in sys.modules} & {"numba", "shapely", "matplotlib", "skops", "river"}))
"""


@pytest.mark.slow
def test_nothing_compiled_is_needed_for_an_import():
    command = [sys.executable, "-c", LIGHT]
    out = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    )
    assert out.stdout.split() == []


def listing(folder):
    """Files below a folder."""
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def python(code, where, **environment):
    """A process that knows nothing of this one's folders."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(where), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, env=environment, cwd=where, text=True, stdout=-1, stderr=-1, preexec_fn=bound)


def bound():
    """Let permissions bind root as they bind everybody."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(28, 1, 0, 0, 0)  # PR_SET_SECUREBITS, SECBIT_NOROOT: no capabilities after exec


def output(process):
    """What the process printed."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert not err
    return out.split()


@pytest.fixture
def copy(tmp_path):
    """A folder with a copy of the package."""
    shutil.copytree(PACKAGE, tmp_path / "site" / "csf", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "site"


@pytest.mark.slow
@posix
def test_processes_share_the_folder_and_the_package_stays_as_it_is(copy, tmp_path):
    before = listing(copy)
    together = [python(USE, copy, XDG_CACHE_HOME=str(tmp_path / "cache")) for _ in range(2)]
    first, second = map(output, together)
    assert first == second
    code = listing(tmp_path / "cache")
    assert {path.suffix for path in code} == {".nbi", ".nbc"}
    assert output(python(USE, copy, XDG_CACHE_HOME=str(tmp_path / "cache"))) == first
    assert listing(tmp_path / "cache") == code
    assert listing(copy) == before


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="permissions bind root on Linux only")
def test_read_only_machine_without_a_home(copy):
    """Packages that cannot be written, no home and no temporary files: every process compiles for itself."""
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    nowhere = f"import os, tempfile; tempfile.tempdir = {str(copy)!r}; print(os.access({str(copy)!r}, os.W_OK))\n"
    out = output(
        python(
            nowhere + USE + "from csf._common import compile_cache; print(compile_cache._folder())",
            copy,
            HOME=str(copy),
        )
    )
    if out[0] == "True":
        pytest.skip("no permission can be taken from this process: it may write to read-only folders")
    assert out[1:] == ["0.8", "None"]


@pytest.mark.parametrize("at_a_terminal", [True, False])
def test_a_line_says_once_that_code_is_compiled(places, monkeypatch, caplog, at_a_terminal):
    chosen = folder()
    monkeypatch.setattr("sys.stderr.isatty", lambda: at_a_terminal, raising=False)
    caplog.set_level("INFO", "csf")
    monkeypatch.setattr(compile_cache, "_folder", lambda: chosen)
    monkeypatch.setattr(
        compile_cache, "_log_compilation", compile_cache.once(compile_cache._log_compilation.__wrapped__)
    )

    def double(x):
        return 2 * x

    first = compile_cache.compiled(double)
    assert (first(1), first(1.0)) == (2, 2.0)
    assert [record.message.partition(",")[0] for record in caplog.records] == ["csf compiles its loops"]
    assert {record.levelname for record in caplog.records} == {"WARNING" if at_a_terminal else "INFO"}
    assert str(chosen) in caplog.text
    caplog.clear()
    compile_cache.compiled(double)(1)
    assert not caplog.records
