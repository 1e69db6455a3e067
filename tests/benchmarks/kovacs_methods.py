"""What is compared on the sets of the study of oversampling: searches of csf, and rivals on the same inner folds.

A rival trains nine candidates (``LinearSVC`` with seven values of C, five nearest neighbours, a tree) on each inner
training part, which is standardised and, where there is an oversampler, oversampled; held-out rows never are. The
pooled held-out rows choose a candidate as it is, and a candidate with its best exact threshold.
"""

import importlib
import logging
import time
import warnings
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from csf import CostSearch
from csf.data.folds import Fold, Task
from csf.metrics import get_metric
from csf.plugin import plain_channel
from csf.search.config import effort_of, open_cv, shared_effort
from csf.thresholding import sweep
from csf.trainers import Prepared, make_trainers

__all__ = [
    "CAREFUL",
    "CSF",
    "METRICS",
    "STAGES",
    "counts_of",
    "inner_folds",
    "measure",
    "outer_folds",
    "rivals",
    "value_of",
]

METRICS = {"f1": "F1", "gmean": "G-mean"}
# By the name that tables have; the settings are those that the package gives them.
OVERSAMPLERS = {
    "SMOTE": "SMOTE",
    "polynom-fit-SMOTE": "polynom_fit_SMOTE_star",
    "ProWSyn": "ProWSyn",
    "SMOTE-IPF": "SMOTE_IPF",
}
CSF, SEVERAL, PLAIN, CAREFUL, TUNED = "csf", "csf, LightGBM too", "as it is", "exact threshold", "tuned"
WITH_THRESHOLD = " + exact threshold"
# Of the C that scikit-learn takes, which wins where several are equally good.
_FACTORS = tuple(4.0**k for k in (0, -1, 1, -2, 2, -3, 3))


def families():
    """Three of the four families of the study, as scikit-learn gives them."""
    return [LinearSVC(), KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)]


def candidates():
    """What each rival chooses from."""
    svm, *others = families()
    return [LinearSVC(C=svm.C * factor) for factor in _FACTORS] + others


def scaled(models):
    """The models on standardised features."""
    return [make_pipeline(StandardScaler(), model) for model in models]


def outer_folds(y, repeat):
    """Five folds to judge by, the same for all methods."""
    return list(StratifiedKFold(5, shuffle=True, random_state=repeat).split(np.zeros(y.size), y))


def inner_folds(y):
    """The folds that a search of the three families chooses by, which the rivals choose by as well."""
    effort = shared_effort([effort_of(model, "auto", "auto", [{}]) for model in families()])
    return list(open_cv(y, effort, random_state=None).split(np.zeros(y.size), y))


def counts_of(is_pos, decided):
    """True positives, false positives, false negatives and true negatives."""
    is_pos, decided = np.asarray(is_pos, dtype=bool), np.asarray(decided, dtype=bool)
    pairs = ((is_pos, decided), (~is_pos, decided), (is_pos, ~decided), (~is_pos, ~decided))
    return [int(np.count_nonzero(truth & said)) for truth, said in pairs]


def value_of(metric, counts):
    """F1 or G-mean of true positives, false positives, false negatives and true negatives; 0 where nothing is found."""
    tp, fp, fn, tn = (float(count) for count in counts)
    if tp == 0.0:
        return 0.0
    return 2.0 * tp / (2.0 * tp + fp + fn) if metric == "f1" else float(np.sqrt(tp / (tp + fn) * tn / (tn + fp)))


# ------------------------------------------------------------------------------------------------------------ rivals


