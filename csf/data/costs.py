"""Ways of class costs into training: sample weights, class weights, and one problem for each class."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

import numpy as np
from sklearn import config_context
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from csf._common.messages import warn
from csf._common.sklearn import clone, fit_request, last_name, last_step, routing_enabled, trained
from csf._common.typing import Array, BoolArray, Costs, Estimator, IntArray, Label, Params, Samples
from csf._common.validation import check_choice
from csf.data.labels import Labels
from csf.data.responses import Features, class_scores

NORMALIZATIONS = ("none", "mean")


def cost_sample_weight(
    codes: IntArray | BoolArray, costs: Costs, *, sample_weight: Array | None = None, normalize: str = "none"
) -> Array:
    """Compute the weights for the samples of a training set: class cost times the user's weight.

    Parameters
    ----------
    codes : ndarray of int or bool, shape (n_samples,)
        Codes of the classes; ``True`` for the positive one of two.
    costs : tuple of float
        ``(c_fn, c_fp)``: what there is to find (codes above 0) gets ``c_fn``, the rest ``c_fp``. More numbers are
        those of the codes.
    sample_weight : ndarray of shape (n_samples,), default=None
        The user's weights.
    normalize : {"none", "mean"}, default="none"
        ``"none"`` keeps the costs as they are, so that their size acts on the base's regularisation as in the
        papers; ``"mean"`` scales the weights to the mean of the user's weights (1 without). Then equal costs are no
        costs, and a weight of 2 is a sample that is there twice.

    Returns
    -------
    ndarray of shape (n_samples,)
        float64 weights.

    Raises
    ------
    ValueError
        If a code has no weight.

    Examples
    --------
    >>> cost_sample_weight(np.array([True, False, False]), (1.4, 0.6))
    array([1.4, 0.6, 0.6])
    >>> cost_sample_weight(np.array([2, 0, 1, 2]), (0.5, 1.0, 3.0))
    array([3. , 0.5, 1. , 3. ])
    """
    check_choice(normalize, "normalize", NORMALIZATIONS)
    weight = _of_samples(codes, costs)
    if sample_weight is not None:
        weight *= sample_weight
    if normalize == "mean":
        total = float(codes.shape[0]) if sample_weight is None else sample_weight.sum()
        weight *= total / weight.sum()
    return weight


def costs_by_code(costs: Costs) -> Costs:
    """Return the cost of each code, where ``(c_fn, c_fp)`` are those of the positive class and of the other."""
    return costs[::-1] if len(costs) == 2 else costs


def _of_samples(codes: IntArray | BoolArray, costs: Costs) -> Array:
    """Return the cost of each sample."""
    if len(costs) == 2:
        c_fn, c_fp = costs
        return np.where(codes > 0, float(c_fn), float(c_fp))
    if codes.max(initial=0) >= len(costs):
        raise ValueError(
            f"costs={costs!r} has {len(costs)} weights for codes up to {codes.max()}; give one for each class, or "
            "(c_fn, c_fp) where code 0 means nothing to find"
        )
    return np.array(costs, dtype=np.float64)[codes]


def own_class_weights(
    given: str | Mapping[Label, float] | None, codes: Array, labels: Labels, sample_weight: Array | None = None
) -> Array:
    """Compute the class weights of a base, one per code and 1 for a class it does not name; they multiply costs.

    ``"balanced"`` refers to the user's weights. From version 1.7 on scikit-learn uses the weights passed to ``fit``,
    which contain the costs, and would cancel these.
    """
    weights = np.ones(labels.classes.size)
    if isinstance(given, str):
        total = np.bincount(codes, weights=sample_weight)
        known = np.flatnonzero(total)
        weights[known] = total.sum() / (known.size * total[known])
    elif given is not None:
        known = np.unique(codes).astype(np.int64)
        names = labels.decode(known)
        weights[known] = compute_class_weight(given, classes=names, y=names)
    return weights


def check_class_weight(base: Estimator) -> None:
    """Warn where a base has class weights of its own, which multiply the costs."""
    for name, value in base.get_params(deep=True).items():
        if value is not None and name.rpartition("__")[2] == "class_weight":
            warn(f"the base has {name}={value!r}, which multiplies the searched costs; None leaves the costs alone")


def fit_to_labels(estimator: Estimator, X: Samples, codes: Array, labels: Labels, given: Params) -> Estimator:
    """Train a base on the user's labels, or on their indices in order where it rejects labels, as XGBoost does texts.

    So parameters of the base that name classes, by label or by order, have the same meaning as without a search.
    """
    y = labels.decode(codes)
    try:
        return trained(estimator, X, y, **given)
    except Exception:
        places = np.searchsorted(labels.classes, y)
        if (y.dtype == places.dtype and (y == places).all()) or not _can_be_coded(estimator, places, labels):
            raise
        with suppress(Exception):
            return trained(estimator, X, places, **given)
        raise


def _can_be_coded(estimator: Estimator, places: IntArray, labels: Labels) -> bool:
    """Check that a base can be trained on codes in the order of the labels without a change to its parameters."""
    every = set(range(labels.classes.size))
    return set(places.tolist()) == every and not any(
        name.rpartition("__")[2] == "pos_label" or (isinstance(value, dict) and every & set(value))
        for name, value in estimator.get_params().items()
    )


@dataclass(frozen=True)
class CostChannel:
    """Way in which class costs reach a base classifier.

    Parameters
    ----------
    kind : {"sample_weight", "routed", "class_weight", "none"}
        Through an argument of ``fit``; through one of the wrapped estimator, to which scikit-learn's metadata routing
        brings it; through a parameter of the estimator; or not at all, so that it is trained with equal costs alone.
    name : str
        Name of that argument or parameter, e.g. ``"clf__sample_weight"``, or ``"estimator__sample_weight"`` for a
        classifier wrapped in `sklearn.multiclass.OneVsRestClassifier`.
    """

    kind: str
    name: str

    @property
    def is_own(self) -> bool:
        """True where costs are ``sample_weight`` of the base's own ``fit``: a trainer may then weight samples."""
        return self.name == "sample_weight"

    @property
    def carries_samples(self) -> bool:
        """True where weights of single samples reach the base, not only those of classes."""
        return self.carries_costs and not self.is_by_class

    @property
    def carries_costs(self) -> bool:
        """True where costs reach the base at all."""
        return self.kind != "none"

    @property
    def is_by_class(self) -> bool:
        """True where costs are a parameter of the base, which has one weight for each class."""
        return self.kind == "class_weight"

    @property
    def is_routed(self) -> bool:
        """True where scikit-learn's metadata routing brings the weights to a wrapped estimator."""
        return self.kind == "routed"

    @property
    def has_own_costs(self) -> bool:
        """True where each problem of a one-vs-rest base has its own costs."""
        return False

    @property
    def of_problem(self) -> CostChannel:
        """Way in which costs reach the classifier that a one-vs-rest base trains for each class."""
        return self.inside("estimator") or self

    def inside(self, part: str) -> CostChannel | None:
        """Return the channel of a part of the base, such as the last step of a pipeline, or ``None``."""
        if not self.carries_costs:
            return self
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
        fit_params: Mapping[str, object] | None = None,
        labels: Labels | None = None,
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
        labels : Labels, default=None
            The user's labels of the codes, which the base is trained on, see `fit_to_labels`; ``None`` trains it on the
            codes.

        Returns
        -------
        estimator
            The same object, fitted.

        Notes
        -----
        Weights that are all 1 are not given at all where the ``fit`` that takes them has ``None`` for none: that is
        the plain training, which some bases have faster code for (`HistGradientBoostingClassifier`).
        """
        fit_params, labels = dict(fit_params or {}), _labels_of(y, labels)
        if not self.carries_costs:
            assert len(set(costs)) == 1, "other costs are not asked for"
            return fit_to_labels(estimator, X, y, labels, fit_params)
        weight = cost_sample_weight(y, costs, sample_weight=sample_weight, normalize=normalize)
        if self.is_by_class:
            weight *= own_class_weights(estimator.get_params()[self.name], y, labels)[y]
            codes, first = np.unique(y, return_index=True)
            estimator.set_params(**{self.name: dict(zip(labels.decode(codes).tolist(), weight[first].tolist()))})
            return fit_to_labels(estimator, X, y, labels, fit_params)
        name, routed = self.name, self.is_routed or routing_enabled()
        with config_context(enable_metadata_routing=routed):
            if routed:
                _request_weights(estimator, name)
                name = name.rpartition("__")[2]
            plain = sample_weight is None and _all_one(costs, normalize) and self._is_optional(estimator)
            balanced = self._balanced(estimator, y)
            if balanced:
                of_code, named = own_class_weights("balanced", y, labels, sample_weight), None
                if y.max() > 1 and _is_linear(estimator.get_params().get(self.name.rpartition("__")[0], estimator)):
                    named = dict(zip(labels.by_code.tolist(), of_code.tolist()))
                else:
                    weight, plain = weight * of_code[y], False
                estimator.set_params(**dict.fromkeys(balanced, named))
            fitted = fit_to_labels(estimator, X, y, labels, ({} if plain else {name: weight}) | fit_params)
            return fitted.set_params(**dict.fromkeys(balanced, "balanced")) if balanced else fitted

    def _balanced(self, estimator: Estimator, y: IntArray) -> list[str]:
        """Name the ``class_weight`` parameter where it is ``"balanced"``, which would cancel the costs."""
        path = self.name.rpartition("__")[0]
        name = f"{path}__class_weight" if path else "class_weight"
        # What is wrapped around a classifier may hand it other classes than those of y, unless there are but two.
        clear = not self.is_routed or y.max() == 1
        given = estimator.get_params().get(name) if clear and hasattr(estimator, "get_params") else None
        return [name] if isinstance(given, str) and given == "balanced" else []

    def _is_optional(self, estimator: Estimator) -> bool:
        """Check whether ``None`` is the default of the weights in the ``fit`` that takes them."""
        path, _, argument = self.name.rpartition("__")
        part = estimator.get_params().get(path) if path else estimator
        return has_fit_parameter(part, argument) and signature(part.fit).parameters[argument].default is None


def _labels_of(codes: IntArray, labels: Labels | None) -> Labels:
    """Return the user's labels of codes, or the codes themselves where there are no labels."""
    return Labels(np.arange(int(codes.max()) + 1), None) if labels is None else labels


