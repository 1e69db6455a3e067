"""A Spark frame as a search sees it, and what models of pyspark.ml decide by themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LinearSVC
from pyspark.ml.feature import SQLTransformer, VectorSlicer
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, NumericType
from pyspark.storagelevel import StorageLevel

from csf.distributed import FoldTotals

if TYPE_CHECKING:
    from pyspark.ml import Model
    from pyspark.ml.param import Params
    from pyspark.sql import Column, DataFrame

# ---------------------------------------------------------------- sums of weights


# Bits of a digit: sums of digits stay below 2^63 for 10^11 rows.
_BITS = 26
_DIGITS = 3
# Scales beyond are no numbers of a computer any more; what is smaller by so much counts for nothing.
_SMALLEST = -900


@dataclass(frozen=True)
class WeightSums:
    """Weights as three digits of 26 bits below a power of two, which add up as integers."""

    # Floating-point sums depend on the order of the terms, and Spark's order changes from run to run: a search that is
    # resumed would find other numbers than one that went through. What is lost is below the largest weight times 2 to
    # the power of -78 for each row.

    exponent: int

    @classmethod
    def below(cls, largest: float) -> WeightSums:
        """Sums of weights up to a largest one."""
        return cls(max(frexp(largest)[1], _SMALLEST))

    def columns(self, weight: Column) -> list[Column]:
        """Sums of the digits of a column of weights."""
        rest, sums = weight * F.lit(ldexp(1.0, -self.exponent)), []
        for _ in range(_DIGITS):
            rest = rest * F.lit(2.0**_BITS)
            digit = F.floor(rest)
            sums.append(F.sum(digit))
            rest = rest - digit
        return sums

    def total(self, digits: Any) -> float:
        """Sum of weights."""
        whole = 0
        for digit in digits:
            whole = (whole << _BITS) + int(digit)
        return ldexp(float(whole), self.exponent - _BITS * _DIGITS)


# ---------------------------------------------------------------- frames


def named_column(name: str) -> Column:
    """Column of a name, whatever signs are in it."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


