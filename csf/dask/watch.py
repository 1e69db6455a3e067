"""Trainings that need all of their workers until the end, begun again with those that are there where one was lost."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

__all__ = ["with_all_workers"]

# So many trainings are begun before the search gives up.
_ATTEMPTS = 5
# Seconds between looks at the cluster; for workers to let go of a training that was given up, for them to end, and for
# the first one to be there again where all were lost.
_LOOK, _PATIENCE, _RESTART, _RETURN = 1.0, 5.0, 30.0, 120.0


def with_all_workers(client: Any, train: Callable[[], Any]) -> Any | Exception:
    """What a training gives, or its error; a RuntimeError where workers were lost in each of a few trainings."""
    lost: Exception | None = None
    for _ in range(_ATTEMPTS):
        with _Watch(client) as watch:
            try:
                return train()
            except Exception as error:
                # Its libraries say in many ways that a worker is gone, and some of them before the scheduler knows.
                if not watch.lost(_LOOK):
                    return error
                # Its frames hold what was asked for: asked for once more, cancelled data would never come.
                traceback.clear_frames(error.__traceback__)
                lost = error.with_traceback(None)
        watch.free_workers()
        _wait_for_a_worker(client)
    raise RuntimeError(
        f"workers were lost in each of {_ATTEMPTS} trainings, which need all of them until their end; give the workers "
        "more memory, or take a smaller share of the rows, and see their logs"
    ) from lost


class _Watch:
    """Looks for lost workers while a training runs, and cancels what it asked for: the others wait for ever."""

    def __init__(self, client: Any) -> None:
        self._client, self._workers, self._others = client, _workers(client), set(client.futures)
        self._asked: set[Any] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        from distributed import Future

        while not self._over.wait(_LOOK):
            # Without a scheduler the training itself fails.
            with suppress(OSError):
                # Again at each look, as the training may have been between two requests.
                if self.lost():
                    self._client.cancel([Future(key, self._client) for key in self._requests()])

    def lost(self, seconds: float = 0.0) -> bool:
        """Whether a worker is gone, or is within some seconds."""
        end = time.monotonic() + seconds
        while not (gone := self._workers - _workers(self._client)) and time.monotonic() < end:
            time.sleep(seconds / 10)
        self._requests()
        return bool(gone)

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
    """Addresses of the cluster's workers."""
    return set(client.nthreads())


def _wait_for_a_worker(client: Any) -> None:
    """Wait until one is there; a RuntimeError where none comes."""
    # Not `Client.wait_for_workers`: it has no end where nobody looks after the workers any more, and while it waits, a
    # LocalCluster misses which ones come and go.
    end = time.monotonic() + _RETURN
    while not _workers(client):
        if time.monotonic() > end:
            raise RuntimeError(
                f"all workers were lost during a training, and none was back after {_RETURN:g} s; start workers and "
                "fit again (with checkpoint= the search goes on where it was). A LocalCluster gives up workers that "
                "take longer to start than 'distributed.deploy.lost-worker-timeout' of Dask's configuration: raise it "
                "where that is so"
            )
        time.sleep(_LOOK)


def _answers(client: Any, question: Callable[..., Any], **options: Any) -> Any:
    """Workers and what they answer, without those that are lost meanwhile."""
    return client.run(question, on_error="ignore", **options).items()


def _nanny(dask_worker: Any) -> str | None:
    """Address of what starts a worker again."""
    return dask_worker.nanny


def _active_keys(dask_worker: Any) -> set[Any]:
    """What a worker is at."""
    return set(dask_worker.active_keys)
