"""Facts of a search, for each kind of problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Axes, Estimator, Keywords, Label, Params
from csf.evaluate.choices import influence, outcomes
from csf.metrics import get_constraint
from csf.metrics.confusion import cost_matrix_of
from csf.metrics.constraints import ANSWERS
from csf.metrics.registry import aim_of, metric_of
from csf.plots.cone import ConeDisplay
from csf.plots.decisions import CapacityDisplay, answers_to_all, draw_confusion, draw_costs, draw_review
from csf.plots.progress import ProgressDisplay
from csf.plots.threshold_curve import ThresholdCurveDisplay
from csf.plots.words import (
    metric_name,
    model_in_words,
    other_costs,
    rule_of_rates,
    short,
    spread,
    target_name,
    threshold_in_words,
    worth_in_words,
)
from csf.report.facts import (
    COSTS,
    CUT,
    NO_ANSWER,
    SAMPLES,
    TRIALS,
    VALUES,
    Fact,
    Facts,
    SameAnswer,
    Table,
    TableColumn,
    TrialColumns,
    trial_columns,
)
from csf.report.held_out import MOST_CLASSES, HeldOut, RowCostJudge, in_memory, scores_out_of_fold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.search import CostSearch
    from csf.thresholding.exchange import ExchangeRate


# ---------------------------------------------------------------- two classes


# What an upper bound is, and what its gap to the best value says.
UPPER_BOUND = "an estimate for these parameters and folds"
GAP = "at most, with other class weights (in 19 of 20 searches; mostly far less)"


def of_two(search: CostSearch, held: HeldOut | None) -> Keywords:
    """Collect the facts that searches of two classes have."""
    counts, null = search.class_count_, search.classes_.tolist().index(search.null_class_)
    return {
        "search": search,
        "held": held,
        "target": target_name(search),
        "rarest": int(min(counts[null], counts.sum() - counts[null])),
        "own_record": lambda: record_of_two(search),
    }


def record_of_two(search: CostSearch) -> Params:
    """Return costs, threshold and bound as plain values."""
    names = ("best_threshold_proba", "threshold_interval", "upper_bound", "gap", "bound_margin")
    record = {"t": search.best_t_, **dict(zip(("c_fn", "c_fp"), search.best_cost_weights_))}
    record |= {"threshold": search.best_threshold_, **{name: getattr(search, f"{name}_") for name in names}}
    if hasattr(search, "segments_"):
        record |= {"segments": search.segments_, "limit_cost": search.limit_cost_}
    return record


def of_two_classes(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search has learnt."""
    rates, tuned, gain = exchange_rates(search), is_tuned(search), gain_over_equal(search)
    details, interval = (
        [class_weights(search)],
        spread(getattr(search, "threshold_interval_", None), ".4g") if tuned else "",
    )
    if gain is not None:
        details.append(("Gain over equal weights, out-of-fold", "{:+.3f} ± {:.3f}".format(*gain)))
    interval = f" (best one, 90 % interval: {interval})" if interval else ""
    cut = threshold_in_words(search) + interval if tuned else "the base's own decision"
    trained = f"trained with {_weights_in_words(search)}" if search.n_splits_ else "fitted before"
    return Facts(
        **of_two(search, held),
        trials=lambda: trials_at_costs(search),
        winner=f"{model_in_words(search)}, {trained}; {decides(search)}.",
        stands_for=_rule_in_words(search, worth_in_words(rates)),
        details=[*details, ("Threshold of the score", cut)],
        further=_room(search),
        gain=gain,
        same_answer=_same_of_two(search, held),
        scopes=frozenset({VALUES, TRIALS, SAMPLES, COSTS, CUT}),
        template="search.html.j2",
        figures={
            "cones": lambda ax: ConeDisplay.from_estimator(search, ax=ax),
            "progress": lambda ax: ProgressDisplay.from_estimator(search, ax=ax),
            "threshold": thresholds_drawn(search, held),
            "capacity": lambda ax: CapacityDisplay.from_estimator(search, ax=ax),
            "review": lambda ax: draw_review(ax, search),
        },
    )


