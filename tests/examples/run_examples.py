#!/usr/bin/env python3
"""Runs the commands of a document: run_examples.py FILE --mfl BINARY --experiments FOLDER.

A command is a line that starts with "$ " in a ```console block, with the "> " lines that follow it. All commands of
the file run in one shell, in order, in a fresh folder that holds a copy of FOLDER, with the binary and this Python on PATH and with a
home and a run store of their own; downloaded data is read from the user's cache. Every command must exit with 0.
If lines follow a command, its standard output must match them: runs of blanks and trailing blanks do not
count, "..." inside a line stands for any text, and a line of "..." alone for any number of lines.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FENCE = "```"


@dataclass
class Example:
    line: int
    command: str
    expected: list = field(default_factory=list)


def parse(text):
    """The examples of a document. A console block whose first line is not a command is a ValueError."""
    examples, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(FENCE):
            inside = not inside and line.strip() == FENCE + "console"
            fresh = inside
        elif not inside:
            continue
        elif line.startswith("$ "):
            examples.append(Example(number, line[2:]))
            fresh = False
        elif fresh:
            raise ValueError(f"line {number}: a console block starts with a command, '$ ...'")
        elif (line == ">" or line.startswith("> ")) and not examples[-1].expected:
            examples[-1].command += "\n" + line[2:]
        else:
            examples[-1].expected.append(line)
    return examples


def matches(expected, output):
    """Whether the output is what the lines describe."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
            continue
        words = [r"[^\n]*".join(re.escape(part) for part in word.split("...")) for word in line.split()]
        pattern += r"[ \t]+".join(words).join((r"[ \t]*", r"[ \t]*\n"))
    text = output if output.endswith("\n") or not output else output + "\n"
    return re.fullmatch(pattern, text) is not None


def user_cache():
    """The cache folder of mfl, as documented in base/files.h."""
    if os.environ.get("MFL_CACHE"):
        return os.environ["MFL_CACHE"]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / "mfl")


def run(examples, mfl, experiments):
    """Runs the examples; returns what is wrong with the first that fails, or None."""
    with tempfile.TemporaryDirectory(prefix="mfl-examples-") as folder:
        root, work = Path(folder), Path(folder) / "work"
        work.mkdir()
        (root / "home").mkdir()
        if experiments and experiments.is_dir():
            shutil.copytree(experiments, work / experiments.name)
        script = ""
        for i, example in enumerate(examples):
            (root / f"{i}.sh").write_text(example.command + "\n", encoding="utf-8")
            script += f'source "{root}/{i}.sh" > "{root}/{i}.out" 2> "{root}/{i}.err" < /dev/null\n'
            script += f'code=$?; echo "$code" > "{root}/{i}.code"; [ "$code" = 0 ] || exit 0\n'
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MFL_"))}
        environment = {**keep, "HOME": str(root / "home"), "MFL_STORE": str(root / "runs.db"),
                       "MFL_CACHE": user_cache(), "PATH": os.pathsep.join([str(mfl.parent), str(Path(sys.executable).parent), os.environ["PATH"]])}
        if "MFL_KERNEL" in os.environ:
            environment["MFL_KERNEL"] = os.environ["MFL_KERNEL"]
        subprocess.run(["bash", "-c", script], cwd=work, env=environment, check=True)
        for i, example in enumerate(examples):
            output = (root / f"{i}.out").read_text(encoding="utf-8", errors="replace")
            errors = (root / f"{i}.err").read_text(encoding="utf-8", errors="replace")
            code = (root / f"{i}.code").read_text(encoding="utf-8").strip()
            told = f"line {example.line}: $ {example.command}\n-- standard output\n{output}-- standard error\n{errors}"
            if code != "0":
                return f"{told}-- exit code {code}"
            if example.expected and not matches(example.expected, output):
                return f"{told}-- the output does not match\n" + "\n".join(example.expected)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--mfl", type=Path, required=True)
    parser.add_argument("--experiments", type=Path)
    arguments = parser.parse_args()
    examples = parse(arguments.file.read_text(encoding="utf-8"))
    if not examples:
        sys.exit(f"{arguments.file}: no commands")
    wrong = run(examples, arguments.mfl.resolve(), arguments.experiments)
    if wrong:
        sys.exit(f"{arguments.file.name} {wrong}")
    print(f"{len(examples)} commands of {arguments.file.name} pass")


if __name__ == "__main__":
    main()
