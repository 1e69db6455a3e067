"""Engine of cost searches on Spark frames, and the decisions of models of pyspark.ml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from math import frexp, ldexp
from multiprocessing.pool import ThreadPool
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from pyspark.ml import Estimator, Model, Pipeline, PipelineModel
from pyspark.ml.classification import (
    FMClassifier,
    GBTClassifier,
    LinearSVCModel,
    LogisticRegressionModel,
)
from pyspark.ml.feature import Bucketizer
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Params
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, NumericType
from pyspark.storagelevel import StorageLevel
from pyspark.util import inheritable_thread_target
from sklearn import linear_model, svm

from csf._common.typing import Array, Costs, IntArray
from csf._common.typing import Estimator as LocalEstimator
from csf.data.costs import costs_by_code
from csf.distributed import (
    Bins,
    Job,
    LocalModel,
    MemoryScores,
    PartScores,
    Scored,
)
from csf.distributed.counts import empty_bins
from csf.distributed.engine import sample_shares
from csf.distributed.survey import MOST_CLASSES, Cell, Columns, Survey, SurveyedEngine
from csf.metrics.row_costs import ACCEPTED, FILLED, OUTCOMES, SWAPPED, CostTable
from csf.spark.row_costs import gain_and_loss, sql_of
from csf.trainers.base import Training

if TYPE_CHECKING:
    from pyspark.sql import Column

    from csf.metrics.row_costs import RowCosts

# ---------------------------------------------------------------- sums of weights


# Bits of a digit: sums of digits stay below 2^63 for 10^11 rows.
_BITS = 26
_DIGITS = 3
# Scales beyond are no numbers of a computer any more; what is smaller by so much counts for nothing.
_SMALLEST = -900


@dataclass(frozen=True)
class WeightSums:
    """Weights as three digits of 26 bits below a power of two, which are added as integers."""

    # Floating-point sums depend on the order of the terms, and Spark's order changes from run to run: a search that is
    # resumed would find other numbers than one that went through. What is lost is below the largest weight times 2 to
    # the power of -78 for each row.

    exponent: int

    @classmethod
    def below(cls, largest: float) -> WeightSums:
        """Make sums for weights up to a largest one."""
        return cls(max(frexp(largest)[1], _SMALLEST))

    def columns(self, weight: Column) -> list[Column]:
        """Return the sums of the digits of a column of weights."""
        rest, sums = weight * F.lit(ldexp(1.0, -self.exponent)), []
        for _ in range(_DIGITS):
            rest = rest * F.lit(2.0**_BITS)
            digit = F.floor(rest)
            sums.append(F.sum(digit))
            rest = rest - digit
        return sums

    def total(self, digits: Iterable[int]) -> float:
        """Return the sum of weights, from the sums of their digits."""
        whole = 0
        for digit in digits:
            whole = (whole << _BITS) + int(digit)
        return ldexp(float(whole), self.exponent - _BITS * _DIGITS)


# ---------------------------------------------------------------- frames


def named_column(name: str) -> Column:
    """Return the column of a name, whatever characters the name contains."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


