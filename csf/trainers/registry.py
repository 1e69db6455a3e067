"""Registry of trainers by the type of the base; costs reach the last step of a pipeline alone."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping, Sequence
from functools import partial
from importlib.util import find_spec
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from csf._common.sklearn import clone, routing_enabled
from csf._common.typing import Array, Costs, Estimator, Samples
from csf.data.costs import CostChannel
from csf.data.folds import Fold, LabelFold, Task
from csf.data.responses import Response
from csf.trainers.base import (
    FittedSteps,
    GenericTrainer,
    Kept,
    Maker,
    Prepared,
    Steps,
    Trainer,
    Training,
    checked_trainers,
    hash_of,
)
from csf.trainers.boosters import lightgbm_trainers, rounds_trainers
from csf.trainers.linear import liblinear_kind, linear_trainers
from csf.trainers.multiclass import label_trainers, linear_svc_trainers, logistic_trainers, one_vs_rest_trainers

ENGINES = ("auto", "generic", "liblinear")


def make_trainers(
    base: Estimator,
    folds: list[Fold],
    channel: CostChannel,
    normalize: str = "none",
    shared: MutableMapping[str, Kept] | None = None,
    *,
    engine: str = "auto",
) -> list[Trainer]:
    """Make the trainers of one base, one for each fold.

    Parameters
    ----------
    base : estimator
        Unfitted classifier with its parameters set.
    folds : list of Fold
        Folds of the same task.
    channel : CostChannel
        How costs reach the base.
    normalize : {"none", "mean"}, default="none"
        See `csf.data.costs.cost_sample_weight`.
    shared : Prepared or dict, default=None
        What several settings on the same folds share; the same object for all of them. A dict keeps a `Prepared`.
    engine : {"auto", "generic", "liblinear"}, default="auto"
        ``"auto"`` takes the fast trainer registered for the base's exact type, where it serves the base;
        ``"generic"`` trains a clone of the base each time; ``"liblinear"`` trains linear models with LIBLINEAR's own
        package, see `csf.trainers`.

    Returns
    -------
    list of Trainer
        In the order of the folds.

    Raises
    ------
    ImportError
        If LIBLINEAR is requested and not installed.
    ValueError
        If it does not support the base or the data.
    """
    several = [fold for fold in folds if isinstance(fold, LabelFold)]
    if several:
        options = channel, normalize, Prepared.of(shared)
        return label_trainers(base, several, lambda column: make_trainers(base, column, *options, engine=engine))
    if engine == "liblinear" and find_spec("liblinear") is None:
        raise ImportError(
            "engine='liblinear' needs the package liblinear-official, which a C compiler installs (on Windows none is "
            "needed): pip install liblinear-official; engine='auto' trains the same models without it"
        )
    maker = _maker_of(type(base), engine)
    prepared = Prepared.of(shared)
    made = None if maker is None else checked_trainers(maker(base, folds, channel, normalize, prepared), folds)
    if not made and engine == "liblinear":
        raise ValueError(
            f"engine='liblinear' cannot train {base!r} with these samples and arguments: samples must be finite "
            "numbers, weights go by sample_weight alone, without further arguments of fit, metadata routing or "
            "verbose=; use engine='auto' or 'generic'"
        )
    trainers = made or [GenericTrainer(base, fold, channel, normalize) for fold in folds]
    return rounds_trainers(base, folds, trainers, prepared) if engine == "auto" else trainers


def register_trainer(base_type: type, maker: Maker) -> None:
    """Register a trainer of your own for the bases of one type.

    Parameters
    ----------
    base_type : type
        Exact type of the base; subclasses may learn something else and are not served.
    maker : callable
        ``maker(base, folds, channel, normalize, prepared)``, called with positions alone, returns a list of `Trainer`,
        one for each fold, or ``None`` where it cannot serve this base. ``folds`` are `csf.data.Fold`, ``channel`` is
        the `csf.data.CostChannel` by which costs reach the base, and ``prepared`` the `csf.trainers.Prepared` in which
        the maker may keep, as in a dict, what all settings on the same samples can share. Where no class is the null
        class (``folds[0].n_alike``), costs are weights by code, see `Trainer.fit` and `Trainer.predict`.

    Raises
    ------
    TypeError
        If the base is no type, or the maker cannot be called.

    Notes
    -----
    Whether the trainers are right is not asked here: `csf.testing.check_trainer` checks the maker on a base, for costs
    that reach the model swapped or not at all, predictions that are not the estimator's own, and much more.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> register_trainer(GaussianNB, lambda base, folds, channel, normalize, prepared: None)
    """
    if not isinstance(base_type, type):
        raise TypeError(f"base_type must be the type of the base, such as LinearSVC, got {base_type!r}")
    if not callable(maker):
        raise TypeError(
            "maker must be a function of (base, folds, channel, normalize, prepared) that returns a list of trainers, "
            f"got {maker!r}"
        )
    _MAKERS[base_type] = maker


def _maker_of(base_type: type, engine: str) -> Maker | None:
    if engine != "auto":
        return _BY_ENGINE[engine].get(base_type, _BY_ENGINE[engine].get(object))
    maker = _MAKERS.get(base_type)
    return _BY_NAME.get(f"{base_type.__module__}.{base_type.__qualname__}") if maker is None else maker


# ---------------------------------------------------------------- pipelines


class PipelineTrainer(Trainer):
    """Trainer of the last step of a pipeline on the output of the fitted steps before it."""

    def __init__(self, base: Pipeline, steps: list[tuple[str, Estimator]], last: Trainer) -> None:
        self.base, self.steps, self.last = base, steps, last
        self.releases_gil = last.releases_gil

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of boosters comes late)
        """Family of the last step on the output of these fitted steps."""
        return None if self.last.family is None else f"{self.last.family} on {id(self.steps)}"

    def leave_out(self) -> bool:
        """Score each sample without it in the last step; see `Trainer.leave_out`."""
        return self.last.leave_out()

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the position of the last step; see `Trainer.position`."""
        return self.last.position(costs)

    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train the last step; see `Trainer.fit`."""
        return self.last.fit(costs, starts)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict with the last step; see `Trainer.predict`."""
        return self.last.predict(training, part, tune=tune)

    def estimator(self, training: Training) -> Estimator:
        """Return the whole pipeline; see `Trainer.estimator`."""
        return self._with_last(self.last.estimator(training))

    def fitted(self, costs: Costs) -> Estimator:
        """Return the whole pipeline; see `Trainer.fitted`."""
        return self._with_last(self.last.fitted(costs))

    def _with_last(self, last: Estimator) -> Estimator:
        model = clone(self.base)
        model.steps = [*self.steps, (self.base.steps[-1][0], last)]
        return model


