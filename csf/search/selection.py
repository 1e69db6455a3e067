"""Choice of the winner of a search, and of the settings that are trained further."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from csf.evaluate import Chooser, Resampling, ScoreRow, ScoreStore, differences
from csf.evaluate.choices import BEST, Margins, averaged
from csf.metrics.trials import best_trial, nothing_worked
from csf.strategies import EqualCostsFirst, Ladder, get_strategy
from csf.thresholding.curve import sweep_several

if TYPE_CHECKING:
    from csf._common.typing import Array, Values
    from csf.evaluate import TrialKey
    from csf.evaluate.stores import Store
    from csf.metrics.base import Metric
    from csf.metrics.profile import ErrorProfile
    from csf.metrics.trials import Trial
    from csf.search.config import RaceStep, SearchConfig
    from csf.search.study import History, MulticlassStudy, Study
    from csf.thresholding.curve import ThresholdCurve

# ---------------------------------------------------------------- the stable winner and threshold


# Whoever is best on average wins.
STABLE = Chooser(0.0)
# More draws change neither winner nor cut by what matters beside the noise of the data.
N_DRAWS = 50


class StableChoice(NamedTuple):
    """Trial that is best on average over draws, with the average of its best thresholds.

    Parameters
    ----------
    key : tuple of int
        Setting and number of the trial.
    threshold : float
        Its threshold.
    profile : ErrorProfile
        Errors there, on all held-out samples.
    """

    key: TrialKey
    threshold: float
    profile: ErrorProfile


def stable_choice(
    store: ScoreStore,
    metric: Metric,
    *,
    among: TrialKey | None = None,
    chooser: Chooser = STABLE,
    random_state: int = 0,
) -> StableChoice | None:
    """Choose a trial by the mean of its best values over bootstrap draws, and take the mean of its best thresholds.

    The largest of many values, and the threshold at which it is reached, follow the noise of a few held-out positives.
    Draws of the samples, with every trial's threshold tuned again on each, show which trial is good however that noise
    falls.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials.
    metric : Metric
        What is maximised.
    among : tuple of int, default=None
        The trial, where it is chosen already.
    chooser : Chooser, default=Chooser(0.0)
        Standard deviations over draws by which a trial has to be better than the best one of equal costs on average.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    StableChoice or None
        ``None`` where no draw holds both classes, and under a constraint: the mean of thresholds that satisfy it on
        draws need not do so on all samples.

    Notes
    -----
    Thresholds are averaged as the shares of samples that they find, in log-odds, and not as scores: what is found
    depends on the ranking alone. Between two distant thresholds that are equally good, their mean may be a bad one.
    Where it loses more than a standard error of the value on all samples, the threshold is the best one of these.

    Examples
    --------
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> store.add((0, 0), score=rng.normal(size=500) + 1.5 * is_pos, threshold=0.9, value=0.6)
    >>> from csf.metrics import FBeta
    >>> stable_choice(store, FBeta()).threshold
    1.239
    """
    if metric.constraint is not None or not len(store):
        return None
    store, keep = store.only(*(row.key for row in store if row.on_folds)), [] if among is None else [among]
    sampled = Resampling(store, metric, n_draws=N_DRAWS, random_state=random_state, keep=keep)
    valid = ~np.isnan(sampled.retuned.value).all(axis=0)
    if not valid.any():
        return None
    values = sampled.retuned.value[:, valid]
    place = chooser.rivals(sampled.rows).best_on_average(values) if among is None else sampled.keys.index(among)
    key = sampled.keys[place]
    return _cut(store, store[key], metric, sampled.thresholds(key), float(np.nanstd(values[place])))


def _cut(store: ScoreStore, row: ScoreRow, metric: Metric, thresholds: Array, error: float) -> StableChoice:
    """Set the row's threshold to the mean of thresholds if that costs no more than a standard error."""
    assert row.score is not None, "there are thresholds of scores alone"
    assert row.threshold is not None, "there are thresholds of scores alone"
    curve = sweep_several(store.is_pos, row.lost, row.score, store.weight)
    threshold = averaged_cut(curve, row.threshold, thresholds, lambda cut: metric.of(curve.at(cut)), error)
    return StableChoice(row.key, threshold, curve.at(threshold))


