"""What a classifier gets wrong: error profiles and the hull of all known ones."""

from csf.errors.hull import Hull
from csf.errors.profile import ErrorProfile

__all__ = ["ErrorProfile", "Hull"]
