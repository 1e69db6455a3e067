"""Convex polygons by clipping with one half-plane after another: slow, literal, without any geometry library."""


def box(pos):
    """Corners of all error profiles."""
    return [(0.0, 0.0), (pos, 0.0), (pos, 1.0 - pos), (0.0, 1.0 - pos)]


def clip(polygon, normal, rhs):
    """Part of a convex polygon with ``normal·e <= rhs``."""
    kept = []
    for (x0, y0), (x1, y1) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        before, after = normal[0] * x0 + normal[1] * y0 - rhs, normal[0] * x1 + normal[1] * y1 - rhs
        if before <= 0:
            kept.append((x0, y0))
        if (before < 0 < after) or (after < 0 < before):
            share = before / (before - after)
            kept.append((x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    return kept


def possible(lines, pos):
    """Profiles of the box above support lines ``(c_fn, c_fp, rhs)``."""
    polygon = box(pos)
    for c_fn, c_fp, rhs in lines:
        polygon = clip(polygon, (-c_fn, -c_fp), -rhs)
    return polygon


def area(polygon):
    """Area by the shoelace formula."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2.0
