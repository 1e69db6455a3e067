"""Options of a search, and the defaults that depend on the data and the base."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import partial
from numbers import Real
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid, RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier

from csf._common.messages import did_you_mean, warn
from csf._common.sklearn import (
    check_options,
    clone,
    last_step,
    named_models,
    one_of,
    option,
    routing_enabled,
    with_parameters,
)
from csf._common.typing import Array, Estimator, Folding, Label, Params, PathLike, RandomState_
from csf._common.validation import (
    check_choice,
    check_count,
    check_fraction,
    check_grid,
    check_n_jobs,
    check_number,
    check_path,
    check_seed,
)
from csf.data.costs import NORMALIZATIONS, WEIGHTINGS
from csf.data.responses import method_once_fitted
from csf.evaluate.choices import Chooser, Margins, ModelMargin
from csf.metrics.constraints import Review, get_constraint
from csf.metrics.registry import aim, truth_of
from csf.search.supports import INCOMPLETE, OWN_DECISIONS
from csf.strategies import Ladder, Strategy, get_strategy
from csf.strategies.named import OnlyEqualCosts
from csf.thresholding.exact_tests import check_rates
from csf.thresholding.row_thresholds import RowThresholds
from csf.trainers import ENGINES
from csf.trainers.boosters import is_rounds, rounds_of, variants_of
from csf.trainers.linear import linear_kind

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint
    from csf.metrics.registry import MetricLike
    from csf.search.study import Bound
    from csf.strategies.base import StrategyLike

# ---------------------------------------------------------------- defaults


WORDS = AUTO, WIDE = "auto", "wide"

# Multiples of the base's own C. It comes first: a search that has to stop early has tried it, and it wins ties.
MULTIPLES = [4.0**power for power in (0, 1, 2, 3, -1, -2, -3)]
# Those that a race goes on to where the grid ends in its best one.
BEYOND = [4.0**power for power in (4, 5, -4, -5)]
# Those where several classes are alike: three powers of the shares take the place of a ladder each.
CLASS_MULTIPLES = [1.0, 16.0, 1 / 16]
# Shares of a booster's own rounds; those of fewer are read off the trainings of its own.
ROUNDS = [1.0, 0.5, 0.25]
# Folds, and the rarest class below which they are repeated.
_FOLDS, _FEW = 5, 500
# More samples than this are trained on once in each fold, where trainings are not cheap.
MANY = 20_000

# Parameters to search, see `settings_of`.
Grid: TypeAlias = 'Mapping[str, Any] | Sequence[Mapping[str, Any]] | Literal["auto", "wide"] | None'


class SearchEffort(NamedTuple):
    """Default effort of a search for a kind of base."""

    ladder_size: int  # steps of the ladder of costs
    margin: float  # see `Margins`
    repeats: int  # of the folds, where a class has few samples
    cheap: bool = False  # whether folds are repeated however many samples there are
    base_setting: int | None = None  # the setting over which others have to gain as costs have to over equal ones
    folds: int = _FOLDS  # of each repeat, where there are several
    only_equal: str = ""  # why costs cannot differ
    enough: float = 1.0  # share of the held-out samples that a threshold usually takes


# Trainings start from earlier solutions. Costs hardly turn what flexible models learn, SLOW; where rounds of boosters
# are searched, costs are left alone, and twice four folds find a threshold as good as twice five do. Where nobody asks
# for more, PLAIN, they are as good as 45 trainings within what sets of data tell, and stay below one and a half times
# the price of a tuned threshold.
FAST = SearchEffort(Ladder().size, Margins.FAST, 3, cheap=True)
SLOW = SearchEffort(3, Margins.SLOW, 3)
BY_ROUNDS = SearchEffort(1, Margins.ROUNDS, 2, base_setting=0, folds=4)
BY_VARIANTS = BY_ROUNDS._replace(folds=_FOLDS)
PLAIN = SearchEffort(1, Margins.SLOW, 2, folds=4)
# What is predicted is the price of bases that keep their samples: in four folds it is compared with fewer of these, and
# no more are held out than a threshold needs.
BY_PREDICTION = {"repeats": 1, "folds": 4, "enough": 0.7}


def _solved(base: Estimator) -> tuple[str, Estimator] | None:
    """Find the linear model inside a base, with the prefix of its parameters, if the engine trains that model."""
    prefix, last = last_step(base)
    if type(last) is OneVsRestClassifier:
        prefix, last = f"{prefix}estimator__", last.estimator
    return None if linear_kind(last) is None else (prefix, last)


def has_fast_solver(base: Estimator, engine: str = "auto") -> bool:
    """Check whether trainings of a base start from earlier solutions, so that many of them take little time.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    engine : {"auto", "generic"}, default="auto"
        See `csf.trainers.make_trainers`.

    Returns
    -------
    bool
        As far as the base alone shows.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.svm import LinearSVC
    >>> has_fast_solver(LinearSVC()), has_fast_solver(RandomForestClassifier())
    (True, False)
    """
    return engine == AUTO and not routing_enabled() and _solved(base) is not None


def settings_of(
    param_grid: Any,
    base: Estimator,
    engine: str = "auto",
    *,
    multiples: Sequence[float] = MULTIPLES,
    n_samples: int | None = None,
) -> list[Params]:
    """List the settings of a base's parameters that a search tries.

    Parameters
    ----------
    param_grid : dict, list of dict, "auto", "wide" or None
        ``"auto"`` means C times 4^-3, ..., 4^3 for the linear models that have a fast solver, whatever the engine,
        fewer rounds of boosters where they can be read off the trainings of all (`csf.trainers.boosters`), and nothing
        for others. ``"wide"`` adds settings of boosters (`csf.trainers.boosters.variants_of`) with their rounds.
    base : estimator
        Classifier or pipeline.
    engine : {"auto", "generic"}, default="auto"
        See `csf.trainers.make_trainers`.
    multiples : sequence of float, default=MULTIPLES
        Multiples of the base's own C.
    n_samples : int, default=None
        Samples, where fewer rounds of boosters can be read off trainings on them.

    Returns
    -------
    list of dict
        At least one setting; of the automatic ones the base's own is the first.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> [setting["C"] for setting in settings_of("auto", LinearSVC(C=2.0))]
    [2.0, 8.0, 32.0, 128.0, 0.5, 0.125, 0.03125]
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> settings_of("auto", GradientBoostingClassifier(), n_samples=500)
    [{'n_estimators': 100}, {'n_estimators': 50}, {'n_estimators': 25}]
    """
    if isinstance(param_grid, str):
        linear = _solved(base)
        if linear is not None:
            return [{f"{linear[0]}C": linear[1].C * multiple} for multiple in multiples]
        return _of_booster(base, None if engine != AUTO else n_samples, is_wide=param_grid == WIDE)
    return list(ParameterGrid(param_grid)) if param_grid is not None else [{}]


class RaceStep(NamedTuple):
    """Setting that has to gain before another one is tried (``None``: none), or to lead (``outside`` the grid).

    ``model`` is the number of the model, where there are several, and ``slow`` is true where its trainings take long.
    """

    before: int | None = None
    outside: bool = False
    model: int = 0
    slow: bool = False


def steps_of(param_grid: Grid, settings: Sequence[Params], effort: SearchEffort = FAST) -> list[RaceStep]:
    """List the conditions for trying each of the settings of `settings_of`.

    Parameters
    ----------
    param_grid : dict, list of dict, "auto" or None
        What the search was given.
    settings : list of dict
        Its settings.
    effort : SearchEffort, default=FAST
        That of the search: automatic settings are values of C unless they are numbers of rounds.

    Returns
    -------
    list of RaceStep
        One for each setting.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> [step.before for step in steps_of("auto", settings_of("auto", LinearSVC()))]
    [None, 0, 1, 2, 0, 4, 5]
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> [step.before for step in steps_of("wide", settings_of("wide", HistGradientBoostingClassifier()), BY_ROUNDS)]
    [None, None, None, 0]
    """
    if not isinstance(param_grid, str) or effort.base_setting is not None or len(settings[0]) != 1:
        number = variant_numbers(settings)
        # The last of several variants has the largest trees, and takes the time of all others.
        last = max(number) if isinstance(param_grid, str) and max(number) > 1 else None
        return [RaceStep(0 if variant == last else None) for variant in number]
    # Of each multiple the one next to it on the way to 1.
    multiples = [*MULTIPLES, *BEYOND][: len(settings)]
    inner = [multiple / 4.0 ** np.sign(multiple - 1.0) for multiple in multiples]
    return [
        RaceStep() if one == 1.0 else RaceStep(multiples.index(other), outside=one in BEYOND)
        for one, other in zip(multiples, inner)
    ]


def variant_numbers(settings: Sequence[Params]) -> list[int]:
    """Assign numbers to settings; those that differ in their rounds of boosting alone have the same one."""
    parts = [{name: value for name, value in setting.items() if not is_rounds(name)} for setting in settings]
    different = [part for place, part in enumerate(parts) if part not in parts[:place]]
    return [different.index(part) for part in parts]


def steps_of_models(models: Sequence[Model]) -> list[RaceStep]:
    """List the conditions for trying each of the settings of all models."""
    steps = []
    for number, model in enumerate(models):
        for place, step in enumerate(steps_of(model.param_grid, model.settings, model.effort)):
            # Fewer rounds cost nothing, and are worth nothing where all of them are far behind.
            before = 0 if place and len(models) > 1 and model.effort.base_setting is not None else step.before
            shifted = None if before is None else model.first + before
            steps.append(step._replace(before=shifted, model=number, slow=not model.effort.cheap))
    return steps


def _of_booster(base: Estimator, n_samples: int | None, *, is_wide: bool) -> list[Params]:
    """List the settings of a booster, its own first; a single empty one for other bases.

    ``n_samples`` are those on which fewer rounds can be read off trainings; ``None`` for no such rounds.
    """
    prefix, last = last_step(base)
    settings: list[Params] = []
    for variant in [{}, *(variants_of(last) if is_wide else ())]:
        known = None
        if n_samples is not None and not routing_enabled():
            known = rounds_of(clone(last).set_params(**variant) if variant else last, n_samples)
        shares = [1.0] if known is None else ROUNDS
        numbers = [{} if known is None else {known.name: max(1, round(share * known.number))} for share in shares]
        settings += [{f"{prefix}{name}": value for name, value in {**variant, **rounds}.items()} for rounds in numbers]
    return [setting for place, setting in enumerate(settings) if setting not in settings[:place]]


def effort_of(base: Estimator, engine: str, param_grid: Grid, settings: Sequence[Params]) -> SearchEffort:
    """Choose the effort of a search over some settings.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    engine : {"auto", "generic"}
        See `csf.trainers.make_trainers`.
    param_grid : dict, list of dict, "auto" or None
        What the search was given.
    settings : sequence of dict
        Its settings.

    Returns
    -------
    SearchEffort
        Of bases that have a fast solver; of others whose settings were given, or whose C is searched by another engine;
        of boosters whose rounds are searched unasked; or of all others.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> [effort_of(base, "auto", "auto", [{}]).ladder_size for base in (LinearSVC(), DecisionTreeClassifier())]
    [6, 1]
    >>> effort_of(DecisionTreeClassifier(), "auto", {"max_depth": [3]}, [{"max_depth": 3}]).ladder_size
    3
    """
    if has_fast_solver(base, engine):
        return FAST
    if not isinstance(param_grid, str) or _solved(base) is not None:
        return SLOW
    if len(settings) == 1:
        return PLAIN
    return BY_VARIANTS if max(variant_numbers(settings)) else BY_ROUNDS


def strategy_of(strategy: StrategyLike, effort: SearchEffort) -> Strategy:
    """Create the strategy of a search; a ladder given by its name has the length that the effort sets."""
    if effort.only_equal:
        return OnlyEqualCosts(why=effort.only_equal)
    by_name = isinstance(strategy, str) and strategy == "ladder"
    return Ladder(effort.ladder_size) if by_name else get_strategy(strategy)


def chooser_of(config: SearchConfig, models: Sequence[Model], *, draws: bool = True) -> Chooser:
    """Create the rule by which a search of some models chooses among its trials, by means over draws if there are."""
    own_settings = [
        None if model.effort.base_setting is None else model.first + model.effort.base_setting for model in models
    ]
    margins = [ModelMargin(model.first, model.effort.margin, setting) for model, setting in zip(models, own_settings)]
    margin = models[0].effort.margin if config.is_stable and draws else None
    return Chooser(margin, margins[0].base_setting, tuple(margins) if len(margins) > 1 else ())


def shared_effort(efforts: Sequence[SearchEffort]) -> SearchEffort:
    """Choose the effort with which several models share their folds: as many as the most expensive model would have."""
    repeats, folds = (min(getattr(effort, name) for effort in efforts) for name in ("repeats", "folds"))
    return efforts[0]._replace(repeats=repeats, folds=folds, cheap=all(effort.cheap for effort in efforts))


def cv_of(cv: Folding, y: Array, effort: SearchEffort, *, random_state: np.random.RandomState | None) -> Any:
    """Return the ``cv`` of a search, or the choice of `open_cv` where none was given."""
    return open_cv(y, effort, random_state=random_state) if cv is None else cv


def split_seed(random_state: RandomState_) -> int | np.random.RandomState:
    """Return the seed of folds and shares of a search; it is fixed by default, so that repeated calls agree."""
    return 0 if random_state is None else random_state


def open_cv(y: Array, effort: SearchEffort, *, random_state: np.random.RandomState | None) -> RepeatedStratifiedKFold:
    """Choose the splitter of a search without ``cv``.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    effort : SearchEffort
        What it does with its kind of base.
    random_state : RandomState or None
        Seed of the shuffling; ``None`` shuffles in one fixed way (that of no other seed), see `split_seed`.

    Returns
    -------
    RepeatedStratifiedKFold
        Five folds, fewer where a class has fewer samples. Three repeats where the rarest class has less than 500
        samples, as with few positives one partition is noisy; only where trainings are cheap if there are more than
        20 000 samples. Two where other settings of boosters are chosen, and two of four folds where at most numbers of
        rounds are.

    Raises
    ------
    ValueError
        If a class has a single sample.

    Examples
    --------
    >>> open_cv(np.repeat([0, 1], [80, 20]), FAST, random_state=None).get_n_splits()
    15
    """
    rarest = int(np.unique(y, return_counts=True)[1].min())
    if rarest < 2:
        raise ValueError(
            "cv=None needs at least 2 samples of each class, the rarer one has n_samples=1; give splits, or more data"
        )
    if rarest < _FOLDS:
        warn(
            f"the rarer class has only {rarest} samples, and each of the {rarest} folds holds out one of them. The "
            "scores, the threshold, the intervals and the bound are unreliable; get more samples of that class"
        )
    repeats = effort.repeats if rarest < _FEW and (effort.cheap or y.shape[0] <= MANY) else 1
    folds = min(_FOLDS if repeats < effort.repeats else effort.folds, rarest)
    seed = None if random_state is None else random_state.randint(np.iinfo(np.int32).max)
    return RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=split_seed(seed))


def class_splits(
    y: Array, effort: SearchEffort, *, random_state: np.random.RandomState | None
) -> list[tuple[Array, Array]]:
    """Choose the splits of a search of several classes without ``cv``: five folds, three times if trainings are fast.

    A class with fewer samples than folds is named in a warning; its scores come from models that know few of its
    samples.
    """
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"cv=None needs at least 2 samples of each class, and {classes[counts < 2].tolist()} have 1; give splits, "
            "more data, or leave these classes out"
        )
    rare = classes[counts < _FOLDS].tolist()
    if rare:
        warn(
            f"the classes {rare} have fewer samples than there are folds ({_FOLDS}), so their results are "
            "unreliable; get more samples of them"
        )
    repeats = effort.repeats if counts.min() < _FEW and effort.cheap else 1
    seed = None if random_state is None else random_state.randint(np.iinfo(np.int32).max)
    splitter = RepeatedStratifiedKFold(n_splits=_FOLDS, n_repeats=repeats, random_state=split_seed(seed))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(y.shape[0]), y))


# ---------------------------------------------------------------- options


# Value of ``calibration`` that tests on out-of-fold scores.
CROSS_FIT = "cross-fit"
# Column of the settings that says which of several models they are of.
MODEL = "model"


class Model(NamedTuple):
    """Model that takes part in a search, with its name where there are several.

    A plan adds its settings, the number ``first`` of its first setting among those of all models, and its effort.
    """

    name: str | None
    base: Estimator
    param_grid: Any
    settings: Sequence[Params] = ()
    first: int = 0
    effort: SearchEffort = FAST

    @property
    def named_settings(self) -> Sequence[Params]:
        """Settings of the model, with its name where there are several."""
        return self.settings if self.name is None else [{MODEL: self.name, **setting} for setting in self.settings]


def numbered(models: Sequence[Model]) -> list[Model]:
    """Set the number of the first setting of each model, among those of all."""
    firsts = [sum(len(model.settings) for model in models[:place]) for place in range(len(models))]
    return [model._replace(first=first) for model, first in zip(models, firsts)]


def _check_threshold(value: object, name: str) -> None:
    accepted = ("stable", "tune", None)
    if isinstance(value, RowThresholds):
        return
    if isinstance(value, Real):
        way = "for a number take sklearn.model_selection.FixedThresholdClassifier"
        raise ValueError(f"{name} must be one of {accepted}, got {value!r}; {way}")
    check_choice(value, name, accepted)


def _check_calibration(value: object, name: str) -> None:
    if value != CROSS_FIT:
        check_fraction(value, name)


def _check_error_score(value: object, name: str) -> None:
    if value != "raise" and not (isinstance(value, float) and np.isnan(value)):
        raise ValueError(f"{name} must be 'raise' or nan, got {value!r}")


def _check_callbacks(value: object, name: str) -> None:
    if not isinstance(value, (list, tuple, NoneType)) or not all(map(callable, value or ())):
        raise TypeError(f"{name} must be a list of functions f(study, trial) or None, got {value!r}")


_TWO_CLASSES = "parts of the rows are trained on two classes, or on several that are all alike"


@with_parameters
class SharedOptions:
    """Arguments that searches have wherever the data are, as `csf.CostSearch` describes them, with their defaults.

    A class with another default explains why in its docstring.
    """

    base: Estimator = field(kw_only=False)
    metric: MetricLike = option("what is maximised", default="f1", kw_only=False)
    # What most searches need.
    pos_label: Label = None
    param_grid: Grid = AUTO
    random_state: RandomState_ = option(check=check_seed, default=None)
    verbose: int = option("1 shows a progress bar", default=0)
    time_limit: float | None = option(
        "seconds after which no trial begins that would not end", partial(check_number, positive=True), default=None
    )
    # What decides.
    constraint: str | Constraint | None = option(
        'demand such as "precision >= 0.8" or "fpr <= 0.01"; of several classes "recall[urgent] >= 0.9"; by the values '
        'of a column "recall gap <= 0.05 by sex", "selection_rate ratio >= 0.8 by sex" or "precision >= 0.8 in each '
        'country"',
        default=None,
    )
    threshold: Literal["stable", "tune"] | RowThresholds | None = option(
        "mean of the best thresholds of bootstrap draws, the best one, or the base's own",
        _check_threshold,
        default="stable",
    )
    refit: bool | Literal["folds"] = option(check=one_of(True, False, "folds"), default=True)
    # For experts: how it is searched and trained.
    strategy: StrategyLike = option("where to train next", default="ladder")
    n_trials: int = option("largest number of trials of each setting", check_count, default=10)
    tol: float | None = option("stop when the upper bound is this close", check_number, default=None)
    bound: Bound = option("kind of upper bound", default="support")
    normalize: Literal["none", "mean"] = option("scale of the weights", one_of(*NORMALIZATIONS), default="mean")
    error_score: str | float = option(check=_check_error_score, default=np.nan)
    checkpoint: PathLike | None = option(
        "file that keeps finished trials; the same search resumes from it", check_path, default=None
    )
    callbacks: list[Callable[..., object]] | None = option(
        "functions callback(study, trial); a true result ends the search", _check_callbacks, default=None
    )


@with_parameters
class SearchOptions(SharedOptions):
    """Arguments of a search in memory."""

    null_class: Label = option(in_memory=_TWO_CLASSES, default=None)
    cv: Folding = option(
        "folds, a share to hold out, or oob for out-of-bag scores of forests (oob for forests of 50 trees; for others "
        "5 folds, 3 times over where positives are few and the base is quick)",
        default=None,
    )
    n_jobs: int | None = option(
        "parallel workers (1; -1 for all processors)",
        check_n_jobs,
        in_memory="the cluster trains, with parallelism= folds at a time on Spark",
        default=None,
    )
    confidence: float | None = option(
        "probability with which the constraint holds on new data",
        check_fraction,
        in_memory="no rows are set apart that would decide which thresholds pass",
        default=None,
    )
    calibration: float | Literal["cross-fit"] | None = option(check=_check_calibration, default=None)
    review: Review | None = option(in_memory="reviews are asked for in memory", default=None)
    bound_on: Literal["validation", "train"] = option(
        check=one_of("validation", "train"),
        in_memory="all rows would be scored once more for each fold",
        default="validation",
    )
    engine: Literal["auto", "generic", "liblinear"] = option(check=one_of(*ENGINES), default=AUTO)
    weighting: Literal["class", "one-vs-rest"] = option(
        check=one_of(*WEIGHTINGS), in_memory=_TWO_CLASSES, default="class"
    )
    sample_weight_name: str | None = None


class SearchConfig(SearchOptions):
    """Arguments of one search; they do not change while it runs."""

    @classmethod
    def of(cls, search: Estimator) -> Self:
        """Read and check the arguments of a search; options that it does not offer have their common defaults."""
        known = search.get_params(False)
        given = {option.name: known[option.name] for option in fields(cls) if option.name in known}
        config = cls(**given)
        config.check()
        return config

    @property
    def models(self) -> list[Model]:
        """Models to search, sorted by their names, so that the order in which they are given has no effect."""
        known, grid = named_models(self.base), self.param_grid
        if known is None:
            return [Model(None, self.base, grid)]
        grids = grid if isinstance(grid, dict) else {name: grid for name, _ in known}
        return [Model(name, base, grids.get(name, AUTO)) for name, base in sorted(known, key=itemgetter(0))]

    @property
    def aim(self) -> Metric:
        """Metric to maximise, under the constraint."""
        return aim(self.metric, self.constraint)

    @property
    def tunes(self) -> bool:
        """True where a threshold decides, False where the base itself does."""
        return self.threshold is not None

    @property
    def is_stable(self) -> bool:
        """True where the winner is chosen by means over draws; thresholds by row are tuned for such a winner."""
        return self.threshold == "stable" or isinstance(self.threshold, RowThresholds)

    @property
    def averages_folds(self) -> bool:
        """True where the mean of the models of all folds predicts."""
        return self.refit == "folds"

    @property
    def may_hold_out_less(self) -> bool:
        """True where a value hardly depends on small errors of the threshold, and csf chooses the folds.

        Near the best threshold it does not; under a constraint, or a limit on wrong answers, it does. A mean over folds
        needs all of them.
        """
        limited = self.constraint is not None or getattr(self.metric, "constraint", None) is not None
        return self.cv is None and not (limited or self.limits_answers or self.averages_folds)

    @property
    def asks_out_of_bag(self) -> bool:
        """True where ``cv`` asks for out-of-bag scores."""
        return isinstance(self.cv, str) and self.cv == "oob"

    @property
    def is_prefit(self) -> bool:
        """True where bases are used as they are: frozen ones, or any with ``cv="prefit"``."""
        frozen = {isinstance(model.base, FrozenEstimator) for model in self.models}
        given = isinstance(self.cv, str) and self.cv == "prefit"
        if len(frozen) > 1 and not given:
            raise ValueError(
                "base mixes fitted models (FrozenEstimator) with unfitted ones. Comparing them on samples that some "
                "have seen would be unfair; give models of one kind, or fit the others and use cv='prefit'"
            )
        return given or frozen == {True}

    @property
    def splits_are_given(self) -> bool:
        """True where ``cv`` is a list of splits."""
        return isinstance(self.cv, Iterable) and not isinstance(self.cv, str) and not hasattr(self.cv, "split")

    def check(self) -> None:
        """Raise an error for invalid arguments that no other part checks, before any training."""
        self._check_names()
        for model in self.models:
            check_base(model.base)
        check_options(self)
        self._check_confidence()
        self._check_grid()
        for model in self.models:
            self._check_response(model.base)

    def _check_names(self) -> None:
        """Raise an error where several models are given with invalid names or grids."""
        known = named_models(self.base)
        if known is None:
            return
        if not known:
            raise ValueError(f"base must be a classifier or several of them, got {self.base!r}; give at least one")
        names, options = [name for name, _ in known], {option.name for option in fields(self)}
        wrong = [name for name in names if not isinstance(name, str) or not name or "__" in name or name in options]
        if wrong:
            raise ValueError(
                f"names of models must be texts without '__' that are no arguments of the search, got {wrong[0]!r}; "
                "rename it in base={name: classifier}"
            )
        if isinstance(self.param_grid, list):
            raise ValueError(f"param_grid of several models must be a dict by their names {names}, got a list")
        for name in self.param_grid if isinstance(self.param_grid, dict) else ():
            if name not in names:
                raise ValueError(
                    f"param_grid of several models is a dict by their names {names}, such as "
                    f"{{{names[0]!r}: {{'C': [1, 10]}}}}, got {name!r}{did_you_mean(str(name), names)}"
                )

    def _check_response(self, base: Estimator) -> None:
        """Raise a ValueError where a base lacks a required prediction method."""
        if self.tunes and method_once_fitted(base) is None:
            raise ValueError(
                f"threshold={self.threshold!r} needs decision_function or predict_proba, and {type(base).__name__} has "
                "neither; use threshold=None"
            )
        if self.averages_folds and not (self.tunes and method_once_fitted(base, ("predict_proba",))):
            raise ValueError(
                "refit='folds' puts a threshold on the mean of probabilities, so it needs predict_proba and a "
                f"threshold; got threshold={self.threshold!r} and {type(base).__name__}. Use refit=True, or "
                "calibrate the base"
            )

    @property
    def held_back(self) -> float:
        """Share of the samples that is held back for tests: more where nothing is trained on the others."""
        if self.calibration == CROSS_FIT:
            raise ValueError(
                f"calibration={CROSS_FIT!r} tests one threshold on the score of two classes, and no rule of several "
                "classes, segments or costs of rows, and no limits of a review; give a share, such as 0.3"
            )
        return self.calibration or (0.5 if self.is_prefit else 0.3)

    @property
    def limits_answers(self) -> bool:
        """True where wrong answers without a review have a limit."""
        return self.review is not None and bool(self.review.wrong)

    def _check_grid(self) -> None:
        for model in self.models:
            grid = model.param_grid
            if isinstance(grid, str):
                check_choice(grid, "param_grid", WORDS)
            elif grid is not None:
                check_grid(grid)
            if (
                model.name is not None
                and grid is not None
                and any(MODEL in setting for setting in settings_of(grid, model.base))
            ):
                raise ValueError(
                    f"param_grid of {model.name!r} searches a parameter called {MODEL!r}, which is the column of the "
                    "models; search that model by itself"
                )

    def _check_confidence(self) -> None:
        if self.review is not None and not isinstance(self.review, Review):
            raise TypeError(f"review must be a csf.metrics.Review or None, got {self.review!r}; write Review(cost=...)")
        if not self.tunes:
            OWN_DECISIONS.check(self)
        if (truth := truth_of(self.metric)) is not None:
            INCOMPLETE.check(self, f"metric={truth.name!r}")
        if self.confidence is None:
            return
        missing = {
            "a constraint, such as 'precision >= 0.8', or review=Review(wrong=0.05)": self.constraint is None
            and not self.limits_answers,
            "a threshold, 'stable' or 'tune'": not self.tunes,
            "refit=True": not self.refit,
        }
        for what, absent in missing.items():
            if absent:
                raise ValueError(f"confidence={self.confidence!r} needs {what}; give it, or leave out confidence")
        if (constraint := get_constraint(self.constraint)) is not None:
            check_rates(constraint)
        if self.splits_are_given and self.calibration != CROSS_FIT:
            raise ValueError(
                "confidence= holds out calibration samples before it makes the folds, so cv cannot be a fixed list "
                "of splits. Give a number of folds, a share, a splitter or 'prefit', or calibration='cross-fit'"
            )


def check_base(base: object) -> None:
    """Raise a TypeError for anything but a classifier."""
    if isinstance(base, type) or not hasattr(base, "fit"):
        way = "; models have their names in a dict, base={'name': classifier}" if isinstance(base, tuple) else ""
        raise TypeError(f"base must be a classifier object with fit, e.g. LinearSVC(), got {base!r}{way}")
    if isinstance(last_step(base)[1], RegressorMixin):
        raise TypeError(f"base must be a classifier, got {base!r}, a regressor; e.g. RidgeClassifier for Ridge")
