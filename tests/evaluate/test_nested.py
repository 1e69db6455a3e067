"""The choice of a search made again on parts: the rows and cuts that draws of a part speak for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.evaluate import Assessment, Chooser, Resampling, ScoreStore, assess, mean_assessment
from csf.evaluate.choices import best_on_average, choose_on_parts
from csf.metrics import FBeta, get_metric
from csf.search.selection import stable_choice
from csf.thresholding import sweep

IS_POS = np.arange(300) < 60


def store_of(distances, *, equal_costs=(0,), seed=0):
    rng, store = np.random.default_rng(seed), ScoreStore(IS_POS)
    for number, distance in enumerate(distances):
        score = rng.normal(size=IS_POS.size) + distance * IS_POS
        best = sweep(IS_POS, score).best("f1")
        store.add(
            (0, number), score=score, threshold=best.threshold, value=best.value, equal_costs=number in equal_costs
        )
    return store


def chosen(store, chooser, metric="f1", counts=None):
    sampled = Resampling(store, metric)
    counts = sampled.units.copies[:, None].astype(np.uint8) if counts is None else counts
    rivals = chooser.rivals(sampled.rows)
    seeds = [(0, part) for part in range(counts.shape[1])]
    found = choose_on_parts(sampled.units, sampled.coded, sampled.metric, chooser, rivals, counts, seeds)
    rows, cuts = found.places.tolist(), found.cuts.tolist()
    return rows, [np.nan if row < 0 else sampled.coded[row].thresholds[cut] for row, cut in zip(rows, cuts)]


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_on_all_samples_it_is_the_choice_of_the_search(metric):
    store = store_of([1.0, 2.5, 1.5])
    found = stable_choice(store, get_metric(metric))
    (row,), (threshold,) = chosen(store, Chooser(0.0), metric)
    assert row == found.key[1] == 1
    # Other draws, and cuts at candidates alone: nearly the same samples are found.
    score = store[0, 1].score
    assert np.count_nonzero((score >= threshold) != (score >= found.threshold)) <= 9


def test_a_margin_keeps_equal_costs():
    store = store_of([1.5, 1.6])
    best = max(store, key=lambda row: row.value).key[1]
    assert chosen(store, Chooser(5.0))[0] == [0]
    assert chosen(store, Chooser())[0] == [best]
    assert best_on_average(np.array([[0.4, 0.5], [0.5, 0.7]]), [True, False], 1.0) == 1


def test_a_margin_over_one_setting_is_that_on_parts_too():
    """Fewer rounds of boosters, all at equal costs, have to gain over the base's own."""
    rng, store = np.random.default_rng(0), ScoreStore(IS_POS)
    for setting, distance in enumerate([1.0, 1.6]):
        score = rng.normal(size=IS_POS.size) + distance * IS_POS
        best = sweep(IS_POS, score).best("f1")
        store.add((setting, 0), score=score, threshold=best.threshold, value=best.value, equal_costs=True)
    alone = ScoreStore(IS_POS)
    alone.put(store[0, 0])
    metric, own = get_metric("f1"), Chooser(50.0, base_setting=0)
    assert stable_choice(store, metric, chooser=own).key == (0, 0)
    assert stable_choice(store, metric, chooser=Chooser(50.0)).key == (1, 0)
    kept, free = (Resampling(store, metric, chooser=chooser).corrected_score for chooser in (own, Chooser(50.0)))
    assert kept == Resampling(alone, metric, chooser=own).corrected_score < free


def test_a_part_without_a_class_has_no_choice():
    counts = np.column_stack([IS_POS, ~IS_POS, np.ones(300)]).astype(np.uint8)
    order = np.zeros((300, 3), dtype=np.uint8)
    store = store_of([1.5])
    units = Resampling(store, "f1").units
    order[:] = counts[np.argsort(~IS_POS, kind="stable")] if units.is_pos[0] else counts[np.argsort(IS_POS)]
    rows, _ = chosen(store, Chooser(0.0), counts=order)
    assert rows[:2] == [-1, -1]
    assert rows[2] == 0


def test_decisions_have_no_cuts_to_average():
    store = ScoreStore(IS_POS)
    store.add((0, 0), decided=IS_POS | (np.arange(300) % 7 == 0), value=0.8)
    assert Resampling(store, "f1", chooser=Chooser(0.0)).corrected_score == Resampling(store, "f1").corrected_score


def test_more_partitions_than_these_would_move_the_score_by_its_error():
    store = store_of([1.5, 1.6, 1.4])
    found = [assess(store, "f1", (0, 0), random_state=seed, chooser=Chooser(0.0)) for seed in range(12)]
    spread = np.std([each.corrected_score for each in found], ddof=1)
    error = np.mean([each.monte_carlo_error for each in found])
    assert 0.0005 < error < 0.01
    assert 0.4 < spread / error < 2.0
    assert mean_assessment(found[:1]).monte_carlo_error == found[0].monte_carlo_error


def test_the_stable_choice_is_judged_no_worse_than_it_is():
    told = []
    for seed in range(10):
        store = store_of([1.5] * 4, seed=seed)
        choice = stable_choice(store, FBeta())
        rng = np.random.default_rng([seed, 1])
        y = np.arange(10_000) < 2000
        truth = FBeta().of(sweep(y, rng.normal(size=y.size) + 1.5 * y).at(choice.threshold))
        told.append(assess(store, "f1", choice.key, chooser=Chooser(0.0)).corrected_score - truth)
    assert abs(np.mean(told)) < 3 * np.std(told) / np.sqrt(len(told))


def test_a_model_that_was_fitted_to_other_samples_has_a_smaller_error():
    store = store_of([1.5])
    trained, fixed = (assess(store, "f1", (0, 0), trained=trained) for trained in (True, False))
    assert trained.errors == pytest.approx(trained.spread * fixed.errors)
    assert trained.spread > fixed.spread == 1.0
    assert mean_assessment([trained]).score_interval == trained.score_interval
    assert mean_assessment([fixed]).score_interval == fixed.score_interval


@given(
    middle=st.floats(0.0, 1.0),
    errors=st.lists(st.floats(-0.7, 0.7), min_size=1, max_size=30),
    ends=st.tuples(st.floats(0.0, 0.4), st.floats(0.6, 1.0)),
)
def test_an_interval_holds_the_score_and_nothing_impossible(middle, errors, ends):
    low, high = Assessment(middle, np.array(errors), (np.nan, np.nan), ends).score_interval
    assert low <= middle <= high
    assert min(ends[0], middle) <= low
    assert high <= max(ends[1], middle)