@dataclass(frozen=True, eq=False)
class SparkData:
    """Rows with labels, weights and folds."""

    frame: DataFrame
    label: str
    # None counts rows.
    weight: str | None
    # None takes a hash of all columns of a row, so that equal rows are in one fold, and neither the order nor the
    # partitions matter.
    fold: str | None
    # Of the hash, or the share that it holds out; with a column, what its numbers stay below, where that is known.
    n_folds: int | float | None
    seed: int
    # Of the names of the columns that are added.
    prefix: str
    # Vectors of finite numbers; None where a pipeline makes them, or the classifier takes others.
    features: str | None = None
    # Costs of rows, where these are the metric.
    costs: RowCosts | None = None

    def __post_init__(self) -> None:
        accepted = "numbers 0 and 1, or 0, 1, ... as of StringIndexer, e.g. (F.col(...) == 'a class').cast('int')"
        self._check("labelCol", self.label, NumericType, accepted)
        if self.weight is not None:
            self._check("weightCol", self.weight, NumericType, "numbers >= 0")
        if self.fold is not None:
            self._check("foldCol", self.fold, IntegralType, "integers 0, 1, ..., or -1 for rows that train only")
        if self.features is not None:
            self._check("featuresCol", self.features, VectorUDT, "vectors, as VectorAssembler makes them")
        for name in OUTCOMES if self.costs is not None else ():
            source = getattr(self.costs, name)
            if not isinstance(source, Real | str):
                raise ValueError(
                    f"{name} of the metric must be a number or the name of a column of the frame, got {source!r}; on "
                    "Spark costs belong to the metric, e.g. RowCosts(fn='amount', fp=5.0)"
                )
            if isinstance(source, str):
                self._check(f"{name} of the metric", source, NumericType, "numbers >= 0")

    def _check(self, parameter: str, name: str, kind: type, accepted: str) -> None:
        types = {field.name: field.dataType for field in self.frame.schema.fields}
        if name not in types:
            raise ValueError(f"{parameter}={name!r} is no column of the frame, which has {', '.join(types)}")
        if not isinstance(types[name], kind):
            raise TypeError(f"{parameter}={name!r} must hold {accepted}; got a column of {types[name].simpleString()}")

    # ---------------------------------------------------------------- columns that are added

    @property
    def fold_name(self) -> str:
        """Column of fold numbers."""
        return f"{self.prefix}__fold"

    @property
    def code_name(self) -> str:
        """Column of labels as numbers."""
        return f"{self.prefix}__code"

    @property
    def key_name(self) -> str:
        """Column of keys, for rows that are held out: the same for equal rows, whichever model scores them."""
        return f"{self.prefix}__key"

    @property
    def weight_name(self) -> str:
        """Column of weights: those of the user, times costs in training."""
        return f"{self.prefix}__weight"

    @cached_property
    def all_rows(self) -> DataFrame:
        """Rows with these columns."""
        weight = F.lit(1.0) if self.weight is None else named_column(self.weight).cast("double")
        return self.frame.withColumns(
            {
                self.key_name: self._hash(self.seed),
                self.fold_name: self._fold_column(),
                self.code_name: named_column(self.label).cast("double"),
                self.weight_name: weight,
            }
        )

    @cached_property
    def coded(self) -> DataFrame:
        """Rows with these columns that have a weight: the others decide nothing."""
        return self.all_rows if self.weight is None else self.all_rows.where(self._weight != 0.0)

    def _fold_column(self) -> Column:
        if self.fold is not None:
            return named_column(self.fold).cast("int")
        if isinstance(self.n_folds, float):
            held_out = F.pmod(self._hash(self.seed), F.lit(2**52)) < F.lit(self.n_folds * 2**52)
            return F.when(held_out, F.lit(0)).otherwise(F.lit(-1))
        return F.pmod(self._hash(self.seed), F.lit(self.n_folds)).cast("int")

    def _hash(self, seed: int) -> Column:
        """Hash the content of a row, without maps, which have no order."""
        types = {field.name: field.dataType.simpleString() for field in self.frame.schema.fields}
        columns = [named_column(name) for name, kind in types.items() if "map<" not in kind and "variant" not in kind]
        return F.xxhash64(F.lit(seed), *columns)

    @property
    def positive(self) -> Column:
        """Whether a row is positive."""
        return F.col(self.code_name) == 1.0

    def _of_class(self, values: Sequence[float]) -> Column:
        """Return the value for the class of each row, of those for all codes."""
        return F.get(F.array(*map(F.lit, values)), F.col(self.code_name).cast("int"))

    def training_rows(self, fold: int | None, costs: Costs, power: float = 0.0, scale: float = 1.0) -> DataFrame:
        """Return the rows that a fold trains on, their weights times costs as in `Job`; all rows for no fold.

        With a ``power``, see `csf.metrics.row_costs.stake_weights`.
        """
        rows = self.coded if fold is None else self.coded.where(F.col(self.fold_name) != fold)
        cost, weight = self._of_class(costs_by_code(costs)), self._weight
        if power:
            weight = (weight * F.pow(F.abs(self.stakes), F.lit(power)) * F.lit(scale)).cast("float").cast("double")
        # StringIndexer may have noted more classes than there are, of which trees would give probabilities too.
        label = named_column(self.label).alias(self.label, metadata={})
        # What else was added would be a feature where a stage takes all columns.
        rows = rows.withColumns({self.weight_name: cost * weight, self.label: label})
        return rows.drop(self.fold_name, self.code_name, self.key_name)

    def held_out(self, fold: int | None = None, shares: list[float] | None = None) -> DataFrame:
        """Return the rows of a fold, or of all folds, with their keys.

        With ``shares`` of the classes it is a sample, with weights by which it represents all of them.
        """
        number = F.col(self.fold_name)
        inside = number >= 0 if fold is None else number == fold
        rows = self.coded.where(inside)
        if shares is None:
            return rows
        share = self._of_class(shares)
        drawn = F.pmod(self._hash(self.seed + 1), F.lit(2**52)) < share * F.lit(2**52)
        return rows.where(drawn).withColumn(self.weight_name, self._weight / share)

    @property
    def _weight(self) -> Column:
        return F.col(self.weight_name)

    # ---------------------------------------------------------------- costs of rows

    @property
    def cost_columns(self) -> dict[str, Column]:
        """Columns of what the four outcomes cost."""
        return {name: F.expr(sql_of(getattr(self.costs, name))) for name in OUTCOMES}

    @property
    def _gain_and_loss(self) -> list[Column]:
        assert self.costs is not None, "asked for where the metric is costs of rows"
        return [F.expr(difference) for difference in gain_and_loss(self.costs)]

    @property
    def stakes(self) -> Column:
        """See `csf.metrics.row_costs.CostTable.stakes`."""
        gain, loss = self._gain_and_loss
        return F.when(self.positive, -gain).otherwise(loss)

    def cost_sums(self, powers: Sequence[float]) -> Array:
        """Check the costs of all rows and compute their sums, see `csf.metrics.row_costs.cost_sums`."""
        costs, positive, stakes = self.cost_columns, self.positive, self.stakes
        gain, loss = self._gain_and_loss
        wrong = [
            F.max(F.when(~fine, F.coalesce(cost.cast("string"), F.lit("null"))))
            for cost in costs.values()
            for fine in [F.coalesce(_is_finite(cost) & (cost >= 0), F.lit(False))]
        ]
        answers = [F.when(positive, costs[one]).otherwise(costs[other]) for one, other in (("fn", "tn"), ("tp", "fp"))]
        counts = [F.sum(F.when(cheaper, 1.0).otherwise(0.0)) for cheaper in (stakes > 0, stakes < 0)]
        sums = [F.sum(self._weight * answer) for answer in answers]
        sums += [F.sum(self._weight * F.pow(F.abs(stakes), F.lit(power))) for power in powers]
        swapped = F.sum(F.when((gain < 0) & (loss < 0), 1).otherwise(0))
        asked = [column.alias(f"v{k}") for k, column in enumerate([*wrong, swapped, *counts, *sums])]
        (values,) = self.coded.agg(*asked).collect()
        for name, value in zip(costs, values):
            if value is not None:
                raise ValueError(f"{name}={getattr(self.costs, name)!r} of the metric is {value}; {ACCEPTED}; {FILLED}")
        if values[4]:
            raise ValueError(
                f"{SWAPPED} in {values[4]} rows; exchange fn with fp and tp with tn where the costs of the two classes "
                "are swapped"
            )
        return np.array(values[5:], dtype=np.float64)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the rows in the executors, in memory or on disk, within this context, unless the user does."""
        unkept = self.frame.storageLevel == StorageLevel.NONE
        # Each training and each trial's scores would read and hash them once for each fold.
        if unkept:
            self.all_rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            if unkept:
                self.all_rows.unpersist()

    # ---------------------------------------------------------------- what is known of the rows

    @property
    def columns(self) -> Columns:
        """Columns as messages name them."""
        several = f", or 0, 1, ..., K - 1 for K <= {self._most_classes} classes" if self.costs is None else ""
        return Columns(
            label=f"labelCol={self.label!r}",
            weight=f"weightCol={self.weight!r}",
            fold=f"foldCol={self.fold!r}",
            accepted=f"1 for the positive class and 0 for the other{several}",
            way="make such a column before the search by StringIndexer, or for one class against the rest by "
            f"(F.col({self.label!r}) == 1).cast('int'), and ",
            last_fold="" if self.n_folds is None else f"{self.n_folds - 1} (numFolds)",
        )

    def survey(self, *, checksum: bool) -> Survey:
        """Check labels, weights and folds, and count the rows, in one pass, with a ``checksum`` of their content.

        Weights are added in a pass of their own, see `WeightSums`.
        """
        code, weight, fold = F.col(self.code_name), F.col(self.weight_name), F.col(self.fold_name)
        # Of rows of weight 0 labels alone are read.
        is_left_out = F.coalesce(weight == 0.0, F.lit(False))
        most = F.when(is_left_out, MOST_CLASSES).otherwise(self._most_classes)
        coded = code.isNotNull() & code.isin([float(k) for k in range(MOST_CLASSES)]) & (code < most)
        wrong = self._wrong_values(coded, is_left_out)
        # Two numbers of 24 bits, so that sums over many rows do not overflow.
        bits = self._hash(-1 - self.seed)
        sums = [F.sum(F.shiftrightunsigned(bits, by).bitwiseAND(F.lit(2**24 - 1))) for by in (40, 16)]
        asked = [*wrong, F.count(F.when(~is_left_out, 1)), F.max(weight), *(sums if checksum else ())]
        columns = [column.alias(f"v{k}") for k, column in enumerate(asked)]
        # Few groups, however many labels.
        part = F.when(is_left_out, -1).otherwise(fold)
        groups = self.all_rows.groupBy(part, F.when(coded, code)).agg(*columns).collect()
        self._refuse([group[2:6] for group in groups])
        cells = [Cell(0, int(group[0]), int(group[1]), group[6], group[6], float(group[7])) for group in groups]
        number = sum(int(group[8]) + (int(group[9]) << 64) for group in groups) if checksum else 0
        survey = Survey(cells, number)
        codes = survey.classes(self.columns).tolist()
        without = [code for code in range(codes[-1]) if code not in codes]
        if codes[-1] > 1 and without:
            raise self.columns.label_error(f"{codes[-1]} without {without[0]}")
        return survey if self.weight is None else Survey(self._weighed(cells, survey.largest), number)

    def _wrong_values(self, coded: Column, is_left_out: Column) -> list[Column]:
        """Return the largest wrong label, weight, fold number and features as texts; null without one."""
        weight, fold, labels = F.col(self.weight_name), F.col(self.fold_name), named_column(self.label)
        fine = weight.isNotNull() & ~F.isnan(weight) & (weight >= 0) & (weight < F.lit(float("inf")))
        known = fold.isNotNull() & (fold >= -1)
        if self.n_folds is not None:
            known &= fold < self.n_folds
        features = None if self.features is None else named_column(self.features)
        values = F.array() if features is None else F.when(features.isNotNull(), vector_to_array(features))
        finite = F.coalesce(F.forall(values, _is_finite), F.lit(False))
        accepted = ((labels, coded), (weight, fine), (fold, known | is_left_out), (values, finite | is_left_out))
        return [F.max(F.when(~right, F.coalesce(value.cast("string"), F.lit("null")))) for value, right in accepted]

    def _refuse(self, wrong: Sequence[Row]) -> None:
        """Raise a ValueError for the largest wrong value of the first column that has one."""
        columns = self.columns
        errors = (columns.label_error, columns.weight_error, columns.fold_error, self._feature_error)
        for error, values in zip(errors, zip(*wrong)):
            if any(value is not None for value in values):
                raise error(max(value for value in values if value is not None))

    def _feature_error(self, value: str) -> ValueError:
        return ValueError(f"featuresCol={self.features!r} must hold finite numbers, got {value}; {_INVALID}")

    def _weighed(self, cells: Sequence[Cell], largest: float) -> list[Cell]:
        """Return the cells with their sums of weights, exact ones, which take a pass."""
        sums, keys = WeightSums.below(largest), [F.col(self.fold_name), F.col(self.code_name)]
        digits = [column.alias(f"d{k}") for k, column in enumerate(sums.columns(F.col(self.weight_name)))]
        rows = self.coded.groupBy(*keys).agg(*digits).collect()
        weights = {(fold, int(code)): sums.total(totals) for fold, code, *totals in rows}
        return [cell._replace(weight=weights.get((cell.fold, cell.label), 0.0)) for cell in cells]

    @property
    def _most_classes(self) -> int:
        return 2 if self.costs is not None else MOST_CLASSES


def _is_finite(value: Column) -> Column:
    return ~F.isnan(value) & (F.abs(value) < F.lit(float("inf")))


# ---------------------------------------------------------------- Spark's own models


def stages(stage: Params) -> Iterator[Params]:
    """Yield an estimator or model, or all stages of a pipeline, including those of inner pipelines."""
    if isinstance(stage, Pipeline | PipelineModel):
        for inner in stage.getStages() if isinstance(stage, Pipeline) else stage.stages:
            yield from stages(inner)
    else:
        yield stage


def last_stage(stage: Params) -> Params:
    """Return the classifier: the last stage of a pipeline, or the stage itself."""
    return list(stages(stage))[-1]


def score_parameter(last: Params) -> str:
    """Return the parameter that names the scores: probabilities, or margins if these have the threshold (LinearSVC)."""
    return "rawPredictionCol" if by_margin(last) else "probabilityCol"


def scored(model: Model, rows: DataFrame, *, tuned: bool, exact: bool = False) -> tuple[DataFrame, Column]:
    """Return the rows with the model's output, and the score: the predicted label where no threshold is tuned."""
    last = last_stage(model)
    answered = model.transform(rows)
    if not tuned:
        return answered, named_column(last.getOrDefault("predictionCol")).cast("double")
    score = vector_to_array(named_column(last.getOrDefault(score_parameter(last))))[1]
    # Probabilities that differ by less than single precision are often equal but for rounding, and no threshold of
    # Spark's models parts them reliably.
    score = score if by_margin(last) or exact else score.cast("float").cast("double")
    # There are two zeros, of which Spark sorts one before the other.
    return answered, F.when(score == 0.0, F.lit(0.0)).otherwise(score)


