"""Checks of a fitted search, one for each code, and a summary of their results.

A check is a function of the fitted search and its held-out data that returns a sentence, or nothing. The page
``guide/checks.md`` has a section for each code. A summary has three numbers and three sentences: what you get, how sure
it is, what to do.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import rankdata

from csf._common.messages import did_you_mean
from csf._common.typing import Array, Label, Samples
from csf.data.responses import DECISION_FIRST, positive_score, response_method
from csf.evaluate.choices import influence, outcomes
from csf.metrics import get_constraint, get_metric
from csf.metrics.base import Metric
from csf.metrics.registry import aim_of, truth_of
from csf.metrics.trials import first_line
from csf.plots.words import metric_name, other_costs, short, spread
from csf.report.held_out import HeldOut, Judged
from csf.report.kinds import constrained, held_out_rates, promises, reported, reviewed
from csf.search.config import MODEL
from csf.search.plan import OUT_OF_BAG
from csf.search.threshold import tune_threshold

if TYPE_CHECKING:
    from csf.search import CostSearch

# Fewer samples of a class than this make every choice noisy; of one class among several, and how many are named.
FEW, FEW_OF_CLASS, MOST_NAMED = 100, 25, 5
# With so few positives the corrected score was too high on average over data sets.
VERY_FEW = 30
# Share of all that is at stake which the dearest 1 % of the rows carry where intervals of few samples are too narrow.
DEAR = 0.2
# So many positives for each other sample are asked about.
FREQUENT = 2
# A gap of the bound, as a share of the metric's range, that is nothing, and one that invites more trials.
CLOSED, OPEN = 0.005, 0.02
# Objective of the winner above its optimum, as a share, from which on it counts as not solved.
UNSOLVED = 0.05
# Standard errors that a gain has to exceed, and those from which on a difference is no chance.
DOUBTED, SURE = 1.645, 3.0
# Relative change of a class's share, and mean error of probabilities, that matter to anyone.
SHIFTED, MISCALIBRATED = 0.2, 0.05
N_BINS = 10
# Errors for each sample of the rarest class that are almost none, samples of it that show it, and how far from a half
# the area under the ROC curve is of a feature that separates the classes alone.
PERFECT, FEWEST, SEPARATED = 0.02, 10, 0.499


# What a check says of a fitted search and held-out data; empty or ``None`` for nothing.
Look: TypeAlias = "Callable[[CostSearch, HeldOut | None], str | None]"


class Check(NamedTuple):
    """Code and title of a check, and the function that runs it."""

    code: str
    title: str
    look: Look
    # Whether it is for several classes that are all alike too.
    several: bool


class Finding(NamedTuple):
    """Result of a check.

    Parameters
    ----------
    code : str
        Code of the check, such as ``"CSF001"``: a section of the guide's page "Checks".
    title : str
        Its subject.
    text : str
        What was noticed, with its numbers, and what to do.

    Examples
    --------
    >>> Finding("CSF010", "no held-out data", "Judge the winner on other samples.").code
    'CSF010'
    """

    code: str
    title: str
    text: str


# Checks of held-out values, which those of all labels have in common; the others look at the search of each label.
OF_ALL_LABELS = ("CSF007", "CSF008", "CSF009", "CSF010")
# Checks of a search of all labels together: those of one class have nothing to say.
OF_SHARED = (*OF_ALL_LABELS, "CSF002", "CSF006", "CSF011", "CSF012", "CSF013", "CSF014")
# In the order in which findings are shown: the gravest first.
CHECKS: dict[str, Check] = {}


def check(code: str, title: str, *, several: bool = False) -> Callable[[Look], Look]:
    """Register a check."""

    def register(look: Look) -> Look:
        CHECKS[code] = Check(code, title, look, several)
        return look

    return register


def check_codes(codes: Collection[str]) -> None:
    """Raise a ValueError for codes that no check has, and a TypeError for a text."""
    if isinstance(codes, str):
        raise TypeError(f"mute must be a list of codes, such as [{codes!r}]; got the text {codes!r}")
    for code in codes:
        if code not in CHECKS:
            hint = did_you_mean(str(code), CHECKS)
            raise ValueError(f"mute holds {code!r}, the code of no check; known: {', '.join(sorted(CHECKS))}{hint}")


def findings(search: CostSearch, held: HeldOut | None = None, mute: Collection[str] = ()) -> list[Finding]:
    """Run the checks on a fitted search and return their results, the most serious first.

    Parameters
    ----------
    search : CostSearch
        Fitted.
    held : HeldOut, default=None
        Held-out data with the predictions of the search and its rivals, see `csf.report.held_out`.
    mute : collection of str, default=()
        Codes of checks to leave out.

    Returns
    -------
    list of Finding
        One for each check that has something to say.

    Raises
    ------
    TypeError, ValueError
        If ``mute`` is a text, or holds an unknown code.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from csf import CostSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = CostSearch(GaussianNB(), "recall", constraint="precision >= 0.8", cv=3).fit(X, y)
    >>> [found.code for found in findings(search, mute=["CSF003", "CSF015"])]
    ['CSF006', 'CSF010']
    """
    check_codes(mute)
    wanted = {code: each for code, each in CHECKS.items() if code not in mute}
    if search.result_.kind == "shared_threshold":
        return _said([each for code, each in wanted.items() if code in OF_SHARED], search, held)
    if search.result_.kind != "multilabel":
        two_classes = reported(search).two_classes
        return _said([each for each in wanted.values() if each.several or two_classes], search, held)
    of_all, of_one = ([each for code, each in wanted.items() if (code in OF_ALL_LABELS) == of] for of in (True, False))
    said = _said(of_all, search, held)
    for name, one in zip(search.label_names_.tolist(), search.searches_):
        said += [found._replace(text=f"{short(name, 40)}: {found.text}") for found in _said(of_one, one, None)]
    return sorted(said, key=lambda found: list(CHECKS).index(found.code))


def _said(checks: Iterable[Check], search: CostSearch, held: HeldOut | None) -> list[Finding]:
    """Return the findings of these checks."""
    texts = [(check.code, check.title, check.look(search, held)) for check in checks]
    return [Finding(code, title, text) for code, title, text in texts if text]


def gain_over_equal(search: CostSearch) -> tuple[float, float] | None:
    """Return the out-of-fold gain over the best trial with equal class weights, and its standard error.

    Each trial has the threshold that is best for it out-of-fold. ``None`` where equal weights won or were not tried.
    """
    trial, store = search.trials_[search.best_index_], getattr(search, "held_out_", None)
    equal = min((row for row in store or () if row.equal_costs), key=lambda row: row.rank, default=None)
    if store is None or equal is None or trial.c_fn == trial.c_fp or (trial.setting, trial.number) not in store:
        return None
    own = replace(store[trial.setting, trial.number], threshold=trial.threshold)
    each = [influence(aim_of(search), outcomes(store, row), store.copies) for row in (own, equal)]
    return trial.score - equal.value, float(np.sqrt(store.copies @ (each[0] - each[1]) ** 2))


@check("CSF007", "constraint missed on held-out data", several=True)
def _missed(search, held):
    rates = [] if held is None else held_out_rates(search, held, np.asarray(next(iter(held.answers.values()))))
    texts = [
        f"{rate}, {'below' if rate.demand.side == '>=' else 'above'} the demanded {rate.demand.level:g}"
        for rate in rates
        if rate.misses
    ]
    way = "Ask for a stricter level." if search.confidence else "Ask for confidence=0.9, or for a stricter level."
    return f"Held-out {'; '.join(texts)}. {way}" if texts else None


@check("CSF006", "constraint not certified", several=True)
def _constraint(search, held):
    constraint, promise = get_constraint(search.constraint), getattr(search, "guarantee_", None)
    if constraint is None:
        return None
    if promise is not None:
        return None if promise.holds else f"{str(promise).capitalize()}."
    if not search.feasible_:
        rates = ", ".join(f"{part.name} {rate:.3f}" for part, rate, _ in constrained(search))
        return (
            f"No trial satisfies {constraint} on out-of-fold predictions; what is shown is the closest one, with "
            f"{rates}. Loosen the constraint, or add trials (n_trials), parameters (param_grid) "
            "or features."
        )
    return (
        f"{constraint} holds on the out-of-fold predictions that chose the decision. On new data it fails about half "
        "the time. Give confidence=0.9 if it has to hold there."
    )


def is_counter(values: Array) -> bool:
    """Check for distinct whole numbers where independent ones would repeat: row numbers, keys, times."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    # Of independent numbers in so narrow a range two agree, but for a probability below exp(-7).
    if known.size < 2 or known.size**2 < 15 * (np.ptp(known) + 1):
        return False
    return bool((known == np.round(known)).all()) and np.unique(known).size == known.size


