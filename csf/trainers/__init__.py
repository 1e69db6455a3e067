"""How a base classifier is trained many times with other costs."""

from csf.trainers.generic import GenericTrainer, seeded

__all__ = ["GenericTrainer", "seeded"]
