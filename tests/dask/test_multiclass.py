"""Several classes on Dask: what CostSearch finds on the same folds, for a base that does not depend on partitions."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.dask import DaskCostSearch, engine
from csf.dask.collections import RawPart
from csf.dask.engine import BoostingBase
from csf.data.labels import Labels
from csf.distributed import hash_folds
from csf.metrics import CostMatrix
from csf.trainers.base import Training

pytestmark = pytest.mark.usefixtures("one_thread")

SAME = ("best_score_", "corrected_score_", "score_interval_", "confusion_", "constraint_value_", "best_index_")
NAMES = ["urgent", "calm", "soon"]
COSTS = CostMatrix(pd.DataFrame([[0.0, 8.0, 5.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]], index=NAMES, columns=NAMES))


class InOneProcess(BoostingBase):
    """Training of a base in memory as a library with a cluster has it: on the collections of a training part."""

    def check(self, base):
        pass

    def _trained(self, job, data, found, labels):
        return Training(self._fit(clone(job.base), *engine._collections(job, data, found, labels)))

    def _fit(self, base, X, y, weight):
        return base.fit(*(each.compute() for each in (X, y, weight)))

    def in_memory(self, base):
        return clone(base)

    def local(self, fitted):
        return fitted


@pytest.fixture(autouse=True)
def in_one_process(monkeypatch):
    known = engine.base_kind

    def base_kind(base):
        return InOneProcess(base) if isinstance(base, GaussianNB) else known(base)

    monkeypatch.setattr("csf.dask.engine.base_kind", base_kind)
    monkeypatch.setattr("csf.dask.search.base_kind", base_kind)


@pytest.fixture(scope="module")
def rows():
    """Frame of samples, three classes of 70, 22 and 8 %, weights and folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    score = X @ np.array([1.0, -0.5, 0.3, 0.2]) + 0.8 * rng.normal(size=900)
    y = np.array(["calm", "soon", "urgent"])[np.digitize(score, np.quantile(score, [0.7, 0.92]))]
    return pd.DataFrame(X, columns=list("abcd")), y, rng.integers(1, 5, 900) / 2, hash_folds(0, 900, 3)


def collections(rows, n_parts=3):
    frame, y, weight, fold = rows
    whole = dd.from_pandas(frame.assign(y=y, weight=weight, fold=fold), npartitions=n_parts)
    return [whole[list(frame.columns)], *(whole[name] for name in ("y", "weight", "fold"))]


def check_same(search, whole):
    for name in SAME:
        mine, known = getattr(search, name), getattr(whole, name)
        np.testing.assert_allclose(np.array(mine, float), np.array(known, float), atol=1e-6, err_msg=name)
    assert (search.best_params_, search.feasible_) == (whole.best_params_, whole.feasible_)
    assert search.class_costs_.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(search.rule_.worth, whole.rule_.worth, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "weighted", "options"),
    [
        ("f1_macro", True, {}),
        ("f1_macro", False, {"constraint": "recall[urgent] >= 0.9"}),
        (COSTS, True, {"param_grid": {"var_smoothing": [1e-9, 1.0]}, "normalize": "none"}),
        ("balanced_accuracy", False, {"threshold": None}),
    ],
    ids=["plain", "constraint", "costs", "own"],
)
def test_it_finds_what_the_search_in_memory_finds(rows, metric, weighted, options):
    (frame, y, weight, fold), (dX, dy, dweight, dfold) = rows, collections(rows)
    weight, dweight = (weight, dweight) if weighted else (None, None)
    whole = CostSearch(GaussianNB(), metric, n_trials=1, cv=PredefinedSplit(fold), **options).fit(frame, y, weight)
    search = DaskCostSearch(GaussianNB(), metric, **options).fit(dX, dy, dweight, folds=dfold)
    check_same(search, whole)
    assert search.n_trials_ == len(search.studies_)
    predicted = search.predict(dX).compute()
    np.testing.assert_array_equal(predicted, whole.predict(frame))
    np.testing.assert_array_equal(search.to_local().predict(frame), predicted)
    assert search.score(dX, dy, dweight) == pytest.approx(whole.score(frame, y, weight))


def test_predictions_are_lazy_and_those_in_memory(rows):
    frame, y, _, fold = rows
    X, codes = frame.to_numpy(), np.unique(y, return_inverse=True)[1] + 3
    dX, dy, dfold = (da.from_array(a, chunks=(400, *a.shape[1:])) for a in (X, codes, fold))
    whole = CostSearch(GaussianNB(), "f1_macro", n_trials=1, cv=PredefinedSplit(fold)).fit(X, codes)
    search = DaskCostSearch(GaussianNB(), "f1_macro").fit(dX, dy, folds=dfold)
    assert search.classes_.tolist() == [3, 4, 5]
    assert search.class_count_.tolist() == np.bincount(codes)[3:].tolist()
    for method, shape in (("predict", (900,)), ("predict_proba", (900, 3)), ("decision_function", (900, 3))):
        lazy = getattr(search, method)(dX)
        assert lazy.shape == shape
        np.testing.assert_allclose(lazy.compute(), getattr(whole, method)(X), atol=1e-6)
    assert not hasattr(search, "score_samples")
    with pytest.raises(ValueError, match="y holds the label 9 in partition 1, the search knows"):
        search.score(dX, da.where(da.arange(900, chunks=400) == 500, 9, dy))
    local = search.to_local()
    assert local.corrected_score_ == search.corrected_score_
    assert "f1_macro" in str(local.summary())


