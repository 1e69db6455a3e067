"""``csf experiment``: the papers' tables and figures, and streams, on folders of data sets."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from csf._common.files import write_json
from csf._common.names import did_you_mean
from csf.cli.data import ReadOptions, read_dataset
from csf.cli.errors import CliError, require
from csf.experiments.datasets import TABLE_SETS, DataSet, folder_names, load_set
from csf.experiments.figures import make_figures
from csf.experiments.methods import METHODS
from csf.experiments.protocols import PROTOCOLS
from csf.experiments.report import Report, write_report
from csf.experiments.run import Plan, environment, run_cells
from csf.experiments.streams import LEARNERS, run_streams
from csf.metrics import get_metric

__all__ = ["add_experiment"]

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
  csf experiment table2 --data data --splits 20 --large-splits 5 --jobs 2 --out table2
  csf experiment table2 --data data --sets wine,churn.csv:outcome=yes --methods SVM-CONE,csf \\
      --splits 10 --protocol modern --out small

{_SETS}"""
_FIGURES = f"""\
figure 4  best possible value against the excess of the trained models, old and new bound
figure 5  unreachable regions of 19 weighted SVMs, old and new bound
figure 6  best value and bound on the training data as models are added, grid and cone
figure 7  value on the test data as models are added

example:
  csf experiment figures --data data --splits 10 --out figures

{_SETS}"""
_STREAM = f"""\
learners (--methods; all without it)
{_listed(LEARNERS)}

example:
  csf experiment stream --data data --sets adult --splits 5 --out streams

{_SETS}"""


def add_experiment(commands: Any, add_command: Callable[..., Any]) -> None:
    """Register ``csf experiment`` and its three kinds.

    Parameters
    ----------
    commands : argparse subparsers
        Of the main parser.
    add_command : callable
        ``add_command(commands, name, text, run, operands=..., epilog=...)``, which makes a parser.
    """
    text = "Re-make the papers' tables and figures, or compare online learners, on your data sets."
    command = commands.add_parser("experiment", help=text, description=text)
    kinds = command.add_subparsers(dest="kind", metavar="KIND", required=True)
    text = "All methods on the same splits: test values, paired differences, ranks, trainings and seconds."
    table = _add_kind(kinds, add_command, "table2", text, _run_table, _TABLE)
    table.add_argument("--methods", metavar="LIST", help="methods, separated by commas, see below (all)")
    protocols = {"choices": list(PROTOCOLS), "default": "paper"}
    table.add_argument("--protocol", **protocols, help="rules of splitting and choosing (paper)")
    text = "The paper's Figures 4 to 7: bounds on the training data, test values of small budgets."
    _add_kind(kinds, add_command, "figures", text, _run_figures, _FIGURES)
    text = "Online learners: metric of the predictions made before learning, against examples and seconds."
    stream = _add_kind(kinds, add_command, "stream", text, _run_streams, _STREAM)
    stream.add_argument("--methods", metavar="LIST", help="learners, separated by commas, see below (all)")
    stream.add_argument("--every", type=int, default=1000, metavar="N", help="examples between two records (1000)")


def _add_kind(kinds, add_command, name, text, run, epilog):
    command = add_command(kinds, name, text, run, operands="--data DIR --out DIR", epilog=epilog, group="experiment ")
    command.add_argument("--data", required=True, metavar="DIR", help="folder of data sets")
    command.add_argument("--out", required=True, metavar="DIR", help="folder to write, made if missing")
    command.add_argument("--sets", metavar="LIST", help="data sets, separated by commas, see below")
    command.add_argument("--splits", type=int, default=5, metavar="N", help="splits of each data set (5)")
    command.add_argument("--large-splits", type=int, metavar="N", help="splits of sets with 10 000 rows and more")
    command.add_argument("--metric", default="f1", metavar="NAME", help="what is maximised (f1)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits (0)")
    command.add_argument("--jobs", type=int, metavar="N", help="parallel workers (1; -1 for all processors)")
    command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors and warnings")
    return command


def _run_table(options, say):
    methods = _chosen("--methods", options.methods, METHODS)
    plan = _plan(options, TABLE_SETS, {name: METHODS[name] for name in methods}, PROTOCOLS[options.protocol])
    command = _start(options, plan, say, [f"--protocol {options.protocol}", f"--methods {','.join(methods)}"])
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
    command = _start(options, plan, say, [f"--methods {','.join(learners)}", f"--every {options.every}"])
    text, paths = run_streams(plan, options.out, every=options.every, command=command, verbose=not options.quiet)
    say(text)
    _end(options, say, paths, environment())


def _plan(options, usual, methods, protocol):
    for name in ("splits", "large_splits"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise CliError(f"--{name.replace('_', '-')} must be at least 1, got {getattr(options, name)}")
    if options.seed < 0 or options.jobs == 0:
        raise CliError("--seed must be at least 0, and --jobs must not be 0")
    get_metric(options.metric)
    if not os.path.isdir(options.data):
        raise CliError(f"--data {options.data}: there is no such folder; give the folder of the data sets")
    known = folder_names(options.data)
    if options.sets is None:
        names = [name for name in usual if name in known] or known
    else:
        names = [name.strip() for name in options.sets.split(",") if name.strip()]
    if not names:
        raise CliError(f"--data {options.data} holds no data set (NAME.npz); name files with --sets FILE:COLUMN=VALUE")
    if len(set(names)) < len(names):
        raise CliError(f"--sets names a data set twice: {', '.join(names)}")
    data = [_read_set(options.data, name) for name in names]
    return Plan(data, methods, protocol, options.splits, options.large_splits, options.metric, options.seed)


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
    words = ["csf", "experiment", options.kind, "--data", options.data, "--out", options.out]
    words += ["--sets", options.sets or ",".join(data.name for data in plan.data), "--splits", str(options.splits)]
    words += [] if options.large_splits is None else ["--large-splits", str(options.large_splits)]
    words += ["--metric", options.metric, "--seed", str(options.seed)]
    words += [word for words in more for word in words.split(" ", 1)]
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
