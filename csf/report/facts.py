"""What a fitted search has learnt: one record, which its summary, its page, the command line and its JSON show.

A sentence about a search has one place: here, in `csf.report.kinds` for what a kind of problem says of its own, or in
`csf.plots.words` for what plots have besides. Checks and verdicts are in `csf.report.checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from csf._common.sklearn import named_models
from csf._common.typing import Label, Params
from csf.metrics import get_constraint
from csf.plots.words import base_name, metric_name, parameter_names, short, spread
from csf.report.held_out import HeldOut, Judged
from csf.search.config import MODEL
from csf.search.plan import OUT_OF_BAG
from csf.thresholding.certificates import CAVEAT, CROSS_FITTED, GIVEN, HELD_BACK

if TYPE_CHECKING:
    from csf._common.typing import Axes
    from csf.metrics import Constraint
    from csf.plots.drawing import StudyLike
    from csf.search import CostSearch
    from csf.thresholding.capacity import Reviewed
    from csf.thresholding.certificates import Guarantee

# What checks look at: held-out values, trials, samples and their classes, costs that were tried and all that belongs to
# one threshold of two classes, and the threshold.
VALUES, TRIALS, SAMPLES, COSTS, CUT = "values", "trials", "samples", "costs", "cut"
# Part of what is at stake that sums in another order may differ by.
_ROUNDING = 1e-9


class Fact(NamedTuple):
    """A number as text, and what it is: ("0.412", "f1 to expect on new data")."""

    number: str
    what: str

    def __str__(self) -> str:
        return f"{self.number} {self.what}"


class Unit(NamedTuple):
    """How a value is shown: its name behind the number, a factor, the number's format, and a sign."""

    name: str
    factor: float = 1.0
    spec: str = ".3f"
    sign: str = ""

    def shown(self, *values: float) -> str:
        """Format a value, or the ends of an interval; a dash stands for what is not known."""
        numbers = sorted(self.factor * value for value in values)
        if not np.isfinite(numbers).all():
            return "–"
        return " to ".join(f"{number:{self.spec}}" for number in numbers) + self.sign


# Metrics whose values are shown in another unit; those of costs are negative, so that larger ones are better.
_UNITS = {
    "savings": Unit("of the costs saved,", 100.0, ".1f", " %"),
    **dict.fromkeys(("cost_matrix", "cost"), Unit("mean cost", -1.0)),
}


class Estimate(NamedTuple):
    """Estimated value of the winner: its source, which samples it is of, its 90 % interval, and how it was made."""

    name: str
    where: str
    value: float
    interval: tuple[float, float]
    what: str


class SameAnswer(NamedTuple):
    """Best of the answers that are the same for all samples, by its name, and its value: -inf where none competes.

    ``stake`` is what a decision without an error is worth more.
    """

    value: float = -np.inf
    answer: str = ""
    stake: float = 0.0

    def reaches(self, value: float) -> bool:
        """Check whether another value is not larger, but for rounding."""
        return value <= self.value + _ROUNDING * self.stake


# Where no such answer competes.
NO_ANSWER = SameAnswer()


class Kept(NamedTuple):
    """A constraint, its value, and whether it holds."""

    part: Constraint
    value: float
    holds: bool


# A name, a number or a parameter in a table.
Cell: TypeAlias = Label


class TableColumn(NamedTuple):
    """Column of a table: its title, its values, and the format of numbers; empty for texts."""

    title: str
    values: Sequence[Cell]
    spec: str = ""


# Columns of the trials of a search, and of its table of results.
TrialColumns: TypeAlias = tuple[list[TableColumn], list[TableColumn]]


