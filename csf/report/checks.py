"""Checks of a fitted search, one for each code, and a summary of their results.

A check is a function of the facts of a search that returns a sentence, or nothing. The page
``guide/checks.md`` has a section for each code. A summary has three numbers and three sentences: what you get, how sure
it is, what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from csf._common.dtypes import is_real
from csf._common.messages import did_you_mean
from csf._common.typing import Array, Estimator, Label, Samples
from csf.data.responses import DECISION_FIRST, positive_score, response_method
from csf.metrics import get_metric
from csf.metrics.base import Metric
from csf.metrics.registry import truth_of
from csf.metrics.trials import first_line
from csf.plots.words import other_costs, short, wrapped
from csf.report.facts import COSTS, CUT, SAMPLES, TRIALS, VALUES, Facts, compared
from csf.report.held_out import HeldOut, Judged
from csf.report.kinds import GAP, facts_of
from csf.search.config import MODEL
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


# What a check says of a fitted search; empty or ``None`` for nothing.
Look: TypeAlias = "Callable[[Facts], str | None]"


class Check(NamedTuple):
    """Code and title of a check, and the function that runs it."""

    code: str
    title: str
    look: Look
    # What it looks at, see `csf.report.facts.Facts.scopes`.
    scope: str


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


# In the order in which findings are shown: the gravest first.
CHECKS: dict[str, Check] = {}


def check(code: str, title: str, scope: str) -> Callable[[Look], Look]:
    """Register a check."""

    def register(look: Look) -> Look:
        CHECKS[code] = Check(code, title, look, scope)
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
    return findings_of(facts_of(search, held), mute)


def findings_of(facts: Facts, mute: Collection[str] = ()) -> list[Finding]:
    """Run the checks on a search, and those of single labels on the search of each label; see `findings`."""
    check_codes(mute)
    noticed = _noticed(facts, facts.scopes, mute)
    for name, one in facts.parts.items():
        noticed += [
            finding._replace(text=f"{name}: {finding.text}")
            for finding in _noticed(one, one.scopes - facts.scopes, mute)
        ]
    return sorted(noticed, key=lambda finding: list(CHECKS).index(finding.code))


def _noticed(facts: Facts, scopes: Collection[str], mute: Collection[str]) -> list[Finding]:
    """Return the findings of the checks that look at something."""
    wanted = [known for known in CHECKS.values() if known.scope in scopes and known.code not in mute]
    return [Finding(known.code, known.title, text) for known in wanted if (text := known.look(facts))]


@check("CSF007", "constraint missed on held-out data", VALUES)
def _missed(facts):
    texts = [
        f"{rate}, {'below' if rate.demand.side == '>=' else 'above'} the demanded {rate.demand.level:g}"
        for rate in (facts.held.rates if facts.held else ())
        if rate.misses
    ]
    certified = facts.search.confidence
    way = "Ask for a stricter level." if certified else "Ask for confidence=0.9, or for a stricter level."
    return f"Held-out {'; '.join(texts)}. {way}" if texts else None


@check("CSF006", "constraint not certified", TRIALS)
def _constraint(facts):
    constraint, promise = facts.constraint, facts.promises.get("")
    if constraint is None:
        return None
    if promise is not None:
        return None if promise.holds else f"{str(promise).capitalize()}."
    if not facts.search.feasible_:
        rates = ", ".join(f"{part.name} {rate:.3f}" for part, rate, _ in facts.demands)
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
        if is_real(values):
            yield name, values


def _uses(search: CostSearch, X: Samples, name: Label) -> bool:
    """Check whether the winner's predictions depend on a column."""
    model, flipped = search.best_estimator_, X.copy()
    column = name if hasattr(X, "iloc") else (slice(None), name)
    flipped[column] = np.asarray(flipped[column])[::-1]
    answer = getattr(model, response_method(model) or "predict")
    return not np.array_equal(answer(X), answer(flipped))


# Findings that put the value itself in doubt.
SUSPICIONS = ("CSF017", "CSF018")


