"""Commands ``csf search``, with an evaluation on held-out data, and ``csf threshold``, for given scores."""

from __future__ import annotations

import math
import shlex
import textwrap
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from csf._common import __version__
from csf._common.files import write_json
from csf._common.typing import Label, Params
from csf.cli.data import ReadOptions, read_dataset
from csf.cli.predict import check_model_name, required_trust, save_model
from csf.cli.problem import (
    CLASSIFIER,
    EQUAL,
    LINEAR,
    ONE,
    POOLED,
    Budget,
    NotApplicable,
    base_names,
    check_output,
    check_outputs,
    draw_search,
    load_problem,
    make_search,
    metric_asked,
    shows_progress,
)
from csf.cli.tables import CliError, format_number, format_table, in_options, is_number, require, way_out
from csf.export.decisions import decision_rule
from csf.export.rules import linear_rule, table_rule
from csf.metrics import get_constraint
from csf.metrics.registry import get_metric
from csf.plots.decisions import answers_to_all, reviewed_in_words
from csf.plots.words import short, spread
from csf.report.checks import DO_NOT_USE, SIMPLER, SUSPICIONS, summarise
from csf.report.held_out import Judged
from csf.report.kinds import constrained, held_out, held_out_rates, promises, rates_of, reported, threshold_in_words
from csf.report.page import check_page, write_report
from csf.search.threshold import CONFIDENCE, Decision, certify, tune_threshold
from csf.thresholding.linear_rule import counts_of

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.cli.data import Dataset
    from csf.cli.problem import CommandProblem, DataPart
    from csf.metrics.registry import MetricLike
    from csf.search import CostSearch
    from csf.thresholding.band import CertifiedThreshold

# Rows of the table of trials.
_MOST_ROWS = 12
# Rivals that take too long for one split.
_SLOW = "TunedThresholdClassifierCV"
# Share of the time limit for the search itself, where simpler methods are trained beside it.
_SEARCH = 2 / 3


def run(options: Namespace, say: Callable[..., None]) -> None:
    """Run ``csf search``."""
    budget = Budget(options.time_limit)
    check_outputs(options, options.save, options.rule, options.json, options.checkpoint)
    if options.save:
        check_model_name(options.save)
        require("skops.io", "saving a model")
    problem = load_problem(options)
    train, test, origin = _split(problem)
    setup = problem.setup(train)
    say(problem.describe())
    details = say if options.verbose else lambda _: None
    details(f"{_plan(problem, train, test, origin, setup)}\n")
    search, seconds = _search(
        problem, setup, train, budget.share(1.0 if test is None or options.no_rivals else _SEARCH)
    )
    interrupted = search.stop_reason_ == "interrupted"
    winner = class_winner if problem.several else _row_winner if problem.by_row else _winner_text
    about_winner = winner(search, problem)
    details(f"{_trials_table(search, problem)}\n\n{about_winner}\n{reported(search).stands_for(search)}\n")
    results, answers, held = [], {}, None
    if test is not None:
        own, labels = _judged_own(problem, search, seconds, test)
        expected = dict.fromkeys(_rivals(problem), 0.0)
        if not interrupted:
            expected = _expected_seconds(problem, setup, search, seconds)
        rivals, others, interrupted = _judge_rivals(problem, setup, train, test, expected, budget, interrupted)
        results, answers = [own, *rivals], {OWN: labels} | others
        details(f"On the {test.y.shape[0]} rows held out:\n\n{_results_table(results, problem)}\n")
        if problem.several:
            details(f"{confusion_table(search.classes_, test, labels)}\n")
        held = held_out(search, test.X, test.y, test.weight, others, name=OWN, **test.together)
        assert held is not None, "there are data"
        details(f"{compared(problem.metric.name, search, held.judged, problem.reference)}\n")
    summary = summarise(search, held, options.mute)
    found = summary.findings
    details("\n".join([summary.verdict, *(_wrapped(*each) for each in found), ""]))
    if not options.verbose:
        say("\n".join(_in_short(search, problem, summary, held, about_winner)))
    _write(options, problem, search, results, held, found, say)
    if options.report:
        _write_report(options, problem, search, test, answers)
        say(f"report: {options.report}")
    if interrupted:
        raise KeyboardInterrupt  # all that there is has been said and written: the exit code tells the rest