@dataclass(frozen=True)
class Surveyed:
    """What a pass over the rows says: their number by fold and class, the largest weight, and a checksum or 0."""

    rows: dict[tuple[int, int], int]
    largest: float
    checksum: int

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return 1 + max(fold for fold, _ in self.rows)


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

    def __post_init__(self) -> None:
        self._check("labelCol", self.label, NumericType, "numbers 0 and 1")
        if self.weight is not None:
            self._check("weightCol", self.weight, NumericType, "numbers >= 0")
        if self.fold is not None:
            self._check("foldCol", self.fold, IntegralType, "integers 0, 1, ..., or -1 for rows that train only")

    def _check(self, parameter: str, name: str, kind: type, accepted: str) -> None:
        types = {field.name: field.dataType for field in self.frame.schema.fields}
        if name not in types:
            raise ValueError(f"{parameter}={name!r} is no column of the frame, which has {', '.join(types)}")
        if not isinstance(types[name], kind):
            raise TypeError(
                f"{parameter}={name!r} must hold {accepted}, got a column of {types[name].simpleString()}; convert it, "
                "e.g. with cast('int') or pyspark.ml.feature.StringIndexer"
            )

    # ---------------------------------------------------------------- columns that are added

    @property
    def fold_name(self) -> str:
        """Column of fold numbers."""
        return f"{self.prefix}__fold"

    @property
    def positive_name(self) -> str:
        """Column that says which rows are positive."""
        return f"{self.prefix}__positive"

    @property
    def key_name(self) -> str:
        """Column of keys, which rows that are held out have: the same for equal rows, whatever model scores them."""
        return f"{self.prefix}__key"

    @property
    def weight_name(self) -> str:
        """Column of weights, those of the user times costs where rows are trained on."""
        return f"{self.prefix}__weight"

    @cached_property
    def coded(self) -> DataFrame:
        """The rows with these columns."""
        weight = F.lit(1.0) if self.weight is None else named_column(self.weight).cast("double")
        return self.frame.withColumns(
            {
                self.key_name: self._hash(self.seed),
                self.fold_name: self._fold_column(),
                self.positive_name: named_column(self.label).cast("double") == F.lit(1.0),
                self.weight_name: weight,
            }
        )

    def _fold_column(self) -> Column:
        if self.fold is not None:
            return named_column(self.fold).cast("int")
        if isinstance(self.n_folds, float):
            held_out = F.pmod(self._hash(self.seed), F.lit(2**52)) < F.lit(self.n_folds * 2**52)
            return F.when(held_out, F.lit(0)).otherwise(F.lit(-1))
        return F.pmod(self._hash(self.seed), F.lit(self.n_folds)).cast("int")

    def _hash(self, seed: int) -> Column:
        """Hash of the content of a row; maps, which have no order, are left out."""
        types = {field.name: field.dataType.simpleString() for field in self.frame.schema.fields}
        columns = [named_column(name) for name, kind in types.items() if "map<" not in kind and "variant" not in kind]
        return F.xxhash64(F.lit(seed), *columns)

    def training_rows(self, fold: int | None, costs: tuple[float, float]) -> DataFrame:
        """What a fold trains on, with costs ``(c_fn, c_fp)`` times the weights; all rows for no fold."""
        rows = self.coded if fold is None else self.coded.where(F.col(self.fold_name) != fold)
        cost = F.when(F.col(self.positive_name), F.lit(costs[0])).otherwise(F.lit(costs[1]))
        # What else was added would be a feature where a stage takes all columns.
        rows = rows.withColumn(self.weight_name, cost * F.col(self.weight_name))
        return rows.drop(self.fold_name, self.positive_name, self.key_name)

    def held_out(self, fold: int | None = None) -> DataFrame:
        """Rows of a fold, or of all folds, that weigh something, with their keys."""
        number = F.col(self.fold_name)
        inside = number >= 0 if fold is None else number == fold
        return self.coded.where(inside & (F.col(self.weight_name) > 0))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the rows in the executors, in memory or on their disks, for some time, where the user does not."""
        own = self.frame.storageLevel == StorageLevel.NONE
        # Each training and each trial's scores would read and hash them once for each fold.
        if own:
            self.coded.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            if own:
                self.coded.unpersist()

    # ---------------------------------------------------------------- what is known of the rows

    def survey(self, *, checksum: bool) -> Surveyed:
        """Check labels, weights and folds, and sum up the rows, in a pass; with ``checksum`` of all they hold."""
        label, weight, fold = named_column(self.label).cast("double"), F.col(self.weight_name), F.col(self.fold_name)
        fine = weight.isNotNull() & ~F.isnan(weight) & (weight >= 0) & (weight < F.lit(float("inf")))
        known = fold.isNotNull() & (fold >= -1)
        if self.n_folds is not None:
            known &= fold < self.n_folds
        wrong = [
            F.max(F.when(~accepted, F.coalesce(value.cast("string"), F.lit("null"))))
            for value, accepted in (
                (named_column(self.label), label.isNotNull() & label.isin(0.0, 1.0)),
                (weight, fine),
                (fold, known),
            )
        ]
        # Two numbers of 24 bits, so that sums over many rows do not overflow.
        bits = self._hash(-1 - self.seed)
        sums = [F.sum(F.shiftrightunsigned(bits, by).bitwiseAND(F.lit(2**24 - 1))) for by in (40, 16)]
        asked: list[Any] = [*wrong, F.max(weight), F.count("*"), *(sums if checksum else ())]
        columns = [column.alias(f"v{k}") for k, column in enumerate(asked)]
        cells = self.coded.groupBy(self.fold_name, self.positive_name).agg(*columns).collect()
        if not cells:
            raise ValueError("the frame has no rows")
        self._refuse(*(max((cell[k] for cell in cells if cell[k] is not None), default=None) for k in (2, 3, 4)))
        rows = {(int(cell[0]), int(cell[1])): int(cell[6]) for cell in cells}
        number = sum(int(cell[7]) + (int(cell[8]) << 64) for cell in cells) if checksum else 0
        return Surveyed(rows, max(float(cell[5]) for cell in cells), number)

    def _refuse(self, label: str | None, weight: str | None, fold: str | None) -> None:
        if label is not None:
            raise ValueError(
                f"labelCol={self.label!r} must hold 1 for the positive class and 0 for the other, got {label}; index "
                "it before the search, e.g. with pyspark.ml.feature.StringIndexer, and drop rows without a label"
            )
        if weight is not None:
            raise ValueError(f"weightCol={self.weight!r} must hold finite numbers >= 0, got {weight}")
        if fold is not None:
            limit = "..." if self.n_folds is None else f"..., {self.n_folds - 1}"
            raise ValueError(
                f"foldCol={self.fold!r} must hold fold numbers 0, {limit} (numFolds), or -1 for rows that are never "
                f"held out, got {fold}"
            )

    def totals(self, found: Surveyed, sums: WeightSums) -> FoldTotals:
        """What each fold weighs: its rows, or the weights in a pass."""
        weight, rows = np.zeros((found.n_folds + 1, 2)), np.zeros(found.n_folds + 1, dtype=np.int64)
        for (fold, positive), count in found.rows.items():
            weight[fold, positive] = count
            rows[fold] += count
        if self.weight is not None:
            keys = [F.col(self.fold_name), F.col(self.positive_name)]
            digits: list[Any] = [each.alias(f"d{k}") for k, each in enumerate(sums.columns(F.col(self.weight_name)))]
            for fold, positive, *totals in self.coded.groupBy(*keys).agg(*digits).collect():
                weight[fold, int(positive)] = sums.total(totals)
        return FoldTotals(weight, rows)


# ---------------------------------------------------------------- Spark's own models


def stages(stage: Any) -> Iterator[Any]:
    """An estimator or model, or all stages of a pipeline, those of inner pipelines too."""
    if isinstance(stage, Pipeline | PipelineModel):
        for inner in stage.getStages() if isinstance(stage, Pipeline) else stage.stages:
            yield from stages(inner)
    else:
        yield stage


def last_stage(stage: Any) -> Any:
    """The classifier: the last stage of a pipeline, or the whole."""
    return list(stages(stage))[-1]


def score_parameter(last: Params) -> str:
    """Parameter that names the column of scores: probabilities, or margins where the threshold is one (LinearSVC)."""
    return "rawPredictionCol" if _by_margin(last) else "probabilityCol"


def scored(model: Model, rows: DataFrame, *, tuned: bool) -> tuple[DataFrame, Column]:
    """Rows with what the model says of them, and the score: the predicted label where no threshold is wanted."""
    last = last_stage(model)
    found = model.transform(rows)
    if not tuned:
        return found, named_column(last.getOrDefault("predictionCol")).cast("double")
    score = vector_to_array(named_column(last.getOrDefault(score_parameter(last))))[1]
    # Probabilities that differ by less than single precision are often equal but for rounding, and no threshold of
    # Spark's models parts them reliably.
    score = score if _by_margin(last) else score.cast("float").cast("double")
    # There are two zeros, of which Spark sorts one before the other.
    return found, F.when(score == 0.0, F.lit(0.0)).otherwise(score)


def own_cut(model: Model, *, tuned: bool) -> float:
    """See `csf.distributed.Scored`."""
    last = last_stage(model)
    if not tuned:
        return 0.5
    if last.hasParam("thresholds") and last.isSet("thresholds"):
        negative, positive = last.getOrDefault("thresholds")
        own = positive / (negative + positive)
    elif last.hasParam("threshold"):
        own = last.getOrDefault("threshold")
    else:
        own = 0.5
    return float(np.nextafter(own, np.inf))


def with_threshold(model: Model, cut: float) -> tuple[Model, float]:
    """The model, changed, and the threshold that makes it find what scores at least ``cut``: Spark asks for more."""
    last = last_stage(model)
    if _by_margin(last):
        largest = sys.float_info.max
        threshold = float(np.clip(np.nextafter(cut, -np.inf), -largest, largest))
        last.set(last.getParam("threshold"), threshold)
        return model, threshold
    threshold = _between(cut)
    if not last.hasParam("thresholds"):
        return _decided(model, threshold), threshold
    # LogisticRegression has both, which must agree, and reads one or the other depending on its family.
    last.set(last.getParam("thresholds"), [1.0 - threshold, threshold])
    if last.hasParam("threshold"):
        last.set(last.getParam("threshold"), threshold)
    return model, threshold


def _decided(model: Model, threshold: float) -> PipelineModel:
    """The model followed by stages of Spark that cut its probability, for models that always cut at a half."""
    last = last_stage(model)
    name, given = last.getOrDefault("predictionCol"), last.getOrDefault("probabilityCol")
    added = [f"{name}_{what}" for what in ("half", "score", "margin")]
    last.set(last.getParam("predictionCol"), added[0])
    # A linear model of one feature, whose sign is known: its margin is a multiple of the probability.
    line = LinearSVC(fitIntercept=False, standardization=False, maxIter=1, featuresCol=added[1], labelCol="label")
    known = [(Vectors.dense([value]), value) for value in (0.0, 1.0)]
    rule = line.fit(SparkSession.active().createDataFrame(known, [added[1], "label"]))
    rule.set(rule.getParam("threshold"), float(rule.coefficients[0]) * threshold)
    rule.set(rule.getParam("predictionCol"), name)
    rule.set(rule.getParam("rawPredictionCol"), added[2])
    slicer = VectorSlicer(inputCol=given, outputCol=added[1], indices=[1])
    kept = SQLTransformer(statement=f"SELECT * EXCEPT ({', '.join(f'`{each}`' for each in added)}) FROM __THIS__")
    before = model.stages if isinstance(model, PipelineModel) else [model]
    return PipelineModel(stages=[*before, slicer, rule, kept])


def _between(cut: float) -> float:
    """Probability that parts the numbers of single precision from a cut on from those below."""
    with np.errstate(over="ignore"):
        single = np.float32(cut)
    if float(single) == cut and np.isfinite(cut):
        cut = 0.5 * cut + 0.5 * float(np.nextafter(single, np.float32(-np.inf)))
    return float(np.clip(cut, 0.0, 1.0))


def _by_margin(last: Params) -> bool:
    """Whether the classifier's threshold is one of raw margins."""
    return last.hasParam("threshold") and not last.hasParam("thresholds")