@check("CSF017", "a counter among the features", SAMPLES)
def _counters(facts):
    X, search = None if facts.held is None else facts.held.X, facts.search
    used = ", ".join(repr(name) for name, values in _numbers(X) if is_counter(values) and _uses(search, X, name))
    text = (
        f"The winner uses {used}, where all samples have different whole numbers: a row number or a key. It predicts "
        "the class of sorted data, and nothing of new data. Leave it out, unless it is a time."
    )
    return text if used else None


@check("CSF018", "a value too good to be true", SAMPLES)
def _perfect(facts):
    search, held = facts.search, facts.held
    chosen = getattr(search.trials_[search.best_index_], "chosen", None)
    if held is not None:
        counts, leaks = np.unique(held.y, return_counts=True)[1], _leaks(search, held)
        wrong = np.sum(held.predicted != held.y)
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


@check("CSF011", "failed trials", TRIALS)
def _failures(facts):
    search = facts.search
    errors = [first_line(trial.error) for trial in search.trials_ if trial.error]
    causes = "; ".join(f"{short(cause, 200)} ({times}×)" for cause, times in Counter(errors).most_common(3))
    return f"{len(errors)} of {search.n_trials_} trials failed and were left out: {causes}." if errors else None


@check("CSF014", "search ended early", TRIALS)
def _stopped(facts):
    search = facts.search
    if not search.stop_reason_.startswith(("interrupted", "the time limit")):
        return None
    tried = f"; {other_costs(search).partition(' (')[0]}" if COSTS in facts.scopes else ""
    return f"The search ended early ({search.stop_reason_}) with {search.n_trials_} trials{tried}. Give it more time."


@check("CSF012", "everything or nothing is positive", CUT)
def _infinite(facts):
    threshold = facts.search.best_threshold_
    if threshold is None or not np.isinf(threshold):
        return None
    what = "nothing" if threshold > 0 else "everything"
    return f"The best threshold predicts {what} positive: the score separates little. Look at features and base."


@check("CSF013", "training not converged", TRIALS)
def _solved(facts):
    gap = facts.search.trials_[facts.search.best_index_].duality_gap
    text = (
        "The winner's training stopped early: its objective may be {:.0%} above the optimum. Scale the features, lower "
    )
    return None if gap is None or gap <= UNSOLVED else text.format(gap) + "C, or raise max_iter."


@check("CSF001", "few samples of a class", SAMPLES)
def _few(facts):
    rarest = facts.rarest
    if rarest is None:
        rare = facts.search.classes_[facts.search.class_count_ < FEW_OF_CLASS].tolist()
        names = ", ".join(f"“{short(label, 40)}”" for label in rare[:MOST_NAMED])
        more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
        noisy = f"Fewer than {FEW_OF_CLASS} samples of {names}{more}: rule and value are noisy. Collect more of these."
        return noisy if rare else None
    advice = "Trust the interval more than the value."
    if 0 < facts.search.n_splits_ <= 10:
        advice = "Repeat the folds: cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=5)."
    if rarest <= VERY_FEW:
        advice = f"With so few the value to expect was .025 too high on average. {advice}"
    if (dear := getattr(facts.search, "dearest_share_", 0.0)) >= DEAR:
        advice = (
            f"The dearest 1 % of the rows carry {dear:.0%} of all that is at stake: of 90 % intervals of mean costs "
            f"with 60 positives and such amounts 84 % held the cost. {advice}"
        )
    text = f"The rarer side has {rarest} samples: score, class weights and threshold depend on few of them. {advice}"
    return text if rarest < FEW else None


@check("CSF019", "labels that miss positives", SAMPLES)
def _incomplete(facts):
    text = (
        "The value rests on the share of labelled positives among those that are predicted positive. Where clear cases "
        "are labelled more often, that is more than the share among all (0.71 was reported of a true F1 of 0.47): give "
        "a range that holds both, labelled=(low, high), or have a random sample of the predicted positives checked."
    )
    return None if truth_of(facts.search.metric) is None else text


@check("CSF016", "positives are the more frequent class", COSTS)
def _frequent(facts):
    search = facts.search
    if not _binary(search) or search.pos_label is not None:
        return None
    index = search.classes_.tolist().index(search.pos_label_)
    positives, others = int(search.class_count_[index]), int(search.class_count_[1 - index])
    text = (
        f"“{short(search.pos_label_, 40)}” counts as positive, because it is the larger label, and {positives} of "
        f"{positives + others} samples have it: F1 and the like are then large whatever was learnt. "
        "If the other class is what is to be found, give pos_label."
    )
    return text if positives > FREQUENT * others else None


