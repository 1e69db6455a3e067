"""Fits, predicts, pickles and loads with nothing but csf and what it requires: `python installed.py MODEL`.

The first run writes the model, later ones load it. Where the folder of TMPDIR cannot be written there is no other one.
"""

import os
import pickle
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import LinearSVC

EXTRAS = (
    *("pandas", "pyarrow", "polars", "skops", "river", "distributed", "pyspark", "nbclient", "pytest"),
    *("lightgbm", "xgboost"),
)

warnings.simplefilter("error")
tempfile.tempdir = os.environ.get("TMPDIR")

from csf import CostSearch  # noqa: E402
from csf.online import STAMP  # noqa: E402

present = [name for name in EXTRAS if find_spec(name)]
assert not present, f"not the core dependencies alone: {present}"

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600] == 8
models = [
    CostSearch(LinearSVC(random_state=0), n_trials=4).fit(X, y),
    CostSearch(HistGradientBoostingClassifier(max_iter=5, random_state=0), n_trials=2, cv=2).fit(X, y),
    STAMP(random_state=0).fit(X, y),
]
answers = [model.predict(X) for model in models]

path = Path(sys.argv[1])
if not path.exists():
    path.write_bytes(pickle.dumps((models, answers)))
for model, before, now in zip(*pickle.loads(path.read_bytes()), answers, strict=True):
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(now, before)
print("fitted, predicted, loaded")
