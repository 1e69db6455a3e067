"""The ways in which class costs reach a base classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import has_fit_parameter

from csf._common.sklearn import clone, fit_request, last_step, routing_enabled
from csf._common.typing import Array, Costs, Estimator, IntArray, Samples
from csf.costs.weights import cost_sample_weight, own_class_weights

__all__ = ["CostChannel", "cost_channel"]


@dataclass(frozen=True)
class CostChannel:
    """How class costs reach a base classifier.

    Parameters
    ----------
    kind : {"sample_weight", "routed", "class_weight"}
        Through an argument of ``fit``; through one of the wrapped estimator, to which scikit-learn's metadata routing
        brings it; or through a parameter of the estimator.
    name : str
        Name of that argument or parameter, e.g. ``"clf__sample_weight"``, or ``"estimator__sample_weight"`` for a
        classifier wrapped in `sklearn.multiclass.OneVsRestClassifier`.
    """

    kind: str
    name: str

    @property
    def is_own(self) -> bool:
        """Whether costs are ``sample_weight`` of the base's own ``fit``, which a trainer may put on samples itself."""
        return self.name == "sample_weight"

    @property
    def carries_samples(self) -> bool:
        """Whether weights of single samples get through, not those of classes alone."""
        return self.kind != "class_weight"

    @property
    def has_own_costs(self) -> bool:
        """Whether each problem of a one-vs-rest base has costs of its own."""
        return False

    @property
    def of_problem(self) -> CostChannel:
        """How costs reach the classifier that a one-vs-rest base trains for each class."""
        return self.inside("estimator") or self

    def inside(self, part: str) -> CostChannel | None:
        """How costs reach a part of the base, such as the last step of a pipeline; ``None`` where they go elsewhere."""
        path, _, rest = self.name.partition("__")
        return replace(self, name=rest) if path == part and rest else None

    def fit(
        self,
        estimator: Estimator,
        X: Samples,
        y: IntArray,
        costs: Costs,
        *,
        sample_weight: Array | None = None,
        normalize: str = "none",
        fit_params: Mapping[str, Any] | None = None,
    ) -> Estimator:
        """Train ``estimator`` in place with the given class costs.

        Parameters
        ----------
        estimator : estimator
            An unfitted clone of the base.
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : ndarray of shape (n_samples,)
            Targets: 0 where there is nothing to find, 1 (or 1, 2, … for several classes) where there is something; or
            codes of classes that are all alike.
        costs : tuple of float
            ``(c_fn, c_fp)``, or weights of the codes; see `cost_sample_weight`.
        sample_weight : ndarray of shape (n_samples,), default=None
            The user's weights.
        normalize : {"none", "mean"}, default="none"
            See `cost_sample_weight`.
        fit_params : mapping, default=None
            Further arguments of the base's ``fit``.

        Returns
        -------
        estimator
            The same object, fitted.

        Notes
        -----
        Weights that are all 1 are not given at all where the ``fit`` that takes them has ``None`` for none: that is
        the plain training, which some bases have faster code for (`HistGradientBoostingClassifier`).
        """
        fit_params = dict(fit_params or {})
        weight = cost_sample_weight(y, costs, sample_weight=sample_weight, normalize=normalize)
        if self.kind == "class_weight":
            codes, first = np.unique(y, return_index=True)
            estimator.set_params(**{self.name: dict(zip(codes.tolist(), weight[first].tolist()))})
            return estimator.fit(X, y, **fit_params)
        name, routed = self.name, self.kind == "routed" or routing_enabled()
        with config_context(enable_metadata_routing=routed):
            if routed:
                _request_weights(estimator, name)
                name = name.rpartition("__")[2]
            plain = sample_weight is None and _all_one(costs, normalize) and self._is_optional(estimator)
            weights = {} if plain else {name: weight}
            own = self._balanced(estimator, y)
            estimator.set_params(**{each: own_class_weights("balanced", y, sample_weight) for each in own})
            fitted = estimator.fit(X, y, **weights, **fit_params)
            return fitted.set_params(**dict.fromkeys(own, "balanced")) if own else fitted

    def _balanced(self, estimator: Estimator, y: IntArray) -> list[str]:
        """Name of the ``class_weight`` beside the weights where it is ``"balanced"``, which would undo the costs."""
        path = self.name.rpartition("__")[0]
        name = f"{path}__class_weight" if path else "class_weight"
        # What is wrapped around a classifier may hand it other classes than those of y, unless there are but two.
        clear = self.kind == "sample_weight" or y.max() == 1
        own = estimator.get_params().get(name) if clear and hasattr(estimator, "get_params") else None
        return [name] if isinstance(own, str) and own == "balanced" else []

    def _is_optional(self, estimator: Estimator) -> bool:
        """Whether the ``fit`` that takes the weights has ``None`` as their default."""
        path, _, argument = self.name.rpartition("__")
        part = estimator.get_params().get(path) if path else estimator
        return has_fit_parameter(part, argument) and signature(part.fit).parameters[argument].default is None


