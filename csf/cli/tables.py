"""User errors, and tables: read from CSV, Parquet and JSON Lines files, or shown on a terminal."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import numbers
import re
import shlex
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.files import UNPACKING, reading
from csf._common.messages import warn
from csf._common.typing import Params, Samples
from csf.report.checks import is_counter

if TYPE_CHECKING:
    from pandas import DataFrame as Frame
    from pandas import Index


class CliError(Exception):
    """Error in the command or the data that the user can correct; shown as one line."""


# What follows the name of an option in messages, and at the command line.
_ENDS = (("= ", " "), ("=", " "), (" ", " "), (":", ":"))
# What messages of csf in Python say, and the option; names that hold others come first.
_OPTIONS = (
    ("give -score, or the other pos_label", "give --lower-is-positive, or the other --positive"),
    ("constraint=csf.metrics.Constraint(metric, '<=', level)", "--constraint 'metric <= level'"),
    *((f"{name}=", f"--{name} ") for name in ("confidence", "constraint")),
    *(("pos_label=", "--positive "), ("pos_label", "--positive"), ("param_grid", "--param"), ("n_trials", "--trials")),
    *(("time_limit=", "--time-limit "), ("sample_weight", "--sample-weight")),
    ("review=Review(wrong=0.05)", "--review-wrong 0.05"),
    *((f"wrong_at_most{end}", f"--wrong-at-most{to}") for end, to in _ENDS),
    *((f"at_most{end}", f"--at-most{to}") for end, to in _ENDS),
    ("pos must have a share", "--prevalence must have a share"),
    *(("unlabelled=", "--unlabelled "), ("mature_after=", "--mature-after "), ("mature_after", "--mature-after")),
)


def in_options(text: str) -> str:
    """Replace the names of csf's parameters in a message by the options of the command line."""
    for name, option in _OPTIONS:
        text = text.replace(name, option)
    return text


