"""Checks: each says its sentence where it should, and nothing elsewhere; summaries do not contradict them."""

import re
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from builders_of_reports import EVIL, KINDS, data, fitted, page_of
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.metrics import Incomplete
from csf.report import CHECKS, ThresholdCheck, findings, summarise
from csf.report.checks import is_counter
from csf.report.facts import Facts
from csf.report.held_out import HeldOut, Judged, held_out
from csf.report.kinds import facts_of, gain_over_equal
from csf.thresholding.certificates import Guarantee

GUIDE = Path(__file__).parents[2] / "notebooks" / "guide" / "checks.md"
PROMISE = Guarantee("precision >= 0.9", 0.9, True, 0.0, 0.05, {}, 10, 5, 1)
OWN = Judged("this search", 0.5, (0.4, 0.6), 0.0, (0.0, 0.0))


def look(code, kind="plain", held=None, **attributes):
    """What one check says of a search with other attributes."""
    search = copy(fitted(kind)[0])
    vars(search).update(attributes)
    return next((found.text for found in findings(search, held) if found.code == code), "")


def judged(*each):
    """Held-out data on which classifiers did so; labels as in training."""
    search, X, y = fitted("plain")
    return held_out(search, X, y, None, None)._replace(judged=[OWN, *each])


def test_each_check_has_a_section_of_the_guide_with_its_title_and_what_to_do():
    text = GUIDE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (CSF\d{3}): (.*)$", text, re.M))
    assert sections == {code: CHECKS[code].title for code in sorted(CHECKS)}
    assert list(sections) == sorted(sections)
    assert text.count("**Do:**") == len(CHECKS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "macro"])
def test_what_is_muted_is_left_out_and_said(kind, tmp_path):
    search, *_ = fitted(kind)
    found = findings(search)
    assert found[-1].code == "CSF010"
    assert findings(search, mute=["CSF010"]) == found[:-1]
    if kind == "labels":
        search.report(tmp_path / "r.html", mute=["CSF010"])
        _, words, _ = page_of(tmp_path / "r.html")
        assert "Left out here: CSF010." in words
        assert all(each.text in words for each in found[:-1])
        assert found[-1].text not in words


def test_codes_of_no_check_are_refused(tmp_path):
    search, *_ = fitted("plain")
    with pytest.raises(ValueError, match=r"mute holds 'CSF01', the code of no check; known: CSF001, .*Did you mean"):
        search.report(tmp_path / "r.html", mute=["CSF01"])
    with pytest.raises(TypeError, match=r"mute must be a list of codes, such as \['CSF001'\]"):
        search.report(tmp_path / "r.html", mute="CSF001")


@pytest.mark.parametrize(("missed", "promised"), [(False, False), (True, False), (False, True)])
def test_a_rival_that_keeps_less_is_not_said_to_be_better(missed, promised):
    """Like with like: who misses the constraint finds more, and who promises nothing is not what was asked for."""
    rival = Judged("plain", 0.7, (0.6, 0.8), -0.2, (-0.3, -0.1), 0.1 if missed else 0.0)
    text = look("CSF009", held=judged(rival), **({"guarantee_": PROMISE} if promised else {}))
    assert ("“plain” misses the constraint on these data, and is not compared." in text) == missed
    assert ("“plain” is better on these data by 0.200: take it." in text) == (not missed and not promised)
    assert ("take it if it promises precision >= 0.9 too, with confidence 0.9." in text) == promised


def test_rivals_that_may_be_as_good_and_values_that_were_optimistic():
    chance = Judged("plain", 0.45, (0.4, 0.5), 0.05, (-0.1, 0.2))
    assert "+0.050 compared with “plain” (-0.100 to +0.200) may be chance" in look("CSF009", held=judged(chance))
    assert look("CSF009", held=judged(Judged("plain", 0.4, (0.3, 0.5), 0.1, (0.01, 0.2)))) == ""
    assert "that is worse than 0." in look("CSF008", held=judged())
    assert look("CSF008", held=judged(), best_score_=0.55) == ""