def class_probabilities(model: Model, rows: DataFrame, n_classes: int) -> tuple[DataFrame, list[Column]]:
    """Return the rows with the model's output, and the probability of each class."""
    proba = vector_to_array(named_column(last_stage(model).getOrDefault("probabilityCol")))
    return model.transform(rows), [proba[k] for k in range(n_classes)]


def own_cut(model: Model, *, tuned: bool) -> float:
    """Return the threshold of the model's own decision, see `csf.distributed.Scored`."""
    last = last_stage(model)
    if not tuned:
        return 0.5
    if last.hasParam("thresholds") and last.isSet("thresholds"):
        negative, positive = last.getOrDefault("thresholds")
        threshold = positive / (negative + positive)
    elif last.hasParam("threshold"):
        threshold = last.getOrDefault("threshold")
    else:
        threshold = 0.5
    return float(np.nextafter(threshold, np.inf))


def by_margin(last: Params) -> bool:
    """Check whether the classifier's threshold is for raw margins."""
    return last.hasParam("threshold") and not last.hasParam("thresholds")


def score_method(model: Model) -> str:
    """Return the method of classifiers in memory that gives what thresholds are for."""
    return "decision_function" if by_margin(last_stage(model)) else "predict_proba"


# ---------------------------------------------------------------- bases


