"""From an engine and options to the plan of a search over it, its run, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

from csf._common.messages import warn
from csf._common.typing import Costs, Estimator
from csf.data.costs import costs_by_code
from csf.distributed.engine import Engine, FoldTotals, Job
from csf.distributed.training import CollectingJudge, CountingJudge, EngineTrainer
from csf.metrics import get_constraint
from csf.metrics.row_costs import row_costs
from csf.search.config import Model, RaceStep, numbered
from csf.search.loop import SearchLoop
from csf.search.plan import Finished, Plan
from csf.search.planning import Outcome, aimed, run_search
from csf.search.problems.binary import BinaryProblem
from csf.search.problems.multiclass import MulticlassProblem
from csf.search.problems.row_costs import RowCostProblem
from csf.search.selection import Race, races
from csf.search.supports import CLUSTER, ROW_COSTS

if TYPE_CHECKING:
    from csf.distributed.counts import CountedCut, PartScores
    from csf.search.config import SearchConfig
    from csf.search.loop import Deadline
    from csf.search.problems.base import Problem
    from csf.search.problems.results import SearchResult
    from csf.search.study import History


@dataclass(frozen=True, eq=False, kw_only=True)
class EnginePlan(Plan):
    """Plan of a search over the data of an engine, whose folds are those of the engine.

    Settings race as in memory where held-out scores are collected, and on a sample of the rows where the engine has
    one: those that are behind there are left out.
    """

    engine: Engine
    totals: FoldTotals
    # Rows whose held-out scores are collected, if they are, and the engine of a sample, if there is one.
    entries: PartScores | None
    sample: Engine | None
    normalize: str
    # Of settings that weigh rows by a power of what they cost.
    powers: dict[int, float] = field(default_factory=dict)
    # Passes and counts behind the threshold of each trial.
    counted: list[CountedCut] = field(default_factory=list)
    # Whether the settings have raced on a sample of the rows.
    raced: bool = False

    @property
    def n_splits(self) -> int:
        """Number of folds."""
        return self.totals.n_folds

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.totals.rows.sum())

    @property
    def n_held_out(self) -> int:
        """Number of rows in folds."""
        return int(self.totals.rows[:-1].sum())

    @property
    def content(self) -> tuple[object, ...]:
        """What identifies the rows and their folds in a checkpoint."""
        return self.engine.identity, self.totals.weight

    @property
    def steps(self) -> list[RaceStep]:
        """For each setting what has to be known before it is tried: nothing more after a race on a sample."""
        steps = super().steps
        return [step._replace(before=None, outside=False) for step in steps] if self.raced else steps

    def with_powers(
        self, problem: RowCostProblem, more: Sequence[tuple[int, float]], studies: Sequence[History]
    ) -> Self:
        """Add trainings of some settings with rows weighted by powers of what they cost."""
        assert self.engine.row_costs is not None, "the problem has costs of rows"
        powers = {setting: power for setting, (_, power) in enumerate(more, len(self.bases))}
        problem.costs.check_sums(self.engine.row_costs.sums([0.0, *powers.values()]))
        return replace(self, powers=powers, **self._repeated([setting for setting, _ in more], studies))

    def only(self, kept: Sequence[int]) -> Self:
        """Return the plan of some of the settings."""
        models = [
            model._replace(settings=[one for number, one in enumerate(model.settings, model.first) if number in kept])
            for model in self.models
        ]
        models = numbered([model for model in models if model.settings])
        parts = {name: [getattr(self, name)[setting] for setting in kept] for name in ("bases", "settings")}
        return replace(self, models=models, **parts)

    def with_studies(self, config: SearchConfig, problem: Problem) -> Self:
        """Return the plan with a study for each setting."""
        efforts = [model.effort for model in self.models for _ in model.settings]
        return replace(self, studies=problem.studies(config, self.totals, efforts))

    def trainer(self, config: SearchConfig, problem: Problem) -> EngineTrainer:
        """Create what trains on the engine."""
        n_folds, n_rows = self.n_splits, None if self.sample is None else self.n_held_out
        if problem.decides_by_score:
            known = config.aim, self.entries, self.counted
            judge = CountingJudge(*known, tune=config.tunes, n_folds=n_folds, n_rows=n_rows)
        else:
            assert self.entries is not None, "an engine with such decisions collects scores"
            judge = CollectingJudge(problem.judge(config), self.entries, n_folds)
        return EngineTrainer(self.engine, judge, self.job, n_settings=len(self.bases), n_folds=n_folds)

    def job(self, setting: int, costs: Costs, fold: int | None, starts: Sequence[object]) -> Job:
        """Describe a training; its costs are divided by the mean weight, unless ``normalize`` is "none"."""
        if self.normalize != "none":
            weights = self.totals.trained_on(fold).tolist()
            weighted = sum(cost * weight for cost, weight in zip(costs_by_code(costs), weights, strict=True))
            costs = tuple(sum(weights) / weighted * cost for cost in costs)
        return Job(self.bases[setting], fold, costs, starts, self.powers.get(setting, 0.0))

    def finish(self, problem: Problem, result: SearchResult, starts: Sequence[object]) -> Finished:
        """Train the winner on all rows; its rule predicts in memory, if its model can."""
        winner = result.winner
        job = self.job(winner.setting, winner.costs, None, starts)
        training = self.engine.refit(job, interrupted=result.stop_reason.startswith("interrupted"))
        if isinstance(training, Exception):
            raise training
        local = self.engine.local(job.base, training.model)
        return Finished(result, None if local is None else problem.rule_of(result, *local), training.model)


def read_problem(engine: Engine, config: SearchConfig, bases: Sequence[Estimator]) -> Problem:
    """Read the problem that the rows of an engine pose; a TypeError or ValueError for what it cannot be asked."""
    constraint, costs = get_constraint(config.constraint), engine.row_costs
    CLUSTER.check(config)
    if constraint is not None:
        constraint.require_all_rows()
    if row_costs(config.metric) is not None:
        ROW_COSTS.check(config)
        if costs is None:
            raise TypeError(f"{type(engine).__name__} has no costs of rows; use csf.CostSearch on a sample of the rows")
        likely = all(map(costs.are_log_odds, bases))
        return RowCostProblem(engine.labels, costs.costs, costs.of_entries(), likely=likely).constrained(config)
    if engine.labels.n_alike is not None:
        return MulticlassProblem.of_labels(config, engine.labels)
    return BinaryProblem(engine.labels)


# Why costs of several classes are equal.
_ALIKE = "on a cluster only the settings and the rule of the class probabilities are searched"


def plan_on(
    engine: Engine, config: SearchConfig, problem: Problem, models: Sequence[Model], bases: list[Estimator]
) -> EnginePlan:
    """Plan a search over an engine, with one base for each setting of the models."""
    if problem.labels.n_alike is not None:
        models = [model._replace(effort=model.effort._replace(only_equal=_ALIKE)) for model in models]
    settings, totals = [setting for model in models for setting in model.named_settings], engine.totals()
    totals.check()
    plan = EnginePlan(
        models=list(models),
        settings=settings,
        bases=bases,
        studies=[],
        engine=engine,
        totals=totals,
        entries=engine.entries(),
        sample=engine.sample(),
        normalize=config.normalize,
    )
    if plan.sample is not None and problem.decides_by_score and races(config) and len(bases) > 1:
        plan = _raced(plan, config, problem)
    if problem.decides_by_score and (plan.entries is None or not races(config)):
        # What a race alone goes on to.
        plan = plan.only([number for number, step in enumerate(plan.steps) if not step.outside])
    plan = problem.extended(config, plan.with_studies(config, problem))
    if config.is_stable and plan.entries is None:
        warn(
            f"the folds hold {plan.n_held_out} rows, too many for their scores to be collected: threshold='stable' "
            "chooses as 'tune' does, and there are no corrected scores and no margin of the bound. Of so many rows "
            "chance decides little; threshold='tune' asks for just that"
        )
    return plan


def _raced(plan: EnginePlan, config: SearchConfig, problem: Problem) -> EnginePlan:
    """Race the settings with equal costs on a sample; return the plan of those that remain, with a note."""
    # What is known in the end is the same whether this is repeated or not.
    equal = replace(config, n_trials=1, checkpoint=None, callbacks=None, verbose=0, tol=None)
    sample = plan.sample
    assert sample is not None, "asked for where there is one"
    totals, entries = sample.totals(), sample.entries()
    quick = replace(plan, counted=[], engine=sample, totals=totals, entries=entries, sample=None)
    quick = quick.with_studies(equal, problem)
    trainer = quick.trainer(equal, problem)
    race = problem.race(equal, quick, trainer.store)
    assert isinstance(race, Race), "a sample collects its scores"
    if SearchLoop(quick.studies, trainer, raise_errors=config.error_score == "raise", race=race).run():
        raise KeyboardInterrupt
    left, tried = race.left(), sum(bool(study.trials) for study in quick.studies)
    note = f"a sample of {quick.n_rows} rows left {len(left)} of {tried} settings in the race"
    return replace(plan.only(left), raced=True, notes=[note] if len(left) < tried else [])


class EngineOutcome(NamedTuple):
    """Plan of a search over an engine, the problem that it solved, and its result."""

    plan: EnginePlan
    problem: Problem
    outcome: Outcome


def search_on(
    engine: Engine,
    config: SearchConfig,
    models: Sequence[Model],
    bases: list[Estimator],
    *,
    deadline: Deadline | None = None,
) -> EngineOutcome:
    """Search costs and settings over the data of an engine.

    Parameters
    ----------
    engine : Engine
        The engine that holds the data.
    config : SearchConfig
        Options of the search, as `csf.CostSearch` describes them; folds are those of the engine.
    models : sequence of Model
        Models with the settings and the effort of each.
    bases : list of estimator
        Unfitted bases, one for each setting.
    deadline : Deadline, default=None
        Deadline that passes over the data before the search count in.

    Returns
    -------
    EngineOutcome
        The plan with its studies, and the result with the winner, trained on everything unless ``refit`` is False.

    Raises
    ------
    ValueError, TypeError
        If a fold lacks a class, the options are not for such data, or every trial failed.
    """
    problem = read_problem(engine, config, bases)
    config = aimed(config, problem)
    plan = plan_on(engine, config, problem, models, bases)
    return EngineOutcome(plan, problem, run_search(config, problem, plan, deadline=deadline))
