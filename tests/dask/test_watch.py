"""Trainings that need all of their workers: begun anew where one was lost, given up where workers are lost again."""

import pytest

pytest.importorskip("distributed")

from csf.dask import watch


class Cluster:
    """What is asked of a client, of a cluster of two workers that are there again after some looks."""

    def __init__(self):
        self.workers, self.futures, self.away, self.looks = {"a": 1, "b": 1}, {}, 3, 0

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


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(watch, "_LOOK", 0.01)
    return Cluster()


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
    with pytest.raises(RuntimeError, match=r"none was back after 0.05 s; start workers .*lost-worker-timeout"):
        watch.with_all_workers(cluster, train)
    assert len(begun) == 2


def test_errors_of_the_training_itself_are_its_result(cluster):
    error = ValueError("labels")

    def train():
        raise error

    assert watch.with_all_workers(cluster, train) is error
