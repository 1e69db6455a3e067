"""Data sets that run through whole experiments in a second."""

from sklearn.datasets import make_classification

from notebooks.experiments.datasets import DataSet


def small_set(name="small", seed=0, n=300):
    """A binary problem with a fifth of positives."""
    X, y = make_classification(n, 5, weights=[0.8], class_sep=0.8, flip_y=0.05, random_state=seed)
    return DataSet(name, X, y == 1)
