"""`check_trainer` finds what it is there to find, and what is registered serves searches."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.data.costs import cost_sample_weight
from csf.data.folds import Fold, Task
from csf.data.responses import Response
from csf.testing import check_trainer
from csf.trainers import GenericTrainer, Trainer, Training, make_trainers, register_trainer, registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is forgotten."""
    monkeypatch.setattr(registry, "_MAKERS", dict(registry._MAKERS))


def maker_of(kind):
    return lambda base, folds, channel, normalize, shared: [kind(base, fold, channel, normalize) for fold in folds]


def generic(base, folds, channel, normalize, shared):
    return [GenericTrainer(base, fold, channel, normalize) for fold in folds]


class LeastSquares(Trainer):
    """`RidgeClassifier` by its normal equations: `fit` and `predict` alone, as a stranger would write it."""

    def fit(self, costs, starts=()):
        fold, X = self.fold, self.fold.X_train
        weight = cost_sample_weight(fold.y_train > 0, costs, sample_weight=fold.weight_train, normalize=self.normalize)
        sign, mean = np.where(fold.y_train > 0, 1.0, -1.0), weight @ X / weight.sum()
        middle = weight @ sign / weight.sum()
        A = (X - mean).T @ (weight[:, None] * (X - mean)) + self.base.alpha * np.eye(X.shape[1])
        coef = np.linalg.solve(A, (X - mean).T @ (weight * (sign - middle)))
        return Training((coef, middle - mean @ coef), costs=costs)

    def predict(self, training, part, *, tune):
        coef, intercept = training.model
        score = (self.fold.X_test if part == "test" else self.fold.X_train) @ coef + intercept
        return Response(score > 0.0, score if tune else None)


class OneMethod(Trainer):
    """All that is needed where models are fitted bases."""

    def fit(self, costs, starts=()):
        return Training(self.train_base(costs))


@pytest.mark.parametrize("base", [RidgeClassifier(), RidgeClassifier(alpha=0.1)], ids=repr)
def test_two_methods_are_a_trainer(base):
    assert check_trainer(maker_of(LeastSquares), base) is None