def _numbers(X: Samples) -> Iterator[tuple[Label, Array]]:
    """Yield the name, or index, and the values of each numeric column of a frame or array."""
    named = hasattr(X, "iloc")
    for name in X.columns if named else range(X.shape[1] if isinstance(X, np.ndarray) else 0):
        values = np.asarray(X[name] if named else X[:, name])
        if values.dtype.kind in "iuf":
            yield name, values


def _uses(search: CostSearch, X: Samples, name: Label) -> bool:
    """Check whether the winner's predictions depend on a column."""
    model, moved = search.best_estimator_, X.copy()
    column = name if hasattr(X, "iloc") else (slice(None), name)
    moved[column] = np.asarray(moved[column])[::-1]
    answer = getattr(model, response_method(model) or "predict")
    return not np.array_equal(answer(X), answer(moved))


# Findings that put the value itself in doubt.
SUSPICIONS = ("CSF017", "CSF018")


@check("CSF017", "a counter among the features", several=True)
def _counters(search, held):
    X = None if held is None else held.X
    used = ", ".join(repr(name) for name, values in _numbers(X) if is_counter(values) and _uses(search, X, name))
    text = (
        f"The winner uses {used}, where all samples have different whole numbers: a row number or a key. It predicts "
        "the class of sorted data, and nothing of new data. Leave it out, unless it is a time."
    )
    return text if used else None


