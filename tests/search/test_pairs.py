"""Options of CostSearch in pairs: any two values meet in some search, and every search keeps the laws below.

An option that is right alone can be wrong beside another one. No law knows how an option works: each says what a user
may take for granted, whatever else is set. With CSF_PAIRS=3 in the environment the slow tests try three more arrays.
"""

import os
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from allpairspy import AllPairs
from joblib import parallel_config
from scipy import sparse
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch, ErrorProfile
from csf.metrics import Constraint, FBeta, get_constraint, get_metric

pytestmark = pytest.mark.filterwarnings("ignore")  # what searches warn of has tests of its own

ARRAYS = int(os.environ.get("CSF_PAIRS", "1"))

BASES = {
    "hinge": LinearSVC(),
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1)),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "balanced": LinearSVC(class_weight="balanced"),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
    "bayes": GaussianNB(),
    "several": [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)],
}
GRIDS = {"auto": "auto", "none": None}
OWN = {
    "tree": {"max_depth": [2, 4]},
    "bayes": {"var_smoothing": [1e-9, 0.1]},
    "several": {"logisticregression": {"C": [0.1, 1.0]}},
    "pipeline": {"logisticregression__C": [0.1, 1.0]},
    "one-vs-rest": {"estimator__C": [0.1, 1.0]},
}

OPTIONS = {
    "data": ["plain", "counts", "weights", "subsampled", "ties", "separable", "classes", "sparse", "frame", "few"],
    "base": list(BASES),
    "metric": ["f1", "gmean", "accuracy", "jaccard", "mcc", "precision"],
    "strategy": ["ladder", "cone", "grid", "bisection", "dinkelbach", "imbalance_ratio", "support", "golden_section"],
    "n_trials": [4, 6],
    "param_grid": ["auto", "none", "own"],
    "constraint": [None, "precision >= 0.3", "fnr <= 0.5", "F1 >= 0.2"],
    "confidence": [None, 0.8],
    "threshold": ["stable", "tune", None],
    "cv": ["default", 3, 0.3, "splits", "stratified", "repeated"],
    "refit": [True, False],
    "engine": ["auto", "generic", "liblinear"],
    "weighting": ["class", "one-vs-rest"],
    "normalize": ["mean", "none"],
    "bound": ["support", "diagonal", "envelope", "parambath"],
    "bound_on": ["validation", "train"],
    "tol": [None, 0.05],
    "random_state": [0, 1],
    "error_score": [np.nan, "raise"],
}


def can_be_asked(options):
    """Whether the options that are there say nothing that csf refuses; see the refusals at the end."""
    said = dict(zip(OPTIONS, options)).get
    linear = said("base") in (None, "hinge", "logistic", "pipeline")
    levels = said("constraint") is None and said("metric") in (None, "f1", "accuracy", "jaccard", "precision")
    if not levels and (said("bound", "support") != "support" or said("strategy") in ("bisection", "dinkelbach")):
        return False
    if said("confidence") and (
        said("constraint", "fnr <= 0.5") not in ("precision >= 0.3", "fnr <= 0.5")
        or said("threshold", "tune") is None
        or said("refit") is False
        or said("cv") == "splits"
    ):
        return False
    if said("base") == "bayes" and said("data") == "sparse":
        return False
    if said("engine") == "liblinear" and (not linear or said("data") in ("counts", "weights", "classes")):
        return False
    several = said("base", "one-vs-rest") == "one-vs-rest" and said("data", "classes") == "classes"
    return several or said("weighting", "class") == "class"


def rows(seed):
    """A covering array; another seed names the values in another order, so that others meet in threes."""
    rng = np.random.default_rng(seed)
    values = [[each[i] for i in rng.permutation(len(each))] if seed else each for each in OPTIONS.values()]
    return [dict(zip(OPTIONS, row)) for row in AllPairs(values, filter_func=can_be_asked)]


@dataclass
class Data:
    """Samples, and the options that they need."""

    X: object
    y: np.ndarray
    weight: np.ndarray | None = None
    options: dict = field(default_factory=dict)

    @property
    def n(self):
        return len(self.y)

    def take(self, rows):
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return Data(X, self.y[rows], None if self.weight is None else self.weight[rows], self.options)