def averaged_cut(
    curve: ThresholdCurve, best: float, thresholds: Array, value: Callable[[float], float], error: float
) -> float:
    """Average thresholds on a curve; keep the best one if the average is worse by more than ``error``."""
    cuts = curve.cuts_at(thresholds)
    if not np.isfinite(best):
        return best
    total, n_scores = curve.pos - curve.fn[-1] + curve.fp[-1], curve.fn.size - 1

    def positives(cuts: Values) -> Values:
        """Return the shares of samples that some cuts predict positive."""
        return (curve.pos - curve.fn[cuts] + curve.fp[cuts]) / total

    def middle(place: int) -> float:
        """Return where a score lies: in the middle of the samples that have it."""
        return 0.5 * (positives(place + 1) + positives(place))

    def quantile(share: float) -> float:
        # Looks at few of what may be millions of scores.
        place = int(np.clip(bisect_left(range(n_scores), share, key=middle), 1, n_scores - 1))
        upper, lower = curve.lowest_score[place], curve.lowest_score[place + 1]
        inside = float(np.interp(share, [middle(place - 1), middle(place)], [upper, lower]))
        return inside if lower < inside <= upper else float(upper)

    return averaged(positives(cuts), best, quantile, value, error)


# ---------------------------------------------------------------- the choice


class ChosenTrial(NamedTuple):
    """Winning trial, the threshold that it is used with, and its score there."""

    trial: Trial
    threshold: float | None
    score: float


def choose(
    trials: Sequence[Trial],
    metric: Metric,
    store: ScoreStore | None = None,
    chooser: Chooser = BEST,
) -> ChosenTrial:
    """Choose among trials.

    The most stable trial is chosen, where the chooser has a margin for that and there is a store, which gives a measure
    of chance; else the best trial wins.
    """
    best = best_trial(trials)
    if best is None:
        raise nothing_worked(trials)
    cut = None
    if store is not None and chooser.margin is not None:
        cut = stable_choice(store, metric, chooser=chooser)
    if cut is None:
        assert best.score is not None, "a winner is complete"
        return ChosenTrial(best, best.threshold, best.score)
    trial = next(trial for trial in trials if (trial.setting, trial.number) == cut.key)
    return ChosenTrial(trial, cut.threshold, metric.of(cut.profile))


# ---------------------------------------------------------------- the race of settings


DROPPED = "settings that were behind, or failed, with equal costs were trained no further"
NOT_TRIED = "larger trees than the base's own were left out, as smaller ones are better"


def races(config: SearchConfig) -> bool:
    """Check whether settings drop out: all begin with equal costs, and the winner is the most stable trial."""
    return drops_settings(config) and config.aim.constraint is None


def drops_settings(config: SearchConfig) -> bool:
    """Check whether the strategy and the choice of the winner let settings drop out; a constraint forbids it too."""
    strategy = get_strategy(config.strategy)
    first = strategy.strategy if isinstance(strategy, EqualCostsFirst) else strategy
    return config.is_stable and isinstance(first, Ladder) and first.race


class SettingRace(ABC):
    """What decides which settings are trained next."""

    def n_folds(self, setting: int, trial: Trial) -> int:
        """Return the number of folds that a trial of a setting is trained on next; 0 for all."""
        return 0

    @abstractmethod
    def ask(self) -> list[tuple[int, Trial]]:
        """List the settings and trials to train next; empty at the end."""


class _Standing(NamedTuple):
    """Settings with scores at equal costs, the place of the best one, and by how much each column exceeds the others.

    ``most`` is an upper bound of these differences; ``values`` are those of the metric.
    """

    settings: list[int]
    leader: int
    values: Array
    gain: Array
    most: Array

    def best(self, places: Sequence[int]) -> int:
        """Return the place of the best of some settings."""
        return places[int(np.argmax(self.values[list(places)]))]


