"""Constraints by segments: how a search reads them, tests them and reports on them, whatever decides about rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray, Label
from csf.metrics import get_constraint
from csf.metrics.constraints import Constraint, share_of
from csf.metrics.demands import on_positive
from csf.search.certification import confidence_in_each, n_promises
from csf.thresholding.certificates import Decisions
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.row_thresholds import BY
from csf.thresholding.segments import SegmentCurves, Segments, worst_rates

if TYPE_CHECKING:
    from csf._common.typing import Samples
    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.evaluate import HeldOutEntries
    from csf.search.config import SearchConfig

# Levels of 0 and 1 are none that a test can show.
_LEAST = 1e-9


def is_by_segments(config: SearchConfig) -> bool:
    """Check whether the constraint of a search is by segments."""
    constraint = get_constraint(config.constraint)
    return constraint is not None and constraint.segment_column is not None


@dataclass(frozen=True, eq=False)
class SegmentConstraint:
    """Constraint by segments, with the segments of the training rows.

    Parameters
    ----------
    demand : Constraint
        The constraint.
    segments : Segments
        Which rows belong to which segment.
    tests : bool, default=False
        Whether samples are held back for a test.
    """

    demand: Constraint
    segments: Segments
    tests: bool = False

    @classmethod
    def read(cls, config: SearchConfig, labels: Labels, X: Samples, given: Mapping[str, Any], codes: IntArray) -> Self:
        """Read the segments of samples; raise a ValueError for constraints that no decision keeps."""
        constraint = get_constraint(config.constraint)
        assert constraint is not None, "it is by segments"
        demand = on_positive(constraint, labels.classes.tolist(), labels.positive)
        columns = {part.by for part in demand.parts}
        if len(columns) > 1 or (demand.others and any(part.pair_limit is not None for part in demand.parts)):
            raise ValueError(
                f"constraint {demand}: decisions by segment keep one gap or ratio, or levels in each segment of one "
                "column; give the most important one"
            )
        by: Any = demand.by
        segments = Segments.of(by, X, given.get(BY))
        if len(segments.known) < 2:
            raise ValueError(f"{by} has the values {list(segments.known)} alone; a constraint by segments needs two")
        known = cls(demand, segments, config.confidence is not None)
        if config.confidence is not None:
            places = segments.codes(X, given.get(BY))
            confidence = confidence_in_each(config.confidence, n_promises(demand, config.review, labels.answers))
            known._check_numbers(places, codes > 0, 1.0 - confidence, config.held_back)
        return known

    def codes(self, X: Samples, given: Mapping[str, Any]) -> IntArray:
        """Return the place of each row's segment."""
        return self.segments.codes(X, given.get(BY))

    # ------------------------------------------------------------ what can be tuned and tested

    def check(self, is_pos: BoolArray, codes: IntArray, weight: Array | None) -> None:
        """Raise a ValueError where a segment has no row that a constrained rate counts."""
        curves = SegmentCurves.of(is_pos, np.zeros(is_pos.size), codes, len(self.segments.known), weight)
        curves.check(self.demand, self.segments)

    def _check_numbers(self, codes: IntArray, is_pos: BoolArray, error: float, held_back: float) -> None:
        """Raise a ValueError where a test cannot pass, whatever it sees: even rows without a fault are too few."""
        for part in self.demand.parts:
            share = share_of(part.quantity)
            if share is None and part.pair_limit is not None:
                raise ValueError(
                    "confidence= certifies gaps and ratios of rates that are shares of rows, such as recall, and "
                    f"{part.name} is none; leave confidence out"
                )
            if share is None:
                continue
            cells = set(share.ones + share.zeros)
            counted = np.where(is_pos, bool(cells & {"tp", "fn"}), bool(cells & {"fp", "tn"}))
            n_rows = np.bincount(codes, counted, len(self.segments.known))
            # So often are all rows right where the rate is at the level, or differs by the whole gap.
            right = np.clip(share.share(1.0 - part.level if part.side == "<=" else part.level), _LEAST, 1.0 - _LEAST)
            needed, fewest = np.ceil(np.log(error) / np.log(right) / held_back), int(n_rows.argmin())
            if n_rows[fewest] < needed:
                raise ValueError(
                    f"too few rows to certify {part} with confidence {1.0 - error:g}: where {part.by} is "
                    f"{self.segments.known[fewest]!r} there are {n_rows[fewest]:g} that {part.quantity.name} counts, "
                    f"and {needed:g} are needed even if all of them are right. Merge small segments, loosen the level, "
                    "or leave confidence out"
                )

    def check_certificate(self, task: Task) -> None:
        """Raise a ValueError where a gap or a ratio would be certified for rows with weights or groups."""
        pairs = self.tests and self.demand.pair_limit is not None
        if pairs and (task.weight is not None or task.groups is not None):
            raise ValueError(
                f"confidence= certifies {self.demand} for independent rows that count once each; leave out "
                "sample_weight= and groups=, or confidence="
            )

    def codes_held_back(self, task: Task) -> IntArray:
        """Return the places of the segments of rows held back; raise a ValueError where a segment has none."""
        codes = self.codes(task.X, task.fit_params)
        if not np.bincount(codes, minlength=len(self.segments.known)).all():
            raise ValueError(f"a segment of {self.demand.by} has no row held back for confidence=; merge small ones")
        return codes

    @property
    def names(self) -> list[str]:
        """Names of the segments in tests."""
        return [f"{self.demand.by}={name!s}" for name in self.segments.known]

    def views(self, samples: ScoredSamples, decided: Sequence[BoolArray], codes: IntArray) -> list[Decisions]:
        """Split decisions by segment, once for each part of the constraint."""
        return Decisions(samples, decided).by_segment(codes, len(self.segments.known)) * len(self.demand.parts)

    # ------------------------------------------------------------ what is reported

    def table(self, codes: IntArray, store: HeldOutEntries, decided: BoolArray) -> dict[Label, dict[str, float]]:
        """Compute size and rates of each segment, see `Segments.table`; folds that are repeated count rows once."""
        table = self.segments.table(codes, store.truth > 0, decided, store.weight, self.demand)
        return {name: rates | {"weight": rates["weight"] / store.repeats} for name, rates in table.items()}

    def rates(self, codes: IntArray, store: HeldOutEntries, decided: BoolArray) -> dict[str, float]:
        """Compute the constrained values of decisions about held-out entries."""
        return worst_rates(self.demand, self.table(codes, store, decided))

    def rates_on(
        self, X: Samples, given: Mapping[str, Any], is_pos: BoolArray, decided: BoolArray, weight: Array | None
    ) -> dict[str, float]:
        """Compute the constrained values of decisions about samples."""
        return self.segments.rates_on(self.demand, self.codes(X, given), is_pos, decided, weight)

    def warn_of_violation(self, rates: Mapping[str, float]) -> None:
        """Warn where no decisions keep the constraint."""
        shown = ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
        warn(
            f"no decisions keep {self.demand} on held-out data ({shown}): segments that cannot have the closest ones. "
            "Loosen the constraint, or add rows or features"
        )

    def warn_of_nothing(self) -> None:
        """Warn where the constraint is kept by no positive prediction in any segment."""
        warn(
            f"decisions that keep {self.demand} predict no held-out row positive in any segment. Loosen it, or ask for "
            f"a level in place of it, such as 'recall >= 0.5 in each {self.segments.by}'"
        )

    def check_reviews(
        self,
        codes: IntArray,
        is_pos: BoolArray,
        decided: BoolArray,
        reviewed: BoolArray,
        weight: Array | None,
        error: float,
    ) -> None:
        """Warn where final answers with reviews miss the constraint that decisions without them keep."""
        right, wrong = np.where(reviewed, is_pos, decided), np.where(reviewed, ~is_pos, decided)
        # A review is right but for its errors.
        weight = np.ones(reviewed.size) if weight is None else weight
        weight = np.append((1.0 - error) * weight, error * weight)
        twice = np.tile(codes, 2), np.tile(is_pos, 2), np.append(right, wrong)
        rates, parts = self.segments.rates_on(self.demand, *twice, weight), self.demand.named_parts
        if any(part.missing(rates[name]) > _LEAST for name, part in parts.items()):
            shown = ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
            warn(
                f"answers without reviews keep {self.demand} on held-out data; with reviews, which some segments have "
                f"more of, they do not ({shown}). Tighten the constraint, or leave the review out"
            )
