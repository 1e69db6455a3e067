"""The version, for whoever writes it into a file."""

__all__ = ["__version__"]

__version__ = "0.2.0"
