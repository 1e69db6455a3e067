"""What is attacked: for every public name a good call, and what its result must be like."""

import importlib
import inspect
import pkgutil
import re

from fuzz.estimators import estimator
from fuzz.functions import FUNCTIONS
from fuzz.target import BASES, BESIDE
from sklearn.svm import LinearSVC

import csf
from csf import CostSearch, fenchel, online, structural, thresholding

__all__ = ["EXEMPT", "TARGETS", "public_names"]

# Modules whose names need not be attacked: others check what comes in, or they have tests of their own for that.
QUIET = ("csf.cli", "csf.plots", "csf.trainers", "csf.solvers", "csf.evaluate")
# What takes raw arguments and is not exported by a package.
LOOSE = ("csf.data.folds.resolve_splits", "csf.data.labels.read_classes", "csf.data.labels.read_labels")
LOOSE += ("csf.search.selection.Choice", "csf.search.selection.GainRule")
RECORD, BASE = "holds what csf computed", "abstract"
INNER = "a part of searches, which check what comes in"
EXEMPT = {
    "csf.Trial": RECORD,
    **dict.fromkeys(
        [
            *(
                "csf.distributed.Bins",
                "csf.distributed.CountedCut",
                "csf.distributed.FoldTotals",
                "csf.distributed.Job",
            ),
            *(
                "csf.distributed.PartScores",
                "csf.distributed.Quantiles",
                "csf.distributed.Scored",
                "csf.export.LinearRule",
            ),
            *(
                "csf.export.ClassRule",
                "csf.export.NumberColumn",
                "csf.export.TableRule",
                "csf.export.TextColumn",
                "csf.report.Comparison",
            ),
        ],
        RECORD,
    ),
    **dict.fromkeys(
        [
            *(
                "csf.distributed.Engine",
                "csf.distributed.EngineSearch",
                "csf.distributed.MemoryEngine",
                "csf.distributed.MemoryScores",
            ),
            *("csf.distributed.PartedScores", "csf.distributed.counted_cut", "csf.distributed.hash_folds"),
            *(
                "csf.distributed.own_decision",
                "csf.dask.DaskEngine",
                "csf.spark.SparkEngine",
                "csf.testing.check_engine",
            ),
        ],
        "a contract between engines and the search, with a conformance suite of its own",
    ),
    "csf.spark.SparkCostSearchModel": RECORD,
    "csf.spark.SparkCostSearch": "takes frames of a cluster; its own tests give it bad ones",
    "csf.dask.DaskCostSearch": "takes collections of a cluster; its own tests give it bad ones",
    **dict.fromkeys(
        [
            *("csf.export.class_rule", "csf.export.fixed_threshold", "csf.export.linear_rule"),
            *("csf.export.table_rule", "csf.export.to_onnx", "csf.export.cost_rule", "csf.export.review_rule"),
            "csf.report.summarise",
        ],
        "takes a fitted search; its own tests give it others",
    ),
    **dict.fromkeys(
        ["csf.report.write_comparison", "csf.report.write_report"], "writes a page; its own tests give it hostile names"
    ),
    "csf.strategies.Ladder": "one number, checked as that of Grid",
    "csf.bounds.Cone": RECORD,
    "csf.metrics.Coefficients": RECORD,
    "csf.metrics.ConfusionFunction": "calls a function whose errors are its own; its tests give it bad values",
    "csf.metrics.Review": "two costs and shares; its own tests give it bad ones",
    "csf.strategies.Proposal": RECORD,
    "csf.streams.PrequentialResult": RECORD,
    "csf.structural.ClassScores": RECORD,
    "csf.structural.Tangent": RECORD,
    "csf.thresholding.Bisection": RECORD,
    "csf.thresholding.Cut": RECORD,
    "csf.metrics.LabelMetric": RECORD,
    "csf.metrics.Column": RECORD,
    "csf.metrics.MeanCost": "four numbers, checked as those of WeightedAccuracy",
    "csf.metrics.RowCosts": "takes columns of X; its own tests give it bad ones",
    "csf.thresholding.fold_probabilities": "takes a fitted search; its own tests give it others",
    "csf.thresholding.LinearRule": RECORD,
    "csf.thresholding.Mixture": RECORD,
    "csf.thresholding.Prevalence": RECORD,
    "csf.thresholding.ThresholdCurve": RECORD,
    "csf.data.Task": RECORD,
    "csf.data.Features": RECORD,
    "csf.data.Fold": RECORD,
    "csf.data.Labels": RECORD,
    "csf.data.CostChannel": RECORD,
    "csf.data.OneVsRestChannel": RECORD,
    "csf.search.selection.Choice": RECORD,
    "csf.bounds.Bound": BASE,
    "csf.metrics.Metric": BASE,
    "csf.metrics.ConfusionMetric": BASE,
    "csf.metrics.Concave": BASE,
    "csf.metrics.LinearFractional": BASE,
    "csf.metrics.Rate": BASE,
    "csf.online.OnlineClassifier": BASE,
    "csf.online.LinearOnlineClassifier": BASE,
    "csf.strategies.Strategy": BASE,
    "csf.streams.ChunkIterator": BASE,
    "csf.structural.StructuralLoss": BASE,
    "csf.thresholding.EvalMetric": RECORD,
    "csf.thresholding.TunedScorer": RECORD,
    "csf.thresholding.tuned_scorer": "lightgbm_metric of the scores of a classifier",
    "csf.thresholding.xgboost_metric": "lightgbm_metric in another form",
    "csf.thresholding.CatBoostMetric": RECORD,
    "csf.thresholding.catboost_metric": "lightgbm_metric in another form",
    "csf.report.ThresholdCheck": "takes a report of skore, and hands its scores to csf.decide",
    "csf.report.Finding": RECORD,
    "csf.report.Summary": RECORD,
    "csf.export.CostRule": RECORD,
    "csf.bounds.BoundWithMargin": RECORD,
    "csf.bounds.bound_with_margin": INNER,
    "csf.report.findings": "takes a fitted search; its own tests give it bad codes",
    "csf.thresholding.curve_at_prevalence": INNER,
    "csf.thresholding.sweep": "the unchecked core of threshold_curve",
    "csf.thresholding.sweep_several": "the unchecked core of a threshold for several classes",
    "csf.streams.save_stream": "writes files",
    "csf.streams.load_stream": "reads files",
    "csf.online.RiverClassifier": "needs river",
}


