"""How a base classifier is trained many times with other costs.

Every base can be cloned and fitted. Linear models are solved from earlier solutions on data that all folds and
settings share, and pipelines fit the steps before the last one once.
"""

from csf.trainers.base import Trainer, Training
from csf.trainers.generic import GenericTrainer, seeded
from csf.trainers.registry import ENGINES, make_trainers, register_trainer

__all__ = ["ENGINES", "GenericTrainer", "Trainer", "Training", "make_trainers", "register_trainer", "seeded"]
