"""Thirty sets of a published study, in its folds: F1 of ``CostSearch(base)`` beside what the study reports.

``python -m tests.benchmarks published --out FILE`` prints one table. The sets are those of "Balancing the Scales"
(arXiv 2409.19751), with the study's five outer folds: CSV files in ``scales`` of the folder that ``CSF_DATA`` names,
beside a MANIFEST.md with the study's F1 of logistic regression. They are for reporting only: no default was chosen by
them. The base is the last step of a pipeline that fills in means, standardises, and makes columns of categories.

- ``csf``: ``CostSearch(base)``; ``corrected`` is the mean of its ``corrected_score_``, what it expects of new data.
- ``plain``: the base by itself; ``tuned``: ``TunedThresholdClassifierCV(base, scoring="f1")``.
- ``published``: the study's threshold, tuned on a tenth of the training part in steps from 0.05 to 0.5. The study gives
  it for each set with logistic regression; over all thirty sets also with an SVM (0.591) and LightGBM (0.650).
- ``csf - method``: mean difference over sets with its 95 % interval (Student's t; F1 of a set is the mean of its
  folds), and how many sets are won and lost by more than 0.0005.
- ``seconds``: processor time of one fit, on average.

``--figure FILE`` draws a line for each set, from the F1 of logistic regression as it is to that of csf.
"""

import argparse
import itertools
import json
import re
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from csf import CostSearch
from notebooks.experiments.report import new_figure
from tests.benchmarks.data import data_folder
from tests.benchmarks.tables import print_table

__all__ = ["bases", "difference", "draw_gains", "main", "measure", "model_of", "published_by_set", "sets", "summary"]

FOLDS = range(5)
METHODS = ("csf", "plain", "tuned")
# Logistic regression, a forest and LightGBM in one search, which has no rival.
SEVERAL = "several"
# Smaller differences of F1 are none.
EQUAL = 5e-4


def bases():
    """Makers of the classifiers, by name; LightGBM where it is installed."""
    found = {"logistic": lambda: LogisticRegression(max_iter=2000), "LinearSVC": LinearSVC}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    found["LightGBM"] = lambda: LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    forest = partial(RandomForestClassifier, random_state=0, n_jobs=1)
    return found | {SEVERAL: lambda: [found["logistic"](), forest(), found["LightGBM"]()]}


def _folder():
    folder = data_folder()
    if folder is None or not (folder / "scales").is_dir():
        raise SystemExit("no data sets: set the environment variable CSF_DATA to a folder with the folder scales")
    return folder / "scales"


def sets(names=None):
    """Name, features (a frame), target and fold of each set."""
    known = {path.name.removesuffix(".csv.gz"): path for path in sorted(_folder().glob("*.csv.gz"))}
    for name in names or known:
        if name not in known:
            raise SystemExit(f"there is no set {name!r}; accepted: {', '.join(known)}")
        frame = pd.read_csv(known[name], na_values=["?"])
        yield name, frame.drop(columns=["target", "fold"]), frame["target"].to_numpy(), frame["fold"].to_numpy()


def published_by_set():
    """The study's F1 of logistic regression with a tuned threshold."""
    lines = (_folder() / "MANIFEST.md").read_text(encoding="utf-8").splitlines()
    rows = [re.match(r"\| *(\w+) *\|.*\| *(0?\.\d+) *\|$", line) for line in lines]
    return {row[1]: float(row[2]) for row in rows if row}


