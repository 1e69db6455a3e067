"""Held-out values, the winner in one sentence, and further numbers of a search, for each kind of problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.sklearn import last_step, safe_indexing
from csf._common.typing import Array, Estimator, Label, Samples
from csf._common.validation import check_in_memory, check_labels, check_samples, check_weights, label_array
from csf.data.folds import read_groups
from csf.data.labels import read_codes
from csf.metrics import get_constraint
from csf.metrics.binary import Rate
from csf.metrics.confusion import CostMatrix
from csf.metrics.constraints import ANSWERS
from csf.metrics.demands import demands_on
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import aim_of, metric_of
from csf.plots.decisions import answers_to_all
from csf.plots.words import metric_name, other_costs, parameter_names, short, spread, target_name, winning_base
from csf.report.held_out import (
    MOST_GROUPS,
    NOTHING,
    HeldOut,
    Judged,
    judge,
    judge_classes,
    judge_labels,
    judge_rows,
    scores_out_of_fold,
)
from csf.search.config import MODEL
from csf.search.problems.decisions import ScoreDecision
from csf.thresholding.certificates import CAVEAT, CROSS_FITTED, GIVEN, HELD_BACK
from csf.thresholding.linear_rule import confusion_of

if TYPE_CHECKING:
    from csf.metrics import Constraint
    from csf.search import CostSearch
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.exchange import ExchangeRate


# Part of what is at stake that sums in another order may differ by.
_ROUNDING = 1e-9


class Reported(ABC):
    """Description of fitted searches of one kind of problem."""

    # Whether checks that speak of a positive class and a threshold apply.
    two_classes = False

    def read_truth(self, search: CostSearch, y: ArrayLike) -> Array:
        """Check that the search knows the labels."""
        labels, classes = check_labels(y)
        if not np.isin(classes, search.classes_).all():
            raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {search.classes_.tolist()}")
        return labels

    @abstractmethod
    def judge(self, search: CostSearch, held: HeldOut) -> list[Judged]:
        """Evaluate predictions by the metric and the constraint of the search."""

    @abstractmethod
    def winner(self, search: CostSearch) -> str:
        """Describe the winner in one sentence."""

    def exchange_rates(self, search: CostSearch) -> dict[Label, ExchangeRate]:
        """Return what a miss is treated as worth, by segment or by ``None``; empty where no threshold decides."""
        return {}

    def stands_for(self, search: CostSearch) -> str:
        """Say what the rule stands for in one sentence: its exchange rate, or with costs given a rate; else nothing."""
        return worth_in_words(self.exchange_rates(search))

    def number(self, search: CostSearch, held: HeldOut | None) -> tuple[str, str] | None:
        """Choose a third number: the difference to a rival, the constrained rate, or one of this kind of problem."""
        if held is not None and len(held.judged) > 1:
            rival = max(held.judged[1:], key=lambda judged: judged.value)
            ends = spread(rival.difference_interval, "+.3f")
            return f"{rival.difference:+.3f}", f"compared with “{short(rival.name, 40)}” ({ends})"
        return self.demanded(search) or self.number_of_kind(search)

    def demanded(self, search: CostSearch) -> tuple[str, str] | None:
        """Return the constrained value that is closest to its level, or misses it most; ``None`` for none."""
        rates = constrained(search)
        if not rates:
            return None
        part, rate, _ = min(rates, key=lambda each: (each[1] - each[0].level) * (1 if each[0].side == ">=" else -1))
        others = f", of {len(rates)} the closest to its level" if len(rates) > 1 else ""
        return f"{rate:.3f}", f"{part.name} {rates_of(search)}{others}; asked for: {get_constraint(search.constraint)}"

    @abstractmethod
    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return a number with its description."""

    def rarer_class(self, search: CostSearch) -> str:
        """Say how many samples the rarer of two classes has; empty for other problems."""
        return ""

    def doubt(self, search: CostSearch) -> str:
        """Say what the interval of the value does not show; empty for nothing."""
        return ""

    def same_answer(self, search: CostSearch, held: HeldOut | None) -> SameAnswer:
        """Return the best answer to all samples alike, where such an answer can compete."""
        return SameAnswer()


