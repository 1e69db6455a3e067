"""Monitoring of a fitted threshold: a test of whether a metric still keeps its level, on labels that come in over time.

The test is a bet against the level (an e-process): its capital is a product over samples, its mean is at most 1 while
the level holds, and so the probability that it ever reaches ``1 / alpha`` is at most ``alpha``, however often one looks
[1]_. For F1, precision and other shares the factors are the likelihood ratios of binomial shares. Several bet sizes are
mixed, and all samples at which the metric may have left its level, with weights that fall with their number.

References
----------
.. [1] A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, "Game-theoretic statistics and safe anytime-valid inference",
   Statistical Science 38, 2023.
"""

from csf.monitoring.group import MonitorGroup
from csf.monitoring.monitor import Monitor

__all__ = [
    "Monitor",
    "MonitorGroup",
]
