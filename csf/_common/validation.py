"""Checks of arguments, and forms of arrays that results do not depend on."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target

from csf._common.dtypes import is_float, is_number, is_object, is_text, is_whole
from csf._common.messages import did_you_mean, listed, plain, shown, warn
from csf._common.typing import (
    Array,
    BoolArray,
    FloatArray,
    Foreign,
    IntArray,
    Keywords,
    Label,
    Params,
    RandomState_,
    Samples,
    Targets,
    Values,
)

# Searches for data that stay where they are, by the package of these.
_SEARCHES = {"dask": "csf.dask.DaskCostSearch", "pyspark": "csf.spark.SparkCostSearch"}

# What to do with rows that have no label.
_UNLABELLED = "drop those rows or give them a class, which with csf.metrics.Incomplete is the negative one"

Value = TypeVar("Value")
Unmasked = TypeVar("Unmasked")
Number = TypeVar("Number", bound=float)


def check_labels(y: ArrayLike, *, least: int = 2, name: str = "y") -> tuple[Array, Array]:
    """Check labels of at least so many classes; return them as a flat array, with the sorted distinct ones."""
    given = as_array(y, name)
    if given.shape[1:] == (1,):
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            DataConversionWarning,
        )
    labels = _of_one_kind(column_or_1d(given), name)
    if labels.shape[0] == 0:
        raise ValueError(f"{name} is empty (0 samples); at least one sample of each class is needed")
    if is_float(labels) and not np.isfinite(labels).all():
        raise ValueError(f"Input {name} contains NaN or infinity; {_UNLABELLED}")
    if is_float(labels) and getattr(y, "dtype", None) in (None, object) and (np.abs(labels) >= 2.0**53).any():
        # numpy makes floats of a list of integers that no integer type holds together: different ones become equal.
        raise ValueError(
            f"Input {name} holds labels such as {labels[np.argmax(np.abs(labels))]:.17g}, which are not exact as "
            "floats, so that different ones may become one; give integers of 64 bits as an array, or texts"
        )
    # Whole numbers are labels, whatever they are; to look at all of them once more takes as long as some trainings.
    known = is_whole(labels)
    kind = "multiclass" if known else type_of_target(labels, input_name=name)
    if kind == "unknown":
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(
            f"Unknown label type: {name} holds {' and '.join(kinds[:3])}; labels are whole numbers, booleans or texts"
        )
    if kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: {kind}. {name} must hold two class labels, got real numbers such as "
            f"{labels.tolist()[0]!r}; use a classification target"
        )
    classes = np.unique(labels)
    if classes.shape[0] < least:
        raise ValueError(
            f"{name} has one class only ({classes.tolist()[0]!r}): a metric of two classes needs positives and "
            "negatives; check the split or the positive label"
        )
    return labels, classes


# Types that stay what they are in arrays of objects.
_PLAIN = {str, bytes, int, float, bool}


def as_array(values: Targets, name: str) -> Array:
    """Convert labels or names in any container to an array: texts are the user's, and missing objects are NaN."""
    array = np.asarray(check_unmasked(values.toarray() if issparse(values) else values, name))
    if is_text(array) and not hasattr(values, "__array__"):
        # numpy makes texts of whatever stands beside texts in a list, such as "nan" of NaN.
        objects = np.asarray(values, dtype=object)
        array = array if all(isinstance(value, (str, bytes)) for value in objects.ravel().tolist()) else objects
    if not is_object(array):
        return array
    objects = array.ravel().tolist()
    if set(map(type, objects)) <= _PLAIN:
        return array
    converted = np.empty(array.size, dtype=object)
    converted[:] = [_plain_object(value) for value in objects]
    return converted.reshape(array.shape)


def _plain_object(value: object) -> object:
    """Convert numpy's scalars to Python's, and what stands for a missing value to NaN."""
    # pandas need not be there to know its missing entries.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    return plain(value)


def are_missing(values: Array) -> BoolArray:
    """Mark the missing entries of what `as_array` returns: NaN and NaT are not equal to themselves."""
    if not is_object(values):
        return values != values
    return np.array([label != label for label in values.ravel().tolist()], dtype=bool).reshape(values.shape)


def label_array(values: Targets, name: str, columns: Sequence[Label] = ()) -> Array:
    """Convert labels in any container to an array, a frame's in the order of names; none may be missing."""
    return _of_one_kind(as_array(in_named_order(values, columns, name), name), name)


