"""Monitors of several labels, or of several constraints, under one alarm level."""

import hashlib
import json

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from csf import CostSearch
from csf.monitoring import MonitorGroup

QUICK = {"n_trials": 1, "param_grid": None, "cv": 2, "random_state": 0}
X, Y = make_multilabel_classification(800, n_classes=3, random_state=0)
NAMES = ["cat", "dog", "owl"]


def of_labels(metric):
    pandas = pytest.importorskip("pandas")
    return CostSearch(LogisticRegression(), metric, **QUICK).fit(X, pandas.DataFrame(Y, columns=NAMES))


@pytest.fixture(scope="module")
def searches():
    return {metric: of_labels(metric) for metric in ("f1_macro", "f1_micro")}


@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro"])
def test_each_label_has_a_monitor_and_a_part_of_alpha(searches, metric):
    search = searches[metric]
    pred, monitor = search.predict(X), search.monitor("f1 >= 0.5", alpha=0.06)
    assert isinstance(monitor, MonitorGroup)
    assert list(monitor.monitors) == [f"f1[{name}]" for name in NAMES]
    assert monitor.update(Y, pred, name="June") is False
    for k, each in enumerate(monitor.monitors.values()):
        assert each.alpha == pytest.approx(0.02)
        assert each.value == pytest.approx(f1_score(Y[:, k], pred[:, k]))
    worse = np.column_stack([Y[:, 0], 1 - Y[:, 1], 1 - Y[:, 2]])
    assert monitor.update(worse, pred, name="July") == "f1[dog]: July"
    assert monitor.alarm == "f1[dog]: July"
    assert monitor.report().startswith("3 monitors: ALARM, first f1[dog]: July\n\nf1[cat] >= 0.5: no evidence")
    assert [name for name, _, _ in monitor.history["f1[owl]"]] == ["June", "July"]


def test_a_label_is_one_search_with_a_part_of_alpha(searches):
    """By hand: the monitor of its own search."""
    search = searches["f1_macro"]
    pred, group = search.predict(X), search.monitor(alpha=0.06)
    group.update(Y, pred)
    for k, (name, each) in enumerate(group.monitors.items()):
        alone = search.searches_[k].monitor(alpha=0.02)
        alone.update(Y[:, k], pred[:, k])
        assert name == f"f1[{NAMES[k]}]"
        assert (each.level, each.capital, each.interval) == (alone.level, alone.capital, alone.interval)


@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro"])
def test_labels_are_named(searches, metric):
    search = searches[metric]
    monitor = search.monitor("recall[owl] >= 0.1, precision[cat] >= 0.1, recall[cat] >= 0.1")
    assert list(monitor.monitors) == ["recall[owl]", "precision[cat]", "recall[cat]"]
    monitor.update(Y, search.predict(X), sample_weight=np.ones(800))
    assert monitor.monitors["recall[owl]"].n_samples == 800
    with pytest.raises(ValueError, match=r"there is no 'cow'; accepted: \['cat', 'dog', 'owl'\]"):
        search.monitor("recall[cow] >= 0.5")
    with pytest.raises(ValueError, match="twice of one metric"):
        search.monitor("recall >= 0.1, recall[cat] >= 0.2")


def test_what_was_promised_of_labels_is_watched():
    pandas = pytest.importorskip("pandas")
    frame, options = pandas.DataFrame(Y, columns=NAMES), QUICK | {"confidence": 0.8}
    search = CostSearch(LogisticRegression(), "f1_macro", constraint="recall[cat] >= 0.05", **options).fit(X, frame)
    assert list(search.monitor().monitors) == ["recall[cat]"]
    search = CostSearch(LogisticRegression(), "f1_micro", constraint="fpr <= 0.9", **options).fit(X, frame)
    monitor, pred = search.monitor(), search.predict(X)
    monitor.update(Y, pred)
    assert monitor.demand == "fpr_micro <= 0.9"
    assert monitor.value == pytest.approx(pred[Y == 0].mean())
    assert monitor.interval[0] < monitor.value < monitor.interval[1]


