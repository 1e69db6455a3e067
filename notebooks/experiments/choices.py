"""What defaults are judged by: whole classifiers on many data sets, each against the simplest careful rival."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import ParameterGrid, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.svm import LinearSVC

from csf._common.messages import did_you_mean
from csf._common.sklearn import clone, safe_indexing
from csf._common.typing import BoolArray, Estimator, IntArray, Samples
from csf.data.costs import cost_channel
from csf.data.folds import Fold, Task, make_folds
from csf.data.responses import respond
from csf.metrics import get_constraint
from csf.metrics.profile import ErrorProfile
from csf.search.config import BEYOND, MULTIPLES
from csf.search.estimator import CostSearch
from csf.thresholding import sweep
from csf.trainers import Prepared, make_trainers, seeded
from notebooks.experiments.methods import Method, Result
from notebooks.experiments.protocols import Protocol, Split
from notebooks.experiments.training_cache import Base

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import Cut
    from csf.trainers.base import Trainer
    from notebooks.experiments.datasets import DataSet
    from notebooks.experiments.training_cache import SplitContext


__all__ = [
    "CHOICE_BASES",
    "RIVAL",
    "ExactThreshold",
    "OuterFolds",
    "WholeSearch",
    "best_exact_threshold",
    "choice_methods",
    "family",
]

# What all differences are taken to.
RIVAL = "rival"
# Seven values around the base's own C.
_FACTORS = tuple(4.0**k for k in range(-3, 4))
# All that a race can come to.
_WIDE = tuple(sorted([*MULTIPLES, *BEYOND]))


def _lightgbm() -> Estimator:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise ValueError("the base lightgbm needs the package lightgbm: pip install lightgbm") from error
    return LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1)


def _xgboost() -> Estimator:
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise ValueError("the base xgboost needs the package xgboost: pip install xgboost") from error
    return XGBClassifier(n_estimators=60, n_jobs=1)


def _boosting() -> Estimator:
    return HistGradientBoostingClassifier(max_iter=60, early_stopping=False)  # pyright: ignore[reportArgumentType]  # "auto" or a bool


# As people type them; boosting with 60 rounds, so that a benchmark of many sets ends.
CHOICE_BASES: dict[str, Callable[[], Estimator]] = {
    "linearsvc": LinearSVC,
    "linearsvc-hinge": partial(LinearSVC, loss="hinge"),
    "logistic": LogisticRegression,
    "sgd": SGDClassifier,
    "randomforest": RandomForestClassifier,
    "histgradientboosting": _boosting,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
}
_DENSE_ONLY = ("histgradientboosting",)


# Sets that are cut from one source (one class against others, small parts of it) are no independent evidence, and their
# names begin alike.
def family(name: str) -> str:
    """Family of a data set: its name up to the first digit, ``-``, ``_`` or ``:``."""
    return (re.split(r"[\d:_-]", name, maxsplit=1)[0] or name).lower()


@dataclass(frozen=True)
class OuterFolds(Protocol):
    """Cross-validation to judge by, repeated: all samples are tested on equally often."""

    # Penalties and trials of a protocol are not used: these methods have their own.

    name: str = "outer folds"
    C: tuple[float, ...] = ()
    n_folds: int | None = 5
    n_outer: int = 5

    @property
    def test_train_ratio(self) -> float:
        """Test samples for each training sample."""
        return 1.0 / (self.n_outer - 1)

    def split(self, data: DataSet, number: int, *, seed: int = 0) -> Split:
        """Fold ``number % n_outer`` of repeat ``number // n_outer``, see `Protocol.split`."""
        repeat, at = divmod(number, self.n_outer)
        outer_seed = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        own_seed = int(np.random.SeedSequence([seed, number, 1]).generate_state(1)[0])
        outer = StratifiedKFold(self.n_outer, shuffle=True, random_state=outer_seed)
        train, test = list(outer.split(np.zeros(data.y.shape[0]), data.y))[at]
        scaler = clone(data.transformer()).fit(safe_indexing(data.X, train))
        X, X_test = (scaler.transform(safe_indexing(data.X, part)) for part in (train, test))
        y = data.codes
        return Split(X, y[train], X_test, y[test], _repeated(y[train], 1, own_seed), own_seed, self.n_folds)


def _repeated(y: IntArray, n_repeats: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=n_repeats, random_state=seed)
    return list(splitter.split(np.zeros(y.size), y))


class _Best(NamedTuple):
    """The setting that won, its cut on the held-out scores, and the base trained with it on everything."""

    setting: int
    cut: Cut
    estimator: Estimator


def best_exact_threshold(
    bases: Sequence[Estimator],
    X: Samples,
    y: IntArray,
    splits: list[tuple[IntArray, IntArray]],
    metric: Metric,
    constraint: Any = None,
) -> _Best:
    """What `csf.plugin.PlugInClassifier` does for each of several bases, by the fast trainers of searches."""
    folds, prepared, channel = make_folds(Task(X, y), splits), Prepared(), cost_channel(bases[0])
    is_pos = np.concatenate([fold.y_test for fold in folds]) == 1
    states: dict[tuple[str, int], Any] = {}
    cuts = []
    for base in bases:
        trainers = make_trainers(base, folds, channel, "none", prepared)
        scores = [_held_out(trainer, at, states) for at, trainer in enumerate(trainers)]
        cuts.append(sweep(is_pos, np.concatenate(scores)).best(metric, constraint))
    best = max(range(len(cuts)), key=lambda at: (cuts[at].feasible, cuts[at].value))
    everything = np.arange(y.size)
    (last,) = make_trainers(bases[best], [Fold(folds[0].task, everything, everything)], channel, "none", prepared)
    return _Best(best, cuts[best], last.estimator(last.fit((1.0, 1.0))))


