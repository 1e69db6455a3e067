"""The mean of the models of all folds in the place of one that is trained on everything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from csf._common.typing import Array, Costs, Estimator
from csf.data.responses import respond
from csf.search.outcome import curve_of
from csf.search.stable_choice import stable_choice
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf.data.folds import Fold
    from csf.search.outcome import SearchOutcome
    from csf.search.plan import Plan
    from csf.trainers.base import Trainer

__all__ = ["fold_mean"]


def fold_mean(found: SearchOutcome, plan: Plan) -> tuple[SearchOutcome, VotingClassifier]:
    """The outcome with the threshold of the winner's mean over folds, and that mean.

    A held-out sample is scored by the models that have not seen it, one for each repeat of the folds: the mean of these
    takes the place of the winner's scores, so that threshold, value and what is computed from them are its own.
    """
    # Nothing is read off earlier trainings here, so each is of the winner's own parameters.
    trainers = replace(plan.setup, prepared=Prepared()).trainers(plan.bases[found.winner.setting], plan.folds)
    threads = all(trainer.releases_gil for trainer in trainers)
    told: Any = Parallel(n_jobs=found.config.n_jobs, prefer="threads" if threads else None)(
        delayed(_trained)(trainer, fold, found.winner.costs) for trainer, fold in zip(trainers, plan.folds)
    )
    models, scores = zip(*told)
    return _moved(found, np.concatenate(scores)), _mean_of(list(models))


def _trained(trainer: Trainer, fold: Fold, costs: Costs) -> tuple[Estimator, Array]:
    model = trainer.estimator(trainer.fit(costs))
    score = respond(model, fold.X_test, 0, tune=True, methods=("predict_proba",)).score
    assert score is not None, "it was asked for"
    return model, score


def _mean_of(models: list[Estimator]) -> VotingClassifier:
    """Fitted classifier of scikit-learn, which predicts where nothing else is installed than the models need."""
    mean = VotingClassifier([(f"fold{at}", model) for at, model in enumerate(models)], voting="soft")
    mean.estimators_, mean.le_ = models, LabelEncoder().fit(models[0].classes_)
    mean.classes_, mean.named_estimators_ = mean.le_.classes_, Bunch(**dict(mean.estimators))
    if hasattr(models[0], "feature_names_in_"):
        mean.feature_names_in_ = models[0].feature_names_in_
    return mean


def _moved(found: SearchOutcome, scores: Array) -> SearchOutcome:
    """The outcome whose winner has the mean of the scores of each sample."""
    store, metric = found.store, found.metric
    assert store is not None, "a search in memory has one"
    times = np.bincount(store.samples)
    mean = (np.bincount(store.samples, scores) / np.maximum(times, 1))[store.samples]
    row = replace(found.row, score=mean)
    best = curve_of(store, row).best(metric, metric.constraint)
    store.put(replace(row, threshold=best.threshold, value=best.value))
    threshold, profile = best.threshold, best.profile
    if found.config.threshold == "stable" and (cut := stable_choice(store, metric, among=found.key)) is not None:
        threshold, profile = cut.threshold, cut.profile
    value, constraint = metric.of(profile), metric.constraint
    store.put(replace(row, threshold=threshold, value=value))
    rate = None if constraint is None else constraint.quantity.of(profile)
    return replace(found, threshold=threshold, score=value, feasible=best.feasible, constraint_value=rate)