@pytest.mark.parametrize("base", [GaussianNB(), DecisionTreeClassifier(max_depth=3)], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_method_is_a_trainer(base, n_classes):
    assert check_trainer(maker_of(OneMethod), base, n_classes=n_classes) is None


@pytest.mark.parametrize("base", [GaussianNB(), DecisionTreeClassifier(max_depth=3), LinearSVC()], ids=repr)
def test_classes_that_are_all_alike_have_a_weight_each(base):
    assert check_trainer(make_trainers, base, n_classes=4, alike=True) is None


class FirstCostsAlone(OneMethod):
    """Knows the weights of the first two classes, and takes the second one for all others."""

    def fit(self, costs, starts=()):
        return super().fit((costs[0], *(costs[1],) * (len(costs) - 1)))


class OthersScores(GenericTrainer):
    """Says of all classes what it says of one."""

    def predict(self, training, part, *, tune):
        answer = super().predict(training, part, tune=tune)
        return answer._replace(score=answer.score[:, :1])


def test_trainers_that_are_wrong_about_classes_are_caught():
    with pytest.raises(AssertionError, match="_costs_reach_the_objective"):
        check_trainer(maker_of(FirstCostsAlone), GaussianNB(), n_classes=4, alike=True)
    with pytest.raises((AssertionError, ValueError), match=r"_costs_reach_the_objective|scores"):
        check_trainer(maker_of(OthersScores), GaussianNB(), n_classes=3, alike=True)
    with pytest.raises(ValueError, match="alike=True is for three and more classes, got n_classes=2"):
        check_trainer(make_trainers, GaussianNB(), alike=True)


class ByClassWeight(LogisticRegression):
    """Takes weights of classes alone."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_bases_that_take_weights_of_classes_alone_are_checked_without_weights_of_samples():
    assert check_trainer(generic, ByClassWeight()) is None
    with pytest.raises(AssertionError, match=r"_costs_reach_the_objective: .* for swapped costs"):
        check_trainer(maker_of(SwappedCosts), ByClassWeight())


class WithoutCosts(LeastSquares):
    def fit(self, costs, starts=()):
        return super().fit(costs)._replace(costs=None)


def test_a_lighter_model_needs_its_costs_to_become_an_estimator():
    with pytest.raises(AssertionError, match=r"fit returned a tuple, no RidgeClassifier, and no costs to train one"):
        check_trainer(maker_of(WithoutCosts), RidgeClassifier())


# ---------------------------------------------------------------- wrong trainers


class SwappedCosts(GenericTrainer):
    def fit(self, costs, starts=()):
        return super().fit(costs[::-1])


class IgnoredCosts(GenericTrainer):
    def fit(self, costs, starts=()):
        return super().fit((1.0, 1.0))


class ScaledCosts(GenericTrainer):
    """The ratio alone: regularisation then acts otherwise."""

    def fit(self, costs, starts=()):
        return super().fit((costs[0] / costs[1] * 10.0, 10.0))


class NeverNormalized(GenericTrainer):
    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, fold, channel)


class AlwaysNormalized(GenericTrainer):
    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, fold, channel, "mean")


class NoUserWeights(GenericTrainer):
    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, Fold(Task(fold.task.X, fold.task.codes), fold.train, fold.test), channel, normalize)


class DistinctRows(GenericTrainer):
    """Drops rows that it has seen."""

    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, Fold(fold.task, np.unique(fold.train), fold.test), channel, normalize)


class Peeking(GenericTrainer):
    """Learns from the held-out part too."""

    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, fold, channel, normalize)
        self.all = GenericTrainer(
            base, Fold(fold.task, np.r_[fold.train, fold.test[:10]], fold.test), channel, normalize
        )

    def fit(self, costs, starts=()):
        return self.all.fit(costs)


class StuckAtTheStart(GenericTrainer):
    """Returns what it was given to start from."""

    family = "stuck"

    def fit(self, costs, starts=()):
        training = super().fit(costs)
        return training._replace(model=starts[0]) if starts else training._replace(state=training.model)


class StuckForGood(GenericTrainer):
    family = "stuck"

    def fit(self, costs, starts=()):
        model = starts[0] if starts else super().fit(costs).model
        return Training(model, state=model)


class WildGap(GenericTrainer):
    def fit(self, costs, starts=()):
        return super().fit(costs)._replace(gap=-1.0)


class OnePlace(GenericTrainer):
    def position(self, costs):
        return (0.0,)


class StatesWithoutFamily(GenericTrainer):
    def fit(self, costs, starts=()):
        return super().fit(costs)._replace(state=costs)


class WithoutClasses(GenericTrainer):
    def estimator(self, training):
        model = clone(training.model)
        vars(model).update({name: value for name, value in vars(training.model).items() if name != "classes_"})
        return model


class Unfitted(GenericTrainer):
    def estimator(self, training):
        return clone(self.base)


class FlatCoefficients(GenericTrainer):
    def estimator(self, training):
        model = super().estimator(training)
        model.n_features_in_, model.coef_ = model.coef_.size, model.coef_[0]
        return model

    def predict(self, training, part, *, tune):
        training.model.coef_ = np.atleast_2d(training.model.coef_)
        return super().predict(training, part, tune=tune)


class OtherParameters(GenericTrainer):
    def estimator(self, training):
        return super().estimator(training).set_params(C=123.0)


class OneModelForAll(GenericTrainer):
    """Trains the same object again and again."""

    def fit(self, costs, starts=()):
        vars(self).setdefault("model", clone(self.base))
        vars(self.model).update(vars(super().fit(costs).model))
        return Training(self.model)


class TurnedDecisions(GenericTrainer):
    def predict(self, training, part, *, tune):
        answer = super().predict(training, part, tune=tune)
        return answer._replace(decided=~answer.decided)


class MovedScores(GenericTrainer):
    def predict(self, training, part, *, tune):
        answer = super().predict(training, part, tune=tune)
        return answer if answer.score is None else answer._replace(score=answer.score + 0.05)


class AlwaysScores(GenericTrainer):
    def predict(self, training, part, *, tune):
        return super().predict(training, part, tune=True)


class Moody(GenericTrainer):
    """Another model each time."""

    def fit(self, costs, starts=()):
        self.calls = getattr(self, "calls", 0) + 1
        return super().fit((costs[0] * (1.0 + 1e-3 * self.calls), costs[1]))


class Writing(GenericTrainer):
    def __init__(self, base, fold, channel, normalize="none"):
        super().__init__(base, fold, channel, normalize)
        fold.task.X[0] += 1e-12


class FittingTheBase(GenericTrainer):
    def fit(self, costs, starts=()):
        vars(self.base).update(vars(super().fit(costs).model))
        return super().fit(costs)


class ForgetfulPickle(GenericTrainer):
    def __getstate__(self):
        return vars(self) | {"normalize": "mean"}


class OwnResult(GenericTrainer):
    def fit(self, costs, starts=()):
        return tuple(super().fit(costs))


WRONG = {
    SwappedCosts: "_costs_reach_the_objective: .* is as near to that for swapped costs",
    IgnoredCosts: "_costs_reach_the_objective: .* is as near to that for equal costs",
    ScaledCosts: "_costs_reach_the_objective: .* is as near to that for ten times the costs",
    NeverNormalized: "_normalize_is_honoured: .* is as near to that without normalize",
    AlwaysNormalized: "with normalize='none', the answer is as near to that with normalize='mean'",
    NoUserWeights: "_weights_multiply_the_costs: .* is as near to that without the weights",
    DistinctRows: "_weights_count_rows: .* is as near to that without the weights",
    StuckAtTheStart: "_starts_change_nothing: family 'stuck' and state None",
    StuckForGood: "_starts_change_nothing: from earlier states, the answer is as near to that at the start",
    WildGap: r"_starts_change_nothing: gap must be in \[0, 1\), got -1.0",
    OnePlace: "_starts_change_nothing: position must tell costs apart",
    StatesWithoutFamily: r"_starts_change_nothing: family None and state \(",
    TurnedDecisions: "_predictions_are_the_estimators_own: predict and the estimator disagree on",
    MovedScores: "scores of the train part are not the estimator's",
    AlwaysScores: "predict must give scores with tune=True alone",
    WithoutClasses: "classes_",
    Unfitted: "object has no attribute 'classes_'",
    FlatCoefficients: r"coef_ must have shape \(1, 4\), got \(4,\)|_predictions_are_the_estimators_own",
    OtherParameters: "_estimators_are_fitted_bases: the estimator has the parameters .*C=123",
    OneModelForAll: "an estimator changes when another one is trained|_costs_reach|_starts",
    Moody: "_the_same_training_gives_the_same_model: two trainings with the same costs differ",
    Writing: "_nothing_given_is_changed: training changes the data",
    FittingTheBase: "_nothing_given_is_changed: training fits the base itself, which then has",
    Peeking: "_only_the_training_part_is_learnt_from: other labels, rows and weights of the held-out part change",
    ForgetfulPickle: "_pickles_go_on: a pickled trainer learns something else",
    OwnResult: "must be|'tuple' object|fit must return a csf.trainers.Training",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_wrong_trainers_are_found(kind):
    with pytest.raises(AssertionError, match=WRONG[kind]):
        check_trainer(maker_of(kind), LogisticRegression())


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        (lambda *arguments: None, r"the maker declines GaussianNB\(\): there is nothing to check"),
        (lambda *arguments: generic(*arguments)[:1], "one trainer for each fold, got 1 for 2 folds"),
        (lambda *arguments: ["trainer"], "must return None or a list of csf.trainers.Trainer"),
        (lambda base: None, r"takes 1 positional argument but 5 were given"),
    ],
    ids=["declines", "too few", "no trainers", "wrong signature"],
)
def test_wrong_makers_are_found(maker, message):
    with pytest.raises(AssertionError, match=message):
        check_trainer(maker, GaussianNB())


# ---------------------------------------------------------------- registering


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        ([], ValueError, "one trainer for each fold, got 0 for 3 folds"),
        ("trainers", TypeError, "must return None or a list of csf.trainers.Trainer"),
    ],
    ids=["none", "no list"],
)
def test_wrong_makers_are_refused_where_they_are_used(made, error, message):
    register_trainer(GaussianNB, lambda *arguments: made)
    X, y = make_classification(60, random_state=0)
    with pytest.raises(error, match=message):
        paper_search(GaussianNB(), n_trials=1, cv=3).fit(X, y)


def test_a_maker_is_a_function():
    with pytest.raises(TypeError, match=r"maker must be a function of \(base, folds, .*, got \[\]"):
        register_trainer(GaussianNB, [])


def test_a_base_is_a_type():
    with pytest.raises(TypeError, match=r"base_type must be the type of the base, such as LinearSVC, got GaussianNB"):
        register_trainer(GaussianNB(), generic)


def test_right_trainers_are_registered_and_serve_searches():
    register_trainer(RidgeClassifier, maker_of(LeastSquares))
    register_trainer(GaussianNB, maker_of(OneMethod))
    X, y = make_classification(200, weights=[0.8], random_state=0)
    for base in (RidgeClassifier(), GaussianNB()):
        fast, slow = (paper_search(base, n_trials=4, cv=3, engine=engine).fit(X, y) for engine in ("auto", "generic"))
        assert type(fast.best_estimator_) is type(base)
        assert fast.best_score_ == pytest.approx(slow.best_score_, abs=1e-12)
        np.testing.assert_array_equal(fast.predict(X), slow.predict(X))


def test_whether_trainers_are_right_is_what_the_check_finds():
    register_trainer(OneVsRestClassifier, maker_of(SwappedCosts))
    with pytest.raises(AssertionError, match="for swapped costs"):
        check_trainer(make_trainers, OneVsRestClassifier(LogisticRegression()))
