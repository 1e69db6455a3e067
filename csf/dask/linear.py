"""LinearSVC and LogisticRegression on Dask collections: Newton's method, one pass over the data for each step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from csf._common.sklearn import clone
from csf._common.typing import Array, Estimator, Label, Samples
from csf.cluster.newton import Answer, LinearModel, Question, add_answers, answers, solve_together
from csf.cluster.problem import LinearProblem
from csf.dask.base import DaskBase, Scorer
from csf.dask.collections import FAN_IN, DaskData, RawPart, matrix
from csf.solvers.base import DIRECT
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.cluster.engine import Job
    from csf.dask.survey import Survey

__all__ = ["LinearBase"]

# Second derivatives of all jobs in the answer of one partition: some of them are merged at a time, 64 MB together.
_MOST_BYTES = (1 << 26) // FAN_IN


class LinearBase(DaskBase):
    """Trains scikit-learn's linear models on sums over partitions, all folds in the same passes."""

    method = "decision_function"

    def most_jobs(self, n_folds: int, n_features: int) -> int:
        """See `csf.cluster.Engine.most_jobs`."""
        size = n_features + 1
        numbers = size**2 if size <= DIRECT else size
        return max(n_folds, _MOST_BYTES // (8 * numbers))

    def check(self, base: Estimator) -> None:
        """See `DaskBase.check`."""
        LinearProblem.of(base)

    def check_rows(self, part: RawPart) -> None:
        """See `DaskBase.check_rows`."""
        try:
            X = matrix(part.X)
        except TypeError as error:
            raise TypeError(f"in partition {part.index} {error}") from None
        if np.isfinite(X.data if sparse.issparse(X) else X).all():
            return
        X = sparse.coo_array(X)
        at = np.argmin(np.isfinite(X.data))
        column = int(X.col[at])
        name = repr(part.X.columns[column]) if hasattr(part.X, "columns") else column
        raise ValueError(
            f"X holds {X.data[at]} in partition {part.index}, row {X.row[at]} of it, column {name}: linear models need "
            "finite numbers; fill missing values in the collection before the search, e.g. with fillna, or drop those "
            "rows"
        )

    def train(self, jobs: Sequence[Job], data: DaskData, found: Survey, pos_label: Label) -> list[Training | Exception]:
        """See `DaskBase.train`."""

        def ask(questions: list[Question]) -> list[Answer]:
            return data.reduced(partial(_answers, questions=questions, pos_label=pos_label), add_answers)

        try:
            models = solve_together(jobs, data.n_features, ask)
        except ValueError as error:
            # Features or weights that are too large, for one job or for all.
            return [error for _ in jobs]
        return [Training(model, state=model.w, gap=model.relative_gap) for model in models]

    def scorer(self, model: LinearModel) -> Scorer:
        """See `DaskBase.scorer`."""
        return partial(_scores, model)

    def fitted(self, base: Estimator, model: LinearModel, names: Array | None) -> Estimator:
        """See `DaskBase.fitted`."""
        fitted = clone(base)
        fitted.coef_ = model.w[None, :-1].copy()
        fitted.intercept_ = np.array([model.w[-1] * model.constant])
        fitted.classes_ = np.array([0, 1])
        fitted.n_features_in_ = model.w.shape[0] - 1
        problem = LinearProblem.of(base)
        fitted.n_iter_ = np.array([model.n_iter], dtype=np.int32) if problem.logistic else model.n_iter
        if names is not None:
            fitted.feature_names_in_ = names
        return fitted

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        return clone(base)

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        return fitted


def _scores(model: LinearModel, X: Samples) -> Array:
    return model.scores(matrix(X))


def _answers(part: RawPart, *, questions: list[Question], pos_label: Label) -> list[Answer]:
    return answers(part.coded(pos_label), questions)
