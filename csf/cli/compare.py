"""``csf compare``: all strategies and their rivals on the same splits."""

from __future__ import annotations

import csv
import os
import tempfile
import textwrap
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from tqdm.auto import tqdm

from csf._common.cells import cell
from csf._common.files import replaced
from csf._common.typing import Array, IntArray, Samples
from csf.cli.errors import CliError
from csf.cli.evaluation import judge
from csf.cli.figures import check_figure, draw_comparison
from csf.cli.problem import check_output, load_problem, make_search
from csf.cli.rivals import POOLED, RIVALS, NotApplicable
from csf.cli.tables import format_mean, format_number, format_table
from csf.metrics.aim import aim_of
from csf.report import Comparison, write_comparison
from csf.search import CostSearch
from csf.strategies import STRATEGIES, get_strategy

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["run"]


class FitCounter(TransformerMixin, BaseEstimator):
    """Step of a pipeline that changes nothing and notes each ``fit`` in a file, whatever process it happens in.

    Parameters
    ----------
    path : str
        File that grows by one byte with each ``fit``.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def fit(self, X: Samples, y: ArrayLike | None = None) -> Self:
        """Note one more fit."""
        with open(self.path, "ab") as file:
            file.write(b".")
        return self

    def transform(self, X: Samples) -> Samples:
        """The same samples."""
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method on all splits.

    Parameters
    ----------
    method : str
        Its name.
    values, rates, seconds : ndarray of shape (n_splits,)
        Metric and constrained rate (NaN without a constraint) on the held-out parts, and time of training.
    fits : ndarray of int, shape (n_splits,)
        How often the base was trained.
    """

    method: str
    values: Array
    rates: Array
    seconds: Array
    fits: IntArray


def run(options: Namespace, say: Callable[..., Any]) -> None:
    """Run the command.

    Parameters
    ----------
    options : argparse.Namespace
        The command line.
    say : callable
        Prints a text.
    """
    for path in (options.out, options.plot, options.report):
        check_output(path)
    check_figure(options.plot)
    if options.test_size == 0:
        raise CliError("compare needs a held-out part: --test-size must be larger than 0")
    problem = load_problem(options)
    say(f"{problem.describe()}\n{_plan(problem)}\n")
    methods, notes = _methods(problem)
    with tempfile.TemporaryDirectory() as folder:
        outcomes, left_out = _run_all(problem, methods, os.path.join(folder, "fits"))
    differences = _differences(outcomes, options.test_size)
    say(_table(problem, outcomes, differences))
    say(f"\n{_legend(options)}")
    for note in [*notes, *left_out]:
        say(textwrap.fill(note, 100, subsequent_indent="  "))
    if options.out:
        _write(options.out, outcomes, differences)
        say(f"table: {options.out}")
    if options.plot:
        values = np.array([outcome.values for outcome in outcomes])
        draw_comparison(options.plot, [outcome.method for outcome in outcomes], values, problem.metric.name)
        say(f"plot: {options.plot}")
    if options.report:
        _write_report(problem, outcomes, differences, [*notes, *left_out])
        say(f"report: {options.report}")


def _plan(problem):
    options = problem.options
    return (
        f"{problem.plan()}, cv = {options.cv or 'repeated'}; {options.splits} stratified splits, "
        f"{100 * options.test_size:g} % held out, seed {options.seed}"
    )


def _methods(problem):
    """Functions that fit, by name, and notes on strategies that cannot serve the metric."""
    metric = aim_of(problem)
    methods, notes = {}, []
    for name in STRATEGIES:
        try:
            get_strategy(name).check_metric(metric)
        except TypeError as error:
            notes.append(f"csf, {name}: left out, {error}")
        else:
            methods[f"csf, {name}"] = partial(_fit_search, problem.options, name)
    return methods | RIVALS, notes


def _fit_search(options, strategy, setup, X, y, weight):
    return make_search(setup, options, strategy).fit(X, y, sample_weight=weight)


