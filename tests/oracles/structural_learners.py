"""The learners of structural losses, literal and slow: dense vectors, plain averages, subgradients in a double loop."""

import numpy as np


def subgradient(name, score, is_pos, shares=None):
    """Subgradient of a loss in the scores, averaged over labellings that differ in tied scores only."""
    return {"prbep": _prbep, "f1": _f1, "pauc": _pauc}[name](np.asarray(score), np.asarray(is_pos), shares)


def _tops(score, count):
    """Weight of each sample among the ``count`` largest; those tied with the last share what is left."""
    out = np.zeros(len(score))
    if count == 0:
        return out
    last = sorted(score, reverse=True)[int(np.ceil(count)) - 1]
    out[score > last] = 1.0
    out[score == last] = (count - np.sum(score > last)) / np.sum(score == last)
    return out


def _labelling(score, is_pos, shares, counts, delta):
    """Best of the labellings with given counts, first on ties; its slopes."""
    n_pos, n_neg = is_pos.sum(), (~is_pos).sum()
    share_pos, share_neg = (1.0 / len(score),) * 2 if shares is None else shares
    pos, neg = np.sort(score[is_pos])[::-1], np.sort(score[~is_pos])[::-1]
    best, found = -np.inf, None
    for a, b in counts(n_pos, n_neg, share_pos, share_neg):
        value = delta(share_pos * a, share_neg * b, share_pos * n_pos)
        value += 2.0 * share_pos * (pos[:a].sum() - pos.sum()) + 2.0 * share_neg * neg[:b].sum()
        if value > best + 1e-12:
            best, found = value, (a, b)
    slope = np.zeros(len(score))
    slope[is_pos] = 2.0 * share_pos * (_tops(score[is_pos], found[0]) - 1.0)
    slope[~is_pos] = 2.0 * share_neg * _tops(score[~is_pos], found[1])
    return slope


def _prbep(score, is_pos, shares):
    def counts(n_pos, n_neg, share_pos, share_neg):
        for a in range(n_pos + 1):
            b = round((n_pos - a) * share_pos / share_neg)
            if b <= n_neg:
                yield a, b

    return _labelling(score, is_pos, shares, counts, lambda tp, fp, total: 1.0 - tp / total)


def _f1(score, is_pos, shares):
    def counts(n_pos, n_neg, share_pos, share_neg):
        return ((a, b) for a in range(n_pos + 1) for b in range(n_neg + 1))

    return _labelling(score, is_pos, shares, counts, lambda tp, fp, total: 1.0 - 2.0 * tp / (tp + fp + total))


def _pauc(score, is_pos, shares, beta=0.1):
    n_pos, n_neg = is_pos.sum(), (~is_pos).sum()
    count = int(np.ceil(beta * n_neg - 1e-9))
    top = np.zeros(len(score))
    top[~is_pos] = _tops(score[~is_pos], count)
    slope = np.zeros(len(score))
    for i in np.flatnonzero(is_pos):
        for k in np.flatnonzero(top):
            if score[i] < score[k] + 1.0:
                slope[i] -= top[k] / (n_pos * count)
                slope[k] += top[k] / (n_pos * count)
    return slope


def project(w, radius):
    length = np.linalg.norm(w)
    return w if length <= radius else w * (radius / length)


def averaged(weights, power):
    """Mean of the weights after each step, in which step e counts as a power of e."""
    return np.average(weights, axis=0, weights=np.arange(1.0, len(weights) + 1.0) ** power)


def one_pass(X, y, name, *, size, eta, radius, half=True, power=0.0):
    """1PMB over rows in order; returns the average, the last weights and the skipped buffers."""
    w, weights, skipped = np.zeros(X.shape[1]), [], 0
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        is_pos = y[rows] > 0
        if len(is_pos) < size and not (half and 2 * len(is_pos) >= size):
            continue
        if is_pos.all() or not is_pos.any():
            skipped += 1
            continue
        gradient = X[rows].T @ subgradient(name, X[rows] @ w, is_pos)
        w = project(w - eta / np.sqrt(len(weights) + 1) * gradient, radius)
        weights.append(w)
    return averaged(weights, power) if weights else w, w, skipped


def two_pass(X, y, kept, name, *, size, eta, radius, reweight=True, half=True, power=3.0):
    """2PMB over the negatives in order, against the positives that were kept."""
    w, weights, pos = np.zeros(X.shape[1]), [], np.mean(y > 0)
    negatives = X[y < 0]
    for start in range(0, len(negatives), size):
        buffer = negatives[start : start + size]
        if len(buffer) < size and not (half and 2 * len(buffer) >= size):
            continue
        rows = np.vstack([kept, buffer])
        is_pos = np.arange(len(rows)) < len(kept)
        shares = (pos / len(kept), (1.0 - pos) / len(buffer)) if reweight else None
        gradient = rows.T @ subgradient(name, rows @ w, is_pos, shares)
        w = project(w - eta / np.sqrt(len(weights) + 1) * gradient, radius)
        weights.append(w)
    return averaged(weights, power), w