def _held_out(trainer: Trainer, fold: int, states: dict[tuple[str, int], Any]) -> Any:
    """Scores of the held-out part, trained with equal costs from where the setting before ended."""
    key = None if trainer.family is None else (trainer.family, fold)
    training = trainer.fit((1.0, 1.0), [states[key]] if key in states else ())
    if key is not None:
        states[key] = training.state
    return trainer.predict(training, "test", tune=True).score


class _Choice(Method):
    """A classifier that is fitted to all training samples of a split."""

    serves_several = False

    @property
    def learner(self) -> Base:
        """The base of that name in `CHOICE_BASES`."""
        if self.base not in CHOICE_BASES:
            raise ValueError(
                f"unknown base {self.base!r}; known: {', '.join(CHOICE_BASES)}{did_you_mean(self.base, CHOICE_BASES)}"
            )
        estimator = CHOICE_BASES[self.base]()
        return Base(estimator, penalties=hasattr(estimator, "C"), sparse=self.base not in _DENSE_ONLY)

    def _fitted(self, split: Split, metric: Metric) -> tuple[BoolArray, dict[str, Any]]:
        """Decisions on the test part, and other entries of the `Result`."""
        raise NotImplementedError

    def run(self, context: SplitContext) -> Result:
        """Fit the classifier and judge it on the test part."""
        start = time.process_time()
        with warnings.catch_warnings():
            # What they say of few positives or unmet constraints is what the table shows.
            warnings.simplefilter("ignore")
            decided, known = self._fitted(context.split, context.metric)
        seconds = time.process_time() - start
        profile = ErrorProfile.from_masks(context.split.y_test > 0, decided)
        errors = {"fn": profile.fn, "fp": profile.fp, "pos": profile.pos}
        return Result(value=context.metric.of(profile), seconds=seconds, **errors, **known)


@dataclass(frozen=True)
class ExactThreshold(_Choice):
    """Plain training, and the best of all cuts of pooled held-out scores."""

    base: str
    factors: tuple[float, ...] = (1.0,)  # of the base's own C, where it has one
    n_repeats: int = 3  # of five folds
    constraint: str | None = None

    def _fitted(self, split: Split, metric: Metric) -> tuple[BoolArray, dict[str, Any]]:
        base = seeded(self.learner.estimator, np.random.RandomState(split.seed))
        grid = list(ParameterGrid(_around(base, self.factors)))
        splits = _repeated(split.y, self.n_repeats, split.seed)
        bases = [clone(base).set_params(**setting) for setting in grid]
        found = best_exact_threshold(bases, split.X, split.y, splits, metric, get_constraint(self.constraint))
        known = {"chosen_value": found.cut.value, "threshold": found.cut.threshold, "fits": len(grid) * len(splits) + 1}
        answer = respond(found.estimator, split.X_test, 0, tune=True)
        assert answer.score is not None, "scores were asked for"
        return answer.score >= found.cut.threshold, known | {"C": grid[found.setting].get("C")}


@dataclass(frozen=True)
class WholeSearch(_Choice):
    """A `csf.CostSearch` as it is."""

    base: str
    search: CostSearch
    n_repeats: int | None = None  # of five folds; None leaves ``cv`` as it is

    def _fitted(self, split: Split, metric: Metric) -> tuple[BoolArray, dict[str, Any]]:
        search = clone(self.search).set_params(random_state=split.seed, metric=metric)
        if self.n_repeats is not None:
            search.set_params(cv=_repeated(split.y, self.n_repeats, split.seed))
        search.fit(split.X, split.y)
        known: dict[str, Any] = {"chosen_value": search.best_score_, "threshold": float(search.best_threshold_)}
        known |= {"t": search.best_t_, "C": search.best_params_.get("C")}
        known["fits"] = len(search.trials_) * search.n_splits_ + 1
        return search.predict(split.X_test) == 1, known


def _around(base: Estimator, factors: tuple[float, ...]) -> dict[str, list[float]]:
    """Grid of C around the base's own, empty for bases without."""
    own = base.get_params().get("C")
    return {} if own is None else {"C": [own * factor for factor in factors]}


def choice_methods(base: str, constraint: str | None = None) -> dict[str, _Choice]:
    """What is compared, for one base; ``python -m notebooks.experiments choices --help`` says what each of them is."""
    methods: dict[str, _Choice] = {RIVAL: ExactThreshold(base, _FACTORS, constraint=constraint)}
    estimator = methods[RIVAL].learner.estimator
    grid = _around(estimator, _FACTORS)
    if grid:
        methods["own C"] = ExactThreshold(base, constraint=constraint)
        methods["wide C"] = ExactThreshold(base, _WIDE, constraint=constraint)
    plain = CostSearch(estimator, constraint=constraint)
    # Everything that a default may change one day is said; the constraint is everybody's.
    common: dict[str, Any] = {"constraint": constraint, "threshold": "tune", "normalize": "none"}
    paper = CostSearch(estimator, strategy="cone", n_trials=10, param_grid=None, cv=5, **common)
    options: dict[str, Any] = {"strategy": "grid", "param_grid": grid or None, **common}
    # Trees are not refitted from where they were: fewer levels.
    options |= {"n_trials": 11} if grid else {"n_trials": 6}
    careful = CostSearch(estimator, **options)
    methods |= {"plain": WholeSearch(base, plain), "paper": WholeSearch(base, paper)}
    return methods | {"careful": WholeSearch(base, careful, n_repeats=5 if grid else 3)}
