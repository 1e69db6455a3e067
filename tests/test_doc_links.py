"""scikit-learn's diagrams link to the reference, where the environment says where that is."""

import pytest
from builders import paper_search
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_html_repr

from csf.fenchel import FenchelSVM
from csf.online import FOFO
from csf.plugin import PlugInClassifier
from csf.structural import TwoPassMiniBatch

PAGES = {
    "csf.CostSearch": paper_search(LinearSVC()),
    "csf.plugin.PlugInClassifier": PlugInClassifier(LinearSVC()),
    "csf.fenchel.FenchelSVM": FenchelSVM(),
    "csf.online.FOFO": FOFO(),
    "csf.structural.TwoPassMiniBatch": TwoPassMiniBatch("pauc"),
}


@pytest.mark.parametrize("name", PAGES)
def test_diagrams_link_to_the_page_of_the_class(name, monkeypatch):
    monkeypatch.setenv("CSF_DOCS", "https://docs.example.org/csf/")
    assert f'"https://docs.example.org/csf/api/{name}.html"' in estimator_html_repr(PAGES[name])
    monkeypatch.delenv("CSF_DOCS")
    assert "example.org" not in estimator_html_repr(PAGES[name])
