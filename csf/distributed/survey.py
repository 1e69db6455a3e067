"""The first pass over rows: its results, and what it refuses, in the same words for all engines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from numbers import Number
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from csf._common.typing import Array, Estimator, IntArray, Label, Params
from csf._common.validation import check_labels, check_pos_label
from csf.data.labels import Labels, refuse_weightless
from csf.distributed.engine import Engine, FoldTotals, RowCostData
from csf.distributed.newton import Moments
from csf.metrics.row_costs import stake_scales
from csf.search.fitted import class_attributes

if TYPE_CHECKING:
    from csf.metrics.row_costs import CostTable, RowCosts

# ---------------------------------------------------------------- what is refused


# More labels than anyone has classes, and as many as Spark's trees take.
MOST_CLASSES = 100


class Columns(NamedTuple):
    """Columns of a search as messages name them, and the labels that it takes."""

    label: str = "y"
    weight: str = "sample_weight"
    fold: str = "folds"
    accepted: str = f"labels of at most {MOST_CLASSES} classes, in all rows"
    # How to make such labels.
    way: str = ""
    # The largest number of a fold, where that is known, and whose option it is.
    last_fold: str = ""

    def label_error(self, value: object, where: str = "") -> ValueError:
        """Return the error for a label that is none."""
        way = f"{self.way}drop rows without a label, or give them a class"
        return ValueError(f"{self.label} must hold {self.accepted}, got {value}{where}; {way}")

    def weight_error(self, value: object, where: str = "") -> ValueError:
        """Return the error for a weight that is none."""
        return ValueError(f"{self.weight} must hold finite numbers >= 0, got {value}{where}")

    def fold_error(self, value: object, where: str = "") -> ValueError:
        """Return the error for a fold number that is none."""
        numbers = f"0, ..., {self.last_fold}" if self.last_fold else "0, 1, ..."
        return ValueError(
            f"{self.fold} must hold fold numbers {numbers}, integers, or -1 for rows that are never held out, got "
            f"{value}{where}"
        )


def _kind(label: Label) -> str:
    """Return the kind of a label; only labels of the same kind can be equal."""
    if isinstance(label, str):
        return "text"
    return "number" if isinstance(label, Number | np.bool_) else type(label).__name__


# ---------------------------------------------------------------- results of the pass


class Cell(NamedTuple):
    """Rows of one part, fold and label: how many weigh something, the sum of their weights, and the largest one.

    Rows of weight 0 are in no fold (-1) and only show that there is their label.
    """

    part: int
    fold: int
    label: Label
    rows: int
    weight: float
    largest: float


# What rounding may change of a sum of features.
_ROUNDING = 1e-3


class Mark(NamedTuple):
    """Fingerprint of a part: exact for labels, folds and texts of some rows, approximate for their numbers."""

    labels: int
    features: float

    def differs(self, other: Mark) -> str:
        """Name the difference; empty for none."""
        if self.labels != other.labels:
            return "labels, folds or texts"
        # Not to the bit: where features are computed, workers of another kind round them in another way.
        return "" if isclose(self.features, other.features, rel_tol=_ROUNDING) else "features"


@dataclass(frozen=True, eq=False)
class Survey:
    """Results of the first pass over all rows, or over a part of them.

    ``checksum`` is that of all data, if requested; of data that are read part by part, ``marks`` are the fingerprints
    of the parts, and ``moments`` those of the features of each fold, if the base needs them.
    """

    cells: Sequence[Cell]
    checksum: int = 0
    marks: Mapping[int, Mark] = field(default_factory=dict)
    moments: Mapping[int, Moments] = field(default_factory=dict)

    @classmethod
    def merged(cls, parts: Sequence[Survey]) -> Self:
        """Merge the results of several parts."""
        folds = {fold for part in parts for fold in part.moments}
        return cls(
            [cell for part in parts for cell in part.cells],
            sum(part.checksum for part in parts) % 2**64,
            {number: mark for part in parts for number, mark in part.marks.items()},
            {fold: Moments.merged([part.moments[fold] for part in parts if fold in part.moments]) for fold in folds},
        )

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return 1 + max(cell.fold for cell in self.cells)

    @property
    def largest(self) -> float:
        """Largest weight."""
        return max(cell.largest for cell in self.cells)

    def classes(self, columns: Columns) -> Array:
        """Return all labels, sorted; raise an error where they are not those of classes that can be learnt."""
        kinds = {_kind(cell.label): cell for cell in self.cells}
        if len(kinds) > 1:
            shown = [f"{kind}s in partition {cell.part}, such as {cell.label!r}" for kind, cell in kinds.items()]
            # numpy would convert numbers to texts.
            raise TypeError(
                f"{columns.label} holds {' and '.join(shown)}: labels must be of one kind in all partitions. Convert "
                "them before the search, e.g. y.astype(int); of an array y.map_blocks(lambda part: part.astype(int), "
                "dtype=int)"
            )
        classes = np.unique(np.array([cell.label for cell in self.cells]))
        refuse_weightless(classes[self.count(classes) == 0].tolist(), columns.weight)
        return check_labels(classes, name=columns.label)[1]

    def count(self, labels: Array, *, held_out: bool = False) -> IntArray:
        """Count the rows of each label, all of them or those in folds."""
        cells = [cell for cell in self.cells if cell.fold >= 0 or not held_out]
        return np.array([sum(cell.rows for cell in cells if cell.label == label) for label in labels])

    def fold_totals(self, labels: Labels) -> FoldTotals:
        """Compute the weight of each class and the number of rows of each fold."""
        codes = {label: code for code, label in enumerate(labels.by_code.tolist())}
        weight, rows = np.zeros((self.n_folds + 1, len(codes))), np.zeros(self.n_folds + 1, dtype=np.int64)
        for cell in self.cells:
            weight[cell.fold, codes[cell.label]] += cell.weight
            rows[cell.fold] += cell.rows
        return FoldTotals.of_classes(weight, rows, labels)

    def n_training(self, fold: int | None, n_parts: int) -> list[int]:
        """Count the rows of each part that a fold trains on."""
        counts = [0] * n_parts
        for cell in self.cells:
            counts[cell.part] += cell.rows if cell.fold != fold else 0
        return counts


# ---------------------------------------------------------------- engines that make the pass


class SurveyedEngine(Engine):
    """Engine whose labels, totals and costs of rows come from a first pass over the rows.

    ``survey`` has its results. It is made when something is asked for that it shows: options are checked before, and it
    counts in the time of the search. ``costs`` of rows are those that are known where predictions are made.
    """

    survey: Survey

    def __init__(self, columns: Columns, costs: RowCosts | None, pos_label: Label, *, weighted: bool) -> None:
        self.columns, self.costs, self.pos_label, self.weighted = columns, costs, pos_label, weighted
        # By which weights that are powers of what rows cost are multiplied.
        self.scales: dict[float, float] = {0.0: 1.0}

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.survey.n_folds

    @cached_property
    def labels(self) -> Labels:
        """Classes of the labels."""
        classes = self.survey.classes(self.columns)
        if classes.size > 2 and self.pos_label is None and self.costs is None:
            self.check_classes(classes)
            return Labels(classes, None)
        positive = check_pos_label(classes, self.survey.count(classes), self.pos_label)
        return Labels(classes, classes[classes != positive][0])

    @abstractmethod
    def check_classes(self, classes: Array) -> None:
        """Raise a ValueError where a base cannot be trained on so many classes."""

    def totals(self) -> FoldTotals:
        """See `Engine.totals`."""
        return self.survey.fold_totals(self.labels)

    @property
    def published(self) -> Params:
        """Attributes of a search that describe the rows."""
        heaviest = self.survey.largest if self.weighted else None
        counts = {"class_count_": self.survey.count(self.labels.classes), "max_sample_weight_": heaviest}
        return class_attributes(self.labels) | counts

    # ---------------------------------------------------------------- costs of rows

    @property
    def row_costs(self) -> RowCostData | None:
        """See `csf.distributed.RowCostData`."""
        if self.costs is None:
            return None
        return RowCostData(self.costs, self.gives_log_odds, self._cost_sums, self.entry_costs)

    @abstractmethod
    def gives_log_odds(self, base: Estimator) -> bool:
        """Check whether the scores of a base are log-odds or probabilities."""

    def _cost_sums(self, powers: Sequence[float]) -> Array:
        sums = self.sum_costs(powers)
        self.scales = stake_scales(sums, powers)
        return sums

    @abstractmethod
    def sum_costs(self, powers: Sequence[float]) -> Array:
        """Compute `csf.metrics.row_costs.cost_sums` of all rows."""

    @abstractmethod
    def entry_costs(self) -> CostTable:
        """Return what the rows of `Engine.entries` cost."""
