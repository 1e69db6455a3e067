"""The command: the papers' tables and figures, streams, and what defaults are chosen by, on folders of sets."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from csf._common.files import write_json
from csf._common.messages import did_you_mean
from csf.cli.data import ReadOptions, read_dataset
from csf.cli.parser import CommandParser, add_command, run_command
from csf.cli.tables import CliError, require
from csf.metrics import get_constraint, get_metric
from notebooks.experiments.choices import CHOICE_BASES, RIVAL, OuterFolds, choice_methods
from notebooks.experiments.choices_report import ChoicesReport, write_choices
from notebooks.experiments.datasets import TABLE_SETS, DataSet, folder_names, load_set
from notebooks.experiments.figures import make_figures
from notebooks.experiments.methods import METHODS
from notebooks.experiments.protocols import PROTOCOLS
from notebooks.experiments.report import Report, write_report
from notebooks.experiments.run import Plan, environment, run_cells
from notebooks.experiments.streams import LEARNERS, run_streams

__all__ = ["main"]

_PROGRAM = "python -m notebooks.experiments"
# Data sets of the paper's figures.
FIGURE_SETS = ("adult", "abalone12")
STREAM_SETS = ("adult", "mammography")


def _listed(names):
    return textwrap.fill(", ".join(names), 96, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


_SETS = """\
data sets (--sets, separated by commas; the usual ones of the folder without it)
  NAME                      NAME.npz in --data; the first of several classes is "nothing to find"
  NAME:LABEL                one label of it against the rest
  FILE:COLUMN=VALUE         a table (CSV, ...), there or anywhere else: the column of the labels
                            and its positive value; text columns become categories

Everything is written to --out. Finished cells are kept in OUT/cells: after an interruption the same
command goes on with those that are missing, and more splits, sets or methods can be added later.
"""
_TABLE = f"""\
methods (--methods; all without it)
{_listed(METHODS)}

examples:
  python -m notebooks.experiments table2 --data data --splits 20 --large-splits 5 --jobs 2 \\
      --out table2
  python -m notebooks.experiments table2 --data data --sets wine,churn.csv:outcome=yes \\
      --methods SVM-CONE,csf --splits 10 --protocol modern --out small

{_SETS}"""
_FIGURES = f"""\
figure 4  bound on the value against the excess of the trained models, old and new bound
figure 5  regions ruled out for exact learners by 19 weighted SVMs, old and new bound
figure 6  best value and bound on the training data as models are added, grid and cone
figure 7  value on the test data as models are added

example:
  python -m notebooks.experiments figures --data data --splits 10 --out figures

{_SETS}"""
_STREAM = f"""\
learners (--methods; all without it)
{_listed(LEARNERS)}

example:
  python -m notebooks.experiments stream --data data --sets adult --splits 5 --out streams

{_SETS}"""
_CHOICES = f"""\
bases (--base)
{_listed(CHOICE_BASES)}
methods (--methods; all without it, the rival always)
  rival      7 values of C around the base's own (where it has one), one exact threshold on the
             pooled scores of 3 x 5 folds
  own C      the same with the base's own C
  wide C     the same with all 11 values of C that the default search may come to
  plain      CostSearch(base) as it is
  paper      strategy="cone", param_grid=None, cv=5, threshold="tune"
  careful    5 x 5 folds, 7 values of C, 11 levels (bases without C: 3 x 5 folds, 6 levels)

Sets of one source are one family: names that agree up to the first digit, "-", "_" or ":".
Differences are averaged over families. Sets of several classes are left out.

example:
  python -m notebooks.experiments choices --data data --data more --base logistic --jobs 2 \\
      --out logistic