def require(module: str, purpose: str) -> ModuleType:
    """Import a package of the extra ``csf-search[cli]``."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise CliError(f"{purpose} needs {package}: pip install 'csf-search[cli]'") from error


# ---------------------------------------------------------------- tables from files


# UTF-8, with a byte order mark or without.
ENCODING = "utf-8-sig"


def _open_zip(path: str, mode: str, encoding: str | None = None, newline: str | None = None) -> IO[Any]:
    """Open the only file of an archive."""
    with zipfile.ZipFile(path) as archive:  # which stays open as long as its file
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise ValueError(f"the archive holds {len(names)} files; accepted: one. Unpack it, and give the table")
        file = archive.open(names[0])
    return file if "b" in mode else io.TextIOWrapper(file, encoding=encoding, newline=newline)


_COMPRESSED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": _open_zip}


def format_suffix(path: str) -> str:
    """Return the suffix of the format, without that of the compression.

    Parameters
    ----------
    path : str
        File name.

    Returns
    -------
    str
        The suffix in lower case, with its dot.

    Examples
    --------
    >>> format_suffix("train.CSV.gz")
    '.csv'
    """
    name = Path(path)
    if name.suffix.lower() in _COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower() or (".csv" if Path(path).suffix.lower() == ".zip" else "")


def opened(path: str, mode: str, **options: str) -> IO[Any]:
    """Open a file, and decompress it as it is read."""
    return _COMPRESSED.get(Path(path).suffix.lower(), open)(path, mode, **options)


def first_line(path: str, encoding: str = ENCODING) -> str:
    """Return the first line that is not empty or a comment."""
    try:
        with opened(path, "rt", encoding=encoding) as file:
            return next((line.strip() for line in file if line.strip() and not line.startswith("#")), "")
    except UnicodeError:
        return ""
    except UNPACKING as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        return ""


@contextmanager
def _decoding() -> Iterator[None]:
    """Decode texts within this context: an error names the invalid bytes and the option to set."""
    try:
        yield
    except UnicodeError as error:
        context = (
            error.object[max(error.start - 8, 0) : error.end + 8] if isinstance(error, UnicodeDecodeError) else b""
        )
        likely = (
            "cp1252" if b"\0" not in context else "utf-16" if context[0] >= 0xFE else "utf-16-le"
        )  # which has no mark
        decoded = f" (in {likely} it reads {context.decode(likely, 'replace')!r})" if context else ""
        raise ValueError(f"{error}{decoded}; give the encoding of the file, such as --encoding {likely}") from None


# What a cell of a feature, a label or a weight may be.
_CELLS = (str, bool, numbers.Number, np.bool_)


# ---------------------------------------------------------------- CSV


_SEPARATORS = ",;\t|"
_EMPTY = ("", "?")
# What spreadsheets, databases and languages write for an entry that is missing. A class may be called so, too.
_ABSENT = (
    *("NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# Spaces that separate thousands.
_SPACES = " \u00a0\u2009\u202f"


@dataclass(frozen=True)
class TableFormat:
    """Format of a table, by the options that have pandas' names.

    Parameters
    ----------
    sep : str, default=None
        Separator of fields; by default the most frequent one in the header.
    decimal, thousands : str, default="." and None
        Marks in numbers.
    encoding : str, default="utf-8-sig"
        Encoding of the texts.
    na_values : tuple of str, default=()
        Further texts that mean a missing entry.
    keep_na : bool, default=False
        Whether ``NA`` and its likes are texts in columns of texts.
    header : bool, default=None
        Whether the first line holds the names of the columns; ``None`` refuses a first line that looks like data.
    """

    sep: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = ENCODING
    na_values: tuple[str, ...] = ()
    keep_na: bool = False
    header: bool | None = None

    @classmethod
    def of(cls, options: Namespace) -> Self:
        """Read the format from the options of a command."""
        if options.decimal == options.thousands:
            raise CliError(f"--decimal and --thousands must differ, got {options.decimal!r} twice")
        marks = options.sep, options.decimal, options.thousands, options.encoding
        return cls(*marks, tuple(options.na_values), options.keep_na, options.header)

    @cached_property
    def _number(self) -> re.Pattern[str]:
        """Pattern of numbers with these marks."""
        point, mark = re.escape(self.decimal), f"[{re.escape(self._marks)}]"
        whole = rf"\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|\d+" if self.thousands else r"\d+"
        return re.compile(rf"[+-]?(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")

    @property
    def _marks(self) -> str:
        """Characters that separate thousands; a space stands for every kind of space."""
        return _SPACES if self.thousands == " " else self.thousands or ""

    def numeral(self, text: str) -> str | None:
        """Return a number as Python writes it, without a percent sign; ``None`` where the text is not a number."""
        text = text.strip().removesuffix("%").rstrip()
        if not self._number.fullmatch(text):
            return None
        return text.translate(dict.fromkeys(map(ord, self._marks))).replace(self.decimal, ".")

    def numbers(self, pandas: ModuleType, column: Samples) -> Samples:
        """Convert a column of texts to numbers, all with a percent sign or none; raise a ValueError for other texts."""
        known = column.dropna()
        signed = known.str.endswith("%")
        if not signed.any() and (self.decimal, self.thousands) == (USUAL.decimal, USUAL.thousands):
            return pandas.to_numeric(column)
        read = known.map(self.numeral)
        if signed.nunique() > 1 or read.isna().any():
            raise ValueError("some entries are no numbers")
        return pandas.to_numeric(read.reindex(column.index))


USUAL = TableFormat()
# How else people write numbers, by the options that say so.
_WRITTEN = {
    "--decimal ,": TableFormat(decimal=","),
    "--thousands ,": TableFormat(thousands=","),
    "--decimal , --thousands .": TableFormat(decimal=",", thousands="."),
    "--thousands ' '": TableFormat(thousands=" "),
    "--decimal , --thousands ' '": TableFormat(decimal=",", thousands=" "),
    '--thousands "\'"': TableFormat(thousands="'"),
    '--decimal , --thousands "\'"': TableFormat(decimal=",", thousands="'"),
}


def number_options(texts: Sequence[str]) -> str:
    """List the options by which all texts are numbers, with the result for one of them; empty for none."""
    odd, ways = [text for text in texts if USUAL.numeral(text) is None], {}
    for options, form in _WRITTEN.items():
        if odd and all(map(form.numeral, texts)):
            ways.setdefault(form.numeral(odd[0]), options)
    return " or ".join(f"{options} ({odd[0]} is {number})" for number, options in ways.items())


# A code that would lose zeros as a number.
_CODE = r"\s*[+-]?0\d"


def read_csv(
    pandas: ModuleType, path: str, text: tuple[str, ...] = (), kept: tuple[str, ...] = (), form: TableFormat = USUAL
) -> Frame:
    """Read a CSV file as a frame; columns are numeric where every entry is a number, unless named in ``text``.

    Texts such as ``NA`` mean that an entry is missing, except in columns of texts that are named in ``kept``: there
    they are values, and codes such as ``01`` are texts.
    """
    separator = form.sep or max(_SEPARATORS, key=first_line(path, form.encoding).count)
    names = _checked_names(path, separator, form)
    empty, texts = (*_EMPTY, *form.na_values), names if form.keep_na else kept
    with opened(path, "rt", encoding=form.encoding, newline="") as file:
        frame = pandas.read_csv(
            file,
            sep=separator,
            header=None if form.header is False else 0,
            names=names,
            # pandas would take the first column for the names of the rows wherever these are longer than the header.
            index_col=False,
            dtype=str,
            keep_default_na=False,
            na_values={name: empty if name in texts else (*empty, *_ABSENT) for name in names},
            skipinitialspace=True,
        )
    for name in frame.columns.difference(text):
        column = frame[name]
        try:
            if name in kept and column.dropna().str.match(_CODE).any():
                raise ValueError("these are codes")
            frame[name] = form.numbers(pandas, column.mask(column.isin(_ABSENT)) if name in texts else column)
        except (ValueError, TypeError):
            if name in kept and not form.keep_na:
                _warn_of_values(column)
    return frame


def _checked_names(path: str, separator: str, form: TableFormat) -> list[str]:
    """Return the column names, after a check that they differ and that every row has as many fields."""
    # pandas fills in rows that are too short, cuts off what all rows have too many of, and renames repeated columns.
    with opened(path, "rt", encoding=form.encoding, newline="") as file:
        rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
        names = next((row for row in rows if not _is_blank(row)), None)
        if names is None:
            raise ValueError("No columns to parse from file")
        if any("\0" in name for name in names):
            raise ValueError("its texts hold zero bytes; give the encoding of the file, such as --encoding utf-16-le")
        names = [name or f"Unnamed: {number}" for number, name in enumerate(names)]
        if form.header is False:
            names = [str(number) for number in range(len(names))]
        elif form.header is None:
            _check_header(names, form)
        twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
        if twice is not None:
            way = "; if the first line holds data, give --no-header" if form.numeral(twice) else ""
            raise ValueError(f"the header has the column {twice!r} more than once; rename or remove the others{way}")
        for row in rows:
            if len(row) != len(names) and not _is_blank(row):
                raise ValueError(
                    f"line {rows.line_num} has {_fields(len(row))}, the header has {len(names)} (separated by "
                    f"{separator!r}; --sep names another one). Give each row as many fields as the header, without a "
                    "separator at the end of a line that the header lacks; quote texts that hold the separator"
                )
    return names


def _check_header(names: list[str], form: TableFormat) -> None:
    """Raise a ValueError for a header of numbers that do not count the columns; warn of some that are no counts."""
    numbers = [number for number in map(form.numeral, names) if number is not None]
    way = "give --no-header (columns are then called 0, 1, 2, ...)"
    counts = [[str(number + first) for number in range(len(names))] for first in (0, 1)]
    if len(numbers) == len(names) and numbers not in counts:
        shown = ", ".join(names[:3])
        raise ValueError(
            f"all names of its columns are numbers ({shown}, ...), so that the first line may hold data: {way}, or "
            "--header if these are the names"
        )
    if odd := next((number for number in numbers if not number.isdigit()), None):
        warn(f"a column is called {odd}: if the first line holds data, {way}, else --header")


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _fields(number: int) -> str:
    return "1 field" if number == 1 else f"{number} fields"


def _warn_of_values(column: Samples) -> None:
    """Warn of classes and the like that may be missing entries, where enough others remain for a search."""
    counts = column.value_counts()
    odd = [name for name in counts.index if name in _ABSENT]
    if odd and len(counts) - len(odd) >= 2:
        listed = ", ".join(f"{name!r} ({counts[name]} rows)" for name in odd)
        warn(
            f"column {column.name!r}: {listed} is taken for a value, as with --keep-na; if it means a missing entry, "
            f"give --na-values {shlex.quote(odd[0])} (and --drop-unlabelled for labels)"
        )


# ---------------------------------------------------------------- JSON Lines


def read_json_lines(
    pandas: ModuleType, path: str, text: tuple[str, ...] = (), kept: tuple[str, ...] = (), form: TableFormat = USUAL
) -> Frame:
    """Read a file with one object per line, whose keys are the columns."""
    # pandas.read_json takes the last of equal keys, rounds integers and a quarter of the decimals, reads dates by the
    # names of columns, and names no line; it takes a third of the time.
    with opened(path, "rt", encoding=form.encoding) as file:
        rows = [_row(line, number) for number, line in enumerate(file, start=1) if line.strip()]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pandas.DataFrame(
        {name: pandas.Series(values, dtype=_type_of(values, name in text)) for name, values in columns.items()},
        index=range(len(rows)),
    )


def _type_of(values: list[object], as_text: bool) -> type | None:
    """Choose a column's type: texts stay texts, an empty column is numeric, and pandas infers the others."""
    if as_text:
        return object
    return float if all(value is None for value in values) else None


