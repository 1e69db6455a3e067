"""Constraints on classes: rates are those of scikit-learn, and multipliers are worth what the gains say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, jaccard_score, precision_score, recall_score

from csf.metrics import Constraint, CostMatrix, get_confusion_metric, get_constraint
from csf.metrics.binary import Recall
from csf.metrics.demands import ConstrainedClasses, demands_on
from csf.thresholding.linear_rule import ClassProbabilityRule, confusion_of

NAMES = ["a", "b", "c"]
COSTS = [[0, 1, 2], [5, 0, 1], [9, 3, 0]]
codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=40).map(np.array)


def one_class(score, **options):
    return lambda truth, decided, k: score(truth == k, decided == k, zero_division=0.0, **options)


RATES = {
    "recall": one_class(recall_score),
    "precision": one_class(precision_score),
    "f1": one_class(f1_score),
    "jaccard": one_class(jaccard_score),
    "specificity": lambda truth, decided, k: recall_score(truth != k, decided != k, zero_division=0.0),
    "predicted_rate": lambda truth, decided, k: np.mean(decided == k),
    "accuracy": lambda truth, decided, k: accuracy_score(truth, decided),
}


@pytest.mark.parametrize("name", RATES)
@given(samples=codes, at=st.integers(0, 2), level=st.floats(0.05, 0.95))
def test_rates_are_those_of_scikit_learn(name, samples, at, level):
    truth, decided = samples.T
    of = "" if name == "accuracy" else f"[{NAMES[at]}]"
    (demand,) = demands_on(get_constraint(f"{name}{of} >= {level}"), NAMES)
    confusion, expected = confusion_of(truth, decided, 3), RATES[name](truth, decided, at)
    assert demand.rate(confusion) == pytest.approx(expected)
    assert demand.missing(confusion) == pytest.approx(max(level - expected, 0.0), abs=1e-9)
    # What samples gain is not negative exactly where the level is kept, but for rates of nothing.
    if (confusion * demand.bottom).sum() > 0.0 and abs(expected - level) > 1e-9:
        assert ((confusion * demand.gains).sum() >= 0.0) == (expected >= level)
    is_pos, predicted = demand.cells(truth, decided)
    assert np.mean(is_pos == predicted) == pytest.approx(np.mean((truth == at) == (decided == at)) if of else expected)


@pytest.mark.parametrize("text", [*(f"{name}[b] >= 0.6" for name in RATES if name != "accuracy"), "accuracy >= 0.6"])
@given(seed=st.integers(0, 1000), multiplier=st.floats(0.0, 10.0))
def test_slopes_and_offsets_decide_as_the_matrix_does(text, seed, multiplier):
    (demand,) = demands_on(get_constraint(text), NAMES)
    proba = np.random.default_rng(seed).dirichlet(np.ones(3), 50)
    plain = ClassProbabilityRule(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 0.3]))
    rule = plain.with_demands(np.array([multiplier]), [demand])
    scores = proba @ (plain.worth + multiplier * demand.gains)
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert rule.matrix is None
    assert (rule.decide(proba) == scores.argmax(axis=1))[clear].all()


def test_costs_of_a_matrix():
    constraint = Constraint(CostMatrix(COSTS), "<=", 2.0)
    (demand,) = demands_on(constraint, NAMES)
    confusion = np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]])
    assert demand.rate(confusion) == pytest.approx((confusion * COSTS).sum())
    assert demand.affine is None
    plain = ClassProbabilityRule.argmax(3)
    np.testing.assert_allclose(plain.with_demands(np.array([2.0]), [demand]).matrix, np.eye(3) + 2.0 * demand.gains)


def test_demands_without_a_meaning_are_refused():
    for text, message in {
        "recall >= 0.5": r"write recall\[a\] >= 0.5 for one of \['a', 'b', 'c'\]",
        "recall[d] >= 0.5": r"there is no 'd'; accepted: \['a', 'b', 'c'\]",
    }.items():
        with pytest.raises(ValueError, match=message):
            demands_on(get_constraint(text), NAMES)
    with pytest.raises(ValueError, match="leave the class out"):
        demands_on(Constraint(CostMatrix(COSTS), "<=", 2.0, of="a"), NAMES)
    with pytest.raises(ValueError, match="3 classes"):
        demands_on(Constraint(CostMatrix(COSTS), "<=", 2.0), [*NAMES, "d"])


def test_several_demands_miss_as_much_as_the_worst_one():
    metric = ConstrainedClasses(
        get_confusion_metric("f1_macro"), demands_on(get_constraint("recall[a] >= 0.9, precision[b] >= 0.7"), NAMES)
    )
    confusion = np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]])
    assert metric.missing(confusion) == pytest.approx(0.3)
    assert metric.rate(confusion) == pytest.approx(0.6)
    assert metric.missing(np.eye(3) / 3.0) == 0.0
    assert metric.name == "f1_macro, recall[a] >= 0.9, precision[b] >= 0.7"
    half = metric.tightened(0.5)
    assert [demand.constraint.level for demand in half.demands] == pytest.approx([0.95, 0.85])
    fewer = demands_on(Constraint(Recall(), "<=", 0.4, of="a"), NAMES)[0].tightened(0.5)
    assert fewer.constraint.level == pytest.approx(0.2)