# What to do next, by how a verdict begins; other verdicts, and the checks, say it themselves.
_NEXT = {
    "Use it, and judge it": "leave out --test-size 0, to hold out rows.",
    "Use it": "--save model.skops keeps the model for csf predict.",
    "Take the simpler": "csf compare with the same options repeats the comparison on more splits.",
    "Do not use it yet": "more rows or features, or --base auto for other models.",
    "Do without a model": "--base auto tries other models.",
    "Look at its features": "--drop COLUMN leaves a column out.",
}


def _in_short(search, problem, summary, held, winner):
    """Summarise the results: verdict and reason, figures and of which rows they are, the winner, the next step."""
    name, low_high, verdict = problem.metric.name, spread(search.score_interval_), summary.verdict
    lines = [f"{name} {search.corrected_score_:.3f} to expect on new data, 90 % interval {low_high}"]
    lines[0] += "".join(f"; {part.name} {rate:.3f} {rates_of(search)}" for part, rate, _ in constrained(search))
    if held is not None:
        own = held.judged[0]
        rival = next((each for each in held.judged if each.name == problem.reference), None)
        rates = held_out_rates(search, held, np.asarray(held.answers[OWN]))
        text = f"{', '.join([f'{name} {own.value:.3f}', *map(str, rates)])} on the {held.y.shape[0]} rows held out"
        if rival is not None and not _unequal(search, own, rival):
            ends = spread(rival.difference_interval, "+.3f")
            text += f"; {rival.difference:+.3f} compared with the {rival.name} ({ends})"
            if verdict == "Use it." and rival.difference_interval[0] > 0.0:
                above = f"{rival.difference:.3f} above that of the {rival.name}"
                verdict = f"Use it: {name} on the held-out rows is {above}, beyond chance."
        lines.append(text)
    lines += [winner.splitlines()[0], *filter(None, [reported(search).stands_for(search)])]
    return [*_verdict_lines(verdict, summary.findings, lines), _next_step(problem.options, verdict)]


def _verdict_lines(verdict, findings, figures):
    """Return the verdict with the finding that decides it, the figures, and what else puts the value in doubt."""
    noticed = [each for each in findings if each.code != "CSF010"]
    doubts = [each for each in noticed if each.code in SUSPICIONS]
    simpler = [each for each in noticed if each.code == "CSF009" and verdict == SIMPLER]
    decides = simpler or (noticed if verdict == DO_NOT_USE else doubts)[:1]
    reason = "".join(f" {each.text} ({each.code})" for each in decides)
    first = textwrap.fill(in_options(f"{verdict}{reason}"), 100, subsequent_indent="  ")
    others = [each for each in noticed if each not in decides]
    also = [f"Noticed: {each.title} ({each.code})." for each in others[:1] if each not in doubts]
    return [first, *figures, *(_wrapped(*each) for each in doubts if each not in decides), *also]


def _next_step(options, verdict):
    """Return the step that a verdict asks for, and where the details are."""
    step = next((step for start, step in _NEXT.items() if verdict.startswith(start)), "")
    step = "" if options.save and verdict.startswith("Use it") else step
    return f"Next: {step} Details: --verbose" if step else "Details: --verbose"


def _wrapped(code, title, text):
    """Wrap a finding into lines."""
    return textwrap.fill(f"{code} {title}: {in_options(text)}", 100, subsequent_indent="  ")


def _split(problem):
    """Split into a training part and a held-out part (or None); return them and the source of the split."""
    data, options = problem.data, problem.options
    rows = np.arange(data.y.shape[0])
    if options.test_size == 0:
        return problem.part(rows), None, ""
    if data.is_test is not None:
        return problem.part(rows[~data.is_test]), problem.part(rows[data.is_test]), "official split"
    train, test = problem.hold_out(options.seed)
    how = f"seed {options.seed}" if data.groups is None else f"groups of {options.group} together"
    return problem.part(train), problem.part(test), f"stratified, {how}"


