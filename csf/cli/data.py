"""Labelled data and samples: tables, LIBSVM files, built-in sets, and sets in the folder of ``CSF_DATA``."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn import datasets
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from csf._common.dtypes import is_integer
from csf._common.dtypes import is_number as is_numeric
from csf._common.files import read_arrays, reading
from csf._common.messages import did_you_mean
from csf._common.typing import Array, BoolArray, Estimator, Label, Samples, Values
from csf.cli.tables import (
    SUFFIXES,
    USUAL,
    CliError,
    TableFormat,
    first_line,
    format_suffix,
    is_number,
    listed,
    opened,
    plain,
    read_table,
    require,
    typed,
    warn_of_columns,
    way_out,
)
from csf.data.folds import read_groups
from csf.data.labels import Labels
from csf.metrics import get_constraint

# Dense copies of sparse data are made up to this many numbers (1 GiB).
_MAX_DENSE = 1 << 27


@dataclass(frozen=True)
class ReadOptions:
    """Options of the command line about the columns of a data set.

    Parameters
    ----------
    target : str, default=None
        Column of the labels.
    positive : str, default=None
        The positive class.
    sample_weight : str, default=None
        Column of the sample weights.
    drop : tuple of str, default=()
        Columns to leave out.
    only : tuple of str, default=()
        Columns to read alone, such as scores; they are no features.
    group : str, default=None
        Column of what rows belong together by; it is no feature.
    segments : str, default=None
        Column whose values have rates or thresholds of their own.
    several : bool, default=False
        Whether more than two classes stay as they are where none is positive.
    drop_unlabelled : bool, default=False
        Whether rows without a label are left out.
    form : TableFormat
        Format of the table.
    """

    target: str | None = None
    positive: str | None = None
    sample_weight: str | None = None
    drop: tuple[str, ...] = ()
    several: bool = False
    drop_unlabelled: bool = False
    form: TableFormat = USUAL
    only: tuple[str, ...] = ()
    group: str | None = None
    segments: str | None = None

    @classmethod
    def of(cls, options: Namespace, **more: Any) -> Self:
        """Read the options of a command."""
        labels, demand = (options.target, options.positive, options.sample_weight), get_constraint(options.constraint)
        more |= {"group": vars(options).get("group"), "segments": demand and demand.segment_column}
        return cls(*labels, drop_unlabelled=options.drop_unlabelled, form=TableFormat.of(options), **more)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns whose texts are values, in the spelling of the table."""
        return tuple(filter(None, (self.target, self.group, self.segments)))


