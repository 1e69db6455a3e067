"""The simulations behind monitors run and give rows."""

from tests.benchmarks import monitor


def test_streams_give_rows():
    rows = list(monitor.rows(["f1", "mean cost"], 40, [400]))
    assert [row["test"] for row in rows] == ["csf", *monitor.RIVALS, "csf"]
    false = {row["test"]: float(row["false alarms"].rstrip("%")) for row in rows[:4]}
    assert false["weekly test at 5 %"] > 40 > false["csf"]
    assert rows[0]["-10 points"].startswith(("9", "100"))
