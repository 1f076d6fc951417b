#!/usr/bin/env python3
"""Records the digests of small runs with every entry of every table, and compares those of another build.

  digests.py record FILE --mfl PATH [--pairs] [--quick] [--engines A,B] [--only TEXT]
  digests.py compare FILE --mfl PATH [--quick] [--engines A,B] [--only TEXT]

A run gives the same bits however it is executed, and a change of the code that is not meant to change what is
computed must not move them. `record` trains with every entry of every table of the program (algorithms,
models, aggregators, codecs, partitions, data sources and so on) on data that this script generates, in each
of these ways:

  serial      the reference engine
  threads-1   the engine with one thread
  threads-3   the engine with three threads
  mpi-3       three processes under mpirun
  network     a server and its nodes on loopback, with one folder of data per node
  resumed     a longer run that is interrupted by SIGINT in the middle, and continued

The tables and their entries are read from the program: an option is a table if its message about an unknown
value lists the known ones. What FILE holds of a run is the digest of its weights and a digest of the records
of all its rounds (losses, traffic, State digests); what it holds of a run that is refused is the message.
`--pairs` adds every combination of algorithm, codec and aggregator, on the serial engine and with three
threads. `--quick` is a subset of seconds: the entries that decide the arithmetic of a round, without other
processes. `--only TEXT` takes the runs whose name contains the text, for example "model=softmax".

`compare` repeats what FILE holds and prints one line for every difference. Without mpirun on the path
`record` leaves out MPI, and every run of it that FILE holds is a difference.

Exit codes: 0 recorded, or no difference; 1 differences; 2 wrong arguments, or a program that does not answer.

Examples:
  scripts/digests.py record before.json --mfl ../before/build/release/bin/mfl --pairs
  scripts/digests.py compare before.json --mfl build/release/bin/mfl
  scripts/digests.py compare before.json --mfl build/release/bin/mfl --only algorithm=scaffold
"""

import argparse
import csv
import hashlib
import io
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mfl_program import PATIENCE, Failure, Program
from small_data import ROWS, write_data

FORMAT = 1
COLUMNS, NODES = 16, 5  # as few nodes as the robust rules take with the parameters below
ENGINES = ("serial", "threads-1", "threads-3", "mpi-3", "network", "resumed")
IN_ONE_PROCESS = ("serial", "threads-3")
QUICK_TABLES = ("algorithm", "model", "aggregator", "codecs")
PAIRED_TABLES = ("algorithm", "codecs", "aggregator")
# A value for a parameter that has no default: the first that the program accepts.
SAMPLES = ("0.3", "1")


class Run(NamedTuple):
    """A run with some keys set, in one of the ways of ENGINES."""

    name: str  # "algorithm=scaffold"
    keys: tuple  # of (key, value), what differs from BASE
    engine: str

    @property
    def label(self):
        return f"{self.name}; {self.engine}"


# What every run has unless its keys say otherwise.
BASE = {
    "data.source": f"synthetic:{ROWS}x{COLUMNS}",
    "data.train": str(ROWS),
    "data.test": "0",
    "federation.nodes": str(NODES),
    "algorithm.eta": "0.3",  # large enough that updates are clipped by 0.3
    "algorithm.tau": "3",
    "run.steps": "12",
}
LONG = {"run.steps": "60000", "run.record_every": "20000"}  # for an interruption in the middle
# An algorithm that fits the entries of a table of parts of algorithms.
FITTING = {"server-step": {"algorithm.name": "fl"}}


