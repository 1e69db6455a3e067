"""Commands ``csf search``, with an evaluation on held-out data, and ``csf threshold``, for given scores."""

from __future__ import annotations

import math
import shlex
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tqdm import tqdm

from csf._common import __version__
from csf._common.files import write_json
from csf._common.typing import Array, Label, Params
from csf.cli.data import ReadOptions, read_dataset
from csf.cli.predict import check_model_name, required_trust, save_model
from csf.cli.problem import (
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
from csf.plots.decisions import reviewed_in_words
from csf.plots.words import digits, short, wrapped
from csf.report.checks import (
    NO_MODEL,
    REFUSED,
    SIMPLER,
    SUSPECT,
    SUSPICIONS,
    UNJUDGED,
    UNSURE,
    USE,
    in_lines,
    summary_of,
)
from csf.report.facts import Table, TableColumn, compared
from csf.report.held_out import confusion, held_out
from csf.report.kinds import facts_of
from csf.report.page import check_page, write_facts
from csf.search.threshold import CONFIDENCE, certify, tune_threshold

if TYPE_CHECKING:
    from csf.cli.data import Dataset
    from csf.metrics.registry import MetricLike
    from csf.report.facts import Facts
    from csf.thresholding.band import CertifiedThreshold

# Rows of the table of trials, and classes whose confusion matrix fits beside each other on a terminal.
_MOST_ROWS, _MOST_CLASSES = 12, 12
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
    facts = facts_of(search)
    details(f"{_trials_table(facts)}\n\n{_about(facts, problem)}\n")
    results = []
    if test is not None:
        expected = dict.fromkeys(_rivals(problem), 0.0)
        if not interrupted:
            expected = _expected_seconds(problem, setup, search, seconds)
        ran, interrupted = _run_rivals(problem, setup, train, test, expected, budget, interrupted)
        rivals = {name: one.labels for name, one in ran.items() if isinstance(one, _Ran)}
        names = problem.data.group_names
        groups = None if names is None else names[test.together["groups"]]
        held = held_out(search, test.X, test.y, test.weight, rivals, name=OWN, groups=groups)
        facts, winner = facts_of(search, held), _Ran(np.empty(0), seconds, _keeps_its_promise(search))
        results = _results(problem, {OWN: winner} | ran, held)
        details(f"On the {test.y.shape[0]} rows held out:\n\n{_results_table(results, problem)}\n")
        if problem.several:
            details(f"{_confusion_table(facts)}\n")
        details(f"{_judged(facts, problem.reference)}\n")
    summary = summary_of(facts, options.mute)
    details("\n".join([summary.verdict, *(_finding(*finding) for finding in summary.findings), ""]))
    if not options.verbose:
        say("\n".join(_in_short(facts, problem, summary)))
    _write(options, problem, facts, results, summary.findings, say)
    if interrupted:
        raise KeyboardInterrupt  # all that there is has been said and written: the exit code tells the rest


# What to do next, by the verdict; other verdicts, and the checks, say it themselves.
_NEXT = {
    UNJUDGED: "leave out --test-size 0, to hold out rows.",
    USE: "--save model.skops keeps the model for csf predict.",
    SIMPLER: "csf compare with the same options repeats the comparison on more splits.",
    UNSURE: "more rows or features, or --base auto for other models.",
    NO_MODEL: "--base auto tries other models.",
    SUSPECT: "--drop COLUMN leaves a column out.",
}


def _in_short(facts, problem, summary):
    """Summarise the results: verdict and reason, figures and of which rows they are, the winner, the next step."""
    verdict, rival = summary.verdict, facts.rival(problem.reference)
    figures = ["; ".join(map(str, [facts.on_one_line(facts.expected), *map(facts.demanded, facts.demands)]))]
    if facts.held is not None:
        figures.append("; ".join(map(str, [facts.on_one_line(facts.estimates[0]), *facts.held.rates])))
        if rival is not None and not facts.unequal(rival):
            figures[-1] += f"; {compared(rival)}"
            if verdict == "Use it." and rival.difference_interval[0] > 0.0:
                above = f"{rival.difference:.3f} above that of the {rival.name}"
                verdict = f"Use it: {facts.metric} on the held-out rows is {above}, beyond chance."
    figures = [wrapped(text) for text in [*figures, facts.gets]]
    return [*_verdict_lines(verdict, summary, figures), _next_step(problem.options, summary.outcome)]


def _verdict_lines(verdict, summary, figures):
    """Return the verdict with the finding that decides it, the figures, and what else puts the value in doubt."""
    noticed = [finding for finding in summary.findings if finding.code != "CSF010"]
    doubts = [finding for finding in noticed if finding.code in SUSPICIONS]
    simpler = [finding for finding in noticed if finding.code == "CSF009" and summary.outcome == SIMPLER]
    decides = simpler or (noticed if summary.outcome == REFUSED else doubts)[:1]
    reason = "".join(f" {finding.text} ({finding.code})" for finding in decides)
    first = wrapped(in_options(f"{verdict}{reason}"))
    others = [finding for finding in noticed if finding not in decides]
    also = [f"Noticed: {finding.title} ({finding.code})." for finding in others[:1] if finding not in doubts]
    return [first, *figures, *(_finding(*finding) for finding in doubts if finding not in decides), *also]


def _next_step(options, outcome):
    """Return the step that a verdict asks for, and where the details are."""
    step = "" if options.save and outcome in (USE, UNJUDGED) else _NEXT.get(outcome, "")
    return f"Next: {step} Details: --verbose" if step else "Details: --verbose"


def _finding(code, title, text):
    """Format a finding in lines."""
    return wrapped(f"{code} {title}: {in_options(text)}")


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


def _trials_table(facts):
    """Format the winner, the best trial with equal costs, and as many of the other best trials as fit."""
    shown, won, n_trials = _worth_showing(facts.search), facts.search.best_index_, facts.search.n_trials_
    columns = [
        TableColumn(place.title, [place.values[column] for column in shown], place.spec)
        for place in facts.trial_columns
    ]
    marks = TableColumn("", ["*" if place == won else "" for place in shown])
    more = n_trials - len(shown)
    note = f"\n{more} more trials, none with a larger tuned value; --json has all of them" if more else ""
    return _table(Table("", [marks, *columns])) + note


def _table(table):
    """Format a table."""
    rows = [[digits(value, spec) if spec else short(value, 40) for value, spec in row] for row in table.rows]
    return format_table([column.title for column in table.columns], rows)


def _worth_showing(search):
    """Choose the trials to show, in order: all of a few, else winner, best of equal costs and other good ones."""
    trials = search.trials_
    if len(trials) <= _MOST_ROWS:
        return list(range(len(trials)))
    best = sorted(
        range(len(trials)), key=lambda place: (trials[place].state != "complete", -(trials[place].score or 0.0), place)
    )
    equal = [place for place in best if len(set(trials[place].costs)) == 1][:1]
    first = list(dict.fromkeys([search.best_index_, *equal, *best]))
    return sorted(first[:_MOST_ROWS])


def _about(facts, problem):
    """Describe the winner: what decides, its numbers, and why the search ended."""
    reviews = [f"Answers with reviews: {reviewed_in_words(worth)}." for worth in facts.reviewed]
    details = [f"{name}: {text}." for name, text in facts.details]
    ended = f"It ended because: {facts.stop_reason}{_part(facts, problem)}"
    texts = [facts.gets, *details, *reviews, *facts.certificates, ended]
    lines = [wrapped(text) for text in texts]
    return "\n".join([*lines, "", *in_lines(facts.all_numbers), *(f"\n{_table(table)}" for table in facts.tables)])


def _part(facts, problem):
    limit = problem.options.time_limit
    part = facts.stop_reason.startswith("the time limit") and facts.search.time_limit < _SEARCH * limit + 1e-9
    return f", the part of the search in {limit:g} s" if part else ""


class _Ran(NamedTuple):
    """Labels that a method predicts for the rows held out, its seconds, and whether it promises the constraint."""

    labels: Array
    seconds: float
    promises: bool


def _keeps_its_promise(model):
    return hasattr(model, "guarantee_") and model.guarantee_.holds


def _run_rivals(problem, setup, train, test, expected, budget, interrupted):
    """Return the rivals, or why they were left out, and whether Ctrl-C interrupted them."""
    ran = {}
    # The comparison that counts comes first, so that a time limit leaves it.
    every = _rivals(problem)
    names = sorted(every, key=lambda name: name != problem.reference)
    for name in tqdm(names, disable=not shows_progress(problem.options), desc="csf, rivals", unit="method"):
        reason = "interrupted" if interrupted else budget.refusal(expected[name])
        if reason is None:
            try:
                ran[name] = _run_rival(problem, setup, name, train, test)
                continue
            except NotApplicable as error:
                reason = str(error)
            except KeyboardInterrupt:
                interrupted, reason = True, "interrupted"
        ran[name] = reason
    return {name: ran[name] for name in every}, interrupted


def _rivals(problem):
    return [] if problem.options.no_rivals else [name for name in problem.rivals if name != _SLOW]


def _run_rival(problem, setup, name, train, test):
    """Train a rival, and predict the rows held out."""
    start = time.perf_counter()
    model = problem.rivals[name](setup, train.X, train.codes, train.weight)
    decided, seconds = model.predict(test.X), time.perf_counter() - start
    return _Ran(problem.data.labels.decode(decided), seconds, _keeps_its_promise(model))


def _expected_seconds(problem, setup, search, seconds):
    """Estimate the seconds of each rival from those of the search."""
    n_settings, training = len(setup.bases()), search.refit_time_
    choosing = n_settings * len(setup.splits) if n_settings > 1 else 0
    trial = (seconds - training) / max(search.n_trials_, 1)
    plain = (choosing + 1) * training
    searched = dict.fromkeys((POOLED, EQUAL, ONE), len(search.studies_) * trial + training)
    return {name: searched.get(name, plain) for name in _rivals(problem)}


def _results(problem, ran, held):
    """Return a record of each method."""
    judged, records = {one.name: one for one in held.judged}, []
    certified = problem.constraint is not None and problem.options.confidence is not None
    for name, one in ran.items():
        record = {"method": f"csf, {problem.options.strategy}" if name == OWN else name}
        if isinstance(one, str):
            record["skipped"] = one
        else:
            record |= {"value": judged[name].value, "rate": judged[name].rate, "seconds": one.seconds}
            # Beside what promises the constraint, what does not may find more.
            record |= {"promised": one.promises} if certified else {}
        records.append(record)
    return records


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


def _write(options, problem, facts, results, findings, say):
    """Write the files that the options request."""
    search = facts.search
    if options.json:
        write_json(options.json, _valid(_report(options, problem, facts, results, findings)))
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
    if options.report:
        title, about = f"{problem.metric.name} of {problem.data.name}", {"Data": problem.describe()}
        write_facts(options.report, facts, title=title, about=about, mute=options.mute)
        say(f"report: {options.report}")


def _rule_of(search, problem):
    """Return the rule of a linear model of two classes, or of any other the decision on its scores."""
    linear = all(name in LINEAR for name in base_names(problem.options.base))
    if problem.several or problem.by_row or not linear or hasattr(search, "thresholds_"):
        return decision_rule(search)
    return table_rule(search) if problem.data.features.named else linear_rule(search)


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


def _report(options, problem, facts, results, findings):
    """Collect all results as plain numbers, strings and lists."""
    search, judged = facts.search, [] if facts.held is None else facts.held.judged
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
            {**trial.to_dict(), **_cut(trial), "params": search.cv_results_["params"][index]}
            for index, trial in enumerate(search.trials_)
        ],
        "winner": facts.record,
        "held_out": results,
        "held_out_intervals": [asdict(one) for one in judged],
        "checks": [finding._asdict() for finding in findings],
    }