def _of_one_kind(labels: Array, name: str) -> Array:
    """Convert labels of dtype object, as databases return them, to numbers or booleans where all are such."""
    if not is_object(labels):
        return labels
    if are_missing(labels).any():
        raise ValueError(f"Input {name} contains missing labels (None or NaN); {_UNLABELLED}")
    given = labels.tolist()
    texts = [isinstance(label, str) for label in given]
    if any(texts) and not all(texts):
        raise ValueError(f"{name} mixes texts with labels of another kind, which have no common order; use one kind")
    return np.array(given) if all(isinstance(label, numbers.Real) for label in given) else labels


def check_binary_target(y: ArrayLike, pos_label: Label = None) -> tuple[Array, BoolArray, Label]:
    """Check a binary target; return its sorted classes, a mask of the positive samples, and the positive label.

    Without ``pos_label`` it is 1 for labels {0, 1} or {-1, 1}, and ``True`` for booleans.
    """
    labels, classes = check_labels(y)
    is_last = labels == classes[-1]
    n_last = int(np.count_nonzero(is_last))
    pos_label = check_pos_label(classes, (labels.shape[0] - n_last, n_last), pos_label)
    return classes, is_last if pos_label == classes[-1] else ~is_last, pos_label


def check_pos_label(classes: Array, counts: Sequence[int] | IntArray, pos_label: Label = None) -> Label:
    """Choose the positive one of two classes with these counts; ``None`` as in `check_binary_target`."""
    if classes.shape[0] > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass with "
            f"{classes.shape[0]} classes. Use csf.CostSearch with a metric of several classes, such as 'f1_macro', or "
            "with null_class= (the class that means nothing to find), or one class against the rest: y == label"
        )
    if pos_label is None:
        if not (is_number(classes) and classes[1] == 1 and classes[0] in (0, -1)):
            raise ValueError(
                f"pos_label=None stands for 1 with labels {{0, 1}} or {{-1, 1}}; y holds {classes.tolist()}. "
                f"Give pos_label, e.g. pos_label={classes.tolist()[int(counts[1] <= counts[0])]!r}, the rarer one"
            )
        pos_label = classes[1]
    if np.ndim(pos_label):
        raise ValueError(f"pos_label must be one label, got {pos_label!r}; y holds {classes.tolist()}")
    matches = classes == pos_label
    if not np.any(matches):
        hint = did_you_mean(pos_label, classes.tolist())
        raise ValueError(f"pos_label={shown(pos_label)} is not a label of y, which holds {classes.tolist()}{hint}")
    return classes[np.argmax(matches)]


def check_samples(X: Samples, y: ArrayLike, /, **others: object) -> tuple[Samples, Targets]:
    """Check that samples and labels are in memory and equally many, and return them in a form that can be indexed.

    Sparse samples are returned in one form, however they are stored. Of ``others``, further arguments of ``fit`` by
    their names, only the pandas index is checked.
    """
    # Another search helps a fit, which has further arguments, and no report.
    check_in_memory(_SEARCHES if others else None, X=X, y=y)
    columns: Foreign = getattr(X, "columns", None)
    if not getattr(columns, "is_unique", True):
        twice = columns[columns.duplicated()].unique().tolist()
        raise ValueError(f"X has several columns of the same name, {twice}; rename them, or drop all but one of each")
    warn_of_order(X=X, y=y, **others)
    alike = indexable(X, y)
    return canonical_csr(alike[0]), alike[1]


def check_in_memory(searches: Mapping[str, str] | None = None, /, **arguments: object) -> None:
    """Check that arguments are complete data in memory: no delayed computations, no iterators, no masked arrays."""
    for name, value in arguments.items():
        way = _way_into_memory(name, check_unmasked(value, name))
        if way is not None:
            kind = f"{type(value).__module__.partition('.')[0]} {type(value).__name__}"
            search = (searches or {}).get(kind.partition(" ")[0])
            more = "" if search is None else f", or search costs where the data are with {search}"
            raise TypeError(
                f"{name} must be in memory, got a {kind}, which can only be read in pieces; give {way}{more}"
            )


def warn_of_order(**arguments: object) -> None:
    """Warn of each argument whose pandas index is that of an earlier one in another order."""
    before: Keywords = {}
    for name, value in arguments.items():
        index: Foreign = getattr(value, "index", None)
        if hasattr(index, "symmetric_difference"):
            first = next((other for other in before if _is_in_another_order(before[other], index)), None)
            if first is not None:
                way = f"give {name}.loc[{first}.index]" if index.is_unique else "sort both by it"
                warn_of_moved_rows(name, first, way, f"{name}.to_numpy()")
            before[name] = index


