"""Saved models, loaded without running untrusted code, and the commands ``csf predict`` and ``csf monitor``."""

from __future__ import annotations

import contextlib
import copy
import csv
import os
import sys
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from csf._common import __version__
from csf._common.files import cell, replaced, write_figure
from csf._common.messages import warn
from csf._common.sklearn import num_samples, safe_indexing, tree_type
from csf._common.typing import Array, Estimator, Keywords, PathLike
from csf.cli.columns import written
from csf.cli.data import FeatureColumns, id_key, read_ids, read_labels, read_samples, read_weights
from csf.cli.problem import check_figure, check_output
from csf.cli.tables import CliError, TableFormat, require
from csf.metrics.row_costs import row_costs
from csf.monitoring import MonitorGroup
from csf.monitoring.monitor import retuned
from csf.plots.words import metric_name, worth_in_words
from csf.report.kinds import decides, facts_of
from csf.search import CostSearch
from csf.search.kinds import is_search

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
    "sklearn.utils._bunch.Bunch",
    "csf.cli.predict.PlainTree",
    *("csf.report.checks.Finding", "csf.report.checks.Summary", "csf.report.facts.Fact"),
)

# Packages of csf whose classes hold what was searched and found. What else csf has writes files or runs programs.
_HOLDING = (
    *("csf.bounds.", "csf.data.", "csf.evaluate.", "csf.fenchel.", "csf.metrics.", "csf.online.", "csf.plugin."),
    *("csf.search.", "csf.strategies.", "csf.structural.", "csf.thresholding."),
)


def _is_trusted(name: str) -> bool:
    """Check whether any file may hold a type, such as csf's result classes, which run no code when they are read."""
    if not name.startswith(_HOLDING):
        return name in _PLAIN
    module, _, kind = name.rpartition(".")
    try:
        known = getattr(import_module(module), kind, None)
    except ImportError:
        return False
    # An older file names the module where a class was, which imports it from where it is.
    return isinstance(known, type) and f"{known.__module__}.".startswith(_HOLDING)


@dataclass(frozen=True, eq=False)
class PlainTree:
    """Constructor arguments and state from which a compiled tree is made."""

    n_features: int
    n_classes: Array
    n_outputs: int
    state: Keywords

    def compiled(self, n_features: int) -> Estimator:
        """Build the compiled tree, after a check that no path through it leaves its arrays."""
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
    """Check that every path through a tree ends within it: children come after their parents."""
    return bool((left > inner).all() and (right > inner).all() and (np.maximum(left, right) < count).all())


def _depth(left: Array, right: Array) -> int:
    """Count the steps of the longest path, where children come after their parents."""
    depth, level = -1, np.zeros(1, dtype=int)
    while level.size:
        depth, inner = depth + 1, level[left[level] != -1]
        level = np.unique([left[inner], right[inner]])
    return depth


# Trees of nearest neighbours follow from the samples beside them.
_OF_NEIGHBOURS = {"kd_tree": KDTree, "ball_tree": BallTree}


def _with_plain_trees(search: CostSearch) -> CostSearch:
    """Return a copy with arrays in place of compiled trees; the search itself if it has none."""
    kinds = (tree_type(), KDTree, BallTree)
    if not any(isinstance(part, kinds) for part in _parts_of(search)):
        return search
    search = copy.deepcopy(search)
    for part in _parts_of(search):
        if isinstance(getattr(part, "_tree", None), (KDTree, BallTree)):
            part._tree = None
        elif isinstance(tree := getattr(part, "__dict__", {}).get("tree_"), tree_type()):
            arguments, state = tree.__reduce__()[1:]  # pyright: ignore[reportAssignmentType]
            part.tree_ = PlainTree(*arguments, state)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return search


def check_model_name(path: str | None) -> None:
    """Raise an error for a file that cannot be written, or whose name has the suffix of another format."""
    check_output(path)
    if path is not None and os.path.splitext(path)[1].lower() not in ("", ".skops"):
        raise CliError(f"models are files of skops; give a name such as model.skops in place of {path}")