def test_models_are_searched_together_and_folds_are_hashed(rows):
    dX, dy, *_ = collections(rows)
    models = {"smooth": GaussianNB(var_smoothing=100.0), "sharp": GaussianNB()}
    search = DaskCostSearch(models, "f1_macro", cv=4, random_state=0).fit(dX, dy)
    alone = DaskCostSearch(models["sharp"], "f1_macro", cv=4, random_state=0).fit(dX, dy)
    assert (search.best_params_["model"], search.n_trials_, search.n_splits_) == ("sharp", 2, 4)
    assert search.best_score_ == alone.best_score_
    assert "only the settings and the rule" in search.stop_reason_


def test_a_sample_stands_for_all_rows(rows, monkeypatch):
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 400)
    (_, y, _, _), (dX, dy, _, dfold) = rows, collections(rows)
    search = DaskCostSearch(GaussianNB(), "f1_macro").fit(dX, dy, folds=dfold)
    store = search.result_.store
    counts = np.bincount(store.truth)
    assert counts[2] == np.sum(y == "urgent")
    assert counts.sum() == pytest.approx(400, abs=60)
    np.testing.assert_allclose(np.bincount(store.truth, store.weight), [630, 198, 72], atol=1e-6 * 900 + 90)
    low, high = search.score_interval_
    assert low <= search.corrected_score_ <= high
    assert low < search.score(dX, dy) < high


def test_a_search_goes_on_from_its_file(rows, tmp_path):
    dX, dy, _, dfold = collections(rows)
    options = {"checkpoint": tmp_path / "search.json", "param_grid": {"var_smoothing": [1e-9, 1.0]}}
    first = DaskCostSearch(GaussianNB(), "f1_macro", callbacks=[lambda study, trial: True], **options)
    assert first.fit(dX, dy, folds=dfold).n_trials_ == 1
    again = DaskCostSearch(GaussianNB(), "f1_macro", **options).fit(dX, dy, folds=dfold)
    plain = DaskCostSearch(GaussianNB(), "f1_macro", param_grid=options["param_grid"]).fit(dX, dy, folds=dfold)
    assert (again.n_trials_, again.best_score_) == (2, plain.best_score_)


@pytest.mark.parametrize(
    ("base", "metric", "options", "message"),
    [
        (LogisticRegression(), "f1_macro", {}, "Only binary .* with 3 classes. Use DaskXGBClassifier .* y == label"),
        (LinearSVC(), "f1_macro", {}, "Only binary classification is supported on Dask by LinearSVC"),
        (GaussianNB(), "f1", {}, "'f1' is a metric of two classes; for more, write 'f1_macro'"),
        (GaussianNB(), "f1_macro", {"pos_label": "soon"}, "Only binary classification is supported"),
        (GaussianNB(), "savings", {}, "Only binary classification is supported"),
        (GaussianNB(), "f1_macro", {"constraint": "recall[soom] >= 0.9"}, "soom"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_training(rows, monkeypatch, base, metric, options, message):
    def trained(*_):
        raise AssertionError("nothing is trained")

    monkeypatch.setattr(engine.DaskEngine, "train", trained)
    dX, dy, _, dfold = collections(rows)
    given = {"fn_cost": 2.0, "fp_cost": 1.0} if metric == "savings" else {}
    with pytest.raises(ValueError, match=message):
        DaskCostSearch(base, metric, **options).fit(dX, dy, folds=dfold, **given)


def test_a_training_part_without_a_class_is_refused(rows):
    frame, y, weight, fold = rows
    dX, dy, _, dfold = collections((frame, y, weight, np.where(y == "soon", 1, fold)))
    with pytest.raises(ValueError, match="without fold 1 there is no 'soon' row of positive weight to train on"):
        DaskCostSearch(GaussianNB(), "f1_macro").fit(dX, dy, folds=dfold)


@pytest.mark.parametrize("null", [None, "soon", "calm"])
def test_training_parts_have_places_of_labels_and_weights_of_costs(null):
    """Places among the sorted labels, whichever class is positive; costs are those of both errors, or by code."""
    y = np.array(["soon", "calm", "calm", "soon", "soon"] if null else ["soon", "urgent", "calm", "soon", "calm"])
    labels = Labels(np.unique(y), null)
    weight, fold = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 1, -1, 1])
    part = RawPart(0, np.arange(5.0)[:, None], y, weight, fold)
    costs = (8.0, 0.5) if null else (1.0, 2.0, 8.0)
    X, places, weights = engine._training_rows(part, 1, costs, labels)
    assert X.ravel().tolist() == [0.0, 1.0, 3.0]
    assert labels.classes[places].tolist() == y[[0, 1, 3]].tolist()
    by_name = {None: {"calm": 1.0, "soon": 2.0, "urgent": 8.0}, "soon": {"calm": 8.0, "soon": 0.5}}
    by_name["calm"] = {"calm": 0.5, "soon": 8.0}
    assert weights.tolist() == [by_name[null][y[at]] * weight[at] for at in (0, 1, 3)]
