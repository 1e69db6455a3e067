"""The benchmark of the README's first example runs and prints its table."""

import pytest

from tests.benchmarks import first_example


@pytest.mark.slow
def test_the_table(capsys):
    first_example.main(["--seeds", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0].lstrip("| ") for line in lines[2:6]] == list(first_example.methods())
    assert lines[-1].startswith("The interval holds the F1 on held-out rows in ")
