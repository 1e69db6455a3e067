"""Tables with named columns: CSV, Parquet and JSON Lines files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.names import did_you_mean
from csf._common.reading import reading
from csf.cli.data.columns import is_numeral, listed, warn_of_columns
from csf.cli.data.dataset import Dataset, Features
from csf.cli.data.files import first_line, format_suffix
from csf.cli.data.jsonl import read_json_lines
from csf.cli.data.targets import as_labels, binary_target
from csf.cli.errors import CliError, require

if TYPE_CHECKING:
    from csf.cli.data.dataset import ReadOptions


__all__ = ["SUFFIXES", "read_labelled", "read_unlabelled"]

_SEPARATORS = ",;\t|"


def read_labelled(path: str, options: ReadOptions) -> Dataset:
    """Table with a target column; numbers stay numbers, everything else becomes a category."""
    frame = _read(path)
    columns = list(frame.columns)
    if options.target is None:
        raise CliError(f"name the column of the labels with --target; {path} has {listed(columns)}")
    for name in (options.target, options.sample_weight, *options.drop):
        if name is not None and name not in columns:
            raise CliError(f"{path} has no column {name!r}; it has {listed(columns)}{did_you_mean(name, columns)}")
    y, pos_label = binary_target(_target(frame[options.target]), options.positive)
    weight = None if options.sample_weight is None else _weights(frame[options.sample_weight])
    left_out = {options.target, options.sample_weight, *options.drop}
    frame = frame[[name for name in columns if name not in left_out]]
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
    return _typed(frame, features, path)


def _read_csv(pandas: Any, path: str, text: tuple[str, ...]) -> Any:
    """Columns hold numbers where every entry is one, unless named in ``text``."""
    frame = pandas.read_csv(
        path,
        sep=max(_SEPARATORS, key=first_line(path).count),
        dtype=str,
        na_values=["?"],
        skipinitialspace=True,
        encoding="utf-8-sig",
    )
    for name in frame.columns.difference(text):
        try:
            frame[name] = pandas.to_numeric(frame[name])
        except (ValueError, TypeError):
            continue
    return frame


def _read_parquet(pandas: Any, path: str, text: tuple[str, ...]) -> Any:
    return pandas.read_parquet(path)


# Name of each format, the package it needs, its suffixes, and what reads it into a frame, with the columns that models
# take as texts.
_FORMATS: tuple[tuple[str, str, tuple[str, ...], Callable[[Any, str, tuple[str, ...]], Any]], ...] = (
    ("CSV", "pandas", (".csv", ".tsv"), _read_csv),
    ("Parquet", "pyarrow", (".parquet", ".pq"), _read_parquet),
    ("JSON Lines", "pandas", (".jsonl", ".ndjson"), read_json_lines),
)
SUFFIXES = {suffix: (kind, package, reader) for kind, package, suffixes, reader in _FORMATS for suffix in suffixes}


def _read(path: str, text: tuple[str, ...] = ()) -> Any:
    """File as a frame with rows, its columns named by texts."""
    kind, package, reader = SUFFIXES[format_suffix(path)]
    pandas = require("pandas", f"reading {kind}")
    require(package, f"reading {kind}")
    with reading(path, kind, CliError):
        frame = reader(pandas, path, text)
    if frame.shape[0] == 0:
        raise CliError(f"{path} has no rows")
    frame.columns = pandas.Index([str(name) for name in frame.columns])
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()])
        raise CliError(f"{path} has {listed(twice)} more than once; rename or drop the others")
    return frame


def _is_number(column):
    types = require("pandas", "reading tables").api.types
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        raise CliError(
            f"column {column.name!r} holds dates; turn it into numbers first, or leave it out with --drop {column.name}"
        )
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def _typed(frame, features, path):
    """Numbers as float64, categories as strings, missing entries as NaN, columns in the order of ``features``."""
    columns = {}
    for name in features.numeric:
        if not _is_number(frame[name]):
            bad = next(value for value in frame[name].dropna() if not is_numeral(value))
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
        return as_labels(column.to_numpy(dtype=np.float64))
    return np.array([str(value) for value in column])


def _weights(column):
    if not _is_number(column) or column.isna().any():
        raise CliError(f"sample weights in column {column.name!r} must be numbers >= 0, none missing")
    return column.to_numpy(dtype=np.float64)
