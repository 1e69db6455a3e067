"""Ask and tell: what may be told, when it stops, and files that survive."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import exact_learner, predictions, random_profiles, rates, run, told
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Study
from csf._common.files import write_record
from csf._common.identity import fingerprint
from csf.bounds import BOUNDS, Bound
from csf.metrics import (
    METRICS,
    Constrained,
    CustomMetric,
    FBeta,
    Metric,
    Recall,
    get_confusion_metric,
    get_constraint,
    get_metric,
)
from csf.metrics.trials import Trial, best_trial
from csf.search.study import MulticlassStudy, judged_fields
from csf.strategies import Cone, Grid, Ladder, Proposal, Strategy

Y = np.array([0, 0, 0, 1] * 10)
HALF = ErrorProfile(fn=0.1, fp=0.1, pos=0.25)


class Youden(Metric):
    """A metric without a text of its own: its repr is an address."""

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)


class Halves(Strategy):
    """A strategy without a text of its own."""

    def propose(self, trials, *, metric, pos):
        return 0.5 ** (len(trials) + 1)


def finite_class(pos=0.25, seed=0):
    return random_profiles(np.random.default_rng(seed), pos, 60)


def proposing(*proposals):
    """Study whose strategy proposes these, one after another."""
    left = iter(proposals)
    return Study("f1", lambda trials, *, metric, pos: next(left, None), pos=0.25)


# ---------------------------------------------------------------- ask


def test_trials_carry_the_costs_of_their_level():
    study = Study("f2", Grid(3), pos=0.25)
    trials = study.ask_batch()
    assert [trial.t for trial in trials] == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    for trial in trials:
        assert trial.costs == pytest.approx((5 - trial.t, trial.t))
    assert [(trial.number, trial.state) for trial in trials] == [(0, "pending"), (1, "pending"), (2, "pending")]
    assert study.trials == trials
    assert study.state() == {"complete": 0, "failed": 0, "pending": 3}


def test_a_strategy_gets_as_many_pending_trials_as_it_takes():
    assert len(Study("f1", Cone(), pos=0.25).ask_batch()) == 1
    assert len(Study("f1", Cone(batch_size=4), pos=0.25).ask_batch()) == 4
    study = Study("f1", "cone", pos=0.25)
    trial = study.ask()
    assert study.ask() is None
    assert study.stop_reason is None
    study.tell(trial, profile=HALF)
    assert study.ask() is not None


@pytest.mark.parametrize("level", [0.0, 1.0, 1e-9])
def test_levels_at_the_ends_keep_both_classes_in_the_game(level):
    trial = proposing(level).ask()
    assert 0 < trial.t < 1
    assert min(trial.costs) > 0


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan, np.inf])
def test_levels_outside_the_range_are_refused(level):
    study = proposing(level)
    with pytest.raises(ValueError, match=r"strategy '<lambda>' proposed t=.*, outside the range \[0, 1\]"):
        study.ask()


@pytest.mark.parametrize("level", ["high", (0.1, 1.0, 2.0), [0.1, 0.2], object()])
def test_what_is_no_level_is_refused(level):
    study = proposing(level)
    with pytest.raises(TypeError, match=r"proposed .*; accepted: a level in \[0, 1\], a Proposal, or None to end"):
        study.ask()


@pytest.mark.parametrize("costs", [(0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_proposed_costs_are_positive_and_finite(costs):
    study = proposing(Proposal(None, *costs))
    with pytest.raises(ValueError, match=r"proposed Proposal\(.*; costs must be positive and finite"):
        study.ask()


def test_proposed_costs_belong_to_their_level_or_to_none():
    assert proposing(Proposal(0.5, 3.0, 1.0)).ask().costs == (3.0, 1.0)
    assert proposing(Proposal(None, 3.0, 2.0)).ask().t is None
    trial = proposing(Proposal(np.float32(0.5), np.float32(3.0), 1)).ask()
    assert {type(part) for part in (trial.t, *trial.costs)} == {float}
    for proposal in (Proposal(0.5, 3.0, 2.0), Proposal(0.25, 3.0, 1.0)):
        study = proposing(proposal)
        with pytest.raises(ValueError, match=r"but level 0.\d+ has costs in the ratio .*; give t=None for costs of no"):
            study.ask()
    study = proposing(Proposal(7.0, 3.0, 1.0))
    with pytest.raises(ValueError, match=r"proposed t=7.0, outside the range \[0, 1\]"):
        study.ask()


@pytest.mark.parametrize("metric", ["recall", "specificity"])
def test_a_metric_that_one_class_maximises_is_refused_with_a_way_out(metric):
    study = Study(metric, "cone", pos=0.25)
    with pytest.raises(ValueError, match=r"gives the costs .* add a constraint, e.g. metric='recall', constraint="):
        study.ask()
    constrained = Constrained(get_metric(metric), get_constraint("precision >= 0.8"))
    assert Study(constrained, "cone", pos=0.25).ask().t == 0.5


# ---------------------------------------------------------------- tell


@given(case=predictions())
def test_predictions_scores_and_counts_say_the_same(case):
    y_true, y_pred, weight = case
    profile = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    tellings = [
        {"profile": profile},
        {"y_true": y_true, "y_pred": y_pred, "sample_weight": weight},
        {"y_true": np.array(["no", "yes"])[y_true], "y_pred": np.array(["no", "yes"])[y_pred], "pos_label": "yes"}
        | {"sample_weight": weight},
    ]
    told_trials = []
    for telling in tellings:
        study = Study("f1", pos=profile.pos)
        told_trials.append(study.tell(study.ask(), **telling))
    assert told_trials[0] == told_trials[1] == told_trials[2]
    # Scores that say no more than the predictions: the better of "as predicted" and the two trivial rules.
    study = Study("f1", pos=profile.pos)
    scored = study.tell(study.ask(), y_true, y_pred, y_score=y_pred.astype(float), sample_weight=weight)
    assert scored.profile == profile
    assert scored.score >= scored.value - 1e-12
    assert scored.attained == pytest.approx(max(scored.value, 2 * profile.pos / (1 + profile.pos)), abs=1e-9)


def test_scores_alone_are_decided_at_the_best_cut():
    study = Study.from_target(Y, "f1")
    score = Y + np.random.default_rng(0).normal(size=Y.size)
    trial = study.tell(study.ask(), Y, y_score=score)
    assert trial.profile == ErrorProfile.from_masks(Y == 1, score >= trial.threshold)
    assert trial.value == trial.score == trial.attained
    assert len(trial.hull.points) > 2
    assert study.best_score == trial.score


def test_scores_may_be_infinite():
    study = Study.from_target(Y, "f1")
    assert study.tell(study.ask(), Y, y_score=np.where(Y == 1, np.inf, -np.inf)).score == 1.0


def test_trials_may_be_told_by_number_and_in_any_order():
    study = Study("f1", Grid(4), pos=0.25)
    study.ask_batch()
    for number in (2, 0, 3):
        assert study.tell(number, profile=HALF).number == number
    assert study.state() == {"complete": 3, "failed": 0, "pending": 1}
    assert study.fail(1, ValueError("no memory")).error == "no memory"
    assert study.state() == {"complete": 3, "failed": 1, "pending": 0}
    assert [trial.number for trial in study.trials] == [0, 1, 2, 3]


TELLINGS = [
    ({}, "tell either profile=, or y_true with y_pred, y_score or both"),
    ({"y_true": Y}, "tell either profile="),
    ({"profile": HALF, "y_true": Y}, "tell either profile= alone"),
    ({"profile": HALF, "y_score": Y}, "tell either profile= alone"),
    ({"profile": HALF, "pos_label": 1}, "tell either profile= alone"),
    ({"y_true": Y, "y_pred": Y[1:]}, r"y_pred must have shape \(40,\)"),
    ({"y_true": Y, "y_score": Y[1:]}, r"y_score must have shape \(40,\), one score for each sample, got \(39,\)"),
    ({"y_true": Y, "y_score": np.where(Y == 1, np.nan, 0)}, "y_score contains NaN in 10 of 40 samples"),
    ({"y_true": Y, "y_pred": Y + 1}, r"y_pred holds 2, y_true only \[0, 1\]"),
    ({"y_true": Y * 0, "y_pred": Y}, "y has one class only"),
    ({"y_true": Y, "y_pred": Y, "sample_weight": Y[1:]}, "one weight for each sample"),
    (
        {"y_true": Y[:20].tolist() + [1] * 20, "y_pred": Y},
        "the given data have a share of positives of 0.625, the study",
    ),
    (
        {"profile": ErrorProfile(fn=0.1, fp=0.1, pos=0.26)},
        "the given data have a share of positives of 0.26, the study",
    ),
]


@pytest.mark.parametrize(("telling", "message"), TELLINGS)
def test_wrong_tells_leave_the_trial_pending(telling, message):
    study = Study("f1", pos=0.25)
    trial = study.ask()
    with pytest.raises(ValueError, match=message):
        study.tell(trial, **telling)
    assert study.trials == [trial]


@pytest.mark.parametrize("profile", [(0.1, 0.1), [1, 2, 3, 4], {"fn": 0.1}, 0.5])
def test_a_profile_is_a_profile(profile):
    study = Study("f1", pos=0.25)
    trial = study.ask()
    with pytest.raises(TypeError, match=r"profile must be an ErrorProfile, e.g. ErrorProfile.from_counts\(...\), got"):
        study.tell(trial, profile=profile)


@pytest.mark.parametrize("number", [1, -1, 99, "0", None, 0.5])
def test_unknown_trials_are_refused(number):
    study = Study("f1", pos=0.25)
    study.ask()
    with pytest.raises(ValueError, match=r"trial .* is unknown in this study; pending trials: \[0\]"):
        study.tell(number, profile=HALF)


def test_a_trial_is_told_once():
    study = Study("f1", pos=0.25)
    trial = study.ask()
    study.tell(trial, profile=HALF)
    with pytest.raises(ValueError, match=r"trial 0 is complete in this study; pending trials: \[\]"):
        study.tell(trial, profile=HALF)
    with pytest.raises(ValueError, match=r"trial 0 is complete in this study"):
        study.fail(trial, "too late")


def test_a_trial_of_another_study_is_refused():
    study, other = Study("f1", pos=0.25), Study("f2", pos=0.25)
    study.ask()
    trial = other.ask()
    with pytest.raises(ValueError, match=r"trial 0 has the costs .* in this study and .* it belongs to another study"):
        study.tell(trial, profile=HALF)


def test_rare_classes_need_their_exact_share():
    study = Study("f1", pos=1e-6)
    trial = study.ask()
    with pytest.raises(ValueError, match=r"share of positives of 1\.5e-06, the study pos=1e-06"):
        study.tell(trial, profile=ErrorProfile(fn=0.0, fp=0.0, pos=1.5e-6))
    assert study.tell(trial, profile=ErrorProfile(fn=0.0, fp=0.0, pos=1e-6 * (1 + 1e-9))).score == 1.0


def test_forgotten_trials_leave_their_numbers_unused():
    """A new trial must not take the number of a finished one, nor overwrite its results."""
    study = Study("f1", Grid(5), pos=0.25, n_trials=9)
    study.ask_batch()
    study.tell(0, profile=HALF)
    kept = study.tell(3, profile=HALF)
    study.forget_pending()
    again = study.ask_batch()
    assert [trial.number for trial in study.trials] == [0, 3, 4, 5, 6]
    assert [trial.t for trial in again] == pytest.approx([0.3, 0.5, 0.9])
    better = ErrorProfile(fn=0.0, fp=0.1, pos=0.25)
    assert study.tell(again[0], profile=better).profile == better
    assert study.trials[1] == kept


# ---------------------------------------------------------------- results


@pytest.mark.parametrize("name", [name for name in METRICS if name not in ("recall", "specificity")])
@pytest.mark.parametrize("strategy", ["cone", "grid", "support"])
def test_results_agree_with_the_trials(name, strategy):
    study = Study(name, strategy, pos=0.25, n_trials=6)
    assert (study.best_trial, study.best_score, study.gap) == (None, None, None)
    assert study.upper_bound == study.metric.range(0.25)[1]
    run(study, exact_learner(finite_class(), 0.25))
    assert study.best_trial is best_trial(study.trials)
    assert study.best_score == max(trial.score for trial in study.trials)
    attained = max(trial.attained for trial in study.trials)
    assert study.gap == pytest.approx(max(study.upper_bound - attained, 0.0))
    assert study.gap >= 0


@pytest.mark.parametrize("bound", [*BOUNDS, *BOUNDS.values()])
def test_tol_stops_on_every_bound(bound):
    study = Study("f1", "cone", pos=0.25, n_trials=200, tol=0.05, bound=bound)
    run(study, exact_learner(finite_class(), 0.25))
    if bound in ("parambath", BOUNDS["parambath"]):  # its slope leaves a gap for hundreds of trainings
        assert study.gap > 0
    else:
        assert study.gap <= 0.05
        assert study.stop_reason.endswith("is at most tol=0.05")
        assert len(study.trials) < 50


def test_tol_zero_and_none():
    perfect = ErrorProfile(fn=0.0, fp=0.0, pos=0.25)
    for tol, n_trials in ((0, 1), (None, 5)):
        study = Study("f1", pos=0.25, n_trials=5, tol=tol)
        while (trial := study.ask()) is not None:
            study.tell(trial, profile=perfect)
        assert len(study.trials) == n_trials


def test_reasons_to_stop():
    study = run(Study("f1", pos=0.25, n_trials=2), lambda costs: HALF)
    assert study.stop_reason == "all 2 trials are done"
    study.n_trials = 3
    assert study.ask() is not None
    assert study.stop_reason is None
    assert run(Study("f1", Grid(2), pos=0.25), lambda costs: HALF).stop_reason == "strategy grid is done"
    study = run(Study("accuracy", pos=0.25), lambda costs: HALF)
    assert study.stop_reason == (
        "costs (1.0, 1.0) were tried before: accuracy has costs of the same ratio at every level; strategy 'ladder' "
        "tries others"
    )
    assert len(study.trials) == 1

    def same(trials, *, metric, pos):
        return 0.5

    study = run(Study("f1", same, pos=0.25), lambda costs: HALF)
    assert study.stop_reason == "costs (1.5, 0.5) were tried before: strategy same asked for them again"


def test_failed_trials_count_and_are_not_repeated():
    study = Study("f1", "cone", pos=0.25, n_trials=4)
    while (trial := study.ask()) is not None:
        study.fail(trial, "no")
    assert len({trial.t for trial in study.trials}) == 4
    assert study.best_trial is None
    assert study.upper_bound == 1.0


@given(labels=st.lists(st.integers(0, 1), min_size=2, max_size=20), fnr=rates)
def test_from_target_takes_the_share_of_the_labels(labels, fnr):
    y = np.array([0, 1, *labels])
    assert Study.from_target(y).pos == pytest.approx(y.mean())
    weight = np.arange(1.0, y.size + 1)
    assert Study.from_target(y, "f2", "grid", sample_weight=weight).pos == pytest.approx(np.average(y, weights=weight))
    assert Study.from_target(np.where(y == 1, "a", "b"), pos_label="b").pos == pytest.approx(1 - y.mean())


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pos": 0.0}, ValueError, r"pos must be a number in \(0, 1\), got 0.0"),
        ({"pos": 0.2, "n_trials": 0}, ValueError, "n_trials must be an int >= 1, got 0"),
        ({"pos": 0.2, "tol": -0.1}, ValueError, "tol must be >= 0"),
        ({"pos": 0.2, "metric": "f"}, ValueError, "unknown metric 'f'"),
        ({"pos": 0.2, "strategy": "gird"}, ValueError, "unknown strategy 'gird'"),
        ({"pos": 0.2, "bound": "tight"}, ValueError, "unknown bound 'tight'"),
        ({"pos": 0.2, "metric": "gmean", "bound": "diagonal"}, TypeError, "DiagonalBound needs a linear-fractional"),
        ({"pos": 0.2, "metric": "gmean", "strategy": "bisection"}, TypeError, "strategy 'bisection' needs a linear-fr"),
    ],
)
def test_arguments_are_checked_at_once(options, error, message):
    with pytest.raises(error, match=message):
        Study(**options)


def test_a_bound_of_ones_own():
    class Nothing(Bound):
        def upper_bound(self, levels):
            return np.full(np.shape(levels), self.hi)

        def best_possible(self):
            return self.hi

        def region(self):
            return None

    assert run(Study("f1", pos=0.25, n_trials=2, bound=Nothing), lambda costs: HALF).upper_bound == 1.0


# ---------------------------------------------------------------- files


def mixed_study(metric="f1", strategy="cone"):
    """Complete trials with scores and infinite thresholds, a failed and a pending one."""
    study = Study(metric, strategy, pos=0.25, n_trials=9, tol=1e-9)
    rng = np.random.default_rng(0)
    study.fail(study.ask(), "Ünïcode\nand lines")
    for score in (Y + rng.normal(size=40), np.zeros(40), -Y.astype(float)):
        trial = study.ask()
        study.tell(trial, Y, y_score=score) if trial.number % 2 else study.tell(trial, Y, Y[::-1], y_score=score)
    study.tell(study.ask(), profile=HALF)
    assert any(trial.threshold in (-np.inf, np.inf) for trial in study.trials)
    study.ask()
    return study


@pytest.mark.parametrize(
    ("metric", "strategy"),
    [
        ("f1", "cone"),
        ("gmean", "support"),
        (Constrained(Recall(), get_constraint("precision >= 0.5")), "cone"),
        (CustomMetric(lambda pos: (2 * pos, -2, 0, 2 * pos, -1, 1)), Grid(7)),
        (Youden(), Halves()),
    ],
)
def test_a_loaded_study_is_the_same_and_goes_on_the_same(tmp_path, metric, strategy):
    study, path = mixed_study(metric, strategy), tmp_path / "study.json"
    study.save(path)
    fresh = (Youden(), Halves()) if isinstance(metric, Youden) else (metric, strategy)
    loaded = Study.load(path, *fresh)
    assert loaded.trials == study.trials
    assert (loaded.pos, loaded.n_trials, loaded.tol) == (study.pos, study.n_trials, study.tol)
    pending = next(trial for trial in study.trials if trial.state == "pending")
    for each in (study, loaded):
        each.tell(pending, profile=HALF)
    assert loaded.ask() == study.ask()
    assert loaded.upper_bound == study.upper_bound
    assert json.loads(path.read_text())["format"] == "csf-study"


@given(rows=st.lists(st.tuples(rates, rates), max_size=5), pos=st.floats(0.01, 0.99))
def test_any_history_survives(tmp_path_factory, rows, pos):
    path = tmp_path_factory.mktemp("studies") / "study.json"
    study = Study("f1", Grid(5), pos=pos)
    for trial, (fnr, fpr) in zip(study.ask_batch(), rows, strict=False):
        study.tell(trial, profile=told(0, 0.5, fnr, fpr, pos=pos).profile)
    study.save(path)
    loaded = Study.load(path, "f1", Grid(5))
    assert loaded.trials == study.trials
    assert loaded.gap == study.gap


def test_options_of_a_loaded_study_may_be_changed(tmp_path):
    mixed_study().save(tmp_path / "study.json")
    loaded = Study.load(tmp_path / "study.json", n_trials=50, tol=None, bound="diagonal")
    assert (loaded.n_trials, loaded.tol, loaded.bound) == (50, None, "diagonal")
    assert loaded.stop_reason is None


def content(**changes):
    study = Study("f1", pos=0.25)
    study.tell(study.ask(), profile=HALF)
    record = {
        "metric": [repr(study.metric), fingerprint(study.metric)],
        "strategy": [repr(study.strategy), fingerprint(study.strategy)],
        "pos": 0.25,
        "n_trials": 10,
        "tol": None,
        "stop_reason": None,
        "trials": [trial.to_dict() for trial in study.trials],
    }
    return {name: value for name, value in (record | changes).items() if value != "missing"}


def text(*, kind="csf-study", version=3, **changes):
    """A file that is intact, whatever it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.json"
        write_record(path, kind, version, content(**changes))
        return path.read_text()


