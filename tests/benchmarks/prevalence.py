"""How often the intervals of `csf.thresholding.estimate_prevalence` hold the share of positives of new samples.

``python -m tests.benchmarks prevalence --draws N``: a model is trained, its out-of-fold probabilities are what is known
of it, and new samples have another share of positives. Beside it stands the interval of the new samples alone, which
takes the probabilities as true.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from csf.thresholding import estimate_prevalence, fold_probabilities
from tests.benchmarks.tables import print_table

__all__ = ["SETTINGS", "Setting"]

WIDTH = 5


@dataclass(frozen=True)
class Setting:
    """What is trained on how many samples, and what is asked of how many new ones."""

    base: object
    n_known: int
    pos: float
    n_new: int
    new_pos: float
    distance: float = 2.0
    # Copies of a feature, which naive Bayes counts as evidence of their own.
    copies: int = 0
    # Features without any difference between the classes.
    idle: int = 0

    def draw(self, rng, n_samples, pos):
        """Samples of two normal classes, and which are positive."""
        y = rng.random(n_samples) < pos
        X = rng.normal(size=(n_samples, WIDTH)) + self.distance / np.sqrt(WIDTH) * y[:, None]
        return np.column_stack([X, *[X[:, :1]] * self.copies, rng.normal(size=(n_samples, self.idle))]), y

    def told(self, seed):
        """Whether each interval holds the share, how wide it is, and how far off the two estimates are."""
        rng = np.random.default_rng([seed, self.n_known, self.n_new])
        X, y = self.draw(rng, self.n_known, self.pos)
        own = cross_val_predict(self.base, X, y, method="predict_proba")[:, 1]
        X_new = self.draw(rng, self.n_new, self.new_pos)[0]
        by_folds, folded = fold_probabilities(self.base, X, y, X_new, random_state=seed)
        proba = self.base.fit(X, y).predict_proba(X_new)[:, 1]
        told = []
        for known, score in (((y, own), proba), (by_folds, folded), (None, proba)):
            share = estimate_prevalence(score, y.mean(), known=known)
            low, high = share.interval
            told += [low <= self.new_pos <= high, high - low, share - self.new_pos]
        return told


SETTINGS = {
    "logistic": Setting(LogisticRegression(), 1000, 0.2, 1000, 0.4),
    "as in training": Setting(LogisticRegression(), 1000, 0.2, 1000, 0.2),
    "few new positives": Setting(LogisticRegression(), 1000, 0.2, 500, 0.02),
    "few known positives": Setting(LogisticRegression(), 300, 0.1, 5000, 0.3),
    "many new samples": Setting(LogisticRegression(), 500, 0.3, 50_000, 0.1),
    "weak": Setting(LogisticRegression(), 1000, 0.3, 1000, 0.1, distance=1.0),
    "too sure": Setting(GaussianNB(), 1000, 0.2, 1000, 0.4, distance=1.5, copies=4),
    "205 features": Setting(LogisticRegression(max_iter=300, tol=1e-3), 800, 0.06, 1000, 0.2, distance=2.5, idle=200),
    "forest": Setting(RandomForestClassifier(10, max_depth=6, random_state=0), 500, 0.3, 1000, 0.1),
}


def rows(settings, n_draws):
    """Rows of the table."""
    for name, setting in settings.items():
        told = np.array([setting.told(seed) for seed in range(n_draws)], dtype=float)
        held, width, off, held_folds, _, off_folds, held_alone, width_alone, off_alone = told.mean(axis=0)
        yield {
            "setting": name,
            "known": f"{setting.n_known}, {setting.pos:.0%}",
            "new": f"{setting.n_new}, {setting.new_pos:.0%}",
            "interval holds": f"{held:.1%}",
            "width": f"{width:.3f}",
            "estimate off": f"{off:+.4f}",
            "models of folds": f"{held_folds:.1%}",
            "their estimate off": f"{off_folds:+.4f}",
            "new samples alone": f"{held_alone:.1%}",
            "its width": f"{width_alone:.3f}",
            "its estimate off": f"{off_alone:+.4f}",
        }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400, help="trainings of each setting (400)")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="settings (all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(rows({name: SETTINGS[name] for name in options.only}, options.draws))


if __name__ == "__main__":
    main()
