"""Rates, constraints on them, metrics under one, and shares with their exact intervals."""

import numpy as np
import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import precision_score, recall_score

from csf.metrics import (
    METRICS,
    Averaged,
    ConfusionMetric,
    Constrained,
    Constraint,
    CostMatrix,
    CustomMetric,
    ErrorProfile,
    FalseNegativeRate,
    FalsePositiveRate,
    FBeta,
    GMean,
    OfTwoClasses,
    Precision,
    PredictedPositiveRate,
    Rate,
    Recall,
    Specificity,
    Tversky,
    WeightedAccuracy,
    get_confusion_metric,
    get_constraint,
    get_metric,
)
from csf.metrics.base import CELLS
from csf.metrics.constraints import share_of
from csf.metrics.named import MEASURES, RATES
from csf.thresholding.segments import worst_rates


@given(case=predictions())
def test_they_are_those_of_scikit_learn(case):
    y_true, y_pred, weight = case
    options = {"sample_weight": weight, "zero_division": 0.0}
    expected = {
        Precision(): precision_score(y_true, y_pred, **options),
        Recall(): recall_score(y_true, y_pred, **options),
        Specificity(): recall_score(y_true, y_pred, pos_label=0, **options),
        FalsePositiveRate(): 1 - recall_score(y_true, y_pred, pos_label=0, **options),
        FalseNegativeRate(): 1 - recall_score(y_true, y_pred, **options),
    }
    found = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight).predicted_pos
    expected[PredictedPositiveRate()] = found
    for metric, value in expected.items():
        assert metric.score(y_true, y_pred, sample_weight=weight) == pytest.approx(value, abs=1e-12)


FPR = get_constraint("fpr <= 0.1")
level = st.floats(0.0, 1.0).map(lambda x: round(x, 6))
sides = [(name, side) for name in RATES for side in MEASURES[name].sides]


@pytest.mark.parametrize(("name", "side"), sides)
@given(level=level, space=st.sampled_from(["", " ", "  "]))
def test_texts_are_read(name, side, level, space):
    constraint = get_constraint(f"{space}{name}{space}{side}{space}{level!r}{space}")
    assert constraint.quantity == RATES[name]
    assert (constraint.side, constraint.level) == (side, level)
    assert get_constraint(str(constraint)).level == pytest.approx(level, rel=1e-5)
    assert get_constraint(constraint) is constraint
    assert get_constraint(None) is None


@pytest.mark.parametrize(("name", "side"), sides)
@given(pos=shares, fnr=rates, fpr=rates, level=level)
def test_violation_is_what_is_missing(name, side, pos, fnr, fpr, level):
    constraint = get_constraint(f"{name} {side} {level!r}")
    fn, fp = fnr * pos, fpr * (1 - pos)
    rate = constraint.quantity.value(fn, fp, pos=pos)
    missing = level - rate if side == ">=" else rate - level
    violation = constraint.violation(fn, fp, pos=pos)
    assert violation == (missing if missing > 1e-12 else 0.0)
    assert constraint.violation(np.array([fn, fn]), fp, pos=pos).tolist() == [violation] * 2


@pytest.mark.parametrize(("name", "side"), sides)
@given(pos=shares, fnr=rates, fpr=rates, level=level)
def test_half_plane_holds_what_satisfies(name, side, pos, fnr, fpr, level):
    constraint = get_constraint(f"{name} {side} {level!r}")
    fn, fp = fnr * pos, fpr * (1 - pos)
    (n_fn, n_fp), rhs = constraint.half_plane(pos=pos)
    if constraint.quantity.denominator(fn, fp, pos=pos) <= 0:
        return
    excess = n_fn * fn + n_fp * fp - rhs
    violation = constraint.violation(fn, fp, pos=pos)
    if violation == 0:
        assert excess <= 1e-12
    elif violation > 1e-6 and constraint.quantity.denominator(fn, fp, pos=pos) > 1e-5:
        assert excess > 0


def test_rounding_is_no_violation():
    for percent in range(1, 100):
        constraint = get_constraint(f"recall >= {percent / 100!r}")
        assert constraint.violation((1 - percent / 100) * 0.3, 0.0, pos=0.3) == 0.0


@pytest.mark.parametrize(
    "given",
    ["precision ≥ 0.8", "precision>=80%", " precision >= 80 % ", ("precision", ">=", 0.8), ("precision", "≥", "80%")],
)
def test_other_spellings_are_read(given):
    assert get_constraint(given) == Constraint(Precision(), ">=", 0.8)