def _is_linear(base: Estimator) -> bool:
    """Check whether a base may weigh each class against the rest, so that class weights differ from sample weights."""
    return any(kind.__module__.startswith(("sklearn.linear_model", "sklearn.svm")) for kind in type(base).__mro__)


def _all_one(costs: Costs, normalize: str) -> bool:
    """Check whether the weights of these costs are all 1."""
    return len(set(costs)) == 1 and (costs[0] == 1 or normalize == "mean")


# The channel of a base that takes no weights.
NO_CHANNEL = CostChannel("none", "")


def cost_channel(
    base: Estimator, *, sample_weight_name: str | None = None, weighted: bool = False, required: bool = True
) -> CostChannel:
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
    required : bool, default=True
        Whether a base that takes no weights is refused; otherwise its channel is of the kind ``"none"``.

    Returns
    -------
    CostChannel
        The channel.

    Raises
    ------
    ValueError
        If the base takes neither and ``required`` is True, or if there are sample weights and its ``fit`` does not
        take them.

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
    channel = _channel_into(base)
    if required and not channel.carries_costs:
        raise ValueError(
            f"{no_weights(base)}: its fit has no sample_weight and it has no class_weight parameter, so costs cannot "
            "reach it. Use a base that has one of them (LinearSVC, LogisticRegression, "
            "RandomForestClassifier, ...), name the fit argument with sample_weight_name=, or tune only a "
            "threshold with csf.plugin.PlugInClassifier"
        )
    if weighted and not channel.carries_samples:
        takes = f"{type(last_step(base)[1]).__name__} takes class_weight but no sample_weight"
        raise ValueError(
            f"{takes if channel.carries_costs else no_weights(base)}, so the given sample_weight cannot reach it. "
            "Drop sample_weight, or use a base whose fit has it"
        )
    return channel


