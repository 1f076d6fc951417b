"""A binary of mfl as other scripts call it: its replies, and the tables that its help shows."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120  # seconds that one process may take
# The environment of tests/mpi: containers run as root, the processes of one machine share memory.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


class Failure(Exception):
    """The program does not answer as expected; the text is for the user."""


class Entry(NamedTuple):
    """An entry of a table: its name, its required parameters, and the text that it takes, or ""."""

    name: str
    required: int
    text: str


class Table(NamedTuple):
    """An option of mfl run whose values are entries of a table, and its key in an experiment file."""

    option: str
    key: str
    entries: tuple


class Program:
    """A binary of mfl and a folder to run it in."""

    def __init__(self, binary, folder):
        self.binary, self.folder = str(Path(binary).resolve()), folder
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder), "MFL_STORE": str(folder / "runs.db")}

    def start(self, words, folder=None, launcher=(), **more):
        return subprocess.Popen(
            [*launcher, self.binary, *words],
            cwd=folder or self.folder,
            env={**self.environment, **(MPI_ENVIRONMENT if launcher else {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def run(self, words, folder=None, launcher=()):
        """(exit code, the data of the reply or its error)."""
        with self.start(words, folder, launcher) as process:
            return self.reply(process, words)

    def reply(self, process, words):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return -1, {"message": f"no end after {PATIENCE} seconds", "hint": ""}
        try:
            reply = json.loads(out)
        except json.JSONDecodeError:
            last = (err or out).strip().splitlines()[-1:]
            return process.returncode, {"message": "".join(last), "hint": " ".join(words)}
        return process.returncode, reply["data"] if reply["status"] == "ok" else reply["error"]

    def known(self, words):
        """The names that a message about an unknown entry lists, None for an option that is no table."""
        code, error = self.run(["run", "--json", *words])
        known = re.match(r"known: ([^;]*)", error.get("hint", "")) if code == 2 else None
        return known[1].split(", ") if known else None

    def tables(self, ending=""):
        """Every option of mfl run that is a table and whose name ends so, in the order of the help."""
        code, data = self.run(["help", "run", "--json"])
        if code != 0:
            raise Failure(f"{self.binary} help run --json: {data}")
        out, section = [], ""
        for block in re.split(r"\n(?=  -|\[|[A-Z])", data["help"]):
            if heading := re.match(r"\[([\w]+)\]", block):
                section = heading[1]
            option = re.match(r"  --([\w-]+) [A-Z]{2}", block)  # N, X and S are numbers
            if not section or not option or not option[1].endswith(ending):
                continue
            names = self.known([f"--{option[1]}", "no-such-entry"])
            if names:
                out.append(Table(option[1], self.key(section, option[1], names), entries_of(names, block)))
        if not out:
            raise Failure(f"{self.binary} run --help names no table{f' like {ending}' if ending else ''}")
        return out

    def key(self, section, option, names):
        """The key of an option: as it is called, or the name or source of its section."""
        for word in (option.replace("-", "_"), "name", "source"):
            if self.known(["--set", f"{section}.{word}=no-such-entry"]) == names:
                return f"{section}.{word}"
        raise Failure(f"no key of [{section}] belongs to --{option}")


def entries_of(names, help_text):
    """Entry values of the names, with what the help says about their parameters."""
    words = " ".join(help_text.split())
    out = []
    for name in names:
        usage = re.search(rf"(?<![\w-]){re.escape(name)}(\(([^)]*)\)|:([A-Z][A-Z,.]*))?(?![\w-])", words)
        parameters = (usage[2] or "").split(", ") if usage and usage[2] else []
        required = [word for word in parameters if "=" not in word and not word.startswith("[")]
        out.append(Entry(name, len(required), (usage[3] or "").rstrip(",.") if usage else ""))
    return tuple(out)
