"""What settings of boosters save where the metric is money, beside fewer rounds alone.

``python -m tests.benchmarks money``: real sets with costs by row, natural ones or of the usual form; some rows are
drawn to search on, and the rest judges. ``rounds`` is the search with fewer rounds as its only settings, ``settings``
the default. Savings are in per cent, differences are paired by draw, and ``±`` is their standard error. The sets of the
package empulse take part where it is installed. ``--base`` takes other boosters, and ``forest`` three sizes of leaves.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit

from csf import CostSearch
from csf.search.config import settings_of
from tests.benchmarks import row_costs
from tests.benchmarks.data import data_folder, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["compared", "load", "sets"]

# Most rows that judge.
MOST = 20_000
FOREST = {"min_samples_leaf": [1, 3, 10]}


def costs_of(y, fn, fp, tp=0.0):
    """Costs of all rows."""
    given = {"fn_cost": fn, "fp_cost": fp, "tp_cost": tp, "tn_cost": 0.0}
    return {name: np.broadcast_to(np.asarray(each, dtype=float), y.shape).copy() for name, each in given.items()}


def club_loan():
    """Loans of 36 months: 75 % of the principal is lost by default, and the interest by a refusal."""
    frame = pd.read_csv(data_folder() / "scales" / "club_loan.csv.gz").drop(columns="fold")
    y, monthly, rate = frame.pop("target").to_numpy(), frame["installment"].to_numpy(), frame["int.rate"].to_numpy()
    principal = monthly * (1.0 - (1.0 + rate / 12) ** -36) / (rate / 12)
    return frame, y, costs_of(y, 0.75 * principal, 36 * monthly - principal)


def coil():
    """Letters that cost 1 for a policy that is worth 12."""
    frame = pd.read_csv(data_folder() / "scales" / "coil_2000.csv.gz").drop(columns="fold")
    y = frame.pop("target").to_numpy()
    return frame, y, costs_of(y, 12.0, 1.0, 1.0)


def adult():
    """A missed one costs as much as five false alarms."""
    X, y = load_binary("adult")
    return pd.DataFrame(X.toarray()), y, costs_of(y, 5.0, 1.0)


def empulse_file(name, **options):
    """A file of the package empulse."""
    return pd.read_csv(Path(find_spec("empulse").origin).parent / "datasets" / "data" / f"{name}.csv.gz", **options)


def tv():
    """Churn of television subscribers, with the costs of its authors."""
    frame = empulse_file("churn_tv_subscriptions").drop(columns="id")
    costs = {f"{name}_cost": frame.pop(f"C_{name.upper()}").to_numpy() for name in ("fn", "fp", "tp", "tn")}
    return frame.drop(columns="target"), frame["target"].to_numpy().astype(int), costs


def pakdd():
    """Credit cards: three incomes are lost by default; a refusal loses the profit and costs an average one."""
    frame = empulse_file("creditscoring2", sep="\t", encoding="latin1", dtype=str)
    y = pd.to_numeric(frame["TARGET_LABEL_BAD=1"], errors="coerce")
    frame, y = frame[y.notna()], y[y.notna()].to_numpy().astype(int)
    columns = {}
    for name in frame.columns.drop("TARGET_LABEL_BAD=1"):
        numbers = pd.to_numeric(frame[name].str.replace(",", "."), errors="coerce")
        if name.startswith(("ID_", "Unnamed")) or frame[name].nunique() < 2:
            continue
        if numbers.notna().mean() > 0.9:
            columns[name] = numbers.fillna(-1.0)
        elif frame[name].nunique() <= 15:
            columns[name] = frame[name].fillna("?")
    line = 3 * columns["PERSONAL_NET_INCOME"].clip(100, 10_000).to_numpy()
    return pd.DataFrame(columns), y, costs_of(y, 0.75 * line, 0.28 * line + 0.05 * line.mean())


def vub():
    """Loans: 75 % of an amount is lost by default, and 10 % by a refusal."""
    frame = empulse_file("vub_credit_scoring").apply(pd.to_numeric, errors="coerce")
    y = frame["Default_45"].to_numpy().astype(int)
    frame = frame.drop(columns=["ID", "Test_set1", "Test_set2", "Test_set3", "Days_late", "Default_45"])
    frame = frame.fillna(frame.median())
    amount = np.exp(0.5 * frame["Loan_amount"].to_numpy())
    return frame, y, costs_of(y, 0.75 * amount, 0.1 * amount)


OTHERS = {"club_loan": club_loan, "coil": coil, "adult": adult}
OF_EMPULSE = {"tv": tv, "pakdd": pakdd, "vub": vub}


def sets():
    """Names of the sets that are there."""
    return [*row_costs.SETS, *OTHERS, *(OF_EMPULSE if find_spec("empulse") else ())]


def load(name):
    """Samples, targets and costs of a set."""
    return row_costs.load(name) if name in row_costs.SETS else (OTHERS | OF_EMPULSE)[name]()


def base_of(kind):
    """A booster, or a forest."""
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, random_state=0)
    if kind == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(verbose=0, thread_count=1, random_seed=0, allow_writing_files=False)
    if kind == "histograms":
        return HistGradientBoostingClassifier(random_state=0)
    return RandomForestClassifier(random_state=0)


def searches(base, y):
    """The search as it was before settings were raced, and as it is."""
    if isinstance(base, RandomForestClassifier):
        return {"before": CostSearch(base, "savings"), "now": CostSearch(base, "savings", param_grid=FOREST)}
    own = [{name: [value] for name, value in each.items()} for each in settings_of("auto", base, n_samples=y.size)]
    # The default without param_grid of these rounds; one number alone is searched on other folds.
    folds, few = (5 if len(own) > 1 else 4), min(np.bincount(y)) < 500
    cv = RepeatedStratifiedKFold(n_splits=folds if few else 5, n_repeats=1 + few, random_state=0)
    return {"before": CostSearch(base, "savings", param_grid=own, cv=cv), "now": CostSearch(base, "savings")}


def drawn(name, kind, seed, n_rows):
    """Savings on the rest, corrected ones and processor time of both searches, on one draw of rows."""
    X, y, costs = load(name)
    size = min(n_rows, y.size // 2)
    splitter = StratifiedShuffleSplit(1, train_size=size, test_size=min(MOST, y.size - size), random_state=seed)
    train, test = next(splitter.split(X, y))
    before = row_costs.prepared().fit(X.iloc[train])
    seen, rest = (before.transform(X.iloc[at]) for at in (train, test))
    there, here = ({key: each[at] for key, each in costs.items()} for at in (train, test))
    found = {}
    for which, search in searches(base_of(kind), y[train]).items():
        start = time.process_time()
        fitted = clone(search).fit(seen, y[train], **there)
        seconds = time.process_time() - start
        saved = row_costs.savings(here, y[test], fitted.predict(rest, **here))
        found[which] = (100 * saved, 100 * fitted.corrected_score_, seconds, fitted.best_params_)
    return found


def compared(name, kind, seeds, n_rows):
    """A row of the table: the means over draws of a set."""
    draws = [drawn(name, kind, seed, n_rows) for seed in range(seeds)]
    before, now = (np.array([each[which][:3] for each in draws]) for which in ("before", "now"))
    gain = now[:, 0] - before[:, 0]
    return {
        "set": name,
        "before": before[:, 0].mean(),
        "now": now[:, 0].mean(),
        "gain": gain.mean(),
        "gains": gain,
        "corrected - test, before": (before[:, 1] - before[:, 0]).mean(),
        "corrected - test": (now[:, 1] - now[:, 0]).mean(),
        "times the processor time": now[:, 2].sum() / before[:, 2].sum(),
        "seconds": now[:, 2].mean(),
    }


def table(names, kind, seeds, n_rows):
    """Rows of the table, and that of their means."""
    rows = []
    for name in names:
        rows.append(compared(name, kind, seeds, n_rows))
        yield shown(rows[-1])
    mean = {key: np.mean([row[key] for row in rows]) for key in rows[0] if key not in ("set", "gains")}
    yield shown({"set": "mean"} | mean | {"gains": np.concatenate([row["gains"] for row in rows])})


def shown(row):
    """A row as text, with the error of the gain instead of all gains."""
    gains, texts = row["gains"], {key: f"{value:.2f}" for key, value in row.items() if key not in ("set", "gains")}
    error = gains.std(ddof=1) / np.sqrt(gains.size) if gains.size > 1 else np.nan
    return {"set": row["set"]} | texts | {"gain": f"{row['gain']:+.2f} ± {error:.2f}"}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=sets(), default=sets(), help="sets (all that are there)")
    parser.add_argument(
        "--base", choices=("lightgbm", "xgboost", "catboost", "histograms", "forest"), default="lightgbm"
    )
    parser.add_argument("--seeds", type=int, default=3, help="draws of each set (3)")
    parser.add_argument("--rows", type=int, default=4000, help="rows that are drawn, at most half of a set (4000)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(table(options.sets, options.base, options.seeds, options.rows))


if __name__ == "__main__":
    main()