def make_data(kind):
    rng = np.random.default_rng(0)
    sizes = {"few": [0.94], "classes": [0.6, 0.25]}.get(kind, [0.75])
    noise = 0.0 if kind in ("separable", "subsampled") else 0.1
    distance = {"separable": 4.0, "subsampled": 4.0}.get(kind, 0.7)
    X, y = make_classification(
        200, 5, n_informative=3, n_redundant=0, n_classes=len(sizes) + 1, n_clusters_per_class=1, weights=sizes,
        flip_y=noise, class_sep=distance, random_state=3,
    )  # fmt: skip
    if kind == "counts":
        return Data(X, y, rng.integers(1, 4, y.size).astype(float))
    if kind == "weights":
        return Data(X, y, rng.uniform(0.2, 3.0, y.size))
    if kind == "subsampled":
        return Data(X, y, np.where(y == 1, 1.0, 5.0))
    if kind == "ties":
        return Data(np.round(X), y)
    if kind == "classes":
        return Data(X, np.array(["none", "one", "two"])[y], options={"null_class": "none"})
    if kind == "sparse":
        return Data(sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), y)
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        return Data(
            pandas.DataFrame(X, columns=list("abcde")), np.array(["no", "yes"])[y], options={"pos_label": "yes"}
        )
    return Data(X, y)


def splits_of(data):
    return list(StratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros(data.n), data.y))


