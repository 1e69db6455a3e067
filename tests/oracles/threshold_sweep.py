"""Every cut of a score, in exact arithmetic and one rule after the other."""

from fractions import Fraction

INF = float("inf")


def all_rules(is_pos, score, weight):
    """Exact ``(s, fn, fp)`` of the rules score >= s, from s = infinity down, and the exact share of positives."""
    samples = [(p, s, Fraction(float(w))) for p, s, w in zip(is_pos, score, weight, strict=True) if w > 0]
    total = sum(w for _, _, w in samples)
    rules = []
    for lowest in sorted({float(s) for _, s, _ in samples} | {INF}, reverse=True):
        fn = sum((w for p, s, w in samples if p and s < lowest), Fraction(0)) / total
        fp = sum((w for p, s, w in samples if not p and s >= lowest), Fraction(0)) / total
        rules.append((lowest, fn, fp))
    return rules, sum((w for p, _, w in samples if p), Fraction(0)) / total


def f1(fn, fp, pos):
    """Exact F1."""
    return 2 * (pos - fn) / (2 * pos - fn + fp)


def plug_in_threshold(is_pos, score):
    """The published pseudo-code, literally: prefix counts, distinct neighbours only, smallest k. F1 as a fraction."""
    order = sorted(range(len(score)), key=lambda i: -score[i])
    n, n_pos = len(order), sum(map(int, is_pos))
    best_k, best = 0, Fraction(0)
    for k in range(1, n + 1):
        if k == n or score[order[k - 1]] > score[order[k]]:
            value = Fraction(2 * sum(int(is_pos[i]) for i in order[:k]), k + n_pos)
            if value > best:
                best_k, best = k, value
    if best_k == 0:
        return INF, best
    if best_k == n:
        return -INF, best
    return 0.5 * (score[order[best_k - 1]] + score[order[best_k]]), best