@dataclass(frozen=True)
class FeatureColumns:
    """Features that a model takes.

    Parameters
    ----------
    kind : {"frame", "dense", "sparse"}
        Named columns, an array or a sparse matrix.
    n_features : int
        Number of features.
    numeric, categorical : tuple of str, default=()
        Columns of a frame.
    zero_based : bool, default=False
        Whether the numbers of features in a LIBSVM file start at 0.
    kept : tuple of str, default=()
        Columns of a frame whose texts such as ``NA`` are values, in the spelling of the table.
    """

    kind: str
    n_features: int
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    zero_based: bool = False
    kept: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """True where features are columns of a frame."""
        return self.kind == "frame"

    @property
    def is_sparse(self) -> bool:
        """True where they are columns of a sparse matrix."""
        return self.kind == "sparse"

    @classmethod
    def of(cls, X: Samples, *, zero_based: bool = False) -> Self:
        """Describe the features of an array or a sparse matrix.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Samples.
        zero_based : bool, default=False
            See `FeatureColumns`.

        Returns
        -------
        FeatureColumns
            Without names.
        """
        return cls("sparse" if sparse.issparse(X) else "dense", X.shape[1], zero_based=zero_based)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Problem of two classes, or of several.

    Parameters
    ----------
    name : str
        Name that the user gave.
    X : DataFrame, ndarray or CSR array of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Labels.
    pos_label : label
        Positive class; ``None`` of several classes, none of which is special.
    features : Features
        Describes ``X``.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights.
    is_test : ndarray of bool, shape (n_samples,), default=None
        Official test part.
    n_dropped : int, default=0
        Number of rows that were left out because they have no label.
    groups : ndarray of int, shape (n_samples,), default=None
        What rows belong together by.
    group_names : ndarray of str, default=None
        Name of each group.
    """

    name: str
    X: Samples
    y: Array
    pos_label: Label
    features: FeatureColumns
    sample_weight: Array | None = None
    is_test: BoolArray | None = None
    n_dropped: int = 0
    groups: Array | None = None
    group_names: Array | None = None

    @property
    def counted(self) -> str:
        """Number of rows, and of those left out without a label, as text."""
        return f"{self.y.shape[0]} rows" + (f" ({self.n_dropped} without a label dropped)" if self.n_dropped else "")

    @property
    def pos(self) -> float:
        """Share of positives; weighted where there are weights."""
        return float(np.average(self.y == self.pos_label, weights=self.sample_weight))

    @cached_property
    def labels(self) -> Labels:
        """The classes and their codes; of two classes, the positive one has code 1."""
        classes = np.unique(self.y)
        return Labels(classes, None if self.pos_label is None else classes[classes != self.pos_label][0])


def matched(X: Samples, features: FeatureColumns, source: str) -> Samples:
    """Convert samples to the form that a model was trained on."""
    if features.named and hasattr(X, "columns"):
        return _columns_of(X, features, source)
    if features.named:
        raise CliError(f"the model takes a table with named columns (CSV, ...); {source} has none")
    if X.shape[1] != features.n_features:
        raise CliError(f"the model takes {features.n_features} features; {source} has {X.shape[1]}")
    if features.is_sparse:
        return sparse.csr_matrix(X)
    return densified(X, source)


def densified(X: Samples, source: str) -> Array:
    """Convert a sparse matrix to a dense array; return dense data unchanged.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples.
    source : str
        Source of ``X``, for messages.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The same numbers.

    Raises
    ------
    CliError
        If it would not fit into 1 GiB.
    """
    if not sparse.issparse(X):
        return X
    if X.shape[0] * X.shape[1] > _MAX_DENSE:
        raise CliError(
            f"the base takes dense data only, and {source} ({X.shape[0]} x {X.shape[1]}, sparse) is too large for "
            "that; use --base linear-svc, logistic, sgd, random-forest, lightgbm or xgboost"
        )
    return X.toarray()


def refuse_column_options(options: ReadOptions, source: str) -> None:
    """Raise an error if options name columns of a source that has no named columns."""
    for flag in ("target", "sample_weight", "drop", "group"):
        if getattr(options, flag):
            flag = flag.replace("_", "-")
            raise CliError(f"--{flag} names a column of a table (CSV, ...); {source} has no named columns")


# ---------------------------------------------------------------- labels


_SHOWN = 12
# From here on floats are further than 1 apart.
_EXACT = 2**53
# A whole number without zeros in front: its digits, and the point that a float has.
_WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))(\.0*)?")


def as_labels(values: Array) -> Array:
    """Convert whole floats to int64 and leave other labels unchanged; raise an error where rounding is possible."""
    if is_integer(values):
        return values
    values = values.astype(np.float64)
    unsure = values[np.isinf(values) | (np.abs(values) >= _EXACT)]
    if unsure.size:
        raise CliError(
            f"the target holds {unsure[0]:.17g}, but floats of 2^53 and more are not exact, so that different labels "
            "may have become one; accepted: integers of 64 bits, smaller floats, texts. Write the labels as texts"
        )
    whole = (np.round(values) == values).all()
    return values.astype(np.int64) if whole else values


def read_target(values: Array, positive: str | None, *, several: bool) -> tuple[Array, Label]:
    """Read labels as `binary_target` does; more than two classes stay as they are if ``several``, none positive."""
    if several and positive is None and np.unique(values).size > 2:
        return values, None
    return binary_target(values, positive)


def binary_target(values: Array, positive: str | None = None) -> tuple[Array, Label]:
    """Reduce labels to two classes, and choose the positive one.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Numbers, booleans or strings, none missing.
    positive : str, default=None
        The positive class as text. ``None`` means 1 for labels {0, 1} or {-1, 1}, ``True`` for booleans. Where there
        are more than two classes, all others are joined.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        The labels; ``positive`` and ``"not <positive>"`` where classes were joined.
    pos_label : label
        The positive one.

    Raises
    ------
    CliError
        If there is only one class, or the positive class is not given or absent.

    Examples
    --------
    >>> y, pos_label = binary_target(np.array(["cat", "dog", "cow"]), "dog")
    >>> y.tolist(), pos_label
    (['not dog', 'dog', 'not dog'], 'dog')
    """
    classes, counts = np.unique(values, return_counts=True)
    if classes.size < 2:
        raise CliError(f"the target has one value only ({classes[0]}); positives and negatives are needed")
    if positive is None:
        if classes.size == 2 and is_numeric(classes) and classes[1] == 1 and classes[0] in (0, -1):
            return values, classes[1].item()
        alike = "" if classes.size == 2 else "search all classes by a metric such as --metric f1_macro, or "
        raise CliError(f"{alike}name the positive class with --positive; the target has {_listed(classes, counts)}")
    match = [label for label in classes.tolist() if _same(label, positive)]
    if not match:
        hint = did_you_mean(positive, classes.tolist())
        raise CliError(f"--positive {positive!r} is not in the target, which has {_listed(classes, counts)}{hint}")
    if classes.size == 2:
        return values, match[0]
    return np.where(values == match[0], positive, f"not {positive}"), positive


def read_weights(path: str, column: str, form: TableFormat = USUAL) -> Array:
    """Read sample weights from a column of a table."""
    return _weights(_column(read_table(path, form=form), column, path))


def read_ids(path: str, column: str, form: TableFormat = USUAL) -> Array:
    """Read the ids of rows from a column of a table, as texts in its spelling."""
    ids: Values = _column(read_table(path, text=(column,), kept=(column,), form=form), column, path)
    if ids.isna().any():
        raise CliError(f"{path} has {int(ids.isna().sum())} rows without an entry in the column of ids {column!r}")
    return ids.astype(str).to_numpy(dtype=object)


def read_columns(path: str, names: Sequence[str], form: TableFormat = USUAL) -> dict[str, Array]:
    """Read any columns of a table, as texts in their spelling; missing entries are empty."""
    frame = read_table(path, text=tuple(names), kept=tuple(names), form=form)
    columns: dict[str, Values] = {name: _column(frame, name, path) for name in names}
    return {
        name: values.astype(object).where(~values.isna(), "").astype(str).to_numpy(dtype=object)
        for name, values in columns.items()
    }


def id_key(text: str, form: TableFormat = USUAL) -> str:
    """Convert an id to the spelling that tables have in common: whole numbers without a point, texts as they are.

    Examples
    --------
    >>> [id_key(text) for text in ("800", " 800", "800.0", "0800", "A17", "8.50")]
    ['800', '800', '800', '0800', 'A17', '8.50']
    """
    text = text.strip()
    number = _WHOLE.fullmatch("" if text.endswith("%") else form.numeral(text) or "")
    if number is None:
        return text
    digits, point = number.groups()
    if point and int(digits) >= _EXACT:
        raise CliError(
            f"the id {text} is a float of 2^53 or more, and such floats are not exact, so that different ids may have "
            "become one; accepted: integers, smaller floats, texts. Write the ids as texts"
        )
    return str(int(digits))


def _column(frame, name, path):
    if name not in frame.columns:
        raise CliError(f"{path} has no column {name!r}; it has {listed(frame.columns)}")
    return frame[name]


def read_labels(path: str, target: str, search: Estimator, form: TableFormat = USUAL) -> Array:
    """Read the labels of a table as a trained search knows them; ``None`` where one is missing.

    Parameters
    ----------
    path : str
        A table.
    target : str
        Its column of labels.
    search : CostSearch
        The trained search. Classes that were joined for it are joined again.
    form : TableFormat
        Format of the table.

    Returns
    -------
    ndarray of object, shape (n_samples,)
        Its labels.

    Raises
    ------
    CliError
        If the column is absent, or holds a label that the search does not know.
    """
    frame, classes = read_table(path, kept=(target,), form=form), search.classes_.tolist()
    _column(frame, target, path)
    column, known = plain(frame, [target])[target], {}
    for value in column.dropna().unique():
        match = [label for label in classes if _same(label, str(value))]
        if not match and search.null_class_ != f"not {search.pos_label_}":
            known_labels = ", ".join(map(repr, classes[:_SHOWN]))
            raise CliError(f"column {target!r} holds {str(value)!r}, and the model knows the labels {known_labels}")
        known[value] = match[0] if match else search.null_class_
    labels = np.empty(column.shape[0], dtype=object)
    labels[:] = [known.get(value) for value in column]
    return labels


def _same(label, text):
    """Check whether a text names a label; numbers are compared as numbers."""
    if str(label) == text:
        return True
    if isinstance(label, bool):
        return str(label).lower() == text.lower()
    try:
        # Not as floats, where large integers become equal.
        return Decimal(text) == label if isinstance(label, int) else float(text) == label
    except (ValueError, ArithmeticError):
        return False


def _listed(classes, counts):
    shown = ", ".join(f"{label} ({count})" for label, count in zip(classes[:_SHOWN], counts))
    rest = f", ... ({classes.size} values)" if classes.size > _SHOWN else ""
    return f"{shown}{rest}"


# ---------------------------------------------------------------- sets of scikit-learn, and one that is drawn


def draw_payments(n_rows: int = 12_000) -> Bunch:
    """Draw artificial card payments, about one in twelve of them a fraud.

    Parameters
    ----------
    n_rows : int, default=12000
        Number of payments.

    Returns
    -------
    Bunch
        A frame ``data``, in the manner of scikit-learn, with ``target`` and ``target_names``.
    """
    rng = np.random.default_rng(0)
    amount = np.minimum(np.exp(rng.normal(3.7, 1.4, n_rows)), 1000.0).round(2)
    age = rng.gamma(1.0, 3.0, n_rows).round(1)
    attempts = 1 + rng.poisson(0.6, n_rows)
    country = rng.choice(["home", "near", "far"], n_rows, p=[0.8, 0.14, 0.06])
    shop = rng.choice(["food", "travel", "electronics", "games"], n_rows, p=[0.5, 0.15, 0.2, 0.15])
    odds = -3.2 + 0.9 * (attempts - 1) - 0.2 * age + (country == "near") + 2.0 * (country == "far")
    fraud = rng.random(n_rows) < expit(odds + 0.8 * (shop == "electronics") + 0.6 * (shop == "games"))
    columns = {"amount": amount, "attempts": attempts, "customer_years": age, "country": country, "shop": shop}
    frame = require("pandas", "drawing payments").DataFrame(columns)
    return Bunch(data=frame, target=fraud.astype(int), target_names=["ok", "fraud"])


# name -> loader and the class that is positive when none is named
BUILTIN = {
    "breast_cancer": (datasets.load_breast_cancer, "malignant"),
    "digits": (datasets.load_digits, None),
    "iris": (datasets.load_iris, None),
    "payments": (draw_payments, "fraud"),
    "wine": (datasets.load_wine, None),
}


def built_in() -> str:
    """List the names of all built-in sets in one line.

    Returns
    -------
    str
        The names, with the classes to choose from.

    Examples
    --------
    >>> built_in()
    'breast_cancer, digits:0 to digits:9, iris:0 to iris:2, payments, wine:0 to wine:2'
    """
    return "breast_cancer, digits:0 to digits:9, iris:0 to iris:2, payments, wine:0 to wine:2"


def _built_in_labelled(source: str, options: ReadOptions) -> Dataset:
    """Read a built-in set with its labels, one class against the rest."""
    name, _, positive = source.partition(":")
    load, default = BUILTIN[name]
    bunch = load()
    labels = np.array([str(label) for label in bunch.target_names])
    positive = positive or options.positive or default
    if positive not in (None, *labels) and positive.isdecimal() and int(positive) < labels.size:
        positive = str(labels[int(positive)])
    if positive not in (None, *labels):
        hint = did_you_mean(positive, labels)
        raise CliError(f"{name} has no class {positive!r}; its classes are {', '.join(labels)}{hint}")
    y, pos_label = read_target(labels[bunch.target], positive, several=options.several)
    named = hasattr(bunch.data, "columns")
    X, features = _features_of(bunch.data, source, options) if named else (bunch.data, FeatureColumns.of(bunch.data))
    return Dataset(source, X, y, pos_label, features)


# ---------------------------------------------------------------- sets in the folder of CSF_DATA


# A set is a file NAME.npz of `numpy.savez_compressed` with the labels y and the samples: X, or a CSR matrix as X_data,
# X_indices, X_indptr and X_shape. positive (labels that count as positive; empty or absent for multiclass sets) and
# is_test (the official test part) are optional.
PREFIX = "csf-data:"


def _npz_labelled(source: str, options: ReadOptions) -> Dataset:
    """Read a set of the folder with its labels, and its official split if it has one."""
    name, _, positive = source.removeprefix(PREFIX).partition(":")
    X, arrays = _load_npz(name)
    y = arrays["y"]
    positive = positive or options.positive
    if positive is None and arrays.get("positive", np.empty(0)).size:
        y, pos_label = np.isin(y, arrays["positive"]).astype(np.int64), 1
    else:
        y, pos_label = read_target(y, positive, several=options.several)
    return Dataset(source, X, y, pos_label, FeatureColumns.of(X), is_test=arrays.get("is_test"))


def _load_npz(name):
    folder = os.environ.get("CSF_DATA")
    if not folder:
        raise CliError(
            f"{PREFIX}{name} is looked up in the folder that the environment variable CSF_DATA names; set it"
        )
    path = Path(folder) / f"{name}.npz"
    known = sorted(file.stem for file in Path(folder).glob("*.npz"))
    if name not in known:
        hint = did_you_mean(name, known)
        raise CliError(f"no data set {name!r} in CSF_DATA ({folder}); there are: {', '.join(known) or 'none'}{hint}")
    X, arrays = read_arrays(path, CliError)
    return sparse.csr_matrix(X) if sparse.issparse(X) else X, arrays


# ---------------------------------------------------------------- LIBSVM files


_LIBSVM = {".svm", ".svmlight", ".libsvm"}
_LINE = re.compile(r"[+-]?[\d.]\S*(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")


def _is_svmlight(path: str, suffix: str) -> bool:
    """Check whether a file is a LIBSVM file, by its suffix or by its first line."""
    return suffix in _LIBSVM or _LINE.fullmatch(first_line(path)) is not None


def _svmlight_labelled(path: str, options: ReadOptions) -> Dataset:
    """Read a LIBSVM file with its labels."""
    X, y = _load_svmlight(path, zero_based=True)
    # Most files count features from 1; one that never uses number 0 is taken for such a file.
    zero_based = bool(X.nnz) and int(X.indices.min()) == 0
    X = X if zero_based else X[:, 1:]
    if X.shape[1] == 0:
        raise CliError(f"{path} has no features")
    y, pos_label = read_target(as_labels(y), options.positive, several=options.several)
    return Dataset(path, X, y, pos_label, FeatureColumns.of(X, zero_based=zero_based))


def _svmlight_samples(path: str, features: FeatureColumns, form: TableFormat) -> Samples:
    """Read the samples of a LIBSVM file for a trained model, which ignores the labels."""
    if features.named:
        return matched(None, features, path)
    X, _ = _load_svmlight(path, zero_based=features.zero_based, n_features=features.n_features)
    return matched(X, features, path)


def _load_svmlight(path, **options):
    with reading(path, "a LIBSVM file", CliError), opened(path, "rb") as file:
        X, y = load_svmlight_file(file, dtype=np.float64, **options)
    if X.shape[0] == 0:
        raise CliError(f"{path} has no rows")
    return X, y


# ---------------------------------------------------------------- tables


def _table_labelled(path: str, options: ReadOptions) -> Dataset:
    """Read a table with a target column."""
    frame = read_table(path, kept=options.kept, form=options.form)
    columns = list(frame.columns)
    if options.target is None:
        raise CliError(f"name the column of the labels with --target; {path} has {listed(columns)}")
    for name in (options.target, options.sample_weight, options.group, *options.drop, *options.only):
        if name is not None and name not in columns:
            hint = did_you_mean(name, columns) if len(columns) > 1 else ". Name what separates columns with --sep"
            raise CliError(f"{path} has no column {name!r}; it has {listed(columns)}{hint}")
    kept = (options.target, options.sample_weight, options.group)
    taken = options.only or [name for name in columns if name not in options.drop]
    frame = plain(frame, [name for name in columns if name in kept or name in taken])
    frame, n_dropped = _labelled(frame, options)
    y, pos_label = read_target(_target(frame[options.target]), options.positive, several=options.several)
    weight = None if options.sample_weight is None else _weights(frame[options.sample_weight])
    groups, group_names = (None, None) if options.group is None else _groups(frame[options.group])
    frame = frame[[name for name in frame.columns if name not in kept]]
    if frame.shape[1] == 0:
        raise CliError(f"{path} has no column left to learn from beside {listed(columns)}")
    X, features = _features_of(frame, path, options)
    if not options.only:
        warn_of_columns(frame, features.categorical)
    return Dataset(path, X, y, pos_label, features, weight, n_dropped=n_dropped, groups=groups, group_names=group_names)


def _groups(column):
    """Return the codes of what rows belong together by, and the name of each."""
    codes = read_groups(np.asarray(column), column.size)
    assert codes is not None, "there is a column"
    return codes, column.astype(str).to_numpy()[np.unique(codes, return_index=True)[1]]


def _features_of(frame, source, options):
    """Prepare a frame for models: numbers stay numbers, everything else becomes a category."""
    numeric = tuple(name for name in frame.columns if is_number(frame[name]))
    categorical = tuple(name for name in frame.columns if name not in numeric)
    kept = tuple(name for name in frame.columns if name == options.segments)
    kept += categorical if options.form.keep_na else ()
    X = typed(frame, numeric, categorical, source, kept)
    return X, FeatureColumns("frame", frame.shape[1], numeric, categorical, kept=kept)


def _labelled(frame, options):
    """Return the rows that have a label, and the number of those that have none."""
    missing = frame[options.target].isna()
    count = int(missing.sum())
    if count == missing.size or (count and not options.drop_unlabelled):
        way = "the labels are needed" if count == missing.size else "--drop-unlabelled leaves these rows out"
        raise CliError(f"target {options.target!r} is missing in {count} of {missing.size} rows; {way}")
    return frame[~missing], count


def _table_samples(path: str, features: FeatureColumns, form: TableFormat) -> Samples:
    """Read the columns that a trained model takes from a table, in the model's order."""
    if not features.named:
        raise CliError(
            f"the model was trained on {features.n_features} features without names, not on a table; {path} is one"
        )
    return _columns_of(read_table(path, text=features.categorical, kept=features.kept, form=form), features, path)