@check("CSF018", "a value too good to be true", several=True)
def _perfect(search, held):
    chosen = getattr(search.trials_[search.best_index_], "chosen", None)
    if held is not None:
        counts, leaks = np.unique(held.y, return_counts=True)[1], _leaks(search, held)
        wrong = np.sum(next(iter(held.answers.values())) != held.y)
    elif chosen is not None:
        counts, leaks = search.class_count_, []
        wrong = (chosen.fn + chosen.fp) * counts.sum()
    else:
        return None
    if counts.min() < FEWEST or (wrong > PERFECT * counts.min() and not leaks):
        return None
    such = f", such as column {', '.join(leaks)}, which alone separates the classes" if leaks else ""
    return (
        f"{wrong:.0f} of {counts.sum():g} samples are decided wrongly. Unless the task is so easy, look for a feature "
        f"that knows the answer{such}: a row number of sorted data, or what was written down later. Leave it out."
    )


def _leaks(search: CostSearch, held: HeldOut) -> list[str]:
    """Return the features that almost separate the classes alone."""
    is_pos = held.y == search.pos_label_
    n_pos, n_neg = int(is_pos.sum()), int((~is_pos).sum())
    if not _binary(search) or min(n_pos, n_neg) < FEWEST:
        return []
    ranks = {name: rankdata(values)[is_pos].mean() for name, values in _numbers(held.X)}
    return [repr(name) for name, rank in ranks.items() if abs((rank - 0.5 * (n_pos + 1)) / n_neg - 0.5) > SEPARATED]


@check("CSF011", "failed trials", several=True)
def _failures(search, held):
    errors = [first_line(trial.error) for trial in search.trials_ if trial.error]
    causes = "; ".join(f"{short(cause, 200)} ({times}×)" for cause, times in Counter(errors).most_common(3))
    return f"{len(errors)} of {search.n_trials_} trials failed and were left out: {causes}." if errors else None


@check("CSF014", "search ended early", several=True)
def _stopped(search, held):
    if not search.stop_reason_.startswith(("interrupted", "the time limit")):
        return None
    tried = f"; {other_costs(search).partition(' (')[0]}" if reported(search).two_classes else ""
    return f"The search ended early ({search.stop_reason_}) with {search.n_trials_} trials{tried}. Give it more time."


@check("CSF012", "everything or nothing is positive")
def _infinite(search, held):
    threshold = search.best_threshold_
    if threshold is None or not np.isinf(threshold):
        return None
    what = "nothing" if threshold > 0 else "everything"
    return f"The best threshold predicts {what} positive: the score separates little. Look at features and base."


@check("CSF013", "training not converged", several=True)
def _solved(search, held):
    gap = search.trials_[search.best_index_].duality_gap
    text = (
        "The winner's training stopped early: its objective may be {:.0%} above the optimum. Scale the features, lower "
    )
    return None if gap is None or gap <= UNSOLVED else text.format(gap) + "C, or raise max_iter."


