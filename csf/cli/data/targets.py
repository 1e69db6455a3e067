"""Labels of a data set as a binary target."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from csf._common.messages import did_you_mean
from csf._common.typing import Array, Label
from csf.cli.errors import CliError

__all__ = ["as_labels", "binary_target", "read_target"]

_SHOWN = 12
# From here on floats are further than 1 apart.
_EXACT = 2.0**53


def as_labels(values: Array) -> Array:
    """Integers as they are, whole floats as int64, other floats as they are; what may have been rounded is refused."""
    if values.dtype.kind in "iu":
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
    """As `binary_target`; more than two classes stay as they are, none of them positive, where that is wanted."""
    if several and positive is None and np.unique(values).size > 2:
        return values, None
    return binary_target(values, positive)


def binary_target(values: Array, positive: str | None = None) -> tuple[Array, Label]:
    """Labels of two classes, with one of them as the positive class.

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
        If there is one class only, or the positive class is not given or not there.

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
        if classes.size == 2 and classes.dtype.kind in "biuf" and classes[1] == 1 and classes[0] in (0, -1):
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


def _same(label, text):
    """Whether a text names a label; numbers are compared as numbers."""
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
