"""Code that every package needs: checks, types, files, messages, threads, compiled loops, scikit-learn's private names.

``import csf`` loads this file, and nothing else of csf.
"""

__all__ = ["__version__"]

__version__ = "0.2.0"