def save(search: CostSearch, path: PathLike, *, scores: bool = True) -> None:
    """Save a fitted search, for `csf.load` and, if its features are numbers, for ``csf predict`` and ``csf monitor``.

    Parameters
    ----------
    search : CostSearch
        Fitted with ``refit=True``.
    path : path-like
        The file, such as ``"model.skops"``.
    scores : bool, default=True
        Whether the winner's held-out scores are kept; see `csf.CostSearch.without_scores`, ``winner``.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the search is not fitted.
    TypeError
        If it is none.
    ValueError
        If skops cannot write it.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> import csf
    >>> X, y = load_digits(return_X_y=True)
    >>> search = csf.CostSearch(RidgeClassifier(), n_trials=2, param_grid=None, cv=3).fit(X, y == 8)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.skops")
    >>> csf.save(search, path, scores=False)
    >>> bool((csf.load(path).predict(X) == search.predict(X)).all())
    True
    """
    if not is_search(search):
        raise TypeError(f"search must be a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    try:
        save_model(path, search, _features_of(search), scores=scores)
    except CliError as error:
        raise ValueError(str(error)) from error


def _features_of(search: CostSearch) -> FeatureColumns:
    """Describe the features of a search that was fitted in Python: all are taken for numbers."""
    names, n_features = getattr(search, "feature_names_in_", None), search.n_features_in_
    if names is None:
        return FeatureColumns("dense", n_features)
    return FeatureColumns("frame", n_features, numeric=tuple(map(str, names)))


def save_model(path: PathLike, search: CostSearch, features: FeatureColumns, *, scores: bool = True) -> None:
    """Write a fitted search and the features that it takes, with or without the winner's held-out scores."""
    skops = require("skops.io", "saving a model")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "csf": __version__,
        "sklearn": sklearn.__version__,
        "features": asdict(features),
        "search": _with_plain_trees(search.without_scores(winner=scores)),
    }
    try:
        with replaced(path, "wb") as file:
            skops.dump(content, file, compression=zipfile.ZIP_DEFLATED)
    except TypeError as error:
        raise CliError(f"cannot save this model: {error}") from error


def required_trust(path: PathLike) -> list[str]:
    """List the types in a file that `load_model` accepts only when they are named."""
    return [name for name in _types_in(path) if not _is_trusted(name)]


def _types_in(path: PathLike) -> list[str]:
    """List the types in a file that skops does not trust by default."""
    skops = require("skops.io", "reading a model")
    try:
        return sorted(set(skops.get_untrusted_types(file=path)))
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can fail anywhere
        raise CliError(
            f"{path} is not a model saved by csf search --save, or it is damaged ({type(error).__name__}: {error})"
        ) from error


def load(path: PathLike, *, trust: Sequence[str] = ()) -> CostSearch:
    """Load a model that `csf.save`, ``csf search --save`` or skops wrote, without running code that it brings along.

    Parameters
    ----------
    path : path-like
        The file, such as ``"model.skops"``.
    trust : list of str, default=()
        Full names of further types that it may hold, such as those of LightGBM; only for files whose origin you know.

    Returns
    -------
    CostSearch
        The search, fitted: ``predict``, ``monitor``, ``prevalence``, ``at_prevalence`` and the rest. Only the winner's
        held-out scores were saved. From a table it takes the columns ``feature_names_in_`` in their order,
        categories as texts (``frame[name].astype(str)`` for columns of booleans).

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it is no such model, or holds types that are not trusted.

    Examples
    --------
    >>> import csf
    >>> csf.load("model.skops").predict(frame)  # doctest: +SKIP
    array(['stay', 'churn', 'stay'], dtype=object)
    """
    os.stat(path)  # an OSError, as Python has it
    try:
        return load_model(path, trust)[0]
    except CliError as error:
        raise ValueError(str(error)) from error


