"""Linear models of several classes, and trainers of several labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import log

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.parallel import Parallel, delayed

from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator, Foreign, IntArray
from csf.data.costs import CostChannel, assembled, cost_sample_weight, own_class_weights, problem_costs, problems_of
from csf.data.folds import Fold, LabelFold, Task
from csf.data.responses import Features, Response, answer_of_classes, class_gaps, compare
from csf.solvers import Rows
from csf.solvers.logistic import Multinomial, scores_of, shares_of
from csf.trainers.base import GenericTrainer, Prepared, Trainer, Training
from csf.trainers.linear import (
    KindOf,
    LinearTrainer,
    LogisticTrainer,
    Start,
    Whole,
    fitted,
    linear_kind,
    linear_trainers,
    maker_of,
    maker_with_whole,
)

# ---------------------------------------------------------------- several labels


class LabelsTrainer(Trainer):
    """Trainer of the base for each label; responses hold all labels of a sample, then those of the next one."""

    def __init__(self, base: Estimator, parts: Sequence[Trainer]) -> None:
        self.base, self.parts = base, parts
        self.releases_gil = all(part.releases_gil for part in parts)

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of boosters comes late)
        """Family of settings whose trainings can start from each other's solutions for every label."""
        families = [part.family for part in self.parts]
        return None if None in families else " and ".join(dict.fromkeys(map(str, families)))

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the positions of all labels; see `Trainer.position`."""
        return tuple(chain.from_iterable(part.position(costs) for part in self.parts))

    def fit(self, costs: Costs, starts: Sequence[tuple[object, ...]] = ()) -> Training:
        """Train for each label; see `Trainer.fit`."""
        made = [part.fit(costs, [state[label] for state in starts]) for label, part in enumerate(self.parts)]
        # Where nothing was trained, e.g. where all was read off other trainings, there is nothing new to start from.
        trained = self.family is not None and any(training.state is not None for training in made)
        states = tuple(training.state for training in made) if trained else None
        gaps = [training.gap for training in made if training.gap is not None]
        return Training(made, states, max(gaps) if len(gaps) == len(made) else None)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict each label; see `Trainer.predict`."""
        answers = [problem.predict(made, part, tune=tune) for problem, made in zip(self.parts, training.model)]
        scores = [answer.score for answer in answers if answer.score is not None]
        decided = np.column_stack([answer.decided for answer in answers]).ravel()
        return Response(decided, np.column_stack(scores).ravel() if tune else None)

    def estimator(self, training: Training) -> list[Estimator]:
        """Return the fitted bases, one a label; see `Trainer.estimator`."""
        return [part.estimator(made) for part, made in zip(self.parts, training.model)]


def label_trainers(
    base: Estimator, folds: Sequence[LabelFold], make: Callable[[list[Fold]], list[Trainer]]
) -> list[Trainer]:
    """Make the trainers of a base for several labels, one for each fold; ``make`` makes those of one label."""
    parts = [make(list(column)) for column in zip(*(fold.columns for fold in folds))]
    return [LabelsTrainer(base, of_fold) for of_fold in zip(*parts)]


# ---------------------------------------------------------------- multinomial logistic regression


# Factor of the base's tolerance: a start may have seen held-out samples, and the solution must not show it.
_CLOSER = 0.1


