"""Compares mfl with its peers, measures how its cost grows with size, and writes RESULTS.md. Called by bench.sh."""

import argparse
import importlib.util
import pathlib
import sys
import tempfile

from harness import federation, fleet, machine, mpi, process, race, report, roofline, scaling, softmax, sweep, trainer
from harness.mfl import Mfl

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {"numpy": "numpy", "torch": "torch", "sklearn": "sklearn", "flower": "flwr"}  # and their modules
PARTS = [*PEERS, "softmax", "sweep", "roofline", "federation", "trainer", "mpi", "scaling", "fleet"]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repeats, and a tenth of the steps in the size measurements")
    parser.add_argument("--repeats", type=int, help="repeats of every measurement (7)")
    parser.add_argument("--only", choices=PARTS, help="one peer or one part")
    parser.add_argument("--steps", type=int, default=1000, help="T of the comparison with the peers, for trials (1000)")
    parser.add_argument("--out", type=pathlib.Path, help="where RESULTS.md and plots/ are written (bench for a complete run at "
                        "full length, else build/bench)")
    parser.add_argument("--mfl", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--mnist", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "mfl" / "mnist", help=argparse.SUPPRESS)
    parser.add_argument("--transport", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kernels", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    if arguments.steps < 4:
        parser.error("--steps must be at least 4")
    whole = not arguments.quick and not arguments.only and arguments.steps == 1000
    arguments.repeats = arguments.repeats or (2 if arguments.quick else 7)
    arguments.out = arguments.out or (HERE if whole else HERE.parent / "build" / "bench")
    return arguments


def installed(module):
    if importlib.util.find_spec(module) is not None:
        return True
    race.say(f"{module} is not installed: its comparisons are left out")
    return False


def run_race(arguments, mfl):
    shards = mfl.scratch / "shards"
    mfl.split(shards, race.PAPER["train"], race.PAPER["nodes"])
    peer = arguments.only if arguments.only in PEERS else ""
    absent = [name for name, module in PEERS.items() if peer in ("", name) and not installed(module)]
    contest = race.Race(mfl, sys.executable, HERE / "peers", shards, race.contenders(arguments.steps, peer, absent))
    contest.prove_and_choose(1 if arguments.quick else race.TRIALS)
    contest.run(arguments.repeats)
    return contest


def measure(arguments, scratch):
    mfl = Mfl(arguments.mfl.resolve(), scratch)
    share = 0.1 if arguments.quick else 1.0

    def wanted(part):
        return arguments.only in (None, part)

    found = machine.describe(mfl.binary)
    contest = run_race(arguments, mfl) if arguments.only is None or arguments.only in PEERS else None
    classes = (softmax.measure(mfl, sys.executable, HERE / "peers", arguments.mnist, arguments.repeats, share, installed)
               if wanted("softmax") else None)
    sweeps = sweep.measure(mfl, arguments.repeats, share) if wanted("sweep") else None
    limits = roofline.measure(arguments.kernels, scratch) if wanted("roofline") else None
    network = (federation.measure(mfl, HERE / "peers", arguments.transport, arguments.repeats, share, installed("flwr"))
               if wanted("federation") else None)
    external = (trainer.measure(mfl, HERE / "peers", arguments.mnist, arguments.repeats, share, installed)
                if wanted("trainer") else None)
    ranks = mpi.measure(arguments.kernels.with_name("mpi_bench"), scratch, arguments.repeats) if wanted("mpi") else None
    curves = scaling.measure(mfl, arguments.repeats, share) if wanted("scaling") else None
    laws = fleet.measure(mfl, arguments.kernels, scratch, arguments.repeats, share) if wanted("fleet") else None
    return report.write(arguments.out, found, contest, arguments.repeats, arguments.steps, sweeps, limits, curves, laws,
                        HERE / "missed.toml", network, ranks, classes, external)


def main():
    arguments = parse_arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="mfl-bench-") as scratch:
            judged = measure(arguments, pathlib.Path(scratch))
    except process.Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    for target in judged:
        value = "" if target.value is None else f" ({target.value:.2f})"
        print(f"{target.verdict:20} {target.text}{value}")
    print(f"written to {arguments.out / 'RESULTS.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
