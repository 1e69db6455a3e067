"""One classifier for each class against the rest, each with costs of its own problem."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.parallel import Parallel, delayed

from csf._validation import last_step
from csf.costs import WeightRoute, weight_route

__all__ = ["WEIGHTINGS", "OneVsRestRoute", "assembled", "one_vs_rest_route", "problem_costs"]


def problem_costs(code, costs):
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


def assembled(base, y, estimators):
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
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimators[0], name):
            setattr(base, name, getattr(estimators[0], name))
    return base


@dataclass(frozen=True)
class OneVsRestRoute(WeightRoute):
    """Costs that each problem of a one-vs-rest classifier has by itself.

    Parameters
    ----------
    kind : {"one-vs-rest"}
        Tells it from other routes.
    name : str
        Where the wrapped classifier is in the base, e.g. ``"estimator"`` or ``"clf__estimator"``.
    inner : WeightRoute
        How costs reach the wrapped classifier.
    """

    inner: WeightRoute

    def fit(self, estimator, X, y, costs, *, sample_weight=None, normalize="none", fit_params=None):
        """Train ``estimator`` in place, parameters as for `WeightRoute.fit`."""
        if fit_params:
            raise ValueError(f"weighting='one-vs-rest' takes no further arguments of fit, got {sorted(fit_params)}")
        how = {"sample_weight": sample_weight, "normalize": normalize}
        if isinstance(estimator, Pipeline):
            name, last = estimator.steps[-1]
            before = estimator[:-1]
            X = before.fit_transform(X, y) if before.steps else X
            rest = replace(self, name=self.name.partition("__")[2])
            estimator.steps = [*before.steps, (name, rest.fit(last, X, y, costs, **how))]
            return estimator
        codes = np.unique(y)
        problems = codes if codes.size > 2 else codes[1:]
        fitted = Parallel(n_jobs=estimator.n_jobs)(
            delayed(self.inner.fit)(clone(estimator.estimator), X, (y == k) * 1, problem_costs(k, costs), **how)
            for k in problems
        )
        return assembled(estimator, y, fitted)


def one_vs_rest_route(base, *, sample_weight_name=None, weighted=False):
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
    OneVsRestRoute
        The route.

    Raises
    ------
    ValueError
        If the base is none, or wraps a classifier that takes no weights.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> one_vs_rest_route(OneVsRestClassifier(LinearSVC())).name
    'estimator'
    """
    prefix, last = last_step(base)
    if not isinstance(last, OneVsRestClassifier):
        raise ValueError(
            f"weighting='one-vs-rest' needs a base that solves one problem for each class, got {type(last).__name__}; "
            "wrap it in sklearn.multiclass.OneVsRestClassifier, or use weighting='class'"
        )
    inner = weight_route(last.estimator, sample_weight_name=sample_weight_name, weighted=weighted)
    return OneVsRestRoute("one-vs-rest", f"{prefix}estimator", inner)


# How costs are spread over samples: by their class, or in each problem of a one-vs-rest base by itself.
WEIGHTINGS = {"class": weight_route, "one-vs-rest": one_vs_rest_route}
