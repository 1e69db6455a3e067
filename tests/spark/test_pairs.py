"""Any two options of SparkCostSearch together, a few trials each: laws that hold for each search."""

import numpy as np
import pytest

from csf.distributed import hash_folds
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.spark import SparkCostSearch, SparkCostSearchModel

allpairspy = pytest.importorskip("allpairspy", reason="needs allpairspy: pip install 'csf-search[test]'")

pytestmark = pytest.mark.slow

OPTIONS = {
    "metric": ["f1", "gmean", "accuracy"],
    "constraint": [None, "fpr <= 0.3"],
    "strategy": ["ladder", "grid"],
    "threshold": ["stable", "tune", None],
    "normalize": ["none", "mean"],
    "weightCol": [None, "w"],
    "foldCol": [None, "fold"],
    "parallelism": [1, 2],
    "collected": [True, False],
}
PAIRS = [dict(zip(OPTIONS, row, strict=True)) for row in allpairspy.AllPairs(list(OPTIONS.values()))]


@pytest.mark.parametrize(
    "each",
    [pytest.param(each, marks=[pytest.mark.simulation] * (at % 2)) for at, each in enumerate(PAIRS)],
    ids=lambda each: "-".join(map(str, each.values())),
)
@pytest.mark.filterwarnings("ignore:no trial satisfies")
@pytest.mark.filterwarnings("ignore:the folds hold .* rows, too many for their scores to be collected")
def test_any_two_options_keep_the_laws(framed, data, each, monkeypatch, tmp_path):
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.functions import vector_to_array

    if not each["collected"]:
        monkeypatch.setattr("csf.spark.engine.MOST_COLLECTED", 0)
    X, y, weight = data
    frame = framed(X[:600], 2, label=y[:600], w=weight[:600], fold=hash_folds(0, 600, 2))
    given = {name: value for name, value in each.items() if name != "collected" and value is not None}
    search = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), nTrials=2, **given)
    if each["threshold"] is None:
        search.setParams(threshold=None)
    if each["foldCol"] is None:
        search.setParams(numFolds=2)
    model = search.fit(frame)
    if not [trial for trial in model.trials if trial.c_fn != trial.c_fp]:
        # The accuracy is linear: equal costs are all that it asks for.
        assert each["metric"] == "accuracy"
        assert "costs of the same ratio" in model.stopReason or "equal costs only" in model.stopReason
    assert model.numFolds == 2
    if model.feasible:
        assert model.bestScore <= model.upperBound + 1e-12
    assert (model.correctedScore is not None) == each["collected"]
    if each["collected"]:
        assert model.scoreInterval[0] <= model.correctedScore <= model.scoreInterval[1]
        assert model.scoreInterval[0] < model.scoreInterval[1]
    # The winner of everything predicts what its threshold says, before and after it was a file.
    rows = model.transform(frame).select(vector_to_array("probability")[1], "prediction", "label", "w").collect()
    score, predicted, label, own = np.array(rows).T
    threshold = 0.5 if each["threshold"] is None else model.bestThreshold
    assert (model.bestThreshold is None) == (each["threshold"] is None)
    np.testing.assert_array_equal(predicted == 1, score > threshold)
    model.save(str(tmp_path / "model"))
    again = SparkCostSearchModel.load(str(tmp_path / "model"))
    assert (repr(again.attributes), again.trials) == (repr(model.attributes), model.trials)  # what is not known is NaN
    # Two Gaussians overfit little: what is found on all rows is about what was held out.
    profile = ErrorProfile.from_masks(label == 1, predicted == 1, sample_weight=own if each["weightCol"] else None)
    assert get_metric(each["metric"]).of(profile) == pytest.approx(model.bestScore, abs=0.1)
