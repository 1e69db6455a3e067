"""Types that many signatures share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
# (c_fn, c_fp), or a weight for each of three or more classes, by code.
Costs: TypeAlias = tuple[float, ...]
# Parameters, attributes or columns by name: the setting of a base, the keywords of a function.
Params: TypeAlias = dict[str, object]
# Keywords that are handed on to a function, which checks them.
Keywords: TypeAlias = dict[str, Any]
# Plain values that JSON files hold.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
PathLike: TypeAlias = str | os.PathLike[str]
RandomState_: TypeAlias = int | np.random.RandomState | None

# scikit-learn has no types: what an estimator offers is found out at run time. The same holds for frames and sparse
# matrices of any library, for matplotlib, which is imported late, and for labels, which may be of any type.
Estimator: TypeAlias = Any
Samples: TypeAlias = Any
Axes: TypeAlias = Any
Label: TypeAlias = Any
# Labels of samples, or one of their other values, in any container: a list, an array, a Series.
Targets: TypeAlias = Any
# An object of a library that has no types, or is imported late: a booster, a problem of LIBLINEAR, a pandas index.
Foreign: TypeAlias = Any
# A number of folds, a share to hold out, a splitter of scikit-learn, splits, or a word.
Folding: TypeAlias = Any
# A number, or an array of numbers where one was given.
Values: TypeAlias = Any
