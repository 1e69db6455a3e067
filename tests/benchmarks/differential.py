"""Random small problems against literal definitions: nothing may differ.

``python -m tests.benchmarks differential --problems 1000`` draws problems of each kind in turn and prints what differs,
with the seed that repeats it (``--kind``, ``--seed``). The definitions are written out here: all pairs, all thresholds,
all answers, sorted p-values, so that they share no code with csf.
"""

import argparse
import itertools
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

import csf
from csf import CostSearch
from csf.metrics import CostMatrix, Review, RowCosts

__all__ = ["KINDS", "check_alerts", "main", "wrong"]


class _Fixed(ClassifierMixin, BaseEstimator):
    """Fitted classifier of some classes."""

    def __init__(self, classes, dtype=float):
        self.classes, self.dtype = classes, dtype

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True


class Given(_Fixed):
    """Fitted classifier whose samples begin with probabilities, a column for each class."""

    def predict_proba(self, X):
        return np.asarray(X)[:, : len(self.classes)].astype(self.dtype)


def _fitted(P, y, metric="f1", *, X=None, fit=None, dtype=float, **options):
    base = Given(np.unique(y), dtype)
    return CostSearch(base, metric, cv="prefit", random_state=0, **options).fit(P if X is None else X, y, **(fit or {}))


# ---------------------------------------------------------------- problems


def _two(rng, n=None, signal=None):
    """Truth, and probabilities of the positive class that are tenths, percents or continuous."""
    n = int(rng.integers(40, 120)) if n is None else n
    y = (rng.random(n) < rng.uniform(0.2, 0.6)).astype(int)
    y[:4] = [0, 1, 0, 1]
    p = expit(rng.choice([0.0, 0.5, 2.0]) * (2 * y - 1) + rng.normal(size=n) if signal is None else signal * y)
    p = np.clip(np.round(p, int(rng.choice([1, 2, 9]))), 0.0, 1.0)
    return y, np.column_stack([1.0 - p, p])


def _several(rng, n=None):
    """Truth of three classes, and votes of ten as their probabilities."""
    n = int(rng.integers(60, 150)) if n is None else n
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    y[:6] = [0, 1, 2, 0, 1, 2]
    chances = rng.dirichlet(np.ones(3), n) + rng.choice([0.3, 1.0, 3.0]) * np.eye(3)[y]
    votes = np.array([rng.multinomial(10, each / each.sum()) for each in chances])
    return y, votes / 10.0


def _weights(rng, n):
    return None if rng.random() < 0.5 else rng.integers(1, 4, n).astype(float)


def _costs(rng, n):
    """Costs of rows: of any size, and some for which an answer pays whatever the truth."""
    scale = rng.choice([0.05, 1.0, 30.0])
    costs = {"fn_cost": rng.lognormal(1.0, 1.0, n), "fp_cost": scale * rng.lognormal(0.0, 0.5, n)}
    if rng.random() < 0.3:
        costs |= {"tp_cost": rng.uniform(0.0, 1.0, n), "tn_cost": np.zeros(n)}
    if rng.random() < 0.2:
        costs["fp_cost"] = np.full(n, float(scale))
    return costs


# ---------------------------------------------------------------- wrong alerts


def _p_values(new, held_out, weight=None):
    """One more than the held-out rows at least as high, over one more than all of them."""
    weight = np.ones(len(held_out)) if weight is None else weight
    return np.array([(1.0 + weight[held_out >= each].sum()) / (1.0 + weight.sum()) for each in new])


def _steps(p, share, most=None):
    """Largest number of alerts of which the p-values allow so many, and the largest p-value among them.

    The bases were fitted before, so that the share is divided by Storey's estimate of the rows that are wrong.
    """
    share = share / min(1.0, 2.0 * (1 + np.sum(p > 0.5)) / len(p))
    for k in range(min(len(p), len(p) if most is None else most), 0, -1):
        if np.sum(p <= share * k / len(p) + 1e-12) >= k:
            return k, share * k / len(p) + 1e-12
    return 0, 0.0


def check_alerts(alerts, p, share, most=None):
    """Say what is wrong with alerts."""
    k, largest = _steps(p, share, most)
    if most is None or k < most:
        expected = p <= largest
        k = int(expected.sum()) if most is None else min(int(expected.sum()), most)
    if alerts.sum() != k:
        return [f"{alerts.sum()} alerts, {k} by definition"]
    return (
        [f"an alert with p {p[alerts].max():.4f} > {largest:.4f}"] if alerts.any() and p[alerts].max() > largest else []
    )