@check("CSF001", "few samples of a class", several=True)
def _few(search, held):
    counts = search.class_count_
    if search.result_.kind == "multiclass":
        rare = search.classes_[counts < FEW_OF_CLASS].tolist()
        names = ", ".join(f"“{short(label, 40)}”" for label in rare[:MOST_NAMED])
        more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
        said = f"Fewer than {FEW_OF_CLASS} samples of {names}{more}: rule and value are noisy. Collect more of these."
        return said if rare else None
    null = counts[search.classes_.tolist().index(search.null_class_)]
    rarest = int(min(null, counts.sum() - null))
    advice = "Trust the interval more than the value."
    if 0 < search.n_splits_ <= 10:
        advice = "Repeat the folds: cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=5)."
    if rarest <= VERY_FEW:
        advice = f"With so few the value to expect was .025 too high on average. {advice}"
    if (dear := getattr(search, "dearest_share_", 0.0)) >= DEAR:
        advice = (
            f"The dearest 1 % of the rows carry {dear:.0%} of all that is at stake: of 90 % intervals of mean costs "
            f"with 60 positives and such amounts 84 % held the cost. {advice}"
        )
    text = f"The rarer side has {rarest} samples: score, class weights and threshold depend on few of them. {advice}"
    return text if rarest < FEW else None


@check("CSF019", "labels that miss positives", several=True)
def _incomplete(search, held):
    text = (
        "The value rests on the share of labelled positives among those that are predicted positive. Where clear cases "
        "are labelled more often, that is more than the share among all (0.71 was reported of a true F1 of 0.47): give "
        "a range that holds both, labelled=(low, high), or have a random sample of the predicted positives checked."
    )
    return None if truth_of(search.metric) is None else text


@check("CSF016", "positives are the more frequent class")
def _frequent(search, held):
    if not _binary(search) or search.pos_label is not None:
        return None
    at = search.classes_.tolist().index(search.pos_label_)
    positives, others = int(search.class_count_[at]), int(search.class_count_[1 - at])
    text = (
        f"“{short(search.pos_label_, 40)}” counts as positive, because it is the larger label, and {positives} of "
        f"{positives + others} samples have it: F1 and the like are then large whatever was learnt. "
        "If the other class is what is to be found, give pos_label."
    )
    return text if positives > FREQUENT * others else None


@check("CSF005", "prevalence differs", several=True)
def _shifted(search, held):
    if held is None:
        return None
    learnt, met = search.class_count_, np.array([np.sum(held.y == label) for label in search.classes_])
    before, now, both = learnt / learnt.sum(), met / met.sum(), (learnt + met) / (learnt.sum() + met.sum())
    error = np.sqrt(both * (1.0 - both) * (1.0 / learnt.sum() + 1.0 / met.sum()))
    far = np.where(np.abs(now - before) > SHIFTED * before, np.abs(now - before) / np.maximum(error, 1e-12), 0.0)
    at = int(far.argmax())
    share = f"{now[search.classes_.tolist().index(search.pos_label_)]:.3g}" if _binary(search) else "shares"
    text = (
        f"“{short(search.classes_[at], 40)}” is {now[at]:.1%} of the held-out data and {before[at]:.1%} of those "
        "learnt from, which chose class weights and threshold"
    )
    text += f": search.at_prevalence({share}) moves the decision." if search.result_.moves else "."
    return text if far[at] > SURE else None


def _binary(search):
    return getattr(search, "pos_label_", None) is not None


@check("CSF004", "probabilities not calibrated")
def _calibrated(search, held):
    if held is None or not _binary(search) or not hasattr(search, "predict_proba"):
        return None
    said = search.predict_proba(held.X)[:, search.classes_.tolist().index(search.pos_label_)]
    is_pos = held.y == search.pos_label_
    # Spiegelhalter's test, and the mean distance within bins of equally many samples.
    error = np.sqrt(np.sum((1 - 2 * said) ** 2 * said * (1 - said)))
    z = np.sum((is_pos - said) * (1 - 2 * said)) / max(error, 1e-12)
    bins = np.array_split(np.argsort(said, kind="stable"), N_BINS)
    off = sum(abs(said[rows].sum() - is_pos[rows].sum()) for rows in bins) / said.size
    text = (
        f"The probabilities are off by {off:.3f} on average on held-out data (mean {said.mean():.3f}, share of "
        f"positives {is_pos.mean():.3f}). The threshold does not suffer; where they are used, calibrate the base "
        "(sklearn.calibration.CalibratedClassifierCV)."
    )
    return text if abs(z) > SURE and off > MISCALIBRATED else None


