"""One-hot encoders before linear models on Dask: what CostSearch makes of the same folds."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.dask import DaskCostSearch
from csf.dask.collections import DaskData
from csf.distributed import hash_folds

pytestmark = pytest.mark.usefixtures("one_thread")

OPTIONS = {"param_grid": None, "n_trials": 2, "random_state": 0}
CODES, NUMBERS = ["country", "plan"], ["amount", "age"]
LOGISTIC, MARGIN = LogisticRegression(tol=1e-9), LinearSVC(tol=1e-7)


def columns(**options):
    return ColumnTransformer([("codes", OneHotEncoder(**options), CODES), ("numbers", StandardScaler(), NUMBERS)])


@pytest.fixture(scope="module")
def table():
    """Two columns of texts, and two of numbers."""
    rng, n = np.random.default_rng(0), 900
    frame = pd.DataFrame(
        {
            "amount": rng.gamma(2, 50, n),
            "country": rng.choice(["de", "fr", "us", "jp"], n),
            "age": rng.normal(40, 10, n),
            "plan": rng.choice(["a", "b", "c"], n),
        }
    )
    score = 1.5 * (frame["country"] == "us") + frame["amount"] / 100 + (frame["plan"] == "b") - 0.03 * frame["age"]
    return frame, (score + rng.normal(size=n) > 2).to_numpy().astype(int), hash_folds(0, n, 3)


def split(frame, y, fold, n_parts=3):
    whole = dd.from_pandas(frame.assign(y=y, fold=fold), npartitions=n_parts)
    return whole[list(frame)], whole["y"], whole["fold"]


def check_alike(base, X, y, fold, collections, **options):
    """Compare a search on collections with one in memory on the same folds; return the first."""
    whole = CostSearch(base, cv=PredefinedSplit(fold), **OPTIONS | options).fit(X, y)
    dX, dy, dfold = collections
    search = DaskCostSearch(base, **OPTIONS | options).fit(dX, dy, folds=dfold)
    assert search.best_params_ == whole.best_params_
    for mine, known in zip(search.trials_, whole.trials_, strict=True):
        assert mine.costs == known.costs
        assert (mine.score, mine.threshold) == pytest.approx((known.score, known.threshold), abs=1e-3)
    fitted, known = search.best_estimator_, whole.best_estimator_
    assert type(fitted[0]) is type(base[0])
    np.testing.assert_array_equal(fitted[:-1].get_feature_names_out(), known[:-1].get_feature_names_out())
    mine, codes = (sparse.csr_array(each[0].transform(X)).toarray() for each in (fitted, known))
    np.testing.assert_allclose(mine, codes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fitted[-1].coef_, known[-1].coef_, atol=1e-3)
    predicted = search.predict(dX)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), search.to_local().predict(X))
    assert (predicted.compute() != whole.predict(X)).mean() <= 3e-3
    return search


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("last", [LOGISTIC, MARGIN], ids=lambda last: type(last).__name__)
def test_the_winner_is_that_in_memory(table, last, n_parts):
    search = check_alike(make_pipeline(columns(), last), *table, split(*table, n_parts), param_grid={})
    assert search.n_features_in_ == 4
    assert search.best_estimator_.feature_names_in_.tolist() == list(table[0])


STEPS = {
    "remainder": ColumnTransformer([("codes", OneHotEncoder(), CODES)], remainder=StandardScaler()),
    "kept": ColumnTransformer([("codes", OneHotEncoder(), CODES), ("none", "drop", ["age"])], remainder="passthrough"),
    "selected": ColumnTransformer(
        [
            ("numbers", MinMaxScaler(), make_column_selector(dtype_include="number")),
            ("codes", OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
        ]
    ),
    "given": columns(categories=[["de", "fr", "it", "jp", "us"], ["a", "b", "c", "d"]], handle_unknown="ignore"),
}


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS)
def test_steps_beside_the_encoder(table, steps):
    frame, y, fold = table
    X = frame.assign(amount=frame["amount"] / 100, age=frame["age"] / 10)
    check_alike(make_pipeline(STEPS[steps], LOGISTIC), X, y, fold, split(X, y, fold), n_trials=1)


@pytest.mark.parametrize(("last", "kind"), [(MARGIN, int), (LOGISTIC, str), (LOGISTIC, object)], ids=str)
def test_arrays_of_codes(last, kind):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(600, 3))
    y = ((X[:, 0] == 2) + 0.5 * (X[:, 1] > 1) + 0.5 * rng.normal(size=600) > 0.9).astype(int)
    X, fold = X.astype(str).astype(kind), hash_folds(0, 600, 3)
    collections = [da.from_array(each, chunks=(250, *each.shape[1:])) for each in (X, y, fold)]
    check_alike(make_pipeline(OneHotEncoder(), last), X, y, fold, collections)


@pytest.mark.slow
def test_categories_that_a_training_part_lacks(table):
    """They have coefficient 0 in its model, which is what an encoder does that ignores them."""
    frame, y, fold = table
    X = frame.assign(country=frame["country"].where(fold != 1, frame["country"] + "1"))
    base = make_pipeline(columns(handle_unknown="ignore"), LOGISTIC)
    check_alike(base, X, y, fold, split(X, y, fold))
    with pytest.raises(ValueError, match=r"no row outside it has, \['codes__country_de1', .*handle_unknown='ignore'"):
        DaskCostSearch(make_pipeline(columns(), LOGISTIC), **OPTIONS).fit(
            *split(X, y, fold)[:2], folds=split(*table)[2]
        )


@pytest.mark.slow
def test_a_sample_may_lack_categories(table, monkeypatch):
    """Of many rows, settings race on a sample, in which a category may be in one fold alone."""
    frame, y, fold = table
    rare = frame["country"].mask(np.isin(np.arange(900), [np.flatnonzero(fold == k)[5] for k in range(3)]), "rare")
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 200)
    X, dy, dfold = split(frame.assign(country=rare), y, fold)
    search = DaskCostSearch(make_pipeline(columns(), LOGISTIC), n_trials=2, random_state=0).fit(X, dy, folds=dfold)
    assert "codes__country_rare" in search.best_estimator_[0].get_feature_names_out()


@pytest.mark.slow
def test_many_categories_are_solved_by_products(table, monkeypatch):
    base = make_pipeline(columns(), LOGISTIC)
    X, y, fold = split(*table)
    known = DaskCostSearch(base, **OPTIONS).fit(X, y, folds=fold)
    monkeypatch.setattr("csf.distributed.newton.DIRECT", 3)
    search = DaskCostSearch(base, **OPTIONS).fit(X, y, folds=fold)
    np.testing.assert_allclose(search.best_estimator_[-1].coef_, known.best_estimator_[-1].coef_, atol=1e-3)


def test_the_models_of_a_search_share_their_encoder(table):
    X, y, _ = split(*table)
    search = DaskCostSearch([make_pipeline(columns(), LOGISTIC), make_pipeline(columns(), MARGIN)], **OPTIONS)
    assert search.fit(X, y).n_trials_ >= 2
    with pytest.raises(ValueError, match=r"all linear models of a search must have the same encoder.*; got .* and "):
        search.set_params(base=[make_pipeline(columns(handle_unknown="ignore"), LOGISTIC), LOGISTIC]).fit(X, y)


def test_categories_are_read_in_one_pass(table, monkeypatch):
    X, y, fold = split(*table)
    passes, reduced = [], DaskData.reduced
    monkeypatch.setattr(DaskData, "reduced", lambda *given: passes.append(given[1]) or reduced(*given))
    DaskCostSearch(make_pipeline(columns(), LOGISTIC), **OPTIONS).fit(X, y, folds=fold)
    assert sum("rows_of_categories" in str(each) for each in passes) == 1


def test_texts_that_change_between_passes_are_noticed(table):
    frame, y, _ = table
    reads = []

    def changing(part):
        reads.append(1)
        return part.assign(plan=part["plan"].to_numpy()[::-1]) if len(reads) > 6 else part

    whole = dd.from_pandas(frame, npartitions=1)
    X = whole.map_partitions(changing, meta=frame.iloc[:0])
    reads.clear()
    with pytest.raises(RuntimeError, match="labels, folds or texts of partition 0 are not those of the first read"):
        DaskCostSearch(make_pipeline(columns(), LOGISTIC), cv=2, **OPTIONS).fit(X, dd.from_pandas(pd.Series(y), 1))


def test_too_many_categories(table, monkeypatch):
    monkeypatch.setattr("csf.distributed.encoding.MOST_COLUMNS", 8)
    X, y, _ = split(*table)
    with pytest.raises(ValueError, match="the encoder makes 9 columns, and on partitions at most 8: drop columns"):
        DaskCostSearch(make_pipeline(columns(), LOGISTIC), **OPTIONS).fit(X, y)


REFUSED = {
    "imputer": make_pipeline(ColumnTransformer([("fill", SimpleImputer(), NUMBERS)]), LOGISTIC),
    "limit": make_pipeline(OneHotEncoder(max_categories=3), LOGISTIC),
    "dropped": make_pipeline(columns(drop="first"), LOGISTIC),
    "infrequent": make_pipeline(OneHotEncoder(handle_unknown="infrequent_if_exist"), MARGIN),
    "nested": make_pipeline(ColumnTransformer([("codes", make_pipeline(OneHotEncoder()), CODES)]), LOGISTIC),
    "remainder": make_pipeline(columns().set_params(remainder=SimpleImputer()), LOGISTIC),
}


@pytest.mark.parametrize("base", REFUSED)
def test_other_steps_are_refused_before_any_pass(table, base, monkeypatch):
    monkeypatch.setattr(DaskData, "reduced", None)
    X, y, _ = split(*table)
    with pytest.raises(TypeError, match=r"before a linear model on partitions are OneHotEncoder .*csf\.CostSearch"):
        DaskCostSearch(REFUSED[base]).fit(X, y)


def test_scalers_have_their_place(table):
    X, y, _ = split(*table)
    base = make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False), LOGISTIC)
    with pytest.raises(TypeError, match="the linear model comes right after the encoder"):
        DaskCostSearch(base).fit(X, y)
    weighted = make_pipeline(columns().set_params(transformer_weights={"codes": 2.0}), LOGISTIC)
    with pytest.raises(TypeError, match="transformer_weights is None"):
        DaskCostSearch(weighted).fit(X, y)


def test_a_column_that_is_not_finite_is_named(table):
    frame, y, fold = table
    for value in (np.nan, np.inf):
        X, dy, _ = split(frame.assign(age=frame["age"].where(np.arange(900) != 500, value)), y, fold)
        with pytest.raises(ValueError, match=r"X holds (nan|inf) in partition 1, row 200 of it, column '\w+__age'"):
            DaskCostSearch(make_pipeline(columns(), LOGISTIC), **OPTIONS).fit(X, dy)


def test_sparse_partitions_are_refused():
    X = da.from_array(np.eye(40)).map_blocks(sparse.csr_matrix)
    base = make_pipeline(ColumnTransformer([("numbers", StandardScaler(), [0])]), LOGISTIC)
    with pytest.raises(TypeError, match="an encoder on partitions takes frames and dense arrays, got sparse ones"):
        DaskCostSearch(base, **OPTIONS).fit(X, da.from_array(np.arange(40) % 2))


def test_missing_texts_are_refused(table):
    frame, y, fold = table
    X, dy, _ = split(frame.assign(plan=frame["plan"].where(np.arange(900) != 500)), y, fold)
    with pytest.raises(TypeError, match=r"in partition 1 Encoders require .* fillna\('missing'\)"):
        DaskCostSearch(make_pipeline(columns(), LOGISTIC), **OPTIONS).fit(X, dy)
