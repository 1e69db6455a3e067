"""Trainings on a Dask cluster inside this process: cheap enough for every run, unlike those of test_distributed."""

import warnings

import numpy as np
import pytest
from builders import paper_search
from joblib import parallel_config
from sklearn.svm import LinearSVC

distributed = pytest.importorskip("distributed")

Y = (np.arange(60) % 3 == 0).astype(int)
X = np.random.default_rng(0).normal(size=(60, 3)) + Y[:, None]
OPTIONS = {"n_trials": 2, "cv": 2, "refit": False}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client,
        parallel_config(backend="dask"),
    ):
        yield client


class Cancelling(LinearSVC):
    """Cancels all that is on the cluster, the data as well, in as many trainings as it has clients for."""

    clients = ()

    def fit(self, X, y, sample_weight=None):
        if Cancelling.clients:
            client, *Cancelling.clients = Cancelling.clients
            client.cancel([distributed.Future(key, client) for key in list(client.futures)])
        return super().fit(X, y, sample_weight=sample_weight)


def test_what_was_cancelled_is_sent_again_however_often(client):
    """It is no fault of the training, which has failed only where it kills its worker when it is alone."""
    with parallel_config(backend="sequential"):
        alone = paper_search(Cancelling(), **OPTIONS).fit(X, Y)
    Cancelling.clients = [client] * 3
    search = paper_search(Cancelling(), **OPTIONS).fit(X, Y)
    assert not Cancelling.clients
    assert search.trials_ == alone.trials_


class Chatty(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        warnings.warn("all is well", UserWarning, stacklevel=2)
        return super().fit(X, y, sample_weight=sample_weight)


def test_filters_of_warnings_keep_their_order_on_the_cluster(client):
    """The later one, which is asked first, lets pass what the earlier one makes an error of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="all is well")
        search = paper_search(Chatty(), **OPTIONS).fit(X, Y)
    assert [trial.state for trial in search.trials_] == ["complete"] * 2