class Race(SettingRace):
    """Race between settings: it asks for their trials as long as held-out scores do not decide which one is best.

    Equal costs come first, for one setting after another away from the base's own, as long as they gain. Settings that
    may still be better than the leader are then trained at the other costs. The requests depend only on the held-out
    scores: a search that is resumed makes the same ones.

    Parameters
    ----------
    studies : sequence of Study
        One for each setting, each of which asks for equal costs first.
    steps : sequence of RaceStep
        For each setting what has to be known before it is tried.
    store : ScoreStore
        Held-out scores of their trials.
    metric : Metric
        What is maximised.
    names : sequence of str, default=()
        Names of several models. The first setting of each is tried before others; slow ones are trained on the first
        folds, which hold out each sample once, and on the others if they may still win.
    n_first : int, default=0
        The number of these folds; 0 where slow models are trained on all folds at once.
    """

    def __init__(
        self,
        studies: Sequence[Study],
        steps: Sequence[RaceStep],
        store: ScoreStore,
        metric: Metric,
        *,
        names: Sequence[str] = (),
        n_first: int = 0,
    ) -> None:
        self.studies, self.steps, self.store, self.metric = studies, steps, store, metric
        self.names, self.n_first = names, n_first
        # Largest number of settings that are trained at other costs.
        self.most_left: int | None = None
        self._known: tuple[list[ScoreRow], _Standing | None] = [], None
        for study, step in zip(studies, steps):
            study.dropped = step.outside

    def n_folds(self, setting: int, trial: Trial) -> int:
        """Return the number of folds that a trial of a setting is trained on next; 0 for all."""
        begins = trial.state == "pending" and trial.costs[0] == trial.costs[1]
        return self.n_first if begins and self.steps[setting].slow else 0

    def ask(self) -> list[tuple[int, Trial]]:
        """List the settings and trials to train next; empty when the race is decided."""
        standing = self._standing()
        new = [
            setting
            for setting, study in enumerate(self.studies)
            if not study.trials and self._is_reached(setting, standing)
        ]
        if new:
            first = min(map(self._turn, new))
            new = [setting for setting in new if self._turn(setting) == first]
            return [(setting, trial) for setting in new if (trial := self.studies[setting].ask()) is not None]
        going = self.left()
        if begun := [(setting, self.studies[setting].trials[0]) for setting in going if self._is_begun(setting)]:
            return begun
        for setting, study in enumerate(self.studies):
            # Who has no other costs to be trained at loses nothing.
            more = len(study.trials) < study.most_trials or self._is_begun(setting)
            study.dropped = setting not in going and (more or bool(self.names))
            if study.dropped and study.trials:
                study.stop_reason = self._reason(setting, going, standing)
        left = [(setting, study) for setting, study in enumerate(self.studies) if not study.dropped]
        return [(setting, trial) for setting, study in left for trial in study.ask_batch()]

    def _turn(self, setting: int) -> tuple[bool, bool]:
        """Compute the sort key of a setting: the first settings of several models, then those that train fast."""
        is_first = not any(step.model == self.steps[setting].model for step in self.steps[:setting])
        return (not is_first, self.steps[setting].slow) if self.names else (False, False)

    def _is_begun(self, setting: int) -> bool:
        """Check whether a setting was trained on only the first folds."""
        first = self.studies[setting].trials[:1] if self.n_first else []
        return any(trial.state == "complete" and len(trial.fold_scores) == self.n_first for trial in first)

    def _reason(self, setting: int, going: Sequence[int], standing: _Standing | None) -> str:
        """Explain why a setting is trained no further; where its model has none left, how far the model is behind."""
        model = self.steps[setting].model
        if standing is None or not self.names or any(self.steps[other].model == model for other in going):
            return DROPPED
        places, leader = self._places(standing, model), standing.leader
        if not places:
            return f"{self.names[model]} was dropped: its trainings failed"
        place, best = standing.best(places), self.names[self.steps[standing.settings[leader]].model]
        gain, most = standing.gain[leader, place], standing.most[leader, place]
        when = f"after {self.n_first} folds" if self._is_begun(standing.settings[place]) else "with equal costs"
        return (
            f"{self.names[model]} was dropped {when}: {self.metric.name} {standing.values[place]:.3f}, {-gain:.3f} "
            f"below {best}, with a standard error of {(most - gain) / Margins.RACE_ERRORS:.3f}"
        )

    def _places(self, standing: _Standing, model: int) -> list[int]:
        """Return the places of the settings of a model."""
        return [place for place, setting in enumerate(standing.settings) if self.steps[setting].model == model]

    def left(self) -> Sequence[int]:
        """List the settings that are still in doubt after equal costs."""
        standing = self._standing()
        if standing is None:
            return range(len(self.studies))
        in_doubt, values = self._in_doubt(standing), dict(zip(standing.settings, standing.values))
        return sorted(sorted(in_doubt, key=lambda setting: -values[setting])[: self.most_left])

    def _standing(self) -> _Standing | None:
        rows = [row for row in self.store if row.equal_costs]
        # Most asks come between two trials of other costs, which change nothing here.
        if rows != self._known[0]:
            gain, error = differences(self.store, self.metric, rows, range(len(rows)))
            values, most = np.array([row.value for row in rows]), gain + Margins.RACE_ERRORS * error
            self._known = rows, _Standing([row.key[0] for row in rows], int(np.argmax(values)), values, gain, most)
        return self._known[1]

    def _is_reached(self, setting: int, standing: _Standing | None) -> bool:
        """Check whether a setting is reached: the one before it may gain and is not behind, or it leads."""
        step = self.steps[setting]
        if step.before is None:
            return True
        if standing is None or step.before not in standing.settings:
            return False
        place, inner = standing.settings.index(step.before), self.steps[step.before].before
        if step.outside:
            gains = place == standing.best(self._places(standing, step.model))
        else:
            gains = (
                inner not in standing.settings
                or standing.most[standing.settings.index(inner), place] > Margins.RACE_GAIN
            )
        return bool(gains and standing.most[standing.leader, place] >= 0.0)

    def _in_doubt(self, standing: _Standing) -> list[int]:
        """List the settings to continue, of each model that may gain on the leader: see `_of_model`."""
        models = dict.fromkeys(self.steps[setting].model for setting in standing.settings)
        return sorted({setting for model in models for setting in _of_model(standing, self._places(standing, model))})


