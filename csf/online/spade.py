"""SPADE and STAMP: stochastic primal-dual ascent, and alternation between a level and the weights that aim at it."""

from __future__ import annotations

import math
import numbers
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.compiled import parts
from csf._common.sklearn import one_of, option, with_parameters
from csf._common.typing import Array, BoolArray, Costs, FloatArray, Params, Samples
from csf._common.validation import check_count, check_fraction, check_number, check_positive, check_share
from csf.metrics import Concave, GMean, HMean, LinearFractional, MinRate, QMean, get_metric
from csf.metrics.concave import concave_of
from csf.online._ascent import (
    FIXED,
    GMEAN,
    HMEAN,
    MIN,
    QMEAN,
    REWARD_NEG,
    REWARD_POS,
    REWARDS,
    TN,
    AimedLearner,
    AimedSteps,
    AscentSteps,
    Options,
    tally,
)
from csf.online.base import rows

if TYPE_CHECKING:
    from csf.metrics.profile import ErrorProfile

# ---------------------------------------------------------------- SPADE


MEASURES = {MinRate: MIN, HMean: HMEAN, QMean: QMEAN, GMean: GMEAN}
# Share of each class that is held out to tell when to stop, and the least rise of the metric that counts.
_HELD_OUT, _LEAST_RISE = 0.1, 1e-4


class PrimalDualSteps(AscentSteps):
    """Published steps: each example moves the weights up and the class costs down."""

    def learn(self, learner: SPADE, X: Samples, y: FloatArray) -> None:
        """Learn rows in order."""
        uniform = learner._rng.random(y.size if learner.sampling == "balanced" else 0)
        self.ascend(learner, X, y, uniform, self.options(learner))

    @staticmethod
    def options(learner: SPADE) -> Options:
        """Convert the parameters to the form of the kernel."""
        metric = learner._check_metric()
        return Options(
            measure=MEASURES[type(metric)],
            reward=REWARDS.index(learner.reward),
            eta0=float(learner.eta0),
            dual_eta0=float(learner.dual_eta0),
            radius=float(learner.radius),
            pos=0.0 if learner.pos is None else float(learner.pos),
            balanced=learner.sampling == "balanced",
            closed=learner.dual == "closed",
            memory=float(learner.memory),
            eps=metric.eps if isinstance(metric, GMean) and learner.eps == "fixed" else 0.0,
            gain=float(learner.gain),
        )


