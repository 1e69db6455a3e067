"""What the user gave, and what estimators keep of the features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

from csf.samples import Features, Fold, Labels, Task


def test_labels_are_the_codes_where_there_are_no_others():
    codes = np.array([0, 2, 1, 0])
    assert Task(np.zeros((4, 1)), codes).user_labels.decode(codes).tolist() == codes.tolist()
    labels = Labels(np.array(["a", "b", "c"]), "b")
    assert Task(np.zeros((4, 1)), codes, labels=labels).user_labels is labels


@pytest.mark.parametrize(("codes", "several"), [([0, 1], False), ([0, 2, 1], True)])
def test_size_and_kind(codes, several):
    task = Task(np.zeros((len(codes), 1)), np.array(codes))
    assert (task.n_samples, task.several) == (len(codes), several)


def test_a_fold_without_samples_says_so():
    fold = Fold(Task(np.eye(2), np.array([0, 1])), np.array([0]), np.array([1]))
    assert fold.without_samples.y_test.tolist() == [1]
    assert "X_test" not in vars(fold.without_samples)
    with pytest.raises(ValueError, match="slices alone, not the task"):
        fold.without_samples.X_test  # noqa: B018


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_features_go_from_one_estimator_to_another(names):
    X = np.eye(2) if names is None else pd.DataFrame(np.eye(2), columns=names)
    model, other = LinearSVC().fit(X, [0, 1]), LinearSVC()
    Features.of(model).put_on(other)
    assert other.n_features_in_ == 2
    assert getattr(other, "feature_names_in_", None) is getattr(model, "feature_names_in_", None)
    Features.of(LinearSVC()).put_on(other)
    assert other.n_features_in_ == 2
