"""The small searches that `tests.benchmarks.net` compares: every kind of problem with every feature that it has.

Bases are closed forms, or solved until nothing moves, so that another processor finds the same numbers.
"""

import contextlib
import io
import tempfile
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import CostSearch
from csf.cli import main as command_line
from csf.fenchel import AMP, FenchelSVM
from csf.metrics import CostMatrix, FBeta, Incomplete, Review, RowCosts
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP
from csf.plugin import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TwoPassMiniBatch

__all__ = ["FEATURES", "Fitted", "KINDS", "MORE", "OF_MORE", "WITHOUT_A_SEARCH", "searches"]

N = 300
RNG = np.random.default_rng(0)
X, Y = make_classification(N, 6, n_informative=4, weights=[0.8], random_state=1)
X3, Y3 = make_classification(N, 6, n_informative=4, n_classes=3, weights=[0.6, 0.25], random_state=1)
# Other processors draw other last digits, which would put equal scores in another order.
X, X3 = X.round(6), X3.round(6)
LABELS = np.c_[Y, X[:, 1] > 0.8, X[:, 2] + X[:, 3] > 1].astype(int)
FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(amount=np.exp(RNG.normal(size=N) + 2))
WEIGHT, GROUPS = RNG.integers(1, 4, N).astype(float), RNG.integers(0, 90, N)
SEX, NOISE = RNG.choice(["f", "m"], N), RNG.normal(size=N)
SCORE = np.round(X[:, 1] + NOISE, 1)
WORDS = np.where(Y == 1, "yes", "no")
LOGISTIC = LogisticRegression(max_iter=1000, tol=1e-10)
SVC = LinearSVC(random_state=0, tol=1e-10, max_iter=100_000)
BAYES, TREE = GaussianNB(), DecisionTreeClassifier(max_depth=4, random_state=0)
BOOSTER = LGBMClassifier(n_estimators=16, verbose=-1, n_jobs=1)
FOREST = RandomForestClassifier(10, random_state=0)
COSTS, MATRIX = RowCosts(fn="amount", fp=5.0), CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]])

NOTHING, SMALL = MappingProxyType({}), {"n_trials": 2, "param_grid": None, "cv": 3, "random_state": 0}


class Fitted(NamedTuple):
    """A fitted classifier with samples and labels to try it on, and what these need beside them.

    ``detail`` says what is read: 0 for decisions, 1 for values to expect too, 2 for all that is asked of a search, such
    as capacities and other prevalences, 3 for monitors and displays too, 4 for a report too.
    """

    search: Any
    X: Any
    y: Any
    beside: Any = NOTHING
    detail: int = 1


class Kind(NamedTuple):
    """A kind of problem; ``rate`` is what a demand is on."""

    base: Any
    metric: Any
    X: Any
    y: Any
    options: Any = NOTHING
    rate: str = "recall"
    fit: Any = NOTHING

    def search(self, detail=1, fit=None, **options):
        """Fit a small search."""
        given = SMALL | dict(self.options) | options
        base = self.base if given["cv"] == "prefit" else clone(self.base, safe=False)
        search = CostSearch(base, self.metric, **given).fit(self.X, self.y, **self.fit, **(fit or {}))
        return Fitted(search, self.X, self.y, self.fit, detail)


def _profit(y, predicted, sample_weight=None):
    return float(np.average(10 * (y & predicted) - (predicted > y), weights=sample_weight))


