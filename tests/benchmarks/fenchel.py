"""FenchelSVM and AMP on real data: certificates, G-mean against rivals, the inner solver against LIBLINEAR.

Run ``python -m tests.benchmarks.fenchel``; it prints Markdown tables. Splits are stratified halves with seeds 0, 1,
...; features are scaled to [0, 1] on the training half.
"""

import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.svm import LinearSVC

from csf.fenchel import AMP, FenchelSVM, RewardProblem
from csf.metrics import get_metric
from csf.plugin import PlugInClassifier
from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import BINARY_SETS, load_binary
from tests.benchmarks.tables import markdown

__all__ = ["amp_rows", "certificate_rows", "gmean_rows", "solver_rows"]

GRID = [1.0, 10.0, 100.0, 1000.0]


def certificate_rows(names=tuple(BINARY_SETS), metrics=("gmean", "hmean", "qmean"), Cs=(1.0, 100.0)):
    """Steps, gap, least rise of the objective and seconds of FenchelSVM on whole sets."""
    rows = []
    for name in names:
        X, y = load_binary(name)
        for metric in metrics:
            for C in Cs:
                start = time.perf_counter()
                model = FenchelSVM(metric, C=C).fit(X, y)
                seconds = time.perf_counter() - start
                rises = np.diff(model.history_["objective"])
                product = model.history_["alpha"] * model.history_["beta"]
                rows.append(
                    {
                        "set": name,
                        "metric": metric,
                        "C": C,
                        "SVMs": model.n_iter_ + 1,
                        "start": model.history_["objective"][0],
                        "objective": model.history_["objective"][-1],
                        "gap": model.gap_,
                        "least rise": float(rises.min()) if rises.size else 0.0,
                        "max |αβ - 1/4|": float(np.abs(product - 0.25).max()) if metric == "gmean" else "",
                        "seconds": seconds,
                    }
                )
    return rows


def _halves(X, y, seed):
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    scaler = (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()).fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def _exact_balanced(X, y, C):
    """FenchelSVM's starting point: the balanced SVM, solved to the end."""
    problem = RewardProblem(X, y == 1, None, C=C)
    w = problem.solve(problem.balanced(), tol=1e-6).w
    return lambda Z: (Z @ w[:-1] + w[-1] > 0).astype(int)


def _plug_in(C):
    return PlugInClassifier(LogisticRegression(C=C, max_iter=2000), "gmean", cv=5)


def _cost_search():
    return paper_search(LinearSVC(dual=False), "gmean", "support", n_trials=7)


def _models(X, y, C):
    """Fitted ``predict`` of each rival; ``C=None`` chooses C on the training half."""
    if C is not None:
        svc = LinearSVC(loss="hinge", class_weight="balanced", C=C, random_state=0, max_iter=5000)
        return {
            "FenchelSVM": FenchelSVM(C=C).fit(X, y).predict,
            "balanced SVM (exact)": _exact_balanced(X, y, C),
            "LinearSVC balanced": svc.fit(X, y).predict,
            "plug-in LR": _plug_in(C).fit(X, y).predict,
            "cost search SVC": _cost_search().set_params(base__C=C).fit(X, y).predict,
        }
    scorer = make_scorer(get_metric("gmean").score)
    plug_ins = [_plug_in(C).fit(X, y) for C in GRID]
    return {
        "FenchelSVM": GridSearchCV(FenchelSVM(), {"C": GRID}, scoring=scorer, cv=5).fit(X, y).predict,
        "plug-in LR": max(plug_ins, key=lambda model: model.best_score_).predict,
        "cost search SVC": _cost_search().set_params(param_grid={"C": GRID}).fit(X, y).predict,
    }


def gmean_rows(names=tuple(BINARY_SETS), Cs=(1.0, 100.0, 1000.0, None), n_splits=20, n_splits_of_adult=5):
    """Mean test G-mean in percent, and the mean paired difference to each rival with its standard error."""
    rows = []
    for name in names:
        X, y = load_binary(name)
        for C in Cs:
            scores = {}
            for seed in range(n_splits_of_adult if name == "adult" else n_splits):
                A, a, B, b = _halves(X, y, seed)
                with warnings.catch_warnings():
                    # LIBLINEAR may stop short: its column then shows what users get
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    models = _models(A, a, C)
                for rival, predict in models.items():
                    scores.setdefault(rival, []).append(100 * get_metric("gmean").score(b, predict(B)))
            row = {"set": name, "C": "by 5-fold CV" if C is None else f"{C:g}"}
            own = np.array(scores["FenchelSVM"])
            for rival in ("FenchelSVM", "balanced SVM (exact)", "LinearSVC balanced", "plug-in LR", "cost search SVC"):
                if rival not in scores:
                    row[rival] = ""
                elif rival == "FenchelSVM":
                    row[rival] = f"{own.mean():.2f}"
                else:
                    gain = own - scores[rival]
                    error = gain.std(ddof=1) / np.sqrt(len(gain))
                    row[rival] = f"{np.mean(scores[rival]):.2f} ({gain.mean():+.2f} ± {error:.2f})"
            rows.append(row)
    return rows