UNREADABLE = "precision", "gmean >= 0.5", "Precision >= 0.8", "", "0.8 <= recall", ">= 0.5", "recall >= 0.1 >= 0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, r"cannot read constraint .*; accepted: '<rate> <side> <level>' with f1 >=") for text in UNREADABLE),
        ("precision > 0.8", "the side must be >= or <=, got '>'; write >=, which takes"),
        ("fpr < 1%", "the side must be >= or <=, got '<'; write <=, which takes"),
        ("recall => 0.5", "the side must be >= or <=, got '=>'; write >=, which takes"),
        ("fpr = 0", "the side must be >= or <=, got '='; write <=, which takes"),
        ("precision <= 0.8", "can only be asked to be >= a level"),
        ("fpr >= 0.1", "can only be asked to be <= a level"),
        ("Precision >= 0.8", r"\. Did you mean 'precision'\?$"),
        ("recal >= 0.8", r"\. Did you mean 'recall'\?$"),
        ("recall >= 80", r"needs a level in \[0, 1\], got 80.0\. Did you mean 80%\?$"),
        ("recall >= 1.01", r"needs a level in \[0, 1\], got"),
        ("fpr <= -0.1", r"needs a level in \[0, 1\], got"),
        ("recall >= 1e", r"constraint 'recall >= 1e' needs a number in \[0, 1\], got '1e'"),
    ],
)
def test_texts_that_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        get_constraint(text)


@pytest.mark.parametrize("constraint", [0.8, Precision(), ("precision", 0.8), ["precision", ">=", 0.8]])
def test_other_objects_are_refused(constraint):
    with pytest.raises(TypeError, match=r"constraint must be a text such as 'precision >= 0\.8' or a Constraint, got"):
        get_constraint(constraint)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Constraint("precision", ">=", 0.8), TypeError, "quantity must be a rate such as"),
        (lambda: Constraint(Precision(), ">", 0.8), ValueError, r"side must be one of \('>=', '<='\), got '>'"),
        (lambda: Constraint(Precision(), ">=", 80), ValueError, r"level must be a number in \[0, 1\], got 80"),
        (lambda: Constraint(Precision(), ">=", "0.8"), TypeError, r"level must be a number in \[0, 1\], got '0.8'"),
        (lambda: Constrained("f1", FPR), TypeError, r"metric must be a csf\.metrics\.Metric object, got 'f1'"),
        (
            lambda: Constrained(FBeta(), "fpr <= 0.1"),
            TypeError,
            r"constraint must be a csf\.metrics\.Constraint object, got 'fpr <= 0.1'",
        ),
    ],
)
def test_objects_made_by_hand_are_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


@given(pos=shares, fnr=rates, fpr=rates)
def test_a_constrained_metric_is_the_metric_with_generic_costs(pos, fnr, fpr):
    constraint = Constraint(Precision(), ">=", 0.8)
    for metric in (Recall(), FBeta(), GMean()):
        both = Constrained(metric, constraint)
        assert both.value(fnr * pos, fpr * (1 - pos), pos=pos) == metric.value(fnr * pos, fpr * (1 - pos), pos=pos)
        assert both.range(pos) == metric.range(pos)
        assert both.cost_weights(0.3, pos=pos) == pytest.approx((0.7 / pos, 0.3 / (1 - pos)))
        assert both.name == f"{metric.name}, precision >= 0.8"


# ---------------------------------------------------------------- shares and their exact intervals


BY_NAME = {name: get_metric(name) for name in METRICS}
OTHERS = {
    "tversky(1, 1)": Tversky(1.0, 1.0),
    "mean cost": OfTwoClasses(CostMatrix([[0, 3], [3, -1]])),
    "equal costs": OfTwoClasses(CostMatrix([[0, 3], [3, 0]])),
    "accuracy(3, 3)": WeightedAccuracy(3.0, 3.0),
    "accuracy(3, 1)": WeightedAccuracy(3.0, 1.0),
    "by hand": CustomMetric(lambda pos: (200 * pos, -200, 0, 2 * pos, -1, 1), "percent", (0, 100)),
    "f1_micro": get_metric("f1_micro"),
    "f0.333": FBeta(1 / 3),
    "under a constraint": Constrained(FBeta(), get_constraint("precision >= 0.5")),
}
ALL = BY_NAME | RATES | OTHERS
counts = st.integers(1, 400)
SHARES = {
    "f1", "jaccard", "tversky", "tversky(1, 1)", "gower_legendre", "accuracy", "precision", "recall", "specificity",
    "npv", "fpr", "fnr", "predicted_positive_rate", "equal costs", "accuracy(3, 3)", "by hand", "f1_micro",
    "under a constraint",
}  # fmt: skip
RATIOS = SHARES | {"f2", "f0.5", "f0.333", "mean cost", "accuracy(3, 1)"}


