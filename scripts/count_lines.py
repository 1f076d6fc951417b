#!/usr/bin/env python3
"""Counts how many lines the compiler reads per line of code of mfl, and compares that with a budget.

Most of the time to compile a unit is spent on the headers that it includes. Seconds differ from run to run;
the number of preprocessed lines (g++ -E -P, blank lines not counted) does not, for one version of the
compiler and of the packages. This script adds them up over the units of the library and the program, divides
by the lines of code in mfl/ (neither blank nor comment), and fails if the ratio is more than 10 % above the
one in tests/repository/build_weight.toml. Tests and benchmarks are not counted.

A budget that was recorded with another compiler proves nothing: the ratio is only printed then.

Exit codes: 0 within the budget, 1 above it, 2 wrong arguments or a unit that cannot be preprocessed.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compile_commands
from compile_commands import ROOT, Failure

BUDGET = ROOT / "tests/repository/build_weight.toml"
ALLOWED = 1.10
# A comment, or what may hold the signs of one: a string, raw or not, and a character.
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL,
)


def code_lines(text):
    """How many lines are neither blank nor comment."""

    def without(match):
        if not match[0].startswith(("//", "/*")):
            return match[0]
        return "\n" * match[0].count("\n") or " "

    return sum(1 for line in TOKEN.sub(without, text).splitlines() if line.strip())


def code_lines_below(folder):
    return sum(
        code_lines(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*")
        if path.suffix in (".h", ".cc")
    )


def unit_name(entry):
    """An object's path as people call it: mfl/run (15 sources), mfl/base/rng.cc."""
    found = re.fullmatch(r"(.*)/CMakeFiles/[^/]+\.dir/(.*)\.o", compile_commands.output(entry))
    if not found:
        return compile_commands.output(entry)
    folder, source = found.groups()
    if not source.startswith("Unity/"):
        return f"{folder}/{source.split('/')[-1]}"
    number = re.search(r"unity_(\d+)_", source)
    return f"{folder}, unit {number[1] if number else '?'} ({len(compile_commands.sources(entry))} sources)"


def preprocessed_lines(entry):
    command = [*compile_commands.flags(entry), "-w", "-E", "-P", entry["file"]]
    done = subprocess.run(command, cwd=entry["directory"], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        error = compile_commands.first_error(done.stderr.decode(errors="replace"))
        raise Failure(f"cannot preprocess {unit_name(entry)}: {error}")
    return sum(1 for line in done.stdout.splitlines() if line.strip())


def compiler_of(entries):
    """The compiler as the budget names it: its program and version."""
    program = compile_commands.words(entries[0])[0]
    version = subprocess.run(
        [program, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True
    ).stdout.strip()
    told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return f"{'Clang' if 'clang' in told else 'GCC'} {version}"


def measure(entries, jobs):
    """The units of the library and the program as (lines, name), the heaviest first, and the compiler."""
    entries = [entry for entry in entries if compile_commands.output(entry).startswith("mfl/")]
    if not entries:
        raise Failure("no unit of mfl/ in compile_commands.json")
    with ThreadPoolExecutor(jobs) as pool:
        lines = list(pool.map(preprocessed_lines, entries))
    return sorted(zip(lines, map(unit_name, entries)), reverse=True), compiler_of(entries)


def budget_text(ratio, compiler):
    return (
        "# How many preprocessed lines the compiler reads per line of code in mfl/.\n"
        "# CI fails if it is more than 10 % above this.\n"
        "# Written by: scripts/count_lines.py --update\n"
        f'compiler = "{compiler}"\nlines_per_code_line = {ratio:.1f}\n'
    )


def judge(ratio, compiler, budget):
    """Whether the ratio is within the budget, and a sentence about it."""
    allowed = budget["lines_per_code_line"]
    if compiler != budget["compiler"]:
        return True, (
            f"not judged: the budget of {allowed:.1f} was recorded with {budget['compiler']}, and this is "
            f"{compiler}; the headers of their libraries differ"
        )
    if ratio > allowed * ALLOWED:
        return False, (
            f"{100 * (ratio / allowed - 1):.0f} % above the budget of {allowed:.1f}; 10 % are allowed.\n"
            "- Look for a header of mfl/ with a new include (the heaviest units are above), for a source outside\n"
            "  of the unity units, and for a folder with little code.\n"
            "- If the growth is worth it, record it: scripts/count_lines.py --update, on Debian 12.\n"
            "- If the tree has not changed, the -dev packages of this machine have: their headers are counted too.\n"
            "  Compare with another Debian 12 machine, and record the new budget if both agree."
        )
    if ratio < allowed / ALLOWED:
        less = f"{100 * (1 - ratio / allowed):.0f} % below the budget of {allowed:.1f}"
        return True, f"{less}; record it: scripts/count_lines.py --update"
    return True, f"within 10 % of the budget of {allowed:.1f}"


def parse(words):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=__doc__.split("\n\n", 1)[1],
    )
    parser.add_argument(
        "--build",
        metavar="FOLDER",
        type=Path,
        default=ROOT / "build/dev",
        help="the build folder, configured by the preset dev if it is not yet (build/dev)",
    )
    parser.add_argument("--update", action="store_true", help="write the ratio to the budget")
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=os.cpu_count(), help="compilers at a time (one per core)"
    )
    return parser.parse_args(words)


def main(words, source=ROOT / "mfl", budget_file=BUDGET):
    arguments = parse(words)
    folder = arguments.build.resolve()
    try:
        entries = compile_commands.read(folder, "dev")
        compile_commands.generate(folder, entries)
        units, compiler = measure(entries, arguments.jobs)
        if not arguments.update and not budget_file.exists():
            raise Failure(f"no budget in {budget_file}; write it with --update")
    except Failure as failure:
        print(f"count_lines.py: {failure}", file=sys.stderr)
        return 2
    code, total = code_lines_below(source), sum(lines for lines, _ in units)
    ratio = total / code
    print("preprocessed lines per unit, the heaviest first:")
    for lines, name in units[:10]:
        print(f"{lines:>10,} {name}")
    print(f"{total:>10,} in all {len(units)} units, {code:,} lines of code: {ratio:.1f} per line of code")
    if arguments.update:
        budget_file.write_text(budget_text(ratio, compiler), encoding="utf-8")
        return 0
    good, sentence = judge(ratio, compiler, tomllib.loads(budget_file.read_text(encoding="utf-8")))
    print(sentence)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
