"""Dask collections as an engine of cost searches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf._common.typing import Estimator, Label
from csf._common.validation import check_labels, check_pos_label
from csf.cluster.engine import MOST_COLLECTED, Engine, FoldTotals, Job
from csf.cluster.scored import OfPart, OfResults, PartedScores, PartScores
from csf.dask.base import DaskBase, Scorer
from csf.dask.boosting import LightGBMBase, XGBoostBase
from csf.dask.collections import DaskData, RawPart
from csf.dask.linear import LinearBase
from csf.dask.survey import Survey, survey
from csf.data.labels import Labels
from csf.trainers.base import Training

__all__ = ["DaskEngine", "base_kind"]


def base_kind(base: Estimator) -> DaskBase:
    """How a base is trained on Dask collections; a TypeError where it cannot be."""
    if isinstance(base, LinearSVC | LogisticRegression):
        return LinearBase()
    kinds = (("xgboost.dask", "DaskXGBClassifier", XGBoostBase), ("lightgbm", "DaskLGBMClassifier", LightGBMBase))
    for module, name, kind in kinds:
        # Whoever made such an object has imported its library.
        if module in sys.modules and isinstance(base, getattr(sys.modules[module], name)):
            return kind(base)
    raise TypeError(
        f"base must be LinearSVC, LogisticRegression, xgboost.dask.DaskXGBClassifier or lightgbm.DaskLGBMClassifier, "
        f"got {base!r}; other classifiers need their data in memory: csf.CostSearch"
    )


class DaskEngine(Engine):
    """Trains and counts on Dask collections, by whatever scheduler Dask is set to.

    Parameters
    ----------
    data : DaskData
        The collections.
    kind : DaskBase
        How bases are trained.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    checksum : bool, default=False
        Whether the data are to be distinguished from others, see ``identity`` of `Engine`.

    Examples
    --------
    >>> import dask.array as da
    >>> X, y = np.arange(40.0).reshape(20, 2), np.arange(20) > 12
    >>> X, y, folds = (da.from_array(each, chunks=7) for each in (X, y, np.arange(20) % 2))
    >>> engine = DaskEngine(DaskData(X, y, None, folds, 2, 0), LinearBase())
    >>> engine.totals().weight.tolist()
    [[7.0, 3.0], [6.0, 4.0], [0.0, 0.0]]
    """

    def __init__(self, data: DaskData, kind: DaskBase, *, pos_label: Label = None, checksum: bool = False) -> None:
        self.data, self.kind, self._positive, self._checksum = data, kind, pos_label, checksum

    # The first pass is made when something is asked for: it counts in the time of the search.
    @cached_property
    def found(self) -> Survey:
        """What the first pass says."""
        return survey(self.data, self.kind.check_rows, checksum=self._checksum)

    @cached_property
    def _known(self) -> DaskData:
        """The collections, which must be at each read what they were in the first pass."""
        return replace(self.data, marks=self.found.marks)

    @cached_property
    def labels(self) -> Labels:
        """The classes."""
        _, classes = check_labels(self.found.labels)
        positive = check_pos_label(classes, self.found.count(classes), self._positive)
        return Labels(classes, classes[classes != positive][0])

    @property
    def identity(self) -> Any:
        """See `Engine`."""
        return self.found.checksum, self.labels.positive, self.data.n_features

    def totals(self) -> FoldTotals:
        """See `Engine.totals`."""
        return self.found.fold_totals(self.labels.positive)

    def entries(self) -> PartScores | None:
        """See `Engine.entries`."""
        if self.totals().rows[:-1].sum() > MOST_COLLECTED:
            return None
        return self._scores([]).reduced(PartScores._make, _joined)

    def most_jobs(self, n_folds: int) -> int:
        """See `Engine.most_jobs`."""
        return self.kind.most_jobs(n_folds, self.data.n_features)

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        return self.kind.train(jobs, self._known, self.found, self.labels.positive)

    def scores(self, models: Sequence[Any]) -> PartedScores:
        """See `Engine.scores`."""
        return self._scores([self.kind.scorer(model) for model in models])

    def _scores(self, scorers: list[Scorer]) -> _DaskScores:
        return _DaskScores(self._known, _Held(scorers, self.labels.positive), self.found.n_folds, self.kind.own_cut)


def _joined(parts: Sequence[PartScores]) -> PartScores:
    """Entries of several parts, in their order."""
    columns = zip(PartScores._fields, zip(*parts))
    joined: dict[str, Any] = {name: None if of[0] is None else np.concatenate(of) for name, of in columns}
    return PartScores(**joined)


class _DaskScores(PartedScores):
    """Scores that are computed in each pass."""

    def __init__(self, data: DaskData, held: _Held, n_folds: int, own_cut: float) -> None:
        super().__init__(n_folds, own_cut)
        self._data, self._held = data, held

    def reduced(self, of_part: OfPart, of_results: OfResults) -> Any:
        """See `PartedScores.reduced`."""
        return self._data.reduced(partial(_asked, held=self._held, of_part=of_part), of_results)


def _asked(part: RawPart, *, held: _Held, of_part: OfPart) -> Any:
    """Something that is asked of the scores of a partition."""
    return of_part(held(part))


@dataclass(frozen=True, eq=False)
class _Held:
    """Held-out scores of a partition: each row scored by the model of its fold, 0 without models."""

    scorers: list[Scorer]
    pos_label: Label

    def __call__(self, part: RawPart) -> PartScores:
        held = np.flatnonzero(part.fold >= 0)
        score = np.zeros(part.fold.shape[0])
        for fold, scorer in enumerate(self.scorers):
            at = np.flatnonzero(part.fold == fold)
            if at.size:
                score[at] = scorer(part.rows(at))
        weight = None if part.weight is None else part.weight[held]
        return PartScores(score[held], part.y[held] == self.pos_label, weight, part.fold[held])
