"""Alternating weighted SVMs: concave metrics by their Fenchel duals, pseudo-linear ones by their level."""

from csf.learners.fenchel import AMP, FenchelSVM

__all__ = ["AMP", "FenchelSVM"]
