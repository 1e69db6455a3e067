"""Two classes, or several beside a null class: what searches by class costs and by costs of rows share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, Params
from csf._common.validation import check_class_weights, check_fraction
from csf.data.responses import DECISION_FIRST, lost_samples, respond
from csf.metrics import get_constraint
from csf.metrics.constraints import ANSWERS
from csf.metrics.demands import on_positive
from csf.search.problems.base import FittedBase, Problem
from csf.search.problems.results import AnsweredResult
from csf.search.training import FoldResult
from csf.thresholding.alerts import AlertLimit
from csf.thresholding.batch import limit_of_positives
from csf.thresholding.capacity import LabelledScores, answer_codes
from csf.thresholding.certificates import Decisions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf.data.folds import Task
    from csf.metrics.constraints import Constraint, Review
    from csf.metrics.profile import ErrorProfile
    from csf.search.config import SearchConfig
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.capacity import ReviewBands
    from csf.thresholding.evaluation import TunedAnswers
    from csf.thresholding.exact_tests import ScoredSamples
    from csf.thresholding.rule import AllowedAnswers, ThresholdRule


class TwoClasses(Problem):
    """Problem of two classes, or of several with a null class."""

    # Methods of fitted bases that give scores, the first one that a base has.
    methods: ClassVar[Sequence[str]] = DECISION_FIRST

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights and return them."""
        return check_class_weights(sample_weight, codes > 0)

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint; one on either of two classes becomes one on the positive class."""
        known = get_constraint(constraint)
        if known is None or all(part.of is None for part in known.parts):
            return known
        known.require_all_rows()
        names = self.labels.classes.tolist()
        if len(names) > 2:
            raise ValueError(
                f"constraint {known}: beside null_class={self.labels.null!r} constraints are on all other classes "
                "together; leave the brackets out, or leave null_class out to constrain single classes"
            )
        return on_positive(known, names, self.labels.positive)

    @abstractmethod
    def rule_by(
        self, result: Any, estimator: Estimator, known: Array, names: Array, method: str | None = None
    ) -> ThresholdRule:
        """Build the rule of a fitted estimator whose scores are those of a method; ``None`` for its first one."""

    def rule_of(self, result: Any, estimator: Estimator, method: str | None = None) -> DecisionRule:
        """Build the rule of a winner that is a fitted estimator."""
        return self.rule_by(result, estimator, *self.names_in(estimator), method)

    def check_fitted(self, config: SearchConfig, base: FittedBase) -> None:
        """Raise a ValueError where a fitted base knows more than two classes, and none is the null class."""
        super().check_fitted(config, base)
        classes = self.labels.classes.tolist()
        if config.null_class is None and base.names.size > len(classes):
            raise ValueError(
                f"the fitted base knows the classes {base.names.tolist()}, and y has {len(classes)} of them, {classes}"
                ": answers of another class would be neither. Give rows of all classes, or name the class that means "
                "nothing to find by null_class="
            )

    def fitted_result(self, config: SearchConfig, base: FittedBase, task: Task) -> FoldResult:
        """Predict all samples by a fitted base."""
        null, truth = task.user_labels.null, task.user_labels.decode(task.codes)
        null, truth = (0, task.codes) if base.coded else (null, truth)
        answer = respond(base.base, task.X, null, tune=config.tunes, methods=self.methods, labels=self.labels)
        lost, gaps = lost_samples(truth, answer.found, null), answer.class_gaps
        return FoldResult(decided=answer.decided, score=answer.score, method=answer.method, lost=lost, class_gaps=gaps)

    def fitted_rule(self, outcome: Any, base: FittedBase, result: FoldResult) -> ThresholdRule:
        """Build the rule of a fitted base."""
        # A base's own decision reads no score.
        method = None if result.score is None else result.method
        return self.rule_by(outcome, base.base, base.known, base.names, method)

    def names_in(self, estimator: Estimator) -> tuple[Array, Array]:
        """Return the classes that a trained base knows, and the user's names of them."""
        learnt = self.labels.learnt_by(estimator)
        return learnt.known, self.labels.decode(learnt.codes)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoClassResult(AnsweredResult):
    """Result whose answers are the positive class or not."""

    @property
    @abstractmethod
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out samples."""

    @property
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names; by segment gaps, ratios or the worst ones."""
        if self.segmented is not None:
            return self.segmented.rates(self.held_out_segments, self.store, self.held_out_decisions)
        constraint = self.constraint
        parts = {} if constraint is None else constraint.named_parts
        return {name: float(part.rate.of(self.errors)) for name, part in parts.items()}

    @abstractmethod
    def bands(self, review: Review) -> ReviewBands:
        """Compute the bands of three answers, before limits on wrong ones."""

    @abstractmethod
    def allowed_answers(self, review: Review, extra_cost: float) -> AllowedAnswers:
        """Describe the held-out entries for three answers."""

    def reviews(self, review: Review, names: Sequence[Label]) -> Any:
        """Tune the rule of three answers on the held-out entries; of two labels the positive one comes last."""
        bands = self._named_bands(review, names)
        bands = bands.limited(LabelledScores.of(self, bands))
        if self.segmented is not None and self.feasible:
            reviewed = bands.decide(self.allowed_answers(bands.review, bands.extra_cost)) == ANSWERS[1]
            rows = self.held_out_segments, self.store.truth > 0, self.held_out_decisions, reviewed
            self.segmented.check_reviews(*rows, self.store.weight, bands.review.error)
        return bands

    def warn_of_segments(self) -> None:
        """Warn where decisions do not keep a constraint by segments, or keep it by no positive prediction."""
        assert self.segmented is not None, "asked for where there is one"
        if not self.feasible:
            self.segmented.warn_of_violation(self.rates)
        elif self.limit_cost > 0.0 and not self.held_out_decisions.any():
            self.segmented.warn_of_nothing()

    def tested_reviews(self, review: Review, rule: Any, calibration: Task, confidence: float) -> Any:
        """Tune the rule of three answers, and test its limits on wrong ones on samples held back."""
        bands, rule = self._named_bands(review, calibration.user_labels.answers), rule.for_rows(calibration.fit_params)
        rows = rule.allowed_answers(calibration.X, bands.review, bands.extra_cost)
        truth, lost = calibration.user_labels.decode(calibration.codes), None
        if rows.named is not None:
            lost = lost_samples(truth, rows.named, rule.null)
        weight, groups = calibration.weight, calibration.groups
        tested = LabelledScores(rows, calibration.codes > 0, weight, groups, lost=lost)
        return bands.limited(LabelledScores.of(self, bands), tested, confidence)

    def _named_bands(self, review: Review, names: Sequence[Label]) -> ReviewBands:
        """Compute the bands of three answers with the labels that they stand for."""
        limits = {ANSWERS[::2][place]: limit for place, limit in review.limits_on(names).items()}
        return replace(self.bands(replace(review, wrong=limits or None)), names=names)

    def review_codes(self, bands: Any, answers: TunedAnswers) -> IntArray:
        """Return the answers with reviews to the entries of an evaluation; the number of answers is a review."""
        return answer_codes(bands.decide(self.allowed_answers(bands.review, bands.extra_cost)))

    @property
    @abstractmethod
    def held_out_decisions(self) -> BoolArray:
        """Decisions about the held-out entries."""

    @property
    @abstractmethod
    def held_out_segments(self) -> IntArray:
        """Places of the segments of the held-out entries."""

    @property
    @abstractmethod
    def limit_cost(self) -> float:
        """What a constraint by segments costs on the held-out entries."""

    @property
    @abstractmethod
    def by_segment(self) -> Sequence[Params]:
        """What the decision has for each segment, if there are some."""

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        known = super().published()
        if self.segmented is None:
            return known
        rates = self.segmented.table(self.held_out_segments, self.store, self.held_out_decisions)
        table = {name: beside | row for (name, row), beside in zip(rates.items(), self.by_segment, strict=True)}
        return known | {"segments_": table, "limit_cost_": self.limit_cost}

    @property
    def view_names(self) -> Sequence[str]:
        """Names of the views of each part of the constraint: segments."""
        return () if self.segmented is None else self.segmented.names

    def views(
        self, truth: Array, decided: Sequence[Array], samples: ScoredSamples, held_back: Task | None = None
    ) -> list[Decisions]:
        """Read decisions as each part of the constraint does: all of them alike, or of each segment."""
        assert self.constraint is not None, "asked for where there is one"
        samples = replace(samples, is_pos=truth > 0)
        if self.segmented is None:
            return [Decisions(samples, decided)] * len(self.constraint.parts)
        codes = self.held_out_segments if held_back is None else self.segmented.codes_held_back(held_back)
        return self.segmented.views(samples, decided, codes)

    @property
    def lost(self) -> BoolArray | None:
        """Held-out entries that are taken for a wrong class, of several beside a null class."""
        return None

    @abstractmethod
    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break the constraint."""

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read a limit on wrong alerts; ``names`` has the positive class last."""
        self.check_limits()
        share = limit_of_positives(wrong_at_most, names, "wrong_at_most", example=0.2)
        return {1: AlertLimit(self.wrong_alerts(1, bands), check_fraction(share, "wrong_at_most"))}

    def capacity_limits(self, at_most: object, names: list[Label]) -> dict[int, float]:
        """Read a share of the rows; ``names`` has the positive class last."""
        return {1: check_fraction(limit_of_positives(at_most, names), "at_most")}
