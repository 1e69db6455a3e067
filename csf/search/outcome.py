"""What a search found, as one record from which everything else follows; and the same at another share of positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.messages import warn
from csf._common.validation import check_fraction
from csf.bounds.with_margin import bound_with_margin
from csf.metrics.base import rank
from csf.metrics.hull import Hull
from csf.metrics.profile import ErrorProfile
from csf.resampling import Chooser, ScoreRow, ScoreStore, ThresholdQuestion, TrialKey
from csf.resampling.choices import BEST
from csf.search.choose import choose
from csf.search.results import cv_results
from csf.strategies.base import level_of_costs
from csf.thresholding import Cut, ThresholdCurve, curve_at_prevalence, sweep_several
from csf.trials import Trial, gap, outcome

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray
    from csf.metrics.base import Metric
    from csf.search.config import SearchConfig
    from csf.search.gain_rule import Choice
    from csf.search.guarantee import Guarantee
    from csf.study.study import Study

__all__ = ["SearchOutcome", "conclude", "curve_of", "moved_to", "reason_of", "warn_of_open_gap"]

# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What a search found; `csf.CostSearch` describes what it publishes of it."""

    config: SearchConfig
    studies: list[Study]
    settings: list[dict[str, Any]]
    n_splits: int
    store: ScoreStore | None
    stop_reason: str
    winner: Trial
    threshold: float | None
    score: float
    feasible: bool
    constraint_value: float | None
    upper_bound: float
    gap: float
    bound_margin: float
    gain: Choice | None = None
    guarantee: Guarantee | None = None
    # Decisions on the held-out samples that took the place of the winner's own.
    decided: BoolArray | None = None
    # Place of the trial that would be best at another share of positives, and its score there.
    moved_best: tuple[int, float] | None = None
    counted: Sequence[Any] = field(default=())
    # How the winner was chosen.
    chooser: Chooser = BEST

    @property
    def metric(self) -> Metric:
        """What was maximised, under the constraint."""
        return self.studies[0].metric

    @cached_property
    def trials(self) -> list[Trial]:
        """Those of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        return self.winner.setting, self.winner.number

    @property
    def index(self) -> int:
        """Place of the winner."""
        return self.place(self.key)

    def place(self, key: TrialKey) -> int:
        """Place of a trial."""
        return next(at for at, trial in enumerate(self.trials) if (trial.setting, trial.number) == key)

    @property
    def params(self) -> dict[str, Any]:
        """Setting of the winner."""
        return self.settings[self.winner.setting]

    @cached_property
    def table(self) -> dict[str, Array]:
        """See `cv_results`."""
        dropped = np.array([self.studies[trial.setting].dropped for trial in self.trials])
        return cv_results(self.trials, self.settings, self.n_splits) | {"dropped": dropped}

    def published(self) -> dict[str, Any]:
        """Attributes of the fitted search."""
        told = {
            "trials_": self.trials,
            "n_trials_": len(self.trials),
            "n_splits_": self.n_splits,
            "studies_": self.studies,
            "cv_results_": self.table,
            "stop_reason_": self.stop_reason,
            "best_index_": self.index,
            "best_params_": self.params,
            "best_t_": self.winner.t,
            "best_cost_weights_": self.winner.costs,
            "best_threshold_": self.threshold,
            "best_score_": self.score,
            "feasible_": self.feasible,
            "constraint_value_": self.constraint_value,
            "upper_bound_": self.upper_bound,
            "gap_": self.gap,
            "bound_margin_": self.bound_margin,
        }
        if self.gain is not None:
            told |= {"gain_": self.gain.gain, "gain_by_luck_": self.gain.luck, "gain_error_": self.gain.error}
        if self.guarantee is not None:
            told["guarantee_"] = self.guarantee
        if self.moved_best is not None:
            told["best_index_at_prevalence_"], told["score_at_prevalence_"] = self.moved_best
        return told

    def moved(self, pos: float, rule: Any) -> tuple[SearchOutcome, Any]:
        """The outcome and the rule at another share of positives."""
        found = moved_to(self, pos)
        return found, None if rule is None else replace(rule, threshold=found.threshold)

    def curve(self) -> ThresholdCurve:
        """All thresholds of the winner's held-out scores."""
        row, store = self.row, self.store
        assert store is not None, "there is a row of it"
        return curve_of(store, row)

    @property
    def question(self) -> ThresholdQuestion:
        """What is asked about the held-out scores."""
        # Without splits nothing was trained: the model is the user's own.
        return ThresholdQuestion(
            self.metric, self.key, self.config.random_state, self.decided, self.chooser, trained=self.n_splits > 0
        )

    @property
    def row(self) -> ScoreRow:
        """Held-out scores of the winner."""
        if self.store is None:
            raise ValueError("the held-out scores of this search were not kept")
        return self.store[self.key]