def _columns_of(frame, features, path):
    """Return the columns of a frame that a model takes."""
    names = [*features.numeric, *features.categorical]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise CliError(f"{path} lacks {listed(missing)}, which the model was trained on")
    return typed(plain(frame, names), features.numeric, features.categorical, path, features.kept)


def _target(column):
    types = require("pandas", "reading tables").api.types
    if types.is_bool_dtype(column):
        return column.to_numpy(dtype=bool)
    if types.is_numeric_dtype(column):
        return as_labels(column.to_numpy())
    return np.array([str(value) for value in column])


def _weights(column):
    if not is_number(column) or column.isna().any():
        way = way_out(column)
        raise CliError(f"sample weights in column {column.name!r} must be numbers >= 0, none missing{way}")
    return column.to_numpy(dtype=np.float64)


# ---------------------------------------------------------------- from the name of a data set to what reads it


class _SourceReaders(NamedTuple):
    """Readers of one kind of source: with its labels, and for a trained model."""

    labelled: Callable[[str, ReadOptions], Dataset]
    samples: Callable[[str, FeatureColumns, TableFormat], Samples]


def _without_labels(load: Callable[[str], Samples]) -> Callable[[str, FeatureColumns, TableFormat], Samples]:
    """Make a reader of a set's samples for a trained model, which ignores the class that the name selects."""
    return lambda source, features, form: matched(load(source.removeprefix(PREFIX).partition(":")[0]), features, source)