def _weights_in_words(search: CostSearch) -> str:
    """Describe the class weights of the winner."""
    c_fn, c_fp = search.best_cost_weights_
    target, ratio = target_name(search), f"{max(c_fn / c_fp, c_fp / c_fn):.3g}"
    if c_fn == c_fp:
        return f"equal class weights ({other_costs(search)})"
    if c_fn > c_fp:
        return f"class weights {ratio} to 1 (a missed {target} costs as much as {ratio} false positives)"
    return f"class weights 1 to {ratio} (a false positive costs {ratio} times as much as a missed {target})"


def is_tuned(search: CostSearch) -> bool:
    """Check whether a threshold was tuned."""
    return search.threshold is not None and search.best_threshold_ is not None


def decides(search: CostSearch) -> str:
    """Say how the threshold decides."""
    if not is_tuned(search):
        return "it decides by itself"
    several = search.pos_label_ is None
    positive = f"a class other than “{short(search.null_class_, 40)}”" if several else target_name(search)
    return f"it predicts {positive} if the score is at least {threshold_in_words(search)}"


def class_weights(search: CostSearch) -> tuple[str, str]:
    """Return the class weights of the winner by their name."""
    return "Class weights (c_fn : c_fp)", "{:.4g} : {:.4g}".format(*search.best_cost_weights_)


def exchange_rates(search: CostSearch) -> dict[Label, ExchangeRate]:
    """Return what a miss is treated as worth; empty where no threshold on held-out scores decides."""
    with suppress(ValueError):
        return {None: search.exchange_rate()}
    return {}


def _rule_in_words(search: CostSearch, worth: str) -> str:
    """Say what the rule stands for: a rate where costs are given, else an exchange rate, with that of reviewed rows."""
    terms = search.result_.metric.unconstrained.terms() if search.constraint is None else None
    if terms is not None and len({below for _, below in terms.values()}) == 1:
        return rule_of_rates(search.result_.errors)
    bands = search.review_bands() if worth and search.review is not None else None
    if bands is None or not bands.lower < bands.upper:
        return worth
    with suppress(ValueError):
        ends = [search.exchange_rate(cut).value for cut in (bands.upper, bands.lower)]
        return f"{worth} Rows for which it would be {ends[0]:.2g} to {ends[1]:.2g} are reviewed."
    return worth


def gain_over_equal(search: CostSearch) -> tuple[float, float] | None:
    """Return the out-of-fold gain over the best trial with equal class weights, and its standard error.

    Each trial has the threshold that is best for it out-of-fold. ``None`` where equal weights won or were not tried.
    """
    trial, store = search.trials_[search.best_index_], getattr(search, "held_out_", None)
    equal = min((row for row in store or () if row.equal_costs), key=lambda row: row.rank, default=None)
    if store is None or equal is None or trial.c_fn == trial.c_fp or (trial.setting, trial.number) not in store:
        return None
    winner = replace(store[trial.setting, trial.number], threshold=trial.threshold)
    errors = [influence(aim_of(search), outcomes(store, row), store.copies) for row in (winner, equal)]
    return trial.score - equal.value, float(np.sqrt(store.copies @ (errors[0] - errors[1]) ** 2))


def _room(search: CostSearch) -> list[Fact]:
    """Return the possible further gain and the upper bound, or the interval of the threshold of a fitted model."""
    known = []
    if not search.n_splits_ and search.threshold is not None:  # fitted before: nothing was trained
        known.append(Fact(spread(search.threshold_interval_) or "–", "90 % interval of the best threshold"))
    elif search.n_splits_ and np.isfinite(search.gap_):
        known.append(Fact(f"+{search.gap_:.3f}", GAP))
    if np.isfinite(search.upper_bound_):
        what = f"upper bound of {metric_name(search)}, {UPPER_BOUND} ({search.bound})"
        known.append(Fact(f"{search.upper_bound_:.3f}", what))
    return known


