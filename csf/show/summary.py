"""What a search found, in three numbers and three sentences: what you get, how sure it is, what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.sklearn import last_step
from csf.metrics import get_constraint
from csf.search.config import MODEL
from csf.show._shared import is_class_search, is_label_search, is_row_search
from csf.show.checks import Finding, as_good_as, findings
from csf.show.decisions import answers_to_all
from csf.show.held_out import (
    HeldOut,
    metric_name,
    other_costs,
    parameter_names,
    short,
    spread,
    target_name,
    winning_base,
)

if TYPE_CHECKING:
    from csf.search import CostSearch

_HEADS = "What you get", "How sure it is", "What to do"


@dataclass(frozen=True)
class Estimate:
    """A value of the winner: where it is from, its 90 % interval as text, and what it is."""

    name: str
    value: float
    interval: str
    what: str


@dataclass(frozen=True)
class Summary:
    """What a search found; `print` shows it as text, a notebook as HTML.

    Parameters
    ----------
    numbers : list of tuple of str
        Three numbers, each with what it is.
    sentences : list of str
        What you get, how sure it is, what to do.
    verdict : str
        Whether to use it, in a few words.
    findings : list of Finding
        Results of the checks, the most serious first.

    Examples
    --------
    >>> summary = Summary([("0.412", "f1 to expect")], ["A model.", "Quite.", "Use it."], "Use it.", [])
    >>> print(summary)
    0.412  f1 to expect
    What you get: A model.
    How sure it is: Quite.
    What to do: Use it.
    """

    numbers: list[tuple[str, str]]
    sentences: list[str]
    verdict: str
    findings: list[Finding]

    @property
    def also_found(self) -> list[Finding]:
        """Findings that the sentences leave out."""
        return [found for found in self.findings[1:] if found.code != "CSF010"]  # which the verdict says

    @property
    def others(self) -> str:
        """Titles of the findings that the sentences leave out, with their codes; empty for none."""
        return ", ".join(dict.fromkeys(f"{found.title} ({found.code})" for found in self.also_found))

    def __str__(self) -> str:
        width = max(len(number) for number, _ in self.numbers)
        lines = [f"{number:{width}}  {what}" for number, what in self.numbers]
        parts = [f"{head}: {text}" for head, text in zip(_HEADS, self.sentences)]
        parts += [f"Also noticed: {self.others}"] if self.others else []
        return "\n".join(lines + [textwrap.fill(part, 100, subsequent_indent="  ") for part in parts])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        numbers = "".join(
            f'<div><b style="font-size:1.6em">{escape(number)}</b><br><small>{escape(what)}</small></div>'
            for number, what in self.numbers
        )
        parts = [*zip(_HEADS, self.sentences), *([("Also noticed", self.others)] if self.others else [])]
        sentences = "".join(f"<p><b>{head}.</b> {escape(text)}</p>" for head, text in parts)
        grid = "display:flex;flex-wrap:wrap;gap:.5em 2.5em;line-height:1.3"
        return f'<div style="max-width:46em;line-height:1.45"><div style="{grid}">{numbers}</div>{sentences}</div>'


def summarise(search: CostSearch, held: HeldOut | None = None, mute: Collection[str] = ()) -> Summary:
    """Summary of a fitted search, on held-out data where there are some."""
    # A search on a cluster is shown as the one in memory that it can become.
    to_local = getattr(search, "to_local", None)
    search = search if to_local is None else to_local()
    together = hasattr(search, "label_names_") and not is_label_search(search)
    found = [] if together else findings(search, held, mute)
    first = estimates_of(search, held)[0]
    name = metric_name(search)
    numbers = [
        (f"{first.value:.3f}", f"{name} {_WHERE[first.name]}"),
        (first.interval or "–", "90 % interval of it"),
    ]
    third = _third(search, held)
    numbers += [] if third is None else [third]
    verdict = _verdict(search, held, found)
    advice = f"{verdict} {found[0].text}" if found else verdict
    return Summary(numbers, [winner_of(search), _how_sure(search, held, first), advice], verdict, found)


_WHERE = {
    "held-out": "on held-out data",
    "cross-validated": "to expect on new data",
    "out-of-fold": "out-of-fold, the largest of many",
}


def estimates_of(search: CostSearch, held: HeldOut | None) -> list[Estimate]:
    """Values of the winner, the one to trust most first."""
    rows = []
    if held is not None:
        own = held.judged[0]
        rows.append(Estimate("held-out", own.value, spread(own.interval), f"{held.y.shape[0]} samples unseen by fit"))
    # Searches read from older files, and some configurations, know fewer of these.
    corrected = getattr(search, "corrected_score_", np.nan)
    if not np.isnan(corrected):
        what = f"to expect on new data: out-of-fold, without what choosing among {search.n_trials_} trials adds"
        rows.append(Estimate("cross-validated", corrected, spread(search.score_interval_), what))
    what = "on the samples that chose trial and threshold: optimistic"
    return [*rows, Estimate("out-of-fold", search.best_score_, "", what)]


def _third(search: Any, held: HeldOut | None) -> tuple[str, str] | None:
    """The number that matters third: a rival, the constraint, what is saved, or what is left."""
    if held is not None and len(held.judged) > 1:
        rival = max(held.judged[1:], key=lambda each: each.value)
        ends = spread(rival.difference_interval, "+.3f")
        return f"{rival.difference:+.3f}", f"compared with “{short(rival.name, 40)}” ({ends})"
    constraint = get_constraint(search.constraint)
    if constraint is not None and search.constraint_value_ is not None:
        where = "on calibration data" if hasattr(search, "guarantee_") else "out-of-fold"
        return f"{search.constraint_value_:.3f}", f"{constraint.quantity.name} {where}; asked for: {constraint}"
    if is_row_search(search):
        answers = answers_to_all(search)
        own = answers.pop("each row by its own costs")
        name, cost = min(answers.items(), key=lambda item: item[1])
        return f"{cost - own:.4g}", f"saved per row, compared with {name}"
    if hasattr(search, "label_names_"):
        worst = getattr(search, "best_scores_", np.empty(0))
        if not worst.size:
            return None
        return f"{worst.min():.3f}", f"lowest label, “{short(search.label_names_[worst.argmin()], 40)}”, out-of-fold"
    if is_class_search(search):
        at = int(search.class_count_.argmin())
        return f"{search.class_count_[at]:g}", f"samples of the rarest class, “{short(search.classes_[at], 40)}”"
    if not search.n_splits_ and search.threshold is not None:  # fitted before: nothing was trained
        return spread(search.threshold_interval_) or "–", "90 % interval of the best threshold"
    if np.isfinite(search.gap_) and search.n_splits_:
        return f"+{search.gap_:.3f}", "at most, with other class weights (in 19 of 20 searches)"
    return None


def _how_sure(search: Any, held: HeldOut | None, first: Estimate) -> str:
    if held is not None:
        return (
            f"The interval allows for the chance in {held.y.shape[0]} samples, not for that of training again on other "
            "samples."
        )
    if not first.interval:
        return "Nothing is known but the samples that chose the winner. Give report() samples that fit has not seen."
    judged = f"Cross-validated on {search.n_splits_} folds" if search.n_splits_ else "Judged on the given samples"
    several = hasattr(search, "label_names_") or is_class_search(search)
    rarest = "" if several else f", with {search.class_count_.min():g} samples of the rarer class"
    chosen = "" if search.n_trials_ == 1 else f"; corrected for the choice among {search.n_trials_} trials"
    return f"{judged}{rarest}{chosen}. The interval is for all data of this kind; a small test set varies more."


def _verdict(search: Any, held: HeldOut | None, found: list[Finding]) -> str:
    """One verdict, which no finding contradicts."""
    promise = getattr(search, "guarantee_", None)
    missed = {each.code for each in found} & {"CSF007", "CSF012"} or not getattr(search, "feasible_", True)
    if missed or (promise is not None and not promise.holds):
        return "Do not use it as it is."
    if held is None:
        return "Use it, and judge it on samples that fit has not seen."
    return "Take the simpler method." if as_good_as(held.judged) else "Use it."


# ---------------------------------------------------------------- the winner in one sentence


def winner_of(search: Any) -> str:
    """The winner in one sentence."""
    if is_label_search(search):
        names = [short(name, 40) for name in search.label_names_.tolist()]
        return f"One search for each of {len(names)} labels, lowest for “{names[search.best_scores_.argmin()]}”."
    if hasattr(search, "label_names_"):
        return f"{_trained(search)}, with one threshold for {len(search.label_names_)} labels."
    if is_row_search(search):
        return f"{_trained(search)}; it decides each row by its own costs."
    if is_class_search(search):
        power = search.trials_[search.best_index_].t
        weights = "equal class weights" if power == 0.0 else f"class weights in proportion to share^-{power:.3g}"
        own = "its own decision" if search.rule_.kind == "argmax" else "a tuned rule of its probabilities"
        return f"{_trained(search)}, trained with {weights}; it predicts by {own}."
    return _threshold_sentence(search)


def _trained(search: CostSearch) -> str:
    parameters = {key: value for key, value in search.best_params_.items() if key != MODEL}
    names = parameter_names(parameters)
    listed = ", ".join(f"{names[key]} = {short(value)}" for key, value in parameters.items())
    return type(last_step(winning_base(search))[1]).__name__ + (f" with {listed}" if listed else "")


def _threshold_sentence(search: CostSearch) -> str:
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
        found = f"a class other than “{short(search.null_class_, 40)}”" if search.pos_label_ is None else target
        decides = f"it predicts {found} if the score is at least {search.best_threshold_:.4g}"
    trained = f"trained with {weights}" if search.n_splits_ else "fitted before"
    return f"{_trained(search)}, {trained}; {decides}."
