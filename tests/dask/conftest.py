"""Dask for all tests of this folder: one thread for the quick ones, a cluster of two processes for the slow ones."""

from contextlib import contextmanager

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'csf-search[dask]'")
pytest.importorskip("dask.array", reason="needs Dask's arrays: pip install 'csf-search[dask]'")
pytest.importorskip("dask.dataframe", reason="needs Dask's frames: pip install 'csf-search[dask]'")


@pytest.fixture
def one_thread():
    """Nothing but this process."""
    with dask.config.set(scheduler="synchronous"):
        yield


@contextmanager
def two_workers():
    """Client of two processes that listen on the loopback address alone.

    Without an address (``None``) the scheduler's HTTP server would take port 8787 on all interfaces.
    """
    distributed = pytest.importorskip("distributed", reason="needs a cluster: pip install 'csf-search[dask]'")
    # Workers take their time to start on a busy machine.
    patient = {"distributed.comm.timeouts.connect": "180s"}
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver", **patient}):
        distributed.utils.get_mp_context().set_forkserver_preload(
            ["distributed", "dask.dataframe", "csf.dask", "numba"]
        )
        local = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="session")
def client():
    """The cluster that tests share."""
    with two_workers() as client:
        yield client


@pytest.fixture
def another_cluster():
    """A cluster of a test's own, which need not be of use afterwards."""
    return two_workers


@pytest.fixture(scope="session")
def data():
    """Samples, targets with 12 % positives, and weights that are multiples of a half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = (X @ np.array([1.0, -0.5, 0.3, 0.0, 0.0, 0.2]) + 0.8 * rng.normal(size=3000) > 1.7).astype(int)
    return X, y, rng.integers(1, 5, 3000) / 2
