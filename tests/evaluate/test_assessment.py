"""The choice of a winner, made again on parts of the samples, and the assessment of it."""

import numpy as np
import pytest

from csf.evaluate import Candidate, assess, mean_assessment
from csf.evaluate.assessment import SPREAD, CandidateChoice
from csf.evaluate.draws import Units
from tests.evaluate.test_resampling import store_of


def test_mean_of_assessments():
    parts = [assess(store_of(seed=seed), "f1", (0, 0)) for seed in range(2)]
    both = mean_assessment(parts)
    assert both.corrected_score == pytest.approx(np.mean([part.corrected_score for part in parts]))
    width = np.diff(both.score_interval)[0]
    assert width < max(np.diff(part.score_interval)[0] for part in parts)
    alone = mean_assessment(parts[:1])
    assert alone.score_interval == parts[0].score_interval


class Longest(CandidateChoice):
    """Two numbers for each of six samples; the candidate with the larger mean wins, and its mean is the value."""

    random_state, value_range = 3, (0.0, 10.0)
    numbers = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 0.0]])

    def __init__(self, unit=1.0):
        self.unit, self.asked = unit, []

    @property
    def units(self):
        return Units(np.zeros(6, dtype=int), None, np.arange(6), np.ones(6, dtype=int))

    def choose(self, counts):
        return Candidate((0, int(np.argmax(self.numbers @ counts))), "mean")

    def outside(self, candidate, counts):
        self.asked.append((candidate, counts))
        rest = 1 - counts
        return np.array([self.numbers[candidate.key[1]] @ rest, rest.sum()])

    def value(self, sums):
        return float(sums[0] / sums[1])

    def errors(self, winner):
        return np.array([-1.0, 0.0, 1.0])


def test_a_choice_is_made_on_two_thirds_and_judged_on_the_rest():
    choice = Longest()
    assessment = choice.assess(Candidate((0, 0), "mean"))
    assert {counts.sum() for _, counts in choice.asked} == {4}
    judged = [choice.outside(choice.choose(counts), counts) for _, counts in choice.asked.copy()]
    value, weight = np.sum(judged, axis=0)
    assert assessment.corrected_score == pytest.approx(value / weight)
    # The first candidate has the larger mean, 3.5, and is not chosen on all parts.
    assert {candidate.key for candidate, _ in choice.asked} == {(0, 0), (0, 1)}
    assert assessment.corrected_score < 3.5
    assert np.isnan(assessment.threshold_interval).all()


@pytest.mark.parametrize(("trained", "spread"), [(True, SPREAD), (False, 1.0)])
def test_errors_of_a_model_that_was_trained_on_the_samples_are_larger(trained, spread):
    assessment = Longest().assess(Candidate((0, 0), "mean"), trained=trained)
    assert assessment.spread == spread
    assert assessment.errors.tolist() == [-spread, 0.0, spread]


def test_the_unit_of_a_value_says_how_many_partitions_are_needed_and_nothing_else():
    fine, coarse = Longest(), Longest(unit=1e6)
    winner = Candidate((0, 0), "mean")
    assert len(coarse.left_out.sums) < len(fine.left_out.sums)
    assert coarse.assess(winner).corrected_score == pytest.approx(coarse.unit * coarse.left_out.corrected_score)
    assert coarse.corrected_score == pytest.approx(fine.corrected_score, abs=1.0)