class SameAnswer(NamedTuple):
    """Best of the answers that are the same for all samples, by its name, and its value: -inf where none competes.

    ``stake`` is what a decision without an error is worth more.
    """

    value: float = -np.inf
    answer: str = ""
    stake: float = 0.0

    def reaches(self, value: float) -> bool:
        """Check whether another value is not larger, but for rounding."""
        return value <= self.value + _ROUNDING * self.stake


class BinaryReported(Reported):
    """Description of searches of two classes, or of several beside a null class."""

    two_classes = True

    def judge(self, search: CostSearch, held: HeldOut) -> list[Judged]:
        """Evaluate predictions, see `Reported.judge`."""
        metric = search.result_.read_metric(metric_of(search))
        promised = search.confidence is not None
        return judge(metric, search.null_class_, held.y, held.answers, **held.rows, promised=promised)

    def winner(self, search: CostSearch) -> str:
        """Describe the costs and the threshold of the winner."""
        c_fn, c_fp = search.best_cost_weights_
        target, ratio = target_name(search), f"{max(c_fn / c_fp, c_fp / c_fn):.3g}"
        if c_fn == c_fp:
            weights = f"equal class weights ({other_costs(search)})"
        elif c_fn > c_fp:
            weights = f"class weights {ratio} to 1 (a missed {target} costs as much as {ratio} false positives)"
        else:
            weights = f"class weights 1 to {ratio} (a false positive costs {ratio} times as much as a missed {target})"
        decides = "it decides by itself"
        if search.best_threshold_ is not None and search.threshold is not None:
            positive = f"a class other than “{short(search.null_class_, 40)}”" if search.pos_label_ is None else target
            decides = f"it predicts {positive} if the score is at least {threshold_in_words(search)}"
        trained = f"trained with {weights}" if search.n_splits_ else "fitted before"
        return f"{model_in_words(search)}, {trained}; {decides}."

    def exchange_rates(self, search: CostSearch) -> dict[Label, ExchangeRate]:
        """Return the exchange rate of the threshold, see `Reported.exchange_rates`."""
        with suppress(ValueError):  # no threshold on held-out scores
            return {None: search.exchange_rate()}
        return {}

    def stands_for(self, search: CostSearch) -> str:
        """Say what the rule stands for, with reviews what sends a row to one; see `Reported.stands_for`."""
        terms = search.result_.metric.unconstrained.terms() if search.constraint is None else None
        if terms is not None and len({below for _, below in terms.values()}) == 1:
            return rule_of_rates(search.result_.errors)
        found = worth_in_words(self.exchange_rates(search))
        bands = search.review_bands() if found and search.review is not None else None
        if bands is None or not bands.lower < bands.upper:
            return found
        with suppress(ValueError):
            ends = [search.exchange_rate(each).value for each in (bands.upper, bands.lower)]
            return f"{found} Rows for which it would be {ends[0]:.2g} to {ends[1]:.2g} are reviewed."
        return found

    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return the interval of the threshold of a fitted model, or the possible further gain."""
        if not search.n_splits_ and search.threshold is not None:  # fitted before: nothing was trained
            return spread(search.threshold_interval_) or "–", "90 % interval of the best threshold"
        if np.isfinite(search.gap_) and search.n_splits_:
            return f"+{search.gap_:.3f}", "at most, with other class weights (in 19 of 20 searches)"
        return None

    def rarer_class(self, search: CostSearch) -> str:
        """Say how many samples the rarer class has."""
        return f", with {search.class_count_.min():g} samples of the rarer class"

    def same_answer(self, search: CostSearch, held: HeldOut | None) -> SameAnswer:
        """Return the better one of both answers to all, see `Reported.same_answer`."""
        if search.pos_label_ is None or search.constraint is not None:
            return SameAnswer()
        pos = search.studies_[0].pos if held is None else float(np.mean(held.y == search.pos_label_))
        metric = aim_of(search)
        if metric.trivial_answer(pos=pos) is not None:
            return SameAnswer()
        negative = SameAnswer(metric.value(pos, 0.0, pos=pos), short(search.null_class_, 40))
        positive = SameAnswer(metric.value(0.0, 1.0 - pos, pos=pos), short(search.pos_label_, 40))
        best = max(negative, positive, key=lambda each: each.value)
        return best._replace(stake=metric.value(0.0, 0.0, pos=pos) - best.value)


class RowThresholdsReported(BinaryReported):
    """Description of searches with thresholds by row."""

    two_classes = False

    def winner(self, search: CostSearch) -> str:
        """Say which thresholds decide."""
        decides = f"it predicts {target_name(search)} if the score is at least {threshold_in_words(search)}"
        return f"{model_in_words(search)}; {decides}."

    def exchange_rates(self, search: CostSearch) -> dict[Label, ExchangeRate]:
        """Return none: rows have thresholds of their own."""
        return {}


class SegmentsReported(RowThresholdsReported):
    """Description of searches with thresholds by segment."""

    def exchange_rates(self, search: CostSearch) -> dict[Label, ExchangeRate]:
        """Return the exchange rate of the threshold of each segment."""
        found = {}
        for segment in search.thresholds_:
            with suppress(ValueError):  # a segment in which all get the same answer
                found[segment] = search.exchange_rate(segment=segment)
        return found

    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return what the limit costs."""
        return f"{search.limit_cost_:.3f}", f"of the {metric_of(search)} is what the limit costs, out-of-fold"

    def number(self, search: CostSearch, held: HeldOut | None) -> tuple[str, str] | None:
        """Return what the limit costs, or the difference to a rival."""
        return self.number_of_kind(search) if held is None or len(held.judged) < 2 else super().number(search, held)


