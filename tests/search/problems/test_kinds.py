"""A kind of problem of one's own: one file and one entry of the registry."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.data.labels import read_labels
from csf.evaluate import Candidate, ScoreStore
from csf.search import problems
from csf.search.config import SearchConfig, settings_of
from csf.search.kinds import kind_of
from csf.search.problems.results import SearchResult, trial_table
from csf.search.problems.two_classes import TwoClasses
from csf.search.study import MulticlassStudy
from csf.search.supports import OWN_DECISIONS, Supports
from csf.search.training import Evaluator, HeldOutPredictions
from csf.thresholding.rule import ThresholdRule

X, Y = make_classification(300, 5, weights=[0.7], flip_y=0.1, random_state=0)


class WorstFoldEvaluator(Evaluator):
    """Evaluate the base's own decisions by the accuracy of the worst fold."""

    tune = False

    def store(self, truth, weight, *, samples, max_bytes):
        return ScoreStore(truth > 0, weight, samples=samples, max_bytes=max_bytes)

    def _judged(self, folds, results, trial):
        of_folds = tuple(float(np.mean(each.decided == fold.y_test)) for fold, each in zip(folds, results))
        decided = np.concatenate([each.decided for each in results])
        fields = {"value": min(of_folds), "score": min(of_folds), "fold_scores": of_folds}
        return fields, HeldOutPredictions(None, decided)


SUPPORTS = Supports("worst folds", OWN_DECISIONS.options, {"at_capacity": "folds have no capacity; use accuracy"})


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstFoldResult(SearchResult):
    kind = "worst_fold"
    supports = SUPPORTS

    @property
    def table(self):
        return trial_table(self.trials, self.settings, self.n_splits, judged={})

    def _assessed(self, seed):
        return None


class WorstFoldProblem(TwoClasses):
    """Two classes; the setting is best whose worst fold is best."""

    supports = SUPPORTS

    @classmethod
    def matches(cls, config, y):
        return config.metric == "accuracy"

    @classmethod
    def read(cls, config, X, y, given):
        cls.supports.check(config)
        labels, codes = read_labels(y, pos_label=config.pos_label)
        return cls(labels), codes

    def settings(self, config, model, n_samples):
        return settings_of(model.param_grid, model.base, config.engine, multiples=(1.0,))

    def studies(self, config, folds, efforts):
        return [MulticlassStudy(None, "ladder", shares=np.array([0.5, 0.5]), n_trials=1) for _ in efforts]

    def judge(self, config):
        return WorstFoldEvaluator()

    def concluded(self, searched, models):
        best = max(searched.trials, key=lambda trial: trial.score)
        return WorstFoldResult(
            **searched.shared, candidate=Candidate((best.setting, best.number), "argmax"), score=best.score
        )

    def with_mean_scores(self, found, mean, folds):
        raise NotImplementedError

    def rule_by(self, found, estimator, known, names, method=None):
        return ThresholdRule.of(estimator, threshold=None, tuned=False, known=known, names=names, null=self.labels.null)


@pytest.fixture
def _registered(monkeypatch):
    monkeypatch.setattr(problems, "KINDS", [WorstFoldProblem, *problems.KINDS])


@pytest.mark.usefixtures("_registered")
def test_a_kind_of_ones_own_is_searched():
    grid = {"C": [1e-4, 1.0]}
    search = CostSearch(LogisticRegression(), "accuracy", param_grid=grid, cv=3, random_state=0).fit(X, Y)
    assert kind_of(search) == "worst_fold"
    worst = search.cv_results_["split0_test_score"]
    for split in (1, 2):
        worst = np.minimum(worst, search.cv_results_[f"split{split}_test_score"])
    assert search.best_score_ == worst.max()
    assert search.best_params_ == {"C": grid["C"][int(worst.argmax())]}
    by_hand = LogisticRegression(**search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.predict(X), by_hand.predict(X))
    assert search.score(X, Y) == pytest.approx(by_hand.score(X, Y))


@pytest.mark.usefixtures("_registered")
def test_what_it_does_not_support_is_refused():
    config = replace(SearchConfig.of(CostSearch(LogisticRegression(), "accuracy")), review=3)
    with pytest.raises(ValueError, match="review=3 is not for worst folds"):
        WorstFoldProblem.read(config, X, Y, {})
    search = CostSearch(LogisticRegression(), "accuracy", param_grid=None, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="folds have no capacity; use accuracy"):
        search.at_capacity(0.1)
