"""STAMP: stochastic alternation between the level of a ratio metric and the weights that aim at it."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Costs, FloatArray, Label, RandomState_, Samples
from csf._common.validation import check_choice, check_count, check_positive
from csf.metrics import Concave, LinearFractional, get_metric
from csf.online._aim import AimedLearner, AimedSteps
from csf.online._ascent import FIXED, REWARD_NEG, REWARD_POS, REWARDS, TN, AscentSteps, Options, tally
from csf.online.rows import parts, rows

if TYPE_CHECKING:
    from csf.metrics.profile import ErrorProfile

__all__ = ["STAMP"]

CHOICES = {"reward": REWARDS, "level": ("actual", "surrogate")}
# A level at the top of the range would take all weight from one class.
_BELOW_TOP = 1e-3
# Least share of a model stage whose weights are used before it is complete.
_USABLE = 0.1
_LEAST_DENOMINATOR = 1e-6


class StagedSteps(AscentSteps):
    """The published steps: model stages at the prices of a level, challenge stages that measure the next level."""

    def __init__(self, learner: STAMP, n_features: int) -> None:
        super().__init__(learner, n_features)
        self.complete = np.zeros(n_features + 1)
        self.tally = np.zeros(6)
        self.n_earlier_steps = self.n_met = self.n_pos = 0
        self.begin_model_stage(learner)

    @staticmethod
    def check(learner: STAMP) -> None:
        """Raise for a bad parameter of these steps."""
        for name in ("eta0", "radius", "growth"):
            check_positive(getattr(learner, name), name)
        if learner.growth < 1.0:
            raise ValueError(f"growth must be at least 1, got {learner.growth!r}")
        for name in ("model_stage", "challenge_stage"):
            check_count(getattr(learner, name), name)
        for name, accepted in CHOICES.items():
            check_choice(getattr(learner, name), name, accepted)
        level = learner.start_level
        lo, hi = learner._check_metric().range(0.5)
        if isinstance(level, bool) or not isinstance(level, numbers.Real):
            raise TypeError(f"start_level must be a number in [{lo:g}, {hi:g}], got {level!r}")
        if not lo <= level <= hi:
            raise ValueError(f"start_level must be a number in [{lo:g}, {hi:g}], got {level!r}")

    def learn(self, learner: STAMP, X: Samples, y: FloatArray) -> None:
        """Learn or measure rows in order, stage by stage."""
        start = 0
        while start < y.size:
            stop = min(y.size, start + self.length - self.in_stage)
            part, signs = rows(X, start, stop), y[start:stop]
            (self.climb if self.learning else self.challenge)(learner, part, signs)
            self.in_stage += signs.size
            self.n_met += signs.size
            self.n_pos += int(np.count_nonzero(signs > 0.0))
            start = stop
            if self.in_stage == self.length:
                self.end_stage(learner)

    def climb(self, learner: STAMP, X: Samples, y: FloatArray) -> None:
        """Steps of a model stage."""
        options = Options(
            measure=FIXED,
            reward=REWARDS.index(learner.reward),
            eta0=float(learner.eta0),
            dual_eta0=0.0,
            radius=float(learner.radius),
            pos=0.5,  # equal shares: a step is as long as the price of its class
            balanced=False,
            closed=False,
            memory=1.0,
            eps=0.0,
            gain=0.0,
        )
        self.ascend(learner, X, y, np.empty(0), options)

    def challenge(self, learner: STAMP, X: Samples, y: FloatArray) -> None:
        """Measure the weights of the model stage, which rest."""
        state = (learner.x_scale_, learner._constant(), self.complete, REWARDS.index(learner.reward), self.tally)
        tally(parts(X), y, *state)

    def begin_model_stage(self, learner: STAMP) -> None:
        """Prices of the two classes at the present level."""
        self.learning, self.in_stage, self.length = True, 0, _stage_length(learner.model_stage, learner)
        pos = (self.n_pos + 0.5) / (self.n_met + 1.0)
        self.prices = learner._check_metric().cost_weights(learner.level_, pos=pos)

    def end_stage(self, learner: STAMP) -> None:
        """What was learnt is measured next; what was measured is the next level."""
        if not self.learning:
            learner._set_level(self.reached(learner))
            self.begin_model_stage(learner)
            return
        self.complete = super().weights()[0]
        self.n_earlier_steps += super().n_updates(0)
        self.restart(self.complete)
        self.tally = np.zeros(6)
        self.learning, self.in_stage, self.length = False, 0, _stage_length(learner.challenge_stage, learner)

    def reached(self, learner: STAMP) -> float:
        """Level that the challenge stage measured; the present one where that has no value."""
        tp, fp, fn, tn = self.tally[: TN + 1]
        if tp + fn == 0.0 or fp + tn == 0.0:
            return learner.level_
        metric, n, pos = learner._check_metric(), tp + fp + fn + tn, (tp + fn) / (tp + fp + fn + tn)
        levels = [_value(metric, fn / n, fp / n, pos, least=0.0)]
        if learner.level == "surrogate":
            means = self.tally[REWARD_POS] / (tp + fn), self.tally[REWARD_NEG] / (fp + tn)
            levels.insert(0, _value(metric, (1.0 - means[0]) * pos, (1.0 - means[1]) * (1.0 - pos), pos))
        return _below_top(next((level for level in levels if level is not None), learner.level_), metric, pos)

    def weights(self) -> tuple[Array, Array]:
        """The average of a model stage, once part of it is done, and the last weights."""
        average, last = super().weights()
        usable = self.learning and self.in_stage >= _USABLE * self.length
        return (average if usable else self.complete), last

    def n_updates(self, n_seen: int) -> int:
        """Steps of all model stages."""
        return self.n_earlier_steps + super().n_updates(n_seen)


def _stage_length(first: int, learner: STAMP) -> int:
    """Examples in a stage of the present epoch."""
    epoch = len(learner._levels)
    exponent = math.log2(first) + epoch * math.log2(learner.growth)
    return int(first * float(learner.growth) ** epoch) if exponent < 60.0 else 2**60


def _value(
    metric: LinearFractional, fn: float, fp: float, pos: float, least: float = _LEAST_DENOMINATOR
) -> float | None:
    """Metric of errors, which may leave the box; None where its denominator, 1 without any hit, is too small."""
    denominator = metric.denominator(fn, fp, pos=pos) / metric.denominator(pos, 1.0 - pos, pos=pos)
    return metric.value(fn, fp, pos=pos) if denominator > least else None


def _below_top(level: float, metric: LinearFractional, pos: float) -> float:
    """The level, inside the range of the metric."""
    lo, hi = metric.range(pos)
    return float(np.clip(level, lo, hi - _BELOW_TOP * (hi - lo)))


class STAMP(AimedLearner):
    r"""Linear classifier for F-beta, Jaccard and other ratios of the errors, one step an example.

    Steps aim at the present level of the metric, and the level that they reach on new examples becomes the next aim. As
    published, stages alternate: in a model stage, steps on weighted rewards; in a challenge stage the weights rest and
    are measured. Stages grow.

    Parameters
    ----------
    metric : str or LinearFractional, default="f1"
        ``"f1"``, ``"f<beta>"``, ``"jaccard"``, ``"gower_legendre"``, or another linear-fractional metric that falls
        with both errors.
    step : {"adaptive", "paper"}, default="adaptive"
        ``"adaptive"`` needs no tuning: weights as in `OnlineLogistic`, where each class has its
        cost at the best value of the metric among recent examples, and the threshold is that of this value.
        ``"paper"`` takes the published steps, and alone has the parameters that say so.
    prior : float, default=1.0
        For ``step="adaptive"``: precision of the belief about the weights at first, as in `OnlineLogistic`.
    window : int, default=None
        For ``step="adaptive"``: examples to look back upon, about. ``None``: all; the threshold weighs late ones more.
    eta0 : float, default=50.0
        For ``step="paper"``: first step size of each model stage, positive; it falls as ``1 / sqrt(k)`` with
        the steps of the stage. The useful range is wide: ``radius * 2 ** -8`` to ``radius * 2 ** 4``.
    radius : float, default=100.0
        For ``step="paper"``: largest length of the weights, positive. Rows have length at most 1.
    reward : {"hinge", "logistic"}, default="hinge"
        For ``step="paper"``: what stands for a correct prediction: ``min(1, margin)`` or
        ``1 - log2(1 + exp(-margin))``.
    level : {"actual", "surrogate"}, default="actual"
        For ``step="paper"``: what a challenge stage measures: the metric of the predictions, as in the paper's
        experiments, or of the average rewards, as in its theory.
    start_level : float, default=0.0
        For ``step="paper"``: first level, inside the range of the metric; with 0 the first stage of F-beta aims
        at recall alone.
    model_stage, challenge_stage : int, default=100
        For ``step="paper"``: examples in the first stage of each kind.
    growth : float, default=2.0
        For ``step="paper"``: factor by which both grow from one epoch to the next, at least 1.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=1
        Passes over the samples in `fit`; stages go on from one to the next.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``: the average of the last model stage, once a tenth of it is
        done.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Those of the weights at present, not averaged over the model stage.
    level_ : float
        Present level.
    levels_ : ndarray of shape (n_epochs,)
        Level after each complete epoch.
    threshold_ : float
        Score from which on the positive class is predicted: log-odds with ``step="adaptive"``, 0 with the other.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_seen_ : int
        Examples met.
    n_updates_ : int
        Steps made: the examples of model stages.
    history_ : dict of ndarray
        ``n_seen`` = 1, 2, 4, 8, ... with the ``level`` and the number of complete ``epochs`` then.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    SPADE : The same for G-, H-, Q-mean and the smaller rate.
    AMP : The same alternation with exact solutions, on data in memory.

    Notes
    -----
    The class weights of a model stage are the costs :math:`a(v)` of the level v: :math:`(1 + \beta^2 - v, v)` for
    F-beta and :math:`(1, v)` for Jaccard. Neither needs the share of positives. Gower-Legendre metrics weigh both
    classes alike at every level: they are accuracy in another form. The level stays as it is where a challenge stage
    lacks a class. Where average rewards make the denominator of the metric vanish, the predictions count instead.

    With ``step="adaptive"`` each example is predicted before it is learnt, and posteriors are counted by class in
    bins of their log-odds, late ones more. Now and then the best threshold for the metric in these counts gives the
    costs of the two classes (its level and costs), and the steps go on with a logistic loss of weighted classes. The
    weights have the fourth root of the ratio of the costs, the threshold does the rest: weights in full proportion
    follow a few examples of the rare class, and rank worse. With at most 512 features the first 4096 rows are kept, and
    as long as there are no more, present weights score them again.

    With ``step="paper"`` the threshold is 0, where the rewards put it. `csf.thresholding.PlugInClassifier` around it
    tunes the threshold.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.metrics import FBeta
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.02, random_state=0)
    >>> model = STAMP("f1", random_state=0).fit(X, y)
    >>> model.level_
    0.650
    """

    level_: float

    _rules: ClassVar = {"adaptive": AimedSteps, "paper": StagedSteps}
    _of_paper = ("eta0", "radius", "reward", "level", "start_level", "model_stage", "challenge_stage", "growth")

    def __init__(
        self,
        metric: str | LinearFractional = "f1",
        *,
        step: Literal["adaptive", "paper"] = "adaptive",
        prior: float = 1.0,
        window: int | None = None,
        eta0: float = 50.0,
        radius: float = 100.0,
        reward: Literal["hinge", "logistic"] = "hinge",
        level: Literal["actual", "surrogate"] = "actual",
        start_level: float = 0.0,
        model_stage: int = 100,
        challenge_stage: int = 100,
        growth: float = 2.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        passes: int = 1,
        shuffle: bool = True,
        pos_label: Label = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.metric = metric
        self.step = step
        self.prior = prior
        self.window = window
        self.eta0 = eta0
        self.radius = radius
        self.reward = reward
        self.level = level
        self.start_level = start_level
        self.model_stage = model_stage
        self.challenge_stage = challenge_stage
        self.growth = growth
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    @property
    def levels_(self) -> Array:
        """Level after each complete epoch, of shape (n_epochs,)."""
        check_is_fitted(self)
        return np.array(self._levels)

    def _check_metric(self) -> LinearFractional:
        metric = get_metric(self.metric)
        if not isinstance(metric, LinearFractional):
            other = "SPADE" if isinstance(metric, Concave) else "csf.CostSearch"
            raise TypeError(
                "STAMP needs a linear-fractional metric such as 'f1' or 'jaccard'; "
                f"{type(metric).__name__} is none. Use {other}"
            )
        metric.require_falling("STAMP", pos=0.5)
        return metric

    def _start(self, n_features: int) -> None:
        self._levels = []
        self.level_ = float(self.start_level)
        super()._start(n_features)

    def _set_level(self, level: float) -> None:
        """End an epoch."""
        self.level_ = level
        self._levels.append(level)

    def _prices(self, value: float, profile: ErrorProfile) -> Costs:
        """Prices of both errors at a level, which is the present one from now on."""
        metric = self._check_metric()
        self._set_level(_below_top(value, metric, profile.pos))
        return metric.cost_weights(self.level_, pos=profile.pos)

    def _numbers(self) -> dict[str, Any]:
        return {"level": self.level_, "epochs": len(self._levels)}
