"""Whether a change of csf keeps what its searches find: small searches of every kind of problem and option.

``python -m tests.benchmarks net --out FILE`` writes the numbers of each search; ``--against FILE`` compares them with
those that another version wrote on the same machine, and prints the searches in which one differs by more than 1e-9.
"""

import argparse
import contextlib
import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.cli import main as command_line
from csf.fenchel import AMP, FenchelSVM
from csf.metrics import CostMatrix, FBeta, Review, RowCosts
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP
from csf.plugin import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TwoPassMiniBatch

__all__ = ["differences", "main", "measure", "searches"]

N = 500
RNG = np.random.default_rng(0)
X, Y = make_classification(N, 6, n_informative=4, weights=[0.8], random_state=1)
X3, Y3 = make_classification(N, 6, n_informative=4, n_classes=3, weights=[0.6, 0.25], random_state=1)
LABELS = np.c_[Y, X[:, 1] > 0.8, X[:, 2] + X[:, 3] > 1].astype(int)
FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(amount=np.exp(RNG.normal(size=N) + 2))
WEIGHT, GROUPS = RNG.integers(1, 4, N).astype(float), RNG.integers(0, 90, N)
LOGISTIC, SVC = LogisticRegression(max_iter=300), LinearSVC(random_state=0)
BOOSTER = LGBMClassifier(n_estimators=16, verbose=-1, n_jobs=1)
FOREST = RandomForestClassifier(10, random_state=0)
COSTS = RowCosts(fn="amount", fp=5.0)
# What a fitted search tells, as far as it has it.
NUMBERS = (
    *("best_score_", "corrected_score_", "score_interval_", "best_threshold_", "threshold_interval_", "best_t_"),
    *("best_cost_weights_", "upper_bound_", "gap_", "bound_margin_", "constraint_value_", "feasible_", "n_trials_"),
    *("gain_", "gain_by_chance_", "class_costs_", "confusion_", "best_scores_", "threshold_without_costs_"),
)


def _search(base, X, y, metric="f1", fit=None, **options):
    options = {"n_trials": 3, "random_state": 0} | options
    base = base if options.get("cv") == "prefit" else clone(base, safe=False)
    return CostSearch(base, metric, **options).fit(X, y, **(fit or {}))


def _profit(y, predicted, sample_weight=None):
    return float(np.average(10 * (y & predicted) - (predicted > y), weights=sample_weight))


def _two(base=LOGISTIC, **options):
    return lambda: _search(base, X, Y, **options)


def _classes(base=LOGISTIC, metric="f1_macro", **options):
    return lambda: _search(base, X3, Y3, metric, **options)


def _labels(base=LOGISTIC, metric="f1_macro", **options):
    return lambda: _search(base, X, LABELS, metric, **options)


def _rows(base=LOGISTIC, **options):
    return lambda: _search(base, FRAME, Y, COSTS, **options)


def _learner(learner):
    return lambda: learner.fit(X, Y)


def searches():
    """The searches by name, each a function that returns a fitted classifier."""
    ranked = {"n_trials": 6, "param_grid": None}
    found = {
        "two": _two(),
        "two LinearSVC": _two(SVC),
        "two booster": _two(BOOSTER),
        "two HGB": _two(HistGradientBoostingClassifier(max_iter=8)),
        "two forest": _two(FOREST),
        "two tree": _two(DecisionTreeClassifier(max_depth=4, random_state=0)),
        "two Bayes": _two(GaussianNB()),
        "two neighbours": _two(KNeighborsClassifier()),
        "two pipeline": _two(make_pipeline(StandardScaler(), LOGISTIC)),
        "two models": _two([LOGISTIC, FOREST]),
        "two weights": _two(fit={"sample_weight": WEIGHT}),
        "two groups": _two(fit={"groups": GROUPS}),
        "two strings": lambda: _search(LOGISTIC, X, np.where(Y == 1, "yes", "no"), pos_label="yes"),
        "two frame": lambda: _search(LOGISTIC, FRAME, Y),
        "two tune": _two(threshold="tune"),
        "two own decision": _two(threshold=None, n_trials=6),
        "two min_gain": _two(min_gain=1.0),
        "two constraint": _two(metric="recall", constraint="precision >= 0.7"),
        "two certificate": _two(metric="recall", constraint="precision >= 0.6", confidence=0.8),
        "two review": _two(review=Review(cost=0.2, at_most=0.1)),
        "two folds": _two(refit="folds"),
        "two train bound": _two(bound_on="train", n_trials=4),
        "two liblinear": _two(SVC, engine="liblinear"),
        "two generic": _two(engine="generic"),
        "two normalize": _two(normalize="none"),
        "two share": _two(cv=0.3),
        "two grid": _two(param_grid={"C": [0.1, 1.0]}, n_trials=4),
        "two rates": _two(metric="gmean"),
        "two F2": _two(metric=FBeta(2.0)),
        "two MCC": _two(metric="mcc"),
        "two Jaccard": _two(metric="jaccard"),
        "two function": _two(metric=_profit),
        "two prefit": lambda: _search(LogisticRegression().fit(X[:200], Y[:200]), X[200:], Y[200:], cv="prefit"),
        "null class": lambda: _search(OneVsRestClassifier(LOGISTIC), X3, Y3, null_class=0),
        "one against rest": lambda: _search(OneVsRestClassifier(SVC), X3, Y3, null_class=0, weighting="one-vs-rest"),
        "classes": _classes(),
        "classes MCC": _classes(metric="mcc"),
        "classes booster": _classes(BOOSTER),
        "classes LinearSVC": _classes(SVC),
        "classes weights": _classes(fit={"sample_weight": WEIGHT}),
        "classes groups": _classes(fit={"groups": GROUPS}),
        "classes cost matrix": _classes(metric=CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]])),
        "classes models": _classes([LOGISTIC, FOREST]),
        "classes prefit": lambda: _search(
            LogisticRegression().fit(X3[:200], Y3[:200]), X3[200:], Y3[200:], "f1_macro", cv="prefit"
        ),
        "labels": _labels(),
        "labels micro": _labels(metric="f1_micro"),
        "labels samples": _labels(metric="f1_samples"),
        "labels booster": _labels(BOOSTER),
        "labels weights": _labels(fit={"sample_weight": WEIGHT}),
        "rows": _rows(),
        "rows booster": _rows(BOOSTER),
        "rows models": _rows([LOGISTIC, FOREST]),
        "rows weights": _rows(fit={"sample_weight": WEIGHT}),
        "rows fractional weights": _rows(fit={"sample_weight": WEIGHT / 7}),
        "rows groups": _rows(fit={"groups": GROUPS}),
        "rows review": _rows(review=Review(cost=2.0)),
        "rows prefit": lambda: _search(
            LogisticRegression().fit(FRAME[:200], Y[:200]), FRAME[200:], Y[200:], COSTS, cv="prefit"
        ),
        "plug-in": _learner(PlugInClassifier(LOGISTIC)),
        "plug-in calibrated": _learner(PlugInClassifier(LOGISTIC, calibration="isotonic")),
        "plug-in bisection": _learner(BisectionPlugIn(LOGISTIC)),
        "plug-in Frank-Wolfe": _learner(FrankWolfePlugIn(LOGISTIC)),
        "FenchelSVM": _learner(FenchelSVM()),
        "AMP": _learner(AMP()),
        "SPADE": _learner(SPADE(random_state=0)),
        "STAMP": _learner(STAMP(random_state=0)),
        "1PMB": _learner(OnePassMiniBatch(random_state=0)),
        "2PMB": _learner(TwoPassMiniBatch(random_state=0)),
        "FTRL": _learner(FTRL(random_state=0)),
        "OFO": _learner(OFO(random_state=0)),
        "FOFO": _learner(FOFO(random_state=0)),
        "OMCSL": _learner(OMCSL(random_state=0)),
        "cutting plane": _learner(CuttingPlane()),
        "subgradient": _learner(ProjectedSubgradient()),
        "command line": _of_command_line,
    }
    strategies = ("cone", "grid", "bisection", "dinkelbach", "imbalance_ratio", "support", "golden_section")
    found |= {f"two {name}": _two(strategy=name, **ranked) for name in strategies}
    return found | {f"two bound {name}": _two(bound=name, **ranked) for name in ("diagonal", "envelope", "parambath")}


