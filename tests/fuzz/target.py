"""What a target is, and the data that good calls are made with."""

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import strategies
from csf.metrics import METRICS, get_metric
from csf.strategies import STRATEGIES

__all__ = ["BASES", "BESIDE", "Target", "choices_of", "data", "full_name", "function"]


@dataclass(frozen=True)
class Target:
    """Something to call: ``arguments(rng)`` gives good ones; ``call`` raises `Insane` where the result cannot be."""

    name: str
    arguments: Callable
    call: Callable
    choices: dict


def choices_of(thing):
    """Accepted values of parameters, as the docstring gives them in braces."""
    found = re.findall(r"^\s*(\w+) : \{(.*?)\}", inspect.getdoc(thing) or "", re.MULTILINE)
    values = {name: [part.strip() for part in text.split(",")] for name, text in found}
    named = {name: [None if v == "None" else v.strip('"') for v in options] for name, options in values.items()}
    named["metric"] = [*METRICS, *(get_metric(name) for name in ("f0.5", "jaccard")), "f1e9", "f0", "f0.001", "f1000"]
    named["strategy"] = [*STRATEGIES, strategies.Cone(depth=2), strategies.Support()]
    named["constraint"] = ["precision >= 0.8", "recall>=1", "fpr <= 0", "fpr <= 1e-300", "fpr >= 0.1", "precision >= 2"]
    named["pos_label"] = [1, 0, "yes", "no", True]
    named["base"] = BASES
    return named


BASES = [
    LogisticRegression(),
    GaussianNB(),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    LogisticRegression(solver="newton-cholesky", max_iter=5),
]


def data(rng, n_classes=2):
    """Samples, labels of all classes and weights."""
    n, d = int(rng.integers(20, 50)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    noise = X[:, 0] + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(noise, 1.0 - 0.35 * np.arange(1, n_classes)[::-1]), noise)
    return X, y, rng.uniform(0.5, 2.0, n)


# Modules beside the packages, which users import from.
BESIDE = [f"csf.{path.stem}" for path in sorted(Path(csf.__file__).parent.glob("*.py")) if path.stem[0] != "_"]


def function(thing, arguments, call, *, note=""):
    """Target of a function or class with its own way to call it."""
    return Target(full_name(thing) + note, arguments, call, choices_of(thing))


def full_name(thing):
    """Full name of a public thing: the shortest of the modules that give it out."""
    parts = thing.__module__.split(".")
    owners = ["csf", *(".".join(parts[:size]) for size in range(2, len(parts) + 1))]
    return next(
        f"{owner}.{thing.__name__}"
        for owner in owners
        if getattr(importlib.import_module(owner), thing.__name__, None) is thing
    )
