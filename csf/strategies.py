"""Where to train next: pure functions of the trials so far."""

from csf.search.strategies import *  # noqa: F403 - a new strategy is listed in one file
from csf.search.strategies import __all__ as __all__