def pipeline(base):
    """The base on filled in, standardised numbers and columns of categories."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns, base)


def model_of(method, make):
    """An unfitted classifier."""
    made = make()
    base = [pipeline(each) for each in made] if isinstance(made, list) else pipeline(made)
    if method == "tuned":
        return TunedThresholdClassifierCV(base, scoring="f1")
    return CostSearch(base, random_state=0) if method == "csf" else base


def measure(model, X, y, fold, at):
    """F1 and processor seconds of one outer fold; of a search what it expected as well."""
    train, test = np.flatnonzero(fold != at), np.flatnonzero(fold == at)
    start = time.process_time()
    model.fit(X.iloc[train], y[train])
    row = {"seconds": time.process_time() - start}
    row["f1"] = float(f1_score(y[test], model.predict(X.iloc[test]), zero_division=0.0))
    return row | ({"corrected": float(model.corrected_score_)} if isinstance(model, CostSearch) else {})


def difference(values):
    """Mean of paired differences with its 95 % interval, and how many are above and below 0."""
    values = np.asarray(values)
    text = f"{values.mean():+.3f}"
    if values.size > 1:
        half = student.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
        text += f" [{values.mean() - half:+.3f}, {values.mean() + half:+.3f}]"
    return f"{text}, {np.sum(values > EQUAL)} : {np.sum(values < -EQUAL)}"


def summary(cells, published):
    """Lines of the table: each method on the sets of which all folds are there, beside the search on these."""
    cells = pd.DataFrame(cells, columns=["base", "method", "set", "fold", "f1", "corrected", "seconds"])
    for base, of_base in cells.groupby("base", sort=False):
        whole = of_base.groupby(["method", "set"]).filter(lambda rows: len(rows) == len(FOLDS))
        f1 = whole.pivot_table(index="set", columns="method", values="f1")
        if "csf" not in f1:
            continue
        if base == "logistic":
            f1["published"] = f1.index.map(published)
        for method in f1.columns[f1.columns != "csf"].insert(0, "csf"):
            own = f1[method].dropna().index
            rows = whole[(whole["method"] == method) & whole["set"].isin(own)]
            both = f1.loc[own, ["csf", method]].dropna()
            yield {
                "base": base,
                "method": method,
                "sets": len(own),
                "mean F1": f"{f1.loc[own, method].mean():.3f}",
                "csf - method": "-" if method == "csf" else difference(both["csf"] - both[method]),
                "corrected": f"{rows['corrected'].mean():.3f}" if method == "csf" else "-",
                "seconds": "-" if rows.empty else f"{rows['seconds'].mean():.2f}",
            }


def draw_gains(cells, path, base="logistic"):
    """Draw a line for each set of which all folds are there, from the classifier as it is to the search."""
    from matplotlib.lines import Line2D

    from csf.plots.drawing import BLUE, GREY, ORANGE, tidy

    cells = pd.DataFrame([cell for cell in cells if cell["base"] == base])
    whole = cells.groupby(["method", "set"]).filter(lambda rows: len(rows) == len(FOLDS))
    f1 = whole.pivot_table(index="set", columns="method", values="f1")[["plain", "csf"]].dropna().sort_values("plain")
    figure = new_figure(9.0, 3.7)
    ax, at = figure.subplots(), np.arange(len(f1))
    better = (f1["csf"] > f1["plain"] - EQUAL).to_numpy()
    ax.vlines(at, f1["plain"], f1["csf"], colors=np.where(better, BLUE, ORANGE).tolist(), linewidth=2.5, alpha=0.6)
    ax.plot(at, f1["plain"], "o", color=GREY, markersize=5)
    for color, which in ((BLUE, better), (ORANGE, ~better)):
        ax.plot(at[which], f1["csf"][which], "o", color=color, markersize=6)
    ax.set_xticks(
        at,
        [name.removesuffix("_binarized").replace("_", " ") for name in f1.index],
        rotation=55,
        ha="right",
        fontsize=8,
    )
    ax.set(ylabel="F1 on held-out folds", ylim=(-0.03, 1.03), xlim=(-0.7, len(f1) - 0.3))
    dots = [(GREY, f"logistic regression, mean {f1['plain'].mean():.2f}"), (BLUE, f"csf, mean {f1['csf'].mean():.2f}")]
    dots += [] if better.all() else [(ORANGE, "csf where it is lower")]
    handles = [Line2D([], [], marker="o", linestyle="", color=color, label=text) for color, text in dots]
    ax.legend(handles=handles, frameon=False, loc="upper left")
    tidy(ax)
    figure.savefig(path, dpi=100)


def main(arguments=None):
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks published",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bases", nargs="*", default=list(bases()), choices=list(bases()), help="classifiers (all)")
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS, help="what is fitted (all)")
    parser.add_argument("--sets", nargs="*", help="names of sets (all)")
    parser.add_argument("--out", type=Path, help="file of figures; what it has is not measured again")
    parser.add_argument("--seconds", type=float, default=np.inf, help="processor time after which no set is begun")
    parser.add_argument("--figure", type=Path, help="picture of logistic regression as it is and with csf")
    options = parser.parse_args(arguments)
    cells = json.loads(options.out.read_text()) if options.out and options.out.exists() else []
    done = {(cell["base"], cell["method"], cell["set"], cell["fold"]) for cell in cells}
    warnings.simplefilter("ignore")
    start = time.process_time()
    for base, method in itertools.product(options.bases, options.methods):
        if base == SEVERAL and method != "csf":
            continue
        for name, X, y, fold in sets(options.sets):
            missing = [at for at in FOLDS if (base, method, name, at) not in done]
            if missing and time.process_time() - start > options.seconds:
                break
            for at in missing:
                with threadpool_limits(1):
                    row = measure(model_of(method, bases()[base]), X, y, fold, at)
                cells.append({"base": base, "method": method, "set": name, "fold": at} | row)
                if options.out:
                    options.out.write_text(json.dumps(cells))
    print_table(summary(cells, published_by_set()))
    if options.figure:
        draw_gains(cells, options.figure)


if __name__ == "__main__":
    main()
