"""Which rows a constraint is tested on: given scores, rows held back, or out-of-fold scores of all."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

import csf
from csf import CostSearch
from csf.metrics import Review

X, Y = make_classification(900, 5, weights=[0.7], flip_y=0.05, random_state=0)
QUICK = {"param_grid": None, "n_trials": 1, "cv": 3, "threshold": "tune"}
ASKED = {"constraint": "recall >= 0.6", "confidence": 0.9}


def searched(**options):
    return CostSearch(LogisticRegression(), "specificity", **(QUICK | ASKED | options)).fit(X, Y)


@pytest.mark.parametrize("cv", [3, RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)])
def test_cross_fitting_tests_the_out_of_fold_scores_of_all_rows(cv):
    search = searched(calibration="cross-fit", cv=cv)
    test, store = search.guarantee_, search.held_out_
    assert (test.n_samples, test.n_positives, test.rows) == (900, Y.sum(), "cross-fitted, not proven")
    assert "cross-fitted, not proven: false in" in str(test)
    assert "not proven" in repr(test)
    assert "out-of-fold (cross-fitted, not proven: false in" in " ".join(str(search.summary()).split())
    score, copies = search.result_.row.score[store.is_pos], store.truth.size // 900
    missed = int(np.ceil(np.sum(score < search.best_threshold_) / copies))
    assert test.error == pytest.approx(binom.cdf(missed, Y.sum(), 0.4))
    assert test.error <= 0.1 < binom.cdf(missed + 1, Y.sum(), 0.4)
    assert search.result_.calibrated is None
    np.testing.assert_array_equal(search.predict(X), search.score_samples(X) >= search.best_threshold_)


def test_given_scores_are_tested_on_all_rows_unless_a_share_is_asked_for():
    model = LogisticRegression().fit(X[:100], Y[:100])
    for calibration, rows, n in (
        (None, "given scores", 900),
        ("cross-fit", "given scores", 900),
        (0.3, "held back", 270),
    ):
        search = CostSearch(model, "specificity", cv="prefit", calibration=calibration, **ASKED).fit(X, Y)
        assert (search.guarantee_.rows, search.guarantee_.n_samples) == (rows, n)
        assert (search.result_.calibrated is None) == (n == 900)
    assert searched().guarantee_.rows == "held back"
    score = model.decision_function(X)
    decision = csf.tune_threshold(Y, score, "specificity", **ASKED)
    search = CostSearch(model, "specificity", cv="prefit", **ASKED).fit(X, Y)
    assert decision.threshold == search.best_threshold_


def test_several_labels_are_cross_fitted():
    labels = np.column_stack([Y, X[:, 1] > 0])
    for metric, one in (("f1_macro", lambda tests: tests[1]), ("f1_micro", lambda test: test)):
        options = QUICK | ASKED | {"calibration": "cross-fit"}
        search = CostSearch(LogisticRegression(), metric, **options).fit(X, labels)
        assert one(search.guarantee_).rows == "cross-fitted, not proven"
        assert one(search.guarantee_).n_samples == (900 if metric == "f1_macro" else 1800)


@pytest.mark.parametrize(
    ("options", "y"),
    [
        ({"metric": "f1_macro", "constraint": "recall[2] >= 0.5"}, Y + (X[:, 0] > 1)),
        ({"metric": "f1", "constraint": "recall >= 0.5 in each by"}, Y),
        ({"metric": "cost", "constraint": "recall >= 0.5"}, Y),
        ({"metric": "f1", "constraint": None, "review": Review(wrong=0.2)}, Y),
    ],
)
def test_only_one_threshold_is_cross_fitted(options, y):
    given = {"by": np.where(X[:, 1] > 0, "a", "b")} if "each" in str(options["constraint"]) else {}
    given |= {"fn_cost": 5.0, "fp_cost": 1.0} if options["metric"] == "cost" else {}
    options = {"param_grid": None, "confidence": 0.9, "calibration": "cross-fit"} | options
    with pytest.raises(ValueError, match=r"calibration='cross-fit' tests one threshold .* give a share, such as 0.3"):
        CostSearch(LogisticRegression(), **options).fit(X, y, **given)


def test_a_calibration_is_a_share_or_cross_fitting():
    for wrong in ("crossfit", 1.5):
        with pytest.raises((ValueError, TypeError), match="calibration must be"):
            searched(calibration=wrong)


@pytest.mark.parametrize("constraint", [None, "recall[1] >= 0.5"])
def test_promises_about_labels_share_the_error(constraint):
    labels = np.column_stack([Y, X[:, 1] > 0])
    for wrong, n_limits in ((0.3, 2), ({"negative": 0.3}, 1)):
        options = QUICK | {"confidence": 0.8, "constraint": constraint, "review": Review(wrong=wrong)}
        search = CostSearch(LogisticRegression(), "f1_macro", **options).fit(X, labels)
        tests = [test for review in search.review_ for test in review.guarantees.values()]
        assert len(tests) == 2 * n_limits
        if constraint is not None:
            without, test = search.guarantee_
            assert without is None
            tests.append(test)
        # Errors of all tests together: at most what the user allowed.
        assert [1.0 - test.confidence for test in tests] == pytest.approx([0.2 / len(tests)] * len(tests))
        assert all(test.error <= 0.2 / len(tests) for test in tests if test.holds)


@pytest.mark.slow
@pytest.mark.parametrize("y", [Y, Y + (X[:, 0] > 1)], ids=["two classes", "three classes"])
def test_a_constraint_and_limits_of_a_review_share_the_error(y):
    classes = np.unique(y)
    for wrong, n_limits in ((0.8, classes.size), ({1: 0.8}, 1)):
        metric, constraint = ("f1", "recall >= 0.3") if classes.size == 2 else ("f1_macro", "recall[1] >= 0.3")
        options = QUICK | {"confidence": 0.8, "constraint": constraint, "review": Review(wrong=wrong)}
        search = CostSearch(LogisticRegression(), metric, **options).fit(X, y)
        tests = [search.guarantee_, *search.review_.guarantees.values()]
        assert [1.0 - test.confidence for test in tests] == pytest.approx([0.2 / (1 + n_limits)] * (1 + n_limits))
        alone = CostSearch(
            LogisticRegression(), metric, **options | {"constraint": None, "review": Review(wrong={1: 0.8})}
        )
        (test,) = alone.fit(X, y).review_.guarantees.values()
        assert test.confidence == 0.8


def test_all_rows_of_an_uncertified_answer_are_reviewed():
    labels = np.column_stack([Y, X[:, 1] > 0])
    options = QUICK | {"confidence": 0.8, "review": Review(wrong={"negative": 0.001})}
    with pytest.warns(UserWarning, match="all rows that would have been answered 0 are reviewed") as caught:
        search = CostSearch(LogisticRegression(), "f1_macro", **options).fit(X, labels)
    answers = search.predict_with_review(X)
    assert {warning.category for warning in caught} == {UserWarning}
    assert not (answers[:, 0] == 0).any()
    assert ((answers == "review") == (search.predict(X) == 0))[:, 0].all()