def _same_of_two(search: CostSearch, held: HeldOut | None) -> SameAnswer:
    """Return the better one of both answers to all."""
    if search.pos_label_ is None or search.constraint is not None:
        return NO_ANSWER
    pos = search.studies_[0].pos if held is None else float(np.mean(held.y == search.pos_label_))
    metric = aim_of(search)
    if metric.trivial_answer(pos=pos) is not None:
        return NO_ANSWER
    negative = SameAnswer(metric.value(pos, 0.0, pos=pos), short(search.null_class_, 40))
    positive = SameAnswer(metric.value(0.0, 1.0 - pos, pos=pos), short(search.pos_label_, 40))
    best = max(negative, positive, key=lambda answer: answer.value)
    return best._replace(stake=metric.value(0.0, 0.0, pos=pos) - best.value)


def trials_at_costs(search: CostSearch) -> TrialColumns:
    """Return the columns of trials with costs, judged at their best threshold."""
    name, constraint = metric_name(search), get_constraint(search.constraint)
    costs = {"level t": ("t", ".4g"), "c_fn": ("c_fn", ".4g"), "c_fp": ("c_fp", ".4g")}
    rate = {} if constraint is None else {constraint.name: ("rate", ".4f")}
    values = {f"own {name}": ("value", ".4f"), f"tuned {name}": ("score", ".4f"), **rate}
    return trial_columns(search, costs), trial_columns(search, values | {"threshold": ("threshold", ".4g")})


def trials_by_power(search: CostSearch, more: Mapping[str, str] | None = None) -> TrialColumns:
    """Return the columns of trials with weights by a power, and ``more`` columns of the table of results."""
    values = trial_columns(search, {f"own {metric_name(search)}": ("value", ".4f")})
    values += [TableColumn(title, search.cv_results_[key].tolist(), ".4f") for title, key in (more or {}).items()]
    return trial_columns(search, {"power s": ("t", ".4g")}), values


def thresholds_drawn(search: CostSearch, held: HeldOut | None) -> Callable[[Axes], object]:
    """Return a function that draws the thresholds, on held-out data where there are some."""
    data: Keywords = {}
    if held is not None:
        data = {"X": held.X, "y": held.y, "sample_weight": held.weight, **held.given}
    return lambda ax: ThresholdCurveDisplay.from_estimator(search, name="", ax=ax, **data)


