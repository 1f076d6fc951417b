"""Cost of a participating node against the number of nodes: a fleet that generates its data, and MNIST with one sample per node."""

import dataclasses
import json

from . import process, race, spread

LIMIT = 1.5  # times the sum of the parts
FLEET = {"model": "squared-svm", "lambda": "0.01", "eta": "0.01", "gamma": "0.9", "engine": "serial"}
MNIST = {"data": "mnist", "partition": "contiguous", "engine": "serial", "model": "squared-svm"}


@dataclasses.dataclass
class Point:
    nodes: int
    microseconds: spread.Spread  # per participating node and round
    peak_mib: float


@dataclasses.dataclass
class Law:
    key: str
    title: str
    setting: str
    parts: dict  # name: microseconds
    points: list

    @property
    def whole(self):
        return sum(self.parts.values())

    @property
    def worst(self):
        """The largest share of the parts, over the numbers of nodes."""
        return max(p.microseconds.median for p in self.points) / self.whole


def plans(share):
    """(key, title, setting, samples per node, names of the parts, [(nodes, rounds, options)])."""
    def rounds(count):
        return max(2, int(count * share))

    # Fewer rounds where many nodes take part: each run takes a few seconds at most.
    fleet = [(n, rounds(count), {**FLEET, "data": "fleet:10x784", "nodes": n, "fraction-train": "0.01"})
             for n, count in ((10**3, 200), (10**4, 200), (10**5, 100), (10**6, 20))]
    mnist = [(n, rounds(count), {**MNIST, "train": n, "nodes": n})
             for n, count in ((1000, 20), (6000, 20), (20000, 10), (60000, 10))]
    return [
        ("fleet", "A fleet", "784 features, 10 samples per node generated when it runs, 1 % of the nodes per round, tau 4, squared SVM, one thread",
         10, ["data", "gradients and updates", "exact accumulation"], fleet),
        ("fleet-mnist", "MNIST, one sample per node", "All nodes in every round, indexed rows, tau 4, squared SVM, one thread", 1,
         ["gradients and updates", "exact accumulation"], mnist),
    ]


def measure_parts(program, scratch):
    file = scratch / "node-parts.json"
    process.run([program, "--json", file, "--benchmark_filter=^node of"])
    return {kernel["name"]: 1e6 * kernel["seconds"] for kernel in json.loads(file.read_text())["kernels"]}


def measure(mfl, program, scratch, repeats, share=1.0):
    """Measures parts and whole runs in turn and takes the fastest of the parts: a list of Law, or None if mfl_bench was not built."""
    if not program.exists():
        return None
    parts = [measure_parts(program, scratch)]
    laws = []
    for key, title, setting, samples, names, settings in plans(share):
        taken, peaks = ({n: [] for n, _, _ in settings} for _ in range(2))
        for _ in range(repeats):
            for n, rounds, options in settings:
                data, finished = mfl.train(4 * rounds, **options)
                participants = data["bytes_up"] / (rounds * 2 * 784 * 4)
                taken[n].append(1e6 * data["wall_seconds"] / (rounds * participants))
                peaks[n].append(finished.peak_kib / 1024)
        parts.append(measure_parts(program, scratch))
        of = {name: min(p[f"node of {samples} x 784, its {name}"] for p in parts) for name in names}
        laws.append(Law(key, title, setting, of, [Point(n, spread.spread_of(taken[n]), max(peaks[n])) for n, _, _ in settings]))
        race.say(f"cost of a node measured: {title}")
    return laws
