"""Parser and runner of commands: options, exit codes, and one-line messages."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
import traceback
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeAlias, TypeVar

from csf._common.messages import did_you_mean
from csf._common.sklearn import options_of
from csf._common.validation import check_count, check_fraction, check_number
from csf.bounds import BOUNDS
from csf.cli import VERSION, compare, predict, search
from csf.cli.data import built_in
from csf.cli.problem import BASES, base_names
from csf.cli.tables import ENCODING, SUFFIXES, CliError, in_options
from csf.data.costs import NORMALIZATIONS
from csf.metrics import CONFUSION_METRICS, METRICS
from csf.metrics.row_costs import OUTCOMES
from csf.monitoring.monitor import UNLABELLED
from csf.report.checks import CHECKS
from csf.report.kinds import GAP, UPPER_BOUND
from csf.search.config import CROSS_FIT, SearchConfig
from csf.strategies import STRATEGIES

# What a user can mend, as against a fault of the program.
_EXPECTED = (CliError, ValueError, TypeError, OSError, MemoryError)


# Parsers of commands, by name, and what an option is read as.
Commands: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"


class _JoinedDemands(argparse.Action):
    """Option of demands: given several times, all of them hold together."""

    def __call__(
        self, parser: ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Add demands to those that were given before."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before}, {values}")


Value = TypeVar("Value")


class CommandParser(ArgumentParser):
    """Parser whose error messages are one line."""

    def error(self, message: str) -> NoReturn:
        raise CliError(f"{message}; see {self.prog} --help")


def add_command(
    commands: Commands,
    name: str,
    text: str,
    run: Callable[..., int | None],
    *,
    operands: str = "DATA",
    epilog: str | None = None,
) -> ArgumentParser:
    """Add the parser of one command, which stores its function as ``run`` in the options."""
    command = commands.add_parser(
        name,
        usage=f"%(prog)s [options] {operands}",
        help=text,
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )
    command.set_defaults(run=run)
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def run_command(parser: ArgumentParser, argv: list[str]) -> int:
    """Run the command of the arguments; return the exit code that `csf.cli.main` describes."""
    try:
        options = parser.parse_args(argv)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            code = options.run(options, _silent if options.quiet else print)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of the output, such as head, is gone: nothing is left to say, nor to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        expected = isinstance(error, _EXPECTED)
        hint = "" if expected else "; --debug shows where"
        return _fail(f"{_one_line(error) or type(error).__name__}{hint}", 2 if expected else 1)
    return code or 0


def _fail(message: str, code: int) -> int:
    print(f"csf: error: {message}", file=sys.stderr)
    return code


def _silent(*values: object, **options: object) -> None:
    """Print nothing."""


def _one_line(error: object) -> str:
    """Shorten a message to its first line, and its last one if that adds the cause, as in a quoted traceback."""
    text = str(error) if isinstance(error, CliError) else in_options(str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join([*lines[:1], *(line for line in lines[-1:] if line not in lines[0])])


def _show_warning(message, category, filename, lineno, file=None, line=None):
    print(f"csf: warning: {_one_line(message)}", file=sys.stderr)


def _explained(term: str, text: str) -> str:
    """Explain a term beside it."""
    return textwrap.fill(text, 96, initial_indent=f"  {term:<15}", subsequent_indent=" " * 17)


def _wrapped(title, names):
    return textwrap.fill(f"{title}: {', '.join(names)}", 96, subsequent_indent="  ")


_EXAMPLES = """\
examples:
  csf search payments --fn-cost amount --fp-cost 5
  csf search train.csv --target churn --positive yes --decimal , --drop-unlabelled
  csf search train.csv --target churn --positive yes --plot cones.png --save model.skops
  csf search train.csv --target churn --positive yes --metric gmean --base logistic --time-limit 60
  csf search train.csv --target fraud --metric recall --constraint "precision >= 0.8"
  csf search train.csv --target species --metric f1_macro
  csf search train.csv --target level --metric f1_macro --constraint "recall[urgent] >= 0.9"
  csf compare breast_cancer --metric gmean --base logistic --splits 5 --out table.csv
  csf predict model.skops new.csv -o scores.csv
  csf predict model.skops new.csv --at-most urgent=50,soon=0.1
  csf predict model.skops today.csv --wrong-at-most 0.2 -o alerts.csv
  csf audit model.skops new.csv --labels 300 -o audit.csv
  csf monitor model.skops june.csv --target churn --state monitor.json
  csf monitor model.skops june.csv --id customer --state monitor.json
  csf monitor model.skops labels.csv --id customer --target churn --state monitor.json
  csf monitor model.skops since_june.csv --target churn --retune retuned.skops
  csf threshold judged.csv --target label --score p --metric recall --constraint "precision >= 0.9"

