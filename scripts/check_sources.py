#!/usr/bin/env python3
"""Compiles sources and headers of mfl alone, to find those that miss an include.

A unity build compiles the sources of a folder as one unit, in which a neighbour's includes hide a missing
one. This script checks the syntax of every source by itself (-fsyntax-only), and of every header as if a
source included nothing else. It configures a build folder without unity (build/work) and builds nothing but
what protobuf generates.

Not checked, because they are not meant to compile alone or cannot hide anything:
  *-inl.h           parts of a source that is compiled once per SIMD target; they need that source's namespace
  Highway sources   (they include hwy/foreach_target.h) are never part of a unit: every build compiles them alone
  optional parts    whose dependency was not found, as the build leaves them out

Exit codes: 0 all compile, 1 some do not, 2 wrong arguments or the build folder cannot be configured.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import compile_commands
from compile_commands import ROOT, Failure


def configure(folder, tests):
    """Configures the folder without unity; returns the entries of its compile_commands.json."""
    entries = compile_commands.configure(folder, "work", ["-DMFL_TESTS=ON"] if tests else [])
    if any("/Unity/unity_" in entry["file"] for entry in entries):
        raise Failure(
            f"{folder} is a unity build; name another folder with --build, or configure this one with "
            "-DMFL_UNITY=OFF"
        )
    return entries


def flags_of(entry):
    """The command of an entry up to its input, for a check of the syntax alone."""
    kept = [word for word in compile_commands.flags(entry) if word not in ("-Winvalid-pch", "-Werror")]
    return kept + ["-w", "-fsyntax-only"]


class Tree:
    """What can be checked: names from the root, with the commands of a compile_commands.json."""

    def __init__(self, entries, root=ROOT):
        self.root = root
        self.entries = {}
        for entry in entries:
            path = Path(entry["directory"], entry["file"])
            if path.is_relative_to(root):
                self.entries.setdefault(path.relative_to(root).as_posix(), entry)

    def names(self, folder, suffix):
        return sorted(
            path.relative_to(self.root).as_posix() for path in (self.root / folder).rglob(f"*{suffix}")
        )

    def reason_to_skip(self, name):
        """Why a file is not checked, or None."""
        if name.endswith("-inl.h"):
            return "part of a source that is compiled once per SIMD target"
        if name.endswith(".cc"):
            if name not in self.entries:
                return "not part of this build"
            text = (self.root / name).read_text(encoding="utf-8", errors="replace")
            return (
                "compiled once per SIMD target, alone in every build"
                if "hwy/foreach_target.h" in text
                else None
            )
        return None if self.model_of(name) else "not part of this build"

    def model_of(self, header):
        """The entry whose flags a header is checked with: of a source in its folder, or in the nearest above."""
        folder = Path(header).parent
        while folder != Path("."):
            inside = [name for name in self.entries if Path(name).parent == folder]
            if inside:
                return self.entries[min(inside)]
            if any((self.root / folder).glob("*.cc")):
                return None  # its sources are left out of this build
            folder = folder.parent
        return None

    def check(self, name):
        """None, or the first error of the compiler."""
        if name.endswith(".h"):
            entry = self.model_of(name)
            command, text = flags_of(entry) + ["-x", "c++", "-"], f'#include "{name}"\n'
        else:
            entry = self.entries[name]
            command, text = flags_of(entry) + [entry["file"]], None
        done = subprocess.run(
            command,
            cwd=entry["directory"],
            input=text,
            stdin=None if text else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode == 0:
            return None
        return compile_commands.first_error(done.stderr)


def git(*arguments, root=ROOT):
    """The output of git, or None if it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files(base, root=ROOT):
    """The files that differ from the merge base with `base`, committed or not; None if there is no such commit."""
    start = git("merge-base", base, "HEAD", root=root)
    if start is None:
        return None
    changed = git("diff", "--name-only", "--no-renames", "--diff-filter=d", start, root=root) or ""
    new = git("ls-files", "--others", "--exclude-standard", root=root) or ""
    return set(changed.splitlines()) | set(new.splitlines())


def chosen(arguments, tree):
    """The names to check and a sentence about the choice."""
    folders = ["mfl", "tests"] if arguments.tests else ["mfl"]
    headers = tree.names("mfl", ".h")
    files = headers + [name for folder in folders for name in tree.names(folder, ".cc")]
    if arguments.all:
        return files, "all"
    if arguments.files:
        wanted = [
            Path(os.path.relpath(Path(name).resolve(), tree.root)).as_posix() for name in arguments.files
        ]
        if unknown := set(wanted) - set(files):
            raise Failure(f"{min(unknown)} is not a source or a header of {' or '.join(folders)}")
        return wanted, "named"
    changed = changed_files(arguments.changed, tree.root)
    if changed is None:
        return headers, f"all headers, as this clone has no commit {arguments.changed}"
    return [name for name in files if name in changed], f"changed since {arguments.changed}"


def check_all(tree, names, jobs):
    """Checks the names; prints each that fails, in their order of completion. Returns how many do."""
    failed = 0
    start = shown = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(tree.check, name): name for name in names}
        for count, future in enumerate(as_completed(running), 1):
            if error := future.result():
                failed += 1
                print(f"{running[future]}: does not compile alone\n  {error}", flush=True)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"   {count} of {len(names)} after {shown - start:.0f} s", file=sys.stderr, flush=True)
    return failed


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=__doc__.split("\n\n", 1)[1],
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--changed",
        metavar="BASE",
        nargs="?",
        const="HEAD~1",
        help="what differs from the merge base with BASE, HEAD~1 if none is given (the default); all headers "
        "if the clone has no such commit",
    )
    what.add_argument("--all", action="store_true", help="every source and header")
    what.add_argument("files", metavar="FILE", nargs="*", default=[], help="these sources and headers")
    parser.add_argument("--tests", action="store_true", help="the sources of tests/ too")
    parser.add_argument(
        "--build",
        metavar="FOLDER",
        type=Path,
        default=ROOT / "build/work",
        help="a build folder without unity, configured if it is not (build/work)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=os.cpu_count(), help="compilers at a time (one per core)"
    )
    arguments = parser.parse_args()
    arguments.changed = arguments.changed or "HEAD~1"
    return arguments


def main():
    arguments = parse()
    folder = arguments.build.resolve()
    start = time.monotonic()
    try:
        entries = configure(folder, arguments.tests)
        tree = Tree(entries)
        names, which = chosen(arguments, tree)
        skipped = {name: reason for name in names if (reason := tree.reason_to_skip(name))}
        names = [name for name in names if name not in skipped]
        if names:
            compile_commands.generate(folder, entries)
    except Failure as failure:
        print(f"check_sources.py: {failure}", file=sys.stderr)
        return 2
    for name, reason in skipped.items():
        print(f"skipped {name}: {reason}")
    if not names:
        print(f"nothing to check ({which})")
        return 0
    failed = check_all(tree, names, arguments.jobs)
    headers, seconds = sum(name.endswith(".h") for name in names), time.monotonic() - start
    verdict = f"{failed} of them miss an include or do not compile" if failed else "each compiles alone"
    print(f"{len(names) - headers} sources and {headers} headers ({which}) in {seconds:.0f} s: {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
