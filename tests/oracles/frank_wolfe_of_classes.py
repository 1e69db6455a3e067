"""Macro-F1 on given class probabilities: the published Frank-Wolfe method, literally, and what a package reaches."""

import numpy as np

# Macro-F1 of the randomised classifier that xCOLUMNs 0.0.2 finds on `given(0)` to `given(19)`, once where the truth are
# the probabilities themselves and once where it is the drawn labels in columns of 0 and 1, by
#   find_classifier_using_fw(truth, proba, macro_f1_score_on_conf_matrix, 1, init_classifier="top", skip_tn=True)
XCOLUMNS_EXPECTED = np.array(
    [
        *(0.75247, 0.49487, 0.33989, 0.36979, 0.48171, 0.27000, 0.69120, 0.40116, 0.52368, 0.47189),
        *(0.60038, 0.54138, 0.71014, 0.62967, 0.39035, 0.45279, 0.55712, 0.48153, 0.64842, 0.54378),
    ]
)
XCOLUMNS_ON_LABELS = np.array(
    [
        *(0.73829, 0.48701, 0.34050, 0.38049, 0.50448, 0.27540, 0.69369, 0.38940, 0.53934, 0.47093),
        *(0.61029, 0.52583, 0.69987, 0.64625, 0.37904, 0.42998, 0.56216, 0.50494, 0.65353, 0.57412),
    ]
)


def given(number, size=1000):
    """Probabilities of 3 to 8 classes, the later ones rarer, and labels drawn from them."""
    rng, n_classes = np.random.default_rng(number), 3 + number % 6
    score = rng.normal(size=(size, n_classes)) * rng.uniform(0.5, 2.5)
    score -= rng.uniform(0.0, 2.0) * np.log(np.arange(1.0, n_classes + 1.0))
    proba = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    labels = (rng.random((size, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return proba, labels


def confusion(truth, decided):
    """Mean over samples of the truth (a row of 0 and 1, or of probabilities) against the decided class."""
    return truth.T @ np.eye(truth.shape[1])[decided] / len(truth)


def macro_f1(matrix):
    """Mean of 2 tp / (2 tp + fn + fp); 0 for a class that is neither true nor decided."""
    tops, belows = 2 * np.diag(matrix), matrix.sum(axis=1) + matrix.sum(axis=0)
    return np.mean([top / below if below > 0 else 0.0 for top, below in zip(tops, belows)])


def gradient(matrix):
    """Derivatives of macro-F1 by all entries, by the rule for quotients; hits count twice below."""
    result, n_classes = np.zeros_like(matrix), len(matrix)
    for k in range(n_classes):
        top, below = 2 * matrix[k, k], matrix[k].sum() + matrix[:, k].sum()
        if below > 0:
            result[k, :] -= top / below**2 / n_classes
            result[:, k] -= top / below**2 / n_classes
            result[k, k] += 2 / below / n_classes
    return result


def frank_wolfe(truth, proba, n_steps=50):
    """Value of the randomised classifier of algorithm 1 of Narasimhan et al. (ICML 2015), and that of its best rule.

    From the largest probability, each step mixes in the rule that is best for the gradient at the confusion matrix so
    far, with weight 2 / (t + 1).
    """
    mixed = confusion(truth, proba.argmax(axis=1))
    best = macro_f1(mixed)
    for t in range(1, n_steps + 1):
        rule = confusion(truth, (proba @ gradient(mixed)).argmax(axis=1))
        mixed = (1 - 2 / (t + 1)) * mixed + 2 / (t + 1) * rule
        best = max(best, macro_f1(rule))
    return macro_f1(mixed), best