class RowCostsReported(BinaryReported):
    """Description of searches by costs of rows."""

    two_classes = False

    def stands_for(self, search: CostSearch) -> str:
        """Say which rates the rule of the costs has."""
        return rule_of_rates(search.result_.errors)

    def judge(self, search: CostSearch, held: HeldOut) -> list[Judged]:
        """Evaluate predictions by what they cost; what both answers cost is what a row is."""
        costs = np.column_stack(paid_for(search, held))
        return judge_rows(search.row_costs_, search.pos_label_, costs, held.answers, **held.rows)

    def winner(self, search: CostSearch) -> str:
        """Say whether costs of rows decide."""
        decides = "it decides each row by its own costs"
        if search.row_rule_ in ANSWERS:
            decides = f"no rule saved anything, and it answers {search.row_rule_!r} to all rows"
        return f"{model_in_words(search)}; {decides}."

    def number(self, search: CostSearch, held: HeldOut | None) -> tuple[str, str] | None:
        """Return what a row saves, compared with the best other answer."""
        answers = answers_to_all(search) if held is None else paid_on(search, held)
        n_rows, where = (search.class_count_.sum(), "out-of-fold") if held is None else (held.y.size, "held-out")
        _, paid = answers.popitem()
        name, cost = min(answers.items(), key=lambda item: item[1])
        whole = f"{n_rows * (cost - paid):,.4g} on {n_rows} {where} rows, in the units of the costs"
        return f"{cost - paid:.4g} a row", f"saved, compared with {name}: {whole}"

    def doubt(self, search: CostSearch) -> str:
        """Note the value of the same answer to all rows, unless the interval of the winner is above it."""
        same = self.same_answer(search, None)
        if not same.reaches(search.score_interval_[0]):
            return ""
        return (
            f" It does not lie above {same.value:.3g}, the value of the same answer to all rows, “{same.answer}”: a "
            "gain over that is not shown."
        )

    def same_answer(self, search: CostSearch, held: HeldOut | None) -> SameAnswer:
        """Return the cheaper one of both answers to all rows."""
        paid = answers_to_all(search) if held is None else paid_on(search, held)
        negative, positive = (paid[f"{answer} for all rows"] for answer in ANSWERS[::2])
        value, best = (
            float(search.row_costs_.value(least, negative, positive, 1.0)) for least in (min(negative, positive), 0.0)
        )
        return SameAnswer(value, "negative" if negative <= positive else "positive", best - value)


