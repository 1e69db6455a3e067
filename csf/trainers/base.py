"""The contract of a trainer, and the trainer of any base."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Costs, Estimator, IntArray, Samples
from csf.data.costs import CostChannel
from csf.data.folds import Fold
from csf.data.responses import (
    DECISION_FIRST,
    PROBABILITIES_FIRST,
    Features,
    Response,
    respond,
    respond_classes,
    response_method,
)

# ---------------------------------------------------------------- what trainers share


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of a pipeline before its last one, fitted to a training part, and their output for all rows."""

    fitted: list[tuple[str, Estimator]]
    # The rows to train on come first.
    X: Samples
    # What trainers of the last step have in common.
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class FittedSteps:
    """Fitted steps of all folds, and the key by which a later setting recognises them."""

    # Hash of the unfitted steps.
    key: str
    splits: list[tuple[IntArray, IntArray]]
    # One for each fold; None where they fail on the data.
    steps: list[Steps] | None

    def serve(self, key: str | None, splits: list[tuple[IntArray, IntArray]]) -> bool:
        """Check whether these are the steps with this key, fitted on the same splits."""
        return (
            key == self.key
            and len(splits) == len(self.splits)
            and all(
                np.array_equal(part, other)
                for pair, others in zip(self.splits, splits)
                for part, other in zip(pair, others)
            )
        )


# What makers keep by name: rows, a record, trainers of other settings.
Kept: TypeAlias = Any


@dataclass(eq=False)
class Prepared(MutableMapping[str, Kept]):
    """Data derived from the samples once, by the first trainers that need them, for all settings and classes.

    Makers of your own keep what they like in it, as in a dict.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,), default=None
        What the steps of a pipeline before its last one are fitted to, where several problems on the same samples
        share them; ``None`` fits them to the targets.
    matrix : ndarray or CSR, default=None
        Samples as linear models read them.
    features : Features
        What linear models keep of the features.
    steps : list of FittedSteps
        Steps of pipelines that were fitted.
    kept : dict
        What makers of your own keep.

    Examples
    --------
    >>> prepared = Prepared()
    >>> prepared["mine"] = 3
    >>> "mine" in prepared, len(prepared)
    (True, 1)
    """

    labels: IntArray | None = None
    matrix: Samples | None = None
    features: Features = field(default_factory=Features)
    steps: list[FittedSteps] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)

    @classmethod
    def of(cls, shared: MutableMapping[str, Kept] | None) -> Prepared:
        """Return the record that a caller keeps between calls, itself or inside the caller's dict; or a new one."""
        if isinstance(shared, Prepared):
            return shared
        return cls() if shared is None else shared.setdefault("csf", cls())

    def __getitem__(self, name: str) -> Kept:
        return self.kept[name]

    def __setitem__(self, name: str, value: Kept) -> None:
        self.kept[name] = value

    def __delitem__(self, name: str) -> None:
        del self.kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)


# ---------------------------------------------------------------- the contract


# maker(base, folds, channel, normalize, prepared) returns a list of trainers, one for each fold, or None.
Maker: TypeAlias = Callable[..., "list[Trainer] | None"]


def checked_trainers(made: object, folds: list[Fold]) -> list[Trainer] | None:
    """Check the result of a maker: one trainer for each fold, or ``None``."""
    if made is None:
        return None
    if not isinstance(made, list) or not all(isinstance(trainer, Trainer) for trainer in made):
        raise TypeError(f"the maker must return None or a list of csf.trainers.Trainer, one a fold, got {made!r}")
    if len(made) != len(folds):
        raise ValueError(f"the maker must return one trainer for each fold, got {len(made)} for {len(folds)} folds")
    return made


