"""Threads that train in parallel and help each other, while the threads of other libraries wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Self, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Whose threads those are that run here.
_HERE = threading.local()


class Threads:
    """Pool of threads for compiled trainings, for the length of a ``with`` statement.

    Linear algebra libraries use one thread meanwhile: for the short products of solvers, their threads would spend more
    time in busy waiting than in work.

    Parameters
    ----------
    count : int
        Number of threads; with 1 all is done by the caller.
    """

    def __init__(self, count: int) -> None:
        self.count, self._unfinished, self._lock = count, 0, threading.Lock()

    def __enter__(self) -> Self:
        self._before, _HERE.threads = getattr(_HERE, "threads", None), self
        self._limits = _libraries().limit(limits=1, user_api="blas")
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count, initializer=setattr, initargs=(_HERE, "threads", self))
        return self

    def __exit__(self, *error: object) -> None:
        _HERE.threads = self._before
        if self.count > 1:
            self._pool.shutdown(cancel_futures=True)
        self._limits.restore_original_limits()

    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        """Submit work to one of the threads."""
        with self._lock:
            self._unfinished += 1
        future = self._pool.submit(work, *given)
        future.add_done_callback(self._finish)
        return future

    def _finish(self, future: Future[Result]) -> None:
        with self._lock:
            self._unfinished -= 1

    def help(self, work: Callable[[], None], most: int) -> list[Future[None]]:
        """Start the caller's work on idle threads too, in the caller's context."""
        # The caller is one of the threads, or waits for none while it works.
        idle = min(self.count - max(self._unfinished, 1), most)
        return [self._pool.submit(copy_context().run, work) for _ in range(idle)]


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Run work that releases the interpreter lock on this thread and idle ones; return the results in order."""
    left = deque(enumerate(items))
    if len(left) == 1:
        return [work(left[0][1])]
    threads, results = getattr(_HERE, "threads", None), dict[int, Result]()

    def some() -> None:
        # To take from one end is safe in threads.
        while left:
            try:
                place, item = left.popleft()
            except IndexError:
                return
            results[place] = work(item)

    helpers = [] if threads is None else threads.help(some, len(left) - 1)
    some()
    for helper in helpers:
        # One that has not begun finds nothing left.
        if not helper.cancel():
            helper.result()
    return [results[place] for place in range(len(results))]


@cache
def _libraries() -> ThreadpoolController:
    """Find all loaded thread pools of libraries, once, because the scan takes ten milliseconds."""
    return ThreadpoolController()
