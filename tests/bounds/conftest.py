"""Makes the oracles importable, whatever directory the tests start from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