def test_searches_whose_scores_were_only_counted_have_a_summary():
    search = copy(fitted("plain")[0])
    search.result_ = replace(search.result_, store=None)
    for known in ("held_out_", "_assessment"):
        vars(search).pop(known, None)
    (only,) = facts_of(search).estimates
    assert only.name == "out-of-fold"
    assert "f1 out-of-fold, the largest of many" in str(summarise(search))


def test_constraints_are_told_apart():
    assert look("CSF006") == look("CSF007") == ""
    assert "No trial satisfies precision >= 1 on out-of-fold" in look("CSF006", "infeasible")
    assert "about half the time" in look("CSF006", "infeasible", feasible_=True)
    failed = Guarantee("precision >= 0.9", 0.9, False, 0.0, 0.5, {}, 10, 5, 1, needed=40)
    said = look("CSF006", constraint="precision >= 0.9", guarantee_=failed)
    assert said.startswith("No threshold certifies precision >= 0.9")
    assert said.endswith("about 40 positives would be needed.")
    assert look("CSF006", constraint="precision >= 0.9", guarantee_=PROMISE) == ""
    search, X, y = fitted("infeasible")
    held = held_out(search, X, y, None, None)
    found = held.answers["this search"] == 1
    counts = f"{np.sum(found & (y == 1))} of {np.sum(found)}"
    text = look("CSF007", "infeasible", held)
    assert text.startswith(f"Held-out precision {np.mean(y[found] == 1):.3f} ({counts}), below the demanded 1. Ask for")


def test_the_reason_against_a_search_comes_first():
    search, X, y = fitted("infeasible")
    summary = summarise(search, held_out(search, X, y, None, None))
    assert summary.verdict == "Do not use it as it is."
    assert [each.code for each in summary.findings][:2] == ["CSF007", "CSF006"]
    assert summary.sentences[-1].startswith("Do not use it as it is. Held-out precision ")


def test_searches_and_trainings_that_ended_early_and_thresholds_at_infinity():
    assert look("CSF012") == look("CSF013") == look("CSF014") == ""
    assert "predicts nothing positive" in look("CSF012", best_threshold_=np.inf)
    assert "predicts everything positive" in look("CSF012", best_threshold_=-np.inf)
    search, *_ = fitted("plain")
    unsolved = [replace(trial, duality_gap=0.2) for trial in search.trials_]
    assert "20% above the optimum" in look("CSF013", trials_=unsolved)
    text = look("CSF014", stop_reason_="the time limit of 1 s was reached")
    said = r"ended early \(the time limit of 1 s was reached\) with 12 trials; \d other ratios of costs were tried"
    assert re.search(said, text)


def test_few_samples():
    assert look("CSF001") == ""
    text = look("CSF001", class_count_=np.array([300, 99]))
    assert text.startswith("The rarer side has 99 samples")
    assert "Repeat the folds" in text
    assert "Repeat" not in look("CSF001", class_count_=np.array([300, 99]), n_splits_=15)
    assert "dearest" not in text
    dear = look("CSF001", class_count_=np.array([300, 60]), dearest_share_=0.4)
    assert "The dearest 1 % of the rows carry 40% of all that is at stake" in dear


def test_labels_that_miss_positives_are_said_to_miss_them_alike():
    assert look("CSF019") == ""
    assert "among those that are predicted positive" in look("CSF019", metric=Incomplete("f1", labelled=0.2))


def test_a_frequent_positive_class_is_asked_about_unless_it_was_named():
    assert look("CSF016", class_count_=np.array([100, 200])) == ""
    text = look("CSF016", class_count_=np.array([100, 201]))
    assert text.startswith("“1” counts as positive, because it is the larger label, and 201 of 301 samples have it")
    assert look("CSF016", class_count_=np.array([100, 201]), pos_label=1) == ""


def test_another_share_of_positives_is_told_with_what_moves_to_it():
    search, X, y = fitted("plain")
    assert look("CSF005", held=held_out(search, X, y, None, None)) == ""
    rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    share = 10 / rows.size
    text = look("CSF005", held=held_out(search, X[rows], y[rows], None, None))
    assert "“1” is" in text
    assert f"at_prevalence({share:.3g})" in text


