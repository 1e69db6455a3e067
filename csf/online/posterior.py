"""Classifiers that learn a threshold for the probabilities of another online learner: OFO and FOFO."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.compiled import njit
from csf._common.sklearn import clone, option, with_parameters
from csf._common.typing import Array, BoolArray, Estimator, FloatArray, Params, Samples
from csf._common.validation import check_count, check_positive, check_share
from csf.data.responses import margin, positive_score
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online._ascent import LookBack
from csf.online._gaussian import bins_of, posterior_at
from csf.online.base import NUMBERS, EmittedPredictions, OnlineClassifier, StepResult, check_step, value_of_counts
from csf.online.logistic import OnlineLogistic

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.online._gaussian import Belief

# ---------------------------------------------------------------- what these classifiers share


_TINY = np.finfo(np.float64).tiny


class PublishedThresholds:
    """Published rule: thresholds apply to the probabilities of the learner."""

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        """Keep nothing."""

    def meet(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep nothing of a chunk."""

    def piece(self, n_left: int, n_seen: int) -> int:
        """Return the number of rows to take at a time: all."""
        return n_left

    def posterior(self, level: float) -> float:
        """Return the learner's probability at a threshold."""
        return level

    def follow(self, learner: PosteriorThreshold, proba: FloatArray, is_pos: BoolArray) -> None:
        """Move the threshold over examples in order."""
        learner._move_threshold(proba, is_pos)


