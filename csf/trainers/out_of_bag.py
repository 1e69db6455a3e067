"""Out-of-bag scores: of each sample those of the trees that have not drawn it, from one training on all samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator, Samples
from csf.data.costs import CostChannel
from csf.data.folds import Fold
from csf.data.responses import response_method
from csf.trainers.base import Trainer, Training

# With fewer bags the scores are too coarse: of 50 about 18 have not drawn a sample.
_FEWEST = 50
# Largest number of samples that are expected in all bags.
_IN_ALL = 1e-3


def is_bagged(base: Estimator) -> bool:
    """Check whether a base knows out-of-bag scores."""
    known = base.get_params(deep=False) if hasattr(base, "get_params") else {}
    return {"oob_score", "bootstrap", "n_estimators"} <= known.keys()


def unfit_bags(base: Estimator, n_samples: int) -> str | None:
    """Say why the out-of-bag scores of a bagged base would be missing or others than its own; ``None`` if not so."""
    params = base.get_params(deep=False)
    if not params["bootstrap"]:
        return "bootstrap=False leaves no sample out of a bag"
    if params["n_estimators"] < _FEWEST:
        return f"n_estimators={params['n_estimators']} is less than {_FEWEST}"
    if params.get("warm_start"):
        return "warm_start=True keeps bags of other samples"
    if response_method(base) != "predict_proba":
        return f"{type(base).__name__} decides by its decision_function"
    drawn = params.get("max_samples")
    if drawn is None:
        drawn = n_samples
    size = drawn if isinstance(drawn, Integral) else max(drawn * n_samples, 1.0)
    in_one = 1.0 - (1.0 - 1.0 / n_samples) ** float(size)
    if n_samples * in_one ** params["n_estimators"] > _IN_ALL:
        return f"max_samples={drawn!r} draws some samples into all bags"
    return None


class _OutOfBag:
    """Classifier that gives the out-of-bag scores of the samples that it was trained on."""

    def __init__(self, model: Estimator) -> None:
        self.model, self.classes_ = model, model.classes_
        self._proba = np.asarray(model.oob_decision_function_)

    def predict_proba(self, X: Samples) -> Array:
        """Return the out-of-bag scores."""
        return self._proba

    def predict(self, X: Samples) -> Array:
        """Return the classes of the largest out-of-bag scores."""
        return self.classes_[self._proba.argmax(axis=1)]


class OutOfBagTrainer(Trainer):
    """Trainer of a bagged base on all samples, which "holds out" all of them.

    ``kept`` has the first model, which is the final one where it wins.
    """

    # Trees grow outside of Python, and the first model stays in this process.
    releases_gil = True

    def __init__(
        self,
        base: Estimator,
        fold: Fold,
        channel: CostChannel,
        normalize: str,
        kept: dict[tuple[int, Costs], _OutOfBag],
    ) -> None:
        vars(fold).update(X_train=fold.task.X, X_test=fold.task.X)
        super().__init__(clone(base), fold, channel, normalize)
        self._asked, self._kept, self._key = base.get_params(deep=False)["oob_score"], kept, id(base)
        self.base.set_params(oob_score=self._asked or True)

    def fit(self, costs: Costs, starts: Sequence[object] = ()) -> Training:
        """Train the base, or return the model that is kept; see `Trainer.fit`."""
        key = self._key, tuple(costs)
        if key in self._kept:
            return Training(self._kept[key])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            model = self.train_base(costs)
        scores = _OutOfBag(model)
        missing = int(np.count_nonzero(~(scores.predict_proba(self.fold.X_test).sum(axis=1) > 0.0)))
        if missing:
            raise ValueError(f"{missing} samples are in all bags and have no out-of-bag scores; use cv=5")
        if not self._asked:
            model.set_params(oob_score=False)
            del model.oob_decision_function_, model.oob_score_
        if not self._kept:
            self._kept[key] = scores
        return Training(scores)

    def estimator(self, training: Training) -> Estimator:
        """Return the trained base, see `Trainer.estimator`."""
        return training.model.model
