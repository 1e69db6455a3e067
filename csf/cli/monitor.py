"""``csf monitor``: whether a saved model still keeps its level, by batches of labelled rows."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from csf._common.files import write_figure
from csf.cli.data import read_labels, read_samples
from csf.cli.predict import load_model
from csf.cli.shared import check_figure

__all__ = ["ALARM", "run"]

# Exit code of an alarm.
ALARM = 3


def run(options: Namespace, say: Callable[..., Any]) -> int:
    """Run the command; the exit code says whether there is an alarm."""
    check_figure(options.plot)
    search, features = load_model(options.model, options.trust)
    watched = {"alpha": options.alpha, "audit": options.audit, "path": options.state}
    monitor = search.monitor(options.constraint, **watched)
    predicted = search.predict(read_samples(options.data, features))
    y = None if options.target is None else read_labels(options.data, options.target, search)
    monitor.update(y, predicted, name=options.name)
    say(monitor.report())
    if options.plot:
        write_figure(options.plot, monitor.plot().figure_)
        say(f"plot: {options.plot}")
    return ALARM if monitor.alarm else 0
