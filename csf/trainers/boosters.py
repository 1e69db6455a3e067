"""Boosters: shared bins, numbers of rounds read off one training, and settings to try besides the user's own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from csf._common.dtypes import is_real
from csf._common.sklearn import last_step
from csf._common.typing import Array, Costs, Estimator, Foreign, Keywords, Params, Samples
from csf.data.costs import CostChannel, cost_sample_weight
from csf.data.folds import Fold
from csf.data.responses import Response, response_method
from csf.trainers.base import Prepared, Trainer, Training, hash_of

# ---------------------------------------------------------------- LightGBM
# Bins of LightGBM come from the values of the features alone, so that trainings with other weights can share them. That
# is not so for XGBoost, whose bin edges are weighted quantiles, nor for scikit-learn 1.9's
# `HistGradientBoostingClassifier`, which bins by the weights too: kept bins would change their models, so both are
# cloned and fitted each time.


# What a Dataset does not depend on. min_child_samples is not among them: features that it leaves nothing to split are
# filtered out, and columns are drawn from those that are left.
_OF_TRAINING = (
    *("n_estimators", "learning_rate", "num_leaves", "max_depth", "min_split_gain", "min_child_weight"),
    *("reg_alpha", "reg_lambda", "subsample", "subsample_freq", "colsample_bytree"),
)
# Other names of n_estimators, and of objective, and what stops a training before its last round.
_ROUNDS_NAMES = (
    *("n_iter", "num_trees", "num_tree", "max_iter", "num_boost_round", "num_iterations", "num_iteration"),
    *("nrounds", "num_rounds", "num_round"),
)
_STOPPING_NAMES = ("early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change")
OTHER_NAMES = frozenset(
    (
        *(*_ROUNDS_NAMES, *_STOPPING_NAMES, "app", "loss", "objective_type", "application"),
        *("input_model", "model_input", "model_in"),
    )
)


class _Trained(Exception):
    """Signal of a callback that a training is over, with its booster."""

    def __init__(self, booster: Foreign) -> None:
        self.booster = booster


class _FeatureBins:
    """Dataset of a fold, for one training at a time; a pickled copy is empty, and is filled again where it is used."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.dataset: Foreign = None
        self.params: Keywords = {}

    def __reduce__(self) -> tuple[object, ...]:
        return _FeatureBins, ()

    def __call__(self, env: Foreign) -> None:
        """Keep the Dataset of the base's own training: a callback, called after each round."""
        if env.iteration == env.begin_iteration:
            self.dataset = env.model.train_set
            self.params = {name: value for name, value in env.params.items() if name != "num_iterations"}

    def end(self, env: Foreign) -> None:
        """End the base's own training after its last round: a callback, called after `__call__`."""
        # Otherwise the booster would be written as text and read again, which changes nothing but the time.
        if env.iteration + 1 == env.end_iteration:
            raise _Trained(env.model)


class LightGBMTrainer(Trainer):
    """Trainer of `lightgbm.LGBMClassifier` on one Dataset for each fold.

    The first training of a fold is that of the base itself, whose Dataset and parameters are kept; the others are
    `lightgbm.train` with other weights, and give the same trees to the last bit.
    """

    # Trees grow outside of Python; different folds side by side, those of one Dataset one after the other.
    releases_gil = True

    def __init__(self, base: Estimator, fold: Fold, channel: CostChannel, normalize: str, bins: _FeatureBins) -> None:
        super().__init__(base, fold, channel, normalize)
        self._bins, self._is_final = bins, fold.train.size == fold.task.n_samples
        known = base.get_params()
        self._parameters = {name: known[name] for name in _OF_TRAINING if name != "n_estimators"}

    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train the base, or the same trees on the Dataset of an earlier training; see `Trainer.fit`."""
        with self._bins.lock:
            model = self._first(costs) if self._bins.dataset is None else self._next(costs)
        return Training(model, costs=costs)

    def _first(self, costs: Costs) -> Estimator:
        # The last training of a search gives the fitted base itself.
        callbacks = [self._bins] if self._is_final else [self._bins, self._bins.end]
        try:
            return self.train_base(costs, callbacks=callbacks)
        except _Trained as trained:
            return trained.booster

    def _next(self, costs: Costs) -> Estimator:
        import lightgbm

        weight = cost_sample_weight(
            self.fold.y_train, costs, sample_weight=self.fold.weight_train, normalize=self.normalize
        )
        # set_weight would keep the weights of the training before where all are 1: None takes them away.
        dataset, plain = self._bins.dataset, bool(np.all(weight == 1.0))
        dataset.set_field("weight", None if plain else weight.astype(np.float32))
        # Kept as it was trained, as in `_FeatureBins.end`.
        rounds = {"num_boost_round": self.base.n_estimators, "keep_training_booster": True}
        return lightgbm.train(self._params(), dataset, **rounds)

    def _params(self) -> Params:
        return self._bins.params | self._parameters

    def fitted(self, costs: Costs) -> Estimator:
        """Train the base itself; see `Trainer.fitted`."""
        return self.train_base(costs)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict as the base's class does; see `Trainer.predict`."""
        if hasattr(training.model, "predict_proba"):
            return super().predict(training, part, tune=tune)
        X = self.fold.X_test if part == "test" else self.fold.X_train
        method = response_method(self.base)
        raw = tune and method == "decision_function"
        last = np.asarray(training.model.predict(X, raw_score=raw, **self._params()), dtype=np.float64)
        is_first = self.fold.labels.positive_is_first
        score = (-last if raw else 1.0 - last) if is_first else last
        decided = score > (0.0 if raw else 0.5) if tune else (last > 1.0 - last) != is_first
        return Response(decided, score if tune else None, method=method)


