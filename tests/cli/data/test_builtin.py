"""Sets that come with scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from csf.cli.data import Features, ReadOptions
from csf.cli.data.builtin import BUILTIN, describe, read_labelled, read_unlabelled
from csf.cli.errors import CliError


@pytest.mark.parametrize("source", ["digits:8", "breast_cancer", "wine:2", "iris:versicolor"])
def test_one_class_against_the_rest(source):
    data = read_labelled(source, ReadOptions())
    assert data.X.shape == (data.y.shape[0], data.features.n_features)
    assert data.features.kind == "dense"
    assert 0.05 < data.pos < 0.5


def test_the_class_is_the_right_one():
    data = read_labelled("digits:8", ReadOptions())
    np.testing.assert_array_equal(data.y == data.pos_label, load_digits().target == 8)
    data = read_labelled("wine", ReadOptions(positive="2"))
    np.testing.assert_array_equal(data.y == data.pos_label, load_wine().target == 2)


def test_the_rarer_class_of_breast_cancer_is_positive():
    assert read_labelled("breast_cancer", ReadOptions()).pos_label == "malignant"
    assert read_labelled("breast_cancer:benign", ReadOptions()).pos_label == "benign"


def test_the_list_of_names_is_complete():
    for name, (load, default) in BUILTIN.items():
        last = f"{name}:{len(load().target_names) - 1}"
        assert (name if default else last) in describe()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("iris", ReadOptions(), "iris has the classes setosa, versicolor, virginica: say which one is positive"),
        ("iris:3", ReadOptions(), "iris has no class '3'"),
        ("iris:1", ReadOptions(target="y"), "--target names a column"),
    ],
)
def test_bad_names(source, options, message):
    with pytest.raises(CliError, match=message):
        read_labelled(source, options)


def test_samples_for_a_model():
    assert read_unlabelled("digits", Features("dense", 64)).shape == (1797, 64)
    with pytest.raises(CliError, match="the model takes 30 features; iris:1 has 4"):
        read_unlabelled("iris:1", Features("dense", 30))
