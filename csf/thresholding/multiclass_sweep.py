"""Thresholds on a score where several classes can be found, and some samples are taken for the wrong one."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, BoolArray
from csf.thresholding.curve import ThresholdCurve, sweep

__all__ = ["sweep_several"]


def sweep_several(
    is_pos: BoolArray, lost: BoolArray, score: Array, sample_weight: Array | None = None
) -> ThresholdCurve:
    """`sweep` where some positives are found at no threshold.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_samples,)
        ``False`` for the class that means nothing to find.
    lost : ndarray of bool, shape (n_samples,)
        Positives that are taken for another positive class wherever something is found in them.
    score : ndarray of shape (n_samples,)
        Scores, not NaN.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    ThresholdCurve
        All thresholds; ``fn`` counts lost samples at each of them.

    Notes
    -----
    With several classes, a rule finds the best of the others where its score exceeds that of the null class by a
    threshold. Which one is the best does not depend on the threshold. So a sample of a positive class is right from its
    own score downwards if that best one is its class, and wrong at every threshold otherwise: leaving the latter out
    turns all rules into those of two classes, and adding their weight to every ``fn`` makes the profiles those of all
    samples.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> is_pos, lost = np.array([False, True, True, True]), np.array([False, True, False, False])
    >>> curve = sweep_several(is_pos, lost, np.array([0.2, 0.9, 0.7, 0.1]))
    >>> curve.fn, curve.fp
    (array([0.75, 0.5 , 0.5 , 0.25]), array([0.  , 0.  , 0.25, 0.25]))
    """
    if not lost.any():
        return sweep(is_pos, score, sample_weight)
    kept = ~lost
    weight = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
    curve = sweep(is_pos[kept], score[kept], None if sample_weight is None else sample_weight[kept])
    total, pos = weight.sum(), weight[is_pos].sum() / weight.sum()
    share = weight[kept].sum() / total
    # Rounding must neither push a cut out of the box nor leave something of a class that is wrong altogether.
    fn = np.clip(pos - share * (curve.pos - curve.fn), 0.0, pos)
    fp = np.where(curve.fp >= 1.0 - curve.pos, 1.0 - pos, np.minimum(share * curve.fp, 1.0 - pos))
    fn.flags.writeable = fp.flags.writeable = False
    return ThresholdCurve(curve.lowest_score, fn, fp, float(pos))
