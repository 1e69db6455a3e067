"""What fitted estimators keep of the features they have seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from csf._common.typing import Array, Estimator

__all__ = ["Features"]


@dataclass(frozen=True, eq=False)
class Features:
    """Number and names of features, in the manner of scikit-learn.

    Parameters
    ----------
    number : int, default=None
        How many there are; ``None`` where an estimator does not tell.
    names : ndarray of str, default=None
        Their names, where the samples came with some.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> Features.of(LinearSVC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])).number
    2
    """

    number: int | None = None
    names: Array | None = None

    @classmethod
    def of(cls, estimator: Estimator) -> Self:
        """Features that a fitted estimator has seen."""
        return cls(getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None))

    def put_on(self, estimator: Estimator) -> None:
        """Have another estimator say that it has seen them; what is unknown is left as it is."""
        if self.number is not None:
            estimator.n_features_in_ = self.number
        if self.names is not None:
            estimator.feature_names_in_ = self.names