def _run_all(problem, methods, counter):
    """Outcomes of the methods, and notes on those that do not apply."""
    options = problem.options
    splitter = StratifiedShuffleSplit(options.splits, test_size=options.test_size, random_state=options.seed)
    splits = list(splitter.split(np.zeros(problem.data.y.shape[0]), problem.data.y))
    records, notes = {name: [] for name in methods}, []
    bar = tqdm(total=len(splits) * len(methods), disable=not options.verbose, desc="csf", unit="fit")
    with bar:
        for train, test in splits:
            train, test = problem.part(train), problem.part(test)
            setup = _counted(problem.setup(train), counter)
            for name in list(records):
                bar.set_postfix_str(name, refresh=False)
                try:
                    records[name].append(_run_one(setup, methods[name], train, test, counter))
                except NotApplicable as reason:
                    del records[name]
                    notes.append(f"{name}: left out, {reason}")
                bar.update()
    columns = ("values", "rates", "seconds", "fits")
    outcomes = [
        Outcome(name, **{column: np.array(entries) for column, entries in zip(columns, zip(*rows))})
        for name, rows in records.items()
    ]
    return outcomes, notes


def _counted(setup, counter):
    """The same setup, with a base that notes how often it is fitted."""
    *before, last = setup.base.steps
    return replace(setup, base=Pipeline([*before, ("fits", FitCounter(counter)), last]))


def _run_one(setup, method, train, test, counter):
    """Metric and constrained rate on the held-out part, seconds and fits of one method."""
    with open(counter, "wb"):
        pass
    start = time.perf_counter()
    model = method(setup, train.X, train.is_pos.astype(np.int64), train.weight)
    seconds = time.perf_counter() - start
    # A search fits the steps before the classifier once for all trials.
    searched = isinstance(model, CostSearch)
    fits = model.n_trials_ * model.n_splits_ + 1 if searched else os.path.getsize(counter)
    judged = judge(setup.metric, setup.constraint, test.is_pos, model.predict(test.X) == 1, test.weight)
    return judged.value, np.nan if judged.rate is None else judged.rate, seconds, fits


def _differences(outcomes, test_size):
    """Mean of the paired differences to the pooled threshold and its standard error, for each method.

    The training parts of the splits overlap, so that differences are not independent; the error is the corrected one
    of C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    """
    reference = next(outcome for outcome in outcomes if outcome.method == POOLED)
    differences = [outcome.values - reference.values for outcome in outcomes]
    n_splits = reference.values.shape[0]
    factor = np.sqrt(1 / n_splits + test_size / (1 - test_size))
    return [(row.mean(), row.std(ddof=1) * factor if n_splits > 1 else np.nan) for row in differences]


def _table(problem, outcomes, differences):
    constrained = problem.constraint is not None
    header = ["method", problem.metric.name, *([problem.constraint.quantity.name] if constrained else [])]
    header += ["difference", "base fits", "seconds"]
    rows = []
    for outcome, (mean, error) in zip(outcomes, differences):
        row = [outcome.method, format_mean(outcome.values.mean(), _spread(outcome.values))]
        row += [format_number(outcome.rates.mean())] if constrained else []
        row += ["-" if outcome.method == POOLED else format_mean(mean, error, "+.4f")]
        rows.append([*row, f"{outcome.fits.mean():.4g}", format_number(outcome.seconds.mean(), ".2f")])
    return format_table(header, rows)


def _spread(values):
    return values.std(ddof=1) if values.shape[0] > 1 else np.nan


def _legend(options):
    return (
        f"Means over {options.splits} splits ± standard deviation; difference: paired, to the {POOLED},\n"
        "± standard error corrected for overlapping splits; fits of the base and seconds: per split."
    )


def _write(path, outcomes, differences):
    """The table with full precision, and the value on each split."""
    n_splits = outcomes[0].values.shape[0]
    header = ["method", "mean", "sd", "difference", "difference_se", "rate", "base_fits", "seconds"]
    with replaced(path, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, *(f"split_{number}" for number in range(n_splits))])
        for outcome, (mean, error) in zip(outcomes, differences):
            numbers = [outcome.values.mean(), _spread(outcome.values), mean, error]
            numbers += [outcome.rates.mean(), outcome.fits.mean(), outcome.seconds.mean(), *outcome.values]
            writer.writerow([cell(outcome.method), *("" if np.isnan(x) else float(x) for x in numbers)])


def _write_report(problem, outcomes, differences, notes):
    """The page for a browser."""
    compared = [
        Comparison(
            outcome.method,
            outcome.values,
            *(float(number) for number in pair),
            rate=float(outcome.rates.mean()),
            fits=float(outcome.fits.mean()),
            seconds=float(outcome.seconds.mean()),
        )
        for outcome, pair in zip(outcomes, differences)
    ]
    facts = {"Data": problem.describe(), "Compared": _plan(problem)}
    options = {"metric_name": problem.metric.name, "reference": POOLED, "facts": facts, "notes": notes}
    write_comparison(problem.options.report, compared, **options)
