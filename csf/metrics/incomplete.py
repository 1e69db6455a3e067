"""Metrics of the truth, computed from labels that miss some positives or mark some negatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Values
from csf._common.validation import check_number, check_share
from csf.metrics.base import CELLS, Coefficients, LinearFractional, Metric, Terms, float_or_array
from csf.metrics.profile import ErrorProfile

# Shares of true positives at which ratios are looked at.
_SPOTS = (1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-6)
# The share of true positives is kept so far from 0 and 1, where draws of few samples leave the range.
_MARGIN = 1e-9
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TrueMetric(Metric):
    r"""Metric of the truth as one of the labels, made by `csf.metrics.Incomplete`.

    Parameters
    ----------
    metric : Metric
        What is computed of the truth.
    missed : float
        Share of the positives that are labelled negative, in [0, 1).
    false : float, default=0.0
        Share of the negatives that are labelled positive, in [0, 1).
    labelled : tuple of float, default=None
        Smallest and largest share of the positives that may be labelled, where it is known no better.

    Notes
    -----
    With :math:`TP_s`, :math:`P_s` of the labels, and the share of samples predicted positive, :math:`\hat P`,

    .. math:: TP = \frac{TP_s - \rho_- \hat P}{1 - \rho_+ - \rho_-}, \qquad
              P = \frac{P_s - \rho_-}{1 - \rho_+ - \rho_-}

    where a positive is missed with probability :math:`\rho_+` and a negative marked with :math:`\rho_-`, at random
    within each class. Both are linear in the errors of the labels, and a metric that falls with the errors of the truth
    falls with those of the labels. Estimates may leave the range of what can be true: errors are then clipped to it,
    but not for a `TrueRatio`.
    """

    metric: Metric
    missed: float
    false: float = 0.0
    labelled: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Name of the metric and of what is known: ``"true f1 (20 % of the positives labelled)"``, …"""
        if self.false:
            return f"true {self.metric.name} ({_percent(self.missed)} missed, {_percent(self.false)} false labels)"
        shares = (1.0 - self.missed,) if self.labelled is None else self.labelled
        return f"true {self.metric.name} ({' to '.join(map(_percent, shares))} of the positives labelled)"

    @property
    def unit(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the metric)
        """Size of a difference that matters."""
        return self.metric.unit

    @property
    def truth(self) -> TrueMetric:  # pyright: ignore[reportIncompatibleVariableOverride] (it is one)
        """The metric itself."""
        return self

    @property
    def share_range(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleVariableOverride] (of the labels)
        """Smallest and largest share of labelled positives that there can be."""
        return self.false, 1.0 - self.missed

    @property
    def extremes(self) -> tuple[TrueMetric, ...]:
        """The metric at both ends of the range of shares; itself where the share is known."""
        shares = self.labelled or ()
        return tuple(replace(self, missed=1.0 - share, labelled=None) for share in shares) or (self,)

    def like(self, metric: Metric) -> TrueMetric:
        """Return another metric of the same truth.

        Parameters
        ----------
        metric : Metric
            What is computed of the truth.

        Returns
        -------
        TrueMetric
            The metric, a `TrueRatio` where it is a ratio of what labels show.
        """
        if (truth := metric.as_ratio) is not None:
            ratio = TrueRatio(truth, self.missed, self.false, self.labelled)
            if all(isinstance(end, TrueRatio) and end.is_usable for end in (ratio, *ratio.extremes)):
                return ratio
        return TrueMetric(metric, self.missed, self.false, self.labelled)

    def positives(self, labelled: Values, among: Values) -> Values:
        """Estimate how many samples are positive ``among`` so many, from those ``labelled`` positive.

        Parameters
        ----------
        labelled, among : float or ndarray
            Numbers of samples, or shares; estimates of small ones may be negative.

        Returns
        -------
        float or ndarray
            Estimates without bias.
        """
        return (labelled - self.false * among) / (1.0 - self.missed - self.false)

    def true_share(self, pos: float) -> float:
        """Compute the share of positives from that of labelled ones."""
        share = self.positives(np.asarray(pos), 1.0)
        return float_or_array(np.clip(share, _MARGIN, 1.0 - _MARGIN))  # pyright: ignore[reportReturnType] (arrays for arrays)

    def check_share(self, pos: float) -> None:
        """Raise a ValueError where so many labelled positives contradict what is known of the labels.

        Parameters
        ----------
        pos : float
            Share of labelled positives.

        Raises
        ------
        ValueError
            If there would have to be no positives, or no negatives.
        """
        low, high = self.share_range
        if not low < pos < high:
            raise ValueError(
                f"{self.name}: {_percent(pos)} of the samples are labelled positive, and there can only be more than "
                f"{_percent(low)} and less than {_percent(high)} if that is so. Give other rates of wrong labels"
            )

    def on_labels(self, by_fn: float, by_fp: float) -> tuple[float, float]:
        """Convert slopes by the true errors to slopes by the labels' true positives and by predicted positives."""
        rest = 1.0 - self.missed - self.false
        return -(by_fn + by_fp) / rest, by_fp + (by_fn + by_fp) * self.false / rest

    def range(self, pos: float) -> tuple[float, float]:
        """Return the range of the metric at the share of true positives, see `Metric.range`."""
        self.check_share(pos)
        return self.metric.range(self.true_share(pos))

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric of the truth from errors of the labels; see `Metric.value`."""
        share, labelled_hits = self.true_share(pos), pos - np.asarray(fn)
        predicted = labelled_hits + fp
        hits = self.positives(labelled_hits, predicted)
        missed, alarms = np.clip(share - hits, 0.0, share), np.clip(predicted - hits, 0.0, 1.0 - share)
        return self.metric.value(float_or_array(missed), float_or_array(alarms), pos=share)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Compute the costs of the labels' errors at level ``t``, see `Metric.cost_weights`."""
        by_tp, by_predicted = self.on_labels(*self.metric.cost_weights(t, pos=self.true_share(pos)))
        return float(-by_tp - by_predicted), float(by_predicted)

    def terms(self) -> Terms | None:
        """List the terms of each cell of the labels, see `Metric.terms`."""
        of_truth, of_labels = self.metric.terms(), {}
        if of_truth is None:
            return None
        missed, false = self.missed, self.false
        for positive, negative in (("tp", "fp"), ("fn", "tn")):
            up, down = np.array(of_truth[positive]), np.array(of_truth[negative])
            of_labels[positive] = ((1.0 - false) * up - missed * down) / (1.0 - missed - false)
            of_labels[negative] = ((1.0 - missed) * down - false * up) / (1.0 - missed - false)
        return {cell: tuple((0.0 + of_labels[cell]).tolist()) for cell in CELLS}

    def trivial_answer(self, *, pos: float) -> str | None:
        """Find the constant prediction that is worth as much as no errors, see `Metric.trivial_answer`."""
        return self.metric.trivial_answer(pos=self.true_share(pos))

    def of(self, profile: ErrorProfile) -> float:
        """Compute the metric on the `ErrorProfile` of the labels, see `Metric.of`."""
        self.check_share(profile.pos)
        return super().of(profile)


