"""Class costs as sample weights and class weights, with one problem or one for each class."""

import numpy as np
import pytest
import sklearn
from builders import paper_search, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.data.costs import (
    CostChannel,
    check_class_weight,
    cost_channel,
    cost_sample_weight,
    one_vs_rest_channel,
    own_class_weights,
    problem_costs,
    problem_probabilities,
)
from csf.data.labels import Labels

cost = st.floats(1e-6, 10.0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=80) > 0.5).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, 80)


class OnlyClassWeight(ClassifierMixin, BaseEstimator):
    """Takes class weights, no sample weights."""

    def __init__(self, class_weight=None):
        self.class_weight = class_weight

    def fit(self, X, y):
        self.model_ = LogisticRegression(class_weight=self.class_weight).fit(X, y)
        self.classes_ = self.model_.classes_
        return self


class OtherName(ClassifierMixin, BaseEstimator):
    """Takes weights under another name."""

    def fit(self, X, y, importance=None):
        self.importance_ = importance
        return self


class NeedsWeights(ClassifierMixin, BaseEstimator):
    """Cannot be fitted without weights."""

    def fit(self, X, y, sample_weight):
        self.importance_ = sample_weight
        return self


# ---------------------------------------------------------------- weights


@given(
    is_pos=st.lists(st.booleans(), min_size=1, max_size=20),
    costs=st.tuples(cost, cost),
    weighted=st.booleans(),
    normalize=st.sampled_from(["none", "mean"]),
)
def test_each_sample_gets_the_cost_of_its_class(is_pos, costs, weighted, normalize):
    is_pos = np.array(is_pos)
    own = np.linspace(0.5, 2.0, is_pos.size) if weighted else None
    weight = cost_sample_weight(is_pos, costs, sample_weight=own, normalize=normalize)
    expected = np.where(is_pos, *costs) * (1.0 if own is None else own)
    if normalize == "none":
        assert weight == pytest.approx(expected, rel=1e-15)
    else:
        assert weight.sum() == pytest.approx(is_pos.size if own is None else own.sum())
        assert weight / weight[0] == pytest.approx(expected / expected[0])


@pytest.mark.parametrize(("normalize", "scale"), [("none", 1.0), ("mean", 4.0 / 8.0)])
def test_each_sample_gets_the_weight_of_its_code(normalize, scale):
    codes, own = np.array([2, 0, 1, 2]), np.array([1.0, 2.0, 1.0, 0.0])
    weight = cost_sample_weight(codes, (0.5, 4.0, 3.0), sample_weight=own, normalize=normalize)
    assert weight.tolist() == (np.array([3.0, 1.0, 4.0, 0.0]) * scale).tolist()


def test_two_numbers_are_costs_whatever_the_codes():
    assert cost_sample_weight(np.array([2, 0, 1]), (1.5, 0.5)).tolist() == [1.5, 0.5, 1.5]


def test_a_code_without_a_weight_is_refused():
    with pytest.raises(ValueError, match=r"costs=\(1.0, 2.0, 3.0\) has 3 weights for codes up to 3; give one for each"):
        cost_sample_weight(np.array([0, 3]), (1.0, 2.0, 3.0))


@given(pos=shares)
def test_user_weights_are_left_alone(pos):
    own = np.ones(4)
    own.flags.writeable = False
    cost_sample_weight(np.array([True, False, False, True]), (2.0, 1.0), sample_weight=own, normalize="mean")
    assert (own == 1).all()


@pytest.mark.parametrize("normalize", ["sum", None, True])
def test_normalize_is_one_of_two(normalize):
    with pytest.raises(ValueError, match=r"normalize must be one of \('none', 'mean'\), got"):
        cost_sample_weight(np.array([True, False]), (1.0, 1.0), normalize=normalize)


# ---------------------------------------------------------------- routes