def alerts_of_two_classes(rng):
    y, P = _two(rng)
    weight = _weights(rng, len(y))
    search = _fitted(P, y, rng.choice(["f1", "gmean", "accuracy"]), fit={"sample_weight": weight})
    new, share = _two(rng, int(rng.integers(10, 60)))[1], float(rng.choice([0.1, 0.2, 0.4, 0.6]))
    p = _p_values(new[:, 1], P[y == 0, 1], None if weight is None else weight[y == 0])
    wrong = check_alerts(search.predict(new, wrong_at_most=share) == 1, p, share)
    most = int(rng.integers(1, 15))
    return wrong + check_alerts(search.predict(new, wrong_at_most=share, at_most=most) == 1, p, share, most)


def alerts_of_classes(rng):
    y, P = _several(rng)
    weight, dtype = _weights(rng, len(y)), rng.choice([np.float64, np.float32])
    metric = [CostMatrix(np.array([[0, 1, 2], [3, 0, 1], [9, 5, 0]])), "f1_macro", "accuracy"][rng.integers(3)]
    search = _fitted(P, y, metric, fit={"sample_weight": weight}, dtype=dtype)
    new, share, c = (
        _several(rng, int(rng.integers(10, 60)))[1],
        float(rng.choice([0.1, 0.2, 0.4, 0.6])),
        rng.integers(3),
    )
    of_others = y != c
    p = _p_values(new[:, c], P[of_others, c], None if weight is None else weight[of_others])
    decided = search.predict(new, wrong_at_most={c: share})
    wrong = check_alerts(decided == c, p, share)
    rest = np.delete(search.decision_function(new), c, axis=1)
    names = np.delete(np.arange(3), c)
    other = decided != c
    chosen = rest[np.flatnonzero(other), np.searchsorted(names, decided[other])]
    if (chosen < rest[other].max(axis=1) - 1e-9).any():
        wrong.append("a row that does not pass has not the best other class")
    most = int(rng.integers(1, 12))
    both = search.predict(new, wrong_at_most={c: share}, at_most={c: most})
    return wrong + check_alerts(both == c, p, share, most)


def alerts_of_rows(rng):
    y, P = _two(rng)
    costs = _costs(rng, len(y))
    search = _fitted(P, y, RowCosts(measure="cost"), fit=costs)
    y_new, new = _two(rng, int(rng.integers(10, 60)))
    given, share = _costs(rng, len(y_new)), float(rng.choice([0.2, 0.4, 0.6]))
    given = {name: given.get(name, np.zeros(len(y_new))) for name in costs}
    pays, held_out = search.predict(new, **given) == 1, search.predict(P, **costs) == 1
    p = _p_values(np.where(pays, new[:, 1], -np.inf), np.where(held_out, P[:, 1], -np.inf)[y == 0])
    p[~pays] = 1.0
    wrong = check_alerts(search.predict(new, wrong_at_most=share, **given) == 1, p, share)
    most = int(rng.integers(1, 12))
    return wrong + check_alerts(search.predict(new, wrong_at_most=share, at_most=most, **given) == 1, p, share, most)


# ---------------------------------------------------------------- capacities


def capacity_of_scores(rng):
    y, P = _two(rng)
    search = _fitted(P, y, rng.choice(["f1", "gmean", "accuracy"]))
    new, most = _two(rng, 40)[1], int(rng.integers(0, 25))
    free, limited = search.predict(new) == 1, search.predict(new, at_most=most) == 1
    return _of_largest(limited, free, new[:, 1], most)


def _of_largest(limited, free, rank, most):
    wrong = [] if limited.sum() == min(most, free.sum()) else [f"{limited.sum()} rows of {min(most, free.sum())}"]
    if (limited & ~free).any():
        wrong.append("a row is acted on that is not without the limit")
    left = free & ~limited
    if limited.any() and left.any() and rank[limited].min() < rank[left].max() - 1e-7 * np.abs(rank).max():
        wrong.append(f"rank {rank[limited].min():.6g} stays and {rank[left].max():.6g} goes")
    return wrong


