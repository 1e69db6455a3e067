"""Engine of cost searches on Dask collections, and the bases that it trains."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf._common.sklearn import clone, last_step, safe_indexing
from csf._common.typing import Array, Costs, Estimator, Keywords, Label, Samples
from csf.dask.collections import (
    COLUMNS,
    FAN_IN,
    HURRY,
    ChangedRows,
    DaskData,
    LostWorkers,
    RawPart,
    first_pass,
    is_frame,
    matrix,
    truth_of,
    watched_training,
)
from csf.data.costs import costs_by_code, own_class_weights
from csf.data.labels import Labels
from csf.data.responses import NATURAL_THRESHOLDS, above, gives_log_odds, positive_score, response_method
from csf.distributed.counts import OfPart, OfResults, PartedScores, PartScores, Result, score_of
from csf.distributed.encoding import Encoding, encoder_of, rows_of_categories
from csf.distributed.engine import (
    MOST_COLLECTED,
    Job,
    LocalModel,
    hash_folds,
    sample_shares,
)
from csf.distributed.newton import (
    Answer,
    LinearModel,
    LinearProblem,
    Moments,
    Part,
    Question,
    Scaling,
    add_answers,
    answers,
    scalers_of,
    solve_together,
)
from csf.distributed.survey import Survey, SurveyedEngine
from csf.metrics.row_costs import CostTable, cost_sums, stake_weights
from csf.solvers.base import DIRECT
from csf.thresholding.linear_rule import aligned_scores
from csf.trainers.base import Training

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.delayed import Delayed
    from numpy.typing import DTypeLike

# ---------------------------------------------------------------- kinds of base


# Scores of rows in memory; it can be pickled, and travels to the partitions.
Scorer: TypeAlias = Callable[[Samples], Array]


class DaskModel(NamedTuple):
    """Model as it is trained, and how: what a search hands on."""

    kind: DaskBase
    model: Estimator


class DaskBase(ABC):
    """Training of one kind of base on Dask collections; ``method`` of its models gives the scores."""

    method: str
    # Whether several classes without a null class can be learnt.
    takes_classes: bool = True

    @property
    def own_cut(self) -> float:
        """Threshold of the model's own decision, see `csf.distributed.Scored`."""
        return above(NATURAL_THRESHOLDS[self.method])

    def most_jobs(self, n_folds: int, n_features: int) -> int:
        """See `csf.distributed.Engine.most_jobs`."""
        return n_folds

    @abstractmethod
    def check(self, base: Estimator) -> None:
        """Raise a ValueError where the base has parameters that are not supported."""

    def moments(self, part: RawPart) -> dict[int, Moments]:
        """Compute the moments of each fold for scalers; raise a TypeError or ValueError for unsuitable samples."""
        return {}

    @abstractmethod
    def train(self, jobs: Sequence[Job], data: DaskData, survey: Survey, labels: Labels) -> list[Training | Exception]:
        """Train models, see `csf.distributed.Engine.train`."""

    @abstractmethod
    def scorer(self, model: object, labels: Labels) -> Scorer:
        """Return a function that computes a model's scores for rows in memory."""

    @abstractmethod
    def fitted(self, base: Estimator, model: object, names: Array | None, labels: Labels) -> Estimator:
        """Return the model for the user: an object of the base's class, see `Labels.learnt_by`."""

    @abstractmethod
    def in_memory(self, base: Estimator) -> Estimator:
        """Return an unfitted classifier with the base's parameters for data in memory."""

    @abstractmethod
    def local(self, fitted: Estimator) -> Estimator:
        """Return a classifier in memory with the predictions of a fitted base."""


# ---------------------------------------------------------------- linear models


# Second derivatives of all jobs in the answer of one partition: some of them are merged at a time, 64 MB together.
_MOST_BYTES = (1 << 26) // FAN_IN


