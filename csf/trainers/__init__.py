"""Trainers, which fit a base classifier many times with different costs.

Every base can be cloned and fitted. Linear models are solved from earlier solutions on data that all folds and
settings share, LightGBM bins the samples of a fold once, and pipelines fit the steps before the last one once.
Settings of a booster that differ in their number of rounds alone are read off one training of the largest number:
`LGBMClassifier`, `XGBClassifier`, `HistGradientBoostingClassifier` and `GradientBoostingClassifier`, unless they stop
early by themselves (as scikit-learn's histograms do beyond 10 000 samples), change earlier trees (dart), or are given
arguments of ``fit``.

Where all weights are 1 (costs ``(1, 1)``, or equal costs with ``normalize="mean"``, and no ``sample_weight`` of the
user), other bases are trained without weights, exactly as they would be alone. This matters for scikit-learn 1.9's
`HistGradientBoostingClassifier`, which bins weighted samples slowly: half a second more for ten continuous features,
so that models of few rows or rounds take 4 to 20 times as long. LightGBM and XGBoost are as fast with weights.
"""

from csf.trainers.base import GenericTrainer, Prepared, Trainer, Training, seeded
from csf.trainers.registry import ENGINES, make_trainers, register_trainer

__all__ = [
    "ENGINES",
    "GenericTrainer",
    "Prepared",
    "Trainer",
    "Training",
    "make_trainers",
    "register_trainer",
    "seeded",
]
