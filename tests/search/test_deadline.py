"""The moment by which a search has to be over."""

import pytest

from csf.search.loop import Deadline


def clock_of(*times):
    each = iter(times)
    return lambda: next(each)


def test_it_leaves_time_for_another_trial_and_the_last_training():
    # Trials of 2 s; folds of 1 s, so the last training takes 1.5 s: 6 + 2 + 1.5 is too late.
    deadline = Deadline(9.0, clock=clock_of(0, 2, 4, 6))
    assert [deadline.passes([1.0, 0.5]) for _ in range(3)] == [False, False, True]


def test_the_slowest_training_counts_even_if_later_ones_are_quick():
    deadline = Deadline(10.0, clock=clock_of(0, 1, 2))
    assert not deadline.passes([4.0])
    assert Deadline(8.0, clock=clock_of(0, 1, 2)).passes([4.9])
    assert not deadline.passes([0.1])


def test_what_was_prepared_before_the_trials_is_no_measure_of_them():
    deadline = Deadline(10.0, clock=clock_of(0, 5, 6))
    deadline.begin()
    assert not deadline.passes([0.5])
    assert Deadline(10.0, clock=clock_of(0, 6)).passes([0.5])


@pytest.mark.parametrize("folds", [[], [0.0]])
def test_trials_without_times_take_none(folds):
    assert not Deadline(1.0, clock=clock_of(0, 0.1)).passes(folds)