def local_model(model: Model) -> LocalEstimator | None:
    """Return the same linear model for samples in memory, with the vectors' entries as columns; ``None`` for others."""
    if isinstance(model, LogisticRegressionModel):
        # Of one row, or of one for each class.
        rows, intercept = model.coefficientMatrix.toArray(), model.interceptVector.toArray()
        local: LocalEstimator = linear_model.LogisticRegression()
    elif isinstance(model, LinearSVCModel):
        rows, intercept = model.coefficients.toArray()[None], np.array([model.intercept])
        local = svm.LinearSVC()
    else:
        return None
    n_classes = max(len(rows), 2)
    if n_classes == 2:
        rows, intercept = rows[-1:] - rows[:-1].sum(axis=0), intercept[-1:] - intercept[:-1].sum()
    local.coef_, local.intercept_ = rows, intercept
    local.classes_, local.n_features_in_ = np.arange(n_classes), rows.shape[1]
    return local


class SparkBase:
    """Classifier of pyspark.ml with ``weightCol``, or a pipeline that ends in one, as a copy."""

    def __init__(self, estimator: Estimator, seed: int) -> None:
        self._check(estimator)
        self.estimator = estimator.copy()
        # Spark's own default seed differs in each process.
        for stage in stages(self.estimator):
            if stage.hasParam("seed") and not stage.isSet("seed"):
                stage.set(stage.getParam("seed"), seed)

    @property
    def last(self) -> Params:
        """The classifier."""
        return last_stage(self.estimator)

    def __getstate__(self) -> list[object]:
        """Return names and parameters that identify the base in every process, without the uids."""
        whole = list(stages(self.estimator))
        names = {stage.uid: f"stage{k}" for k, stage in enumerate(whole)}
        return [_description(stage, names) for stage in whole]

    @staticmethod
    def _check(estimator: object) -> None:
        wanted = "estimator must be a classifier of pyspark.ml with weightCol, or a Pipeline that ends in one"
        if not isinstance(estimator, Estimator):
            raise TypeError(f"{wanted}, e.g. LinearSVC() of pyspark.ml.classification; got {estimator!r}")
        if isinstance(estimator, Pipeline) and not (estimator.isSet("stages") and estimator.getStages()):
            raise TypeError(f"{wanted}, got a Pipeline without stages")
        last = last_stage(estimator)
        if not last.hasParam("weightCol"):
            raise TypeError(f"{wanted}; {type(last).__name__} takes no weights, and costs are weights")
        if not (last.hasParam("probabilityCol") or (last.hasParam("threshold") and last.hasParam("rawPredictionCol"))):
            raise TypeError(f"{wanted}; {type(last).__name__} gives neither probabilities nor margins with a threshold")
        for name in ("labelCol", "predictionCol", score_parameter(last)):
            if not last.getOrDefault(name):
                raise ValueError(f"{type(last).__name__}({name}='') hides what the search reads; give it a name")

    def check_frame(self, frame: DataFrame) -> None:
        """Raise an error where the frame already has a column that the classifier adds."""
        last = self.last
        names = [
            last.getOrDefault(name)
            for name in ("predictionCol", "rawPredictionCol", "probabilityCol")
            if last.hasParam(name)
        ]
        taken = [name for name in names if name in frame.columns]
        if taken:
            raise ValueError(
                f"the frame has columns {', '.join(taken)} already, which {type(last).__name__} adds; drop them, or "
                "name the classifier's columns otherwise"
            )

    def check_classes(self, classes: Array, label: str) -> None:
        """Raise a ValueError where the classifier does not give probabilities of all classes, or divides them."""
        last = self.last
        name, family = type(last).__name__, last.getOrDefault("family") if last.hasParam("family") else ""
        if isinstance(last, GBTClassifier | FMClassifier) or by_margin(last) or family == "binomial":
            raise ValueError(
                f"Only binary classification is supported by {name}{f'(family={family!r})' if family else ''}. The "
                f"type of the target is multiclass with {classes.size} classes. Use LogisticRegression, "
                "RandomForestClassifier, DecisionTreeClassifier, NaiveBayes or SparkXGBClassifier, or one class "
                f"against the rest: (F.col({label!r}) == 1).cast('int')"
            )
        if last.hasParam("thresholds") and last.isSet("thresholds"):
            raise ValueError(
                f"{name}(thresholds={last.getOrDefault('thresholds')}) divides the probabilities of {classes.size} "
                "classes, whose rule the search tunes; leave thresholds out"
            )

    def trained(self, data: SparkData, fold: int | None, costs: Costs, power: float = 0.0, scale: float = 1.0) -> Model:
        """Train a model, which has no reference to the added columns."""
        estimator = self.estimator.copy()
        last = last_stage(estimator)
        weight_col = last.getOrDefault("weightCol") if last.isDefined("weightCol") else ""
        last.set(last.getParam("labelCol"), data.label)
        last.set(last.getParam("weightCol"), data.weight_name)
        model = estimator.fit(data.training_rows(fold, costs, power, scale))
        inner = last_stage(model)
        if inner.hasParam("weightCol"):
            inner.set(inner.getParam("weightCol"), weight_col)
        return model


