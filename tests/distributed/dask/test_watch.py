"""Passes and trainings whose workers are lost: begun again with others, given up where there are none."""

import threading
from types import SimpleNamespace

import pytest

from csf.distributed.dask import collections as watch

distributed = pytest.importorskip("distributed")


class Cluster:
    """What is asked of a client, of a cluster of two workers that are there again after some looks."""

    status = "running"

    def __init__(self):
        self.workers, self.futures, self.away, self.looks = {"a": 1, "b": 1}, {}, 3, 0
        self.cancelled = threading.Event()

    def nthreads(self):
        self.looks += not self.workers
        if self.looks == self.away:
            self.workers, self.looks = {"a'": 1, "b'": 1}, 0
        return dict(self.workers)

    def run(self, question, on_error):
        # One that is lost at that moment does not answer.
        assert (question, on_error) == (watch._active_keys, "ignore")
        return {worker: set() for worker in self.workers}

    def cancel(self, futures):
        assert list(futures) == []
        self.cancelled.set()

    def get(self, graph):
        """What Dask computes with."""


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(watch, "_LOOK", 0.01)
    cluster = Cluster()
    monkeypatch.setattr("dask.base.get_scheduler", lambda: cluster.get)
    return cluster


def training(cluster, losses):
    """A training that loses a worker the first few times."""
    begun = []

    def train():
        begun.append(len(begun))
        if len(begun) <= losses:
            cluster.workers.popitem()
            raise OSError("connection reset")
        return "model"

    return train, begun


@pytest.mark.parametrize("losses", [0, 1, 2, 4])
def test_a_training_that_loses_a_worker_is_begun_anew(cluster, losses):
    train, begun = training(cluster, losses)
    assert watch.with_all_workers(cluster, train) == "model"
    assert len(begun) == losses + 1


def test_workers_that_are_lost_again_and_again_end_the_training(cluster):
    train, begun = training(cluster, 100)
    with pytest.raises(RuntimeError, match="workers were lost in each of 5 trainings") as raised:
        watch.with_all_workers(cluster, train)
    assert len(begun) == 5
    assert isinstance(raised.value.__cause__, OSError)


def test_workers_that_stay_away_end_the_training(cluster, monkeypatch):
    monkeypatch.setattr(watch, "_RETURN", 0.05)
    cluster.away = None
    train, begun = training(cluster, 2)
    with pytest.raises(RuntimeError, match=r"none was back after 0.05 s; start workers; .*lost-worker-timeout"):
        watch.with_all_workers(cluster, train)
    assert len(begun) == 2


def test_errors_of_the_training_itself_are_its_result(cluster):
    error = ValueError("labels")

    def train():
        raise error

    assert watch.with_all_workers(cluster, train) is error


# ---------------------------------------------------------------- passes


def waiting(cluster):
    """A pass that waits for workers until it is cancelled."""

    def ask():
        assert cluster.cancelled.wait(60)
        raise distributed.CancelledError

    return ask


@pytest.mark.parametrize("first", [True, False])
def test_a_pass_whose_workers_stay_away_ends(cluster, monkeypatch, first):
    monkeypatch.setattr(watch, "_RETURN", 0.05)
    cluster.away = None

    def ask():
        cluster.workers.clear()
        waiting(cluster)()

    with pytest.raises(RuntimeError, match=r"all workers were lost, .* after 0.05 s; start workers; with checkpoint="):
        watch.with_any_worker(ask, first=first)


def test_a_request_that_a_restarted_scheduler_has_dropped_is_made_again(cluster, monkeypatch):
    """All workers are there, and the client would wait for ever."""
    asked, dropped = [], SimpleNamespace(status="pending")
    monkeypatch.setattr("distributed.Future", lambda key, client: key)
    cluster.run_on_scheduler = lambda question, keys: question(SimpleNamespace(tasks={}), keys)
    cluster.cancel = lambda keys: cluster.cancelled.set() if keys == ["sums"] else None

    def ask():
        asked.append(1)
        if len(asked) == 2:
            return "sums"
        cluster.futures["sums"] = dropped
        return waiting(cluster)()

    assert watch.with_any_worker(ask, first=False) == "sums"


def test_workers_that_left_between_two_passes_are_missed_too(cluster, monkeypatch):
    monkeypatch.setattr(watch, "_RETURN", 0.05)
    cluster.away = None
    cluster.workers.clear()
    with pytest.raises(RuntimeError, match="all workers were lost"):
        watch.with_any_worker(waiting(cluster), first=False)


def test_the_first_pass_waits_for_workers_as_dask_does(cluster, monkeypatch):
    monkeypatch.setattr(watch, "_RETURN", 0.0)
    cluster.away = None
    cluster.workers.clear()
    assert watch.with_any_worker(lambda: cluster.cancelled.wait(0.2), first=True) is False


@pytest.mark.parametrize("times", [1, 4, 5])
def test_a_pass_that_was_cancelled_is_asked_for_again(cluster, times):
    asked = []

    def ask():
        asked.append(len(asked))
        if len(asked) <= times:
            raise distributed.CancelledError
        return "sums"

    if times < 5:
        assert watch.with_any_worker(ask, first=False) == "sums"
    else:
        with pytest.raises(RuntimeError, match=r"cancelled 5 times; .*smaller partitions .*checkpoint="):
            watch.with_any_worker(ask, first=False)


@pytest.mark.parametrize("status", ["closed", "connecting"])
def test_a_scheduler_that_is_lost_ends_the_pass(cluster, monkeypatch, status):
    monkeypatch.setattr(watch, "_RETURN", 0.05)

    def ask():
        cluster.status = status
        raise distributed.CancelledError

    with pytest.raises(RuntimeError, match=r"the scheduler was lost; connect a client to another, .*checkpoint="):
        watch.with_any_worker(ask, first=False)


def test_a_partition_that_ends_its_workers_is_told_with_a_way_out(cluster):
    def ask():
        raise distributed.KilledWorker("part", SimpleNamespace(address="tcp://a"), 3)

    message = (
        r"(?s)workers ended while they read a partition; .*more memory or smaller partitions .*checkpoint=.*tcp://a"
    )
    with pytest.raises(RuntimeError, match=message):
        watch.with_any_worker(ask, first=False)


def test_errors_of_a_pass_are_its_own_and_without_a_cluster_nothing_is_watched(cluster, monkeypatch):
    def ask():
        raise ValueError("labels")

    for scheduler in (cluster.get, None, threading.Thread):
        monkeypatch.setattr("dask.base.get_scheduler", lambda scheduler=scheduler: scheduler)
        with pytest.raises(ValueError, match="labels"):
            watch.with_any_worker(ask, first=False)