class Part(NamedTuple):
    """Rows to train on, standardised and oversampled, and held-out rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def part_of(X, y, train, test, oversampler=None):
    """The part of two lists of rows; what was standardised and oversampled by is the training rows."""
    scaler = StandardScaler().fit(X[train])
    rows, labels = scaler.transform(X[train]), y[train]
    if oversampler is not None:
        maker = getattr(importlib.import_module("smote_variants"), OVERSAMPLERS[oversampler])
        logging.getLogger("smote_variants").setLevel(logging.ERROR)
        rows, labels = maker(random_state=0).sample(rows, labels)
    return Part(rows, labels.astype(int), scaler.transform(X[test]), y[test])


def responses(bases, part):
    """Responses of all bases, trained on the part, to its held-out rows; linear models start from the one before."""
    n = part.y.size
    task = Task(np.vstack([part.X, part.X_test]), np.concatenate([part.y, part.y_test]))
    fold = Fold(task, np.arange(n), np.arange(n, task.n_samples))
    prepared, states, answers = Prepared(), {}, []
    for base in bases:
        (trainer,) = make_trainers(base, [fold], plain_channel(base), "none", prepared)
        start = [states[trainer.family]] if trainer.family in states else ()
        training = trainer.fit((1.0, 1.0), start)
        if trainer.family is not None:
            states[trainer.family] = training.state
        answers.append(trainer.predict(training, "test", tune=True))
    return answers


def rivals(X, y, train, test, oversampler=None):
    """Counts on the test rows of the best candidate as it is and with an exact threshold, chosen by each metric."""
    bases = candidates()
    parts = [part_of(X[train], y[train], *rows, oversampler) for rows in inner_folds(y[train])]
    answers = list(zip(*(responses(bases, part) for part in parts)))
    is_pos = np.concatenate([part.y_test for part in parts]) == 1
    decided = [np.concatenate([answer.decided for answer in of_base]) for of_base in answers]
    curves = [sweep(is_pos, np.concatenate([answer.score for answer in of_base])) for of_base in answers]
    last, tested = part_of(X, y, train, test, oversampler), {}

    def on_test(at):
        if at not in tested:
            (tested[at],) = responses([bases[at]], last)
        return tested[at]

    plain, threshold = PLAIN, CAREFUL
    if oversampler is not None:
        plain, threshold = oversampler, oversampler + WITH_THRESHOLD
    counts = {plain: {}, threshold: {}}
    for metric in METRICS:
        best = int(np.argmax([value_of(metric, counts_of(is_pos, one)) for one in decided]))
        counts[plain][metric] = counts_of(last.y_test, on_test(best).decided)
        cuts = [curve.best(get_metric(metric)) for curve in curves]
        best = int(np.argmax([cut.value for cut in cuts]))
        counts[threshold][metric] = counts_of(last.y_test, on_test(best).score >= cuts[best].threshold)
    return {"counts": counts}


def tuned(metric, X, y, train, test):
    """Counts of the family whose ``TunedThresholdClassifierCV`` has the best score of its own."""
    # scikit-learn's own F1 takes thirty times as long.
    scoring = make_scorer(lambda truth, predicted: value_of(metric, counts_of(truth, predicted)))
    folds = min(5, int(y[train].sum()))
    models = []
    for base in scaled(families()):
        with suppress(ValueError):  # it refuses a family that scores all rows of a fold alike
            models.append(TunedThresholdClassifierCV(base, scoring=scoring, cv=folds).fit(X[train], y[train]))
    best = max(models, key=lambda model: model.best_score_)
    return {"counts": {TUNED: {metric: counts_of(y[test], best.predict(X[test]))}}}


# ---------------------------------------------------------------------------------------------------------- searches


def three_families():
    """The families of the rivals."""
    return scaled(families())


def with_boosting():
    """Logistic regression, a forest and LightGBM."""
    from lightgbm import LGBMClassifier

    forest = RandomForestClassifier(random_state=0, n_jobs=1)
    boosting = LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    return [*scaled([LogisticRegression(max_iter=2000)]), forest, boosting]


def searched(name, models, metric, X, y, train, test):
    """Counts of one search, and what it expects of new rows."""
    search = CostSearch(models(), metric).fit(X[train], y[train])
    low, high = search.score_interval_
    expected = {"corrected": float(search.corrected_score_), "low": float(low), "high": float(high)}
    return {"counts": {name: {metric: counts_of(y[test], search.predict(X[test]))}}, "expected": expected}


# What is measured at once; what matters most comes first.
STAGES = {
    "csf-f1": partial(searched, CSF, three_families, "f1"),
    "plain": rivals,
    "SMOTE": partial(rivals, oversampler="SMOTE"),
    "csf-gmean": partial(searched, CSF, three_families, "gmean"),
    "tuned-f1": partial(tuned, "f1"),
    "polynom-fit-SMOTE": partial(rivals, oversampler="polynom-fit-SMOTE"),
    "ProWSyn": partial(rivals, oversampler="ProWSyn"),
    "several-f1": partial(searched, SEVERAL, with_boosting, "f1"),
    "tuned-gmean": partial(tuned, "gmean"),
    "SMOTE-IPF": partial(rivals, oversampler="SMOTE-IPF"),
    "several-gmean": partial(searched, SEVERAL, with_boosting, "gmean"),
}


def measure(stage, data, repeat, fold):
    """One outer fold of one set: counts of each method, processor seconds of all of them, or the error."""
    train, test = outer_folds(data.y, repeat)[fold]
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row = STAGES[stage](data.X, data.y, train, test)
        except Exception as error:  # a table of many sets says what failed
            row = {"error": f"{type(error).__name__}: {error}"}
    key = {"stage": stage, "set": data.name, "repeat": repeat, "fold": fold}
    return key | row | {"seconds": round(time.process_time() - start, 3)}