def _description(stage: Params, names: dict[str, str]) -> object:
    """Return plain values that identify a stage."""
    # What a fitted stage has learnt is known by its uid alone, which it keeps on disk.
    uid = "" if isinstance(stage, Estimator) or not isinstance(stage, Model) else stage.uid
    values = {param.name: _plain(value, names) for param, value in stage.extractParamMap().items()}
    return [type(stage).__module__, type(stage).__qualname__, uid, values]


def _plain(value: object, names: dict[str, str]) -> object:
    if isinstance(value, str):
        for uid, name in names.items():
            value = value.replace(uid, name)
        return value
    if isinstance(value, list | tuple):
        return [_plain(entry, names) for entry in value]
    return value if isinstance(value, bool | int | float | None) else repr(value)


# ---------------------------------------------------------------- held-out scores


_INF = float("inf")


class SparkScores(Scored):
    """Scores of the rows in folds: columns ``fold``, ``positive``, ``weight`` (> 0) and ``score``."""

    def __init__(self, rows: DataFrame, n_folds: int, own_cut: float, sums: WeightSums) -> None:
        self.n_folds, self.own_cut, self.sums = n_folds, own_cut, sums
        # While they are counted, in memory or on the executors' disks.
        self._rows = rows.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self) -> None:
        """Release the scores."""
        self._rows.unpersist()

    def quantiles(self, size: int) -> Array:
        """See `csf.distributed.Scored.quantiles`."""
        ranks = ", ".join(f"{(k + 0.5) / size!r}D" for k in range(size))
        edges = F.expr(f"percentile_approx(score, array({ranks}), {2 * size})")
        rows = self._rows.where(~F.isnan("score")).groupBy("positive").agg(edges.alias("edges")).collect()
        return np.unique(np.concatenate([np.array(row["edges"], dtype=np.float64) for row in rows] or [np.empty(0)]))

    def counts(self, edges: Array) -> Bins:
        """See `csf.distributed.Scored.counts`."""
        size = edges.shape[0] + 1
        rows = self._placed(edges).groupBy("fold", "positive", "bin").agg(*self._asked()).collect()
        if any(row["bin"] == size for row in rows):
            raise ValueError("the base gave NaN scores")
        return self._bins(rows, size, [row["bin"] for row in rows])

    def distinct(self, low: Array, high: Array) -> Bins:
        """See `csf.distributed.Scored.distinct`."""
        # Intervals begin at every other edge. The numbers between two neighbours are none.
        edges = np.stack([low, np.nextafter(high, np.inf)], axis=1).ravel()
        edges = edges[:-1] if high[-1] == np.inf else edges
        inside = self._placed(edges).where((F.col("bin") % 2 == 1) & (F.col("bin") <= edges.shape[0]))
        rows = inside.groupBy("fold", "positive", "score").agg(*self._asked()).collect()
        scores, places = np.unique(np.array([row["score"] for row in rows], dtype=np.float64), return_inverse=True)
        return self._bins(rows, scores.shape[0], places.tolist())

    def _bins(self, rows: Sequence[Row], size: int, places: Sequence[int]) -> Bins:
        """Make bins from sums by fold, class and position."""
        bins = empty_bins(size, self.n_folds)
        for k, (fold, positive, _, count, low, high, *digits) in zip(places, rows, strict=True):
            bins.lowest[k], bins.highest[k] = min(bins.lowest[k], low), max(bins.highest[k], high)
            bins.rows[k] += count
            bins.weight[fold, int(positive), k] = self.sums.total(digits)
        return bins

    def _asked(self) -> list[Column]:
        digits = [column.alias(f"d{k}") for k, column in enumerate(self.sums.columns(F.col("weight")))]
        return [F.count("*").alias("rows"), F.min("score").alias("low"), F.max("score").alias("high"), *digits]

    def _placed(self, edges: Array) -> DataFrame:
        """Add to each row the number of edges that are not above its score; one more than all edges for NaN."""
        finite, below = edges[np.isfinite(edges)].tolist(), int((edges == -np.inf).sum())
        score, above = F.col("score"), below + len(finite)
        if finite:
            splits = [-_INF, *finite, _INF]
            bucketizer = Bucketizer(splits=splits, inputCol="score", outputCol="bin", handleInvalid="keep")
            rows = bucketizer.transform(self._rows)
        else:
            rows = self._rows.withColumn("bin", F.lit(0))
        place = F.when(F.isnan(score), F.lit(edges.shape[0] + 1))
        if edges.size and edges[-1] == np.inf:
            place = place.when(score == F.lit(_INF), F.lit(above + 1))
        return rows.withColumn("bin", place.otherwise(F.col("bin") + F.lit(below)).cast("int"))