def specs_of(entry, folder):
    """The specs of an entry to try in turn."""
    if entry.text:
        sizes = [ROWS // NODES] * NODES
        texts = {"N,N": ",".join(map(str, sizes)), "COLUMN": "site", "PATH": str(folder / "nodes.txt")}
        return [f"{entry.name}:{texts.get(entry.text, folder / entry.name)}"]
    if not entry.required:
        return [entry.name]
    values = itertools.product(SAMPLES, repeat=entry.required)
    return [f"{entry.name}({', '.join(combination)})" for combination in values]


class Runs:
    """Makes runs and says what came out of them, each in a folder of its own."""

    def __init__(self, program):
        self.program = program
        self.mpirun = shutil.which("mpirun")

    def result(self, run):
        """One line: digests, or why there are none."""
        with tempfile.TemporaryDirectory(dir=self.program.folder) as folder:
            keys = {**BASE, **dict(run.keys)}
            how = {"network": self.network, "resumed": self.resumed}.get(run.engine, self.simulated)
            text = how(run, keys, Path(folder))
        text = text.replace(folder, "FOLDER").replace(str(self.program.folder), "FOLDER")
        text = re.sub(r"\brun [0-9a-f]{8}\b", "run ID", text)
        return re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)

    def simulated(self, run, keys, folder):
        engine, _, count = run.engine.partition("-")
        launcher = ()
        if engine == "mpi":
            if not self.mpirun:
                return "no mpirun on the path"
            launcher = (self.mpirun, "--oversubscribe", "--allow-run-as-root", "-n", count)
        else:
            keys = {**keys, "run.engine": engine, "run.threads": count or "1"}
        code, data = self.program.run(self.run_words(keys, folder), folder, launcher)
        return self.trained(code, data, folder / "runs.db")

    def run_words(self, keys, folder):
        return ["run", "--json", "--quiet", "--store", str(folder / "runs.db"), *settings(keys)]

    def trained(self, code, data, store):
        """What the reply of a run, and its records in the store, say."""
        if "digest" not in data:
            return refusal(code, data)
        words = ["runs", "export", data["run_id"], "--rounds", "--format", "csv", "--store", str(store)]
        with self.program.start(words) as process:
            rows = list(csv.DictReader(io.StringIO(process.communicate(timeout=PATIENCE)[0])))
        for row in rows:
            del row["run"]
            for column in [name for name in row if name.endswith("_seconds") and name != "virtual_seconds"]:
                del row[column]
        records = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
        return f"{data['status']} {data['digest'] or 'without digest'}, {len(rows)} records {records}"

    def resumed(self, run, keys, folder):
        keys = {**keys, **LONG, "run.engine": "threads", "run.threads": "1"}
        words = ["--store", str(folder / "runs.db")]
        wait = 0.03
        for _ in range(20):
            (folder / "runs.db").unlink(missing_ok=True)
            stopped = self.interrupted(self.run_words(keys, folder), folder, wait)
            if isinstance(stopped, str):
                return stopped
            if 0 < stopped < sys.maxsize:
                resume = ["run", "--json", "--quiet", "--resume", "latest", *words]
                return self.trained(*self.program.run(resume, folder), folder / "runs.db")
            wait *= 1.7 if stopped == 0 else 0.6
        return "not interrupted in the middle"

    def interrupted(self, words, folder, wait):
        """The step at which a run stopped that got SIGINT `wait` seconds after it opened its store.

        A text if it was refused, sys.maxsize if it was done by then.
        """
        with self.program.start(words, folder) as process:
            while process.poll() is None and not (folder / "runs.db").exists():
                time.sleep(0.002)
            time.sleep(wait)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            code, data = self.program.reply(process, words)
        stopped = re.search(r"stopped at step (\d+)", data.get("message", ""))
        if code == 0:
            return sys.maxsize
        return int(stopped[1]) if stopped else refusal(code, data)

    def network(self, run, keys, folder):
        """A federation on loopback of the data that `mfl data split` writes."""
        dealt = {key: keys[key] for key in keys if key.startswith("data.")}
        words = ["data", "split", dealt.pop("data.source"), "--out", str(folder / "parts"), "--json"]
        held = [f"federation.{key}" for key in ("nodes", "partition", "feature_skew")]
        for key, value in {**dealt, **{key: keys[key] for key in held if key in keys}}.items():
            words += [f"--{key.split('.')[1].replace('_', '-')}", value]
        code, data = self.program.run(words, folder)
        if code != 0:
            return "split: " + refusal(code, data)
        code, data = self.program.run(self.run_words({**keys, "run.engine": "serial"}, folder), folder)
        if "digest" not in data:
            return "simulated: " + refusal(code, data)
        words = ["server", "--plaintext", "--listen", "127.0.0.1:0", "--state", str(folder / "state")]
        words += ["--json", "--linger", "5", *settings({**keys, **meaning_of(data["schema"])})]
        with self.program.start(words, folder) as server:
            return self.served(server, words, sorted((folder / "parts").iterdir()), folder)

    def served(self, server, words, parts, folder):
        address = folder / "state/address"
        while server.poll() is None and not (address.exists() and address.read_text().endswith("\n")):
            time.sleep(0.005)
        nodes = []
        if server.poll() is None:
            for part in parts:
                node = ["node", "--server", address.read_text().strip(), "--plaintext", "--name", part.name]
                node += ["--data", f"npy:{part}", "--threads", "1", "--json", "--give-up-after", "20"]
                node += ["--state", str(folder / f"{part.name}.kept")]
                nodes.append((self.program.start(node, folder), node))
        replies = [self.program.reply(process, node) for process, node in nodes]
        failed = [reply for reply in replies if reply[0] != 0]
        if failed and server.poll() is None:
            server.kill()
            server.communicate()
            return "node: " + refusal(*failed[0])
        return self.trained(*self.program.reply(server, words), folder / "state/runs.db")


def settings(keys):
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def meaning_of(schema):
    """The keys that tell a server what labels are, which its nodes' folders do not."""
    if schema["own_data"]:
        return {}
    keys = {"data.task": schema["task"]}
    if schema["task"] == "multiclass":
        keys["schema.classes"] = ",".join(schema["classes"])
    return keys


def refusal(code, error):
    hint = f" ({error['hint']})" if error.get("hint") else ""
    return f"exit code {code}: {error.get('message', error)}{hint}"


def accepted_spec(runs, table, entry):
    """The first spec of an entry whose parameters the program accepts."""
    specs = specs_of(entry, runs.program.folder)
    for spec in specs[:-1]:
        code, data = runs.program.run(["run", "--json", "--data", "csv:none", f"--{table.option}", spec])
        if not (code == 2 and data["message"].startswith(f"--{table.option}")):
            return spec
    return specs[-1]


