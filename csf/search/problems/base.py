"""Base class of the kinds of problem that a search solves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, IntArray, Params
from csf._common.validation import small_indices
from csf.data.folds import Fold, FoldShares
from csf.data.labels import learnt_classes
from csf.evaluate import MAX_BYTES
from csf.metrics import get_constraint
from csf.metrics.constraints import check_no_review
from csf.search.config import FAST, MODEL, Model, cv_of
from csf.search.problems.results import SearchRecord, reason_of
from csf.search.supports import TWO_CLASSES, Supports
from csf.search.training import FoldResult, SearchedProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Samples
    from csf.data.folds import ClassShares, Task
    from csf.data.labels import Labels
    from csf.evaluate.stores import Store
    from csf.metrics import Constraint
    from csf.search.config import SearchConfig, SearchEffort
    from csf.search.plan import Plan
    from csf.search.problems.results import SearchResult
    from csf.search.selection import SettingRace
    from csf.search.study import History
    from csf.search.training import Evaluator
    from csf.thresholding.base import DecisionRule


# Studies of all settings of a search.
Studies: TypeAlias = "list[Any]"


@dataclass(frozen=True, eq=False)
class Problem(SearchedProblem):
    """A kind of problem: how its target is read, how trials are evaluated, and what becomes of the winner."""

    labels: Labels

    # What a search of this kind refuses.
    supports: ClassVar[Supports] = TWO_CLASSES
    # Whether trainings may have other costs than equal ones.
    searches_costs: ClassVar[bool] = True

    @property
    def decides_by_score(self) -> bool:
        """True where one threshold on one score decides."""
        return False

    @classmethod
    @abstractmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Check whether a search with these options, for this target, is of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Params) -> tuple[Problem, IntArray]:
        """Read samples, target and costs of rows; raise a ValueError for options that this kind does not support."""

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint as this kind of problem does."""
        return get_constraint(constraint)

    @property
    def content(self) -> tuple[object, ...]:
        """What identifies the problem in a checkpoint, besides samples, codes and weights."""
        return ()

    @abstractmethod
    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights."""

    def of_part(self, task: Task) -> tuple[Self, Task]:
        """Return the problem of a task that may be a part of all samples, and what is left of the task."""
        return self, task

    @abstractmethod
    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """Return the settings of a model's parameters, see `settings_of`."""

    def cv(self, config: SearchConfig, y: Array, effort: SearchEffort, *, random_state: Any) -> Any:
        """Return the splitter, or the splits."""
        return cv_of(config.cv, y, effort, random_state=random_state)

    def stakes(self, task: Task) -> Array | None:
        """Return what each sample contributes to the value; ``None`` where all count alike."""
        return task.weight

    @abstractmethod
    def studies(self, config: SearchConfig, shares: ClassShares, efforts: Sequence[SearchEffort]) -> Studies:
        """Return one study without trials for each setting, which has an effort."""

    def extended(self, config: SearchConfig, plan: Any) -> Any:
        """Return the plan with the trainings that this kind of problem adds."""
        return plan

    def race(self, config: SearchConfig, plan: Plan, store: Store | None) -> SettingRace | None:
        """Return what decides which settings are trained, or at further costs; ``None`` for all of them."""
        return None

    def prefit(self, config: SearchConfig, task: Task) -> tuple[SearchResult, DecisionRule]:
        """Evaluate fitted bases; return the result of the best one and the rule that predicts."""
        bases = [FittedBase.of(model.base, task.user_labels) for model in config.models]
        for base in bases:
            self.check_fitted(config, base)
        results = [self.fitted_result(config, base, task) for base in bases]
        stopped = "the base was fitted before: only its decision was tuned"
        if len(bases) > 1:
            stopped = "the models were fitted before: only their decisions were tuned, and the best of them was chosen"
        studies = self.fitted_studies(config, task)
        searched = judge_fitted(config, task, self.fitted_judge(config, results), studies, results, stopped)
        # None of them has parameters that margins are for.
        result = self.concluded(searched, [Model(None, None, None)])
        setting = result.key[0]
        return result, self.fitted_rule(result, bases[setting], results[setting])

    def check_fitted(self, config: SearchConfig, base: FittedBase) -> None:
        """Raise a ValueError where the classes that a fitted base knows do not go with the search."""
        if config.review is not None:
            check_no_review(base.names.tolist(), "the fitted base")

    @abstractmethod
    def fitted_result(self, config: SearchConfig, base: FittedBase, task: Task) -> FoldResult:
        """Predict all samples by a fitted base."""

    def fitted_studies(self, config: SearchConfig, task: Task) -> Studies:
        """Return a study with one pending trial for each fitted base."""
        everything = np.arange(task.n_samples)
        efforts = [FAST] * len(config.models)
        shares = FoldShares([Fold(task, everything, everything)])
        studies = self.studies(replace(config, n_trials=1), shares, efforts)
        for study in studies:
            study.ask_batch()
        return studies

    def fitted_judge(self, config: SearchConfig, results: Sequence[FoldResult]) -> Evaluator:
        """Return what evaluates fitted bases."""
        return self.judge(config)

    @abstractmethod
    def fitted_rule(self, outcome: Any, base: FittedBase, result: FoldResult) -> DecisionRule:
        """Build the rule of a fitted base."""

    def conclude(self, config: SearchConfig, plan: Plan, store: Store | None, stopped: str | None) -> SearchResult:
        """Return the result of a search that is over."""
        return self.concluded(record_of(plan, config, store, stopped), plan.models)

    @abstractmethod
    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> SearchResult:
        """Choose the winner among the trials of some models, and its decision."""