class MultinomialTrainer(Trainer):
    """Trainer of `sklearn.linear_model.LogisticRegression` of three and more classes, whatever its solver."""

    releases_gil = True

    def __init__(
        self,
        base: LogisticRegression,
        fold: Fold,
        rows: Rows,
        features: Features,
        normalize: str = "none",
        whole: Whole | None = None,
    ) -> None:
        assert fold.n_alike is not None, "other problems have other trainers"
        self.base, self.features, self.normalize, self._whole = base, features, normalize, whole
        self._train, self._test, self._n_classes = rows.take(fold.train), rows.take(fold.test), fold.n_alike
        self._y, self._weight, self.codes = fold.y_train, fold.weight_train, fold.codes_train
        self.labels = fold.labels
        # Class weights of the base itself, by code.
        self.class_weights = own_class_weights(base.class_weight, self._y, fold.labels, self._weight)
        self._solver = Multinomial(self._train, np.searchsorted(self.codes, self._y), self.codes.size)
        self.family = f"multinomial {rows.constant}"

    constant = staticmethod(LogisticTrainer.constant)

    @staticmethod
    def serves(base: LogisticRegression) -> bool:
        """Check whether this trainer solves what the base documents; LIBLINEAR fits one class against the rest."""
        return LogisticTrainer.serves(base) and base.solver != "liblinear"

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the logarithms of the weights of all classes; see `Trainer.position`."""
        return tuple(
            log(self.base.C * cost * class_weight)
            for cost, class_weight in zip(costs, self.class_weights.tolist(), strict=True)
        )

    def fit(self, costs: Costs, starts: Sequence[tuple[Array, Array]] = ()) -> Training:
        """Solve the base's problem for the weights; see `Trainer.fit`."""
        weight = cost_sample_weight(self._y, costs, sample_weight=self._weight, normalize=self.normalize)
        weight *= self.base.C * self.class_weights[self._y]
        place = np.array(self.position(costs))
        if not starts and self._whole is not None:
            starts = [self._whole.state()]
        start = self._at_weights(starts[0][1], place - starts[0][0]) if starts else None
        solution = self._solver.solve(weight, tol=_CLOSER * self.base.tol, start=start)
        w = np.zeros((self._n_classes, solution.w.shape[1]))
        w[self.codes] = solution.w
        return Training(solution, (place, w))

    def _at_weights(self, w: Array, change: Array) -> Array:
        """Move the coefficients of the classes at hand to other weights.

        If the model holds, these move the constants by their logarithms, and nothing else.
        """
        w = w[self.codes]
        if self._train.constant:
            w[:, -1] += (change - change.mean())[self.codes]
        return w

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict the probabilities of all classes; see `Trainer.predict`."""
        scores = (shares_of if tune else scores_of)(self._test if part == "test" else self._train, training.model.w)
        answer = answer_of_classes(scores, self.codes, self._n_classes, probabilities=tune)
        return answer if tune else answer._replace(score=None)

    def estimator(self, training: Training) -> Estimator:
        """Return the base with the fitted coefficients; see `Trainer.estimator`."""
        n_iter = np.array([training.model.n_iter], dtype=np.int32)
        w, classes = training.model.w, self.labels.decode(self.codes)
        return fitted(self.base, w, self._train.constant, classes, n_iter, self.features)


def logistic_trainers(
    base: LogisticRegression, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Make fast trainers of `sklearn.linear_model.LogisticRegression`, one for each fold."""
    task = folds[0].task
    if task.n_alike is None:
        return linear_trainers(base, folds, channel, normalize, prepared)
    if not MultinomialTrainer.serves(base) or not channel.is_own or task.fit_params:
        return None
    make = maker_with_whole(MultinomialTrainer, base, folds, normalize, prepared)
    if make is None:
        return None
    # Of two classes the base trains another model, whose penalty counts once.
    return [
        make(fold) if fold.codes_train.size > 2 else GenericTrainer(base, fold, channel, normalize) for fold in folds
    ]


# ---------------------------------------------------------------- one model for each class against the rest


