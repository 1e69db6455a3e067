"""DaskXGBClassifier and DaskLGBMClassifier: trained by their own libraries on partitions of the training part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Array, Estimator, Label, Samples
from csf.dask.base import DaskBase, Scorer
from csf.dask.collections import ChangedRows, is_frame
from csf.dask.watch import with_all_workers
from csf.data.responses import positive_score, response_method
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.cluster.engine import Job
    from csf.dask.collections import DaskData, RawPart
    from csf.dask.survey import Survey

__all__ = ["BoostingBase", "LightGBMBase", "XGBoostBase"]


class BoostingBase(DaskBase):
    """What both libraries share: they take collections and a cluster, and train one model after the other.

    Scores are those of a search in memory, which asks a classifier for decisions first: LightGBM has some from 4.7 on.
    """

    def __init__(self, base: Estimator) -> None:
        # All boosters have probabilities.
        self.method = response_method(self.in_memory(base)) or "predict_proba"

    def check(self, base: Estimator) -> None:
        """See `DaskBase.check`."""
        from distributed import get_client

        if base.get_params().get("client") is not None:
            raise ValueError(
                f"{type(base).__name__}(client=...) cannot be cloned; make the client the default one, Client(...), "
                "and leave client=None"
            )
        try:
            get_client()
        except ValueError:
            raise ValueError(
                f"{type(base).__name__} trains on a cluster, and there is none; start one, e.g. "
                "distributed.Client(), before the search"
            ) from None

    def train(self, jobs: Sequence[Job], data: DaskData, found: Survey, pos_label: Label) -> list[Training | Exception]:
        """See `DaskBase.train`."""
        return [self._trained(job, data, found, pos_label) for job in jobs]

    def _trained(self, job: Job, data: DaskData, found: Survey, pos_label: Label) -> Training | Exception:
        from distributed import get_client

        def train() -> Training:
            return Training(self._fit(clone(job.base), *_collections(job, data, found, pos_label)))

        trained = with_all_workers(get_client(), train)
        if isinstance(trained, ChangedRows):
            raise trained
        return trained

    @abstractmethod
    def _fit(self, base: Estimator, X: Any, y: Any, weight: Any) -> Estimator:
        """The base, fitted."""

    def scorer(self, model: Estimator) -> Scorer:
        """See `DaskBase.scorer`."""
        return partial(positive_score, self.local(model), pos_label=1, methods=(self.method,))

    def fitted(self, base: Estimator, model: Estimator, names: Array | None) -> Estimator:
        """See `DaskBase.fitted`."""
        return model


class XGBoostBase(BoostingBase):
    """Trains `xgboost.dask.DaskXGBClassifier`."""

    def _fit(self, base: Estimator, X: Any, y: Any, weight: Any) -> Estimator:
        return base.fit(X, y, sample_weight=weight)

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        from xgboost import XGBClassifier

        return XGBClassifier(**base.get_params())

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        local = self.in_memory(fitted)
        local.load_model(fitted.get_booster().save_raw())
        return local


class LightGBMBase(BoostingBase):
    """Trains `lightgbm.DaskLGBMClassifier`."""

    def _fit(self, base: Estimator, X: Any, y: Any, weight: Any) -> Estimator:
        from dask.base import persist
        from distributed import wait

        # It asks for the pieces of samples and labels one after the other, and mixes them up where they are made anew.
        kept = [persist(each)[0] for each in (X, y, weight)]  # frames and arrays do not go together
        wait(kept)
        return base.fit(*kept[:2], sample_weight=kept[2])

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        from lightgbm import LGBMClassifier

        return LGBMClassifier(**{name: value for name, value in base.get_params().items() if name != "client"})

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        return fitted.to_local()


def _collections(job: Job, data: DaskData, found: Survey, pos_label: Label) -> tuple[Any, Any, Any]:
    """Samples, codes and weights of the training part, with equal partitions and none of them empty."""
    from dask.delayed import delayed

    pieces, lengths = [], []
    cut = delayed(_training_rows, nout=3, pure=False)
    for part, length in zip(data.parts, found.n_training(job.fold, len(data.parts)), strict=True):
        if length:
            pieces.append(cut(part, job.fold, job.costs, pos_label))
            lengths.append(length)
    import dask.array as da

    def stacked(parts: Sequence[Any], dtype: Any, *more: int) -> Any:
        return da.concatenate([da.from_delayed(part, (n, *more), dtype) for part, n in zip(parts, lengths)])

    samples, codes, weights = zip(*pieces)
    if is_frame(data.X):
        import dask.dataframe as dd

        X = dd.from_delayed(list(samples), meta=data.X._meta, verify_meta=False)
    else:
        X = stacked(samples, data.X.dtype, data.n_features)
    # Codes and weights of frames are arrays too: of a series, XGBoost would look for the classes by a shuffle.
    return X, stacked(codes, np.int64), stacked(weights, np.float64)


def _training_rows(
    part: RawPart, fold: int | None, costs: tuple[float, float], pos_label: Label
) -> tuple[Samples, Array, Array]:
    """Samples, codes and weights of the rows that a fold trains on."""
    kept = np.flatnonzero(part.fold != fold) if fold is not None else np.arange(part.fold.shape[0])
    is_pos = part.y[kept] == pos_label
    weight = np.where(is_pos, *costs) * (1.0 if part.weight is None else part.weight[kept])
    return part.rows(kept), is_pos.astype(np.int64), weight
