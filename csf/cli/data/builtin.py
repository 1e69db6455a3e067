"""Data sets that come with scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn import datasets

from csf._common.messages import did_you_mean
from csf._common.typing import Samples
from csf.cli.data.dataset import Dataset, Features, matched, refuse_column_options
from csf.cli.data.targets import binary_target
from csf.cli.errors import CliError

if TYPE_CHECKING:
    from csf.cli.data.dataset import ReadOptions


__all__ = ["BUILTIN", "describe", "is_builtin", "read_labelled", "read_unlabelled"]

# name -> loader and the class that is positive when none is named
BUILTIN = {
    "breast_cancer": (datasets.load_breast_cancer, "malignant"),
    "digits": (datasets.load_digits, None),
    "iris": (datasets.load_iris, None),
    "wine": (datasets.load_wine, None),
}


def is_builtin(source: str) -> bool:
    """Whether a source such as ``"digits:8"`` is a built-in set."""
    return source.partition(":")[0] in BUILTIN


def describe() -> str:
    """One line that lists the names of all built-in sets.

    Returns
    -------
    str
        The names, with the classes to choose from.

    Examples
    --------
    >>> describe()
    'breast_cancer, digits:0 to digits:9, iris:0 to iris:2, wine:0 to wine:2'
    """
    return "breast_cancer, digits:0 to digits:9, iris:0 to iris:2, wine:0 to wine:2"


def read_labelled(source: str, options: ReadOptions) -> Dataset:
    """Built-in set, one class against the rest."""
    refuse_column_options(options, source)
    name, _, positive = source.partition(":")
    load, default = BUILTIN[name]
    bunch = load()
    labels = [str(label) for label in bunch.target_names]
    positive = positive or options.positive or default
    if positive is None and not options.several:
        raise CliError(
            f"{name} has the classes {', '.join(labels)}: say which one is positive, e.g. {name}:1, or search all "
            "classes by a metric such as --metric f1_macro"
        )
    if positive is None:
        return Dataset(source, bunch.data, np.array(labels)[bunch.target], None, Features.of(bunch.data))
    if positive not in labels and positive.isdecimal() and int(positive) < len(labels):
        positive = labels[int(positive)]
    if positive not in labels:
        raise CliError(
            f"{name} has no class {positive!r}; its classes are {', '.join(labels)} (or 0 to {len(labels) - 1})"
            f"{did_you_mean(positive, labels)}"
        )
    y, pos_label = binary_target(np.array(labels)[bunch.target], positive)
    return Dataset(source, bunch.data, y, pos_label, Features.of(bunch.data))


def read_unlabelled(source: str, features: Features) -> Samples:
    """Samples of a built-in set, for a trained model."""
    load, _ = BUILTIN[source.partition(":")[0]]
    return matched(load().data, features, source)