@check("CSF008", "held-out value below the out-of-fold one", several=True)
def _optimistic(search, held):
    own = None if held is None else held.judged[0]
    if own is None or own.interval[1] >= search.best_score_:
        return None
    return (
        f"Held-out {metric_name(search)} is {own.value:.3f} (90 % interval {spread(own.interval)}), below the "
        f"{search.best_score_:.3f} out-of-fold, which is the largest of many and so optimistic. Report held-out."
    )


def as_good_as(judged: Sequence[Judged]) -> Judged | None:
    """Return the best rival on held-out data if the search is not shown to beat it, else ``None``."""
    fair = [each for each in judged[1:] if each.misses <= judged[0].misses]
    best = max(fair, key=lambda other: other.value, default=None)
    return best if best is not None and best.difference_interval[0] <= 0.0 else None


@check("CSF009", "a simpler method is as good", several=True)
def _rivals(search, held):
    judged = [] if held is None else held.judged
    said = [
        f"“{short(each.name)}” misses the constraint on these data, and is not compared."
        for each in judged[1:]
        if each.misses > judged[0].misses
    ]
    rival, tests = as_good_as(judged), [*promises(search).values()]
    if rival is None:
        return " ".join(said)
    too, (low, high) = "", rival.difference_interval
    if tests and all(test.holds for test in tests):
        promised = ", ".join(dict.fromkeys(test.constraint for test in tests))
        too = f" if it promises {promised} too, with confidence {tests[0].confidence:g}"
    if high < 0:
        said.append(f"“{short(rival.name)}” is better on these data by {-rival.difference:.3f}: take it{too}.")
    else:
        said.append(
            f"The difference to “{short(rival.name)}” is {rival.difference:+.3f} ({spread((low, high), '+.3f')}) "
            f"and may be chance: where simplicity counts, take the simpler one{too}."
        )
    return " ".join(said)


def _doubted(search: CostSearch) -> tuple[float, float] | None:
    """Return the gain of the class weights and its standard error, where the gain may be chance."""
    found = gain_over_equal(search)
    return None if found is None or found[0] > DOUBTED * found[1] else found


@check("CSF003", "gain within noise")
def _gain(search, held):
    found = _doubted(search)
    if found is None or _is_matched(held):
        return None
    return (
        f"Out-of-fold, the class weights gain {found[0]:+.3f} over equal ones, standard error {found[1]:.3f}: "
        "that may be chance. n_trials=1 keeps equal class weights."
    )


def _is_matched(held: HeldOut | None) -> bool:
    """Check whether a simpler method is as good, so that advice to search more would be contradictory."""
    return held is not None and as_good_as(held.judged) is not None


@check("CSF002", "winner at the edge of the grid", several=True)
def _edges(search, held):
    said = []
    # Those of one of a few known settings belong together.
    is_known = isinstance(search.param_grid, str) and len(search.best_params_.keys() - {MODEL}) > 1
    for key, value in ({} if is_known or _is_matched(held) else search.best_params_).items():
        tried = {each for each in search.cv_results_[f"param_{key}"].tolist() if _is_number(each)}
        if _is_number(value) and len(tried) > 2 and value in (min(tried), max(tried)):
            side = "smaller" if value == min(tried) else "larger"
            said.append(f"{key} = {short(value)} is at the end of the values tried: add {side} ones (param_grid).")
    return " ".join(said)


def _is_number(value):
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


@check("CSF015", "gap to the upper bound")
def _room(search, held):
    if not search.n_splits_:  # fitted before: nothing was trained
        return None
    study = search.studies_[0]
    low, high = study.metric.range(study.pos)
    room = search.gap_ / (high - low)
    if room >= OPEN and not _is_matched(held) and _doubted(search) is None:
        return (
            f"The best value is {search.gap_:.3f} below the upper bound: other class weights gain no more than that "
            "in 19 of 20 searches, and mostly far less, so that more trials (n_trials) seldom find much of it."
        )
    spent = "Other class weights have little left to find: look for other features, another base or its parameters."
    return spent if room <= CLOSED else None


@check("CSF010", "no held-out data", several=True)
def _unseen(search, held):
    return None if held else "Judge the winner on samples that fit has not seen: report(path, X_test, y_test)."