FILES = {
    "torn": (text()[:-20], "is damaged or not a csf-study file .*; it was left as it is. Give another"),
    "checkpoint": (text(kind="csf-checkpoint"), "is not a csf-study file"),
    "without trials": (text(trials="missing"), r"is damaged \(KeyError\('trials'\)\); it was left as"),
    "strange trials": (text(trials=[{"t": 0.5}]), "is damaged"),
    "trials of nothing": (text(trials=None), "is damaged"),
    "other metric": (text(metric=["FBeta(beta=2.0)", ""]), r"was made with metric FBeta\(beta=2.0\), not FB"),
    "other strategy": (
        text(strategy=["Grid(size=3)", ""]),
        r"was made with strategy Grid\(size=3\), not Con",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named_and_left_alone(tmp_path, name):
    content, message = FILES[name]
    path = tmp_path / "study.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(ValueError, match=message):
        Study.load(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_good_content_is_good(tmp_path):
    """The files above are bad for the one reason they name."""
    path = tmp_path / "study.json"
    path.write_text(text())
    assert Study.load(path).best_score == FBeta().of(HALF)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        Study.load(tmp_path / "nothing.json")


# ---------------------------------------------------------------- class weights that a search of several classes asks


SHARES = np.array([0.6, 0.3, 0.1])
METRIC = get_confusion_metric("f1_macro")
OWN = np.array([[0.5, 0.1, 0.0], [0.1, 0.2, 0.0], [0.05, 0.05, 0.0]])
JUDGED = np.array([[0.45, 0.1, 0.05], [0.1, 0.2, 0.0], [0.0, 0.05, 0.05]])


def study(strategy="ladder", n_trials=20, shares=SHARES):
    return MulticlassStudy(METRIC, strategy, shares=shares, n_trials=n_trials)


@pytest.mark.parametrize(
    ("strategy", "n_trials", "powers"),
    [
        ("ladder", 20, [0.0, 0.5, 1.0]),
        ("ladder", 2, [0.0, 1.0]),
        ("ladder", 1, [0.0]),
        (Ladder(5), 20, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("grid", 4, [0.0, 1 / 3, 2 / 3, 1.0]),
        (Grid(size=2), 20, [0.0, 1.0]),
    ],
)
def test_powers_go_from_equal_class_weights_to_balanced_ones(strategy, n_trials, powers):
    asked = study(strategy, n_trials)
    batch = asked.ask_batch()
    assert [trial.t for trial in batch] == pytest.approx(powers)
    assert [trial.number for trial in batch] == list(range(len(powers)))
    assert asked.most_trials == len(powers)


def test_class_weights_are_powers_of_the_shares_of_mean_one():
    equal, half, balanced = study().ask_batch()
    assert equal.costs == (1.0, 1.0, 1.0)  # to the last digit: the base as it is
    assert balanced.costs == pytest.approx(1.0 / (3.0 * SHARES))
    assert np.array(half.costs) ** 2 * SHARES == pytest.approx(half.costs[0] ** 2 * SHARES[0])
    assert SHARES @ half.costs == pytest.approx(1.0)


def test_the_study_is_over_when_all_powers_were_asked_for():
    asked = study()
    batch = asked.ask_batch()
    assert asked.ask_batch() == []  # they are pending
    assert asked.stop_reason is None
    for trial in batch[:2]:
        asked.record(trial, **judged_fields(METRIC, OWN))
    asked.fail(batch[2], "no")
    assert asked.ask_batch() == []
    assert asked.stop_reason == "all 3 class weights were tried"


def test_what_was_pending_is_asked_for_again():
    asked = study()
    first, *_ = asked.ask_batch()
    asked.record(first, **judged_fields(METRIC, OWN))
    asked.forget_pending()
    again = asked.ask_batch()
    assert [(trial.number, trial.t) for trial in again] == [(1, 0.5), (2, 1.0)]


def test_classes_of_the_same_size_leave_equal_weights():
    asked = study(shares=np.full(4, 0.25))
    (trial,) = asked.ask_batch()
    assert trial.costs == (1.0,) * 4
    asked.record(trial, **judged_fields(METRIC, np.eye(4) / 4))
    asked.ask_batch()
    assert (
        asked.stop_reason == "all 1 class weights were tried: classes of the same size leave equal class weights only"
    )


@pytest.mark.parametrize("strategy", ["cone", "bisection"])
def test_strategies_of_two_costs_are_refused(strategy):
    with pytest.raises(ValueError, match=f"strategy='{strategy}' searches the costs of two .* 'ladder' or 'grid'"):
        study(strategy)


def test_the_score_is_the_larger_of_own_and_judged():
    own, judged = (float(METRIC.value(matrix)) for matrix in (OWN, JUDGED))
    assert judged > own
    fields = judged_fields(METRIC, OWN, tuned=np.diag(SHARES), judged=JUDGED)
    assert (fields["value"], fields["score"]) == (own, judged)
    assert judged_fields(METRIC, JUDGED, judged=OWN)["score"] == judged
    assert judged_fields(METRIC, OWN)["score"] == own


def told_trial():
    trial, *_ = study().ask_batch()
    return replace(trial, state="complete", fold_scores=(0.5, None), **judged_fields(METRIC, OWN, OWN, JUDGED))


def test_records_come_back_from_a_file_as_they_were():
    trial = told_trial()
    assert Trial.from_dict(json.loads(json.dumps(trial.to_dict()))) == trial
    with pytest.raises(ValueError, match="not the record of a trial"):
        Trial.from_dict(trial.to_dict() | {"own": 3})