_BUILT_IN = _SourceReaders(_built_in_labelled, _without_labels(lambda name: BUILTIN[name][0]().data))
_NPZ = _SourceReaders(_npz_labelled, _without_labels(lambda name: _load_npz(name)[0]))
_SVMLIGHT = _SourceReaders(_svmlight_labelled, _svmlight_samples)
_TABLE = _SourceReaders(_table_labelled, _table_samples)


def read_dataset(source: str, options: ReadOptions) -> Dataset:
    """Read labelled data.

    Parameters
    ----------
    source : str
        A table (see `csf.cli.tables.SUFFIXES`), a LIBSVM file, a built-in set such as ``"digits:8"``, or
        ``"csf-data:NAME"``.
    options : ReadOptions
        Options of the command line about columns and classes.

    Returns
    -------
    Dataset
        The problem.

    Raises
    ------
    CliError
        If it cannot be read.

    Examples
    --------
    >>> read_dataset("digits:8", ReadOptions()).pos
    0.097
    """
    reader = _reader(source)
    if reader is not _TABLE:
        refuse_column_options(options, source)
    return reader.labelled(source, options)


def read_samples(source: str, features: FeatureColumns, form: TableFormat = USUAL) -> Samples:
    """Read samples for a trained model.

    Parameters
    ----------
    source : str
        As for `read_dataset`.
    features : Features
        Features that the model takes.
    form : TableFormat
        Format of a table.

    Returns
    -------
    DataFrame, ndarray or CSR matrix of shape (n_samples, n_features)
        The samples, as the model takes them.

    Raises
    ------
    CliError
        If it cannot be read or has other features.
    """
    return _reader(source).samples(source, features, form)


def _reader(source: str) -> _SourceReaders:
    if source.startswith(PREFIX):
        return _NPZ
    path, name = Path(source), source.partition(":")[0]
    if not path.exists():
        if name in BUILTIN:
            return _BUILT_IN
        raise CliError(
            f"there is no file {source!r}, and built-in sets are {built_in()}; or csf-data:NAME"
            f"{did_you_mean(name, BUILTIN)}"
        )
    if path.is_dir():
        raise CliError(f"{source} is a folder; give a file")
    suffix = format_suffix(source)
    if suffix in SUFFIXES and not (suffix == ".txt" and _is_svmlight(source, suffix)):
        return _TABLE
    if _is_svmlight(source, suffix):
        return _SVMLIGHT
    raise CliError(
        f"cannot recognise the format of {source}; accepted: {', '.join(SUFFIXES)}, and LIBSVM files "
        "(label index:value ...)"
    )
