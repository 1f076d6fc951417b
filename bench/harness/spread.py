"""Medians and spreads of a few measurements."""

import dataclasses
import statistics


@dataclasses.dataclass
class Spread:
    median: float
    least: float
    most: float
    deviation: float  # median absolute deviation


def spread_of(values):
    middle = statistics.median(values)
    return Spread(middle, min(values), max(values), statistics.median(abs(value - middle) for value in values))


def ratios(peer_seconds, own_seconds):
    """Ratios taken within each repeat, so that a slow phase of the machine affects both sides of a ratio."""
    return spread_of([peer / own for peer, own in zip(peer_seconds, own_seconds, strict=True)])


@dataclasses.dataclass
class Line:
    offset: float
    slope: float
    worst: float  # largest relative distance of a point from the line


def fit_line(xs, ys):
    """Fits y = offset + slope x by least squares of the relative errors, so that small and large points count equally."""
    weights = [1.0 / (y * y) for y in ys]
    total = sum(weights)
    mean_x = sum(w * x for w, x in zip(weights, xs)) / total
    mean_y = sum(w * y for w, y in zip(weights, ys)) / total
    slope = (sum(w * (x - mean_x) * (y - mean_y) for w, x, y in zip(weights, xs, ys))
             / sum(w * (x - mean_x) ** 2 for w, x in zip(weights, xs)))
    offset = mean_y - slope * mean_x
    return Line(offset, slope, max(abs(offset + slope * x - y) / y for x, y in zip(xs, ys)))