ROUTES = {
    "LinearSVC": (LinearSVC(), "sample_weight", "sample_weight"),
    "LogisticRegression": (LogisticRegression(), "sample_weight", "sample_weight"),
    "last step": (make_pipeline(StandardScaler(), LinearSVC()), "sample_weight", "linearsvc__sample_weight"),
    "named step": (Pipeline([("s", StandardScaler()), ("clf", SVC())]), "sample_weight", "clf__sample_weight"),
    "nested": (
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())),
        "sample_weight",
        "pipeline__logisticregression__sample_weight",
    ),
    "column transformer": (
        make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 1])]), LogisticRegression()),
        "sample_weight",
        "logisticregression__sample_weight",
    ),
    "union": (
        make_pipeline(FeatureUnion([("a", StandardScaler())]), LogisticRegression()),
        "sample_weight",
        "logisticregression__sample_weight",
    ),
    "calibrated": (CalibratedClassifierCV(LogisticRegression(), cv=2), "sample_weight", "sample_weight"),
    "calibrated step": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LogisticRegression(), cv=2)),
        "sample_weight",
        "calibratedclassifiercv__sample_weight",
    ),
    "bagging": (BaggingClassifier(LogisticRegression(), random_state=0), "sample_weight", "sample_weight"),
    "class_weight": (OnlyClassWeight(), "class_weight", "class_weight"),
    "class_weight step": (
        make_pipeline(StandardScaler(), OnlyClassWeight()),
        "class_weight",
        "onlyclassweight__class_weight",
    ),
    "skipped step": (Pipeline([("no", "passthrough"), ("clf", LinearSVC())]), "sample_weight", "clf__sample_weight"),
}
each_route = pytest.mark.parametrize("name", ROUTES)


@each_route
def test_routes_are_found(name):
    base, kind, argument = ROUTES[name]
    assert cost_channel(base) == CostChannel(kind, argument)


def scores(model):
    method = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    return getattr(model, method)(X) if hasattr(model, method) else model.model_.decision_function(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("routing", [False, True])
@each_route
def test_costs_reach_the_base_with_and_without_metadata_routing(name, routing):
    """The weighted fit is the one with the weights given by hand, and not the unweighted one."""
    base, kind, argument = ROUTES[name]
    weight = cost_sample_weight(Y == 1, (1.7, 0.3))
    if kind == "class_weight":
        expected = clone(base).set_params(**{argument: {0: 0.3, 1: 1.7}}).fit(X, Y)
    else:
        expected = clone(base).fit(X, Y, **{argument: weight})
    with sklearn.config_context(enable_metadata_routing=routing):
        model = cost_channel(base).fit(clone(base), X, Y, (1.7, 0.3))
    inner = [m.steps[-1][1] if isinstance(m, Pipeline) and kind == "class_weight" else m for m in (model, expected)]
    assert scores(inner[0]) == pytest.approx(scores(inner[1]), rel=1e-9)
    plain = clone(base).fit(X, Y)
    plain = plain.steps[-1][1] if isinstance(plain, Pipeline) and kind == "class_weight" else plain
    assert not np.allclose(scores(inner[0]), scores(plain))


@pytest.mark.parametrize("routing", [False, True])
def test_user_weights_multiply_costs(routing):
    base = make_pipeline(StandardScaler(), LogisticRegression())
    weight = np.where(Y == 1, 1.7, 0.3) * WEIGHT
    expected = clone(base).fit(X, Y, logisticregression__sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = cost_channel(base, weighted=True).fit(clone(base), X, Y, (1.7, 0.3), sample_weight=WEIGHT)
    assert model.decision_function(X) == pytest.approx(expected.decision_function(X))


def test_requests_of_the_user_are_kept():
    """A scaler that asked for weights gets them; only what nobody spoke of is settled."""
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        base = make_pipeline(scaler, LogisticRegression())
        model = cost_channel(base).fit(clone(base), X, Y, (1.7, 0.3))
    weight = cost_sample_weight(Y == 1, (1.7, 0.3))
    assert model[0].mean_ == pytest.approx(np.average(X, axis=0, weights=weight))
    assert model[0].mean_ != pytest.approx(X.mean(axis=0))


def test_the_original_base_is_left_alone():
    base = make_pipeline(StandardScaler(), LogisticRegression())
    before = repr(base), base.get_metadata_routing()
    with sklearn.config_context(enable_metadata_routing=True):
        cost_channel(base).fit(clone(base), X, Y, (1.7, 0.3))
    assert repr(base) == before[0]
    assert repr(base.get_metadata_routing()) == repr(before[1])


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, Y.size)], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(class_weight="balanced"),
        make_pipeline(StandardScaler(), LinearSVC(class_weight="balanced", random_state=0)),
        OneVsRestClassifier(LogisticRegression(class_weight="balanced")),
        DecisionTreeClassifier(class_weight="balanced", max_depth=2, random_state=0),
    ],
    ids=lambda base: type(base).__name__,
)
def test_balanced_class_weights_multiply_costs(base, weight):
    """scikit-learn balances the weights that fit is given: with the costs in them these would be undone."""
    counted = np.ones(Y.size) if weight is None else weight
    balanced = np.where(Y == 1, *(counted.sum() / (2 * counted[code == Y].sum()) for code in (1, 0)))
    name = next(name for name in base.get_params() if name.endswith("class_weight"))
    model = cost_channel(base).fit(clone(base), X, Y, (1.7, 0.3), sample_weight=weight)
    direct = clone(base).set_params(**{name: None})
    expected = cost_channel(direct).fit(direct, X, Y, (1.7, 0.3), sample_weight=balanced * counted)
    kind = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    np.testing.assert_allclose(getattr(model, kind)(X), getattr(expected, kind)(X), rtol=1e-6, atol=1e-9)
    assert model.get_params()[name] == "balanced"


