"""Trained models of one split, shared by all methods."""

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.costs import weight_route
from csf.evaluation import bound_share, make_folds, pooled_outcome, run_fold
from csf.responses import natural_threshold, positive_score
from csf.trainers import GenericTrainer

__all__ = ["BASES", "Base", "Bench", "Lab", "Trained"]

# What the bounds and strategies read of a trial.
_GUIDES = ("profile", "value", "attained", "hull")


@dataclass(frozen=True)
class Base:
    """A learner that methods may use.

    Parameters
    ----------
    estimator : estimator
        Unfitted classifier.
    penalties : bool, default=True
        Whether it has a ``C`` to choose.
    guided_by_protocol : bool, default=True
        Whether strategies are guided by the data of the protocol; otherwise by the held-out data, which is the only
        sensible way for learners that fit their training data perfectly.
    sparse : bool, default=True
        Whether it takes sparse samples.
    """

    estimator: object
    penalties: bool = True
    guided_by_protocol: bool = True
    sparse: bool = True


# LIBLINEAR adds a constant feature of 1 for the intercept to all linear ones, as the paper does.
BASES = {
    "hinge": Base(LinearSVC(loss="hinge", max_iter=50_000, random_state=0)),
    "svc": Base(LinearSVC(dual=False), guided_by_protocol=False),
    "logistic": Base(LogisticRegression(solver="liblinear")),
    "boosting": Base(
        HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0),
        penalties=False,
        guided_by_protocol=False,
        sparse=False,
    ),
}


@dataclass(frozen=True, eq=False)
class Trained:
    """What one training with given costs showed on the held-out data.

    Parameters
    ----------
    own, tuned : dict
        Fields of a `Trial` for the learner's own decision and for the best threshold; guided by the held-out data.
    guides : dict or None
        The fields that guide strategies, on the training data, where the protocol wants those.
    score : ndarray of shape (n_held_out,)
        Held-out scores, fold after fold.
    seconds : float
        Wall time.
    """

    own: dict
    tuned: dict
    guides: dict | None
    score: np.ndarray
    seconds: float

    def fields(self, *, tune):
        """Fields of a `Trial`.

        Parameters
        ----------
        tune : bool
            Whether the threshold is tuned.

        Returns
        -------
        dict
            For `Study.record`.
        """
        return (self.tuned if tune else self.own) | (self.guides or {})


@contextmanager
def _patient():
    """LIBLINEAR's hinge loss stops after 50 000 passes, as in the paper, and need not say so each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


class Bench:
    """Trainings of one base on one split; each is made once, whatever methods ask for it.

    Parameters
    ----------
    base : Base
        The learner.
    split : Split
        The data.
    metric : Metric
        What is maximised.
    protocol : Protocol
        Penalties, and what guides strategies.

    Attributes
    ----------
    settings : list of dict
        Parameters of the base to choose from.
    pos : float
        Share of positives in the data that guides strategies.
    is_pos : ndarray of bool, shape (n_held_out,)
        Truth of the held-out samples, fold after fold.
    folds : list of Fold
        One training each.
    refit : bool
        Whether the model that is tested is one more training.
    """

    def __init__(self, base, split, metric, protocol):
        self.split, self.metric = split, metric
        self.settings = [{"C": C} for C in protocol.C] if base.penalties else [{}]
        self.bases = [clone(base.estimator).set_params(**setting) for setting in self.settings]
        self.on_train = base.guided_by_protocol and protocol.guided_by == "train"
        self.folds = make_folds(split.X, split.y, None, split.folds)
        self.pos = bound_share(self.folds, on_train=self.on_train)
        self.is_pos = np.concatenate([fold.y_test for fold in self.folds]) == 1
        self.refit = protocol.refit
        prepare = partial(GenericTrainer, route=weight_route(base.estimator))
        self._trainers = [[prepare(b, *fold.training_part) for fold in self.folds] for b in self.bases]
        # Without a refit, the model that is tested is the one that was judged.
        whole = (split.X, split.y, None, {}) if protocol.refit else self.folds[0].training_part
        self._final = [prepare(b, *whole) for b in self.bases]
        self._trained, self._tested = {}, {}

    @_patient()
    def trained(self, setting, costs):
        """Train with given costs on all folds, or recall it.

        Parameters
        ----------
        setting : int
            Index into ``settings``.
        costs : tuple of float
            ``(c_fn, c_fp)``.

        Returns
        -------
        Trained
            What the held-out data say.
        """
        key = setting, *(round(float(cost), 12) for cost in costs)
        if key not in self._trained:
            start = time.perf_counter()
            options = {"tune": True, "on_train": self.on_train, "raise_errors": True}
            results = [
                run_fold(trainer, fold, costs, **options) for trainer, fold in zip(self._trainers[setting], self.folds)
            ]
            held_out = [replace(result, train_outcome=None) for result in results]
            own, tuned = (pooled_outcome(self.metric, self.folds, held_out, tune=tune) for tune in (False, True))
            guides = None
            if self.on_train:
                fields = pooled_outcome(self.metric, self.folds, results, tune=False)
                guides = {name: fields[name] for name in _GUIDES}
            score = np.concatenate([result.score for result in results])
            self._trained[key] = Trained(own, tuned, guides, score, time.perf_counter() - start)
        return self._trained[key]

    @_patient()
    def tested(self, setting, costs):
        """Test scores of the model with given costs, and the seconds that its last training took.

        Parameters
        ----------
        setting : int
            Index into ``settings``.
        costs : tuple of float
            ``(c_fn, c_fp)``.

        Returns
        -------
        score : ndarray of shape (n_test,)
            Scores of the test samples; the learner's own decision is a score above `natural_threshold`.
        seconds : float
            Wall time of training and scoring.
        """
        key = setting, *(round(float(cost), 12) for cost in costs)
        if key not in self._tested:
            start = time.perf_counter()
            model = self._final[setting].fit(costs)
            score = positive_score(model, self.split.X_test, 1)
            self._tested[key] = score, time.perf_counter() - start
        return self._tested[key]

    @property
    def natural_threshold(self):
        """Score above which the base predicts positive by itself."""
        return natural_threshold(self.bases[0])


class Lab:
    """All benches of one split, made when they are first used.

    Parameters
    ----------
    split : Split
        The data.
    metric : Metric
        What is maximised.
    protocol : Protocol
        The rules.
    """

    def __init__(self, split, metric, protocol):
        self.split, self.metric, self.protocol = split, metric, protocol
        self._benches = {}

    def bench(self, name):
        """Bench of a base.

        Parameters
        ----------
        name : str
            A key of ``BASES``.

        Returns
        -------
        Bench
            Shared by all methods.
        """
        if name not in self._benches:
            self._benches[name] = Bench(BASES[name], self.split, self.metric, self.protocol)
        return self._benches[name]
