"""Medians, spreads and intervals of a few measurements."""

import dataclasses
import math
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
class Interval:
    """Contains the median of the values' distribution with the probability `coverage`, whatever the distribution."""

    low: float
    high: float
    coverage: float


def median_interval(values, confidence=0.95):
    """The narrowest pair of order statistics that covers the median with at least `confidence`, for independent values.

    The k-th smallest and the k-th largest of n values enclose it with probability 1 - 2 P(Binomial(n, 1/2) < k). Fewer than six
    values cannot reach 0.95: the interval is then their range, and its coverage says so.
    """
    ordered = sorted(values)
    n = len(ordered)
    below, chosen, coverage = 2.0 ** -n, 1, 1 - 2 * 2.0 ** -n  # P(Binomial < k) at k = 1
    for k in range(2, (n + 1) // 2 + 1):
        below += math.comb(n, k - 1) * 2.0 ** -n
        if 1 - 2 * below < confidence:
            break
        chosen, coverage = k, 1 - 2 * below
    return Interval(ordered[chosen - 1], ordered[n - chosen], coverage)


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