def _row(line: str, number: int) -> Params:
    """Parse and check the object of one line."""
    try:
        row = json.loads(line, object_pairs_hook=_without_repetition)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f'line {number} holds {line.strip()[:40]}, not an object such as {{"age": 42}}')
    for name, value in row.items():
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise ValueError(f"line {number}: {name!r} holds a number too large for 64 bits; write it as a text")
        if isinstance(value, dict | list):
            raise ValueError(
                f"line {number}: {name!r} holds {json.dumps(value)[:40]}; accepted: numbers, texts, true, false and "
                "null. Give nested values columns of their own"
            )
    return row


def _without_repetition(pairs: list[tuple[str, object]]) -> Params:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return row


# ---------------------------------------------------------------- frames


def _read_parquet(
    pandas: ModuleType, path: str, text: tuple[str, ...], kept: tuple[str, ...], form: TableFormat
) -> Frame:
    return pandas.read_parquet(path)


# Name of each format, the package it needs, its suffixes, and what reads it into a frame, with the columns that models
# take as texts and those whose texts are values.
_FORMATS: tuple[tuple[str, str, tuple[str, ...], Callable[..., Frame]], ...] = (
    ("CSV", "pandas", (".csv", ".tsv", ".txt"), read_csv),
    ("Parquet", "pyarrow", (".parquet", ".pq"), _read_parquet),
    ("JSON Lines", "pandas", (".jsonl", ".ndjson"), read_json_lines),
)
SUFFIXES = {suffix: (kind, package, reader) for kind, package, suffixes, reader in _FORMATS for suffix in suffixes}


