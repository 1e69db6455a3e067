"""States of earlier trainings, and which of them a new training starts from."""

import numpy as np

__all__ = ["Starts"]

# As many states are kept for one fold, and as many are handed over. A handful of solutions spans the later ones well.
_KEPT, _GIVEN = 24, 6


class Starts:
    """Latest states of one fold, by family and position.

    Examples
    --------
    >>> starts = Starts()
    >>> for level in (0.1, 0.5, 0.9):
    ...     starts.add("svm", (level,), f"state of {level}")
    >>> starts.nearest("svm", (0.6,))[0]
    'state of 0.5'
    """

    def __init__(self):
        self._known = []

    def add(self, family, position, state):
        """Keep a state; the oldest one goes when there are too many.

        Parameters
        ----------
        family : str
            Trainings that can use it.
        position : tuple of float
            Where it lies among them.
        state : object
            The state.
        """
        self._known.append((family, position, state))
        del self._known[:-_KEPT]

    def nearest(self, family, position):
        """States to start from.

        Parameters
        ----------
        family : str
            Family of the new training.
        position : tuple of float
            Where it lies.

        Returns
        -------
        list
            At most six states, the nearest first; of equally near ones the latest.
        """
        known = [(where, state) for name, where, state in reversed(self._known) if name == family]
        order = np.argsort([np.abs(np.subtract(where, position)).sum() for where, _ in known], kind="stable")
        return [known[i][1] for i in order[:_GIVEN]]