@with_parameters
class SPADE(AimedLearner):
    r"""Linear classifier for G-, H-, Q-mean and the smaller rate, one step an example.

    Each example moves the weights up its reward, at the current cost of its class, and the costs of the two
    classes down: the costs are the dual variables of the metric.

    Parameters
    ----------
    metric : str or Concave, default="qmean"
        ``"qmean"``, ``"hmean"``, ``"gmean"`` or ``"min_rate"``.
    step : {"adaptive", "paper"}, default="adaptive"
        ``"adaptive"`` needs no tuning: weights as in `OnlineLogistic`, where each class has its
        cost at the best value of the metric among recent examples, and the threshold is that of this value.
        ``"paper"`` takes the published steps, and alone has the parameters that say so.
    prior : float, default=1.0
        For ``step="adaptive"``: precision of the belief about the weights at first, as in `OnlineLogistic`.
    window : int, default=None
        For ``step="adaptive"``: examples to look back upon, about. ``None``: all; the threshold weighs late ones more.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=1
        Passes over the samples in `fit`, at most so many with ``patience``.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`, of balanced sampling, and of what is held out.
    eta0 : float, default=400.0
        For ``step="paper"``: first step size of the weights, positive; it falls as ``1 / sqrt(t)``. The useful range is
        wide, up to 16 times ``radius``: larger steps reach good predictions sooner, smaller ones come nearer to the
        best rewards.
    dual_eta0 : float, default=0.2
        For ``step="paper"``: first step size of the costs, positive; ``2 ** -6`` to 1 is useful. Not used with
        ``dual="closed"``.
    radius : float, default=100.0
        For ``step="paper"``: largest length of the weights, positive. Rows have length at most 1.
    reward : {"hinge", "logistic"}, default="hinge"
        For ``step="paper"``: what stands for a correct prediction: ``min(1, margin)`` or
        ``1 - log2(1 + exp(-margin))``.
    sampling : {"all", "balanced"}, default="all"
        For ``step="paper"``: ``"balanced"`` leaves out examples of the larger class at random, so that both
        classes come equally often. A pass makes fewer steps and costs less.
    dual : {"gradient", "closed"}, default="gradient"
        For ``step="paper"``: ``"closed"`` takes the best costs for running averages of the rewards instead of
        gradient steps.
    memory : float, default=0.99
        For ``step="paper"`` with ``dual="closed"``: the weight of the average before a new reward, in (0, 1]; 1
        averages all alike.
    eps : {"schedule", "fixed"}, default="schedule"
        For ``step="paper"``: for the G-mean, whose slope has no bound: ``"schedule"`` adds ``t ** -0.25`` to
        the rewards and lets the costs go as far as that allows, ``"fixed"`` solves the extension with the
        ``eps`` of the metric.
    gain : float, default=3.0
        For ``step="paper"``: how much more late steps count in the averaged weights: the newest has the share
        ``(1 + gain) / (t + gain)``; not negative, 0 counts all alike.
    pos : float, default=None
        For ``step="paper"``: share of positives, in (0, 1); ``None`` estimates it from the examples so far, at
        least 0.001.
    patience : int, default=None
        Stop `fit` when the metric has not risen by 0.0001 in so many passes, 3 for example. It is that of the averaged
        weights on a random tenth of each class, which is held out and not learnt. ``None`` makes all passes over all
        samples.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``: the average of all steps.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients after the last step.
    dual_ : tuple of float
        Last ``(alpha, beta)``, the costs of the two rates.
    threshold_ : float
        Score from which on the positive class is predicted: log-odds with ``step="adaptive"``, 0 with the other.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_seen_ : int
        Examples met.
    n_updates_ : int
        Steps made; fewer with balanced sampling.
    history_ : dict of ndarray
        ``n_seen`` = 1, 2, 4, 8, ... and the costs ``alpha`` and ``beta`` then.
    validation_scores_ : ndarray of shape (n_passes,)
        With ``patience``, the metric of what was held out, after each pass of `fit`; else empty.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    STAMP : The same for F-beta and Jaccard.
    FenchelSVM : The same objective solved to the end, on data in memory.

    Notes
    -----
    It looks for

    .. math:: \max_{\|w\| \le R} \; \min_{(\alpha, \beta) \in A} \;
              \alpha P_r(w) + \beta N_r(w) - \Psi^*(\alpha, \beta)

    where P and N are average rewards of the positive and the negative class, not above the true rates, and the
    inner minimum is the metric of them. The averaged weights are within :math:`O(1/\sqrt{T})` of the maximum after T
    steps, :math:`\tilde O(T^{-1/4})` for the G-mean. Until both classes have been met the costs stay as they are.

    With ``step="adaptive"`` each example is predicted before it is learnt, and posteriors are counted by class in
    bins of their log-odds, late ones more. Now and then the best threshold for the metric in these counts gives the
    costs of the two classes (the dual of the metric there), and the steps go on with a logistic loss of weighted
    classes. The weights have the fourth root of the ratio of the costs, the threshold does the rest: weights in full
    proportion follow a few examples of the rare class, and rank worse. With at most 512 features the first 4096 rows
    are kept, and as long as there are no more, present weights score them again.

    With ``step="paper"`` the threshold is 0, where the rewards put it. `csf.plugin.PlugInClassifier` around it
    tunes the threshold.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.metrics import QMean
    >>> X, y = make_classification(2000, weights=[0.95], flip_y=0.02, random_state=0)
    >>> model = SPADE("qmean", random_state=0).fit(X, y)
    >>> QMean().score(y, model.predict(X))
    0.919
    """

    metric: str | Concave = field(default="qmean", kw_only=False)
    eta0: float = option(check=check_positive, default=400.0)
    dual_eta0: float = option(check=check_positive, default=0.2)
    radius: float = option(check=check_positive, default=100.0)
    reward: Literal["hinge", "logistic"] = option(check=one_of(*REWARDS), default="hinge")
    sampling: Literal["all", "balanced"] = option(check=one_of("all", "balanced"), default="all")
    dual: Literal["gradient", "closed"] = option(check=one_of("gradient", "closed"), default="gradient")
    memory: float = option(check=check_share, default=0.99)
    eps: Literal["schedule", "fixed"] = option(check=one_of("schedule", "fixed"), default="schedule")
    gain: float = option(check=check_number, default=3.0)
    pos: float | None = option(check=check_fraction, default=None)
    patience: int | None = option(check=check_count, default=None)

    validation_scores_: Array = field(init=False)

    _rules: ClassVar = {"adaptive": AimedSteps, "paper": PrimalDualSteps}
    _of_paper = ("eta0", "dual_eta0", "radius", "reward", "sampling", "dual", "memory", "eps", "gain", "pos")

    @property
    def dual_(self) -> tuple[float, float]:
        """Last costs of the two rates, ``(alpha, beta)``."""
        check_is_fitted(self)
        alpha, beta = self._rule.prices
        return float(alpha), float(beta)

    def _check_metric(self) -> Concave:
        given = get_metric(self.metric)
        if (metric := concave_of(given)) is None:
            other = "csf.CostSearch" if given.as_ratio is None else "STAMP"
            raise TypeError(
                f"SPADE needs a concave metric of the two rates; {type(given).__name__} has no conjugate. Use {other}"
            )
        if type(metric) not in MEASURES:
            raise TypeError(
                f"SPADE has compiled steps for 'min_rate', 'hmean', 'qmean' and 'gmean'; {type(metric).__name__} is "
                "none of them. Use csf.fenchel.FenchelSVM"
            )
        return metric

    def _begin(self, labels: Array, n_features: int, **options: Any) -> None:
        super()._begin(labels, n_features, **options)
        in_fit = self._n_expected is not None
        if self.patience is not None and in_fit and min(np.unique(labels, return_counts=True)[1]) < 2:
            raise ValueError(
                f"patience={self.patience} holds out samples of each class, and one of them has a single sample; give "
                "more, or patience=None"
            )

    def _go_through(self, X: Samples, y: FloatArray) -> None:
        if self.patience is None:
            super()._go_through(X, y)
            return
        held_out = self._held_out(y)
        rest, last_rise, values = ~held_out, 0, []
        learnt, tested = (X[rest], y[rest]), (X[held_out], y[held_out])
        best = -math.inf
        for number in range(self.passes):
            self._pass_over(*learnt)
            values.append(self._score(*tested))
            if values[-1] > best + _LEAST_RISE:
                best, last_rise = values[-1], number
            elif number - last_rise >= self.patience:
                break
        self.validation_scores_ = np.array(values)

    def _held_out(self, y: FloatArray) -> BoolArray:
        """Draw a random tenth of each class, and one sample at least, as a boolean array."""
        held_out = np.zeros(y.size, dtype=bool)
        for sign in (1.0, -1.0):
            places = np.flatnonzero(y == sign)
            held_out[self._rng.permutation(places)[: math.ceil(_HELD_OUT * places.size)]] = True
        return held_out

    def _score(self, X: Samples, y: FloatArray) -> float:
        """Compute the metric of predictions for signed labels."""
        is_right = (self._orientation() * self._scores(X) >= self._cut) == (y > 0.0)
        return float(self._check_metric().link(is_right[y > 0.0].mean(), is_right[y < 0.0].mean()))

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.validation_scores_ = np.empty(0)
        self._rule.prices = self._check_metric().initial_dual

    def _prices(self, value: float, profile: ErrorProfile) -> Costs:
        """Compute the costs of both errors at the present value of the metric, by its dual there."""
        alpha, beta = self._rule.prices = self._check_metric().dual(profile.tpr, profile.tnr)
        return alpha / profile.pos, beta / (1.0 - profile.pos)

    def _numbers(self) -> Params:
        return dict(zip(("alpha", "beta"), self.dual_))


