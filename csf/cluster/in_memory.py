"""The shortest engine: everything in memory, and clones of the base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Array, Estimator, IntArray, Samples
from csf.cluster.engine import MOST_COLLECTED, Engine, FoldTotals, Job
from csf.cluster.scored import MemoryScores, PartScores
from csf.data.costs import cost_sample_weight
from csf.data.responses import above, natural_threshold, positive_score
from csf.trainers.base import Training

__all__ = ["MemoryEngine"]


class MemoryEngine(Engine):
    """Data in memory with fold numbers, for tests and as an example of an engine.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        1 for the positive class and 0 for the other.
    fold : ndarray of int, shape (n_samples,)
        Fold of each sample; -1 for those that are never held out.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    n_parts : int, default=1
        Scores are counted in so many parts.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(200, random_state=0)
    >>> engine = MemoryEngine(X, y, np.arange(200) % 2)
    >>> engine.totals().weight.tolist()
    [[52.0, 48.0], [48.0, 52.0], [0.0, 0.0]]
    >>> models = [training.model for training in engine.train([Job(LogisticRegression(), k, (1, 1)) for k in (0, 1)])]
    >>> engine.scores(models).counts(np.array([0.0])).rows.tolist()
    [103, 97]
    """

    def __init__(
        self, X: Samples, y: Array, fold: IntArray, sample_weight: Array | None = None, *, n_parts: int = 1
    ) -> None:
        self.X, self.is_pos, self.fold, self.weight = X, np.asarray(y) > 0, np.asarray(fold), sample_weight
        self.n_parts, self.n_folds = n_parts, int(self.fold.max()) + 1
        self.identity = (np.asarray(X), self.is_pos, self.fold, sample_weight)

    def totals(self) -> FoldTotals:
        """See `Engine.totals`."""
        weight = np.ones(self.fold.size) if self.weight is None else self.weight
        totals = np.zeros((self.n_folds + 1, 2))
        np.add.at(totals, (self.fold, self.is_pos.astype(int)), weight)
        return FoldTotals(totals, np.bincount(self.fold % (self.n_folds + 1), minlength=self.n_folds + 1))

    def entries(self) -> PartScores | None:
        """See `Engine.entries`."""
        at = np.flatnonzero(self.fold >= 0)
        weight = None if self.weight is None else self.weight[at]
        return (
            None if at.size > MOST_COLLECTED else PartScores(np.zeros(at.size), self.is_pos[at], weight, self.fold[at])
        )

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        return [self._trained(job) for job in jobs]

    def _trained(self, job: Job) -> Training | Exception:
        at = np.flatnonzero(self.fold != job.fold) if job.fold is not None else np.arange(self.fold.size)
        given = None if self.weight is None else self.weight[at]
        weight = cost_sample_weight(self.is_pos[at], job.costs, sample_weight=given)
        try:
            return Training(clone(job.base).fit(self.X[at], self.is_pos[at].astype(int), sample_weight=weight))
        except Exception as error:
            return error

    def scores(self, models: Sequence[Estimator]) -> MemoryScores:
        """See `Engine.scores`."""
        score, held_out = np.zeros(self.fold.size), np.flatnonzero(self.fold >= 0)
        for fold, model in enumerate(models):
            at = np.flatnonzero(self.fold == fold)
            score[at] = positive_score(model, self.X[at], 1)
        # A classifier of this kind predicts the positive class above its natural threshold, not at it.
        own_cut = above(natural_threshold(models[0]))
        parts = [
            PartScores(score[at], self.is_pos[at], None if self.weight is None else self.weight[at], self.fold[at])
            for at in np.array_split(held_out, self.n_parts)
        ]
        return MemoryScores(parts, self.n_folds, own_cut)
