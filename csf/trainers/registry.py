"""Which trainer serves which base."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import partial
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from csf._common.typing import Estimator
from csf.data.costs import CostChannel
from csf.data.folds import Fold, LabelFold
from csf.trainers.base import GenericTrainer, Maker, Prepared, Trainer
from csf.trainers.boosters import lightgbm_trainers, rounds_trainers
from csf.trainers.liblinear import liblinear_trainers
from csf.trainers.multiclass import label_trainers, linear_svc_trainers, logistic_trainers, one_vs_rest_trainers
from csf.trainers.pipeline import pipeline_trainers
from csf.trainers.quick_check import quick_check

__all__ = ["ENGINES", "make_trainers", "register_trainer"]

ENGINES = ("auto", "generic", "liblinear")


def make_trainers(
    base: Estimator,
    folds: list[Fold],
    channel: CostChannel,
    normalize: str = "none",
    shared: MutableMapping[str, Any] | None = None,
    *,
    engine: str = "auto",
) -> list[Trainer]:
    """Trainers of one base, one for each fold.

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
        package, see `csf.trainers.liblinear`.

    Returns
    -------
    list of Trainer
        In the order of the folds.

    Raises
    ------
    ValueError
        If LIBLINEAR is asked for what it cannot do.
    """
    several = [fold for fold in folds if isinstance(fold, LabelFold)]
    if several:
        options = channel, normalize, Prepared.of(shared)
        return label_trainers(base, several, lambda column: make_trainers(base, column, *options, engine=engine))
    maker = _maker_of(type(base), engine)
    prepared = Prepared.of(shared)
    made = None if maker is None else maker(base, folds, channel, normalize, prepared)
    if not made and engine == "liblinear":
        raise ValueError(
            f"engine='liblinear' cannot train {base!r} with these samples and arguments: samples must be finite "
            "numbers, weights go by sample_weight alone, without further arguments of fit, metadata routing or "
            "verbose=; use engine='auto' or 'generic'"
        )
    trainers = made or [GenericTrainer(base, fold, channel, normalize) for fold in folds]
    return rounds_trainers(base, folds, trainers, prepared) if engine == "auto" else trainers


def register_trainer(base_type: type, maker: Maker) -> None:
    """Have bases of one type trained by a trainer of your own.

    Parameters
    ----------
    base_type : type
        Exact type of the base; subclasses may learn something else and are not served.
    maker : callable
        ``maker(base, folds, channel, normalize, prepared)``, called with positions alone, returns a list of `Trainer`,
        one for each fold, or ``None`` where it cannot serve this base. ``folds`` are `csf.data.Fold`, ``channel``
        is the `csf.data.CostChannel` by which costs reach the base, and ``prepared`` the `csf.trainers.Prepared` in
        which the maker may keep, as in a dict, what all settings on the same samples can share. Where no class means
        nothing to find (``folds[0].n_alike``), costs are weights by code, see `Trainer.fit` and `Trainer.predict`.

    Raises
    ------
    TypeError
        If the base is no type, or the maker returns something else.
    ValueError
        If its trainers cannot be right, on 40 rows and a base with the parameters' defaults: costs that reach the
        model swapped or not at all, an estimator without ``classes_``, predictions that are not its own.

    Notes
    -----
    Types that cannot be made without arguments are taken as they come; `csf.testing.check_trainer` checks trainers of
    any base, and much more.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> register_trainer(GaussianNB, lambda base, folds, channel, normalize, prepared: None)
    """
    if not isinstance(base_type, type):
        raise TypeError(f"base_type must be the type of the base, such as LinearSVC, got {base_type!r}")
    try:
        base = base_type()
    except Exception:  # needs arguments, as OneVsRestClassifier and Pipeline do
        base = None
    if base is not None:
        quick_check(maker, base)
    _MAKERS[base_type] = maker


def _maker_of(base_type: type, engine: str) -> Maker | None:
    if engine != "auto":
        return _BY_ENGINE[engine].get(base_type, _BY_ENGINE[engine].get(object))
    own = _MAKERS.get(base_type)
    return _BY_NAME.get(f"{base_type.__module__}.{base_type.__qualname__}") if own is None else own


_MAKERS: dict[type, Maker] = {
    LinearSVC: linear_svc_trainers,
    LogisticRegression: logistic_trainers,
    OneVsRestClassifier: one_vs_rest_trainers,
    Pipeline: partial(pipeline_trainers, trainers=make_trainers),
}

# Types of packages that are not imported for this: whoever has such a base has imported its package.
_BY_NAME: dict[str, Maker] = {"lightgbm.sklearn.LGBMClassifier": lightgbm_trainers}

# Engines that are asked for by name serve all bases (`object`) alike, or refuse them.
_BY_ENGINE: dict[str, dict[type, Maker]] = {
    "generic": {},
    "liblinear": {
        Pipeline: partial(pipeline_trainers, trainers=partial(make_trainers, engine="liblinear")),
        object: liblinear_trainers,
    },
}
