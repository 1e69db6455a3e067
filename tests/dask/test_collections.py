"""Passes and trainings whose workers are lost: they end with a way out, and do not wait for ever."""

import threading
from types import SimpleNamespace

import pytest

from csf.dask import collections as watch
from csf.search.workers import working

distributed = pytest.importorskip("distributed")


class Cluster:
    """What is asked of a client, of a cluster of two workers."""

    status = "running"

    def __init__(self):
        self.workers, self.futures, self.cancelled = (
            {"a": "running", "b": "running"},
            {"others": None},
            threading.Event(),
        )
        self.executing = 0
        # What answers of the scheduler have in place of the workers, the last one first.
        self.hidden = []

    def scheduler_info(self, n_workers):
        assert n_workers == -1
        metrics = {"metrics": {"executing": self.executing}}
        if self.hidden:
            return {"n_workers": len(self.workers), "workers": {}} | self.hidden.pop()
        return {
            "n_workers": len(self.workers),
            "workers": {name: {"status": status, **metrics} for name, status in self.workers.items()},
        }

    def cancel(self, futures):
        assert futures == ["own"]
        self.cancelled.set()

    def get(self, graph):
        """What Dask computes with."""


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(watch, "_LOOK", 0.01)
    monkeypatch.setattr(watch, "_RETURN", 0.05)
    monkeypatch.setattr("distributed.Future", lambda key, client: key)
    cluster = Cluster()
    monkeypatch.setattr("dask.base.get_scheduler", lambda: cluster.get)
    return cluster


def losing(cluster, names, error=distributed.CancelledError):
    """Something that loses workers and waits until it is cancelled."""

    def ask():
        cluster.futures["own"] = None
        for name in names:
            del cluster.workers[name]
        assert cluster.cancelled.wait(60)
        raise error

    return ask


@pytest.mark.parametrize("error", [distributed.CancelledError, OSError])
def test_a_training_that_loses_a_worker_ends(cluster, error):
    with pytest.raises(RuntimeError, match=r"a worker was lost .*restart the cluster.*checkpoint=") as raised:
        watch.watched_training(cluster, losing(cluster, "a", error))
    assert isinstance(raised.value.__cause__, error)


def test_an_error_that_comes_before_the_scheduler_knows_is_one_of_a_lost_worker(cluster, monkeypatch):
    monkeypatch.setattr(watch, "_LOOK", 5.0)

    def train():
        threading.Timer(0.1, cluster.workers.popitem).start()
        raise OSError("connection reset")

    with pytest.raises(RuntimeError, match="a worker was lost during a training"):
        watch.watched_training(cluster, train)


def test_errors_of_the_training_itself_are_its_result(cluster):
    error = ValueError("labels")

    def train():
        raise error

    assert watch.watched_training(cluster, train) is error
    assert watch.watched_training(cluster, lambda: "model") == "model"


@pytest.mark.parametrize("hidden", [{}, {"n_workers": 0}], ids=["lists none", "counts none"])
def test_a_training_goes_on_where_one_answer_has_no_workers(cluster, hidden):
    def train():
        cluster.hidden = [hidden]
        return cluster.cancelled.wait(0.3)

    assert watch.watched_training(cluster, train) is False
    assert not cluster.hidden


def test_workers_that_are_counted_and_not_listed_are_asked_for_again(cluster):
    cluster.hidden = [{}, {}]
    assert working(cluster) == {"a": True, "b": True}
    cluster.hidden = [{"n_workers": 0}]
    assert working(cluster) == {}
    # A scheduler that never lists them is not asked for ever.
    cluster.hidden = [{}] * 1000
    assert working(cluster) == {}


@pytest.mark.parametrize("first", [True, False])
def test_a_pass_whose_workers_stay_away_ends(cluster, first):
    with pytest.raises(
        RuntimeError, match=r"no worker was at work for 0.05 s. .*no workers .*start workers; with checkpoint="
    ):
        watch.watched_pass(losing(cluster, "ab"), first=first)


