"""What a reader should mind about a search, and what to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from csf.metrics import get_constraint, get_metric
from csf.report.facts import short, spread
from csf.trials import first_line

if TYPE_CHECKING:
    from csf.plots._searched import FittedClassSearch, FittedSearch
    from csf.report.held_out import Judged

__all__ = ["to_mind", "to_mind_of_classes", "to_try", "to_try_of_classes"]

# Fewer samples of a class than this make every choice noisy.
FEW = 100
# The same of one class among several, and how many of these are named.
FEW_OF_CLASS, MOST_NAMED = 25, 5
_JUDGE = "Judge the winner on samples that fit has not seen: report(path, X_test, y_test)."
# A gap of the bound, as a share of the metric's range, that is nothing, and one that invites more trials.
CLOSED, OPEN = 0.005, 0.02
# Objective of the winner above its optimum, as a share, from which on it counts as not solved.
UNSOLVED = 0.05


def to_mind(search: FittedSearch, judged: Sequence[Judged]) -> list[str]:
    """Warnings in words, the gravest first; ``judged`` is the search and its rivals on held-out data, if any."""
    return [
        *_constraint(search),
        *_failures(search),
        *_cut(search),
        *_solved(search),
        *_few(search),
        *_held(search, judged),
    ]


def to_try(search: FittedSearch, judged: Sequence[Judged]) -> list[str]:
    """What could be done next, in words."""
    ideas = []
    if not search.feasible_:
        ideas.append("Loosen the constraint, or add levels (n_trials), parameters (param_grid) or features.")
    ideas += _edges(search)
    room = search.gap_ / _range(search)
    if room <= CLOSED and search.n_splits_:
        ideas.append("The costs are spent: look for other features, another base or other parameters of it.")
    elif room >= OPEN:
        ideas.append(f"The evidence leaves room of {search.gap_:.3f}: more levels (n_trials) may find some of it.")
    if _smallest(search) is not None and search.n_splits_ <= 10:
        ideas.append(
            "Repeat the folds (cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=5)) and keep equal costs unless the "
            "gain is clear (min_gain=0.25): with few samples of a class the best of many trials can be luck."
        )
    if not judged:
        ideas.append(_JUDGE)
    return ideas


def to_mind_of_classes(search: FittedClassSearch, judged: Sequence[Judged]) -> list[str]:
    """As `to_mind`, of several classes that are all alike."""
    return [*_failures(search), *_solved(search), *_rare(search), *_held(search, judged)]


def to_try_of_classes(search: FittedClassSearch, judged: Sequence[Judged]) -> list[str]:
    """As `to_try`, of several classes that are all alike."""
    return [*_edges(search), *([] if judged else [_JUDGE])]


def _rare(search):
    few = search.class_count_ < FEW_OF_CLASS
    if few.any():
        names = ", ".join(f"“{short(label, 40)}”" for label in search.classes_[few][:MOST_NAMED].tolist())
        more = f" and {few.sum() - MOST_NAMED} more" if few.sum() > MOST_NAMED else ""
        yield (
            f"Fewer than {FEW_OF_CLASS} samples of {names}{more}: what is said of so few, and with it the rule and the "
            "value, can be luck."
        )


def _range(search):
    study = search.studies_[0]
    low, high = study.metric.range(study.pos)
    return high - low


def _constraint(search):
    if search.feasible_:
        return
    constraint = get_constraint(search.constraint)
    yield (
        f"No trial satisfies {constraint} on held-out folds; the closest one has {search.constraint_value_:.3f}. "
        "Infeasible: what is shown is the classifier that misses it by the least."
    )


def _failures(search):
    errors = [first_line(trial.error) for trial in search.trials_ if trial.error]
    if errors:
        causes = "; ".join(f"{short(cause, 200)} ({times}×)" for cause, times in Counter(errors).most_common(3))
        yield f"{len(errors)} of {search.n_trials_} trials failed and were left out: {causes}."


def _cut(search):
    threshold = search.best_threshold_
    if threshold is not None and np.isinf(threshold):
        all_or_none = "nothing" if threshold > 0 else "everything"
        yield f"The best cut predicts {all_or_none} positive: the score says too little."


def _solved(search):
    gap = search.trials_[search.best_index_].duality_gap
    if gap is not None and gap > UNSOLVED:
        yield (
            f"The winner's training stopped early: its objective may be {gap:.0%} above the optimum. Scale the "
            "features, lower C, or raise max_iter."
        )


def _smallest(search):
    """Number of samples of the rarer side, where it is known and small."""
    counts = search.class_count_
    null = search.classes_.tolist().index(search.null_class_)
    rarest = int(min(counts[null], counts.sum() - counts[null]))
    return rarest if rarest < FEW else None


def _few(search):
    rarest = _smallest(search)
    if rarest is not None:
        yield f"The rarer side has {rarest} samples only: scores, costs and cut all depend on few of them."


def _held(search, judged):
    if not judged:
        return
    name, own = get_metric(search.metric).name, judged[0]
    if own.interval[1] < search.best_score_:
        yield (
            f"Held-out {name} ({own.value:.3f}, 90 % of resamples {spread(own.interval)}) is below the "
            f"{search.best_score_:.3f} out of fold, which is the largest of many and so optimistic."
        )
    fair = [each for each in judged[1:] if each.misses <= own.misses]
    for each in judged[1:]:
        if each not in fair:
            yield f"“{short(each.name)}” misses the constraint on these data, and is not compared."
    if fair:
        rival = max(fair, key=lambda other: other.value)
        low, high = rival.difference_interval
        if low <= 0 <= high:
            yield (
                f"The difference to “{short(rival.name)}” is {rival.difference:+.3f} ({spread((low, high), '+.3f')}) "
                "and may be chance: where simplicity counts, take the simpler one."
            )
        elif high < 0:
            promise = getattr(search, "guarantee_", None)
            yield f"“{short(rival.name)}” is better on these data by {-rival.difference:.3f}: " + (
                "take it."
                if promise is None or not promise.holds
                else f"take it if it promises {promise.constraint} too, with confidence {promise.confidence:g}."
            )


def _edges(search):
    """Parameters whose best value is an end of what was tried."""
    for key, value in search.best_params_.items():
        tried = {trial_value for trial_value in search.cv_results_[f"param_{key}"].tolist() if _is_number(trial_value)}
        if _is_number(value) and len(tried) > 2 and value in (min(tried), max(tried)):
            side = "smaller" if value == min(tried) else "larger"
            yield f"{key} = {short(value)} is at the end of the values tried: add {side} ones."


def _is_number(value):
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