def _plan(problem, train, test, origin, setup):
    held_out = "none held out" if test is None else f"{test.y.shape[0]} held out ({origin})"
    folds = f"{len(setup.splits)} fold{'s' if len(setup.splits) > 1 else ''}"
    return (
        f"training on {train.y.shape[0]} rows, {held_out}\n"
        f"maximising {problem.plan()} by the strategy {problem.options.strategy}, {folds}"
    )


def _search(problem, setup, train, limit):
    """Fit the search within a time limit in seconds; return it and the seconds that it took."""
    asked = {"cv": problem.options.cv, "pos_label": problem.data.pos_label, "time_limit": limit}
    search = make_search(setup, verbose=int(shows_progress(problem.options)), **asked)
    start = time.perf_counter()
    search.fit(train.X, train.y, sample_weight=train.weight, **train.together)
    return search, time.perf_counter() - start


def _trials_table(search, problem):
    """Format the winner, the best trial with equal costs, and as many of the other best trials as fit."""
    shown, columns = _worth_showing(search), _columns(search, problem)
    rows = [[entry(at, search.trials_[at]) for entry in columns.values()] for at in shown]
    more = len(search.trials_) - len(shown)
    note = f"\n{more} more trials, none with a larger tuned value; --json has all of them" if more else ""
    return format_table(list(columns), rows) + note


def _columns(search, problem):
    """Return the columns of the table of trials: functions that give a trial's entry, by title."""
    name, table = problem.metric.name, search.cv_results_
    varied = [key for key in search.best_params_ if len({trial.setting for trial in search.trials_}) > 1]
    several = problem.several or problem.by_row
    costs, found = _class_columns(table) if several else _cost_columns(search, problem)
    return {
        "": lambda at, trial: "*" if at == search.best_index_ else "",
        **costs,
        **{_short(key): lambda at, trial, key=key: str(table[f"param_{key}"][at]) for key in varied},
        f"own {name}": lambda at, trial: "failed" if trial.state == "failed" else format_number(trial.value),
        **found,
        "fit s": lambda at, trial: format_number(trial.fit_time, ".2f"),
    }


def _cost_columns(search, problem):
    """Return the columns of the trials' costs, and those of their values at the best threshold."""
    rates = {} if problem.constraint is None else {problem.constraint.name: _number_of("rate")}
    costs = {"level t": _number_of("t"), "c_fn": _number_of("c_fn", ".4g"), "c_fp": _number_of("c_fp", ".4g")}
    tuned = {f"tuned {problem.metric.name}": _number_of("score")}
    return costs, tuned | rates | {"threshold": _number_of("threshold", ".4g")}


def _number_of(field, spec=".4f"):
    return lambda at, trial: format_number(getattr(trial, field), spec)


def _short(key):
    """Remove the step from the name of a parameter of the base."""
    return key.removeprefix(f"{CLASSIFIER}__")


def _worth_showing(search):
    """Choose the trials to show, in order: all of a few, else winner, best of equal costs and other good ones."""
    trials = search.trials_
    if len(trials) <= _MOST_ROWS:
        return list(range(len(trials)))
    best = sorted(range(len(trials)), key=lambda at: (trials[at].state != "complete", -(trials[at].score or 0.0), at))
    equal = [at for at in best if len(set(trials[at].costs)) == 1][:1]
    first = list(dict.fromkeys([search.best_index_, *equal, *best]))
    return sorted(first[:_MOST_ROWS])


