"""The simulations behind monitors run and give rows."""

import numpy as np
import pytest

from tests.benchmarks import monitor, watching, watching_kinds


def test_streams_give_rows():
    rows = list(monitor.rows(["f1", "mean cost"], 40, [400]))
    assert [row["test"] for row in rows] == ["csf", f"csf, weeks={monitor.WEEKS}", *monitor.RIVALS, "csf"]
    false = {row["test"]: float(row["false alarms"].rstrip("%")) for row in rows[:5]}
    assert false["weekly test at 5 %"] > 40 > false["csf"]
    assert rows[0]["-10 points"].startswith(("9", "100"))


def test_late_labels_give_rows():
    rows = watching.late(20)
    row = next(rows)
    assert row["alarms, counted at once"] == "100.0%"
    assert float(row["by cohorts"].rstrip("%")) <= 10.0


def test_batches_that_are_whole_first_are_those_without_positives():
    counts = np.zeros((1, 364, 4), dtype=int)
    counts[0, ::2, 0] = 1
    order = watching.first_whole_first(counts)[0, :, 0]
    assert order[: watching.DAYS // 2].sum() == 0
    assert order.sum() == counts.sum()


def test_sequences_give_rows():
    row = next(watching.sequences(2))
    assert row["ever missed"] == "0.0%"


@pytest.mark.slow
@pytest.mark.simulation
def test_classes_costs_of_rows_and_labels_alarm_rarely_and_soon():
    rows = list(watching_kinds.kinds(60))
    assert len(rows) == 8
    for row in rows:
        assert float(row["alarms without a change"].rstrip("%")) <= 100 * (0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 60))
        found, weeks = row["50% mixed up"].split(",")
        assert float(found.rstrip("%")) >= 95
        assert float(weeks.split()[0]) <= 10


def test_kinds_give_rows():
    assert next(watching_kinds.kinds(2))["alarms without a change"] in ("0.0%", "50.0%")
