"""What answers are worth on new rows, within limits or with reviews: tuned on parts of the rows, judged on others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.sparse import csr_array

from csf._common.typing import Array, BoolArray, IntArray
from csf.evaluate.assessment import SPREAD, Assessment, n_draws_of
from csf.evaluate.draws import LeftOut, Units, count_distinct, judge_left_out
from csf.evaluate.intervals import DrawnErrors, DrawnSums, n_draws_within
from csf.thresholding.batch import ROUNDING, shared_answers

if TYPE_CHECKING:
    from csf.evaluate.stores import HeldOutEntries
    from csf.metrics.constraints import Review

# Tables of more cells, those of two classes and a review, differ from unit to unit, so that none are merged.
_FEW_CELLS = 6
# Part of the entries that want an answer, on either side of its border, that say who is there.
_BORDER = 0.15

# ---------------------------------------------------------------- answers to all entries


class Border(NamedTuple):
    """Entries at the border of a limited answer.

    Where more entries of new rows want the answer, no more get it: the border moves. ``codes``, (n_entries,), are those
    of the answer, ``limit`` is the largest share that gets it, and ``weight``, (n_entries,), is that of entries at the
    border, with the sum 1.
    """

    codes: IntArray
    limit: float
    weight: Array


class GivenAnswers(NamedTuple):
    """Answers to entries, each to a share of the entry: of equal entries at a limit each gets an answer in part."""

    codes: IntArray
    share: Array
    # Answers to the rest of each entry.
    others: IntArray
    border: Border | None = None
    # Answers as limits count them, where codes tell more apart.
    counted: GivenAnswers | None = None
    # Further answers, and the shares of each entry that get them: several limits may leave three answers or more.
    further: tuple[tuple[IntArray, Array], ...] = ()

    @classmethod
    def whole(cls, codes: IntArray) -> GivenAnswers:
        """Give each entry one answer."""
        return cls(codes, np.ones(codes.size), codes)

    @classmethod
    def in_shares(cls, shares: Array) -> GivenAnswers:
        """Give each entry answers to shares of it, (n_entries, n_answers)."""
        codes = np.argsort(-shares, axis=1, kind="stable")
        shares = np.take_along_axis(shares, codes, axis=1)
        most = int((shares > 0.0).sum(axis=1).max(initial=0))
        further = tuple((codes[:, part], shares[:, part]) for part in range(2, most))
        return cls(codes[:, 0], shares[:, 0], codes[:, 1], further=further)

    def marked(self, mark: Callable[[IntArray], IntArray]) -> GivenAnswers:
        """Tell answers to entries apart that limits count alike."""
        border = None if self.border is None else self.border._replace(codes=mark(self.border.codes))
        further = tuple((mark(codes), share) for codes, share in self.further)
        return GivenAnswers(mark(self.codes), self.share, mark(self.others), border, self, further)

    def share_of(self, answer: int) -> Array:
        """Compute the share of each entry that gets an answer, as limits count it."""
        given = self if self.counted is None else self.counted
        return np.sum([share * (codes == answer) for codes, share in given.parts], axis=0)

    def gets(self, answer: int) -> BoolArray:
        """Mark the entries that get an answer, at least in part."""
        return self.share_of(answer) > 0.0

    @property
    def parts(self) -> tuple[tuple[IntArray, Array], ...]:
        """Answers, and the share of each entry that gets them."""
        if (self.share == 1.0).all():
            return ((self.codes, self.share),)
        rest = 1.0 - self.share - sum(share for _, share in self.further)
        return (self.codes, self.share), (self.others, rest), *self.further


class TunedAnswers:
    """Answers to all entries by a decision that was tuned on some of them."""

    # What answers to entries gain, (n_entries, n_answers): the largest one is given.
    gains: Array
    # Answers without limits.
    codes: IntArray

    @cached_property
    def _margins(self) -> dict[int, tuple[IntArray, Array]]:
        return {}

    def margin(self, answer: int) -> tuple[IntArray, Array]:
        """Return the next best answer to each entry, and what an answer gains over it."""
        if answer not in self._margins:
            others = self.gains.copy()
            others[:, answer] = -np.inf
            self._margins[answer] = others.argmax(axis=1), self.gains[:, answer] - others.max(axis=1)
        return self._margins[answer]

    def border(self, answer: int, given: GivenAnswers) -> float:
        """Return the smallest gain over the next best answer with which an answer is given."""
        return float(self.margin(answer)[1][given.gets(answer)].min(initial=np.inf))

    def acted(self, answer: int, given: GivenAnswers, weight: Array) -> float:
        """Compute the share of the weight of all entries that gets an answer."""
        return float(weight @ given.share_of(answer) / weight.sum())

    def within(self, limits: Mapping[int, float], weight: Array) -> GivenAnswers:
        """Answer where some answers go to no more than a share of the weight of all entries."""
        if not limits:
            return GivenAnswers.whole(self.codes)
        total = weight.sum()
        if len(limits) != 1:
            numbers = {answer: share * total for answer, share in limits.items()}
            return GivenAnswers.in_shares(shared_answers(self.gains, numbers, weight))
        ((answer, limit),) = limits.items()
        others, margin = self.margin(answer)
        share, acts = np.ones(margin.size), np.flatnonzero(self.codes == answer)
        share[acts] = _share_kept(margin[acts], weight[acts], limit * total)
        others = np.where(self.codes == answer, others, self.codes)
        if (share == 1.0).all():
            return GivenAnswers(self.codes, share, others)
        near = acts[_near_border(margin[acts], weight[acts], limit * total)]
        at_border = np.zeros(margin.size)
        at_border[near] = weight[near] / weight[near].sum()
        return GivenAnswers(self.codes, share, others, Border(np.full(margin.size, answer), limit, at_border))


def _share_kept(rank: Array, weight: Array, limit: float) -> Array:
    """Compute the share of each entry that is kept where the largest ranks are, and equal ones alike."""
    order = np.argsort(-rank, kind="stable")
    ends = np.append(np.diff(rank[order]) != 0.0, True)[: order.size]
    last = np.flatnonzero(ends)
    summed = np.cumsum(weight[order])[last]
    sizes = np.diff(summed, prepend=0.0)
    free = limit - (summed - sizes)
    shares = np.clip(np.divide(free, sizes, out=np.ones(sizes.size), where=sizes > 0.0), 0.0, 1.0)
    # What rounding leaves of no part, or of the whole.
    shares = np.where(shares <= ROUNDING, 0.0, np.where(shares >= 1.0 - ROUNDING, 1.0, shares))
    kept = np.empty(rank.size)
    kept[order] = np.repeat(shares, np.diff(last, prepend=-1))
    return kept


def _near_border(rank: Array, weight: Array, limit: float) -> BoolArray:
    """Mark the entries of ranks around the border of those that are kept, a part of the weight on either side."""
    order = np.argsort(-rank, kind="stable")
    summed = np.cumsum(weight[order])
    ends = limit + _BORDER * summed[-1] * np.array([-1.0, 1.0])
    first, last = np.searchsorted(summed, ends * (1.0 + ROUNDING)).clip(0, rank.size - 1)
    return (rank <= rank[order[first]]) & (rank >= rank[order[last]]) & (weight > 0.0)


# ---------------------------------------------------------------- what answers add up to


class AnswerTerms(ABC):
    """What answers to entries add up to, and what such sums are worth; a further answer stands for a review."""

    entries: Units | HeldOutEntries
    truth: IntArray
    n_classes: int
    n_answers: int
    # Size of a difference that matters.
    unit: float

    @cached_property
    def weight(self) -> Array:
        """Weight of each entry."""
        return self.entries.weights_in(self.entries.copies)

    def table(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum the weights of entries by true class and answer, reviews last."""
        shape = self.n_classes, self.n_answers + 1
        sums = np.zeros(shape[0] * shape[1])
        for codes, share in answers.parts:
            sums += np.bincount(self.truth * shape[1] + codes, weight * share, sums.size)
        return sums.reshape(shape)

    @abstractmethod
    def sums(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum what answers to entries of these weights add, of shape (n_sums,)."""

    @abstractmethod
    def value(self, sums: Array) -> Array:
        """Compute the value of sums of shape (..., n_sums)."""

    @abstractmethod
    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of what an answer can gain that is gained."""

    @abstractmethod
    def drawn(self, answers: GivenAnswers, seed: int) -> DrawnErrors:
        """Draw the errors and the bias of the value of answers to all entries."""

    def assessed(self, corrected: float, attained: float, drawn: DrawnErrors, assessment: Assessment) -> Assessment:
        """Return an assessment of answers, by their value on rows that did not tune them and on all rows."""
        value = float(np.clip(corrected, *assessment.value_range))
        return replace(assessment, corrected_score=value, errors=assessment.spread * drawn.errors)


class TableTerms(AnswerTerms):
    """Terms of a metric of the confusion matrix: ``of_tables`` maps matrices (n, n_classes, n_answers) to values.

    ``recall`` maps them to the recall of the last class, where labels are not the truth. There may be answers besides
    the classes, which no reviewer gives.
    """

    def __init__(
        self,
        entries: Units | HeldOutEntries,
        n_classes: int,
        of_tables: Callable[[Array], Array],
        *,
        unit: float = 1.0,
        error: float = 0.0,
        recall: Callable[[Array], Array] | None = None,
        n_answers: int | None = None,
    ) -> None:
        self.entries, self.n_classes, self.of_tables, self.error = entries, n_classes, of_tables, error
        self.n_answers = n_classes if n_answers is None else n_answers
        self.truth, self.unit, self.recall = entries.truth.astype(np.int64), unit, recall

    def sums(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum weights by true class and answer."""
        return self.table(answers, weight).ravel()

    def value(self, sums: Array) -> Array:
        """Compute the metric; reviewed rows are right, but for the share of reviews that are not."""
        final = self.final(sums)
        values = np.asarray(self.of_tables(final / final.sum(axis=(1, 2), keepdims=True)))
        return values.reshape(np.shape(sums)[:-1])

    def final(self, sums: Array) -> Array:
        """Convert sums to the confusion matrices of final answers, (n, n_classes, n_answers)."""
        n = self.n_answers
        tables = np.reshape(sums, (-1, self.n_classes, np.shape(sums)[-1] // self.n_classes))
        # Draws in which a border moves may leave less than nothing.
        tables = np.maximum(tables, 0.0)
        if tables.shape[2] == n:
            return tables
        reviewed = np.pad(reviewed_answers(self.n_classes, self.error), ((0, 0), (0, n - self.n_classes)))
        return tables[:, :, :n] + tables[:, :, n:] * reviewed

    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of the entries of a class that get it."""
        if self.recall is not None:
            return float(self.recall(self.final(sums))[0])
        table = self.final(sums)[0]
        return float(table[answer, answer] / table[answer].sum())

    def drawn(self, answers: GivenAnswers, seed: int) -> DrawnErrors:
        """Draw errors as `csf.evaluate.choices.JudgedDecisions` does."""
        units, n_classes, n_answers = self.entries, self.n_classes, self.n_answers
        n_given = n_answers + any((codes == n_answers).any() for codes, _ in answers.parts)
        n_cells, weight = n_classes * n_given, units.weights_in(np.ones_like(units.copies))
        tables, copies = np.zeros((units.copies.size, n_cells)), units.copies
        for codes, share in answers.parts:
            place = units.samples, self.truth * n_given + codes
            tables += csr_array((weight * share, place), tables.shape).toarray()
        if n_cells <= _FEW_CELLS:
            at, copies = count_distinct(list(tables.T), copies)
            tables = tables[at]
        # What was not met yet can be met: a sample of each class, which may get any answer.
        outcomes, besides = np.eye(n_cells), np.full(n_cells, 1.0 / n_given)
        cells = tables.reshape(-1, n_classes, n_given)
        if (border := answers.border) is not None:
            entry, gets = self.truth * n_given, np.tile(np.isin(np.arange(n_given), border.codes), n_classes)
            moved = np.bincount(entry + border.codes, border.weight, n_cells)
            moved -= np.bincount(entry + answers.others, border.weight, n_cells)
            tables, outcomes = (
                each + np.outer(border.limit * each.sum(axis=1) - each @ gets, moved) for each in (tables, outcomes)
            )
        drawn = DrawnSums.of_tables(self.value, tables, copies, cells, csr_array(outcomes), besides)
        return drawn.bootstrap(n_draws_within(n_draws_of(units.copies), n_cells), seed)


def reviewed_answers(n_classes: int, error: float) -> Array:
    """Return the shares of final answers to reviewed rows by their true class: wrong ones are spread evenly."""
    shares = np.full((n_classes, n_classes), error / (n_classes - 1))
    np.fill_diagonal(shares, 1.0 - error)
    return shares


# ---------------------------------------------------------------- the evaluation


class LimitedAnswers(Protocol):
    """Answers that can be limited."""

    def within(self, limits: Mapping[int, float], weight: Array) -> GivenAnswers:
        """Answer where some answers go to no more than a share of the weight of all entries."""
        ...


class RetunedAnswers(LimitedAnswers, Protocol):
    """Answers that reviews can be tuned for."""

    def reviewed(self, review: Review, weight: Array) -> IntArray:
        """Answer with reviews, tuned on entries of these weights; the number of answers stands for a review."""
        ...


A = TypeVar("A", bound=LimitedAnswers, covariant=True)


class Candidates(Protocol[A]):
    """Choice of a decision that can be made again on parts of the entries."""

    @property
    def units(self) -> Units:
        """Units that are drawn."""
        ...

    def weights_in(self, counts: Array) -> Array:
        """Compute the weight of each entry where each unit occurs ``counts`` times."""
        ...

    def on_parts(self, counts: Array, first: int) -> Iterable[A]:
        """Choose and tune again on parts that hold each unit ``counts`` times; ``first`` is the number of the first."""
        ...


class LimitedValue(NamedTuple):
    """Assessment of answers within limits, and what share of the possible gain each limited answer captures."""

    assessment: Assessment
    captured: dict[int, float]


# What a choice on two thirds of the samples gains by chance is so much of what one on all of them does.
_KEPT_OPTIMISM = 2.0 / 3.0


@dataclass(frozen=True, eq=False)
class Evaluation(Generic[A]):
    """Evaluation of the answers of a winner, by choices made again on parts of its held-out entries.

    Parameters
    ----------
    answers : TunedAnswers
        Answers of the winner.
    terms : AnswerTerms
        What they add up to.
    candidates : Candidates
        What is chosen and tuned again on parts.
    part_terms : AnswerTerms
        What answers to the entries of the candidates add up to.
    random_state : int
        Seed.
    """

    answers: TunedAnswers
    terms: AnswerTerms
    candidates: Candidates[A]
    part_terms: AnswerTerms
    random_state: int

    def within(self, limits: Sequence[Mapping[int, float]], assessment: Assessment) -> list[LimitedValue]:
        """Assess answers of which some go to no more than a share of the rows, for each of several such limits.

        A limit is one on all entries, so that where it decides nothing is chosen.
        """
        # No limit comes last, where it decides how many partitions there are, as for the corrected score.
        cases, terms, every = [*limits, {}], self.part_terms, self.part_terms.weight

        def judge(counts: Array, first: int) -> Array:
            parts = zip(self.candidates.on_parts(counts, first), counts.T)
            rest = [(tuned, every - self.candidates.weights_in(held)) for tuned, held in parts]
            return np.array(
                [[terms.sums(tuned.within(case, every), weight) for case in cases] for tuned, weight in rest]
            )

        sums = self._left_out(judge, lambda sums: float(terms.value(sums[-1]))).sums.sum(axis=(0, 1))
        return [self._limited(case, outside, assessment) for case, outside in zip(limits, sums)]

    def _limited(self, limits: Mapping[int, float], outside: Array, assessment: Assessment) -> LimitedValue:
        terms, answers = self.terms, self.answers.within(limits, self.terms.weight)
        attained, drawn = self.value(answers), terms.drawn(answers, self.random_state)
        worth = terms.assessed(float(self.part_terms.value(outside)), attained, drawn, assessment)
        return LimitedValue(worth, {answer: self.part_terms.captured(outside, answer) for answer in limits})

    def value(self, answers: GivenAnswers) -> float:
        """Compute the value of answers to all entries."""
        return float(self.terms.value(self.terms.sums(answers, self.terms.weight)))

    def reviewed(
        self: Evaluation[RetunedAnswers], review: Review, codes: IntArray, assessment: Assessment
    ) -> Assessment:
        """Assess answers with reviews to all entries, which were tuned on these.

        The gain of reviews is corrected for their choice: the same answers, tuned on parts, are judged on these parts
        and on the rest. Others would review another share of the rows.
        """
        terms, every = self.part_terms, self.part_terms.weight

        def judge(counts: Array, first: int) -> Array:
            parts = []
            for tuned, held in zip(self.candidates.on_parts(counts, first), counts.T):
                inside = self.candidates.weights_in(held)
                both = [GivenAnswers.whole(tuned.reviewed(review, inside)), tuned.within({}, inside)]
                parts.append([[terms.sums(each, weight) for each in both] for weight in (inside, every - inside)])
            return np.array(parts)

        def optimism(sums: Array) -> float:
            (inside, plain_inside), (outside, plain_outside) = terms.value(sums)
            return float(inside - plain_inside - outside + plain_outside)

        with_reviews, plain = GivenAnswers.whole(codes), self.answers.within({}, self.terms.weight)
        by_choice = self.part_terms.unit * self._left_out(judge, optimism).corrected_score
        gained = self.value(with_reviews) - self.value(plain) - _KEPT_OPTIMISM * by_choice
        value = float(np.clip(assessment.corrected_score + gained, *assessment.value_range))
        # Reviews are chosen on these samples, also where the model was fitted to others.
        errors = SPREAD * self.terms.drawn(with_reviews, self.random_state).errors
        return replace(assessment, corrected_score=value, errors=errors)

    def _left_out(self, judge: Callable[[Array, int], Array], value: Callable[[Array], float]) -> LeftOut:
        unit = self.part_terms.unit
        return judge_left_out(self.candidates.units, judge, lambda sums: value(sums) / unit, self.random_state)
