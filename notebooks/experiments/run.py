"""Cells of a table: computed in parallel, kept on disk one by one, computed once."""

from __future__ import annotations

import hashlib
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from joblib import Parallel, delayed
from scipy import sparse
from tqdm.auto import tqdm

import csf
from csf._common.files import read_record, write_record
from csf._common.identity import fingerprint
from csf._common.typing import PathLike
from csf._common.validation import check_n_jobs
from csf.metrics import get_metric
from notebooks.experiments.training_cache import SplitContext

if TYPE_CHECKING:
    from notebooks.experiments.datasets import DataSet
    from notebooks.experiments.protocols import Protocol


__all__ = ["LARGE", "Plan", "environment", "read_cells", "run_cells"]

# Data sets with so many samples need fewer splits.
LARGE = 10_000
FORMAT, VERSION = "csf-cell", 2


@dataclass(frozen=True, eq=False)
class Plan:
    """What an experiment computes.

    Parameters
    ----------
    data : list of DataSet
        Data sets, in the order of the tables.
    methods : dict
        Methods by name, in the order of the tables; those of ``METHODS``, or others like them.
    protocol : Protocol
        The rules.
    n_splits : int
        Splits of each data set.
    n_splits_large : int, default=None
        Splits of those with 10 000 samples and more; ``None`` takes ``n_splits``.
    metric : str, default="f1"
        What is maximised.
    seed : int, default=0
        Seed of the splits.
    """

    data: list[DataSet]
    methods: dict[str, Any]
    protocol: Protocol
    n_splits: int
    n_splits_large: int | None = None
    metric: str = "f1"
    seed: int = 0

    def splits_of(self, data: DataSet) -> int:
        """Number of splits of a data set.

        Parameters
        ----------
        data : DataSet
            One of the plan.

        Returns
        -------
        int
            The number.
        """
        if self.n_splits_large is not None and data.y.shape[0] >= LARGE:
            return self.n_splits_large
        return self.n_splits

    def applies(self, method: str, data: DataSet) -> str | None:
        """Why a method cannot be used on a data set.

        Parameters
        ----------
        method : str
            Name of a method.
        data : DataSet
            One of the plan.

        Returns
        -------
        str or None
            The reason; ``None`` where it can be used.
        """
        if data.is_multiclass and not self.methods[method].serves_several:
            return "two classes only"
        if sparse.issparse(data.X) and not self.methods[method].learner.sparse and data.X.shape[1] > 1000:
            return "too many features for a dense copy"
        return None

    def cells(self) -> list[tuple[DataSet, int, tuple[str, ...]]]:
        """All cells, grouped by what they share.

        Returns
        -------
        list of tuple
            ``(data, split number, methods)``, large data sets first.
        """
        groups = []
        for data in sorted(self.data, key=lambda data: -data.y.shape[0]):
            methods = tuple(name for name in self.methods if self.applies(name, data) is None)
            groups += [(data, number, methods) for number in range(self.splits_of(data))] if methods else []
        return groups

    def fingerprint(self, data: DataSet, method: str) -> str:
        """Short hash of everything that a cell depends on, apart from the number of its split.

        Parameters
        ----------
        data : DataSet
            One of the plan.
        method : str
            Name of a method.

        Returns
        -------
        str
            The hash.
        """
        used = self.methods[method]
        parts = (data.digest, data.transformer(), used, used.learner, self.protocol, self.metric, self.seed)
        return fingerprint(parts)[:16]