def conclude(
    config: SearchConfig,
    studies: list[Study],
    settings: list[dict[str, Any]],
    n_splits: int,
    store: ScoreStore | None,
    *,
    margin: float | None,
    own: int | None = None,
    stopped: str | None = None,
    counted: Sequence[Any] = (),
) -> SearchOutcome:
    """Outcome of a search that is over, ``margin`` and ``own`` as for `choose`.

    A TypeError or ValueError where no trial worked.
    """
    first, trials = studies[0], [trial for study in studies for trial in study.trials]
    metric = first.metric
    won = choose(trials, metric, store, min_gain=config.min_gain, margin=margin, own=own)
    _warn_of(won.trial, metric)
    if store is not None:
        key = won.trial.setting, won.trial.number
        store.put(replace(store[key], threshold=won.threshold, value=won.score))
    # One bound for all settings: it speaks of every classifier on these data, whatever its parameters. What the
    # training parts say has no scores here, and so no margin.
    judged = store if config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=first.pos, bound=config.bound, store=judged)
    distance = gap(trials, bound.exact)
    assert distance is not None, "a winner attained something"
    return SearchOutcome(
        config=config,
        studies=studies,
        settings=settings,
        n_splits=n_splits,
        store=store,
        stop_reason=stopped or reason_of(studies),
        winner=won.trial,
        threshold=won.threshold,
        score=won.score,
        feasible=won.trial.feasible,
        constraint_value=won.trial.rate,
        upper_bound=bound.value,
        gap=distance + bound.margin,
        bound_margin=bound.margin,
        gain=won.gain,
        counted=counted,
        chooser=Chooser(margin, config.min_gain, own),
    )


def reason_of(studies: Sequence[Any]) -> str:
    """Why studies asked for no more trials."""
    return "; ".join(dict.fromkeys(study.stop_reason for study in studies if study.stop_reason))


def warn_of_open_gap(winner: Any) -> None:
    """Tell where the model of a winner is far from its optimum."""
    if winner.duality_gap is not None and winner.duality_gap > _OPEN:
        warn(
            f"the objective of the best model may be {winner.duality_gap:.0%} above its optimum; scale the features, "
            "lower C, or raise max_iter of the base",
            ConvergenceWarning,
        )


def _warn_of(winner: Trial, metric: Metric) -> None:
    """Tell what is wrong with a winner."""
    warn_of_open_gap(winner)
    if not winner.feasible:
        warn(
            f"no trial satisfies {metric.constraint} on held-out data; the closest one has {winner.rate:.4g}. Loosen "
            "the constraint, or add trials or features",
        )


def curve_of(store: ScoreStore, row: ScoreRow) -> ThresholdCurve:
    """All thresholds of the held-out scores of a trial."""
    if row.score is None:
        raise ValueError("the search kept the base's own decisions (threshold=None), so that no threshold can move")
    lost = np.zeros(store.is_pos.size, dtype=bool) if row.lost is None else row.lost
    return sweep_several(store.is_pos, lost, row.score, store.weight)


# ---------------------------------------------------------------- another share of positives


def moved_to(found: SearchOutcome, pos: float) -> SearchOutcome:
    """The outcome where positives have another share: rates within the classes stay, all that is made of them moves."""
    pos, metric, known, row = check_fraction(pos, "pos"), found.metric, found.store, found.row
    assert known is not None, "there is a row of it"
    known = known if known.unmoved is None else known.unmoved
    cuts = {each.key: curve_at_prevalence(curve_of(known, each), pos).best(metric, metric.constraint) for each in known}
    own, store = cuts[found.key], _moved_store(known, pos)
    store.put(replace(row, threshold=own.threshold, value=own.value, violation=_violation(metric, own)))
    trials = [_moved_trial(trial, metric, pos, cuts.get((trial.setting, trial.number))) for trial in found.trials]
    judged = store if found.config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=pos, bound=found.config.bound, store=judged)
    distance = gap(trials, bound.exact)
    best = min(cuts, key=lambda key: rank(_violation(metric, cuts[key]), cuts[key].value, *key[::-1]))
    constraint = metric.constraint
    return replace(
        found,
        store=store,
        threshold=own.threshold,
        score=own.value,
        feasible=own.feasible,
        constraint_value=None if constraint is None else constraint.quantity.of(own.profile),
        upper_bound=bound.value,
        gap=np.nan if distance is None else distance + bound.margin,
        bound_margin=bound.margin,
        # The test was one of data with the share of the calibration samples.
        guarantee=None,
        decided=None,
        # Its threshold is the best one there.
        chooser=BEST,
        moved_best=(found.place(best), cuts[best].value),
    )


def _violation(metric: Metric, cut: Cut) -> float:
    profile, constraint = cut.profile, metric.constraint
    return 0.0 if constraint is None else float(constraint.violation(profile.fn, profile.fp, pos=profile.pos))


def _moved_store(known: ScoreStore, pos: float) -> ScoreStore:
    """A store without rows whose weights have another share of positives."""
    factor, share = np.where(known.is_pos, pos, 1.0 - pos), np.average(known.is_pos, weights=known.weight)
    weight = factor / np.where(known.is_pos, share, 1.0 - share) * (1.0 if known.weight is None else known.weight)
    store = ScoreStore(known.is_pos, weight, samples=known.samples, copies=known.copies)
    store.unmoved = known
    return store


def _moved_trial(trial: Trial, metric: Metric, pos: float, cut: Cut | None) -> Trial:
    """What a training says at another share: weighted by its costs it still is the best at these rates."""
    if trial.profile is None:
        return trial
    up, down = pos / trial.profile.pos, (1.0 - pos) / (1.0 - trial.profile.pos)
    limits, factors = np.array([pos, 1.0 - pos]), np.array([up, down])
    fn, fp = np.minimum(np.array([trial.profile.fn, trial.profile.fp]) * factors, limits).tolist()
    hull = None if trial.hull is None else Hull(np.minimum(trial.hull.points * factors, limits))
    c_fn, c_fp = trial.c_fn / up, trial.c_fp / down
    told = outcome(metric, ErrorProfile(fn, fp, pos), hull=hull, cut=cut)
    return replace(trial, t=level_of_costs(metric, c_fn, c_fp, pos=pos), costs=(c_fn, c_fp), **told)