@pytest.mark.parametrize("normalize", ["none", "mean"])
def test_class_weights_are_normalised_too(normalize):
    model = cost_channel(OnlyClassWeight()).fit(OnlyClassWeight(), X, Y, (1.7, 0.3), normalize=normalize)
    scale = 1.0 if normalize == "none" else Y.size / (1.7 * Y.sum() + 0.3 * (1 - Y).sum())
    assert model.class_weight == pytest.approx({0: 0.3 * scale, 1: 1.7 * scale})


def test_a_name_may_be_given():
    channel = cost_channel(OtherName(), sample_weight_name="importance")
    assert channel == CostChannel("sample_weight", "importance")
    model = channel.fit(OtherName(), X, Y, (2.0, 1.0))
    assert model.importance_.tolist() == np.where(Y == 1, 2.0, 1.0).tolist()


def test_fit_arguments_pass_through():
    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None, note=None):
            self.note_ = note
            return super().fit(X, y, sample_weight)

    assert cost_channel(Spy()).fit(Spy(), X, Y, (1.0, 1.0), fit_params={"note": "seen"}).note_ == "seen"


# ---------------------------------------------------------------- equal costs

ROUTED = {
    "alone": (OtherName(), "importance", lambda model: model),
    "in a pipeline": (make_pipeline(StandardScaler(), OtherName()), "othername__importance", lambda model: model[-1]),
}


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", ROUTED)
@pytest.mark.parametrize(
    ("costs", "how", "given"),
    [
        ((1.0, 1.0), {}, False),
        ((1, 1), {"normalize": "mean"}, False),
        ((0.3, 0.3), {"normalize": "mean"}, False),
        ((0.3, 0.3, 0.3), {"normalize": "mean"}, False),
        ((0.3, 0.3, 0.4), {"normalize": "mean"}, True),
        ((0.5, 0.5), {}, True),
        ((1.0, 0.5), {"normalize": "mean"}, True),
        ((1.0, 1.0), {"sample_weight": WEIGHT}, True),
        ((0.3, 0.3), {"sample_weight": WEIGHT, "normalize": "mean"}, True),
    ],
)
def test_weights_that_are_all_one_are_not_given(name, routing, costs, how, given):
    base, argument, last = ROUTED[name]
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:  # scikit-learn makes the method from the arguments of fit
            base = clone(base)
            last(base).set_fit_request(importance=True)
        model = CostChannel("sample_weight", argument).fit(clone(base), X, Y, costs, **how)
    assert (last(model).importance_ is not None) == given


def test_weights_that_fit_needs_are_given():
    model = CostChannel("sample_weight", "sample_weight").fit(NeedsWeights(), X, Y, (1.0, 1.0))
    np.testing.assert_array_equal(model.importance_, np.ones(80))


@pytest.mark.parametrize(
    "base",
    [
        LinearSVC(random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
        RandomForestClassifier(5, random_state=0),  # draws other samples with weights of 1 than without
        OneVsRestClassifier(LinearSVC(random_state=0)),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(random_state=0))),
    ],
    ids=lambda base: type(base).__name__,
)
def test_equal_costs_are_the_plain_training(base):
    model = cost_channel(base).fit(clone(base), X, Y, (1.0, 1.0))
    scores = [getattr(m, "decision_function", getattr(m, "predict_proba", None))(X) for m in (model, base.fit(X, Y))]
    np.testing.assert_array_equal(*scores)


# ---------------------------------------------------------------- bases that cannot be served


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (KNeighborsClassifier(), "KNeighborsClassifier"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "KNeighborsClassifier"),
        (GridSearchCV(LinearSVC(), {"C": [1.0]}), "GridSearchCV"),
        (Pipeline([("s", StandardScaler()), ("no", "passthrough")]), "str"),
        (OtherName(), "OtherName"),
    ],
)
def test_a_base_without_weights_is_refused(base, name):
    with pytest.raises(ValueError, match=rf"{name} takes no weights.*sample_weight_name=.*PlugInClassifier"):
        cost_channel(base)