def pipeline_trainers(
    base: Pipeline,
    folds: list[Fold],
    channel: CostChannel,
    normalize: str,
    prepared: Prepared,
    *,
    engine: str = "auto",
) -> list[Trainer] | None:
    """Make the trainers of a pipeline, one for each fold."""
    name, last = base.steps[-1]
    inner_channel = channel.inside(name)
    # Arguments of fit, given or routed, could be meant for any step: the whole pipeline is fitted each time then.
    if len(base.steps) < 2 or inner_channel is None or routing_enabled() or folds[0].task.fit_params:
        return None
    steps = _fit_before(base, folds, prepared)
    if steps is None:
        return None
    made = []
    for fold, step in zip(folds, steps):
        (trainer,) = make_trainers(
            last, [_transformed(fold, step)], inner_channel, normalize, step.prepared, engine=engine
        )
        made.append(PipelineTrainer(base, step.fitted, trainer))
    return made


def _fit_before(base: Pipeline, folds: list[Fold], prepared: Prepared) -> list[Steps] | None:
    """Fit the steps before the last one for each fold, or reuse those of an earlier setting with the same steps."""
    key = hash_of(base.steps[:-1])
    splits = [(fold.train, fold.test) for fold in folds]
    for known in prepared.steps:
        if known.serve(key, splits):
            return known.steps
    task = folds[0].task
    steps = _fit_steps(base, folds, task.user_labels.decode(task.codes) if prepared.labels is None else prepared.labels)
    if key is not None:
        prepared.steps.append(FittedSteps(key, splits, steps))
    return steps