HALF = N // 2
_rows_bayes = Kind(BAYES, COSTS, FRAME, Y)
_prefit = {"cv": "prefit"}
KINDS = {
    "two": Kind(LOGISTIC, "f1", X, Y),
    "two Bayes": Kind(BAYES, "f1", X, Y),
    "two tree": Kind(TREE, "f1", X, Y),
    "two words": Kind(BAYES, "f1", X, WORDS, {"pos_label": "no"}),
    "two boosting": Kind(BOOSTER, "f1", X, Y),
    "two models": Kind([BAYES, TREE], "f1", X, Y),
    "two without weights": Kind(KNeighborsClassifier(), "f1", X, Y),
    "two prefit": Kind(clone(BAYES).fit(X[:HALF], Y[:HALF]), "f1", X[HALF:], Y[HALF:], _prefit),
    "two function": Kind(BAYES, _profit, X, Y),
    "two gmean": Kind(BAYES, "gmean", X, Y),
    "two incomplete": Kind(BAYES, Incomplete("f1", labelled=0.6), X, Y & (NOISE < 0.3)),
    "rows": Kind(LOGISTIC, COSTS, FRAME, Y),
    "rows Bayes": _rows_bayes,
    "rows tree": Kind(TREE, COSTS, FRAME, Y),
    "rows boosting": Kind(BOOSTER, COSTS, FRAME, Y),
    "rows models": Kind([BAYES, TREE], COSTS, FRAME, Y),
    "rows beside": Kind(BAYES, "savings", X, Y, fit={"fn_cost": FRAME["amount"].to_numpy(), "fp_cost": 5.0}),
    "rows prefit": Kind(clone(BAYES).fit(FRAME[:HALF], Y[:HALF]), COSTS, FRAME[HALF:], Y[HALF:], _prefit),
    "classes": Kind(LOGISTIC, "f1_macro", X3, Y3, rate="recall[1]"),
    "classes Bayes": Kind(BAYES, "f1_macro", X3, Y3, rate="recall[1]"),
    "classes tree": Kind(TREE, "f1_macro", X3, Y3, rate="recall[1]"),
    "classes boosting": Kind(BOOSTER, "f1_macro", X3, Y3, rate="recall[1]"),
    "classes cost matrix": Kind(BAYES, MATRIX, X3, Y3, rate="recall[1]"),
    "classes models": Kind([BAYES, TREE], "f1_macro", X3, Y3, rate="recall[1]"),
    "classes prefit": Kind(
        clone(BAYES).fit(X3[:HALF], Y3[:HALF]), "f1_macro", X3[HALF:], Y3[HALF:], _prefit, "recall[1]"
    ),
    "null class": Kind(OneVsRestClassifier(LOGISTIC), "f1", X3, Y3, {"null_class": 0}),
    "null class Bayes": Kind(BAYES, "f1", X3, Y3, {"null_class": 1}),
    "labels": Kind(LOGISTIC, "f1_macro", X, LABELS),
    "labels Bayes": Kind(BAYES, "f1_macro", X, LABELS),
    "labels tree": Kind(TREE, "f1_macro", X, LABELS),
    "labels micro": Kind(BAYES, "f1_micro", X, LABELS),
    "labels samples": Kind(BAYES, "f1_samples", X, LABELS),
    "labels boosting": Kind(BOOSTER, "f1_macro", X, LABELS),
    "segments gap": Kind(BAYES, "f1", X, Y, {"constraint": "recall gap <= 0.1 by sex"}, fit={"by": SEX}),
    "segments level": Kind(
        BAYES, "f1", FRAME.assign(kind=(NOISE > 0).astype(int)), Y, {"constraint": "precision >= 0.6 in each kind"}
    ),
    "segments costs": Kind(BAYES, COSTS, FRAME, Y, {"constraint": "recall gap <= 0.1 by sex"}, fit={"by": SEX}),
    "segments tree": Kind(TREE, "accuracy", X, Y, {"constraint": "selection_rate gap <= 0.05 by s"}, fit={"by": SEX}),
}


def _crossed(kind):
    """Scores of a search in outer folds."""
    base, metric, X, y, options, *_ = KINDS[kind]
    search = CostSearch(base, metric, **SMALL | dict(options))
    return {"scores": cross_val_score(search, X, y, cv=2, error_score="raise")}


def _piped(kind):
    """Predictions of a search at the end of a pipeline."""
    base, metric, X, y, options, *_ = KINDS[kind]
    search = CostSearch(base, metric, **SMALL | dict(options))
    return {"predict": make_pipeline(FunctionTransformer(), search).fit(X, y).predict(X)}


