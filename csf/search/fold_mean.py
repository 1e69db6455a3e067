"""The mean of the models of all folds, as the classifier of a search with ``refit="folds"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from csf.data.folds import pool_held_out

if TYPE_CHECKING:
    from csf._common.typing import Array, Costs, Estimator
    from csf.data.folds import Fold
    from csf.search.problems.results import SearchResult
    from csf.search.training import SearchedProblem
    from csf.thresholding.base import DecisionRule
    from csf.trainers.base import Trainer


def average_folds(
    trainers: Sequence[Trainer], folds: list[Fold], problem: SearchedProblem, result: SearchResult
) -> tuple[SearchResult, DecisionRule]:
    """Train the winner on all folds; return the result and the rule of the mean of these models.

    A held-out sample is scored by the models that were not trained on it, one for each repeat of the folds: these
    scores are averaged.
    """
    winner = result.winner
    threads = all(trainer.releases_gil for trainer in trainers)
    trained: Estimator = Parallel(n_jobs=result.config.n_jobs, prefer="threads" if threads else None)(
        delayed(_trained)(problem, trainer, fold, winner.costs) for trainer, fold in zip(trainers, folds)
    )
    models, scores = zip(*trained)
    result = problem.with_mean_scores(result, _mean_by_sample(np.concatenate(scores), folds), folds)
    several = isinstance(models[0], list)
    return result, problem.rule_of(
        result, [mean_model(of_label) for of_label in zip(*models)] if several else mean_model(models)
    )


def _trained(problem: SearchedProblem, trainer: Trainer, fold: Fold, costs: Costs) -> tuple[Estimator, Array]:
    model = trainer.fitted(costs)
    return model, problem.held_out_scores(model, fold)


def _mean_by_sample(score: Array, folds: list[Fold]) -> Array:
    """Average the scores of each sample, and return the mean for each of its entries."""
    samples = pool_held_out(folds)[2]
    # Of several labels a sample has as many entries, and one row of scores.
    samples = samples[:: samples.size // len(score)]
    sums, times = np.zeros((samples.max() + 1, *score.shape[1:])), np.bincount(samples)
    np.add.at(sums, samples, score)
    return sums[samples] / times[samples].reshape(-1, *[1] * (score.ndim - 1))


def mean_model(models: tuple[Estimator, ...]) -> VotingClassifier:
    """Combine models in a fitted classifier of scikit-learn, which predicts with only the models' libraries."""
    known = [np.asarray(model.classes_).tolist() for model in models]
    if any(classes != known[0] for classes in known):
        raise ValueError(
            f"refit='folds' averages models of the same classes, but these know {known[0]} and others; use fewer folds "
            "or refit=True"
        )
    mean = VotingClassifier([(f"fold{number}", model) for number, model in enumerate(models)], voting="soft")
    # The order of the models' own classes is that of their columns.
    mean.estimators_, mean.le_, mean.classes_ = list(models), LabelEncoder(), np.asarray(models[0].classes_)
    mean.le_.classes_, mean.named_estimators_ = mean.classes_, Bunch(**dict(mean.estimators))
    if hasattr(models[0], "feature_names_in_"):
        mean.feature_names_in_ = models[0].feature_names_in_
    return mean