def _roles(data):
    if data.pos_label is None:
        return {"classes": list(map(str, data.labels.classes))}
    return {"positive": str(data.pos_label), "share_of_positives": data.pos}


def _cut(trial):
    return {"threshold": trial.threshold} if hasattr(trial, "threshold") else {}


# ---------------------------------------------------------------- what a held-out comparison says


# Name of the search among what is compared.
OWN = "csf"


def _confusion_table(facts):
    """Format the confusion matrix of held-out rows: counts, or sums of sample weights if there are any."""
    matrix = confusion(facts.search, facts.held)
    if matrix.rows is None or len(matrix.labels) > _MOST_CLASSES:
        return f"{len(matrix.labels)} classes are too many for a confusion matrix here; --report and --plot have it"
    names = [short(name, 20) for name in matrix.labels]
    rows = [[name, *(format_number(count, ".6g") for count, *_ in row)] for name, (_, row) in zip(names, matrix.rows)]
    return format_table(["truth \\ predicted", *names], rows)


def _judged(facts, reference):
    """Return the held-out value, and the difference to the rival that matters most, if that is a fair one."""
    numbers, rival = facts.worth(facts.estimates[0]), facts.rival(reference)
    unequal = rival and facts.unequal(rival)
    numbers += [compared(rival)] if rival is not None and not unequal else []
    return "\n".join([*in_lines(numbers), *([f"no comparison with the {reference}: {unequal}"] if unequal else [])])


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
    cut, cuts = (
        0.0 + sign * decision.threshold,
        {k: 0.0 + sign * threshold for k, threshold in decision.thresholds.items()},
    )
    facts = facts_of(decision.search)
    say("\n".join(_threshold_lines(options, facts, cut, cuts, data.pos_label, score.to_numpy())))
    record = _decision_record(options, facts, cut, cuts)
    if certified is not None:
        threshold = 0.0 + sign * certified.threshold
        record["certified"] = certified._asdict() | {"demands": options.certify, "threshold": threshold}
        shown = _threshold_text(threshold, score.to_numpy(), options)
        say(_certified_line(options, certified, shown, get_metric(metric).name))
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


