"""The methods that are compared: one line each in ``METHODS``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV

from csf._common.typing import Array, BoolArray, Estimator, IntArray, Samples
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import best_trial
from csf.search.study import Study
from csf.search.training import lost_samples
from csf.strategies import EqualCostsFirst, Grid, ImbalanceRatio, Proposal, Strategy, get_strategy
from csf.thresholding import bisection, sweep_several
from notebooks.experiments.cost_account import CostAccount
from notebooks.experiments.training_cache import BASES

if TYPE_CHECKING:
    from csf.metrics.base import LinearFractional, Metric
    from csf.metrics.trials import Trial
    from csf.thresholding.curve import Cut
    from notebooks.experiments.training_cache import Base, SplitContext, TrainingCache


__all__ = [
    "DEFAULT",
    "METHODS",
    "REFERENCE",
    "CostAccount",
    "Method",
    "Neutral",
    "EqualCostsFirst",
    "PlugInBisection",
    "Result",
    "Search",
    "TunedThreshold",
]


@dataclass(frozen=True)
class Result:
    """What a method gave on one split."""

    value: float
    # Errors on the test part, as shares of all its samples.
    fn: float
    fp: float
    pos: float
    chosen_value: float  # on the held-out data by which it chose
    # What it needs by itself: trainings shared with other methods count in full.
    fits: int
    seconds: float
    C: float | None = None
    t: float | None = None
    threshold: float | None = None


class Neutral(Strategy):
    """One training with equal costs."""

    def __repr__(self) -> str:
        return "Neutral()"

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Equal costs, once, see `Strategy.propose`."""
        return None if trials else Proposal(None, 1.0, 1.0)


class Method:
    """What all methods have: a ``base`` and a way to run."""

    base: str
    serves_several: bool = True  # more than two classes

    @property
    def learner(self) -> Base:
        """The learner of that name."""
        return BASES[self.base]

    @property
    def is_linear(self) -> bool:
        """Whether the models are linear in the features."""
        return self.learner.penalties


@dataclass(frozen=True)
class Search(Method):
    """A search over costs and penalties, with or without the threshold."""

    base: str
    strategy: str | Strategy
    tune: bool = True
    n_trials: int | None = None  # for each penalty; None takes the number of the protocol
    n_repeats: int = 1  # of the folds whose held-out predictions are pooled, see `Split.repeated`

    def run(self, context: SplitContext) -> Result:
        """Search, and judge the winner on the test part."""
        cache, account = context.cache(self.base, self.n_repeats), CostAccount()
        trials = [trial for study in self.studies(context, account) for trial in study.trials]
        winner = self.winner(cache, trials)
        threshold = self._cut(cache, winner)
        assert winner.score is not None  # trainings that fail raise
        score, lost = account.tested(cache, winner.setting, winner.costs)
        return judged(
            context, (score >= threshold) & ~lost, winner.score, account, cache, winner.setting, winner.t, threshold
        )

    def studies(self, context: SplitContext, account: CostAccount) -> list[Study]:
        """One finished study for each penalty."""
        cache, studies = context.cache(self.base, self.n_repeats), []
        n_trials = self.n_trials or context.protocol.n_trials
        for setting in range(len(cache.settings)):
            study = Study(context.metric, get_strategy(self.strategy), pos=cache.pos, n_trials=n_trials)
            while (trial := study.ask()) is not None:
                trained = account.trained(cache, setting, trial.costs)
                study.record(trial, setting=setting, **trained.fields(tune=self.tune))
            studies.append(study)
        return studies

    def winner(self, cache: TrainingCache, trials: list[Trial]) -> Trial:
        """The trial that is chosen."""
        best = best_trial(trials)
        assert best is not None  # trials of this cache never fail
        return best

    def _cut(self, cache: TrainingCache, trial: Trial) -> float:
        """Score from which on a trial finds something."""
        if not self.tune:
            return np.nextafter(cache.natural_threshold, np.inf)
        assert trial.threshold is not None  # the threshold of a complete trial was tuned
        return trial.threshold


