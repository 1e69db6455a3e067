"""Limits on wrong alerts: p-values and step-up by their definitions, and the promise on simulated batches."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from csf.evaluate.draws import Units
from csf.evaluate.stores import HeldOutEntries
from csf.thresholding.alerts import AlertLimit, WrongAlerts, allowed_alerts, largest_of
from csf.thresholding.batch import shares_limited


def known_of(score, wrong=None, weight=None, samples=None, groups=None):
    score = np.asarray(score, dtype=float)
    store = HeldOutEntries(np.zeros(score.size, dtype=bool), weight, samples=samples)
    store.draw_together(groups)
    return WrongAlerts.of(score, np.ones(score.size, dtype=bool) if wrong is None else np.asarray(wrong), store)


def numbers(n_least=1):
    return st.lists(st.integers(-4, 4), min_size=n_least, max_size=12)


@given(known=numbers(), new=numbers(2), share=st.sampled_from([0.1, 0.25, 0.5, 0.8]))
@example(known=[0, 0, 0], new=[1, 1], share=0.25)
@pytest.mark.filterwarnings("ignore:no row can be an alert")
def test_they_are_what_their_definitions_say(known, new, share):
    p = [(1 + sum(each >= score for each in known)) / (len(known) + 1) for score in new]
    test = AlertLimit(known_of(known), share)
    np.testing.assert_allclose(test.known.p_values(np.array(new, dtype=float)), p)
    exact = [Fraction(1 + sum(each >= score for each in known), len(known) + 1) for score in new]
    for most in (None, *range(len(p) + 2)):
        assert test.passing(np.array(new, dtype=float), most).tolist() == sure_enough(exact, share, most)


def sure_enough(p_values, share, most):
    """Rows of which any ``k`` may be alerts, with the largest ``k`` up to a number; share and p-values are exact."""
    m, share = len(p_values), Fraction(str(share))
    numbers = [k for k in range(1, m + 1) if sum(p <= share * k / m for p in p_values) >= k]
    k = max([each for each in numbers if most is None or each <= most], default=0)
    return [k > 0 and p <= share * k / m for p in p_values]


@given(known=numbers(2), data=st.data())
def test_whole_weights_are_rows_and_rows_of_weight_0_are_none(known, data):
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(known), max_size=len(known))), dtype=float)
    weight[0] += 1.0
    weighted, repeated = known_of(known, weight=weight), known_of(np.repeat(known, weight.astype(int)))
    new = np.linspace(-5.0, 5.0, 21)
    np.testing.assert_allclose(weighted.p_values(new), repeated.p_values(new))
    assert weighted.n_rows == pytest.approx(weight.sum())


def test_what_depends_on_each_other_counts_less():
    score, new = np.arange(12.0), np.array([-1.0, 5.5, 20.0])
    plain = known_of(score)
    # Repeated folds score a sample three times: a sample is one row, and its scores share its weight.
    repeated = known_of(np.repeat(score, 3), samples=np.repeat(np.arange(12), 3))
    np.testing.assert_allclose(repeated.p_values(new), plain.p_values(new))
    grouped = known_of(score, groups=np.repeat(np.arange(4), 3))
    assert (plain.n_rows, repeated.n_rows, grouped.n_rows) == (12.0, pytest.approx(12.0), pytest.approx(4.0))
    uneven = known_of(score, weight=np.array([1.5] * 6 + [0.5] * 6))
    assert uneven.n_rows == pytest.approx(12.0**2 / (6 * 1.5**2 + 6 * 0.5**2))
    # Only rows for which an alert would be wrong are compared with.
    some = known_of(score, wrong=score < 6.0)
    np.testing.assert_allclose(some.p_values(new), known_of(score[:6]).p_values(new))


def test_equal_scores_stay_equal_in_single_precision():
    known = known_of([0.1, 0.7, 0.9])
    single = WrongAlerts(known.scores.astype(np.float32), known.shares, known.n_rows)
    new = np.array([0.1, 0.7, 0.9, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(single.p_values(new), [1.0, 0.75, 0.5, 0.25, 1.0, 1.0])


def test_the_mean_share_of_wrong_alerts_is_kept_whatever_the_share_of_positives():
    share, n_batches = 0.2, 250
    for n_pos in (0, 3, 60):
        rng, wrong = np.random.default_rng(n_pos), []
        for _ in range(n_batches):
            limit = AlertLimit(known_of(rng.normal(size=300)), share)
            found = limit.passing(np.append(rng.normal(size=100 - n_pos), rng.normal(size=n_pos) + 3.0))
            wrong.append(found[: 100 - n_pos].sum() / max(found.sum(), 1))
        promise, error = share * (1.0 - n_pos / 100), np.std(wrong) / np.sqrt(n_batches)
        assert 0.3 * promise <= np.mean(wrong) <= promise + 3.0 * error


def test_fewer_alerts_have_to_be_surer():
    score = np.append(np.full(6, 98.5), [97.5, 96.5, 95.5, *np.full(11, -np.inf)])
    limit = AlertLimit(known_of(np.arange(99.0)), 0.2)
    # p is 0.01, 0.02, 0.03 and 0.04, and at most 0.2 * 2 / 20 for any two of the first seven.
    assert limit.passing(score, 20).tolist() == limit.passing(score).tolist() == [True] * 9 + [False] * 11
    assert limit.passing(score, 2).tolist() == [True] * 7 + [False] * 13
    assert limit.passing(score, 0).sum() == 0
    # No p is below 0.1: eleven rows may be alerts of which at most a fifth is wrong, and two may not.
    few = AlertLimit(known_of(np.arange(9.0)), 0.2)
    assert few.passing(np.arange(20.0)).sum() == 11
    with pytest.warns(UserWarning, match="with at most 2 alerts in 20 rows: .* stand for 9, and 49 are needed"):
        assert few.passing(np.arange(20.0), 2).sum() == 0


def test_the_mean_share_is_kept_by_the_worst_choice_of_sure_rows():
    share, wrong = 0.2, []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        score, pos = rng.normal(size=200), np.arange(200) < 60
        found = AlertLimit(known_of(rng.normal(size=600)), share).passing(score + 4.0 * pos, 20)
        wrong.append(min((found & ~pos).sum(), 20) / 20)
    assert 0.1 * share < np.mean(wrong) <= share * 0.7 + 3.0 * np.std(wrong) / np.sqrt(250)


def test_single_rows_and_few_held_out_ones_are_told():
    limit = AlertLimit(known_of(np.arange(30.0)), 0.2)
    with pytest.raises(ValueError, match=r"this is one row: alone it would be a wrong alert in 20% of cases"):
        limit.passing(np.array([99.0]))
    assert limit.passing(np.array([])).tolist() == []
    with pytest.warns(UserWarning, match=r"stand for 3, and 4 are needed at least"):
        assert not AlertLimit(known_of(np.arange(3.0)), 0.2).passing(np.array([9.0, 9.0])).any()
    nobody = known_of(np.arange(3.0), wrong=np.zeros(3, dtype=bool))
    assert nobody.p_values(np.array([9.0])).tolist() == [1.0]


def test_a_row_is_an_alert_of_one_class():
    limit = AlertLimit(known_of(np.linspace(0.0, 0.5, 99)), 0.2)
    scores = np.array([[0.5, 0.1, 0.4], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])
    proba = np.array([[0.0, 0.1, 0.9], [0.0, 0.2, 0.2], [0.6, 0.3, 0.95], [0.4, 0.35, 0.25]])
    one = allowed_alerts({2: limit}, proba, largest_of(scores, [2]), {})
    assert one.tolist() == [[True, True, each] for each in (True, False, True, False)]
    # The third row has the larger score in class 1 now, for which it is not sure enough.
    both = allowed_alerts({1: limit, 2: limit}, proba, largest_of(scores, [1, 2]), {})
    assert both.tolist() == [[True, False, each] for each in (True, False, False, False)]


@pytest.mark.parametrize(
    ("share", "error"), [(1.0, ValueError), (0.0, ValueError), ("a", TypeError), (True, TypeError)]
)
def test_shares_are_checked_by_name(share, error):
    with pytest.raises(error, match=r"wrong_at_most of 'urgent' must be a number in \(0, 1\)"):
        shares_limited({"urgent": share}, ["calm", "urgent"], option="wrong_at_most")


def test_a_warning_says_when_no_score_is_high_enough(recwarn):
    # Above all of three rows the p-value is 1/4.
    passing = AlertLimit(known_of([0, 0, 0]), 0.25).passing(np.array([1.0, 1.0]))
    assert passing.all()
    assert not recwarn
    with pytest.warns(UserWarning, match="no row can be an alert of which at most a share of 0.2 is wrong.* 4 are"):
        passing = AlertLimit(known_of([0, 0, 0]), 0.2).passing(np.array([1.0, 1.0]))
    assert not passing.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", [0.3, -0.3, 700.0, -1e-3])
def test_scores_that_differ_in_their_last_digits_are_equal(score, dtype):
    known = WrongAlerts(np.array([-1e4, score, 1e4], dtype=dtype), np.array([1.0, 2 / 3, 1 / 3, 0.0]), 3.0)
    near = np.nextafter(np.array([score], dtype=dtype), np.array([np.inf, -np.inf], dtype=dtype))
    np.testing.assert_allclose(known.p_values(near), 0.75)
    apart = np.array([score], dtype=dtype) * (1.0 + 1e-3 * np.array([1.0, -1.0], dtype=dtype))
    np.testing.assert_allclose(np.sort(known.p_values(apart)), [0.5, 0.75])


def test_models_of_folds_that_differ_add_half_of_what_chance_does_not_explain():
    """At the score .5 one fold has all 40 of its rows above, the other one none."""
    score, folds = np.repeat([0.9, 0.1], 40), np.repeat([0, 1], 40)
    units = Units(np.zeros(80, dtype=bool), None, np.arange(80), np.ones(80, dtype=int), folds)
    known = WrongAlerts.of(score, np.ones(80, dtype=bool), units)
    assert known.margin[40] == pytest.approx(0.5 * np.sqrt(0.5 - 0.25 / 40))
    assert known.margin[[0, -1]].tolist() == [0.0, 0.0]
    same = WrongAlerts.of(np.tile(np.arange(40.0), 2), np.ones(80, dtype=bool), units)
    np.testing.assert_allclose(same.margin[::2], 0.0)


def test_the_share_of_wrong_rows_is_estimated_where_p_values_are_exact():
    known = WrongAlerts(np.arange(99.0), np.arange(99, -1, -1) / 99, 99.0)
    p = np.array([0.01, 0.02, 0.3, 0.6, 0.9, 0.1, 0.2, 0.05])
    assert known.share_of_wrong(p) == 1.0
    assert replace(known, exact=True).share_of_wrong(p) == 2 * 3 / 8
    score = np.array([98.5, 98.5, 95.5, 90.0, 20.0])
    assert AlertLimit(known, 0.1).passing(score).sum() == 3
    assert AlertLimit(replace(known, exact=True), 0.1).passing(score).sum() == 4


def test_a_sample_of_rows_claims_no_more_than_it_shows():
    known = WrongAlerts(np.arange(4.0), np.array([1.0, 0.5, 0.2, 0.1, 0.0]), 100.0)
    assert known.of_sample(100.0) is known
    sampled = known.of_sample(400.0)
    assert sampled.n_rows == 400.0
    np.testing.assert_allclose(sampled.shares, [1.0, 0.45, 0.16, 0.07, 0.0])