exit codes:
  0    done
  1    a fault of the program; --debug shows where
  2    an error in the command or the data, said in one line
  3    csf monitor: an alarm
  130  Ctrl-C; a search prints and writes what it has by then
"""

_DATA = f"""\
DATA is one of
  a table                   {", ".join(SUFFIXES)}
                            with --target COLUMN; text columns become categories, missing values
                            (also "?") are imputed
  a LIBSVM file             "label index:value ...", also .gz or .bz2
  a built-in set, one of
    {built_in()}
  csf-data:NAME[:LABEL]     a set NAME.npz in the folder of the environment variable CSF_DATA

what --verbose prints
  trial          one pair of class weights, judged on held-out folds: c_fn of the positives (what a
                 false negative costs), c_fp of the negatives (what a false positive costs)
  own, tuned     metric of the model's own decisions, and at the best threshold on its score
  level t        value of the metric that the weights aim at; - with equal ones
{_explained("upper bound", f"{UPPER_BOUND}; between it and the best value lies what is gained {GAP}")}

{_wrapped("bases", BASES)}
{_wrapped("metrics", [*METRICS, "f<beta>"])}
{_wrapped("of several classes", [*CONFUSION_METRICS, "f<beta>_macro"])}
"""


def make_parser() -> ArgumentParser:
    """Make the parser of all commands."""
    parser = CommandParser(
        prog="csf",
        description="Find the class weights and the threshold that maximise F1, G-mean, Jaccard and the like.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_search(commands)
    _add_compare(commands)
    _add_predict(commands)
    _add_audit(commands)
    _add_monitor(commands)
    _add_threshold(commands)
    return parser


def _add_search(commands):
    text = "Search costs and threshold, and judge the winner on held-out data beside simpler methods."
    command = add_command(commands, "search", text, search.run, epilog=_DATA)
    _add_problem_options(command)
    group = command.add_argument_group("search")
    _add_option(group, "strategy", **_one_of(STRATEGIES))
    _add_option(group, "confidence", metavar="P")
    text = "with --confidence: test a threshold on the out-of-fold scores of all rows, which is not proven"
    group.add_argument("--cross-fit", action="store_const", const=CROSS_FIT, dest="calibration", help=text)
    text = (
        "a further answer, to look at a row: its cost, in units of other costs, of false positives, or of mean errors"
    )
    group.add_argument("--review-cost", type=_cost, default=0.0, metavar="COST", help=text)
    group.add_argument("--review-at-most", type=_probability, metavar="SHARE", help="share of the rows for it at most")
    text = "share of wrong answers without a review at most: a number, or by class, such as urgent=0.01,soon=0.1"
    group.add_argument("--review-wrong", type=_by_name(_probability), metavar="SHARE", help=text)
    _add_option(group, "checkpoint", metavar="FILE")
    group = command.add_argument_group("output")
    group.add_argument("--save", metavar="FILE", help="write the model (.skops), for csf predict")
    group.add_argument("--rule", metavar="FILE", help="write the rule of the winner (.json), for use without csf")
    group.add_argument("--json", metavar="FILE", help='write all results (infinite numbers as "inf", NaN as null)')
    group.add_argument("--no-rivals", action="store_true", help="train no simpler methods beside the search")
    group.add_argument(
        "--mute",
        **_one_of(CHECKS),
        action="append",
        default=[],
        metavar="CODE",
        help="leave out a check, such as CSF001 (repeatable); the guide's page Checks explains each one",
    )
    _add_shown(group, "the trials and their bounds, or the confusion matrix of several classes")


def _add_compare(commands):
    text = "Compare all strategies, the base alone and tuners of its threshold on the same splits."
    command = add_command(commands, "compare", text, compare.run, epilog=_DATA)
    _add_problem_options(command)
    command.add_argument("--splits", type=_count(1), default=5, metavar="N", help="number of random splits (5)")
    group = command.add_argument_group("output")
    group.add_argument("--out", metavar="FILE", help="write the table as CSV, with the value on each split")
    _add_shown(group, "the values on all splits")


def _add_predict(commands):
    text = "Labels and scores of new data by a model of csf search --save."
    epilog = (
        "The score is the one that the threshold of csf search is for: positive where it is at least that.\n"
        "Of several classes each has a column, and the largest one is predicted. With costs of rows\n"
        "expected_gain is what the positive answer saves on average. Columns of a table are found by\n"
        "name; their order and further columns do not matter. Texts that a spreadsheet would run as a\n"
        "formula (those that begin with =, +, -, @ and are no numbers) get an apostrophe in front."
    )
    command = add_command(commands, "predict", text, predict.run, operands="MODEL DATA", epilog=epilog)
    _add_model(command, "rows to predict, in the format of the training data")
    command.add_argument("-o", "--output", metavar="FILE", help="CSV file to write (standard output)")
    command.add_argument("--id", metavar="COL", help="column of row ids, to write beside the predictions")
    text = (
        "what to write, in this order, such as prediction,expected_gain,reason: prediction, decision, score, "
        "probability, expected_gain, reason, and columns of DATA (all results but reason)"
    )
    command.add_argument("--columns", type=_names, metavar="NAMES", help=text)
    command.add_argument(
        "--at-most",
        type=_by_name(_capacity),
        metavar="K",
        help="predict no more rows positive than K, the best ones; a number, a share in (0, 1), or urgent=50,soon=0.1",
    )
    text = (
        "predict rows of DATA, one batch, positive of which at most this share is wrong on average over batches; or by "
        "class, such as urgent=0.2"
    )
    command.add_argument("--wrong-at-most", type=_by_name(_probability), metavar="SHARE", help=text)
    text = f"move to this share of positives, to shares a=0.6,b=0.4, or to those of these rows ({predict.ESTIMATE!r})"
    command.add_argument("--prevalence", type=_by_name(_prevalence), metavar="SHARE", help=text)
    command.add_argument("--save", metavar="FILE", help="write the model too (.skops), with the threshold moved")
    command.set_defaults(quiet=False)


def _add_model(command, data):
    """Add the arguments of commands that take a saved model."""
    command.add_argument("model", metavar="MODEL", help="file written by csf search --save")
    command.add_argument("data", metavar="DATA", help=data)
    command.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="load this type too; only for models whose origin you know (repeatable)",
    )
    _add_format(command)


def _add_format(command):
    """Add the options of tables, with pandas' names."""
    group = command.add_argument_group("how a table is written")
    group.add_argument("--sep", type=_mark, metavar="MARK", help="separator of a CSV file (by its header)")
    group.add_argument("--decimal", type=_mark, default=".", metavar="MARK", help="decimal mark of its numbers (.)")
    group.add_argument("--thousands", type=_mark, metavar="MARK", help="mark between its thousands (none)")
    group.add_argument("--encoding", default=ENCODING, metavar="NAME", help="such as cp1252 (utf-8)")
    text = "another text for a missing entry (repeatable)"
    group.add_argument("--na-values", action="append", default=[], metavar="TEXT", help=text)
    text = "NA, null and the like are values in all columns of texts, not only in labels, ids, groups and segments"
    group.add_argument("--keep-na", action="store_true", help=text)
    text = "whether the first line of a CSV file holds the names of the columns; without one they are 0, 1, 2, ..."
    group.add_argument("--header", action=argparse.BooleanOptionalAction, help=text)


