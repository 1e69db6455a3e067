"""Models as files, read back without running code that is not on a short list; ``csf predict`` and ``csf monitor``."""

from __future__ import annotations

import contextlib
import copy
import csv
import inspect
import os
import sys
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from csf import metrics
from csf._common import __version__
from csf._common.files import cell, replaced, write_figure
from csf._common.messages import warn
from csf._common.sklearn import tree_type
from csf._common.typing import Array, PathLike
from csf.cli.data import Features, read_labels, read_samples
from csf.cli.problem import check_figure, check_output
from csf.cli.tables import CliError, TableFormat, require
from csf.evaluate import Assessment, Chooser
from csf.evaluate.choices import ModelMargin
from csf.evaluate.trials import Trial
from csf.metrics import confusion, constraints
from csf.metrics.profile import ErrorProfile, Hull
from csf.search import CostSearch, strategies
from csf.search.config import SearchConfig
from csf.search.outcome import ClassOutcome, SearchOutcome
from csf.search.row_costs import RowOutcome, RowStudy
from csf.search.selection import Choice
from csf.search.study import ClassStudy, Study
from csf.thresholds.capacity import Bands, Reviewed
from csf.thresholds.certificates import Guarantee
from csf.thresholds.class_choice import Candidate
from csf.thresholds.linear_rule import ClassCalibrator, LinearRule, RuleOfClasses, Sigmoid
from csf.thresholds.row_costs import RowRule, Tuned
from csf.thresholds.rule import ThresholdRule

FORMAT = "csf-model"
VERSION = 1
_PARTS = {"version", "sklearn", "features", "search"}

# What models hold besides the types that skops trusts by itself: scikit-learn's estimators, numpy, scipy. Whole
# packages are not trusted, as their functions can run code and write files. The trees of gradient boosting are arrays,
# which are checked when they have been read. Those of forests are compiled objects, which a crafted file could crash:
# they are written as their arrays (`PlainTree`) and made again from these once they are checked.
_PLAIN = (
    "numpy.dtype",
    "collections.OrderedDict",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


def _trusted_types():
    """Full names of all types that a file may hold."""
    parts = [Assessment, Choice, Chooser, CostSearch, ErrorProfile, Guarantee, Hull, ModelMargin, SearchConfig, Study]
    parts += [PlainTree, SearchOutcome, ThresholdRule, Trial]
    # Of several classes that are all alike.
    parts += [Candidate, ClassCalibrator, ClassOutcome, ClassStudy, Sigmoid]
    parts += [LinearRule, RuleOfClasses, RowOutcome, RowRule, RowStudy, Tuned, Bands, Reviewed]
    for module in (metrics, constraints, strategies, confusion):
        parts += [part for _, part in inspect.getmembers(module, inspect.isclass)]
    parts += strategies.STRATEGIES.values()
    return {f"{part.__module__}.{part.__qualname__}" for part in parts} | set(_PLAIN)


@dataclass(frozen=True, eq=False)
class PlainTree:
    """What a compiled tree is made from: its constructor's arguments and its state."""

    n_features: int
    n_classes: Array
    n_outputs: int
    state: dict[str, Any]

    def compiled(self, n_features: int) -> Any:
        """The tree, if no way through it leads out of its arrays."""
        nodes, n_classes, count = self.state["nodes"], self.n_classes, self.state["node_count"]
        left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
        inner = np.flatnonzero(left != -1)
        sound = (
            nodes.ndim == 1
            and nodes.size == count > 0
            and _leads_on(inner, left[inner], right[inner], count)
            and ((feature[inner] >= 0) & (feature[inner] < n_features)).all()
            and self.n_features == n_features
            and n_classes.shape == (self.n_outputs,)
            and (n_classes > 0).all()
            and self.state["max_depth"] == _depth(left, right)
        )
        if not sound:
            raise ValueError(_UNSOUND)
        tree = tree_type()(self.n_features, n_classes, self.n_outputs)
        tree.__setstate__(self.state)  # which checks the kinds and shapes of the arrays
        return tree


_UNSOUND = "the links of its trees lead out of their arrays; the file is damaged or crafted"


def _leads_on(inner: Array, left: Array, right: Array, count: int) -> bool:
    """Whether every way through a tree ends within it: children come after their parents."""
    return bool((left > inner).all() and (right > inner).all() and (np.maximum(left, right) < count).all())


def _depth(left: Array, right: Array) -> int:
    """Number of steps of the longest way, of links that lead on."""
    depth, level = -1, np.zeros(1, dtype=int)
    while level.size:
        depth, inner = depth + 1, level[left[level] != -1]
        level = np.unique([left[inner], right[inner]])
    return depth


def _with_plain_trees(search: CostSearch) -> CostSearch:
    """A copy whose compiled trees are their arrays, where there are some."""
    if not any(isinstance(getattr(part, "__dict__", {}).get("tree_"), tree_type()) for part in _parts_of(search)):
        return search
    search = copy.deepcopy(search)
    for part in _parts_of(search):
        if isinstance(tree := getattr(part, "__dict__", {}).get("tree_"), tree_type()):
            arguments, state = tree.__reduce__()[1:]  # pyright: ignore[reportAssignmentType]
            part.tree_ = PlainTree(*arguments, state)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return search


def check_model_name(path: PathLike) -> None:
    """Refuse a file whose name promises another format."""
    if os.path.splitext(path)[1].lower() not in ("", ".skops"):
        raise CliError(f"models are files of skops; give a name such as model.skops in place of {path}")


def save_model(path: PathLike, search: CostSearch, features: Features) -> None:
    """Write a fitted search and what features it takes."""
    skops = require("skops.io", "saving a model")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "csf": __version__,
        "sklearn": sklearn.__version__,
        "features": asdict(features),
        "search": _with_plain_trees(search._without_scores()),
    }
    try:
        with replaced(path, "wb") as file:
            skops.dump(content, file, compression=zipfile.ZIP_DEFLATED)
    except TypeError as error:
        raise CliError(f"cannot save this model: {error}") from error


