"""Any two options of DaskCostSearch together: laws that hold for each search."""

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.dask import DaskCostSearch
from csf.metrics import get_metric
from csf.thresholding import threshold_curve

allpairspy = pytest.importorskip("allpairspy", reason="needs allpairspy: pip install 'csf-search[test]'")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

BASES = {
    "squared hinge": LinearSVC(),
    "logistic": LogisticRegression(),
    "liblinear": LogisticRegression(solver="liblinear"),
}
OPTIONS = {
    "base": list(BASES),
    "metric": ["f1", "gmean", "accuracy", "mcc", "recall"],
    "constraint": [None, "precision >= 0.3", "fpr <= 0.3"],
    "strategy": ["ladder", "cone", "grid", "imbalance_ratio"],
    "threshold": ["stable", "tune", None],
    "param_grid": ["auto", None, "grid"],
    "normalize": ["none", "mean"],
    "bound": ["support", "envelope"],
    "weights": [None, "halves", "zeros"],
    "kind": ["arrays", "frames", "sparse"],
    "labels": ["numbers", "signs", "texts"],
    "positives": ["many", "few"],
    "cv": [2, 3, 0.5, "folds"],
    "collected": [True, False],
}


def possible(row):
    """Whether a row, as far as it is known, has a bound that serves its metric."""
    known = dict(zip(OPTIONS, row))
    return known.get("bound") != "envelope" or (known["metric"], known["constraint"]) == ("f1", None)


ROWS = allpairspy.AllPairs(list(OPTIONS.values()), filter_func=possible)
PAIRS = [dict(zip(OPTIONS, row, strict=True)) for row in ROWS]


def arrays_of(each):
    """Samples, labels, weights and folds in memory, and the positive label."""
    X, y = make_classification(600, 5, weights=[0.8 if each["positives"] == "many" else 0.96], random_state=0)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    rng = np.random.default_rng(0)
    weight = None if each["weights"] is None else rng.integers(each["weights"] == "halves", 5, y.size) / 2
    fold = rng.integers(-1, 3, y.size) if each["cv"] == "folds" else None
    names = {"numbers": np.array([0, 1]), "signs": np.array([-1, 1]), "texts": np.array(["usual", "rare"])}
    return X, names[each["labels"]][y], weight, fold, names[each["labels"]][1]


def collections_of(kind, X, *columns):
    """The same on Dask, in three partitions."""
    if kind == "frames":
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        series = [None if each is None else dd.from_pandas(pd.Series(each), npartitions=3) for each in columns]
        return [dd.from_pandas(frame, npartitions=3), *series]
    rows = da.from_array(X, chunks=(200, -1))
    if kind == "sparse":
        blocks = [sparse.csr_matrix(X[start : start + 200]) for start in range(0, 600, 200)]
        meta = sparse.csr_matrix((0, X.shape[1]))
        rows = da.concatenate([da.from_delayed(dask.delayed(each), each.shape, meta=meta) for each in blocks])
    return [rows, *(None if each is None else da.from_array(each, chunks=200) for each in columns)]


@pytest.mark.parametrize("each", PAIRS, ids=lambda each: "-".join(map(str, each.values())))
@pytest.mark.filterwarnings("ignore:no trial satisfies")
@pytest.mark.filterwarnings("ignore:recall.* is largest when every sample")
@pytest.mark.filterwarnings("ignore:the folds hold .* rows, too many for their scores to be collected")
@pytest.mark.filterwarnings("ignore:the base has class_weight")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_any_two_options_keep_the_laws(each, monkeypatch, tmp_path):
    if not each["collected"]:
        monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    X, y, weight, fold, positive = arrays_of(each)
    dX, dy, dweight, dfold = collections_of(each["kind"], X, y, weight, fold)
    names = ("metric", "constraint", "strategy", "threshold", "normalize", "bound")
    options = {name: each[name] for name in names} | ({} if each["cv"] == "folds" else {"cv": each["cv"]})
    options["param_grid"] = {"C": [0.1, 1.0]} if each["param_grid"] == "grid" else each["param_grid"]
    options |= {"n_trials": 3, "pos_label": positive if each["labels"] == "texts" else None}
    # Parameters that name classes name the user's.
    base = clone(BASES[each["base"]]).set_params(class_weight={positive: 2.0} if each["base"] == "liblinear" else None)
    search = DaskCostSearch(base, random_state=0, error_score="raise", **options)
    search.fit(dX, dy, dweight, folds=dfold)

    if not [trial for trial in search.trials_ if trial.c_fn != trial.c_fp]:
        # The accuracy is linear: equal costs are all that it asks for.
        assert each["metric"] == "accuracy"
        assert "costs of the same ratio" in search.stop_reason_ or "equal costs only" in search.stop_reason_
    assert (search.pos_label_, search.n_splits_) == (positive, {0.5: 1, "folds": 3}.get(each["cv"], each["cv"]))
    if search.feasible_:
        assert search.best_score_ <= search.upper_bound_ + 1e-12
    if each["collected"] and each["threshold"] is not None:
        low, high = search.score_interval_
        assert low <= search.corrected_score_ <= high
        held, row = search.held_out_, search.held_out_curve()
        assert get_metric(each["metric"]).of(row.at(search.best_threshold_)) == pytest.approx(search.best_score_)
        assert held.is_pos.size <= y.size
        moved = search.at_prevalence(0.4)
        assert moved.best_estimator_ is search.best_estimator_
    # The refit follows its threshold, wherever it predicts.
    frame = dX.compute() if each["kind"] == "frames" else X
    refit = search.best_estimator_
    score = refit.decision_function(frame) * (1 if refit.classes_[1] == positive else -1)
    expected = score >= search.best_threshold_ if each["threshold"] is not None else score > 0
    for predicted in (search.predict(dX).compute(), search.to_local().predict(frame)):
        np.testing.assert_array_equal(predicted == positive, expected)
    value = get_metric(each["metric"]).of(
        threshold_curve(y, np.where(expected, 1.0, 0.0), pos_label=positive, sample_weight=weight).at(0.5)
    )
    assert search.score(dX, dy, dweight) == pytest.approx(value, rel=1e-9)
    # A search in memory and a file know all of it.
    local = search.to_local()
    again = pickle.loads(pickle.dumps(search))
    for other in (local, again):
        assert (other.best_score_, other.upper_bound_, other.trials_) == (
            search.best_score_,
            search.upper_bound_,
            search.trials_,
        )
    # Pages take longer than all else, and one of each kind of data will do.
    if each["metric"] == "mcc":
        local.report(tmp_path / "report.html", frame, y, sample_weight=weight)
        assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8").lower()
