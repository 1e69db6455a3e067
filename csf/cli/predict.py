"""``csf predict``: labels and scores of new data."""

from __future__ import annotations

import contextlib
import csv
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from csf._common.files import cell, replaced
from csf.cli.data import read_samples
from csf.cli.persistence import load_model
from csf.cli.problem import check_output

__all__ = ["run"]


def run(options: Namespace, say: Callable[..., Any]) -> None:
    """Run the command."""
    check_output(options.output)
    search, features = load_model(options.model, options.trust)
    X = read_samples(options.data, features)
    labels, columns = search.predict(X), _columns(search, X)
    with _opened(options.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prediction", *columns])
        writer.writerows(zip(map(cell, labels.tolist()), *(values.tolist() for values in columns.values())))
    if options.output:
        say(f"{options.output}: {len(labels)} rows, {_told(search, labels)}")


def _told(search, labels):
    """How many rows are predicted what."""
    if search.pos_label_ is None:
        known, counts = np.unique(labels, return_counts=True)
        return "predicted " + ", ".join(f"{label} ({count})" for label, count in zip(known, counts))
    return f"{int(np.sum(labels == search.pos_label_))} predicted positive ({search.pos_label_})"


def _columns(search, X):
    """Scores above 0 where the positive class is predicted, and its probabilities where the base has them.

    Of several classes each has a column: the largest score is predicted.
    """
    if search.pos_label_ is None:
        answers = {"score": search.decision_function(X)}
        if hasattr(search, "predict_proba"):
            answers["probability"] = search.predict_proba(X)
        names = search.classes_.tolist()
        return {f"{kind} {name}": column for kind, each in answers.items() for name, column in zip(names, each.T)}
    at = list(search.classes_).index(search.pos_label_)
    distance = search.decision_function(X)
    # "0.0 -" and not "-": a negative zero would look odd in a file.
    columns = {"score": distance if at == 1 else 0.0 - distance}
    if hasattr(search, "predict_proba"):
        columns["probability"] = search.predict_proba(X)[:, at]
    return columns


def _opened(path):
    """File to write, or the standard output."""
    if path:
        return replaced(path, newline="")
    return contextlib.nullcontext(sys.stdout)
