"""The alternating scheme of the 2016 slides on G-mean, literally: struct form, printed gradients, plain alternation.

Kept to show where it fails; nothing here is meant to be fast. Labels are boolean, scores ``s = w·x``.
"""

import itertools

import numpy as np

from csf.solvers import Hinge, Rows


def gmean(tpr, tnr):
    """Geometric mean of two rates."""
    return np.sqrt(tpr * tnr)


def struct_loss(scores, is_pos, alpha, beta):
    """Loss at fixed duals, in the weighted-hinge form of the slides."""
    n, n_pos, n_neg = len(scores), is_pos.sum(), (~is_pos).sum()
    pos = np.maximum(0.0, 1.0 - scores[is_pos] * 2 * n_pos / (alpha * n)).sum()
    neg = np.maximum(0.0, 1.0 + scores[~is_pos] * 2 * n_neg / (beta * n)).sum()
    return alpha / n_pos * pos + beta / n_neg * neg - (alpha + beta)


def struct_loss_by_enumeration(scores, is_pos, delta):
    """Largest ``delta(tpr, tnr) + sum (y_i - y_i*) s_i / n`` over all labellings y."""
    n, best = len(scores), -np.inf
    for labels in itertools.product([False, True], repeat=n):
        labels = np.array(labels)
        tpr, tnr = labels[is_pos].mean(), (~labels[~is_pos]).mean()
        linear = 2.0 * (labels.astype(float) - is_pos) @ scores / n
        best = max(best, delta(tpr, tnr) + linear)
    return best


def struct_gmean_loss(scores, is_pos):
    """Exact maximum over labellings for ``delta = -gmean``: best positives and negatives for each pair of counts."""
    n = len(scores)
    pos, neg = np.sort(scores[is_pos])[::-1], np.sort(scores[~is_pos])
    # a kept positives cost nothing, the others lose 2s/n; likewise for negatives
    lost_pos = -2.0 / n * np.append(np.cumsum(pos[::-1])[::-1], 0.0)
    lost_neg = 2.0 / n * np.append(np.cumsum(neg[::-1])[::-1], 0.0)
    rates = np.linspace(0.0, 1.0, len(pos) + 1)[:, None], np.linspace(0.0, 1.0, len(neg) + 1)[None, :]
    table = -gmean(*rates) + lost_pos[:, None] + lost_neg[None, :]
    a, b = np.unravel_index(table.argmax(), table.shape)
    return table[a, b], rates[0][a, 0], rates[1][0, b]


def active_shares(scores, is_pos, alpha, beta):
    """The printed gradients: share of each class whose hinge is active."""
    n = len(scores)
    pos = scores[is_pos] * 2 * is_pos.sum() / (alpha * n) < 1
    neg = -scores[~is_pos] * 2 * (~is_pos).sum() / (beta * n) < 1
    return np.array([pos.mean(), neg.mean()])


def ascend(scores, is_pos, gradient, *, rate=0.1, steps=2000, project=None):
    """Gradient ascent of the duals at fixed scores, from (1/2, 1/2)."""
    dual = np.array([0.5, 0.5])
    for _ in range(steps):
        dual = dual + rate * gradient(scores, is_pos, *dual)
        if project is not None:
            dual = np.array(project(*dual))
    return dual


def margin_svm(X, is_pos, alpha, beta, C):
    """SVM of the struct form at fixed duals: features divided by the margin of their class, bias included."""
    n, n_pos, n_neg = len(is_pos), is_pos.sum(), (~is_pos).sum()
    margin = np.where(is_pos, alpha * n / (2 * n_pos), beta * n / (2 * n_neg))
    scaled = np.column_stack([X, np.ones(n)]) / margin[:, None]
    weight = C * np.where(is_pos, alpha / n_pos, beta / n_neg)
    return Hinge(Rows(scaled, constant=0.0), np.where(is_pos, 1.0, -1.0)).solve(weight, tol=0.0, atol=1e-9).w[:-1]


def alternate_struct(X, is_pos, C, steps=15):
    """Struct objective after each SVM, with the right (closed-form) duals of the worst labelling."""
    features, values, dual = np.column_stack([X, np.ones(len(is_pos))]), [], (0.5, 0.5)
    for _ in range(steps):
        w = margin_svm(X, is_pos, *dual, C)
        loss, tpr, tnr = struct_gmean_loss(features @ w, is_pos)
        values.append(0.5 * w @ w + C * loss)
        if min(tpr, tnr) > 0:
            dual = 0.5 * np.sqrt(tnr / tpr), 0.5 * np.sqrt(tpr / tnr)
    return np.array(values)


def alternate_rewards(problem, metric, steps=30):
    """Reward form without a line search: each SVM replaces the last. Objectives and duals."""
    svm, values, duals = problem.solve(problem.balanced(), tol=1e-8), [], []
    for _ in range(steps):
        rates = problem.rates(svm.margins)
        values.append(metric.extension(*rates) - 0.5 * problem.lam * svm.w @ svm.w)
        duals.append(metric.dual(*rates))
        svm = problem.solve(problem.balanced(*duals[-1]), tol=1e-8, start=svm)
    return np.array(values), np.array(duals)