def _in_polars(kind):
    """Fit to a frame of polars."""
    given = KINDS[kind]
    names = list(given.X.columns) if hasattr(given.X, "columns") else [f"c{at}" for at in range(given.X.shape[1])]
    return given._replace(X=pl.DataFrame(np.asarray(given.X), schema=names)).search(detail=0)


def _checkpointed(kind):
    """Fit with a file of the trials."""
    with tempfile.TemporaryDirectory() as folder:
        return KINDS[kind].search(detail=0, checkpoint=Path(folder, "trials.json"))


def _sized(values, kind):
    """Values of the samples of a kind, which may be the later ones."""
    return values[-len(KINDS[kind].y) :]


# One search of a kind with an option: those of a feature differ in the kind alone.
FEATURES = {
    "sample_weight": lambda kind: KINDS[kind].search(fit={"sample_weight": _sized(WEIGHT, kind)}),
    "groups": lambda kind: KINDS[kind].search(fit={"groups": _sized(GROUPS, kind)}),
    "constraint": lambda kind: KINDS[kind].search(constraint=f"{KINDS[kind].rate} >= 0.7"),
    "confidence": lambda kind: KINDS[kind].search(constraint=f"{KINDS[kind].rate} >= 0.2", confidence=0.8),
    "review": lambda kind: KINDS[kind].search(review=Review(cost=0.2, at_most=0.1)),
    "limited review": lambda kind: KINDS[kind].search(review=Review(wrong=0.2, error=0.1)),
    "refit folds": lambda kind: KINDS[kind].search(refit="folds"),
    "time splits": lambda kind: KINDS[kind].search(cv=TimeSeriesSplit(4)),
    "cross_val": _crossed,
    "pipeline": _piped,
    "polars": _in_polars,
    "checkpoint": _checkpointed,
    "n_jobs": lambda kind: KINDS[kind].search(detail=0, n_jobs=2),
    "time_limit": lambda kind: KINDS[kind].search(detail=0, time_limit=600.0),
}
# Kinds beside the main ones, with the features whose decisions are most their own.
MORE = ("two Bayes", "two tree", "two words", "two gmean", "two incomplete", "rows Bayes", "rows tree", "rows beside")
MORE += ("rows prefit", "classes Bayes", "classes tree", "classes prefit", "null class Bayes", "labels Bayes")
MORE += ("labels tree", "labels samples", "segments level", "segments costs", "segments tree")
# A function is called for each number of a picture.
UNDRAWN = (*MORE, "two function")
# Pages take a second or two to draw: one of each target.
REPORTED = ("two", "rows", "classes cost matrix", "null class", "labels", "segments gap")
OF_MORE = ("constraint", "review")
_SEGMENTS = ("segments gap", "segments level", "segments costs", "segments tree")
# What has no meaning: scikit-learn's own functions do not pass on segments without routing.
WITHOUT_A_SEARCH = {
    "constraint": _SEGMENTS,
    "confidence": _SEGMENTS,
    "refit folds": ("two prefit",),
    "cross_val": ("two prefit", "segments gap"),
    "pipeline": ("segments gap",),
}


def searches():
    """The searches by name, each a function that returns `Fitted`, or numbers by name."""
    made = {}
    for kind, given in KINDS.items():
        made[f"{kind}, plain"] = partial(given.search, 2 if kind in UNDRAWN else 4 if kind in REPORTED else 3)
    for name, feature in FEATURES.items():
        kinds = [kind for kind in KINDS if kind not in WITHOUT_A_SEARCH.get(name, ())]
        kinds = [kind for kind in kinds if kind not in MORE or name in OF_MORE]
        made |= {f"{kind}, {name}": partial(feature, kind) for kind in kinds}
    return made | _of_options() | _of_learners() | {"command line": _of_command_line}


