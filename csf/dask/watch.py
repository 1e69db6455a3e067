"""Passes and trainings on a cluster that loses workers: begun again with others, or ended where there are none."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

__all__ = ["with_all_workers", "with_any_worker"]

# So many times a pass or a training is begun before the search gives up.
_ATTEMPTS = 5
# Seconds between looks at the cluster; for workers to let go of a training that was given up, for them to end, and for
# the first one to be there again where all were lost.
_LOOK, _PATIENCE, _RESTART, _RETURN = 1.0, 5.0, 30.0, 120.0
_GO_ON = "with checkpoint= the search goes on where it was when it is fitted again"
_WAY_OUT = f"give the workers more memory or smaller partitions (rechunk, repartition), and see their logs; {_GO_ON}"


def with_any_worker(ask: Callable[[], Any], *, first: bool) -> Any:
    """What a pass gives, whatever computes it; a RuntimeError where a cluster loses all of its workers or its data.

    For the first workers of all, before the ``first`` pass, there is as much time as Dask gives them.
    """
    from dask.base import get_scheduler

    # Other schedulers of Dask are functions, and have no workers to lose.
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "nthreads") or (first and not _workers(client)):
        return ask()
    from distributed import CancelledError, KilledWorker

    lost: Exception | None = None
    for _ in range(_ATTEMPTS):
        if client.status != "running":
            _wait_for_a_worker(client)
        with _Watch(client, lambda began, now: not now, _RETURN) as watch:
            try:
                return ask()
            except KilledWorker as error:
                raise RuntimeError(f"workers ended while they read a partition; {_WAY_OUT}. {error}") from error
            except CancelledError as error:
                if watch.hopeless():
                    raise _all_lost(client) from error
                lost = _forgotten(error)
        # Who restarts a cluster wants it empty for a moment.
        time.sleep(_LOOK)
    raise RuntimeError(f"a pass over the data was cancelled {_ATTEMPTS} times; {_WAY_OUT}") from lost


def with_all_workers(client: Any, train: Callable[[], Any]) -> Any | Exception:
    """What a training gives, or its error; a RuntimeError where workers were lost in each of a few trainings."""
    lost: Exception | None = None
    for _ in range(_ATTEMPTS):
        with _Watch(client, lambda began, now: bool(began - now)) as watch:
            try:
                return train()
            except Exception as error:
                # Its libraries say in many ways that a worker is gone, and some of them before the scheduler knows.
                if not watch.hopeless(_LOOK):
                    return error
                lost = _forgotten(error)
        watch.free_workers()
        _wait_for_a_worker(client)
    raise RuntimeError(
        f"workers were lost in each of {_ATTEMPTS} trainings, which need all of them until their end; {_WAY_OUT}"
    ) from lost


def _forgotten(error: Exception) -> Exception:
    """An error whose frames hold nothing: cancelled data would never come, were they asked for once more."""
    traceback.clear_frames(error.__traceback__)
    return error.with_traceback(None)


class _Watch:
    """Looks at the workers while something runs, and cancels what it asked for where it would wait for ever.

    That is where those of its beginning and those of now say that some are ``missing``, for more than some seconds.
    """

    def __init__(self, client: Any, missing: Callable[[set[str], set[str]], bool], patience: float = 0.0) -> None:
        self._client, self._missing, self._patience = client, missing, patience
        self._workers, self._others, self._well = _workers(client), set(client.futures), time.monotonic()
        self._asked: set[Any] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        # No longer: a question to a scheduler that is gone takes minutes.
        self._thread.join(_PATIENCE)

    def _look(self) -> None:
        from distributed import Future

        while not self._over.wait(_LOOK):
            # Without a scheduler all is cancelled already.
            with suppress(OSError):
                # Again at each look, as what runs may have been between two requests.
                if self.hopeless() and not self._over.is_set():
                    self._client.cancel([Future(key, self._client) for key in self._requests()])

    def hopeless(self, seconds: float = 0.0) -> bool:
        """Whether what runs cannot end well, or cannot within some seconds."""
        end = time.monotonic() + seconds
        while not (lacks := self._lacks()) and time.monotonic() < end:
            time.sleep(seconds / 10)
        self._requests()
        return lacks

    def _lacks(self) -> bool:
        if not self._missing(self._workers, _workers(self._client)):
            self._well = time.monotonic()
            return False
        return time.monotonic() - self._well >= self._patience

    def _requests(self) -> set[Any]:
        """Keys of what was asked for since the beginning, as far as the client still waits for it."""
        own = set(self._client.futures) - self._others
        self._asked |= own
        return own

    def free_workers(self) -> None:
        """Restart workers that cannot let go: LightGBM waits for the lost one for minutes, or without end."""
        end = time.monotonic() + _PATIENCE
        while busy := [worker for worker, keys in _answers(self._client, _active_keys) if keys & self._asked]:
            if time.monotonic() > end:
                self._restart(busy)
                return
            time.sleep(_LOOK)

    def _restart(self, busy: list[str]) -> None:
        orphans = [worker for worker, nanny in _answers(self._client, _nanny, workers=busy) if nanny is None]
        if orphans:
            raise RuntimeError(
                f"a worker was lost during a training, and {', '.join(orphans)} cannot be freed of it, as no nanny can "
                "restart them; restart them yourself, and start workers with a nanny"
            )
        # They end themselves, and their nannies start others: asked to restart them, a nanny may wait without end. So
        # may the question to one that ends; nobody waits for its answer.
        last = {"workers": busy, "on_error": "ignore"}
        threading.Thread(target=self._client.run, args=(os._exit, 1), kwargs=last, daemon=True).start()
        end = time.monotonic() + _RESTART
        while _workers(self._client) & set(busy) and time.monotonic() < end:
            time.sleep(_LOOK / 10)


def _workers(client: Any) -> set[str]:
    """Addresses of the cluster's workers, none without its scheduler."""
    if client.status == "running":
        with suppress(OSError):
            return set(client.nthreads())
    return set()


def _wait_for_a_worker(client: Any) -> None:
    """Wait until one is there; a RuntimeError where none comes."""
    # Not `Client.wait_for_workers`: it has no end where nobody looks after the workers any more, and while it waits, a
    # LocalCluster misses which ones come and go.
    end = time.monotonic() + _RETURN
    while not _workers(client):
        # A client that did not find its scheduler again is closed for good.
        if time.monotonic() > end or client.status == "closed":
            raise _all_lost(client)
        time.sleep(_LOOK)


def _all_lost(client: Any) -> RuntimeError:
    if client.status != "running":
        return RuntimeError(
            f"the scheduler was lost; connect a client to another, and make the collections again; {_GO_ON}"
        )
    return RuntimeError(
        f"all workers were lost, and none was back after {_RETURN:g} s; start workers; {_GO_ON}. A LocalCluster gives "
        "up workers that take longer to start than 'distributed.deploy.lost-worker-timeout' of Dask's configuration: "
        "raise it where that is so"
    )


def _answers(client: Any, question: Callable[..., Any], **options: Any) -> Any:
    """Workers and what they answer, without those that are lost meanwhile."""
    return client.run(question, on_error="ignore", **options).items() if client.status == "running" else ()


def _nanny(dask_worker: Any) -> str | None:
    """Address of what starts a worker again."""
    return dask_worker.nanny


def _active_keys(dask_worker: Any) -> set[Any]:
    """What a worker is at."""
    return set(dask_worker.active_keys)