def _add_audit(commands):
    text = "Which new rows to have labelled, so that few labels say what a metric is on all of them."
    epilog = (
        "  csf audit model.skops new.csv --id customer -o audit.csv         300 rows; fill in the column label\n"
        "  csf audit model.skops new.csv --labelled audit.csv               the metric on all rows of new.csv\n\n"
        "Both calls take the same DATA, --labels, --metric and --seed: they draw the same rows."
    )
    command = add_command(commands, "audit", text, predict.run_audit, operands="MODEL DATA", epilog=epilog)
    _add_model(command, "new rows, of which few are to be labelled")
    command.add_argument("--labels", type=_count(1), default=300, metavar="N", help="rows to have labelled (300)")
    command.add_argument("--metric", metavar="NAME", help="what is to be known (the metric of the search)")
    command.add_argument("--id", metavar="COL", help="column of row ids to write (the number of the row, from 1)")
    command.add_argument("-o", "--output", metavar="FILE", help="CSV file of the rows to write (standard output)")
    command.add_argument("--labelled", metavar="FILE", help="the file of these rows with its labels: the metric")
    command.add_argument("--seed", type=_count(0), default=0, metavar="N", help="seed of the draw (0)")
    command.set_defaults(quiet=False)


def _add_monitor(commands):
    text = "Whether a saved model still keeps its level, by new rows with labels; exit code 3 is an alarm."
    epilog = (
        "Each call adds the rows of a table to the state: the same rows under the same name once. Rows without\n"
        "a label are left out. While the level is kept, the probability of an alarm at any time is at most\n"
        "alpha, however often one looks, if it does not depend on the class when a label comes.\n\n"
        "Where labels of positives come later, --id names a column of row ids, and DATA comes in two steps:\n"
        "  csf monitor model.skops june.csv --id customer --state s.json                    decisions\n"
        "  csf monitor model.skops labels.csv --id customer --target churn --state s.json   labels so far\n"
        "Decisions are remembered until all of their table have a label, or for --mature-after later tables,\n"
        "and tables count in the order of their decisions. Tables of labels need no other columns, may be of\n"
        "any rows, and may repeat labels. With --audit, decisions are of the rows that are to be labelled.\n\n"
        "After an alarm --retune, with all rows since then as DATA, saves the model with a new threshold;\n"
        "nothing is counted."
    )
    command = add_command(commands, "monitor", text, predict.run_monitor, operands="MODEL DATA", epilog=epilog)
    _add_model(command, "a table of new rows")
    command.add_argument("--target", metavar="COL", help="column of the labels (none where predictions alone count)")
    command.add_argument("--state", metavar="FILE", help="file of the state (.json), made where missing")
    command.add_argument("--retune", metavar="FILE", help="save the model with the threshold that is best on DATA")
    command.add_argument("--weight", "--sample-weight", metavar="COL", help="column of sample weights")
    text = "the largest weight that a row may ever have (twice the largest one in training)"
    command.add_argument("--max-weight", type=_cost, metavar="W", help=text)
    text = (
        "of a model with costs of rows: the largest cost that a row may ever have (twice the largest one in training)"
    )
    command.add_argument("--max-cost", type=_cost, metavar="C", help=text)
    text = (
        'what is watched, such as "f1 >= 0.6", or of several classes "recall[urgent] >= 0.8" (what the search '
        "promised, else the lower end of its interval)"
    )
    command.add_argument("--constraint", action=_JoinedDemands, metavar="TEXT", help=text)
    command.add_argument(
        "--alpha",
        type=_probability,
        default=0.05,
        metavar="P",
        help="largest probability of an alarm without reason (0.05)",
    )
    command.add_argument(
        "--audit",
        type=_audit,
        default=1.0,
        metavar="SHARE",
        help="share of the rows not predicted positive that have labels, at random: 1 for all (1), 0 for none",
    )
    text = "column of row ids, for labels that come late: without --target DATA holds decisions, with it their labels"
    command.add_argument("--id", metavar="COL", help=text)
    text = "a table of decisions counts after N later ones, though labels are missing (never)"
    command.add_argument("--mature-after", type=_count(1), metavar="N", help=text)
    text = "what its rows without a label are then: negative, or left out (drop)"
    command.add_argument("--unlabelled", **_one_of(UNLABELLED), help=text)
    text = "alpha is for so many tables, such as the 52 of a year: alarms come sooner (for any number of them)"
    command.add_argument("--weeks", type=_count(1), metavar="N", help=text)
    command.add_argument("--name", metavar="TEXT", help="name of these rows, such as a date (that of the file)")
    command.add_argument("--plot", metavar="FILE", help="draw all batches and the evidence (.png, .pdf, ...)")
    _add_quiet(command)