# ---------------------------------------------------------------- STAMP


# A level at the top of the range would take all weight from one class.
_BELOW_TOP = 1e-3
# Least share of a model stage whose weights are used before it is complete.
_USABLE = 0.1
_LEAST_DENOMINATOR = 1e-6


class StagedSteps(AscentSteps):
    """Published steps: model stages at the costs of a level, challenge stages that measure the next level."""

    def __init__(self, learner: STAMP, n_features: int) -> None:
        super().__init__(learner, n_features)
        self.complete = np.zeros(n_features + 1)
        self.tally = np.zeros(6)
        self.n_earlier_steps = self.n_met = self.n_pos = 0
        self.begin_model_stage(learner)

    @staticmethod
    def check(learner: STAMP) -> None:
        """Raise for a bad parameter of these steps."""
        if learner.growth < 1.0:
            raise ValueError(f"growth must be at least 1, got {learner.growth!r}")
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
        """Make the steps of a model stage."""
        reward, eta0, radius = REWARDS.index(learner.reward), float(learner.eta0), float(learner.radius)
        # of equal shares: a step is as long as the price of its class
        options = Options(measure=FIXED, reward=reward, eta0=eta0, radius=radius, pos=0.5)
        self.ascend(learner, X, y, np.empty(0), options)

    def challenge(self, learner: STAMP, X: Samples, y: FloatArray) -> None:
        """Measure the weights of the model stage, which stay as they are."""
        state = (learner.x_scale_, learner._constant(), self.complete, REWARDS.index(learner.reward), self.tally)
        tally(parts(X), y, *state)

    def begin_model_stage(self, learner: STAMP) -> None:
        """Set the costs of the two classes at the present level."""
        self.learning, self.in_stage, self.length = True, 0, _stage_length(learner.model_stage, learner)
        pos = (self.n_pos + 0.5) / (self.n_met + 1.0)
        self.prices = learner._check_metric().cost_weights(learner.level_, pos=pos)

    def end_stage(self, learner: STAMP) -> None:
        """End a model stage, to measure its weights, or a challenge stage, to use the level measured."""
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
        """Return the level that the challenge stage measured; the present one where that has no value."""
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
        """Return the average of a model stage, once part of it is done, and the last weights."""
        average, last = super().weights()
        usable = self.learning and self.in_stage >= _USABLE * self.length
        return (average if usable else self.complete), last

    def n_updates(self, n_seen: int) -> int:
        """Count the steps of all model stages."""
        return self.n_earlier_steps + super().n_updates(n_seen)


