"""The search over an engine is the search in memory, on the same folds."""

import json
import warnings

import numpy as np
import pytest
from builders import paper_search, told
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.distributed import FoldTotals, MemoryEngine, hash_folds, search_on
from csf.distributed.engine import check_folds, sample_shares
from csf.distributed.plan import plan_on
from csf.metrics import Constrained, get_constraint, get_metric
from csf.metrics.trials import best_trial
from csf.search.config import BEYOND, FAST, MULTIPLES, SLOW, Model, SearchConfig
from csf.search.problems.binary import BinaryProblem

PAPERS = {"strategy": "cone", "threshold": "tune", "normalize": "none"}
TREE = DecisionTreeClassifier(max_depth=5, random_state=0)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(1500, 8, n_informative=4, weights=[0.85], flip_y=0.1, random_state=0)
    weight = np.random.default_rng(0).integers(1, 5, y.size) / 2
    return X, y, weight


@pytest.fixture
def engine(data):
    """The samples without weights, in three folds."""
    X, y, _ = data
    return MemoryEngine(X, y, hash_folds(0, y.size, 3))


def searched(engine, base, *given, refit=False, **options):
    """Plan and result of a search."""
    plan, *_, outcome = run(engine, base, *given, refit=refit, **options)
    return plan, outcome.result


def run(engine, base, metric="f1", constraint=None, settings=({},), fast=False, **options):
    metric = get_metric(metric)
    metric = metric if constraint is None else Constrained(metric, get_constraint(constraint))
    bases = [base.__class__(**{**base.get_params(), **setting}) for setting in settings]
    config = SearchConfig(base=base, metric=metric, **(PAPERS | options))
    model = Model(None, base, config.param_grid, list(settings), effort=FAST if fast else SLOW)
    return search_on(engine, config, [model], bases)


@pytest.mark.parametrize(("cv", "weighted"), [(3, True), (0.4, False)])
@pytest.mark.parametrize(
    ("metric", "constraint", "strategy", "threshold", "normalize"),
    [
        ("f1", None, "cone", "tune", "none"),
        ("gmean", None, "support", "tune", "mean"),
        ("recall", "precision >= 0.5", "grid", "tune", "none"),
        ("jaccard", None, "dinkelbach", None, "none"),
    ],
)
@pytest.mark.parametrize("base", [TREE, LogisticRegression()], ids=["tree", "logistic"])
def test_the_search_is_that_in_memory(data, base, metric, constraint, strategy, threshold, normalize, cv, weighted):
    X, y, weight = data
    weight, fold = weight if weighted else None, hash_folds(0, y.size, cv)
    if base is TREE:
        normalize = "none"  # a last digit decides between splits that are equally good
    engine = MemoryEngine(X, y, fold, weight, n_parts=3)
    options = {"strategy": strategy, "n_trials": 5, "normalize": normalize}
    _, found = searched(engine, base, metric, constraint, threshold=threshold, **options)
    whole = paper_search(base, metric, constraint=constraint, threshold=threshold, cv=PredefinedSplit(fold), **options)
    whole.set_params(engine="generic", refit=False, error_score="raise").fit(X, y, weight)
    assert len(found.trials) == whole.n_trials_
    for mine, known in zip(found.trials, whole.trials_, strict=True):
        assert (mine.t, mine.costs) == (known.t, known.costs)
        # Weights with their mean taken out differ in the last digit.
        if normalize == "none":
            assert mine.threshold == known.threshold
        else:
            assert mine.threshold == pytest.approx(known.threshold, rel=1e-6)
        assert (mine.rate, mine.violation) == (known.rate, known.violation)
        assert (mine.score, mine.value) == (known.score, known.value)
        assert mine.profile == known.profile
        assert mine.fold_scores == pytest.approx(known.fold_scores, rel=1e-12)
    assert found.winner.number == best_trial(whole.trials_).number
    # The bound reads cuts between bins: all of them here, where bins are single scores.
    assert found.upper_bound == pytest.approx(whole.upper_bound_, rel=1e-6)