def required_trust(path: PathLike) -> list[str]:
    """Types in a file that `load_model` reads only when they are named."""
    skops = require("skops.io", "reading a model")
    try:
        return sorted(set(skops.get_untrusted_types(file=path)) - _trusted_types())
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can fail anywhere
        raise CliError(
            f"{path} is not a model saved by csf search --save, or it is damaged ({type(error).__name__}: {error})"
        ) from error


def load_model(path: PathLike, trust: Sequence[str] = ()) -> tuple[CostSearch, Features]:
    """Read a model that `save_model` wrote; ``trust`` names further types that it may hold."""
    untrusted = [name for name in required_trust(path) if name not in trust]
    if untrusted:
        raise CliError(
            f"{path} holds types that a crafted file could misuse: {', '.join(untrusted)}. If you know where the "
            f"file comes from, add {' '.join(f'--trust {name}' for name in untrusted)}"
        )
    try:
        content = require("skops.io", "reading a model").load(path, trusted=sorted(_trusted_types() | set(trust)))
        for part in _parts_of(content):
            if isinstance(part, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
                _check_trees(part)
            elif isinstance(tree := getattr(part, "__dict__", {}).get("tree_"), PlainTree):
                part.tree_ = tree.compiled(part.n_features_in_)
    except Exception as error:  # a damaged file, or one of other versions, can fail anywhere
        raise CliError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not content.keys() >= _PARTS:
        raise CliError(f"{path} is not a model saved by csf search --save")
    if content["version"] != VERSION:
        raise CliError(f"{path} has version {content['version']} of the model format; this csf reads {VERSION}")
    if content["sklearn"] != sklearn.__version__:
        warn(
            f"{path} was saved with scikit-learn {content['sklearn']}, this is {sklearn.__version__}; if predictions "
            "matter, train it again",
        )
    return content["search"], Features(**content["features"])


def _parts_of(value: Any) -> Iterator[Any]:
    """A value and all that it holds, each once."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting += part.ravel().tolist()
        waiting += getattr(part, "__dict__", {}).values()


def _check_trees(model: Any) -> None:
    """Refuse trees that lead out of their arrays: compiled code follows them without a look."""
    if not hasattr(model, "_predictors"):
        return
    categorical = np.flatnonzero(model._bin_mapper.is_categorical_)
    for tree in chain.from_iterable(model._predictors):
        nodes, bitsets = tree.nodes, tree.raw_left_cat_bitsets
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        left, right, feature = (nodes[name][inner] for name in ("left", "right", "feature_idx"))
        by_category = nodes["is_categorical"][inner] != 0
        sound = (
            nodes.ndim == 1
            and nodes.size > 0
            and _leads_on(inner, left, right, nodes.size)
            and (feature >= 0).all()
            and (feature < model.n_features_in_).all()
            and np.isin(feature[by_category], categorical).all()
            and (nodes["bitset_idx"][inner][by_category] < bitsets.shape[0]).all()
            and bitsets.shape[1:] == (8,)
        )
        if not sound:
            raise ValueError(_UNSOUND)


# ---------------------------------------------------------------- the command


def run(options: Namespace, say: Callable[..., Any]) -> None:
    """Run the command."""
    check_output(options.output)
    search, features = load_model(options.model, options.trust)
    X = read_samples(options.data, features, TableFormat.of(options))
    labels, columns = search.predict(X, at_most=options.at_most), _columns(search, X)
    with _opened(options.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prediction", *columns])
        writer.writerows(zip(map(cell, labels.tolist()), *(values.tolist() for values in columns.values())))
    if options.output:
        say(f"{options.output}: {len(labels)} rows, {_counted(search, labels)}")


def _counted(search, labels):
    """How many rows are predicted what."""
    if search.pos_label_ is None:
        known, counts = np.unique(labels, return_counts=True)
        return "predicted " + ", ".join(f"{label} ({count})" for label, count in zip(known, counts))
    return f"{int(np.sum(labels == search.pos_label_))} predicted positive ({search.pos_label_})"


def _columns(search, X):
    """Scores above 0 where the positive class is predicted, and its probabilities where the base has them.

    Of several classes each has a column: the largest score is predicted.
    """
    if search.pos_label_ is None:
        answers = {"score": search.decision_function(X)}
        if hasattr(search, "predict_proba"):
            answers["probability"] = search.predict_proba(X)
        names = search.classes_.tolist()
        return {f"{kind} {name}": column for kind, each in answers.items() for name, column in zip(names, each.T)}
    decisions = {"decision": search.decide(X)} if search.review is not None else {}
    at = list(search.classes_).index(search.pos_label_)
    distance = search.decision_function(X)
    # "0.0 -" and not "-": a negative zero would look odd in a file.
    columns = {"score": distance if at == 1 else 0.0 - distance}
    if hasattr(search, "predict_proba"):
        columns["probability"] = search.predict_proba(X)[:, at]
    return columns | decisions


def _opened(path):
    """File to write, or the standard output."""
    if path:
        return replaced(path, newline="")
    return contextlib.nullcontext(sys.stdout)


# ---------------------------------------------------------------- csf monitor


# Exit code of an alarm.
ALARM = 3


def run_monitor(options: Namespace, say: Callable[..., Any]) -> int:
    """Run the command; the exit code says whether there is an alarm."""
    check_figure(options.plot)
    search, features = load_model(options.model, options.trust)
    watched = {"alpha": options.alpha, "audit": options.audit, "path": options.state}
    monitor = search.monitor(options.constraint, **watched)
    predicted = search.predict(read_samples(options.data, features, TableFormat.of(options)))
    y = None if options.target is None else read_labels(options.data, options.target, search, TableFormat.of(options))
    monitor.update(y, predicted, name=options.name)
    say(monitor.report())
    if options.plot:
        write_figure(options.plot, monitor.plot().figure_)
        say(f"plot: {options.plot}")
    return ALARM if monitor.alarm else 0
