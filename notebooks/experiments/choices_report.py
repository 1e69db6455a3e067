"""What cells of a benchmark of choices say: each method against the rival, over families of data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.files import replaced, write_json
from csf._common.typing import PathLike
from csf.metrics import get_constraint
from notebooks.experiments.choices import RIVAL, family
from notebooks.experiments.report import COLUMNS, Report, markdown_table, write_rows
from notebooks.experiments.statistics import paired_difference

if TYPE_CHECKING:
    from notebooks.experiments.run import Plan

__all__ = ["ChoicesReport", "Verdict", "write_choices"]

# Differences below this are rounding.
_EQUAL = 1e-12


@dataclass(frozen=True)
class Verdict:
    """A method against the rival; values and differences in units of the metric."""

    method: str
    value: float  # mean on test parts: over splits, then sets, then families
    # Mean difference, its standard error and 95 % interval, with the families as the sample; NaN where there is one.
    mean: float
    error: float
    low: float
    high: float
    # Families, and sets, where the method is better or worse.
    wins: int
    losses: int
    set_wins: int
    set_losses: int
    worst_family: str
    worst: float
    # Medians over sets of the means over splits.
    seconds: float
    fits: float
    satisfied: float  # mean share of test parts on which the constraint holds, as the value; 1 without one


class ChoicesReport:
    """What the cells of a plan of choices say."""

    def __init__(self, plan: Plan, rows: list[dict[str, Any]], constraint: str | None = None) -> None:
        self.plan, self.rows, self.constraint = plan, rows, constraint
        self._cells = Report(plan, rows)
        self.methods = self._cells.methods

    def differences(self, method: str) -> dict[str, float]:
        """Mean paired difference to the rival on each data set, where both are complete."""
        pairs = {name: [self._cells.values(name, which) for which in (method, RIVAL)] for name in self._cells.sets}
        return {name: float(np.mean(a - b)) for name, (a, b) in pairs.items() if a.size and a.size == b.size}

    def verdict(self, method: str) -> Verdict | None:
        """A method against the rival; ``None`` where no data set has both."""
        by_set = self.differences(method)
        if not by_set:
            return None
        by_family = _over_families(by_set)
        gains, each = np.array(list(by_family.values())), np.array(list(by_set.values()))
        found = paired_difference(gains, np.zeros_like(gains), method="t")
        worst = min(by_family, key=lambda name: by_family[name])
        means = {
            column: {name: float(self._cells.values(name, method, column).mean()) for name in by_set}
            for column in ("value", "seconds", "fits")
        }
        satisfied = {name: self._satisfied(name, method) for name in by_set}
        return Verdict(
            method=method,
            value=_mean(_over_families(means["value"])),
            mean=found.mean,
            error=found.error,
            low=found.low,
            high=found.high,
            wins=int(np.sum(gains > _EQUAL)),
            losses=int(np.sum(gains < -_EQUAL)),
            set_wins=int(np.sum(each > _EQUAL)),
            set_losses=int(np.sum(each < -_EQUAL)),
            worst_family=worst,
            worst=by_family[worst],
            seconds=float(np.median(list(means["seconds"].values()))),
            fits=float(np.median(list(means["fits"].values()))),
            satisfied=_mean(_over_families(satisfied)),
        )

    def _satisfied(self, data: str, method: str) -> float:
        constraint = get_constraint(self.constraint)
        if constraint is None:
            return 1.0
        fn, fp, pos = (self._cells.values(data, method, column) for column in ("fn", "fp", "pos"))
        return float(np.mean([constraint.violation(*errors[:2], pos=errors[2]) <= 0 for errors in zip(fn, fp, pos)]))

    def verdicts(self) -> list[Verdict]:
        """All methods, the rival among them, in the order of the plan."""
        found = (self.verdict(method) for method in self.methods)
        return [verdict for verdict in found if verdict is not None]

    def families(self) -> dict[str, dict[str, float]]:
        """Differences to the rival by family and method."""
        columns = {method: _over_families(self.differences(method)) for method in self.methods if method != RIVAL}
        names = sorted({name for column in columns.values() for name in column})
        return {name: {method: gains[name] for method, gains in columns.items() if name in gains} for name in names}

    def markdown(self, *, command: str = "") -> str:
        """The whole report."""
        aim = self.plan.metric if self.constraint is None else f"{self.plan.metric} with {self.constraint}"
        parts = [f"# {aim} x 100, differences to the rival"]
        parts += [f"    {command}"] if command else []
        parts += [self._table(), self._by_family(), self._cells.failures(len(self.rows))]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _table(self) -> str:
        header = ["method", "value", "difference", "95 % interval", "families won : lost", "sets won : lost"]
        header += ["worst family", "seconds", "trainings"] + (["constraint holds"] if self.constraint else [])
        verdicts = self.verdicts()
        n_sets, n_families = len(self.differences(RIVAL)), len(_over_families(self.differences(RIVAL)))
        note = (
            f"{n_sets} data sets of {n_families} families. Paired differences are averaged over splits, sets of a "
            "family, and families; ± standard error and interval take the families as the sample. Seconds and "
            "trainings of the base: medians over sets."
        )
        body = [_row(verdict, constrained=self.constraint is not None) for verdict in verdicts]
        return f"{markdown_table(header, body)}\n\n{note}"

    def _by_family(self) -> str:
        methods = [method for method in self.methods if method != RIVAL]
        body = [[name, *(_signed(known.get(method)) for method in methods)] for name, known in self.families().items()]
        return f"## By family\n\n{markdown_table(['family', *methods], body)}" if body and methods else ""


def write_choices(report: ChoicesReport, folder: PathLike, *, command: str = "") -> list[Path]:
    """Write the table as Markdown, all its numbers as JSON, and the cells as CSV."""
    folder = Path(folder)
    paths = [folder / "choices.md", folder / "choices.json"]
    with replaced(paths[0]) as file:
        file.write(report.markdown(command=command))
    content = {
        "command": command,
        "metric": report.plan.metric,
        "constraint": report.constraint,
        "methods": [_finite(asdict(verdict)) for verdict in report.verdicts()],
        "families": report.families(),
        "sets": {method: report.differences(method) for method in report.methods if method != RIVAL},
    }
    write_json(paths[1], content)
    rows = [{**row, "family": family(row["data"])} for row in report.rows]
    return paths + write_rows(rows, folder, "cells", ("family", *COLUMNS))


def _over_families(by_set: dict[str, float]) -> dict[str, float]:
    """Means over the sets of each family."""
    groups: dict[str, list[float]] = {}
    for name, value in by_set.items():
        groups.setdefault(family(name), []).append(value)
    return {name: float(np.mean(values)) for name, values in groups.items()}


def _mean(by_name: dict[str, float]) -> float:
    return float(np.mean(list(by_name.values())))


def _row(verdict: Verdict, *, constrained: bool) -> Sequence[str]:
    known = not np.isnan(verdict.error)
    rival = verdict.method == RIVAL
    cells = [verdict.method, f"{100 * verdict.value:.1f}"]
    cells += ["-"] if rival else [_signed(verdict.mean) + (f" ± {100 * verdict.error:.2f}" if known else "")]
    cells += [f"[{_signed(verdict.low)}, {_signed(verdict.high)}]" if known and not rival else "-"]
    cells += ["-", "-", "-"] if rival else [f"{verdict.wins} : {verdict.losses}"]
    cells += [] if rival else [f"{verdict.set_wins} : {verdict.set_losses}"]
    cells += [] if rival else [f"{verdict.worst_family} {_signed(verdict.worst)}"]
    cells += [f"{verdict.seconds:.3g}", f"{verdict.fits:.0f}"]
    return [*cells, f"{100 * verdict.satisfied:.0f} %"] if constrained else cells


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.2f}"


def _finite(content: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in content.items()}
