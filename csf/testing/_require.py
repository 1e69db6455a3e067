"""How laws are asserted."""

__all__ = ["require"]


def require(holds: object, message: str) -> None:
    """Raise AssertionError with the message unless ``holds``."""
    if not holds:
        raise AssertionError(message)
