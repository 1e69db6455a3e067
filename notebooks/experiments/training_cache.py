"""Trained models of one split, shared by all methods."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from csf._common.sklearn import clone
from csf._common.typing import Array, BoolArray, Costs, Estimator
from csf.data.costs import WEIGHTINGS
from csf.data.folds import Fold, Task, bound_share, make_folds
from csf.data.responses import natural_threshold, respond
from csf.metrics.trials import Trial
from csf.search.problems.binary import BinaryEvaluator
from csf.search.training import FoldResult, lost_samples, run_fold
from csf.trainers import make_trainers

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from notebooks.experiments.protocols import Protocol, Split


__all__ = ["BASES", "Base", "SplitContext", "Trained", "TrainingCache"]

# What the bounds and strategies read of a trial.
_GUIDES = ("profile", "value", "attained", "hull")
# All other trainings start from these two: equal costs, and nearly all of the cost on what is missed.
_ANCHORS = ((1.0, 1.0), (1.9, 0.1))


@dataclass(frozen=True)
class Base:
    """A learner that methods may use."""

    estimator: Estimator
    # One-vs-rest classifier for several classes, each problem with the costs by itself; None takes the estimator, with
    # weights by class.
    several: Estimator | None = None
    penalties: bool = True  # whether there is a C to choose
    # Otherwise held-out data guide the strategies: the only sensible way for learners that fit their training data
    # perfectly.
    guided_by_protocol: bool = True
    sparse: bool = True  # whether sparse samples need no dense copy


def _linear(estimator: Estimator, **options: bool) -> Base:
    return Base(estimator, several=OneVsRestClassifier(estimator), **options)


# LIBLINEAR adds a constant feature of 1 for the intercept to all linear ones, as the paper does.
BASES = {
    "hinge": _linear(LinearSVC(loss="hinge")),
    "svc": _linear(LinearSVC(dual=False), guided_by_protocol=False),  # pyright: ignore[reportArgumentType]  # "auto" or a bool
    "logistic": _linear(LogisticRegression(solver="liblinear")),
    "boosting": Base(
        HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0),  # pyright: ignore[reportArgumentType]  # "auto" or a bool
        penalties=False,
        guided_by_protocol=False,
        sparse=False,
    ),
}


@dataclass(frozen=True, eq=False)
class Trained:
    """What one training with given costs showed on the held-out data."""

    # Fields of a `Trial` for the learner's own decision and for the best threshold, guided by the held-out data; and
    # those that guide strategies on the training data, where the protocol wants these.
    own: dict[str, Any]
    tuned: dict[str, Any]
    guides: dict[str, Any] | None
    score: Array  # held out, fold after fold
    lost: BoolArray  # taken for the wrong one of several classes at every cut
    seconds: float
    starts: list[Trained]  # trainings whose solutions it started from

    def found(self, threshold: float) -> BoolArray:
        """Held-out samples in which something is found, and the right thing."""
        return (self.score >= threshold) & ~self.lost

    def fields(self, *, tune: bool) -> dict[str, Any]:
        """Fields of a `Trial`."""
        return (self.tuned if tune else self.own) | (self.guides or {})


class TrainingCache:
    """Trainings of one base on one split; each is made once, whatever methods ask for it."""

    # Where trainers can start from other solutions, they take two of the same penalty, which themselves start from
    # those of the penalty before: a result does not depend on which methods were run before.

    def __init__(self, base: Base, split: Split, metric: Metric, protocol: Protocol, n_repeats: int = 1) -> None:
        self.split, self.metric = split if base.sparse else _dense(split), metric
        is_one_vs_rest = base.several is not None and split.y.max() > 1
        self.settings = [{"C": C} for C in protocol.C] if base.penalties else [{}]
        estimator = base.several if is_one_vs_rest else base.estimator
        inside = "estimator__" if is_one_vs_rest else ""
        self.bases = [
            clone(estimator).set_params(**{inside + name: value for name, value in setting.items()})
            for setting in self.settings
        ]
        # On data that a learner fits perfectly, all levels look equally good.
        self.on_train = base.guided_by_protocol and protocol.guided_by == "train"
        task = Task(self.split.X, split.y)
        self.folds = make_folds(task, split.repeated(n_repeats))
        self.pos = bound_share(self.folds, on_train=self.on_train)
        self.is_pos = np.concatenate([fold.y_test for fold in self.folds]) > 0
        self.samples = np.concatenate([fold.test for fold in self.folds])
        self.refit = protocol.refit
        channel = WEIGHTINGS["one-vs-rest" if is_one_vs_rest else "class"](estimator)
        how = {"channel": channel, "shared": {}, "engine": protocol.engine if base.penalties else "auto"}
        self._trainers = [make_trainers(b, self.folds, **how) for b in self.bases]
        # Without a refit, the model that is tested is the one that was judged.
        self._final = [trainers[0] for trainers in self._trainers]
        if self.refit:
            everything = np.arange(split.y.size)
            self._final = [make_trainers(b, [Fold(task, everything, everything)], **how)[0] for b in self.bases]
        self._trained: dict[tuple[int, float, float], Trained] = {}
        self._tested: dict[tuple[int, float, float], tuple[Array, BoolArray, float]] = {}
        self._states: dict[tuple[int, float, float], list[Any]] = {}

    def trained(self, setting: int, costs: Costs) -> Trained:
        """Train with given costs on all folds, or recall it."""
        key = _key(setting, costs)
        if key not in self._trained:
            starts, states = self._starts(setting, costs)
            start = time.perf_counter()
            options = {"tune": True, "on_train": self.on_train}
            tasks = zip(self._trainers[setting], self.folds, states)
            results = [run_fold(trainer, fold, costs, own, **options) for trainer, fold, own in tasks]
            # A fold that fails would leave a gap in the pooled scores: the whole cell fails instead.
            for result in results:
                result.raise_error()
            # What is chosen is judged by held-out samples alone, whatever guides the strategy.
            held_out = [replace(result, train_outcome=None) for result in results]
            own, tuned = (self._judged(held_out, costs, tune=tune) for tune in (False, True))
            guides = None
            if self.on_train:
                fields = self._judged(results, costs, tune=False)
                guides = {name: fields[name] for name in _GUIDES}
            score, lost = (np.concatenate([getattr(r, name) for r in results]) for name in ("score", "lost"))
            seconds = time.perf_counter() - start
            self._trained[key] = Trained(own, tuned, guides, score, lost, seconds, starts)
            # Solutions of the anchors alone are kept: no other training starts from any but these.
            if key[1:] in _ANCHORS:
                self._states[key] = [result.state for result in results]
        return self._trained[key]

    def _judged(self, results: list[FoldResult], costs: Costs, *, tune: bool) -> dict[str, Any]:
        """Fields of the trial that trainings on all folds come to."""
        fields, _ = BinaryEvaluator(self.metric, tune=tune).judge(self.folds, results, Trial(0, None, costs))
        return dict(fields)

    def _starts(self, setting: int, costs: Costs) -> tuple[list[Trained], Sequence[Sequence[Any]]]:
        """Trainings to start from, the nearest first, and their states for each fold."""
        sources, place = [], _key(setting, costs)[1:]
        if self._trainers[setting][0].family is not None:
            if place not in _ANCHORS:
                sources = [(setting, anchor) for anchor in sorted(_ANCHORS, key=lambda a: _distance(a, place))]
            else:
                sources = [(setting, _ANCHORS[0])] if place != _ANCHORS[0] else []
                sources += [(setting - 1, place)] if setting else []
        trained = [self.trained(*source) for source in sources]
        states = [self._states[_key(*source)] for source in sources]
        return trained, list(zip(*states)) or [()] * len(self.folds)

    def tested(self, setting: int, costs: Costs) -> tuple[Array, BoolArray, float]:
        """Scores of the test part, which samples are lost at every cut, and seconds."""
        key = _key(setting, costs)
        if key not in self._tested:
            # All training data are other data than the folds': their solutions are no start for a refit.
            states = () if self.refit else self._starts(setting, costs)[1][0]
            start = time.perf_counter()
            trainer = self._final[setting]
            model = trainer.estimator(trainer.fit(costs, states))
            answer = respond(model, self.split.X_test, 0, tune=True)
            assert answer.score is not None  # tuning asks for one
            lost = lost_samples(self.split.y_test, answer.found)
            self._tested[key] = answer.score, lost, time.perf_counter() - start
        return self._tested[key]

    def models(self, setting: int) -> list[Estimator]:
        """Models with equal costs: one for each fold, and last the one that is tested."""
        self.trained(setting, _ANCHORS[0])
        states = self._states[_key(setting, _ANCHORS[0])]
        tasks = zip(self._trainers[setting], states)
        models = [trainer.estimator(trainer.fit(_ANCHORS[0], [state])) for trainer, state in tasks]
        final = self._final[setting]
        return [*models, final.estimator(final.fit(_ANCHORS[0])) if self.refit else models[0]]

    @property
    def natural_threshold(self) -> float:
        """Score above which the base predicts positive by itself."""
        return natural_threshold(self.bases[0])


def _dense(split: Split) -> Split:
    """The split with samples that are no sparse matrices."""
    parts = {name: getattr(split, name) for name in ("X", "X_test")}
    return replace(split, **{name: part.toarray() for name, part in parts.items() if sparse.issparse(part)})


def _key(setting: int, costs: Costs) -> tuple[int, float, float]:
    c_fn, c_fp = costs
    return setting, round(float(c_fn), 12), round(float(c_fp), 12)


def _distance(first: Costs, second: Costs) -> float:
    """How far apart the ratios of two pairs of costs are."""
    (a, b), (c, d) = first, second
    return abs(np.log(a * d) - np.log(b * c))


class SplitContext:
    """One split under the rules of a protocol, with a cache for each base, made when it is first used."""

    def __init__(self, split: Split, metric: Metric, protocol: Protocol) -> None:
        self.split, self.metric, self.protocol = split, metric, protocol
        self._caches: dict[tuple[str, int], TrainingCache] = {}

    def cache(self, name: str, n_repeats: int = 1) -> TrainingCache:
        """Trainings of a base."""
        key = name, n_repeats if self.protocol.refit else 1
        if key not in self._caches:
            self._caches[key] = TrainingCache(BASES[name], self.split, self.metric, self.protocol, n_repeats)
        return self._caches[key]