class LinearBase(DaskBase):
    """Training of scikit-learn's linear models on sums over partitions, all folds in the same passes.

    The models may end pipelines of scalers (``scaled``), which are fitted to the columns in the first pass, or come
    after an ``encoder``, for whose categories all rows are read once before it.
    """

    method = "decision_function"
    takes_classes = False

    def __init__(self, scaled: bool = False, encoder: ColumnTransformer | None = None) -> None:
        self.scaled, self.encoder = scaled or encoder is not None, encoder
        self._encoding: Encoding | None = None

    def prepare(self, data: DaskData) -> None:
        """Read the categories, once for all rows and samples of them."""
        if self.encoder is not None and self._encoding is None:
            # As parts: the first pass warns of indexes.
            parts, rows_of = data.of_parts(data.parts), partial(rows_of_categories, encoder=self.encoder)
            self._encoding = Encoding(self.encoder, parts.reduced(partial(_of_samples, rows_of), rows_of))

    def _n_features(self, n_features: int) -> int:
        return n_features if self._encoding is None else self._encoding.names.size

    def most_jobs(self, n_folds: int, n_features: int) -> int:
        """See `csf.distributed.Engine.most_jobs`."""
        size = self._n_features(n_features) + 1
        numbers = size**2 if size <= DIRECT else size
        return max(n_folds, _MOST_BYTES // (8 * numbers))

    def check(self, base: Estimator) -> None:
        """See `DaskBase.check`."""
        LinearProblem.of(last_step(base)[1])

    def moments(self, part: RawPart) -> dict[int, Moments]:
        """See `DaskBase.moments`."""
        try:
            X = _numbers(part.X, self._encoding)
        except (TypeError, ValueError) as error:
            raise type(error)(f"in partition {part.index} {error}") from None
        if np.isfinite(X.data if sparse.issparse(X) else X).all():
            folds = np.unique(part.fold) if self.scaled else ()
            return {int(fold): Moments.of(X[np.flatnonzero(part.fold == fold)]) for fold in folds}
        X = sparse.coo_array(X)
        place = np.argmin(np.isfinite(X.data))
        column = int(X.col[place])
        names = getattr(part.X, "columns", None) if self._encoding is None else self._encoding.names
        name = column if names is None else repr(names[column])
        raise ValueError(
            f"X holds {X.data[place]} in partition {part.index}, row {X.row[place]} of it, column {name}: linear "
            "models need finite numbers; fill missing values in the collection before the search, e.g. with fillna, or "
            "drop those rows"
        )

    def train(self, jobs: Sequence[Job], data: DaskData, survey: Survey, labels: Labels) -> list[Training | Exception]:
        """See `DaskBase.train`."""

        def ask(questions: list[Question]) -> list[Answer]:
            given = {"questions": questions, "pos_label": labels.positive, "encoding": self._encoding}
            return data.reduced(partial(_answers, **given), add_answers)

        scalings = [self._scaling(job, data, survey) for job in jobs]
        jobs = [replace(job, base=_coded(job.base, labels)) for job in jobs]
        try:
            models = solve_together(jobs, self._n_features(data.n_features), ask, scalings)
        except ValueError as error:
            # Features or weights that are too large, for one job or for all.
            return [error for _ in jobs]
        return [Training(model, state=model.w, gap=model.relative_gap) for model in models]

    def _scaling(self, job: Job, data: DaskData, survey: Survey) -> Scaling | None:
        scalers = scalers_of(job.base)
        if scalers is None and self._encoding is None:
            return None
        known = Moments.merged([part for fold, part in survey.moments.items() if fold != job.fold])
        constant = LinearProblem.of(job.base[-1]).constant
        if self._encoding is not None:
            # A sample may lack rare categories.
            held_out = None if job.fold is None or data.thinned is not None else survey.moments[job.fold]
            return self._encoding.scaling(known, held_out, constant)
        return Scaling.of(scalers or [], known, constant, data.feature_names)

    def scorer(self, model: LinearModel, labels: Labels) -> Scorer:
        """See `DaskBase.scorer`."""
        return partial(_scores, model, self._encoding)

    def fitted(self, base: Estimator, model: LinearModel, names: Array | None, labels: Labels) -> Estimator:
        """See `DaskBase.fitted`."""
        if model.scaling is None:
            return self._fitted(base, model, names, labels)
        fitted, steps = clone(base), [*model.scaling.scalers, self._fitted(base[-1], model, None, labels)]
        fitted.steps = [(name, step) for (name, _), step in zip(base.steps, steps)]
        return fitted

    @staticmethod
    def _fitted(base: Estimator, model: LinearModel, names: Array | None, labels: Labels) -> Estimator:
        """Return a linear base with the coefficients of a model."""
        fitted = clone(base)
        sign = -1.0 if labels.positive_is_first else 1.0
        fitted.coef_ = sign * model.w[None, :-1]
        fitted.intercept_ = np.array([sign * model.w[-1] * model.constant])
        fitted.classes_ = labels.classes
        fitted.n_features_in_ = model.w.shape[0] - 1
        problem = LinearProblem.of(base)
        fitted.n_iter_ = np.array([model.n_iter], dtype=np.int32) if problem.logistic else model.n_iter
        if names is not None:
            fitted.feature_names_in_ = names
        return fitted

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        return clone(base)

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        return fitted


def _scores(model: LinearModel, encoding: Encoding | None, X: Samples) -> Array:
    return model.scores(_numbers(X, encoding))


def _numbers(X: Samples, encoding: Encoding | None) -> Samples:
    return matrix(X if encoding is None else encoding.coded(X))


def _of_samples(function: Callable[[Sequence[Samples]], Samples], part: RawPart) -> Samples:
    try:
        return function([part.X])
    except (TypeError, ValueError) as error:
        way = "missing texts are filled before the search, e.g. by fillna('missing')"
        raise type(error)(
            f"in partition {part.index} {error}; {way}" if "NAType" in str(error) else str(error)
        ) from None


def _coded(base: Estimator, labels: Labels) -> Estimator:
    """Return the base with its class weights by codes, as used in the sums."""
    prefix, last = last_step(base)
    weights = own_class_weights(last.class_weight, np.arange(2), labels).tolist()
    return clone(base).set_params(**{f"{prefix}class_weight": dict(enumerate(weights))})


def _answers(part: RawPart, *, questions: list[Question], pos_label: Label, encoding: Encoding | None) -> list[Answer]:
    return answers(Part(_numbers(part.X, encoding), part.y == pos_label, part.weight, part.fold), questions)


# ---------------------------------------------------------------- boosters


class BoostingBase(DaskBase):
    """Training of boosting libraries, which take collections and a cluster, one model after the other.

    Scores are those of a search in memory, which prefers ``decision_function``: LightGBM has it from 4.7 on.
    """

    def __init__(self, base: Estimator) -> None:
        # All boosters have probabilities.
        self.method = response_method(self.in_memory(base)) or "predict_proba"

    def check(self, base: Estimator) -> None:
        """See `DaskBase.check`."""
        from distributed import get_client

        if base.get_params().get("client") is not None:
            raise ValueError(
                f"{type(base).__name__}(client=...) cannot be cloned; make the client the default one, Client(...), "
                "and leave client=None"
            )
        try:
            get_client()
        except ValueError:
            raise ValueError(
                f"{type(base).__name__} trains on a cluster, and there is none; start one, e.g. "
                "distributed.Client(), before the search"
            ) from None

    def train(self, jobs: Sequence[Job], data: DaskData, survey: Survey, labels: Labels) -> list[Training | Exception]:
        """See `DaskBase.train`."""
        return [self._trained(job, data, survey, labels) for job in jobs]

    def _trained(self, job: Job, data: DaskData, survey: Survey, labels: Labels) -> Training | Exception:
        from distributed import get_client

        def train() -> Training:
            X, y, weight = _collections(job, data, survey, labels)
            return Training(clone(job.base).fit(X, y, sample_weight=weight))

        trained = watched_training(get_client(), train, patience=data.patience)
        if isinstance(trained, ChangedRows):
            raise trained
        return trained

    def scorer(self, model: Estimator, labels: Labels) -> Scorer:
        """See `DaskBase.scorer`."""
        if labels.n_alike is not None:
            local, codes = self.local(model), np.arange(labels.n_alike)
            return partial(aligned_scores, local, classes=codes, methods=("predict_proba",))
        positive = int(not labels.positive_is_first)
        return partial(positive_score, self.local(model), pos_label=positive, methods=(self.method,))

    def fitted(self, base: Estimator, model: Estimator, names: Array | None, labels: Labels) -> Estimator:
        """See `DaskBase.fitted`."""
        return model


class XGBoostBase(BoostingBase):
    """Training of `xgboost.dask.DaskXGBClassifier`."""

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        from xgboost import XGBClassifier

        return XGBClassifier(**base.get_params())

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        local = self.in_memory(fitted)
        local.load_model(fitted.get_booster().save_raw())
        return local


class LightGBMBase(BoostingBase):
    """Training of `lightgbm.DaskLGBMClassifier`."""

    def in_memory(self, base: Estimator) -> Estimator:
        """See `DaskBase.in_memory`."""
        from lightgbm import LGBMClassifier

        return LGBMClassifier(**{name: value for name, value in base.get_params().items() if name != "client"})

    def local(self, fitted: Estimator) -> Estimator:
        """See `DaskBase.local`."""
        return fitted.to_local()


def _collections(job: Job, data: DaskData, survey: Survey, labels: Labels) -> tuple[Samples, DaskArray, DaskArray]:
    """Return samples, label codes and weights of the training part, in aligned partitions without empty ones."""
    from dask.base import persist
    from dask.delayed import delayed

    pieces, lengths = [], []
    cut = delayed(_training_rows, nout=3, pure=False)
    for part, length in zip(data.parts, survey.n_training(job.fold, len(data.parts)), strict=True):
        if length:
            pieces.append(tuple(cut(part, job.fold, job.costs, labels)))
            lengths.append(length)
    import dask.array as da

    def stacked(parts: Sequence[Delayed], dtype: DTypeLike, *more: int) -> DaskArray:
        return da.concatenate([da.from_delayed(part, (n, *more), dtype) for part, n in zip(parts, lengths)])

    # The libraries ask for one collection after the other. Dask optimises frames and arrays in different ways, so that
    # the scheduler would get different tasks of one name, and LightGBM mixes up pieces that are made anew.
    samples, places, weights = zip(*persist(*pieces))
    if is_frame(data.X):
        import dask.dataframe as dd

        X = dd.from_delayed(list(samples), meta=data.X._meta, verify_meta=False)
    else:
        X = stacked(samples, data.X.dtype, data.n_features)
    # Labels and weights of frames are arrays too: of a series, XGBoost would look for the classes by a shuffle.
    return X, stacked(places, np.int64), stacked(weights, np.float64)


def _training_rows(part: RawPart, fold: int | None, costs: Costs, labels: Labels) -> tuple[Samples, Array, Array]:
    """Return samples, label codes and weights of the rows that a fold trains on."""
    kept = np.flatnonzero(part.fold != fold) if fold is not None else np.arange(part.fold.shape[0])
    codes = truth_of(part.y, labels)[kept].astype(np.int64)
    weight = np.array(costs_by_code(costs))[codes] * (1.0 if part.weight is None else part.weight[kept])
    return safe_indexing(part.X, kept), np.searchsorted(labels.classes, labels.by_code)[codes], weight


# ---------------------------------------------------------------- the engine


# Rows, about, of a sample.
_SAMPLED = 1 << 18


def base_kind(base: Estimator) -> DaskBase:
    """Choose how to train a base on Dask collections; raise a TypeError for one that cannot be."""
    scaled, encoder = scalers_of(base) is not None, encoder_of(base)
    if isinstance(base[-1] if scaled or encoder is not None else base, LinearSVC | LogisticRegression):
        return LinearBase(scaled, encoder)
    kinds = (("xgboost.dask", "DaskXGBClassifier", XGBoostBase), ("lightgbm", "DaskLGBMClassifier", LightGBMBase))
    for module, name, kind in kinds:
        # Whoever made such an object has imported its library.
        if module in sys.modules and isinstance(base, getattr(sys.modules[module], name)):
            return kind(base)
    raise TypeError(
        "base must be LinearSVC, LogisticRegression, a pipeline of StandardScaler, MinMaxScaler or MaxAbsScaler that "
        "ends in one of them, a pipeline of OneHotEncoder or ColumnTransformer and one of them, "
        f"xgboost.dask.DaskXGBClassifier or lightgbm.DaskLGBMClassifier, got {base!r}; other classifiers need their "
        "data in memory: csf.CostSearch"
    )


def base_kinds(bases: Sequence[Estimator]) -> list[DaskBase]:
    """Choose how to train several bases: each kind once, and linear models with scalers if one of them has some."""
    kinds: dict[type, DaskBase] = {}
    every = [base_kind(base) for base in bases]
    linear = [(kind.encoder, base) for kind, base in zip(every, bases) if isinstance(kind, LinearBase)]
    encoders = {str(encoder and encoder.get_params()): base for encoder, base in linear}
    if len(encoders) > 1:
        shown = " and ".join(" ".join(repr(base).split()) for base in encoders.values())
        raise ValueError(f"all linear models of a search must have the same encoder before them, or none; got {shown}")
    for kind in every:
        if not (isinstance(kind, LinearBase) and type(kind) in kinds and not kind.scaled):
            kinds[type(kind)] = kind
    return list(kinds.values())


class DaskEngine(SurveyedEngine):
    """Engine that trains and counts on Dask collections, with the scheduler that Dask is set to.

    Parameters
    ----------
    data : DaskData
        The collections.
    *kinds : DaskBase
        How bases are trained, each kind once.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    checksum : bool, default=False
        Whether the data are to be distinguished from others, see ``identity`` of `Engine`.

    Examples
    --------
    >>> import dask.array as da
    >>> X, y = np.arange(40.0).reshape(20, 2), np.arange(20) > 12
    >>> X, y, folds = (da.from_array(each, chunks=7) for each in (X, y, np.arange(20) % 2))
    >>> engine = DaskEngine(DaskData(X, y, None, folds, 2, 0), LinearBase())
    >>> engine.totals().weight.tolist()
    [[7.0, 3.0], [6.0, 4.0], [0.0, 0.0]]
    """

    def __init__(self, data: DaskData, *kinds: DaskBase, pos_label: Label = None, checksum: bool = False) -> None:
        super().__init__(COLUMNS, data.costs, pos_label, weighted=data.weight is not None)
        self.data, self.kinds, self._checksum = data, kinds, checksum

    @cached_property
    def survey(self) -> Survey:
        """Results of the first pass."""
        for kind in self.kinds:
            if isinstance(kind, LinearBase):
                kind.prepare(self.data)
        return first_pass(self.data, partial(_moments, kinds=self.kinds), checksum=self._checksum)

    @cached_property
    def _known(self) -> DaskData:
        """The collections, with a check at each read that they are those of the first pass."""
        return replace(self.data, marks=self.survey.marks)

    def check_classes(self, classes: Array) -> None:
        """See `SurveyedEngine.check_classes`."""
        if not all(kind.takes_classes for kind in self.kinds):
            raise ValueError(
                "Only binary classification is supported on Dask by LinearSVC and LogisticRegression. The type of the "
                f"target is multiclass with {classes.size} classes. Use DaskXGBClassifier or DaskLGBMClassifier, "
                "csf.CostSearch on a sample in memory, or one class against the rest: y == label"
            )

    @property
    def identity(self) -> object:
        """Identity of the data and folds, see `csf.distributed.Engine`."""
        return self.survey.checksum, self.labels.positive, self.data.n_features

    @cached_property
    def _sampled(self) -> DaskData | None:
        """Sample of the rows, kept by the workers, if these are too many for all scores to be collected."""
        if self.data.thinned is not None or self.totals().rows[:-1].sum() <= MOST_COLLECTED:
            return None
        shares = sample_shares(self.survey.count(self.labels.by_code), _SAMPLED)
        sample = _Sample(self.labels, shares, self.data.seed + 1)
        return self._known.sampled(sample)

    def sample(self) -> DaskEngine | None:
        """See `Engine.sample`."""
        return None if self._sampled is None else DaskEngine(self._sampled, *self.kinds, pos_label=self.pos_label)

    def entries(self) -> PartScores:
        """See `Engine.entries`."""
        return self._scores([]).few.reduced(PartScores._make, _joined)

    def gives_log_odds(self, base: Estimator) -> bool:
        """See `SurveyedEngine.gives_log_odds`."""
        return gives_log_odds(base_kind(base).in_memory(base))

    def sum_costs(self, powers: Sequence[float]) -> Array:
        """See `SurveyedEngine.sum_costs`."""
        of_part = partial(_cost_sums, pos_label=self.labels.positive, powers=powers)
        return self._known.reduced(of_part, partial(np.sum, axis=0))

    def entry_costs(self) -> CostTable:
        """See `SurveyedEngine.entry_costs`."""
        return (self._sampled or self._known).reduced(_held_out_costs, CostTable.joined)

    def most_jobs(self, n_folds: int) -> int:
        """See `Engine.most_jobs`."""
        return min(kind.most_jobs(n_folds, self.data.n_features) for kind in self.kinds)

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        kinds = [self._kind(job.base) for job in jobs]
        trained: dict[int, Training | Exception] = {}
        # Together what can share passes.
        for kind, power in dict.fromkeys((kind, job.power) for kind, job in zip(kinds, jobs)):
            places = [k for k, job in enumerate(jobs) if (kinds[k], job.power) == (kind, power)]
            data = self._known
            if power:
                data = data.changed(_Weighing(self.labels.positive, power, self.scales[power]))
            trained |= zip(places, kind.train([jobs[k] for k in places], data, self.survey, self.labels))
        return [_tagged(kind, trained[k]) for k, kind in enumerate(kinds)]

    def refit(self, job: Job, *, interrupted: bool) -> Training | Exception:
        """Train the winner on everything; its model is an object of the base's class."""
        trained = self._retrained(job) if interrupted else self.train([job])[0]
        if isinstance(trained, Exception):
            return trained
        kind, model = trained.model
        return trained._replace(model=kind.fitted(job.base, model, self.data.feature_names, self.labels))

    def _retrained(self, job: Job) -> Training | Exception:
        """Train after Ctrl-C, which may have ended all workers, in this process if necessary."""
        # As long as it takes to detect that all workers are gone.
        self._known = replace(self._known, patience=HURRY)
        try:
            return self.train([job])[0]
        except LostWorkers as lost:
            from dask import config

            try:
                with config.set(scheduler="threads"):
                    trained = self.train([job])[0]
            except Exception as error:
                trained = error
            if isinstance(trained, Exception):  # what was persisted was lost with the workers
                raise lost from trained
            return trained

    def local(self, base: Estimator, model: Estimator) -> LocalModel:
        """See `Engine.local`."""
        kind = self._kind(base)
        return LocalModel(kind.local(model), kind.method)

    def _kind(self, base: Estimator) -> DaskBase:
        """Return how a base is trained."""
        made = base_kind(base)
        return next(kind for kind in self.kinds if isinstance(made, type(kind)))

    def scores(self, models: Sequence[DaskModel]) -> PartedScores:
        """See `Engine.scores`."""
        scored = self._scores([model.kind.scorer(model.model, self.labels) for model in models])
        scored.own_cut, scored.method = models[0].kind.own_cut, models[0].kind.method
        return scored

    def _scores(self, scorers: list[Scorer]) -> _DaskScores:
        held = _HeldOutScores(scorers, self.labels)
        return _DaskScores(self._known, held, self.n_folds, self._sampled)


def _tagged(kind: DaskBase, trained: Training | Exception) -> Training | Exception:
    return trained if isinstance(trained, Exception) else trained._replace(model=DaskModel(kind, trained.model))


def _moments(part: RawPart, *, kinds: Sequence[DaskBase]) -> dict[int, Moments]:
    return {fold: moments for kind in kinds for fold, moments in kind.moments(part).items()}


def _cost_sums(part: RawPart, *, pos_label: Label, powers: Sequence[float]) -> Array:
    return cost_sums(part.table(), part.y == pos_label, part.weight, powers)


def _held_out_costs(part: RawPart) -> CostTable:
    return part.table().take(np.flatnonzero(part.fold >= 0))


@dataclass(frozen=True, eq=False)
class _Weighing:
    """Weights of a partition that are a power of what its rows cost."""

    pos_label: Label
    power: float
    scale: float

    def __call__(self, part: RawPart) -> RawPart:
        given = part.table(), part.y == self.pos_label, part.weight
        return part.weighed(stake_weights(*given, self.power, self.scale))


@dataclass(frozen=True, eq=False)
class _Sample:
    """Sampler of a partition: shares of the classes by their codes, with weights by which they represent all."""

    labels: Labels
    shares: list[float]
    seed: int

    def __call__(self, part: RawPart) -> RawPart:
        codes = truth_of(part.y, self.labels).astype(np.int64)
        kept = np.array([hash_folds(part.index, codes.size, share, self.seed) == 0 for share in self.shares])
        weight = (1.0 if part.weight is None else part.weight) / np.array(self.shares)[codes]
        return part.weighed(weight).take(np.flatnonzero(kept[codes, np.arange(codes.size)]))


def _joined(parts: Sequence[PartScores]) -> PartScores:
    """Join the entries of several parts, in their order."""
    columns = zip(PartScores._fields, zip(*parts))
    joined: Keywords = {name: None if of[0] is None else np.concatenate(of) for name, of in columns}
    return PartScores(**joined)


class _DaskScores(PartedScores):
    """Scores that are computed in each pass; ``few`` are those that are collected."""

    def __init__(self, data: DaskData, held: _HeldOutScores, n_folds: int, sample: DaskData | None) -> None:
        super().__init__(n_folds, 0.0)
        self._data, self._held = data, held
        self.few = self if sample is None else _DaskScores(sample, held, n_folds, None)

    def reduced(self, of_part: OfPart[Result], of_results: OfResults[Result]) -> Result:
        """See `PartedScores.reduced`."""
        return self._data.reduced(partial(_asked, held=self._held, of_part=of_part), of_results)

    def quantiles(self, size: int) -> Array:
        """See `Scored.quantiles`."""
        return super().quantiles(size) if self.few is self else self.few.quantiles(size)

    def collected(self) -> Array:
        """See `Scored.collected`."""
        return self.few.reduced(score_of, np.concatenate)


def _asked(part: RawPart, *, held: _HeldOutScores, of_part: OfPart[Result]) -> Result:
    """Apply a function to the held-out scores of a partition."""
    return of_part(held(part))


@dataclass(frozen=True, eq=False)
class _HeldOutScores:
    """Held-out scores of a partition: each row scored by the model of its fold, 0 without models."""

    scorers: list[Scorer]
    labels: Labels

    def __call__(self, part: RawPart) -> PartScores:
        held = np.flatnonzero(part.fold >= 0)
        n_alike = self.labels.n_alike if self.scorers else None
        score = np.zeros(part.fold.shape if n_alike is None else (part.fold.size, n_alike))
        for fold, scorer in enumerate(self.scorers):
            places = np.flatnonzero(part.fold == fold)
            if places.size:
                score[places] = scorer(safe_indexing(part.X, places))
        weight = None if part.weight is None else part.weight[held]
        return PartScores(score[held], truth_of(part.y, self.labels)[held], weight, part.fold[held])
