"""The parts of a run of bench.sh, how long each should take, and how long it took."""

import contextlib
import dataclasses
import time

from . import race

REPEATS = 5
QUICK_REPEATS = 2


@dataclasses.dataclass(frozen=True)
class Part:
    """`fixed` and `each` are estimates in seconds on two quiet cores: what does not depend on the repeats, and one repeat."""

    name: str  # of --only
    title: str
    fixed: float
    each: float
    most: int = 1000  # repeats it takes at most

    def seconds(self, repeats):
        return self.fixed + self.each * min(repeats, self.most)


# From CPU times on two busy cores of an AMD EPYC. The share of PyTorch and Flower follows from the seconds in RESULTS.md of 2026-11 and
# the number of processes that are started. A page lists estimates beside what was measured: correct them from there.
PARTS = [
    Part("numpy", "mfl against NumPy", 150, 14),
    Part("torch", "mfl against PyTorch", 380, 34),
    Part("sklearn", "mfl against scikit-learn", 4, 4),
    Part("flower", "mfl against Flower's simulation", 25, 20, most=race.FLOWER_REPEATS),
    Part("softmax", "softmax regression against NumPy, PyTorch and Flower", 115, 12),
    Part("sweep", "sweeps of 16 gammas against one run", 0, 4),
    Part("roofline", "kernels against the limits of the machine", 60, 0),
    Part("federation", "a federation on loopback, and Flower's deployment", 190, 6),
    Part("trainer", "a PyTorch model over trainers, and Flower's deployment", 120, 25, most=3),
    Part("mpi", "the mean over processes", 10, 3),
    Part("scaling", "cost against size", 0, 5),
    Part("fleet", "fleets", 25, 10),
]
PEERS = ("numpy", "torch", "sklearn", "flower")  # measured together, one after the other in each repeat


def chosen(only):
    return [part for part in PARTS if only in (None, part.name)]


def minutes(seconds):
    return f"{seconds / 60:.1f} min"


def text(parts, repeats):
    """The plan as it is printed before anything is built or timed."""
    lines = [f"plan: {repeats} repeats; estimates for two quiet cores, installing and building not included"]
    lines += [f"  {part.name:11} {part.title:56} {minutes(part.seconds(repeats)):>9}" for part in parts]
    return "\n".join([*lines, f"  {'total':68} {minutes(sum(part.seconds(repeats) for part in parts)):>9}"])


@dataclasses.dataclass
class Taken:
    title: str
    estimate: float
    seconds: float


class Clock:
    """Times the parts and says how far the run is."""

    def __init__(self, parts, repeats):
        self.parts, self.repeats = {part.name: part for part in parts}, repeats
        self.started = time.monotonic()
        self.taken = []

    @contextlib.contextmanager
    def part(self, *names):
        parts = [self.parts[name] for name in names if name in self.parts]
        title, estimate = "; ".join(part.title for part in parts), sum(part.seconds(self.repeats) for part in parts)
        race.say(f"{title}: about {minutes(estimate)}")
        started = time.monotonic()
        yield
        self.taken.append(Taken(title, estimate, time.monotonic() - started))
        whole = sum(part.seconds(self.repeats) for part in self.parts.values())
        race.say(f"{title}: took {minutes(self.taken[-1].seconds)}; {minutes(self.elapsed)} of about {minutes(whole)} since the start")

    @property
    def elapsed(self):
        return time.monotonic() - self.started