def of_row_thresholds(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search with thresholds by row, or by segment, has learnt."""
    rates: dict[Label, ExchangeRate] = {}
    for segment in search.thresholds_:
        with suppress(ValueError):  # no threshold on held-out scores decides, or all get the same answer
            rates[segment] = search.exchange_rate(segment=segment)
    tables, further = of_segments(search)
    if not tables:
        tables = [_rows_by_name("Thresholds", "rows", {key: {"threshold": t} for key, t in search.thresholds_.items()})]
    return Facts(
        **of_two(search, held),
        trials=lambda: trials_at_costs(search),
        winner=f"{model_in_words(search)}; {decides(search)}.",
        stands_for=_rule_in_words(search, worth_in_words(rates)),
        details=[class_weights(search)],
        tables=tables,
        further=further,
        leads=True,
        same_answer=_same_of_two(search, held),
        template="row_thresholds.html.j2",
        figures={"threshold": thresholds_drawn(search, held), "review": lambda ax: draw_review(ax, search)},
    )


def of_segments(search: CostSearch) -> tuple[list[Table], list[Fact]]:
    """Tabulate the segments of a constraint, and say what the constraint costs; nothing without segments."""
    segmented = search.result_.segmented
    if segmented is None:
        return [], []
    by, metric = segmented.segments.by, metric_name(search)
    limit = Fact(f"{search.limit_cost_:.3f}", f"of the {metric} is what the limit costs, out-of-fold")
    return [_rows_by_name(f"Segments by {by}, out-of-fold", by, search.segments_)], [limit]


def _rows_by_name(caption: str, title: str, rows: Mapping[Label, Mapping[str, float]]) -> Table:
    """Tabulate rows with the same columns by their names."""
    columns = [TableColumn(name, [row[name] for row in rows.values()], ".4g") for name in next(iter(rows.values()))]
    return Table(caption, [TableColumn(title, list(rows)), *columns])


# How costs of rows decide, by the kind of the rule.
_BY_COSTS = {
    "plain": "the probabilities of the base as they are",
    "sigmoid": "probabilities calibrated by a sigmoid",
    "isotonic": "probabilities calibrated by isotonic regression",
    "swept": "a tuned threshold of the log-odds",
    **{answer: f"nothing: {answer} for all rows" for answer in ANSWERS[::2]},
}


def of_row_costs(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search has learnt."""
    to_all, decides = answers_to_all(search), "decides each row by its own costs"
    paid = to_all if held is None else paid_on(search, held)
    n_rows, where = (int(search.class_count_.sum()), "out-of-fold") if held is None else (held.y.size, "held-out")
    if search.row_rule_ in ANSWERS:
        decides = f"answers {search.row_rule_!r} to all rows, as no rule saved anything"
    totals = [cost * n_rows for cost in paid.values()]
    columns = [TableColumn("answers", [*paid]), TableColumn("per row", [*paid.values()], ".4g")]
    columns.append(TableColumn("in total", totals, ",.0f"))
    weights = f"(what a wrong answer to the row costs)^{search.best_t_}" if search.best_t_ else "none"
    tables, further = of_segments(search)
    details = [("Decides by", _BY_COSTS[search.row_rule_]), ("Training weights", weights)]
    figures: dict[str, Callable[[Axes], object]]
    figures = {"costs": lambda ax: draw_costs(ax, search), "review": lambda ax: draw_review(ax, search)}
    if not tables:
        details.append(("Without costs", f"positive from a probability of {search.threshold_without_costs_:.4g} on"))
        figures["capacity"] = lambda ax: CapacityDisplay.from_estimator(search, ax=ax)
    return Facts(
        **of_two(search, held),
        trials=lambda: trials_by_power(search),
        saved=_saved(paid, n_rows, where),
        winner=f"{model_in_words(search)}; it {decides}.",
        stands_for=rule_of_rates(search.result_.errors),
        details=details,
        further=[
            *further,
            Fact(
                f"{100.0 * search.dearest_share_:.0f} %",
                "of all that is at stake is carried by the dearest 1 % of the rows",
            ),
        ],
        tables=[Table(f"What answers cost, in the units of the costs, {where}", columns), *tables],
        same_answer=_same_of_rows(search, paid),
        without_model=_same_of_rows(search, to_all),
        review_unit=" a row, which is taken off",
        template="rows.html.j2",
        figures=figures,
    )


def paid_on(search: CostSearch, held: HeldOut) -> dict[str, float]:
    """Return the mean cost of a held-out row for the same answer to all, for rivals, and by row."""
    negative, positive = RowCostJudge.of(search).costs(held)
    winner, *rivals = held.answers.items()
    paid = {"positive for all rows": positive, "negative for all rows": negative}
    paid |= {name: np.where(labels == search.pos_label_, positive, negative) for name, labels in [*rivals, winner]}
    return {name: float(np.average(cost, weights=held.weight)) for name, cost in paid.items()}


def _saved(paid: Mapping[str, float], n_rows: int, where: str) -> Fact:
    """Return what a row saves, compared with the best other answer; the search's own comes last."""
    *others, (_, own_cost) = paid.items()
    name, cost = min(others, key=lambda item: item[1])
    whole = f"{n_rows * (cost - own_cost):,.4g} on {n_rows} {where} rows, in the units of the costs"
    return Fact(f"{cost - own_cost:.4g} a row", f"saved, compared with {name}: {whole}")


def _same_of_rows(search: CostSearch, paid: Mapping[str, float]) -> SameAnswer:
    """Return the cheaper one of both answers to all rows."""
    negative, positive = (paid[f"{answer} for all rows"] for answer in ANSWERS[::2])
    value, best = (
        float(search.row_costs_.value(least, negative, positive, 1.0)) for least in (min(negative, positive), 0.0)
    )
    return SameAnswer(value, "negative" if negative <= positive else "positive", best - value)


# ---------------------------------------------------------------- several classes


def of_classes(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search has learnt."""
    power, rule, rarest = search.trials_[search.best_index_].t, search.rule_, int(search.class_count_.argmin())
    weights = "equal class weights" if power == 0.0 else f"class weights in proportion to share^-{power:.3g}"
    predicts = "its own decision" if rule.is_argmax else "a tuned rule of its probabilities"
    rarest = f"samples of the rarest class, “{short(search.classes_[rarest], 40)}”"
    return Facts(
        search=search,
        held=held,
        trials=lambda: trials_by_power(search, {"rule": "tuned_value", "rule, cross-fitted": "judged_value"}),
        winner=f"{model_in_words(search)}, trained with {weights}; it predicts by {predicts}.",
        details=[("Rule", _class_rule(search))],
        tables=_class_tables(search),
        further=[Fact(f"{search.class_count_.min():g}", rarest)],
        same_answer=_same_class(search, held),
        own_record=lambda: {
            "power": power,
            "class_weights": search.class_costs_,
            "rule": rule.kind,
            "slopes": rule.slopes,
            "offsets": rule.offsets,
            "matrix": rule.matrix,
            "confusion": search.confusion_,
        },
        review_unit=" mean errors a row",
        template="classes.html.j2",
        figures={"confusion": lambda ax: draw_confusion(ax, search)},
    )


def _class_rule(search: CostSearch) -> str:
    """Say what decides, in one sentence."""
    if search.rule_.is_argmax:
        return "predict the class with the largest score of the base: its own decision, nothing of it is tuned"
    if search.rule_.matrix is not None:
        return (
            "predict the class k with the largest sum of G(j, k) p(j) over the classes j, where p(j) is the "
            "probability of class j, the class weights of the training taken out"
        )
    return (
        "predict the class with the largest a p − b, where p is its probability (class weights of the training taken "
        "out), a its slope and b its offset"
    )


def _class_tables(search: CostSearch) -> list[Table]:
    """Return the weights of the classes in training, slopes and offsets of a tuned rule, and its matrix."""
    rule, labels = search.rule_, [short(label, 40) for label in search.classes_.tolist()]
    tuned = not rule.is_argmax and rule.matrix is None
    numbers = {"class weight": search.class_costs_}
    numbers |= {"slope a": rule.slopes, "offset b": rule.offsets} if tuned else {}
    columns = [TableColumn("class", labels), TableColumn("samples", search.class_count_.tolist(), ",")]
    columns += [TableColumn(title, values.tolist(), ".4g") for title, values in numbers.items()]
    tables = [Table("The classes in training" + (" and in the rule" if tuned else ""), columns)]
    if rule.matrix is not None and len(labels) <= MOST_CLASSES:
        columns = [TableColumn(label, values, ".4g") for label, values in zip(labels, rule.matrix.T.tolist())]
        caption = "The matrix G: a row for each true class j, a column for each predicted class k"
        tables.append(Table(caption, [TableColumn("j \\ k", labels), *columns]))
    return tables


def _same_class(search: CostSearch, held: HeldOut | None) -> SameAnswer:
    """Return the best class to predict for all samples, where errors have costs: of rates it is mostly 0."""
    metric = cost_matrix_of(search.result_.read_metric(metric_of(search)))
    if metric is None or search.constraint is not None:
        return NO_ANSWER
    classes = search.classes_.tolist()
    counts = search.class_count_ if held is None else np.array([np.sum(held.y == label) for label in classes])
    values = [float(metric.value(np.outer(counts / counts.sum(), column))) for column in np.eye(counts.size)]
    class_index = int(np.argmax(values))
    return SameAnswer(values[class_index], short(classes[class_index], 40), -values[class_index])


# ---------------------------------------------------------------- several labels


def of_shared_threshold(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search has learnt."""
    f1 = {name: scores[-1] for name, *_, scores in scores_out_of_fold(search) if np.isfinite(scores[-1])}
    worst = min(f1, key=lambda name: f1[name], default=None)
    lowest = [] if worst is None else [Fact(f"{f1[worst]:.3f}", f"lowest f1 of a label, “{worst}”, out-of-fold")]
    cut = "the base's own decision" if search.threshold is None else f"{search.best_threshold_:.4g}"
    return Facts(
        search=search,
        held=held,
        trials=lambda: trials_at_costs(search),
        winner=f"{model_in_words(search)}, with one threshold for {len(search.label_names_)} labels.",
        details=[class_weights(search), ("Threshold of all labels", cut)],
        further=lowest,
        scopes=frozenset({VALUES, TRIALS, CUT}),
        template="shared.html.j2",
        figures={"threshold": thresholds_drawn(search, held)},
    )


def of_separate_labels(search: CostSearch, held: HeldOut | None) -> Facts:
    """Collect what a search has learnt."""
    names, worst = search.label_names_.tolist(), search.best_scores_
    parts = {short(name, 40): facts_of(one) for name, one in zip(names, search.searches_)}
    lowest = f"“{[*parts][worst.argmin()]}”"
    return Facts(
        search=search,
        held=held,
        winner=f"One search for each of {len(parts)} labels, lowest for {lowest}.",
        tables=[_label_table(search, parts)],
        further=[Fact(f"{worst.min():.3f}", f"lowest label, {lowest}, out-of-fold")],
        parts=parts,
        scopes=frozenset({VALUES}),
        template="labels.html.j2",
        figures={"threshold": thresholds_drawn(search, held)},
    )


def _label_table(search: CostSearch, parts: Mapping[str, Facts]) -> Table:
    """Return a table of the searches of labels."""
    name = metric_name(search.searches_[0])
    rows = [
        {
            ("label", ""): label,
            ("samples", ","): one.class_count_[1],
            (f"{name}, cross-validated", ".3f"): one.corrected_score_,
            ("90 % interval", ""): spread(one.score_interval_) or "–",
            ("out-of-fold", ".3f"): one.best_score_,
            ("upper bound", ".3f"): one.upper_bound_,
            ("threshold", ".4g"): one.best_threshold_,
            ("90 % interval of it", ""): spread(one.threshold_interval_, ".4g") or "–",
            ("level t", ".4g"): one.best_t_,
            ("c_fn", ".4g"): one.best_cost_weights_[0],
            ("c_fp", ".4g"): one.best_cost_weights_[1],
            ("model", ""): model_in_words(one),
            ("trials", "d"): one.n_trials_,
        }
        for label, one in zip(parts, search.searches_)
    ]
    return Table(
        "The search of each label",
        [TableColumn(title, [row[title, spec] for row in rows], spec) for title, spec in rows[0]],
    )


# ---------------------------------------------------------------- of any kind


# Functions that collect the facts of each kind of problem, see `csf.search.problems.results.SearchResult.kind`.
FACTS: dict[str, Callable[[CostSearch, HeldOut | None], Facts]] = {
    "binary": of_two_classes,
    "row_costs": of_row_costs,
    "row_thresholds": of_row_thresholds,
    "segments": of_row_thresholds,
    "multiclass": of_classes,
    "multilabel": of_separate_labels,
    "shared_threshold": of_shared_threshold,
}


def facts_of(search: Estimator, held: HeldOut | None = None) -> Facts:
    """Collect what a fitted search has learnt; one on a cluster is shown as the one in memory that it can become."""
    search = in_memory(search)
    return FACTS[search.result_.kind](search, held)
