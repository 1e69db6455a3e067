"""Records of trials: training setting, class costs and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Protocol, Self, TypedDict, final

import numpy as np

from csf._common.typing import Array, Costs, Keywords, Params
from csf.metrics.base import rank
from csf.metrics.profile import ErrorProfile, Hull

if TYPE_CHECKING:
    from csf.metrics.base import Metric


Matrix = tuple[tuple[float, ...], ...]


class _HasThreshold(Protocol):
    """Threshold and its results, see `csf.thresholding.Cut`."""

    @property
    def threshold(self) -> float: ...

    @property
    def profile(self) -> ErrorProfile: ...


class _Curve(Protocol):
    """All thresholds of a score, see `csf.thresholding.ThresholdCurve`."""

    def lower_hull(self) -> Array: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One training at one level t; never changes once made.

    Parameters
    ----------
    number : int
        Running number within its study, from 0.
    t : float or None
        Level aimed at; ``None`` where the costs belong to no level. Of several classes the power of their shares: 0
        for equal class weights, 1 for balanced ones.
    costs : tuple of float
        Costs ``(c_fn, c_fp)`` of a false negative and of a false positive; of several classes the weight of each.
    state : {"pending", "complete", "failed"}, default="pending"
        Asked for, answered, or failed.
    profile : ErrorProfile, default=None
        Errors of the classifier's own decision. Strategies and bounds read it.
    value : float, default=None
        Metric of ``profile``, of several classes of ``own``.
    attained : float, default=None
        Best metric value that this trial shows on the data of ``profile``, over all known thresholds; what a bound is
        compared with.
    threshold : float, default=None
        Threshold on the score that was best for the metric; ``None`` where only the own decision is known.
    score : float, default=None
        Metric at ``threshold`` (``value`` without one); of several classes the larger of ``value`` and the metric of
        ``judged``.
    rate : float, default=None
        Constrained rate at ``threshold``, where there is a constraint.
    violation : float, default=0.0
        By how much the constraint is missed there; 0 where it holds.
    hull : Hull, default=None
        Known profiles on the data of ``profile``: those of all thresholds on the score, or the own decision alone.
    chosen : ErrorProfile, default=None
        Errors at ``threshold``, on held-out data (those of the own decision without one); ``score`` is their metric.
    fold_scores : tuple of float, default=()
        ``score`` within each fold; of several classes ``value`` there.
    own : tuple of tuple of float, default=None
        Of several classes: held-out confusion matrix of the base's own decision, shares of all samples, rows true and
        columns predicted.
    tuned, judged : tuple of tuple of float, default=None
        Those of a rule tuned on all held-out samples, and of rules tuned on other samples than they decide; ``None``
        where none is tuned.
    setting : int, default=0
        Which setting of the base's parameters was trained.
    error : str, default=None
        Why a failed trial failed.
    duality_gap : float, default=None
        How far the objective of the model, on the worst fold, can be from its optimum, as a share of it; known for
        the linear models of `csf.solvers`.
    fit_time, score_time : float, default=0.0
        Seconds spent in the base, summed over folds; not part of equality.

    Examples
    --------
    >>> Trial(number=0, t=0.5, costs=(1.5, 0.5)).state
    'pending'
    """

    number: int
    t: float | None
    costs: Costs
    state: str = "pending"
    profile: ErrorProfile | None = None
    value: float | None = None
    attained: float | None = None
    threshold: float | None = None
    score: float | None = None
    rate: float | None = None
    violation: float = 0.0
    hull: Hull | None = None
    chosen: ErrorProfile | None = None
    fold_scores: tuple[float | None, ...] = ()
    own: Matrix | None = None
    tuned: Matrix | None = None
    judged: Matrix | None = None
    setting: int = 0
    error: str | None = None
    duality_gap: float | None = field(default=None, compare=False)
    fit_time: float = field(default=0.0, compare=False)
    score_time: float = field(default=0.0, compare=False)

    @property
    def c_fn(self) -> float:
        """Cost of a false negative, of two classes."""
        c_fn, _ = self.costs
        return c_fn

    @property
    def c_fp(self) -> float:
        """Cost of a false positive, of two classes."""
        _, c_fp = self.costs
        return c_fp

    @property
    def feasible(self) -> bool:
        """True where the constraint, if any, holds."""
        return self.violation == 0

    def to_dict(self) -> Params:
        """Convert the trial to plain numbers, strings and lists, ready for JSON.

        Returns
        -------
        dict
            One entry a field; infinite thresholds as strings.
        """
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("profile", "chosen"):
            if record[name] is not None:
                record[name] = asdict(record[name])
        if self.hull is not None:
            record["hull"] = self.hull.points.tolist()
        if self.threshold is not None:
            record["threshold"] = repr(float(self.threshold))
        record["costs"], record["fold_scores"] = list(self.costs), list(self.fold_scores)
        return record

    @classmethod
    def from_dict(cls, record: Keywords) -> Self:
        """Create a trial from a dict made by `to_dict`.

        Parameters
        ----------
        record : dict
            As `to_dict` returns it.

        Returns
        -------
        Trial
            An equal trial.

        Raises
        ------
        ValueError
            If the record is not that of a trial.
        """
        try:
            record = dict(record)
            for name in ("profile", "chosen"):
                if record[name] is not None:
                    record[name] = ErrorProfile(**record[name])
            if record["hull"] is not None:
                record["hull"] = Hull(record["hull"])
            if record["threshold"] is not None:
                record["threshold"] = float(record["threshold"])
            record["costs"], record["fold_scores"] = tuple(record["costs"]), tuple(record["fold_scores"])
            for name in ("own", "tuned", "judged"):
                if record[name] is not None:
                    record[name] = tuple(map(tuple, record[name]))
            return cls(**record)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"this is not the record of a trial: {error!r}") from error


