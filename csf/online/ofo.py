"""OFO: the threshold is half the F-measure (for beta = 1) of the predictions made so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import BoolArray, Estimator, FloatArray, Label, RandomState_
from csf._common.validation import check_share
from csf.online.posterior import PosteriorThreshold, PublishedThresholds, ThresholdsOfShares

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["OFO"]

# Places in the state.
_NUMERATOR, _DENOMINATOR, _THRESHOLD = range(3)


@njit(cache=True, nogil=True, error_model="numpy")
def ofo(proba, is_pos, state, squared_beta, forgetting, counts):
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


class PublishedOFO(PublishedThresholds):
    """Sums that forget at a given rate, from a threshold of 0 on."""

    @staticmethod
    def start(highest: float) -> float:
        """First threshold, without a prior."""
        return 0.0

    @staticmethod
    def forgetting(learner: OFO, n_before: int, n_rows: int) -> FloatArray:
        """Factor of the sums for each of the next examples."""
        return np.full(n_rows, float(learner.forgetting))


class AdaptiveOFO(ThresholdsOfShares):
    """Sums in which example t weighs t, and more with a window, from the highest threshold on."""

    @staticmethod
    def start(highest: float) -> float:
        """First threshold."""
        return highest

    @staticmethod
    def forgetting(learner: OFO, n_before: int, n_rows: int) -> FloatArray:
        """Factor of the sums for each of the next examples."""
        later = np.arange(n_before + 2.0, n_before + n_rows + 2.0)
        return np.minimum(1.0 - 1.0 / later, 1.0 - 1.0 / float(learner.window or np.inf))


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
    prior : tuple of float, default=(0.0, 0.0)
        For ``step="paper"``: what numerator and denominator of the threshold start with. ``(0, 0)`` starts at threshold
        0, where everything is positive; ``(m * theta, m)`` starts at theta and counts like m predicted positives.
    forgetting : float, default=1.0
        For ``step="paper"``: factor of the sums at each example, in (0, 1]. Below 1 the threshold forgets what early,
        worse models did, and stays noisy: it looks back about ``1 / (1 - forgetting)`` examples.
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

    def __init__(
        self,
        metric: str | Metric = "f1",
        *,
        posterior: Estimator = None,
        step: Literal["adaptive", "paper"] = "adaptive",
        window: int | None = None,
        prior: tuple[float, float] = (0.0, 0.0),
        forgetting: float = 1.0,
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
        self.prior = prior
        self.forgetting = forgetting
        self.batch_size = batch_size
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    _rules: ClassVar = {"adaptive": AdaptiveOFO, "paper": PublishedOFO}
    _of_paper = ("prior", "forgetting")

    def _level(self) -> float:
        return float(self._state[_THRESHOLD])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share(self.forgetting, "forgetting")
        try:
            a, b = map(float, self.prior)
        except (TypeError, ValueError):
            raise TypeError(f"prior must be a pair of numbers, got {self.prior!r}") from None
        highest = 1.0 / (1.0 + self._squared_beta())
        if not (0.0 <= b < np.inf and 0.0 <= a <= b * highest * (1.0 + 1e-12)):
            raise ValueError(f"prior must be (a, b) with 0 <= a <= {highest:g} * b, got {self.prior!r}")

    def _start_threshold(self) -> None:
        a, b = map(float, self.prior)
        first = self._rule.start(1.0 / (1.0 + self._squared_beta()))
        self._state = np.array([a, b, a / b if b > 0.0 else first])

    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        forgetting = self._rule.forgetting(self, int(self._counts.sum()), proba.size)
        ofo(proba, is_pos, self._state, self._square, forgetting, self._counts)
