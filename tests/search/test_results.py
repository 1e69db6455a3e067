"""The table of trials."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from builders import told
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from csf import CostSearch, Trial
from csf.evaluate.trials import best_trial
from csf.metrics import FBeta
from csf.search.outcome import cv_results
from csf.search.selection import choose

SETTINGS = [{"C": 1.0, "kernel": "rbf"}, {"C": 2.0}]


def trials():
    first = replace(told(0, 0.5, 0.2, 0.1, pos=0.25), score=0.6, fold_scores=(0.5, 0.7, None), threshold=np.inf)
    second = replace(told(1, 0.25, 0.1, 0.2, pos=0.25), score=0.8, fold_scores=(0.9, 0.7, 0.8), setting=1, fit_time=2.0)
    third = replace(told(2, None, 0.1, 0.1, pos=0.25, costs=(0.75, 0.25)), score=0.6, fold_scores=(None, None, None))
    failed = Trial(number=3, t=0.75, costs=(1.25, 0.75), state="failed", error="no memory", setting=1)
    return [first, second, third, failed]


def test_one_row_a_trial():
    table = cv_results(trials(), SETTINGS, 3)
    frame = pd.DataFrame(table)
    assert frame.shape[0] == 4
    assert frame["params"].tolist() == [{"t": t, **SETTINGS[s]} for t, s in ((0.5, 0), (0.25, 1), (None, 0), (0.75, 1))]
    assert frame["param_t"].tolist()[:2] == [0.5, 0.25]
    assert np.isnan(frame["param_t"][2])
    assert frame["param_c_fn"].tolist() == [1.5, 1.75, 0.75, 1.25]
    assert frame["param_c_fp"].tolist() == [0.5, 0.25, 0.25, 0.75]
    assert frame["param_C"].tolist() == [1.0, 2.0, 1.0, 2.0]
    assert table["param_kernel"].tolist() == ["rbf", None, "rbf", None]
    assert frame["state"].tolist() == ["complete", "complete", "complete", "failed"]
    assert table["error"].tolist() == [None, None, None, "no memory"]
    assert frame["threshold"][0] == np.inf
    assert frame["fn"].tolist()[:3] == pytest.approx([0.05, 0.025, 0.025])
    assert frame["fp"].tolist()[:3] == pytest.approx([0.075, 0.15, 0.075])
    assert frame["fit_time"].tolist() == [0.0, 2.0, 0.0, 0.0]


def test_gaps_of_linear_models_are_told():
    table = cv_results([replace(each, duality_gap=0.25 if each.number else None) for each in trials()], SETTINGS, 3)
    np.testing.assert_array_equal(table["duality_gap"], [np.nan, 0.25, 0.25, 0.25])


def test_scores_of_folds_their_mean_and_the_pooled_one():
    table = cv_results(trials(), SETTINGS, 3)
    assert table["split1_test_score"][:2].tolist() == [0.7, 0.7]
    assert np.isnan([table["split2_test_score"][0], *(table[f"split{i}_test_score"][3] for i in range(3))]).all()
    assert table["mean_test_score"][:2] == pytest.approx([0.6, 0.8])
    assert table["std_test_score"][:2] == pytest.approx([0.1, np.std([0.9, 0.7, 0.8])])
    assert np.isnan(table["mean_test_score"][2:]).all()
    assert table["pooled_test_score"][:3].tolist() == [0.6, 0.8, 0.6]
    assert table["rank_test_score"].tolist() == [2, 1, 2, 4]


def test_the_winner_has_rank_one_also_under_a_constraint():
    history = trials()
    history[1] = replace(history[1], violation=0.1)
    table = cv_results(history, SETTINGS, 3)
    assert table["rank_test_score"].tolist() == [1, 3, 1, 4]
    assert table["rank_test_score"][history.index(best_trial(history))] == 1
    worse = [replace(trial, violation=0.2 + 0.1 * trial.number) for trial in trials()[:3]]
    assert cv_results(worse, SETTINGS, 3)["rank_test_score"].tolist() == [1, 2, 3]


def test_without_settings_and_folds():
    table = cv_results([told(0, 0.5, 0.2, 0.1, pos=0.25)], [{}], 0)
    assert table["params"].tolist() == [{"t": 0.5}]
    assert not any(name.startswith("split") for name in table)
    assert np.isnan(table["mean_test_score"]).all()
    assert table["rank_test_score"].tolist() == [1]


def test_values_of_any_type_are_kept():
    settings = [{"weights": [1, 2]}, {"weights": {"a": 1}}]
    history = [told(0, 0.5, 0.2, 0.1, pos=0.25), replace(told(1, 0.25, 0.2, 0.1, pos=0.25), setting=1)]
    assert cv_results(history, settings, 0)["param_weights"].tolist() == [[1, 2], {"a": 1}]


class Refused(LinearSVC):
    """Says the same of all data."""

    def fit(self, X, y, sample_weight=None):
        raise TypeError("Input X is odd.\nMore of this elsewhere.")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_where_all_trials_fail_the_cause_comes_first_and_once():
    X, y = np.zeros((40, 2)), np.arange(40) % 4 == 0
    with pytest.raises(TypeError, match=r"^all 5 trials failed: TypeError: Input X is odd\.\n") as caught:
        CostSearch(Refused(), strategy="grid", n_trials=5, cv=2).fit(X, y * 1)
    assert str(caught.value).count("Traceback (most recent call last)") == 1
    assert str(caught.value).count("More of this elsewhere") == 2  # in the line that raises and in its text


class Counted(LinearSVC):
    """Counts its trainings, all of which fail unless C is small: then those with equal costs work."""

    trainings = 0

    def fit(self, X, y, sample_weight=None):
        type(self).trainings += 1
        if self.C < 0.2 and (sample_weight is None or np.ptp(sample_weight) == 0.0):
            return super().fit(X, y, sample_weight)
        raise ArithmeticError(f"{len(y)} samples are too many")


SAMPLES = np.random.default_rng(0).normal(size=(45, 2)), (np.arange(45) % 4 == 0) * 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    ("grid", "trainings"),
    [
        ("auto", 4),
        (None, 4),
        ({"C": [1.0, 2.0]}, 8),
    ],
    ids=str,
)
def test_an_error_of_all_folds_with_equal_costs_ends_the_search_at_once(grid, trainings):
    Counted.trainings = 0
    with pytest.raises(ValueError, match=r"^all trials failed on every fold.*: ArithmeticError: \d+ samples") as caught:
        CostSearch(Counted(), param_grid=grid, cv=4).fit(*SAMPLES)
    assert Counted.trainings == trainings
    assert type(caught.value.__cause__) is ArithmeticError
    assert "Traceback" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_what_only_some_settings_folds_or_costs_cannot_take_ends_no_search():
    other_setting = CostSearch(Counted(), param_grid={"C": [1.0, 0.1]}, cv=4).fit(*SAMPLES)
    assert other_setting.best_params_ == {"C": 0.1}
    assert [trial.state for trial in other_setting.studies_[1].trials] == ["complete", "failed", "failed"]
    assert [trial.state for trial in other_setting.studies_[0].trials] == ["failed"]
    assert "failed, with equal costs" in other_setting.stop_reason_
    X, y = SAMPLES
    splits = [(np.arange(5, 45), np.arange(5)), (np.arange(40), np.arange(40, 42))]
    X = np.where(np.arange(45)[:, None] == 42, np.nan, X)
    with pytest.raises(ValueError, match=r"^all \d+ trials failed: ValueError: Input X contains NaN"):
        CostSearch(LinearSVC(), cv=splits).fit(X, y)


class Moody(LinearSVC):
    """Fails for the C's that a search tries above its own, and in another way where the first sample is held out."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            raise ArithmeticError("C is too large")
        if self.C == 1e-3:
            raise ArithmeticError("the first is there" if X[0, 0] == SAMPLES[0][0, 0] else "the first is not there")
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_search_goes_on_after_what_worked_and_after_errors_that_differ():
    search = CostSearch(Moody(), cv=3, param_grid=[{"C": [0.5]}, {"C": [2.0]}], n_trials=2).fit(*SAMPLES)
    assert search.best_params_ == {"C": 0.5}
    with pytest.raises(ValueError, match=r"^all \d+ trials failed: ArithmeticError"):
        CostSearch(Moody(C=1e-3), cv=3).fit(*SAMPLES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_missing_values_are_told_with_the_way_out():
    X, y = SAMPLES
    X = np.where(np.arange(45)[:, None] % 5 == 0, np.nan, X)
    with pytest.raises(ValueError, match=r"contains NaN.\nFill in .*make_pipeline\(SimpleImputer\(\)") as caught:
        CostSearch(LinearSVC(), cv=4).fit(X, y)
    assert "natively" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match=r"^Input X contains NaN"):
        CostSearch(LinearSVC(), cv=4, error_score="raise").fit(X, y)
    CostSearch(make_pipeline(SimpleImputer(), LinearSVC()), cv=4, n_trials=1).fit(X, y).predict(X)
    CostSearch(HistGradientBoostingClassifier(max_iter=2), cv=2, n_trials=1).fit(X, y).predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_what_is_being_handled_around_a_search_is_no_cause_of_its_failures():
    X, y = np.zeros((40, 2)), np.arange(40) % 4 == 0
    search = CostSearch(Refused(), strategy="grid", n_trials=2, cv=2)
    try:
        raise LookupError("an earlier matter")
    except LookupError:
        with pytest.raises(TypeError, match=r"^all 2 trials failed") as caught:
            search.fit(X, y * 1)
    assert "earlier matter" not in str(caught.value)


def test_other_causes_are_told_in_a_line_each():
    failed = [replace(trials()[3], error=error) for error in ("no memory", "no time\nat all", "no memory")]
    with pytest.raises(ValueError, match=r"^all 3 trials failed: no memory\nothers: no time$"):
        choose(failed, FBeta())


def test_a_winner_far_from_its_optimum_is_told():
    """Counts without scaling and a weak penalty: the solver runs out of products."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.3).astype(int)
    X = sparse.csr_array(rng.poisson(0.3, size=(400, 700)) * rng.lognormal(3.0, 2.0, size=(400, 1)))
    search = CostSearch(LinearSVC(C=1e6, max_iter=1), n_trials=2, cv=2, refit=False)
    with pytest.warns(ConvergenceWarning, match="may be .*% above its optimum; scale the features"):
        search.fit(X, y)