def _winner_text(search, problem):
    c_fn, c_fp = search.best_cost_weights_
    parameters = "".join(f", {_short(key)} = {value}" for key, value in search.best_params_.items())
    if hasattr(search, "segments_"):
        first = f"* costs c_fn = {c_fn:.4g}, c_fp = {c_fp:.4g}{parameters}; positive where the score is at least "
        cost = f"  the limit costs {search.limit_cost_:.4f} of the {problem.metric.name} without it, out-of-fold"
        table = [f"  {line}" for line in segments_table(search).splitlines()]
        return "\n".join([first + threshold_in_words(search), *_value_lines(search, problem), cost, *table])
    lines = [
        f"* costs c_fn = {c_fn:.4g}, c_fp = {c_fp:.4g}{parameters}; positive where the score is at least "
        + threshold_in_words(search),
        *_value_lines(search, problem),
        f"  estimated upper bound for these parameters and folds: {search.upper_bound_:.4f} ({problem.options.bound})",
    ]
    if search.gap_ >= 0.0:
        lines.append(f"  other class weights gain at most {search.gap_:.4f} more, in 19 of 20 searches")
    return "\n".join(lines)


def segments_table(search: CostSearch) -> str:
    """Format the threshold, size and rates of each segment, out-of-fold."""
    rows = [
        [short(name, 40), *(format_number(each, ".4g") for each in row.values())]
        for name, row in search.segments_.items()
    ]
    return format_table([search.result_.constraint.by, *next(iter(search.segments_.values()))], rows)


def _demand_lines(search):
    """Describe the constrained values, and the test of the constraint."""
    tests, rates = promises(search).values(), constrained(search)
    if tests:
        values = ", ".join(f"{part.name} {rate:.4f}" for part, rate, _ in rates)
        return [*(f"  {test}" for test in tests), f"  on these samples: {values}"]
    bound = "; the bound is that of models where it does" if np.isfinite(search.upper_bound_) else ""
    verdicts = {True: "holds", False: f"does NOT hold{bound}"}
    return [f"  out-of-fold {part.name} {rate:.4f}: {part} {verdicts[holds]}" for part, rate, holds in rates]


def _row_winner(search, problem):
    answers = answers_to_all(search)
    own, before = answers.pop("each row by its own costs"), min(answers, key=answers.__getitem__)
    lines = [
        f"* each row by its own costs ({search.row_rule_}); positive where the score is at least "
        + threshold_in_words(search),
        f"  out-of-fold {own:.4g} per row, {before}: {answers[before]:.4g}",
        *_value_lines(search, problem),
        f"  the dearest 1 % of the rows carry {search.dearest_share_:.0%} of all that is at stake",
    ]
    return "\n".join(lines)


def _value_lines(search, problem):
    """Describe the value of the winner."""
    name, (low, high) = problem.metric.name, search.score_interval_
    return [
        f"  to expect on new data: {name} {search.corrected_score_:.4f}, 90 % interval [{low:.4f}, {high:.4f}]",
        f"  out-of-fold {name} {search.best_score_:.4f}; {search.stop_reason_}{_part(search, problem)}",
        *([] if search.review is None else [f"  with reviews: {reviewed_in_words(search, name)}"]),
        *_demand_lines(search),
    ]


def _part(search, problem):
    limit = problem.options.time_limit
    stopped = search.stop_reason_.startswith("the time limit")
    return f", the part of the search in {limit:g} s" if stopped and search.time_limit < _SEARCH * limit + 1e-9 else ""


def _judged_own(problem, search, seconds, test):
    """Return the record of the search, and its predicted labels."""
    labels = search.predict(test.X)
    decided = problem.data.labels.encode(labels)
    return _record(problem, f"csf, {problem.options.strategy}", test, decided, seconds, search), labels


def _judge_rivals(problem, setup, train, test, expected, budget, interrupted):
    """Return the records of the rivals, their predicted labels, and whether Ctrl-C interrupted them."""
    records, answers = {}, {}
    # The comparison that counts comes first, so that a time limit leaves it.
    every = _rivals(problem)
    names = sorted(every, key=lambda name: name != problem.reference)
    for name in tqdm(names, disable=not shows_progress(problem.options), desc="csf, rivals", unit="method"):
        reason = "interrupted" if interrupted else budget.refusal(expected[name])
        if reason is None:
            try:
                records[name], answers[name] = _judged_rival(problem, setup, name, train, test)
                continue
            except NotApplicable as error:
                reason = str(error)
            except KeyboardInterrupt:
                interrupted, reason = True, "interrupted"
        records[name] = {"method": name, "skipped": reason}
    known = {name: answers[name] for name in every if name in answers}
    return [records[name] for name in every], known, interrupted