def read_table(path: str, text: tuple[str, ...] = (), kept: tuple[str, ...] = (), form: TableFormat = USUAL) -> Frame:
    """Read a file as a frame with rows and text column names; `read_csv` describes ``text`` and ``kept``."""
    kind, package, reader = SUFFIXES[format_suffix(path)]
    pandas = require("pandas", f"reading {kind}")
    require(package, f"reading {kind}")
    if kind != "CSV" and replace(form, encoding=ENCODING) != USUAL:
        raise CliError(
            f"--sep, --decimal, --thousands, --na-values, --keep-na and --no-header are for CSV files; {path} is {kind}"
        )
    with reading(path, kind, CliError), _decoding():
        frame = reader(pandas, path, text, kept, form)
    if frame.shape[0] == 0:
        raise CliError(f"{path} has no rows")
    frame.columns = pandas.Index([str(name) for name in frame.columns])
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()])
        raise CliError(f"{path} has {listed(twice)} more than once; rename or drop the others")
    return frame


def plain(frame: Frame, names: Sequence[object]) -> Frame:
    """Select columns of a frame, decimals as floats, after a check that they hold only numbers and texts."""
    pandas = require("pandas", "reading tables")
    return pandas.DataFrame({name: _plain_column(pandas, frame[name]) for name in names}, index=frame.index)