def load_model(path: PathLike, trust: Sequence[str] = ()) -> tuple[CostSearch, FeatureColumns]:
    """Load a model that `save_model` or skops wrote; ``trust`` names further types that it may hold."""
    types = _types_in(path)
    untrusted = [name for name in types if name not in trust and not _is_trusted(name)]
    if strange := [name for name in untrusted if name.startswith("csf.")]:
        raise CliError(
            f"{path} holds {strange[0]}, which this version of csf does not have: it was saved by another one, or it "
            "is crafted. Train the model again, or load it with the version that saved it"
        )
    if untrusted:
        raise CliError(
            f"{path} holds types that a crafted file could misuse: {', '.join(untrusted)}. If you know where the "
            f"file comes from, name them in trust= of csf.load, or add "
            f"{' '.join(f'--trust {name}' for name in untrusted)}"
        )
    try:
        content = require("skops.io", "reading a model").load(path, trusted=types)
        for part in _parts_of(content):
            if isinstance(part, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
                _check_trees(part)
            elif isinstance(tree := getattr(part, "__dict__", {}).get("tree_"), PlainTree):
                part.tree_ = tree.compiled(part.n_features_in_)
            elif (
                isinstance(part, (KNeighborsClassifier, RadiusNeighborsClassifier))
                and getattr(part, "_fit_method", None) in _OF_NEIGHBOURS
            ):
                options = {"metric": part.effective_metric_, **part.effective_metric_params_}
                part._tree = _OF_NEIGHBOURS[part._fit_method](part._fit_X, part.leaf_size, **options)
    except Exception as error:  # a damaged file, or one of other versions, can fail anywhere
        raise CliError(f"cannot read {path}: {error}") from error
    if is_search(content):
        return content, _features_of(content)
    if not isinstance(content, dict) or content.get("format") != FORMAT or not content.keys() >= _PARTS:
        raise CliError(f"{path} is not a model saved by csf search --save or csf.save")
    if content["version"] != VERSION:
        raise CliError(f"{path} has version {content['version']} of the model format; this csf reads {VERSION}")
    if content["sklearn"] != sklearn.__version__:
        warn(
            f"{path} was saved with scikit-learn {content['sklearn']}, this is {sklearn.__version__}; if predictions "
            "matter, train it again",
        )
    return content["search"], FeatureColumns(**content["features"])


def _parts_of(value: object) -> Iterator[Any]:
    """Yield a value and everything that it holds, each once."""
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


def _check_trees(model: Estimator) -> None:
    """Raise an error for trees with links out of their arrays, which compiled code would follow unchecked."""
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


def run(options: Namespace, say: Callable[..., None]) -> None:
    """Run ``csf predict``."""
    check_output(options.output)
    check_model_name(options.save)
    search, features = load_model(options.model, options.trust)
    form = TableFormat.of(options)
    X = read_samples(options.data, features, form)
    limits = {name: getattr(options, name) for name in ("at_most", "wrong_at_most")}
    for name in (*limits, "prevalence"):
        number = getattr(options, name)
        several = search.pos_label_ is None and search.null_class_ is None
        if several and isinstance(number, (int, float)):
            named, last = name.replace("_", "-"), search.classes_[-1]
            raise CliError(f"--{named} {number} names none of several classes; write --{named} {last}={number}")
    if options.prevalence is not None:
        share = search.prevalence(X) if options.prevalence == ESTIMATE else options.prevalence
        search, to = search.at_prevalence(share), sys.stdout if options.output else sys.stderr
        named = share if isinstance(share, dict) else {"positives": share}
        shares = ", ".join(f"{name} {number:.4g}" for name, number in named.items())
        rule = "" if search.null_class_ is None else f"; {decides(search)}"
        print(f"the decision is the one for these shares: {shares}{rule}", file=to)
    if options.save is not None:
        save_model(options.save, search, features)
    labels = search.predict(X, **limits)
    columns = written(search, X, labels, limits, options)
    with _opened(options.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(map(cell, values.tolist()) for values in columns.values())))
    if options.output:
        say(f"{options.output}: {len(labels)} rows, {_counted(search, labels)}")
        if isinstance(options.at_most, (int, float)) and (text := _stands_for(search, X, labels)):
            say(text)
        if options.wrong_at_most is not None:
            say(_PROMISE.format(_shown(options.wrong_at_most)))


_PROMISE = (
    "on average over such batches at most {} of the alerts are wrong, whatever the share of positives, as long as "
    "negatives look, and cost, as before"
)


def _stands_for(search, X, labels):
    """Say what a miss is treated as worth where a limit ends the alerts; nothing where no threshold does."""
    alerts = safe_indexing(X, np.flatnonzero(labels != search.null_class_))
    with contextlib.suppress(ValueError):  # no alert, or no single threshold on held-out scores
        return worth_in_words({None: search.exchange_rate(float(search.score_samples(alerts).min()))})
    return ""


def _shown(share):
    """Show a share, or those of classes, in percent."""
    if isinstance(share, dict):
        return ", ".join(f"{_shown(part)} ({name})" for name, part in share.items())
    return f"{100.0 * share:g} %"


def _counted(search, labels):
    """Describe how many rows are predicted as each class, or as positive."""
    if search.pos_label_ is None:
        known, counts = np.unique(labels, return_counts=True)
        return "predicted " + ", ".join(f"{label} ({count})" for label, count in zip(known, counts))
    return f"{int(np.sum(labels == search.pos_label_))} predicted positive ({search.pos_label_})"


def _opened(path):
    """Open a file to write, or return the standard output."""
    if path:
        return replaced(path, newline="")
    return contextlib.nullcontext(sys.stdout)


# ---------------------------------------------------------------- csf audit


