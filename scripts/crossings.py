#!/usr/bin/env python3
"""Counts how often a run passes from a folder of mfl/ to another: crossings.py --build BUILD [--list]

A reader who follows a run through the code changes folders whenever the next function that they have not read
yet is in another one. This script counts these changes in the machine code of a build, for the smallest run:

- A function belongs to the folder whose objects define it. Functions that several folders define (templates
  and inline functions of headers) and functions outside of namespace mfl belong to none and do not count.
  Those of mfl/base (errors, digests, random numbers, kernels) do not count either: every folder uses them as
  it uses the standard library.
- gdb stops at every function the first time that it is called. These first calls, in their order, are what a
  reader meets. A crossing is a first call in another folder than the first call before it.
- "Before the first step" begins with the first call of a function of mfl/run, when the experiment has been
  read, and ends with the first call of the function that starts a round (--round). A round is what lies
  between the second and the third call of that function, with all functions unread at its start.

The counts depend on what the compiler makes inline within a folder, so compare builds of one preset (release)
and one compiler. The engine is the serial one; every round is recorded.

Exit codes: 0 counted, 1 more than --most-before or --most-per-round, 2 wrong arguments or no program.

Examples:
  scripts/crossings.py --build build/release
  scripts/crossings.py --build build/release --list
  scripts/crossings.py --build build/release --most-before 50 --most-per-round 28
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

RUN = (
    "run --data synthetic:150x16 --test 0 --eta 0.1 --tau 3 --steps 12 --record-every 3 "
    "--engine serial --quiet --json"
)
ROUND = "mfl::Training<float>::range(unsigned long)"
START, EVERYWHERE = "run", "base"  # the folder where a run begins, and the one that does not count
OF_MFL = re.compile(r"_ZZ?NK?3mfl")  # mangled names of functions in namespace mfl, and of their lambdas

# Runs inside of gdb. It stops at each of the addresses once, and at that of the round every time.
IN_GDB = """
import gdb, json
addresses, round_at, out = json.load(open({plan!r})), {round_at}, []
for setting in ("pagination off", "confirm off", "breakpoint pending off", "breakpoint always-inserted on",
                "disable-randomization on", "print thread-events off"):
    gdb.execute("set " + setting)
gdb.execute("starti", to_string=True)
mapped = gdb.execute("info proc mappings", to_string=True)
base = int(mapped.split("0x")[1].split()[0], 16) if {relocated} else 0
armed = {{}}
def arm():
    for address in addresses:
        if address not in armed:
            armed[address] = gdb.Breakpoint("*%d" % (base + address), internal=True)
            armed[address].silent = True
arm()
rounds = 0
while rounds < 3:
    gdb.execute("continue", to_string=True)
    if not gdb.selected_inferior().pid:
        break
    address = int(gdb.parse_and_eval("(unsigned long)$pc")) - base
    if address not in armed:
        break
    if address == round_at:
        rounds += 1
        if rounds == 2:
            arm()
    else:
        armed.pop(address).delete()
    out.append(address)
json.dump(out, open({result!r}, "w"))
gdb.execute("kill")
"""


class Failure(Exception):
    """The text is for the user."""


def output_of(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def functions_in(file):
    """{mangled name: address} of the functions of namespace mfl that a file defines."""
    out = {}
    for line in output_of("nm", "--defined-only", file).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "TtWw" and OF_MFL.match(words[2]):
            out[words[2]] = int(words[0], 16)
    return out


def folders_of_functions(build):
    """{mangled name: folder} of the functions that one folder alone defines."""
    folders = collections.defaultdict(set)
    for file in (build / "mfl").rglob("*.o"):
        folder = file.relative_to(build / "mfl").parts[0]
        for name in functions_in(file):
            folders[re.sub(r"\.(part|constprop|isra|cold)\..*|\.cold$", "", name)].add(folder)
    return {name: min(found) for name, found in folders.items() if len(found) == 1}


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines(), strict=True))


def first_calls(program, addresses, round_at, words, folder):
    """The addresses in the order of their first calls, the round's at each call."""
    plan, result, script = folder / "plan.json", folder / "result.json", folder / "in_gdb.py"
    plan.write_text(json.dumps(sorted(addresses)))
    relocated = "DYN" in output_of("readelf", "-h", program)
    script.write_text(
        IN_GDB.format(plan=str(plan), result=str(result), round_at=round_at, relocated=relocated)
    )
    store = ["--store", str(folder / "runs.db")]
    output_of("gdb", "-nx", "-batch", "-x", script, "--args", program, *words.split(), *store)
    if not result.exists():
        raise Failure("gdb did not follow the program")
    return json.loads(result.read_text())


