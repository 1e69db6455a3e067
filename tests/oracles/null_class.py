"""F-beta of several classes from the error of each class, and every cut of a null class's score, literally."""

from fractions import Fraction
from itertools import pairwise

INF = float("inf")


def class_errors(y_true, y_pred, weight):
    """Exact share of all weight that each class has in all, and that part of it which is misclassified."""
    total = sum(Fraction(float(w)) for w in weight)
    shares, errors = {}, {}
    for truth, predicted, w in zip(y_true, y_pred, weight, strict=True):
        w = Fraction(float(w)) / total
        shares[truth] = shares.get(truth, 0) + w
        errors[truth] = errors.get(truth, 0) + (w if predicted != truth else 0)
    return shares, errors


def f_beta(y_true, y_pred, null, beta=1, weight=None):
    """Parambath et al.'s multiclass F-beta, as they write it: sums over the classes other than the null class."""
    shares, errors = class_errors(y_true, y_pred, [1] * len(y_true) if weight is None else weight)
    b = 1 + Fraction(beta) ** 2
    missed = sum(error for label, error in errors.items() if label != null)
    top = b * (1 - shares[null] - missed)
    bottom = b * (1 - shares[null]) - missed + errors[null]
    return top / bottom if bottom else Fraction(0)


def predictions(scores, labels, null, offset):
    """Best class once the null class's score is raised by an offset; of equal scores the null class loses."""
    at, found = labels.index(null), []
    for row in scores:
        best = max((k for k in range(len(labels)) if k != at), key=lambda k: row[k])
        found.append(labels[best] if row[best] - row[at] >= offset else null)
    return found


def all_offsets(scores, labels, null):
    """One offset between each two neighbouring values at which a prediction changes, and one beyond each end."""
    at = labels.index(null)
    values = sorted({max(f for k, f in enumerate(row) if k != at) - row[at] for row in scores})
    return [-INF, *((low + high) / 2 for low, high in pairwise(values)), INF]
