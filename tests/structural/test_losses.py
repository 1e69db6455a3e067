"""Structural losses: equal to enumeration, convex, tangent everywhere, above 1 - performance; and how scores rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import structural_losses as oracle
from sklearn.metrics import roc_auc_score

from csf.metrics import get_metric
from csf.structural import (
    LOSSES,
    ClassScores,
    FBetaLoss,
    PartialAUC,
    PrecisionAtK,
    StructuralLoss,
    TableLoss,
    TopPrecision,
    get_loss,
    partial_auc_score,
    precision_at_k_score,
)

EACH = [
    FBetaLoss(),
    FBetaLoss(2.0),
    FBetaLoss(0.3),
    PrecisionAtK(),
    PartialAUC(0.3),
    PartialAUC(0.3, mode="fraction"),
    PartialAUC(1.0),
    TableLoss("gmean"),
    TableLoss("jaccard"),
    TopPrecision(0.3),
]
each = pytest.mark.parametrize("loss", EACH, ids=repr)
UPPER = [loss for loss in EACH if not isinstance(loss, TopPrecision)]


@st.composite
def samples(draw, *, largest=10, ties=True):
    """Scores and classes, both present."""
    n = draw(st.integers(2, largest))
    n_pos = draw(st.integers(1, n - 1))
    score = st.integers(-3, 3).map(float) if ties and draw(st.booleans()) else st.floats(-3, 3)
    scores = np.array(draw(st.lists(score, min_size=n, max_size=n)))
    is_pos = np.array(draw(st.permutations([True] * n_pos + [False] * (n - n_pos))))
    return scores * draw(st.sampled_from([0.01, 1.0, 10.0])), is_pos


def equal_shares(is_pos, kappa=None):
    n = len(is_pos)
    kappa = 1.0 / n if kappa is None else kappa
    return {"kappa_pos": kappa, "kappa_neg": kappa, "share_pos": 1.0 / n, "share_neg": 1.0 / n}


def enumerated(loss, score, is_pos):
    """The loss by brute force."""
    n, n_pos, n_neg = len(score), is_pos.sum(), (~is_pos).sum()
    if isinstance(loss, PartialAUC):
        count = loss.beta * n_neg
        return oracle.partial_auc_hinge(score, is_pos, np.ceil(count - 1e-9) if loss.mode == "count" else count)
    if isinstance(loss, TopPrecision):
        return oracle.top_precision(score, is_pos, min(int(np.ceil(loss.k * n - 1e-9)), n_pos), 1.0 / n)
    how = equal_shares(is_pos, loss.kappa)
    if isinstance(loss, FBetaLoss):
        return oracle.structural_hinge(score, is_pos, oracle.f_beta_loss(loss.beta), **how)[0]
    if isinstance(loss, PrecisionAtK):
        size = n_pos if loss.k is None else int(np.ceil(loss.k * n - 1e-9))
        how["feasible"] = lambda a, b: a + b == size
        return oracle.structural_hinge(score, is_pos, lambda tp, fp, total: 1.0 - tp * n / size, **how)[0]
    metric = get_metric(loss.metric)
    return oracle.structural_hinge(
        score, is_pos, lambda tp, fp, total: 1.0 - metric.value(max(total - tp, 0.0), fp, pos=total), **how
    )[0]


@pytest.mark.slow
@each
@settings(max_examples=25)
@given(data=samples())
def test_the_value_is_that_of_enumeration(loss, data):
    score, is_pos = data
    assert loss.value(score, is_pos) == pytest.approx(enumerated(loss, score, is_pos), rel=1e-12, abs=1e-12)


@settings(max_examples=25)
@given(data=samples(largest=9), k=st.floats(0.01, 0.99))
def test_precision_at_any_k_is_that_of_enumeration(data, k):
    loss = PrecisionAtK(k, allow_k_neq_pos=True)
    assert loss.value(*data) == pytest.approx(enumerated(loss, *data), abs=1e-12)


@pytest.mark.parametrize("loss", [FBetaLoss(1.0), FBetaLoss(0.4), FBetaLoss(3.0), TableLoss("qmean")], ids=repr)
@settings(max_examples=25)
@given(data=samples(largest=9), rare=st.floats(0.01, 0.99))
def test_shares_of_classes_count_as_in_enumeration(loss, data, rare):
    """Also for F-beta below and above 1, whose search is by halving instead of a table."""
    score, is_pos = data
    shares = rare / is_pos.sum(), (1.0 - rare) / (~is_pos).sum()
    pos, neg = score[is_pos], score[~is_pos]
    how = {"kappa_pos": shares[0], "kappa_neg": shares[1], "share_pos": shares[0], "share_neg": shares[1]}
    metric = get_metric(loss.metric) if isinstance(loss, TableLoss) else None
    delta = (
        oracle.f_beta_loss(loss.beta)
        if metric is None
        else lambda tp, fp, total: 1.0 - metric.value(max(total - tp, 0.0), min(fp, 1.0 - total), pos=total)
    )
    expected, _ = oracle.structural_hinge(score, is_pos, delta, **how)
    tangent = loss.class_tangent(ClassScores(pos, neg, *shares))
    assert tangent.value == pytest.approx(expected, abs=1e-12)
    assert tangent.offset + tangent.slope @ np.r_[pos, neg] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.5])
def test_f_beta_of_many_samples_is_that_of_the_table(beta):
    """Where the worst labelling has negatives of negative score, which a table never leaves out."""
    rng = np.random.default_rng(int(10 * beta))
    for _ in range(300):
        n_pos, n_neg = rng.integers(1, 25), rng.integers(1, 60)
        size = 10.0 ** rng.uniform(-1, 1.5)
        pos, neg = size * rng.normal(0.7, 1.0, n_pos), size * rng.normal(-0.7, 1.0, n_neg)
        rare = n_pos / (n_pos + n_neg) * 10.0 ** rng.uniform(-1.5, 0.0)
        scores = ClassScores(pos, neg, rare / n_pos, (1.0 - rare) / n_neg)
        expected = TableLoss(FBetaLoss(beta).metric).class_tangent(scores).value
        assert FBetaLoss(beta).class_tangent(scores).value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=25)
@given(data=samples(largest=9), rare=st.floats(0.01, 0.99))
def test_prbep_with_shares_selects_the_nearest_share(data, rare):
    score, is_pos = data
    share_pos, share_neg = rare / is_pos.sum(), (1.0 - rare) / (~is_pos).sum()
    ratio, n_neg = share_pos / share_neg, int((~is_pos).sum())
    slack = max(0.5, 0.5 * ratio)

    def feasible(a, b):
        wanted = (is_pos.sum() - a) * ratio
        return wanted <= n_neg + slack and b == min(round(wanted), n_neg)

    expected, _ = oracle.structural_hinge(
        score,
        is_pos,
        lambda tp, fp, total: 1.0 - tp / total,
        kappa_pos=share_pos,
        kappa_neg=share_neg,
        share_pos=share_pos,
        share_neg=share_neg,
        feasible=feasible,
    )
    tangent = PrecisionAtK().class_tangent(ClassScores(score[is_pos], score[~is_pos], share_pos, share_neg))
    assert tangent.value == pytest.approx(expected, abs=1e-9)


@each
@settings(max_examples=25)
@given(data=samples(), other=st.integers(0, 2**32 - 1))
def test_tangents_touch_the_loss_and_stay_below_it(loss, data, other):
    score, is_pos = data
    tangent = loss.tangent(score, is_pos)
    assert tangent.offset + tangent.slope @ score == pytest.approx(tangent.value, abs=1e-10)
    elsewhere = np.random.default_rng(other).normal(size=score.size) * (1.0 + np.abs(score).max())
    for point in (elsewhere, 0.0 * score, -score, score + 0.1 * elsewhere):
        assert tangent.offset + tangent.slope @ point <= loss.value(point, is_pos) + 1e-9


@pytest.mark.parametrize("kind", [FBetaLoss, PrecisionAtK, TableLoss, TopPrecision])
@settings(max_examples=20)
@given(data=samples(), kappa=st.floats(1e-3, 1e3))
def test_kappa_only_rescales_scores(kind, data, kappa):
    score, is_pos = data
    unit = kind(kappa=1.0).value(kappa * score, is_pos)
    assert kind(kappa=kappa).value(score, is_pos) == pytest.approx(unit, rel=1e-9, abs=1e-9)
    usual = kind().value(len(score) * kappa * score, is_pos)
    assert usual == pytest.approx(unit, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", UPPER, ids=repr)
@settings(max_examples=30)
@given(data=samples())
def test_losses_bound_what_is_missing_to_perfection(loss, data):
    score, is_pos = data
    assert loss.value(score, is_pos) >= 1.0 - loss.performance(score, is_pos) - 1e-10


@settings(max_examples=50)
@given(data=samples(), k=st.floats(0.01, 0.99))
def test_top_precision_bounds_while_k_is_at_most_the_share_of_positives(data, k):
    score, is_pos = data
    loss = TopPrecision(k)
    if np.ceil(k * len(score) * (1 - 1e-12)) <= is_pos.sum():
        assert loss.value(score, is_pos) >= 1.0 - loss.performance(score, is_pos) - 1e-10


@pytest.mark.parametrize("n_pos", [2, 6])
def test_the_loss_of_another_k_bounds_nothing(n_pos):
    rng = np.random.default_rng(0)
    loss, broken = PrecisionAtK(0.5, allow_k_neq_pos=True), 0
    for _ in range(500):
        score, is_pos = rng.normal(size=8) * rng.choice([1.0, 10.0]), rng.permutation(8) < n_pos
        broken += loss.value(score, is_pos) < 1.0 - loss.performance(score, is_pos) - 1e-9
    assert broken > 0


def test_negatives_come_first_where_labellings_are_equally_bad():
    """The second place goes to the positive of score 1 or to the negative of score 0: both make the loss 0."""
    slope = PrecisionAtK().tangent([1.0, 5.0, 0.0, -5.0], np.arange(4) < 2).slope
    np.testing.assert_array_equal(slope, [-0.5, 0.0, 0.5, 0.0])


def test_top_precision_of_all_positives_is_prbep():
    rng = np.random.default_rng(1)
    for _ in range(30):
        score, is_pos = 5 * rng.normal(size=20), rng.permutation(20) < 6
        assert TopPrecision(6 / 20).value(score, is_pos) == pytest.approx(PrecisionAtK().value(score, is_pos))


@each
@pytest.mark.parametrize(("n_pos", "n_neg"), [(3, 17), (17, 3), (1, 1)])
def test_the_loss_at_zero_is_the_largest_loss_of_labels(loss, n_pos, n_neg):
    is_pos = np.arange(n_pos + n_neg) < n_pos
    expected = 1.0
    if isinstance(loss, PrecisionAtK):
        expected = 1.0 - max(0, n_pos - n_neg) / n_pos
    if isinstance(loss, TopPrecision):
        size = min(int(np.ceil(0.3 * (n_pos + n_neg))), n_pos)
        expected = min(size, n_neg) / size
    assert loss.value(np.zeros(n_pos + n_neg), is_pos) == pytest.approx(expected)


def test_whole_numbers_of_negatives_survive_rounding():
    """0.07 * 100 is a little more than 7 in floats: the eighth negative is none of the 7 percent."""
    score = np.r_[0.0, np.arange(100.0)]
    is_pos = np.arange(101) < 1
    assert np.count_nonzero(PartialAUC(0.07).tangent(score, is_pos).slope[1:]) == 7


@each
@settings(max_examples=20)
@given(data=samples(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_samples_does_not_matter(loss, data, seed):
    score, is_pos = data
    order = np.random.default_rng(seed).permutation(len(score))
    tangent, shuffled = loss.tangent(score, is_pos), loss.tangent(score[order], is_pos[order])
    np.testing.assert_allclose(shuffled.slope, tangent.slope[order], atol=1e-9)
    assert shuffled.value == pytest.approx(tangent.value, abs=1e-9)


@pytest.mark.parametrize("loss", [loss for loss in EACH if loss.ranking], ids=repr)
@settings(max_examples=20)
@given(data=samples(), shift=st.floats(-5, 5))
def test_losses_that_rank_do_not_see_shifts(loss, data, shift):
    score, is_pos = data
    assert loss.value(score + shift, is_pos) == pytest.approx(loss.value(score, is_pos), abs=1e-9)
    assert loss.tangent(score, is_pos).slope.sum() == pytest.approx(0.0, abs=1e-12)


@each
def test_the_total_is_a_multiple_of_the_loss_with_whole_labels(loss):
    rng = np.random.default_rng(5)
    score, is_pos = rng.normal(size=30), rng.permutation(30) < 8
    total, factor = loss.total(8, 22)
    slope = factor * total.tangent(score, is_pos).slope
    if isinstance(loss, PartialAUC):
        np.testing.assert_allclose(slope, np.round(slope, 6), atol=1e-9)
    elif not isinstance(loss, TopPrecision):
        assert set(np.round(slope, 9)) <= {-2.0, 0.0, 2.0}
    zero = factor * total.value(np.zeros(30), is_pos)
    assert zero == pytest.approx(factor * loss.value(np.zeros(30), is_pos))


def test_names():
    assert all(isinstance(get_loss(name), StructuralLoss) for name in LOSSES)
    assert get_loss("f0.5") == FBetaLoss(0.5)
    assert get_loss("jaccard") == TableLoss("jaccard")
    assert get_loss(PrecisionAtK()) == PrecisionAtK()
    with pytest.raises(ValueError, match=r"unknown loss 'auc'; known: f1, prbep"):
        get_loss("auc")
    with pytest.raises(TypeError, match="loss must be a name"):
        get_loss(3)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: FBetaLoss(0.0), "beta must be positive"),
        (lambda: FBetaLoss(kappa=-1.0), "kappa must be positive"),
        (lambda: PrecisionAtK(1.5, allow_k_neq_pos=True), r"k must be a number in \(0, 1\)"),
        (lambda: PrecisionAtK(0.1), "set allow_k_neq_pos=True"),
        (lambda: TopPrecision(0.0), r"k must be a number in \(0, 1\)"),
        (lambda: PartialAUC(0.0), r"beta must be in \(0, 1\], got 0.0: at least one negative"),
        (lambda: PartialAUC(1.5), r"beta must be in \(0, 1\]"),
        (lambda: PartialAUC(mode="exact"), "mode must be one of"),
        (lambda: TableLoss("nonsense"), "unknown metric"),
    ],
)
def test_bad_parameters_are_named(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize("make", [lambda: PartialAUC("0.1"), lambda: FBetaLoss("1"), lambda: PrecisionAtK(True)])
def test_bad_types_are_named(make):
    with pytest.raises(TypeError, match="must be a"):
        make()


@pytest.mark.parametrize(
    ("score", "is_pos", "match"),
    [
        ([0.0, 1.0], [True, True], "2 of 2 samples are positive; the loss needs both classes"),
        ([0.0, 1.0], [False, False], "0 of 2 samples are positive"),
        ([0.0, np.nan], [True, False], "1 entries that are NaN or infinite"),
        ([0.0, 1.0, 2.0], [True, False], "of one length"),
        ([[0.0, 1.0]], [[True, False]], "must be 1D"),
    ],
)
def test_bad_scores_are_refused(score, is_pos, match):
    with pytest.raises(ValueError, match=match):
        FBetaLoss().tangent(score, is_pos)


def test_labels_are_no_classes():
    with pytest.raises(TypeError, match="write y == pos_label"):
        FBetaLoss().tangent([0.0, 1.0], [1, 0])


def test_a_table_that_is_too_large_is_refused():
    scores = ClassScores.equal(np.zeros(5000), np.zeros(5000))
    with pytest.raises(ValueError, match="more than 10000000 cells; learn from buffers"):
        TableLoss().class_tangent(scores)


def test_another_k_comes_with_a_warning():
    with pytest.warns(UserWarning, match="no upper bound of 1 - precision"):
        PrecisionAtK(0.2, allow_k_neq_pos=True).check()
    PrecisionAtK().check()


# ---------------------------------------------------------------- how well scores rank


scores = st.lists(st.integers(-2, 2), min_size=2, max_size=8).filter(lambda values: len(values) >= 2)


@given(values=scores, n_pos=st.integers(1, 7), beta=st.floats(0.01, 1.0), mode=st.sampled_from(["count", "fraction"]))
def test_partial_auc_is_that_of_a_double_loop(values, n_pos, beta, mode):
    score, n_pos = np.array(values, dtype=float), min(n_pos, len(values) - 1)
    is_pos = np.arange(len(score)) < n_pos
    count = beta * (len(score) - n_pos)
    expected = oracle.partial_auc(score, is_pos, np.ceil(count - 1e-9) if mode == "count" else count)
    assert partial_auc_score(is_pos, score, beta=beta, mode=mode) == pytest.approx(expected, abs=1e-9)


@given(values=scores, n_pos=st.integers(1, 7), k=st.none() | st.floats(0.01, 0.99))
def test_precision_at_k_is_the_mean_over_all_tops(values, n_pos, k):
    score, n_pos = np.array(values, dtype=float), min(n_pos, len(values) - 1)
    is_pos = np.arange(len(score)) < n_pos
    size = n_pos if k is None else int(np.ceil(k * len(score) - 1e-9))
    expected = oracle.precision_at_k(score, is_pos, size)
    assert precision_at_k_score(is_pos, score, k=k) == pytest.approx(expected, abs=1e-12)


def test_all_negatives_give_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 200), rng.integers(0, 20, 200)
    assert partial_auc_score(y, score, beta=1.0) == pytest.approx(roc_auc_score(y, score))


def test_without_ties_the_fraction_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    score = rng.normal(size=300) + y
    n_neg = int((y == 0).sum())
    beta = 20 / n_neg  # at whole numbers of negatives the curve has its corners
    least, area = 0.5 * beta**2, partial_auc_score(y, score, beta=beta, mode="fraction") * beta
    standardised = 0.5 * (1.0 + (area - least) / (beta - least))
    assert standardised == pytest.approx(roc_auc_score(y, score, max_fpr=beta))


def test_labels_of_any_kind():
    y, score = np.array(["ill", "well", "ill", "well"]), [0.9, 0.4, 0.3, 0.1]
    assert precision_at_k_score(y, score, pos_label="ill") == 0.5
    assert partial_auc_score(y, score, beta=0.5, pos_label="ill") == 0.5


@pytest.mark.parametrize("beta", [0.0, -0.1, 1.1, float("nan")])
def test_bad_ranges_are_named(beta):
    with pytest.raises(ValueError, match=r"beta must be a number in \(0, 1\]"):
        partial_auc_score([0, 1], [0.0, 1.0], beta=beta)


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"beta must be a number in \(0, 1\]"):
        partial_auc_score([0, 1], [0.0, 1.0], beta="0.1")
    with pytest.raises(ValueError, match="mode must be one of"):
        partial_auc_score([0, 1], [0.0, 1.0], mode="area")
    with pytest.raises(ValueError, match=r"k must be a number in \(0, 1\)"):
        precision_at_k_score([0, 1], [0.0, 1.0], k=2.0)
    with pytest.raises(ValueError, match="one class only"):
        precision_at_k_score([0, 0], [0.0, 1.0])
    with pytest.raises(ValueError, match="contains NaN"):
        partial_auc_score([0, 1], [0.0, np.nan])
