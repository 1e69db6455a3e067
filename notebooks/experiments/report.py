"""Results as tables: Markdown for people, CSV and Parquet for programs, one figure of ranks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.files import cell, replaced, write_figure
from csf._common.typing import Array, PathLike
from notebooks.experiments.methods import REFERENCE
from notebooks.experiments.published import TABLE_2
from notebooks.experiments.statistics import mean_and_error, mean_difference, paired_difference, rank_methods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from notebooks.experiments.run import Plan
    from notebooks.experiments.statistics import Difference, Ranking


__all__ = ["Report", "markdown_table", "mean_text", "new_figure", "write_report", "write_rows"]

COLUMNS = ("data", "method", "split", "value", "chosen_value", "fn", "fp", "pos", "C", "t", "threshold", "fits")
COLUMNS = (*COLUMNS, "seconds", "error")
# Failed cells, and methods left out, that a report names.
_MOST_LINES = 12


class Report:
    """What the cells of a plan say.

    Parameters
    ----------
    plan : Plan
        What was computed.
    rows : list of dict
        Finished cells, see `notebooks.experiments.read_cells`.
    """

    def __init__(self, plan: Plan, rows: list[dict[str, Any]]) -> None:
        self.plan, self.rows = plan, rows
        self.sets = [data.name for data in plan.data if any(row["data"] == data.name for row in rows)]
        self.methods = [name for name in plan.methods if any(row["method"] == name for row in rows)]
        self._column = {}
        for row in rows:
            self._column.setdefault((row["data"], row["method"]), {})[row["split"]] = row

    def values(self, data: str, method: str, column: str = "value") -> Array:
        """Entries of a method on the splits of a data set.

        Parameters
        ----------
        data, method : str
            Names.
        column : str, default="value"
            Entry of a row.

        Returns
        -------
        ndarray of shape (n_splits,)
            In the order of the splits; empty where there is nothing, or where a cell failed.
        """
        rows = self._column.get((data, method), {})
        if any("error" in row for row in rows.values()):
            return np.empty(0)
        return np.array([rows[split][column] for split in sorted(rows)], dtype=float)

    def difference(
        self, data: str, method: str, reference: str = REFERENCE, *, how: str = "corrected"
    ) -> Difference | None:
        """Paired difference of two methods on a data set.

        Parameters
        ----------
        data, method : str
            Names.
        reference : str, default="pooled-threshold"
            The other method.
        how : {"corrected", "t", "bootstrap"}, default="corrected"
            See `paired_difference`.

        Returns
        -------
        Difference or None
            ``None`` where one of them is missing.
        """
        first, second = self.values(data, method), self.values(data, reference)
        if not first.size or first.size != second.size:
            return None
        return paired_difference(first, second, test_train_ratio=self.plan.protocol.test_train_ratio, method=how)

    def ranking(self, *, linear: bool = False) -> Ranking | None:
        """Ranks over the data sets that all ranked methods have.

        Parameters
        ----------
        linear : bool, default=False
            Whether only methods with linear models are ranked.

        Returns
        -------
        Ranking or None
            ``None`` where no data set has two of them.
        """
        methods = [name for name in self.methods if not linear or self.plan.methods[name].is_linear]
        means = {
            data: [self.values(data, name).mean() for name in methods]
            for data in self.sets
            if all(self.values(data, name).size for name in methods)
        }
        return rank_methods(methods, list(means.values())) if means and len(methods) > 1 else None

    def markdown(self, *, command: str = "", environment: dict[str, Any] | None = None) -> str:
        """The whole report.

        Parameters
        ----------
        command : str, default=""
            Command that repeats the run.
        environment : dict, default=None
            Versions.

        Returns
        -------
        str
            Markdown.
        """
        header = self._header(command, environment)
        parts = [header, self._means(), self._differences(), self._costs(), self.failures(_MOST_LINES)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _header(self, command, environment):
        plan = self.plan
        splits = ", ".join(f"{data.name} {plan.splits_of(data)}" for data in plan.data if data.name in self.sets)
        lines = [f"# {plan.metric} x 100, protocol {plan.protocol.name}", ""]
        lines += [f"    {command}", ""] if command else []
        lines += [f"Splits: {splits}; seed {plan.seed}. {_rules(plan.protocol)}"]
        left_out = [f"{n} on {d.name} ({why})" for d in plan.data for n in plan.methods if (why := plan.applies(n, d))]
        lines += [f"Left out: {'; '.join(_shortened(left_out))}."] if left_out else []
        lines += [" ".join(f"{name} {version};" for name, version in environment.items())] if environment else []
        return "\n".join(lines)

    def _means(self):
        ranks = [ranking for ranking in (self.ranking(), self.ranking(linear=True)) if ranking is not None]
        published = TABLE_2 if (self.plan.protocol.name, self.plan.metric) == ("paper", "f1") else {}
        header = ["method", *self.sets, "mean", *["rank", "rank among linear"][: len(ranks)]]
        body = []
        for name in self.methods:
            cells = [_mean_cell(self.values(data, name), published.get(data, {}).get(name)) for data in self.sets]
            means = [self.values(data, name) for data in self.sets]
            mean = f"{100 * np.mean([v.mean() for v in means]):.1f}" if all(v.size for v in means) else "-"
            places = [dict(zip(ranking.names, ranking.ranks)).get(name) for ranking in ranks]
            body.append([name, *cells, mean, *("-" if place is None else f"{place:.2f}" for place in places)])
        note = f"Mean over splits ± standard error{'; in brackets the paper’s mean' if published else ''}."
        if ranks and np.isfinite(ranks[0].critical_difference):
            note += f" Critical difference of ranks (Nemenyi, 5 %): {ranks[0].critical_difference:.2f}"
            note += f", among linear methods {ranks[-1].critical_difference:.2f}."
            note += f" Friedman test: p = {ranks[0].p_value:.2g}."
        return f"## Test {self.plan.metric}\n\n{markdown_table(header, body)}\n\n{note}"

    def _differences(self):
        if REFERENCE not in self.methods:
            return ""
        body = []
        for name in self.methods:
            found = [self.difference(data, name) for data in self.sets]
            known = [d for d in found if d is not None]
            if name != REFERENCE and known:
                wins = f"{sum(d.mean > 0 for d in known)} : {sum(d.mean < 0 for d in known)}"
                body.append([name, *map(_difference_cell, found), _difference_cell(mean_difference(known)), wins])
        header = ["method", *self.sets, "mean of sets", "wins : losses"]
        note = (
            "Paired differences with 95 % intervals, corrected for overlapping splits (Nadeau and Bengio); * where the "
            "interval excludes 0. The last interval is for the mean over these data sets."
        )
        return f"## Difference to {REFERENCE}\n\n{markdown_table(header, body)}\n\n{note}"

    def _costs(self):
        body = []
        for name in self.methods:
            cells = []
            for data in self.sets:
                fits, seconds = (self.values(data, name, column) for column in ("fits", "seconds"))
                cells.append(f"{fits.mean():.0f}, {seconds.mean():.3g} s" if fits.size else "-")
            body.append([name, *cells])
        note = "Trainings of the base and seconds, per split and as if the method were alone."
        return f"## Cost\n\n{markdown_table(['method', *self.sets], body)}\n\n{note}"

    def failures(self, shown: int) -> str:
        """The first cells that failed, or nothing."""
        failed = [row for row in self.rows if "error" in row]
        lines = [f"- {row['method']} on {row['data']}, split {row['split']}: {row['error']}" for row in failed]
        return "\n".join(["## Failed cells", "", *_shortened(lines, shown)]) if failed else ""


def write_report(
    report: Report,
    folder: PathLike,
    *,
    command: str = "",
    environment: dict[str, Any] | None = None,
    highlight: Sequence[str] = ("csf",),
) -> list[Path]:
    """Write all tables and the figure of ranks."""
    folder = Path(folder)
    paths = [folder / "table.md", *write_rows(report.rows, folder)]
    with replaced(paths[0]) as file:
        file.write(report.markdown(command=command, environment=environment))
    for name, linear in (("ranks.png", False), ("ranks_linear.png", True)):
        ranking = report.ranking(linear=linear)
        if ranking is not None:
            paths.append(folder / name)
            _draw_ranks(ranking, highlight, paths[-1])
    return paths


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table whose first column holds names and whose others hold numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def write_rows(
    rows: list[dict[str, Any]], folder: PathLike, name: str = "results", columns: Sequence[str] = COLUMNS
) -> list[Path]:
    """Write rows as CSV, and as Parquet where pyarrow is installed."""
    paths = [Path(folder) / f"{name}.csv"]
    with replaced(paths[0], newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({column: cell(value) for column, value in row.items()} for row in rows)
    if find_spec("pyarrow") is not None:
        import pyarrow
        import pyarrow.parquet

        paths.append(Path(folder) / f"{name}.parquet")
        table = pyarrow.table({column: [row.get(column) for row in rows] for column in columns})
        with replaced(paths[-1], "wb") as file:
            pyarrow.parquet.write_table(table, file)
    return paths


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own works without a screen and leaves pyplot alone."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _draw_ranks(ranking, highlight, path):
    from notebooks.experiments.critical_difference import CriticalDifferenceDisplay

    ax = new_figure(8.4, 4.6).subplots()
    display = CriticalDifferenceDisplay.from_ranking(ranking, highlight=highlight, ax=ax)
    write_figure(path, display.figure_)


def _rules(protocol):
    held_out = f"{100 * protocol.test_size:g} % to test on"
    if protocol.n_folds is None:
        choice = f"{100 * protocol.validation_size:.0f} % of the rest to choose by, no refit"
    else:
        choice = f"choice by pooled predictions of {protocol.n_folds} folds, refit"
    official = ", official test parts where there are some" if protocol.official_test else ""
    return f"{held_out}{official}; {choice}; C in {protocol.C[0]:g} ... {protocol.C[-1]:g} ({len(protocol.C)} values)."


def mean_text(values: ArrayLike) -> str:
    """Mean times 100, and its standard error where there are several values."""
    mean, error = mean_and_error(values)
    return f"{100 * mean:.1f}" + ("" if np.isnan(error) else f" ± {100 * error:.1f}")


def _mean_cell(values, published):
    if not values.size:
        return "-" if published is None else f"- [{published[0]:.1f}]"
    return mean_text(values) + ("" if published is None else f" [{published[0]:.1f}]")


def _difference_cell(difference):
    if difference is None:
        return "-"
    mean, low, high = (100 * x for x in (difference.mean, difference.low, difference.high))
    if np.isnan(low):
        return f"{mean:+.1f}"
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]{'*' if low > 0 or high < 0 else ''}"


def _shortened(lines, shown=_MOST_LINES):
    return lines if len(lines) <= shown else [*lines[:shown], f"... ({len(lines)} in all)"]