def _sampler_in(base: Estimator) -> str | None:
    """Name the part of a base that draws or adds rows, which weights cannot follow; ``None`` without one."""
    for part in (base, *(base.get_params(deep=True).values() if hasattr(base, "get_params") else ())):
        draws = hasattr(part, "sampling_strategy") and not has_fit_parameter(part, "sample_weight")
        if draws or hasattr(part, "fit_resample"):
            return type(part).__name__
    return None


def no_weights(base: Estimator) -> str:
    """Say why weights cannot reach a base."""
    sampler = _sampler_in(base)
    if sampler is None:
        return f"{last_name(base)} takes no weights"
    way = f"leave {sampler} out, as costs weigh the classes, or search its parameters by param_grid"
    return f"{sampler} draws or adds rows, which weights cannot follow ({way})"


def _channel_into(base: Estimator) -> CostChannel:
    """Find the first way in which weights reach a base."""
    prefix, last = last_step(base)
    if _sampler_in(base) is not None:
        return NO_CHANNEL
    if has_fit_parameter(last, "sample_weight"):
        return CostChannel("sample_weight", f"{prefix}sample_weight")
    wrapped = _wrapped_path(last)
    if wrapped is not None:
        return CostChannel("routed", f"{prefix}{wrapped}sample_weight")
    known = last.get_params() if hasattr(last, "get_params") else ()
    return CostChannel("class_weight", f"{prefix}class_weight") if "class_weight" in known else NO_CHANNEL