def _threshold_text(threshold: float, score: Array, options: Namespace) -> str:
    """Write a threshold with as many digits as decide about all rows of the table alike."""
    acts = np.less_equal if options.lower_is_positive else np.greater_equal
    decided, texts = acts(score, threshold), (f"{threshold:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if np.array_equal(acts(score, float(text)), decided))


def _certified_line(options: Namespace, certified: CertifiedThreshold, shown: str, name: str) -> str:
    """Say where demands are certain."""
    sure = f"with confidence {options.confidence or CONFIDENCE:g}"
    side = "<=" if options.lower_is_positive else ">="
    if certified.holds:
        where = f"where {options.score} {side} {shown}"
        return f"  certain {sure}: {options.certify} {where}, and {name} {certified.value:.4f} at least"
    return f"  no threshold makes {options.certify} certain {sure}: label more rows, or loosen the demands"


def _threshold_lines(
    options: Namespace, facts: Facts, cut: float, cuts: dict[Label, float], positive: Label, score: Array
) -> list[str]:
    side = "<=" if options.lower_is_positive else ">="
    named = {f" of {segment}": threshold for segment, threshold in cuts.items()} or {"": cut}
    shown = {of: _threshold_text(threshold, score, options) for of, threshold in named.items()}
    lines = [f"predict {positive} where {options.score}{of} {side} {text}" for of, text in shown.items()]
    texts = [
        facts.on_one_line(facts.expected),
        str(facts.worth(facts.estimates[-1])[0]),
        facts.stands_for,
    ]
    texts += facts.certificates or [str(facts.demanded(kept)) for kept in facts.demands]
    return [*lines, *(f"  {text}" for text in texts if text)]


def _decision_record(options: Namespace, facts: Facts, cut: float, cuts: dict[Label, float]) -> Params:
    """Return the results as plain numbers and texts."""
    known, test = facts.record, facts.promises.get("")
    return {
        "score": options.score,
        "lower_is_positive": options.lower_is_positive,
        "threshold": cut,
        **({"thresholds": cuts} if cuts else {}),
        "metric": options.metric,
        "labelled": options.labelled,
        "value": known["corrected"],
        "interval": known["score_interval"],
        "value_on_these_rows": known["out_of_fold"],
        "stands_for": known["stands_for"],
        "certificate": None if test is None else str(test),
    }