class Table(NamedTuple):
    """A table, whose first column has names."""

    caption: str
    columns: Sequence[TableColumn]

    @property
    def rows(self) -> list[list[tuple[Cell, str]]]:
        """Values of each row with their formats."""
        specs = [column.spec for column in self.columns]
        return [list(zip(row, specs)) for row in zip(*(column.values for column in self.columns))]


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """What a fitted search has learnt, and what it is worth on held-out data where there are some."""

    search: CostSearch
    held: HeldOut | None = None
    # The winner in one sentence; what its rule stands for, its exchange rate or a rate; its numbers by their names.
    winner: str
    stands_for: str = ""
    details: Sequence[tuple[str, str]] = ()
    # What decides or is decided, where it is more than a number.
    tables: Sequence[Table] = ()
    # Function that returns the results that searches of this kind alone have, as plain values by their names in files.
    own_record: Callable[[], Params] = dict
    # Numbers of this kind, the one that matters most first, and whether a summary shows that beside constraints.
    further: Sequence[Fact] = ()
    leads: bool = False
    # What a row saves, compared with the best other answer.
    saved: Fact | None = None
    # Class to detect, and number of samples on the rarer side, of two classes.
    target: str | None = None
    rarest: int | None = None
    # Gain of the class weights over equal ones, and its standard error.
    gain: tuple[float, float] | None = None
    # Best answer to all samples alike, and out-of-fold the one that costs of rows have to be worth more than.
    same_answer: SameAnswer = NO_ANSWER
    without_model: SameAnswer = NO_ANSWER
    # Facts of each label by its name, where each has a search of its own.
    parts: Mapping[str, Facts] = field(default_factory=dict)
    # What reviews cost, after the number.
    review_unit: str = " false positives a row"
    # Function that returns the columns of the table of trials before the parameters and after them.
    trials: Callable[[], TrialColumns] = lambda: ([], [])
    # What checks have something to look at.
    scopes: frozenset[str] = frozenset({VALUES, TRIALS, SAMPLES})
    # Template of the page, and functions that draw, by the name of the figure: the command line's plot comes first.
    template: str
    figures: Mapping[str, Callable[[Axes], object]]

    # ------------------------------------------------------------ what it is worth

    @cached_property
    def metric(self) -> str:
        """Name of the metric that was maximised."""
        return metric_name(self.search)

    @property
    def unit(self) -> Unit:
        """Unit of its values."""
        return _UNITS.get(self.metric, Unit(self.metric))

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Estimated values of the winner, the most reliable first."""
        search, held, rows = self.search, self.held, []
        if held is not None:
            winner, where = held.judged[0], f"on {held.y.shape[0]} held-out samples"
            rows.append(Estimate("held-out", where, winner.value, winner.interval, "samples unseen by fit"))
        # Searches read from older files, and some configurations, know fewer of these.
        corrected = getattr(search, "corrected_score_", np.nan)
        if not np.isnan(corrected):
            what = f"to expect on new data: out-of-fold, without what choosing among {search.n_trials_} trials adds"
            ends = search.score_interval_
            rows.append(Estimate("cross-validated", "to expect on new data", corrected, ends, what))
        what = "on the samples that chose trial and threshold: optimistic"
        return [
            *rows,
            Estimate(
                "out-of-fold", f"{self._where_chosen}, the largest of many", search.best_score_, (np.nan, np.nan), what
            ),
        ]

    @property
    def _where_chosen(self) -> str:
        """Which samples chose the winner."""
        return "out-of-fold" if getattr(self.search, "n_splits_", 1) else "on these samples"

    @property
    def expected(self) -> Estimate:
        """What to expect on new data, or the value on the samples that chose the winner."""
        return next(estimate for estimate in self.estimates if estimate.name != "held-out")

    def worth(self, estimate: Estimate) -> list[Fact]:
        """Return an estimated value and its interval."""
        unit = self.unit
        return [
            Fact(unit.shown(estimate.value), f"{unit.name} {estimate.where}"),
            Fact(unit.shown(*estimate.interval), "90 % interval of it"),
        ]

    def on_one_line(self, estimate: Estimate) -> str:
        """Return an estimated value and its interval in one line."""
        return f"{self.worth(estimate)[0]}, 90 % interval {self.unit.shown(*estimate.interval)}"

    def how_sure(self) -> str:
        """Say how sure the first of the estimates is."""
        search, held = self.search, self.held
        if held is not None:
            return (
                f"The interval allows for the chance in {held.y.shape[0]} samples, not for that of training again on "
                "other samples."
            )
        if not np.isfinite(self.estimates[0].interval).all():
            return (
                "Nothing is known but the samples that chose the winner. Give report() samples that fit has not seen."
            )
        judged = f"Cross-validated on {search.n_splits_} folds"
        if search.n_splits_ < 2:
            judged = f"Judged on the {'samples that one split holds out' if search.n_splits_ else 'given samples'}"
        if getattr(search, "stop_reason_", "").endswith(OUT_OF_BAG):  # a search for each label has one each
            judged = "Judged on out-of-bag scores"
        chosen = "" if search.n_trials_ == 1 else f"; corrected for the choice among {search.n_trials_} trials"
        rarest = ""
        if self.rarest is not None:
            side = "of the rarer class" if len(self.search.classes_) == 2 else "on the rarer side"
            rarest = f", with {self.rarest} samples {side}"
        return (
            f"{judged}{rarest}{chosen}. The interval is for all data of this kind; a small test set varies "
            f"more.{self._doubt}"
        )

    @property
    def _doubt(self) -> str:
        """What the interval of the value does not show."""
        same = self.without_model
        if not same.reaches(self.search.score_interval_[0]):
            return ""
        return (
            f" It does not lie above {same.value:.3g}, the value of the same answer to all rows, “{same.answer}”: a "
            "gain over that is not shown."
        )

    @property
    def is_beaten(self) -> bool:
        """True where no rule saved anything over the same answer to all rows."""
        return self.constraint is None and self.without_model.reaches(self.search.best_score_)

    @property
    def gets(self) -> str:
        """The winner, and what its rule stands for."""
        return f"{self.winner} {self.stands_for}".strip()

    @property
    def record(self) -> Params:
        """The winner as plain values, by their names in files."""
        search = self.search
        return {
            "trial": search.best_index_,
            "params": search.best_params_,
            "out_of_fold": search.best_score_,
            "corrected": search.corrected_score_,
            "score_interval": search.score_interval_,
            "stop_reason": search.stop_reason_,
            "feasible": search.feasible_,
            "stands_for": self.stands_for or None,
            "constraints": [
                {"constraint": str(kept.part), "value": kept.value, "holds": kept.holds} for kept in self.demands
            ],
            **({"guarantee": asdict(search.guarantee_)} if hasattr(search, "guarantee_") else {}),
            **({} if search.review is None else {"review": asdict(search.review_)}),
            **self.own_record(),
        }

    def rival(self, name: str) -> Judged | None:
        """Return what was judged on held-out data by its name; ``None`` where it was not."""
        return next((judged for judged in self.held.judged if judged.name == name), None) if self.held else None

    def unequal(self, rival: Judged) -> str:
        """Explain why a comparison would be unfair: a method without the constraint scores higher; else nothing."""
        assert self.held is not None, "rivals are judged on held-out data"
        winner = self.held.judged[0]
        for promise in self.promises.values():
            if not promise.holds:
                return f"{promise.constraint} could not be shown for the search"
        if (winner.misses > 0.0) != (rival.misses > 0.0):
            return f"the {'search' if winner.misses > 0.0 else 'rival'} misses the constraint on these rows"
        return ""

    @property
    def comparison(self) -> Fact | None:
        """What a row saves, or the difference to the best rival on held-out data."""
        rivals = [] if self.held is None else self.held.judged[1:]
        best = max(rivals, key=lambda judged: judged.value, default=None)
        return self.saved if best is None or self.saved is not None else compared(best)

    @property
    def numbers(self) -> list[Fact]:
        """Numbers of a summary: the value, its interval, and those that matter besides."""
        first = self.comparison or (self.further[0] if self.further and (self.leads or not self.demands) else None)
        besides = filter(None, [first, self.closest_demand])
        return [*self.worth(self.estimates[0]), *besides, *self.reviews]

    @property
    def all_numbers(self) -> list[Fact]:
        """All numbers of the search itself."""
        values = [*self.worth(self.expected), self.worth(self.estimates[-1])[0]]
        values += map(self.demanded, self.demands)
        return [*values, *self.reviews, *([self.saved] if self.saved else []), *self.further]

    # ------------------------------------------------------------ constraints

    @property
    def constraint(self) -> Constraint | None:
        """Constraint that was asked for."""
        return get_constraint(self.search.constraint)

    @cached_property
    def promises(self) -> dict[str, Guarantee]:
        """Test of the constraint, or those of labels by their names."""
        if self.parts:
            return {name: test for name, one in self.parts.items() for test in one.promises.values()}
        test = getattr(self.search, "guarantee_", None)
        return {} if test is None else {"": test}

    @cached_property
    def demands(self) -> list[Kept]:
        """Constraints with their values, on the samples of their test or out-of-fold, and whether they hold."""
        if self.parts:
            named = [(name, kept) for name, one in self.parts.items() for kept in one.demands]
            return [kept._replace(part=replace(kept.part, of=name)) for name, kept in named]
        result, test = self.search.result_, self.promises.get("")
        rates = result.rates if test is None else test.rates
        named = {} if result.constraint is None else result.constraint.named_parts
        known = [(part, rates[name]) for name, part in named.items() if name in rates]
        return [Kept(part, rate, not part.missing(rate) if test is None else test.holds) for part, rate in known]

    @property
    def certificates(self) -> list[str]:
        """What was shown of the constraint."""
        return [
            f"Certificate: {name}: {test}." if name else f"Certificate: {test}." for name, test in self.promises.items()
        ]

    @property
    def keeps_nothing(self) -> bool:
        """True where no decision keeps the constraint, or none could be shown to."""
        return not (getattr(self.search, "feasible_", True) and all(test.holds for test in self.promises.values()))

    @property
    def rows_of_demands(self) -> str:
        """Which rows constrained values are of."""
        rows = {test.rows for test in self.promises.values()}
        named = {HELD_BACK: "on calibration data", GIVEN: "on these scores", CROSS_FITTED: f"out-of-fold ({CAVEAT})"}
        return named.get("".join(rows), self._where_chosen)

    def demanded(self, kept: Kept) -> Fact:
        """Describe a constrained value."""
        verdict = "holds" if kept.holds else "is not certified" if self.promises else "does not hold"
        return Fact(f"{kept.value:.3f}", f"{kept.part.name} {self.rows_of_demands}: {kept.part} {verdict}")

    @property
    def closest_demand(self) -> Fact | None:
        """The constrained value that is closest to its level, or misses it most; ``None`` for none."""
        if not self.demands:
            return None
        closest = min(
            self.demands, key=lambda kept: (kept.value - kept.part.level) * (1 if kept.part.side == ">=" else -1)
        )
        others = f", of {len(self.demands)} the closest to its level" if len(self.demands) > 1 else ""
        number, what = self.demanded(closest)
        return Fact(number, what + others)

    @property
    def reviewed(self) -> list[Reviewed]:
        """Worth of the answers with reviews, for each label where these have them; empty without reviews."""
        if self.search.review is None:
            return []
        worth = self.search.review_
        return worth if isinstance(worth, list) else [worth]

    @property
    def reviews(self) -> list[Fact]:
        """Share of the rows that are reviewed, with what the reviews add and cost; of labels the means."""
        parts, review = self.reviewed, self.search.review
        if not parts or review is None:
            return []
        share, value = (
            float(np.mean(values)) for values in zip(*((part.shares["review"], part.value) for part in parts))
        )
        ends = f" ({spread(parts[0].interval)})" if len(parts) == 1 else ""
        paid = f"; they cost {review.cost * share:.3g}{self.review_unit}" if review.cost else ""
        what = f"{self.metric} {value:.3f}{ends} with the reviews, {value - self.search.corrected_score_:+.3f}"
        return [Fact(f"{100.0 * share:.1f} %", f"of the rows reviewed, out-of-fold: {what}{paid}")]

    @property
    def trial_columns(self) -> list[TableColumn]:
        """Columns of a table of all trials, in their order; those of the kind of problem are around the parameters."""
        if self.parts:
            return []
        before, after = self.trials()
        results, known = self.search.cv_results_, ("param_t", "param_c_fn", "param_c_fp")
        varied = [key for key in results if key.startswith("param_") and key not in known]
        names = parameter_names(key.removeprefix("param_") for key in varied).values()
        several = len({trial.setting for trial in self.search.trials_}) > 1
        params = [TableColumn(name, results[key].tolist()) for name, key in zip(names, varied) if several]
        return [
            *before,
            *params,
            *after,
            *trial_columns(self.search, {"seconds": ("fit_time", ".2f")}),
        ]

    @property
    def models(self) -> list[Table]:
        """What became of each of several models: a table, or none."""
        search, rows = self.search, []
        for name, base in named_models(search.base) or ():
            places = [places for places, model in enumerate(search.cv_results_[f"param_{MODEL}"]) if model == name]
            trials = [search.trials_[place] for place in places]
            values = [trial.score for trial in trials if trial.score is not None]
            reasons = [search.studies_[trial.setting].stop_reason or "" for trial in trials]
            why = next((reason for reason in reasons if reason.startswith(f"{name} was dropped")), "")
            n_folds = max((len(trial.fold_scores) for trial in trials), default=0)
            rows.append((name, base_name(base), len(trials), n_folds, max(values, default=None), why))
        titles = {"model": "", "classifier": "", "trials": "d", "folds": "d", self.metric: ".3f", "dropped": ""}
        columns = [TableColumn(title, values, spec) for (title, spec), values in zip(titles.items(), zip(*rows))]
        return [Table("Models: the best value of each, and why it was dropped", columns)] if rows else []

    @property
    def by_target(self) -> list[Facts]:
        """Facts of each search for one target: those of the labels, or these."""
        return [*self.parts.values()] or [self]

    @property
    def studies(self) -> list[StudyLike]:
        """One study for each setting of the base that was tried; labels have the same ones."""
        search = self.by_target[0].search
        return [search.studies_[setting] for setting in sorted({trial.setting for trial in search.trials_})]

    @property
    def stop_reason(self) -> str:
        """Why the search ended."""
        return "; ".join(dict.fromkeys(filter(None, (one.search.stop_reason_ for one in self.by_target))))

    @property
    def n_trainings(self) -> int:
        """Trainings on folds; models that were dropped have fewer than all folds."""
        return sum(
            len(trial.fold_scores) or self.search.n_splits_ for one in self.by_target for trial in one.search.trials_
        )


def trial_columns(search: CostSearch, fields: Mapping[str, tuple[str, str]]) -> list[TableColumn]:
    """Return columns of a table of trials, by their titles: a field of trials, and the format of its numbers."""
    return [
        TableColumn(title, [getattr(trial, name) for trial in search.trials_], spec)
        for title, (name, spec) in fields.items()
    ]


def compared(rival: Judged) -> Fact:
    """Return the difference to a rival."""
    return Fact(
        f"{rival.difference:+.3f}",
        f"compared with “{short(rival.name, 40)}” ({spread(rival.difference_interval, '+.3f')})",
    )
