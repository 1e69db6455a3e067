"""Any two options of a search over an engine together: laws that hold for each search."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from csf.distributed import Job, MemoryEngine, hash_folds, search_on
from csf.metrics.profile import ErrorProfile
from csf.search.config import SLOW, Model, SearchConfig

allpairspy = pytest.importorskip("allpairspy", reason="needs allpairspy: pip install 'csf-search[test]'")

OPTIONS = {
    "base": ["tree", "logistic"],
    "metric": ["f1", "gmean", "accuracy", "mcc", "recall"],
    "constraint": [None, "precision >= 0.3", "fpr <= 0.3"],
    "strategy": ["ladder", "cone", "grid", "imbalance_ratio"],
    "threshold": ["stable", "tune", None],
    "normalize": ["none", "mean"],
    "bound": ["support", "envelope"],
    "weights": [None, "halves", "zeros"],
    "data": ["plain", "ties", "few"],
    "folds": ["three", "share", "some"],
    "settings": ["one", "two"],
    "collected": [True, False],
    "n_parts": [1, 5],
}


def rows_of(each):
    """Samples, targets, weights and folds."""
    share = 0.97 if each["data"] == "few" else 0.8
    X, y = make_classification(400, 5, weights=[share], flip_y=0.05, random_state=0)
    X = np.round(X) if each["data"] == "ties" else X
    rng = np.random.default_rng(0)
    weight = None if each["weights"] is None else rng.integers(each["weights"] == "halves", 5, y.size) / 2
    fold = hash_folds(0, y.size, 0.5 if each["folds"] == "share" else 3)
    return X, y, weight, np.where(np.arange(y.size) % 7 == 0, -1, fold) if each["folds"] == "some" else fold


class Far(MemoryEngine):
    """Keeps its scores where they are."""

    def entries(self):
        return None


def searched(each):
    kind = MemoryEngine if each["collected"] else Far
    engine = kind(*(rows := rows_of(each))[:2], rows[3], rows[2], n_parts=each["n_parts"])
    if each["base"] == "tree":
        settings = [{"max_depth": depth} for depth in (4, 2)]
        base = DecisionTreeClassifier(random_state=0)
    else:
        settings = [{"C": C} for C in (1.0, 0.01)]
        base = LogisticRegression()
    settings = settings[: 1 if each["settings"] == "one" else 2]
    names = ("metric", "constraint", "strategy", "threshold", "normalize", "bound")
    config = SearchConfig(base=base, n_trials=4, **{name: each[name] for name in names})
    config.check()
    bases = [base.__class__(**base.get_params() | more) for more in settings]
    plan, _, outcome = search_on(engine, config, [Model(None, base, config.param_grid, settings, effort=SLOW)], bases)
    return plan, outcome.result


def possible(row):
    """Whether a row, as far as it is known, has a bound that serves its metric."""
    known = dict(zip(OPTIONS, row))
    return known.get("bound") != "envelope" or (known["metric"], known["constraint"]) == ("f1", None)


ROWS = allpairspy.AllPairs(list(OPTIONS.values()), filter_func=possible)
PAIRS = [dict(zip(OPTIONS, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize("each", PAIRS, ids=lambda each: "-".join(map(str, each.values())))
@pytest.mark.filterwarnings("ignore:no trial satisfies")
@pytest.mark.filterwarnings("ignore:recall.* is largest when every sample")
def test_any_two_options_keep_the_laws(each):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the folds hold .* rows, too many for their scores to be collected")
        warnings.simplefilter("error", FitFailedWarning)
        search, found = searched(each)
    assert all(trial.state == "complete" for trial in found.trials)
    if not [trial for trial in found.trials if trial.c_fn != trial.c_fp]:
        # The accuracy is linear: equal costs are all that it asks for.
        assert each["metric"] == "accuracy"
        assert "accuracy has costs of the same ratio at every level" in found.stop_reason
    # What was found is one of the trials, and no better than the bound.
    assert found.winner in found.trials
    assert found.params == search.settings[found.winner.setting]
    if found.feasible:
        assert found.score <= found.upper_bound + 1e-12
    assert (found.store is not None) == each["collected"]
    # The value is that of the held-out scores of models trained by hand.
    profile, threshold = by_hand(search, found)
    assert found.metric.of(profile) == pytest.approx(found.score, rel=1e-12)
    constraint = found.metric.constraint
    if constraint is not None:
        violation = constraint.violation(profile.fn, profile.fp, pos=profile.pos)
        assert (violation <= 1e-12) == found.feasible
        assert constraint.quantity.of(profile) == pytest.approx(found.constraint_value, rel=1e-12)
    assert (threshold is None) == (each["threshold"] is None)
    if not each["collected"]:
        # The least violation counts first.
        alike = [trial.score for trial in found.trials if trial.violation == found.winner.violation]
        assert found.winner.score == max(alike)
        assert found.winner.violation == min(trial.violation for trial in found.trials)


def by_hand(search, found):
    """Errors of the winner on the rows in folds, and its threshold."""
    engine, costs = search.engine, found.winner.costs
    base, totals = search.bases[found.winner.setting], search.totals
    score = np.full(engine.fold.size, np.nan)
    for fold in range(engine.n_folds):
        negatives, positives = totals.trained_on(fold)
        mean = (costs[1] * negatives + costs[0] * positives) / (negatives + positives)
        scale = mean if found.config.normalize == "mean" else 1.0
        (training,) = engine.train([Job(base, fold, (costs[0] / scale, costs[1] / scale))])
        at = engine.fold == fold
        model = training.model
        margin = hasattr(model, "decision_function")
        score[at] = model.decision_function(engine.X[at]) if margin else model.predict_proba(engine.X[at])[:, 1]
    held = engine.fold >= 0
    decided = score[held] >= found.threshold if found.threshold is not None else score[held] > (0.0 if margin else 0.5)
    weight = None if engine.weight is None else engine.weight[held]
    return ErrorProfile.from_masks(engine.is_pos[held], decided, sample_weight=weight), found.threshold
