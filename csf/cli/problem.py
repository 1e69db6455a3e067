"""Problem of a command, checked before anything is trained: data, base, options, and rivals of the search."""

from __future__ import annotations

import ast
import os
import re
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    ParameterGrid,
    StratifiedGroupKFold,
    TunedThresholdClassifierCV,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from csf._common.files import write_figure
from csf._common.messages import did_you_mean
from csf._common.sklearn import clone, options_of, safe_indexing
from csf._common.typing import Array, Estimator, IntArray, Keywords, Label, Params, Samples
from csf.cli.data import Dataset, FeatureColumns, ReadOptions, densified, read_dataset
from csf.cli.tables import CliError, require
from csf.data.folds import Task, enough_splits, group_folds, resolve_splits
from csf.data.responses import response_method
from csf.metrics import ConfusionMetric, Incomplete, Metric, Review, get_confusion_metric, get_metric
from csf.metrics.constraints import all_of
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import MetricLike, constraint_of_truth
from csf.metrics.row_costs import OUTCOMES, Column, RowCosts, row_costs
from csf.report.held_out import ClassJudge, HeldOut, Judge, Judged, RowCostJudge, TwoClassJudge
from csf.report.kinds import facts_of
from csf.report.page import Comparison, check_page, draw_outcomes
from csf.search import CostSearch
from csf.search.config import AUTO, SearchConfig, shared_effort, steps_of, strategy_of
from csf.search.planning import planned_models
from csf.search.problems import read_problem
from csf.search.problems.base import Problem as KindOfProblem
from csf.search.problems.multiclass import class_metric
from csf.search.study import MulticlassStudy
from csf.strategies import Ladder
from csf.thresholding.linear_rule import confusion_of
from csf.trainers import seeded

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint

# Values of parameters, by their names.
Grid: TypeAlias = dict[str, list[object]]
# Name of the classifier's step in the pipelines.
CLASSIFIER = "classifier"


def _lightgbm():
    return require("lightgbm", "--base lightgbm").LGBMClassifier(verbose=-1)


def _xgboost():
    return require("xgboost", "--base xgboost").XGBClassifier()


BASES = {
    "linear-svc": partial(LinearSVC, dual=False),  # pyright: ignore[reportArgumentType]  # "auto" or a bool
    "logistic": partial(LogisticRegression, max_iter=1000),
    "sgd": SGDClassifier,
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    "random-forest": RandomForestClassifier,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "nearest-neighbors": KNeighborsClassifier,
}
# Several bases by one name; of those that need a package the ones that are installed.
GROUPS = {"auto": ("logistic", "random-forest", "lightgbm"), "all": tuple(BASES)}
_ALIASES = {"forest": "random-forest"}
# Those that need features of similar size and can be written as a rule, and those that take no sparse data.
LINEAR = ("linear-svc", "logistic", "sgd")
_SCALED = (*LINEAR, "nearest-neighbors")
_DENSE_ONLY = ("hist-gradient-boosting",)


def base_names(text: str) -> list[str]:
    """Return the names of the bases that an option selects: one, a list separated by commas, or a group."""
    if text in GROUPS:
        return [name for name in GROUPS[text] if name not in ("lightgbm", "xgboost") or find_spec(name)]
    return [_ALIASES.get(name.strip(), name.strip()) for name in text.split(",")]


def takes_sparse(name: str) -> bool:
    """Check whether a base takes sparse data."""
    return name not in _DENSE_ONLY


def make_base(name: str, features: FeatureColumns) -> Pipeline:
    """Make a pipeline of preprocessing and the step ``"classifier"``; columns of a frame are selected by name."""
    classifier = BASES[name]()
    linear = name in _SCALED
    if features.named:
        return Pipeline([("prepare", _columns(features, linear, takes_sparse(name))), (CLASSIFIER, classifier)])
    if linear:
        scaler = MaxAbsScaler() if features.is_sparse else StandardScaler()
        return Pipeline([("scale", scaler), (CLASSIFIER, classifier)])
    return Pipeline([(CLASSIFIER, classifier)])