def _calibrated(z, y):
    """Platt's sigmoid of scores, literally: targets moved off 0 and 1, and a slope that is not below 0."""
    target = np.where(y == 1, (y.sum() + 1.0) / (y.sum() + 2.0), 1.0 / ((1 - y).sum() + 2.0))

    def loss(line):
        f = line[0] * z + line[1]
        return float(np.mean(np.logaddexp(0.0, f) - target * f))

    bounds = [(0.0, None), (None, None)]
    return minimize(loss, [0.5, 0.0], bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).x


def capacity_of_rows(rng):
    y, P = _two(rng)
    P = np.clip(P, 0.02, 0.98)
    costs = _costs(rng, len(y))
    search = _fitted(P, y, RowCosts(measure="cost"), fit=costs)
    new = _two(rng, 40)[1]
    new, given = np.clip(new, 0.02, 0.98), _costs(rng, 40)
    given = {name: given.get(name, np.zeros(40)) for name in costs}
    if search.row_rule_ == "swept":  # its threshold says nothing of probabilities
        return []
    q = new[:, 1]
    if search.row_rule_ != "plain":
        slope, intercept = _calibrated(logit(P[:, 1]), y)
        q = expit(slope * logit(q) + intercept)
    gain = q * (given["fn_cost"] - given.get("tp_cost", 0.0)) - (1 - q) * (given["fp_cost"] - given.get("tn_cost", 0.0))
    free, most = search.predict(new, **given) == 1, int(rng.integers(0, 25))
    limited = search.predict(new, at_most=most, **given) == 1
    wrong = [] if limited.sum() == min(most, free.sum()) else [f"{limited.sum()} rows of {min(most, free.sum())}"]
    left = free & ~limited
    scale = np.abs(gain).max()
    if limited.any() and left.any() and gain[limited].min() < gain[left].max() - 1e-3 * scale:
        wrong.append(f"{search.row_rule_}: gain {gain[limited].min():.6g} stays and {gain[left].max():.6g} goes")
    return wrong


def capacity_of_classes(rng):
    y, P = _several(rng)
    metric = [CostMatrix(np.array([[0, 1, 2], [3, 0, 1], [9, 5, 0]])), "f1_macro"][rng.integers(2)]
    search = _fitted(P, y, metric)
    new = _several(rng, 7)[1]
    gains = search.decision_function(new)
    limits = (
        {1: int(rng.integers(0, 3)), 2: int(rng.integers(0, 3))} if rng.random() < 0.6 else {2: int(rng.integers(0, 4))}
    )
    decided = search.predict(new, at_most=limits)
    if any((decided == c).sum() > most for c, most in limits.items()):
        return [f"{Counter(decided.tolist())} beyond {limits}"]
    rows = np.arange(7)
    best = max(
        gains[rows, answer].sum()
        for answer in itertools.product(range(3), repeat=7)
        if all(answer.count(c) <= most for c, most in limits.items())
    )
    got = gains[rows, decided].sum()
    return [] if got >= best - 1e-6 * np.ptp(gains) else [f"gains {got:.6g} of {best:.6g} within {limits}"]


# ---------------------------------------------------------------- reviews


def reviews(rng):
    """What was tuned on rows holds on these rows, and shares are those of the answers to them."""
    which = ("two", "rows", "classes")[rng.integers(3)]
    given = {}
    if which == "classes":
        y, X = _several(rng)
        metric, dtype = (
            ["f1_macro", CostMatrix(np.array([[0, 1, 2], [3, 0, 1], [9, 5, 0]]))][rng.integers(2)],
            np.float32,
        )
    else:
        (y, X), dtype = _two(rng), np.float64
        metric = rng.choice(["f1", "accuracy"]) if which == "two" else RowCosts(measure="cost")
        given = _costs(rng, len(y)) if which == "rows" else {}
    limit, wrong_limit = float(rng.choice([0.1, 0.2, 0.4])), float(rng.choice([0.1, 0.2, 0.3]))
    wrong_only, at_most = rng.random() < 0.4, rng.random() < 0.7
    cost = float(rng.choice([0.0, 0.1, 0.5] if at_most else [0.1, 0.5]))
    review = Review(wrong=wrong_limit) if wrong_only else Review(cost=cost, at_most=limit if at_most else None)
    search = _fitted(X, y, metric, fit=given, review=review, dtype=dtype)
    answers = np.asarray(search.predict_with_review(X, **given), dtype=object)
    reviewed, wrong = answers == "review", []
    if wrong_only:
        names = dict(enumerate(["negative", "positive"])) if which != "classes" else dict(enumerate(range(3)))
        for code, name in names.items():
            rows = answers == name
            if rows.any() and (y[rows] != code).mean() > wrong_limit + 1e-9:
                wrong.append(
                    f"{which}: {(y[rows] != code).mean():.3f} of the answers {name!r} are wrong, {wrong_limit} allowed"
                )
    elif at_most and reviewed.mean() > limit + 1e-9:
        wrong.append(f"{which}: {reviewed.mean():.3f} of the rows reviewed, {limit} allowed")
    shares = search.review_.shares
    for name, share in shares.items():
        own = np.mean([str(each) == str(name) for each in answers])
        if abs(own - share) > 1e-9:
            wrong.append(f"{which}: share {share:.4f} of {name!r} told, {own:.4f} answered")
    return wrong


