"""How often 90 % intervals hold the true value where that is hard: few dear rows, unequal groups, unequal weights."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from csf import CostSearch, metric_difference, metric_interval, tune_threshold
from csf.evaluate.predictions import Predictions
from csf.metrics import Column, RowCosts, get_metric
from csf.metrics.registry import get_quantity

__all__ = ["coverage", "few_groups"]

# Cost of a false positive; a false negative costs 1 on average.
_FP = 0.25
_POSITIVES = 0.1
_WHOLE = 60_000


def _row(what, case, held, error=None, width=None):
    """Row of the table: share of intervals that hold the truth, and 100 times the error of the corrected value."""
    row = {"interval": what, "case": case, "draws": len(held), "covers": f"{np.mean(held):.1%}"}
    row["mean width"] = "" if width is None else f"{np.mean(width):.3f}"
    error = None if error is None else 100.0 * np.array(error)
    row["corrected - truth"] = "" if error is None else f"{error.mean():+.1f} ± {error.std() / np.sqrt(len(held)):.1f}"
    return row


def _dear_rows(rng, n, sigma, groups=None):
    """Rows of (amount, score) and classes; amounts are lognormal with mean 1, and positives cluster in groups."""
    tilt = np.zeros(n) if groups is None else 0.5 * rng.normal(size=groups.max() + 1)[groups]
    y = rng.random(n) < 1.0 / (1.0 + (1.0 / _POSITIVES - 1.0) * np.exp(-tilt))
    score = rng.normal(size=n) + 1.5 * y
    return np.column_stack([np.exp(sigma * rng.normal(size=n) - sigma**2 / 2.0), score]), y


def _unequal_groups(rng, n_groups, mean=15, spread=1.0):
    """Groups of lognormal size."""
    sizes = np.maximum(np.round(mean * np.exp(spread * rng.normal(size=n_groups) - spread**2 / 2.0)), 1).astype(int)
    return np.repeat(np.arange(n_groups), sizes)


def _score_model():
    """Classifier whose probabilities are right given the score, as if from a model that was trained elsewhere."""
    X, y = _dear_rows(np.random.default_rng(1), _WHOLE, 1.0)
    return make_pipeline(FunctionTransformer(_score_alone), LogisticRegression()).fit(X, y)


def _score_alone(X):
    return X[:, 1:]


def _given_rows(n_draws):
    """Intervals of decisions about rows that do not depend on the sample."""
    model = _score_model()
    for sigma in (0.5, 1.0, 1.5):
        whole = _paid(model, *_dear_rows(np.random.default_rng(2), 10 * _WHOLE, sigma))
        for n_positives in (30, 60, 200):
            held = {}
            for seed in range(n_draws):
                rng = np.random.default_rng([seed, n_positives])
                negative, positive, found = _paid(model, *_dear_rows(rng, int(n_positives / _POSITIVES), sigma))
                for measure in ("savings", "cost"):
                    costs = RowCosts(fn=1.0, fp=_FP, measure=measure)
                    low, high = Predictions.of_rows(costs, negative, positive, found).interval(0.9)
                    truth = Predictions.of_rows(costs, *whole[:2], whole[2]).value[0] if seed == 0 else held[measure][2]
                    known = held.setdefault(measure, ([], [], truth))
                    known[0].append(low <= truth <= high)
                    known[1].append(high - low)
            for measure, (inside, width, _) in held.items():
                yield _row(f"{measure} of decisions", f"sigma {sigma}, {n_positives} positives", inside, width=width)


def _paid(model, X, y):
    """Costs of both answers to each row, and the cheaper one in expectation."""
    negative, positive = np.where(y, X[:, 0], 0.0), np.where(y, 0.0, _FP)
    proba = model.predict_proba(X)[:, 1]
    return negative, positive, proba * X[:, 0] >= (1.0 - proba) * _FP


def _searched_rows(n_draws, cases, base=None, n_groups=None):
    """Intervals of a search by costs of rows."""
    model = _score_model()
    for sigma, n_positives, measure in cases:
        held, error, width = [], [], []
        whole = _dear_rows(np.random.default_rng(3), _WHOLE, sigma)
        for seed in range(n_draws):
            rng = np.random.default_rng([seed, n_positives, 1])
            groups = None if n_groups is None else _unequal_groups(rng, n_groups)
            n = int(n_positives / _POSITIVES) if groups is None else groups.size
            X, y = _dear_rows(rng, n, sigma, groups)
            if groups is not None and seed == 0:
                every = _unequal_groups(np.random.default_rng(4), _WHOLE // 15)
                whole = _dear_rows(np.random.default_rng(3), every.size, sigma, every)
            costs, options = RowCosts(fn=Column(0), fp=_FP, measure=measure), {"cv": "prefit"}
            if base is not None:
                options = {"param_grid": None, "n_trials": 3, "random_state": 0}
            search = CostSearch(model if base is None else base, costs, **options).fit(X, y, groups=groups)
            truth, (low, high) = search.score(*whole), search.score_interval_
            held.append(low <= truth <= high)
            error.append(search.corrected_score_ - truth)
            width.append(high - low)
        what = f"{measure} of a search" + ("" if base is None else ", trained")
        together = f", {n_groups} groups" if n_groups else f", {n_positives} positives"
        yield _row(what, f"sigma {sigma}{together}", held, error, width)


def _grouped_scores(rng, groups):
    """Classes and scores of rows whose groups go together in both."""
    tilt = rng.normal(size=groups.max() + 1)[groups]
    y = rng.random(groups.size) < 1.0 / (1.0 + 7.0 * np.exp(-0.5 * tilt))
    return y, rng.normal(size=groups.size) + 1.5 * y + 0.5 * tilt


def _groups(n_draws):
    """Intervals of the F1 of groups of unequal size."""
    y_whole, score_whole = _grouped_scores(np.random.default_rng(5), _unequal_groups(np.random.default_rng(6), 20_000))
    f1 = get_metric("f1")
    for n_groups in (40, 120):
        held = {name: [] for name in ("F1 of decisions", "F1 of tune_threshold", "F1 difference")}
        width, error = {name: [] for name in held}, []
        pairs = [f1.score(y_whole, score_whole >= cut) for cut in (1.5, 1.2)]
        for seed in range(n_draws):
            rng = np.random.default_rng([seed, n_groups])
            groups = _unequal_groups(rng, n_groups)
            y, score = _grouped_scores(rng, groups)
            decision = tune_threshold(y, score, "f1", groups=groups)
            truth = f1.score(y_whole, score_whole >= decision.threshold)
            error.append(decision.value - truth)
            gain = metric_difference(y, score >= 1.5, score >= 1.2, groups=groups)
            found = [metric_interval(y, score >= 1.5, groups=groups), decision.interval, gain[1:]]
            for name, (low, high), value in zip(held, found, (pairs[0], truth, pairs[0] - pairs[1])):
                held[name].append(low <= value <= high)
                width[name].append(high - low)
        for name in held:
            bias = error if name == "F1 of tune_threshold" else None
            yield _row(name, f"{n_groups} unequal groups", held[name], bias, width[name])


_FEW_METRICS = ("f1", "f2", "recall", "precision", "gmean", "mcc")
# Few groups with positives: their number, mean size and spread of sizes, the share that has positives and the positives
# in these, and how much the scores of a group go together.
_FEW = {
    "20 equal": (20, 30, 0.0, 1.0, 0.12, 1.0),
    "20 unequal": (20, 40, 1.0, 1.0, 0.14, 0.8),
    "200 small, 20 with positives": (200, 5, 0.3, 0.1, 0.5, 0.8),
    "60 unequal, 20 with positives": (60, 20, 1.0, 1.0 / 3.0, 0.5, 1.2),
    "25 of shared errors": (25, 12, 0.0, 1.0, 0.18, 2.0),
}


def _few(rng, case, times=1):
    """Truth, scores and groups."""
    n_groups, mean, spread, having, share, together = _FEW[case]
    sizes = mean * np.exp(spread * rng.normal(size=times * n_groups) - spread**2 / 2.0)
    groups = np.repeat(np.arange(sizes.size), np.maximum(np.round(sizes), 1).astype(int))
    y = (rng.random(groups.size) < share) & (rng.random(sizes.size) < having)[groups]
    return y, rng.normal(size=groups.size) + 1.8 * y + together * rng.normal(size=sizes.size)[groups], groups


def few_groups(n_draws):
    """Rows of the topic: intervals where 15 to 25 groups have positives; of a search with a fifth of the draws."""
    for case in _FEW:
        y_whole, score_whole, _ = _few(np.random.default_rng(8), case, 400)
        for name in _FEW_METRICS:
            metric, held, width = get_quantity(name), {}, {}
            value, other = (metric.score(y_whole, score_whole >= cut) for cut in (1.4, 1.0))
            for seed in range(n_draws):
                y, score, groups = _few(np.random.default_rng([seed, 9]), case)
                if not y.any():
                    continue
                gain = metric_difference(y, score >= 1.4, score >= 1.0, name, groups=groups)
                found = {name: (metric_interval(y, score >= 1.4, name, groups=groups), value)}
                found[f"{name} difference"] = (gain[1:], value - other)
                if name == "f1":
                    decision = tune_threshold(y, score, name, groups=groups)
                    found["f1 of tune_threshold"] = (
                        decision.interval,
                        metric.score(y_whole, score_whole >= decision.threshold),
                    )
                if name == "f1" and seed < n_draws // 5:
                    search = CostSearch(LogisticRegression(), name, n_trials=1, param_grid=None, random_state=0)
                    search.fit(score[:, None], y, groups=groups)
                    found["f1 of a search"] = (
                        search.score_interval_,
                        metric.score(y_whole, search.predict(score_whole[:, None])),
                    )
                for what, ((low, high), truth) in found.items():
                    held.setdefault(what, []).append(low <= truth <= high)
                    width.setdefault(what, []).append(high - low)
            for what in held:
                yield _row(what, case, held[what], width=width[what])


# Rates of positives and negatives that two methods flag, and how much both have in common.
_PAIRS = {
    "nearly equal": ((0.6, 0.03), (0.6, 0.03), 0.95),
    "equal": ((0.6, 0.03), (0.6, 0.03), 0.5),
    "different": ((0.8, 0.05), (0.5, 0.02), 0.6),
    "few found": ((0.06, 0.005), (0.1, 0.05), 0.5),
    "nearly all found": ((0.98, 0.005), (0.95, 0.01), 0.5),
}


def _weighted(n_draws):
    """Intervals and differences without weights and with lognormal weights."""
    pos, n = 0.05, 1000
    for name in ("f1", "f2", "gmean", "mcc"):
        metric = get_metric(name)
        for sigma in (0.0, 0.5, 1.0):
            for case, (rates, others, common) in _PAIRS.items():
                truth = [metric.value((1 - tpr) * pos, fpr * (1 - pos), pos=pos) for tpr, fpr in (rates, others)]
                held, width = [], []
                for seed in range(n_draws):
                    rng = np.random.default_rng([seed, 7])
                    y, shared = rng.random(n) < pos, rng.random(n)
                    chances = (np.where(rng.random(n) < common, shared, rng.random(n)) for _ in range(2))
                    a, b = (chance < np.where(y, *each) for chance, each in zip(chances, (rates, others)))
                    weight = np.exp(sigma * rng.normal(size=n)) if sigma else None
                    low, high = metric_interval(y, a, metric, sample_weight=weight)
                    gain = metric_difference(y, a, b, metric, sample_weight=weight)
                    held.append((low <= truth[0] <= high, gain.low <= truth[0] - truth[1] <= gain.high))
                    width.append((high - low, gain.high - gain.low))
                for at, what in enumerate((name, f"{name} difference")):
                    yield _row(what, f"{case}, weights {sigma}", np.array(held)[:, at], width=np.array(width)[:, at])


def coverage(n_draws):
    """Rows of the topic."""
    yield from _given_rows(n_draws)
    cases = [(sigma, n, m) for sigma in (0.5, 1.0, 1.5) for n in (30, 60, 200) for m in ("savings", "cost")]
    yield from _searched_rows(n_draws, cases)
    yield from _searched_rows(n_draws, [(1.0, 60, "savings")], LogisticRegression())
    for n_groups in (40, 120):
        yield from _searched_rows(n_draws, [(1.0, 60, "savings")], n_groups=n_groups)
    yield from _groups(n_draws)
    yield from _weighted(n_draws)
