"""``csf threshold``: the best threshold on a column of scores, without a model."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from csf._common.files import write_json
from csf._common.messages import did_you_mean
from csf.cli.data import ReadOptions, read_dataset
from csf.cli.problem import check_output
from csf.cli.tables import CliError, is_number, listed, read_table
from csf.search.decide import Decision, decide
from csf.show.report import check_page


def run(options: Namespace, say: Callable[..., Any]) -> None:
    """Run the command."""
    for path in (options.json, options.report):
        check_output(path)
    check_page(options.report or "")
    table = read_table(options.data, target=options.target)
    known, used = list(table.columns), [options.target, options.score, options.sample_weight]
    for name in filter(None, (*used, options.group)):
        if name not in known:
            raise CliError(f"{options.data} has no column {name!r}; it has {listed(known)}{did_you_mean(name, known)}")
    if not is_number(table[options.score]):
        raise CliError(f"--score: column {options.score!r} must hold numbers, larger for rows that look positive")
    if options.group is not None and table[options.group].isna().any():
        raise CliError(f"--group: column {options.group!r} has rows without one; fill or drop these")
    others = tuple(name for name in known if name not in used)
    data = read_dataset(options.data, ReadOptions(options.target, options.positive, options.sample_weight, others))
    decision = decide(
        data.y,
        data.X[options.score].to_numpy(),
        options.metric,
        constraint=options.constraint,
        confidence=options.confidence,
        groups=None if options.group is None else table[options.group].to_numpy(),
        sample_weight=data.sample_weight,
        pos_label=data.pos_label,
        random_state=options.seed,
    )
    say(f"{options.data}: {data.y.size} rows, {100 * data.pos:.3g} % of them {data.pos_label}")
    say("\n".join(_lines(options, decision, data.pos_label)))
    if options.json:
        write_json(options.json, _record(options, decision))
        say(f"results: {options.json}")
    if options.report:
        decision.report(options.report, title=f"{options.metric} of {options.score}", facts={"Data": options.data})
        say(f"report: {options.report}")


def _lines(options: Namespace, decision: Decision, positive: Any) -> list[str]:
    search, (low, high) = decision.search, decision.interval
    lines = [
        f"predict {positive} where {options.score} >= {decision.threshold:.6g}",
        f"  to expect on new data: {options.metric} {decision.value:.4f}, 90 % interval [{low:.4f}, {high:.4f}]",
        f"  on these rows: {options.metric} {search.best_score_:.4f}",
    ]
    if decision.certificate is not None:
        return [*lines, f"  {decision.certificate}"]
    if options.constraint:
        verdict = "holds" if search.feasible_ else "does NOT hold"
        lines.append(f"  on these rows: {options.constraint} {verdict}, {search.constraint_value_:.4f}")
    return lines


def _record(options: Namespace, decision: Decision) -> dict[str, Any]:
    """What was found as plain numbers and texts."""
    return {
        "score": options.score,
        "threshold": decision.threshold,
        "metric": options.metric,
        "value": decision.value,
        "interval": list(decision.interval),
        "value_on_these_rows": decision.search.best_score_,
        "certificate": None if decision.certificate is None else str(decision.certificate),
    }
