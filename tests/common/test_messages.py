"""Names that were probably meant, and where warnings point."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from builders import paper_search
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import csf
from csf import CostSearch
from csf._common.messages import did_you_mean, warn
from csf._common.validation import check_choice, check_fraction, place_of
from csf.bounds import get_bound
from csf.cli.data import ReadOptions, read_dataset
from csf.data.labels import read_labels
from csf.metrics import METRICS, get_metric
from csf.plugin import PlugInClassifier
from csf.strategies import get_strategy
from csf.structural import FTRL, OnePassMiniBatch, PrecisionAtK, get_loss

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.arange(40) % 4 == 0


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(("F1", "f1"), ("f1_score", "f1"), ("F1-score", "f1"), ("g-mean", "gmean"), ("gmeans", "gmean")),
        *(("G-Mean", "gmean"), ("geometric_mean_score", "gmean"), ("balanced accuracy", "balanced_accuracy")),
        *(("Jaccard_score", "jaccard"), ("jacard", "jaccard"), ("F0.5", "f0.5"), ("fbeta", "f2"), ("IoU", "jaccard")),
        *(("Sensitivity", "recall"), ("TNR", "specificity"), ("precison", "precision")),
        *(("Kappa", "cohen_kappa"), ("matthews-corrcoef", "mcc"), ("FMI", "fowlkes_mallows")),
        ("Youden", "informedness"),
    ],
)
def test_metrics_that_were_meant(given, meant):
    with pytest.raises(ValueError, match=rf"unknown metric '{given}'; known: f1, .*\. Did you mean '{meant}'\?$"):
        get_metric(given)
    with pytest.raises(ValueError, match=rf"unknown loss '{given}'; known: f1, .*\. Did you mean '{meant}'\?$"):
        get_loss(given)


@pytest.mark.parametrize("given", ["", "x", "hamming"])
def test_nothing_is_offered_for_something_else(given):
    with pytest.raises(ValueError, match=r"or a Metric object$"):
        get_metric(given)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_found_in_other_spellings(name):
    for other in (name.upper(), name.replace("_", "-"), f"{name} score"):
        assert other == name or did_you_mean(other, METRICS) == f". Did you mean {name!r}?"


@pytest.mark.parametrize(
    ("look_up", "given", "meant"),
    [
        (get_strategy, "Cones", "'cone'"),
        (get_strategy, "imbalance-ratio", "'imbalance_ratio'"),
        (get_bound, "Support", "'support'"),
        (get_bound, "envelop", "'envelope'"),
        (get_loss, "precision_at_k", "'precision'"),
        (get_loss, "PRBEP", "'prbep'"),
        (lambda name: check_choice(name, "threshold", ("tune", None)), "tuned", "'tune'"),
        (lambda name: check_choice(name, "threshold", ("tune", None)), "None", "None"),
        (lambda name: paper_search(LinearSVC(), engine=name).fit(X, Y), "Auto", "'auto'"),
        (lambda name: paper_search(LinearSVC(), bound_on=name).fit(X, Y), "training", "'train'"),
        (lambda name: paper_search(LinearSVC(), pos_label=name).fit(X, Y.astype(int)), "1", "1"),
        (lambda name: paper_search(LinearSVC(), pos_label=name).fit(X, np.where(Y, "yes", "no")), "Yes", "'yes'"),
        (lambda name: paper_search(LinearSVC(), null_class=name).fit(X, np.arange(40) % 4), "2", "2"),
        (
            lambda name: PlugInClassifier(LinearSVC(), response_method=name).fit(X, Y),
            "predict-proba",
            "'predict_proba'",
        ),
    ],
)
def test_other_names_that_were_meant(look_up, given, meant):
    end = r"[^?]$" if meant is None else rf"\. Did you mean {meant}\?$"
    with pytest.raises(ValueError, match=end):
        look_up(given)


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), "C", "logisticregression__C"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "logistic__C", "logisticregression__C"),
        (LogisticRegression(), "c", "C"),
        (LogisticRegression(), "maxiter", "max_iter"),
    ],
)
def test_parameters_that_were_meant(base, name, meant):
    search = paper_search(base, param_grid={name: [0.1, 1.0]})
    with pytest.raises(ValueError, match=rf"Invalid parameter '{name}' for .*; it has .*Did you mean '{meant}'\?$"):
        search.fit(X, Y)


def test_parameters_of_a_step_that_the_setting_brings_are_taken():
    base = make_pipeline(StandardScaler(), LinearSVC())
    search = paper_search(
        base, param_grid={"linearsvc": [LogisticRegression()], "linearsvc__l1_ratio": [0.0]}, n_trials=1
    )
    assert search.fit(X, Y).best_params_["linearsvc__l1_ratio"] == 0.0


class Plan:
    """What a lazy frame offers."""

    def collect(self):
        return X


class Dask:
    """What collections of dask offer, and arrays with a length as well."""

    def __dask_graph__(self):
        return {}

    def __len__(self):
        return len(X)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Plan(), r"Plan, which can only be read in pieces; give X\.collect\(\)"),
        (Dask(), r"Dask, .*; give X\.compute\(\)"),
        ((row for row in X), r"builtins generator, .*; give list\(X\)"),
    ],
)
@pytest.mark.parametrize(
    "model", [paper_search(LinearSVC()), CostSearch(LinearSVC(), "f1_macro"), PlugInClassifier(LinearSVC())]
)
def test_data_that_are_not_in_memory_are_refused(model, given, text):
    with pytest.raises(TypeError, match=rf"X must be in memory, got a .*{text}"):
        model.fit(given, Y)
    with pytest.raises(TypeError, match="y must be in memory"):
        model.fit(X, given)


def test_lazy_frames_of_polars_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    with pytest.raises(TypeError, match=r"got a polars LazyFrame, .*; give X\.collect\(\)"):
        paper_search(LinearSVC()).fit(frame.lazy(), Y)
    assert paper_search(LinearSVC(), n_trials=1).fit(frame, Y).n_features_in_ == 2


ROOT = Path(csf.__file__).parent
RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(size=(90, 3))
TARGET = (RNG.random(90) < 0.3).astype(int)
FAST = {"n_trials": 2, "cv": 2}
BALANCED = paper_search(LogisticRegression(class_weight="balanced"), **FAST)


class Moody(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        if sample_weight.max() > 1.3:
            raise RuntimeError("too heavy")
        return super().fit(X, y, sample_weight=sample_weight)


class Stopped(LinearSVC):
    left = 0

    def fit(self, X, y, sample_weight=None):
        Stopped.left -= 1
        if Stopped.left == 0:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


def interrupted():
    Stopped.left = 6
    paper_search(Stopped(), n_trials=8, cv=2).fit(SAMPLES, TARGET)


def table(folder):
    path = folder / "names.csv"
    path.write_text("a,name,y\n" + "".join(f"{i},name{i},{i % 2}\n" for i in range(30)))
    read_dataset(str(path), ReadOptions("y"))


WARNINGS = {
    "class_weight": (lambda _: BALANCED.fit(SAMPLES, TARGET), "which multiplies the searched costs"),
    "two workers": (
        lambda _: paper_search(Moody(), strategy="grid", n_trials=5, cv=2, n_jobs=2).fit(SAMPLES, TARGET),
        "is left out",
    ),
    "failed": (
        lambda _: paper_search(Moody(), strategy="grid", n_trials=5, cv=2).fit(SAMPLES, TARGET),
        "is left out",
    ),
    "interrupted": (lambda _: interrupted(), "was interrupted"),
    "column": (lambda _: paper_search(LinearSVC(), **FAST).fit(SAMPLES, TARGET[:, None]), "column-vector y"),
    "pipeline": (
        lambda _: make_pipeline(StandardScaler(), BALANCED).fit(SAMPLES, TARGET),
        "multiplies the searched",
    ),
    "grid search": (
        lambda _: GridSearchCV(BALANCED, {"n_trials": [1]}, cv=2).fit(SAMPLES, TARGET),
        "multiplies the searched",
    ),
    "cross validation": (lambda _: cross_val_score(BALANCED, SAMPLES, TARGET, cv=2), "multiplies the searched"),
    "labels": (
        lambda _: CostSearch(Moody(), "f1_macro", strategy="grid", n_trials=5, param_grid=None, cv=2).fit(
            SAMPLES, np.column_stack([TARGET, 1 - TARGET])
        ),
        "is left out",
    ),
    "plugin": (
        lambda _: PlugInClassifier(LinearSVC(), constraint="precision >= 1", cv=2).fit(SAMPLES, TARGET),
        "no threshold",
    ),
    "ftrl": (lambda _: FTRL("pauc", eta=1e-3, max_planes=2, refit=1000).fit(SAMPLES, TARGET), "tangent planes"),
    "k": (
        lambda _: OnePassMiniBatch(PrecisionAtK(0.2, allow_k_neq_pos=True)).fit(SAMPLES, TARGET),
        "no upper bound",
    ),
    "table": (table, "distinct texts"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "two workers")) for n in WARNINGS])
def test_every_warning_points_at_the_line_of_the_user(name, tmp_path):
    act, text = WARNINGS[name]
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        act(tmp_path)
    assert any(re.search(text, str(warning.message)) for warning in met)
    # what the bases say belongs to their own packages
    others = {warning.filename for warning in met if warning.filename != __file__}
    assert not {name for name in others if str(ROOT) in name}
    assert {w.filename for w in met if re.search(text, str(w.message))} == {__file__}


def test_only_one_file_calls_warnings_by_itself():
    for path in sorted(ROOT.rglob("*.py")):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)]
        names = {node.attr for node in calls if isinstance(node.value, ast.Name) and node.value.id == "warnings"}
        assert path == ROOT / "_common" / "messages.py" or not names & {"warn", "warn_explicit"}, path


def test_a_warning_without_a_line_outside_points_at_its_caller():
    names = {"__name__": "csf.inner", "warn": warn}
    with pytest.warns(UserWarning, match="said") as met:
        exec(compile("warn('said')", "inner.py", "exec"), names)
    assert met[0].filename == __file__


@pytest.mark.parametrize("kind", [np.str_, np.int8, np.float32, np.bool_])
def test_labels_of_numpy_are_written_as_those_of_python(kind):
    label = kind(1)
    labels = read_labels(np.array([kind(0), label] * 3), null_class=kind(0))[0]
    assert labels.positive == label
    assert "np." not in repr((labels.null, labels.positive, labels.answers))
    with pytest.raises(ValueError, match=f"there is no {re.escape(repr(label.item()))}"):
        place_of(label, ["a"], "at_most")
    with pytest.raises(ValueError, match=r"got 2\.0"):
        check_fraction(np.float64(2), "share")
