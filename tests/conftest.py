"""What all tests share: no windows, one profile of hypothesis, real data where it is there."""

import os

# Before numpy and OpenMP read it: beside other tests, threads of one would wait for those of another (boosting takes
# ten times as long). Whoever wants more sets it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import signal
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"

# Started in the background of a script, Python ignores Ctrl-C, and tests of it would test nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Oracles and builders are imported by name, whatever directory the tests start from.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("csf", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("csf")


def pytest_addoption(parser):
    """An order and global generators other than the usual ones: no test may depend on them."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="random order, and global generators seeded with SEED")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests of programs as slow: a change of csf seldom breaks them. Shuffle where that is asked for."""
    programs = {Path(__file__).parent / name for name in ("benchmarks", "experiments")}
    for item in items:
        if item.path.parent in programs:
            item.add_marker(pytest.mark.slow)
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Seed the generators that all libraries share, alike in every run of a test, whichever tests ran before it."""
    seed = zlib.crc32(f"{item.config.getoption('--shuffle')} {item.nodeid}".encode())
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


@pytest.fixture(scope="session")
def load_data():
    """Function that loads a real data set by name, features scaled to [0, 1] and targets 0 and 1, or skips the test."""
    from tests.benchmarks.data import data_folder, load_binary

    def load(name):
        folder = data_folder()
        if folder is None:
            pytest.skip("no real data: set the environment variable CSF_DATA to its folder")
        try:
            return load_binary(name)
        except FileNotFoundError:
            pytest.skip(f"no data set {name!r} in {folder} (environment variable CSF_DATA)")

    return load