{_SETS}"""


class _Splits(NamedTuple):
    """Outer folds and how often they are made."""

    n_folds: int
    n_repeats: int

    def __str__(self) -> str:
        return f"{self.n_folds}x{self.n_repeats}"


def _splits(text: str) -> _Splits:
    """Read ``"5x2"``."""
    parts = text.split("x")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or int(parts[0]) < 2 or int(parts[1]) < 1:
        raise argparse.ArgumentTypeError(f"must be FOLDSxREPEATS with 2 folds and more, such as 5x2; got {text!r}")
    return _Splits(*map(int, parts))


def main(argv: list[str] | None = None) -> int:
    """Run the command; exit codes as of `csf.cli.main`."""
    return run_command(_make_parser(), sys.argv[1:] if argv is None else argv)


def _make_parser():
    text = "Re-make the papers' tables and figures, compare online learners, or judge defaults, on your data sets."
    parser = CommandParser(prog=_PROGRAM, description=text)
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    text = "All methods on the same splits: test values, paired differences, ranks, trainings and seconds."
    table = _add_kind(kinds, "table2", text, _run_table, _TABLE)
    table.add_argument("--methods", metavar="LIST", help="methods, separated by commas, see below (all)")
    protocols = {"choices": list(PROTOCOLS), "default": "paper"}
    table.add_argument("--protocol", **protocols, help="rules of splitting and choosing (paper)")
    text = "The paper's Figures 4 to 7: bounds on the training data, test values of small budgets."
    _add_kind(kinds, "figures", text, _run_figures, _FIGURES)
    text = "Online learners: metric of the predictions made before learning, against examples and seconds."
    stream = _add_kind(kinds, "stream", text, _run_streams, _STREAM)
    stream.add_argument("--methods", metavar="LIST", help="learners, separated by commas, see below (all)")
    stream.add_argument("--every", type=int, default=1000, metavar="N", help="examples between two records (1000)")
    _add_choices(kinds)
    return parser


def _add_choices(kinds):
    text = "Whole classifiers against the simplest careful rival, averaged over families of data sets."
    choices = _add_options(kinds, "choices", text, _run_choices, _CHOICES)
    choices.add_argument(
        "--data", required=True, action="append", metavar="DIR", help="folder of sets; may be repeated"
    )
    choices.add_argument("--base", choices=list(CHOICE_BASES), default="linearsvc", help="base classifier (linearsvc)")
    choices.add_argument("--methods", metavar="LIST", help="methods, separated by commas, see below (all)")
    choices.add_argument("--constraint", metavar="TEXT", help='what must hold, such as "precision >= 0.8"')
    splits = {"type": _splits, "metavar": "KxR"}
    choices.add_argument("--splits", default=_Splits(5, 2), help="outer folds x repeats (5x2)", **splits)
    text = "the same for sets with 10 000 rows and more (5x1)"
    choices.add_argument("--large-splits", default=_Splits(5, 1), help=text, **splits)


def _add_kind(kinds, name, text, run, epilog):
    command = _add_options(kinds, name, text, run, epilog)
    command.add_argument("--data", required=True, metavar="DIR", help="folder of data sets")
    command.add_argument("--splits", type=int, default=5, metavar="N", help="splits of each data set (5)")
    command.add_argument("--large-splits", type=int, metavar="N", help="splits of sets with 10 000 rows and more")
    return command


def _add_options(kinds, name, text, run, epilog):
    command = add_command(kinds, name, text, run, operands="--data DIR --out DIR", epilog=epilog)
    command.add_argument("--out", required=True, metavar="DIR", help="folder to write, made if missing")
    command.add_argument("--sets", metavar="LIST", help="data sets, separated by commas, see below")
    command.add_argument("--metric", default="f1", metavar="NAME", help="what is maximised (f1)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits (0)")
    command.add_argument("--jobs", type=int, metavar="N", help="parallel workers (1; -1 for all processors)")
    command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors and warnings")
    return command


def _run_table(options, say):
    methods = _chosen("--methods", options.methods, METHODS)
    plan = _plan(options, TABLE_SETS, {name: METHODS[name] for name in methods}, PROTOCOLS[options.protocol])
    command = _start(options, plan, say, ["--protocol", options.protocol, "--methods", ",".join(methods)])
    rows = _interruptible(run_cells, plan, options, say)
    versions = environment()
    report = Report(plan, rows)
    paths = write_report(report, options.out, command=command, environment=versions)
    say(report.markdown())
    _end(options, say, paths, versions)


def _run_figures(options, say):
    plan = _plan(options, FIGURE_SETS, {}, PROTOCOLS["paper"])
    require("matplotlib.figure", "figures")
    _start(options, plan, say, [])
    _end(options, say, _interruptible(make_figures, plan, options, say), environment())


def _run_streams(options, say):
    learners = _chosen("--methods", options.methods, LEARNERS)
    if options.every < 1:
        raise CliError(f"--every must be at least 1, got {options.every}")
    plan = _plan(options, STREAM_SETS, {name: LEARNERS[name] for name in learners}, PROTOCOLS["modern"])
    command = _start(options, plan, say, ["--methods", ",".join(learners), "--every", str(options.every)])
    text, paths = run_streams(plan, options.out, every=options.every, command=command, verbose=not options.quiet)
    say(text)
    _end(options, say, paths, environment())


def _run_choices(options, say):
    methods = choice_methods(options.base, options.constraint)
    chosen = dict.fromkeys([RIVAL, *_chosen("--methods", options.methods, methods)])
    plan = _choices_plan(options, {name: methods[name] for name in chosen}, say)
    more = ["--base", options.base, "--methods", ",".join(chosen)]
    more += [] if options.constraint is None else ["--constraint", options.constraint]
    command = _start(options, plan, say, more)
    report = ChoicesReport(plan, _interruptible(run_cells, plan, options, say), options.constraint)
    paths = write_choices(report, options.out, command=command)
    say(report.markdown())
    _end(options, say, paths, environment())


def _choices_plan(options, methods, say):
    (n_folds, n_repeats), (large_folds, large_repeats) = options.splits, options.large_splits
    if large_folds != n_folds:
        raise CliError(f"--splits {options.splits} and --large-splits {options.large_splits} need equally many folds")
    _check(options, *options.data)
    get_constraint(options.constraint)
    if options.sets is None:
        places = [(folder, name) for folder in options.data for name in folder_names(folder)]
    else:
        places = [(_folder_of(options.data, name), name) for name in _listed_sets(options.sets)]
    _check_names([name for _, name in places], options.data)
    data = [each for place in places if (each := _of_two_classes(*place, options.sets is not None, say)) is not None]
    splits = n_folds * n_repeats, n_folds * large_repeats
    return Plan(data, methods, OuterFolds(n_outer=n_folds), *splits, options.metric, options.seed)


def _of_two_classes(folder, name, named, say):
    """The data set, or ``None`` where it has several classes; errors of sets that were not named leave them out too."""
    try:
        found = _read_set(folder, name)
    except ValueError as error:
        if named:
            raise
        say(f"left out: {error}")
        return None
    if found.is_multiclass:
        say(f"left out: {name} has several classes; name one of them with --sets {name}:LABEL")
    return None if found.is_multiclass else found


def _folder_of(folders, name):
    """The first folder that has the data set; the first of all where none has."""
    stem = name.partition(":")[0]
    return next((each for each in folders if stem in folder_names(each)), folders[0])


def _listed_sets(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def _plan(options, usual, methods, protocol):
    for name in ("splits", "large_splits"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise CliError(f"--{name.replace('_', '-')} must be at least 1, got {getattr(options, name)}")
    _check(options, options.data)
    known = folder_names(options.data)
    if options.sets is None:
        names = [name for name in usual if name in known] or known
    else:
        names = _listed_sets(options.sets)
    _check_names(names, [options.data])
    data = [_read_set(options.data, name) for name in names]
    return Plan(data, methods, protocol, options.splits, options.large_splits, options.metric, options.seed)


def _check(options, *folders):
    if options.seed < 0 or options.jobs == 0:
        raise CliError("--seed must be at least 0, and --jobs must not be 0")
    get_metric(options.metric)
    for folder in folders:
        if not os.path.isdir(folder):
            raise CliError(f"--data {folder}: there is no such folder; give the folder of the data sets")


def _check_names(names, folders):
    if not names:
        where = " and ".join(folders)
        raise CliError(f"--data {where} holds no data set (NAME.npz); name files with --sets FILE:COLUMN=VALUE")
    if len(set(names)) < len(names):
        raise CliError(f"--sets names a data set twice: {', '.join(names)}")


def _read_set(folder, name):
    """Data set of the folder, or of a table ``FILE:COLUMN=VALUE``."""
    source, _, columns = name.rpartition(":")
    column, equals, value = columns.partition("=")
    if not equals:
        return load_set(folder, name)
    inside = os.path.join(folder, source)
    path = inside if os.path.exists(inside) else source
    found = read_dataset(path, ReadOptions(target=column, positive=value))
    prepare = _preparation(found.features) if found.features.kind == "frame" else None
    return DataSet(Path(source).stem, found.X, found.y == found.pos_label, found.is_test, prepare)


def _preparation(features):
    """Numbers scaled to [0, 1], gaps filled; one feature for each category."""
    numeric = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), MinMaxScaler())
    columns = [
        ("numeric", numeric, list(features.numeric)),
        ("categorical", OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(features.categorical)),
    ]
    return ColumnTransformer(columns, sparse_threshold=0.0)


def _chosen(option, text, known):
    """Names of a list separated by commas, as they are written in the registry; all where there is none."""
    if text is None:
        return tuple(known)
    spelling = {name.lower(): name for name in known}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name.lower() not in spelling:
            raise CliError(f"{option}: unknown {name!r}; known: {', '.join(known)}{did_you_mean(name, known)}")
    return tuple(dict.fromkeys(spelling[name.lower()] for name in names))


def _start(options, plan, say, more):
    """Make the folder, and print and return the command that repeats the run."""
    if os.path.exists(options.out) and not os.path.isdir(options.out):
        raise CliError(f"--out {options.out} is a file; give a folder")
    os.makedirs(options.out, exist_ok=True)
    folders = [options.data] if isinstance(options.data, str) else options.data
    words = [*_PROGRAM.split(), options.kind, *(word for each in folders for word in ("--data", each))]
    words += ["--out", options.out]
    words += ["--sets", options.sets or ",".join(data.name for data in plan.data), "--splits", str(options.splits)]
    words += [] if options.large_splits is None else ["--large-splits", str(options.large_splits)]
    words += ["--metric", options.metric, "--seed", str(options.seed)]
    words += more
    words += [] if options.jobs is None else ["--jobs", str(options.jobs)]
    command = shlex.join(words)
    say(f"repeat with: {command}\n")
    for data in plan.data:
        kind = f"{100 * data.pos:.3g} % positive"
        if data.is_multiclass:
            kind = f"{data.codes.max() + 1} classes, class {data.null_class} is nothing to find"
        say(f"{data.name}: {data.X.shape[0]} rows, {data.X.shape[1]} features, {kind}, {plan.splits_of(data)} splits")
    return command


def _interruptible(run, plan, options, say):
    try:
        return run(plan, options.out, n_jobs=options.jobs, verbose=not options.quiet)
    except KeyboardInterrupt:
        say(f"\nfinished cells are kept in {os.path.join(options.out, 'cells')}; the same command goes on from there")
        raise


def _end(options, say, paths, versions):
    path = os.path.join(options.out, "environment.json")
    write_json(path, versions)
    say(f"\nwritten: {', '.join(os.path.basename(p) for p in [*paths, path])} in {options.out}")
