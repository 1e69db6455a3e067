"""Whether intervals cover the value of the very model that ``fit`` returns, on populations that are known or huge."""

import json
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf._common.files import replaced
from notebooks.experiments.datasets import load_set
from tests.benchmarks.data import SEVERAL, data_folder

__all__ = ["LARGE", "POPULATIONS", "Population", "fitted", "record", "refits"]

# Samples that stand for a generated population, at least and for each training sample.
_MANY, _TIMES = 60_000, 10


def _boosted():
    # Imported here: the other topics do without it.
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=20, num_leaves=7, verbose=-1, n_jobs=1, random_state=0)


_BASES = {"logistic": lambda: LogisticRegression(max_iter=1000), "svc": LinearSVC, "lightgbm": _boosted}


@dataclass(frozen=True)
class Population:
    """A problem: where samples come from, how many of them are drawn, and the search that is judged."""

    source: str
    base: str
    n_pos: int
    metric: str = "f1"
    constraint: str | None = None
    share: float = 0.2
    # "auto" is the plain call; None searches costs alone, in a seventh of the time.
    param_grid: str | None = "auto"

    @property
    def name(self):
        """As tables show it."""
        aim = self.metric if self.constraint is None else f"{self.metric}, {self.constraint}"
        alone = "" if self.param_grid else ", one C"
        return f"{self.source}, {self.base}, {aim}, {self.n_pos} positives{alone}"

    def search(self, seed):
        """The search, as users call it."""
        options = {"constraint": self.constraint, "param_grid": self.param_grid, "random_state": seed}
        return CostSearch(_BASES[self.base](), self.metric, **options)

    def draw(self, seed):
        """Training samples, and those that stand for the population."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        if self.source in _SHAPES:
            n = round(self.n_pos / self.share)
            return _generated(self.source, self.share, n, rng), _whole(self.source, self.share, max(_MANY, _TIMES * n))
        X, y = _real(self.source)
        mixed, n = rng.permutation(y.size), round(self.n_pos / np.mean(y))
        return (X[mixed[:n]], y[mixed[:n]]), (X[mixed[n:]], y[mixed[n:]])


# Means of the positives, a mixture in equal parts; negatives have two clusters where there are several.
_SHAPES = {
    "gaussian": [np.array([1.0, 0.6, 0.3, 0.0, 0.0])],
    "mixture": [np.array([1.8, 0.0, 0.0, 0.5, 0.0]), np.array([0.0, 1.6, -1.0, 0.0, 0.0])],
}


def _generated(shape, share, n, rng):
    means, X, y = np.array(_SHAPES[shape]), rng.normal(size=(n, 5)), (rng.random(n) < share).astype(int)
    shifts = means[rng.integers(len(means), size=n)]
    if len(means) > 1:
        others = np.array([[0.0] * 5, [0.8, 0.8, 0.0, -1.0, 1.0]])[rng.integers(2, size=n)]
    else:
        others = np.zeros(5)
    return X + np.where(y[:, None] > 0, shifts, others), y


@cache
def _whole(shape, share, n):
    return _generated(shape, share, n, np.random.default_rng(1))


@cache
def _real(name):
    """Features in [0, 1] and targets of a set that is large enough to stand for a population."""
    folder = data_folder() / "imbalanced" if name == "bank" else data_folder()
    data = load_set(folder, SEVERAL.get(name, name))
    return data.transformer().fit_transform(data.X), np.asarray(data.y).astype(int)


POPULATIONS = [
    Population("gaussian", "svc", 20),
    Population("gaussian", "logistic", 40),
    Population("gaussian", "logistic", 80, "recall", "precision >= 0.6"),
    Population("gaussian", "svc", 300),
    Population("mixture", "svc", 40),
    Population("mixture", "logistic", 80, "gmean"),
    Population("mixture", "lightgbm", 40),
    Population("adult", "logistic", 80, param_grid=None),
    Population("adult", "lightgbm", 80, "gmean"),
    Population("bank", "svc", 40),
    Population("bank", "logistic", 80, "recall", "precision >= 0.3", param_grid=None),
    Population("mammography", "svc", 40, "gmean", param_grid=None),
    Population("letter", "svc", 20),
    Population("gaussian", "svc", 20, "gmean", param_grid=None),
    Population("mixture", "logistic", 40, param_grid=None),
    Population("letter", "logistic", 40, param_grid=None),
]


# Positives are so many that the plain call trains on one, two or three folds.
LARGE = [
    Population("mixture", "svc", 12_000),
    Population("mixture", "logistic", 12_000, param_grid=None),
    Population("gaussian", "logistic", 6000, "gmean"),
    Population("mixture", "svc", 3500, share=0.4),
]


def fitted(population, seed):
    """The fitted search of a draw, with the value and the best threshold of its model on the population."""
    (X, y), (X_all, y_all) = population.draw(seed)
    search = population.search(seed).fit(X, y)
    aim = search.studies_[0].metric
    best = search.threshold_curve(X_all, y_all).best(aim, aim.constraint)
    return search, search.score(X_all, y_all), best.threshold


def record(search, truth, best):
    """What is kept of a draw."""
    return {
        "truth": truth,
        "best": search.best_score_,
        "corrected": search.corrected_score_,
        "interval": search.score_interval_,
        "error": search.assess().monte_carlo_error,
        "threshold": best,
        "threshold interval": search.threshold_interval_,
    }


def refits(n_draws, path=None, populations=None):
    """Rows of the topic; draws that ``path`` holds already are not made again."""
    known = json.loads(Path(path).read_text()) if path is not None and Path(path).exists() else {}
    tables = []
    for population in POPULATIONS if populations is None else populations:
        draws = known.setdefault(population.name, {})
        for seed in range(n_draws):
            if str(seed) not in draws:
                draws[str(seed)] = record(*fitted(population, seed))
                if path is not None:
                    with replaced(path) as file:
                        json.dump(known, file)
        tables.append(list(draws.values()))
        yield _row(population.name, tables[-1])
    rows = [_numbers(table) for table in tables]
    yield _shown("mean", sum(map(len, tables)), *np.mean(rows, axis=0))


def _numbers(draws):
    truth, best, corrected = (np.array([each[name] for each in draws]) for name in ("truth", "best", "corrected"))
    low, high = np.array([each["interval"] for each in draws]).T
    inside = (low <= truth) & (truth <= high)
    cuts = [(each["threshold"], *each["threshold interval"]) for each in draws if "threshold" in each]
    cut_inside = np.mean([low <= cut <= high for cut, low, high in cuts]) if cuts else np.nan
    bias = corrected - truth
    error, by_chance = bias.std() / np.sqrt(truth.size), np.mean([each["error"] for each in draws])
    return inside.mean(), (high - low).mean(), bias.mean(), error, (best - truth).mean(), by_chance, cut_inside


def _row(name, draws):
    return _shown(name, len(draws), *_numbers(draws))


def _shown(name, n, inside, width, bias, error, optimism, by_chance, cut_inside):
    return {
        "population": name,
        "draws": n,
        "covered": f"{inside:.0%}",
        "width": f"{100 * width:.1f}",
        "corrected - truth": f"{100 * bias:+.2f} ± {100 * error:.2f}",
        "best - truth": f"{100 * optimism:+.2f}",
        "Monte Carlo": f"{100 * by_chance:.2f}",
        "best threshold inside": "-" if np.isnan(cut_inside) else f"{cut_inside:.0%}",
    }
