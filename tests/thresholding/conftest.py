"""Makes the oracles importable, whatever directory the tests start from; compiling is not held against a test."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))

settings.register_profile("thresholding", deadline=None)
settings.load_profile("thresholding")
