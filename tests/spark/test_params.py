"""What needs no session: parameters, sums of weights, thresholds between numbers of single precision."""

import sys
from fractions import Fraction
from importlib import import_module
from inspect import signature
from math import ldexp

import numpy as np
import pytest
from pyspark.ml import Estimator, Pipeline
from pyspark.ml.param.shared import HasLabelCol, HasWeightCol

from csf._common.sklearn import options_of
from csf.search import CostSearch
from csf.search.config import SearchConfig
from csf.spark import SparkCostSearch
from csf.spark.decisions import _between
from csf.spark.engine import WeightSums
from csf.spark.search import SHARED


class Weighted(Estimator, HasLabelCol, HasWeightCol):
    """An estimator that never trains."""

    def _fit(self, dataset):
        raise AssertionError("nothing is to be trained")


def test_defaults_are_those_of_the_other_searches():
    search, theirs = SparkCostSearch(), signature(CostSearch).parameters
    own = {name: search.getOrDefault(mine) for mine, name in SHARED.items() if mine != "seed"}
    assert own == {name: theirs[name].default for name in own}
    words = {theirs: search.getParam(name).doc for name, theirs in SHARED.items() if name != "seed"}
    assert words == {name: options_of(SearchConfig)[name].words for name in words}
    assert (search.getMetric(), search.getStrategy(), search.getNTrials()) == ("f1", "ladder", 10)
    assert (search.getThreshold(), search.getNormalize(), search.getBound()) == ("stable", "mean", "support")
    assert (search.getTol(), search.getTimeLimit()) == (None, None)
    assert (search.getConstraint(), search.getCheckpoint(), search.getFoldCol()) == (None, None, None)
    assert (search.getNumFolds(), search.getParallelism(), search.getSeed()) == (5, 1, 0)
    assert search.getEstimatorParamMaps() == [{}]


def test_parameters_are_set_by_name_and_copied():
    search = SparkCostSearch(metric="gmean", nTrials=3)
    assert search.setParams(numFolds=4, threshold=None) is search
    assert (search.getMetric(), search.getNTrials(), search.getNumFolds()) == ("gmean", 3, 4)
    assert search.getThreshold() is None
    other = search.copy({search.nTrials: 7})
    assert (other.getNTrials(), other.getMetric(), search.getNTrials()) == (7, "gmean", 3)
    assert "nTrials: largest number" in search.explainParams()
    with pytest.raises(TypeError, match="nTrials"):
        SparkCostSearch(nTrials="many")
    with pytest.raises(TypeError, match="has no parameter folds; it has bound, callbacks, checkpoint, "):
        search.setParams(folds=3)


def test_columns_are_those_of_the_estimator_unless_given():
    base = Weighted()
    search = SparkCostSearch(estimator=base)
    assert (search.getLabelCol(), search.getWeightCol()) == ("label", None)
    base._set(labelCol="y", weightCol="w")
    assert (search.getLabelCol(), search.getWeightCol()) == ("y", "w")
    search.setParams(labelCol="z", weightCol="v")
    assert (search.getLabelCol(), search.getWeightCol()) == ("z", "v")
    assert SparkCostSearch(estimator=Pipeline(stages=[base])).getLabelCol() == "y"


def test_data_in_memory_are_sent_to_the_other_class():
    with pytest.raises(TypeError, match=r"needs a Spark frame, got a ndarray; .*csf\.CostSearch"):
        SparkCostSearch(estimator=Weighted()).fit(np.zeros((3, 2)))


def test_without_pyspark_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.ml", None)
    monkeypatch.delitem(sys.modules, "csf.spark")
    with pytest.raises(ImportError, match=r"csf\.spark needs PySpark .*pip install 'csf-search\[spark\]'"):
        import_module("csf.spark")


@pytest.mark.parametrize("cut", [0.3, 0.5, float(np.float32(0.3)), 1e-9, 1.0])
def test_a_threshold_parts_what_a_cut_parts(cut):
    threshold = _between(cut)
    near = np.float32(cut)
    scores = np.unique([np.nextafter(near, np.float32(to)) for to in (-9, 0.5, 9)] + [near]).astype(np.float64)
    np.testing.assert_array_equal(scores > threshold, scores >= cut)


@pytest.mark.parametrize(("cut", "threshold"), [(-np.inf, 0.0), (0.0, 0.0), (np.inf, 1.0)])
def test_thresholds_are_probabilities(cut, threshold):
    assert _between(cut) == threshold


def test_sums_do_not_depend_on_the_order():
    weight = np.random.default_rng(0).lognormal(sigma=4, size=1000)
    sums = WeightSums.below(weight.max())
    digits = [0, 0, 0]
    for value in weight:
        rest = Fraction(value) / Fraction(ldexp(1.0, sums.exponent))
        for k in range(3):
            rest *= 2**26
            digits[k] += int(rest)
            rest -= int(rest)
    exact = float(sum(map(Fraction, weight)))
    assert sums.total(digits) == exact
    assert WeightSums.below(1.0).exponent == 1
    assert WeightSums.below(5e-324).exponent == -900
