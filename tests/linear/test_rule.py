"""The rule that linear classifiers of two classes share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from csf.fenchel import AMP, FenchelSVM
from csf.linear.rule import LinearRule, TwoClassRule, check_intercept, check_positive

X = np.array([[-2.0], [0.0], [1.0], [3.0]])


class Fixed(LinearRule):
    """Score of a column less 1, for the label that comes last."""

    def __init__(self, pos_label=1):
        self.pos_label = pos_label

    def fit(self, X, y):
        X, y = validate_data(self, X, y, **self._sample_checks)
        self.classes_, self.pos_label_ = np.unique(y), self.pos_label
        self.coef_, self.intercept_ = np.array([[1.0]]), np.array([-1.0])
        return self


class Cut(Fixed):
    """The same with a threshold of the scores of positives."""

    _cut = 2.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_score_of_zero_belongs_to_the_first_label(kind, pos_label):
    model = Fixed(pos_label).fit(X, [0, 0, 1, 1])
    assert model.decision_function(kind(X)).tolist() == [-3.0, -1.0, 0.0, 2.0]
    assert model.predict(kind(X)).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("pos_label", "expected"), [(1, [0, 0, 0, 1]), (0, [0, 1, 1, 1])])
def test_a_score_at_the_threshold_is_positive_whichever_label_that_is(pos_label, expected):
    model = Cut(pos_label).fit(X, [0, 0, 1, 1])
    score = model.decision_function(X)
    assert model.predict(X).tolist() == expected == (score > 0.0).astype(int).tolist()
    assert (np.diff(score) > 0.0).all()


def test_labels_are_those_of_the_data():
    assert Fixed("b").fit(X, ["a", "a", "b", "b"]).predict(X).tolist() == ["a", "a", "a", "b"]


def test_nothing_is_predicted_before_training_or_for_other_features():
    with pytest.raises(NotFittedError, match="not fitted"):
        Fixed().decision_function(X)
    model = Fixed().fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.predict(np.hstack([X, X]))


@pytest.mark.parametrize("kind", [Fixed, AMP, FenchelSVM])
def test_tags_say_two_classes_and_sparse_samples(kind):
    tags = get_tags(kind())
    assert is_classifier(kind())
    assert issubclass(kind, TwoClassRule)
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="C must be a positive number, got "):
        check_positive(value, "C")


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan])
def test_numbers_that_are_not_positive_and_finite_are_refused(value):
    with pytest.raises(ValueError, match="C must be positive and finite, got "):
        check_positive(value, "C")


def test_parameters_of_the_constant_feature():
    assert type(check_positive(np.float32(2), "C")) is float
    check_intercept(np.True_, 3)
    with pytest.raises(TypeError, match="fit_intercept must be True or False, got 1"):
        check_intercept(1, 1.0)
    with pytest.raises(ValueError, match="intercept_scaling must be positive and finite, got 0"):
        check_intercept(False, 0)
