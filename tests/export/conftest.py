import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "notebooks/guide/export.md"


@pytest.fixture
def without_csf():
    """Run code in a process that cannot import csf: what it prints."""

    def run(code, folder, *words):
        block = "import sys; sys.modules['csf'] = None\n"
        done = subprocess.run(
            [sys.executable, "-I", "-c", block + code, *map(str, words)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def guide():
    """Code of the guide that has a word in it."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return lambda word: next(block for block in blocks if word in block)
