"""Writes the Python examples of the README and the guide as files for a type checker: `readme_examples.py FOLDER`.

Blocks that go on from others, or need what no extra of csf installs, are marked ``py`` and left out.
"""

import re
import sys
from pathlib import Path

root = Path(__file__).parents[1]
pages = [root / "README.md", *sorted((root / "notebooks/guide").glob("*.md"))]
text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
examples = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
assert examples, "README.md has no Python example"
for number, example in enumerate(examples):
    (folder / f"example_{number}.py").write_text(example, encoding="utf-8")
