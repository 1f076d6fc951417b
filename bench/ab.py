"""Compares two mfl binaries on the same work, in interleaved pairs. Called by ab.sh.

Both sides must give the same result before anything is timed. A ratio is new / old, the median over the pairs, with an interval of
order statistics that contains the true median with at least 95 % probability (six pairs or more), whatever the distribution.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time

from harness import compare, machine, process, race, spread, workloads
from harness.mfl import Mfl

PAIRS = 7


def parse_arguments():
    parser = argparse.ArgumentParser(prog="ab.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, nargs="?", help="an mfl binary")
    parser.add_argument("new", type=pathlib.Path, nargs="?", help="another; the same twice shows the noise of the machine")
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    parser.add_argument("--only", metavar="NAME,...", help="these workloads")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs of each workload ({PAIRS})")
    parser.add_argument("--within", type=float, default=3, metavar="PERCENT", help="slower by at most this much is \"no slower\" (3)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every sample here")
    arguments = parser.parse_args()
    if not arguments.list and arguments.new is None:
        parser.error("two mfl binaries are needed")
    for binary in (arguments.old, arguments.new):
        if binary is not None and not os.access(binary, os.X_OK):
            parser.error(f"{binary} is not a program")
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    try:
        arguments.chosen = chosen(arguments.only)
    except KeyError as unknown:
        parser.error(f"unknown workload {unknown}; --list shows them")
    return arguments


def chosen(only):
    """The workloads of a list of names, in the order of the table; KeyError names an unknown one."""
    if only is None:
        return workloads.WORKLOADS
    by_name = {workload.name: workload for workload in workloads.WORKLOADS}
    wanted = [by_name[name] for name in only.split(",")]
    return [workload for workload in workloads.WORKLOADS if workload in wanted]


def sides_of(arguments, folder):
    sides = {}
    for side in compare.SIDES:
        (folder / side).mkdir()
        sides[side] = Mfl(getattr(arguments, side).resolve(), folder / side)
    return sides


def measure(arguments, folder):
    sides = sides_of(arguments, folder)
    data = workloads.Data(folder, sides["old"])
    found = []
    for workload in arguments.chosen:
        started = time.monotonic()
        found.append(compare.compare(workload.name, lambda side: workloads.sample(workload, data, sides[side]), arguments.pairs))
        race.say(f"{workload.name}: {'failed' if found[-1].failure else 'done'} ({time.monotonic() - started:.0f} s)")
    return found, "MNIST" if data.has_mnist else "generated"


def describe(arguments, load):
    """The run that the figures belong to."""
    binaries = {side: {"file": str(getattr(arguments, side)), "sha256": hashlib.sha256(getattr(arguments, side).read_bytes()).hexdigest()}
                for side in compare.SIDES}
    return {"started": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), **machine.hardware(), "load before the run": load,
            "pairs": arguments.pairs, **binaries}


def headline(about, tolerance, minutes):
    coverage = spread.median_interval([1.0] * about["pairs"]).coverage
    return (f"{about['started']}, {about['CPU']}, {about['cores']} cores, load before the run {about['load before the run']:.2f}; images: {about['images']}; "
            f"interleaved pairs: {about['pairs']}. new / old is the median over the pairs, above 1 is slower; its interval covers the true median with "
            f"probability {100 * coverage:.1f} %. No slower: by at most {tolerance:g} %. Took {minutes:.1f} min.\n")


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join(f"{workload.name:16} {workload.title}" for workload in arguments.chosen))
        return 0
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
    about, started = describe(arguments, os.getloadavg()[0]), time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="mfl-ab-") as folder:
            found, about["images"] = measure(arguments, pathlib.Path(folder))
    except process.Failed as failure:
        print(f"ab: {failure}", file=sys.stderr)
        return 1
    print(headline(about, arguments.within, (time.monotonic() - started) / 60))
    print(compare.table(found, arguments.within / 100), end="", flush=True)
    failed = [one for one in found if one.failure]
    for one in failed:
        print(f"ab: {one.name}: {one.failure}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"about": about, "workloads": [compare.as_json(one) for one in found]}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
