"""Metrics by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import METRICS, FBeta, Metric, get_metric


@pytest.mark.parametrize("name", METRICS)
def test_names_give_metrics(name):
    assert isinstance(get_metric(name), Metric)
    assert get_metric(name) == get_metric(name)
    if name not in ("tversky", "gower_legendre"):  # these say their parameters too
        assert get_metric(name).name == name


@given(beta=st.floats(0.01, 100.0).map(lambda x: round(x, 3)))
def test_any_beta_has_a_name(beta):
    assert get_metric(f"f{beta}") == FBeta(beta)


@pytest.mark.parametrize(("name", "beta"), [("f3", 3.0), ("f.5", 0.5), ("f2.", 2.0), ("f1.0", 1.0)])
def test_betas_may_be_written_as_people_do(name, beta):
    assert get_metric(name) == FBeta(beta)


def test_objects_are_taken_as_they_are():
    metric = FBeta(0.7)
    assert get_metric(metric) is metric


@pytest.mark.parametrize("name", ["f0", "F1", "f-1", "f", "fnan", "auc", "", "f1 ", "f1e3"])
def test_unknown_names_are_listed(name):
    with pytest.raises(ValueError, match=rf"unknown metric '{name}'; known: f1, f2, .*, f<beta>, or a Metric object"):
        get_metric(name)


@pytest.mark.parametrize("metric", [None, 1, FBeta, lambda y, p: 0.0, ["f1"]])
def test_anything_else_is_refused(metric):
    with pytest.raises(TypeError, match=r"metric must be a name or a csf.metrics.Metric object, got .*CustomMetric"):
        get_metric(metric)