# ---------------------------------------------------------------- a check for reports of skore, which is not imported


@dataclass(frozen=True)
class ThresholdCheck:
    """Check for ``report.checks.add`` of skore: gain of a tuned threshold over the estimator's own decision.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What counts, as for `csf.CostSearch`.
    least : float, default=0.01
        Gain of the metric from which on it is a finding, if the value to expect is above that too.
    pos_label : label, default=None
        Positive class; ``None`` takes the one of the report, or 1 for labels {0, 1} or {-1, 1}.

    Examples
    --------
    >>> check = ThresholdCheck("f1")  # report.checks.add([check]); report.checks.summarize()
    >>> check.code, check.title
    ('CSF101-F1', 'The threshold is not that of f1')
    """

    metric: str | Metric = "f1"
    least: float = 0.01
    pos_label: Label = None
    # What skore asks of a check besides: where it applies, how grave it is, whether it takes long.
    report_types: ClassVar[list[str]] = ["estimator", "cross-validation"]
    severity: ClassVar[str] = "tip"
    docs_url: ClassVar[str | None] = None
    slow: ClassVar[bool] = False

    @property
    def code(self) -> str:
        """Name of the check in lists of checks to ignore, one for each metric."""
        return f"CSF101-{get_metric(self.metric).name.upper()}"

    @property
    def title(self) -> str:
        """Short label of the finding."""
        return f"The threshold is not that of {get_metric(self.metric).name}"

    def check_function(self, report: Any) -> str | None:
        """Return the finding, or ``None`` if there is none.

        Parameters
        ----------
        report : skore.EstimatorReport or skore.CrossValidationReport
            The report, of a classifier of two classes.

        Returns
        -------
        str or None
            The finding.
        """
        if report.ml_task != "binary-classification":
            from skore import CheckNotApplicable  # pyright: ignore[reportMissingImports] (it called this)

            raise CheckNotApplicable(f"a threshold is one of two classes, got {report.ml_task}")
        parts = getattr(report, "reports_", [report])  # one for each fold
        classes = np.asarray(parts[0].estimator_.classes_)
        positive = report.pos_label if self.pos_label is None else self.pos_label
        positive = classes[1] if positive is None else positive
        y = np.concatenate([np.asarray(part.y_test) for part in parts])
        own = np.concatenate([part.estimator_.predict(part.X_test) for part in parts])
        score = np.concatenate(
            [positive_score(part.estimator_, part.X_test, positive, DECISION_FIRST) for part in parts]
        )
        metric, decision = get_metric(self.metric), tune_threshold(y, score, self.metric, pos_label=positive)
        value, (low, high) = metric.score(y, own, pos_label=positive), decision.interval
        if decision.value - value < self.least:
            return None
        return (
            f"The estimator's own threshold costs {100 * (decision.value - value):.1f} points of {metric.name}: its "
            f"predictions have {value:.3f}, and {decision.value:.3f} is to be expected (90 % interval {low:.3f} to "
            f"{high:.3f}) where the score is compared with {decision.threshold:.4g}. csf.tune_threshold(y, score) "
            "finds it; take samples for it that the model has not been fitted to."
        )


# ---------------------------------------------------------------- the summary


_HEADS = "What you get", "How sure it is", "What to do"


@dataclass(frozen=True)
class Estimate:
    """Estimated value of the winner: its source, its 90 % interval as text, and its description."""

    name: str
    value: float
    interval: str
    what: str