def test_class_weight_cannot_carry_sample_weights():
    with pytest.raises(ValueError, match="OnlyClassWeight takes class_weight but no sample_weight, so the given"):
        cost_channel(OnlyClassWeight(), weighted=True)


@pytest.mark.parametrize("name", [3, ["sample_weight"], True])
def test_sample_weight_name_is_a_text(name):
    with pytest.raises(TypeError, match="sample_weight_name must be a str or None, got"):
        cost_channel(LinearSVC(), sample_weight_name=name)


@pytest.mark.parametrize("value", ["balanced", {0: 1.0, 1: 3.0}, {1: 2.0}])
def test_class_weights_of_the_base_are_warned_of(value):
    for base in (LinearSVC(class_weight=value), make_pipeline(StandardScaler(), SVC(class_weight=value))):
        with pytest.warns(UserWarning, match=r"the base has .*class_weight=.*, which multiplies the searched costs"):
            check_class_weight(base)


def test_class_weights_of_other_labels_are_refused():
    labels = Labels(np.array(["bad", "good"]), "good")
    np.testing.assert_array_equal(own_class_weights({"bad": 3.0}, np.array([1, 0]), labels), [1.0, 3.0])
    with pytest.raises(ValueError, match=r"The classes, .*good.*, are not in class_weight"):
        own_class_weights({0: 2.0, 1: 3.0}, np.array([1, 0]), labels)


X3, Y3 = make_classification(300, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, random_state=0)
WEIGHT3 = np.random.default_rng(0).uniform(0.5, 2.0, Y3.size)
COSTS = 1.7, 0.3


def test_the_null_class_against_the_rest_has_the_costs_of_the_whole_problem():
    """Its samples cost what is found by mistake, all others what is missed: as with two classes."""
    assert problem_costs(0, COSTS) == (0.3, 1.7)
    assert problem_costs(3, COSTS) == COSTS


@pytest.mark.parametrize("weight", [None, WEIGHT3], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_every_problem_is_weighted_by_itself(weight, n_jobs):
    base = OneVsRestClassifier(LogisticRegression(tol=1e-10), n_jobs=n_jobs)
    model = one_vs_rest_channel(base).fit(clone(base), X3, Y3, COSTS, sample_weight=weight)
    given = np.ones(Y3.size) if weight is None else weight
    for k in range(4):
        costs = np.where(k == Y3, *((0.3, 1.7) if k == 0 else COSTS))
        plain = LogisticRegression(tol=1e-10).fit(X3, k == Y3, sample_weight=given * costs)
        np.testing.assert_allclose(model.estimators_[k].coef_, plain.coef_, atol=1e-6)
    reference = OneVsRestClassifier(LogisticRegression()).fit(X3, Y3)
    assert vars(model).keys() == vars(reference).keys()
    assert model.predict(X3).dtype == reference.predict(X3).dtype
    assert model.predict_proba(X3).shape == (Y3.size, 4)


def test_two_classes_have_one_problem():
    base = OneVsRestClassifier(LinearSVC())
    first = one_vs_rest_channel(base).fit(clone(base), X3, (Y3 > 1) * 1, COSTS)
    second = cost_channel(base).fit(clone(base), X3, (Y3 > 1) * 1, COSTS)
    np.testing.assert_array_equal(first.decision_function(X3), second.decision_function(X3))


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_pipelines_end_in_one(engine):
    base = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(tol=1e-9)))
    options = {"n_trials": 2, "cv": 3, "null_class": 0, "weighting": "one-vs-rest", "error_score": "raise"}
    search = paper_search(base, engine=engine, **options).fit(X3, Y3)
    scaled = StandardScaler().fit_transform(X3)
    channel = one_vs_rest_channel(base[-1])
    model = channel.fit(clone(base[-1]), scaled, Y3, search.best_cost_weights_)
    np.testing.assert_allclose(search.best_estimator_.decision_function(X3), model.decision_function(scaled), atol=1e-3)


def test_it_balances_problems_that_costs_of_classes_cannot():
    """With twelve classes of one size, nearly all samples cost the same, and each class is rare against the rest."""
    X3, y = make_classification(
        1500, 10, n_informative=8, n_redundant=0, n_classes=12, n_clusters_per_class=1, class_sep=1.2, random_state=0
    )
    options = {"n_trials": 4, "cv": 3, "null_class": 0}
    base = OneVsRestClassifier(LinearSVC(loss="hinge"))
    by_class, by_problem = (
        paper_search(base, weighting=weighting, **options).fit(X3, y) for weighting in ("class", "one-vs-rest")
    )
    assert by_problem.best_score_ > by_class.best_score_ + 0.02


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (LinearSVC(), "weighting='one-vs-rest' needs a base that solves one problem for each class, got LinearSVC"),
        (OneVsRestClassifier(KNeighborsClassifier()), "KNeighborsClassifier takes no weights"),
    ],
)
def test_other_bases_are_refused(base, message):
    with pytest.raises(ValueError, match=message):
        paper_search(base, null_class=0, weighting="one-vs-rest").fit(X3, Y3)