def test_a_pass_goes_on_with_the_workers_that_are_left(cluster):
    def ask():
        cluster.workers.popitem()
        return cluster.cancelled.wait(0.3)

    assert watch.watched_pass(ask, first=False) is False


def test_the_first_pass_waits_for_workers_as_dask_does(cluster):
    cluster.workers.clear()
    assert watch.watched_pass(lambda: cluster.cancelled.wait(0.3), first=True) is False
    with pytest.raises(RuntimeError, match="no worker was at work"):
        watch.watched_pass(losing(cluster, ""), first=False)


def pause(cluster):
    cluster.workers.update(a="paused", b="paused")


@pytest.mark.parametrize("first", [True, False])
def test_a_pass_whose_workers_are_paused_ends_with_a_way_out(cluster, first):
    pause(cluster)
    message = r"no worker was at work .* paused \(a, b\), as their memory is nearly full: .*memory_limit=.*checkpoint="
    with pytest.raises(RuntimeError, match=message):
        watch.watched_pass(losing(cluster, ""), first=first)


@pytest.mark.parametrize("busy", ["running", "executing"])
def test_a_pass_goes_on_while_a_worker_is_at_work(cluster, busy):
    def ask():
        pause(cluster)
        if busy == "running":
            cluster.workers["b"] = "running"
        cluster.executing = int(busy == "executing")
        return cluster.cancelled.wait(0.3)

    assert watch.watched_pass(ask, first=False) is False


def test_a_training_goes_on_with_workers_that_are_paused(cluster):
    def train():
        cluster.workers["a"] = "paused"
        return cluster.cancelled.wait(0.3)

    assert watch.watched_training(cluster, train) is False


def test_a_training_without_any_worker_ends(cluster):
    cluster.workers.clear()
    with pytest.raises(RuntimeError, match="a worker was lost during a training"):
        watch.watched_training(cluster, losing(cluster, ""))


@pytest.mark.parametrize("idle", ["none", "paused", "running"])
def test_an_idle_cluster_is_told_once(cluster, monkeypatch, caplog, idle):
    monkeypatch.setattr(watch, "QUIET", 0.05)
    monkeypatch.setattr(watch, "_RETURN", 60.0)
    if idle == "none":
        cluster.workers.clear()
    elif idle == "paused":
        pause(cluster)
    assert watch.watched_pass(lambda: cluster.cancelled.wait(0.4), first=True) is False
    told = {"none": "start workers", "paused": "memory_limit=", "running": None}[idle]
    if told is None:
        assert not caplog.messages
    else:
        (message,) = caplog.messages
        assert told in message
        assert "Ctrl-C" in message


@pytest.mark.parametrize("status", ["running", "closed", "connecting"])
def test_a_scheduler_that_is_lost_or_restarted_ends_the_pass(cluster, status):
    def ask():
        cluster.status = status
        raise distributed.CancelledError

    with pytest.raises(RuntimeError, match=r"the scheduler was lost or restarted; connect a client, .*checkpoint="):
        watch.watched_pass(ask, first=False)


def test_a_partition_that_ends_its_workers_is_told_with_a_way_out(cluster):
    def ask():
        raise distributed.KilledWorker("part", SimpleNamespace(address="tcp://a"), 3)

    message = r"(?s)workers ended while they read .*more memory or smaller partitions .*checkpoint=.*tcp://a"
    with pytest.raises(RuntimeError, match=message):
        watch.watched_pass(ask, first=False)


def test_errors_of_a_pass_are_its_own_and_without_a_cluster_nothing_is_watched(cluster, monkeypatch):
    def ask():
        raise ValueError("labels")

    for scheduler in (cluster.get, None, threading.Thread):
        monkeypatch.setattr("dask.base.get_scheduler", lambda scheduler=scheduler: scheduler)
        with pytest.raises(ValueError, match="labels"):
            watch.watched_pass(ask, first=False)
