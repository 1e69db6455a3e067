"""Options of csf search in pairs, on tables of several kinds: a model that fits what is printed, or one clear line."""

import csv
import itertools
import json
import re

import numpy as np
import pytest

from csf.cli.predict import load_model

pytest.importorskip("skops")
pytest.importorskip("pandas")
AllPairs = pytest.importorskip("allpairspy").AllPairs


N_ROWS = 80
# Both labels of each table, the positive one first; ``other`` has a third one that is joined with the second.
LABELS = {
    "numbers": ("1", "0"),
    "words": ("None", "paid"),
    "large": ("9007199254740993", "9007199254740992"),
    "other": ("churn", "not churn"),
    "few": ("yes", "no"),
}
# The first value of each option is its default, where that is quick.
OPTIONS = {
    "table": list(LABELS),
    "--metric": ["f1", "gmean", "accuracy", "mcc", "recall"],
    "--threshold": [None, "tune", "none"],
    "--strategy": [None, "cone", "support", "imbalance_ratio"],
    "--constraint": [None, "precision >= 0.3", "fpr <= 0.4"],
    "--confidence": [None, "0.6"],
    "--base": [None, "logistic", "hist-gradient-boosting"],
    "--sample-weight": [None, "weight"],
    "--param": [None, "C=0.5,2"],
    "--trials": ["2", "4"],
    "--cv": ["3", "0.3"],
    "--test-size": [None, "0"],
    "--normalize": [None, "none"],
    "--bound": [None, "diagonal", "envelope"],
    "--tol": [None, "0.05"],
    "--time-limit": [None, "1e-6", "60"],
    "--rule": [None, "rule.json"],
    "--report": [None, "report.html"],
    "--checkpoint": [None, "checkpoint.json"],
}
DEFAULTS = {option: values[0] for option, values in OPTIONS.items()}
LINEAR = (None, "logistic")
# Pairs of options that cannot be, and what is said of them.
REFUSED = {
    "no C": ({"--base": "hist-gradient-boosting", "--param": "C=0.5,2"}, "--param: the base has no parameter 'C'"),
    "no demand": ({"--confidence": "0.6"}, "--confidence 0.6 needs a constraint"),
    "no cut": (
        {"--confidence": "0.6", "--constraint": "fpr <= 0.4", "--threshold": "none"},
        "--confidence 0.6 needs a threshold, 'stable' or 'tune'",
    ),
    "a bound for another metric": ({"--metric": "mcc", "--bound": "diagonal"}, "bound='support'"),
    "a bound under a constraint": ({"--constraint": "fpr <= 0.4", "--bound": "envelope"}, "bound='support'"),
}


def is_possible(chosen):
    """Whether options can go together."""
    bound, constraint, linear = chosen["--bound"], chosen["--constraint"], chosen["--base"] in LINEAR
    return not (
        (not linear and chosen["--param"])
        or (chosen["--confidence"] and (constraint is None or chosen["--threshold"] == "none"))
        or (bound and (constraint or chosen["--metric"] not in ("f1", "accuracy")))
    )


def pairs_of(chosen):
    return {frozenset(two) for two in itertools.combinations(chosen.items(), 2)}


def possible_pairs():
    """Pairs of values that can go together, the other options being as is best for them."""
    ways = [{}, {"--constraint": "fpr <= 0.4"}, {"--metric": "f1"}]
    for (first, values), (second, others) in itertools.combinations(OPTIONS.items(), 2):
        for one, other in itertools.product(values, others):
            rows = (DEFAULTS | way | {first: one, second: other} for way in ways)
            if row := next(filter(is_possible, rows), None):
                yield frozenset([(first, one), (second, other)]), row


def rows_of_pairs():
    """Choices in which all pairs of values occur that can go together."""

    def fits(values):
        return len(values) < 2 or is_possible(DEFAULTS | dict(zip(OPTIONS, values)))

    rows = [dict(zip(OPTIONS, values)) for values in AllPairs(list(OPTIONS.values()), filter_func=fits)]
    rows = [row for row in rows if is_possible(row)]
    seen = set().union(*map(pairs_of, rows))
    # Where values exclude each other the package ends in front of choices that it cannot finish.
    for pair, row in possible_pairs():
        if pair not in seen:
            for option, values in OPTIONS.items():
                choices = [row | {option: value} for value in values if option not in dict(pair)]
                row = max([row, *filter(is_possible, choices)], key=lambda choice: len(pairs_of(choice) - seen))
            rows.append(row)
            seen |= pairs_of(row)
    return rows


