"""The contract of engines: those that break it are found out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.distributed import Job, MemoryEngine, MemoryScores
from csf.testing import check_engine

BASES = [LogisticRegression(), LinearSVC(), DecisionTreeClassifier(max_depth=4, random_state=0)]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("n_parts", [1, 7])
def test_the_engine_in_memory_keeps_the_contract(base, n_parts):
    check_engine(lambda *data: MemoryEngine(*data, n_parts=n_parts), base)


class Unweighted(MemoryEngine):
    def totals(self):
        return MemoryEngine(self.X, self.is_pos, self.fold).totals()


class Leaky(MemoryEngine):
    def _trained(self, job):
        return super()._trained(Job(job.base, None, job.costs))


class Swapped(MemoryEngine):
    def _trained(self, job):
        return super()._trained(Job(job.base, job.fold, job.costs[::-1]))


class Careless(MemoryEngine):
    """Trains without the user's weights."""

    def _trained(self, job):
        weight, self.weight = self.weight, None
        trained = super()._trained(job)
        self.weight = weight
        return trained


class Drifting(MemoryEngine):
    """Its trainings depend on those before."""

    def _trained(self, job):
        self.times = getattr(self, "times", 0) + 1
        return super()._trained(Job(job.base, job.fold, (job.costs[0] * 1.3**self.times, job.costs[1])))


class Stuck(MemoryEngine):
    """Ends where it starts."""

    def _trained(self, job):
        trained = super()._trained(job)
        if job.starts:
            trained.model.coef_, trained.model.intercept_ = job.starts[0]
        return trained._replace(state=(trained.model.coef_, trained.model.intercept_))


class Rotated(MemoryEngine):
    def train(self, jobs):
        return super().train(jobs)[::-1]


class Everything(MemoryEngine):
    """Scores rows that are never held out too."""

    def scores(self, models):
        fold, self.fold = self.fold, np.maximum(self.fold, 0)
        scores = super().scores(models)
        self.fold = fold
        return scores


class Right(MemoryScores):
    """Edges belong to the bin before them."""

    def counts(self, edges):
        return super().counts(np.nextafter(edges, np.inf))


class Forgetful(MemoryScores):
    def distinct(self, low, high):
        self.parts, parts = self.parts[:1], self.parts
        found = super().distinct(low, high)
        self.parts = parts
        return found


class WrongEdges(MemoryEngine):
    def scores(self, models):
        known = super().scores(models)
        return Right(known.parts, self.n_folds, known.own_cut)


class PartOfIt(MemoryEngine):
    def scores(self, models):
        known = super().scores(models)
        return Forgetful(known.parts, self.n_folds, known.own_cut)


class Shuffled(MemoryEngine):
    """Its entries are in another order than its scores."""

    def entries(self):
        known = super().entries()
        return known._replace(is_pos=known.is_pos[::-1])


class Restless(MemoryEngine):
    """Gives the scores of each trial in another order."""

    def scores(self, models):
        known = super().scores(models)
        self.turned = not getattr(self, "turned", True)
        return MemoryScores(known.parts[:: -1 if self.turned else 1], self.n_folds, known.own_cut)


class Far(MemoryEngine):
    """Keeps its scores where they are."""

    def entries(self):
        return None


def test_scores_may_stay_where_they_are():
    check_engine(Far, LogisticRegression())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Unweighted, "totals"),
        (Leaky, "changes with the labels that the fold holds out"),
        (Swapped, "costs are ignored or swapped"),
        (Careless, "weights must count"),
        (Drifting, "must not depend on what else is trained"),
        (Stuck, "from another start"),
        (Rotated, "must not depend on what else is trained"),
        (Everything, "must count all rows of each fold"),
        (WrongEdges, "counts must hold in bin"),
        (lambda *data: PartOfIt(*data, n_parts=3), "must count all rows of each fold"),
        (Shuffled, "in the order of entries"),
        (lambda *data: Restless(*data, n_parts=3), "in the order of entries"),
    ],
)
def test_engines_that_break_it_are_found_out(make, message):
    with pytest.raises(AssertionError, match=message):
        check_engine(make, LogisticRegression())