class MulticlassReported(Reported):
    """Description of searches of several classes that are all alike."""

    def judge(self, search: CostSearch, held: HeldOut) -> list[Judged]:
        """Evaluate predictions, see `Reported.judge`."""
        metric = search.result_.read_metric(metric_of(search))
        return judge_classes(metric, search.classes_, held.y, held.answers, **held.rows)

    def winner(self, search: CostSearch) -> str:
        """Describe the class weights and the rule of the winner."""
        power = search.trials_[search.best_index_].t
        weights = "equal class weights" if power == 0.0 else f"class weights in proportion to share^-{power:.3g}"
        rule = "its own decision" if search.rule_.kind == "argmax" else "a tuned rule of its probabilities"
        return f"{model_in_words(search)}, trained with {weights}; it predicts by {rule}."

    def same_answer(self, search: CostSearch, held: HeldOut | None) -> SameAnswer:
        """Return the best class to predict for all samples, where errors have costs: of rates it is mostly 0."""
        metric = search.result_.read_metric(metric_of(search))
        if not isinstance(metric, CostMatrix) or search.constraint is not None:
            return SameAnswer()
        classes = search.classes_.tolist()
        counts = search.class_count_ if held is None else np.array([np.sum(held.y == label) for label in classes])
        values = [float(metric.value(np.outer(counts / counts.sum(), column))) for column in np.eye(counts.size)]
        at = int(np.argmax(values))
        return SameAnswer(values[at], short(classes[at], 40), -values[at])

    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return the number of samples of the rarest class."""
        at = int(search.class_count_.argmin())
        return f"{search.class_count_[at]:g}", f"samples of the rarest class, “{short(search.classes_[at], 40)}”"


class SharedThresholdReported(Reported):
    """Description of searches of several labels that share a threshold."""

    def read_truth(self, search: CostSearch, y: ArrayLike) -> Array:
        """Read codes: samples have several labels."""
        return read_codes(y, search.label_names_.tolist())

    def judge(self, search: CostSearch, held: HeldOut) -> list[Judged]:
        """Evaluate predictions, see `Reported.judge`."""
        return judge_labels(search.result_.read_metric(search.metric), held.y, held.answers, **held.rows)

    def winner(self, search: CostSearch) -> str:
        """Say that labels share a threshold."""
        return f"{model_in_words(search)}, with one threshold for {len(search.label_names_)} labels."

    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return the lowest F1 of a label."""
        f1 = {name: scores[-1] for name, *_, scores in scores_out_of_fold(search) if np.isfinite(scores[-1])}
        worst = min(f1, key=lambda name: f1[name], default=None)
        return None if worst is None else (f"{f1[worst]:.3f}", f"lowest f1 of a label, “{worst}”, out-of-fold")


class MultilabelReported(SharedThresholdReported):
    """Description of searches of several labels, each of which has its own search."""

    def winner(self, search: CostSearch) -> str:
        """Name the label with the lowest value."""
        names = [short(name, 40) for name in search.label_names_.tolist()]
        return f"One search for each of {len(names)} labels, lowest for “{names[search.best_scores_.argmin()]}”."

    def number_of_kind(self, search: CostSearch) -> tuple[str, str] | None:
        """Return the lowest value of a label."""
        worst = search.best_scores_
        return f"{worst.min():.3f}", f"lowest label, “{short(search.label_names_[worst.argmin()], 40)}”, out-of-fold"