def cheap_reviews(rng):
    """A look that costs next to nothing is worth it wherever the truth is not known and the answers differ."""
    y, P = _two(rng)
    P = np.clip(P, 0.02, 0.98)
    costs = _costs(rng, len(y))
    search = _fitted(P, y, RowCosts(measure="cost"), fit=costs, review=Review(cost=1e-9))
    answers = search.predict_with_review(P, **costs)
    gain, loss = costs["fn_cost"] - costs.get("tp_cost", 0.0), costs["fp_cost"] - costs.get("tn_cost", 0.0)
    sent = (answers != "review") & (gain > 0.0) & (loss > 0.0)
    return [f"{search.row_rule_}: {sent.sum()} not reviewed"] if sent.any() else []


# ---------------------------------------------------------------- segments

_RATES = {
    "recall": lambda t, d, w: _ratio((t & d) @ w, t @ w),
    "fpr": lambda t, d, w: _ratio((~t & d) @ w, ~t @ w),
    "precision": lambda t, d, w: _ratio((t & d) @ w, d @ w),
    "selection_rate": lambda t, d, w: _ratio(d @ w, np.ones(len(t)) @ w),
}


def _ratio(top, bottom):
    return top / bottom if bottom > 0 else 0.0


def _f1(t, d, w):
    return _ratio(2.0 * ((t & d) @ w), t @ w + d @ w)


def _accuracy(t, d, w):
    return (t == d) @ w / w.sum()


