"""What every package needs: checks, types, files, messages, threads, compiled loops, scikit-learn's private names."""

__all__ = ["__version__"]

__version__ = "0.2.0"