def make_search(options, data, **more):
    options = dict(options)
    base, grid, cv = (options.pop(name) for name in ("base", "param_grid", "cv"))
    grids = GRIDS | {"own": OWN.get(base, {"C": [0.1, 1.0]})}
    splitter = {
        "default": None,
        "splits": splits_of(data) if cv == "splits" else None,
        "stratified": StratifiedKFold(3, shuffle=True, random_state=0),
        "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    }
    options["cv"] = splitter[cv] if isinstance(cv, str) else cv
    if options["constraint"] == "F1 >= 0.2":
        options["constraint"] = Constraint(FBeta(), ">=", 0.2)
    kind = options.pop("data")
    assert kind in OPTIONS["data"]
    return CostSearch(clone(BASES[base]), param_grid=grids[grid], **options, **data.options, **more)


def fitted(options, data, **more):
    return make_search(options, data, **more).fit(data.X, data.y, sample_weight=data.weight)


def judged(search, data, found, rows=slice(None)):
    """Metric of which samples are said to be positive."""
    weight = None if data.weight is None else data.weight[rows]
    classes = {False: search.null_class_, True: search.pos_label_}
    profile = ErrorProfile.from_predictions(data.y[rows] == classes[True], found, pos_label=True, sample_weight=weight)
    return get_metric(search.metric).value(profile.fn, profile.fp, pos=profile.pos)


def same(a, b, **tolerance):
    return a == b if a is None or b is None or isinstance(a, str) else np.allclose(a, b, equal_nan=True, **tolerance)


def facts(search):
    """What two runs of one search have to agree on, to the last bit."""
    known = ("best_index_", "best_params_", "best_threshold_", "best_score_", "corrected_score_", "score_interval_",
             "upper_bound_", "gap_", "feasible_", "constraint_value_")  # fmt: skip
    return [(t.costs, t.state, t.score, t.threshold) for t in search.trials_], [
        getattr(search, name, None) if name != "corrected_score_" else search.corrected_score_ for name in known
    ]


# ---------------------------------------------------------------- laws


def other_costs_were_tried(search, options, data):
    """Equal costs alone are no search; a strategy that has nothing else to ask says why."""
    asked = {trial.costs for trial in search.trials_ if trial.state == "complete"}
    others = [costs for costs in asked if not np.isclose(*costs)]
    assert others or says_why(search), (search.stop_reason_, [t.costs for t in search.trials_])


def says_why(search):
    reasons = "costs of the same ratio at every level", "is at most tol=", "its only ratio is that of equal costs"
    return any(reason in search.stop_reason_ for reason in reasons)


def bounds_are_above(search, options, data):
    """No bound lies below what was attained, and the gap is their distance."""
    if np.isnan(search.gap_):  # no trial satisfies the constraint
        return
    attained = [trial.attained for trial in search.trials_ if trial.state == "complete" and trial.feasible]
    assert max(attained) <= search.upper_bound_ + 1e-9
    assert 0.0 <= search.bound_margin_ <= search.gap_ + 1e-12
    assert search.gap_ <= search.upper_bound_ - max(attained) + 1e-9
    if options["bound_on"] == "train" or options["bound"] != "support":
        assert search.bound_margin_ == 0.0
    elif search.upper_bound_ < 1.0 - 1e-9:
        assert search.bound_margin_ > 0.0
    if options["bound_on"] == "validation" and options["confidence"] is None:  # of the same samples
        assert search.best_score_ <= search.upper_bound_ + 1e-9


def the_interval_holds_the_score(search):
    """It has width as well: no number of samples is infinite."""
    low, high = search.score_interval_
    assert low - 1e-12 <= search.corrected_score_ <= high + 1e-12
    assert high - low > 1e-6


def intervals_hold_their_score(search, options, data):
    the_interval_holds_the_score(search)
    if options["threshold"] is not None and options["confidence"] is None:
        assert search.threshold_interval_[0] <= search.threshold_interval_[1]


def the_score_is_that_of_the_threshold(search, options, data):
    """best_score_ is the metric of the held-out predictions at best_threshold_ (with confidence of others)."""
    if options["threshold"] is None or options["data"] == "classes" or options["confidence"] is not None:
        return
    winner, known = search.trials_[search.best_index_], search.held_out_
    row = known[winner.setting, winner.number]
    assert row.threshold == search.best_threshold_
    found = row.score >= search.best_threshold_
    profile = ErrorProfile.from_predictions(known.is_pos, found, pos_label=True, sample_weight=known.weight)
    value = get_metric(search.metric).value(profile.fn, profile.fp, pos=profile.pos)
    assert same(value, search.best_score_, atol=1e-6)  # scores are kept in four bytes


def the_refit_predicts_by_its_threshold(search, options, data):
    if not options["refit"]:
        with pytest.raises(AttributeError, match="refit=False"):
            search.predict(data.X)
        return
    labels = search.predict(data.X)
    assert set(labels) <= set(search.classes_)
    assert len(labels) == data.n
    score = search.decision_function(data.X)
    if options["data"] == "classes":
        assert (search.classes_[np.argmax(score, axis=1)] == labels).all()
        return
    np.testing.assert_array_equal(labels == search.classes_[1], score > 0)
    if options["threshold"] is not None:
        base = search.best_estimator_
        own = base.decision_function(data.X) if hasattr(base, "decision_function") else base.predict_proba(data.X)[:, 1]
        np.testing.assert_array_equal(labels == search.pos_label_, own >= search.best_threshold_)


def constraints_are_counted(search, options, data):
    """What is said of a constraint is what the held-out predictions give."""
    if options["constraint"] is None:
        assert search.feasible_
        assert search.constraint_value_ is None
        return
    constraint = Constraint(FBeta(), ">=", 0.2) if options["constraint"] == "F1 >= 0.2" else options["constraint"]
    constraint = get_constraint(constraint)
    if options["confidence"] is None:
        near = 1e-6 * (1 if constraint.side == ">=" else -1)
        assert search.feasible_ == bool(
            search.constraint_value_ >= constraint.level - near
            if constraint.side == ">="
            else search.constraint_value_ <= constraint.level - near
        )
        return
    guarantee = search.guarantee_
    assert guarantee.holds == search.feasible_ == (guarantee.error <= 1.0 - options["confidence"])
    assert guarantee.error >= least_p_value(search, constraint, data) - 1e-9


def least_p_value(search, constraint, data):
    """Binomial tail where weights say no more than how much of a class was drawn: no valid test can be below it."""
    if data.weight is None or len({*zip(data.y, data.weight)}) != 2 or constraint.quantity.name != "precision":
        return 0.0
    heavy, light = (float(data.weight[data.y == name].max()) for name in (search.null_class_, search.pos_label_))
    found, true = counts_of_precision(search, data, heavy / light)
    odds = (1.0 - constraint.level) / constraint.level / (heavy / light)  # of a drawn false positive, at the level
    return float(binom.cdf(found - true, found, odds / (1.0 + odds)))


def counts_of_precision(search, data, ratio):
    """Samples found in the calibration part, and true ones among them, from the weighted rate."""
    rate, n = search.guarantee_.rates["precision"], search.guarantee_.n_positives
    candidates = [(t + f, t) for t in range(1, n + 1) for f in range(200) if np.isclose(t / (t + ratio * f), rate)]
    return max(candidates, default=(0, 0))


def another_share_moves_all(search, options, data):
    """At another share of positives the bound still lies above, and the same share changes nothing."""
    if options["threshold"] is None or options["data"] == "classes":
        return
    share = search.studies_[0].pos
    for pos in (0.5 * share, share, 0.5 * (1.0 + share)):
        moved = search.at_prevalence(pos)
        if not np.isnan(moved.gap_) and moved.feasible_:
            assert moved.best_score_ <= moved.upper_bound_ + 1e-9
        if options["refit"]:
            np.testing.assert_array_equal(
                moved.predict(data.X) == moved.classes_[1], moved.decision_function(data.X) > 0
            )


def tables_tell_the_trials(search, options, data):
    assert search.n_trials_ == len(search.trials_) == len(search.cv_results_["params"])
    assert search.cv_results_["rank_test_score"][search.best_index_] >= 1
    winner = search.trials_[search.best_index_]
    assert winner.costs == search.best_cost_weights_
    assert winner.state == "complete"
    assert len(search.trials_frame()) == search.n_trials_


def a_copy_says_the_same(search, options, data, facts):
    copy = pickle.loads(pickle.dumps(search))
    assert repr(facts(copy)) == repr(facts(search))
    if options["refit"]:
        np.testing.assert_array_equal(copy.predict(data.X), search.predict(data.X))


def copies_say_the_same(search, options, data):
    a_copy_says_the_same(search, options, data, facts)


LAWS = [
    other_costs_were_tried,
    bounds_are_above,
    intervals_hold_their_score,
    the_score_is_that_of_the_threshold,
    the_refit_predicts_by_its_threshold,
    constraints_are_counted,
    another_share_moves_all,
    tables_tell_the_trials,
    copies_say_the_same,
]


# ---------------------------------------------------------------- laws of two runs


def a_pause_changes_nothing(search, options, data, folder):
    """Stopped after two trials and resumed from its file, beside another thread: the same to the last bit."""

    def stop(study, trial):
        return sum(each.state != "pending" for each in study.trials) >= 2

    file = folder / "checkpoint.json"
    fitted(options, data, checkpoint=file, callbacks=[stop])
    with parallel_config(backend="threading", n_jobs=2):
        resumed = fitted(options, data, checkpoint=file, n_jobs=2)
    assert repr(facts(resumed)) == repr(facts(search))


def twice(data, splits):
    """Each sample twice, with the splits of the first ones."""
    double = data.take(np.tile(np.arange(data.n), 2))
    return double, [tuple(np.concatenate([part, part + data.n]) for part in split) for split in splits]


def a_weight_is_a_repetition(options, data):
    """Weights of 2 are the same as all samples twice."""
    splits, weight = splits_of(data), np.ones(data.n) if data.weight is None else data.weight
    double, both = twice(data, splits)
    one = make_search(options, data).set_params(cv=splits).fit(data.X, data.y, sample_weight=2.0 * weight)
    two = make_search(options, data).set_params(cv=both).fit(double.X, double.y, sample_weight=double.weight)
    agree(one, two)


def agree(one, two):
    assert one.best_params_ == two.best_params_
    for name in ("best_t_", "best_threshold_", "best_score_", "corrected_score_", "bound_margin_", "upper_bound_"):
        assert same(getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-9), name
    assert same(one.score_interval_, two.score_interval_, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- the arrays


def named(array):
    return [pytest.param(row, id=f"{i}-{row['data']}-{row['base']}-{row['strategy']}") for i, row in enumerate(array)]


@pytest.mark.slow
@pytest.mark.parametrize("options", named(rows(0)))
def test_laws_of_every_search(options):
    data = make_data(options["data"])
    search = fitted(options, data)
    for law in LAWS:
        law(search, options, data)


@pytest.mark.slow
@pytest.mark.parametrize("options", named([row for seed in range(1, 1 + ARRAYS) for row in rows(seed)]))
def test_laws_of_more_searches(options, tmp_path):
    data = make_data(options["data"])
    search = fitted(options, data)
    for law in LAWS:
        law(search, options, data)
    a_pause_changes_nothing(search, options, data, tmp_path)


def exactly_weighted(row):
    """The same search of a base to which a weight is a repetition to the last digits."""
    return row | {"base": "bayes", "engine": "auto", "weighting": "class"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    named(
        [
            exactly_weighted(row)
            for row in rows(0)
            if row["data"] not in ("sparse", "weights") and row["confidence"] is None
        ]
    ),
)
def test_weights_are_repetitions(options):
    a_weight_is_a_repetition(options, make_data(options["data"]))


# ---------------------------------------------------------------- refusals


class Untouched(LogisticRegression):
    """A base that nobody may train."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained before its options were checked")


REFUSED = [
    ({"confidence": 0.8}, "constraint"),
    ({"confidence": 0.8, "constraint": "precision >= 0.3", "threshold": None}, "threshold"),
    ({"confidence": 0.8, "constraint": "precision >= 0.3", "refit": False}, "refit"),
    ({"confidence": 0.8, "constraint": "precision >= 0.3", "cv": "splits"}, "cv"),
    ({"engine": "liblinear"}, "engine"),
    ({"weighting": "one-vs-rest"}, "weighting"),
    ({"strategy": "dinkelbach", "metric": "gmean"}, "dinkelbach"),
    ({"strategy": "bisection", "constraint": "precision >= 0.3"}, "bisection"),
    ({"bound": "parambath", "metric": "mcc"}, "bound"),
    ({"bound": "envelope", "constraint": "fnr <= 0.5"}, "bound"),
    ({"param_grid": {"max_depth": [1]}}, "max_depth"),
    ({"null_class": "none"}, "null_class"),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_options_that_contradict_each_other_are_named_before_any_training(options, named):
    data = make_data("plain")
    if options.get("cv") == "splits":
        options = options | {"cv": splits_of(data)}
    with pytest.raises((ValueError, TypeError), match=named):
        CostSearch(Untouched(), error_score="raise").set_params(**options).fit(data.X, data.y)
