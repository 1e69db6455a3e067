"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, flags=re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_examples_print_what_is_shown(code, output, capsys):
    exec(code, {})
    assert capsys.readouterr().out == output


@pytest.mark.parametrize("marker", ["run", "test"])
def test_each_set_up_command_is_one_line(marker):
    (block,) = re.findall(rf"<!-- ci: {marker} -->\n```sh\n(.*?)```", TEXT, flags=re.DOTALL)
    assert block.count("\n") == 1


def test_files_that_are_linked_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (Path(__file__).parents[1] / target).exists(), target