def segments(rng):
    """All combinations of thresholds; segments are texts, numbers, booleans, in all containers."""
    n_segments = int(rng.integers(2, 4))
    n = int(rng.integers(24, 60))
    y, score = rng.random(n) < 0.45, rng.integers(0, 8, n) / 10.0
    score = np.clip(score + 0.2 * y, 0, 0.9).round(1)
    segment = rng.integers(0, n_segments, n)
    segment[: 2 * n_segments], y[: 2 * n_segments] = (
        np.arange(2 * n_segments) % n_segments,
        np.arange(2 * n_segments) < n_segments,
    )
    names = [
        np.array(["a", "b", "c"]),
        np.array([1, 2, 10]),
        np.array([False, True]),
        np.array([0.5, 2.0, -1.0]),
        np.array(["01", "1", "NA"]),
    ]
    names = names[rng.integers(len(names))]
    names = names if len(names) >= n_segments else np.array(["f", "m", "x"])
    by = names[segment]
    weight = np.ones(n) if rng.random() < 0.6 else rng.integers(1, 4, n).astype(float)
    name = str(rng.choice([*_RATES]))
    where = ("gap", "in each")[rng.integers(2)]
    side = "<=" if where == "gap" or name in ("fpr", "selection_rate") else ">="
    level = float(rng.choice([0.05, 0.1, 0.2])) if where == "gap" else float(rng.choice([0.3, 0.5, 0.7]))
    text = f"{name} gap <= {level} by s" if where == "gap" else f"{name} {side} {level} in each s"
    metric, value = [("f1", _f1), ("accuracy", _accuracy)][rng.integers(2)]
    container = rng.choice(["list", "array", "series", "column"])
    X, given = score[:, None], {}
    if container == "column":
        X = pd.DataFrame({"p": score, "s": by})
        decision = CostSearch(_First([False, True]), metric, constraint=text, cv="prefit").fit(
            X, y, sample_weight=weight
        )
        given, decided = {}, decision.predict(X)
        search = decision
    else:
        given = {"by": by.tolist() if container == "list" else by if container == "array" else pd.Series(by)}
        search = csf.tune_threshold(y, score, metric, constraint=text, sample_weight=weight, **given).search
        decided = search.predict(X, **given)
    best, found = -np.inf, False
    cuts = [np.append(np.unique(score[segment == each]), np.inf) for each in range(n_segments)]
    parts = []
    for each, own in enumerate(cuts):
        rows = segment == each
        parts.append([(score[rows] >= cut, _RATES[name](y[rows], score[rows] >= cut, weight[rows])) for cut in own])
    rows = [np.flatnonzero(segment == each) for each in range(n_segments)]
    for chosen in itertools.product(*parts):
        rates = [rate for _, rate in chosen]
        keeps = (
            np.ptp(rates) <= level + 1e-9
            if where == "gap"
            else all(rate <= level + 1e-9 if side == "<=" else rate >= level - 1e-9 for rate in rates)
        )
        if keeps:
            found, d = True, np.zeros(n, bool)
            for at, (part, _) in zip(rows, chosen):
                d[at] = part
            best = max(best, value(y, d, weight))
    wrong, own = [], value(y, decided, weight)
    if search.feasible_ != found:
        wrong.append(f"feasible {search.feasible_}, {found} by all combinations: {text} {container}")
    if found and abs(search.best_score_ - best) > 1e-9:
        wrong.append(f"{metric} {search.best_score_:.6f}, {best:.6f} by all combinations: {text} {container}")
    if abs(own - search.best_score_) > 1e-9:
        wrong.append(f"{metric} {search.best_score_:.6f} told, {own:.6f} predicted: {text} {container}")
    if {str(key) for key in search.thresholds_} != {str(each) for each in np.unique(by)}:
        wrong.append(f"thresholds of {list(search.thresholds_)}, segments {np.unique(by).tolist()}")
    return wrong


class _First(_Fixed):
    """Fitted classifier whose score is the column p of a frame."""

    def decision_function(self, X):
        return X["p"].to_numpy()


# ---------------------------------------------------------------- names, orders and containers


def _refused(call):
    """Return what a call returns, or ``None`` where it refuses its arguments."""
    try:
        return call()
    except (ValueError, TypeError):
        return None


def order_of_classes(rng):
    """A base may list its classes, and so its columns, in any order."""
    which = ("two", "rows", "classes")[rng.integers(3)]
    y, P = _several(rng) if which == "classes" else _two(rng)
    words = np.array([["no", "yes", "later"], ["b", "a", "c"]][rng.integers(2)])
    y, sorted_ = (words[y], np.argsort(words[: P.shape[1]])) if rng.random() < 0.5 else (y, np.arange(P.shape[1]))
    P, names = P[:, sorted_], (np.unique(y))
    given = _costs(rng, len(y)) if which == "rows" else {}
    options = {} if which == "classes" else {"pos_label": rng.choice(names)}
    metric = {"two": "f1", "rows": RowCosts(measure="cost"), "classes": "f1_macro"}[which]
    order = rng.permutation(P.shape[1])
    told = []
    for at in (np.arange(P.shape[1]), order):
        try:
            search = CostSearch(Given(names[at]), metric, cv="prefit", **options).fit(P[:, at], y, **given)
        except ValueError:
            return []
        decided = search.predict(P[:, at], **given)
        told.append((search.best_score_, search.predict_proba(P[:, at], **given), decided))
    wrong = []
    if abs(told[0][0] - told[1][0]) > 1e-9:
        wrong.append(f"{which}, classes {names[order].tolist()}: {told[1][0]:.4f}, {told[0][0]:.4f} in order")
    if (told[0][2] != told[1][2]).any():
        wrong.append(f"{which}, classes {names[order].tolist()}: {(told[0][2] != told[1][2]).sum()} others predicted")
    if not np.allclose(told[0][1], told[1][1]):
        wrong.append(f"{which}, classes {names[order].tolist()}: other probabilities")
    return wrong