def _plain_column(pandas: ModuleType, column: Samples) -> Samples:
    types = pandas.api.types
    cells = column.array.categories if isinstance(column.dtype, pandas.CategoricalDtype) else column
    kinds = set(map(type, cells.dropna())) if types.is_object_dtype(cells) else set()
    lasting = types.is_timedelta64_dtype(cells)
    if lasting or types.is_datetime64_any_dtype(cells) or any(issubclass(kind, (date, time)) for kind in kinds):
        raise CliError(
            f"column {column.name!r} holds {'durations' if lasting else 'dates'}; turn it into numbers first, or leave "
            f"it out with --drop {column.name}"
        )
    odd = next((kind.__name__ for kind in kinds if not issubclass(kind, _CELLS)), None)
    if odd is not None:
        raise CliError(
            f"column {column.name!r} holds entries of the type {odd}; accepted: numbers, texts and booleans. Give "
            f"their parts columns of their own, or leave it out with --drop {column.name}"
        )
    return column.astype(np.float64) if kinds == {Decimal} else column


def is_number(column: Samples) -> bool:
    """Check whether a column holds numbers; booleans are not numbers."""
    types = require("pandas", "reading tables").api.types
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def way_out(column: Samples) -> str:
    """Return the options that make a column numeric, for the end of a message; empty for none."""
    options = number_options(column.dropna().astype(str).unique().tolist())
    return options and f"; give {options}"


def typed(
    frame: Frame, numeric: Sequence[str], categorical: Sequence[str], path: str, kept: Sequence[str] = ()
) -> Frame:
    """Convert numbers to float64, categories to strings, missing entries to NaN; numeric columns come first.

    Whole numbers in columns that are named in ``kept`` stay what they are.
    """
    pandas, columns = require("pandas", "reading tables"), {}
    for name in numeric:
        if not is_number(frame[name]):
            known = frame[name].dropna()
            bad = next((value for value in known if not is_numeral(value)), *known[:1])
            raise CliError(
                f"column {name!r} of {path} must hold numbers, as in training; it has {bad!r}{way_out(known)}"
            )
        whole = name in kept and pandas.api.types.is_integer_dtype(frame[name]) and not bool(np.any(frame[name].isna()))
        columns[name] = frame[name].to_numpy(dtype=np.int64 if whole else np.float64, na_value=np.nan)
    for name in categorical:
        missing = frame[name].isna().to_numpy()
        texts = np.array([str(value) for value in frame[name]], dtype=object)
        texts[missing] = np.nan
        columns[name] = texts
    return pandas.DataFrame({name: pandas.Series(values, dtype=values.dtype) for name, values in columns.items()})


# ---------------------------------------------------------------- columns that were probably meant to be something else