def _add_threshold(commands):
    text = "The best threshold on a column of scores, whatever gave them, and the value to expect of it."
    epilog = "The scores are those of rows that their model has not been fitted to."
    command = add_command(commands, "threshold", text, search.run_threshold, operands="TABLE", epilog=epilog)
    command.add_argument("data", metavar="TABLE", help=f"file with named columns ({', '.join(SUFFIXES)})")
    _add_labels(command, required=True)
    command.add_argument("--score", metavar="COL", required=True, help="column of the scores, larger for positives")
    command.add_argument("--lower-is-positive", action="store_true", help="scores are smaller for positives")
    _add_group(command)
    _add_option(command, "metric", metavar="NAME")
    _add_labelled(command)
    command.add_argument(
        "--constraint", action=_JoinedDemands, metavar="TEXT", help='demand such as "precision >= 0.8" or "fpr <= 0.01"'
    )
    _add_option(command, "confidence", metavar="P")
    text = "demands, named after looking too: the threshold at which all are certain (with --confidence, 0.9)"
    command.add_argument("--certify", action=_JoinedDemands, metavar="TEXT", help=text)
    command.add_argument("--seed", type=_count(0), default=0, metavar="N", help="seed of draws (0)")
    command.add_argument("--json", metavar="FILE", help="write what was found")
    command.add_argument("--report", metavar="FILE", help="write all of it as one page for a browser (.html)")
    _add_quiet(command)
    _add_format(command)


