"""Ask and tell: the search without the training."""

from csf.study.study import Study

__all__ = ["Study"]