_SHOWN = 12
# More distinct texts than this are no categories, and so many share a column with what else is in it by accident.
_MANY = 20
_NAMED = r"\d{1,2}[ -]?[a-z]{3,9}\.?[ ,-]*\d{4}|[a-z]{3,9}\.? \d{1,2},? \d{4}"
_DAY = rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})|{_NAMED})"
_TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?( ?(z|utc|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(rf"{_DAY}([t ]{_TIME})?|{_TIME}", re.IGNORECASE)
_NUMBER = re.compile(rf"[+-]?[$€£]? ?[+-]?(\d[\d,.'{_SPACES}]*|[.,]\d+)(e[+-]?\d+)? ?[%$€£]?", re.IGNORECASE)


def warn_of_columns(frame: Samples, categorical: Sequence[str]) -> None:
    """Warn of dates and numbers that are texts, of names and keys, and of columns without information."""
    for name in categorical:
        texts = frame[name].dropna().astype(str)
        suspicion = _suspicion(texts, frame.shape[0])
        if suspicion and texts.nunique() > _MANY and way_out(texts):
            raise CliError(f"column {name!r} {suspicion} --drop {name!r}")
        if suspicion:
            warn(f"column {name!r} {suspicion} --drop {name!r}")
    for name in frame.columns.difference(list(categorical)):
        if is_counter(frame[name].to_numpy(np.float64, na_value=np.nan)):
            way = f"unless it is a time, leave it out with --drop {name!r}"
            warn(f"column {name!r} has another whole number in each row, as row numbers and keys have; {way}")
    same = [name for name in frame.columns if frame[name].nunique(dropna=False) <= 1] if frame.shape[0] > 1 else []
    if same:
        tell = "holds" if len(same) == 1 else "hold"
        warn(f"{listed(same)} {tell} the same in every row, which carries no information; leave it out with --drop")


def _suspicion(texts, n_rows):
    """Describe an odd column of texts and the remedies besides ``--drop``; empty for a normal one."""
    counts = texts.value_counts()
    known = counts.index.tolist()
    dates = [text for text in known if _DATE.fullmatch(text.strip())]
    if dates and len(dates) >= 0.9 * len(known):
        return (
            f"holds dates or times, such as {dates[0]!r}, and each of the {len(known)} becomes a category; turn them "
            "into numbers (days since one day, the month, ...), or leave it out with"
        )
    numbers = [text for text in known if _NUMBER.fullmatch(text.strip())]
    options = number_options(numbers)
    if len(numbers) >= 0.5 * len(known) and (len(known) > _MANY or (options and len(numbers) == len(known))):
        odd = next((text for text in known if not is_numeral(text)), known[0])
        correct = "correct such entries (missing ones: --na-values, marks: --decimal and --thousands)"
        return (
            f"looks like numbers, but {odd!r} is none, and each of the {len(known)} texts becomes a category; "
            f"{f'give {options}' if options else correct}, or leave it out with"
        )
    if len(known) > max(_MANY, n_rows / 2):
        return f"has {len(known)} distinct texts in {n_rows} rows; if it is a name or a key, leave it out with"
    return ""


def is_numeral(value: Any) -> bool:
    """Check whether an entry is a number, or a text that represents one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def listed(names: Sequence[object] | Index) -> str:
    """List names of columns for a message, only the first of many."""
    rest = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names[:_SHOWN]))}{rest}"


# ---------------------------------------------------------------- tables for a terminal


def format_number(value: float | None, spec: str = ".4f") -> str:
    """Format a number; ``-`` stands for a missing one."""
    if value is None or math.isnan(value):
        return "-"
    return format(value, spec) if math.isfinite(value) else str(float(value))


def format_mean(mean: float, spread: float, spec: str = ".4f") -> str:
    """Format a mean and its spread, such as ``0.8125 ± 0.0312``, without a spread that is NaN."""
    if math.isnan(spread):
        return format_number(mean, spec)
    return f"{format_number(mean, spec)} ± {format_number(spread, spec.lstrip('+'))}"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Format a table with aligned columns: the first ``left`` ones flush left, numbers flush right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        padded = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths))
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join(
        "-" * (width + 2) if place < left else "-" * (width + 1) + ":" for place, width in enumerate(widths)
    )
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])
