"""What check_sources.py and count_lines.py share: CMake's build folders and their compile_commands.json."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILER = re.compile(r"(?:.*[/-])?(?:c\+\+|g\+\+|clang\+\+)(?:-[0-9.]+)?$")
WITH_VALUE = {"-o", "-MT", "-MF", "-MQ"}
DROPPED = {"-MD", "-MMD", "-c"}


class Failure(Exception):
    """What keeps a check from running."""


def call(command, what):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"cannot {what}: {shlex.join(command)}\n{(done.stderr or done.stdout).rstrip()}")


def configure(folder, preset, options=()):
    """Configures a build folder, by a preset if it is new. Returns its compile commands."""
    known = (folder / "CMakeCache.txt").exists()
    call(
        ["cmake", *options, *([str(folder)] if known else ["--preset", preset, "-B", str(folder)])],
        "configure",
    )
    return read(folder, preset)


def read(folder, preset):
    """The compile commands of a build folder, which is configured by a preset if it has none."""
    if not (folder / "compile_commands.json").exists():
        call(["cmake", "--preset", preset, "-B", str(folder)], "configure")
    try:
        return json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(
            f"{folder} has no compile_commands.json; configure it with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        ) from error


def sources(entry):
    """The source of an entry, or those that make up its unity unit."""
    if "/Unity/unity_" not in entry["file"]:
        return [entry["file"]]
    return re.findall(r'^#include "(.*)"$', Path(entry["file"]).read_text(encoding="utf-8"), re.MULTILINE)


def generate(folder, entries):
    """Makes the headers that protobuf generates, and nothing else."""
    for source in {source for entry in entries for source in sources(entry)}:
        if source.endswith(".pb.cc") and not Path(source).exists():
            header = os.path.relpath(source, folder).removesuffix(".cc") + ".h"
            call(["cmake", "--build", str(folder), "--target", header], "generate the protobuf headers")


def words(entry):
    """The command of an entry as words, without a launcher such as ccache."""
    found = shlex.split(entry["command"]) if "command" in entry else list(entry["arguments"])
    while found and not COMPILER.match(found[0]):
        found.pop(0)
    return found


def output(entry):
    """The object file of an entry, as its command names it."""
    found = words(entry)
    return found[found.index("-o") + 1] if "-o" in found else ""


def flags(entry):
    """The compiler and its flags: the command of an entry without input, outputs and precompiled headers."""
    kept, skip = [], False
    found = words(entry)
    for word, following in zip(found, found[1:] + [""]):
        if skip:
            skip = False
        elif word in WITH_VALUE or (word == "-include" and "cmake_pch" in following):
            skip = True
        elif word not in DROPPED and word != entry["file"]:
            kept.append(word)
    return kept


def first_error(text):
    """The first error in what a compiler said."""
    lines = text.splitlines() or ["the compiler failed without a message"]
    return next((line for line in lines if "error: " in line), lines[0])
