"""Labels as a binary target."""

import numpy as np
import pytest

from csf.cli.data.targets import as_labels, binary_target
from csf.cli.errors import CliError


@pytest.mark.parametrize(
    ("values", "positive"), [([0, 1, 1], 1), ([-1, 1, 1], 1), ([False, True, True], True), ([0.0, 1.0, 1.0], 1.0)]
)
def test_the_usual_labels_need_no_name(values, positive):
    y, pos_label = binary_target(np.array(values))
    assert y.tolist() == values
    assert pos_label == positive


@pytest.mark.parametrize(
    ("values", "given", "pos_label"),
    [
        ([0, 1, 1], "0", 0),
        ([1.5, 2.5], "2.5", 2.5),
        ([2, 4], "4.0", 4),
        ([False, True], "false", False),
        (["no", "yes"], "no", "no"),
    ],
)
def test_two_classes_keep_their_labels(values, given, pos_label):
    y, found = binary_target(np.array(values), given)
    assert y.tolist() == values
    assert (found, type(found)) == (pos_label, type(pos_label))


def test_more_classes_are_joined():
    y, pos_label = binary_target(np.array([3, 1, 2, 3]), "3")
    assert y.tolist() == ["3", "not 3", "not 3", "3"]
    assert pos_label == "3"


def test_text_is_not_compared_as_a_number():
    with pytest.raises(CliError, match=r"--positive '1\.0' is not in the target, which has 0 \(1\), 1 \(1\)"):
        binary_target(np.array(["0", "1"]), "1.0")


def test_other_labels_need_a_name():
    with pytest.raises(CliError, match=r"name the positive class with --positive; the target has no \(2\), yes \(1\)$"):
        binary_target(np.array(["no", "yes", "no"]))


def test_many_values_are_not_all_listed():
    with pytest.raises(CliError, match=r"11 \(1\), \.\.\. \(30 values\)$"):
        binary_target(np.arange(30))


def test_one_value_is_no_target():
    with pytest.raises(CliError, match=r"the target has one value only \(7\)"):
        binary_target(np.full(4, 7), "7")


def test_whole_numbers_become_integers():
    assert as_labels(np.array([1.0, 2.0])).dtype == np.int64
    assert as_labels(np.array([1.0, 2.5])).dtype == np.float64
