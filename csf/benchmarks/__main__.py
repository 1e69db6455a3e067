"""``python -m csf.benchmarks`` prints the tables of the linear engine, ``python -m csf.benchmarks NAME`` others."""

import runpy
import sys
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "__main__", "data")
)

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "engine"
    if name not in NAMES:
        sys.exit(f"there is no benchmark {name!r}; accepted: {', '.join(NAMES)}")
    sys.argv[1:2] = []
    runpy.run_module(f"csf.benchmarks.{name}", run_name="__main__")
