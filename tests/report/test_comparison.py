"""The page of a comparison."""

import numpy as np
import pytest

from csf.report import Comparison, write_comparison


def outcomes():
    a = Comparison("csf <i>", np.array([0.8, 0.9]), 0.1, 0.2, np.nan, 10.0, 0.5)
    b = Comparison("plain", np.array([0.7, 0.8]), 0.0, 0.0, np.nan, 1.0, 0.1)
    return [a, b]


def test_the_best_method_is_named_and_doubted(tmp_path):
    path = tmp_path / "c.html"
    write_comparison(path, outcomes(), metric_name="f1", reference="plain", facts={"Data": "<x>"}, notes=["left out"])
    text = path.read_text(encoding="utf-8")
    assert "csf &lt;i&gt; has the highest mean f1 of 2 methods: 0.850" in text
    assert "less than two standard errors" in text
    assert "left out" in text
    assert "&lt;x&gt;" in text
    assert "constrained rate" not in text


def test_the_reference_has_to_be_there(tmp_path):
    with pytest.raises(ValueError, match="reference must be a method of outcomes, got 'other'"):
        write_comparison(tmp_path / "c.html", outcomes(), metric_name="f1", reference="other", facts={})