def _frames(rng, values, names):
    """The values as a frame of some library."""
    which = rng.choice(["pandas", "polars", "arrow"])
    frame = pd.DataFrame(values, columns=names)
    if which == "polars":
        import polars

        return polars.DataFrame({str(name): frame[name].to_numpy() for name in names})
    if which == "arrow":
        import pyarrow

        return pyarrow.table({str(name): frame[name].to_numpy() for name in names})
    return frame


def names_of_columns(rng):
    """Columns that have names count by these, or are refused."""
    which = ("scores", "labels", "intervals")[rng.integers(3)]
    if which == "scores":
        y, P = _several(rng)
        names = np.array(["calm", "soon", "urgent"])
        order = rng.permutation(3)
        plain = csf.tune_threshold(names[y], P, "f1_macro")
        decision = _refused(lambda: csf.tune_threshold(names[y], _frames(rng, P[:, order], names[order]), "f1_macro"))
        wrong = []
        if decision is not None and abs(decision.search.best_score_ - plain.search.best_score_) > 1e-9:
            wrong.append(
                f"scores {names[order].tolist()}: {decision.search.best_score_:.4f}, {plain.search.best_score_:.4f}"
            )
        fitted = csf.tune_threshold(names[y], _frames(rng, P, names), "f1_macro")
        decided = _refused(lambda: fitted.predict(_frames(rng, P[:, order], names[order])))
        if decided is not None and (decided != plain.predict(P)).any():
            wrong.append(
                f"new scores {names[order].tolist()}: {(decided != plain.predict(P)).sum()} rows decided otherwise"
            )
        return wrong
    X = rng.normal(size=(80, 3))
    Y = (X + rng.normal(size=X.shape) > [0.0, 0.5, 1.0]).astype(int)
    names, order = np.array(["cat", "dog", "cow"]), rng.permutation(3)
    predicted = (X > [0.2, 0.4, 0.6]).astype(int)
    if which == "intervals":
        plain = csf.metric_interval(Y, predicted, "f1_macro")
        given = _frames(rng, Y, names), _frames(rng, predicted[:, order], names[order])
        own = _refused(lambda: csf.metric_interval(*given, "f1_macro"))
        return [] if own is None or np.allclose(own, plain) else [f"interval {own}, {plain}"]
    base = GaussianNB()
    search = CostSearch(base, "f1_macro", param_grid=None, n_trials=1, cv=3).fit(X, _frames(rng, Y, names))
    own = _refused(lambda: search.score(X, _frames(rng, Y[:, order], names[order])))
    plain = search.score(X, Y)
    return (
        []
        if own is None or abs(own - plain) < 1e-9
        else [f"score {own:.4f} of labels {names[order].tolist()}, {plain:.4f}"]
    )


_MISSING = [None, float("nan"), np.nan, pd.NA, pd.NaT]


def _holder(rng, values, missing):
    """The values with one that is missing, in some container."""
    values = [*values]
    values[int(rng.integers(len(values)))] = missing
    which = rng.choice(["list", "object", "series", "polars", "arrow", "string series", "category"])
    if which == "object":
        held = np.empty(len(values), object)
        held[:] = values
        return which, held
    if which in ("polars", "arrow"):
        clean = [None if each is missing else each for each in values]
        if which == "polars":
            import polars

            return which, polars.Series(clean)
        import pyarrow

        return which, pyarrow.array(clean)
    if which == "list":
        return which, values
    if which == "string series":
        return which, pd.Series([None if each is missing else str(each) for each in values], dtype="string")
    held = pd.Series(values, dtype=object)
    return which, held.astype("category") if which == "category" else held


