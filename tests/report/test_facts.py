"""Words for what a search found."""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.report.facts import base_name, parameter_names, short, spread


def test_values_and_intervals_are_short_texts():
    assert (short("a" * 10, 5), short(0.1 + 0.2), spread((0.1, 0.25)), spread(None)) == (
        *("aaaa…", "0.3", "0.100 to 0.250", ""),
    )


def test_parameters_lose_their_steps_where_that_leaves_no_two_alike():
    names = parameter_names(["classifier__C", "scale__copy", "scale__clip__copy"])
    assert list(names.values()) == ["C", "scale__copy", "scale__clip__copy"]


def test_bases_are_named_with_their_steps():
    assert base_name(make_pipeline(StandardScaler(), LinearSVC())) == "StandardScaler, LinearSVC"