# ---------------------------------------------------------------- the engine


# Rows in folds whose scores come to the driver at most: 4 MB a trial with their keys.
MOST_COLLECTED = 1 << 18
# Spark's name of the error that a cancelled job ends with.
_CANCELLED = "SPARK_JOB_CANCELLED"
# What Spark says of rows that a stage refuses, and what helps.
_ROWS = re.compile("handleInvalid|null|NaN|Unseen")
_INVALID = (
    "fill such values before the search, e.g. with pyspark.ml.feature.Imputer, or drop those rows; "
    "StringIndexer(handleInvalid='keep') takes categories that a fold has not seen"
)


class SparkEngine(SurveyedEngine):
    """Engine on a Spark frame; few scores are collected on the driver, many are counted in the executors.

    Parameters
    ----------
    data : SparkData
        The rows.
    bases : sequence of SparkBase, default=()
        Bases that have to give probabilities of all classes, where there are several.
    tuned : bool, default=True
        Whether thresholds are searched, or models keep their own decision.
    parallelism : int, default=1
        Number of trainings at a time.
    checksum : bool, default=False
        Whether the data are to be distinguished from others, see ``identity`` of `csf.distributed.Engine`.
    """

    def __init__(
        self,
        data: SparkData,
        bases: Sequence[SparkBase] = (),
        *,
        tuned: bool = True,
        parallelism: int = 1,
        checksum: bool = False,
    ) -> None:
        # The columns of costs are the frame's: in memory, what they hold is given with the rows.
        costs = None if data.costs is None else data.costs.without_columns()
        super().__init__(data.columns, costs, None, weighted=data.weight is not None)
        self.data, self.tuned, self.parallelism = data, tuned, parallelism
        self._bases, self._checksum = bases, checksum
        self._scores: SparkScores | None = None

    @cached_property
    def survey(self) -> Survey:
        """Results of the first pass."""
        return self.data.survey(checksum=self._checksum)

    def check_classes(self, classes: Array) -> None:
        """See `SurveyedEngine.check_classes`."""
        for base in self._bases:
            base.check_classes(classes, self.data.label)

    @property
    def identity(self) -> object:
        """Identity of the data and folds, see `csf.distributed.Engine`."""
        data = self.data
        return self.survey.checksum, data.frame.columns, data.label, data.weight, data.fold, self.n_folds, data.seed

    @property
    def _judged(self) -> bool:
        """True where decisions by costs of rows or on several classes need the scores, of a sample at least."""
        return self.data.costs is not None or self.labels.n_alike is not None

    @cached_property
    def sums(self) -> WeightSums:
        """Exact sums of weights."""
        return WeightSums.below(self.survey.largest)

    @cached_property
    def _known(self) -> tuple[IntArray, PartScores] | None:
        """Keys of the rows in folds with their truth, weight and fold, if they are few enough."""
        data = self.data
        if self.totals().rows[:-1].sum() > MOST_COLLECTED and not self._judged:
            return None
        names = data.key_name, data.fold_name, data.code_name, data.weight_name
        key, fold, code, weight = _collected(data.held_out(shares=self._shares).select(*names))
        weight = None if data.weight is None and self._shares is None else weight
        truth: Array = code == 1.0 if self.labels.n_alike is None else code.astype(np.int64)
        return key, PartScores(np.zeros(key.size), truth, weight, fold)

    @cached_property
    def _shares(self) -> list[float] | None:
        """Shares of the classes in the sample that is collected, if rows in folds are too many."""
        counts = self.survey.count(self.labels.by_code, held_out=True)
        few = not self._judged or counts.sum() <= MOST_COLLECTED
        return None if few else sample_shares(counts, MOST_COLLECTED)

    def gives_log_odds(self, base: SparkBase) -> bool:
        """See `SurveyedEngine.gives_log_odds`."""
        return not by_margin(base.last)

    def sum_costs(self, powers: Sequence[float]) -> Array:
        """See `SurveyedEngine.sum_costs`."""
        return self.data.cost_sums(powers)

    def entry_costs(self) -> CostTable:
        """See `SurveyedEngine.entry_costs`."""
        data = self.data
        columns = [F.col(data.key_name), *(column.alias(name) for name, column in data.cost_columns.items())]
        # Rows with the same key are the same, so that their order is that of the entries.
        return CostTable(*_collected(data.held_out(shares=self._shares).select(*columns))[1:])

    def entries(self) -> PartScores | None:
        """See `csf.distributed.Engine.entries`."""
        return None if self._known is None else self._known[1]

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `csf.distributed.Engine.train`."""
        self.release()
        threads = min(self.parallelism, len(jobs))
        if threads == 1:
            return [self._trained(job) for job in jobs]
        # Jobs that are started by threads belong to the group, and stop with it, that this thread is in.
        call = inheritable_thread_target(self.data.frame.sparkSession)
        with ThreadPool(threads) as pool:
            return pool.map(call(self._trained), jobs)

    def _trained(self, job: Job) -> Training | Exception:
        try:
            scale = self.scales[job.power]
            return Training(job.base.trained(self.data, job.fold, job.costs, job.power, scale))
        except Exception as error:
            if (cause := self.cause(error)) is None:
                raise
            return cause

    def cause(self, error: Exception) -> Exception | None:
        """See `csf.distributed.Engine.cause`."""
        # Whoever cancels Spark's jobs wants the search to end, and not its other trials.
        if _CANCELLED in str(error):
            return None
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            return error
        # Java tells a cause after what it led to, each with a hundred lines of where it was.
        text = " ".join(str(error).rpartition("Caused by: ")[2].partition("\n\tat ")[0].split()).rstrip(".")
        return ValueError(f"Spark: {text}" + (f"; {_INVALID}" if _ROWS.search(text) else ""))

    def scores(self, models: Sequence[Model]) -> Scored:
        """See `csf.distributed.Engine.scores`."""
        self.release()
        rows = reduce(DataFrame.unionAll, [self._held_out(fold, model) for fold, model in enumerate(models)])
        cut = own_cut(models[0], tuned=self.tuned)
        if self._known is not None:
            known = MemoryScores([self._answered(rows, *self._known)], self.n_folds, cut)
            known.method = score_method(models[0])
            return known
        self._scores = SparkScores(rows.drop("key"), self.n_folds, cut, self.sums)
        return self._scores

    def local(self, base: SparkBase, model: Model) -> LocalModel | None:
        """See `csf.distributed.Engine.local`."""
        local = local_model(model)
        return None if local is None else LocalModel(local, score_method(model))

    def _held_out(self, fold: int, model: Model) -> DataFrame:
        """Return the columns to count of the rows of a fold."""
        data = self.data
        rows = data.held_out(fold, self._shares)
        if self.labels.n_alike is None:
            rows, score = scored(model, rows, tuned=self.tuned, exact=data.costs is not None)
            scores = [score.alias("score")]
        else:
            rows, probabilities = class_probabilities(model, rows, self.labels.n_alike)
            scores = [score.alias(f"score{code}") for code, score in enumerate(probabilities)]
        named = [F.col(name).alias(alias) for alias, name in (("key", data.key_name), ("weight", data.weight_name))]
        return rows.select(F.lit(fold).alias("fold"), data.positive.alias("positive"), *named, *scores)

    def _answered(self, rows: DataFrame, known: IntArray, entries: PartScores) -> PartScores:
        """Collect the rows in folds with their scores on the driver."""
        key, *scores = _collected(rows.drop("fold", "positive", "weight"))
        if not np.array_equal(key, known):
            raise ValueError("the rows of the frame changed while it was searched; write it down, and read that")
        return entries._replace(score=scores[0] if self.labels.n_alike is None else np.column_stack(scores))

    def release(self) -> None:
        """Release the scores that are kept in the executors."""
        if self._scores is not None:
            self._scores.release()
        self._scores = None


def _collected(rows: DataFrame) -> list[Array]:
    """Collect columns of rows on the driver, sorted by key and then by the other columns: Spark has no order."""
    try:
        columns = [column.to_numpy() for column in rows.toArrow().columns]
    except ImportError:
        # Without pyarrow, row by row.
        columns = [np.array(column) for column in zip(*rows.collect())]
    order = np.lexsort(columns[::-1])
    return [column[order] for column in columns]