def test_shares_are_compared_by_weight():
    """Where positives were sampled down, weights say how many there are."""
    search, X, y = fitted("plain")
    rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    weight = np.where(y[rows] == 1, (y == 1).sum() / 10, 1.0)
    assert look("CSF005", held=held_out(search, X[rows], y[rows], weight, None)) == ""
    weighted = copy(search).fit(X[rows], y[rows], sample_weight=weight)
    assert "CSF005" not in [found.code for found in findings(weighted, held_out(weighted, X, y, None, None))]
    assert "CSF005" in [found.code for found in findings(weighted, held_out(weighted, X[rows], y[rows], None, None))]


@pytest.mark.parametrize("kind", ["classes", "null"])
def test_shares_of_several_classes_are_compared_by_weight(kind):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 600, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(600, 2)) + 2.0 * np.column_stack([y == "b", y == "c"])
    options = {"null_class": "a"} if kind == "null" else {"metric": "f1_macro"}
    weight = np.where(y == "b", 3.0, 1.0) / 1.6
    search = CostSearch(LogisticRegression(), cv=3, param_grid=None, n_trials=1, **options).fit(X, y, weight)
    for given, is_noticed in ((weight, False), (None, True)):
        noticed = findings(search, held_out(search, X, y, given, None))
        assert ("CSF005" in [found.code for found in noticed]) == is_noticed


def test_groups_say_less_about_shares_than_their_rows():
    search, X, y = fitted("plain")
    rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    assert "CSF005" in [found.code for found in findings(search, held_out(search, X[rows], y[rows], None, None))]
    groups = np.arange(rows.size) // 20
    noticed = findings(search, held_out(search, X[rows], y[rows], None, None, groups=groups))
    assert "CSF005" not in [found.code for found in noticed]


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        (np.arange(100), True),
        (np.arange(100)[::-1] + 7.0, True),
        (np.random.default_rng(0).permutation(1000)[:250] - 500, True),
        (np.array([*range(100), np.nan]), True),
        (np.arange(100) * 1000, False),  # far between: all differ by chance too
        (np.arange(100) / 8, False),
        (np.repeat(np.arange(50), 2), False),
        (np.arange(10), False),
        (np.array([]), False),
        (np.full(30, np.nan), False),
    ],
)
def test_counters_are_whole_numbers_that_differ_where_independent_ones_would_not(values, answer):
    assert is_counter(values) == answer


