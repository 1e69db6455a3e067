"""The largest study of oversampling, run again so that no method sees the rows it is judged on.

G. Kovács compared 85 oversamplers on 104 sets (Applied Soft Computing 83, 2019, 105662). ``python -m tests.benchmarks
kovacs --out FILE`` judges by three times five folds, as the study did, and chooses everything inside the training rows.
Sets and oversamplers are packages of the study's author, see `tests.benchmarks.kovacs_sets`; where they are
missing, nothing is measured and the reason is printed. No default of csf was chosen by this table, but 42 of the sets
are also among those by which defaults were chosen; ``unseen families`` are the 16 of which none is.

- ``csf``: one ``CostSearch`` of ``LinearSVC``, nearest neighbours and a tree, three of the four families of the study
  (its fourth is a neural network); ``csf, LightGBM too``: one of logistic regression, a forest and LightGBM.
- ``as it is``: the best of nine candidates of the same three families (seven values of C), on the folds of csf;
  ``exact threshold``: the best with the best threshold of all pooled held-out scores, the careful rival.
- ``SMOTE`` and other oversamplers: the same, each training part oversampled until the classes are equal.
- ``tuned``: the family whose ``TunedThresholdClassifierCV`` has the best score.
- ``published``: of each oversampler the maximum over up to 35 settings and all settings of each classifier on the
  judged folds, averaged over four families and 104 sets. It is no rival: what it chooses, it has seen.

F1 and G-mean (x 100) are those of the pooled decisions of five folds, and means over repeats; each metric has its own
choice. Differences are paired, on the repeats that both methods have. ``by set`` is the mean over sets, ``by family``
that over the means of 31 families, as sets of one family share rows; both intervals (95 %, bootstrap) resample the
families. ``careful minus it`` compares with the exact threshold, by family. ``expected`` is the mean of
``corrected_score_``, beside the mean of what it estimates, the values of single test folds. ``seconds``: processor time
of a fold, for both metrics where their trainings are the same. ``--by family`` and ``--by set`` print the differences.
"""

import argparse
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import bootstrap

from csf._common.files import locked
from notebooks.experiments.choices import family
from notebooks.experiments.published import KOVACS_2019
from tests.benchmarks.kovacs_methods import CAREFUL, CSF, METRICS, STAGES, measure, value_of
from tests.benchmarks.kovacs_sets import SEEN, missing_packages, study_sets
from tests.benchmarks.tables import print_table

__all__ = ["differences", "differences_by", "main", "read_rows", "run", "summary"]

FOLDS, REPEATS = 5, 3
KEY = ("stage", "set", "repeat", "fold")


# ------------------------------------------------------------------------------------------------------ measurements


def read_rows(path):
    """Finished folds of a file, each once; a line that a killed process left unfinished is not one."""
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else ():
        with suppress(json.JSONDecodeError):
            row = json.loads(line)
            rows[tuple(row[name] for name in KEY)] = row
    return list(rows.values())


def add_row(path, row):
    """Append one finished fold; other processes may write to the file at the same time."""
    with locked(path), path.open("a", encoding="utf-8") as file:
        # A line that was cut off stays one by itself.
        file.write(f"\n{json.dumps(row)}\n")


def run(sets, stages, repeats, path=None, n_jobs=1):
    """Measure the folds that the file does not have, all stages of one set after the other; return all of them."""
    rows = read_rows(path)
    for repeat in range(repeats):
        for data in sets:
            for stage in stages:
                # Other processes may have written to the file.
                rows = read_rows(path) if path else rows
                done = {tuple(row[name] for name in KEY) for row in rows if "error" not in row}
                folds = [at for at in range(FOLDS) if (stage, data.name, repeat, at) not in done]
                calls = (delayed(measure)(stage, data, repeat, at) for at in folds)
                for row in Parallel(n_jobs, return_as="generator_unordered")(calls):
                    rows.append(row)
                    if path:
                        add_row(path, row)
    return rows


# ------------------------------------------------------------------------------------------------------------ tables


def pooled(rows, metric):
    """Values x 100 where all folds of a repeat are there: method -> (set, repeat) -> value."""
    counts = {}
    for row in rows:
        for method, of_metric in row.get("counts", {}).items():
            if metric in of_metric:
                counts.setdefault(method, {}).setdefault((row["set"], row["repeat"]), []).append(of_metric[metric])
    return {
        method: {
            key: 100.0 * value_of(metric, np.sum(folds, axis=0)) for key, folds in keys.items() if len(folds) == FOLDS
        }
        for method, keys in counts.items()
    }


def by_set(values):
    """Means over repeats."""
    groups = {}
    for (name, _), value in values.items():
        groups.setdefault(name, []).append(value)
    return {name: float(np.mean(group)) for name, group in groups.items()}


def differences(first, second):
    """Difference of two methods on each set, over the repeats that both have."""
    return by_set({key: first[key] - second[key] for key in first if key in second})


def by_family(sets):
    """Values of the sets of each family."""
    groups = {}
    for name, value in sets.items():
        groups.setdefault(family(name), []).append(value)
    return groups


