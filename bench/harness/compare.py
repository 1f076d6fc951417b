"""Two sides of a comparison timed in pairs: the median ratio, its interval, and what it allows to conclude."""

import dataclasses

from . import process, spread

CONFIDENCE = 0.95
SIDES = ("old", "new")


@dataclasses.dataclass
class Sample:
    """One run: seconds by the clock, CPU seconds of all its processes, and what identifies its result."""

    seconds: float
    cpu: float
    result: str


@dataclasses.dataclass
class Ratio:
    """Of new to old, taken within each pair; above 1 is slower."""

    median: float
    interval: spread.Interval

    def verdict(self, tolerance):
        """"no slower" means slower by at most `tolerance`; a conclusion is drawn only from the whole interval."""
        if self.interval.coverage < CONFIDENCE:
            return "too few pairs"
        if self.interval.low > 1 + tolerance:
            return "slower"
        if self.interval.high < 1 - tolerance:
            return "faster"
        return "no slower" if self.interval.high <= 1 + tolerance else "unclear"


def ratio_of(old, new):
    ratios = [n / o for o, n in zip(old, new, strict=True)]
    return Ratio(spread.spread_of(ratios).median, spread.median_interval(ratios, CONFIDENCE))


@dataclasses.dataclass
class Comparison:
    name: str
    samples: dict = dataclasses.field(default_factory=lambda: {side: [] for side in SIDES})
    failure: str = ""  # why it was not timed

    def values(self, side, what):
        return [getattr(sample, what) for sample in self.samples[side]]

    def ratio(self, what):
        return ratio_of(self.values("old", what), self.values("new", what))


def compare(name, run, pairs):
    """`run(side)` gives a Sample. Nothing is timed unless both sides give the same result; the order alternates from pair to pair, so that
    a drift of the machine favours neither side."""
    found = Comparison(name)
    try:
        expected = check_same({side: run(side).result for side in SIDES})
        for pair in range(pairs):
            for side in SIDES if pair % 2 == 0 else reversed(SIDES):
                sample = run(side)
                if sample.result != expected:
                    raise process.Failed(f"the result of {side} changed from run to run: {sample.result} instead of {expected}")
                found.samples[side].append(sample)
    except process.Failed as failure:
        found.failure = str(failure)
    return found


def check_same(results):
    if results["old"] != results["new"]:
        raise process.Failed(f"the results differ, nothing was timed: old {results['old']}, new {results['new']}")
    return results["old"]


def cells(found, tolerance):
    """A row of the table."""
    if found.failure:
        return [found.name, "-", "-", "-", "-", "-", "-"]
    row = [found.name, *(f"{spread.spread_of(found.values(side, 'seconds')).median:.3f}" for side in SIDES)]
    for what in ("seconds", "cpu"):
        ratio = found.ratio(what)
        row += [f"{ratio.median:.3f} ({ratio.interval.low:.3f}..{ratio.interval.high:.3f})", ratio.verdict(tolerance)]
    return row


def table(comparisons, tolerance):
    """Markdown with aligned columns."""
    rows = [["workload", "old s", "new s", "new / old", "verdict", "new / old, CPU", "verdict"]]
    rows += [cells(found, tolerance) for found in comparisons]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    return "".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |\n" for row in rows)


def as_json(found):
    """A dict for the machine: every sample, and both ratios with their intervals."""
    out = {"workload": found.name, **{side: [dataclasses.asdict(sample) for sample in found.samples[side]] for side in SIDES}}
    if found.failure:
        return {**out, "failure": found.failure}
    return {**out, "ratio": dataclasses.asdict(found.ratio("seconds")), "cpu_ratio": dataclasses.asdict(found.ratio("cpu"))}
