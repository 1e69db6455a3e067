"""A small fitted search of each kind of problem."""

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import CostMatrix, RowCosts

N = 240
X, Y = make_classification(N, 6, n_informative=4, weights=[0.75], flip_y=0.1, random_state=1)
CLASSES = make_classification(N, 6, n_informative=4, n_classes=3, weights=[0.6, 0.25], flip_y=0.1, random_state=1)
FRAME = pd.DataFrame(X, columns=list("abcdef"))
FRAME["amount"] = np.exp(np.random.default_rng(0).normal(size=N) + 2)
SEVERAL = np.column_stack([Y, X[:, 1] > 0.8, X[:, 2] + X[:, 3] > 1]).astype(int)
WORDS = np.array(["yes", "no"])[Y]
LR, SVC, FOREST = LogisticRegression(), LinearSVC(), RandomForestClassifier(5, random_state=0)
BOOSTING, NEIGHBOURS = HistGradientBoostingClassifier(max_iter=5, random_state=0), KNeighborsClassifier()
COSTS = RowCosts(fn="amount", fp=5.0)

# Base, metric, samples, target and further options of each kind.
KINDS = {
    "two": (LR, "f1", X, Y, {}),
    "two words": (SVC, "f1", X, WORDS, {"pos_label": "no"}),
    "two boosting": (BOOSTING, "f1", X, Y, {}),
    "two models": ([LR, FOREST], "f1", X, Y, {}),
    "two without weights": (NEIGHBOURS, "f1", X, Y, {}),
    "two prefit": (LogisticRegression().fit(X, WORDS), "f1", X, WORDS, {"pos_label": "no", "cv": "prefit"}),
    "two own decision": (FOREST, "f1", X, Y, {"threshold": None}),
    "rows": (LR, COSTS, FRAME, Y, {}),
    "rows boosting": (BOOSTING, COSTS, FRAME, WORDS, {"pos_label": "no"}),
    "rows models": ([LR, FOREST], COSTS, FRAME, Y, {}),
    "classes": (LR, "f1_macro", *CLASSES, {}),
    "classes boosting": (BOOSTING, "f1_macro", *CLASSES, {}),
    "classes cost matrix": (LR, CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]]), *CLASSES, {}),
    "classes models": ([LR, FOREST], "f1_macro", *CLASSES, {}),
    "null class": (OneVsRestClassifier(LR), "f1", *CLASSES, {"null_class": 1}),
    "null class boosting": (BOOSTING, "f1", *CLASSES, {"null_class": 0}),
    "labels": (LR, "f1_macro", X, SEVERAL, {}),
    "labels micro": (LR, "f1_micro", X, SEVERAL, {}),
    "labels samples": (SVC, "f1_samples", X, SEVERAL, {}),
    "labels boosting": (BOOSTING, "f1_macro", X, SEVERAL, {}),
    "labels models": ([LR, FOREST], "f1_macro", X, SEVERAL, {}),
    # Demands, and means of the models of all folds.
    "two folds": (LR, "f1", X, Y, {"refit": "folds"}),
    "two demand": (LR, "recall", X, Y, {"constraint": "precision >= 0.5"}),
    "rows demand": (LR, COSTS, FRAME, Y, {"constraint": "recall >= 0.8"}),
    "rows folds": (LR, COSTS, FRAME, Y, {"refit": "folds"}),
    "classes demand": (LR, "f1_macro", *CLASSES, {"constraint": "recall[2] >= 0.7"}),
    "classes folds": (LR, "f1_macro", *CLASSES, {"refit": "folds"}),
    "labels demand": (LR, "f1_macro", X, SEVERAL, {"constraint": "recall[1] >= 0.9"}),
    "labels micro demand": (LR, "f1_micro", X, SEVERAL, {"constraint": "precision >= 0.5"}),
    "labels micro folds": (LR, "f1_micro", X, SEVERAL, {"refit": "folds"}),
    "labels folds": (LR, "f1_macro", X, SEVERAL, {"refit": "folds"}),
}


@functools.cache
def search_of(kind, **options):
    """The search of a kind, fitted."""
    base, metric, samples, target, more = KINDS[kind]
    defaults = {"n_trials": 2, "param_grid": None, "cv": 3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CostSearch(base, metric, **(defaults | more | options)).fit(samples, target)


def samples_of(kind):
    """The samples that a kind was fitted to, and their target."""
    return KINDS[kind][2:4]
