"""2PMB: a sample of the rare class is kept, and each buffer of the other class makes one step against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import BoolArray, FloatArray, Label, RandomState_, Samples
from csf._common.validation import check_bool, check_count
from csf.structural._minibatch import MiniBatchLearner, Waiting
from csf.structural._reservoir import Reservoir
from csf.structural._rows import rows_of

if TYPE_CHECKING:
    from csf.structural._rows import Rows
    from csf.structural.losses.base import StructuralLoss


__all__ = ["TwoPassMiniBatch"]


class TwoPassMiniBatch(MiniBatchLearner):
    r"""Linear classifier for a structural loss that keeps a sample of the rare class (2PMB).

    A first pass samples the rare class. In later passes each buffer of the other class makes one projected
    subgradient step of the loss of both.

    Parameters
    ----------
    loss : str or StructuralLoss, default="pauc"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    buffer_size : int, default=500
        Examples of the common class for one step, at least 2.
    reservoir_size : int, default=500
        Examples of the rare class that are kept, at least 1; all of them if they are fewer.
    reweight : bool, default=True
        Whether each example counts as the share of the data that it stands for. Without it, performances that
        depend on the share of positives (precision, F-beta) are those of the buffer, in which the rare class is
        more frequent.
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
        Passes over the samples in `fit`, beside the first, which samples.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set after `fit`, else on the last buffer. Weights that have a small loss need not be best at threshold
        0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the order in `fit`.

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
        Examples seen, those of `collect` included.
    n_updates_ : int
        Steps made.
    n_skipped_ : int
        Buffers of the common class that came before any example of the rare class; they are discarded.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and the ``loss`` of the last buffer before its step.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    For a stream, call `collect` with all chunks and then ``partial_fit`` with all chunks again, as often as you
    like. Without `collect`, the positive class is taken for the rare one and its sample grows while the stream goes
    by. Memory is that of the sample, the buffer and a few vectors.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import partial_auc_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = TwoPassMiniBatch("pauc", random_state=0).fit(X, y)
    >>> partial_auc_score(y, model.decision_function(X), beta=0.1)
    0.916
    """

    def __init__(
        self,
        loss: str | StructuralLoss = "pauc",
        *,
        buffer_size: int = 500,
        reservoir_size: int = 500,
        reweight: bool = True,
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
        self.reservoir_size = reservoir_size
        self.reweight = reweight
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

    def collect(self, X: Samples, y: ArrayLike, classes: ArrayLike | None = None) -> TwoPassMiniBatch:
        """First pass over a stream: sample both classes and count them; nothing is learnt yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their labels. One class is enough once both labels are known.
        classes : array-like of shape (2,), default=None
            Both labels; needed in the first call if its ``y`` has one class only.

        Returns
        -------
        TwoPassMiniBatch
            Itself.

        Raises
        ------
        ValueError
            If learning has begun.
        """
        if getattr(self, "_rare", None) is not None:
            raise ValueError("collect comes before partial_fit; learning has begun. Use another estimator")
        try:
            self._collecting = True
            return self.partial_fit(X, y, classes)
        finally:
            vars(self).pop("_collecting", None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.reservoir_size, "reservoir_size")
        check_bool(self.reweight, "reweight")

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._waiting = Waiting()
        self._samples: dict[float, Reservoir] | None = None
        self._rare: float | None = None

    def _step(self, X: Samples, y: FloatArray) -> None:
        rows = rows_of(X)
        if hasattr(self, "_collecting"):
            if self._samples is None:
                self._samples = {sign: Reservoir(self.reservoir_size) for sign in (1.0, -1.0)}
            random = self._rng.random(y.size)
            for sign, sample in self._samples.items():
                _add(sample, rows, y == sign, random)
            return
        if self._rare is None:
            self._choose_rare()
        if self._collected_before:
            self._learn_common(rows, y)
        else:
            self._learn_all(rows, y)

    def _learn_common(self, rows: Rows, y: FloatArray) -> None:
        """Steps of rows of the common class; the others are in the sample already."""
        common = np.flatnonzero(y != self._rare)
        for part in self._waiting.fill(self._size, rows.take(common), y[common]):
            self._use(*part)

    def _learn_all(self, rows: Rows, y: FloatArray) -> None:
        """Let the sample grow, up to the row that fills a buffer, and make the step of that buffer."""
        random, common, start = self._rng.random(y.size), np.flatnonzero(y != self._rare), 0
        while start < y.size:
            ahead = np.searchsorted(common, start) + self._size - self._waiting.n_rows - 1
            stop = int(common[ahead]) + 1 if ahead < common.size else y.size
            part, sign = rows.take(slice(start, stop)), y[start:stop]
            _add(self._sample, part, sign == self._rare, random[start:stop])
            self._n_common += np.count_nonzero(sign != self._rare)
            self._learn_common(part, sign)
            start = stop

    def _choose_rare(self) -> None:
        """Which class is kept, and what of it."""
        samples = self._samples
        self._collected_before = samples is not None
        if samples is None:
            self._rare, self._sample, self._n_common = 1.0, Reservoir(self.reservoir_size), 0
            return
        rare = min((1.0, -1.0), key=lambda sign: samples[sign].n_seen)
        if samples[rare].n_seen == 0:
            raise ValueError("collect has met one class only; call it with the other class too, or use a new estimator")
        self._rare, self._sample, self._n_common = rare, samples[rare], samples[-rare].n_seen
        self._size = min(self._size, self._n_common)
        self._samples = None

    def _buffered(self, rows: Rows, sign: FloatArray) -> BoolArray:
        """Sample the rare class at once: as uniform as one row after the other."""
        n_pos = np.count_nonzero(sign > 0)
        self._rare = 1.0 if 2 * n_pos <= sign.size else -1.0
        self._collected_before = True
        rare = np.flatnonzero(sign == self._rare)
        self._sample = Reservoir(self.reservoir_size)
        kept = rare if rare.size <= self.reservoir_size else self._rng.choice(rare, self.reservoir_size, replace=False)
        self._sample.rows, self._sample.n_kept, self._sample.n_seen = rows.take(kept).copy(), kept.size, rare.size
        self._n_common = sign.size - rare.size
        self._size = min(self._size, self._n_common)
        return sign != self._rare

    def _use(self, rows: Rows, sign: FloatArray) -> None:
        kept, n_kept, n_rare = self._sample.rows, self._sample.n_kept, self._sample.n_seen
        if kept is None or n_kept == 0:
            self.n_skipped_ += 1
            return
        shares = None
        if self.reweight:
            pos = n_rare / (n_rare + self._n_common)
            shares = pos / n_kept, (1.0 - pos) / sign.size
            if self._rare == -1.0:
                shares = shares[1], shares[0]
        self._descend([(kept, np.full(n_kept, self._rare)), (rows, sign)], shares)


def _add(sample: Reservoir, rows: Rows, chosen: BoolArray, random: FloatArray) -> None:
    places = np.flatnonzero(chosen)
    if places.size:
        sample.add(rows.take(places), random[places])
