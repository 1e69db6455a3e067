"""scikit-learn's own checks: one estimator of each family in the quick suite, all others and their variants slowly."""

import inspect
from importlib.util import find_spec

import pytest
from builders import PAPER, paper_search
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)
from sklearn_checks import FirstClassNull, SecondClassPositive, any_labels, faults_of

import csf.online
import csf.structural
from csf import CostSearch
from csf.fenchel import AMP, FenchelSVM
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP, OnlineLogistic, RiverClassifier
from csf.plugin import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TableLoss, TwoPassMiniBatch

pytestmark = pytest.mark.filterwarnings("ignore")

FAST_LOGISTIC = LogisticRegression(solver="newton-cholesky")  # the default takes ten times as long
SCALED = make_pipeline(StandardScaler(), LogisticRegression())


def searched(base):
    return paper_search(base, n_trials=3, cv=3)


def null_class(base):
    return FirstClassNull(base, **(PAPER | {"n_trials": 2, "cv": 3, "null_class": 0}))


def several(base):
    return CostSearch(base, "f1_macro", param_grid=None, cv=3)


def learners(module):
    """Every public learner of a module that is not a base, in its default form."""
    parts = (getattr(module, name) for name in module.__all__)
    kinds = [part for part in parts if inspect.isclass(part) and issubclass(part, BaseEstimator)]
    made = [kind() for kind in kinds if not inspect.isabstract(kind)]
    return [part for part in made if find_spec("river") or not isinstance(part, RiverClassifier)]


THRESHOLDING = [
    PlugInClassifier(FAST_LOGISTIC, cv=2),
    BisectionPlugIn(FAST_LOGISTIC, cv=2),
    FrankWolfePlugIn(FAST_LOGISTIC, cv=2),
    RandomizedFrankWolfePlugIn(FAST_LOGISTIC, cv=2, random_state=0),
]
FENCHEL = [FenchelSVM(), FenchelSVM(base=LogisticRegression()), AMP()]
DEFAULTS = [*THRESHOLDING, *FENCHEL, *learners(csf.structural), *learners(csf.online)]
VARIANTS = [
    *(searched(base) for base in (LinearSVC(), LogisticRegression(), SCALED)),
    searched(DecisionTreeClassifier(max_depth=3, random_state=0)),
    PlugInClassifier(LinearSVC(), cv=2),
    BisectionPlugIn(LinearSVC(), cv=2, calibration="sigmoid"),
    FrankWolfePlugIn(LinearSVC(), cv=2, calibration="isotonic"),
    RandomizedFrankWolfePlugIn(LinearSVC(), cv=2, calibration="sigmoid", random_state=0),
    FenchelSVM("qmean"),
    AMP(level="surrogate"),
    OnePassMiniBatch("f1", buffer_size=20, eta=10.0, tune_threshold=True, fit_intercept=False),
    TwoPassMiniBatch("prbep", buffer_size=20, reservoir_size=10, reweight=False),
    CuttingPlane(TableLoss("gmean"), C=1e3, tune_threshold=True),
    ProjectedSubgradient("f2", eta=1.0),
    FTRL("pauc", refit=50),
    OnlineLogistic(),
    OnlineLogistic(step="paper", alpha=1e-3, averaging="suffix", fit_intercept=False),
    OFO(posterior=SGDClassifier(loss="log_loss", alpha=1.0, random_state=0), batch_size=20, random_state=0),
    FOFO("jaccard", horizon=500, step_scale=3.0, random_state=0),
    OMCSL(loss="hinge", average=True, gamma="sqrt", random_state=0),
]
FAMILIES = {
    "search": any_labels(searched(LinearSVC())),
    "null class": null_class(LinearSVC()),
    "several classes": any_labels(several(LogisticRegression())),
    "thresholding": any_labels(THRESHOLDING[0]),
    "fenchel": any_labels(FenchelSVM()),
    "structural": any_labels(CuttingPlane()),
    "structural, one pass": any_labels(OnePassMiniBatch()),
    "online": any_labels(STAMP()),
    "online, a posterior": any_labels(OFO()),
}
MORE = [
    *map(any_labels, DEFAULTS),
    *map(any_labels, VARIANTS[1:4]),
    null_class(LogisticRegression()),
    any_labels(several(LinearSVC())),
    *(DEFAULTS + VARIANTS),
]


def base_of(estimator):
    return estimator.base if isinstance(estimator, CostSearch) else None


def weighs(estimator):
    return type(estimator) not in map(type, [*learners(csf.structural), *learners(csf.online), RiverClassifier()])


def needs_the_positive_class(estimator):
    """Their metric, the G-mean, treats both classes alike, so that the second one will do."""
    second = SecondClassPositive, FirstClassNull, FrankWolfePlugIn, RandomizedFrankWolfePlugIn
    return not isinstance(estimator, second)


# What fails, of which estimators, and why.
EXPECTED = [
    (
        "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would take the wrong one",
        needs_the_positive_class,
        *("check_estimators_dtypes", "check_classifier_data_not_an_array", "check_classifiers_classes"),
        "check_fit2d_1feature",
    ),
    (
        "the same labels, with weights",
        lambda each: weighs(each) and needs_the_positive_class(each),
        *("check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_shape"),
        "check_sample_weights_not_overwritten",
    ),
    (
        "predict cuts the score where the metric is best, not where probabilities tie",
        lambda each: isinstance(base_of(each), LogisticRegression | type(SCALED)) or getattr(each, "posterior", None),
        "check_classifiers_train",
    ),
    (
        "repeating rows changes the folds; with given folds it holds (tests/search)",
        lambda each: isinstance(base_of(each), type(SCALED)),
        "check_sample_weight_equivalence_on_dense_data",
    ),
]


def expected_failures(estimator):
    found = {}
    for reason, applies, *checks in EXPECTED:
        found |= dict.fromkeys(checks, reason) if applies(estimator) else {}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=pytest.mark.slow) if name == "several classes" else name for name in FAMILIES]
)
def test_a_family(family):
    assert not faults_of(FAMILIES[family], expected_failures(FAMILIES[family]))


@pytest.mark.parametrize("base", [LinearSVC(), FAST_LOGISTIC], ids=["svm", "logistic"])
@pytest.mark.parametrize(
    "check", [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]
)
def test_in_the_plain_call_a_weight_is_a_repetition(check, base):
    """With the check's own folds."""
    check("CostSearch", CostSearch(base))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MORE, ids=lambda each: f"{type(each).__name__}-{base_of(each)}")
def test_all_others(estimator):
    assert not faults_of(estimator, expected_failures(estimator))


def test_every_learner_is_checked():
    kinds = {type(part) for part in DEFAULTS}
    assert {CuttingPlane, FTRL, OnePassMiniBatch, ProjectedSubgradient, TwoPassMiniBatch} <= kinds
    assert {FOFO, OFO, OMCSL, SPADE, STAMP} <= kinds
