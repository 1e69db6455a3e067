"""Several labels per sample: a search for each of them, or one search of a threshold that they share."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.utils import check_random_state

from csf._common.sklearn import clone, is_pairwise, last_step
from csf._common.typing import IntArray, Keywords, Label, Params, PathLike
from csf._common.validation import check_weights
from csf.data.folds import Task, enough_splits, read_groups, resolve_splits
from csf.data.labels import LabelMatrix, Labels, label_strata
from csf.evaluate import MAX_BYTES
from csf.metrics import get_constraint
from csf.metrics.averages import Averaged
from csf.metrics.constraints import all_of
from csf.metrics.registry import constraint_of_truth, get_label_metric
from csf.search.certification import confidence_in_each, n_promises
from csf.search.config import (
    chooser_of,
    cv_of,
    effort_of,
    shared_effort,
    split_seed,
)
from csf.search.plan import Plan
from csf.search.planning import plan_in_memory, run_search, split_for_test, training_sample
from csf.search.problems.base import record_of
from csf.search.problems.binary import BinaryProblem
from csf.search.problems.binary_result import BinaryResult, conclude
from csf.search.problems.label_results import LabelsResult, MeanResult, SampleMeansResult, conclude_sample_means
from csf.search.problems.results import SearchRecord
from csf.search.supports import LABELS, SAMPLE_MEANS, SHARED_THRESHOLD
from csf.strategies import Ladder
from csf.thresholding.label_rule import MultilabelRule
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf._common.typing import Array, Estimator, Samples
    from csf.data.folds import LabelFold
    from csf.evaluate.stores import Store
    from csf.metrics import Constraint
    from csf.search.config import Model, SearchConfig
    from csf.search.loop import Deadline


def file_of_label(path: PathLike, label: int) -> str:
    """Name the checkpoint of one label: ``trials.label0.json`` for ``trials.json``."""
    stem, suffix = os.path.splitext(os.fsdecode(path))
    return f"{stem}.label{label}{suffix}"


# What a sample has of a label: not the label, or the label.
ANSWERS_OF_LABEL = (0, 1)
# Seconds that a search is given where no time is left: it then trains at equal costs alone.
_NO_TIME = 1e-3


class LabelSearch:
    """Search of a `csf.CostSearch` for several labels.

    The mean over labels of a metric is largest where each label's metric is: so each label has its own search, with its
    own levels and threshold. A metric of all labels together is one of two classes, whose samples are the pairs of a
    sample and a label; it has one classifier per label, all trained with the same costs. Resampling draws rows.
    """

    def __init__(
        self, search: Estimator, config: SearchConfig, X: Samples, y: ArrayLike, weight: ArrayLike | None, given: Params
    ) -> None:
        self.search, self.aim = search, get_label_metric(config.metric)
        _check(config, self.aim)
        self.labels = LabelMatrix.read(y, weight)
        self.demands = _demands_of(config, self.labels.names.tolist(), self.aim)
        weight = check_weights(weight, len(self.labels.codes))
        fit_groups: Any = given.get("groups")
        groups = read_groups(fit_groups, len(self.labels.codes))
        task = Task(X, self.labels.codes, weight, given, groups=groups, pairwise=is_pairwise(search))
        task, self.held_back = self._split(config, task)
        _check_folds(config.cv, self.labels)
        base, grid = _of_each_label(config)
        config = replace(config, base=base, param_grid=grid, metric=self.aim.metric, confidence=None)
        codes = self.labels.ordered
        splits, seed, fit_params = common_splits(config, task.X, label_strata(codes), task.fit_params)
        if config.may_hold_out_less:
            groups = read_groups(task.fit_params.get("groups"), task.n_samples)
            splits = enough_splits(splits, codes, task.weight, groups)
        _check_splits(splits, self.labels)
        self.task = replace(task, codes=codes, fit_params=fit_params, groups=None)
        self.config = replace(config, cv=splits, random_state=seed)
        # Steps of a pipeline before its last one are fitted to all labels, where they can be.
        self.prepared = Prepared(labels=codes)

    def _split(self, config: SearchConfig, task: Task) -> tuple[Task, Task | None]:
        """Hold back samples for tests, where a confidence is asked for."""
        task, held_back = split_for_test(config, task, by_score=True)
        self.labels = replace(self.labels, codes=task.codes)
        return task, held_back

    @property
    def _confidence(self) -> float:
        """Confidence in each promise about a label with which all together have that of the user."""
        n_tests = [n_promises(demand, self.config.review, ANSWERS_OF_LABEL) for demand in self.demands]
        return confidence_in_each(self.search.confidence, sum(n_tests))

    def fit(self, deadline: Deadline | None) -> tuple[MeanResult | BinaryResult, MultilabelRule | None, float, Params]:
        """Search; return outcome, rule, seconds of the last trainings, and the attributes of the labels."""
        labels = self.labels
        result, rule, seconds = self._one_by_one() if self.aim.average == "macro" else self._together(deadline)
        about = {"classes_": np.arange(labels.n_labels), "label_names_": labels.names}
        about |= {"pos_label_": None, "null_class_": None, "class_count_": labels.codes.sum(axis=0, dtype=np.int64)}
        rule = None if rule is None else replace(rule, names=tuple(labels.names.tolist()))
        return result, rule, seconds, about

    def _one_by_one(self) -> tuple[MeanResult, MultilabelRule | None, float]:
        search, config, labels = self.search, self.config, self.labels
        names = ("base", "param_grid", "metric", "cv", "random_state", "confidence")
        template = clone(search).set_params(**{name: getattr(config, name) for name in names})
        end = None if config.time_limit is None else time.monotonic() + config.time_limit
        task, searches, share = self.task, [], MAX_BYTES // labels.n_labels
        for number, label in enumerate(labels.order.tolist()):
            if end is not None:
                template.set_params(time_limit=max((end - time.monotonic()) / (labels.n_labels - number), _NO_TIME))
            template.set_params(constraint=self.demands[label])
            if config.checkpoint is not None:
                template.set_params(checkpoint=file_of_label(config.checkpoint, label))
            one = task.codes[:, number].astype(np.int64)
            searches.append(clone(template)._fit(task.X, one, task.weight, dict(task.fit_params), self.prepared, share))
            self._test(searches[-1], label)
        result = MeanResult(labels.given(searches))
        seconds = sum(fitted.refit_time_ for fitted in searches if search.refit)
        return result, result.rule, seconds

    def _test(self, search: Estimator, label: int) -> None:
        """Test the demand on one label, and the limits of its reviews."""
        if self.search.confidence is None:
            return
        held_back = self.held_back
        if held_back is not None:
            codes = held_back.codes[:, label].astype(np.int64)
            held_back = replace(held_back, codes=codes, labels=Labels(np.arange(2), 0))
        search._test(held_back, self._confidence)

    def _together(self, deadline: Deadline | None) -> tuple[BinaryResult, MultilabelRule | None, float]:
        search, labels, config = self.search, self.labels, self.config
        task, problem = self.task, AllLabels(self.task.user_labels)
        changes: Keywords = {"constraint": self.demands[0]}
        if self.aim.empty is not None:
            # A mean over rows has no costs that aim at a level of it: those of all trainings are equal.
            changes["strategy"] = Ladder(1)
            problem = SampleMeans(task.user_labels, labels.n_labels, self.aim)
        config = replace(config, **changes)
        plan = plan_in_memory(search, config, problem, task, self.prepared)
        result, rule, seconds, _ = run_search(config, problem, plan, search=search, deadline=deadline)
        result = replace(result, order=labels.order)
        if rule is not None:
            rule = replace(rule, rules=tuple(labels.given(list(rule.rules))))
            if search.confidence is not None:
                result = result.tested(rule, self.held_back, search.confidence)
                rule = result.in_rule(rule)
            if self.held_back is not None:
                result = result.with_calibration(rule, self.held_back)
            else:
                codes = np.column_stack(labels.given(list(task.codes.T)))
                result = result.with_training(rule, training_sample(replace(task, codes=codes)))
        return result, rule, seconds


@dataclass(frozen=True, eq=False)
class AllLabels(BinaryProblem):
    """Labels that share costs and a threshold: each pair of a sample and a label is an entry."""

    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> BinaryResult:
        """Choose the winner among the trials of some models, and its threshold."""
        return conclude(searched, chooser_of(searched.config, models), made=LabelsResult)

    def held_out_scores(self, model: list[Estimator], fold: LabelFold) -> Array:
        """Compute the probabilities of all labels in what a fold holds out, a column for each."""
        columns = zip(model, fold.columns)
        return np.column_stack([super(AllLabels, self).held_out_scores(one, column) for one, column in columns])

    def rule_of(self, result: BinaryResult, estimator: list[Estimator], aim: Averaged | None = None) -> MultilabelRule:
        """Build the rule of the fitted estimators of all labels; ``aim`` is a mean over samples."""
        options = {"known": np.arange(2), "names": np.arange(2), "null": 0, "costs": result.winner.costs}
        return MultilabelRule.of(estimator, threshold=result.threshold, aim=aim, tuned=result.config.tunes, **options)


@dataclass(frozen=True, eq=False)
class SampleMeans(AllLabels):
    """Labels that share costs and a threshold, evaluated by the mean over samples."""

    n_labels: int
    aim: Averaged

    def rule_of(self, result: BinaryResult, estimator: list[Estimator], aim: Averaged | None = None) -> MultilabelRule:
        """Build the rule of the fitted estimators of all labels."""
        return super().rule_of(result, estimator, self.aim)

    def _races(self, config: SearchConfig) -> bool:
        """Return False: held-out values are those of pairs."""
        return False

    def conclude(self, config: SearchConfig, plan: Plan, store: Store | None, stopped: str | None) -> SampleMeansResult:
        """Build the result of a finished search, by the mean over samples."""
        searched = record_of(plan, config, store, stopped or "all settings are done")
        margin = chooser_of(config, plan.models).margin
        return conclude_sample_means(searched, n_labels=self.n_labels, aim=self.aim, margin=margin)


def _check(config: SearchConfig, aim: Averaged) -> None:
    """Raise an error for options that have no meaning for several labels."""
    (LABELS if aim.average == "macro" else SHARED_THRESHOLD).check(config)
    if aim.average == "weighted":
        name = f"{aim.metric.name}_macro"
        raise ValueError(
            f"metric={aim.name!r} of several labels is largest where each label's own is, as {name!r} is: search for "
            f"{name!r}, and judge predictions with csf.metric_interval(y, pred, {aim.name!r})"
        )
    if aim.empty is not None:
        SAMPLE_MEANS.check(config, f"metric={aim.name!r}")


def _demands_of(config: SearchConfig, names: Sequence[Label], aim: Averaged) -> list[Constraint | None]:
    """Return the constraint on each label; a part without a label is one on all of them."""
    constraint = constraint_of_truth(aim.metric, get_constraint(config.constraint))
    if constraint is None:
        return [None] * len(names)
    if aim.average != "macro" and any(part.of is not None for part in constraint.parts):
        raise ValueError(
            f"constraint {constraint}: with metric={aim.name!r} all labels share a threshold, and constraints are on "
            "all pairs of a sample and a label together. Leave the brackets out, or search for a mean over labels, "
            "such as 'f1_macro'"
        )
    constraint.require_all_rows()
    places = [(part.place_in(names), replace(part, of=None)) for part in constraint.parts]
    demands: list[Constraint | None] = []
    for label in range(len(names)):
        parts = [part for place, part in places if place in (None, label)]
        demands.append(all_of(parts) if parts else None)
    return demands


def _of_each_label(config: SearchConfig) -> tuple[Estimator, object]:
    """Return the base of each label and its grid, or those of several models by their names."""
    bases, grids = zip(*(_of_one_label(model.base, model.param_grid) for model in config.models))
    names = [model.name for model in config.models]
    return (bases[0], grids[0]) if None in names else (dict(zip(names, bases)), dict(zip(names, grids)))


def _of_one_label(base: Estimator, grid: object) -> tuple[Estimator, object]:
    """Return the base of each label and its grid, where one base for all labels trains a classifier per label."""
    prefix, last = last_step(base)
    if isinstance(last, ClassifierChain):
        raise ValueError(
            f"{type(last).__name__} trains on all labels at once, but each label needs its own costs. Give the "
            "classifier inside it, which csf trains for each label, or tune a threshold for each column of held-out "
            "probabilities with csf.thresholding.sweep"
        )
    if type(last) is not MultiOutputClassifier:
        return base, grid
    estimator = (
        clone(last.estimator) if not prefix else clone(base).set_params(**{prefix.removesuffix("__"): last.estimator})
    )
    old, grids = f"{prefix}estimator__", [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(grids, Sequence) or isinstance(grids, str):
        return estimator, grid
    return estimator, [{_renamed(name, old, prefix): values for name, values in grid.items()} for grid in grids]


def _renamed(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old) if name.startswith(old) else name


def _check_folds(cv: object, labels: LabelMatrix) -> None:
    """Raise a ValueError that names the label with too few samples for a number of folds."""
    needed = 2 if cv is None or isinstance(cv, float) else cv
    if not isinstance(needed, int | np.integer) or isinstance(needed, bool):
        return
    counts = labels.codes.sum(axis=0, dtype=np.int64)
    fewest = np.minimum(counts, labels.codes.shape[0] - counts)
    label = int(fewest.argmin())
    if fewest[label] < needed:
        raise ValueError(
            f"cv={cv!r} needs at least {needed} samples with and without each label; column "
            f"{labels.names.tolist()[label]!r} of y is {int(counts[label] == fewest[label])} for {fewest[label]}. Use "
            "fewer folds, or leave that column out"
        )


def _check_splits(splits: list[tuple[IntArray, IntArray]], labels: LabelMatrix) -> None:
    """Raise a ValueError that names the label which a training part lacks."""
    for number, (train, _) in enumerate(splits):
        learnt = labels.codes[train]
        alike = np.flatnonzero(learnt.min(axis=0) == learnt.max(axis=0))
        if alike.size:
            label = int(alike[0])
            raise ValueError(
                f"split {number} of cv trains on samples all of which have {int(learnt[0, label])} in column "
                f"{labels.names.tolist()[label]!r} of y; use fewer folds, or leave that column out"
            )


def common_splits(
    search: SearchConfig, X: Samples, y: Array, fit_params: Mapping[str, object]
) -> tuple[list[tuple[IntArray, IntArray]], int | None, Params]:
    """Draw splits for several searches on the same samples, stratified by ``y``; return seed and fit arguments too."""
    state = None if search.random_state is None else check_random_state(search.random_state)
    efforts = [effort_of(model.base, search.engine, model.param_grid, [{}]) for model in search.models]
    cv = cv_of(search.cv, y, shared_effort(efforts), random_state=state)
    groups = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
    splits = resolve_splits(cv, X, y, random_state=split_seed(state), split_params=groups)
    seed = None if state is None else int(state.randint(np.iinfo(np.int32).max))
    return splits, seed, {name: value for name, value in fit_params.items() if name != "groups"}