@dataclass(frozen=True)
class TrueRatio(LinearFractional, TrueMetric):
    """Linear-fractional metric of the truth, which is one of the labels too.

    Parameters
    ----------
    metric : LinearFractional
        What is computed of the truth.
    missed, false, labelled
        As for `TrueMetric`.

    Notes
    -----
    Values are not clipped: they are ratios of unbiased estimates, and one above 1 says that the share of labelled
    positives is larger than was said, or comes of few samples.
    """

    metric: LinearFractional

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the metric on labels, see `LinearFractional.coefficients`."""
        share = self.true_share(pos)
        n0, n_fn, n_fp, d0, d_fn, d_fp = self.metric.coefficients(share)
        top, bottom = self.on_labels(n_fn, n_fp), self.on_labels(d_fn, d_fp)
        # Constants are those without any predicted positives: nothing cancels where there are none.
        n0, d0 = n0 + n_fn * share + sum(top) * pos, d0 + d_fn * share + sum(bottom) * pos
        return Coefficients(n0, -sum(top), top[1], d0, -sum(bottom), bottom[1])

    def terms(self) -> Terms | None:
        """List the terms of each cell of the labels, see `Metric.terms`."""
        return TrueMetric.terms(self)

    def range(self, pos: float) -> tuple[float, float]:
        """Return the smallest level of the metric, and the value where the predictions are the labels."""
        return super().range(pos)[0], float(self.value(0.0, 0.0, pos=pos))

    @property
    def is_usable(self) -> bool:
        """True where at any share no denominator is negative, and no error is rewarded that the metric punishes."""
        for share in _SPOTS:
            pos = self.false + share * (1.0 - self.missed - self.false)
            numbers = np.array(self.coefficients(pos)).reshape(2, 3)
            corners = np.array([(1.0, fn, fp) for fn in (0.0, pos) for fp in (0.0, 1.0 - pos)])
            known = [self.metric.cost_weights(level, pos=share) for level in self.metric.range(share)]
            falls = np.min(known) >= -_ROUNDING * np.max(np.abs(known))
            costs = [self.cost_weights(level, pos=pos) for level in self.range(pos)] if falls else [1.0]
            smallest = min(
                (corners @ numbers[1]).min() / np.abs(numbers[1]).max(), np.min(costs) / np.max(np.abs(costs))
            )
            if smallest < -_ROUNDING:
                return False
        return True


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def metric_of_truth(
    metric: Metric, labelled: float | ArrayLike | None = None, missed: float = 0.0, false: float = 0.0
) -> TrueMetric:
    """Build the metric of the truth; see `csf.metrics.Incomplete`."""
    known = None
    if labelled is not None:
        if missed or false:
            raise ValueError(
                f"labelled={labelled!r} says which share of the positives is labelled and that no negative is; give it "
                "alone, or missed= and false="
            )
        several = np.ndim(labelled) > 0
        ends = list(labelled) if several else [labelled]  # pyright: ignore[reportArgumentType] (it has a dimension)
        ends = [check_share(end, "labelled") for end in ends]  # pyright: ignore[reportArgumentType] (it is checked)
        if len(ends) > 2 or ends != sorted(ends) or not ends:
            raise ValueError(f"labelled must be a share in (0, 1], or the smallest and largest one, got {labelled!r}")
        known = (ends[0], ends[1]) if ends[0] < ends[-1] else None
        missed = 1.0 - sqrt(ends[0] * ends[-1])
    rates = float(check_number(missed, "missed")), float(check_number(false, "false"))
    if not sum(rates) < 1.0:
        raise ValueError(
            f"missed={missed!r} and false={false!r} must sum to less than 1: beyond that labels say the opposite"
        )
    if labelled is None and not any(rates):
        raise ValueError("what labels miss is not said: give labelled=, the share of the positives that are labelled")
    return TrueMetric(metric, *rates, known).like(metric)