# Description of each kind of problem, see `csf.search.problems.base.SearchResult.kind`.
REPORTED: dict[str, Reported] = {
    "binary": BinaryReported(),
    "row_costs": RowCostsReported(),
    "row_thresholds": RowThresholdsReported(),
    "segments": SegmentsReported(),
    "multiclass": MulticlassReported(),
    "multilabel": MultilabelReported(),
    "shared_threshold": SharedThresholdReported(),
}


def reported(search: CostSearch) -> Reported:
    """Return the description of a fitted search's kind of problem."""
    return REPORTED[search.result_.kind]


def reviewed(search: CostSearch) -> list[tuple[str, str]]:
    """Return the share of the rows that are reviewed, with what the reviews add and cost; of labels the means."""
    if search.review is None:
        return []
    parts = search.review_ if isinstance(search.review_, list) else [search.review_]
    share, value = (float(np.mean(each)) for each in zip(*((part.shares["review"], part.value) for part in parts)))
    ends = f" ({spread(parts[0].interval)})" if len(parts) == 1 else ""
    units = {"row_costs": ", which is taken off", "multiclass": " mean errors"}.get(
        search.result_.kind, " false positives"
    )
    paid = f"; they cost {search.review.cost * share:.3g}{units} a row" if search.review.cost else ""
    what = f"{metric_name(search)} {value:.3f}{ends} with the reviews, {value - search.corrected_score_:+.3f}"
    return [(f"{100.0 * share:.1f} %", f"of the rows reviewed, out-of-fold: {what}{paid}")]


def promises(search: CostSearch) -> dict[str, Guarantee]:
    """Return the test of the constraint, or those of all labels by their names."""
    tests = getattr(search, "guarantee_", None)
    if not isinstance(tests, list):
        return {} if tests is None else {"": tests}
    return {short(name, 40): test for name, test in zip(search.label_names_.tolist(), tests) if test is not None}


def rates_of(search: CostSearch) -> str:
    """Say which rows constrained rates are of."""
    rows = {test.rows for test in promises(search).values()}
    named = {HELD_BACK: "on calibration data", GIVEN: "on these scores", CROSS_FITTED: f"out-of-fold ({CAVEAT})"}
    return named.get("".join(rows), "out-of-fold")


def constrained(search: CostSearch) -> list[tuple[Constraint, float, bool]]:
    """List constraints with their values, on calibration samples or out-of-fold, and whether they hold."""
    if search.result_.kind == "multilabel":
        named = zip(search.label_names_.tolist(), search.searches_)
        return [(replace(part, of=name), rate, holds) for name, one in named for part, rate, holds in constrained(one)]
    constraint, test = search.result_.constraint, promises(search).get("")
    rates = search.result_.rates if test is None else test.rates
    named = {} if constraint is None else constraint.named_parts
    known = [(part, rates[name]) for name, part in named.items() if name in rates]
    return [(part, rate, not part.missing(rate) if test is None else test.holds) for part, rate in known]


class HeldOutRate(NamedTuple):
    """Constrained value of predictions on held-out data; ``counts`` are those of a share, such as "11 of 15"."""

    demand: Constraint
    value: float
    counts: str = ""

    @property
    def misses(self) -> float:
        """By how much it misses the level."""
        return float(self.demand.missing(self.value))

    def __str__(self) -> str:
        return f"{self.demand.name} {self.value:.3f}" + (f" ({self.counts})" if self.counts else "")

    @classmethod
    def of(cls, demand: Constraint, value: float, counted: float, held: HeldOut) -> Self:
        """Create one with counts, if it is a share of the rows ``counted``, a share of all."""
        n = round(counted * held.y.size)
        is_share = held.weight is None and isinstance(demand.quantity, Rate)
        return cls(demand, value, f"{round(value * n)} of {n}" if is_share else "")