def test_a_grid_of_parameters_has_a_study_each(engine):
    search, found = searched(engine, LogisticRegression(), settings=[{"C": 0.01}, {"C": 1.0}], n_trials=3)
    assert [len(study.trials) for study in search.studies] == [3, 3]
    assert found.params in ({"C": 0.01}, {"C": 1.0})
    assert found.table["param_C"].tolist() == [0.01] * 3 + [1.0] * 3


class Shaky(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        if sample_weight.max() > 1.7:
            raise RuntimeError("too heavy")
        return super().fit(X, y, sample_weight=sample_weight)


def test_trainings_that_fail_are_left_out(engine):
    with pytest.warns(FitFailedWarning, match="too heavy"):
        _, found = searched(engine, Shaky(), strategy="grid", n_trials=4)
    assert [trial.state for trial in found.trials] == ["failed"] + ["complete"] * 3
    assert "RuntimeError: too heavy" in found.trials[0].error
    with pytest.raises(RuntimeError, match="too heavy"):
        searched(engine, Shaky(), strategy="grid", n_trials=4, error_score="raise")


class Nan(LinearSVC):
    def decision_function(self, X):
        return np.full(len(X), np.nan)


def test_scores_that_are_none_fail_the_trial(engine):
    with (
        pytest.raises(ValueError, match=r"(?s)all 2 trials failed: ValueError: .*NaN scores"),
        pytest.warns(FitFailedWarning),
    ):
        searched(engine, Nan(), n_trials=2)


def test_callbacks_see_trials_and_end_the_search(data):
    X, y, _ = data
    seen = []

    def callback(study, trial):
        seen.append(trial.number)
        return trial.number == 1

    engine = MemoryEngine(X, y, hash_folds(0, y.size, 3))
    _, found = searched(engine, LogisticRegression(), strategy="grid", n_trials=5, callbacks=[callback])
    assert (seen, len(found.trials), found.stop_reason) == ([0, 1], 2, "a callback ended the search")


class Stateful(MemoryEngine):
    """Its models depend a little on what they start from, and so does every later trial."""

    def _trained(self, job):
        trained = super()._trained(job)
        shift = float(job.starts[0][0]) + 1e-3 if job.starts else 0.0
        trained.model.intercept_ = trained.model.intercept_ + shift
        return trained._replace(state=np.array([shift]), gap=1e-3)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_search_goes_on_from_its_file_bit_for_bit(data, tmp_path, after):
    X, y, _ = data
    engine = Stateful(X, y, hash_folds(0, y.size, 3))
    options = {"strategy": "cone", "n_trials": 6}
    _, whole = searched(engine, LogisticRegression(), **options)

    def kill(study, trial):
        if trial.number == after:
            raise SystemExit

    path = tmp_path / "search.json"
    with pytest.raises(SystemExit):
        searched(engine, LogisticRegression(), checkpoint=path, callbacks=[kill], **options)
    search, again = searched(engine, LogisticRegression(), checkpoint=path, **options)
    assert again.trials == whole.trials
    assert len(search.counted) == 5 - after
    assert again.winner.duality_gap == 1e-3


class Recording(Stateful):
    """Keeps what it started from, and the states that it gave."""

    def _trained(self, job):
        trained = super()._trained(job)
        self.starts, self.states = job.starts, getattr(self, "states", {}) | {(job.fold, job.costs): trained.state}
        return trained


def test_the_winner_is_trained_on_everything_from_its_solution_on_a_fold(data, tmp_path):
    X, y, _ = data
    engine = Recording(X, y, hash_folds(0, y.size, 3))
    options = {"n_trials": 3, "checkpoint": tmp_path / "search.json"}
    # A search that goes on from its file has trained nothing on folds itself.
    for _ in range(2):
        *_, outcome = run(engine, LogisticRegression(), **options)
        assert engine.starts[0].tolist() == engine.states[0, outcome.result.winner.costs].tolist()


class Broad(Stateful):
    """Trains all trials of a batch in the same passes."""

    def most_jobs(self, n_folds):
        return 100

    def train(self, jobs):
        self.batches = [*getattr(self, "batches", []), len(jobs) // self.n_folds]
        return super().train(jobs)


def test_settings_are_trained_together_and_the_trials_of_one_after_each_other(data, tmp_path):
    X, y, _ = data
    options = {"strategy": "grid", "n_trials": 3, "settings": [{"C": C} for C in (0.01, 0.1, 1.0)]}
    engine = Broad(X, y, hash_folds(0, y.size, 3))
    _, whole = searched(engine, LogisticRegression(), **options)
    assert engine.batches == [3, 3, 3]
    path = tmp_path / "search.json"

    def kill(study, trial):
        if len(seen := json.loads(path.read_text())["studies"]) and sum(map(n_complete, seen)) == 5:
            raise SystemExit

    with pytest.raises(SystemExit):
        searched(engine, LogisticRegression(), checkpoint=path, callbacks=[kill], **options)
    _, again = searched(engine, LogisticRegression(), checkpoint=path, **options)
    assert again.trials == whole.trials


def n_complete(study):
    return sum(trial["state"] == "complete" for trial in study)


class Far(MemoryEngine):
    """Keeps its scores where they are."""

    def entries(self):
        return None


@pytest.mark.parametrize("threshold", ["stable", "tune", None])
def test_scores_that_stay_where_they_are_give_the_same_trials(data, threshold):
    X, y, weight = data
    fold = hash_folds(0, y.size, 3)

    def search(kind):
        return searched(kind(X, y, fold, weight, n_parts=4), LogisticRegression(), threshold=threshold)[1]

    found = search(MemoryEngine)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        far = search(Far)
    assert [str(each.message).split(": ")[:2] for each in told] == [
        [
            "the folds hold 1500 rows, too many for their scores to be collected",
            "threshold='stable' chooses as 'tune' does, and there are no corrected scores and no margin of the bound. "
            "Of so many rows chance decides little; threshold='tune' asks for just that",
        ]
    ] * (threshold == "stable")
    assert far.trials == found.trials
    assert far.store is None
    assert (found.bound_margin > 0, far.bound_margin) == (True, 0.0)
    # What cannot be drawn again cannot be stable: the best trial wins.
    best = best_trial(far.trials)
    assert (far.winner, far.threshold, far.score) == (best, best.threshold, best.score)


def test_settings_race_where_their_scores_are_at_hand(data):
    X, y = data[0][:300], data[1][:300]
    fold, base = hash_folds(0, y.size, 2), LogisticRegression()
    multiples = [*MULTIPLES, *BEYOND]
    options = {"strategy": "ladder", "threshold": "stable", "normalize": "mean", "fast": True}
    options["settings"] = [{"C": 1e-3 * multiple} for multiple in multiples]
    search, found = searched(MemoryEngine(X, y, fold), base, **options)
    splits = PredefinedSplit(fold)
    whole = CostSearch(LogisticRegression(C=1e-3, tol=1e-8), cv=splits, refit=False).fit(X, y)
    dropped = [study.dropped for study in search.studies]
    assert dropped == [study.dropped for study in whole.studies_]
    assert [len(study.trials) for study in search.studies] == [len(study.trials) for study in whole.studies_]
    assert found.params == whole.best_params_
    assert set(dropped) == {False, True}
    # Counts do not pair: all settings of the grid are trained, and none beyond it.
    with pytest.warns(UserWarning, match="too many for their scores"):
        far, _ = searched(Far(X, y, fold), base, **options, n_trials=1)
    assert [len(study.trials) for study in far.studies] == [1] * len(MULTIPLES)


def test_a_file_of_another_search_is_refused(data, tmp_path):
    X, y, weight = data
    path, fold = tmp_path / "search.json", hash_folds(0, y.size, 3)
    searched(MemoryEngine(X, y, fold), LogisticRegression(), n_trials=2, checkpoint=path)
    others = [
        (MemoryEngine(X, y, fold, weight), LogisticRegression(), "f1"),
        (MemoryEngine(2.0 * X, y, fold), LogisticRegression(), "f1"),
        (MemoryEngine(X, y, hash_folds(0, y.size, 3, seed=1)), LogisticRegression(), "f1"),
        (MemoryEngine(X, y, fold), LogisticRegression(C=2.0), "f1"),
        (MemoryEngine(X, y, fold), LogisticRegression(), "f2"),
    ]
    for engine, base, metric in others:
        with pytest.raises(ValueError, match="belongs to another search"):
            searched(engine, base, metric, n_trials=2, checkpoint=path)
    assert len(json.loads(path.read_text())["studies"][0]) == 2


def test_ctrl_c_keeps_what_is_finished(data):
    X, y, _ = data

    def interrupt(study, trial):
        if trial.number == 1:
            raise KeyboardInterrupt

    engine = MemoryEngine(X, y, hash_folds(0, y.size, 3))
    with pytest.warns(UserWarning, match="the search was interrupted"):
        _, found = searched(engine, LogisticRegression(), n_trials=5, callbacks=[interrupt])
    assert (len(found.trials), found.stop_reason) == (2, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        searched(Interrupted(X, y, engine.fold), LogisticRegression())


class Interrupted(MemoryEngine):
    def train(self, jobs):
        raise KeyboardInterrupt


def test_the_winner_is_trained_on_everything_with_normalised_costs(data):
    X, y, weight = data
    engine = MemoryEngine(X, y, hash_folds(0, y.size, 3), weight)
    *_, outcome = run(engine, LogisticRegression(), n_trials=2, normalize="mean")
    whole = paper_search(
        LogisticRegression(), n_trials=2, normalize="mean", engine="generic", cv=PredefinedSplit(engine.fold)
    )
    whole.fit(X, y, weight)
    np.testing.assert_allclose(outcome.model.coef_, whole.best_estimator_.coef_, rtol=1e-5)
    np.testing.assert_array_equal(
        outcome.rule.predict(X), outcome.model.decision_function(X) >= outcome.result.threshold
    )


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (lambda y: np.where(np.arange(y.size) % 2, 0, 2), "fold 1 of 3 holds out no row"),
        (lambda y: y, "without fold 0 there is no negative row"),
        (lambda y: np.where(y == 0, -1, np.arange(y.size) % 2), "what the folds hold out lacks one of the classes"),
    ],
)
def test_folds_that_cannot_be_used(data, fold, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        searched(MemoryEngine(X, y, fold(y)), LogisticRegression())


# ---------------------------------------------------------------- batches of trials


class Engine(MemoryEngine):
    """One that trains a few jobs in the same passes."""

    jobs = 4

    def most_jobs(self, n_folds):
        return self.jobs


@pytest.mark.parametrize(("jobs", "expected"), [(1, [1] * 6), (4, [2, 2, 1, 1]), (100, [3, 3])])
def test_batches_hold_as_many_trials_as_are_trained_together_and_one_of_each_setting(jobs, expected):
    rng = np.random.default_rng(0)
    engine = Engine(rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(40) % 4 // 2)
    engine.jobs = jobs
    config = SearchConfig(LogisticRegression(), **PAPERS)
    model = Model(None, LogisticRegression(), None, [{"C": 1.0}, {"C": 2.0}, {"C": 3.0}])
    problem = BinaryProblem(engine.labels)
    trainer = plan_on(engine, config, problem, [model], [LogisticRegression()] * 3).trainer(config, problem)
    trials = [told(number, 0.2 + 0.1 * number, 0.1, 0.1, pos=0.5) for number in range(2)]
    asked = [(setting, trial) for setting in range(3) for trial in trials]
    batches = trainer.batches(asked)
    assert sorted(len(batch) for batch in batches) == sorted(expected)
    assert all(len({setting for setting, _ in batch}) == len(batch) for batch in batches)
    assert sorted((s, t.number) for batch in batches for s, t in batch) == [(s, t.number) for s, t in asked]


# ---------------------------------------------------------------- folds


@pytest.mark.parametrize("cv", [2, 3, 10, 0.3])
def test_folds_repeat_and_do_not_depend_on_the_number_of_rows(cv):
    whole = hash_folds(4, 1000, cv, seed=7)
    np.testing.assert_array_equal(hash_folds(4, 600, cv, seed=7), whole[:600])
    assert set(whole) == (set(range(cv)) if isinstance(cv, int) else {-1, 0})


def test_folds_are_those_of_all_versions():
    """A search that goes on with another version of csf holds out the same rows."""
    assert hash_folds(0, 12, 5).tolist() == [0, 0, 1, 4, 0, 3, 4, 0, 2, 1, 0, 1]
    assert hash_folds(3, 6, 7, seed=9).tolist() == [0, 5, 5, 0, 5, 1]


def test_folds_are_even_and_independent():
    n = 40_000
    one, part, seed = hash_folds(0, n, 4), hash_folds(1, n, 4), hash_folds(0, n, 4, seed=1)
    for other in (part, seed, np.roll(one, 1), np.roll(one, 64)):
        table = np.histogram2d(one, other, bins=4)[0]
        chi2 = ((table - n / 16) ** 2 / (n / 16)).sum()
        assert chi2 < 40  # 15 degrees of freedom: 1 in 2000


@pytest.mark.parametrize("cv", [1, 0, -3, True, "5", 1.0, 0.0, 2.5, None])
def test_what_is_no_number_of_folds(cv):
    with pytest.raises((TypeError, ValueError), match=r"cv must be"):
        check_folds(cv)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([[3.0, 0.0], [3.0, 0.0], [0.0, 0.0]], "no positive row .* nor is there any with it: check the labels"),
        ([[0.0, 2.0], [0.0, 2.0], [0.0, 0.0]], "no negative row .* nor is there any with it: check the labels"),
        ([[3.0, 2.0], [3.0, 0.0], [0.0, 0.0]], "without fold 0 there is no positive row .*; use fewer folds"),
    ],
)
def test_fewer_folds_are_advised_where_they_can_help(weight, message):
    with pytest.raises(ValueError, match=message):
        FoldTotals(np.array(weight), np.array([5, 5, 0])).check()


def test_errors_that_an_engine_knows_fail_the_trial_alone(engine, monkeypatch):
    def broken(models):
        raise OSError("a hundred lines")

    monkeypatch.setattr(engine, "scores", broken)
    with pytest.raises(OSError, match="a hundred lines"):
        searched(engine, TREE)
    monkeypatch.setattr(engine, "cause", lambda error: ValueError("short"))
    with (
        pytest.warns(FitFailedWarning, match="short"),
        pytest.raises(ValueError, match="failed: ValueError: short"),
    ):
        searched(engine, TREE)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6), st.integers(1, 3000))
def test_a_sample_has_as_many_rows_of_all_classes_or_all_of_a_rare_one(counts, size):
    counts = np.array(counts)
    shares = np.array(sample_shares(counts, size))
    drawn = shares * counts
    assert drawn.sum() == pytest.approx(min(size, counts.sum()))
    np.testing.assert_allclose(drawn[shares < 1.0], drawn.max())
    # Of two classes, by hand.
    if counts.size == 2:
        known = np.minimum(np.maximum(size / 2, size - counts[::-1]) / counts, 1.0)
        np.testing.assert_allclose(shares, known)
