"""Class costs that maximise the metric you care about."""

__version__ = "0.1.0"
