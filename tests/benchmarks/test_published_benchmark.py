"""The table of the published study has its lines, and goes on where it stopped; nothing is said about F1 or times."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks import published


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "scales").mkdir()
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = np.arange(100) % 4 == 0
        frame = pd.DataFrame({"a": y + rng.normal(size=100), "b": np.where(y, "x", "y"), "c": rng.normal(size=100)})
        frame.loc[3, "a"], frame.loc[5, "b"] = np.nan, "?"
        frame["target"], frame["fold"] = y.astype(int), np.arange(100) // 4 % 5
        frame.to_csv(tmp_path / "scales" / f"{name}.csv.gz", index=False)
    lines = ["| set | rows | published |", "|---|---|---|", "| one | 100 | 0.5 |", "| two | 100 | 0.75 |"]
    (tmp_path / "scales/MANIFEST.md").write_text("\n".join(lines))
    monkeypatch.setenv("CSF_DATA", str(tmp_path))
    return tmp_path


def test_the_table(folder, monkeypatch, capsys):
    monkeypatch.setattr(published, "model_of", lambda method, make: method)
    figures, calls = {"plain": 0.25, "tuned": 0.5, "csf": 0.75}, []

    def measure(method, X, y, fold, at):
        calls.append((method, at))
        return {"f1": figures[method], "corrected": 0.7, "seconds": 2.0}

    monkeypatch.setattr(published, "measure", measure)
    options = ["--bases", "logistic", "--out", str(folder / "out.json")]
    published.main([*options, "--sets", "one"])
    published.main(options)
    assert calls == [(method, at) for method in published.METHODS for at in range(5)] * 2
    assert len(json.loads((folder / "out.json").read_text())) == 30
    published.main([*options, "--methods", "csf"])
    assert len(calls) == 30
    assert capsys.readouterr().out.strip().splitlines()[-4:] == [
        "| logistic | csf | 2 | 0.750 | - | 0.700 | 2.00 |",
        "| logistic | plain | 2 | 0.250 | +0.500 [+0.500, +0.500], 2 : 0 | - | 2.00 |",
        "| logistic | tuned | 2 | 0.500 | +0.250 [+0.250, +0.250], 2 : 0 | - | 2.00 |",
        "| logistic | published | 2 | 0.625 | +0.125 [-1.463, +1.713], 1 : 0 | - | - |",
    ]


def test_one_fold(folder):
    assert published.published_by_set() == {"one": 0.5, "two": 0.75}
    name, X, y, fold = next(published.sets())
    assert (name, X.shape, X["b"].isna().sum()) == ("one", (100, 3), 1)
    for method in ("csf", "plain"):
        row = published.measure(published.model_of(method, published.bases()["LinearSVC"]), X, y, fold, 0)
        assert row["f1"] > 0.5
        assert row["seconds"] > 0
        assert ("corrected" in row) == (method == "csf")
    assert published.model_of("tuned", published.bases()["logistic"]).scoring == "f1"


def test_sets_of_which_folds_are_missing_are_left_out():
    cells = [
        {"base": "logistic", "method": "csf", "set": "one", "fold": 0, "f1": 0.5, "corrected": 0.5, "seconds": 1.0}
    ]
    assert not list(published.summary(cells, {"one": 0.5}))
    assert not list(published.summary([], {}))


def test_each_set_is_a_line_from_the_plain_classifier_to_the_search(tmp_path, monkeypatch):
    drawn, figures = {"one": {"plain": 0.5, "csf": 0.75}, "two": {"plain": 0.25, "csf": 0.125}}, []
    cells = [
        {"base": "logistic", "method": method, "set": name, "fold": fold, "f1": value, "seconds": 1.0}
        for name, methods in drawn.items()
        for method, value in methods.items()
        for fold in range(5)
    ]
    # One fold of this set is missing.
    cells += [cell | {"set": "three"} for cell in cells[:9]]
    make = published.new_figure
    monkeypatch.setattr(published, "new_figure", lambda *size: figures.append(make(*size)) or figures[0])
    published.draw_gains(cells, tmp_path / "gains.png")
    assert (tmp_path / "gains.png").stat().st_size > 1000
    (ax,) = figures[0].axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["two", "one"]
    lines = ax.collections[0].get_segments()
    assert np.allclose(lines, [[[0, 0.25], [0, 0.125]], [[1, 0.5], [1, 0.75]]])
    assert "mean 0.38" in ax.get_legend().get_texts()[0].get_text()


def test_unknown_sets_and_missing_data_are_named(folder, monkeypatch):
    with pytest.raises(SystemExit, match="there is no set 'three'; accepted: one, two"):
        list(published.sets(["three"]))
    monkeypatch.setenv("CSF_DATA", str(folder / "nowhere"))
    with pytest.raises(SystemExit, match="CSF_DATA"):
        published.published_by_set()
