"""Cost of mfl run against samples, features, nodes and threads: milliseconds per step and peak memory."""

import dataclasses

from . import race, spread

NODES_ROWS = 16384


@dataclasses.dataclass
class Point:
    x: int
    milliseconds: spread.Spread  # of one step on all nodes
    peak_mib: float
    digest: str


@dataclasses.dataclass
class Curve:
    key: str
    title: str
    label: str
    setting: str
    points: list
    linear: bool = True  # whether the cost should be linear

    def line(self):
        return spread.fit_line([p.x for p in self.points], [p.milliseconds.median for p in self.points])


def plans():
    """(curve without points, steps, [(x, options)])."""
    mnist = {"data": "mnist", "nodes": 4, "partition": "contiguous", "threads": 2}
    return [
        (Curve("n", "Samples", "samples", "MNIST, 784 features, 4 nodes, 2 threads, f32. 10,000 samples are 7.8 MB, "
               "40,000 are 31 MB: the cost per sample jumps where the data no longer fits the cache", []), 100,
         [(n, {**mnist, "train": n}) for n in (1000, 2000, 5000, 10000, 20000, 40000, 60000)]),
        (Curve("features", "Features", "features", "synthetic, 8,192 samples, 4 nodes, 2 threads, f32", []), 100,
         [(c, {"data": f"synthetic:8192x{c}", "nodes": 4, "threads": 2}) for c in (100, 200, 400, 800, 1200, 1600)]),
        (Curve("nodes", "Nodes", "nodes", f"synthetic, {NODES_ROWS:,} samples, 784 features, 2 threads, f32", []), 40,
         [(n, {"data": f"synthetic:{NODES_ROWS}x784", "nodes": n, "threads": 2}) for n in (4, 16, 64, 256, 1024, 4096)]),
        (Curve("threads", "Threads", "threads", "MNIST, 60,000 samples, 4 nodes, f32", [], linear=False), 100,
         [(t, {**mnist, "train": 60000, "threads": t}) for t in (1, 2)]),
        (Curve("threads-one-node", "Threads, one node", "threads", "MNIST, 60,000 samples, 1 node, f32", [], linear=False), 100,
         [(t, {**mnist, "train": 60000, "nodes": 1, "threads": t}) for t in (1, 2)]),
    ]


def measure(mfl, repeats, step_share=1.0):
    """Each repeat visits every point of a curve. A `step_share` below 1 takes fewer steps, for trials."""
    curves = []
    for curve, steps, settings in plans():
        steps = max(4, int(steps * step_share))
        seconds, peaks, digests = ({x: [] for x, _ in settings} for _ in range(3))
        for _ in range(repeats):
            for x, options in settings:
                data, finished = mfl.train(steps, **options)
                seconds[x].append(1e3 * data["wall_seconds"] / steps)
                peaks[x].append(finished.peak_kib / 1024)
                digests[x].append(data["digest"])
        curve.points = [Point(x, spread.spread_of(seconds[x]), max(peaks[x]), digests[x][0]) for x, _ in settings]
        curves.append(curve)
        race.say(f"cost against {curve.title.lower()} measured")
    return curves