def run_cells(
    plan: Plan, folder: PathLike, *, n_jobs: int | None = None, verbose: bool = False
) -> list[dict[str, Any]]:
    """Compute the missing cells of a plan.

    Parameters
    ----------
    plan : Plan
        What to compute.
    folder : path-like
        Where cells are kept; made if missing. Cells of other plans may lie there too, as long as they do not claim
        the same place with other settings.
    n_jobs : int, default=None
        Workers; each takes one split of one data set at a time.
    verbose : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    list of dict
        One row a cell, see `read_cells`.

    Raises
    ------
    ValueError
        If the folder holds cells of other settings.

    Notes
    -----
    A cell is written as soon as it is finished, in one step. After an interruption, the same call goes on with the
    cells that are missing or failed. Methods of one split share their trainings; each is charged for what it would
    have needed by itself.
    """
    check_n_jobs(n_jobs)
    folder, todo = Path(folder), []
    for data, number, methods in plan.cells():
        missing = tuple(name for name in methods if not _is_done(_read(plan, folder, data, name, number)))
        todo += [(data, number, missing)] if missing else []
    total = sum(len(methods) for _, _, methods in plan.cells())
    left = sum(len(methods) for _, _, methods in todo)
    # Before the workers start: none of them then has to make a folder that another one makes, too.
    for data in plan.data:
        (folder / "cells" / _file_name(data.name)).mkdir(parents=True, exist_ok=True)
    with tqdm(total=total, initial=total - left, disable=not verbose, desc="csf", unit="cell") as bar:
        # Cells lie on disk as soon as they are known, so that the order in which splits end does not matter.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        # Each task takes the one data set that it needs along.
        tasks = (delayed(_run_group)(replace(plan, data=[data]), folder, data, *rest) for data, *rest in todo)
        for name, n_done in cast(Iterator[tuple[str, int]], parallel(tasks)):
            bar.set_postfix_str(name, refresh=False)
            bar.update(n_done)
    # From disk, where the cells of earlier runs are as well, in the order of the plan.
    return read_cells(plan, folder)


def read_cells(plan: Plan, folder: PathLike) -> list[dict[str, Any]]:
    """Finished cells of a plan.

    Parameters
    ----------
    plan : Plan
        What is wanted.
    folder : path-like
        Where `run_cells` kept them.

    Returns
    -------
    list of dict
        ``data``, ``method``, ``split`` and the entries of a `Result`; in the order of the plan. Missing cells are
        left out; a failed one has an ``error`` and no ``value``.
    """
    rows = []
    for data in plan.data:
        for method in plan.methods:
            if plan.applies(method, data) is None:
                found = (_read(plan, Path(folder), data, method, n) for n in range(plan.splits_of(data)))
                rows += [row for row in found if row is not None]
    return rows


def environment() -> dict[str, str]:
    """Versions of everything that may change a number."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "liblinear-official", "joblib")
    versions = {"python": platform.python_version(), "platform": platform.platform(), "csf": csf.__version__}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # liblinear is bundled by some distributions
            versions[name] = "unknown"
    return versions


def _run_group(plan: Plan, folder: Path, data: DataSet, number: int, methods: tuple[str, ...]) -> tuple[str, int]:
    """Compute and keep the cells of one split; the name of the data set and how many they were."""
    context: SplitContext | None = None
    for method in methods:
        row = {"data": data.name, "method": method, "split": number}
        start = time.perf_counter()
        try:
            # Inside, so that a split that cannot be made fails in its cells and not in the whole run.
            if context is None:
                context = SplitContext(
                    plan.protocol.split(data, number, seed=plan.seed), get_metric(plan.metric), plan.protocol
                )
            row |= asdict(plan.methods[method].run(context))
        except Exception as error:  # a table with a gap says more than none; the next run tries the cell again
            row |= {"error": f"{type(error).__name__}: {error}", "seconds": time.perf_counter() - start}
        content = {"fingerprint": plan.fingerprint(data, method), "row": row}
        write_record(_path(folder, data, method, number), FORMAT, VERSION, content)
    return data.name, len(methods)


def _is_done(row):
    """Whether a cell was computed and did not fail."""
    return row is not None and "error" not in row


def _read(plan, folder, data, method, number):
    """Row of a finished cell, or ``None``."""
    path = _path(folder, data, method, number)
    if not path.exists():
        return None
    content = read_record(path, FORMAT, VERSION)
    if content["fingerprint"] != plan.fingerprint(data, method):
        raise ValueError(
            f"{path} was made with other settings (protocol, seed, metric, data or method); give another folder, or "
            "remove it to compute it anew"
        )
    return content["row"]


def _path(folder, data, method, number):
    return folder / "cells" / _file_name(data.name) / f"{_file_name(method)}-{number:03d}.json"


def _file_name(name):
    """A name with nothing in it that file systems dislike; equal for equal names only."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "_", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