def value_of(metric, cells):
    return metric.of(ErrorProfile.from_counts(**dict(zip(CELLS, cells))))


def test_which_metrics_are_shares():
    assert {name for name, metric in ALL.items() if share_of(metric) is not None} == SHARES
    assert {name for name, metric in ALL.items() if metric.terms() is not None} == RATIOS


@pytest.mark.parametrize("name", sorted(SHARES))
@given(cells=st.tuples(counts, counts, counts, counts))
def test_values_follow_from_counts(name, cells):
    metric, share = ALL[name], share_of(ALL[name])
    ones, trials = share.counts(**dict(zip(CELLS, cells)))
    value = value_of(metric, cells)
    assert share.value(ones / trials) == pytest.approx(value, rel=1e-9)
    assert share.share(value) == pytest.approx(ones / trials, rel=1e-9, abs=1e-9)
    low, high = share.interval(ones, trials)
    assert low <= value <= high
    outer = share.interval(ones, trials, exact=True)
    assert outer[0] <= low < high <= outer[1]


@pytest.mark.parametrize("name", sorted(RATIOS))
@given(cells=st.tuples(counts, counts, counts, counts))
def test_values_are_ratios_of_sums(name, cells):
    terms = ALL[name].terms()
    top, bottom = (sum(n * terms[cell][at] for cell, n in zip(CELLS, cells)) for at in (0, 1))
    assert top / bottom == pytest.approx(value_of(ALL[name], cells), rel=1e-9)


def test_f1_is_one_of_those_positive_or_predicted_positive():
    share = share_of(FBeta())
    assert (set(share.ones), set(share.zeros)) == ({"tp"}, {"fn", "fp"})
    for f in (0.1, 0.5, 0.93):
        assert share.share(f) == pytest.approx(f / (2 - f))
    assert share.counts(tp=np.array([3, 4]), fn=1, fp=np.array([0, 2]), tn=9)[1].tolist() == [4, 7]


def test_values_out_of_reach_have_the_share_at_the_end():
    cost = share_of(OfTwoClasses(CostMatrix([[0, 3], [3, 0]])))
    assert (cost.share(1.0), cost.share(-4.0)) == (1.0, 0.0)
    assert share_of(FBeta()).share(np.array([-1.0, 0.0, 1.0, 2.0])).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_of_several_classes_accuracy_is_one():
    for metric in (get_confusion_metric("accuracy"), Averaged(FBeta(), average="micro")):
        assert share_of(metric).counts(tp=7, fn=3, fp=0, tn=0) == (7, 10)
    for name in ("f1_macro", "gmean", "cohen_kappa", "quadratic_kappa"):
        assert share_of(get_confusion_metric(name)) is None
    assert share_of(Averaged(FBeta(), null=0, average="micro")) is None
    assert share_of(CostMatrix(np.eye(3))) is None

    class Other(ConfusionMetric):
        def value(self, confusion):
            return confusion[..., 0, 0]

    assert share_of(Other()) is None
    assert share_of(OfTwoClasses(Other())) is None


def test_rates_of_ones_own_are_shares():
    class FalseDiscoveryRate(Rate):
        ones, zeros = ("fp",), ("tp",)

    share = share_of(FalseDiscoveryRate())
    assert share.counts(tp=30, fn=5, fp=10, tn=7) == (10, 40)
    assert share.value(0.25) == 0.25


def test_intervals_without_ones_or_zeros_reach_the_end():
    share = share_of(FBeta())
    for exact in (False, True):
        assert share.interval(0, 9, exact=exact)[0] == 0.0
        assert share.interval(9, 9, exact=exact)[1] == 1.0
        assert share.interval(0, 0, exact=exact) == (0.0, 1.0)
    with pytest.raises(ValueError, match="confidence"):
        share.interval(3, 5, confidence=90)