class Training(NamedTuple):
    """Result of one training.

    Parameters
    ----------
    model : object
        What the trainer predicts with.
    state : object, default=None
        What a later training of the same data can start from; ``None`` where every training starts from scratch.
    gap : float, default=None
        How far the objective can be from its optimum at most, as a share of it; ``None`` where unknown.
    costs : tuple of float, default=None
        The costs of this training; the default of `Trainer.estimator` needs them where ``model`` is no
        object of the base's class.
    """

    model: Estimator
    state: object = None
    gap: float | None = None
    costs: Costs | None = None


class Trainer(ABC):
    """Trainer of a base on one fold, for any costs.

    A trainer of your own writes `fit`. That is all where its models are fitted objects of the base's class. Where they
    are something lighter, such as coefficients, it writes `predict` too; `estimator`, which is asked for once at the
    end of a search, then trains the base itself, unless you know a shorter way.

    Codes of the fold's targets are the classes to predict. Models and estimators that predict by themselves are trained
    on the user's labels, ``fold.labels.decode(fold.y_train)``, as `train_base` does: their order is that of the labels.

    Parameters
    ----------
    base : estimator
        Unfitted classifier with its parameters set.
    fold : Fold
        Data to train on and to predict.
    channel : CostChannel
        How costs reach the base.
    normalize : {"none", "mean"}, default="none"
        See `csf.data.costs.cost_sample_weight`.

    Attributes
    ----------
    releases_gil : bool
        Whether trainings run well in threads of one process.
    family : str or None
        Trainers of the same fold and family, e.g. of the settings of ``param_grid``, can start from each other's
        states; ``None`` where there are no states.
    """

    releases_gil: bool = False
    family: str | None = None
    # Methods that may give the scores, in order of preference; empty for those that the kind of problem prefers.
    methods: Sequence[str] = ()

    def __init__(self, base: Estimator, fold: Fold, channel: CostChannel, normalize: str = "none") -> None:
        # Only slices: a worker process gets what it needs and nothing else.
        self.base, self.fold, self.channel, self.normalize = base, fold.sliced, channel, normalize

    def prepare(self, starts: Sequence[object]) -> None:  # noqa: B027 (most have nothing to prepare)
        """Prepare what trainings from these states have in common, before some of them run side by side.

        Parameters
        ----------
        starts : sequence of state
            What `fit` will be given.
        """

    def leave_out(self) -> bool:
        """Make the scores of each sample those of a model without it, where all are trained on and held out.

        Returns
        -------
        bool
            Whether they are; approximately so, and for comparisons alone.
        """
        return False

    @abstractmethod
    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train with the given class costs.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``; where no class is the null class (`Fold.n_alike`), a weight for each code.
        starts : sequence of state, default=()
            States of earlier trainings, the nearest first.

        Returns
        -------
        Training
            The result.
        """

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict a part of the fold; by default with the model, in the form of the base's class.

        Parameters
        ----------
        training : Training
            Result of `fit`.
        part : {"train", "test"}
            Which part.
        tune : bool
            Whether scores are wanted.

        Returns
        -------
        Response
            The model's decision, scores where they are wanted, and the predicted class as a code of the fold's targets.
            Of several classes beside a null class the response to the test part has `csf.data.responses.class_gaps`
            too, without which single classes have no `at_capacity`.
            Where no class is the null class (`Fold.n_alike`), the decision is codes, and scores are those of all
            classes: probabilities, if the base has them.
        """
        X = self.fold.X_test if part == "test" else self.fold.X_train
        labels, model = self.fold.labels, training.model
        if labels.n_alike is not None:
            methods = self.methods or PROBABILITIES_FIRST
            return respond_classes(model, X, labels.n_alike, tune=tune, labels=labels, methods=methods)
        learnt = labels.learnt_by(model)
        methods = self.methods or DECISION_FIRST
        # Nobody asks which class training rows would get next.
        compared = labels if part == "test" else None
        answer = respond(model, X, learnt.null, tune=tune, methods=methods, labels=compared)
        return answer._replace(found=learnt.encode(answer.found))

    def estimator(self, training: Training) -> Estimator:
        """Return a fitted object of the base's class, trained on the user's labels, see `Fold.labels`.

        By default the model, if it is one, else a clone of the base, trained with the costs of ``training``.

        Parameters
        ----------
        training : Training
            Result of `fit`.

        Returns
        -------
        estimator
            The object.

        Raises
        ------
        TypeError
            If the base has to be trained and the training does not hold its costs.
        """
        if type(training.model) is type(self.base):
            return training.model
        if training.costs is None:
            raise TypeError(
                f"{type(self).__name__}.fit returned a {type(training.model).__name__}, no {type(self.base).__name__}, "
                "and no costs to train one with; return Training(model, costs=costs), or write estimator"
            )
        return self.train_base(training.costs)

    def fitted(self, costs: Costs) -> Estimator:
        """Train for a fitted object of the base's class alone, see `estimator`.

        Parameters
        ----------
        costs : tuple of float
            As for `fit`.

        Returns
        -------
        estimator
            The object.
        """
        return self.estimator(self.fit(costs))

    def train_base(self, costs: Costs, **fit_params: object) -> Estimator:
        """Train a clone of the base on the training part.

        Parameters
        ----------
        costs : tuple of float
            As for `fit`.
        **fit_params : object
            Further arguments of its ``fit``, beside the fold's.

        Returns
        -------
        estimator
            The fitted clone.
        """
        return self.channel.fit(
            clone(self.base),
            self.fold.X_train,
            self.fold.y_train,
            costs,
            sample_weight=self.fold.weight_train,
            normalize=self.normalize,
            fit_params=self.fold.fit_params | fit_params,
            labels=self.fold.labels,
        )

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the position of costs among all trainings of the family, for the choice of a start.

        Parameters
        ----------
        costs : tuple of float
            As for `fit`.

        Returns
        -------
        tuple of float
            Coordinates; trainings that are close have similar solutions.
        """
        return costs


# ---------------------------------------------------------------- any base


class GenericTrainer(Trainer):
    """Trainer that clones and fits, for every base that takes weights.

    Parameters
    ----------
    base : estimator
        Unfitted classifier with its parameters set.
    fold : Fold
        Data to train on and to predict.
    channel : CostChannel
        How costs reach the base.
    normalize : {"none", "mean"}, default="none"
        See `csf.data.costs.cost_sample_weight`.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from csf.data import CostChannel, Fold, Task
    >>> task = Task(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]))
    >>> fold = Fold(task, np.array([0, 1, 2]), np.array([3]))
    >>> trainer = GenericTrainer(LinearSVC(), fold, CostChannel("sample_weight", "sample_weight"))
    >>> trainer.predict(trainer.fit((1.5, 0.5)), "test", tune=False).decided
    array([ True])
    """

    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train a fresh clone of the base; see `Trainer.fit`."""
        return Training(self.train_base(costs))

    def estimator(self, training: Training) -> Estimator:
        """Return the model itself, whatever its class; see `Trainer.estimator`."""
        return training.model


