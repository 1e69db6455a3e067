"""Command ``csf compare``: all strategies and their rivals on the same splits."""

from __future__ import annotations

import csv
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from tqdm.auto import tqdm

from csf._common.files import cell, replaced
from csf.cli.problem import (
    Budget,
    CommandProblem,
    DataPart,
    Method,
    NotApplicable,
    Setup,
    base_names,
    check_outputs,
    draw_comparison,
    load_problem,
    make_search,
    shows_progress,
)
from csf.cli.tables import CliError, format_mean, format_number, format_table
from csf.metrics.registry import aim_of
from csf.plots.words import wrapped
from csf.report.page import Comparison, write_comparison
from csf.search.study import powers_of
from csf.strategies import STRATEGIES, get_strategy

if TYPE_CHECKING:
    from csf._common.typing import Array, IntArray, Samples
    from csf.report.held_out import Judged
    from csf.search import CostSearch

# How each method does on the splits so far, and the seconds that it took.
Records: TypeAlias = "dict[str, list[tuple[Judged, float]]]"


def run(options: Namespace, say: Callable[..., None]) -> None:
    """Run ``csf compare``."""
    budget = Budget(options.time_limit)
    if len(base_names(options.base)) > 1:
        raise CliError(f"csf compare takes one base, got {options.base}; csf search chooses among several")
    check_outputs(options, options.out)
    if options.test_size == 0:
        raise CliError("compare needs a held-out part: --test-size must be larger than 0")
    problem = load_problem(options)
    if problem.constraint is not None and problem.constraint.segment_column is not None:
        raise CliError(f"compare tries strategies with one threshold, not with {problem.constraint}; use csf search")
    say(f"{problem.describe()}\n{_plan(problem)}\n")
    methods, notes = _methods(problem)
    records, left_out = _run_all(problem, methods, budget)
    outcomes = _compared(records, options.test_size, problem.reference)
    say(_table(problem, outcomes))
    say(f"\n{_legend(outcomes[0].values.size, problem.reference)}")
    notes += left_out
    for note in notes:
        say(wrapped(note))
    if options.out:
        _write(options.out, outcomes)
        say(f"table: {options.out}")
    if options.plot:
        draw_comparison(options.plot, outcomes, problem.metric.name)
        say(f"plot: {options.plot}")
    if options.report:
        facts = {"Data": problem.describe(), "Compared": _plan(problem)}
        names = {"metric_name": problem.metric.name, "reference": problem.reference}
        write_comparison(options.report, outcomes, **names, facts=facts, notes=notes)
        say(f"report: {options.report}")


def _plan(problem: CommandProblem) -> str:
    options = problem.options
    groups = "" if options.group is None else f" that keep groups of {options.group} together"
    return (
        f"{problem.plan()}, cv = {options.cv or 'repeated'}; {options.splits} stratified splits{groups}, "
        f"{100 * options.test_size:g} % held out, seed {options.seed}"
    )


def _methods(problem: CommandProblem) -> tuple[dict[str, Method], list[str]]:
    """Return the functions that fit, by name, and notes on strategies that cannot serve the metric."""
    methods, notes = {}, []
    for name in STRATEGIES:
        try:
            if problem.several:
                problem.study(name)
            elif problem.by_row:
                powers_of(name, problem.options.n_trials)
            else:
                get_strategy(name).check_metric(aim_of(problem))
        except (TypeError, ValueError) as error:
            notes.append(f"csf, {name}: left out, {error}")
        else:
            methods[f"csf, {name}"] = partial(_fit_search, name)
    return methods | problem.rivals, notes


def _fit_search(
    strategy: str, setup: Setup, X: Samples, y: Array, weight: Array | None, limit: float | None
) -> CostSearch:
    search = make_search(setup, strategy=strategy, time_limit=limit, constraint=setup.on_codes)
    return search.fit(X, y, sample_weight=weight, **setup.together)


def _splits(problem: CommandProblem) -> list[tuple[IntArray, IntArray]]:
    """Return the rows to train on and those held out of each split."""
    options, y = problem.options, problem.data.y
    if problem.data.groups is not None:
        return [problem.hold_out(options.seed + number) for number in range(options.splits)]
    splitter = StratifiedShuffleSplit(options.splits, test_size=options.test_size, random_state=options.seed)
    return list(splitter.split(np.zeros(y.shape[0]), y))