def amp_rows(names=tuple(BINARY_SETS), metrics=("f1", "f2", "jaccard"), Cs=(1.0, 100.0), n_levels=1000):
    """Steps of exact AMP, whether its levels rise, and its distance from the best of a grid of levels."""
    rows = []
    for name in names:
        X, y = load_binary(name)
        for metric in map(get_metric, metrics):
            for C in Cs:
                model = AMP(metric, C=C, level="surrogate").fit(X, y)
                row = {
                    "set": name,
                    "metric": metric.name,
                    "C": C,
                    "SVMs": model.n_iter_ + 1,
                    "rises": bool((np.diff(model.history_["level"]) >= 0).all()),
                    "level": model.level_,
                    "last change": model.history_["next_level"][-1] - model.history_["level"][-1],
                }
                if name != "adult":
                    row["AMP - grid"] = model.level_ - _best_of_grid(X, y, metric, C, n_levels)
                else:
                    row["AMP - grid"] = ""
                rows.append(row)
    return rows


def _best_of_grid(X, y, metric, C, n_levels):
    """Largest surrogate over SVMs for a grid of levels."""
    problem, best, svm = RewardProblem(X, y == 1, None, C=C), -np.inf, None
    n0, n_fn, n_fp, *_ = metric.coefficients(problem.pos)
    for level in np.linspace(0.0, 1.0, n_levels + 2)[1:-1]:
        svm = problem.solve(metric.cost_weights(level, pos=problem.pos), tol=1e-7, start=svm)
        fn, fp = problem.losses(svm.margins)
        below = metric.denominator(fn, fp, pos=problem.pos)
        above = n0 + n_fn * fn + n_fp * fp - 0.5 * problem.lam * svm.w @ svm.w
        best = max(best, above / below if below > 0 else -np.inf)
    return best


def solver_rows(names=tuple(BINARY_SETS), Cs=(1.0, 100.0)):
    """Balanced SVM of whole sets: relative distance from the optimum (upper bound) and seconds, against LIBLINEAR."""
    from liblinear.liblinearutil import problem as liblinear_problem
    from liblinear.liblinearutil import train

    rows = []
    for name in names:
        X, y = load_binary(name)
        share = y.mean()
        data = liblinear_problem(np.where(y == 1, 1.0, -1.0), sparse.csr_matrix(X), 1.0)
        for C in Cs:
            rewards = RewardProblem(X, y == 1, None, C=C)
            start = time.perf_counter()
            own = rewards.solve(rewards.balanced(), tol=1e-6)
            seconds = time.perf_counter() - start
            row = {"set": name, "C": C, "own: gap": rewards.lam * own.gap, "own: seconds": seconds}
            for eps in (1e-2, 1e-4):
                weights = f"-w1 {0.5 / share} -w-1 {0.5 / (1 - share)}"
                start = time.perf_counter()
                model = train(data, f"-s 3 -c {C} -e {eps} -B 1 -q {weights}")
                seconds = time.perf_counter() - start
                w = np.array(model.w[: X.shape[1] + 1]) * (1 if model.label[0] == 1 else -1)
                fn, fp = rewards.losses(rewards.margins(w))
                value = 0.5 * (fn / share + fp / (1 - share)) + 0.5 * rewards.lam * w @ w
                row |= {
                    f"LIBLINEAR {eps:g}: gap": float(value - rewards.lam * own.bound),
                    f"LIBLINEAR {eps:g}: seconds": seconds,
                }
            rows.append(row)
    return rows


if __name__ == "__main__":
    for title, rows in (
        ("Certificates", certificate_rows),
        ("Inner solver: gap in units of the metric", solver_rows),
        ("AMP", amp_rows),
        ("Test G-mean in percent (mean paired gain of FenchelSVM ± standard error)", gmean_rows),
    ):
        print(f"\n## {title}\n\n{markdown(rows())}", flush=True)
