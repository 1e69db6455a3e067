"""1PMB: one subgradient step of a structural loss for each buffer of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from csf._common.typing import BoolArray, FloatArray, Label, RandomState_, Samples
from csf.structural._minibatch import MiniBatchLearner, Waiting
from csf.structural._rows import rows_of

if TYPE_CHECKING:
    from csf.structural._rows import Rows
    from csf.structural.losses.base import StructuralLoss


__all__ = ["OnePassMiniBatch"]


class OnePassMiniBatch(MiniBatchLearner):
    r"""Linear classifier for a structural loss, by projected subgradient steps on buffers of a stream (1PMB).

    Parameters
    ----------
    loss : str or StructuralLoss, default="prbep"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    buffer_size : int, default=500
        Examples for one step, at least 2; the square root of the number of examples is a good value. In `fit` it is
        never more than the number of samples.
    eta : float, default=None
        First step size, positive; step e has ``eta / sqrt(e)``. ``None`` takes a tenth of ``radius``, divided by
        the length of all subgradients so far, as one vector: no step is longer than a tenth of ``radius``.
    averaging : {"poly", "uniform"}, default="poly"
        Weights to predict with: averages over all steps in which step e counts as its cube (``"poly"``), or all steps
        alike, as in the paper (``"uniform"``).
    radius : float, default=1000.0
        Largest length of the weights, positive, for rows scaled to length at most 1.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=25
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set after `fit`, else on the last buffer. Weights that have a small loss need not be best at threshold
        0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``, averaged over all steps.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients of the last step.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there are, in the training set after `fit`, else in the last buffer.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_seen_ : int
        Examples seen.
    n_updates_ : int
        Steps made.
    n_skipped_ : int
        Buffers without one of the classes; they are discarded.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and the ``loss`` of the last buffer before its step.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Memory is that of the buffer and a few vectors; a step on sparse rows costs as much as their entries.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import precision_at_k_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = OnePassMiniBatch("prbep", random_state=0).fit(X, y)
    >>> precision_at_k_score(y, model.decision_function(X))
    0.905
    """

    def __init__(
        self,
        loss: str | StructuralLoss = "prbep",
        *,
        buffer_size: int = 500,
        eta: float | None = None,
        averaging: Literal["poly", "uniform"] = "poly",
        radius: float = 1000.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        passes: int = 25,
        shuffle: bool = True,
        tune_threshold: bool = False,
        pos_label: Label = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.loss = loss
        self.buffer_size = buffer_size
        self.eta = eta
        self.averaging = averaging
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.passes = passes
        self.shuffle = shuffle
        self.tune_threshold = tune_threshold
        self.pos_label = pos_label
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._waiting = Waiting()

    def _step(self, X: Samples, y: FloatArray) -> None:
        for rows, sign in self._waiting.fill(self._size, rows_of(X), y):
            self._use(rows, sign)

    def _buffered(self, rows: Rows, sign: FloatArray) -> BoolArray:
        return np.ones(sign.size, dtype=bool)

    def _use(self, rows: Rows, sign: FloatArray) -> None:
        self.n_skipped_ += not self._descend([(rows, sign)])
