"""Bounds by name."""

from csf._names import look_up
from csf.bounds.base import Bound
from csf.bounds.cone import ConeBound, DiagonalBound, ParambathBound
from csf.bounds.support_line import SupportLineBound

__all__ = ["BOUNDS", "get_bound"]

BOUNDS = {
    "support": SupportLineBound,
    "diagonal": DiagonalBound,
    "envelope": ConeBound,
    "parambath": ParambathBound,
}


def get_bound(name):
    """Class of a bound.

    Parameters
    ----------
    name : str or type
        A name in ``BOUNDS``, or a subclass of `Bound`.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> get_bound("diagonal").__name__
    'DiagonalBound'
    """
    if isinstance(name, type) and issubclass(name, Bound):
        return name
    return look_up(name, BOUNDS, "bound", "or a subclass of csf.bounds.Bound")