@pytest.mark.parametrize("trials", [10, 40, 300])
def test_intervals_cover(trials):
    """Coverage is a sum over all outcomes, without draws: at each F1 of exact ones, on average of the others."""
    share, f = share_of(FBeta()), np.linspace(0.02, 0.99, 98)
    chance = binom.pmf(np.arange(trials + 1)[:, None], trials, share.share(f))
    covered = {}
    for exact in (False, True):
        low, high = np.array([share.interval(k, trials, exact=exact) for k in range(trials + 1)]).T[:, :, None]
        covered[exact] = (chance * ((low <= f) & (f <= high))).sum(axis=0)
    assert covered[True].min() >= 0.9
    assert 0.89 <= covered[False].mean() <= 0.925


def coverage(f, n_pos, *, exact):
    """How often intervals of the F1 of 20 times as many samples hold it; a sum over all outcomes, without draws."""
    share, pos = share_of(FBeta()), 0.05
    n = round(n_pos / pos)
    trials = np.arange(binom.ppf(1e-9, n, pos * (2 - f)), binom.ppf(1 - 1e-9, n, pos * (2 - f)) + 1).astype(int)
    held = 0.0
    for m, chance in zip(trials.tolist(), binom.pmf(trials, n, pos * (2 - f))):
        low, high = np.array([share.interval(k, m, exact=exact) for k in range(m + 1)]).T
        held += chance * (binom.pmf(np.arange(m + 1), m, share.share(f)) @ ((low <= f) & (f <= high)))
    return held


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "n_pos", "on_average", "at_least"),
    [
        (0.3, 20, 0.90, 0.93),
        (0.6, 20, 0.90, 0.93),
        (0.6, 50, 0.90, 0.92),
        (0.95, 20, 0.94, 0.98),
        (0.98, 20, 0.95, 0.98),
    ],
)
def test_small_test_sets_cover_what_resamples_do_not(f, n_pos, on_average, at_least):
    """Resamples of 20 positives with an F1 of .98 cover it in 54 % of the cases, of .95 in 83 %."""
    assert coverage(f, n_pos, exact=False) == pytest.approx(on_average, abs=0.02)
    assert coverage(f, n_pos, exact=True) == pytest.approx(at_least, abs=0.02)
    assert coverage(f, n_pos, exact=True) >= 0.9


@pytest.mark.parametrize(
    ("text", "of", "shown"),
    [
        ("recall[urgent]>=.9", "urgent", "recall[urgent] >= 0.9"),
        (("f1[2]", ">=", 0.5), "2", "f1[2] >= 0.5"),
        ("precision[spam, or so] >= 95%", "spam, or so", "precision[spam, or so] >= 0.95"),
        ('recall["a, b"] >= .9', "a, b", "recall[a, b] >= 0.9"),
        ("recall['a]'] >= .9", "a]", 'recall["a]"] >= 0.9'),
        (r'recall["a\"b"] >= .9', 'a"b', 'recall[a"b] >= 0.9'),
        ("recall[x <= 5 by y] >= .9", "x <= 5 by y", "recall[x <= 5 by y] >= 0.9"),
        ("recall[red, blue [dark]] >= .9", "red, blue [dark]", 'recall["red, blue [dark]"] >= 0.9'),
        ("recall[two\nlines] >= .9", "two\nlines", "recall[two\nlines] >= 0.9"),
        ("recall[>50K] >= .9", ">50K", "recall[>50K] >= 0.9"),
        ("predicted_rate[a b] ≤ 0.1", "a b", "predicted_positive_rate[a b] <= 0.1"),
    ],
)
def test_classes_are_in_brackets(text, of, shown):
    constraint = get_constraint(text)
    assert (constraint.of, str(constraint), constraint.name) == (of, shown, shown[: shown.rindex("]") + 1])
    assert get_constraint(shown).of == of


names = st.text(min_size=1) | st.text("ab \"'[],\\\\\n<=>% byin", min_size=1)


@given(
    of=st.none() | names,
    by=st.none() | names,
    percent=st.integers(1, 99),
    compare=st.sampled_from(["each", "gap", "ratio"]),
    rate=st.sampled_from([Recall(), FalsePositiveRate(), PredictedPositiveRate(), FBeta(0.5)]),
    others=st.lists(st.tuples(names, names), max_size=2),
)
def test_texts_of_any_names_are_read_again(of, by, percent, compare, rate, others):
    compare = compare if by is not None else "each"
    side = {"gap": "<=", "ratio": ">="}.get(compare, "<=" if rate == FalsePositiveRate() else ">=")
    rest = tuple(Constraint(Recall(), ">=", 0.5, of=one, by=other) for one, other in others)
    constraint = Constraint(rate, side, percent / 100, rest, of, by, compare)
    assert get_constraint(str(constraint)) == constraint


