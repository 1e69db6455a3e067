"""LightGBM: the binned samples of a fold are made once, each training puts its own weights on them.

Bins of LightGBM come from the values of the features alone, so that trainings with other weights can share them. That
is not so for XGBoost, whose bin edges are weighted quantiles, nor for scikit-learn 1.9's
`HistGradientBoostingClassifier`, which bins by the weights too: kept bins would change their models, so both are cloned
and fitted each time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import joblib
import numpy as np
from scipy import sparse

from csf._common.typing import Costs, Estimator, Samples
from csf.data.costs import CostChannel, cost_sample_weight
from csf.data.folds import Fold
from csf.data.responses import Response, response_method
from csf.trainers.base import Trainer, Training
from csf.trainers.prepared import Prepared

__all__ = ["OTHER_NAMES", "LightGBMTrainer", "lightgbm_trainers"]

# What a Dataset does not depend on. min_child_samples is not among them: features that it leaves nothing to split are
# filtered out, and columns are drawn from those that are left.
_OF_TRAINING = (
    *("n_estimators", "learning_rate", "num_leaves", "max_depth", "min_split_gain", "min_child_weight"),
    *("reg_alpha", "reg_lambda", "subsample", "subsample_freq", "colsample_bytree"),
)
# Other names of n_estimators and objective, and what stops a training before its last round.
OTHER_NAMES = frozenset(
    (
        *("n_iter", "num_trees", "num_tree", "max_iter", "num_boost_round", "num_iterations", "num_iteration"),
        *("nrounds", "num_rounds", "num_round", "app", "loss", "objective_type", "application"),
        *("early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change"),
        *("input_model", "model_input", "model_in"),
    )
)


class _Bins:
    """The Dataset of a fold, for one training at a time; as a pickle it is empty, and is filled again where it goes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.dataset: Any = None
        self.params: dict[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Bins, ()

    def __call__(self, env: Any) -> None:
        """Keep what the base's own training is made of: a callback, called after each round of it."""
        if env.iteration == env.begin_iteration:
            self.dataset = env.model.train_set
            self.params = {name: value for name, value in env.params.items() if name != "num_iterations"}


class LightGBMTrainer(Trainer):
    """Trains `lightgbm.LGBMClassifier` on one Dataset for each fold.

    The first training of a fold is that of the base itself, whose Dataset and parameters are kept; the others are
    `lightgbm.train` with other weights, and give the same trees to the last bit.
    """

    # Trees grow outside of Python; different folds side by side, those of one Dataset one after the other.
    releases_gil = True

    def __init__(self, base: Estimator, fold: Fold, channel: CostChannel, normalize: str, bins: _Bins) -> None:
        super().__init__(base, fold, channel, normalize)
        self._bins = bins

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train the base, or the same trees on the Dataset of an earlier training; see `Trainer.fit`."""
        with self._bins.lock:
            is_first = self._bins.dataset is None
            model = self.train_base(costs, callbacks=[self._bins]) if is_first else self._next(costs)
        return Training(model, costs=costs)

    def _next(self, costs: Costs) -> Any:
        import lightgbm

        weight = cost_sample_weight(
            self.fold.y_train, costs, sample_weight=self.fold.weight_train, normalize=self.normalize
        )
        # set_weight would keep the weights of the training before where all are 1: None takes them away.
        dataset, plain = self._bins.dataset, bool(np.all(weight == 1.0))
        dataset.set_field("weight", None if plain else weight.astype(np.float32))
        # Kept as it was trained: the way through text that ends a training otherwise changes nothing but the time.
        rounds = {"num_boost_round": self.base.n_estimators, "keep_training_booster": True}
        return lightgbm.train(self._params(), dataset, **rounds)

    def _params(self) -> dict[str, Any]:
        own = self.base.get_params()
        return self._bins.params | {name: own[name] for name in _OF_TRAINING if name != "n_estimators"}

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """As the base's class answers; see `Trainer.predict`."""
        if hasattr(training.model, "predict_proba"):
            return super().predict(training, part, tune=tune)
        X = self.fold.X_test if part == "test" else self.fold.X_train
        raw = tune and response_method(self.base) == "decision_function"
        score = np.asarray(training.model.predict(X, raw_score=raw, **self._params()), dtype=np.float64)
        decided = score > 0.0 if raw else score > (0.5 if tune else 1.0 - score)
        return Response(decided, score if tune else None)


def lightgbm_trainers(
    base: Estimator, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Trainers of `lightgbm.LGBMClassifier`, one for each fold."""
    task = folds[0].task
    if not channel.is_own or task.fit_params or task.several or not _serves(base, task.X):
        return None
    known = prepared.setdefault("lightgbm", WeakKeyDictionary())
    key = _dataset_key(base)
    bins = [_Bins() if key is None else known.setdefault(fold, {}).setdefault(key, _Bins()) for fold in folds]
    return [LightGBMTrainer(base, fold, channel, normalize, each) for fold, each in zip(folds, bins)]


def _serves(base: Estimator, X: Samples) -> bool:
    lightgbm, pandas = sys.modules.get("lightgbm"), sys.modules.get("pandas")
    known, params = lightgbm is not None and type(base) is lightgbm.LGBMClassifier, base.get_params()
    numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiu"
    frame = pandas is not None and isinstance(X, pandas.DataFrame)
    return (
        known
        and (numbers or frame or sparse.issparse(X))
        and params["class_weight"] is None
        and params["objective"] in (None, "binary")
        and OTHER_NAMES.isdisjoint(params)
    )


def _dataset_key(base: Estimator) -> str | None:
    """Hash of all parameters that a Dataset may depend on; ``None`` where there is none."""
    rest = {name: value for name, value in sorted(base.get_params().items()) if name not in _OF_TRAINING}
    try:
        return joblib.hash(rest)
    except Exception:  # what cannot be pickled cannot be compared
        return None