def _rivals(problem):
    return [] if problem.options.no_rivals else [name for name in problem.rivals if name != _SLOW]


def _judged_rival(problem, setup, name, train, test):
    """Return the record of a rival, and its predicted labels."""
    start = time.perf_counter()
    model = problem.rivals[name](setup, train.X, train.codes, train.weight)
    decided, seconds = model.predict(test.X), time.perf_counter() - start
    return _record(problem, name, test, decided, seconds, model), problem.data.labels.decode(decided)


def _expected_seconds(problem, setup, search, seconds):
    """Estimate the seconds of each rival from those of the search."""
    n_settings, training = len(setup.bases()), search.refit_time_
    choosing = n_settings * len(setup.splits) if n_settings > 1 else 0
    trial = (seconds - training) / max(search.n_trials_, 1)
    plain = (choosing + 1) * training
    searched = dict.fromkeys((POOLED, EQUAL, ONE), len(search.studies_) * trial + training)
    return {name: searched.get(name, plain) for name in _rivals(problem)}


def _record(problem, method, test, decided, seconds, model):
    value, *_, rate = problem.judged(test, decided)
    rate = None if problem.constraint is None else rate
    record = {"method": method, "value": value, "rate": rate, "seconds": seconds}
    if problem.constraint is not None and problem.options.confidence is not None:
        # Beside what promises the constraint, what does not may find more.
        record["promised"] = hasattr(model, "guarantee_") and model.guarantee_.holds
    return record


def _results_table(results, problem):
    confidence = problem.constraint and problem.options.confidence
    header = [*problem.measured, *([] if confidence is None else [f"promised with {confidence:g}"]), "seconds"]
    rows, notes = [], []
    for result in results:
        if "skipped" in result:
            notes.append(f"{result['method']}: left out, {result['skipped']}")
            continue
        rate = [] if problem.constraint is None else [format_number(result["rate"])]
        rate += ["yes" if result["promised"] else "no"] if "promised" in result else []
        rows.append([result["method"], format_number(result["value"]), *rate, format_number(result["seconds"], ".2f")])
    return "\n".join([format_table(header, rows), *notes])


def _write(options, problem, search, results, held, found, say):
    """Write the files that the options request."""
    if options.json:
        write_json(options.json, _valid(_report(options, problem, search, results, held, found)))
        say(f"all results: {options.json}")
    if options.save:
        save_model(options.save, search, problem.data.features)
        trust = "".join(f" --trust {name}" for name in required_trust(options.save))
        say(f"model: {options.save}; use it with: csf predict {shlex.quote(options.save)} DATA{trust}")
    if options.rule:
        _rule_of(search, problem).save(options.rule)
        say(f"rule: {options.rule}")
    if options.plot:
        draw_search(options.plot, search)
        say(f"plot: {options.plot}")


def _rule_of(search, problem):
    """Return the rule of a linear model of two classes, or of any other the decision on its scores."""
    linear = all(name in LINEAR for name in base_names(problem.options.base))
    if problem.several or problem.by_row or not linear or hasattr(search, "thresholds_"):
        return decision_rule(search)
    return table_rule(search) if problem.data.features.kind == "frame" else linear_rule(search)


def _write_report(options, problem, search, test, answers):
    """Write the report as a web page."""
    facts = {"Data": problem.describe()}
    rivals = {name: labels for name, labels in answers.items() if name != OWN}
    held = {} if test is None else {"X": test.X, "y": test.y, "sample_weight": test.weight, "rivals": rivals}
    if test is not None and test.together:
        held["groups"] = problem.data.group_names[test.together["groups"]]
    title = f"{problem.metric.name} of {problem.data.name}"
    write_report(search, options.report, title=title, facts=facts, mute=options.mute, **held)