def _of_model(standing: _Standing, places: list[int]) -> list[int]:
    """List a model's settings to continue: its best and those that may gain on it; if none may, its own alone."""
    settings, leader, most, best = standing.settings, standing.leader, standing.most, standing.best(places)
    hopeful = [place for place in places if place == leader or most[leader, place] > Margins.RACE_GAIN]
    first = min(places, key=lambda place: settings[place])
    if hopeful and most[first, best] <= Margins.RACE_GAIN:
        return [settings[first]]
    return [settings[place] for place in hopeful if place == best or most[best, place] > Margins.RACE_GAIN]


@dataclass(frozen=True, eq=False)
class LargestLast(SettingRace):
    """Race without other costs: the largest trees, which take most time, are tried where smaller ones gain nothing.

    Parameters
    ----------
    studies : sequence of History
        One for each setting, with a single trial.
    waiting : mapping of int to (sequence of int, sequence of int)
        For each setting that comes last those with the base's own trees, and those with smaller ones.
    is_behind : callable
        ``is_behind(own, others)`` says whether the best of the others is better than the best own setting.
    """

    studies: Sequence[History]
    waiting: Mapping[int, tuple[Sequence[int], Sequence[int]]]
    is_behind: Callable[[Sequence[int], Sequence[int]], bool]

    def ask(self) -> list[tuple[int, Trial]]:
        """List the settings and trials to train next, those that wait after all others; empty at the end."""
        known = enumerate(self.studies)
        if first := [
            (setting, trial) for setting, study in known if setting not in self.waiting for trial in study.ask_batch()
        ]:
            return first
        for setting, rivals in self.waiting.items():
            study = self.studies[setting]
            if not study.trials and self.is_behind(*rivals):
                study.dropped, study.stop_reason = True, NOT_TRIED
        left = [(setting, self.studies[setting]) for setting in self.waiting if not self.studies[setting].dropped]
        return [(setting, trial) for setting, study in left for trial in study.ask_batch()]


@dataclass(frozen=True, eq=False)
class EqualWeightsFirst(SettingRace):
    """Race of settings for several classes: of those that are trained with equal weights few are trained at others.

    Parameters
    ----------
    studies : sequence of MulticlassStudy
        One for each setting, the base's own first.
    """

    studies: Sequence[MulticlassStudy]

    def ask(self) -> list[tuple[int, Trial]]:
        """List the settings and trials to train next: the base's own and the best setting go on; empty at the end."""
        studies = list(enumerate(self.studies))
        if first := [(setting, trial) for setting, study in studies for trial in study.ask_equal()]:
            return first
        best = best_trial([study.trials[0] for study in self.studies])
        going = {0, 0 if best is None else best.setting}
        for setting, study in studies:
            if setting not in going and study.most_trials > 1:
                study.dropped, study.stop_reason = True, DROPPED
        return [(setting, trial) for setting, study in studies if setting in going for trial in study.ask_batch()]


@dataclass
class Shortlist(SettingRace):
    """Race that was run on scores without folds; the trials that stay are pending.

    Parameters
    ----------
    studies : sequence of History
        All trials of a search; those that stay are pending.
    rows : sequence of ScoreRow
        Scores of the others, for the held-out entries of the folds.
    """

    studies: Sequence[History]
    rows: Sequence[ScoreRow] = ()

    def begun(self, store: Store | None) -> Self:
        """Begin with the scores of trials that do not stay."""
        if store is not None:
            for row in self.rows:
                store.put(row)
        return self

    def ask(self) -> list[tuple[int, Trial]]:
        """Return no further trials."""
        return []