def warn_of_moved_rows(name: str, first: str, way: str, other: str) -> None:
    """Warn that an argument has its rows in another order than an earlier one, and say what to do."""
    warn(
        f"the index of {name} is that of {first} in another order, and rows are taken by position, as scikit-learn "
        f"does. If the index says what belongs together, {way}, else give {other}"
    )


def _is_in_another_order(index: Foreign, other: Foreign) -> bool:
    """Check whether two pandas indexes hold the same entries, equally often, in different orders."""
    if (len(index), index.nlevels) != (len(other), other.nlevels) or index.equals(other):
        return False
    if not index.symmetric_difference(other, sort=False).empty:
        return False
    counts, others = (index_counts.value_counts(sort=False, dropna=False) for index_counts in (index, other))
    return bool((counts == others.reindex(counts.index)).all())


def _way_into_memory(name: str, value: object) -> str | None:
    """Return the code that loads a delayed computation or an iterator into memory; ``None`` for other values."""
    graph = getattr(type(value), "__dask_graph__", None)
    if graph is not None and graph(value) is not None:
        return f"{name}.compute()"
    if isinstance(value, Iterator):
        return f"list({name})"
    for method in ("toPandas", "collect"):
        if callable(getattr(type(value), method, None)) and not hasattr(type(value), "__len__"):
            return f"{name}.{method}()"
    return None


def check_weights(sample_weight: ArrayLike | None, n_samples: int, **rows: object) -> Array | None:
    """Check sample weights; return them as float64, or ``None`` for no weights. ``rows`` is as for `warn_of_order`."""
    warn_of_order(**rows, sample_weight=sample_weight)
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        raise ValueError(f"sample_weight must be an array of {n_samples} weights, got {sample_weight!r}")
    weight = floats(sample_weight, "sample_weight")
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {weight.shape}")
    if weight.shape[0] != n_samples:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_samples,)}: one weight for each sample")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; weights must be finite numbers >= 0")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weight.min().item()!r}; accepted: numbers >= 0")
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every sample; at least one weight must be positive")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight adds up to more than a float can hold; its largest is {weight.max().item()!r}. Divide all "
            "weights by a number: only their ratios, and C times their size, matter"
        )
    return weight


def check_class_totals(pos: float, neg: float, owner: str = "sample_weight") -> None:
    """Raise a ValueError where a class has so little weight that its error rates would be rounding noise."""
    # The share of negatives is 1 - pos, whose rounding does not shrink with it: less than this leaves fewer than six
    # digits of a rate. A small share of positives is a number of its own, with all its digits.
    if pos <= 4 * np.finfo(np.float64).eps * neg or neg <= 1e-10 * pos:
        raise ValueError(
            f"{owner} gives the positive class {float(pos):.6g} and the negative class {float(neg):.6g} in total; the "
            "smaller one is lost in the rounding of the larger one. Give both classes weights of a more similar size"
        )


def check_class_weights(sample_weight: ArrayLike | None, is_pos: BoolArray, **rows: object) -> Array | None:
    """Check sample weights as `check_weights` does, and raise a ValueError where a class has no weight at all."""
    weight = check_weights(sample_weight, is_pos.shape[0], **rows)
    if weight is not None and not (weight[is_pos].any() and weight[~is_pos].any()):
        raise ValueError(
            "sample_weight is zero for every sample of one class; both classes need a sample with positive weight"
        )
    if weight is not None:
        check_class_totals(weight[is_pos].sum(), weight[~is_pos].sum())
    return weight


def check_grid(param_grid: object) -> list[Params]:
    """Expand a grid of parameters into its settings, at least one."""
    try:
        settings = list(ParameterGrid(param_grid))
    except (TypeError, ValueError) as error:
        raise type(error)(f"param_grid={param_grid!r} cannot be used: {error}") from None
    if not settings:
        raise ValueError(f"param_grid={param_grid!r} cannot be used: it holds no setting; give None")
    return settings


def check_bool(value: object, name: str) -> bool:
    """Check that ``value`` is True or False, or numpy's, and return it as bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_count(value: object, name: str, *, minimum: int = 1) -> int:
    """Check that ``value`` is a whole number >= ``minimum`` and return it as int."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int >= {minimum}, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be an int >= {minimum}, got {value!r}")
    return int(value)


