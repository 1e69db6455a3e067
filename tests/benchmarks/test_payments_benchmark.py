"""The benchmark of the README's payments runs and prints its table."""

import pytest

from tests.benchmarks import payments


@pytest.mark.slow
def test_the_table(capsys):
    payments.main(["--seeds", "1"])
    row = [cell.strip() for cell in capsys.readouterr().out.splitlines()[2].strip("|").split("|")]
    assert float(row[0]) > float(row[1]) > 0.0
    assert row[3] == "1 of 1"
