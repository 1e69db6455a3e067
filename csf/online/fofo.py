"""FOFO: the threshold by stochastic gradient descent on a strongly convex function, in stages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.compiled import njit
from csf._common.typing import BoolArray, Estimator, FloatArray, Label, RandomState_
from csf._common.validation import check_count, check_positive
from csf.online.posterior import PosteriorThreshold, PublishedThresholds, ThresholdsOfShares

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["FOFO"]

# First block of a stream of unknown length; each next one is twice as long.
FIRST_BLOCK = 1000

# Places in the state. A block is one run of known length; it has stages, the last of which takes what remains.
_SEEN, _POS, _CENTRE, _ITERATE, _MEAN, _RADIUS, _BLOCK, _IN_BLOCK, _STAGE, _IN_STAGE = range(10)


@njit(cache=True, nogil=True, error_model="numpy")
def n_stages(n):
    """Number of stages for n examples."""
    if n <= 2:
        return 1
    return max(1, math.floor(0.5 * math.log2(2.0 * n / math.log2(n))) - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def fofo(proba, is_pos, state, squared_beta, step_scale, longest, counts):
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


class PublishedFOFO(PublishedThresholds):
    """Steps of the published size."""

    step_scale = 1.0


class AdaptiveFOFO(ThresholdsOfShares):
    """Steps of a size that served well."""

    step_scale = 3.0


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
    horizon : int, default=None
        Number of examples to come, which sets the number and length of stages; the last stage goes on after that.
        ``None`` works in blocks of 1000, 2000, 4000, ... examples, each with its own stages; in `fit` it is the
        number of samples times ``passes``. Not used with a ``window``, which blocks never exceed.
    step_scale : float, default=None
        Factor of the step size, positive. ``None``: 3 for ``step="adaptive"``, 1 for ``step="paper"``, the published
        constant, which moves slowly: for known posteriors, factors of 3 to 10 came closer to the best threshold within
        20 000 examples.
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

    def __init__(
        self,
        metric: str | Metric = "f1",
        *,
        posterior: Estimator = None,
        step: Literal["adaptive", "paper"] = "adaptive",
        window: int | None = None,
        horizon: int | None = None,
        step_scale: float | None = None,
        batch_size: int = 1,
        passes: int = 1,
        shuffle: bool = True,
        pos_label: Label = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.metric = metric
        self.posterior = posterior
        self.step = step
        self.window = window
        self.horizon = horizon
        self.step_scale = step_scale
        self.batch_size = batch_size
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    _rules: ClassVar = {"adaptive": AdaptiveFOFO, "paper": PublishedFOFO}

    def _level(self) -> float:
        return float(self._state[_MEAN])

    @property
    def pos_share_(self) -> float:
        """Share of positives seen so far."""
        check_is_fitted(self)
        return float(self._state[_POS])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.step_scale is not None:
            check_positive(self.step_scale, "step_scale")
        if self.horizon is not None:
            check_count(self.horizon, "horizon")

    def _start_threshold(self) -> None:
        highest = 1.0 / (1.0 + self._squared_beta())
        horizon = self._n_expected if self.horizon is None else self.horizon
        self._longest = 0.0 if horizon is not None and self.window is None else float(self.window or math.inf)
        block = horizon if self._longest == 0.0 else min(FIRST_BLOCK, self._longest)
        self._state = np.array([0.0, 0.0, 0.0, 0.0, 0.0, highest, block, 0.0, 1.0, 0.0])

    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        step_scale = self._rule.step_scale if self.step_scale is None else float(self.step_scale)
        options = (self._square, step_scale, self._longest)
        fofo(proba, is_pos, self._state, *options, self._counts)
