import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.plots import CapacityDisplay
from tests.search.test_row_costs import COST, frame


@pytest.mark.parametrize("metric", ["f1", COST], ids=["f1", "costs"])
def test_values_against_capacity(metric):
    search = CostSearch(LogisticRegression(), metric, cv=3, param_grid=None, n_trials=1).fit(*frame())
    display = CapacityDisplay.from_estimator(search, at_most=[0.02, 0.1])
    for at, value, drawn in zip(display.at_most, display.values, display.drawn):
        told = search.at_capacity(at)
        assert value == pytest.approx(told.value)
        assert np.quantile(drawn, [0.05, 0.95]) == pytest.approx(told.interval, abs=0.01)
    lines = [line.get_label() for line in display.ax_.lines]
    if metric == "f1":
        assert lines == ["largest scores", "more do not pay"]
        return
    assert lines == ["largest expected gain", "most probable", "more do not pay"]
    odds = search._outcome.held_out_odds
    best = np.argsort(-odds)[: odds.size // 10]
    negative, positive = search.held_out_.answers
    value = 1 - (negative.sum() - (negative - positive)[best].sum()) / min(negative.sum(), positive.sum())
    assert display.by_probability[1] == pytest.approx(value - search.best_score_ + search.corrected_score_)
    assert CapacityDisplay.from_estimator(search).at_most.size == 60
    with pytest.raises(ValueError, match=r"at_most must be shares of the rows in \(0, 1\)"):
        CapacityDisplay.from_estimator(search, at_most=[0.5, 2.0])
