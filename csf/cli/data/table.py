"""Tables with named columns: CSV, Parquet and JSON Lines files."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.files import reading
from csf._common.messages import did_you_mean
from csf.cli.data.columns import is_numeral, listed, warn_of_columns
from csf.cli.data.dataset import Dataset, Features
from csf.cli.data.delimited import read_csv
from csf.cli.data.files import format_suffix
from csf.cli.data.jsonl import read_json_lines
from csf.cli.data.targets import as_labels, read_target
from csf.cli.errors import CliError, require

if TYPE_CHECKING:
    from csf.cli.data.dataset import ReadOptions


__all__ = ["SUFFIXES", "read_labelled", "read_unlabelled"]

# What a cell of a feature, a label or a weight may be.
_CELLS = (str, bool, numbers.Number, np.bool_)


def read_labelled(path: str, options: ReadOptions) -> Dataset:
    """Table with a target column; numbers stay numbers, everything else becomes a category."""
    frame = _read(path, target=options.target)
    columns = list(frame.columns)
    if options.target is None:
        raise CliError(f"name the column of the labels with --target; {path} has {listed(columns)}")
    for name in (options.target, options.sample_weight, *options.drop):
        if name is not None and name not in columns:
            raise CliError(f"{path} has no column {name!r}; it has {listed(columns)}{did_you_mean(name, columns)}")
    kept = (options.target, options.sample_weight)
    frame = _plain(frame, [name for name in columns if name in kept or name not in options.drop])
    y, pos_label = read_target(_target(frame[options.target]), options.positive, several=options.several)
    weight = None if options.sample_weight is None else _weights(frame[options.sample_weight])
    frame = frame[[name for name in frame.columns if name not in kept]]
    if frame.shape[1] == 0:
        raise CliError(f"{path} has no column left to learn from beside {listed(columns)}")
    numeric = tuple(name for name in frame.columns if _is_number(frame[name]))
    categorical = tuple(name for name in frame.columns if name not in numeric)
    warn_of_columns(frame, categorical)
    features = Features("frame", frame.shape[1], numeric, categorical)
    return Dataset(path, _typed(frame, features, path), y, pos_label, features, weight)


def read_unlabelled(path: str, features: Features) -> Any:
    """Columns of a table that a trained model takes, in its order; other columns do not matter."""
    if features.kind != "frame":
        raise CliError(
            f"the model was trained on {features.n_features} features without names, not on a table; {path} is one"
        )
    frame = _read(path, text=features.categorical)
    names = [*features.numeric, *features.categorical]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise CliError(f"{path} lacks {listed(missing)}, which the model was trained on")
    return _typed(_plain(frame, names), features, path)


def _read_parquet(pandas: Any, path: str, text: tuple[str, ...], target: str | None) -> Any:
    return pandas.read_parquet(path)


def _read_json_lines(pandas: Any, path: str, text: tuple[str, ...], target: str | None) -> Any:
    return read_json_lines(pandas, path, text)


# Name of each format, the package it needs, its suffixes, and what reads it into a frame, with the columns that models
# take as texts and the column of the labels.
_FORMATS: tuple[tuple[str, str, tuple[str, ...], Callable[[Any, str, tuple[str, ...], str | None], Any]], ...] = (
    ("CSV", "pandas", (".csv", ".tsv"), read_csv),
    ("Parquet", "pyarrow", (".parquet", ".pq"), _read_parquet),
    ("JSON Lines", "pandas", (".jsonl", ".ndjson"), _read_json_lines),
)
SUFFIXES = {suffix: (kind, package, reader) for kind, package, suffixes, reader in _FORMATS for suffix in suffixes}


def _read(path: str, text: tuple[str, ...] = (), target: str | None = None) -> Any:
    """File as a frame with rows, its columns named by texts."""
    kind, package, reader = SUFFIXES[format_suffix(path)]
    pandas = require("pandas", f"reading {kind}")
    require(package, f"reading {kind}")
    with reading(path, kind, CliError):
        frame = reader(pandas, path, text, target)
    if frame.shape[0] == 0:
        raise CliError(f"{path} has no rows")
    frame.columns = pandas.Index([str(name) for name in frame.columns])
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()])
        raise CliError(f"{path} has {listed(twice)} more than once; rename or drop the others")
    return frame


def _plain(frame: Any, names: Sequence[Any]) -> Any:
    """Some columns of a frame, decimals as floats, after a check that they hold numbers and texts alone."""
    pandas = require("pandas", "reading tables")
    return pandas.DataFrame({name: _plain_column(pandas, frame[name]) for name in names}, index=frame.index)


def _plain_column(pandas: Any, column: Any) -> Any:
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


def _is_number(column):
    types = require("pandas", "reading tables").api.types
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def _typed(frame, features, path):
    """Numbers as float64, categories as strings, missing entries as NaN, columns in the order of ``features``."""
    columns = {}
    for name in features.numeric:
        if not _is_number(frame[name]):
            known = frame[name].dropna()
            bad = next((value for value in known if not is_numeral(value)), *known[:1])
            raise CliError(f"column {name!r} of {path} must hold numbers, as in training; it has {bad!r}")
        columns[name] = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    for name in features.categorical:
        missing = frame[name].isna().to_numpy()
        texts = np.array([str(value) for value in frame[name]], dtype=object)
        texts[missing] = np.nan
        columns[name] = texts
    pandas = require("pandas", "reading tables")
    return pandas.DataFrame({name: pandas.Series(values, dtype=values.dtype) for name, values in columns.items()})


def _target(column):
    missing = int(column.isna().sum())
    if missing:
        raise CliError(f"target {column.name!r} is missing in {missing} of {column.shape[0]} rows; drop those rows")
    types = require("pandas", "reading tables").api.types
    if types.is_bool_dtype(column):
        return column.to_numpy(dtype=bool)
    if types.is_numeric_dtype(column):
        return as_labels(column.to_numpy())
    return np.array([str(value) for value in column])


def _weights(column):
    if not _is_number(column) or column.isna().any():
        raise CliError(f"sample weights in column {column.name!r} must be numbers >= 0, none missing")
    return column.to_numpy(dtype=np.float64)
