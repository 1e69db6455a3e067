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
from csf import CostSearch, fenchel, online, plugin, structural

__all__ = ["EXEMPT", "TARGETS", "public_names"]

# Modules whose names need not be attacked: others check what comes in, or they have tests of their own for that.
QUIET = ("csf.cli", "csf.plots", "csf.trainers", "csf.solvers", "csf.evaluate", "csf.monitoring")
# What takes raw arguments and is not exported by a package.
LOOSE = ("csf.data.folds.resolve_splits", "csf.data.labels.read_classes", "csf.data.labels.read_labels")
# Why names need no target.
REASONS = {
    "holds what csf computed": """
        csf.Trial csf.bounds.UnreachableCone csf.metrics.Coefficients csf.metrics.Column
        csf.spark.SparkCostSearchModel csf.strategies.Proposal
        csf.data.CostChannel csf.data.Features csf.data.Fold csf.data.Labels csf.data.OneVsRestChannel csf.data.Task
        csf.distributed.Bins csf.distributed.CountedCut csf.distributed.EngineOutcome csf.distributed.FoldTotals
        csf.distributed.Job csf.distributed.LocalModel csf.distributed.RowCostData
        csf.distributed.PartScores csf.distributed.Quantiles csf.distributed.Scored
        csf.export.LinearRule csf.export.NumberColumn csf.export.ScoreRule csf.export.TableRule csf.export.TextColumn
        csf.report.Comparison csf.report.Finding csf.report.Summary
        csf.streams.PrequentialResult csf.structural.ClassScores csf.structural.Tangent
        csf.thresholding.BisectionResult csf.thresholding.CatBoostMetric csf.thresholding.Cut
        csf.thresholding.EvalMetric csf.thresholding.ExchangeRate csf.thresholding.ScoredRows
        csf.thresholding.TunedThresholds
        csf.thresholding.ClassProbabilityRule csf.thresholding.Mixture csf.thresholding.Prevalence
        csf.thresholding.ThresholdCurve csf.thresholding.TunedScorer
        csf.thresholding.ValuedCurve
    """,
    "a contract between engines and the search, with a conformance suite of its own": """
        csf.distributed.Engine csf.distributed.EnginePlan csf.distributed.MemoryEngine csf.distributed.MemoryScores
        csf.distributed.PartedScores csf.distributed.counted_cut csf.distributed.hash_folds
        csf.distributed.own_decision csf.distributed.search_on csf.dask.DaskEngine csf.spark.SparkEngine
        csf.testing.check_engine
    """,
    "takes frames or collections of a cluster; its own tests give it bad ones": """
        csf.dask.DaskCostSearch csf.spark.SparkCostSearch
    """,
    "takes a fitted search; its own tests give it others, and bad codes": """
        csf.export.decision_rule csf.export.fixed_threshold csf.export.linear_rule csf.export.table_rule
        csf.export.to_onnx
        csf.report.findings csf.report.summarise csf.thresholding.fold_probabilities
    """,
    "its own tests give it files that hold no rule": "csf.export.read_rule",
    "writes a page; its own tests give it hostile names": "csf.report.write_comparison csf.report.write_report",
    "takes a report of skore, and hands its scores to csf.tune_threshold": "csf.report.ThresholdCheck",
    "its own tests give it bad values, costs and columns": """
        csf.metrics.ConfusionFunction csf.metrics.Incomplete csf.metrics.Review csf.metrics.RowCosts
        csf.audit csf.labels_needed
    """,
    "checked as those of Grid and of WeightedAccuracy": "csf.strategies.Ladder csf.metrics.MeanCost",
    "abstract": """
        csf.bounds.Bound csf.metrics.Concave csf.metrics.ConfusionMetric csf.metrics.LinearFractional
        csf.metrics.Measure csf.metrics.Metric csf.metrics.Rate csf.online.LinearOnlineClassifier
        csf.online.OnlineClassifier
        csf.strategies.Strategy csf.streams.ChunkIterator csf.structural.StructuralLoss csf.thresholding.RowThresholds
    """,
    "lightgbm_metric in another form": """
        csf.thresholding.catboost_metric csf.thresholding.tuned_scorer csf.thresholding.xgboost_metric
    """,
    "a part of searches, which check what comes in": """
        csf.thresholding.curve_at_prevalence
    """,
    "the unchecked core of threshold_curve": "csf.thresholding.sweep csf.thresholding.sweep_several",
    "reads or writes files": "csf.streams.save_stream csf.streams.load_stream csf.save csf.load",
    "needs river": "csf.online.RiverClassifier",
    "a contract that is checked with broken parts": "csf.testing.check_row_thresholds",
}
EXEMPT = {name: reason for reason, names in REASONS.items() for name in names.split()}


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
    *(estimator(getattr(plugin, name), base=_base, cv=3) for name in PLUG_INS),
    *(estimator(getattr(structural, name), **good) for name, good in STRUCTURAL.items()),
    *(
        estimator(getattr(online, name), partial=part, **good)
        for name, good in ONLINE.items()
        for part in (False, True)
    ),
    *FUNCTIONS,
]
