"""Studies: the search without the training."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from csf._common.files import read_record, write_record
from csf._common.identity import named
from csf._common.typing import Array, BoolArray, Costs, Label, Params, PathLike
from csf._common.validation import (
    check_binary_target,
    check_class_totals,
    check_count,
    check_fraction,
    check_number,
    check_scores,
    check_weights,
)
from csf.bounds import upper_bound
from csf.evaluate import Assessment, ScoreStore, assess
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import Matrix, Trial, best_trial, check_share, gap, known_hull, outcome, same_costs
from csf.strategies import Grid, Ladder, Proposal, get_strategy
from csf.strategies.base import has_one_ratio
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from csf.metrics.base import Metric
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.trials import CompleteFields
    from csf.strategies.base import Strategy, StrategyLike

# ---------------------------------------------------------------- histories of trials


class History(ABC):
    """Trials in the order in which they were asked for, and the reason why no more are."""

    # Whether a race between settings leaves it out.
    dropped = False

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.stop_reason: str | None = None

    @property
    @abstractmethod
    def most_trials(self) -> int:
        """Largest possible number of trials."""

    @property
    def pending(self) -> list[Trial]:
        """Trials that were asked for and have no result yet."""
        return [trial for trial in self.trials if trial.state == "pending"]

    @abstractmethod
    def ask_batch(self) -> list[Trial]:
        """Return the pending trials to train at once; empty when the search is over."""

    def record(self, trial: Trial | int, *, setting: int = 0, **results: Any) -> Trial:
        """Complete a pending trial."""
        return self._settle(trial, state="complete", setting=setting, **results)

    def fail(self, trial: Trial | int, error: str | Exception, **results: Any) -> Trial:
        """Report that a trial's training failed; the search goes on without it.

        Parameters
        ----------
        trial : Trial or int
            A pending trial of this study, or its number.
        error : str or Exception
            What went wrong.
        **results
            Further fields of the `Trial`.

        Returns
        -------
        Trial
            The failed trial.
        """
        return self._settle(trial, state="failed", error=str(error), **results)

    def reopen(self, number: int) -> None:
        """Reopen a complete trial: more folds are to be evaluated."""
        self.trials = [
            Trial(number, trial.t, trial.costs) if trial.number == number else trial for trial in self.trials
        ]

    def _settle(self, trial: Trial | int, **changes: Any) -> Trial:
        number = getattr(trial, "number", trial)
        place = next((place for place, known in enumerate(self.trials) if known.number == number), None)
        if place is None or self.trials[place].state != "pending":
            state = "unknown" if place is None else self.trials[place].state
            pending = [trial.number for trial in self.pending]
            raise ValueError(f"trial {number!r} is {state} in this study; pending trials: {pending}")
        known = self.trials[place]
        costs: Costs = getattr(trial, "costs", known.costs)
        if costs != known.costs:
            text = f"trial {number} has the costs {known.costs} in this study and {costs} where it comes from"
            raise ValueError(f"{text}: it belongs to another study")
        self.trials[place] = replace(known, **changes)
        return self.trials[place]

    def forget_pending(self) -> None:
        """Drop trials that were asked for and never finished, e.g. after an interruption."""
        self.trials = [trial for trial in self.trials if trial.state != "pending"]

    @property
    def best_trial(self) -> Trial | None:
        """Complete trial with the largest score (feasible ones first, then the earliest), or ``None``."""
        return best_trial(self.trials)

    @property
    def best_score(self) -> float | None:
        """Score of `best_trial`, or ``None`` before the first result."""
        return None if self.best_trial is None else self.best_trial.score


# ---------------------------------------------------------------- proposals


def checked_proposal(
    proposal: Proposal | float, metric: Metric, *, pos: float, strategy: str
) -> tuple[float | None, float, float]:
    """Check a proposal and return its level and costs.

    Parameters
    ----------
    proposal : Proposal or float
        What a strategy returned; a number is a level.
    metric : Metric
        What is maximised.
    pos : float
        Share of positives.
    strategy : str
        Name of the strategy, for errors.

    Returns
    -------
    t : float or None
        The level; ``None`` for costs of no level.
    c_fn, c_fp : float
        The costs.

    Raises
    ------
    TypeError, ValueError
        If it is no proposal, outside the range, or its costs cannot be trained with.
    """
    t: float | None
    if isinstance(proposal, Proposal):
        t, (c_fn, c_fp) = _checked_costs(proposal, metric, pos, strategy)
    else:
        # Levels at the ends of the range have a class without cost; the nearest one that can be trained is taken.
        t = metric.clip_level(_checked_level(proposal, metric, pos, strategy), pos=pos)
        c_fn, c_fp = metric.cost_weights(t, pos=pos)
    if not (c_fn > 0 and c_fp > 0):
        raise ValueError(
            f"at level {t:.6g}, metric {metric.name!r} gives the costs (c_fn, c_fp) = ({c_fn:.6g}, {c_fp:.6g}), and "
            "a class that costs nothing cannot be learnt. Predicting one class everywhere maximises such a metric; "
            "add a constraint, e.g. metric='recall', constraint='precision >= 0.8'"
        )
    return t, float(c_fn), float(c_fp)


def _checked_costs(proposal: Proposal, metric: Metric, pos: float, strategy: str) -> tuple[float | None, Costs]:
    c_fn, c_fp = float(proposal.c_fn), float(proposal.c_fp)
    if not (0 < c_fn < math.inf and 0 < c_fp < math.inf):
        raise ValueError(f"strategy {strategy!r} proposed {proposal}; costs must be positive and finite")
    if proposal.t is None:
        return None, (c_fn, c_fp)
    t = _checked_level(proposal.t, metric, pos, strategy)
    a_fn, a_fp = metric.cost_weights(t, pos=pos)
    if not same_costs((c_fn, c_fp), (a_fn, a_fp)):
        raise ValueError(
            f"strategy {strategy!r} proposed {proposal}, but level {t:g} has costs in the ratio "
            f"{a_fn:g} : {a_fp:g}; give t=None for costs of no level"
        )
    return t, (c_fn, c_fp)


def _checked_level(level: float, metric: Metric, pos: float, strategy: str) -> float:
    lo, hi = metric.range(pos)
    try:
        t = float(level)
    except (TypeError, ValueError):
        raise TypeError(
            f"strategy {strategy!r} proposed {level!r}; accepted: a level in [{lo:g}, {hi:g}], a Proposal, or None to "
            "end"
        ) from None
    if not lo <= t <= hi:
        raise ValueError(f"strategy {strategy!r} proposed t={t!r}, outside the range [{lo:g}, {hi:g}]")
    return t


# ---------------------------------------------------------------- files


FORMAT = "csf-study"
VERSION = 3


def _identity(metric: Metric, strategy: Strategy) -> dict[str, list[str]]:
    """Describe metric and strategy, which are code, for a file."""
    return {"metric": named(metric), "strategy": named(strategy)}


# ---------------------------------------------------------------- studies


Bound: TypeAlias = Literal["support", "diagonal", "envelope", "parambath"] | type


class Study(History):
    """A cost search for people who train their own model.

    Ask for a trial, train with its costs wherever and however you like (a neural network, another language), and report
    the labels with the predictions, the scores or the counts.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        What is maximised.
    strategy : str, Strategy or callable, default="cone"
        Decides where to train next.
    pos : float
        Share of positives in the data that the trials are evaluated on, in (0, 1).
    n_trials : int, default=10
        Largest number of trials.
    tol : float, default=None
        Stop when `gap` is at most this, in units of the metric; ``None`` never stops for that.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How `upper_bound` is computed, see `csf.bounds`.

    Attributes
    ----------
    trials : list of Trial
        All trials in the order in which they were asked for.
    stop_reason : str or None
        Why `ask` returned ``None``; ``None`` while the search goes on.

    Examples
    --------
    >>> study = Study("f1", pos=0.2, n_trials=3)
    >>> while (trial := study.ask()) is not None:
    ...     # train with trial.c_fn and trial.c_fp, count the errors on validation data:
    ...     fn, fp = 4 + 10 * trial.t, 2 / trial.t
    ...     _ = study.tell(trial, profile=ErrorProfile.from_counts(tp=20 - fn, fn=fn, fp=fp, tn=80 - fp))
    >>> [trial.t for trial in study.trials], study.best_trial.t
    ([0.5, 0.25, 0.125], 0.25)
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        strategy: StrategyLike = "cone",
        *,
        pos: float,
        n_trials: int = 10,
        tol: float | None = None,
        bound: Bound = "support",
    ) -> None:
        self.metric = get_metric(metric)
        self.n_trials = check_count(n_trials, "n_trials")
        self._given = get_strategy(strategy)  # may be continued with another budget
        self.strategy = self._given.with_budget(self.n_trials)
        self.strategy.check_metric(self.metric)
        self.pos = check_fraction(pos, "pos")
        check_class_totals(self.pos, 1.0 - self.pos, "pos")
        if tol is not None:
            check_number(tol, "tol")
        super().__init__()
        self.tol = tol
        self.bound = bound
        upper_bound([], self.metric, pos=self.pos, bound=bound)  # a bound that cannot serve the metric says so now
        # What was given with labels and predictions, as long as all of it was of the same samples.
        self._held_out: ScoreStore | None = None
        self._truth: tuple[BoolArray, Array | None] | None = None

    @classmethod
    def from_target(
        cls,
        y: ArrayLike,
        metric: str | Metric = "f1",
        strategy: StrategyLike = "cone",
        *,
        pos_label: Label = None,
        sample_weight: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Create a study for the labels of a data set.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels that the trials will be evaluated on.
        metric, strategy : optional
            As for `Study`.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        **options
            ``n_trials``, ``tol`` and ``bound``, as for `Study`.

        Returns
        -------
        Study
            With ``pos`` taken from ``y``.

        Examples
        --------
        >>> Study.from_target(["no", "no", "no", "yes"], pos_label="yes").pos
        0.25
        """
        _, is_pos, _ = check_binary_target(y, pos_label)
        weight = check_weights(sample_weight, is_pos.shape[0], y=y)
        nothing = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=weight)
        return cls(metric, strategy, pos=nothing.pos, **options)

    # ---------------------------------------------------------------- ask

    def ask(self) -> Trial | None:
        """Return the next trial to train, or ``None`` when the search is over or waits for pending trials.

        Returns
        -------
        Trial or None
            A pending trial with its level ``t`` and its costs ``c_fn`` and ``c_fp``.
        """
        pending = len(self.pending)
        if self.strategy.batch_size is not None and pending >= self.strategy.batch_size:
            return None
        if len(self.trials) >= self.n_trials:
            return self._stop(f"all {self.n_trials} trials are done", why="n_trials allows equal costs only")
        if self.tol is not None and not pending and self.best_trial is not None:
            reached = self.gap
            if reached is not None and reached <= self.tol:
                return self._stop(f"the gap {reached:.3g} is at most tol={self.tol:g}")
        proposal = self.strategy.propose(tuple(self.trials), metric=self.metric, pos=self.pos)
        if proposal is None:
            why = self.strategy.only_equal(pos=self.pos)
            return None if pending else self._stop(f"strategy {self.strategy.name} is done", why=why)
        trial = self._trial(proposal)
        if any(trial.costs == other.costs for other in self.trials):
            why = f"strategy {self.strategy.name} asked for them again"
            return self._stop(f"costs {trial.costs} were tried before", why=why, anyway=True)
        self.trials.append(trial)
        self.stop_reason = None
        return trial

    def ask_batch(self) -> list[Trial]:
        """Return all trials that the strategy is ready to have trained at once.

        Returns
        -------
        list of Trial
            Pending trials; empty when the search is over.
        """
        return list(iter(self.ask, None))

    def _stop(self, reason: str, *, why: str = "", anyway: bool = False) -> None:
        """Store the reason; where only equal costs were tried, or ``anyway``, explain why there are no others."""
        only_equal = bool(self.trials) and all(same_costs(trial.costs, (1.0, 1.0)) for trial in self.trials)
        if anyway or (why and only_equal):
            by_level = anyway or any(trial.t is not None for trial in self.trials)
            if by_level and has_one_ratio(self.metric, pos=self.pos):
                why = f"{self.metric.name} has costs of the same ratio at every level; strategy 'ladder' tries others"
            reason = f"{reason}: {why}"
        self.stop_reason = reason

    def _trial(self, proposal: Proposal | float) -> Trial:
        t, c_fn, c_fp = checked_proposal(proposal, self.metric, pos=self.pos, strategy=self.strategy.name)
        number = 1 + max((trial.number for trial in self.trials), default=-1)
        return Trial(number=number, t=t, costs=(c_fn, c_fp))

    # ---------------------------------------------------------------- tell

    def tell(
        self,
        trial: Trial | int,
        y_true: ArrayLike | None = None,
        y_pred: ArrayLike | None = None,
        *,
        y_score: ArrayLike | None = None,
        profile: ErrorProfile | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
    ) -> Trial:
        """Report the predictions, scores or counts of a trial's model.

        Parameters
        ----------
        trial : Trial or int
            A pending trial of this study, or its number.
        y_true : array-like of shape (n_samples,), default=None
            True labels.
        y_pred : array-like of shape (n_samples,), default=None
            Predicted labels.
        y_score : array-like of shape (n_samples,), default=None
            Scores, larger for the positive class: every threshold of them counts, and the best one is kept as the
            trial's ``threshold``. Without ``y_pred`` the best threshold is the model's own decision too.
        profile : ErrorProfile, default=None
            Counted errors, instead of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

        Returns
        -------
        Trial
            The complete trial.

        Raises
        ------
        ValueError
            If the trial is not pending here, nothing or too much is given, or the share of positives is another one.
        """
        if profile is None and (y_true is None or (y_pred is None and y_score is None)):
            raise ValueError("tell either profile=, or y_true with y_pred, y_score or both")
        labels = y_true, y_pred, y_score, sample_weight, pos_label
        if profile is not None and any(part is not None for part in labels):
            raise ValueError("tell either profile= alone, or y_true with y_pred, y_score or both: not the two together")
        if profile is not None and not isinstance(profile, ErrorProfile):
            raise TypeError(f"profile must be an ErrorProfile, e.g. ErrorProfile.from_counts(...), got {profile!r}")
        curve = is_pos = weight = None
        if y_true is not None:
            _, is_pos, pos_label = check_binary_target(y_true, pos_label)
            weight = check_weights(sample_weight, is_pos.shape[0], y_true=y_true, y_pred=y_pred, y_score=y_score)
            if y_pred is not None:
                profile = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight, pos_label=pos_label)
            if y_score is not None:
                curve = sweep(is_pos, check_scores(y_score, is_pos.shape[0]), weight)
        cut = None if curve is None else curve.best(self.metric, self.metric.constraint)
        if profile is None:
            assert cut is not None, "without a profile and predictions there are scores"
            profile = cut.profile
        recorded = self.record(trial, **outcome(self.metric, profile, hull=known_hull(profile, curve), cut=cut))
        if is_pos is not None:
            self._keep_predictions(
                recorded, is_pos, weight, np.asarray(y_pred) == pos_label if y_score is None else np.asarray(y_score)
            )
        return recorded

    def record(self, trial: Trial | int, *, setting: int = 0, **results: Unpack[CompleteFields]) -> Trial:
        """Complete a pending trial with finished results; `tell` is the way in for labels and predictions.

        Parameters
        ----------
        trial : Trial or int
            A pending trial of this study, or its number.
        setting : int, default=0
            Which setting of the base's parameters was trained.
        **results
            Further fields of the `Trial`, among them ``profile``, ``value`` and ``score``.

        Returns
        -------
        Trial
            The complete trial.
        """
        check_share(results["profile"], self.pos)
        return super().record(trial, setting=setting, **results)

    @property
    def most_trials(self) -> int:
        """Largest possible number of trials."""
        return self.strategy.most_trials(self.n_trials)

    # ---------------------------------------------------------------- results

    @property
    def upper_bound(self) -> float:
        """Best possible value by the bound (for feasible classifiers); the end of the range before a result."""
        return upper_bound(self.trials, self.metric, pos=self.pos, bound=self.bound)

    @property
    def gap(self) -> float | None:
        """`upper_bound` minus the best value attained, >= 0; ``None`` before a result, NaN where none is feasible."""
        return gap(self.trials, self.upper_bound)

    def state(self) -> dict[str, int]:
        """Count the trials in each state.

        Returns
        -------
        dict
            ``{"complete": ..., "failed": ..., "pending": ...}``.
        """
        counts = Counter(trial.state for trial in self.trials)
        return {state: counts[state] for state in ("complete", "failed", "pending")}

    # ---------------------------------------------------------------- what to expect on new data

    def _keep_predictions(self, trial: Trial, is_pos: BoolArray, weight: Array | None, predicted: Array) -> None:
        """Keep the predictions of a complete trial: scores where it has a threshold, else decisions."""
        if self._truth is None:
            self._truth, self._held_out = (is_pos, weight), ScoreStore(is_pos, weight)
        truth, known = self._truth
        same_weight = weight is known if weight is None or known is None else np.array_equal(weight, known)
        if not (np.array_equal(is_pos, truth) and same_weight):
            self._held_out = None  # of other samples, nothing can be drawn together
        if self._held_out is not None:
            self._held_out.add_trial((0, trial.number), trial, predicted, predicted)

    @property
    def assessment(self) -> Assessment | None:
        """Corrected score of the best trial with its bootstrap, see `csf.evaluate.assess`.

        ``None`` unless all trials up to now were given with labels and predictions of the same samples.
        """
        best, complete = self.best_trial, [trial for trial in self.trials if trial.state == "complete"]
        store = self._held_out
        if store is None or best is None or len(store) + store.n_dropped < len(complete):
            return None
        return assess(store, self.metric, (0, best.number))

    @property
    def corrected_score(self) -> float | None:
        """Expected value of the best trial on new data, or ``None``; see `assessment`."""
        return None if (assessed := self.assessment) is None else assessed.corrected_score

    @property
    def score_interval(self) -> tuple[float, float] | None:
        """90 % interval for that value, or ``None``."""
        return None if (assessed := self.assessment) is None else assessed.score_interval

    @property
    def threshold_interval(self) -> tuple[float, float] | None:
        """90 % interval of the best trial's threshold, or ``None``."""
        return None if (assessed := self.assessment) is None else assessed.threshold_interval

    # ---------------------------------------------------------------- files

    def save(self, path: PathLike) -> None:
        """Write the trials as JSON; an existing file is replaced in one step.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        content = {name: getattr(self, name) for name in ("pos", "n_trials", "tol", "stop_reason")}
        content |= _identity(self.metric, self._given) | {"trials": [trial.to_dict() for trial in self.trials]}
        write_record(path, FORMAT, VERSION, content)

    @classmethod
    def load(cls, path: PathLike, metric: str | Metric = "f1", strategy: StrategyLike = "cone", **options: Any) -> Self:
        """Load a study with the trials of a file; metric and strategy are code and are passed again.

        Parameters
        ----------
        path : path-like
            File written by `save`.
        metric, strategy : optional
            As for `Study`, the same as when it was saved.
        **options
            ``n_trials``, ``tol`` or ``bound`` to go on with; what is not given is taken from the file.

        Returns
        -------
        Study
            Ready to `ask` on.

        Raises
        ------
        ValueError
            If the file is damaged, not a study, or was made with another metric or strategy.
        """
        content = read_record(path, FORMAT, VERSION)
        try:
            trials = [Trial.from_dict(record) for record in content["trials"]]
            options = {name: content[name] for name in ("pos", "n_trials", "tol")} | options
            known = {name: list(content[name]) for name in ("metric", "strategy")}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error!r}); it was left as it is") from error
        study = cls(metric, strategy, **options)
        for name, now in _identity(study.metric, study._given).items():
            if known[name] != now:
                how = "with other parameters, other code or other values that its functions enclose"
                other = now[0] if known[name][0] != now[0] else how
                raise ValueError(f"{path} was made with {name} {known[name][0]}, not {other}")
        study.trials = trials
        return study


# ---------------------------------------------------------------- class weights of several classes


# Steps of the ladder from equal class weights to balanced ones.
_LADDER_SIZE = 3


class MulticlassStudy(History):
    """Study of class weights, all of which are asked for at once.

    Parameters
    ----------
    metric : ConfusionMetric
        What is maximised.
    strategy : str or Strategy
        ``"ladder"`` or ``"grid"``.
    shares : ndarray of shape (n_classes,)
        Shares of the classes.
    n_trials : int
        Largest number of trials.
    why : str, default=""
        Why class weights cannot differ, where they cannot.
    """

    def __init__(self, metric: ConfusionMetric, strategy: Any, *, shares: Array, n_trials: int, why: str = "") -> None:
        super().__init__()
        self.metric, self.shares = metric, shares
        self._powers = powers_of(strategy, check_count(n_trials, "n_trials"))
        alike = "classes of the same size leave equal class weights only" if np.ptp(shares) <= 1e-9 else ""
        self._why = why or alike
        if self._why:
            self._powers = self._powers[:1]

    @property
    def most_trials(self) -> int:
        """Largest possible number of trials."""
        return len(self._powers)

    def class_weights(self, power: float) -> Costs:
        """Compute the weights ``share ** -power``, with mean 1 over the samples."""
        weights = self.shares**-power
        return tuple((weights / np.average(weights, weights=self.shares)).tolist())

    def ask_batch(self) -> list[Trial]:
        """Return pending trials at all powers that were not tried yet."""
        if self.pending:
            return []
        batch = self._asked(self._powers)
        if not batch:
            why = f": {self._why}" if self._why else ""
            self.stop_reason = f"all {len(self._powers)} class weights were tried{why}"
        return batch

    def ask_equal(self) -> list[Trial]:
        """Return the pending trial with equal weights, if it was not tried yet."""
        return [] if self.pending else self._asked(self._powers[:1])

    def _asked(self, powers: Sequence[float]) -> list[Trial]:
        """Create trials at those of some powers that were not tried."""
        tried = {trial.t for trial in self.trials}
        first = 1 + max((trial.number for trial in self.trials), default=-1)
        new = [power for power in powers if power not in tried]
        batch = [Trial(first + place, power, self.class_weights(power)) for place, power in enumerate(new)]
        self.trials += batch
        return batch


def judged_fields(metric: ConfusionMetric, by_base: Array, tuned: Any = None, judged: Any = None) -> Params:
    """Build the fields of a complete trial from its confusion matrices."""
    matrices = {"own": by_base, "tuned": tuned, "judged": judged}
    values = {name: float(metric.value(np.asarray(matrix))) for name, matrix in matrices.items() if matrix is not None}
    plain = {name: None if matrix is None else _plain(matrix) for name, matrix in matrices.items()}
    # A rule keeps constraints on the samples that it is tuned on, and is worth what it is on others.
    plain_rank = (float(metric.missing(np.asarray(by_base))), -values["own"])
    rule_rank = (float(metric.missing(np.asarray(tuned))), -values["judged"]) if "judged" in values else plain_rank
    (violation, loss), chosen = min((plain_rank, "own"), (rule_rank, "tuned"))
    rate = metric.rate(np.asarray(matrices[chosen]))
    return {**plain, "value": values["own"], "score": -loss, "violation": violation, "rate": rate}


def _plain(matrix: Array) -> Matrix:
    return tuple(map(tuple, np.asarray(matrix).tolist()))


def powers_of(strategy: StrategyLike, n_trials: int) -> list[float]:
    """List the powers of the shares that a strategy asks for."""
    given = get_strategy(strategy)
    if not isinstance(given, (Ladder, Grid)):
        raise ValueError(
            f"strategy={strategy!r} searches the costs of two errors; several classes, and costs of rows, are "
            "searched by 'ladder' or 'grid', which go from no weights to those that balance the classes or the costs"
        )
    size = _LADDER_SIZE if isinstance(strategy, str) and isinstance(given, Ladder) else given.size or n_trials
    return np.linspace(0.0, 1.0, min(size, n_trials)).tolist()