def run_audit(options: Namespace, say: Callable[..., None]) -> None:
    """Run ``csf audit``: write the rows to have labelled, or say what their labels show."""
    check_output(options.output)
    search, features = load_model(options.model, options.trust)
    form = TableFormat.of(options)
    X, metric = read_samples(options.data, features, form), options.metric
    plan = search.audit(X, options.labels, metric, random_state=options.seed)
    what = metric or metric_name(search)
    if options.labelled is None:
        ids = np.arange(1, num_samples(X) + 1) if options.id is None else read_ids(options.data, options.id, form)
        name = "row" if options.id is None else options.id
        with _opened(options.output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([name, "label"])
            writer.writerows([cell(row), ""] for row in ids[plan.rows].tolist())
        if options.output:
            say(f"{options.output}: {len(plan.rows)} of {num_samples(X)} rows to have labelled, in the column label")
            say(f"{what} is then known within an interval about {plan.expected_width:.3f} wide (90 %)")
        return
    y = read_labels(options.labelled, "label", search, form)
    if len(y) != len(plan.rows) or any(label is None for label in y):
        raise CliError(
            f"{options.labelled} must hold a label for each of the {len(plan.rows)} rows that csf audit wrote, in "
            "their order; give the same --labels, --metric and --seed as then"
        )
    value, low, high = plan.interval(np.array(y.tolist()))
    say(f"{what} on all {num_samples(X)} rows: {value:.4f}, 90 % interval [{low:.4f}, {high:.4f}]")


# ---------------------------------------------------------------- csf monitor


# Exit code of an alarm.
ALARM = 3
# What stands for a share of positives that is estimated.
ESTIMATE = "estimate"


def run_monitor(options: Namespace, say: Callable[..., None]) -> int:
    """Run ``csf monitor``; return an exit code that signals an alarm."""
    check_figure(options.plot)
    check_model_name(options.retune)
    search, features = load_model(options.model, options.trust)
    form = TableFormat.of(options)
    y = None if options.target is None else read_labels(options.data, options.target, search, form)
    weight = None if options.weight is None else read_weights(options.data, options.weight, form)
    if options.retune is not None:
        return _retune(options, search, features, read_samples(options.data, features, form), y, weight, say)
    if options.state is None:
        raise CliError("--state names the file of the state, which is made where it is missing; give one")
    names = ("alpha", "audit", "max_weight", "max_cost", "mature_after", "unlabelled", "weeks")
    watched = {name: getattr(options, name) for name in names}
    monitor = search.monitor(options.constraint, path=options.state, **watched)
    if options.id is not None and y is not None:
        _take_labels(options, monitor, y, weight, form, say)
    else:
        # The same rows under the same name are counted once.
        batch = {"name": os.path.basename(options.data) if options.name is None else options.name}
        X = read_samples(options.data, features, form)
        has_costs = row_costs(getattr(monitor, "metric", None)) is not None
        batch |= {"sample_weight": weight} | ({"X": X} if has_costs else {})
        if options.id is None:
            monitor.update(y, search.predict(X), **batch)
        else:
            ids = [id_key(row, form) for row in read_ids(options.data, options.id, form)]
            monitor.expect(search.predict(X), rows=ids, **batch)
    say(monitor.report())
    if options.plot:
        displays = monitor.plot().values() if isinstance(monitor, MonitorGroup) else [monitor.plot()]
        write_figure(options.plot, next(iter(displays)).figure_)
        say(f"plot: {options.plot}")
    return ALARM if monitor.alarm else 0


def _take_labels(options, monitor, y, weight, form, say):
    """Give a monitor the labels of rows that it expects; those of other rows are left out."""
    if weight is not None:
        raise CliError("--weight belongs to the decisions: give it with the table that has no --target")
    ids, waiting = read_ids(options.data, options.id, form), {id_key(str(row), form): row for row in monitor.awaited}
    rows = [waiting.get(id_key(row, form)) for row in ids]
    # A file of all labels so far holds those of batches that have counted, too.
    known = np.flatnonzero([row is not None for row in rows])
    others = "".join(f"; {row!r} and the like are not" for row in np.delete(ids, known)[:1])
    text = f"{options.data}: {known.size} of {ids.size} rows are of batches that wait for labels{others}"
    if waiting and not known.size:
        way = f"rows such as {next(iter(waiting))!r} wait. Give --id a column with the ids that the decisions had"
        raise CliError(f"{text}; {way}. Nothing was counted")
    say(text)
    monitor.update(y[known], rows=[rows[place] for place in known])


def _retune(options, search, features, X, y, weight, say):
    """Save the model with the threshold that is best on the labelled rows."""
    if y is None:
        raise CliError("--retune finds a threshold by labels; name their column with --target")
    known = np.flatnonzero([label is not None for label in y])
    labels = np.array(y[known].tolist())
    given = {} if weight is None else {"sample_weight": weight[known]}
    search = retuned(search, safe_indexing(X, known), labels, **given)
    save_model(options.retune, search, features)
    facts = facts_of(search)
    expected = facts.on_one_line(facts.expected)
    say(f"{options.retune}: tuned on {known.size} labelled rows; {expected}. Watch it with a --state of its own")
    return 0
