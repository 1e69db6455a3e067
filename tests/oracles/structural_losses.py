"""Structural losses by enumeration: all labellings, all subsets, all pairs."""

from itertools import combinations, product

import numpy as np


def f_beta_loss(beta):
    """1 - F-beta of weighted counts; 0 where nothing is positive and nothing is said to be."""

    def delta(tp, fp, total):
        below = tp + fp + beta**2 * total
        return 1.0 - (1.0 + beta**2) * tp / below if below > 0 else 0.0

    return delta


def structural_hinge(score, is_pos, delta, *, kappa_pos, kappa_neg, share_pos, share_neg, feasible=lambda a, b: True):
    """Maximum over all labellings of the loss plus the linear part, and one labelling that attains it."""
    y = np.where(is_pos, 1.0, -1.0)
    kappa = np.where(is_pos, kappa_pos, kappa_neg)
    total = share_pos * is_pos.sum()
    best, found = -np.inf, None
    for labels in product([-1.0, 1.0], repeat=len(score)):
        labels = np.array(labels)
        a, b = int(np.sum((labels > 0) & is_pos)), int(np.sum((labels > 0) & ~is_pos))
        if not feasible(a, b):
            continue
        value = delta(share_pos * a, share_neg * b, total) + np.sum(kappa * (labels - y) * score)
        if value > best:
            best, found = value, labels
    return best, found


def top_precision(score, is_pos, size, kappa):
    """The average surrogate of precision at the top, over all selections of ``size`` samples."""
    n, n_pos = len(score), is_pos.sum()
    best = -np.inf
    for chosen in combinations(range(n), size):
        label = np.zeros(n, dtype=bool)
        label[list(chosen)] = True
        tp = np.sum(label & is_pos)
        linear = np.sum(score[label]) - np.sum(score[is_pos])
        if tp < n_pos:
            linear += (n_pos - size) / (n_pos - tp) * np.sum(score[is_pos & ~label])
        best = max(best, 1.0 - tp / size + 2.0 * kappa * linear)
    return best


def partial_auc_hinge(score, is_pos, count):
    """Largest mean pair hinge over all subsets of ``count`` negatives; the last one counts in part."""
    pos, neg = score[is_pos], score[~is_pos]
    losses = [np.mean(np.maximum(0.0, 1.0 - pos + s)) for s in neg]
    whole = int(np.floor(count + 1e-9))
    part = count - whole
    best = -np.inf
    for subset in combinations(range(len(neg)), whole):
        rest = [losses[k] for k in range(len(neg)) if k not in subset]
        last = part * max(rest) if part > 1e-9 else 0.0
        best = max(best, sum(losses[k] for k in subset) + last)
    return best / count


def partial_auc(score, is_pos, count):
    """Share of right pairs with the largest negatives, by a double loop; ties count one half."""
    neg = sorted(score[~is_pos], reverse=True)
    value, left = 0.0, count
    for s in neg:
        weight = min(1.0, left)
        if weight <= 1e-12:
            break
        left -= weight
        value += weight * np.mean([1.0 if p > s else 0.5 if p == s else 0.0 for p in score[is_pos]])
    return value / count


def precision_at_k(score, is_pos, size):
    """Mean precision of the top ``size`` over all subsets that are a top."""
    values = []
    for chosen in combinations(range(len(score)), size):
        rest = [i for i in range(len(score)) if i not in chosen]
        if not rest or min(score[list(chosen)]) >= max(score[rest]):
            values.append(np.mean(is_pos[list(chosen)]))
    return np.mean(values)
