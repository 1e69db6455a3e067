"""Alternating weighted SVMs: concave metrics by their Fenchel duals, pseudo-linear ones by their level."""

from csf.fenchel.amp import AMP
from csf.fenchel.svm import FenchelSVM

__all__ = ["AMP", "FenchelSVM"]
