"""The numbers of a fitted classifier that `tests.benchmarks.net` compares, and how they are compared."""

import dataclasses
import hashlib
import re
import tempfile
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError

from csf import CostSearch, export
from csf.plots import CapacityDisplay, ConeDisplay, ThresholdCurveDisplay
from csf.report import summarise

__all__ = ["condense", "differences", "measure"]

# What a call may refuse; whatever else it raises is told like a refusal, and is a difference where it was none before.
REFUSALS = (ValueError, TypeError, AttributeError, NotFittedError, RecursionError, KeyError, IndexError)
# Times, and what has no numbers of its own or is told elsewhere.
UNTOLD = ("refit_time_", "best_estimator_", "estimator_", "result_", "decision_rule_", "studies_", "held_out_")
UNTOLD += (
    "searches_",
    "trials_",
    "stop_reason_",
    "cv_results_",
    "base_",
    "calibrator_",
    "curve_",
    "fold_curves_",
    "duality_gap_",
    "history_",
)
ASSESSED = ("corrected_score_", "score_interval_", "threshold_interval_", "review_")
OF_A_TRIAL = ("costs", "value", "score", "threshold", "attained", "rate", "fold_scores")
RELATIVE, LONGEST, HUGE = 1e-9, 8, 1e100


def measure(fitted):
    """Read the numbers of what a search of `net_searches` returns: lists of numbers and texts, by name."""
    if isinstance(fitted, dict):
        return {name: _flat(values) for name, values in fitted.items()}
    told = _attributes(fitted.search, fitted.detail)
    details = (_decisions, _values_to_expect, _in_other_places, _monitors_and_displays, _report)
    calls = [call for of_detail in details[: fitted.detail + 1] for call in of_detail(fitted).items()]
    for name, call in calls:
        try:
            told[name] = _flat(call())
        except REFUSALS as error:
            told[name] = [type(error).__name__]
    return {name: values for name, values in told.items() if values}


def _attributes(search, detail):
    """Fitted attributes that are numbers, and those of the trials."""
    names = {*vars(search), *dir(type(search))} - {*UNTOLD, *(() if detail else ASSESSED)}
    names = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    told = {name: _flat(getattr(search, name, None)) for name in names}
    trials = [[getattr(trial, name) for name in OF_A_TRIAL] for trial in getattr(search, "trials_", [])]
    return told | {"trials": _flat(trials)}


def _new(fitted):
    """What new rows need beside them."""
    return {name: values for name, values in fitted.beside.items() if name != "sample_weight"}


def _decisions(fitted):
    """Decisions of each classifier on rows, with all limits."""
    search, X, y, new = fitted.search, fitted.X, fitted.y, _new(fitted)
    calls = {
        name: lambda name=name: getattr(search, name)(X, **new)
        for name in ("predict", "predict_proba", "decision_function", "score_samples")
    }
    calls["score"] = lambda: search.score(X, y, **new)
    if not isinstance(search, CostSearch):
        return calls
    few, _, wrong, _ = _limits(search)
    for given in {"at_most": few}, {"wrong_at_most": wrong}, {"at_most": few, "wrong_at_most": wrong}:
        name = " and ".join(given)
        calls[f"predict {name}"] = lambda given=given: search.predict(X, **given, **new)
        if search.review is not None:
            calls[f"review {name}"] = lambda given=given: search.predict_with_review(X, **given, **new)
    if search.review is not None:
        calls["predict_with_review"] = lambda: search.predict_with_review(X, **new)
    for rule in ("decision_rule", "linear_rule"):
        calls[rule] = lambda rule=rule: _of_rule(getattr(export, rule)(search))
    return calls


def _values_to_expect(fitted):
    return {"summary": lambda: _numbers_in(str(summarise(fitted.search)))} if _is_search(fitted) else {}


def _in_other_places(fitted):
    """Values and decisions within a capacity and at other prevalences."""
    search, X, new = fitted.search, fitted.X, _new(fitted)
    _, share, _, shares = _limits(search)
    return {
        "at_capacity": lambda: search.at_capacity(share),
        "prevalence": lambda: search.prevalence(X),
        "at_prevalence": lambda: _of_moved(search.at_prevalence(shares), X, new),
        "at_prevalence twice": lambda: _of_moved(search.at_prevalence(shares).at_prevalence(shares), X, new),
    }


def _is_search(fitted):
    return isinstance(fitted.search, CostSearch)


def _limits(search):
    """A number of rows, a share of rows, a share of wrong alerts, and shares of positives, as the kind has them."""
    names = getattr(search, "label_names_", search.classes_).tolist()
    if hasattr(search, "label_names_"):
        return {names[-1]: 20}, {names[-1]: 0.05}, {names[-1]: 0.3}, [0.3] * len(names)
    if len(names) > 2:
        return {names[-1]: 20}, {names[-1]: 0.05}, {names[-1]: 0.3}, [0.5, 0.3, 0.2]
    return 20, 0.05, 0.3, 0.3


