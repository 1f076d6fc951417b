#!/usr/bin/env python3
"""Writes the reference pages that the code describes best: reference.py --mfl BINARY [--check].

    docs/config.md           every key of an experiment file, and the entries that keys name, from `mfl keys --json`
    docs/commands.md         every command, from the help of the program
    docs/python-api.md       the Python package, from its docstrings
    python/mfl/__init__.pyi  types of the package, with every key as a keyword of run() and sweep()

BINARY is a build with the network. With --check nothing is written: each file that would change is named, and the exit code is 1.
"""
import argparse
import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

from python_reference import api_page, stub

ROOT = Path(__file__).resolve().parents[1]
NOTE = "<!-- Written by scripts/reference.py; do not edit. -->\n\n"


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def asked(mfl, *words):
    return subprocess.run([mfl, *words], capture_output=True, text=True, check=True).stdout


# --- keys ---

CONFIG_INTRO = """# Configuration keys

An experiment file is TOML: tables of keys. A key that a file leaves out has its default. The flag of a key sets it on
the command line of `mfl run` and of other commands, `--set TABLE.KEY=VALUE` sets any key, and `mfl.run` of the Python
package takes keys as keywords ([python-api.md](python-api.md)). [settings.md](settings.md) explains what the settings
do, and `mfl keys KEY` prints one key in a terminal.

A key marked with `*` is not part of the digest of a configuration: it decides how a run is carried out, and not what
the run computes.
"""

NAMES_INTRO = """## Names

A key in this list names an entry of a table. An entry is written as `NAME`, `NAME(VALUE, ...)` or
`NAME(PARAMETER=VALUE, ...)`. Parameters with a default, after `=`, and those in brackets may be left out.
A program that uses the library adds entries of its own ([extending.md](extending.md)).
"""


def key_row(key):
    mark = "" if key["in_digest"] else " `*`"
    text = escaped(key["help"])
    if "entries" in key:
        text += f" ([names](#{key['kind'].replace(' ', '-')}))"
    default = key["default"].replace("|", "\\|")
    return f"| `{key['key']}`{mark} | `{default}` | `{key['flag']} {key['value'].replace('|', chr(92) + '|')}` | {text} |\n"


def entry_row(entry):
    row = f"| `{entry['usage']}`" + "".join(f", `{alias}`" for alias in entry["aliases"]) + f" | {entry['description']}"
    row += "".join(f"; `{one['name']}`: {one['help']}, {one['range']}" for one in entry["parameters"])
    return row + " |\n"


def config_page(keys):
    page, table, kinds = NOTE + CONFIG_INTRO, None, {}
    for key in keys:
        if key["table"] != table:
            table = key["table"]
            page += f"\n## [{table}]\n\n| key | default | flag | what it sets |\n|---|---|---|---|\n"
        page += key_row(key)
        if "entries" in key:
            kinds.setdefault(key["kind"], (key, []))[1].append(f"`{key['table']}.{key['key']}`")
    page += "\n" + NAMES_INTRO
    for kind, (key, used) in kinds.items():
        page += f"\n### {kind}\n\nNamed by {', '.join(used)}.\n\n| {kind} | what it is |\n|---|---|\n"
        page += "".join(map(entry_row, key["entries"]))
    return page


# --- commands ---

COMMANDS_INTRO = """# Commands

Every command has `--help` with all of its flags, and `mfl man COMMAND` prints a manual page. Commands that do work take
`--json` and print one object for programs ([output.md](output.md)). Exit codes: 0 done, 1 the run failed, 2 bad
arguments or configuration, 3 bad data, 4 network, 5 a bug in mfl. `mfl completion bash` (or `zsh`, `fish`) prints a
completion script.
"""


def commands(mfl, path=()):
    """The path and the help of every command that does something, from the help of its parent."""
    text = asked(mfl, *path, "--help")
    listed = re.search(r"\nCommands:\n((?:  .*\n)+)", text)
    names = re.findall(r"^  (\S+)", listed[1], re.M) if listed else []
    for name in names:
        yield from commands(mfl, (*path, name))
    if path and ("--json" in text):
        yield path, text


def command_section(path, text):
    example = text.split("\nExample:\n", 1)[1]
    lines = "".join(f"    {line.strip()}\n" for line in example.splitlines() if line.startswith("  "))
    first, usage = text.splitlines()[:2]
    return f"\n## mfl {' '.join(path)}\n\n{first}.\n\n    {usage.removeprefix('Usage: ')}\n\nExample:\n\n{lines}"


def commands_page(mfl):
    return NOTE + COMMANDS_INTRO + "".join(command_section(path, text) for path, text in commands(mfl))


# --- all of it ---


def pages(mfl, root=ROOT):
    """What each file should be."""
    keys = json.loads(asked(mfl, "keys", "--json"))["data"]["keys"]
    return {"docs/config.md": config_page(keys), "docs/commands.md": commands_page(mfl),
            "docs/python-api.md": NOTE + api_page(root / "python" / "mfl"),
            "python/mfl/__init__.pyi": stub(root / "python" / "mfl", keys)}


def differences(wanted, root=ROOT):
    """A line for each file that is not as it should be, with the first line that differs."""
    found = []
    for name, text in wanted.items():
        now = (root / name).read_text(encoding="utf-8") if (root / name).exists() else ""
        if now != text:
            changed = [line for line in difflib.unified_diff(now.splitlines(), text.splitlines(), lineterm="", n=0)
                       if line[0] in "+-" and not line.startswith(("---", "+++"))]
            found.append(f"{name}: {changed[0] if changed else 'white space'}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mfl", required=True, type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    wanted = pages(arguments.mfl.resolve())
    found = differences(wanted)
    if arguments.check:
        print("\n".join([*found, "run scripts/reference.py --mfl BINARY"]) if found else "the reference pages are those of the code")
        sys.exit(1 if found else 0)
    for name, text in wanted.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    print("\n".join(found) if found else "nothing has changed")


if __name__ == "__main__":
    main()
