#!/usr/bin/env python3
"""Prints what building and testing cost at two commits, side by side: build_cost.py OLD NEW

Each commit is cloned into a temporary folder and each stage starts from an empty tree, without ccache. Old
and new take turns, stage by stage, so that both see the same machine. CPU time is the user and system time
of all processes of a stage; it is what to compare, as the wall time depends on what else the machine does.
The output is Markdown.

Stages:
  release   cmake --preset release, and the target mfl_cli
  test      ./test.sh
  ci        .ci/run
  pip       pip install . into a fresh virtual environment

Below the table are the ten units of the release build that took longest, from ninja's log. With --per-source
every compiler of that build is measured: CPU time and peak memory of the ten heaviest, for some hundredths
of a second more per unit.

Exit codes: 0 all stages passed, 1 one failed (its output is shown), 2 wrong arguments.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORDER = Path(__file__).resolve().parent / "compiler_cost.py"


class Cost(NamedTuple):
    """What a stage took, in seconds, and its exit code."""

    cpu: float
    wall: float
    code: int


class Checkout:
    """A commit in a folder of its own."""

    def __init__(self, repository, commit, folder):
        named = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
            cwd=repository,
            capture_output=True,
            text=True,
        )
        if named.returncode != 0:
            raise SystemExit(f"build_cost.py: no commit {commit} in {repository}")
        self.name, self.folder, self.records = commit, folder / "tree", folder / "compilers.txt"
        subprocess.run(
            ["git", "clone", "--quiet", "--shared", "--no-checkout", repository, self.folder], check=True
        )
        subprocess.run(
            ["git", "checkout", "--quiet", "--detach", named.stdout.strip()], cwd=self.folder, check=True
        )
        self.environment = {**os.environ, "CCACHE_DISABLE": "1"}
        self.python = folder / "venv"

    def run(self, commands, log):
        """Runs commands until one fails; their output goes to the file `log`."""
        before, start, code = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
        with log.open("wb") as out:
            for command in commands:
                code = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                ).returncode
                if code != 0:
                    break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Cost(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            time.monotonic() - start,
            code,
        )

    def measure(self, stage, per_source):
        """The Cost of a stage from an empty tree, or None if the commit has no such stage."""
        subprocess.run(["git", "clean", "-ffdxq"], cwd=self.folder, check=True)
        if stage == "release":
            configure = ["cmake", "--preset", "release"]
            if per_source:
                self.environment["BUILD_COST_RECORDS"] = str(self.records)
                configure.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={sys.executable};-SE;{RECORDER}")
            commands = [configure, ["cmake", "--build", "--preset", "release", "--target", "mfl_cli"]]
        elif stage == "pip":
            subprocess.run([sys.executable, "-m", "venv", "--clear", self.python], check=True)
            commands = [
                [self.python / "bin/python3", "-m", "pip", "install", "--disable-pip-version-check", "."]
            ]
        else:
            script = "./test.sh" if stage == "test" else ".ci/run"
            if not (self.folder / script).exists():
                return None
            commands = [[script]]
        log = self.folder.parent / f"{stage}.txt"
        cost = self.run(commands, log)
        if cost.code != 0:
            end = log.read_text(errors="replace").splitlines()[-30:]
            title = f"build_cost.py: {stage} of {self.name} failed with exit code {cost.code}; the end of its output:"
            print("\n".join([title, *end]), file=sys.stderr)
        return cost


def unit_name(name):
    """An object's path as people call it: mfl/run/mfl_run unity_0, mfl/base/rng.cc."""
    found = re.fullmatch(r"(.*/)?CMakeFiles/([^/]+)\.dir/(?:.*/)?([^/]+)\.o", name)
    if not found:
        return name
    folder, target, source = found.groups(default="")
    return (
        f"{folder}{target} {source.removesuffix('_cxx.cxx')}"
        if source.startswith("unity_")
        else f"{folder}{source}"
    )


def ninja_seconds(log):
    """{unit: wall seconds} of the objects in a .ninja_log."""
    seconds = {}
    for line in log.read_text().splitlines():
        parts = line.split("\t")
        if len(parts) == 5 and parts[3].endswith(".o"):
            seconds[unit_name(parts[3])] = (int(parts[1]) - int(parts[0])) / 1000
    return seconds


def recorded_costs(records):
    """{unit: (CPU seconds, peak MB)} as compiler_cost.py recorded them."""
    found = {}
    for line in records.read_text().splitlines():
        cpu, memory, name = line.split("\t")
        if name.endswith(".o"):
            found[unit_name(name)] = (float(cpu), float(memory))
    return found


