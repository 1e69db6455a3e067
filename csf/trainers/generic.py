"""Training any base classifier many times, with other costs each time."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from csf.costs import WeightRoute

__all__ = ["GenericTrainer", "seeded"]


@dataclass(frozen=True, eq=False)
class GenericTrainer:
    """Clone and fit: serves every base that takes weights.

    Parameters
    ----------
    base : estimator
        Unfitted classifier with its parameters set.
    X : array-like of shape (n_samples, n_features)
        Training data; never copied here.
    y : ndarray of shape (n_samples,)
        Targets, 1 for the positive class and 0 for the other.
    sample_weight : ndarray of shape (n_samples,) or None
        The user's weights.
    fit_params : dict
        Further arguments of the base's ``fit``.
    route : WeightRoute
        How costs reach the base.
    normalize : {"none", "mean"}, default="none"
        See `csf.costs.cost_sample_weight`.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> trainer = GenericTrainer(LinearSVC(), X, y, None, {}, WeightRoute("sample_weight", "sample_weight"))
    >>> trainer.fit((1.5, 0.5)).predict([[3.0]])
    array([1])
    """

    base: object
    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None
    fit_params: dict
    route: WeightRoute
    normalize: str = "none"

    def fit(self, costs):
        """Train a fresh clone of the base.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``.

        Returns
        -------
        estimator
            A fitted object of the base's class, with ``classes_`` 0 and 1.
        """
        return self.route.fit(
            clone(self.base),
            self.X,
            self.y,
            costs,
            sample_weight=self.sample_weight,
            normalize=self.normalize,
            fit_params=self.fit_params,
        )


def seeded(base, random_state):
    """Clone of a base whose unset ``random_state`` parameters are set.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    random_state : RandomState or None
        ``None`` leaves the base as it is.

    Returns
    -------
    estimator
        The clone. All trials and folds share its seeds, so that costs are compared on equal terms.
    """
    base = clone(base)
    if random_state is not None:
        unset = [
            name
            for name, value in sorted(base.get_params(deep=True).items())
            if value is None and name.rpartition("__")[2] == "random_state"
        ]
        base.set_params(**{name: int(random_state.randint(np.iinfo(np.int32).max)) for name in unset})
    return base