def test_arguments_of_fit_are_refused():
    channel = one_vs_rest_channel(OneVsRestClassifier(LinearSVC()))
    with pytest.raises(ValueError, match=r"takes no further arguments of fit, got \['note'\]"):
        channel.fit(OneVsRestClassifier(LinearSVC()), X3, Y3, COSTS, fit_params={"note": 1})


def gaussians(n_samples, seed):
    """Three classes with shares .80, .12 and .08, of which the first means nothing to find."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_samples, p=[0.80, 0.12, 0.08])
    return rng.normal(size=(n_samples, 2)) + np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])[y], y


@pytest.mark.parametrize("t", [0.05, 0.6])
@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),), (make_pipeline(StandardScaler(), StandardScaler()),)])
def test_probabilities_have_the_costs_of_each_problem_taken_out(t, engine, steps):
    """A small level prices one kind of error; the factor of the odds is turned over for the null class."""
    X3, y = gaussians(6000, 1)
    X_new, y_new = gaussians(20_000, 2)
    plain = OneVsRestClassifier(LogisticRegression())
    base = make_pipeline(*steps, plain) if steps else plain
    options = {"n_trials": 1, "cv": 3, "null_class": 0, "weighting": "one-vs-rest", "error_score": "raise"}
    search = paper_search(base, strategy=lambda trials, **_: t, engine=engine, **options).fit(X3, y)
    proba = search.predict_proba(X_new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y_new) / y_new.size, atol=0.012)
    assert log_loss(y_new, proba) <= log_loss(y_new, plain.fit(X3, y).predict_proba(X_new)) + 1e-3


def test_probabilities_follow_the_labels():
    X3, y = gaussians(3000, 0)
    options = {"strategy": lambda trials, **_: 0.05, "n_trials": 1, "cv": 3, "weighting": "one-vs-rest"}
    base = OneVsRestClassifier(LogisticRegression())
    first = paper_search(base, null_class=0, **options).fit(X3, y)
    second = paper_search(base, null_class="none", **options).fit(X3, np.array(["none", "a", "b"])[y])
    np.testing.assert_allclose(second.predict_proba(X3), first.predict_proba(X3)[:, [1, 2, 0]])


def test_two_classes_have_one_factor():
    X3, y = gaussians(2000, 0)
    options = {"strategy": lambda trials, **_: 0.05, "n_trials": 1, "cv": 3}
    base = OneVsRestClassifier(LogisticRegression())
    by_class = paper_search(base, **options).fit(X3, (y > 0) * 1)
    by_problem = paper_search(base, weighting="one-vs-rest", null_class=0, **options).fit(X3, (y > 0) * 1)
    np.testing.assert_allclose(by_problem.predict_proba(X3), by_class.predict_proba(X3))


def test_certain_problems_stay_certain():
    """Trees are sure of themselves: no odds to turn, and nothing is divided by zero."""
    base = OneVsRestClassifier(RandomForestClassifier(3, random_state=0))
    model = one_vs_rest_channel(base).fit(clone(base), X3, Y3, COSTS)
    before = np.column_stack([problem.predict_proba(X3)[:, 1] for problem in model.estimators_])
    after = problem_probabilities(model, X3, COSTS)
    np.testing.assert_array_equal(after == 1.0, before == 1.0)
    np.testing.assert_array_equal(after == 0.0, before == 0.0)
    assert (after[:, 0] >= before[:, 0]).all()
    assert (after[:, 1:] <= before[:, 1:]).all()


def test_a_channel_of_a_base_without_weights_trains_it_as_it_is():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    channel = cost_channel(KNeighborsClassifier(), required=False)
    assert channel.kind == "none"
    assert channel.inside("any") is channel
    assert (channel.is_own, channel.carries_samples) == (False, False)
    own, plain = channel.fit(KNeighborsClassifier(3), X, y, (2.0, 2.0)), KNeighborsClassifier(3).fit(X, y)
    np.testing.assert_array_equal(own.predict_proba(X), plain.predict_proba(X))
