"""Costs of rows with everything written out: what answers cost, Elkan's rule, and the best of all thresholds."""

import math


def paid(costs, y, answers):
    """Sum of what answers (True for "positive") cost; ``costs`` has fn, fp, tp and tn of each row."""
    total = 0.0
    for (fn, fp, tp, tn), truth, answer in zip(costs, y, answers):
        total += (tp if answer else fn) if truth else (fp if answer else tn)
    return total


def savings(costs, y, answers):
    """1 minus the cost as a share of that of the better answer to all rows."""
    least = min(paid(costs, y, [answer] * len(y)) for answer in (False, True))
    return 1.0 - paid(costs, y, answers) / least


def elkan(costs, p):
    """Whether the answer "positive" has the smaller expected cost; "negative" where both answers cost the same."""
    answers = []
    for (fn, fp, tp, tn), each in zip(costs, p):
        positive, negative = each * tp + (1.0 - each) * fp, each * fn + (1.0 - each) * tn
        answers.append(positive <= negative and (fn, fp) != (tp, tn))
    return answers


def best_threshold(costs, y, score):
    """Least cost of all answers ``score >= threshold``."""
    thresholds = [-math.inf, *sorted(set(score)), math.inf]
    return min(paid(costs, y, [each >= threshold for each in score]) for threshold in thresholds)