def test_two_constraints_of_two_classes_share_alpha():
    data, y = make_classification(600, weights=[0.8], random_state=0)
    search = CostSearch(LogisticRegression(), **QUICK).fit(data, y)
    monitor, pred = search.monitor("precision >= 0.2, recall >= 0.9"), search.predict(data)
    alone = search.monitor("recall >= 0.9", alpha=0.025)
    alarm = monitor.update(y, np.where(np.arange(600) % 2, pred, 0))
    alone.update(y, np.where(np.arange(600) % 2, pred, 0))
    assert (alarm, monitor.monitors["recall"].capital) == (f"recall: {alone.alarm}", alone.capital)


def test_labels_that_are_missing_or_late_count_as_in_each(searches, tmp_path):
    search, rng, rows = searches["f1_macro"], np.random.default_rng(0), np.arange(800)
    pred, path = search.predict(X), tmp_path / "labels.json"
    missing = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    at_once = search.monitor("f1 >= 0.2")
    at_once.update(missing, pred)
    assert [each.n_samples for each in at_once.monitors.values()] == (~np.isnan(missing)).sum(axis=0).tolist()
    late = search.monitor("f1 >= 0.2", path=path)
    late.expect(pred, rows=rows, name="June")
    assert (late.n_waiting, len(late.awaited)) == (1, 800)
    for part in (missing, Y):
        late.update(part, rows=rows)
    assert late.n_waiting == 0
    whole = search.monitor("f1 >= 0.2")
    whole.update(Y, pred)
    again = search.monitor("f1 >= 0.2", path=path)
    for name, each in whole.monitors.items():
        assert again.monitors[name].capital == each.capital


def test_an_update_that_fails_counts_for_no_label(searches, tmp_path):
    search, path = searches["f1_macro"], tmp_path / "labels.json"
    pred, monitor = search.predict(X), search.monitor("f1 >= 0.2", path=path)
    monitor.update(Y, pred, name="June")
    odd, before = Y.copy(), path.read_bytes()
    odd[3, 2] = 7
    with pytest.raises(ValueError, match=r"y holds the labels \[7\]"):
        monitor.update(odd, pred)
    with pytest.raises(ValueError, match="'June' with these labels and predictions was counted before"):
        monitor.update(Y, pred, name="June")
    assert [each.n_samples for each in monitor.monitors.values()] == [800] * 3
    assert path.read_bytes() == before
    for labels in (Y[:, :2], Y[:, 0]):
        with pytest.raises(ValueError, match="must have a column for each of 3 labels"):
            monitor.update(labels, pred)


def test_a_file_of_others_is_refused(searches, tmp_path):
    search, path = searches["f1_macro"], tmp_path / "labels.json"
    search.monitor("f1 >= 0.2", path=path).update(Y, search.predict(X))
    with pytest.raises(ValueError, match=r"is of the monitors \['f1\[cat\]', .* it was left as it is"):
        search.monitor("recall >= 0.2", path=path)
    with pytest.raises(ValueError, match=r"has level=0\.2, not 0\.3; it was left as it is"):
        search.monitor("f1 >= 0.3", path=path)
    with pytest.raises(ValueError, match="is of another model"):
        searches["f1_micro"].monitor("f1 >= 0.2", path=path)
    with pytest.raises(ValueError, match="is not a csf-monitor file"):
        search.searches_[0].monitor("f1 >= 0.2", path=path)
    content = json.loads(path.read_text(encoding="utf-8"))
    for name, value in (("alarm", 3), ("monitors", None), ("monitors", []), ("monitors", {"f1[cat]": 3})):
        crafted = {key: each for key, each in content.items() if key != "sha256"} | {name: value}
        crafted["sha256"] = hashlib.sha256(json.dumps(crafted, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps(crafted), encoding="utf-8")
        with pytest.raises(ValueError, match="it was left as it is"):
            search.monitor("f1 >= 0.2", path=path)


def test_all_are_drawn_in_one_figure(searches):
    pytest.importorskip("matplotlib")
    search = searches["f1_macro"]
    monitor = search.monitor("f1 >= 0.2")
    monitor.update(Y, search.predict(X))
    displays = monitor.plot()
    assert [each.ax_.get_ylabel() for each in displays.values()] == [f"f1[{name}]" for name in NAMES]
    assert len({id(each.figure_) for each in displays.values()}) == 1