def _wrapped_path(base: Estimator) -> str | None:
    """Find the parameter prefix of the inner classifier that takes weights and receives them; ``None`` without one."""
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
    """Request weights in the named step and all below it, and none elsewhere, where no request was set.

    Routing rejects weights as long as any estimator inside the base (a scaler in a column transformer, the model of a
    calibration) has no request for them.
    """
    wanted, _, argument = name.rpartition("__")
    for path, part in base.get_params(deep=True).items():
        if isinstance(part, type) or not has_fit_parameter(part, argument) or not hasattr(part, "set_fit_request"):
            continue
        inside = not wanted or path == wanted or path.startswith(f"{wanted}__")
        if path == wanted or fit_request(part, argument) is None:
            part.set_fit_request(**{argument: inside})


def problem_costs(code: int, costs: Costs) -> tuple[float, float]:
    """Compute the costs of one class against the rest.

    Parameters
    ----------
    code : int
        Code of the class; 0 for nothing to find.
    costs : tuple of float
        ``(c_fn, c_fp)`` of the whole problem.

    Returns
    -------
    tuple of float
        Cost of a sample of the class and of a sample of the rest. What there is to find costs ``c_fn``, and what is
        found by mistake ``c_fp``: against the null class the roles are swapped.

    Examples
    --------
    >>> problem_costs(2, (1.4, 0.6)), problem_costs(0, (1.4, 0.6))
    ((1.4, 0.6), (0.6, 1.4))
    """
    c_fn, c_fp = costs
    return (c_fp, c_fn) if code == 0 else (c_fn, c_fp)


def problems_of(codes: IntArray, labels: Labels) -> IntArray:
    """List the codes of the classes that a one-vs-rest classifier trains against the rest, ordered by label."""
    order = labels.encode(labels.classes)
    order = order[np.isin(order, codes)]
    return order if order.size > 2 else order[1:]


def assembled(base: OneVsRestClassifier, y: Array, estimators: list[Estimator]) -> OneVsRestClassifier:
    """Assemble a fitted OneVsRestClassifier.

    Parameters
    ----------
    base : OneVsRestClassifier
        Unfitted classifier; it becomes the fitted one.
    y : ndarray of shape (n_samples,)
        Labels it was trained on.
    estimators : list of estimator
        Fitted classifiers: one for each class, or one for the second of two.

    Returns
    -------
    OneVsRestClassifier
        The same object.
    """
    base.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(y)
    base.classes_, base.estimators_ = base.label_binarizer_.classes_, estimators
    Features.of(estimators[0]).put_on(base)
    return base


def problem_probabilities(estimator: Estimator, X: Samples, costs: Costs, null: Label = 0) -> Array:
    """Predict the probability of each class against the rest, with the costs of its problem removed from the odds.

    Notes
    -----
    A OneVsRestClassifier scales the probabilities of a sample to sum 1, which mixes problems whose odds are off by
    different factors. So they are read before that.
    """
    while isinstance(estimator, Pipeline):
        before, estimator = estimator[:-1], estimator.steps[-1][1]
        X = before.transform(X) if before.steps else X
    problems: list[Estimator] = estimator.estimators_  # pyright: ignore[reportAssignmentType] (sklearn has no types)
    columns = []
    for label, problem in zip(estimator.classes_[-len(problems) :], problems):
        of_class, of_rest = problem_costs(int(label != null), costs)
        p = class_scores(problem, X, ("predict_proba",))[:, 1]
        columns.append(p * of_rest / (p * of_rest + (1.0 - p) * of_class))
    return np.column_stack([1.0 - columns[0], *columns] if len(columns) == 1 else columns)