def missing_values(rng):
    """A label, segment or group that is missing is refused in every container, and never a name of its own."""
    y, P = _two(rng)
    missing = _MISSING[rng.integers(len(_MISSING))]
    words = [["no", "yes"][each] for each in y] if rng.random() < 0.7 else y.tolist()
    positive = "yes" if isinstance(words[0], str) else 1
    segment = rng.choice(["a", "b"], len(y)).tolist()
    text = "recall gap <= 0.3 by s"
    which = ["y", "by", "new by", "groups", "score", "several", "interval"][rng.integers(7)]
    container, held = _holder(rng, segment if which in ("by", "new by", "groups") else words, missing)
    plain = {"metric": "f1", "pos_label": positive}
    if which == "y":
        told = _refused(lambda: csf.tune_threshold(held, P[:, 1], **plain))
    elif which == "by":
        told = _refused(lambda: csf.tune_threshold(words, P[:, 1], constraint=text, by=held, **plain))
    elif which == "new by":
        decision = csf.tune_threshold(words, P[:, 1], constraint=text, by=segment, **plain)
        told = _refused(lambda: decision.predict(P[:, 1], by=held))
    elif which == "groups":
        told = _refused(lambda: csf.tune_threshold(words, P[:, 1], groups=held, **plain))
    elif which == "score":
        search = csf.tune_threshold(words, P[:, 1], **plain).search
        told = _refused(lambda: search.score(P[:, 1:], held))
    elif which == "several":
        told = _refused(lambda: csf.tune_threshold(held, np.column_stack([P, P[:, :1] / 2]), "f1_macro"))
    else:
        told = _refused(lambda: csf.metric_interval(words, held, "f1", pos_label=positive))
    return [] if told is None else [f"{which}: a missing value {missing!r} in a {container} is taken"]


def words_of_reviews(rng):
    """Labels that are called like answers are refused, or the answers are these labels."""
    y, P = _two(rng)
    names = [["negative", "positive"], ["positive", "negative"], ["review", "no"], ["negative", "bad"]][rng.integers(4)]
    words, positive = np.array(names)[y], names[1]
    options = {"review": Review(cost=0.1, at_most=0.2), "pos_label": positive}
    P = P[:, np.argsort(names)]
    search = _refused(lambda: CostSearch(Given(np.unique(words)), cv="prefit", **options).fit(P, words))
    if search is None:
        return []
    answers, decided = search.predict_with_review(P), search.predict(P)
    if "review" in names:
        return [f"a class named review is taken: {names}"]
    known = np.isin(answers, names)
    if set(names) == {"negative", "positive"} and (answers[known] != decided[known]).mean() > 0.3:
        return [
            f"{names}: {(answers[known] != decided[known]).mean():.0%} of the answers say another class than predict"
        ]
    return []


def means_over_samples(rng):
    """``f1_samples`` is scikit-learn's metric of that name."""
    Y, predicted = (rng.random((2, 60, 3)) < rng.uniform(0.1, 0.6)).astype(int)
    Y[:8] = [[0, 0, 0], [1, 1, 1]] * 4
    search = _of_labels(Y)
    own = search.score(predicted.astype(float), Y)
    literal = f1_score(Y, search.predict(predicted.astype(float)), average="samples", zero_division=0)
    return [] if abs(own - literal) < 1e-9 else [f"f1_samples {own:.4f}, {literal:.4f} by scikit-learn"]


def _of_labels(Y):
    X = Y + np.random.default_rng(0).normal(size=Y.shape)
    return CostSearch(GaussianNB(), "f1_samples", param_grid=None, n_trials=1, cv=3).fit(X, Y)


KINDS = {
    each.__name__: each
    for each in (
        alerts_of_two_classes,
        alerts_of_classes,
        alerts_of_rows,
        capacity_of_scores,
        capacity_of_rows,
        capacity_of_classes,
        reviews,
        cheap_reviews,
        segments,
        order_of_classes,
        names_of_columns,
        missing_values,
        words_of_reviews,
        means_over_samples,
    )
}


def wrong(kind, seed):
    """Draw a problem and say what is wrong, as texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return KINDS[kind](np.random.default_rng(seed))
        except Exception as error:  # a crash is wrong too
            return [f"{type(error).__name__}: {error}"]


def main(argv=None):
    """Draw problems and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=100, help="how many in all (100)")
    parser.add_argument("--kind", choices=[*KINDS], help="one kind only")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first problem (0)")
    arguments = parser.parse_args(argv)
    kinds = [arguments.kind] if arguments.kind else [*KINDS]
    counts, tried = Counter(), Counter()
    for at in range(arguments.problems):
        kind, seed = kinds[at % len(kinds)], arguments.seed + at // len(kinds)
        tried[kind] += 1
        texts = wrong(kind, seed)
        counts[kind] += bool(texts)
        for text in texts:
            print(f"{kind} {seed}: {text}", flush=True)
    print(f"{sum(counts.values())} of {sum(tried.values())} problems are wrong", dict(counts))


if __name__ == "__main__":
    main()
