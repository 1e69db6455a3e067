"""What a command works on: data, base, metric and options, checked before anything is trained."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, IntArray, Samples
from csf.cli.data import Dataset, ReadOptions, densified, read_dataset
from csf.cli.errors import CliError
from csf.cli.models import make_base, parse_grid, takes_sparse
from csf.cli.rivals import CLASS_RIVALS, PLAIN, POOLED, RIVALS, Setup, value_of
from csf.data.folds import resolve_splits
from csf.metrics import ConfusionMetric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.search import CostSearch
from csf.search.config import SearchConfig
from csf.search.defaults import AUTO, Pace, pace_of, steps_of, strategy_of
from csf.search.problem import ClassProblem, ThresholdProblem, serves_classes
from csf.study.classes import ClassStudy
from csf.trainers import seeded

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from csf.metrics.constraints import Constraint

__all__ = ["Part", "Problem", "check_output", "load_problem", "make_search"]

# Classes that are named in a line.
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a data set."""

    X: Samples
    y: Array
    codes: IntArray
    weight: Array | None


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, base and metric of one command."""

    data: Dataset
    base: Pipeline
    grid: dict[str, list[Any]]
    # A ConfusionMetric of several classes, else a Metric.
    metric: Any
    constraint: Constraint | None
    options: Namespace
    # What the search makes of the classes, and what it is asked.
    kind: ClassProblem | ThresholdProblem
    config: SearchConfig

    @property
    def several(self) -> bool:
        """Whether there are several classes that are all alike."""
        return self.data.pos_label is None

    @property
    def rivals(self) -> dict[str, Callable[..., Any]]:
        """What fits simpler methods, by their names."""
        return CLASS_RIVALS if self.several else RIVALS

    @property
    def reference(self) -> str:
        """The rival that the search is compared with."""
        return PLAIN if self.several else POOLED

    def part(self, rows: IntArray) -> Part:
        """Rows of the data."""
        data = self.data
        y = data.y[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        return Part(safe_indexing(data.X, rows), y, data.labels.encode(y), weight)

    def value_and_rate(self, part: Part, decided: IntArray) -> tuple[float, float | None]:
        """Metric and constrained rate (None without a constraint) of decisions."""
        value = value_of(self.metric, part.codes, decided, self.data.labels.classes.size, part.weight)
        if self.constraint is None:
            return value, None
        profile = ErrorProfile.from_masks(part.codes == 1, decided == 1, sample_weight=part.weight)
        return value, self.constraint.quantity.of(profile)

    def setup(self, train: Part) -> Setup:
        """What all methods share that are trained on a part; the inner splits are made once."""
        seed = self.options.seed
        cv = self.kind.cv(self.config, train.y, self._pace(train.y), random_state=check_random_state(seed))
        splits = resolve_splits(cv, train.X, train.y, random_state=seed)
        confidence = vars(self.options).get("confidence")
        return Setup(
            self.base,
            self.grid,
            self.metric,
            self.constraint,
            splits,
            self.options.jobs,
            seed,
            confidence,
            self.options.cv,
            self.data.labels.classes.size,
        )

    def plan(self) -> str:
        """What is searched, for the lines above the tables."""
        options = self.options
        demand = "" if self.constraint is None else f" with {self.constraint}"
        found, trials = self._settings(self.data.y), options.trials
        if "strategy" in options:  # of several strategies each has its own number
            trials = self._most_trials(options.strategy)
        text = f"{self.metric.name}{demand} of {options.base}, up to {trials} trials"
        if len(found) > 1:
            steps = steps_of(self.config.param_grid, found, self._pace(self.data.y))
            beyond = sum(step.beyond for step in steps)
            text += f" of each of {len(found) - beyond} settings"
            text += f" (and of {beyond} beyond them, as long as an end is best)" if beyond else ""
        return text

    def _most_trials(self, strategy):
        if self.several:
            return self.study(strategy).most_trials
        return strategy_of(strategy, self._pace(self.data.y)).most_trials(self.options.trials)

    def _pace(self, y) -> Pace:
        return pace_of(self.base, self.config.engine, self.config.param_grid, self._settings(y))

    def _settings(self, y):
        return self.kind.settings(self.config, self.base, y.shape[0])

    def study(self, strategy: str) -> ClassStudy:
        """Trials of several classes; a ValueError where a strategy has none."""
        assert isinstance(self.metric, ConfusionMetric), "of several classes"
        return ClassStudy(self.metric, strategy, shares=self._shares(), n_trials=self.options.trials)

    def _shares(self):
        totals = np.bincount(self.data.labels.encode(self.data.y), self.data.sample_weight)
        return totals / totals.sum()

    def describe(self) -> str:
        """Lines that tell what the data are."""
        data = self.data
        features = data.features
        kinds = f" ({len(features.categorical)} categorical)" if features.categorical else ""
        if not self.several:
            share = f"{100 * data.pos:.3g} % positive ({data.pos_label})"
        else:
            named = [f"{label} {share:.3g} %" for label, share in zip(data.labels.classes, 100 * self._shares())]
            more = ", ..." if len(named) > _SHOWN else ""
            share = f"{len(named)} classes ({', '.join(named[:_SHOWN])}{more})"
        weighted = ", weighted" if data.sample_weight is not None else ""
        return f"{data.name}: {data.y.shape[0]} rows, {features.n_features} features{kinds}, {share}{weighted}"


def make_search(setup: Setup, options: Namespace, strategy: str, **extra: Any) -> CostSearch:
    """Cost search of a command, not fitted; ``extra`` wins over what setup and options say."""
    arguments = {
        "metric": setup.metric,
        "strategy": strategy,
        "n_trials": options.trials,
        "param_grid": setup.grid or AUTO,
        "constraint": setup.constraint,
        "threshold": None if options.threshold == "none" else options.threshold,
        "cv": setup.splits,
        "n_jobs": setup.n_jobs,
        "normalize": options.normalize,
        "bound": options.bound,
        "tol": options.tol,
        "time_limit": options.time_limit,
        "random_state": setup.seed,
    }
    return CostSearch(setup.base, **arguments | extra)


def load_problem(options: Namespace) -> Problem:
    """Read the data and check what the command line says about them."""
    metric, constraint = get_metric(options.metric), get_constraint(options.constraint)
    several = serves_classes(options.metric)
    columns = ReadOptions(options.target, options.positive, options.sample_weight, tuple(options.drop), several)
    data = read_dataset(options.data, columns)
    if sparse.issparse(data.X) and not takes_sparse(options.base):
        data = replace(data, X=densified(data.X, data.name), features=replace(data.features, kind="dense"))
    base = seeded(make_base(options.base, data.features), check_random_state(options.seed))
    grid = parse_grid(options.param, base)
    asked: dict[str, Any] = {name: vars(options).get(name) for name in ("constraint", "confidence", "tol", "cv")}
    config = SearchConfig(base=base, metric=options.metric, param_grid=grid or AUTO, **asked)
    if data.pos_label is not None:
        return Problem(data, base, grid, metric, constraint, options, ThresholdProblem(data.labels), config)
    # What several classes cannot have is said before anything else.
    kind = ClassProblem.of(config, data.labels)
    problem = Problem(data, base, grid, kind.metric, None, options, kind, config)
    if "strategy" in options:
        problem.study(options.strategy)
    return problem


def check_output(path: str | None) -> None:
    """Refuse files that cannot be written, before hours of training."""
    if path is None:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise CliError(f"cannot write {path}: it is a folder")
    if not os.path.isdir(folder) and not os.path.exists(path):
        raise CliError(f"cannot write {path}: there is no folder {os.path.dirname(path) or folder}")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise CliError(f"cannot write {path}: permission denied")
    if (os.path.isfile(path) or not os.path.exists(path)) and not os.access(folder, os.W_OK):
        raise CliError(f"cannot write {path}: files are written beside it first, and its folder {folder} allows none")