def _default(base, X, y, metric="f1", fit=None, **options):
    """Fit with the folds and parameters of a search that is given none."""
    options = {"cv": None, "param_grid": "auto", "n_trials": 3} | options
    return lambda: Kind(base, metric, X, y).search(fit=fit, **options)


def _two(base=LOGISTIC, **options):
    return _default(base, X, Y, **options)


def _of_options():
    """Searches with one option each."""
    ranked = {"n_trials": 6, "param_grid": None}
    classes = partial(_default, LOGISTIC, X3, Y3)
    rows, labels = partial(_default, X=FRAME, y=Y, metric=COSTS), partial(_default, LOGISTIC, X, LABELS)
    made = {
        "default": _two(),
        "default LinearSVC": _two(SVC),
        "default booster": _two(BOOSTER),
        "default HGB": _two(HistGradientBoostingClassifier(max_iter=8)),
        "default forest": _two(FOREST),
        "default tree": _two(TREE),
        "default Bayes": _two(BAYES),
        "default scaled": _two(make_pipeline(StandardScaler(), LOGISTIC)),
        "default models": _two([LOGISTIC, FOREST]),
        "default strings": _default(LOGISTIC, X, WORDS, pos_label="yes"),
        "default frame": _default(LOGISTIC, FRAME, Y),
        "default classes": classes(metric="f1_macro"),
        "default classes booster": _default(BOOSTER, X3, Y3, "f1_macro"),
        "default classes LinearSVC": _default(SVC, X3, Y3, "f1_macro"),
        "default labels": labels(metric="f1_macro"),
        "default rows": rows(LOGISTIC),
        "default rows booster": rows(BOOSTER),
        "threshold tune": _two(threshold="tune"),
        "threshold of the base": _two(threshold=None, n_trials=6),
        "precision": _two(metric="recall", constraint="precision >= 0.7"),
        "train bound": _two(bound_on="train", n_trials=4),
        "liblinear": _two(SVC, engine="liblinear"),
        "generic": _two(engine="generic"),
        "normalize": _two(normalize="none"),
        "share": _two(cv=0.3),
        "param_grid": _two(param_grid={"C": [0.1, 1.0]}, n_trials=4),
        "F2": _two(metric=FBeta(2.0)),
        "MCC": _two(metric="mcc"),
        "Jaccard": _two(metric="jaccard"),
        "one against rest": _default(OneVsRestClassifier(SVC), X3, Y3, null_class=0, weighting="one-vs-rest"),
        "classes MCC": classes(metric="mcc"),
        "classes gmean": classes(metric="gmean"),
        "classes two demands": classes(metric="f1_macro", constraint="recall[2] >= 0.6, precision[1] >= 0.5"),
        "rows fractional weights": rows(LOGISTIC, fit={"sample_weight": WEIGHT / 7}),
        "rows no cost of a sample": rows(BAYES, metric=RowCosts(fn="amount", fp="amount")),
        "rows dear false alarms": rows(BAYES, metric=RowCosts(fn="amount", fp=2000.0)),
        "rows cheap false alarms": rows(BAYES, metric=RowCosts(fn="amount", fp=0.01), review=Review(cost=0.1)),
        "scores": lambda: _of_scores(Y),
        "scores, words": lambda: _of_scores(WORDS, pos_label="no"),
        "scores, weights and groups": lambda: _of_scores(Y, sample_weight=WEIGHT, groups=GROUPS),
        "scores, segments": lambda: _of_scores(Y, constraint="precision gap <= 0.1 by sex", by=SEX),
        "scores, certificate": lambda: _of_scores(Y, metric="recall", constraint="precision >= 0.3", confidence=0.9),
        "probabilities of classes": _of_probabilities,
        "intervals": _intervals,
    }
    strategies = ("cone", "grid", "bisection", "dinkelbach", "imbalance_ratio", "support", "golden_section")
    made |= {f"strategy {name}": _two(strategy=name, **ranked) for name in strategies}
    return made | {f"bound {name}": _two(bound=name, **ranked) for name in ("diagonal", "envelope", "parambath")}


