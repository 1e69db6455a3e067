"""Whether LIBLINEAR's own package would train models with an L1 penalty faster than scikit-learn's copy of it does.

``python -m tests.benchmarks l1`` prints one table. Both train at equal costs and at costs of 3 to 1, in turns, in
processor time. LIBLINEAR is handed its problem once, before the time is taken, and gets the costs as class weights;
scikit-learn copies samples and weights in every fit.

- ``convert s``: handing the samples over, once.
- ``scikit-learn s``: median of one fit.
- ``ratio``: LIBLINEAR's time as a share of scikit-learn's, median of pairs.
"""

import argparse
import warnings

import numpy as np
from liblinear import liblinear, liblinearutil
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from tests.benchmarks.engine import paired, problems, ratio, seconds_of
from tests.benchmarks.tables import print_table

__all__ = ["main", "rows"]

SETS = ("adult", "mammography", "news20")
# Number of the solver in LIBLINEAR, and the estimator that uses it.
BASES = {
    "squared hinge": (5, LinearSVC(penalty="l1", dual=False, random_state=0)),
    "logistic": (6, LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0)),
}
COSTS = (1.0, 3.0)


def rows(given, *, n_runs=5):
    """Lines of the table."""
    for name, X, y in given:
        X = MaxAbsScaler().fit_transform(X).astype(np.float64)
        made = []
        converting = seconds_of(lambda: made.append(_problem(X, y)))  # noqa: B023
        for label, (solver, base) in BASES.items():
            for cost in COSTS:
                weight = np.where(y == 1, cost, 1.0)
                options = liblinear.parameter(f"-s {solver} -c {base.C} -B 1 -e {base.tol} -w1 {cost} -q")
                times = paired(
                    lambda: liblinearutil.train(made[0], options),  # noqa: B023
                    lambda: base.fit(X, y, sample_weight=weight),  # noqa: B023
                    n_runs=n_runs,
                )
                yield {
                    "data": name,
                    "base": label,
                    "cost": f"{cost:g}",
                    "convert s": f"{converting:.2g}",
                    "scikit-learn s": f"{np.median(times[:, 1]):.2g}",
                    "ratio": ratio(times, n_runs),
                }


def _problem(X, y):
    return liblinear.problem(np.where(y == 1, 1.0, -1.0), sparse.csr_matrix(X) if sparse.issparse(X) else X, bias=1)


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks l1", description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=",".join(SETS), help=f"of {', '.join(SETS)}, dense")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs, of which the median is reported")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print_table(rows(problems(options.data.split(",")), n_runs=options.runs))


if __name__ == "__main__":
    main()