def _valid(value):
    """Convert a value to JSON: infinite numbers to "inf" and "-inf", NaN to null, unknown objects to text."""
    if isinstance(value, dict):
        return {str(key): _valid(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_valid(entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _report(options, problem, search, results, held, found):
    """Collect all results as plain numbers, strings and lists."""
    data = problem.data
    plain = {name: value for name, value in vars(options).items() if name != "run"}
    return {
        "csf": __version__,
        "options": plain,
        "data": {
            "name": data.name,
            "rows": int(data.y.shape[0]),
            "features": data.features.n_features,
            **_roles(data),
        },
        "trials": [
            {**trial.to_dict(), **_cut(trial), "params": search.cv_results_["params"][at]}
            for at, trial in enumerate(search.trials_)
        ],
        "winner": _winner_record(search, problem),
        "held_out": results,
        "held_out_intervals": [] if held is None else [asdict(each) for each in held.judged],
        "checks": [each._asdict() for each in found],
    }


def _roles(data):
    if data.pos_label is None:
        return {"classes": list(map(str, data.labels.classes))}
    return {"positive": str(data.pos_label), "share_of_positives": data.pos}


def _cut(trial):
    return {"threshold": trial.threshold} if hasattr(trial, "threshold") else {}


def _winner_record(search, problem):
    """Describe the winner as plain numbers, strings and lists."""
    return {
        "trial": search.best_index_,
        "params": search.best_params_,
        "out_of_fold": search.best_score_,
        "corrected": search.corrected_score_,
        "score_interval": search.score_interval_,
        "stop_reason": search.stop_reason_,
        "feasible": search.feasible_,
        "stands_for": reported(search).stands_for(search) or None,
        "constraints": [
            {"constraint": str(part), "value": rate, "holds": holds} for part, rate, holds in constrained(search)
        ],
        **({"guarantee": asdict(search.guarantee_)} if hasattr(search, "guarantee_") else {}),
        **({} if search.review is None else {"review": asdict(search.review_)}),
        **(class_record(search) if problem.several else _threshold_record(search)),
    }


def _threshold_record(search):
    names = ("best_threshold_proba", "threshold_interval", "upper_bound", "gap", "bound_margin")
    costs = dict(zip(("c_fn", "c_fp"), search.best_cost_weights_))
    own = {name: getattr(search, f"{name}_") for name in names}
    own |= {"segments": search.segments_, "limit_cost": search.limit_cost_} if hasattr(search, "segments_") else {}
    return {"t": search.best_t_, **costs, "threshold": search.best_threshold_, **own}


# ---------------------------------------------------------------- several classes that are all alike


# Classes whose confusion matrix fits beside each other on a terminal.
_MOST_CLASSES = 12


def _class_columns(table):
    """Return the columns of the trials' class weights, and those of their values with a rule."""
    titles = {"rule": "tuned_value", "rule, cross-fitted": "judged_value"}
    titles = {title: key for title, key in titles.items() if key in table}
    found = {title: lambda at, trial, key=key: format_number(table[key][at]) for title, key in titles.items()}
    return {"power s": lambda at, trial: format_number(trial.t, ".4g")}, found


def class_winner(search: CostSearch, problem: CommandProblem) -> str:
    """Describe the winner and its value."""
    parameters = "".join(f"{_short(key)} = {value}, " for key, value in search.best_params_.items())
    power = search.trials_[search.best_index_].t
    weights = "equal class weights" if power == 0.0 else f"class weights share^-{power:.4g}"
    first = f"* {parameters}{weights}; predicts {_decision(search)}"
    return "\n".join([first, *_value_lines(search, problem), "", _rule_table(search)])


def _decision(search):
    rule = search.rule_
    if rule.kind == "argmax":
        return "the class of the largest score"
    return "the class of the largest " + ("a p - b" if rule.matrix is None else "p G (the matrix G: --json)")


def _rule_table(search):
    """Format the weights of the classes in training, and the slopes and offsets of a tuned rule."""
    rule = search.rule_
    tuned = rule.kind != "argmax" and rule.matrix is None
    columns = [rule.slopes, rule.offsets] if tuned else []
    header = ["class", "class weight", *(["slope a", "offset b"] if tuned else [])]
    rows = [
        [short(label, 40), *(format_number(value, ".4g") for value in values)]
        for label, *values in zip(search.classes_.tolist(), search.class_costs_, *columns)
    ]
    return format_table(header, rows)


def confusion_table(classes: Array, test: DataPart, labels: Array) -> str:
    """Format the confusion matrix of held-out rows: counts, or sums of sample weights if there are any."""
    if classes.size > _MOST_CLASSES:
        return f"{classes.size} classes are too many for a confusion matrix here; --report and --plot have it"
    counts = counts_of(test.codes, np.searchsorted(classes, labels), classes.size, test.weight)
    names = [short(label, 20) for label in classes.tolist()]
    rows = [[name, *(format_number(float(count), ".6g") for count in row)] for name, row in zip(names, counts)]
    return format_table(["truth \\ predicted", *names], rows)


def class_record(search: CostSearch) -> Params:
    """Return the winner's further results for several classes."""
    rule = search.rule_
    return {
        "power": search.trials_[search.best_index_].t,
        "class_weights": search.class_costs_,
        "rule": rule.kind,
        "slopes": rule.slopes,
        "offsets": rule.offsets,
        "matrix": rule.matrix,
        "confusion": search.confusion_,
    }


# ---------------------------------------------------------------- what a held-out comparison says


# Name of the search among what is compared.
OWN = "csf"


def compared(metric_name: str, search: CostSearch, judged: list[Judged], reference: str = POOLED) -> str:
    """Compare the search with the rival that matters most: of two classes, the exact threshold without costs."""
    own = judged[0]
    text = f"csf: {metric_name} {own.value:.4f}, 90 % interval {_range(own.interval)}"
    rival = next((each for each in judged if each.name == reference), None)
    if rival is None:
        return text
    if unequal := _unequal(search, own, rival):
        return f"{text}\nno comparison with the {reference}: {unequal}"
    text += f"\ndifference to the {reference}: {rival.difference:+.4f} {_range(rival.difference_interval, '+.4f')}"
    return text


def _range(interval: tuple[float, float], spec: str = ".4f") -> str:
    return f"[{interval[0]:{spec}}, {interval[1]:{spec}}]"


def _unequal(search: CostSearch, own: Judged, rival: Judged) -> str | None:
    """Explain why a comparison would be unfair, if it would: a method without the constraint scores higher."""
    promise = getattr(search, "guarantee_", None)
    if promise is not None and not promise.holds:
        return f"{promise.constraint} could not be shown for the search"
    if (own.misses > 0.0) != (rival.misses > 0.0):
        return f"the {'search' if own.misses > 0.0 else 'threshold'} misses the constraint on these rows"
    return None


# ---------------------------------------------------------------- csf threshold


def run_threshold(options: Namespace, say: Callable[..., None]) -> None:
    """Run ``csf threshold``."""
    for path in (options.json, options.report):
        check_output(path)
    check_page(options.report or "")
    demand = get_constraint(options.constraint)
    by = None if demand is None else demand.segment_column
    used = tuple(filter(None, (options.score, by)))
    data = read_dataset(options.data, ReadOptions.of(options, only=used))
    score = data.X[options.score]
    if not is_number(score):
        order = "smaller" if options.lower_is_positive else "larger"
        hint = way_out(score)
        raise CliError(
            f"--score: column {options.score!r} must hold numbers, {order} for rows that look positive{hint}"
        )
    sign, metric = -1.0 if options.lower_is_positive else 1.0, metric_asked(options)
    certified = None if options.certify is None else _certified(options, data, sign * score.to_numpy(), metric)
    decision = tune_threshold(
        data.y,
        sign * score.to_numpy(),
        metric,
        constraint=options.constraint,
        confidence=options.confidence if options.constraint or certified is None else None,
        by=None if by is None else data.X[by].to_numpy(),
        groups=data.groups,
        sample_weight=data.sample_weight,
        pos_label=data.pos_label,
        random_state=options.seed,
    )
    say(f"{options.data}: {data.counted}, {100 * data.pos:.3g} % of them {data.pos_label}")
    cut, cuts = 0.0 + sign * decision.threshold, {k: 0.0 + sign * each for k, each in decision.thresholds.items()}
    say("\n".join(_threshold_lines(options, decision, cut, cuts, data.pos_label)))
    record = _decision_record(options, decision, cut, cuts)
    if certified is not None:
        threshold = 0.0 + sign * certified.threshold
        record["certified"] = certified._asdict() | {"demands": options.certify, "threshold": threshold}
        say(_certified_line(options, certified, threshold, get_metric(metric).name))
    if options.json:
        write_json(options.json, _valid(record))
        say(f"results: {options.json}")
    if options.report:
        title = f"{get_metric(metric).name} of {'-' if options.lower_is_positive else ''}{options.score}"
        decision.report(options.report, title=title, facts={"Data": options.data})
        say(f"report: {options.report}")


def _certified(options: Namespace, data: Dataset, score: Array, metric: MetricLike) -> CertifiedThreshold:
    """Find the threshold at which demands are certain."""
    if data.groups is not None or data.sample_weight is not None or options.labelled:
        raise CliError(
            "--certify: the rows have to be drawn one by one, with complete labels; leave out --group, --sample-weight "
            "and --labelled, or give one demand by --constraint with --confidence"
        )
    band = certify(data.y, score, options.confidence or CONFIDENCE, pos_label=data.pos_label)
    return band.best(metric, options.certify)


def _certified_line(options: Namespace, certified: CertifiedThreshold, threshold: float, name: str) -> str:
    """Say where demands are certain."""
    sure = f"with confidence {options.confidence or CONFIDENCE:g}"
    side = "<=" if options.lower_is_positive else ">="
    if certified.holds:
        where = f"where {options.score} {side} {threshold:.6g}"
        return f"  certain {sure}: {options.certify} {where}, and {name} {certified.value:.4f} at least"
    return f"  no threshold makes {options.certify} certain {sure}: label more rows, or loosen the demands"


def _threshold_lines(
    options: Namespace, decision: Decision, cut: float, cuts: dict[Label, float], positive: Label
) -> list[str]:
    search, (low, high), side = decision.search, decision.interval, "<=" if options.lower_is_positive else ">="
    named = {f" of {segment}": each for segment, each in cuts.items()} or {"": cut}
    name = get_metric(search.metric).name if options.labelled else options.metric
    lines = [
        *(f"predict {positive} where {options.score}{of} {side} {each:.6g}" for of, each in named.items()),
        f"  to expect on new data: {name} {decision.value:.4f}, 90 % interval [{low:.4f}, {high:.4f}]",
        f"  on these rows: {name} {search.best_score_:.4f}",
        *(f"  {text}" for text in filter(None, [reported(search).stands_for(search)])),
    ]
    if decision.certificate is not None:
        return [*lines, f"  {decision.certificate}"]
    if options.constraint:
        verdict = "holds" if search.feasible_ else "does NOT hold"
        lines.append(f"  on these rows: {options.constraint} {verdict}, {search.constraint_value_:.4f}")
    return lines


def _decision_record(options: Namespace, decision: Decision, cut: float, cuts: dict[Label, float]) -> Params:
    """Return the results as plain numbers and texts."""
    return {
        "score": options.score,
        "lower_is_positive": options.lower_is_positive,
        "threshold": cut,
        **({"thresholds": cuts} if cuts else {}),
        "metric": options.metric,
        "labelled": options.labelled,
        "value": decision.value,
        "interval": list(decision.interval),
        "value_on_these_rows": decision.search.best_score_,
        "stands_for": reported(decision.search).stands_for(decision.search) or None,
        "certificate": None if decision.certificate is None else str(decision.certificate),
    }