def _of_scores(y, metric="f1", **options):
    decision = csf.tune_threshold(y, -SCORE if options.get("pos_label") == "no" else SCORE, metric, **options)
    return Fitted(decision.search, SCORE[:, None], y, {"by": options["by"]} if "by" in options else {})


def _of_probabilities():
    P = np.round(clone(BAYES).fit(X3[:HALF], Y3[:HALF]).predict_proba(X3), 1) + 0.1
    P = P / P.sum(axis=1, keepdims=True)
    return Fitted(csf.tune_threshold(Y3, P, "f1_macro").search, P, Y3)


def _intervals():
    """Intervals of predicted labels."""
    predicted, other = (SCORE > 1.0).astype(int), (X[:, 2] > 0.5).astype(int)
    told = {}
    for metric in ("f1", "precision", "recall", "accuracy", "gmean", "mcc", "jaccard"):
        for name, given in (("", {}), (" groups", {"groups": GROUPS}), (" weights", {"sample_weight": WEIGHT})):
            told[metric + name] = csf.metric_interval(Y, predicted, metric, **given)
        told[f"{metric} difference"] = csf.metric_difference(Y, predicted, other, metric)
    decided = np.c_[predicted, other, 1 - other]
    told["labels"] = csf.metric_interval(LABELS, decided, "f1_samples")
    told["classes"] = csf.metric_interval(Y3, (X3[:, 0] > 0).astype(int) + (X3[:, 1] > 1), "f1_macro")
    return told


def _of_learners():
    """Learners other than `CostSearch`."""
    learners = {
        "plug-in": PlugInClassifier(LOGISTIC),
        "plug-in Bayes": PlugInClassifier(BAYES),
        "plug-in calibrated": PlugInClassifier(LOGISTIC, calibration="isotonic"),
        "plug-in bisection": BisectionPlugIn(LOGISTIC),
        "plug-in Frank-Wolfe": FrankWolfePlugIn(LOGISTIC),
        "FenchelSVM": FenchelSVM(),
        "AMP": AMP(),
        "SPADE": SPADE(random_state=0),
        "STAMP": STAMP(random_state=0),
        "1PMB": OnePassMiniBatch(random_state=0),
        "2PMB": TwoPassMiniBatch(random_state=0),
        "FTRL": FTRL(random_state=0),
        "OFO": OFO(random_state=0),
        "FOFO": FOFO(random_state=0),
        "OMCSL": OMCSL(random_state=0),
        "cutting plane": CuttingPlane(),
        "subgradient": ProjectedSubgradient(),
    }
    made = {name: lambda learner=learner: Fitted(learner.fit(X, Y), X, Y) for name, learner in learners.items()}
    several = {
        "plug-in classes": PlugInClassifier(BAYES, metric="f1_macro"),
        "plug-in prefit": PlugInClassifier(clone(BAYES).fit(X3[:HALF], Y3[:HALF]), metric="f1_macro", cv="prefit"),
    }
    return made | {name: lambda each=each: Fitted(each.fit(X3, Y3), X3, Y3) for name, each in several.items()}


def _of_command_line():
    """What the command line tells of a small search and its predictions, as texts."""
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder, "data.csv"), Path(folder, "model.skops")
        FRAME.assign(t=Y).to_csv(path, index=False)
        told = {}
        search = [
            "search",
            str(path),
            "--target",
            "t",
            "--trials",
            "2",
            "--cv",
            "3",
            "--no-rivals",
            "--save",
            str(model),
        ]
        for name, arguments in {
            "search": search,
            "predict": ["predict", str(model), str(path), "--at-most", "20"],
            "threshold": ["threshold", str(path), "--target", "t", "--score", "b"],
        }.items():
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                try:
                    command_line(arguments)
                except SystemExit as error:
                    told[f"{name} ends"] = [str(error.code).replace(folder, "")]
            lines = printed.getvalue().splitlines()
            told[name] = [line.strip().replace(folder, "") for line in lines if "second" not in line]
        return told