def held_out_rates(search: CostSearch, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
    """List the constrained values of predictions on held-out data."""
    truth, weight = held.y, held.weight
    if search.result_.kind == "multilabel":
        columns = zip(search.label_names_.tolist(), search.searches_, truth.T, predicted.T)
        return [
            rate._replace(demand=replace(rate.demand, of=name))
            for name, one, true, answers in columns
            for rate in held_out_rates(one, held._replace(y=true), answers)
        ]
    constraint = search.result_.constraint
    if constraint is None:
        return []
    if search.result_.kind == "multiclass":
        every, codes = np.unique(np.concatenate([search.classes_, truth, predicted]), return_inverse=True)
        true, decided = np.split(codes[search.classes_.size :], 2)
        matrix = confusion_of(true, decided, every.size, weight)
        return [
            HeldOutRate.of(each.constraint, float(each.rate(matrix)), float((matrix * each.bottom).sum()), held)
            for each in demands_on(constraint, every.tolist())
        ]
    if search.result_.kind == "shared_threshold":  # pairs of a sample and a label
        weight = None if weight is None else np.repeat(weight, truth.shape[1])
        truth, predicted = truth.ravel(), predicted.ravel()
    null = 0 if search.null_class_ is None else search.null_class_
    is_pos = truth != null
    decision = getattr(search.result_, "decision", ScoreDecision())
    rates = decision.rates_on(held.X, held.given, is_pos, predicted != null, weight)
    if rates is not None:
        return [HeldOutRate(part, rates[name]) for name, part in constraint.named_parts.items()]
    errors = ErrorProfile.from_masks(is_pos, is_pos ^ (predicted != truth), sample_weight=weight)
    shares = {"tp": errors.pos - errors.fn, "fn": errors.fn, "fp": errors.fp, "tn": 1.0 - errors.pos - errors.fp}
    counted = {
        part: sum(shares[cell] * bottom for cell, (_, bottom) in (part.rate.terms() or {}).items())
        for part in constraint.parts
    }
    return [HeldOutRate.of(part, part.rate.of(errors), n, held) for part, n in counted.items()]


def held_out(
    search: Estimator,
    X: Samples | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    rivals: Mapping[str, Any] | None,
    name: str = "this search",
    given: Mapping[str, ArrayLike] = NOTHING,
    groups: ArrayLike | None = None,
) -> HeldOut | None:
    """Check the held-out data of a report and predict them, with costs or segments ``given``; ``None`` without any."""
    if X is None and y is None:
        if rivals or sample_weight is not None or groups is not None or given:
            names = ", ".join(["rivals", "sample_weight", "groups", *given])
            raise ValueError(f"{names} belong to held-out data: give X and y, which fit has not seen")
        return None
    if X is None or y is None:
        raise ValueError("give X and y together: samples that fit has not seen, and their labels")
    others = {f"rivals[{rival!r}]": predicted for rival, predicted in (rivals or {}).items()}
    check_in_memory(X=X, y=y)
    X, truth = check_samples(X, y, sample_weight=sample_weight, groups=groups, **given, **others)
    labels = reported(search).read_truth(search, truth)
    weight = check_weights(sample_weight, labels.shape[0])
    answers = {name: search.predict(X, **given)}
    for rival, predicted in (rivals or {}).items():
        predicted = label_array(predicted, f"rivals[{rival!r}]", getattr(search, "label_names_", ()))
        if predicted.shape != labels.shape:
            raise ValueError(
                f"rivals[{rival!r}] must be the labels that it predicts for X, of shape {labels.shape}; "
                f"got shape {predicted.shape}"
            )
        answers[str(rival)] = predicted
    codes = read_groups(groups, labels.shape[0])
    first = [] if codes is None else np.unique(codes, return_index=True)[1].tolist()
    names = tuple(short(each, 40) for each in safe_indexing(np.asarray(groups), first)) if first else ()
    held = HeldOut(X, labels, weight, answers, [], given, codes, names)
    rates = [held_out_rates(search, held, np.asarray(predicted)) for predicted in answers.values()]
    misses = [max((rate.misses for rate in each), default=0.0) for each in rates]
    judged = [replace(each, misses=missed) for each, missed in zip(reported(search).judge(search, held), misses)]
    return held._replace(judged=judged)


def values_by_group(search: CostSearch, held: HeldOut) -> list[tuple[str, int, Judged | None]]:
    """Judge the search in each group: its name, its samples, and the value (``None`` where the metric has none)."""
    if held.groups is None or not 1 < len(held.group_names) <= MOST_GROUPS:
        return []
    (name, answer), rows = next(iter(held.answers.items())), []
    for code, group in enumerate(held.group_names):
        at = np.flatnonzero(held.groups == code)
        weight = None if held.weight is None else held.weight[at]
        given = {key: np.asarray(values)[at] for key, values in held.given.items()}
        part = HeldOut(safe_indexing(held.X, at), held.y[at], weight, {name: answer[at]}, [], given)
        try:
            judged = reported(search).judge(search, part)[0]
        except ValueError:  # such as a metric of both classes, of one class alone
            judged = None
        rows.append((group, at.size, judged))
    return rows


def paid_for(search: CostSearch, held: HeldOut) -> tuple[Array, Array]:
    """Return the cost of each held-out row for the answers "negative" and "positive"."""
    return search.row_costs_.table(held.X, **held.given).answers(held.y == search.pos_label_)


def paid_on(search: CostSearch, held: HeldOut) -> dict[str, float]:
    """Return the mean cost of a held-out row for the same answer to all, for rivals, and by row."""
    negative, positive = paid_for(search, held)
    winner, *rivals = held.answers.items()
    paid = {"positive for all rows": positive, "negative for all rows": negative}
    paid |= {name: np.where(labels == search.pos_label_, positive, negative) for name, labels in [*rivals, winner]}
    return {name: float(np.average(cost, weights=held.weight)) for name, cost in paid.items()}


def worth_in_words(rates: Mapping[Label, ExchangeRate]) -> str:
    """Say what one miss is treated as worth, or one false alarm where that is more; by segment where there are some."""
    if not rates:
        return ""
    turned = all(rate.value < 1.0 for rate in rates.values())
    what, unit = ("false alarm", " misses") if turned else ("miss", " false alarms")
    parts = []
    for segment, rate in rates.items():
        text = (rate.inverse if turned else rate).in_words("" if parts else unit)
        parts.append(text if segment is None else f"{text} for {short(segment, 40)}")
    return f"One {what} is treated as worth {', '.join(parts)}."


def rule_of_rates(errors: ErrorProfile) -> str:
    """Say which demand would give the same rule as the costs that are given."""
    alerts = errors.pos - errors.fn + errors.fp
    precision = f", at precision {(errors.pos - errors.fn) / alerts:.2g}" if alerts > 0.0 else ""
    return f"Out-of-fold, these costs make the rule of recall >= {errors.tpr:.2g}{precision}."


def model_in_words(search: CostSearch) -> str:
    """Name the winning model with its parameters."""
    parameters = {key: value for key, value in search.best_params_.items() if key != MODEL}
    names = parameter_names(parameters)
    listed = ", ".join(f"{names[key]} = {short(value)}" for key, value in parameters.items())
    return type(last_step(winning_base(search))[1]).__name__ + (f" with {listed}" if listed else "")


def threshold_in_words(search: Estimator) -> str:
    """Format the threshold, with its probability where the score is not one, or those by row."""
    if hasattr(search, "thresholds_"):
        return ", ".join(f"{_least(cut)} for {short(name, 40)}" for name, cut in search.thresholds_.items())
    threshold, proba = search.best_threshold_, getattr(search, "best_threshold_proba_", None)
    same = proba is None or abs(proba - threshold) < 1e-6
    return _least(threshold) if same else f"{_least(threshold)} (predict_proba: {proba:.3g})"


def _least(threshold: float) -> str:
    """Format a threshold with four digits, or as many as keep the rows whose score equals it."""
    return next(text for digits in range(4, 18) if float(text := f"{threshold:.{digits}g}") <= threshold)