PAIRS = rows_of_pairs()


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables with numbers, gaps, a category and weights, by name."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    for name, (positive, null) in LABELS.items():
        a, b = rng.normal(size=(2, N_ROWS))
        noisy = a + 0.5 * rng.normal(size=N_ROWS)
        is_pos = noisy > np.sort(noisy)[-8 if name == "few" else -25]
        labels = np.where(is_pos, positive, null)
        if name == "other":
            labels = np.where(is_pos, positive, rng.choice(["stay", "pause"], N_ROWS))
        city = rng.choice(["Rome", "Oslo", ""], N_ROWS)
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["a", "b", "city", "weight", "label"])
            for row in zip(a, b, city, rng.integers(1, 4, N_ROWS), labels, strict=True):
                rows.writerow(["" if rng.random() < 0.05 and at < 2 else cell for at, cell in enumerate(row)])
    return folder


def command_of(chosen, tables, folder):
    """Words of a command."""
    words = ["search", tables / f"{chosen['table']}.csv", "--target", "label", "--positive", LABELS[chosen["table"]][0]]
    for name, value in chosen.items():
        if name != "table" and value is not None:
            words += [name, folder / value if name in ("--rule", "--report", "--checkpoint") else value]
    if chosen["--base"] not in LINEAR:
        words += ["--param", "max_iter=5"]
    return [*words, "--verbose", "--save", folder / "model.skops", "--json", folder / "all.json"]


def number_of(value):
    """A number of the JSON file, where infinite ones are texts."""
    return None if value is None else float(value)


@pytest.mark.slow
@pytest.mark.parametrize("chosen", PAIRS, ids=range(len(PAIRS)))
def test_a_search_gives_a_model_that_fits_what_it_prints(run, tables, tmp_path, chosen):
    code, out, err = run(*command_of(chosen, tables, tmp_path))
    *warned, last = err.splitlines() or [""]
    assert all(line.startswith("csf: warning: ") for line in warned)
    assert "Traceback" not in err
    assert code == 0, last
    search, _ = load_model(tmp_path / "model.skops")
    report = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    winner = report["winner"]
    assert number_of(winner["threshold"]) == search.best_threshold_
    assert winner["out_of_fold"] == search.best_score_
    assert f"{report['options']['metric']} out-of-fold, the largest of many" in out
    assert len(report["trials"]) == search.n_trials_
    assert ("left out, the time limit" in out) == (chosen["--time-limit"] == "1e-6" and chosen["--test-size"] is None)
    if chosen["--threshold"] == "none":
        assert "Threshold of the score: the base's own decision." in out
    elif search.best_threshold_ is not None:
        shown = re.search(r"if the score is at least (\S+)", " ".join(out.split()))[1].rstrip(".")
        assert float(shown) == pytest.approx(search.best_threshold_, rel=1e-3)
    for name in ("--rule", "--report", "--checkpoint"):
        assert chosen[name] is None or (tmp_path / chosen[name]).exists()
    code, out, err = run("predict", tmp_path / "model.skops", tables / f"{chosen['table']}.csv")
    assert (code, err) == (0, "")
    predicted = [row["prediction"] for row in csv.DictReader(out.splitlines())]
    assert len(predicted) == N_ROWS
    assert set(predicted) <= set(LABELS[chosen["table"]])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_go_together_is_said_in_one_line(run, tables, tmp_path, name):
    options, message = REFUSED[name]
    chosen = DEFAULTS | options
    assert not is_possible(chosen)
    code, _, err = run(*command_of(chosen, tables, tmp_path))
    assert code == 2
    assert err.startswith("csf: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not list(tmp_path.iterdir())


def test_all_pairs_are_there():
    assert {pair for pair, _ in possible_pairs()} <= set().union(*map(pairs_of, PAIRS))
    assert all(map(is_possible, PAIRS))
