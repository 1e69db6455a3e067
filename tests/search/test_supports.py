"""What a kind of target refuses stands in one table, and every entry of it is what users meet."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import RowCosts
from csf.plots import ErrorProfileDisplay, ThresholdCurveDisplay
from csf.search.supports import CLASSES, LABELS, ROW_COSTS, ROW_THRESHOLDS, SEGMENTS, SHARED_THRESHOLD, TWO_CLASSES

RNG = np.random.default_rng(0)
Y = np.arange(240) % 4 == 0
X = RNG.normal(size=(240, 3)) + Y[:, None]
PARTS = np.arange(240) // 4 % 2
OPTIONS = {"param_grid": None, "n_trials": 1, "cv": 2, "random_state": 0}
KINDS = {
    "two classes": (TWO_CLASSES, "f1", Y, {}, {}),
    "segments": (SEGMENTS, "f1", Y, {"constraint": "recall gap <= 0.3 by part"}, {"by": PARTS}),
    "costs of rows": (ROW_COSTS, RowCosts(fp=1.0), Y, {}, {"fn_cost": np.full(240, 3.0)}),
    "several classes": (CLASSES, "f1_macro", np.arange(240) % 3, {}, {}),
    "labels": (LABELS, "f1_macro", np.column_stack([Y, PARTS]), {}, {}),
    "shared threshold": (SHARED_THRESHOLD, "f1_micro", np.column_stack([Y, PARTS]), {}, {}),
}
CALLS = {
    "study": ErrorProfileDisplay.from_estimator,
    "ThresholdCurveDisplay": ThresholdCurveDisplay.from_estimator,
    "held_out_curve": CostSearch.held_out_curve,
    "exchange_rate": CostSearch.exchange_rate,
    "trials_frame": CostSearch.trials_frame,
    "at_prevalence": lambda search: search.at_prevalence(0.2),
    "prevalence": lambda search: search.prevalence(X),
    "audit": lambda search: search.audit(X),
}


def fitted(kind):
    _, metric, y, options, given = KINDS[kind]
    return CostSearch(LogisticRegression(), metric, **OPTIONS, **options).fit(X, y, **given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_table_refuses_is_what_users_are_told(kind):
    supports, search = KINDS[kind][0], fitted(kind)
    assert search.result_.supports is supports
    for method, call in CALLS.items():
        if method in supports.methods:
            with pytest.raises(ValueError) as caught:
                call(search)
            assert str(caught.value) == supports.methods[method]


def test_options_are_refused_by_the_table_with_the_way_out():
    supports, metric = ROW_THRESHOLDS, "f1_macro"
    assert set(supports.options) <= set(CostSearch(LogisticRegression()).get_params())
    search = CostSearch(LogisticRegression(), metric, weighting="one-vs-rest", **OPTIONS)
    accepted, why = CLASSES.options["weighting"]
    with pytest.raises(ValueError, match=f"is not for several classes: {why}. Leave it out, or give {accepted!r}"):
        search.fit(X, np.arange(240) % 3)