def counted(build, words=RUN, round_name=ROUND):
    """Two lists of (folder, function): the first calls before the first step, and those of a round."""
    program = build / "bin/mfl"
    folders, functions = folders_of_functions(build), functions_in(program)
    known = {address: name for name, address in functions.items() if name in folders}
    names = demangled(list(known.values()))
    rounds = [address for address, name in known.items() if names[name] == round_name]
    if not rounds:
        raise Failure(f"{program} has no function {round_name}; --round names the one that starts a round")
    with tempfile.TemporaryDirectory() as folder:
        calls = first_calls(program, known, rounds[0], words, Path(folder))
    starts = [at for at, address in enumerate(calls) if address == rounds[0]]
    if len(starts) < 3:
        raise Failure(f"{round_name} was called {len(starts)} times, 3 are needed")
    steps = [(folders[known[address]], names[known[address]]) for address in calls]
    begin = next(at for at, step in enumerate(steps) if step[0] == START)
    return steps[begin : starts[0] + 1], steps[starts[1] : starts[2] + 1]


def crossings(steps):
    """The pairs of neighbours that are in different folders."""
    counted_ones = [step for step in steps if step[0] != EVERYWHERE]
    return [(a, b) for a, b in pairwise(counted_ones) if a[0] != b[0]]


def short(function):
    """Without parameters, template arguments and namespaces."""
    text = re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]|mfl::", "", function)
    while "<" in text and text != (text := re.sub(r"<[^<>]*>", "", text)):
        pass
    return text.partition("(")[0].split(" ")[-1]


def report(title, steps, listed):
    crossed = crossings(steps)
    folders = {folder for folder, _ in steps} - {EVERYWHERE}
    print(f"{title}: {len(crossed)} crossings, {len(folders)} folders, {len(steps)} functions")
    pairs = collections.Counter(f"{a[0]} -> {b[0]}" for a, b in crossed)
    print("  most often: " + ", ".join(f"{pair} {count}" for pair, count in pairs.most_common(8)))
    if listed:
        for (folder, function), (other, called) in crossed:
            print(f"  {folder + ':' + short(function):50} -> {other}:{short(called)}")
    return len(crossed)


def main(arguments=None):
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with bin/mfl")
    parser.add_argument("--list", action="store_true", help="print every crossing")
    parser.add_argument("--run", default=RUN, metavar="WORDS", help=f"what mfl is called with ({RUN})")
    parser.add_argument("--round", default=ROUND, metavar="FUNCTION", help=f"what starts a round ({ROUND})")
    parser.add_argument("--most-before", type=int, metavar="N", help="fail above it")
    parser.add_argument("--most-per-round", type=int, metavar="N", help="fail above it")
    args = parser.parse_args(arguments)
    before, in_round = counted(args.build.resolve(), args.run, args.round)
    passed = True
    for title, steps, most in (
        ("before the first step", before, args.most_before),
        ("per round", in_round, args.most_per_round),
    ):
        count = report(title, steps, args.list)
        passed = passed and (most is None or count <= most)
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError) as failure:
        print(f"crossings.py: {failure}", file=sys.stderr)
        sys.exit(2)