def _fit_steps(base: Pipeline, folds: list[Fold], y: Array) -> list[Steps] | None:
    result = []
    for fold in folds:
        before = clone(base)[:-1]
        X_train, X_test = (fold.task.samples(rows, fold.train) for rows in (fold.train, fold.test))
        try:
            parts = before.fit_transform(X_train, y[fold.train]), before.transform(X_test)
        except Exception:  # every trial then fails with the same error, and records it
            return None
        joined = _joined(*parts)
        if joined is None:
            return None
        result.append(Steps(before.steps, joined, Prepared()))
    return result


def _joined(train: Samples, test: Samples) -> Samples | None:
    """Stack the rows of both parts; return ``None`` if that could change their values."""
    if sparse.issparse(train):
        return sparse.vstack([train, test]).tocsr()
    if isinstance(train, np.ndarray):
        return np.concatenate([train, test])
    name = type(train).__module__.partition(".")[0]
    # Frames that set_output(transform=...) gives exist only where their package is imported.
    if name not in ("pandas", "polars") or type(test) is not type(train) or list(test.columns) != list(train.columns):
        return None
    # Categories that differ would become texts, and numbers next to missing ones other numbers.
    same = list(test.dtypes) == list(train.dtypes)
    return sys.modules[name].concat([train, test]) if same else None


def _transformed(fold: Fold, steps: Steps) -> Fold:
    """Build the fold of transformed samples, training part above held-out part; one fold for all settings."""
    known: WeakKeyDictionary[Fold, Fold] = steps.prepared.setdefault("folds", WeakKeyDictionary())
    if fold not in known:
        weight = None
        if fold.weight_train is not None and fold.weight_test is not None:
            weight = np.concatenate([fold.weight_train, fold.weight_test])
        task = Task(steps.X, np.concatenate([fold.y_train, fold.y_test]), weight, labels=fold.task.labels)
        n_train = fold.train.shape[0]
        known[fold] = Fold(task, np.arange(n_train), np.arange(n_train, steps.X.shape[0]))
    return known[fold]


# ---------------------------------------------------------------- what is registered


def liblinear_trainers(
    base: Estimator, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Make LIBLINEAR's trainers of a linear base, one for each fold; return ``None`` where it refuses the samples."""
    if folds[0].task.n_alike is not None:
        raise ValueError(
            f"engine='liblinear' weighs one class against the rest, and y has {folds[0].task.n_alike} classes of which "
            "none means nothing to find; use engine='auto' or 'generic', or name that class with null_class="
        )
    if folds[0].task.several and not channel.has_own_costs:
        raise ValueError(
            "LIBLINEAR weighs a class against the rest, whose classes have different costs with weighting='class'; "
            "use OneVsRestClassifier with weighting='one-vs-rest', or engine='auto'"
        )
    make = one_vs_rest_trainers if type(base) is OneVsRestClassifier else linear_trainers
    return make(base, folds, channel, normalize, prepared, kind_of=liblinear_kind)


_MAKERS: dict[type, Maker] = {
    LinearSVC: linear_svc_trainers,
    LogisticRegression: logistic_trainers,
    OneVsRestClassifier: one_vs_rest_trainers,
    Pipeline: pipeline_trainers,
}

# Types of packages that csf does not import: a base of such a type exists only where its package is imported.
_BY_NAME: dict[str, Maker] = {"lightgbm.sklearn.LGBMClassifier": lightgbm_trainers}

# An engine that is named serves all bases (`object`) or refuses them.
_BY_ENGINE: dict[str, dict[type, Maker]] = {
    "generic": {},
    "liblinear": {
        Pipeline: partial(pipeline_trainers, engine="liblinear"),
        object: liblinear_trainers,
    },
}