def lightgbm_trainers(
    base: Estimator, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Make the trainers of `lightgbm.LGBMClassifier`, one for each fold."""
    task = folds[0].task
    if not channel.is_own or task.fit_params or task.several or not _serves(base, task.X):
        return None
    known = prepared.setdefault("lightgbm", WeakKeyDictionary())
    key = _dataset_key(base)
    bins = [
        _FeatureBins() if key is None else known.setdefault(fold, {}).setdefault(key, _FeatureBins()) for fold in folds
    ]
    return [LightGBMTrainer(base, fold, channel, normalize, bin_set) for fold, bin_set in zip(folds, bins)]


def _serves(base: Estimator, X: Samples) -> bool:
    lightgbm, pandas = sys.modules.get("lightgbm"), sys.modules.get("pandas")
    known, params = lightgbm is not None and type(base) is lightgbm.LGBMClassifier, base.get_params()
    numbers = isinstance(X, np.ndarray) and X.ndim == 2 and is_real(X)
    frame = pandas is not None and isinstance(X, pandas.DataFrame)
    return (
        known
        and (numbers or frame or sparse.issparse(X))
        and params["class_weight"] is None
        and params["objective"] in (None, "binary")
        and OTHER_NAMES.isdisjoint(params)
    )


def _dataset_key(base: Estimator) -> str | None:
    """Hash all parameters that a Dataset may depend on; return ``None`` where that is impossible."""
    rest = {name: value for name, value in sorted(base.get_params().items()) if name not in _OF_TRAINING}
    return hash_of(rest)


# ---------------------------------------------------------------- rounds
# Trainers of settings that differ in their number of rounds alone train the largest number, once for each fold and
# costs, and read what the smaller ones say about the held-out samples off its first rounds. These answers are the state
# that later trials start from, so that they travel to workers and into checkpoints as solutions of linear models do.


# ask(model, method, rounds, X) has the answer of a model's first rounds.
Ask: TypeAlias = Callable[..., Array]
_ANSWERS = ("predict", "predict_proba", "decision_function")
# Samples beyond which scikit-learn's early_stopping="auto" stops.
_STOPS = 10_000


class Rounds(NamedTuple):
    """Name and value of a booster's parameter for the number of rounds, and how to predict with the first ones."""

    name: str
    number: int
    ask: Ask


def rounds_of(base: Estimator, n_samples: int = 0) -> Rounds | None:
    """Return the rounds of a booster whose shorter trainings are the first rounds of longer ones; ``None`` for others.

    Those that stop early by themselves are not among these (where they leave it to ``n_samples``, that decides), nor
    those that change or average earlier trees, such as dart.
    """
    known = _KINDS.get(_name_of(base))
    if known is None:
        return None
    (name, ask, keeps_first), params = known, base.get_params(deep=False)
    # XGBoost and CatBoost have their defaults in another place.
    rounds = 100 if params.get(name) is None else params[name]
    if not isinstance(rounds, Integral) or isinstance(rounds, bool) or int(rounds) < 1:
        return None
    return Rounds(name, int(rounds), ask) if keeps_first(params, n_samples) else None


def _name_of(base: Estimator) -> str:
    """Return package and class of a base, as the tables here name it."""
    kind = type(base)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def _of_lightgbm(params: Params, n_samples: int) -> bool:
    return params["boosting_type"] == "gbdt" and (OTHER_NAMES | {"boosting", "boost"}).isdisjoint(params)


def _of_xgboost(params: Params, n_samples: int) -> bool:
    unusual = ("early_stopping_rounds", "callbacks", "process_type", "updater")
    return params["booster"] in (None, "gbtree") and all(params.get(name) is None for name in unusual)


def _of_catboost(params: Params, n_samples: int) -> bool:
    # A learning rate of its own depends on the number of rounds; other names of that hide it.
    unusual = ("early_stopping_rounds", "od_type", "od_pval", "od_wait", "n_estimators", *_ROUNDS_NAMES)
    return {"iterations", "learning_rate"} <= params.keys() and not any(name in params for name in unusual)


def _of_histograms(params: Params, n_samples: int) -> bool:
    stops = n_samples > _STOPS if params["early_stopping"] == "auto" else params["early_stopping"]
    return not stops and not params["warm_start"]


def _of_trees(params: Params, n_samples: int) -> bool:
    return params["n_iter_no_change"] is None and not params["warm_start"]


def _lightgbm(model: Estimator, method: str, rounds: int, X: Samples, **options: object) -> Array:
    return getattr(model, method)(X, num_iteration=rounds, **options)


def _xgboost(model: Estimator, method: str, rounds: int, X: Samples) -> Array:
    return getattr(model, method)(X, iteration_range=(0, rounds))


def _catboost(model: Estimator, method: str, rounds: int, X: Samples) -> Array:
    return getattr(model, method)(X, ntree_end=rounds)


def _staged(model: Estimator, method: str, rounds: int, X: Samples) -> Array:
    """Return the prediction after ``rounds`` rounds of a model that gives those after each round."""
    *_, last = islice(getattr(model, f"staged_{method}")(X), rounds)
    # Those of gradient boosting have a column for the one score of two classes.
    return last.ravel() if last.ndim == 2 and last.shape[1] == 1 else last


# By package and class: a base of this kind exists only where its package is imported. Subclasses may differ.
_KINDS: dict[str, tuple[str, Ask, Callable[[Params, int], bool]]] = {
    "lightgbm.LGBMClassifier": ("n_estimators", _lightgbm, _of_lightgbm),
    "xgboost.XGBClassifier": ("n_estimators", _xgboost, _of_xgboost),
    "catboost.CatBoostClassifier": ("iterations", _catboost, _of_catboost),
    "sklearn.HistGradientBoostingClassifier": ("max_iter", _staged, _of_histograms),
    "sklearn.GradientBoostingClassifier": ("n_estimators", _staged, _of_trees),
}


def is_rounds(name: str) -> bool:
    """Check whether a parameter, perhaps one of the last step of a pipeline, is a number of rounds of boosting."""
    return name.rpartition("__")[2] in {known[0] for known in _KINDS.values()}


def check_early_stopping(base: Estimator, fit_params: Mapping[str, object]) -> None:
    """Raise a ValueError where a booster is to stop early, and has no samples for that."""
    prefix, last = last_step(base)
    if _name_of(last) not in ("lightgbm.LGBMClassifier", "xgboost.XGBClassifier"):
        return
    given = [name for name in _STOPPING_NAMES if last.get_params().get(name)]
    if given and {f"{prefix}eval_set", f"{prefix}eval_X"}.isdisjoint(fit_params):
        raise ValueError(
            f"{prefix}{given[0]}={last.get_params()[given[0]]!r} stops by samples that are given for it, and there are "
            f"none: leave {given[0]} out, as csf chooses the number of rounds by the samples that its folds hold out "
            f"(param_grid='auto'), or give fit({prefix}eval_set=[(X, y)])"
        )


class _First:
    """Fitted model that predicts with its first rounds only."""

    def __init__(self, model: Estimator, rounds: int, ask: Ask) -> None:
        self._model, self._rounds, self._ask = model, rounds, ask

    # Messages name the model.
    __class__ = property(lambda self: type(self._model))  # pyright: ignore[reportAssignmentType]

    def __getattr__(self, name: str) -> object:
        answer = getattr(self._model, name)
        return partial(self._ask, self._model, name, self._rounds) if name in _ANSWERS else answer


# Costs of a training, and the rounds and held-out answers of all settings that it holds, as plain values for records.
RoundsState: TypeAlias = tuple[Costs, tuple[tuple[Any, ...], ...]]


class RoundsTrainer(Trainer):
    """Trainer of a booster that trains it, or reads its predictions off the training of more rounds.

    ``family_of_fold`` has the trainers of all settings of this fold that differ in their rounds alone, by these; with
    one of them it is that trainer. ``key`` names the family.
    """

    def __init__(self, family_of_fold: dict[int, Trainer], rounds: Rounds, key: str) -> None:
        self._trainers, self._rounds, self._key = family_of_fold, rounds, key
        inner = self._trainers[rounds.number]
        self.base, self.fold, self.channel, self.normalize = inner.base, inner.fold, inner.channel, inner.normalize
        self.releases_gil = inner.releases_gil

    @property
    def inner(self) -> Trainer:
        """Trainer of the base itself."""
        return self._trainers[self._rounds.number]

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (known once all are made)
        """Family of settings that are the first rounds of each other."""
        return self._key if len(self._trainers) > 1 else None

    def fit(self, costs: Costs, starts: Sequence[RoundsState | None] = ()) -> Training:
        """Train the largest number of rounds, unless a start holds its result; see `Trainer.fit`."""
        if self.family is None:
            return self.inner.fit(costs)
        for start in starts:
            # Of several labels some may have none.
            if start is not None and tuple(start[0]) == tuple(costs):
                return self._read(start, None)
        largest = max(self._trainers)
        training = self._trainers[largest].fit(costs)
        answers = [self._answer(training, largest, rounds) for rounds in sorted(self._trainers)]
        state = tuple(costs), tuple((rounds, *answer) for rounds, answer in zip(sorted(self._trainers), answers))
        if largest == self._rounds.number:
            return training._replace(state=state, costs=costs)
        return self._read(state, state)

    def _answer(self, training: Training, largest: int, rounds: int) -> Response:
        """Predict with the first rounds of the longest training."""
        first = _First(training.model, rounds, self._rounds.ask)
        return self._trainers[largest].predict(training._replace(model=first), "test", tune=True)

    def _read(self, known: RoundsState, state: RoundsState | None) -> Training:
        """Build a training from the result of another one."""
        answer = next(answer for rounds, *answer in known[1] if rounds == self._rounds.number)
        return Training(Response(*answer), state, costs=known[0])

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Return the predictions read off another training, or those of the model; see `Trainer.predict`."""
        if not isinstance(training.model, Response):
            return self.inner.predict(training, part, tune=tune)
        if part == "test":
            return training.model if tune else training.model._replace(score=None)
        # Bounds on training parts ask for these: they are read for few users, and trained for these.
        assert training.costs is not None, "what is read says so"
        return self.inner.predict(self.inner.fit(training.costs), part, tune=tune)

    def fitted(self, costs: Costs) -> Estimator:
        """Train the base itself; see `Trainer.fitted`."""
        return self.inner.fitted(costs)

    def estimator(self, training: Training) -> Estimator:
        """Return the base, trained with its own number of rounds; see `Trainer.estimator`."""
        if not isinstance(training.model, Response):
            return self.inner.estimator(training)
        assert training.costs is not None, "what is read says so"
        return self.train_base(training.costs)


def rounds_trainers(base: Estimator, folds: list[Fold], made: list[Trainer], prepared: Prepared) -> list[Trainer]:
    """Make trainers that share one training where the base is a booster; else return those ``made``."""
    # Arguments of fit may stop a training early.
    rounds = None if folds[0].task.fit_params else rounds_of(base, folds[0].task.n_samples)
    if rounds is None:
        return made
    rest = {**base.get_params(), rounds.name: None}
    # Functions of a user may have no pickle; clones of a base share them.
    key = f"{type(base).__name__} {hash_of(rest) or sorted(rest.items())!r}"
    known: WeakKeyDictionary[Fold, dict[str, dict[int, Trainer]]] = prepared.setdefault("rounds", WeakKeyDictionary())
    result: list[Trainer] = []
    for fold, trainer in zip(folds, made):
        family = known.setdefault(fold, {}).setdefault(key, {})
        family[rounds.number] = trainer
        result.append(RoundsTrainer(family, rounds, key))
    return result


# ---------------------------------------------------------------- settings
# Where every probability counts, as with costs of rows, defaults overfit few samples. Of 24 settings that were tried,
# any four gain about the same over them: many small trees, few of the smallest, and large ones with random splits.


_VARIANTS: dict[str, tuple[Params, ...]] = {
    "lightgbm.LGBMClassifier": (
        {"num_leaves": 7, "learning_rate": 0.03, "n_estimators": 300, "min_child_samples": 50, "reg_lambda": 10},
        {"num_leaves": 4, "learning_rate": 0.05},
        {"num_leaves": 63, "learning_rate": 0.05, "n_estimators": 200, "colsample_bytree": 0.4, "extra_trees": True},
    ),
    "xgboost.XGBClassifier": (
        {"max_depth": 3, "learning_rate": 0.03, "n_estimators": 300, "min_child_weight": 5, "reg_lambda": 10},
        {"max_depth": 2, "learning_rate": 0.05},
        {"max_depth": 6, "learning_rate": 0.05, "n_estimators": 200, "colsample_bytree": 0.4, "subsample": 0.5},
    ),
    "catboost.CatBoostClassifier": (
        {"depth": 3, "learning_rate": 0.03, "iterations": 300, "l2_leaf_reg": 10},
        {"depth": 2, "learning_rate": 0.05, "iterations": 100},
        {"depth": 6, "learning_rate": 0.05, "iterations": 200, "rsm": 0.4},
    ),
    "sklearn.HistGradientBoostingClassifier": (
        {"max_leaf_nodes": 7, "learning_rate": 0.03, "max_iter": 300, "min_samples_leaf": 50, "l2_regularization": 10},
        {"max_leaf_nodes": 4, "learning_rate": 0.05},
        {"max_leaf_nodes": 63, "learning_rate": 0.05, "max_iter": 200, "max_features": 0.4},
    ),
}
# Defaults that a class leaves to its package, which has them under these names.
_UNSAID: dict[str, Params] = {
    "xgboost.XGBClassifier": {
        "max_depth": 6,
        "learning_rate": 0.3,
        "n_estimators": 100,
        "min_child_weight": 1,
        "reg_lambda": 1,
        "colsample_bytree": 1,
        "colsample_bylevel": 1,
        "subsample": 1,
        "max_leaves": 0,
    },
    "catboost.CatBoostClassifier": {"depth": 6, "iterations": 1000, "l2_leaf_reg": 3, "rsm": 1},
}
# Names of the same parameter, of which users may give any one.
_SYNONYMS = (
    ("n_estimators", "iterations", *_ROUNDS_NAMES),
    ("learning_rate", "eta", "shrinkage_rate"),
    ("num_leaves", "num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
    ("max_depth", "depth"),
    ("min_child_samples", "min_data_in_leaf", "min_data_per_leaf", "min_data", "min_samples_leaf"),
    ("min_child_weight", "min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian"),
    ("reg_lambda", "lambda", "lambda_l2", "l2_leaf_reg", "l2_regularization"),
    ("colsample_bytree", "feature_fraction", "sub_feature", "rsm", "colsample_bylevel", "max_features"),
    ("subsample", "sub_row", "bagging", "bagging_fraction"),
    ("extra_trees", "extra_tree"),
)


def _with_defaults(base: Estimator) -> Params:
    """Return the parameters of a booster, with the values that its package gives those left to it."""
    unsaid, params = _UNSAID.get(_name_of(base), {}), base.get_params(deep=False)
    return unsaid | {name: value for name, value in params.items() if value is not None or name not in unsaid}


def variants_of(base: Estimator) -> list[Params]:
    """List settings of a booster to try besides its own; empty for other bases.

    Parameters that have another value than the default of the base's class, under any of their names, are the user's
    choice: no setting changes them.
    """
    if _name_of(base) not in _VARIANTS:
        return []
    params, default = _with_defaults(base), _with_defaults(type(base)())

    def is_given(name: str) -> bool:
        names = next((names_alike for names_alike in _SYNONYMS if name in names_alike), (name,))
        return any(name_alike in params and params[name_alike] != default.get(name_alike) for name_alike in names)

    variants: list[Params] = []
    for variant in () if params.get("booster") == "gblinear" else _VARIANTS[_name_of(base)]:
        free = {name: value for name, value in variant.items() if not is_given(name)}
        if free and free not in variants:
            variants.append(free)
    return variants
