"""Compares two mfl binaries on a loopback federation of four nodes and 784 parameters, interleaved. Called by ab.sh."""

import argparse
import pathlib
import sys
import tempfile

from harness import federation, process, race, spread
from harness.mfl import Mfl


def measure(binaries, rounds, repeats, folder):
    """Seconds per round by (name, tls), after all digests were found equal to the simulation's."""
    shards = folder / "shards"
    sides = {}
    for name, binary in binaries.items():
        scratch = folder / name
        scratch.mkdir()
        sides[name] = Mfl(binary.resolve(), scratch)
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
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="mfl-ab-") as folder:
            found = measure({"old": arguments.old, "new": arguments.new}, arguments.rounds, arguments.repeats,
                            pathlib.Path(folder))
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