@check("CSF005", "prevalence differs", SAMPLES)
def _shifted(facts):
    search, held = facts.search, facts.held
    if held is None:
        return None
    before, now = _learnt_shares(search), held.shares(search.classes_)
    # Groups and weights leave fewer independent samples, in training as here.
    independent = held.n_independent
    learnt = search.class_count_.sum() * independent / len(held.y)
    both = (learnt * before + independent * now) / (learnt + independent)
    error = np.sqrt(both * (1.0 - both) * (1.0 / learnt + 1.0 / independent))
    far = np.where(np.abs(now - before) > SHIFTED * before, np.abs(now - before) / np.maximum(error, 1e-12), 0.0)
    index = int(far.argmax())
    share = f"{now[search.classes_.tolist().index(search.pos_label_)]:.3g}" if _binary(search) else "shares"
    text = (
        f"“{short(search.classes_[index], 40)}” is {now[index]:.1%} of the held-out data and {before[index]:.1%} of "
        "those learnt from, which chose class weights and threshold"
    )
    text += f": search.at_prevalence({share}) moves the decision." if search.result_.follows_shares else "."
    return text if far[index] > SURE else None


def _learnt_shares(search: CostSearch) -> Array:
    """Return the share of each class in training, by weight; without held-out scores by samples."""
    if getattr(search, "held_out_", None) is None:
        return search.class_count_ / search.class_count_.sum()
    classes, null = search.classes_.tolist(), search.null_class_
    by_code = classes if null is None else [null, *(label for label in classes if label != null)]
    shares = dict(zip(by_code, search.result_.learnt_shares.tolist(), strict=True))
    return np.array([shares[label] for label in classes])


def _binary(search):
    return getattr(search, "pos_label_", None) is not None


@check("CSF004", "probabilities not calibrated", COSTS)
def _calibrated(facts):
    search, held = facts.search, facts.held
    if held is None or not _binary(search) or not hasattr(search, "predict_proba"):
        return None
    proba = search.predict_proba(held.X)[:, search.classes_.tolist().index(search.pos_label_)]
    is_pos = held.y == search.pos_label_
    weight = np.ones(proba.size) if held.weight is None else held.weight
    weight = weight / weight.sum()
    # Spiegelhalter's test, and the mean distance within bins of equally many samples.
    error = np.sqrt(weight @ ((1 - 2 * proba) ** 2 * proba * (1 - proba)) / held.n_independent)
    z = weight @ ((is_pos - proba) * (1 - 2 * proba)) / max(error, 1e-12)
    bins = np.array_split(np.argsort(proba, kind="stable"), N_BINS)
    off = sum(abs(weight[rows] @ (proba[rows] - is_pos[rows])) for rows in bins)
    text = (
        f"The probabilities are off by {off:.3f} on average on held-out data (mean {weight @ proba:.3f}, share of "
        f"positives {weight @ is_pos:.3f}). The threshold does not suffer; where they are used, calibrate the base "
        "(sklearn.calibration.CalibratedClassifierCV)."
    )
    return text if abs(z) > SURE and off > MISCALIBRATED else None


@check("CSF008", "held-out value below the out-of-fold one", VALUES)
def _optimistic(facts):
    if facts.held is None:
        return None
    held_out, *_, best = facts.estimates
    if held_out.interval[1] >= best.value:
        return None
    return (
        f"{facts.on_one_line(held_out)}: that is worse than {facts.worth(best)[0]} and so optimistic. Report the "
        "held-out value."
    )


def as_good_as(judged: Sequence[Judged]) -> Judged | None:
    """Return the best rival on held-out data if the search is not shown to beat it, else ``None``."""
    fair = [other for other in judged[1:] if other.misses <= judged[0].misses]
    best = max(fair, key=lambda other: other.value, default=None)
    return best if best is not None and best.difference_interval[0] <= 0.0 else None


