"""The search over an engine, written once: ask for costs, train all folds, count, tell."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any

from csf._common.typing import Costs, Estimator, PathLike
from csf._common.warn import warn
from csf.cluster.cut import CountedCut, counted_cut, own_decision
from csf.cluster.engine import Engine, FoldTotals, Job
from csf.search.batches import next_batch
from csf.search.checkpoint import Checkpoint
from csf.search.failures import Failures
from csf.search.progress import Progress
from csf.search.results import Summary, summary
from csf.search.states import decode, encode
from csf.strategies import get_strategy
from csf.study import Study
from csf.trainers.warm_starts import WarmStarts
from csf.trials import known_hull, outcome

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.study.study import Bound, StrategyLike
    from csf.trainers.base import Training
    from csf.trials import CompleteFields, Trial

__all__ = ["EngineSearch"]


@dataclass
class EngineSearch:
    """A cost search on the data of an engine.

    Parameters
    ----------
    engine : Engine
        Trains and counts.
    bases : list of estimator
        The base with each setting of its parameters, as the engine calls it.
    settings : list of dict
        These settings.
    metric : Metric
        What is maximised, under its constraint if it has one.
    strategy : str, Strategy or callable, default="cone"
        Where to train next.
    n_trials : int, default=10
        Largest number of levels to train at, for each setting.
    tune : bool, default=True
        Whether the threshold is searched too, or the model's own decision taken.
    normalize : {"none", "mean"}, default="none"
        ``"mean"`` scales the costs of each training so that its weights have the mean of the user's.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How the upper bound is computed, see `csf.bounds`.
    tol : float, default=None
        Stop when the bound is within this of the best value.
    raise_errors : bool, default=False
        Whether the first failing training ends the search.
    checkpoint : path-like, default=None
        File that keeps finished trials.
    callbacks : sequence of callable, default=()
        ``callback(study, trial)`` after each trial; a true result ends the search.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    studies : list of Study
        One for each setting.
    totals : FoldTotals
        What the folds weigh.
    counted : list of CountedCut
        What the counts of each trial told, in the order in which trials were finished in this process.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf.cluster import MemoryEngine, hash_folds
    >>> from csf.metrics import FBeta
    >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
    >>> engine = MemoryEngine(X, y, hash_folds(0, 2000, 3))
    >>> search = EngineSearch(engine, [LogisticRegression()], [{}], FBeta(), n_trials=3)
    >>> search.run().winner.score
    0.958
    """

    engine: Engine
    bases: list[Estimator]
    settings: list[dict[str, Any]]
    metric: Metric
    strategy: StrategyLike = "cone"
    n_trials: int = 10
    tune: bool = True
    normalize: str = "none"
    bound: Bound = "support"
    tol: float | None = None
    raise_errors: bool = False
    checkpoint: PathLike | None = None
    callbacks: Sequence[Callable[[Study, Trial], Any]] = ()
    verbose: int = 0
    studies: list[Study] = field(init=False)
    totals: FoldTotals = field(init=False)
    counted: list[CountedCut] = field(init=False, default_factory=list)

    def run(self) -> Summary:
        """Search.

        Returns
        -------
        Summary
            What the trials say, with the winner.

        Raises
        ------
        ValueError, TypeError
            If the folds cannot be used, the checkpoint belongs to another search, or every trial failed.
        """
        self.totals = self.engine.totals()
        self.totals.check()
        self.studies = [
            Study(
                self.metric,
                self.strategy,
                pos=self.totals.pos,
                n_trials=self.n_trials,
                tol=self.tol,
                bound=self.bound,
            )
            for _ in self.bases
        ]
        self._starts = [WarmStarts() for _ in range(self.totals.n_folds)]
        self._failures = Failures()
        self._file = self._open()
        stopped = self._run()
        self._failures.warn_of_more(sum(study.state()["complete"] for study in self.studies))
        return summary(self.studies, self.settings, self.totals.n_folds, stopped=stopped)

    def train_on_everything(self, winner: Trial) -> Training:
        """Train at the costs of a trial on all rows.

        Parameters
        ----------
        winner : Trial
            The trial.

        Returns
        -------
        Training
            The result.
        """
        job = self._job(winner.setting, None, winner.costs)
        (training,) = self.engine.train([job])
        if isinstance(training, Exception):
            raise training
        return training

    # ---------------------------------------------------------------- one trial after the other

    def _run(self) -> str | None:
        total = sum(study.n_trials for study in self.studies)
        done = sum(trial.state != "pending" for study in self.studies for trial in study.trials)
        try:
            with Progress(total=total, done=done, shown=bool(self.verbose)) as progress:
                while batch := self._next_batch():
                    for setting, trial in batch:
                        trial = self._told(setting, trial)
                        # Before callbacks, which may raise anything.
                        self._save()
                        progress.step(self._best)
                        ends = [bool(callback(self.studies[setting], trial)) for callback in self.callbacks]
                        if any(ends):
                            return "a callback ended the search"
        except KeyboardInterrupt:
            # Hours of trials must not be lost.
            if not any(trial.state == "complete" for study in self.studies for trial in study.trials):
                raise
            warn("the search was interrupted; it goes on with the trials that were finished")
            return "interrupted"
        finally:
            for study in self.studies:
                study.forget_pending()
        return None

    def _next_batch(self) -> list[tuple[int, Trial]]:
        """See `next_batch`; kept before it is trained."""
        batch = next_batch(self.studies)
        if batch:
            # A search that is killed while it trains them has to train the same ones.
            self._save()
        return batch

    def _told(self, setting: int, trial: Trial) -> Trial:
        """Train a trial on all folds and tell its study."""
        start = time.perf_counter()
        folds = range(self.totals.n_folds)
        trained = self.engine.train([self._job(setting, fold, trial.costs) for fold in folds])
        fitted = time.perf_counter()
        errors = [training for training in trained if isinstance(training, Exception)]
        study, trainings = self.studies[setting], [t for t in trained if not isinstance(t, Exception)]
        times = {"fit_time": fitted - start, "score_time": 0.0}
        if errors:
            return self._failed(study, trial, setting, errors[0], times)
        try:
            fields = self._judged([training.model for training in trainings])
        except ValueError as error:  # scores that are none
            return self._failed(study, trial, setting, error, times)
        for fold, training in enumerate(trainings):
            if training.state is not None:
                self._starts[fold].add(str(setting), _position(trial.costs), training.state)
        gaps = [training.gap for training in trainings if training.gap is not None]
        fields["duality_gap"] = max(gaps) if len(gaps) == len(trainings) else None
        fields["fit_time"], fields["score_time"] = times["fit_time"], time.perf_counter() - fitted
        return study.record(trial, setting=setting, **fields)

    def _job(self, setting: int, fold: int | None, costs: Costs) -> Job:
        c_fn, c_fp = costs
        starts = self._starts[fold or 0].nearest(str(setting), _position(costs))
        if self.normalize == "mean":
            negatives, positives = self.totals.trained_on(fold).tolist()
            scale = (negatives + positives) / (c_fp * negatives + c_fn * positives)
            c_fn, c_fp = scale * c_fn, scale * c_fp
        return Job(self.bases[setting], fold, (c_fn, c_fp), starts)

    def _judged(self, models: list[Any]) -> CompleteFields:
        """Fields of a trial from the counts of its held-out scores."""
        scored = self.engine.scores(models)
        found = counted_cut(scored, self.metric) if self.tune else own_decision(scored)
        self.counted.append(found)
        hull = known_hull(found.own, found.curve)
        folds = [None if profile is None else self.metric.of(profile) for profile in found.fold_profiles]
        return {**outcome(self.metric, found.own, hull=hull, cut=found.cut), "fold_scores": tuple(folds)}

    def _failed(self, study: Study, trial: Trial, setting: int, error: Exception, times: dict[str, float]) -> Trial:
        if self.raise_errors:
            raise error
        text = "".join(traceback.format_exception(error))
        self._failures.add(trial, text)
        return study.fail(trial, text, setting=setting, **times)

    def _best(self) -> str:
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""

    # ---------------------------------------------------------------- the file

    def _open(self) -> Checkpoint | None:
        """The file of this search, with what it knows taken over; ``None`` where none is kept."""
        if self.checkpoint is None:
            return None
        content = (
            *(self.bases, self.engine.identity, self.totals.weight, self.metric, self.metric.constraint),
            *(get_strategy(self.strategy), self.tune, self.normalize),
        )
        file = Checkpoint(self.checkpoint, content)
        file.restore(self.studies)
        if file.kept is not None:
            for starts, entries in zip(self._starts, file.kept["starts"], strict=True):
                for family, position, state in entries:
                    starts.add(family, tuple(position), decode(state))
        return file

    def _save(self) -> None:
        if self._file is None:
            return
        starts = [[[k.family, list(k.position), encode(k.state)] for k in starts.known] for starts in self._starts]
        self._file.save(self.studies, {"starts": starts})


def _position(costs: Costs) -> tuple[float, ...]:
    """Where costs lie among others, for the choice of a start."""
    return tuple(map(log, costs))