class OutcomeFields(TypedDict):
    """Fields of a `Trial` that describe its model on one data set; see there."""

    profile: ErrorProfile
    value: float
    attained: float
    threshold: float | None
    score: float
    rate: float | None
    violation: float
    hull: Hull
    chosen: ErrorProfile


@final
class CompleteFields(OutcomeFields, total=False):
    """Fields of a complete `Trial`; see there."""

    fold_scores: tuple[float | None, ...]
    duality_gap: float | None
    fit_time: float
    score_time: float


@final
class FailedFields(TypedDict):
    """Fields of a failed `Trial`; see there."""

    error: str
    fit_time: float
    score_time: float


def same_costs(costs: Costs, others: Costs) -> bool:
    """Check whether two pairs of costs have the same ratio."""
    (c_fn, c_fp), (a_fn, a_fp) = costs, others
    return abs(c_fn * a_fp - c_fp * a_fn) <= 1e-6 * (c_fn * a_fp + c_fp * a_fn)


def check_share(profile: ErrorProfile, pos: float) -> None:
    """Raise a ValueError for a profile of data with another share of positives."""
    if abs(profile.pos - pos) > 1e-5 * min(pos, 1.0 - pos):
        raise ValueError(
            f"the given data have a share of positives of {profile.pos:.6g}, the study pos={pos:.6g}; bounds need one "
            "share: give Study the share of the data that the trials are evaluated on"
        )


def outcome(
    metric: Metric, profile: ErrorProfile, *, hull: Hull | None = None, cut: _HasThreshold | None = None
) -> OutcomeFields:
    """Build the fields of a complete `Trial` whose model was evaluated on one data set.

    Parameters
    ----------
    metric : Metric
        What is maximised; its ``constraint`` attribute, if any, counts.
    profile : ErrorProfile
        Errors of the model's own decision.
    hull : Hull, default=None
        Known profiles of all its thresholds; ``None`` knows only the own decision.
    cut : Cut, default=None
        The best of all thresholds; ``None`` keeps the own decision.

    Returns
    -------
    OutcomeFields
        Everything but times and folds.
    """
    chosen = profile if cut is None else cut.profile
    known = np.array([(profile.fn, profile.fp), (chosen.fn, chosen.fp)])
    hull = Hull(known) if hull is None else hull
    known = np.concatenate([hull.points, known])
    values = metric.value(known[:, 0], known[:, 1], pos=profile.pos)
    rate, violation = None, 0.0
    constraint = metric.constraint
    if constraint is not None:
        rate = constraint.rate.of(chosen)
        violation = constraint.violation(chosen.fn, chosen.fp, pos=chosen.pos)
        values = values[constraint.violation(known[:, 0], known[:, 1], pos=profile.pos) == 0]
    return {
        "profile": profile,
        "value": metric.of(profile),
        "attained": float(np.max(values, initial=metric.range(profile.pos)[0])),
        "threshold": None if cut is None else cut.threshold,
        "score": metric.of(chosen),
        "rate": rate,
        "violation": violation,
        "hull": hull,
        "chosen": chosen,
    }