def interval(totals, sizes):
    """Sum of totals over that of sizes, and its 95 % interval when families are drawn again."""
    totals, sizes = np.asarray(totals, dtype=float), np.asarray(sizes, dtype=float)
    mean = totals.sum() / sizes.sum()
    if np.ptp(totals - mean * sizes) < 1e-12:
        return float(mean), float(mean), float(mean)
    limits = bootstrap(
        (totals, sizes),
        lambda total, size, axis: total.sum(axis=axis) / size.sum(axis=axis),
        paired=True,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(mean), float(limits.low), float(limits.high)


def _text(triple):
    mean, low, high = (f"{value:+.1f}".replace("-", "−") for value in triple)
    return f"{mean} [{low}, {high}]"


def mean_by_set(sets):
    """Mean over sets and its interval, as text."""
    groups = list(by_family(sets).values())
    return _text(interval([sum(group) for group in groups], [len(group) for group in groups]))


def mean_by_family(sets):
    """Mean over the means of families and its interval, as text."""
    means = [float(np.mean(group)) for group in by_family(sets).values()]
    return _text(interval(means, np.ones(len(means))))


def _won_lost(sets):
    means = np.array([np.mean(group) for group in by_family(sets).values()])
    return f"{np.sum(means > 0.05)} : {np.sum(means < -0.05)}"


def _expected(rows, method, metric):
    """Mean of what searches expect, and of the values of the folds."""
    searches = [row for row in rows if "expected" in row and metric in row["counts"].get(method, {})]
    if not searches:
        return "-"
    values = [value_of(metric, row["counts"][method][metric]) for row in searches]
    return f"{100 * np.mean([row['expected']['corrected'] for row in searches]):.1f} ({100 * np.mean(values):.1f})"


def _line(method, metric, values, rows):
    """One method beside csf and the careful rival."""
    known, seconds = values[method], [row["seconds"] for row in rows if metric in row.get("counts", {}).get(method, {})]
    gains, careful = differences(values[CSF], known), differences(values.get(CAREFUL, {}), known)
    sets, unseen = by_set(known), {name: gain for name, gain in gains.items() if family(name) not in SEEN}
    return {
        "method": method,
        "sets": len(sets),
        "repeats": f"{len(known) / len(sets):.3g}",
        METRICS[metric]: f"{np.mean(list(sets.values())):.1f}",
        "csf minus it, by set": "-" if method == CSF else mean_by_set(gains),
        "by family": "-" if method == CSF else mean_by_family(gains),
        "unseen families": "-" if method == CSF or not unseen else mean_by_family(unseen),
        "families won : lost": "-" if method == CSF else _won_lost(gains),
        "careful minus it": "-" if method == CAREFUL or not careful else mean_by_family(careful),
        "expected (of a fold)": _expected(rows, method, metric),
        "seconds": f"{np.mean(seconds):.2f}",
    }


def summary(rows, metric):
    """Lines of the table: csf, all other methods beside it, and what the study reports."""
    values = {method: known for method, known in pooled(rows, metric).items() if known}
    if CSF not in values:
        return
    for method in sorted(values, key=lambda name: name != CSF):
        line = _line(method, metric, values, rows)
        yield line
    for oversampler, published in KOVACS_2019[metric].items():
        known = {"method": f"published: {oversampler}", "sets": 104, "repeats": 3, METRICS[metric]: published}
        yield dict.fromkeys(line, "-") | known


def differences_by(what, rows, metric):
    """A line for each family or set: csf minus each method."""
    values = {method: known for method, known in pooled(rows, metric).items() if known}
    csf = values.pop(CSF, {})
    gains = {method: differences(csf, known) for method, known in values.items()}
    groups = {method: by_family(sets) if what == "family" else sets for method, sets in gains.items()}
    for name in sorted({name for group in groups.values() for name in group}):
        cells = {method: f"{np.mean(group[name]):+.1f}" if name in group else "-" for method, group in groups.items()}
        yield {what: name} | cells


def main(arguments=None):
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks kovacs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stages", nargs="*", default=list(STAGES), choices=list(STAGES), help="what to measure (all)")
    parser.add_argument("--sets", nargs="*", help="names of sets (all)")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="how often five folds are drawn (3)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--by", choices=("family", "set"), help="print differences by family or set as well")
    parser.add_argument("--out", type=Path, help="file of finished folds; what it has is not measured again")
    options = parser.parse_args(arguments)
    reason = missing_packages()
    if reason:
        print(f"skipped: {reason}")
        return
    rows = run(study_sets(options.sets), options.stages, options.repeats, options.out, options.jobs)
    for metric in METRICS:
        print_table(summary(rows, metric))
        if options.by:
            print_table(differences_by(options.by, rows, metric))
    for row in rows:
        if "error" in row:
            print(f"failed: {row['stage']} on {row['set']}, repeat {row['repeat']}, fold {row['fold']}: {row['error']}")


if __name__ == "__main__":
    main()
