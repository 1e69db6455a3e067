"""CostSearch where one of several classes means nothing to find."""

import numpy as np
import pytest
from builders import paper_search
from hypothesis import given
from hypothesis import strategies as st
from oracles.null_class import class_errors, f_beta, predictions
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from csf import ErrorProfile, Study
from csf.bounds import BOUNDS, ConeBound, get_bound
from csf.metrics import FBeta
from csf.metrics.trials import outcome
from csf.strategies import STRATEGIES

NAMES = np.array(["none", "bird", "tree", "stone"])
# Any base of several classes that takes weights, also through the ones that wrap it.
BASES = {
    "one_vs_rest_svm": lambda: OneVsRestClassifier(LinearSVC()),
    "one_vs_rest_logistic": lambda: OneVsRestClassifier(LogisticRegression()),
    "one_vs_rest_pipeline": lambda: OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    "one_vs_rest_forest": lambda: OneVsRestClassifier(RandomForestClassifier(10, random_state=0)),
    "one_vs_one": lambda: OneVsOneClassifier(LinearSVC()),
    "linear_svc": LinearSVC,
    "multinomial": LogisticRegression,
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "forest": lambda: RandomForestClassifier(15, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline_of_one_vs_rest": lambda: make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())),
}
NULL = {"null_class": "none", "cv": 3, "error_score": "raise"}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        420,
        6,
        n_informative=4,
        n_classes=4,
        n_clusters_per_class=1,
        weights=[0.6, 0.2, 0.1],
        flip_y=0.1,
        random_state=2,
    )
    return X, NAMES[y]


def value(y_true, y_pred, *, null="none", weight=None, beta=1):
    weight = None if weight is None else list(weight)
    return float(f_beta(list(y_true), list(y_pred), null, beta, weight))


# ---------------------------------------------------------------- profiles


@st.composite
def labelled(draw):
    size = draw(st.integers(2, 25))
    codes = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    y_true, y_pred = NAMES[draw(codes)], NAMES[draw(codes)]
    y_true[:2] = "none", "tree"
    weight = st.lists(st.sampled_from([0.0, 0.25, 1.0, 4.0]), min_size=size, max_size=size)
    weight = np.maximum(draw(weight), np.arange(size) < 2)
    return y_true, y_pred, draw(st.sampled_from([None, weight]))


@given(labelled(), st.sampled_from([1, 2, 0.5]))
def test_two_numbers_give_the_f_measure_of_all_class_errors(problem, beta):
    y_true, y_pred, weight = problem
    profile = ErrorProfile.from_classes(y_true, y_pred, null_class="none", sample_weight=weight)
    assert FBeta(beta).of(profile) == pytest.approx(value(y_true, y_pred, weight=weight, beta=beta), abs=1e-12)


@given(labelled(), st.floats(0.01, 0.99))
def test_weights_of_classes_are_the_costs_of_the_two_numbers(problem, t):
    """What a base minimises, the weighted error of all classes, is <a(t), e>."""
    y_true, y_pred, weight = problem
    profile = ErrorProfile.from_classes(y_true, y_pred, null_class="none", sample_weight=weight)
    c_fn, c_fp = FBeta().cost_weights(t, pos=profile.pos)
    _, errors = class_errors(y_true, y_pred, np.ones(y_true.size) if weight is None else weight)
    paid = sum(float(error) * (t if label == "none" else 2 - t) for label, error in errors.items())
    assert c_fn * profile.fn + c_fp * profile.fp == pytest.approx(paid, abs=1e-12)


@given(labelled())
def test_two_classes_give_the_binary_profile_exactly(problem):
    y_true, y_pred, weight = problem
    y_true, y_pred = np.where(y_true == "none", "no", "yes"), np.where(y_pred == "none", "no", "yes")
    both = {"sample_weight": weight}
    assert ErrorProfile.from_classes(y_true, y_pred, null_class="no", **both) == ErrorProfile.from_predictions(
        y_true, y_pred, pos_label="yes", **both
    )


@pytest.mark.parametrize(
    ("y_true", "y_pred", "null", "message"),
    [
        (["a", "b"], ["a"], "a", r"y_pred must have shape \(2,\) like y_true, got \(1,\)"),
        (["a", "b"], ["a", "b"], "c", r"null_class='c' is not a label of y_true, which holds \['a', 'b'\]"),
        (["a", "a"], ["a", "b"], "a", "y has one class only"),
    ],
)
def test_predictions_that_have_no_profile(y_true, y_pred, null, message):
    with pytest.raises(ValueError, match=message):
        ErrorProfile.from_classes(y_true, y_pred, null_class=null)


# ---------------------------------------------------------------- bounds


def random_class(rng, n_classes, n):
    """Error shares of each class for n classifiers, and the shares of the classes."""
    shares = rng.dirichlet(np.full(n_classes, 2.0))
    return rng.random((n, n_classes)) ** rng.uniform(0.5, 4.0) * shares, shares