def known_hull(profile: ErrorProfile, curve: _Curve | None) -> Hull:
    """Compute the hull of a model's own decision and all thresholds on its score (``None`` for no score)."""
    points = [[(profile.fn, profile.fp)]]
    return Hull(np.concatenate(points if curve is None else [*points, curve.lower_hull()]))


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """Choose the complete trial with the smallest violation, then the largest score, then the smallest number."""
    complete = [trial for trial in trials if trial.state == "complete"]

    def place(trial: Trial) -> tuple[float, ...]:
        return rank(trial.violation, _score(trial), trial.number, trial.setting)

    return min(complete, key=place, default=None)


def _score(trial: Trial) -> float:
    """Return the score of a complete trial."""
    assert trial.score is not None, "a complete trial has a score"
    return trial.score


def gap(trials: Sequence[Trial], bound: float) -> float | None:
    """Subtract the best value of the trials from the upper bound, at least 0; ``None`` without a bound or a value.

    The result is NaN where no trial satisfies the constraint: the bound is then one for classifiers of which none is
    known.
    """
    attained = [(trial.attained, trial.feasible) for trial in trials if trial.attained is not None]
    if not attained:
        return None
    known = [value for value, feasible in attained if feasible]
    return max(bound - max(known), 0.0) if known else float("nan")


def first_line(error: str) -> str:
    """Summarise an error in one line: of a traceback, the last exception with the first line of its message.

    Parameters
    ----------
    error : str
        Text of an error, as in `Trial`.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> first_line("Traceback (most recent call last):\\n  ...\\nValueError: X contains NaN.\\nSee the documentation.")
    'ValueError: X contains NaN.'
    """
    lines = error.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    return next((line for line in lines if line.strip() and not line.startswith(" ")), "no reason is given")


# A user who reads of missing values is told how to fill them in.
_MISSING = re.compile(r"contains NaN|missing value", re.IGNORECASE)
# So is who reads of texts.
_TEXTS = re.compile(r"(could not|cannot) convert .* to float|dtypes .*must be int, float", re.IGNORECASE)
_ENCODE = (
    "X holds texts. Encode them inside the base, make_pipeline(OneHotEncoder(handle_unknown='ignore'), ...), or, for "
    "LightGBM and XGBoost, make them X.astype({'town': 'category'}), or, for CatBoost, fit(X, y, cat_features=['town'])"
)
_INFINITE = re.compile(r"contains infinity", re.IGNORECASE)
_REPLACE = "Clip infinite values with numpy.clip, or make them missing with X.replace([inf, -inf], nan) and impute them"
_FILL_IN = (
    "Fill in missing values inside the base, make_pipeline(SimpleImputer(), ...), or take one that accepts them, such "
    "as HistGradientBoostingClassifier"
)


def nothing_worked(trials: Sequence[Trial], *, ended: bool = False) -> Exception:
    """Build the error for a search without a complete trial: each cause in a line, a remedy, and the first traceback.

    A search that ``ended`` early, as all folds failed, raises this from the error itself, which is not repeated.
    """
    errors = [trial.error for trial in trials if trial.error]
    causes = list(dict.fromkeys(map(first_line, errors))) or ["no trial was made"]
    more = "".join(f"\nothers: {cause}" for cause in causes[1:])
    ways = {_FILL_IN: _MISSING, _ENCODE: _TEXTS, _REPLACE: _INFINITE}
    hint = "".join(f"\n{way}" for way, kind in ways.items() if any(map(kind.search, causes)))
    first = "".join(f"\nThe first error was:\n{error}" for error in errors[:1] if error.rstrip() != causes[0])
    kind = TypeError if causes[0].startswith("TypeError: ") else ValueError
    if ended:
        how, first = "trials failed on every fold in the same way, and no others were tried", ""
    else:
        how = f"{len(trials)} trials failed"
    return kind(f"all {how}: {causes[0]}{more}{hint}{first}")
