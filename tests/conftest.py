"""What all tests share: freshly compiled code, no windows, one profile of hypothesis, real data where it is there."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# A compiled caller keeps the old code of a helper that changed in another file: every run compiles anew.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="csf-numba-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
os.environ["MPLBACKEND"] = "Agg"

# Oracles and builders are imported by name, whatever directory the tests start from.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("csf", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("csf")


@pytest.fixture(scope="session")
def load_data():
    """Function that loads a real data set by name, features scaled to [0, 1] and targets 0 and 1, or skips the test."""
    from csf.benchmarks.data import data_folder, load_binary

    def load(name):
        folder = data_folder()
        if folder is None:
            pytest.skip("no real data: set the environment variable CSF_DATA to its folder")
        try:
            return load_binary(name)
        except FileNotFoundError:
            pytest.skip(f"no data set {name!r} in {folder} (environment variable CSF_DATA)")

    return load