@dataclass(frozen=True)
class Summary:
    """Summary of a fitted search; `print` shows it as text, a notebook as HTML.

    Parameters
    ----------
    numbers : list of tuple of str
        Three or four numbers, each with its description.
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
    """Summarise a fitted search, on held-out data where there are some."""
    # A search on a cluster is shown as the one in memory that it can become.
    to_local = getattr(search, "to_local", None)
    search = search if to_local is None else to_local()
    found = findings(search, held, mute)
    refusals = [each for each in found if _forbids(search, each)]
    found = refusals[:1] + [each for each in found if each not in refusals[:1]]
    first = estimates_of(search, held)[0]
    low, high = search.score_interval_ if held is None else held.judged[0].interval
    number, interval, what = f"{first.value:.3f}", first.interval or "–", metric_name(search)
    if first.interval and what == "savings":
        number, interval = f"{100.0 * first.value:.1f} %", f"{spread((100.0 * low, 100.0 * high), '.1f')} %"
        what = "of the costs saved,"
    elif first.interval and what in ("cost_matrix", "cost"):  # larger is better, so that costs are below 0
        number, interval, what = f"{-first.value:.3f}", spread((-high, -low)), "mean cost"
    numbers = [(number, f"{what} {_WHERE[first.name]}"), (interval, "90 % interval of it")]
    about = reported(search)
    further = dict.fromkeys((about.number(search, held), about.demanded(search)))
    numbers += [number for number in further if number is not None] + reviewed(search)
    verdict = _verdict(search, held, found, low)
    advice = " ".join([verdict, *(each.text for each in found[:1] if each.code != "CSF010")])
    gets = f"{about.winner(search)} {about.stands_for(search)}".strip()
    return Summary(numbers, [gets, _how_sure(search, held, first), advice], verdict, found)


_WHERE = {
    "held-out": "on held-out data",
    "cross-validated": "to expect on new data",
    "out-of-fold": "out-of-fold, the largest of many",
}


def estimates_of(search: CostSearch, held: HeldOut | None) -> list[Estimate]:
    """Return the estimated values of the winner, the most reliable first."""
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


def _how_sure(search: CostSearch, held: HeldOut | None, first: Estimate) -> str:
    if held is not None:
        return (
            f"The interval allows for the chance in {held.y.shape[0]} samples, not for that of training again on other "
            "samples."
        )
    if not first.interval:
        return "Nothing is known but the samples that chose the winner. Give report() samples that fit has not seen."
    judged = f"Cross-validated on {search.n_splits_} folds"
    if search.n_splits_ < 2:
        judged = f"Judged on the {'samples that one split holds out' if search.n_splits_ else 'given samples'}"
    if getattr(search, "stop_reason_", "").endswith(OUT_OF_BAG):  # a search for each label has one each
        judged = "Judged on out-of-bag scores"
    chosen = "" if search.n_trials_ == 1 else f"; corrected for the choice among {search.n_trials_} trials"
    about = reported(search)
    return (
        f"{judged}{about.rarer_class(search)}{chosen}. The interval is for all data of this kind; a small test set "
        f"varies more.{about.doubt(search)}"
    )


DO_NOT_USE = "Do not use it as it is."
SIMPLER = "Take the simpler method."


def _keeps_nothing(search: CostSearch) -> bool:
    """Check whether no decision keeps the constraint, or none could be shown to."""
    return not (getattr(search, "feasible_", True) and all(test.holds for test in promises(search).values()))


def _forbids(search: CostSearch, found: Finding) -> bool:
    """Check whether a finding is a reason not to use the search."""
    return found.code in ("CSF007", "CSF012") or (found.code == "CSF006" and _keeps_nothing(search))


def _verdict(search: CostSearch, held: HeldOut | None, found: list[Finding], low: float) -> str:
    """Choose the verdict that no finding contradicts; ``low`` is the lower end of the value's interval."""
    tests = promises(search).values()
    if _keeps_nothing(search) or any(_forbids(search, each) for each in found):
        return DO_NOT_USE
    if any(each.code in SUSPICIONS for each in found):
        return "Look at its features before you use it."
    same = reported(search).same_answer(search, held)
    if same.reaches(low):
        seen = same if held is None else reported(search).same_answer(search, None)
        if search.result_.kind == "row_costs" and search.constraint is None and seen.reaches(search.best_score_):
            return f"Do without a model: no rule saved anything over “{seen.answer}” for all rows."
        # Values below 0 are costs.
        value = f"worth {same.value:.3f}" if same.value >= 0.0 else f"at a mean cost of {-same.value:.3f}"
        return f"Do not use it yet: one answer for all samples, “{same.answer}”, {value}, may be as good."
    if held is not None and as_good_as(held.judged):
        return SIMPLER
    verdict = "Use it." if held else "Use it, and judge it on samples that fit has not seen."
    promise = max(tests, key=lambda test: test.lost, default=None)
    # Of several labels the metric is a mean.
    lost = sum(test.lost for test in tests) / len(getattr(search, "searches_", "1"))
    if promise is None or lost < OPEN:
        return verdict
    way = f"; about {promise.needed} calibration positives in place of {promise.n_positives} would win half of it back"
    way = way if (promise.needed or 0) > promise.n_positives else ""
    first = "Collect more labels before you use it." if lost > search.best_score_ else verdict
    return f"{first} The certificate costs {lost:.3f} of {metric_name(search)}{way}."
