"""How fitted classifiers answer, and classifiers by the sign of a score."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from csf._common.validation import check_positive
from csf.data.responses import (
    LARGEST_LOG_ODDS,
    LinearClassifier,
    TwoClassRule,
    gives_log_odds,
    keeps_samples,
    linear_scores,
    log_odds,
    natural_threshold,
    positive_score,
    respond,
    respond_classes,
    response_method,
)
from csf.fenchel import AMP, FenchelSVM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0.3, "yes", "no")
MODELS = [
    LinearSVC(),
    SVC(),
    LogisticRegression(),
    Perceptron(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(max_depth=2, random_state=0),
]


class Fixed(ClassifierMixin, BaseEstimator):
    """Gives what it is told to."""

    def __init__(self, scores=None, labels=None, classes=(0, 1)):
        self.scores, self.labels, self.classes = scores, labels, classes

    @property
    def classes_(self):
        return np.array(self.classes)

    def decision_function(self, X):
        return np.array(self.scores)

    def predict(self, X):
        return np.array(self.labels)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LinearSVC(), "decision_function"),
        (LogisticRegression(), "decision_function"),
        (DecisionTreeClassifier(), "predict_proba"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), "predict_proba"),
        (SVC(), "decision_function"),
        (BaseEstimator(), None),
    ],
)
def test_decisions_are_preferred_to_probabilities(model, method):
    assert response_method(model) == method
    assert natural_threshold(model) == (0.5 if method == "predict_proba" else 0.0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_scores_cut_at_the_natural_threshold_are_predictions(model):
    model.fit(X, Y)
    for pos_label in ("yes", "no"):
        score = positive_score(model, X, pos_label)
        assert score.dtype == np.float64
        decided = respond(model, X, "no" if pos_label == "yes" else "yes", tune=False).decided
        assert np.array_equal(decided, model.predict(X) == pos_label)
        centre = natural_threshold(model)
        away = score != centre
        assert np.array_equal(score[away] > centre, decided[away])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_scores_of_the_two_classes_mirror_each_other(model):
    model.fit(X, Y)
    first, second = positive_score(model, X, "yes"), positive_score(model, X, "no")
    total = 1.0 if response_method(model) == "predict_proba" else 0.0
    assert first + second == pytest.approx(np.full(60, total))


def test_infinite_scores_are_scores():
    assert positive_score(Fixed([-np.inf, np.inf]), X[:2], 1).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize(
    ("model", "pos_label", "message"),
    [
        (Fixed([0.1, np.nan]), 1, "Fixed gave NaN scores for 1 of 2 samples"),
        (
            Fixed([[0.1, 0.2, 0.3]]),
            1,
            r"Fixed.decision_function must return one score .* got shape \(1, 3\) .* \[0, 1\]",
        ),
        (Fixed([0.1, 0.2]), 2, r"Fixed has learnt the classes \[0, 1\], but both classes are needed, with pos_label=2"),
        (
            Fixed([0.1, 0.2], classes=(0,)),
            0,
            r"learnt the classes \[0\], but both .*, with pos_label=0",
        ),
        (Fixed([0.1, 0.2], classes=(0, 1, 2)), 1, r"learnt the classes \[0, 1, 2\], but both classes are needed"),
    ],
)
def test_scores_that_are_none(model, pos_label, message):
    with pytest.raises(ValueError, match=message):
        positive_score(model, X[:2], pos_label)


def test_a_classifier_without_scores():
    silent = BaseEstimator()
    silent.classes_ = np.array([0, 1])
    with pytest.raises(TypeError, match="BaseEstimator has no decision_function and no predict_proba"):
        positive_score(silent, X, 1)
    model = NearestCentroid().fit(X, Y)
    assert respond(model, X, "no", tune=False).decided.dtype == bool


def test_predictions_of_nan_are_no_negatives():
    with pytest.raises(ValueError, match="Fixed predicted NaN for 1 of 2 samples"):
        respond(Fixed(labels=[1.0, np.nan]), X[:2], 0, tune=False)


@pytest.mark.parametrize(("model", "method"), [(GaussianNB(), "predict_proba"), (SVC(), "decision_function")])
def test_of_several_classes_the_best_score_decides(model, method):
    y = np.tile([0, 1, 3], 20)
    model.fit(X, y)
    answer = respond_classes(model, X, 4, tune=True)
    own = getattr(model, method)(X)
    assert np.array_equal(answer.score[:, [0, 1, 3]], own)
    lacking = 0.0 if method == "predict_proba" else own.min(axis=1) - 1.0
    assert np.array_equal(answer.score[:, 2], np.broadcast_to(lacking, 60))
    assert np.array_equal(answer.decided, np.array([0, 1, 3])[own.argmax(axis=1)])
    assert np.array_equal(respond_classes(model, X, 4, tune=False).decided, model.predict(X))


def test_of_equal_scores_the_first_class_is_found():
    answer = respond_classes(Fixed([[1.0, 2.0, 2.0]], classes=(0, 1, 2)), X[:1], 3, tune=True)
    assert answer.decided.tolist() == [1]


class Unsure(Fixed):
    """Says nothing of one sample."""

    def predict_proba(self, X):
        return np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])


def test_rows_without_probability_are_refused():
    with pytest.raises(
        ValueError, match=r"Unsure.predict_proba gave no class a probability above 0 for 1 of 2 samples"
    ):
        respond_classes(Unsure(classes=(0, 1, 2)), X[:2], 3, tune=True)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_scores_are_the_products_and_the_intercept(kind):
    X, coef = np.arange(6.0).reshape(3, 2), np.array([2.0, -1.0])
    np.testing.assert_array_equal(linear_scores(kind(X), coef, 0.5), X @ coef + 0.5)


def test_scores_that_overflow_keep_their_sign():
    assert linear_scores(np.array([[1e308], [-1e308]]), np.array([10.0]), 1.0).tolist() == [np.inf, -np.inf]


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="X holds features so large that 1 of 2 scores are no numbers"):
        linear_scores(np.array([[1e308], [1.0]]), np.array([10.0]), -np.inf)


COLUMN = np.array([[-2.0], [0.0], [1.0], [3.0]])


class ByColumn(LinearClassifier):
    """Score of a column less 1, for the label that comes last."""

    def __init__(self, pos_label=1):
        self.pos_label = pos_label

    def fit(self, X, y):
        X, y = validate_data(self, X, y, **self._sample_checks)
        self.classes_, self.pos_label_ = np.unique(y), self.pos_label
        self.coef_, self.intercept_ = np.array([[1.0]]), np.array([-1.0])
        return self


class Cut(ByColumn):
    """The same with a threshold of the scores of positives."""

    _cut = 2.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_score_of_zero_belongs_to_the_first_label(kind, pos_label):
    model = ByColumn(pos_label).fit(COLUMN, [0, 0, 1, 1])
    assert model.decision_function(kind(COLUMN)).tolist() == [-3.0, -1.0, 0.0, 2.0]
    assert model.predict(kind(COLUMN)).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("pos_label", "expected"), [(1, [0, 0, 0, 1]), (0, [0, 1, 1, 1])])
def test_a_score_at_the_threshold_is_positive_whichever_label_that_is(pos_label, expected):
    model = Cut(pos_label).fit(COLUMN, [0, 0, 1, 1])
    score = model.decision_function(COLUMN)
    assert model.predict(COLUMN).tolist() == expected == (score > 0.0).astype(int).tolist()
    assert (np.diff(score) > 0.0).all()


def test_labels_are_those_of_the_data():
    assert ByColumn("b").fit(COLUMN, ["a", "a", "b", "b"]).predict(COLUMN).tolist() == ["a", "a", "a", "b"]


def test_nothing_is_predicted_before_training_or_for_other_features():
    with pytest.raises(NotFittedError, match="not fitted"):
        ByColumn().decision_function(COLUMN)
    model = ByColumn().fit(COLUMN, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.predict(np.hstack([COLUMN, COLUMN]))


@pytest.mark.parametrize("kind", [ByColumn, AMP, FenchelSVM])
def test_tags_say_two_classes_and_sparse_samples(kind):
    tags = get_tags(kind())
    assert is_classifier(kind())
    assert issubclass(kind, TwoClassRule)
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse


def test_parameters_of_the_constant_feature():
    assert type(check_positive(np.float32(2), "C")) is float
    for value in (True, "1", None, 1j):
        with pytest.raises(TypeError, match="C must be a number, positive and finite, got "):
            check_positive(value, "C")
    for value in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="C must be positive and finite, got "):
            check_positive(value, "C")


@pytest.mark.parametrize(
    ("base", "likely"),
    [
        (LogisticRegression(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (RandomForestClassifier(5), True),
        (HistGradientBoostingClassifier(), True),
        (LinearDiscriminantAnalysis(), True),
        (AdaBoostClassifier(), True),
        (LinearSVC(), False),
        (SVC(), False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_scores_that_are_log_odds(base, likely):
    assert gives_log_odds(base) is likely


def test_log_odds():
    expected = [-LARGEST_LOG_ODDS, -np.log(3), LARGEST_LOG_ODDS]
    np.testing.assert_allclose(log_odds(np.array([0.0, 0.25, 1.0]), "predict_proba"), expected)
    np.testing.assert_array_equal(log_odds(np.array([2.0, -1.0]), "decision_function"), [2.0, -1.0])


@pytest.mark.parametrize(
    ("base", "keeps"),
    [
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), True),
        (GaussianProcessClassifier(optimizer=None), True),
        (LinearDiscriminantAnalysis(), False),
        (KNeighborsClassifier(n_neighbors=100, metric="precomputed"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_bases_that_keep_their_samples_are_known(base, keeps):
    assert keeps_samples(base) is keeps
