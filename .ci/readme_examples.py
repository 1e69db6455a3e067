"""Writes the Python examples of README.md as files: `python readme_examples.py FOLDER`, for a type checker to read."""

import re
import sys
from pathlib import Path

text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
examples = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
assert examples, "README.md has no Python example"
for number, example in enumerate(examples):
    (folder / f"example_{number}.py").write_text(example, encoding="utf-8")
