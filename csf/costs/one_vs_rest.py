"""One classifier for each class against the rest, each with costs of its own problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.parallel import Parallel, delayed

from csf._common.sklearn import clone, last_step
from csf._common.typing import Array, Costs, Estimator, IntArray, Samples
from csf.costs.channel import CostChannel, cost_channel
from csf.samples.features import Features

__all__ = [
    "WEIGHTINGS",
    "OneVsRestChannel",
    "assembled",
    "one_vs_rest_channel",
    "problem_costs",
    "problem_probabilities",
]


def problem_costs(code: int, costs: Costs) -> tuple[float, float]:
    """Costs of one class against the rest.

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


def assembled(base: OneVsRestClassifier, y: IntArray, estimators: list[Estimator]) -> OneVsRestClassifier:
    """A fitted OneVsRestClassifier.

    Parameters
    ----------
    base : OneVsRestClassifier
        Unfitted classifier; it becomes the fitted one.
    y : ndarray of int, shape (n_samples,)
        Codes it was trained on.
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


def problem_probabilities(estimator: OneVsRestClassifier | Pipeline, X: Samples, costs: Costs) -> Array:
    """Probability of each class against the rest, with the costs of its own problem taken out of its odds.

    Notes
    -----
    A OneVsRestClassifier scales the probabilities of a sample to sum 1, which mixes problems whose odds are off by
    different factors. So they are read before that.
    """
    while isinstance(estimator, Pipeline):
        before, estimator = estimator[:-1], estimator.steps[-1][1]
        X = before.transform(X) if before.steps else X
    problems: list[Estimator] = estimator.estimators_  # pyright: ignore[reportAssignmentType] (sklearn has no types)
    codes = estimator.classes_
    columns = []
    for code, problem in zip(codes[-len(problems) :], problems):
        of_class, of_rest = problem_costs(code, costs)
        p = np.asarray(problem.predict_proba(X), dtype=np.float64)[:, 1]
        columns.append(p * of_rest / (p * of_rest + (1.0 - p) * of_class))
    return np.column_stack([1.0 - columns[0], *columns] if len(columns) == 1 else columns)


@dataclass(frozen=True)
class OneVsRestChannel(CostChannel):
    """Costs that each problem of a one-vs-rest classifier has by itself.

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
        fit_params: Mapping[str, Any] | None = None,
    ) -> Estimator:
        """Train ``estimator`` in place, parameters as for `CostChannel.fit`."""
        if fit_params:
            raise ValueError(f"weighting='one-vs-rest' takes no further arguments of fit, got {sorted(fit_params)}")
        if isinstance(estimator, Pipeline):
            name, last = estimator.steps[-1]
            before = estimator[:-1]
            X = before.fit_transform(X, y) if before.steps else X
            own = self.inside(name)
            assert own is not None, "the channel was made for this pipeline"
            fitted = own.fit(last, X, y, costs, sample_weight=sample_weight, normalize=normalize)
            estimator.steps = [*before.steps, (name, fitted)]
            return estimator
        codes = np.unique(y)
        problems = codes if codes.size > 2 else codes[1:]
        fitted: Any = Parallel(n_jobs=estimator.n_jobs)(
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
        return assembled(estimator, y, fitted)


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
WEIGHTINGS = {"class": cost_channel, "one-vs-rest": one_vs_rest_channel}
