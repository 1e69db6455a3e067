"""Dask collections as an engine of cost searches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf._common.typing import Estimator, Label
from csf._validation import check_binary_target
from csf.cluster.engine import Engine, FoldTotals, Job
from csf.cluster.scored import OfPart, OfResults, PartedScores, PartScores
from csf.dask.base import DaskBase, Scorer
from csf.dask.boosting import LightGBMBase, XGBoostBase
from csf.dask.collections import DaskData, RawPart
from csf.dask.linear import LinearBase
from csf.dask.survey import survey
from csf.samples.labels import Labels
from csf.trainers.base import Training

__all__ = ["DaskEngine", "base_kind"]


def base_kind(base: Estimator) -> DaskBase:
    """How a base is trained on Dask collections.

    Parameters
    ----------
    base : estimator
        The base.

    Returns
    -------
    DaskBase
        Its kind.

    Raises
    ------
    TypeError
        If there is none for it.
    """
    if isinstance(base, LinearSVC | LogisticRegression):
        return LinearBase()
    kinds = (("xgboost.dask", "DaskXGBClassifier", XGBoostBase), ("lightgbm", "DaskLGBMClassifier", LightGBMBase))
    for module, name, kind in kinds:
        # Whoever made such an object has imported its library.
        if module in sys.modules and isinstance(base, getattr(sys.modules[module], name)):
            return kind()
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
        Whether the data are to be told from others, see ``identity`` of `Engine`.

    Attributes
    ----------
    labels : Labels
        The classes.

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
        self.data, self.kind = data, kind
        self.found = survey(data, checksum=checksum)
        classes, _, self.pos_label = check_binary_target(self.found.labels, pos_label)
        self.labels = Labels(classes, classes[classes != self.pos_label][0])
        self.identity = self.found.checksum, self.pos_label, data.n_features

    def totals(self) -> FoldTotals:
        """See `Engine.totals`."""
        return self.found.fold_totals(self.pos_label)

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        return self.kind.train(jobs, self.data, self.found, self.pos_label)

    def scores(self, models: Sequence[Any]) -> PartedScores:
        """See `Engine.scores`."""
        scorers = [self.kind.scorer(model) for model in models]
        return _DaskScores(self.data, _Held(scorers, self.pos_label), self.found.n_folds, self.kind.own_cut)


class _DaskScores(PartedScores):
    """Scores that are computed in each pass."""

    def __init__(self, data: DaskData, held: _Held, n_folds: int, own_cut: float) -> None:
        super().__init__(n_folds, own_cut)
        self._data, self._held = data, held

    def reduced(self, of_part: OfPart, of_results: OfResults) -> Any:
        """See `PartedScores.reduced`."""
        return self._data.reduced(_Counted(self._held, of_part), of_results)


@dataclass(frozen=True, eq=False)
class _Held:
    """Held-out scores of a partition: each row scored by the model of its fold."""

    scorers: list[Scorer]
    pos_label: Label

    def __call__(self, part: RawPart) -> PartScores:
        held = np.flatnonzero(part.fold >= 0)
        score = np.empty(part.fold.shape[0])
        for fold, scorer in enumerate(self.scorers):
            at = np.flatnonzero(part.fold == fold)
            if at.size:
                score[at] = scorer(part.rows(at))
        weight = None if part.weight is None else part.weight[held]
        return PartScores(score[held], part.y[held] == self.pos_label, weight, part.fold[held])


@dataclass(frozen=True, eq=False)
class _Counted:
    """Something that is asked of the scores of a partition."""

    held: _Held
    of_part: OfPart

    def __call__(self, part: RawPart) -> Any:
        return self.of_part(self.held(part))
