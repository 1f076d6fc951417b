#!/usr/bin/env python3
"""Keeps unidiomatic phrases out: check_english.py ROOT. Prints each as FILE:LINE with a better wording; exit code 1 if any.

Reads every file with one of SUFFIXES, code and string literals included. A phrase is found
across a line break too, in a comment or a string literal that continues on the next line. Case does not count.
"""
import re
import sys
from pathlib import Path

SUFFIXES = {".cc", ".cmake", ".h", ".md", ".proto", ".py", ".sh", ".toml", ".txt"}

NOT_SOURCE = {"build", "results"}  # folders that .gitignore names

# Path prefixes that are not checked yet. Remove a prefix once it passes; the check names those that do.
NOT_YET = []

# The list of phrases and its test quote what they look for.
EXEMPT = {"tests/repository/check_english.py", "tests/repository/check_english_test.py"}

UNITS = ("one|two|three|four|ten|many|few|some|[0-9]+(?:[.,][0-9]+)*|[nmuk]?s|[kMG]i?B|seconds|milliseconds|microseconds|bytes?|samples?|rounds|"
         "rows?|updates|messages?|lines?|records?|steps|nodes|threads|settings?|files?|folder|entry|target|connections?|words?|vectors?|"
         "inputs|aggregations|products|process|matrix|worker|object|accumulation|claim|figure|safety|sums|them")
PER = ("core|node|line|row|round|worker|setting|thread|file|run|class|rank|vector|sample|second|step|parameter|coordinate|number|"
       "feature|method|subcommand|process|shard|block|message|device|machine|gradient|seed|site|client|call|update|record|column|"
       "plane|lane|page|test|model")

# (pattern, better). A blank in a pattern also matches a line break with the comment or string prefix of the next line.
PHRASES = [
    (rf"(?:{UNITS}) an? (?:{PER})", '"per": one per core, bytes per second'),
    (r"an? \w+ an? (?:core|node|line|row|round|worker|setting|thread|sample|second|step|parameter|coordinate|class|rank)",
     '"per": one row per sample'),
    (r"go(?:es)? on(?! the)|went on|going on", "continue"),
    (r"under way", "in progress, running, open"),
    (r"stands?", "is, is in, is duplicated, is separate"),
    (r"(?:can(?:not)?|could|to) be had", "is available, is supported, can be obtained"),
    (r"mend(?:s|ed|ing)?", "fix, repair, correct"),
    (r"(?:is|are) not what (?:it was|they were)", "has changed"),
    (r"anew", "again; restarted"),
    (r"(?:that|who|what|which) (?:is|are) (?:here|there)", "connected, existing, present"),
    (r"(?:is|are) there and (?:is|are)", "exists and is"),
    (r"(?:is|are) not there|(?:is|are) there already|if (?:it is|they are) there", "does not exist, already exists, if present"),
    (r"must be there", "must exist, must be connected"),
    (r"begins more than one", "matches more than one"),
    (r"seed of all that is random", "random seed"),
    (r"(?:is|are) no (?:report|engine|file|run|store|folder) of mfl", "is not an mfl ..."),
    (r"not in this mfl", "this build of mfl has no ... support"),
    (r"done twice", "idempotent, skipped"),
    (r"as much again", "1.5 times, twice as much"),
    (r"hangs? on it", "depends on it"),
    (r"has (?:no|a) say in", "does not affect, affects"),
    (r"pays? for no", "does not cover"),
]

# Idioms that a pattern would otherwise catch.
ALLOWED = [
    r"stands? for",
    r"on the one hand",
]

GAP = r'(?:[ \t]+|[ \t]*(?:\\n)?"?[ \t]*\n[ \t]*(?:(?://+|#+|\*|>)[ \t]*|")?)'


def compiled(pattern):
    return re.compile(r"(?<![\w-])(?:" + pattern.replace(" ", GAP) + r")(?![\w-])", re.IGNORECASE)


COMPILED = [(compiled(pattern), better) for pattern, better in PHRASES]
ALLOWED_COMPILED = [compiled(pattern) for pattern in ALLOWED]


def problems_of(name, text):
    """The lines of one file that hold an unidiomatic phrase."""
    found = []
    allowed = [match.span() for pattern in ALLOWED_COMPILED for match in pattern.finditer(text)]
    for pattern, better in COMPILED:
        for match in pattern.finditer(text):
            if any(first <= match.start() < last for first, last in allowed):
                continue
            line = text.count("\n", 0, match.start()) + 1
            found.append((line, f'{name}:{line}: "{" ".join(match[0].split())}": write {better}'))
    return [message for _, message in sorted(found)]


def files(root, suffixes):
    """The files below root with one of the suffixes, as paths from it; not those in NOT_SOURCE and hidden folders."""
    found = []
    for top in root.iterdir():
        if top.name in NOT_SOURCE or (top.is_dir() and top.name.startswith(".")):
            continue
        found += [path for path in (top.rglob("*") if top.is_dir() else [top]) if path.suffix in suffixes and path.is_file()]
    return sorted(path.relative_to(root).as_posix() for path in found)


def problems(root, not_yet):
    """Every problem below root, and the prefixes of `not_yet` below which there is none."""
    found, waiting = [], {prefix: 0 for prefix in not_yet}
    for name in files(root, SUFFIXES):
        if name in EXEMPT:
            continue
        lines = problems_of(name, (root / name).read_text(encoding="utf-8"))
        prefix = next((prefix for prefix in not_yet if name.startswith(prefix)), None)
        if prefix is None:
            found += lines
        else:
            waiting[prefix] += len(lines)
    return found, [prefix for prefix, count in waiting.items() if count == 0]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_english.py ROOT")
    root = Path(sys.argv[1])
    found, clean = problems(root, NOT_YET)
    for prefix in clean:
        print(f"{prefix}: passes now; remove it from NOT_YET in check_english.py")
    print("\n".join(found) if found else "no unidiomatic phrases")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
