"""Compares two mfl binaries, interleaved: the paper's run, a sweep, a fleet, and a loopback federation. Called by ab.sh."""

import argparse
import pathlib
import sys
import tempfile
import time

from harness import federation, process, race, spread
from harness.mfl import Mfl


SIMULATIONS = {
    "paper's run, T 20,000": ["run", "--train", "5000", "--test", "0", "--steps", "20000"],
    "squared-svm, T 4,000": ["run", "--train", "5000", "--test", "0", "--model", "squared-svm", "--steps", "4000"],
    "sweep of 16 settings": ["sweep", "--train", "5000", "--test", "0", "--model", "logistic", "--steps", "400",
                             "--set", "algorithm.eta=[0.001,0.002,0.003,0.004]", "--set", "algorithm.gamma=[0,0.3,0.5,0.9]"],
    "fleet of 100,000": ["run", "--data", "fleet", "--nodes", "100000", "--test", "0", "--steps", "8"],
    "fleet of 1,000,000": ["run", "--data", "fleet", "--nodes", "1000000", "--fraction-train", "0.1", "--test", "0", "--steps", "8"],
    "small rounds": ["run", "--data", "synthetic:200x30", "--steps", "100000", "--tau", "1", "--threads", "1"],
}


def sides_of(binaries, folder):
    sides = {}
    for name, binary in binaries.items():
        scratch = folder / name
        scratch.mkdir()
        sides[name] = Mfl(binary.resolve(), scratch)
    return sides


def simulate(sides, arguments):
    """Seconds of each side and the digests, which must be equal."""
    seconds, digests = {}, {}
    for name, mfl in sides.items():
        store = mfl.scratch / f"{time.monotonic_ns()}.db"
        data, _ = mfl.answer([mfl.binary, *arguments, "--quiet", "--json", "--store", store])
        runs = data["runs"] if "runs" in data else [data]
        digests[name] = sorted(run["digest"] for run in runs)
        seconds[name] = data["wall_seconds"]
    if digests["old"] != digests["new"]:
        raise process.Failed(f"{' '.join(arguments)}: the digests differ")
    return seconds


def compare_simulations(sides, repeats):
    for what, arguments in SIMULATIONS.items():
        found = {name: [] for name in sides}
        for repeat in range(repeats):
            order = dict(sides if repeat % 2 == 0 else reversed(sides.items()))
            for name, seconds in simulate(order, arguments).items():
                found[name].append(seconds)
        old, new = (spread.spread_of(found[name]) for name in ("old", "new"))
        ratio = spread.ratios(found["old"], found["new"])
        print(f"{what:22}  old {old.median:.3f} s  new {new.median:.3f} s  ratio {ratio.median:.3f} "
              f"({ratio.least:.2f} to {ratio.most:.2f})")


def measure(sides, rounds, repeats, folder):
    """Seconds per round by (name, tls), after all digests were found equal to the simulation's."""
    shards = folder / "shards"
    first = next(iter(sides.values()))
    first.split(shards, race.PAPER["train"], federation.NODES)
    expected = federation.simulated(first, rounds)["digest"]
    found = {(name, tls): [] for name in sides for tls in (False, True)}
    for repeat in range(repeats):
        for tls in (False, True):
            for name, mfl in sides.items():
                seconds, digest = federation.deployed(mfl, shards, rounds, tls, f"{repeat}-{tls}")
                if digest != expected:
                    raise process.Failed(f"{name}: digest {digest} differs from the simulation's {expected}")
                found[name, tls].append(seconds)
    return found


def main():
    parser = argparse.ArgumentParser(prog="ab.sh", description=__doc__)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["simulation", "federation"])
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="mfl-ab-") as folder:
            sides = sides_of({"old": arguments.old, "new": arguments.new}, pathlib.Path(folder))
            if arguments.only != "federation":
                compare_simulations(sides, arguments.repeats)
            if arguments.only == "simulation":
                return 0
            found = measure(sides, arguments.rounds, arguments.repeats, pathlib.Path(folder))
    except process.Failed as failure:
        print(f"ab: {failure}", file=sys.stderr)
        return 1
    for tls in (False, True):
        old, new = (spread.spread_of([1 / s for s in found[name, tls]]) for name in ("old", "new"))
        ratio = spread.ratios(found["old", tls], found["new", tls])
        print(f"{'TLS' if tls else 'plaintext':9}  old {old.median:6.0f} rounds/s ({old.least:.0f} to {old.most:.0f})  "
              f"new {new.median:6.0f} ({new.least:.0f} to {new.most:.0f})  ratio {ratio.median:.2f} ({ratio.least:.2f} to {ratio.most:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