def public_names():
    """Classes and functions of csf and its public packages, and `LOOSE`, by their full name, none twice."""
    packages = [module.name for module in pkgutil.walk_packages(csf.__path__, "csf.") if module.ispkg]
    packages = [*BESIDE, *(name for name in packages if "._" not in name)]
    quiet = re.compile("|".join(f"{re.escape(name)}(\\.|$)" for name in QUIET))
    found = {}
    packages = [importlib.import_module(name) for name in ("csf", *packages) if not quiet.match(name)]
    names = [f"{module.__name__}.{part}" for module in packages for part in getattr(module, "__all__", ())]
    for name in (*names, *LOOSE):
        module, _, part = name.rpartition(".")
        thing = getattr(importlib.import_module(module), part)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found.setdefault(thing, name)
    return set(found.values())


def _base(rng):
    return BASES[rng.integers(len(BASES))]


SMALL = {"n_trials": 3, "cv": 3}
PLUG_INS = ("PlugInClassifier", "BisectionPlugIn", "FrankWolfePlugIn", "RandomizedFrankWolfePlugIn")
ONLINE = {"OnlineLogistic": {}, "SPADE": {"passes": 2}, "STAMP": {"passes": 2}, "FOFO": {}, "OFO": {}, "OMCSL": {}}
STRUCTURAL = {
    "FTRL": {"max_planes": 50},
    "CuttingPlane": {"max_iter": 50},
    "ProjectedSubgradient": {"max_iter": 50},
    "OnePassMiniBatch": {"passes": 2, "buffer_size": 10},
    "TwoPassMiniBatch": {"passes": 2, "buffer_size": 10, "reservoir_size": 10},
}
TARGETS = [
    estimator(CostSearch, base=_base, **SMALL),
    # Liblinear itself, which the generic engine calls, can loop for ever on numbers near the largest ones.
    estimator(CostSearch, fixed={"base": LinearSVC(random_state=0), "engine": "auto"}, **SMALL),
    estimator(CostSearch, base=_base, null_class=0, n_classes=3, **SMALL),
    estimator(fenchel.AMP),
    estimator(fenchel.FenchelSVM),
    *(estimator(getattr(thresholding, name), base=_base, cv=3) for name in PLUG_INS),
    *(estimator(getattr(structural, name), **good) for name, good in STRUCTURAL.items()),
    *(
        estimator(getattr(online, name), partial=part, **good)
        for name, good in ONLINE.items()
        for part in (False, True)
    ),
    *FUNCTIONS,
]
