"""Searches that reports are written of: small, quick, and each with something that a page has to survive."""

import functools
import warnings
from html.parser import HTMLParser

import numpy as np
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch

EVIL, QUOTES = "<script>alert(1)</script>", "\"'&>--!>"


class Moody(LogisticRegression):
    """Fails where false negatives are cheap."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None and sample_weight[y == 1].min() < 1.5:
            raise ValueError(f"no {EVIL} today")
        return super().fit(X, y, sample_weight)


@functools.cache
def data(classes=2):
    """Training and test part."""
    X, y = make_classification(
        600,
        8,
        n_informative=5,
        n_classes=classes,
        weights=[0.7, *[0.3 / (classes - 1)] * (classes - 1)],
        flip_y=0.1,
        random_state=0,
    )
    return X[:400], y[:400], X[400:], y[400:]


@functools.cache
def fitted(kind):
    """A fitted search of a kind, with held-out samples and labels."""
    X, y, X_test, y_test = data(3 if kind in ("three", "labels", "classes") else 2)
    if kind == "infeasible":  # the largest scores are those of negatives, whatever the direction
        X, X_test = X[:, :1], X_test[:, :1]
        y, y_test = (abs(X[:, 0]) < 1).astype(int), (abs(X_test[:, 0]) < 1).astype(int)
    options = {"n_trials": 4, "param_grid": None, "cv": 3}
    if kind == "evil":
        names = np.array([QUOTES, EVIL])
        y, y_test, options = names[y], names[y_test], options | {"pos_label": EVIL}
    if kind == "labels":
        y, y_test = (np.column_stack([each == 0, each > 0, each == 2]).astype(int) for each in (y, y_test))
    searches = {
        "plain": lambda: paper_search(LinearSVC(), **options | {"param_grid": {"C": [0.01, 0.1, 1.0]}}),
        "evil": lambda: paper_search(LinearSVC(), **options),
        "three": lambda: paper_search(LogisticRegression(), null_class=0, **options),
        "labels": lambda: CostSearch(LinearSVC(), "f1_macro", **options),
        "classes": lambda: CostSearch(LogisticRegression(), "f1_macro", param_grid=None, cv=3),
        "infeasible": lambda: paper_search(LinearSVC(), "recall", constraint="precision >= 1", **options),
        "failed": lambda: paper_search(Moody(), engine="generic", strategy="grid", **options),
        "prefit": lambda: paper_search(LinearSVC().fit(X, y), cv="prefit"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = searches[kind]().fit(X, y)
    if kind == "labels":
        search.label_names_ = np.array(["sea", EVIL, "sun"])
    return search, X_test, y_test


KINDS = ("plain", "evil", "three", "labels", "classes", "infeasible", "failed", "prefit")


class Reader(HTMLParser):
    """Texts of a page, and everything in it that a browser would fetch or run."""

    def __init__(self):
        super().__init__()
        self.texts, self.loaded, self.handlers, self.scripts, self.ids = [], [], [], 0, []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        for name, value in attrs:
            self.handlers += [value] * name.startswith("on")
            self.ids += [value] * (name == "id")
            if name in ("src", "href", "xlink:href", "data", "action") and not value.startswith(("#", "data:,")):
                self.loaded.append(value)

    def handle_data(self, data):
        self.texts.append(data)


def page_of(path):
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    return text, " ".join(reader.texts), reader