def check_fraction(value: object, name: str) -> float:
    """Check that ``value`` is a real number in the open interval (0, 1) and return it as float."""
    return _of_interval(value, name, "(0, 1)", includes_one=False)


def check_share(value: object, name: str) -> float:
    """Check that ``value`` is a real number in the interval (0, 1] and return it as float."""
    return _of_interval(value, name, "(0, 1]", includes_one=True)


def _of_interval(value: object, name: str, interval: str, *, includes_one: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number in {interval}, got {shown(value)}")
    number: Any = value
    if not (0.0 < number < 1.0 or (includes_one and number == 1.0)):
        raise ValueError(f"{name} must be a number in {interval}, got {shown(value)}")
    return float(number)


def check_number(value: Number, name: str, *, positive: bool = False) -> Number:
    """Check that ``value`` is a finite number >= 0, or > 0, and return it as it is."""
    accepted = "positive and finite" if positive else ">= 0 and finite"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, {accepted}, got {shown(value)}")
    if not (0 < value < np.inf or (value == 0 and not positive)):
        raise ValueError(f"{name} must be {accepted}, got {shown(value)}")
    return value


def check_path(path: object, name: str) -> None:
    """Check that ``path`` is a valid path of a file, or ``None``."""
    if path is not None and not isinstance(path, (str, PathLike)):
        raise TypeError(f"{name} must be the path of a file or None, got {path!r}")
    if path == "":
        raise ValueError(f"{name} must be the path of a file or None, got {path!r}")


def check_seed(random_state: RandomState_, name: str = "random_state") -> None:
    """Check that a seed is valid, in the manner of scikit-learn."""
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"{name}={random_state!r} cannot be used: {error}") from None


def generator(random_state: RandomState_ | np.random.Generator) -> np.random.Generator:
    """Create the random generator of a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise TypeError(f"random_state must be an int >= 0, a Generator or None, got {random_state!r}") from None


def floats(values: object, name: str, **rows: object) -> FloatArray:
    """Convert numbers to a float64 array; raise a ValueError or TypeError that names the argument for anything else.

    ``rows`` are arguments of the same rows, as for `warn_of_order`.
    """
    warn_of_order(**rows, **{name: values})
    values = check_unmasked(values, name)
    try:
        array = as_array(values, name)
        if is_object(array):
            # What objects are, numbers or dates, is seen in them alone.
            array = np.array(array.tolist())
        if (kind := _NO_NUMBERS.get(array.dtype.kind)) is None:
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be an array of numbers: {error}") from None
    wrong = ValueError if is_text(array) else TypeError
    raise wrong(f"{name} must be an array of {kind}")


def float_columns(table: Samples, wanted: Sequence[Label], name: str, **rows: object) -> FloatArray:
    """Convert a table to a float64 array, with the columns of a frame in the order of the wanted names."""
    warn_of_order(**rows, **{name: table})
    return floats(in_named_order(table, wanted, name), name)


# Kinds of arrays that numpy makes numbers of without a word.
_NO_NUMBERS = {"c": "real numbers, got complex ones", "M": "numbers, got dates", "m": "numbers, got spans of time"}
_NO_NUMBERS |= dict.fromkeys("SU", "numbers, got texts (pandas.to_numeric makes numbers of them)")


def check_unmasked(values: Unmasked, name: str) -> Unmasked:
    """Check that nothing is masked: values below a mask are unknown, yet most functions read them."""
    n_masked = np.count_nonzero(np.ma.getmaskarray(values)) if isinstance(values, np.ma.MaskedArray) else 0
    if n_masked:
        raise ValueError(f"{name} is masked in {n_masked} places; fill these ({name}.filled(value)), or drop them")
    return values


def names_on(table: object, axis: str = "columns") -> list[Label] | None:
    """Return the names of a frame's columns, or of its rows (``"index"``); ``None`` for what is no frame."""
    of_arrow = getattr(table, "column_names", None)
    given = of_arrow if isinstance(of_arrow, list) else getattr(table, axis, None)
    return None if given is None or callable(given) else list(given)


def only_count(names: Sequence[Label]) -> bool:
    """Check whether names are what pandas and polars call columns that have none."""
    return list(names) in ([*range(len(names))], [f"column_{number}" for number in range(len(names))])