def _stage_length(first: int, learner: STAMP) -> int:
    """Return the number of examples in a stage of the present epoch."""
    epoch = len(learner._levels)
    exponent = math.log2(first) + epoch * math.log2(learner.growth)
    return int(first * float(learner.growth) ** epoch) if exponent < 60.0 else 2**60


def _value(
    metric: LinearFractional, fn: float, fp: float, pos: float, least: float = _LEAST_DENOMINATOR
) -> float | None:
    """Compute the metric of errors, also outside the box; None where its denominator, 1 without hits, is too small."""
    denominator = metric.denominator(fn, fp, pos=pos) / metric.denominator(pos, 1.0 - pos, pos=pos)
    return metric.value(fn, fp, pos=pos) if denominator > least else None


def _below_top(level: float, metric: LinearFractional, pos: float) -> float:
    """Clip the level to the inside of the range of the metric."""
    lo, hi = metric.range(pos)
    return float(np.clip(level, lo, hi - _BELOW_TOP * (hi - lo)))


@with_parameters
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

    With ``step="paper"`` the threshold is 0, where the rewards put it. `csf.plugin.PlugInClassifier` around it
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

    metric: str | LinearFractional = field(default="f1", kw_only=False)
    eta0: float = option(check=check_positive, default=50.0)
    radius: float = option(check=check_positive, default=100.0)
    reward: Literal["hinge", "logistic"] = option(check=one_of(*REWARDS), default="hinge")
    level: Literal["actual", "surrogate"] = option(check=one_of("actual", "surrogate"), default="actual")
    start_level: float = 0.0
    model_stage: int = option(check=check_count, default=100)
    challenge_stage: int = option(check=check_count, default=100)
    growth: float = option(check=check_positive, default=2.0)

    level_: float = field(init=False)

    _rules: ClassVar = {"adaptive": AimedSteps, "paper": StagedSteps}
    _of_paper = ("eta0", "radius", "reward", "level", "start_level", "model_stage", "challenge_stage", "growth")

    @property
    def levels_(self) -> Array:
        """Level after each complete epoch, of shape (n_epochs,)."""
        check_is_fitted(self)
        return np.array(self._levels)

    def _check_metric(self) -> LinearFractional:
        given = get_metric(self.metric)
        if (metric := given.as_ratio) is None or given.truth is not None:
            other = "csf.CostSearch" if concave_of(given) is None else "SPADE"
            raise TypeError(
                "STAMP needs a linear-fractional metric of complete labels such as 'f1' or 'jaccard'; "
                f"{type(given).__name__} is none. Use {other}"
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
        """Set the present level, and compute the costs of both errors there."""
        metric = self._check_metric()
        self._set_level(_below_top(value, metric, profile.pos))
        return metric.cost_weights(self.level_, pos=profile.pos)

    def _numbers(self) -> Params:
        return {"level": self.level_, "epochs": len(self._levels)}
