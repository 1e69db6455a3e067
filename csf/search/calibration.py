"""What a search does with samples that it never trains on, and with the winner that it has found."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, IntArray
from csf._common.warn import warn
from csf._sklearn import safe_indexing, slice_params
from csf._validation import check_fraction
from csf.metrics import get_constraint
from csf.resampling import AssessedMixin, ScoreStore
from csf.resampling.resampling import decisions
from csf.search.ceiling import ceiling
from csf.search.guarantee import Guarantee, certify, check_rates
from csf.search.results import summary
from csf.search.stable_choice import stable_choice
from csf.thresholding import curve_at_prevalence, sweep_several

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling import ScoreRow
    from csf.samples.task import Task
    from csf.search.prefit import PrefitStudy
    from csf.study.study import Study
    from csf.thresholding import Cut, ThresholdCurve
    from csf.trials import Trial

__all__ = ["CalibratedMixin", "calibration_split", "check_confidence"]


def check_confidence(search: Estimator) -> None:
    """Check ``confidence`` and ``calibration`` of a search, and what they need.

    Parameters
    ----------
    search : CostSearch
        The search.

    Raises
    ------
    ValueError, TypeError
        If one cannot be used.
    """
    if search.confidence is None:
        return
    check_fraction(search.confidence, "confidence")
    check_fraction(search.calibration, "calibration")
    missing = {
        "a constraint, such as 'precision >= 0.8'": search.constraint is None,
        "a threshold, 'stable' or 'tune'": search.threshold is None,
        "refit=True": not search.refit,
    }
    for what, absent in missing.items():
        if absent:
            raise ValueError(f"confidence={search.confidence!r} needs {what}; give it, or leave out confidence")
    constraint = get_constraint(search.constraint)
    if constraint is not None:
        check_rates(constraint)
    cv = search.cv
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        raise ValueError(
            "with confidence, a part of the samples is held out before they are split, so that cv cannot be splits of "
            "all of them; give a number of folds, a share, a splitter or 'prefit'"
        )


def calibration_split(search: Estimator, task: Task) -> tuple[Task, Task]:
    """Samples to search on, and samples to calibrate on; stratified.

    Parameters
    ----------
    search : CostSearch
        The search.
    task : Task
        All samples.

    Returns
    -------
    tuple of Task
        The two parts.

    Raises
    ------
    ValueError
        If a part lacks a class, or the samples come in groups.
    """
    if "groups" in task.fit_params:
        raise ValueError("confidence needs samples that are independent of each other; it cannot be had with groups")
    every, seed = np.arange(task.n_samples), search.random_state
    try:
        parts = train_test_split(every, test_size=search.calibration, stratify=task.codes, random_state=seed)
    except ValueError as error:
        raise ValueError(
            f"calibration={search.calibration!r} of {task.n_samples} samples cannot be held out: {error}"
        ) from error
    searched, calibrated = (_part(task, np.sort(part)) for part in parts)
    return searched, calibrated


def _part(task: Task, at: IntArray) -> Task:
    return replace(
        task,
        X=safe_indexing(task.X, at),
        codes=task.codes[at],
        weight=None if task.weight is None else task.weight[at],
        fit_params=slice_params(dict(task.fit_params), at, task.n_samples),
        labels=task.user_labels,
    )


def _curve(store: ScoreStore, row: ScoreRow) -> ThresholdCurve:
    """All cuts of the held-out scores of a trial."""
    if row.score is None:
        raise ValueError("the search kept the base's own decisions (threshold=None), so that no threshold can move")
    lost = np.zeros(store.is_pos.size, dtype=bool) if row.lost is None else row.lost
    return sweep_several(store.is_pos, lost, row.score, store.weight)


def _best_cut(store: ScoreStore, row: ScoreRow, metric: Metric, pos: float) -> Cut:
    """Best cut of a trial at a share of positives."""
    return curve_at_prevalence(_curve(store, row), pos).best(metric, metric.constraint)


class CalibratedMixin(AssessedMixin):
    """What `csf.CostSearch` does with its winner."""

    guarantee_: Guarantee
    confidence: float | None
    threshold: str | None
    random_state: Any
    trials_: list[Trial]
    best_index_: int
    best_threshold_: float | None
    best_score_: float
    feasible_: bool
    constraint_value_: float | None
    null_class_: Any
    score_at_prevalence_: float
    bound: Any
    bound_on: str
    upper_bound_: float
    gap_: float
    bound_margin_: float
    studies_: list[Study]
    best_index_at_prevalence_: int
    _names: Array
    _known: Array
    # methods of the classes that are used together with this one
    _scored: Any
    _report: Any
    _adopt: Any
    base: Estimator

    def _keep_winner(self, metric: Metric, held_out: ScoreStore) -> None:
        trial = self.trials_[self.best_index_]
        key = trial.setting, trial.number
        held_out.put(replace(held_out[key], threshold=self.best_threshold_, value=self.best_score_))
        self._keep_scores(held_out, metric, key, self.random_state)
        self._raise_ceiling(metric)

    def _raise_ceiling(self, metric: Metric) -> None:
        """Add to the support-line bound what it misses: held-out positives are few, and so bounds are noisy."""
        # What the training parts say has no scores here.
        store = self.held_out_ if self.bound_on == "validation" else None
        pos = self.studies_[0].pos
        found = ceiling(self.trials_, metric, pos=pos, bound=self.bound, store=store)
        self.bound_margin_ = found.margin
        self.upper_bound_, self.gap_ = found.value, self.gap_ + found.margin

    def _tune_prefit(self, found: PrefitStudy) -> None:
        self.studies_, metric = [found.study], found.study.metric
        stopped = "the base was fitted before: only its threshold was tuned"
        cut = stable_choice(found.held_out, metric) if self.threshold == "stable" else None
        self._report(metric, summary(self.studies_, [{}], 0, stopped=stopped), cut)
        self._keep_winner(metric, found.held_out)
        self.refit_time_ = 0.0
        self._adopt(self.base, found.known, found.names)

    def at_prevalence(self, pos: float) -> Self:
        """The classifier for data with another share of positives.

        Parameters
        ----------
        pos : float
            Share of positives where it is to be used, in (0, 1), known or estimated by
            `csf.thresholding.estimate_prevalence`.

        Returns
        -------
        CostSearch
            A copy with the same ``best_estimator_`` and the threshold that is best there. ``best_score_``,
            ``corrected_score_`` and the intervals are those to expect at the new share, from the rates within the
            classes on the held-out samples, which do not change with it. ``best_index_at_prevalence_`` is the place of
            the trial that would be best there: where it is not ``best_index_``, training it with its costs gains what
            ``score_at_prevalence_`` is above ``best_score_``.

        Raises
        ------
        ValueError
            If the share is not in (0, 1), or no threshold is tuned.
        """
        check_is_fitted(self, "trials_")
        winner, known = self.trials_[self.best_index_], self.held_out_
        metric, _, random_state = self._assessed
        cuts = {row.key: _best_cut(known, row, metric, pos) for row in known}
        key = winner.setting, winner.number
        moved, row = copy.copy(self), known[key]
        own, factor = cuts[key], np.where(known.is_pos, pos, 1.0 - pos)
        share = np.average(known.is_pos, weights=known.weight)
        weight = factor / np.where(known.is_pos, share, 1.0 - share) * (1.0 if known.weight is None else known.weight)
        store = ScoreStore(known.is_pos, weight, samples=known.samples)
        store.put(replace(row, threshold=own.threshold, value=own.value))
        moved._keep_scores(store, metric, key, random_state)
        vars(moved).pop("guarantee_", None)
        moved.best_threshold_, moved.best_score_, moved.feasible_ = own.threshold, own.value, own.feasible
        best = max(cuts, key=lambda key: (cuts[key].feasible, cuts[key].value))
        moved.score_at_prevalence_ = cuts[best].value
        moved.best_index_at_prevalence_ = next(
            at for at, trial in enumerate(self.trials_) if (trial.setting, trial.number) == best
        )
        return moved

    def held_out_curve(self) -> ThresholdCurve:
        """All cuts of the winner's held-out scores, those that ``best_threshold_`` was chosen among.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`.

        Raises
        ------
        ValueError
            If the base's own decisions were kept (``threshold=None``).
        """
        check_is_fitted(self, "trials_")
        winner = self.trials_[self.best_index_]
        return _curve(self.held_out_, self.held_out_[winner.setting, winner.number])

    def _certify(self, metric: Metric, task: Task) -> None:
        """Replace the threshold by the best one that samples which nothing was trained on stand for."""
        assert self.confidence is not None, "asked for where there is one"
        winner, store = self.trials_[self.best_index_], self.held_out_
        row = store[winner.setting, winner.number]
        curve = _curve(store, row)
        answer, score = self._scored(task.X)
        is_pos = task.codes > 0
        wrong = is_pos & (
            task.user_labels.decode(task.codes) != self._names[np.searchsorted(self._known, answer.found)]
        )
        found = certify(curve, metric, self.confidence, is_pos, wrong, score, task.weight)
        self.guarantee_ = found
        self.best_threshold_, self.feasible_ = found.threshold, found.holds
        self.best_score_ = metric.of(curve.at(found.threshold))
        self.constraint_value_ = next(iter(found.rates.values()))
        # The corrected score is that of the threshold which was taken, not of the best one.
        self._keep_decisions(decisions(replace(row, threshold=found.threshold)))
        if not found.holds:
            warn(str(found))