def test_several_demands_with_classes():
    both = get_constraint("precision[spam, or so] >= 0.9, recall[b] >= 0.5")
    assert [(part.quantity.name, part.of) for part in both.parts] == [("precision", "spam, or so"), ("recall", "b")]


def test_classes_are_found_by_value_and_by_text():
    assert Constraint(Recall(), ">=", 0.5, of=2).place_in([0, 1, 2]) == 2
    assert get_constraint("recall[2] >= 0.5").place_in([0, 1, 2]) == 2
    assert get_constraint("recall >= 0.5").place_in([0, 1]) is None
    assert get_constraint("recall[2] >= 0.5").place_in([0.0, 1.0, 2.0]) == 2
    assert get_constraint("recall[2] >= 0.5").place_in([2.0, "2"]) == 1
    assert get_constraint("recall[2.0] >= 0.5").place_in([0, 2]) == 1
    # A text that is a class counts before one that only looks like it.
    assert Constraint(Recall(), ">=", 0.5, of="1").place_in([1, "1"]) == 1
    with pytest.raises(ValueError, match=r"there is no 'c'; accepted: \['a', 'b'\]"):
        get_constraint("recall[c] >= 0.5").place_in(["a", "b"])


def test_costs_of_a_matrix_are_no_rate_of_two_classes():
    demand = Constraint(CostMatrix([[0, 1], [5, 0]]), "<=", 2.0)
    assert str(demand) == "cost_matrix <= 2"
    with pytest.raises(ValueError, match="MeanCost"):
        demand.violation(0.1, 0.1, pos=0.5)
    with pytest.raises(ValueError, match=r"\[0, 5\]"):
        Constraint(CostMatrix([[0, 1], [5, 0]]), "<=", 6.0)


# ---------------------------------------------------------------- by segments


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recall gap<=5% by marital status", "recall gap <= 0.05 by marital status"),
        ("precision ≥ 0.8 in each country", "precision >= 0.8 in each country"),
        ("fpr <= 0.1 in each c, f2 >= 0.2 in each c", "fpr <= 0.1 in each c, f2 >= 0.2 in each c"),
        ("selection_rate gap <= 0.1 by sex", "predicted_positive_rate gap <= 0.1 by sex"),
        ("selection_rate ratio >= 80% by sex", "predicted_positive_rate ratio >= 0.8 by sex"),
        ("recall GAP <= .1 BY sex", "recall gap <= 0.1 by sex"),
        ("recall >= .8 IN  EACH sex", "recall >= 0.8 in each sex"),
        ("recall >= .8 by sex", "recall >= 0.8 in each sex"),
        ('fpr ratio >= .5 by "age, sex"', 'fpr ratio >= 0.5 by "age, sex"'),
        ("recall gap[yes] <= .1 by sex", "recall[yes] gap <= 0.1 by sex"),
        ("recall[yes] >= .8 in each country", "recall[yes] >= 0.8 in each country"),
    ],
)
def test_constraints_by_segments_are_read(text, said):
    constraint = get_constraint(text)
    assert str(constraint) == said
    assert get_constraint(said) == constraint
    rest = constraint.on_all_rows
    assert rest is None if constraint.compare != "each" else all(part.by is None for part in rest.parts)
    with pytest.raises(ValueError, match="is by segments"):
        constraint.violation(0.1, 0.1, pos=0.5)


@pytest.mark.parametrize(
    "text",
    [
        "recall gap <= 0.1",
        "recall <= 0.1 by sex",
        "recall gap >= 0.1 by sex",
        "fpr <= 0.1 by sex",
        "recall ratio <= 0.8 by sex",
        "recall ratio >= 0.8",
        "informedness ratio >= 0.8 by sex",
        "recall gap <= 0.1 in each sex",
        "fpr by c",
    ],
)
def test_constraints_by_segments_that_are_refused(text):
    with pytest.raises(ValueError, match=r"gap|side|ratio"):
        get_constraint(text)


def test_a_rate_that_is_limited_from_both_sides_has_two_names():
    both = get_constraint("predicted_rate >= 0.1, predicted_rate <= 0.3, recall >= 0.5")
    assert list(both.named_parts) == ["predicted_positive_rate >=", "predicted_positive_rate <=", "recall"]
    table = {"f": {"predicted_positive_rate": 0.2}, "m": {"predicted_positive_rate": 0.25}}
    by_segment = get_constraint("predicted_rate >= 0.1 in each sex, predicted_rate <= 0.3 in each sex")
    assert list(worst_rates(by_segment, table).values()) == [0.2, 0.25]