class ThresholdsOfShares:
    """Rule of thresholds on the share of positives among recent examples with such a probability."""

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        self.look, self.belief = LookBack(belief, window), belief
        self.shares = self.look.recent.shares()

    def meet(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep early rows of a chunk."""
        self.look.keep(X, is_pos)

    def piece(self, n_left: int, n_seen: int) -> int:
        """Return the number of rows to take at a time: while early rows are kept, up to the next scoring."""
        early = self.look.early
        if early is None or not early.wanted:
            return n_left
        return min(n_left, max(self.look.due, early.next) - n_seen)

    def posterior(self, level: float) -> float:
        """Find the learner's probability at which the share is ``level``."""
        return posterior_at(int(np.searchsorted(self.shares, level)))

    def follow(self, learner: PosteriorThreshold, proba: FloatArray, is_pos: BoolArray) -> None:
        """Move the threshold by the labels of recent examples with posteriors in the same bins."""
        bins = bins_of(proba)
        for part in self.look.pieces(bins.size, learner.n_seen_):
            n_seen = learner.n_seen_ + part.stop
            learner._move_threshold(self.shares[bins[part]], is_pos[part])
            if self.look.add(bins[part], is_pos[part], n_seen):
                again = self.look.again(self.belief, n_seen)
                self.shares = self.look.recent.shares()
                if again is not None:
                    learner._move_threshold_anew(self.shares[again[0]], again[1])


@with_parameters
class PosteriorThreshold(EmittedPredictions, OnlineClassifier):
    """Base of online thresholds on the posteriors of an online learner.

    A subclass has the parameters ``metric``, ``posterior``, ``step``, ``window`` and ``batch_size`` beside the common
    ones. It writes ``_start_threshold()``, ``_move_threshold(proba, is_pos)`` for examples in order, and ``_level()``:
    the posterior from which on it predicts the positive class. With ``step="adaptive"`` what it is given, and what it
    means, is the share of positives among recent examples with such a posterior, not the posterior itself.

    With `OnlineLogistic` as the learner, its own steps without tuning and at most 512 features, the first 4096 rows are
    kept: the present weights score them again and again, and the threshold goes through them again, as long as there
    are no more. Scores from before would be of little use for weights that have moved since.

    Parameters in ``_of_paper`` are for ``step="paper"`` alone.
    Learners of csf predict each example before they learn it, in one compiled loop. Any other learner with
    ``partial_fit`` and ``predict_proba`` predicts ``batch_size`` examples at a time and then learns them; before it has
    learnt anything, the probability is 1/2. So labels never reach a prediction for their own example.
    """

    metric: str | Metric = field(default="f1", kw_only=False)
    posterior: Estimator = None
    step: Literal["adaptive", "paper"] = "adaptive"
    window: int | None = None
    batch_size: int = option(check=check_count, default=1)

    posterior_: Estimator = field(init=False)

    _of_paper: ClassVar[tuple[str, ...]] = ()
    _rule: PublishedThresholds | ThresholdsOfShares = field(init=False)

    @property
    def threshold_(self) -> float:
        """Threshold for the probability of the positive class, from the learner."""
        check_is_fitted(self)
        return self._rule.posterior(self._level())

    @property
    def level_(self) -> float:
        """Share of positives from which on a group of like examples is predicted positive."""
        check_is_fitted(self)
        return self._level()

    @property
    def online_value_(self) -> float:
        """Metric of the predictions emitted so far."""
        return value_of_counts(get_metric(self.metric), **self.online_counts_)

    @property
    def coef_(self) -> Array:
        """Coefficients of the learner, where it has some."""
        check_is_fitted(self)
        return self.posterior_.coef_

    @property
    def intercept_(self) -> Array:
        """Intercept of the learner, where it has one."""
        check_is_fitted(self)
        return self.posterior_.intercept_

    @property
    def coef_last_(self) -> Array:
        """Coefficients of the learner's last step, where it averages them."""
        check_is_fitted(self)
        return self.posterior_.coef_last_

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of both classes with the learner.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``. The threshold applies to that of the positive class.
        """
        check_is_fitted(self)
        return self.posterior_.predict_proba(validate_data(self, X, reset=False, **NUMBERS))

    def decision_function(self, X: Samples) -> Array:
        """Compute log-odds minus those of the threshold; above 0 where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; their sign is turned where the positive class is ``classes_[0]``. At threshold 0, where all are
            positive, only their order has a meaning.
        """
        proba, threshold, is_last = self._posteriors(X), self.threshold_, self.pos_label_ == self.classes_[1]
        log_odds = logit(proba.clip(_TINY, 1.0 - np.finfo(np.float64).epsneg))
        distance = margin(log_odds, logit(threshold), is_last)
        # The rule is about probabilities: log-odds of neighbouring numbers may be equal.
        last = margin(proba, threshold, is_last) > 0.0
        return np.where(last, np.maximum(distance, _TINY), np.minimum(distance, 0.0))

    def _numbers(self) -> Params:
        return {"threshold": self.threshold_, **super()._numbers()}

    @abstractmethod
    def _level(self) -> float:
        """Return the posterior from which on the positive class is predicted."""

    @abstractmethod
    def _start_threshold(self) -> None:
        """Create a fresh state."""

    @abstractmethod
    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        """Emit predictions for examples in order, and move the threshold after each."""

    def _posteriors(self, X: Samples) -> FloatArray:
        """Predict the probabilities of the positive class."""
        check_is_fitted(self)
        return self._proba_of_pos(validate_data(self, X, reset=False, **NUMBERS))

    def _proba_of_pos(self, X: Samples) -> FloatArray:
        return positive_score(self.posterior_, X, self.pos_label_, ("predict_proba",))

    def _check_parameters(self) -> None:
        if hasattr(self.metric, "partial_fit"):
            name = type(self).__name__
            raise TypeError(
                f"metric comes first, and is a name such as 'f1', got {self.metric!r}; a learner of probabilities is "
                f"posterior: {name}('f1', posterior={self.metric!r})"
            )
        if not isinstance(get_metric(self.metric), FBeta | Jaccard):
            raise TypeError(
                f"{type(self).__name__} finds thresholds for F-beta and Jaccard ('f1', 'f2', 'jaccard', ...), got "
                f"metric={self.metric!r}. Use csf.plugin.PlugInClassifier for other metrics"
            )
        for method in ("partial_fit", "predict_proba"):
            if self.posterior is not None and not hasattr(self.posterior, method):
                raise TypeError(
                    f"posterior must have partial_fit and predict_proba, {self.posterior!r} has no {method}; such as "
                    f"OnlineLogistic(), SGDClassifier(loss='log_loss') or {self._wrapped()}"
                )
        check_step(self, of_paper=self._of_paper)

    def _wrapped(self) -> str:
        """Explain how to pass a model of river."""
        is_river = hasattr(self.posterior, "learn_one")
        return f"RiverClassifier({type(self.posterior).__name__}(...))" if is_river else "RiverClassifier(model)"

    def _squared_beta(self) -> float:
        """Return the squared beta of the metric; Jaccard has the threshold of F1."""
        return float(getattr(get_metric(self.metric), "beta", 1.0)) ** 2

    def _start(self, n_features: int) -> None:
        default = OnlineLogistic(step=self.step, window=self.window)
        self.posterior_ = default if self.posterior is None else clone(self.posterior)
        if self._learner_predicts_first():
            self.posterior_.set_params(pos_label=self.pos_label_)._adopt(self.classes_, n_features, self._rng)
        self._counts = np.zeros(4, dtype=np.int64)
        rule = PublishedThresholds if self.step == "paper" else ThresholdsOfShares
        self._rule = rule(getattr(self.posterior_, "_belief", None), self.window)
        self._start_threshold()

    def _learner_predicts_first(self) -> bool:
        return hasattr(self.posterior_, "_predict_then_learn")

    def _learn(self, X: Samples, y: FloatArray) -> list[StepResult]:
        """Learn checked rows; the squared beta is that of the parameters at the start of a chunk."""
        self._square = self._squared_beta()
        self._rule.meet(X, y > 0.0)
        return super()._learn(X, y)

    def _piece(self, n_left: int) -> int:
        return self._rule.piece(n_left, self.n_seen_) if self._learner_predicts_first() else self.batch_size

    def _step(self, X: Samples, y: FloatArray) -> None:
        if self._learner_predicts_first():
            proba = self.posterior_._predict_then_learn(X, y)
        else:
            unknown = self.n_seen_ == 0
            proba = np.full(y.size, 0.5) if unknown else self._proba_of_pos(X)
            self.posterior_.partial_fit(X, self._labels(y), classes=self.classes_)
        self._rule.follow(self, proba, y > 0.0)

    def _move_threshold_anew(self, proba: FloatArray, is_pos: BoolArray) -> None:
        """Process early examples again from the beginning; keep the predictions emitted for them."""
        emitted, self._counts = self._counts, np.zeros_like(self._counts)
        self._start_threshold()
        self._move_threshold(proba, is_pos)
        self._counts = emitted

    def _labels(self, y: FloatArray) -> Array:
        """Convert signs to labels."""
        negative = self.classes_[0] if self.pos_label_ == self.classes_[1] else self.classes_[1]
        return np.where(y > 0.0, self.pos_label_, negative)


# ---------------------------------------------------------------- OFO


# Places in the state.
_NUMERATOR, _DENOMINATOR, _THRESHOLD = range(3)


@njit(cache=True, nogil=True, error_model="numpy")
def ofo(proba, is_pos, state, squared_beta, forgetting, counts) -> None:
    """Emit predictions for posteriors in order, each with the threshold of the examples before it.

    ``forgetting`` has the factor of the sums for each example.
    """
    a, b, threshold = state[_NUMERATOR], state[_DENOMINATOR], state[_THRESHOLD]
    for i in range(proba.shape[0]):
        predicted, positive = proba[i] >= threshold, is_pos[i]
        counts[(0 if positive else 1) if predicted else (2 if positive else 3)] += 1
        a = forgetting[i] * a + (1.0 if predicted and positive else 0.0)
        b = forgetting[i] * b + (squared_beta if positive else 0.0) + (1.0 if predicted else 0.0)
        threshold = a / b if b > 0.0 else threshold
    state[_NUMERATOR], state[_DENOMINATOR], state[_THRESHOLD] = a, b, threshold


@with_parameters
class OFO(PosteriorThreshold):
    r"""Online F-measure optimisation: the threshold follows the F-measure of the predictions made so far.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        ``"f1"``, ``"f<beta>"`` or ``"jaccard"``; the last has the threshold of ``"f1"``.
    posterior : classifier, default=None
        Learner of probabilities, with ``partial_fit`` and ``predict_proba``: ``SGDClassifier(loss="log_loss")``,
        ``RiverClassifier(model)``, ...; ``None`` is `OnlineLogistic`, with the same ``step`` and ``window``.
    step : {"adaptive", "paper"}, default="adaptive"
        ``"adaptive"``: thresholds apply to the share of positives among recent examples with such a probability, so
        that it does not matter how well the learner is calibrated, and early examples count little. ``"paper"``: they
        apply to the learner's probabilities, as published.
    window : int, default=None
        For ``step="adaptive"``: examples to look back upon, about. ``None``: all, late ones more.
    batch_size : int, default=1
        Examples that a learner from elsewhere predicts, and then learns, at a time; 1 is the published order, larger
        batches are faster. A batch ends with its chunk. Learners of csf need none.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.
    prior : tuple of float, default=(0.0, 0.0)
        For ``step="paper"``: what numerator and denominator of the threshold start with. ``(0, 0)`` starts at threshold
        0, where everything is positive; ``(m * theta, m)`` starts at theta and counts like m predicted positives.
    forgetting : float, default=1.0
        For ``step="paper"``: factor of the sums at each example, in (0, 1]. Below 1 the threshold forgets what early,
        worse models did, and stays noisy: it looks back about ``1 / (1 - forgetting)`` examples.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    posterior_ : classifier
        The learner, trained.
    n_seen_ : int
        Examples learnt from.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With :math:`\hat y_t = [\hat\eta_t \ge \tau_{t-1}]` and :math:`b_t` the label in {0, 1},

    .. math:: \tau_t = \frac{\sum_{i \le t} b_i \hat y_i}{\sum_{i \le t} \beta^2 b_i + \hat y_i}
              = \frac{F_\beta(\hat y_{1..t})}{1 + \beta^2}

    With ``step="adaptive"`` the sums weigh example t by t, or more with a ``window``, and :math:`\hat\eta` is the share
    of positives among recent examples in the same bin of log-odds, made to rise with the score. With a consistent
    learner it tends to :math:`F_\beta^* / (1 + \beta^2)`, the best threshold.

    With the learner of ``posterior=None`` and at most 512 features the first 4096 rows are kept, and as long as there
    are no more, present weights score them again: what early weights emitted is of little use for late ones.

    References
    ----------
    .. [1] R. Busa-Fekete, B. Szörényi, K. Dembczyński, E. Hüllermeier, "Online F-Measure Optimization", NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(20000, weights=[0.9], random_state=0)
    >>> model = OFO().partial_fit(X, y)
    >>> model.level_, model.online_value_
    (0.318, 0.632)
    """

    prior: tuple[float, float] = (0.0, 0.0)
    forgetting: float = option(check=check_share, default=1.0)

    _of_paper = ("prior", "forgetting")

    def _level(self) -> float:
        return float(self._state[_THRESHOLD])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        try:
            a, b = map(float, self.prior)
        except (TypeError, ValueError):
            raise TypeError(f"prior must be a pair of numbers, got {self.prior!r}") from None
        highest = 1.0 / (1.0 + self._squared_beta())
        if not (0.0 <= b < np.inf and 0.0 <= a <= b * highest * (1.0 + 1e-12)):
            raise ValueError(f"prior must be (a, b) with 0 <= a <= {highest:g} * b, got {self.prior!r}")

    def _start_threshold(self) -> None:
        a, b = map(float, self.prior)
        # without a prior the published threshold begins where all are positive, the other one at its highest
        first = 0.0 if self.step == "paper" else 1.0 / (1.0 + self._squared_beta())
        self._state = np.array([a, b, a / b if b > 0.0 else first])

    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        forgetting = self._forgetting(int(self._counts.sum()), proba.size)
        ofo(proba, is_pos, self._state, self._square, forgetting, self._counts)

    def _forgetting(self, n_before: int, n_rows: int) -> FloatArray:
        """Compute the factor of the sums for each of the next examples; example t weighs t, and more with a window."""
        if self.step == "paper":
            return np.full(n_rows, float(self.forgetting))
        later = np.arange(n_before + 2.0, n_before + n_rows + 2.0)
        return np.minimum(1.0 - 1.0 / later, 1.0 - 1.0 / float(self.window or np.inf))


# ---------------------------------------------------------------- FOFO


# First block of a stream of unknown length; each next one is twice as long.
FIRST_BLOCK = 1000

# Places in the state. A block is one run of known length; it has stages, the last of which takes what remains.
_SEEN, _POS, _CENTRE, _ITERATE, _MEAN, _RADIUS, _BLOCK, _IN_BLOCK, _STAGE, _IN_STAGE = range(10)


@njit(cache=True, nogil=True, error_model="numpy")
def n_stages(n) -> int:
    """Return the number of stages for n examples."""
    if n <= 2:
        return 1
    return max(1, math.floor(0.5 * math.log2(2.0 * n / math.log2(n))) - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def fofo(proba, is_pos, state, squared_beta, step_scale, longest, counts) -> None:
    """Emit predictions for posteriors in order, and move the threshold after each.

    Blocks double up to the length ``longest``; 0 stands for one block.
    """
    highest = 1.0 / (1.0 + squared_beta)
    seen, pos, radius, stage = state[_SEEN], state[_POS], state[_RADIUS], state[_STAGE]
    centre, iterate, mean = state[_CENTRE], state[_ITERATE], state[_MEAN]
    block, in_block, in_stage = state[_BLOCK], state[_IN_BLOCK], state[_IN_STAGE]
    stages = n_stages(block)
    length = block // stages
    for i in range(proba.shape[0]):
        if longest > 0.0 and in_block == block:
            block, in_block, stage, in_stage = min(2.0 * block, longest), 0.0, 1.0, 0.0
            stages = n_stages(block)
            length, radius, centre, iterate = block // stages, 0.5 * highest, mean, mean
        elif in_stage == length and stage < stages:
            stage, in_stage, radius, centre, iterate = stage + 1.0, 0.0, 0.5 * radius, mean, mean
        predicted, positive = proba[i] >= mean, is_pos[i]
        counts[(0 if positive else 1) if predicted else (2 if positive else 3)] += 1
        seen, in_block, in_stage = seen + 1.0, in_block + 1.0, in_stage + 1.0
        pos += ((1.0 if positive else 0.0) - pos) / seen
        slope = squared_beta * pos * iterate - max(proba[i] - iterate, 0.0)
        iterate -= step_scale * radius / math.sqrt(10.0 * length) * slope
        iterate = min(max(iterate, 0.0, centre - radius), highest, centre + radius)
        mean += (iterate - mean) / (in_stage + 1.0)
    state[_SEEN], state[_POS], state[_RADIUS], state[_STAGE] = seen, pos, radius, stage
    state[_CENTRE], state[_ITERATE], state[_MEAN] = centre, iterate, mean
    state[_BLOCK], state[_IN_BLOCK], state[_IN_STAGE] = block, in_block, in_stage


@with_parameters
class FOFO(PosteriorThreshold):
    r"""Fast online F-measure optimisation: the threshold by gradient steps whose reach shrinks from stage to stage.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        ``"f1"``, ``"f<beta>"`` or ``"jaccard"``; the last has the threshold of ``"f1"``.
    posterior : classifier, default=None
        Learner of probabilities, with ``partial_fit`` and ``predict_proba``: ``SGDClassifier(loss="log_loss")``,
        ``RiverClassifier(model)``, ...; ``None`` is `OnlineLogistic`, with the same ``step`` and ``window``.
    step : {"adaptive", "paper"}, default="adaptive"
        ``"adaptive"``: thresholds apply to the share of positives among recent examples with such a probability, so
        that it does not matter how well the learner is calibrated, and early examples count little. ``"paper"``: they
        apply to the learner's probabilities, as published.
    window : int, default=None
        For ``step="adaptive"``: examples to look back upon, about. ``None``: all, late ones more.
    batch_size : int, default=1
        Examples that a learner from elsewhere predicts, and then learns, at a time; 1 is the published order, larger
        batches are faster. A batch ends with its chunk. Learners of csf need none.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.
    horizon : int, default=None
        Number of examples to come, which sets the number and length of stages; the last stage goes on after that.
        ``None`` works in blocks of 1000, 2000, 4000, ... examples, each with its own stages; in `fit` it is the
        number of samples times ``passes``. Not used with a ``window``, which blocks never exceed.
    step_scale : float, default=None
        Factor of the step size, positive. ``None``: 3 for ``step="adaptive"``, 1 for ``step="paper"``, the published
        constant, which moves slowly: for known posteriors, factors of 3 to 10 came closer to the best threshold within
        20 000 examples.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    posterior_ : classifier
        The learner, trained.
    n_seen_ : int
        Examples learnt from.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The best threshold :math:`\theta^* = F_\beta^* / (1 + \beta^2)` minimises the strongly convex

    .. math:: Q(\theta) = \tfrac12 E(\eta - \theta)_+^2 + \tfrac12 \beta^2 \pi \theta^2

    with :math:`\pi` the share of positives. Each stage takes projected gradient steps around the mean of the stage
    before, in an interval half as wide. The blocks for an unknown number of examples are not in the paper.

    With ``step="adaptive"`` and ``posterior=None`` the first rows are kept for a while and scored again, as in `OFO`.

    References
    ----------
    .. [1] X. Zhang, M. Liu, X. Zhou, T. Yang, "Faster Online Learning of Optimal Threshold for Consistent F-measure
       Optimization", NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(20000, weights=[0.9], random_state=0)
    >>> model = FOFO(horizon=20000).partial_fit(X, y)
    >>> model.level_, model.online_value_
    (0.329, 0.620)
    """

    horizon: int | None = option(check=check_count, default=None)
    step_scale: float | None = option(check=check_positive, default=None)

    def _level(self) -> float:
        return float(self._state[_MEAN])

    @property
    def pos_share_(self) -> float:
        """Share of positives seen so far."""
        check_is_fitted(self)
        return float(self._state[_POS])

    def _start_threshold(self) -> None:
        highest = 1.0 / (1.0 + self._squared_beta())
        horizon = self._n_expected if self.horizon is None else self.horizon
        self._longest = 0.0 if horizon is not None and self.window is None else float(self.window or math.inf)
        block = horizon if self._longest == 0.0 else min(FIRST_BLOCK, self._longest)
        self._state = np.array([0.0, 0.0, 0.0, 0.0, 0.0, highest, block, 0.0, 1.0, 0.0])

    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        usual = 1.0 if self.step == "paper" else 3.0  # as published, or a size that served well
        step_scale = usual if self.step_scale is None else float(self.step_scale)
        options = (self._square, step_scale, self._longest)
        fofo(proba, is_pos, self._state, *options, self._counts)