def record_of(plan: Plan, config: SearchConfig, store: Store | None, stopped: str | None) -> SearchRecord:
    """Record a finished search; ``stopped`` says why it ended where the studies do not."""
    ended = [stopped] if stopped else [reason_of(plan.studies), *plan.unsearched]
    return SearchRecord(
        config=config,
        studies=plan.studies,
        settings=plan.settings,
        n_splits=plan.n_splits,
        store=store,
        stop_reason="; ".join([*ended, *plan.notes]),
    )


class FittedBase(NamedTuple):
    """Fitted base with its classes, the user's names of these, and whether it was trained on codes."""

    base: Estimator
    known: Array
    names: Array
    coded: bool

    @classmethod
    def of(cls, base: Estimator, labels: Labels) -> Self:
        """Read the classes of a base: the user's labels, or codes where only one order of these is possible."""
        check_is_fitted(base)
        known = learnt_classes(base) if hasattr(base, "classes_") else labels.classes
        if known.tolist() != list(range(labels.classes.size)) or known.tolist() == labels.classes.tolist():
            return cls(base, known, known, coded=False)  # the base may have other names besides
        labels.check_codes(known)
        return cls(base, known, labels.decode(known), coded=True)


def judge_fitted(
    config: SearchConfig,
    task: Task,
    judge: Evaluator,
    studies: Sequence[History],
    results: Sequence[FoldResult],
    stopped: str,
) -> SearchRecord:
    """Evaluate fitted bases: the pending trial of each study is judged on all samples, without training."""
    everything = small_indices(np.arange(task.n_samples), task.n_samples)
    fold = Fold(task, everything, everything)
    vars(fold).update(y_test=task.codes)
    store = judge.store(task.codes, task.weight, samples=everything, max_bytes=MAX_BYTES)
    store.draw_together(task.groups)
    for setting, (study, result) in enumerate(zip(studies, results, strict=True)):
        (trial,) = study.trials
        fields, predictions = judge.judge([fold], [result], trial)
        assert predictions is not None, "nothing was trained that could fail"
        trial = study.record(trial, setting=setting, **fields | {"fold_scores": ()})
        store.add_trial((setting, trial.number), trial, *predictions)
    settings: list[Params] = [{} if model.name is None else {MODEL: model.name} for model in config.models]
    return SearchRecord(
        config=config, studies=list(studies), settings=settings, n_splits=0, store=store, stop_reason=stopped
    )
