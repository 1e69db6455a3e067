"""What a kind of target refuses stands in one table, and every entry of it is what users meet."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import Incomplete, Review, RowCosts
from csf.plots import ErrorProfileDisplay, ThresholdCurveDisplay
from csf.search.config import SearchConfig
from csf.search.supports import (
    CLASSES,
    INCOMPLETE,
    LABELS,
    ROW_COSTS,
    ROW_THRESHOLDS,
    SEGMENTS,
    SHARED_THRESHOLD,
    TWO_CLASSES,
)

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


@pytest.mark.parametrize(
    ("supports", "options"),
    [
        (LABELS, {"cv": "prefit"}),
        (LABELS, {"cv": "oob"}),
        (SHARED_THRESHOLD, {"confidence": 0.9, "review": Review(cost=0.1, wrong=0.05)}),
    ],
)
def test_what_may_not_be_asked_for_at_once_is_refused_by_the_table(supports, options):
    metric = "f1_macro" if supports is LABELS else "f1_micro"
    search = CostSearch(LogisticRegression(), metric, **OPTIONS | options)
    (why,) = [why for asked, why in supports.together if all(getattr(SearchConfig.of(search), name) for name in asked)]
    with pytest.raises(ValueError) as caught:
        search.fit(X, np.column_stack([Y, PARTS]))
    assert str(caught.value) == why.format(config=search)


def test_metrics_of_labels_that_miss_positives_follow_no_shares():
    search = CostSearch(LogisticRegression(), Incomplete("f1", labelled=0.5), **OPTIONS).fit(X, Y)
    for method in ("at_prevalence", "prevalence"):
        with pytest.raises(ValueError) as caught:
            CALLS[method](search)
        assert str(caught.value) == INCOMPLETE.methods[method].replace("{name}", f"metric={search.metric.name!r}")


def test_rows_of_several_classes_beside_a_null_class_are_not_audited():
    y = np.array(["no", "a", "b"])[np.arange(240) % 3]
    search = CostSearch(LogisticRegression(), "f1", null_class="no", **OPTIONS).fit(X, y)
    with pytest.raises(ValueError, match=r"Beside .*no.* give csf.audit\(probability of any other class, .* != .*no"):
        search.audit(X)
