"""What a base's parameters say of classes, by label or by order, means the same whatever class is positive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PassiveAggressiveClassifier, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.plugin import PlugInClassifier

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")
    for text in ("the base has", "the winner", "trial 0", "Class PassiveAggressive:FutureWarning")
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
IS_LAST = RNG.random(240) < 1 / (1 + np.exp(0.5 - 1.2 * X[:, 0] + X[:, 1]))
NAMES = {
    "0, 1": np.array([0, 1]),
    "booleans": np.array([False, True]),
    "-1, 1": np.array([-1, 1]),
    "1, 2": np.array([1, 2]),
    "floats": np.array([0.0, 1.0]),
    "texts": np.array(["bad", "good"]),
    "objects": np.array(["bad", "good"], dtype=object),
}
QUICK = {"param_grid": None, "n_trials": 1, "cv": 2, "threshold": None, "random_state": 0}


class Rotated(TransformerMixin, BaseEstimator):
    """A step that learns from the classes: the last of them lies to the right."""

    def fit(self, X, y):
        last = y == np.unique(y)[1]
        self.line_ = X[last].mean(axis=0) - X[~last].mean(axis=0)
        return self

    def transform(self, X):
        return np.maximum(X @ self.line_, 0.0)[:, None]


# Bases by the names of both classes, and how much more the first of them counts.
BASES = {
    "logistic": lambda first, last, ratio: LogisticRegression(class_weight={first: ratio, last: 1.0}, tol=1e-8),
    "one weight": lambda first, last, ratio: LogisticRegression(class_weight={first: ratio}, solver="liblinear"),
    "svm": lambda first, last, ratio: LinearSVC(class_weight={last: 1 / ratio}, dual=False, tol=1e-8),
    "hinge": lambda first, last, ratio: LinearSVC(class_weight={first: ratio}, loss="hinge", max_iter=100_000),
    "bayes": lambda first, last, ratio: GaussianNB(priors=[ratio / (1 + ratio), 1 / (1 + ratio)]),
    "discriminant": lambda first, last, ratio: LinearDiscriminantAnalysis(
        priors=[ratio / (1 + ratio), 1 / (1 + ratio)]
    ),
    "bernoulli": lambda first, last, ratio: BernoulliNB(class_prior=[ratio / (1 + ratio), 1 / (1 + ratio)]),
    "complement": lambda first, last, ratio: make_pipeline(
        MinMaxScaler(), ComplementNB(class_prior=[ratio / (1 + ratio), 1 / (1 + ratio)])
    ),
    "monotonic": lambda first, last, ratio: HistGradientBoostingClassifier(max_iter=8, monotonic_cst=[-1, -1, 0]),
    "boosting": lambda first, last, ratio: HistGradientBoostingClassifier(max_iter=8, class_weight={0: ratio}),
    "forest": lambda first, last, ratio: RandomForestClassifier(
        8, class_weight={first: ratio, last: 1}, random_state=0
    ),
    "tree": lambda first, last, ratio: DecisionTreeClassifier(class_weight={first: ratio}, max_depth=3, random_state=0),
    "kernel": lambda first, last, ratio: SVC(class_weight={first: ratio}),
    "ridge": lambda first, last, ratio: RidgeClassifier(class_weight={first: ratio}),
    "passes": lambda first, last, ratio: SGDClassifier(class_weight={first: ratio}, random_state=0),
    "without sample weights": lambda first, last, ratio: PassiveAggressiveClassifier(
        class_weight={first: ratio, last: 1.0}, random_state=0
    ),
    "scaled": lambda first, last, ratio: make_pipeline(
        StandardScaler(), LogisticRegression(class_weight={first: ratio}, tol=1e-8)
    ),
    "learning step": lambda first, last, ratio: make_pipeline(
        Rotated(), HistGradientBoostingClassifier(max_iter=8, monotonic_cst=[1])
    ),
    "calibrated": lambda first, last, ratio: CalibratedClassifierCV(GaussianNB(priors=[0.9, 0.1]), cv=2),
    "balanced inside": lambda first, last, ratio: BaggingClassifier(
        LogisticRegression(class_weight="balanced"), 3, bootstrap=False, random_state=0
    ),
    "rest": lambda first, last, ratio: OneVsRestClassifier(LinearSVC(class_weight={0: ratio}, dual=False, tol=1e-8)),
    "rest of bayes": lambda first, last, ratio: OneVsRestClassifier(GaussianNB(priors=[0.9, 0.1])),
}
LINEAR = ("logistic", "one weight", "svm", "scaled", "rest")


def check(base, names, positive, **options):
    """A search decides as the base that is trained by hand."""
    y = names[IS_LAST.astype(int)]
    expected = clone(base).fit(X, y).predict(X)
    search = CostSearch(base, pos_label=names[positive], **(QUICK | options)).fit(X, y)
    assert np.mean(search.predict(X) == expected) > 0.985
    assert search.predict(X).dtype == names.dtype
    np.testing.assert_array_equal(search.classes_, names)
    return search


def base_of(kind, names, ratio=6.0):
    return BASES[kind](*names.tolist(), ratio)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("kind", BASES)
def test_a_search_decides_as_the_base_by_hand(kind, positive):
    names = NAMES["texts"]
    search = check(base_of(kind, names), names, positive)
    np.testing.assert_array_equal(search.best_estimator_.classes_, names)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(list(BASES)),
    st.sampled_from(list(NAMES)),
    st.sampled_from([0, 1]),
    st.sampled_from([0.2, 1.0, 3.0, 9.0]),
    st.sampled_from(["auto", "generic", "liblinear"]),
)
def test_any_base_labels_and_positive_class(kind, labels, positive, ratio, engine):
    engine = "auto" if engine == "liblinear" and kind not in LINEAR else engine
    check(base_of(kind, NAMES[labels], ratio), NAMES[labels], positive, engine=engine)


@pytest.mark.parametrize("kind", ["logistic", "bayes"])
def test_the_mean_of_folds_and_tuned_thresholds_name_the_users_classes(kind):
    names = NAMES["texts"]
    base, y = base_of(kind, names), names[IS_LAST.astype(int)]
    options = QUICK | {"threshold": "tune", "refit": "folds"}
    first, last = (CostSearch(base, "accuracy", pos_label=name, **options).fit(X, y) for name in names)
    np.testing.assert_allclose(first.predict_proba(X), last.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(first.best_estimator_.classes_, names)
    plain = PlugInClassifier(base, "accuracy", pos_label="bad", cv=2).fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), clone(base).fit(X, y).predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(class_weight={"none": 6.0, "tree": 3.0}, tol=1e-8),
        LinearSVC(class_weight={"none": 6.0}, dual=False, tol=1e-8),
        GaussianNB(priors=[0.05, 0.9, 0.05]),
        OneVsRestClassifier(GaussianNB(priors=[0.9, 0.1])),
        make_pipeline(StandardScaler(), LinearSVC(class_weight={"none": 6.0}, dual=False, tol=1e-8)),
    ],
    ids=["logistic", "svm", "bayes", "rest", "scaled"],
)
@pytest.mark.parametrize("null", ["none", "bird", None])
def test_several_classes(base, null):
    y = np.array(["bird", "none", "tree"])[IS_LAST * 1 + (X[:, 2] > 0.6)]
    metric = "f1_macro" if null is None else "f1"
    search = CostSearch(base, metric, null_class=null, **QUICK).fit(X, y)
    assert np.mean(search.predict(X) == clone(base).fit(X, y).predict(X)) > 0.985
    np.testing.assert_array_equal(search.best_estimator_.classes_, ["bird", "none", "tree"])


class OfCodes(ClassifierMixin, BaseEstimator):
    """Takes whole numbers from 0 on alone, as networks do, and leans to the last class."""

    def __init__(self, lean=0.0):
        self.lean = lean

    def fit(self, X, y, sample_weight=None):
        if not np.array_equal(np.unique(y), np.arange(len(np.unique(y)))):
            raise ValueError("Invalid classes")
        self.model_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X) + self.lean

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("labels", ["1, 2", "-1, 1", "texts", "objects"])
def test_a_base_of_codes_alone_gets_them_in_the_order_of_the_labels(labels, positive):
    names = NAMES[labels]
    y, base = names[IS_LAST.astype(int)], OfCodes(lean=2.0)
    search = CostSearch(base, pos_label=names[positive], **QUICK).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), names[clone(base).fit(X, IS_LAST.astype(int)).predict(X)])
    again = CostSearch(FrozenEstimator(search.best_estimator_), pos_label=names[positive], **QUICK)
    # Of labels 1 and 2 the 1 that it knows could be a label.
    if positive and labels != "1, 2":
        np.testing.assert_array_equal(again.fit(X, y).predict(X), search.predict(X))
    else:
        with pytest.raises(ValueError, match="trained on"):
            again.fit(X, y)


def test_labels_that_parameters_do_not_name_are_no_codes():
    """Weights of 0 and 1 are for a base that somebody trains on codes; the base itself refuses them."""
    y = NAMES["texts"][IS_LAST.astype(int)]
    with pytest.raises(ValueError, match=r"The classes, .*good.*, are not in class_weight"):
        CostSearch(LogisticRegression(class_weight={0: 8, 1: 1}), pos_label="bad", **QUICK).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("labels", NAMES)
def test_boosters_of_other_packages(labels, positive):
    lightgbm, names = pytest.importorskip("lightgbm"), NAMES[labels]
    quick = {"n_estimators": 10, "verbose": -1}
    check(lightgbm.LGBMClassifier(scale_pos_weight=6, **quick), names, positive)
    check(lightgbm.LGBMClassifier(monotone_constraints=[-1, 0, 0], **quick), names, positive)
    check(lightgbm.LGBMClassifier(class_weight={names.tolist()[0]: 6}, **quick), names, positive)
    base = pytest.importorskip("xgboost").XGBClassifier(scale_pos_weight=6, n_estimators=10)
    y = names[IS_LAST.astype(int)]
    for options in ({}, {"param_grid": {"n_estimators": [4, 10]}, "threshold": "tune"}):
        search = CostSearch(base, pos_label=names[positive], **(QUICK | options)).fit(X, y)
        own = clone(base).set_params(**search.best_params_ or {}).fit(X, IS_LAST.astype(int))
        if not options:
            np.testing.assert_array_equal(search.predict(X), names[own.predict(X)])
        score = own.predict_proba(X)[:, positive]
        assert np.corrcoef(search.score_samples(X), score)[0, 1] > 0.9
    catboost = pytest.importorskip("catboost")
    quick = {"iterations": 10, "verbose": 0, "allow_writing_files": False, "random_seed": 0}
    check(catboost.CatBoostClassifier(scale_pos_weight=6, **quick), names, positive)
    check(catboost.CatBoostClassifier(class_weights=(6, 1), **quick), names, positive)


@pytest.mark.slow
@pytest.mark.parametrize("positive", [0, 1])
def test_samplers_name_the_users_classes(positive):
    over = pytest.importorskip("imblearn.over_sampling").RandomOverSampler
    pipeline, names = pytest.importorskip("imblearn.pipeline"), NAMES["texts"]
    n_last = int(IS_LAST.sum())
    counts = {"bad": 1000, "good": n_last}
    base = pipeline.make_pipeline(over(sampling_strategy=counts, random_state=0), LogisticRegression())
    y = names[IS_LAST.astype(int)]
    expected = clone(base).fit(X, y).predict(X)
    search = CostSearch(base, pos_label=names[positive], **QUICK).fit(X, y)
    assert np.mean(search.predict(X) == expected) > 0.985


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("positive", [0, 1])
def test_data_that_travel_with_fit_have_the_users_labels(positive):
    lightgbm, names = pytest.importorskip("lightgbm"), NAMES["texts"]
    y = names[IS_LAST.astype(int)]
    base = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1)
    search = CostSearch(base, pos_label=names[positive], **QUICK).fit(X, y, eval_set=[(X[:50], y[:50])])
    own = clone(base).fit(X, y, eval_set=[(X[:50], y[:50])])
    np.testing.assert_array_equal(search.predict(X), own.predict(X))


# ---------------------------------------------------------------- what others refuse in few words


class Copying(LogisticRegression):
    """Copies what its constructor is given, as CatBoost does."""

    def __init__(self, features=(), C=1.0):
        super().__init__(C=C)
        self.features = list(features) if isinstance(features, list) else features


def test_a_constructor_that_copies_lists_is_told_of_tuples():
    y = IS_LAST.astype(int)
    with pytest.raises(TypeError, match=r"modifies parameter features\. Give tuples for lists, cat_features"):
        CostSearch(Copying(["a"]), **QUICK).fit(X, y)
    assert CostSearch(Copying(("a",)), **QUICK).fit(X, y).best_estimator_.features == ("a",)


@pytest.mark.parametrize(
    "message",
    [
        "could not convert string to float: 'much'",
        "pandas dtypes must be int, float or bool.",
        "DataFrame.dtypes for data must be int, float, bool or category.",
        "Bad value for num_feature[non_default_doc_idx=0,feature_idx=1]=\"v\": Cannot convert 'v' to float",
    ],
)
def test_whoever_trains_on_texts_is_told_how_others_take_them(message):
    class Refusing(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise ValueError(message)

    with pytest.raises(ValueError, match=r"astype\({'town': 'category'}\).*fit\(X, y, cat_features=\['town'\]\)"):
        CostSearch(Refusing(), **QUICK).fit(X, IS_LAST.astype(int))


@pytest.mark.parametrize("metric", ["f1", "f1_macro", "mcc"])
def test_a_fitted_base_of_three_classes_is_no_base_of_two(metric):
    """It would answer the third class, which is neither of them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 3
    base, some = LogisticRegression().fit(X, y), y < 2
    with pytest.raises(
        ValueError, match=r"knows the classes \[0, 1, 2\], and y has 2 of them, \[0, 1\]: .*null_class="
    ):
        CostSearch(base, metric, cv="prefit").fit(X[some], y[some])
    search = CostSearch(base, null_class=0, cv="prefit").fit(X[some], y[some])
    assert set(search.predict(X)) <= {0, 1, 2}