def _add_labels(group, *, required):
    """Add the options about labels and weights."""
    group.add_argument("--target", metavar="COL", required=required, help="column of the labels")
    text = "positive class; all others are joined; without it metrics of several classes take all"
    group.add_argument("--positive", "--pos", metavar="VALUE", help=text)
    group.add_argument("--sample-weight", metavar="COL", help="column of sample weights")
    text = "leave out rows without a label, and say how many"
    group.add_argument("--drop-unlabelled", action="store_true", help=text)


def _add_problem_options(command):
    """Add the options that search and compare share."""
    command.add_argument("data", metavar="DATA", help="file or name of a data set, see below")
    group = command.add_argument_group("data")
    _add_labels(group, required=False)
    for name, what in OUTCOMES.items():
        text = f"cost of {what} in each row: a number, a column, or a share of it such as 0.05*amount"
        group.add_argument(f"--{name}-cost", metavar="COST", help=text)
    _add_group(group)
    group.add_argument("--drop", action="append", default=[], metavar="COL", help="leave out a column (repeatable)")
    group.add_argument("--test-size", type=_share, default=0.25, metavar="SHARE", help="share held out (0.25)")
    group.add_argument("--seed", type=_count(0), default=0, metavar="N", help="seed of splits and bases (0)")
    _add_format(command)
    group = command.add_argument_group("what is searched")
    _add_option(group, "metric", metavar="NAME", more=", see below")
    _add_labelled(group)
    _add_option(group, "constraint", metavar="TEXT", action=_JoinedDemands)
    group.add_argument(
        "--base",
        "--model",
        type=_bases,
        default="linear-svc",
        metavar="NAME",
        help="classifier (linear-svc); several with commas, such as logistic,forest,lightgbm, auto for these, or all",
    )
    group.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="values of a parameter of the base to search too, e.g. C=0.1,1,10 (repeatable); without it the C of "
        "linear bases is searched, C=1 keeps it",
    )
    _add_option(group, "n_trials", "--trials", metavar="N", more="; a ladder has 6 at most")
    _add_option(group, "threshold", **_one_of(("stable", "tune", "none")))
    _add_option(group, "cv", type=_folds, metavar="CV")
    _add_option(group, "normalize", **_one_of(NORMALIZATIONS))
    _add_option(group, "bound", **_one_of(BOUNDS))
    _add_option(group, "tol", metavar="GAP")
    _add_option(group, "time_limit", metavar="SECONDS", more=", for the whole command")
    _add_option(group, "n_jobs", "--jobs", metavar="N")


def _add_option(group, name, flag=None, *, more="", **arguments):
    """Add an option of a search; its default, words and check are those of `csf.search.config.SearchOptions`."""
    known, default = options_of(SearchConfig)[name], getattr(SearchConfig, name)
    words = f"{known.words}{more}" if default is None else f"{known.words} ({default}){more}"
    given = {
        "dest": name,
        "default": default,
        "help": words.replace("%", "%%"),
        "type": _checked(known.check),
    } | arguments
    group.add_argument(flag or f"--{name.replace('_', '-')}", **given)


def _add_group(group):
    """Add the option about rows that belong together."""
    text = "column of what rows belong together by, such as a customer; it is no feature"
    group.add_argument("--group", metavar="COL", help=text)


def _add_labelled(group):
    """Add the option about labels that miss positives."""
    text = "share of the positives that are labelled, or a range such as 0.15,0.3: metric and demands are of the truth"
    group.add_argument("--labelled", type=_shares, metavar="SHARE", help=text)