def _run_all(problem: CommandProblem, methods: dict[str, Method], budget: Budget) -> tuple[Records, list[str]]:
    """Run each method on each split, and note what is left out."""
    options, reference = problem.options, problem.reference
    splits = _splits(problem)
    records: Records = {name: [] for name in methods}
    notes: list[str] = []
    bar = tqdm(total=len(splits) * len(methods), disable=not shows_progress(options), desc="csf", unit="fit")
    with bar:
        for number, (train, test) in enumerate(splits):
            train, test = problem.part(train), problem.part(test)
            setup = problem.setup(train)
            # A method without a row on each split could not be compared: a split that would end too late is left out.
            took = sum(seconds for runs in records.values() for _, seconds in runs)
            reason = budget.refusal(took / number) if number else None
            if reason is not None:
                notes.append(f"{len(splits) - number} of {len(splits)} splits: left out, {reason}")
                break
            # What all are compared with comes first, so that a time limit leaves it.
            for place, name in enumerate(sorted(records, key=lambda name: name != reference)):
                bar.set_postfix_str(name, refresh=False)
                method = methods[name]
                if name not in problem.rivals:
                    method = partial(method, limit=budget.share(1 / (len(methods) * (len(splits) - number) - place)))
                reason = None if number or name == reference else budget.refusal(0.0)
                try:
                    if reason is not None:
                        raise NotApplicable(reason)
                    records[name].append(_run_one(problem, setup, method, train, test))
                except NotApplicable as error:
                    del records[name]
                    notes.append(f"{name}: left out, {error}")
                bar.update()
    return records, notes


def _run_one(
    problem: CommandProblem, setup: Setup, method: Method, train: DataPart, test: DataPart
) -> tuple[Judged, float]:
    """Return how one method does on the held-out part, and the seconds that it takes."""
    start = time.perf_counter()
    model = method(setup, train.X, train.codes, train.weight)
    seconds = time.perf_counter() - start
    return problem.judged(test, model.predict(test.X)), seconds


def _compared(records: Records, test_size: float, reference: str) -> list[Comparison]:
    """Compute means over the splits, and paired differences to the reference."""
    values = {name: np.array([judged.value for judged, _ in runs]) for name, runs in records.items()}
    n_splits = values[reference].size
    # The training parts of the splits overlap, so that differences are not independent; the error is the corrected one
    # of C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    factor = np.sqrt(1 / n_splits + test_size / (1 - test_size))
    outcomes = []
    for name, runs in records.items():
        gain, first = values[name] - values[reference], runs[0][0]
        error = float(gain.std(ddof=1) * factor) if n_splits > 1 else np.nan
        # Test parts of several splits overlap: an interval of their mean is none.
        ends = first.interval if n_splits == 1 and not np.isnan(first.interval[0]) else None
        rates = [judged.rate for judged, _ in runs if judged.rate is not None]
        rate, seconds = float(np.mean(rates or np.nan)), float(np.mean([seconds for _, seconds in runs]))
        outcomes.append(Comparison(name, values[name], float(gain.mean()), error, rate, seconds, ends))
    return outcomes


def _table(problem: CommandProblem, outcomes: Sequence[Comparison]) -> str:
    rows = []
    for outcome in outcomes:
        value = format_mean(outcome.mean, outcome.deviation)
        if outcome.interval is not None:
            value += f" [{outcome.interval[0]:.4f}, {outcome.interval[1]:.4f}]"
        row = [outcome.method, value]
        row += [] if problem.constraint is None else [format_number(outcome.rate)]
        row += ["-" if outcome.method == problem.reference else format_mean(outcome.difference, outcome.error, "+.4f")]
        rows.append([*row, format_number(outcome.seconds, ".2f")])
    return format_table([*problem.measured, "difference", "seconds"], rows)


def _legend(n_splits: int, reference: str) -> str:
    if n_splits == 1:
        return f"One split; difference: to the {reference}. In brackets: 90 % interval."
    return (
        f"Means over {n_splits} splits ± standard deviation; difference: paired, to the {reference},\n"
        "± standard error corrected for overlapping splits; seconds: per split."
    )


def _write(path: str, outcomes: Sequence[Comparison]) -> None:
    """Write the table with full precision, and the value on each split."""
    n_splits = outcomes[0].values.shape[0]
    header = ["method", "mean", "sd", "difference", "difference_se", "rate", "seconds"]
    with replaced(path, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, *(f"split_{number}" for number in range(n_splits))])
        for outcome in outcomes:
            numbers = [outcome.mean, outcome.deviation, outcome.difference, outcome.error]
            numbers += [outcome.rate, outcome.seconds, *outcome.values]
            writer.writerow([cell(outcome.method), *("" if np.isnan(x) else float(x) for x in numbers)])