@check("CSF009", "a simpler method is as good", VALUES)
def _rivals(facts):
    judged = [] if facts.held is None else facts.held.judged
    texts = [
        f"“{short(other.name)}” misses the constraint on these data, and is not compared."
        for other in judged[1:]
        if other.misses > judged[0].misses
    ]
    rival, tests = as_good_as(judged), [*facts.promises.values()]
    if rival is None:
        return " ".join(texts)
    too = ""
    if tests and all(test.holds for test in tests):
        promised = ", ".join(dict.fromkeys(test.constraint for test in tests))
        too = f" if it promises {promised} too, with confidence {tests[0].confidence:g}"
    if rival.difference_interval[1] < 0:
        texts.append(f"“{short(rival.name)}” is better on these data by {-rival.difference:.3f}: take it{too}.")
    else:
        texts.append(f"{compared(rival)} may be chance: where simplicity counts, take the simpler one{too}.")
    return " ".join(texts)


def _doubted(facts: Facts) -> tuple[float, float] | None:
    """Return the gain of the class weights and its standard error, where the gain may be chance."""
    gain = facts.gain
    return None if gain is None or gain[0] > DOUBTED * gain[1] else gain


@check("CSF003", "gain within noise", COSTS)
def _gain(facts):
    gain = _doubted(facts)
    if gain is None or _is_matched(facts.held):
        return None
    return (
        f"Out-of-fold, the class weights gain {gain[0]:+.3f} over equal ones, standard error {gain[1]:.3f}: "
        "that may be chance. n_trials=1 keeps equal class weights."
    )


def _is_matched(held: HeldOut | None) -> bool:
    """Check whether a simpler method is as good, so that advice to search more would be contradictory."""
    return held is not None and as_good_as(held.judged) is not None


@check("CSF002", "winner at the edge of the grid", TRIALS)
def _edges(facts):
    search, texts = facts.search, []
    # Those of one of a few known settings belong together.
    is_known = isinstance(search.param_grid, str) and len(search.best_params_.keys() - {MODEL}) > 1
    for key, value in ({} if is_known or _is_matched(facts.held) else search.best_params_).items():
        tried = {number for number in search.cv_results_[f"param_{key}"].tolist() if _is_number(number)}
        if _is_number(value) and len(tried) > 2 and value in (min(tried), max(tried)):
            side = "smaller" if value == min(tried) else "larger"
            texts.append(f"{key} = {short(value)} is at the end of the values tried: add {side} ones (param_grid).")
    return " ".join(texts)


def _is_number(value):
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


@check("CSF015", "gap to the upper bound", COSTS)
def _room(facts):
    search = facts.search
    if not search.n_splits_:  # fitted before: nothing was trained
        return None
    study = search.studies_[0]
    low, high = study.metric.range(study.pos)
    room = search.gap_ / (high - low)
    if room >= OPEN and not _is_matched(facts.held) and _doubted(facts) is None:
        room = f"+{search.gap_:.3f} {GAP}"
        return f"The upper bound leaves {room}: more trials (n_trials) seldom find much of it."
    spent = "Other class weights have little left to find: look for other features, another base or its parameters."
    return spent if room <= CLOSED else None


@check("CSF010", "no held-out data", VALUES)
def _unseen(facts):
    return None if facts.held else "Judge the winner on samples that fit has not seen: report(path, X_test, y_test)."


# ---------------------------------------------------------------- a check for reports of skore, which is not imported


class SkoreReport(Protocol):
    """Report of skore on one estimator; one on folds has ``reports_`` of them instead."""

    ml_task: str
    pos_label: Label
    estimator_: Estimator
    X_test: Samples
    y_test: ArrayLike


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

    def check_function(self, report: SkoreReport) -> str | None:
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
        predicted = np.concatenate([part.estimator_.predict(part.X_test) for part in parts])
        score = np.concatenate(
            [positive_score(part.estimator_, part.X_test, positive, DECISION_FIRST) for part in parts]
        )
        metric, decision = get_metric(self.metric), tune_threshold(y, score, self.metric, pos_label=positive)
        value, (low, high) = metric.score(y, predicted, pos_label=positive), decision.interval
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