def _add_shown(group, drawn):
    """Add the options that search and compare share about plots, pages and the amount of output."""
    group.add_argument("--plot", metavar="FILE", help=f"draw {drawn} (.png, .pdf, ...)")
    group.add_argument("--report", metavar="FILE", help="write all of it as one page for a browser (.html)")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="print all trials, methods and checks")
    _add_quiet(loudness)


def _add_quiet(group):
    """Add the option of commands that print what they find."""
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors and warnings")


def _one_of(known):
    """Return the arguments of an option with a choice of names, whose error suggests the nearest name."""
    known = list(known)

    def parse(text):
        if text not in known:
            hint = did_you_mean(text, known)
            raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {', '.join(known)}){hint}")
        return text

    return {"type": parse, "choices": known}


def _bases(text):
    """Check that each base in a list of names is known."""
    for name in base_names(text):
        _one_of(BASES)["type"](name)
    return text


def _checked(check: Callable[[Any, str], object] | None) -> Callable[[str], str | float]:
    """Make the type of an option: the text, or the number that it is, which passes a check of csf."""

    def parse(text):
        values: list[str | float] = [text]
        refusal = None
        with suppress(ValueError):
            values.append(float(text))
        with suppress(ValueError):
            values[1:] = [int(text)]
        for value in values:
            try:
                if check is not None:
                    check(value, "it")
                return value
            except (TypeError, ValueError) as error:
                refusal = str(error).removeprefix("it ")
        raise argparse.ArgumentTypeError(refusal)

    return parse


def _number(kind: Callable[[str], Value], accept: Callable[[Value], bool], accepted: str) -> Callable[[str], Value]:
    """Make the type of an option that accepts some numbers."""

    def parse(text):
        with suppress(ValueError):
            value = kind(text)
            if accept(value):
                return value
        raise argparse.ArgumentTypeError(f"must be {accepted}, got {text!r}")

    return parse


# A class, which may hold commas, and its number.
_PAIR = re.compile(r"(.+?)=([^=,]+)(?:,|$)")


def _by_name(parse: Callable[[str], Value]) -> Callable[[str], Value | dict[str, Value]]:
    """Make the type of an option with one number, or with numbers by class, such as ``urgent=50,soon=100``."""

    def parse_all(text):
        if "=" not in text:
            return parse(text)
        if _PAIR.sub("", text):
            raise argparse.ArgumentTypeError(f"must be numbers by class, such as urgent=50,soon=100; got {text!r}")
        return {name.strip(): parse(number.strip()) for name, number in _PAIR.findall(text)}

    return parse_all


def _shares(text):
    """Read a share, or the smallest and the largest one."""
    shares = tuple(_labelled(part) for part in text.split(","))
    return shares[0] if len(shares) == 1 else shares


def _names(text):
    """Read names with commas between them, without repeats."""
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise argparse.ArgumentTypeError(f"must be names with commas, such as prediction,score; got {text!r}")
    return list(dict.fromkeys(names))


_mark = _number(
    lambda text: "\t" if text == "\\t" else text, lambda mark: len(mark) == 1, "one character (\\t for a tab)"
)


def _count(minimum):
    return _checked(partial(check_count, minimum=minimum))


_capacity = _number(
    lambda text: int(text) if text.isdigit() else float(text),
    lambda k: isinstance(k, int) or 0 < k < 1,
    "a number of rows, or a share of them in (0, 1)",
)
_share = _number(float, lambda x: 0 <= x < 1, "a share in [0, 1)")
_prevalence = _number(
    lambda text: text if text == predict.ESTIMATE else float(text),
    lambda share: isinstance(share, str) or 0 < share < 1,
    f"a share in (0, 1), or {predict.ESTIMATE!r}",
)
_probability = _checked(check_fraction)
_labelled = _number(float, lambda x: 0 < x <= 1, "a share in (0, 1], or two such as 0.15,0.3")
_audit = _number(float, lambda x: 0 <= x <= 1, "a share in [0, 1]")
_cost = _checked(check_number)
_splits = _number(float, lambda x: 0 < x < 1 or (x >= 2 and x == int(x)), "folds >= 2, a share in (0, 1) or 'oob'")


def _folds(text):
    if text == "oob":
        return text
    number = _splits(text)
    return number if number < 1 else int(number)
