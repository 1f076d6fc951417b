#!/usr/bin/env python3
"""Checks the documentation: check_docs.py ROOT. Prints each problem; exit code 1 if there is one.

Every relative link of a *.md file names an existing file, every bold number in the table of README.md appears in
bench/RESULTS.md, and every row of docs/failures.md ends with the names of tests that exist.
"""
import re
import sys
from pathlib import Path

import check_english

LINK = re.compile(r"\]\(([^)\s#]*[./][^)\s#]*)(?:#[^)\s]*)?\)")  # a formula such as [x](t) is no link
NUMBER = re.compile(r"^\| \*\*([0-9][0-9.,]*)\*\*", re.MULTILINE)


TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
NAMED = re.compile(r"`(\w+\.\w+)`")


def unknown_tests(root, name="docs/failures.md"):
    """Rows of a page's tables whose last cell names no test, or one that is not in tests/."""
    if not (root / name).exists():
        return []
    known = {f"{suite}.{test}" for path in (root / "tests").rglob("*.cc")
             for suite, test in TEST.findall(path.read_text(encoding="utf-8"))}
    found = []
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| what happens"):
            continue
        named = NAMED.findall(line.strip().strip("|").split("|")[-1])
        if not named:
            found.append(f"{name}:{number}: the row names no test")
        found += [f"{name}:{number}: there is no test {test}" for test in named if test not in known]
    return found


def broken_links(root, name):
    found = []
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        for target in LINK.findall(line):
            if "://" not in target and not ((root / name).parent / target).exists():
                found.append(f"{name}:{number}: {target} does not exist")
    return found


def unknown_numbers(readme, results):
    """The numbers of README's table that the results do not have. 788 is found in 788.12."""
    numbers = NUMBER.findall(readme)
    if not numbers:
        return ["README.md: no table with bold numbers"]
    return [f"README.md: {number} is not in bench/RESULTS.md" for number in numbers
            if not re.search(rf"(?<![0-9.,]){re.escape(number)}(?![0-9])", results)]


def problems(root, names):
    found = [line for name in names for line in broken_links(root, name)] + unknown_tests(root)
    return found + unknown_numbers((root / "README.md").read_text(encoding="utf-8"),
                                   (root / "bench/RESULTS.md").read_text(encoding="utf-8"))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_docs.py ROOT")
    root = Path(sys.argv[1])
    found = problems(root, check_english.files(root, {".md"}))
    print("\n".join(found) if found else "links, numbers and names of tests are right")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