class OneVsRestTrainer(Trainer):
    """Trainer of `sklearn.multiclass.OneVsRestClassifier` of a linear model."""

    releases_gil = True

    def __init__(
        self,
        base: OneVsRestClassifier | LinearSVC,
        fold: Fold,
        make: Callable[[Fold], LinearTrainer],
        normalize: str = "none",
        own_costs: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.base, self.normalize, self.own_costs, self.n_jobs = base, normalize, own_costs, n_jobs
        self._y, self._weight, self._n_alike, self.labels = fold.y_train, fold.weight_train, fold.n_alike, fold.labels
        self.codes, self.problems = fold.codes_train, problems_of(fold.codes_train, fold.labels)
        self.parts = [make(_against_the_rest(fold, k)) for k in self.problems]
        self.family = self.parts[0].family

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the position of the parts; see `Trainer.position`."""
        if self._n_alike is None:
            return self.parts[-1].position(costs)
        C = self.parts[-1].base.C
        return tuple(log(C * cost) for cost in costs)

    def fit(self, costs: Costs, starts: Sequence[tuple[Start, ...]] = ()) -> Training:
        """Solve the problems of all classes; see `Trainer.fit`."""
        of_class: list[Sequence[Start]] = list(zip(*starts)) if starts else [()] * len(self.parts)
        tasks: list[Callable[[], Training]]
        if self.own_costs:
            tasks = [
                partial(part.fit, problem_costs(k, costs), states)
                for part, k, states in zip(self.parts, self.problems, of_class)
            ]
        else:
            weight = cost_sample_weight(self._y, costs, sample_weight=self._weight, normalize=self.normalize)
            position = self.position(costs)
            tasks = [partial(_train, part, weight, position, states) for part, states in zip(self.parts, of_class)]
        if effective_n_jobs(self.n_jobs) == 1:  # pyright: ignore[reportArgumentType] (None is one job)
            trainings = [task() for task in tasks]
        else:
            trainings = _in_threads(tasks, self.n_jobs)
        states = None if self.family is None else tuple(training.state for training in trainings)
        return Training(trainings, states, max((t.gap for t in trainings if t.gap is not None), default=None))

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict by comparing the scores of all classes; see `Trainer.predict`."""
        by_class = [p.scores(t, part) for p, t in zip(self.parts, training.model)]
        if self._n_alike is not None:
            return self._of_classes(by_class, self._n_alike, tune)
        if len(by_class) == 1:
            score = by_class[0] if self.problems[0] else -by_class[0]
            gaps = self._gaps(score[:, None], self.codes[1:]) if tune and part == "test" else None
            return Response(score > 0.0, score if tune else None, self.codes[1], class_gaps=gaps)
        scores = np.column_stack(by_class)
        if not tune:
            codes = self.problems[scores.argmax(axis=1)]
            return Response(codes > 0, found=codes)
        score, best = compare(scores, self.problems.tolist().index(0), probabilities=False)
        others = self.problems > 0
        gaps = self._gaps(scores[:, others], self.problems[others]) if part == "test" else None
        return Response(score > 0.0, score, self.problems[best], class_gaps=gaps)

    def _gaps(self, scores: Array, codes: IntArray) -> Array | None:
        """Compare the classes other than the null class, where there are several."""
        n_classes = self.labels.classes.size
        return class_gaps(scores, codes, n_classes) if n_classes > 2 else None

    def _of_classes(self, by_class: list[Array], n_classes: int, tune: bool) -> Response:
        """Build the response where no class is the null class: probabilities where the base has them."""
        scores = np.column_stack([-by_class[0], by_class[0]] if len(by_class) == 1 else by_class)
        probabilities = tune and hasattr(self.base, "predict_proba")
        if probabilities:
            # In logarithms: where all of them are next to 0, their shares are known all the same.
            scores = softmax(log_expit(scores), axis=1)
        answer = answer_of_classes(scores, self.codes, n_classes, probabilities=probabilities)
        return answer if tune else answer._replace(score=None)

    def estimator(self, training: Training) -> Estimator:
        """Return the base with its parts; see `Trainer.estimator`."""
        parts = [part.estimator(t) for part, t in zip(self.parts, training.model)]
        return assembled(clone(self.base), self.labels.decode(self._y), parts)


class LinearSVCsTrainer(OneVsRestTrainer):
    """Trainer of `sklearn.svm.LinearSVC` of several classes, which is one model for each against the rest."""

    def __init__(
        self, base: LinearSVC, fold: Fold, make: Callable[[Fold], LinearTrainer], normalize: str = "none"
    ) -> None:
        super().__init__(base, fold, make, normalize)
        # In each problem LIBLINEAR weighs the class to be found, and the rest by 1.
        own_weights = own_class_weights(base.class_weight, self._y, fold.labels, self._weight).tolist()
        for code, part in zip(self.problems.tolist(), self.parts):
            part.class_weights = own_weights[code], 1.0

    def estimator(self, training: Training) -> Estimator:
        """Return the base with the coefficients of all classes; see `Trainer.estimator`."""
        part, models = self.parts[0], [fitted_part.model for fitted_part in training.model]
        w, n_iter = np.vstack([model.w for model in models]), max(model.n_iter for model in models)
        classes = np.unique(self.labels.decode(self.codes))
        return fitted(self.base, w, part._train.constant, classes, n_iter, part.features)


def _in_threads(tasks: list[Callable[[], Training]], n_jobs: int | None) -> list[Training]:
    threads: Foreign = Parallel(n_jobs=n_jobs, prefer="threads")
    return threads(delayed(task)() for task in tasks)


def _train(part: LinearTrainer, weight: Array, position: tuple[float, ...], starts: Sequence[Start]) -> Training:
    """Train one class against the rest; class weights of its own model are those of the class and of the rest."""
    class_weights = part.class_weights
    if class_weights != (1.0, 1.0):
        weight = weight * np.where(part.is_pos, *class_weights)
    return part.train(weight, position, starts)


def one_vs_rest_trainers(
    base: OneVsRestClassifier,
    folds: list[Fold],
    channel: CostChannel,
    normalize: str,
    prepared: Prepared,
    *,
    kind_of: KindOf = linear_kind,
) -> list[Trainer] | None:
    """Make fast trainers of `sklearn.multiclass.OneVsRestClassifier`, one for each fold.

    ``None`` where it wraps another classifier than a linear one, or refuses the data.
    """
    make = _maker(base.estimator, folds[0].task, normalize, prepared, kind_of)
    if make is None or not channel.of_problem.is_own or base.verbose:
        return None
    return [OneVsRestTrainer(base, fold, make, normalize, channel.has_own_costs, base.n_jobs) for fold in folds]


def linear_svc_trainers(
    base: LinearSVC, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Make fast trainers of `sklearn.svm.LinearSVC`, which fits several models where there are several classes."""
    if not folds[0].task.several:
        return linear_trainers(base, folds, channel, normalize, prepared)
    inner = clone(base).set_params(class_weight=None)
    make = _maker(inner, folds[0].task, normalize, prepared) if channel.is_own and linear_kind(base) else None
    return None if make is None else [LinearSVCsTrainer(base, fold, make, normalize) for fold in folds]


def _maker(
    inner: Estimator, task: Task, normalize: str, prepared: Prepared, kind_of: KindOf = linear_kind
) -> Callable[[Fold], LinearTrainer] | None:
    """Return a function that makes trainers of the problems; ``None`` if none supports one class against the rest."""
    kind = kind_of(inner)
    return None if kind is None or task.fit_params else maker_of(kind, inner, task.X, normalize, prepared)


def _against_the_rest(fold: Fold, code: int) -> Fold:
    """Build the fold of one class against the rest; its slices are made from the new targets."""
    return Fold(replace(fold.task, codes=(fold.task.codes == code) * 1, labels=None), fold.train, fold.test)