def amount(value):
    return f"{value:.1f} s" if value < 600 else f"{value / 60:.1f} min"


def cells(old, new, field):
    """Two times and their ratio."""
    values = [None if cost is None or cost.code != 0 else getattr(cost, field) for cost in (old, new)]
    texts = [
        "-" if cost is None else "failed" if value is None else amount(value)
        for cost, value in zip((old, new), values)
    ]
    return texts + [f"{100 * values[1] / values[0]:.0f} %" if None not in values and values[0] > 0 else "-"]


def table(names, costs):
    lines = [
        f"| stage | CPU {names[0]} | CPU {names[1]} | ratio | wall {names[0]} | wall {names[1]} | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for stage, (old, new) in costs.items():
        lines.append("| " + " | ".join([stage, *cells(old, new, "cpu"), *cells(old, new, "wall")]) + " |")
    return lines


def heaviest(checkout, per_source):
    """The ten units of a release build that took longest, as Markdown."""
    log = checkout.folder / "build/release/.ninja_log"
    if not log.exists():
        return []
    walls = ninja_seconds(log)
    title = f"Release build of {checkout.name}: {len(walls)} units"
    if per_source and checkout.records.exists():
        costs = recorded_costs(checkout.records)
        top = sorted(costs.items(), key=lambda item: -item[1][0])[:10]
        peak, unit = max(((memory, name) for name, (_, memory) in costs.items()), default=(0, "-"))
        return [
            "",
            f"{title}, {sum(cpu for cpu, _ in costs.values()):.1f} s of CPU time in compilers; "
            f"peak memory of one compiler {peak:.0f} MB ({unit})",
            "",
            "| unit | CPU | peak memory |",
            "|---|--:|--:|",
            *(f"| {name} | {cpu:.1f} s | {memory:.0f} MB |" for name, (cpu, memory) in top),
        ]
    top = sorted(walls.items(), key=lambda item: -item[1])[:10]
    return [
        "",
        f"{title}",
        "",
        "| unit | wall |",
        "|---|--:|",
        *(f"| {name} | {wall:.1f} s |" for name, wall in top),
    ]


def parse(words):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=__doc__.split("\n\n", 1)[1],
    )
    parser.add_argument("old", metavar="OLD", help="a commit")
    parser.add_argument(
        "new", metavar="NEW", help="a commit to compare with it; changes that are not committed do not count"
    )
    parser.add_argument(
        "--stages",
        metavar="NAMES",
        default="release",
        help="release, test, ci and pip, with commas (release)",
    )
    parser.add_argument(
        "--per-source", action="store_true", help="measure every compiler of the release build"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="compilers at a time (CMAKE_BUILD_PARALLEL_LEVEL)"
    )
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="where to put the clones and logs, which are kept then"
    )
    arguments = parser.parse_args(words)
    arguments.stages = arguments.stages.split(",")
    if unknown := set(arguments.stages) - {"release", "test", "ci", "pip"}:
        parser.error(f"unknown stage {min(unknown)}; the stages are release, test, ci and pip")
    return arguments


def compare(arguments, repository, folder):
    if arguments.jobs:
        os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = str(arguments.jobs)
    checkouts = []
    for place, commit in (("old", arguments.old), ("new", arguments.new)):
        (folder / place).mkdir(parents=True)
        checkouts.append(Checkout(repository, commit, folder / place))
    costs, units, loads = {}, [], []
    for stage in arguments.stages:
        costs[stage] = []
        for checkout in checkouts:
            loads.append(os.getloadavg()[0])
            print(f"== {stage} of {checkout.name} (load {loads[-1]:.1f})", file=sys.stderr, flush=True)
            costs[stage].append(checkout.measure(stage, arguments.per_source))
            if stage == "release":
                units += heaviest(checkout, arguments.per_source)
    print("\n".join(table((arguments.old, arguments.new), costs)))
    texts = ", ".join(f"{load:.1f}" for load in loads)
    print(f"\n{os.cpu_count()} cores; load average before each stage: {texts}")
    print("\n".join(units))
    return 1 if any(cost and cost.code for pair in costs.values() for cost in pair) else 0


def main(words, repository=ROOT):
    arguments = parse(words)
    if arguments.folder:
        return compare(arguments, repository, arguments.folder.resolve())
    with tempfile.TemporaryDirectory(prefix="build-cost-") as folder:
        return compare(arguments, repository, Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