def in_lines(numbers: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines of numbers with what they are, in two columns."""
    width = max(len(number) for number, _ in numbers)
    return [f"{number:{width}}  {what}" for number, what in numbers]


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
    outcome : str, default=""
        Name of the verdict, such as ``"use"``.

    Examples
    --------
    >>> summary = Summary([("0.412", "f1 to expect")], ["A model.", "Quite.", "Use it."], "Use it.", [])
    >>> print(summary)
    0.412  f1 to expect
    What you get: A model.
    How sure it is: Quite.
    What to do: Use it.
    """

    numbers: Sequence[tuple[str, str]]
    sentences: list[str]
    verdict: str
    findings: list[Finding]
    outcome: str = ""

    @property
    def also_found(self) -> list[Finding]:
        """Findings that the sentences leave out."""
        return [finding for finding in self.findings[1:] if finding.code != "CSF010"]  # which the verdict says

    @property
    def others(self) -> str:
        """Titles of the findings that the sentences leave out, with their codes; empty for none."""
        return ", ".join(dict.fromkeys(f"{finding.title} ({finding.code})" for finding in self.also_found))

    def __str__(self) -> str:
        lines = in_lines(self.numbers)
        parts = [f"{head}: {text}" for head, text in zip(_HEADS, self.sentences)]
        parts += [f"Also noticed: {self.others}"] if self.others else []
        return "\n".join(lines + [wrapped(part) for part in parts])

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
    return summary_of(facts_of(search, held), mute)


def summary_of(facts: Facts, mute: Collection[str] = ()) -> Summary:
    """Summarise what a search has learnt."""
    results = findings_of(facts, mute)
    refusals = [finding for finding in results if _forbids(facts, finding)]
    results = refusals[:1] + [finding for finding in results if finding not in refusals[:1]]
    verdict, text = _verdict(facts, results)
    advice = " ".join([text, *(finding.text for finding in results[:1] if finding.code != "CSF010")])
    return Summary(facts.numbers, [facts.gets, facts.how_sure(), advice], text, results, verdict)


def _forbids(facts: Facts, finding: Finding) -> bool:
    """Check whether a finding is a reason not to use the search."""
    return finding.code in ("CSF007", "CSF012") or (finding.code == "CSF006" and facts.keeps_nothing)


# Verdicts, by which other commands say what to do next.
REFUSED, SUSPECT, NO_MODEL, UNSURE, SIMPLER, COSTLY, USE, UNJUDGED = (
    *("refused", "suspect", "no model", "unsure", "simpler", "costly", "use", "unjudged"),
)


def _verdict(facts: Facts, results: list[Finding]) -> tuple[str, str]:
    """Choose the verdict that no finding contradicts; return its name and its words."""
    search, held = facts.search, facts.held
    if facts.keeps_nothing or any(_forbids(facts, finding) for finding in results):
        return REFUSED, "Do not use it as it is."
    if any(finding.code in SUSPICIONS for finding in results):
        return SUSPECT, "Look at its features before you use it."
    if (same := facts.same_answer).reaches(facts.estimates[0].interval[0]):
        if facts.is_beaten:
            answer = facts.without_model.answer
            return NO_MODEL, f"Do without a model: no rule saved anything over “{answer}” for all rows."
        # Values below 0 are costs.
        value = f"worth {same.value:.3f}" if same.value >= 0.0 else f"at a mean cost of {-same.value:.3f}"
        return UNSURE, f"Do not use it yet: one answer for all samples, “{same.answer}”, {value}, may be as good."
    if held is not None and as_good_as(held.judged):
        return SIMPLER, "Take the simpler method."
    verdict = (USE, "Use it.") if held else (UNJUDGED, "Use it, and judge it on samples that fit has not seen.")
    tests = facts.promises.values()
    promise = max(tests, key=lambda test: test.lost, default=None)
    # Of several labels the metric is a mean.
    lost = sum(test.lost for test in tests) / (len(facts.parts) or 1)
    if promise is None or lost < OPEN:
        return verdict
    way = f"; about {promise.needed} calibration positives in place of {promise.n_positives} would win half of it back"
    way = way if (promise.needed or 0) > promise.n_positives else ""
    name, text = (COSTLY, "Collect more labels before you use it.") if lost > search.best_score_ else verdict
    return name, f"{text} The certificate costs {lost:.3f} of {facts.metric}{way}."