def _all_one(costs: Costs, normalize: str) -> bool:
    """Whether the weights of these costs are all 1."""
    return len(set(costs)) == 1 and (costs[0] == 1 or normalize == "mean")


def cost_channel(base: Estimator, *, sample_weight_name: str | None = None, weighted: bool = False) -> CostChannel:
    """Find out how costs reach a base classifier.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    sample_weight_name : str, default=None
        Argument of the base's ``fit`` that takes the weights, such as ``"clf__sample_weight"`` for a pipeline's
        step ``clf``. ``None`` looks for it: ``sample_weight`` of the base, of the last step of a pipeline, or of the
        classifier that the base wraps and passes metadata to, else the parameter ``class_weight``.
    weighted : bool, default=False
        Whether the user gave sample weights, which ``class_weight`` cannot carry.

    Returns
    -------
    CostChannel
        The channel.

    Raises
    ------
    ValueError
        If the base takes neither, or only ``class_weight`` although there are sample weights.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> cost_channel(make_pipeline(StandardScaler(), LinearSVC()))
    CostChannel(kind='sample_weight', name='linearsvc__sample_weight')
    """
    if sample_weight_name is not None:
        if not isinstance(sample_weight_name, str):
            raise TypeError(f"sample_weight_name must be a str or None, got {sample_weight_name!r}")
        return CostChannel("sample_weight", sample_weight_name)
    prefix, last = last_step(base)
    if has_fit_parameter(last, "sample_weight"):
        return CostChannel("sample_weight", f"{prefix}sample_weight")
    wrapped = _wrapped_path(last)
    if wrapped is not None:
        return CostChannel("routed", f"{prefix}{wrapped}sample_weight")
    if "class_weight" not in (last.get_params() if hasattr(last, "get_params") else ()):
        raise ValueError(
            f"{type(last).__name__} takes no weights: its fit has no sample_weight and it has no class_weight "
            "parameter, so costs cannot reach it. Use a base that has one of them (LinearSVC, LogisticRegression, "
            "RandomForestClassifier, ...), name the fit argument with sample_weight_name=, or tune only a "
            "threshold with csf.thresholding.PlugInClassifier"
        )
    if weighted:
        raise ValueError(
            f"{type(last).__name__} takes class_weight but no sample_weight, so the given sample_weight cannot reach "
            "it. Drop sample_weight, or use a base whose fit has it"
        )
    return CostChannel("class_weight", f"{prefix}class_weight")


def _wrapped_path(base: Estimator) -> str | None:
    """Prefix of the parameters of the classifier inside a base that takes weights and is given them, or ``None``."""
    path, part = "", base
    while hasattr(part, "estimator") and not has_fit_parameter(part, "sample_weight"):
        if hasattr(part, "scoring"):  # a search would need the weights for its scores as well
            return None
        prefix, part = last_step(part.estimator)
        path += f"estimator__{prefix}"
    if not path or not has_fit_parameter(part, "sample_weight"):
        return None
    asking = clone(base)
    with config_context(enable_metadata_routing=True):
        _request_weights(asking, f"{path}sample_weight")
        try:
            passed = "sample_weight" in asking.get_metadata_routing().consumes("fit", ["sample_weight"])
        except (AttributeError, NotImplementedError):  # a wrapper that knows nothing of routing
            passed = False
    return path if passed else None


def _request_weights(base: Estimator, name: str) -> None:
    """Ask for weights in the named step and all below it, and for none elsewhere, where nothing was said about them.

    Routing refuses weights as long as any estimator inside the base (a scaler in a column transformer, the model
    of a calibration) leaves open whether it wants them.
    """
    wanted, _, argument = name.rpartition("__")
    for path, part in base.get_params(deep=True).items():
        if isinstance(part, type) or not has_fit_parameter(part, argument) or not hasattr(part, "set_fit_request"):
            continue
        inside = not wanted or path == wanted or path.startswith(f"{wanted}__")
        if path == wanted or fit_request(part, argument) is None:
            part.set_fit_request(**{argument: inside})
