"""Compares mfl with its peers and measures how its cost grows with size. Called by bench.sh.

Writes RESULTS.md and plots/ into results/bench, or with --record, for a complete run, into bench.
"""

import argparse
import importlib.util
import os
import pathlib
import sys
import tempfile

from harness import federation, fleet, machine, mpi, plan, process, race, report, roofline, scaling, softmax, sweep, trainer
from harness.mfl import Mfl

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 1000
MODULES = {"numpy": "numpy", "torch": "torch", "sklearn": "sklearn", "flower": "flwr"}


def parser_of():
    parser = argparse.ArgumentParser(prog="bench.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="replace bench/RESULTS.md and bench/plots; complete runs only")
    parser.add_argument("--reasons", action="store_true", help="only copy the reasons of missed.toml into bench/RESULTS.md")
    parser.add_argument("--plan", action="store_true", help="only print the plan")
    parser.add_argument("--quick", action="store_true", help="two repeats, and a tenth of the steps in the size measurements")
    parser.add_argument("--repeats", type=int, help=f"repeats of every measurement ({plan.REPEATS})")
    parser.add_argument("--only", choices=[part.name for part in plan.PARTS], help="one peer or one part")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"T of the comparison with the peers, for trials ({STEPS})")
    parser.add_argument("--out", type=pathlib.Path, help="where RESULTS.md and plots/ are written (results/bench)")
    binaries = HERE.parent / "build" / "release" / "bin"
    for name, default in (("mfl", binaries / "mfl"), ("kernels", binaries / "mfl_bench"), ("transport", binaries / "mfl_transport"),
                          ("mnist", pathlib.Path.home() / ".cache" / "mfl" / "mnist")):
        parser.add_argument(f"--{name}", type=pathlib.Path, default=default, help=argparse.SUPPRESS)
    parser.add_argument("--load", type=float, help=argparse.SUPPRESS)
    return parser


def partial(arguments):
    """What makes this run incomplete, or its commit unknown: such a run must not be recorded."""
    conditions = {"--only": arguments.only, "--quick": arguments.quick, "--steps": arguments.steps != STEPS,
                  f"--repeats below {plan.REPEATS}": arguments.repeats is not None and arguments.repeats < plan.REPEATS,
                  "BENCH_MFL": os.environ.get("BENCH_MFL")}
    return [name for name, given in conditions.items() if given]


def parse_arguments(words=None):
    parser = parser_of()
    arguments = parser.parse_args(words)
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    if arguments.steps < 4:
        parser.error("--steps must be at least 4")
    arguments.partial = partial(arguments)
    if arguments.record and arguments.partial:
        parser.error(f"--record takes a complete run, without {', '.join(arguments.partial)}")
    if arguments.record and arguments.out:
        parser.error("--record and --out exclude each other")
    arguments.repeats = arguments.repeats or (plan.QUICK_REPEATS if arguments.quick else plan.REPEATS)
    arguments.out = HERE if arguments.record else arguments.out or HERE.parent / "results" / "bench"
    return arguments


def installed(module):
    if importlib.util.find_spec(module) is not None:
        return True
    race.say(f"{module} is not installed: its comparisons are left out")
    return False


def run_race(arguments, mfl):
    shards = mfl.scratch / "shards"
    mfl.split(shards, race.PAPER["train"], race.PAPER["nodes"])
    peer = arguments.only or ""
    absent = [name for name, module in MODULES.items() if peer in ("", name) and not installed(module)]
    contest = race.Race(mfl, sys.executable, HERE / "peers", shards, race.contenders(arguments.steps, peer, absent))
    contest.prove_and_choose(1 if arguments.quick else race.TRIALS)
    contest.run(arguments.repeats)
    return contest


def measurements(arguments, mfl):
    """{names of parts: what measures them}, in the order of a run."""
    repeats, share, scratch, peers = arguments.repeats, 0.1 if arguments.quick else 1.0, mfl.scratch, HERE / "peers"
    return {
        plan.PEERS: lambda: run_race(arguments, mfl),
        ("softmax",): lambda: softmax.measure(mfl, sys.executable, peers, arguments.mnist, repeats, share, installed),
        ("sweep",): lambda: sweep.measure(mfl, repeats, share),
        ("roofline",): lambda: roofline.measure(arguments.kernels, scratch),
        ("federation",): lambda: federation.measure(mfl, peers, arguments.transport, repeats, share, installed("flwr")),
        ("trainer",): lambda: trainer.measure(mfl, peers, arguments.mnist, repeats, share, installed),
        ("mpi",): lambda: mpi.measure(arguments.kernels.with_name("mpi_bench"), scratch, repeats),
        ("scaling",): lambda: scaling.measure(mfl, repeats, share),
        ("fleet",): lambda: fleet.measure(mfl, arguments.kernels, scratch, repeats, share),
    }


def measure(arguments, scratch):
    mfl = Mfl(arguments.mfl.resolve(), scratch)
    commit = "unknown (BENCH_MFL)" if os.environ.get("BENCH_MFL") else machine.commit_of(HERE)
    about = machine.describe(mfl.binary, commit, arguments.load)
    clock = plan.Clock(plan.chosen(arguments.only), arguments.repeats)
    found = {}
    for names, of_part in measurements(arguments, mfl).items():
        if arguments.only is None or arguments.only in names:
            with clock.part(*names):
                found["race" if names == plan.PEERS else names[0]] = of_part()
    about["took"] = plan.minutes(clock.elapsed)
    page = report.Page(about, arguments.partial, clock.taken, arguments.repeats, arguments.steps, found)
    return page.write(arguments.out, HERE / "missed.toml")


def report_outcome(arguments, judged):
    for target in judged:
        value = "" if target.value is None else f" ({target.value:.2f})"
        print(f"{target.verdict:20} {target.text}{value}")
    print(f"written to {arguments.out / 'RESULTS.md'}")
    if arguments.record:
        print("next: bring the table at the top of README.md up to date (a test compares them), write the reasons for missed targets into\n"
              "bench/missed.toml with the \"run\" of the page, and copy them with ./bench.sh --reasons")


def main():
    arguments = parse_arguments()
    if arguments.plan:
        print(plan.text(plan.chosen(arguments.only), arguments.repeats), file=sys.stderr)
        return 0
    try:
        if arguments.reasons:
            report.renew_reasons(HERE / "RESULTS.md", HERE / "missed.toml")
            return 0
        with tempfile.TemporaryDirectory(prefix="mfl-bench-") as scratch:
            report_outcome(arguments, measure(arguments, pathlib.Path(scratch)))
    except process.Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