def keys_of(table, spec):
    keys = {**FITTING.get(table.option, {}), table.key: spec}
    # What an entry needs beside itself.
    if spec.startswith("natural:"):
        keys["data.source"] = "csv:../csv"
    elif spec == "users":
        keys["data.source"] = f"synthetic-fedprox(users={NODES})"
    elif table.key == "data.test_source":
        keys |= {"data.source": spec, "data.test": str(ROWS // 3)}
    source = keys.get("data.source", "")
    if source.startswith(("csv:", "libsvm:")):
        keys["data.scale"] = "0.05"
    if source.startswith("csv:") and not spec.startswith("natural:"):
        keys["data.drop"] = "site"
    if "fedprox" in source or "fleet" in source:
        keys["data.train"] = "all"
    return keys


def runs_of(program, args, engines, pairs):
    """Every Run that the arguments select."""
    runner = Runs(program)
    table, equals, _ = args.only.partition("=")
    tables = program.tables(table if equals and not pairs else "")
    specs = {
        table.option: [(entry.name, accepted_spec(runner, table, entry)) for entry in table.entries]
        for table in tables
    }
    out = []
    for table in tables:
        for name, spec in specs[table.option]:
            if not args.quick or table.option in QUICK_TABLES:
                keys = tuple(keys_of(table, spec).items())
                out += [Run(f"{table.option}={name}", keys, engine) for engine in engines]
    if pairs:
        paired = [table for table in tables if table.option in PAIRED_TABLES]
        for chosen in itertools.product(*(specs[table.option] for table in paired)):
            pairs = list(zip(paired, chosen, strict=True))
            name = " ".join(f"{table.option}={entry}" for table, (entry, _) in pairs)
            keys = tuple((table.key, spec) for table, (_, spec) in pairs)
            out += [Run(name, keys, engine) for engine in engines if engine in IN_ONE_PROCESS]
    return [run for run in out if args.only in run.name]


def measure(program, runs, jobs):
    """{label: result}, with progress on stderr."""
    runner, out = Runs(program), {}
    with ThreadPoolExecutor(jobs) as pool:
        for run, result in zip(runs, pool.map(runner.result, runs), strict=True):
            out[run.label] = result
            if sys.stderr.isatty():
                print(f"\r{len(out)} of {len(runs)} runs", end="", file=sys.stderr, flush=True)
    return out


def differences(recorded, now):
    """A line for everything that is not as it was recorded."""
    for label in recorded | now:
        if label not in now:
            yield f"{label}: recorded, and no longer there"
        elif label not in recorded:
            yield f"{label}: new, not recorded"
        elif recorded[label] != now[label]:
            yield f"{label}: recorded {recorded[label]}; now {now[label]}"


def parsed(arguments):
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--mfl", required=True, metavar="PATH", help="the program")
    known = "some of " + ", ".join(ENGINES)
    parser.add_argument("--engines", type=lambda text: text.split(","), metavar="A,B", help=known)
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose name contains the text")
    parser.add_argument("--pairs", action="store_true", help="algorithm x codec x aggregator too (record)")
    parser.add_argument("--quick", action="store_true", help="a subset that takes seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="runs at a time")
    args = parser.parse_args(arguments)
    if unknown := set(args.engines or ()) - set(ENGINES):
        parser.error(f"unknown engine {min(unknown)}; known: {', '.join(ENGINES)}")
    return args


def selected_engines(args, recorded):
    engines = args.engines or (IN_ONE_PROCESS if args.quick else ENGINES)
    if recorded is None:
        return [engine for engine in engines if engine != "mpi-3" or shutil.which("mpirun")]
    return [engine for engine in engines if engine in recorded["engines"]]


def main(arguments=None):
    args = parsed(arguments)
    recorded = json.loads(args.file.read_text(encoding="utf-8")) if args.action == "compare" else None
    if recorded is not None and recorded["format"] != FORMAT:
        raise Failure(f"{args.file} has format {recorded['format']}, not {FORMAT}; record it again")
    engines = selected_engines(args, recorded)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(args.mfl, Path(folder))
        write_data(program.folder, NODES)
        runs = runs_of(program, args, engines, recorded["pairs"] if recorded else args.pairs)
        results = measure(program, runs, args.jobs)
    if recorded is None:
        content = {"format": FORMAT, "engines": engines, "pairs": args.pairs, "results": results}
        args.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return 0
    tables = QUICK_TABLES if args.quick else None
    before = {
        label: result
        for label, result in recorded["results"].items()
        if label.partition("; ")[2] in engines
        and args.only in label.partition("; ")[0]
        and (tables is None or label.partition("=")[0] in tables)
    }
    lines = list(differences(before, results))
    print("\n".join(lines) if lines else f"{len(before)} runs as recorded")
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError) as failure:
        print(f"digests.py: {failure}", file=sys.stderr)
        sys.exit(2)