@dataclass(frozen=True)
class OneVsRestChannel(CostChannel):
    """Way in which the costs of each problem of a one-vs-rest classifier reach it.

    Parameters
    ----------
    kind : {"one-vs-rest"}
        Distinguishes it from other channels.
    name : str
        Where the wrapped classifier is in the base, e.g. ``"estimator"`` or ``"clf__estimator"``.
    inner : CostChannel
        How costs reach the wrapped classifier.
    """

    inner: CostChannel

    @property
    def has_own_costs(self) -> bool:
        """True; see `CostChannel.has_own_costs`."""
        return True

    @property
    def of_problem(self) -> CostChannel:
        """See `CostChannel.of_problem`."""
        return self.inner

    def fit(
        self,
        estimator: Estimator,
        X: Samples,
        y: IntArray,
        costs: Costs,
        *,
        sample_weight: Array | None = None,
        normalize: str = "none",
        fit_params: Mapping[str, object] | None = None,
        labels: Labels | None = None,
    ) -> Estimator:
        """Train ``estimator`` in place, with parameters as for `CostChannel.fit`."""
        labels = _labels_of(y, labels)
        if fit_params:
            raise ValueError(f"weighting='one-vs-rest' takes no further arguments of fit, got {sorted(fit_params)}")
        if isinstance(estimator, Pipeline):
            name, last = estimator.steps[-1]
            before = estimator[:-1]
            X = before.fit_transform(X, labels.decode(y)) if before.steps else X
            channel = self.inside(name)
            assert channel is not None, "the channel was made for this pipeline"
            fitted = channel.fit(last, X, y, costs, sample_weight=sample_weight, normalize=normalize, labels=labels)
            estimator.steps = [*before.steps, (name, fitted)]
            return estimator
        problems = problems_of(y, labels)
        fitted: Estimator = Parallel(n_jobs=estimator.n_jobs)(
            delayed(self.inner.fit)(
                clone(estimator.estimator),
                X,
                (y == k) * 1,
                problem_costs(k, costs),
                sample_weight=sample_weight,
                normalize=normalize,
            )
            for k in problems
        )
        return assembled(estimator, labels.decode(y), fitted)


def one_vs_rest_channel(
    base: Estimator, *, sample_weight_name: str | None = None, weighted: bool = False
) -> OneVsRestChannel:
    """Find out how the costs of each problem reach the classifier that a one-vs-rest classifier wraps.

    Parameters
    ----------
    base : estimator
        OneVsRestClassifier, or a pipeline that ends in one.
    sample_weight_name : str, default=None
        Argument of the wrapped classifier's ``fit`` that takes the weights; ``None`` looks for it.
    weighted : bool, default=False
        Whether the user gave sample weights, which ``class_weight`` cannot carry.

    Returns
    -------
    OneVsRestChannel
        The channel.

    Raises
    ------
    ValueError
        If the base is none, or wraps a classifier that takes no weights.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> one_vs_rest_channel(OneVsRestClassifier(LinearSVC())).name
    'estimator'
    """
    prefix, last = last_step(base)
    if not isinstance(last, OneVsRestClassifier):
        raise ValueError(
            f"weighting='one-vs-rest' needs a base that solves one problem for each class, got {type(last).__name__}; "
            "wrap it in sklearn.multiclass.OneVsRestClassifier, or use weighting='class'"
        )
    inner = cost_channel(last.estimator, sample_weight_name=sample_weight_name, weighted=weighted)
    return OneVsRestChannel("one-vs-rest", f"{prefix}estimator", inner)


# How costs are spread over samples: by their class, or in each problem of a one-vs-rest base by itself.
WEIGHTINGS = {"class": partial(cost_channel, required=False), "one-vs-rest": one_vs_rest_channel}
