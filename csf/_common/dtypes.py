"""What the entries of an array are: which numbers may stand where is asked here alone."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array


def _is_one_of(array: Array | np.generic, kinds: str) -> bool:
    """Check whether the dtype of an array, or of a scalar of numpy, is of one of numpy's kinds."""
    return array.dtype.kind in kinds


def is_object(array: Array | np.generic) -> bool:
    """Check for Python objects."""
    return _is_one_of(array, "O")


def is_text(array: Array | np.generic) -> bool:
    """Check for texts or bytes of fixed length."""
    return _is_one_of(array, "SU")


def is_float(array: Array | np.generic) -> bool:
    """Check for floating-point numbers."""
    return _is_one_of(array, "f")


def is_integer(array: Array | np.generic) -> bool:
    """Check for integers, without booleans."""
    return _is_one_of(array, "iu")


def is_whole(array: Array | np.generic) -> bool:
    """Check for integers and booleans."""
    return _is_one_of(array, "biu")


def is_real(array: Array | np.generic) -> bool:
    """Check for integers and floating-point numbers, without booleans."""
    return _is_one_of(array, "iuf")


def is_number(array: Array | np.generic) -> bool:
    """Check for booleans, integers and floating-point numbers."""
    return _is_one_of(array, "biuf")


def is_time(array: Array | np.generic) -> bool:
    """Check for dates and spans of time."""
    return _is_one_of(array, "mM")