def _columns(features, linear, sparse_output):
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return ColumnTransformer(
        [
            ("numeric", make_pipeline(impute, StandardScaler()) if linear else impute, list(features.numeric)),
            ("categorical", OneHotEncoder(handle_unknown="ignore"), list(features.categorical)),
        ],
        sparse_threshold=0.3 if sparse_output else 0.0,
        verbose_feature_names_out=False,
    )


def parse_grid(texts: Sequence[str], base: Pipeline) -> Grid:
    """Parse a grid of pipeline parameters such as ``"C=0.1,1,10"``; values are Python literals, or strings."""
    known = base.named_steps[CLASSIFIER].get_params()
    grid: Grid = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise CliError(f"--param must be NAME=VALUE,VALUE,..., such as C=0.1,1,10; got {text!r}")
        if name not in known:
            hint = did_you_mean(name, known)
            raise CliError(f"--param: the base has no parameter {name!r}; it has {', '.join(sorted(known))}{hint}")
        if f"{CLASSIFIER}__{name}" in grid:
            raise CliError(f"--param {name} is given twice; list all its values in one")
        grid[f"{CLASSIFIER}__{name}"] = [_literal(value.strip()) for value in values.split(",")]
    return grid


# A share of a column.
_SHARE = re.compile(r"\s*(\d*\.?\d+(?:[eE][+-]?\d+)?)\s*\*\s*(.+?)\s*")


def _cost(text):
    """Read a cost: a number for all rows, a column, or a share of one."""
    share = _SHARE.fullmatch(text)
    return Column(share[2], float(share[1])) if share else _literal(text)


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)


# ---------------------------------------------------------------- what a search has to beat


PLAIN = "base as it is"
POOLED = "exact pooled threshold"
EQUAL = "tuned rule, equal weights"
ONE = "best single threshold"


# Fits a classifier by settings, samples, codes of their classes and weights.
Method: TypeAlias = Callable[..., Estimator]


class NotApplicable(Exception):
    """Reason why a rival cannot be run on these data."""


@dataclass(frozen=True)
class Setup:
    """Settings that all methods of one comparison share."""

    config: SearchConfig
    # Where it is empty, searches choose the C of linear bases, and so does the exact threshold, which has to be the
    # same but for the costs.
    grid: Grid
    # A ConfusionMetric of several classes, costs of rows, else a Metric.
    metric: Metric | ConfusionMetric | RowCosts
    constraint: Constraint | None
    splits: list[tuple[IntArray, IntArray]]
    classes: Sequence[Label] = (0, 1)
    # Argument of `fit` that says which rows belong together.
    together: Keywords = field(default_factory=dict)

    @property
    def on_codes(self) -> Constraint | None:
        """The constraint with codes in place of classes, for what is trained on codes."""
        if self.constraint is None:
            return None
        return all_of([replace(part, of=part.place_in(self.classes)) for part in self.constraint.parts])

    def bases(self) -> list[Pipeline]:
        """Return the base with each setting of its parameters, or several bases as they are."""
        bases = self.config.base
        if isinstance(bases, dict):
            return [clone(base) for base in bases.values()]
        return [clone(bases).set_params(**setting) for setting in ParameterGrid(self.grid)]

    def value_of(self, codes: IntArray, decided: IntArray, weight: Array | None) -> float:
        """Compute the metric of predictions; of two classes, code 1 is the positive one."""
        n_classes = len(self.classes)
        if n_classes > 2:
            return float(get_confusion_metric(self.metric).value(confusion_of(codes, decided, n_classes, weight)))
        # Parameters of what knows no costs are chosen by the accuracy.
        metric = get_metric(self.metric if row_costs(self.metric) is None else "accuracy")
        return metric.of(ErrorProfile.from_masks(codes == 1, decided == 1, sample_weight=weight))

    def weight_params(self, weight: Array | None) -> Params:
        """Return the arguments of the base's ``fit`` that carry the sample weights; none without weights."""
        return {} if weight is None else {f"{CLASSIFIER}__sample_weight": weight}


