"""Threads that train side by side: results in order, help where one is idle, and one thread of the libraries."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from csf._common.threads import Threads, side_by_side


def library_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def met():
    """A barrier that two threads pass together, or nobody does."""
    return threading.Barrier(2, timeout=20.0)


def test_results_come_in_order_without_threads():
    assert side_by_side(lambda item: item**2, range(4)) == [0, 1, 4, 9]


def test_an_idle_thread_helps(met):
    def work(item):
        met.wait()
        return item, threading.get_ident()

    with Threads(2):
        (first, one), (second, other) = side_by_side(work, [5, 6])
    assert (first, second) == (5, 6)
    assert one != other


def test_a_training_is_helped_once_the_others_are_done(met):
    alone = threading.Event()

    def train():
        assert alone.wait(20.0)
        return side_by_side(lambda item: (met.wait(), item)[1], [1, 2])

    with Threads(2) as threads:
        last = threads.submit(train)
        threads.submit(int).result()
        while threads._unfinished > 1:  # counted after the result is there
            time.sleep(0.001)
        alone.set()
        assert last.result() == [1, 2]


def test_who_is_at_work_helps_nobody():
    seen, both = [], threading.Barrier(2, timeout=20.0)

    def train():
        both.wait()
        found = side_by_side(lambda item: seen.append(threading.get_ident()), range(3))
        both.wait()
        return threading.get_ident(), len(found)

    with Threads(2) as threads:
        trained = [each.result() for each in [threads.submit(train), threads.submit(train)]]
    assert sorted(seen) == sorted(ident for ident, size in trained for _ in range(size))


def test_errors_pass_through(met):
    def work(item):
        met.wait()
        if item == 1:
            raise ArithmeticError("too large")

    for order in ([0, 1], [1, 0]):
        with Threads(2), pytest.raises(ArithmeticError, match="too large"):
            side_by_side(work, order)


def test_helpers_work_in_the_callers_context(met):
    def work(item):
        met.wait()
        return np.geterr()["over"]

    with Threads(2), np.errstate(over="ignore"):
        assert side_by_side(work, [0, 1]) == ["ignore"] * 2


@pytest.mark.parametrize("count", [1, 2])
def test_libraries_keep_to_one_thread_meanwhile(count):
    with threadpool_limits(2, "blas"):
        with Threads(count):
            assert library_threads() == {1}
        assert library_threads() == {2}