def test_independent_numbers_are_no_counters():
    rng = np.random.default_rng(0)
    drawn = [
        rng.integers(0, span, n) for n in (30, 100, 300) for span in (n, n**2 // 20, n**2 // 8) for _ in range(300)
    ]
    assert sum(map(is_counter, drawn)) <= 2


@pytest.fixture(scope="module")
def sorted_rows():
    """Rows in the order of their class, with their number: a frame, labels, and which are held out."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.random(800) < 0.3).astype(int)
    X = pd.DataFrame({"id": np.arange(800), "x": rng.normal(size=800) + y})
    return X, y, rng.random(800) < 0.4


def held_out_findings(base, X, y, unseen, as_array=False):
    X = X.to_numpy() if as_array else X
    folds = StratifiedKFold(3, shuffle=True, random_state=0)  # as by default, or sorted rows are not mixed
    search = CostSearch(base, cv=folds).fit(X[~unseen], y[~unseen])
    held = held_out(search, X[unseen], y[unseen], None, None)
    return {found.code: found.text for found in findings(search, held)}, summarise(search, held), summarise(search)


@pytest.mark.parametrize("as_array", [False, True])
def test_a_counter_of_sorted_rows_is_said_in_the_verdict(sorted_rows, as_array):
    said, summary, unjudged = held_out_findings(DecisionTreeClassifier(max_depth=3), *sorted_rows, as_array)
    name = "0" if as_array else "'id'"
    assert f"The winner uses {name}, where all samples have different whole numbers" in said["CSF017"]
    assert f"such as column {name}, which alone separates the classes" in said["CSF018"]
    assert summary.verdict == "Look at its features before you use it."
    assert unjudged.verdict == "Look at its features before you use it."
    assert [found.code for found in unjudged.findings][:1] == ["CSF018"]


def test_a_counter_that_the_model_leaves_out_is_none(sorted_rows):
    base = make_pipeline(ColumnTransformer([("kept", "passthrough", ["x"])]), LogisticRegression())
    X, y, unseen = sorted_rows
    said, summary, _ = held_out_findings(base, X.assign(id=np.random.default_rng(0).permutation(800)), y, unseen)
    assert not said.keys() & {"CSF017", "CSF018"}
    assert summary.verdict.startswith("Use it")


def test_probabilities_that_are_off():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    held = HeldOut(X=p, y=y, weight=None, answers={}, judged=[])

    def said(move):
        search = SimpleNamespace(
            pos_label_=1, classes_=np.array([0, 1]), predict_proba=lambda X: np.column_stack([1 - move(X), move(X)])
        )
        facts = Facts(search=search, held=held, winner="", template="", figures={})
        return CHECKS["CSF004"].look(facts)

    assert said(lambda p: p) is None
    assert "off by 0.1" in said(lambda p: p**2 / (p**2 + (1 - p) ** 2))


def test_edges_of_the_grid():
    assert "C = 0.01 is at the end of the values tried: add smaller ones" in look("CSF002", best_params_={"C": 0.01})
    assert "C = 1 is at the end of the values tried: add larger ones" in look("CSF002", best_params_={"C": 1.0})
    assert look("CSF002", best_params_={"C": 0.1}) == ""


def test_gap_to_the_bound():
    assert "The upper bound leaves +0.100 at most, with other class weights" in look("CSF015", gap_=0.1)
    assert "little left" in look("CSF015", gap_=0.001)
    assert look("CSF015", gap_=0.01) == look("CSF015", gap_=float("nan")) == ""


def test_gains_over_equal_weights_are_judged_by_the_error_of_the_difference():
    X, y = data()[:2]
    search = CostSearch(LinearSVC(), param_grid=None, cv=3, random_state=0).fit(X, y)
    values = [(trial.score, at) for at, trial in enumerate(search.trials_) if trial.c_fn != trial.c_fp]
    neutral = max(trial.score for trial in search.trials_ if trial.c_fn == trial.c_fp)
    for value, at in values:
        search.best_index_ = at
        gain, error = gain_over_equal(search)
        assert gain == pytest.approx(value - neutral)
        assert 0.0 < error < 0.1
        assert ("CSF003" in [found.code for found in findings(search)]) == (gain <= 1.645 * error)
    search.best_index_ = next(at for at, trial in enumerate(search.trials_) if trial.c_fn == trial.c_fp)
    assert gain_over_equal(search) is None


SAMPLES, LABELS = make_classification(2000, 8, weights=[0.93], class_sep=0.6, flip_y=0.03, random_state=0)


def skore_report(SAMPLES=SAMPLES, LABELS=LABELS, **known):
    """What the check reads of a report."""
    model = LogisticRegression().fit(SAMPLES[:1000], LABELS[:1000])
    about = {"ml_task": "binary-classification", "pos_label": None, "X_test": SAMPLES[1000:], "y_test": LABELS[1000:]}
    return SimpleNamespace(estimator_=model, **(about | known))


def test_it_says_what_a_threshold_of_a_half_costs():
    one = skore_report()
    said = ThresholdCheck().check_function(one)
    assert "The estimator's own threshold costs" in said
    assert f"its predictions have {f1_score(LABELS[1000:], one.estimator_.predict(SAMPLES[1000:])):.3f}" in said
    assert ThresholdCheck(least=0.9).check_function(one) is None
    assert ThresholdCheck("accuracy").check_function(one) is None


def test_folds_are_taken_together():
    one = skore_report()
    half = [skore_report(X_test=SAMPLES[1000 + start :: 2], y_test=LABELS[1000 + start :: 2]) for start in (0, 1)]
    both = SimpleNamespace(ml_task=one.ml_task, pos_label=None, reports_=half)
    value = f"{f1_score(LABELS[1000:], one.estimator_.predict(SAMPLES[1000:])):.3f}"
    assert value in ThresholdCheck().check_function(both)


def test_names_of_classes():
    names = np.where(LABELS, "bad", "good")
    said = ThresholdCheck(pos_label="bad").check_function(skore_report(LABELS=names))
    assert said.split(" costs")[1] == ThresholdCheck().check_function(skore_report()).split(" costs")[1]
    assert ThresholdCheck().check_function(skore_report(LABELS=names, pos_label="bad")) == said


def test_it_is_a_check_of_skore():
    with matplotlib.rc_context():  # skore switches to interactive figures
        skore = pytest.importorskip("skore")
        made = skore.evaluate(LogisticRegression(), SAMPLES, LABELS, splitter=3)
        made.checks.add([ThresholdCheck(), ThresholdCheck("accuracy")])
        found = made.checks.summarize().frame().set_index("code")
    assert found.loc["CSF101-F1", "section"] == "tip"
    assert "costs" in found.loc["CSF101-F1", "explanation"]
    assert found.loc["CSF101-ACCURACY", "section"] == "passed"
    with matplotlib.rc_context():
        three = skore.evaluate(LogisticRegression(), SAMPLES, np.arange(len(SAMPLES)) % 3, splitter=0.3)
        three.checks.add([ThresholdCheck()])
        assert three.checks.summarize().frame().set_index("code").loc["CSF101-F1", "section"] == "not_applicable"


# ---------------------------------------------------------------- summaries


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unseen", [False, True])
def test_a_summary_is_short_and_begins_with_the_value_to_expect(kind, unseen):
    search, X, y = fitted(kind)
    found = summarise(search, held_out(search, X, y, None, None)) if unseen else search.summary()
    lines = str(found).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines[len(found.numbers) :])) <= 100
    value = search.score(X, y) if unseen else search.corrected_score_
    assert found.numbers[0][0] == f"{value:.3f}"
    if not unseen:
        assert found.numbers[1][0] == "{:.3f} to {:.3f}".format(*search.score_interval_)
    assert len(found.numbers) == len(found.sentences) == 3
    assert [line.partition(":")[0] for line in lines if line.startswith(("What", "How"))] == [
        "What you get",
        "How sure it is",
        "What to do",
    ]


def test_the_third_number_is_what_matters_for_the_kind():
    plain, X, y = fitted("plain")
    assert plain.summary().numbers[2][0] == f"+{plain.gap_:.3f}"
    rivals = held_out(plain, X, y, None, {"ones": np.ones_like(y)})
    assert summarise(plain, rivals).numbers[2][0] == f"{rivals.judged[1].difference:+.3f}"
    missed = fitted("infeasible")[0]
    assert missed.summary().numbers[2][0] == f"{missed.constraint_value_:.3f}"


def test_there_is_one_verdict():
    """Who is told to take the simpler method is not told to search on, and what misses its constraint is not used."""
    search, X, y = fitted("plain")
    held = held_out(search, X, y, None, None)
    own = held.judged[0]
    equal = held._replace(judged=[own, Judged("plain", own.value, own.interval, 0.0, (-0.1, 0.1))])
    found = summarise(search, equal)
    assert found.sentences[2].startswith("Take the simpler method.")
    assert not {"CSF002", "CSF003"} & {each.code for each in found.findings}
    assert "More trials" not in str(found)
    worse = held._replace(judged=[own, Judged("plain", 0.1, (0.0, 0.2), 0.3, (0.2, 0.4))])
    assert summarise(search, worse).sentences[2].startswith("Use it.")
    assert fitted("infeasible")[0].summary().sentences[2].startswith("Do not use it as it is. No trial satisfies")


def test_what_is_printed_points_at_the_summary_and_what_is_repeated_does_not():
    search, *_ = fitted("plain")
    assert str(search).endswith("# fitted; search.summary() says what was found")
    assert "summary" not in repr(search)
    assert "summary" not in str(clone(search))
    with pytest.raises(NotFittedError):
        clone(search).summary()


def test_notebooks_show_the_summary_above_the_diagram():
    search, *_ = fitted("plain")
    page = search._repr_mimebundle_()["text/html"]
    assert page.startswith(search.summary()._repr_html_())
    assert f"{search.corrected_score_:.3f}" in page
    assert "What to do" not in clone(search)._repr_mimebundle_()["text/html"]


def test_names_are_no_markup():
    search, X, y = fitted("plain")
    names = np.array(["no", EVIL])
    named = CostSearch(search.base, param_grid=None, n_trials=1, cv=3, pos_label=EVIL).fit(X, names[y])
    assert not re.search("<script|<img", named.summary()._repr_html_())


def verdict_of(kind="plain", held=None, **attributes):
    search = copy(fitted(kind)[0])
    vars(search).update(attributes)
    return summarise(search, held)


@pytest.mark.parametrize("low", [0.0, 0.9])
def test_the_verdict_reads_the_interval(low):
    """Of F1 the answer "positive" to all is worth 2 pos / (1 + pos)."""
    search, X, y = fitted("plain")
    own = replace(OWN, value=0.95, interval=(low, 1.0))
    held = held_out(search, X, y, None, None)._replace(judged=[own])
    pos = (y == search.pos_label_).mean()
    said = summarise(search, held).verdict
    assert said.startswith("Use it") == (low > 0.5)
    assert (f"worth {2 * pos / (1 + pos):.3f}, may be as good" in said) == (low < 0.5)


def test_the_verdict_says_what_a_certificate_costs():
    options = {"constraint": "precision >= 0.9"}
    dear = replace(PROMISE, lost=0.2, needed=40)
    said = verdict_of(guarantee_=dear, **options).verdict
    assert said.startswith("Use it")
    assert "costs 0.200 of f1; about 40 calibration positives in place of 5 would win half of it back" in said
    assert "calibration positives" not in verdict_of(guarantee_=replace(dear, needed=5), **options).verdict
    assert "certificate" not in verdict_of(guarantee_=PROMISE, **options).verdict
    said = verdict_of(guarantee_=replace(dear, lost=0.9), **options).verdict
    assert said.startswith("Collect more labels before you use it.")


@cache
def of_rows():
    X, y, *_ = data()
    return CostSearch(LogisticRegression(), "savings", param_grid=None, cv=3).fit(X, y, fn_cost=X[:, 0] ** 2, fp_cost=1)


def test_advice_says_nothing_twice():
    search = summarise(of_rows(), mute=[code for code in CHECKS if code != "CSF010"])
    assert str(search).count("fit has not seen") == 1


def test_numbers_with_costs_are_in_words_of_money():
    search = of_rows()
    summary = summarise(search)
    (number, what), (ends, _), (saved, whole) = summary.numbers
    assert number == f"{100 * search.corrected_score_:.1f} %"
    assert what.startswith("of the costs saved")
    assert ends.endswith(" %")
    assert saved.endswith(" a row")
    assert f"{search.class_count_.sum()} out-of-fold rows, in the units of the costs" in whole


def test_thresholds_are_told_as_probabilities_too():
    X, y, *_ = data()
    search = CostSearch(LogisticRegression(), param_grid=None, n_trials=1, cv=3).fit(X, y)
    shown = re.search(r"at least\s+(-?[\d.e-]+)\s+\(predict_proba:\s+([\d.]+)\)", str(summarise(search)))
    assert [float(each) for each in shown.groups()] == pytest.approx(
        [search.best_threshold_, search.best_threshold_proba_], rel=1e-2
    )
    search = CostSearch(GaussianNB(), param_grid=None, n_trials=1, cv=3).fit(X, y)
    assert search.best_threshold_proba_ == pytest.approx(search.best_threshold_)
    assert "predict_proba" not in str(summarise(search))
