"""Thresholds on a score and rules of several classes: what is best on given scores, and what predicts with it."""