def _of_command_line():
    """What the command line tells of a small search, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        FRAME.assign(t=Y).to_csv(path, index=False)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            command_line(["search", str(path), "--target", "t", "--trials", "2", "--cv", "3", "--no-rivals"])
        return [line.strip().replace(folder, "") for line in said.getvalue().splitlines() if "second" not in line]


def measure(search):
    """Numbers of a fitted classifier: what it tells, and what it predicts."""
    if isinstance(search, list):
        return {"lines": search}
    told = {name: np.asarray(getattr(search, name), dtype=float) for name in NUMBERS if _has(search, name)}
    features = next(data for data in (FRAME, X) if data.shape[1] == search.n_features_in_)
    features = X3 if len(np.atleast_1d(getattr(search, "classes_", []))) == 3 and features is X else features
    for method in ("predict", "predict_proba", "decision_function", "predict_with_review"):
        if _has(search, method):
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                told[method] = np.asarray(getattr(search, method)(features))
    if _has(search, "trials_"):
        told["trials"] = np.array([np.nan if trial.score is None else trial.score for trial in search.trials_])
    return {name: _numbers(values) for name, values in told.items()}


def _has(search, name):
    return getattr(search, name, None) is not None


def _numbers(values):
    """Numbers, or texts, as a list."""
    return np.ravel(values).tolist() if values.dtype.kind in "fiub" else np.ravel(values).astype(str).tolist()


def differences(before, now):
    """Names of searches with what differs, from two results of all of them."""
    rows = {}
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, {}), now.get(name, {})
        apart = [key for key in sorted(old.keys() | new.keys()) if not _same(old.get(key), new.get(key))]
        if apart:
            rows[name] = apart
    return rows


def _same(old, new):
    if old is None or new is None or len(old) != len(new):
        return False
    if any(isinstance(value, str) for value in [*old, *new]):
        return old == new
    return bool(np.allclose(old, new, rtol=1e-9, atol=1e-9, equal_nan=True))


def main(argv=None):
    """Measure all searches, and write or compare their numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="file to write the numbers to")
    parser.add_argument("--against", type=Path, help="file of another version to compare with")
    parser.add_argument("--only", default="", help="part of the names of the searches to run")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    now = {}
    for name, search in searches().items():
        if arguments.only in name:
            try:
                now[name] = measure(search())
            except Exception as error:  # as a result like another, which the other version has or not
                now[name] = {"error": [f"{type(error).__name__}: {error}"]}
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(now), encoding="utf-8")
    if arguments.against is not None:
        before = json.loads(arguments.against.read_text(encoding="utf-8"))
        before = {name: numbers for name, numbers in before.items() if arguments.only in name}
        rows = differences(before, json.loads(json.dumps(now)))
        for name, keys in rows.items():
            print(f"{name}: {', '.join(keys)}")
        print(f"{len(rows)} of {len(now)} searches differ by more than 1e-9")
    errors = [name for name, numbers in now.items() if "error" in numbers]
    print(f"{len(now)} searches" + (f", errors in {', '.join(errors)}" if errors else ""))


if __name__ == "__main__":
    main()
