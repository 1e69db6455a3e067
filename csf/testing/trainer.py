"""Contracts of trainers, and of the engines that train and count where the data are."""

import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator
from csf._common.validation import check_count, generator
from csf.data.costs import CostChannel, cost_channel
from csf.data.folds import Fold, Task, make_folds
from csf.data.labels import read_classes
from csf.data.responses import Response, natural_threshold, respond, respond_classes, response_method
from csf.distributed import CountedCut, Engine, FoldTotals, Job, MemoryEngine, PartScores, counted_cut
from csf.distributed.counts import MemoryScores, Scored
from csf.metrics import Constrained, Constraint, FBeta, Precision, Recall
from csf.testing.metric import naming, require
from csf.trainers import GenericTrainer, Prepared, Trainer, Training, seeded
from csf.trainers.base import Maker, checked_trainers

N_ROWS, N_TRAIN, N_FEATURES = 150, (100, 90), 4
COSTS = (4.0, 1.0)
# Allowed differences of numbers that should be the same, as a share of the spread of the scores.
TOLERANCE = 1e-6
# How much nearer to the right answer than to any wrong one a trainer must be: solvers end within their tolerance.
NEARER = 0.3


@dataclass(frozen=True, eq=False)
class _Case:
    """Base, its trainers' maker and data; each check changes one thing."""

    maker: Maker
    base: Estimator
    channel: CostChannel
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    normalize: str = "none"
    splits: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    # Whether no class means nothing to find: costs are then a weight for each code.
    alike: bool = False

    def task(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Task:
        """Build the task to learn."""
        return Task(X, y, weight, labels=read_classes(self.y)[0]) if self.alike else Task(X, y, weight)

    def costs(self, pair: Costs) -> Costs:
        """Convert costs of a check to those that trainers read: of classes that are alike a different weight each."""
        return (pair[1], *(pair[0] * 0.4**code for code in range(int(self.y.max())))) if self.alike else pair

    def folds(self) -> list[Fold]:
        """Make folds of copies, so that nothing that a trainer does reaches another one."""
        weight = None if self.weight is None else self.weight.copy()
        return make_folds(self.task(self.X.copy(), self.y.copy(), weight), list(self.splits))

    def trainers(self) -> list[Trainer]:
        """Make the trainers."""
        return self.made_of(self.folds())

    def made_of(self, folds: list[Fold]) -> list[Trainer]:
        """Make the trainers of some folds."""
        made = checked_trainers(self.maker(self.base, folds, self.channel, self.normalize, Prepared()), folds)
        require(made is not None, f"the maker declines {self.base!r}: there is nothing to check")
        return made or []

    def generic(self) -> list[Trainer]:
        """Make trainers that fit the base itself."""
        return [GenericTrainer(self.base, fold, self.channel, self.normalize) for fold in self.folds()]

    def scores(self, trainers: list[Trainer], costs: Costs = COSTS, part: str = "test") -> np.ndarray:
        """Compute the scores on the parts of all folds, one after the other."""
        return np.concatenate([scores_of(trainer, _trained(self, trainer, costs), part) for trainer in trainers])

    def require_right(self, text: str, wrong: dict[str, np.ndarray], costs: Costs = COSTS) -> np.ndarray:
        """Require that the trainers learn what the base does, rather than wrong scores; return the right ones."""
        right = self.scores(self.generic(), costs)
        require_nearest(text, self.scores(self.trainers(), costs), right, wrong)
        return right


def check_trainer(
    maker: Maker, base: Estimator, *, n_classes: int = 2, alike: bool = False, random_state: int = 0
) -> None:
    """Check that the trainers of a base keep what searches rely on.

    Parameters
    ----------
    maker : callable
        ``maker(base, folds, channel, normalize, shared)`` as for `csf.trainers.register_trainer`, or
        `csf.trainers.make_trainers` for what is registered already.
    base : estimator
        Unfitted classifier with its parameters set; unset seeds are set.
    n_classes : int, default=2
        Number of classes, the first of which is the null class; 3 and more for bases that trainers of several classes
        serve.
    alike : bool, default=False
        Of three and more classes: whether none is the null class. Costs are then a weight for each class, and scores
        those of all classes.
    random_state : int, default=0
        Seed of the samples and of the base.

    Raises
    ------
    AssertionError
        If a check fails, or the maker declines the base; the message says which one.

    Notes
    -----
    The measure is the base itself, trained with the same weights. The checks: costs reach the objective as they are,
    not swapped, left out, squared or scaled, and with ``normalize="mean"`` scaled as it says; the user's weights
    multiply them, and count rows where they do so for the base; a start changes nothing but the time, and the gap says
    how far off a training may be; predictions are those of the estimator, which is a fitted object of the base's class
    with its parameters, its classes and coefficients of their shape, and stays as it is when others are trained; the
    same training gives the same model; data and base stay as they are; only the training part is learnt from; a pickled
    trainer goes on.

    Scores count as right if they are three times as near to the right ones as to any wrong ones.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.svm import LinearSVC
    >>> from csf.trainers import make_trainers
    >>> check_trainer(make_trainers, LinearSVC())
    >>> class Deaf(GenericTrainer):
    ...     def fit(self, costs, starts=()):
    ...         return super().fit((1.0, 1.0))
    >>> check_trainer(lambda base, folds, *how: [Deaf(base, fold, *how[:2]) for fold in folds], GaussianNB())
    Traceback (most recent call last):
        ...
    AssertionError: GaussianNB(), _costs_reach_the_objective: the answer for costs (4.0, 1.0) is as near to that ...
    """
    rng = generator(check_count(random_state, "random_state", minimum=0))
    if not 2 <= check_count(n_classes, "n_classes", minimum=2) <= N_FEATURES + 1:
        raise ValueError(f"n_classes must be an int from 2 to {N_FEATURES + 1}, got {n_classes!r}")
    if alike and n_classes < 3:
        raise ValueError(f"alike=True is for three and more classes, got n_classes={n_classes!r}")
    base = seeded(base, np.random.RandomState(random_state))
    case = replace(_case(maker, base, n_classes, rng), alike=bool(alike))
    for law in LAWS:
        with naming(f"{base!r}, {law.__name__}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            law(case)


def _case(maker: Maker, base: Estimator, n_classes: int, rng: np.random.Generator) -> _Case:
    """Build a case of overlapping classes, features >= 0, and two folds whose parts are not in order."""
    y = rng.permutation(np.resize([0, 0, *range(n_classes)], N_ROWS))
    X = rng.random((N_ROWS, N_FEATURES))
    for code in range(1, n_classes):
        X[y == code, code - 1] += 0.5
    order = rng.permutation(N_ROWS)
    splits = tuple((part[:n], part[n:]) for n, part in zip(N_TRAIN, (order, order[::-1])))
    return _Case(maker, base, cost_channel(base), X, y, splits=splits)


def _trained(case: _Case, trainer: Trainer, costs: Costs, starts: tuple[object, ...] = ()) -> Training:
    training = trainer.fit(case.costs(costs), starts)
    require(isinstance(training, Training), f"fit must return a csf.trainers.Training, got {training!r}")
    return training


def _weighted(case: _Case) -> bool:
    """Check whether the base takes sample weights, not class weights alone."""
    return case.channel.carries_samples


def _same(one: np.ndarray, other: np.ndarray, message: str, tolerance: float = TOLERANCE) -> None:
    off = float(np.abs(one - other).max())
    require(off <= tolerance * max(float(np.std(one)), 1e-300), f"{message}: scores differ by up to {off:.3g}")


def scores_of(trainer: Trainer, training: Training, part: str) -> np.ndarray:
    """Compute the scores of a part of the fold, or decisions as 0 and 1 where the base has no scores."""
    tune = response_method(trainer.base) is not None
    answer = trainer.predict(training, part, tune=tune)
    return np.asarray(answer.decided if answer.score is None else answer.score, dtype=float)


def require_nearest(name: str, score: np.ndarray, right: np.ndarray, wrong: Mapping[str, np.ndarray]) -> None:
    """Require that scores are much nearer to the right ones than to any wrong ones that differ from these."""
    require(np.isfinite(score).all(), f"{name} must be finite, got {score[~np.isfinite(score)][:1]}")
    # Scores may be nearly constant, -1 for an SVM that finds nothing: then their size is the measure.
    off, size = _distance(score, right), float(np.sqrt(np.mean(right**2))) + 1e-300
    away = {text: _distance(other, right) for text, other in wrong.items()}
    away = {text: distance for text, distance in away.items() if distance > 1e-2 * size}
    limit = NEARER * min([*away.values(), size])
    nearest = min(away, key=lambda text: _distance(score, wrong[text]), default=None)
    off_by = _distance(score, wrong[nearest]) if nearest is not None else np.inf
    like = f" is as near to that {nearest} ({off_by:.3g})" if off_by <= off / NEARER else " is neither this nor that"
    require(off <= limit, f"{name}{like}: the base's own is {off:.3g} away, more than {limit:.3g}")


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(np.mean((one - other) ** 2)))


# ---------------------------------------------------------------- laws


def _costs_reach_the_objective(case: _Case) -> None:
    for costs in (COSTS, (2.0, 0.3)):
        c_fn, c_fp = costs
        wrong: dict[str, Costs] = {
            "for swapped costs": (c_fp, c_fn),
            "for equal costs": (1.0, 1.0),
            "for squared costs": (c_fn**2, c_fp**2),
            "for ten times the costs": (10.0 * c_fn, 10.0 * c_fp),
        }
        answers = {text: case.scores(case.generic(), other) for text, other in wrong.items()}
        case.require_right(f"the answer for costs {costs}", answers, costs)


def _normalize_is_honoured(case: _Case) -> None:
    costs, mean = (12.0, 3.0), replace(case, normalize="mean")
    answers = {
        "without normalize": case.scores(case.generic(), costs),
        "for swapped costs": mean.scores(mean.generic(), (3.0, 12.0)),
        "for equal costs": mean.scores(mean.generic(), (1.0, 1.0)),
    }
    right = mean.require_right("with normalize='mean', the answer", answers, costs)
    case.require_right("with normalize='none', the answer", {"with normalize='mean'": right}, costs)


def _weights_multiply_the_costs(case: _Case) -> None:
    if not _weighted(case):
        return
    weight = np.where(case.X[:, 0] > 0.5, 2.0, 0.2)
    for normalize in ("none", "mean"):
        weighted = replace(case, weight=weight, normalize=normalize)
        wrong = {
            "without the weights": replace(case, normalize=normalize),
            "for one over the weights": replace(weighted, weight=1.0 / weight),
        }
        answers = {text: other.scores(other.generic()) for text, other in wrong.items()}
        answers["for equal costs"] = weighted.scores(weighted.generic(), (1.0, 1.0))
        weighted.require_right(f"with sample weights and normalize={normalize!r}, the answer", answers)


def _weights_count_rows(case: _Case) -> None:
    """Require that weights count rows where they do so for the base: forests draw rows."""
    if not _weighted(case):
        return
    counts = 1 + 3 * (case.X[:, 0] > 0.5)
    splits = tuple((np.repeat(train, counts[train]), test) for train, test in case.splits)
    weighted, repeated = replace(case, weight=counts.astype(float)), replace(case, splits=splits)
    right, repeated_scores = weighted.scores(weighted.generic()), repeated.scores(repeated.generic())
    if np.abs(right - repeated_scores).max() <= 0.01 * np.std(right):
        answers = {"without the weights": case.scores(case.generic())}
        require_nearest("with rows repeated, the answer", repeated.scores(repeated.trainers()), right, answers)


def _starts_change_nothing(case: _Case) -> None:
    answers = {text: case.scores(case.generic(), costs) for text, costs in (("at the start", (1.0, 2.0)),)}
    warm = []
    for trainer in case.trainers():
        states, places = [], []
        for costs in ((1.0, 2.0), (3.0, 1.0), (1.0, 1.0)):
            training = _trained(case, trainer, costs, tuple(states[::-1]))
            require(training.gap is None or 0.0 <= training.gap < 1.0, f"gap must be in [0, 1), got {training.gap!r}")
            require(
                (trainer.family is None) == (training.state is None),
                f"family {trainer.family!r} and state {training.state!r}: trainings without states have no family",
            )
            states.append(training.state)
            places.append(tuple(trainer.position(case.costs(costs))))
        require(np.isfinite(places).all(), f"position must give finite numbers, got {places}")
        require(len(set(places)) == 3, f"position must tell costs apart, got {places}")
        given = () if trainer.family is None else tuple(states[::-1])
        warm.append(scores_of(trainer, _trained(case, trainer, COSTS, given), "test"))
    require_nearest("from earlier states, the answer", np.concatenate(warm), case.scores(case.generic()), answers)


def _predictions_are_the_estimators_own(case: _Case) -> None:
    tune = response_method(case.base) is not None
    for trainer, fold in zip(case.trainers(), case.folds()):
        training = _trained(case, trainer, COSTS)
        model = trainer.estimator(training)
        for part, X in (("train", fold.X_train), ("test", fold.X_test)):
            answer = trainer.predict(training, part, tune=tune)
            if fold.n_alike is not None:
                expected = respond_classes(model, X, fold.n_alike, tune=tune)
                wrong = _disagreements(answer, expected, part)
                bad = wrong.mean() > 0.02
            else:
                expected = respond(model, X, 0, tune=tune)
                wrong = _disagreements(answer, expected, part)
                if expected.score is not None:  # at the threshold itself either answer will do
                    wrong &= np.abs(expected.score - natural_threshold(model)) > 0.02 * np.std(expected.score)
                bad = wrong.any()
            require(not bad, f"predict and the estimator disagree on {wrong.sum()} rows of the {part} part")
            if fold.n_alike is None:
                _decisions_are_plain(trainer, training, part, np.asarray(model.predict(X)))


def _disagreements(answer: Response, expected: Response, part: str) -> np.ndarray:
    """Compare the scores of a trainer and its estimator. Return the rows that they decide differently."""
    if expected.score is not None:
        require(answer.score is not None, "predict must give scores with tune=True")
        score = np.asarray(answer.score)
        require(
            score.shape == expected.score.shape,
            f"scores of {part} must have shape {expected.score.shape}, got {score.shape}",
        )
        _same(expected.score, score, f"scores of the {part} part are not the estimator's", 0.02)
    decided = np.asarray(answer.decided)
    fits = decided.dtype.kind == expected.decided.dtype.kind and decided.shape == expected.decided.shape
    require(fits, f"decided of {part} must be {expected.decided.dtype}, one a row; got {decided.dtype} {decided.shape}")
    return decided != expected.decided


def _decisions_are_plain(trainer: Trainer, training: Training, part: str, labels: np.ndarray) -> None:
    """Require that without tuning there are no scores, and the predictions are the estimator's labels."""
    plain = trainer.predict(training, part, tune=False)
    require(plain.score is None, "predict must give scores with tune=True alone")
    predicted = np.broadcast_to(np.asarray(1 if plain.found is None else plain.found), labels.shape)
    theirs = np.where(plain.decided, predicted, 0) != labels
    require(theirs.mean() <= 0.02, f"predict and the estimator find other classes in {theirs.sum()} rows")


def _estimators_are_fitted_bases(case: _Case) -> None:
    for trainer, fold, generic in zip(case.trainers(), case.folds(), case.generic()):
        training = _trained(case, trainer, COSTS)
        model, usual = trainer.estimator(training), generic.estimator(_trained(case, generic, COSTS))
        require(type(model) is type(case.base), f"estimator must be a {type(case.base).__name__}, got {model!r}")
        check_is_fitted(model)
        require(
            np.array_equal(getattr(model, "classes_", ()), usual.classes_),
            f"classes_ must be {usual.classes_.tolist()}, got {getattr(model, 'classes_', 'none')}",
        )
        for name in ("n_features_in_", "coef_", "intercept_"):
            if hasattr(usual, name):
                require(hasattr(model, name), f"the estimator has no {name}")
                got, wanted = np.shape(getattr(model, name)), np.shape(getattr(usual, name))
                require(got == wanted, f"{name} must have shape {wanted}, got {got}")
        kept, base = repr(clone(model)), repr(clone(usual))
        require(kept == base, f"the estimator has the parameters {kept}, the base {base}")
        before = np.asarray(model.predict(fold.X_test)).copy()
        trainer.estimator(_trained(case, trainer, (0.01, 1.0)))
        after = np.asarray(model.predict(fold.X_test))
        require(np.array_equal(before, after), "an estimator changes when another one is trained")


def _the_same_training_gives_the_same_model(case: _Case) -> None:
    for trainer in case.trainers():
        first = scores_of(trainer, _trained(case, trainer, COSTS), "test")
        _trained(case, trainer, (1.0, 4.0))
        _same(
            first,
            scores_of(trainer, _trained(case, trainer, COSTS), "test"),
            "two trainings with the same costs differ",
        )


def _nothing_given_is_changed(case: _Case) -> None:
    base, weight = clone(case.base), np.linspace(0.5, 2.0, N_ROWS) if _weighted(case) else None
    X, y, known = case.X.copy(), case.y.copy(), set(vars(base))
    task = case.task(X, y, None if weight is None else weight.copy())
    folds = make_folds(task, list(case.splits))
    for trainer in replace(case, base=base).made_of(folds):
        training = _trained(case, trainer, COSTS)
        scores_of(trainer, training, "test")
        trainer.estimator(training)
    require(np.array_equal(X, case.X) and np.array_equal(y, case.y), "training changes the data")
    require(weight is None or np.array_equal(np.asarray(task.weight), weight), "training changes the weights")
    fitted = sorted(name for name in set(vars(base)) - known if name.endswith("_"))
    require(not fitted, f"training fits the base itself, which then has {fitted}")
    require(repr(base) == repr(case.base), f"training changes the parameters of the base to {base!r}")


def _only_the_training_part_is_learnt_from(case: _Case) -> None:
    train, test = case.splits[0]
    y, X = case.y.copy(), case.X.copy()
    y[test], X[test] = np.roll(y[test], 1), X[test][::-1] + 1.0
    weight = np.ones(N_ROWS) if _weighted(case) else None
    other = None if weight is None else np.where(np.isin(np.arange(N_ROWS), test), 9.0, weight)
    plain = replace(case, weight=weight, splits=((train, test),))
    changed = replace(plain, y=y, X=X, weight=other)
    one, two = (variant.scores(variant.trainers(), part="train") for variant in (plain, changed))
    _same(one, two, "other labels, rows and weights of the held-out part change the model")


def _pickles_go_on(case: _Case) -> None:
    for trainer in case.trainers():
        restored = pickle.loads(pickle.dumps(trainer))
        one, two = (scores_of(other, _trained(case, other, COSTS), "test") for other in (trainer, restored))
        _same(one, two, "a pickled trainer learns something else")


LAWS = (
    _the_same_training_gives_the_same_model,
    _nothing_given_is_changed,
    _only_the_training_part_is_learnt_from,
    _costs_reach_the_objective,
    _normalize_is_honoured,
    _weights_multiply_the_costs,
    _weights_count_rows,
    _starts_change_nothing,
    _predictions_are_the_estimators_own,
    _estimators_are_fitted_bases,
    _pickles_go_on,
)


# ---------------------------------------------------------------- engines


N_ENTRIES, N_FOLDS = 600, 3
# ``make(X, y, fold, sample_weight)``: an engine on these arrays.
Make: TypeAlias = Callable[..., Engine]


def check_engine(make: Make, base: Estimator, *, tol: float = 1e-2, random_state: int = 0) -> None:
    """Check that an engine keeps what `csf.distributed.search_on` relies on.

    Parameters
    ----------
    make : callable
        ``make(X, y, fold, sample_weight)`` returns the engine of some arrays: float64 samples of shape
        (n_samples, n_features), targets 0 and 1, a fold number for each sample (-1: never held out), and weights or
        ``None``.
    base : estimator
        Base as the engine calls it. It must be able to separate what lies on two sides of a plane.
    tol : float, default=1e-2
        Allowed differences of error profiles where trainings should be alike but for their solver's precision.
    random_state : int, default=0
        Seed of the samples.

    Raises
    ------
    AssertionError
        If the totals are wrong, a fold's own rows are trained on, costs are ignored or swapped, weights do not count,
        scores come from another fold's model, counts are not those of all held-out rows, collected scores are not those
        that are counted, in the order of the entries, trainings change when they are repeated or reordered, or a start
        changes the predictions.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> check_engine(MemoryEngine, LogisticRegression())
    """
    rng = generator(random_state)
    X = rng.normal(size=(N_ENTRIES, N_FEATURES))
    y = (X[:, 0] + 0.8 * rng.normal(size=N_ENTRIES) > 0.8).astype(int)
    fold, weight = rng.integers(-1, N_FOLDS, N_ENTRIES), rng.integers(0, 4, N_ENTRIES) / 2.0
    for given in (None, weight):
        engine = make(X, y, fold, given)
        counted = slice(None) if given is None else given > 0.0
        part = None if given is None else given[counted]
        alike = MemoryEngine(X, y, fold, given), MemoryEngine(X[counted], y[counted], fold[counted], part)
        _check_totals(engine, *(scores.totals() for scores in alike))
        trained = _trained_folds(engine, base)
        _check_counts(engine, trained, y, fold, given)
        _check_entries(engine, base, trained)
        _check_repeats(engine, base, trained, tol)
        _check_costs(engine, base, trained)
    _check_weights_count(make, base, X, y, fold, weight, tol)
    _check_nothing_leaks(make, base, X, y, fold, tol)


def _trained_folds(
    engine: Engine, base: Estimator, costs: tuple[float, float] = COSTS, starts: Sequence[object] = ()
) -> list[Training]:
    """Train all folds."""
    jobs = [Job(base, fold, costs, starts[fold : fold + 1]) for fold in range(N_FOLDS)]
    trained = engine.train(jobs)
    require(len(trained) == N_FOLDS, f"train must return one result for each of {N_FOLDS} jobs, got {len(trained)}")
    for training in trained:
        if isinstance(training, Exception):
            raise AssertionError(f"a training of {base!r} failed") from training
        require(isinstance(training, Training), f"train must return trainings, got {training!r}")
    return [training for training in trained if isinstance(training, Training)]


def _scores(engine: Engine, trained: list[Training]) -> Scored:
    return engine.scores([training.model for training in trained])


def _cut(engine: Engine, trained: list[Training]) -> CountedCut:
    return counted_cut(_scores(engine, trained), FBeta())


def _check_totals(engine: Engine, expected: FoldTotals, without_weightless: FoldTotals) -> None:
    """Check the totals; rows of weight 0 are counted or left out."""
    totals = engine.totals()
    require(
        np.array_equal(totals.weight, expected.weight),
        f"totals().weight must be the weights of negatives and positives of each fold, then of rows in none, "
        f"{expected.weight.tolist()}; got {np.asarray(totals.weight).tolist()}",
    )
    rows, some = np.asarray(totals.rows).tolist(), without_weightless.rows.tolist()
    require(
        rows in (expected.rows.tolist(), some),
        f"totals().rows must be {expected.rows.tolist()}, or {some} without rows of weight 0; got {rows}",
    )


def _check_counts(engine: Engine, trained: list[Training], y: Array, fold: Array, weight: Array | None) -> None:
    """Check that counts are those of the scores listed one by one, and that these are all that are held out."""
    scores = _scores(engine, trained)
    listed = scores.distinct(np.array([-np.inf]), np.array([np.inf]))
    counted = np.ones(N_ENTRIES) if weight is None else weight
    expected = np.array([[(counted * ((fold == k) & (y == c))).sum() for c in (0, 1)] for k in range(N_FOLDS)])
    require(
        np.allclose(listed.sums.sum(axis=2), expected, rtol=1e-12),
        "distinct(-inf, inf) must count all rows of each fold, negatives before positives",
    )
    require(bool((np.diff(listed.lowest) > 0).all()), "distinct must list each score once, ascending")
    require(np.array_equal(listed.lowest, listed.highest), "distinct must list one score in a bin")
    edges = np.unique(np.quantile(listed.lowest, [0.0, 0.3, 0.5, 0.9]))
    bins, place = scores.counts(edges), np.searchsorted(edges, listed.lowest, side="right")
    for k in range(edges.shape[0] + 1):
        inside = place == k
        require(
            np.allclose(bins.sums[..., k], listed.sums[..., inside].sum(axis=-1), rtol=1e-12, atol=0),
            f"counts must hold in bin {k} what is at least {edges[k - 1] if k else -np.inf} and below the next edge",
        )
        require(
            bins.rows[k] == listed.rows[inside].sum(), f"counts has another number of rows in bin {k} than distinct"
        )
        ends = (listed.lowest[inside][0], listed.lowest[inside][-1]) if inside.any() else (np.inf, -np.inf)
        require((bins.lowest[k], bins.highest[k]) == ends, f"bin {k} must reach from {ends[0]} to {ends[1]}")
    # One sample with the weight of all of its class and score is as good as all of them.
    negatives, positives = listed.sums.sum(axis=0)
    is_pos = np.arange(2 * negatives.size) >= negatives.size
    alike = PartScores(np.tile(listed.lowest, 2), is_pos, np.concatenate([negatives, positives]))
    for metric in (FBeta(), Constrained(Recall(), Constraint(Precision(), ">=", 0.7))):
        measured, known = counted_cut(scores, metric), counted_cut(MemoryScores([alike]), metric)
        require(
            measured.cut == known.cut, f"the best threshold for {metric.name} must be {known.cut}, got {measured.cut}"
        )


def _check_entries(engine: Engine, base: Estimator, trained: list[Training]) -> None:
    """Check that collected scores belong to the entries, for any models."""
    entries = engine.entries()
    if entries is None:
        return
    for models in (trained, _trained_folds(engine, base, (1.0, 2.0))):
        scores = _scores(engine, models)
        here = MemoryScores([entries._replace(score=scores.collected())], N_FOLDS)
        ends = np.array([-np.inf]), np.array([np.inf])
        measured, known = here.distinct(*ends), scores.distinct(*ends)
        require(
            np.array_equal(measured.lowest, known.lowest)
            and np.array_equal(measured.rows, known.rows)
            and np.allclose(measured.sums, known.sums, rtol=1e-12),
            "scores().collected() must be the scores that are counted, in the order of entries(), which has truth, "
            "weight and fold of these rows",
        )


def _check_repeats(engine: Engine, base: Estimator, trained: list[Training], tol: float) -> None:
    """Check that the same jobs give the same results, alone or in another order, and that starts change only time."""
    first = _cut(engine, trained)
    single = [engine.train([Job(base, fold, COSTS)])[0] for fold in reversed(range(N_FOLDS))][::-1]
    again = _cut(engine, [training for training in single if isinstance(training, Training)])
    _require_alike(again, first, 1e-9, "trainings must not depend on what else is trained, and repeat")
    starts = [training.state for training in _trained_folds(engine, base, (1.0, 2.0))]
    if starts[0] is not None:
        warm = _cut(engine, _trained_folds(engine, base, COSTS, starts))
        _require_alike(warm, first, tol, "a training must find the same from another start")


def _check_costs(engine: Engine, base: Estimator, trained: list[Training]) -> None:
    """Check that more positives are predicted where misses cost more."""
    shares = [_cut(engine, _trained_folds(engine, base, costs)).own.predicted_pos for costs in ((1.0, 8.0), (8.0, 1.0))]
    require(shares[0] < shares[1], f"costs are ignored or swapped: {shares} of the rows are found at (1, 8) and (8, 1)")


def _check_weights_count(
    make: Make, base: Estimator, X: Array, y: Array, fold: Array, weight: Array, tol: float
) -> None:
    """Check that a row of weight two counts as the same row twice, and one of weight zero as none."""
    times = (2 * weight).astype(int)
    repeated = [np.repeat(values, times, axis=0) for values in (X, y, fold)]
    weighted, plain = make(X, y, fold, 2 * weight), make(*repeated, None)
    measured, expected = (_cut(engine, _trained_folds(engine, base)) for engine in (weighted, plain))
    _require_alike(measured, expected, tol, "weights must count as so many rows")


def _check_nothing_leaks(make: Make, base: Estimator, X: Array, y: Array, fold: Array, tol: float) -> None:
    """Check that flipping the labels that a fold holds out does not change the predictions of its model."""
    models = [training.model for training in _trained_folds(make(X, y, fold, None), base)]
    turned = make(X, np.where(fold == 0, 1 - y, y), fold, None)
    again = [_trained_folds(turned, base)[0].model, *models[1:]]
    measured, expected = (counted_cut(turned.scores(models_of_both), FBeta()).own for models_of_both in (again, models))
    require(
        abs(measured.fn - expected.fn) + abs(measured.fp - expected.fp) <= tol,
        "the model of a fold changes with the labels that the fold holds out",
    )


def _require_alike(measured: CountedCut, expected: CountedCut, tol: float, law: str) -> None:
    away = abs(measured.own.fn - expected.own.fn) + abs(measured.own.fp - expected.own.fp)
    require(away <= tol, f"{law}: the profiles {measured.own} and {expected.own} differ by more than {tol:g}")