class MethodTrainer(Trainer):
    """Trainer that trains as another one does, and takes the scores from chosen methods of the fitted base."""

    def __init__(self, trainer: Trainer, fold: Fold, methods: Sequence[str]) -> None:
        self.trainer, self.fold, self.methods = trainer, fold.held_out, methods
        self.releases_gil = trainer.releases_gil

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of boosters comes late)
        """Family of the other trainer."""
        return self.trainer.family

    def prepare(self, starts: Sequence[object]) -> None:
        """Prepare what trainings have in common; see `Trainer.prepare`."""
        self.trainer.prepare(starts)

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the position of the costs; see `Trainer.position`."""
        return self.trainer.position(costs)

    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train as the other trainer does; see `Trainer.fit`."""
        return self.trainer.fit(costs, starts)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict with the fitted base; see `Trainer.predict`."""
        return super().predict(Training(self.estimator(training)), part, tune=tune)

    def estimator(self, training: Training) -> Estimator:
        """Return the fitted base; see `Trainer.estimator`."""
        return self.trainer.estimator(training)


def with_methods(made: list[Trainer], base: Estimator, folds: Sequence[Fold], methods: Sequence[str]) -> list[Trainer]:
    """Return trainers whose scores come from the first of some methods; those ``made`` where that is theirs."""
    method = response_method(base, DECISION_FIRST if folds[0].n_alike is None else PROBABILITIES_FIRST)
    if not methods or (method is not None and method == response_method(base, methods)):
        return made
    return [MethodTrainer(trainer, fold, methods) for trainer, fold in zip(made, folds)]


def hash_of(thing: object) -> str | None:
    """Hash parameters; return ``None`` where they cannot be pickled, and so not be compared."""
    try:
        return joblib.hash(thing)
    except Exception:
        return None


def seeded(base: Estimator, random_state: np.random.RandomState | None) -> Estimator:
    """Clone a base and set its unset ``random_state`` parameters.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    random_state : RandomState or None
        ``None`` leaves the base as it is.

    Returns
    -------
    estimator
        The clone. All trials and folds share its seeds, so that costs are compared on equal terms.
    """
    base = clone(base)
    if random_state is not None:
        seeds = {name: int(random_state.randint(np.iinfo(np.int32).max)) for name in unset_seeds(base)}
        base.set_params(**seeds)
    return base


def unset_seeds(base: Estimator) -> list[str]:
    """List the ``random_state`` parameters of a base that are not set."""
    known = sorted(base.get_params(deep=True).items())
    return [name for name, value in known if value is None and name.rpartition("__")[2] == "random_state"]


# ---------------------------------------------------------------- earlier states


# As many states are kept for one fold, and as many are handed over. A handful of solutions spans the later ones well.
_KEPT, _GIVEN = 24, 6
# Fewer states are kept where their arrays take more bytes than this.
_BYTES, _FEWEST = 1 << 26, 3


class Known(NamedTuple):
    """State of a training, with its family and position."""

    family: str
    position: tuple[float, ...]
    state: object


class WarmStarts:
    """Latest states of one fold, by family and position."""

    def __init__(self) -> None:
        self._known: list[Known] = []
        self._sizes: list[int] = []

    @property
    def known(self) -> tuple[Known, ...]:
        """All states, the latest last."""
        return tuple(self._known)

    def copy(self) -> WarmStarts:
        """Return the same states, to which others can be added."""
        made = WarmStarts()
        made._known, made._sizes = list(self._known), list(self._sizes)
        return made

    def add(self, family: str, position: tuple[float, ...], state: object) -> None:
        """Add a state; drop the oldest ones where there are too many, or too large ones."""
        self._known.append(Known(family, position, state))
        self._sizes.append(_size(state))
        kept = min(_KEPT, len(self._known))
        while kept > _FEWEST and sum(self._sizes[-kept:]) > _BYTES:
            kept -= 1
        del self._known[:-kept], self._sizes[:-kept]

    def nearest(self, family: str, position: tuple[float, ...]) -> list[object]:
        """Return the states to start from, the nearest first."""
        known = [start for start in reversed(self._known) if start.family == family]
        away = [sum(abs(a - b) for a, b in zip(start.position, position, strict=True)) for start in known]
        return [known[i].state for i in sorted(range(len(known)), key=away.__getitem__)[:_GIVEN]]


def _size(state: object) -> int:
    """Count the bytes of the arrays in a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    # Numbers, which are most of a solution, are not asked what they are made of.
    if state is None or isinstance(state, (float, int, str)):
        return 0
    if is_dataclass(state):
        return sum(_size(getattr(state, field.name)) for field in fields(state))
    return sum(map(_size, state)) if isinstance(state, (tuple, list)) else 0
