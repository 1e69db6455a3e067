"""How laws are asserted."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["naming", "require"]


def require(holds: object, message: str) -> None:
    """Raise AssertionError with the message unless ``holds``."""
    if not holds:
        raise AssertionError(message)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Whatever a law raises becomes an AssertionError that says where."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{where}: {error}") from error
