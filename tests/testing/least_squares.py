"""A small online learner."""

import numpy as np
from scipy import sparse

from csf.online import LinearOnlineClassifier


class LeastSquares(LinearOnlineClassifier):
    """A good learner, to be spoilt: a small step towards the label from row to row."""

    def __init__(
        self, passes=1, shuffle=True, fit_intercept=True, intercept_scaling=1.0, pos_label=None, random_state=None
    ):
        self.passes, self.shuffle, self.pos_label, self.random_state = passes, shuffle, pos_label, random_state
        self.fit_intercept, self.intercept_scaling = fit_intercept, intercept_scaling

    def _check_parameters(self):
        pass

    def _start(self, n_features):
        self.threshold_, self._w = 0.0, np.zeros(n_features + 1)

    def _step(self, X, y):
        X = self.x_scale_ * (X.toarray() if sparse.issparse(X) else X)
        for row, label in zip(np.column_stack([X, np.ones(y.size)]), y):
            self._w += 0.2 * (label - row @ self._w) * row

    def _weights(self):
        return self._w, self._w