def _of_moved(moved, X, new):
    return [moved.best_score_, moved.corrected_score_, moved.score_interval_, moved.predict(X, **new)]


def _of_rule(rule):
    """Numbers and names of a rule file, without the sentences that explain it."""
    values = _flat(rule.to_dict())
    return [each for each in values if not (isinstance(each, str) and " " in each)]


def _monitors_and_displays(fitted):
    search, X, y, beside, _ = fitted
    costs = {name: values for name, values in beside.items() if name != "by"}
    return {
        "monitor": lambda: _watched(search.monitor(), search, X, y, beside, costs),
        "monitor of a class": lambda: _watched(search.monitor("recall[1] >= 0.1"), search, X, y, beside, costs),
        "weighted monitor": lambda: _flat(
            search.monitor().update(y, search.predict(X, **beside), sample_weight=np.ones(len(y)))
        ),
        "curve": lambda: vars(ThresholdCurveDisplay.from_estimator(search, X, y)),
        "cone": lambda: vars(ConeDisplay.from_estimator(search)),
        "capacity": lambda: vars(CapacityDisplay.from_estimator(search)),
        "without scores": lambda: search.without_scores().predict(X, wrong_at_most=_limits(search)[2], **beside),
    }


def _watched(monitor, search, X, y, beside, costs):
    rows = {"X": X} | costs if hasattr(search, "row_rule_") else {}
    monitor.update(y, search.predict(X, **beside), **rows)
    return [[getattr(monitor, name, None) for name in ("estimate", "interval", "level", "alarm", "n_samples")]]


def _report(fitted):
    return {"report": lambda: _of_report(fitted.search)}


def _of_report(search):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        search.report(path)
        page = path.read_text(encoding="utf-8")
    page = re.sub(r"(?s)<(style|script|svg).*?</\1>|data:[^\"']*", "", page)
    page = re.sub(r"(?s)<table.*?</table>", lambda table: "" if "seconds" in table[0] else table[0], page)
    return _numbers_in(re.sub(r"<[^>]*>", " ", page))


def _numbers_in(text):
    """Numbers of a text, but for times, versions and dates."""
    text = re.sub(r"[-+]?[\d.,]+ ?(s|ms|seconds?|min|minutes?)\b|\d+-\d+-\d+|\d+:\d+|\d+\.\d+\.\d+", "", text)
    return [float(each) for each in re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text.replace("−", "-"))]


def _flat(value):
    """Numbers and texts of a value, as one list; what is neither has none."""
    if value is None:
        return ["None"]
    if isinstance(value, (str, bytes)):
        return [str(value)]
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return [float(value)]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.astype(float).ravel().tolist()
    if isinstance(value, dict):
        return [each for key, item in value.items() for each in (*_flat(key), *_flat(item))]
    if isinstance(value, (list, tuple, np.ndarray)):
        return (
            [each for item in np.ravel(value).tolist() for each in _flat(item)]
            if isinstance(value, np.ndarray)
            else [each for item in value for each in _flat(item)]
        )
    if dataclasses.is_dataclass(value):
        return [each for field in dataclasses.fields(value) for each in _flat(getattr(value, field.name))]
    return []


def condense(values):
    """Shorten a long list to sums that each of its numbers has a part in, and a digest of its texts."""
    if len(values) <= LONGEST or values[0] == "condensed":
        return [_rounded(each) for each in values]
    texts = [each if isinstance(each, str) else "" if abs(each) < HUGE else f"{each:.3g}" for each in values]
    numbers = np.array([0.0 if text or isinstance(each, str) else each for each, text in zip(values, texts)])
    weights = 1.0 + np.random.default_rng(0).random(numbers.size)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    return ["condensed", len(values), digest, _rounded(weights @ np.abs(numbers)), _rounded(weights @ numbers)]


def _rounded(value):
    return value if isinstance(value, str) else float(f"{value:.12g}")


def differences(before, now):
    """Names of searches with what differs, from two results of all of them."""
    rows = {}
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, {}), now.get(name, {})
        apart = [key for key in sorted(old.keys() | new.keys()) if not _same(old.get(key), new.get(key))]
        if apart:
            rows[name] = apart
    return rows


def _same(old, new):
    """Compare two lists; where one of them is condensed, condensed."""
    if old is None or new is None:
        return False
    if "condensed" in (old[:1] + new[:1]):
        old, new = condense(old), condense(new)
        if old[:3] != new[:3]:
            return False
        return max(abs(old[3] - new[3]), abs(old[4] - new[4])) <= RELATIVE * max(old[3], new[3], 1.0)
    if len(old) != len(new) or any(a != b for a, b in zip(old, new) if isinstance(a, str) or isinstance(b, str)):
        return False
    pairs = [(a, b) for a, b in zip(old, new) if not isinstance(a, str)]
    return bool(np.allclose(*np.reshape(pairs, (-1, 2)).T, rtol=RELATIVE, atol=RELATIVE, equal_nan=True))