def places_of_names(names: Sequence[Label], wanted: Sequence[Label]) -> list[int] | None:
    """Find all wanted names among others, as they are or as texts; ``None`` unless both are the same, each once."""
    for known, asked in (([*names], [*wanted]), ([*map(str, names)], [*map(str, wanted)])):
        if len(set(known)) == len(known) == len(asked) and set(known) == set(asked):
            return [known.index(name) for name in asked]
    return None


def in_named_order(table: Samples, wanted: Sequence[Label], name: str) -> Samples:
    """Return the columns of a frame in the order of the wanted names; tables without names stay as they are.

    Raise a ValueError where a frame has other names.
    """
    names, wanted = names_on(table), list(wanted)
    if names is None or names == wanted or len(names) != len(wanted):
        return table
    places = places_of_names(names, wanted)
    if places is not None:
        return np.asarray(table)[:, places]
    if only_count(names) or only_count(wanted):
        return table
    raise ValueError(
        f"{name} has the columns {names}, and there should be {wanted}; rename them, or give {name}.to_numpy() with "
        "the columns in this order"
    )


def by_name(values: Targets, wanted: Sequence[Label]) -> Targets:
    """Convert a Series whose index has names to a dict; other values stay as they are."""
    names = names_on(values, "index")
    if names is None or np.ndim(values) != 1 or (only_count(names) and places_of_names(names, wanted) is None):
        return values
    return dict(zip(names, np.asarray(values).tolist()))


def place_or_none(name: Label, names: Sequence[Label]) -> int | None:
    """Return the place of a name among others, as it is, as a text or as a number; ``None`` without any."""
    for known, asked in ((list(names), name), ([*map(str, names)], str(name))):
        if asked in known:
            return known.index(asked)
    with suppress(ValueError):  # no number
        return [isinstance(known, numbers.Real) and float(known) == float(str(name)) for known in names].index(True)
    return None


def place_of(name: Label, names: Sequence[Label], what: str) -> int:
    """Return the place of a name among others, as `place_or_none` does; raise a ValueError without any."""
    if (place := place_or_none(name, names)) is not None:
        return place
    raise ValueError(f"{what}: there is no {shown(name)}; accepted: {listed(names)}{did_you_mean(name, names)}")


def check_choice(value: Value, name: str, accepted: Iterable[object]) -> Value:
    """Check that ``value`` is one of the ``accepted`` values and return it."""
    if value not in tuple(accepted):
        hint = did_you_mean(value, accepted)
        raise ValueError(f"{name} must be one of {tuple(accepted)}, got {value!r}{hint}")
    return value


def check_scores(y_score: ArrayLike, n_samples: int, **rows: object) -> FloatArray:
    """Check scores, one per sample and none NaN; return them as float64. ``rows`` is as for `warn_of_order`."""
    score = floats(y_score, "y_score", **rows)
    if score.shape != (n_samples,):
        raise ValueError(f"y_score must have shape ({n_samples},), one score for each sample, got {score.shape}")
    if np.isnan(score).any():
        raise ValueError(f"y_score contains NaN in {int(np.isnan(score).sum())} of {n_samples} samples")
    return score


def check_n_jobs(n_jobs: int | None, name: str = "n_jobs") -> None:
    """Check a number of workers: a nonzero integer, or ``None``."""
    if n_jobs is None:
        return
    accepted = f"{name} must be a number of workers, -1 for one on each core, or None, got {n_jobs!r}"
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(accepted)
    if n_jobs == 0:
        raise ValueError(accepted)


def check_positive(value: Values, name: str) -> float:
    """Check that ``value`` is a finite number > 0 and return it as float."""
    return float(check_number(value, name, positive=True))


def canonical_csr(X: Samples) -> Samples:
    """Return sparse samples as CSR with sorted, unique columns and no stored zeros; return others as they are.

    The caller's matrix never changes, and it is not copied where it has this form already.
    """
    if not issparse(X):
        return X
    rows: Samples = X if X.format == "csr" else csr_array(X)
    if rows.has_canonical_format and np.count_nonzero(rows.data) == rows.nnz:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    # Last: two entries of one place may add up to 0.
    rows.eliminate_zeros()
    return rows


def small_indices(rows: IntArray, n_samples: int) -> IntArray:
    """Store indices of samples in 4 bytes each, where these suffice.

    Five folds keep five indices for each sample: at 8 bytes each these take a third of the memory of thirty float32
    features.
    """
    return rows.astype(np.int32 if n_samples <= np.iinfo(np.int32).max else np.int64, copy=False)
