"""The unreachable cone of one F-beta trial, with the closed forms written out in both ways."""


def f_beta(fn, fp, pos, beta):
    """F-beta of an error profile; 0 where nothing positive is found."""
    b = 1.0 + beta**2
    return b * (pos - fn) / (b * pos - fn + fp)


def largest_difference(fn, fp, pos, beta):
    """Largest fp - fn of the better profiles, from the value."""
    value, b = f_beta(fn, fp, pos, beta), 1.0 + beta**2
    neg = 1.0 - pos
    return neg if value == 0 else min(neg, b * pos * (1.0 - value) / value)


def largest_difference_by_errors(fn, fp, pos, beta):
    """The same, from the errors: move along the level line to where nothing is missed."""
    neg = 1.0 - pos
    return neg if fn == pos else fp + min(neg - fp, fn * (beta**2 * pos + fp) / (pos - fn))


def smallest_difference(fn, fp, pos, beta):
    """Smallest fp - fn of the better profiles, from the value."""
    value, b = f_beta(fn, fp, pos, beta), 1.0 + beta**2
    return -b * pos * (1.0 - value) / (b - value)


def smallest_difference_by_errors(fn, fp, pos, beta):
    """The same, from the errors: move along the level line to where there is no false alarm."""
    return -fn - fp * (pos - fn) / (beta**2 * pos + fp)


def cone_height(level, t, fn, fp, pos, beta, eps=0.0):
    """Height of the cone of a model with errors (fn, fp), trained at t, over another level."""
    scale = 1.0 / ((1.0 + beta**2) * pos - fn + fp)
    extreme = largest_difference if level < t else smallest_difference
    slope = scale * (fp - fn - extreme(fn, fp, pos, beta))
    return f_beta(fn, fp, pos, beta) + scale * eps + slope * (level - t)