@pytest.mark.parametrize("seed", range(20))
def test_closed_forms_are_the_extremes_over_all_class_errors(seed):
    """The slopes of a cone against brute force over the errors of all classes that give a better F-measure."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    errors, shares = random_class(rng, n_classes, 1)
    pos = 1.0 - shares[0]
    fn, fp = errors[0, 1:].sum(), errors[0, 0]
    metric = FBeta(float(rng.choice([1.0, 2.0, 0.5])))
    b, own = 1.0 + metric.beta**2, metric.value(fn, fp, pos=pos)
    steps = [np.linspace(0.0, share, 9 if n_classes > 3 else 31) for share in shares]
    grid = np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, n_classes)
    missed, false = grid[:, 1:].sum(axis=1), grid[:, 0]
    bottom = b * (1.0 - shares[0]) - missed + false
    better = np.divide(b * (1.0 - shares[0] - missed), bottom, out=np.zeros_like(bottom), where=bottom > 0) > own
    difference = (false - missed)[better]
    largest, smallest = min(shares[0], b * pos * (1.0 - own) / own), -b * pos * (1.0 - own) / (b - own)
    assert difference.max() <= largest + 1e-12
    assert difference.min() >= smallest - 1e-12
    # ... and they are reached, up to the steps of the grid.
    assert difference.max() >= largest - 2.5 * max(step[1] for step in steps) * n_classes
    assert difference.min() <= smallest + 2.5 * max(step[1] for step in steps) * n_classes


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_and_bound_serves_a_class_of_multiclass_classifiers(strategy, bound):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        errors, shares = random_class(rng, 4, 40)
        pos = 1.0 - shares[0]
        study = Study("f1", strategy, pos=pos, n_trials=25, bound=bound)
        while (trial := study.ask()) is not None:
            weight = np.where(np.arange(4) == 0, trial.c_fp, trial.c_fn)
            chosen = errors[np.argmin(errors @ weight)]
            profile = ErrorProfile(fn=chosen[1:].sum(), fp=chosen[0], pos=pos)
            study.record(trial, **outcome(study.metric, profile))
        values = study.metric.value(errors[:, 1:].sum(axis=1), errors[:, 0], pos=pos)
        assert study.best_score <= values.max() + 1e-12
        assert study.upper_bound >= study.best_score - 1e-12
        if get_bound(bound) is not ConeBound:  # the envelope is a guide, no bound
            assert study.upper_bound >= values.max() - 1e-9
        if strategy in ("bisection", "dinkelbach"):
            assert study.best_score == pytest.approx(values.max(), abs=1e-6)


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize(
    "base", [pytest.param(base, marks=pytest.mark.slow) if base == "boosting" else base for base in BASES]
)
def test_every_base_is_searched(base, data):
    X, y = data
    search = paper_search(BASES[base](), n_trials=3, **NULL).fit(X, y)
    assert len({trial.profile for trial in search.trials_}) > 1  # the costs arrived
    assert 0.4 < search.best_score_ <= search.upper_bound_
    assert search.classes_.tolist() == sorted(NAMES)
    assert (search.null_class_, search.pos_label_) == ("none", None)
    predicted, scores = search.predict(X), search.decision_function(X)
    assert predicted.dtype == y.dtype
    assert np.array_equal(search.classes_[scores.argmax(axis=1)], predicted)
    top = np.sort(scores, axis=1)
    assert (top[:, -1] > top[:, -2]).all() or base.endswith("forest")  # trees tie other classes
    assert search.score(X, y) == pytest.approx(value(y, predicted), abs=1e-12)
    if hasattr(search, "predict_proba"):
        proba = search.predict_proba(X)
        assert proba.shape == scores.shape
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("base", ["linear_svc", "multinomial", "one_vs_rest_svm", "forest"])
@pytest.mark.parametrize("threshold", ["tune", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_is_that_of_all_held_out_predictions_together(base, threshold, weighted, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    made = BASES[base]()
    search = paper_search(made, n_trials=3, threshold=threshold, **NULL).fit(X, y, weight if weighted else None)
    c_fn, c_fp = search.best_cost_weights_
    assert (c_fn, c_fp) == pytest.approx((2 - search.best_t_, search.best_t_))
    costs = weight * np.where(y == "none", c_fp, c_fn)
    plain = LinearSVC() if base == "one_vs_rest_svm" else made  # the same models
    codes, predicted = np.searchsorted(search.classes_, y), np.empty(y.size, dtype=int)
    null = search.classes_.tolist().index("none")
    for train, test in StratifiedKFold(3).split(X, y):
        model = clone(plain).fit(X[train], codes[train], sample_weight=costs[train])
        if threshold is None:
            predicted[test] = model.predict(X[test])
        elif hasattr(model, "decision_function"):
            scores = model.decision_function(X[test]).tolist()
            predicted[test] = predictions(scores, [0, 1, 2, 3], null, search.best_threshold_)
        else:
            cut = search.best_threshold_
            scores = model.predict_proba(X[test]) * np.where(np.arange(4) == null, cut, 1.0 - cut)
            predicted[test] = predictions(scores.tolist(), [0, 1, 2, 3], null, -1e-12)
    assert search.best_score_ == pytest.approx(value(codes, predicted, null=null, weight=weight), abs=1e-9)
    if threshold is None:
        final = clone(plain).fit(X, codes, sample_weight=costs)
        assert np.array_equal(search.predict(X) == "none", final.predict(X) == null)


@pytest.mark.parametrize("base", [LinearSVC(), LogisticRegression(), OneVsRestClassifier(LinearSVC())], ids=repr)
@pytest.mark.parametrize("null", ["no", "yes"])
def test_two_classes_are_searched_as_ever(base, null, data):
    X, y = data
    y = np.where(y == "none", "no", "yes")
    pos_label = "yes" if null == "no" else "no"
    first = paper_search(base, n_trials=4, cv=3, null_class=null).fit(X, y)
    second = paper_search(base, n_trials=4, cv=3, pos_label=pos_label).fit(X, y)
    assert first.trials_ == second.trials_
    assert (first.best_threshold_, first.best_score_) == (second.best_threshold_, second.best_score_)
    assert first.pos_label_ == second.pos_label_ == pos_label
    assert first.null_class_ == second.null_class_ == null
    assert np.array_equal(first.decision_function(X), second.decision_function(X))
    assert np.array_equal(first.predict(X), second.predict(X))
    assert first.score(X, y) == second.score(X, y) == FBeta().score(y, first.predict(X), pos_label=pos_label)


@pytest.mark.parametrize("null", NAMES)
def test_any_class_may_be_the_null_class(null, data):
    X, y = data
    search = paper_search(LogisticRegression(), n_trials=3, cv=3, null_class=null).fit(X, y)
    coded = paper_search(LogisticRegression(), n_trials=3, cv=3, null_class=0)
    order = [null, *sorted(set(NAMES) - {null})]
    coded.fit(X, np.array([order.index(label) for label in y]))
    # A multinomial model does not see the order of its classes, but its solver ends within its tolerance.
    for ours, theirs in zip(search.trials_, coded.trials_, strict=True):
        assert ours.value == pytest.approx(theirs.value, abs=0.01)
    assert np.mean(search.predict(X) == np.array(order)[coded.predict(X)]) > 0.99
    assert search.score(X, y) == pytest.approx(value(y, search.predict(X), null=null), abs=1e-12)


def test_probabilities_have_the_costs_taken_out(data):
    """A softmax of weighted classes is that of the plain ones with odds times the ratio of their costs."""
    X, y = data
    search = paper_search(LogisticRegression(), n_trials=3, **NULL).fit(X, y)
    c_fn, c_fp = search.best_cost_weights_
    order = np.searchsorted(search.classes_, ["none", *sorted(NAMES[1:])])
    weighted, plain = search.best_estimator_.predict_proba(X)[:, order], search.predict_proba(X)[:, order]
    np.testing.assert_allclose(plain[:, 1] / plain[:, 0], weighted[:, 1] / weighted[:, 0] * c_fp / c_fn)
    np.testing.assert_allclose(plain[:, 1] / plain[:, 2], weighted[:, 1] / weighted[:, 2])
    share = (y == "none").mean()
    assert abs(plain[:, 0].mean() - share) < 0.03 < abs(weighted[:, 0].mean() - share)
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(search.predict_proba(X)))


@pytest.mark.parametrize("frozen", [True, False])
def test_prefit_tunes_the_threshold_only(frozen, data):
    X, y = data
    base = LinearSVC().fit(X, y)
    search = paper_search(FrozenEstimator(base) if frozen else base, cv="prefit", null_class="none").fit(X, y)
    best = 0.0
    scores, labels = base.decision_function(X).tolist(), base.classes_.tolist()
    for offset in np.append(np.linspace(-2, 2, 101), search.best_threshold_):
        best = max(best, value(y, predictions(scores, labels, "none", offset)))
    assert search.best_score_ == pytest.approx(best, abs=1e-12)
    assert search.score(X, y) == pytest.approx(best, abs=1e-12)
    assert search.best_t_ is None


@pytest.mark.parametrize("lacking", ["bird", "none"])
def test_a_class_that_a_training_part_lacks_is_refused(lacking, data):
    X, y = data
    splits = [(np.arange(y.size), np.arange(200)), (np.flatnonzero(y != lacking), np.arange(150))]
    search = paper_search(LinearSVC(), n_trials=2, **(NULL | {"cv": splits}))
    with pytest.raises(ValueError, match=f"without fold 1 there is no '{lacking}' row of positive weight to train on"):
        search.fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "multiclass with 4 classes: 'f1' is a metric of two classes; for more, write 'f1_macro'"),
        ({"null_class": "fish"}, "null_class='fish' is not a label of y"),
        ({"null_class": "none", "pos_label": "bird"}, "pos_label='bird' and null_class='none' are both given"),
    ],
)
def test_bad_arguments(options, message, data):
    with pytest.raises(ValueError, match=message):
        paper_search(**({"base": LinearSVC()} | options)).fit(*data)


def test_scores_that_are_not_one_a_class_are_refused(data):
    base = SVC(decision_function_shape="ovo")
    with pytest.raises(
        ValueError, match=r"one score for each of its 4 classes, got shape .* use decision_function_shape"
    ):
        paper_search(base, n_trials=1, **NULL).fit(*data)