@dataclass(frozen=True)
class PlugInBisection(Method):
    """Narasimhan et al.'s bisection on the probabilities of one model; the penalty is chosen by its result."""

    # Of several classes, the most probable one is found where its odds against the null class are large enough.
    base: str = "logistic"

    def run(self, context: SplitContext) -> Result:
        """Choose penalty and threshold, see `Search.run`."""
        cache, account = context.cache(self.base), CostAccount()
        split = cache.split
        cut, setting, model = max(self._settings(context, cache, account), key=lambda found: found[0].value)
        odds, lost = _log_odds(model, split.X_test, split.y_test)
        decided = (expit(odds) >= cut.threshold) & ~lost
        return judged(context, decided, cut.value, account, cache, setting, None, float(logit(cut.threshold)))

    def _settings(
        self, context: SplitContext, cache: TrainingCache, account: CostAccount
    ) -> Iterator[tuple[Cut, int, Estimator]]:
        """Best cut of each setting, and the model that would be tested."""
        for setting in range(len(cache.settings)):
            account.trained(cache, setting, (1.0, 1.0))
            *models, last = cache.models(setting)
            account.fits += int(cache.refit)
            parts = [_log_odds(model, fold.X_test, fold.y_test) for model, fold in zip(models, cache.folds)]
            odds, lost = (np.concatenate(part) for part in zip(*parts))
            metric = cast("LinearFractional", context.metric)  # all others are refused
            yield bisection(sweep_several(cache.is_pos, lost, expit(odds)), metric).cut, setting, last


def _log_odds(model: Estimator, X: Samples, y: IntArray) -> tuple[Array, BoolArray]:
    """Log-odds of the most probable class but the null class against that one; and which samples are lost."""
    with np.errstate(divide="ignore"):
        log_proba = np.log(model.predict_proba(X))
    best = 1 + log_proba[:, 1:].argmax(axis=1)
    odds = log_proba[np.arange(best.size), best] - log_proba[:, 0]
    return np.nan_to_num(odds, nan=0.0), lost_samples(y, model.classes_[best])


@dataclass(frozen=True)
class TunedThreshold(Method):
    """The ``TunedThresholdClassifierCV`` of scikit-learn, 100 thresholds; the penalty is chosen by its score."""

    base: str
    serves_several = False

    def run(self, context: SplitContext) -> Result:
        """Choose penalty and threshold, see `Search.run`."""
        cache, account = context.cache(self.base), CostAccount()
        split = cache.split
        options: dict[str, Any] = {"cv": split.folds, "refit": cache.refit}
        options["scoring"] = make_scorer(context.metric.score, pos_label=1)

        def tuned(base: Estimator) -> Estimator:
            account.fits += len(cache.folds) + int(cache.refit)
            return TunedThresholdClassifierCV(base, **options).fit(split.X, split.y)

        models = ((tuned(base), setting) for setting, base in enumerate(cache.bases))
        model, setting = max(models, key=lambda found: found[0].best_score_)
        decided = model.predict(split.X_test) == 1
        return judged(context, decided, model.best_score_, account, cache, setting, None, float(model.best_threshold_))


def judged(
    context: SplitContext,
    decided: BoolArray,
    chosen_value: float,
    account: CostAccount,
    cache: TrainingCache,
    setting: int,
    t: float | None,
    threshold: float,
) -> Result:
    """Result of what is rightly or wrongly found in the test part."""
    profile = ErrorProfile.from_masks(context.split.y_test > 0, decided)
    return Result(
        value=context.metric.of(profile),
        fn=profile.fn,
        fp=profile.fp,
        pos=profile.pos,
        chosen_value=float(chosen_value),
        fits=account.fits,
        seconds=account.seconds,
        C=cache.settings[setting].get("C"),
        t=t,
        threshold=float(threshold),
    )


# Many levels at equal distances on many repeats: one configuration for all data sets.
DEFAULT = Search("svc", EqualCostsFirst(Grid()), n_trials=11, n_repeats=5)

METHODS = {
    "SVM": Search("hinge", Neutral(), tune=False),
    "SVM-IR": Search("hinge", ImbalanceRatio(), tune=False),
    "SVM-grid": Search("hinge", "grid", tune=False),
    "SVM-CONE": Search("hinge", "cone", tune=False),
    "SVM-CONE+T": Search("hinge", "cone"),
    "SVM-support+T": Search("hinge", "support"),
    "LR+T": Search("logistic", Neutral()),
    "LR-IR+T": Search("logistic", ImbalanceRatio()),
    "LR-grid+T": Search("logistic", "grid"),
    "LR-bisection": PlugInBisection(),
    "pooled-threshold": Search("svc", Neutral()),
    "TunedThreshold": TunedThreshold("svc"),
    "csf": DEFAULT,
    "boosting+T": Search("boosting", Neutral()),
    "boosting-csf": Search("boosting", EqualCostsFirst(Grid()), n_trials=6),
}
# What all differences are taken to: one score vector of plain training and the best of all its cuts.
REFERENCE = "pooled-threshold"