def fit_plain(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """Fit the base with its own decision; parameters are chosen on pooled held-out predictions."""
    return _fit_best(setup, setup.bases(), X, y, weight)


def fit_balanced(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """Fit the base with ``class_weight="balanced"``; parameters are chosen as in `fit_plain`."""
    name = f"{CLASSIFIER}__class_weight"
    if any(name not in base.get_params() for base in setup.bases()):
        raise NotApplicable("the base has no class_weight")
    return _fit_best(setup, [base.set_params(**{name: "balanced"}) for base in setup.bases()], X, y, weight)


def fit_pooled(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """Fit with equal costs, and tune the threshold, or the rule of several classes, on the held-out scores.

    Parameters are chosen by the metric at that threshold. If the search certifies its constraint, so does this
    method, on the same calibration samples.
    """
    by_row, config = row_costs(setup.metric) is not None, setup.config
    # One threshold for all rows is not tested.
    confidence = None if by_row or setup.constraint is None else config.confidence
    search = CostSearch(
        config.base,
        setup.metric,
        strategy=Ladder(1),
        param_grid=setup.grid or AUTO,
        constraint=setup.on_codes,
        threshold="stable" if by_row else "tune",
        confidence=confidence,
        cv=setup.splits if confidence is None else config.cv,
        n_jobs=config.n_jobs,
        random_state=config.random_state,
    )
    with warnings.catch_warnings():  # the search and the table say as much
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, y, sample_weight=weight, **setup.together)
    if by_row:
        return _one_threshold(search).fit(X, y)
    promise = getattr(search, "guarantee_", None)
    if promise is not None and not promise.holds:
        raise NotApplicable(str(replace(promise, constraint=str(setup.constraint))))
    return search


def _one_threshold(search: Estimator) -> FixedThresholdClassifier:
    """Make a classifier with a single threshold for all rows: that of least cost on the held-out scores."""
    method = response_method(search.best_estimator_) or "auto"
    cut = search.result_.alone if method == "decision_function" else search.threshold_without_costs_
    return FixedThresholdClassifier(FrozenEstimator(search.best_estimator_), threshold=cut, response_method=method)


def fit_tuned(setup: Setup, X: Samples, y: IntArray, weight: Array | None) -> Estimator:
    """Fit scikit-learn's TunedThresholdClassifierCV, whose threshold is a mean over folds at 100 thresholds."""
    if weight is not None:
        raise NotApplicable("its scorer gets no sample weights without metadata routing")
    scorer = make_scorer(get_metric(setup.metric).score, pos_label=1)
    config = setup.config
    options = {"scoring": scorer, "cv": setup.splits, "n_jobs": config.n_jobs, "random_state": config.random_state}
    fitted = [TunedThresholdClassifierCV(base, **options).fit(X, y) for base in setup.bases()]
    return max(fitted, key=lambda model: model.best_score_)


RIVALS: dict[str, Method] = {
    PLAIN: fit_plain,
    'base, class_weight="balanced"': fit_balanced,
    POOLED: fit_pooled,
    "TunedThresholdClassifierCV": fit_tuned,
}
# Several classes have no threshold: the rule of equal class weights is what is tuned there.
_SIMPLE = {name: RIVALS[name] for name in (PLAIN, 'base, class_weight="balanced"')}
CLASS_RIVALS, ROW_RIVALS = _SIMPLE | {EQUAL: fit_pooled}, _SIMPLE | {ONE: fit_pooled}


def _fit_best(setup, bases, X, y, weight):
    """Choose the best of several bases, and fit it to all samples; a single one needs no choice."""
    if len(bases) > 1:
        bases = sorted(bases, key=lambda base: _held_out_value(setup, base, X, y, weight), reverse=True)
    return bases[0].fit(X, y, **setup.weight_params(weight))


def _held_out_value(setup, base, X, y, weight):
    """Compute the metric of the pooled held-out predictions."""
    truth, predicted, weights = [], [], []
    for train, test in setup.splits:
        model = clone(base)
        model.fit(safe_indexing(X, train), y[train], **setup.weight_params(None if weight is None else weight[train]))
        truth.append(y[test])
        predicted.append(model.predict(safe_indexing(X, test)))
        weights.append(None if weight is None else weight[test])
    pooled = None if weight is None else np.concatenate(weights)
    return setup.value_of(np.concatenate(truth), np.concatenate(predicted), pooled)


# ---------------------------------------------------------------- data, base and metric of one command


# Classes that are named in a line.
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class DataPart:
    """Some rows of a data set."""

    X: Samples
    y: Array
    codes: IntArray
    weight: Array | None
    # Argument of `fit` that says which rows belong together; empty where each stands alone.
    together: Keywords


@dataclass(frozen=True, eq=False)
class CommandProblem:
    """Data, base and metric of one command."""

    data: Dataset
    base: Pipeline | dict[str, Pipeline]
    grid: Grid
    # A ConfusionMetric of several classes, costs of rows, else a Metric.
    metric: Metric | ConfusionMetric | RowCosts
    constraint: Constraint | None
    options: Namespace
    # What the search makes of the classes, and what it is asked.
    kind: KindOfProblem
    config: SearchConfig

    @property
    def several(self) -> bool:
        """True where there are several classes that are all alike."""
        return self.data.pos_label is None

    @property
    def by_row(self) -> bool:
        """True where each row has costs of its own."""
        return row_costs(self.metric) is not None

    @property
    def rivals(self) -> dict[str, Method]:
        """Functions that fit simpler methods, by name."""
        return CLASS_RIVALS if self.several else ROW_RIVALS if self.by_row else RIVALS

    @property
    def reference(self) -> str:
        """Rival that the search is compared with."""
        return PLAIN if self.several else ONE if self.by_row else POOLED

    @property
    def measured(self) -> list[str]:
        """Columns of a table of methods: the metric, and the constrained rate if there is one."""
        return ["method", self.metric.name, *([] if self.constraint is None else [self.constraint.name])]

    def part(self, rows: IntArray) -> DataPart:
        """Select rows of the data."""
        data = self.data
        y = data.y[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        together: Keywords = {} if data.groups is None else {"groups": data.groups[rows]}
        return DataPart(safe_indexing(data.X, rows), y, data.labels.encode(y), weight, together)

    def hold_out(self, seed: int) -> tuple[IntArray, IntArray]:
        """Split the rows into those to train on and those to hold out, at random, groups kept together."""
        data, share, rows = self.data, self.options.test_size, np.arange(self.data.y.shape[0])
        if data.groups is None:
            train, test = train_test_split(rows, test_size=share, stratify=data.y, random_state=seed)
            return np.asarray(train), np.asarray(test)
        folds = StratifiedGroupKFold(max(round(1.0 / share), 2), shuffle=True, random_state=seed)
        return next(folds.split(rows, data.y, data.groups))

    @cached_property
    def judge(self) -> Judge:
        """How predictions are judged: as those of a search are."""
        labels = self.data.labels
        if self.several:
            return ClassJudge(self.metric, self.constraint, labels.classes)
        judge = RowCostJudge if self.by_row else TwoClassJudge
        return judge(self.metric, self.constraint, labels.classes, labels.null)

    def judged(self, part: DataPart, decided: IntArray) -> Judged:
        """Return the value of predictions, its interval, and the constrained rate."""
        held = HeldOut(part.X, part.y, part.weight, {"": self.data.labels.decode(decided)}, [], **part.together)
        return self.judge.judged(held).judged[0]

    def setup(self, train: DataPart) -> Setup:
        """Make the settings that all methods trained on a part share; the inner splits are made only once."""
        seed = self.options.seed
        if self.config.asks_out_of_bag:
            raise ValueError("--cv oob is for csf search: methods are compared on the same folds; give --cv 5")
        effort = shared_effort([model.effort for model in self._models(train.y)])
        cv = self.kind.cv(self.config, train.y, effort, random_state=check_random_state(seed))
        if train.together:
            cv = group_folds(cv, train.y, **train.together, random_state=seed)
        splits = resolve_splits(cv, train.X, train.y, random_state=seed, split_params=train.together)
        if self.config.may_hold_out_less:
            kind, task = self.kind.of_part(Task(train.X, train.codes, train.weight))
            splits = enough_splits(splits, train.codes, kind.stakes(task), **train.together)
        classes = self.data.labels.classes.tolist()
        return Setup(self.config, self.grid, self.metric, self.constraint, splits, classes, train.together)

    def plan(self) -> str:
        """Describe the search, for the lines above the tables."""
        options = self.options
        demand = "" if self.constraint is None else f" with {self.constraint}"
        models, trials = self._models(self.data.y), options.n_trials
        if "strategy" in options:  # of several strategies each has its own number
            trials = max(self._most_trials(options.strategy, model.effort) for model in models)
        settings = [setting for model in models for setting in model.settings]
        text = f"{self.metric.name}{demand} of {options.base}, up to {trials} trials"
        if len(settings) > 1:
            steps = [step for model in models for step in steps_of(model.param_grid, model.settings, model.effort)]
            more = sum(step.outside for step in steps)
            text += f" of each of {len(settings) - more} settings"
            text += f" (and of {more} beyond them, as long as an end is best)" if more else ""
        return text

    def _most_trials(self, strategy, effort):
        if self.several:
            return self.study(strategy).most_trials
        return strategy_of(strategy, effort).most_trials(self.options.n_trials)

    def _models(self, y):
        return planned_models(self.config, self.kind, self.config.models, y.shape[0])

    def study(self, strategy: str) -> MulticlassStudy:
        """Make the study of several classes; raise a ValueError for a strategy that has none."""
        metric = get_confusion_metric(self.metric)
        return MulticlassStudy(metric, strategy, shares=self._shares(), n_trials=self.options.n_trials)

    def _shares(self):
        totals = np.bincount(self.data.labels.encode(self.data.y), self.data.sample_weight)
        return totals / totals.sum()

    def describe(self) -> str:
        """Describe the data in one line."""
        data = self.data
        features = data.features
        kinds = f" ({len(features.categorical)} categorical)" if features.categorical else ""
        if not self.several:
            share = f"{100 * data.pos:.3g} % positive ({data.pos_label})"
        else:
            named = [f"{label} {share:.3g} %" for label, share in zip(data.labels.classes, 100 * self._shares())]
            more = ", ..." if len(named) > _SHOWN else ""
            share = f"{len(named)} classes ({', '.join(named[:_SHOWN])}{more})"
        weighted = ", weighted" if data.sample_weight is not None else ""
        return f"{data.name}: {data.counted}, {features.n_features} features{kinds}, {share}{weighted}"


def make_search(setup: Setup, **extra: Any) -> CostSearch:
    """Make the cost search of a command, not fitted; ``extra`` overrides its options."""
    given: Keywords = {"metric": setup.metric, "constraint": setup.constraint, "cv": setup.splits}
    return CostSearch(**vars(setup.config) | given | extra)


def load_problem(options: Namespace) -> CommandProblem:
    """Read the data, and check the options about them."""
    costs, aim = _costs_of(options), metric_asked(options)
    metric = get_metric(aim) if costs is None else costs
    several = costs is None and class_metric(aim) is not None
    data = read_dataset(options.data, ReadOptions.of(options, drop=tuple(options.drop), several=several))
    names = base_names(options.base)
    if sparse.issparse(data.X) and not all(map(takes_sparse, names)):
        data = replace(data, X=densified(data.X, data.name), features=replace(data.features, kind="dense"))
    bases = {name: seeded(make_base(name, data.features), check_random_state(options.seed)) for name in names}
    if len(bases) > 1 and options.param:
        raise CliError("--param is for one base; of several the C of linear ones and rounds of boosters are searched")
    base = bases if len(bases) > 1 else bases[names[0]]
    grid = parse_grid(options.param, bases[names[0]])
    asked: Keywords = {name: given for name, given in vars(options).items() if name in options_of(SearchConfig)}
    asked |= {"base": base, "metric": aim if costs is None else costs, "param_grid": grid or AUTO}
    asked |= {"random_state": options.seed, "verbose": 0}
    review: Keywords = {name: vars(options).get(f"review_{name}") for name in ("cost", "at_most", "wrong")}
    asked["review"] = Review(**review) if any(review.values()) else None
    asked["threshold"] = None if options.threshold == "none" else options.threshold
    # What the kind of problem cannot have is said before anything else.
    kind, _ = read_problem(SearchConfig(**asked | {"pos_label": data.pos_label}), data.X, data.y, {})
    constraint = constraint_of_truth(metric, kind.read_constraint(options.constraint))
    asked["constraint"] = constraint and constraint.on_all_rows
    config = SearchConfig(**asked)
    if costs is not None or data.pos_label is not None:
        return CommandProblem(data, base, grid, metric, constraint, options, kind, config)
    problem = CommandProblem(data, base, grid, get_confusion_metric(metric), constraint, options, kind, config)
    if "strategy" in options:
        problem.study(options.strategy)
    return problem


def metric_asked(options: Namespace) -> MetricLike:
    """Return the metric of the options, of the truth where labels miss positives."""
    if options.labelled is None:
        return options.metric
    return Incomplete(options.metric, labelled=options.labelled)


def _costs_of(options: Namespace) -> RowCosts | None:
    """Return the costs of rows, as numbers or names of columns; ``None`` where rows have no costs."""
    texts = {name: getattr(options, f"{name}_cost") for name in OUTCOMES}
    given = {name: _cost(text) for name, text in texts.items() if text is not None}
    costs = row_costs(options.metric) or (RowCosts() if given else None)
    if costs is not None and options.labelled is not None:
        raise CliError("--labelled is for metrics of two classes, and costs of rows are none: leave it or these out")
    return None if costs is None else replace(costs, **given)


def check_outputs(options: Namespace, *paths: str | None) -> None:
    """Raise an error if search or compare cannot write one of its outputs: these files, a figure, a page."""
    for path in (*paths, options.plot, options.report):
        check_output(path)
    check_figure(options.plot)
    check_page(options.report or "")


def check_output(path: str | None) -> None:
    """Raise an error for a file that cannot be written, before hours of training."""
    if path is None:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise CliError(f"cannot write {path}: it is a folder")
    if not os.path.isdir(folder) and not os.path.exists(path):
        raise CliError(f"cannot write {path}: there is no folder {os.path.dirname(path) or folder}")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise CliError(f"cannot write {path}: permission denied")
    if (os.path.isfile(path) or not os.path.exists(path)) and not os.access(folder, os.W_OK):
        raise CliError(f"cannot write {path}: files are written beside it first, and its folder {folder} allows none")


# ---------------------------------------------------------------- seconds and figures


class Budget:
    """Seconds left from now on; ``None`` for no limit."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._start = clock()

    def share(self, part: float) -> float | None:
        """Return a share of the seconds that are left, more than 0; ``None`` without a limit."""
        return None if self.seconds is None else max(part * self._left(), 1e-9)

    def refusal(self, seconds: float) -> str | None:
        """Explain why a task of about so many seconds is left out; ``None`` if there is time for it."""
        if self.seconds is None or seconds <= self._left():
            return None
        about = f", which takes about {seconds:.1f} s" if seconds else ""
        return f"the time limit of {self.seconds:g} s leaves no time for it{about}"

    def _left(self) -> float:
        assert self.seconds is not None, "asked for with a limit only"
        return self._start + self.seconds - self._clock()


def shows_progress(options: Namespace) -> bool:
    """Check whether a command shows progress bars: on a terminal, unless it is quiet."""
    return not options.quiet and sys.stderr.isatty()


def _new_figure(height):
    # A figure of its own works without a screen and leaves pyplot alone.
    figure = require("matplotlib.figure", "a plot").Figure(figsize=(7.2, height), layout="constrained")
    return figure, figure.subplots()


def check_figure(path: str | None) -> None:
    """Raise an error for a figure in a format that cannot be written."""
    if path is None:
        return
    figure, _ = _new_figure(1.0)
    known = sorted(figure.canvas.get_supported_filetypes())
    if os.path.splitext(path)[1][1:].lower() not in known:
        raise CliError(f"--plot {path}: the suffix must be one of {', '.join(known)}")


def draw_search(path: str, search: CostSearch) -> None:
    """Draw the first figure of a fitted search: its cones, a confusion matrix, costs or thresholds of rows."""
    figure, ax = _new_figure(5.4)
    next(iter(facts_of(search).figures.values()))(ax)
    write_figure(path, figure)


def draw_comparison(path: str, outcomes: Sequence[Comparison], metric_name: str) -> None:
    """Draw the values of methods on all splits, and their means."""
    figure, ax = _new_figure(1.2 + 0.4 * len(outcomes))
    draw_outcomes(ax, outcomes, metric_name)
    write_figure(path, figure)
