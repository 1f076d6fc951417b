#!/usr/bin/env python3
"""Follows the federation of docs/operations.md word for word: three_sites.py FILE --mfl BINARY.

Its commands run as they are but for the port, with the labels of the document, with 0 and 1, with -1 and 1, and without
[schema], so that the first node decides. Then one site has swapped columns, other classes, another task or another label
column: it must be refused with the difference in its own message and in the server's log, and the server must not have
committed a round.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import run_examples
from held_port import HeldPort

PORT = "7443"
PATIENCE = 120  # seconds


def with_labels(text, negative, positive):
    return text.replace("malignant", positive).replace("benign", negative)


def without_schema(text):
    return re.sub(r"> \[schema\]\n(?:> \w+ = .*\n)+", "", text)


CHECKS = [  # after the commands of the document, in the same shell
    "grep -q '^data  *federation' run.txt && ! grep -q mnist run.txt",
    """grep -q '^schema .*"label":"diagnosis","task":"binary"' run.txt""",
    "mfl run experiment.toml --data csv:all.csv --partition contiguous --quiet --weights-out w.npy > out.txt",
    """grep -q '"features":\\["age","bmi","pressure"\\]' w.schema.json""",
    "mfl report latest --store state/runs.db --out page > out.txt && grep -q 'on federation' page/report.html",
]


def follow(text, mfl):
    """None, or what is wrong."""
    with HeldPort() as port:
        examples = run_examples.parse(text.replace(PORT, str(port.number)))
        examples += [run_examples.Example(0, command) for command in CHECKS]
        return run_examples.run(examples, mfl, None)


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def refusal(text, mfl, change, flags, difference, restart=False):
    """None, or what is wrong, when hospital-b's file is changed by the shell command `change`.

    With `restart` the server has committed rounds and is started again before the change."""
    examples = run_examples.parse(text)
    before = [example.command for example in examples if not example.command.startswith(("mfl server", "mfl node", "wait"))]
    before = before[:next(i for i, command in enumerate(before) if command.startswith("mfl runs show"))]
    folder = Path(tempfile.mkdtemp(prefix="mfl-sites-"))
    environment = {**os.environ, "HOME": str(folder), "MFL_STORE": str(folder / "runs.db"),
                   "PATH": f"{mfl.parent}{os.pathsep}{os.environ['PATH']}"}
    before = [command for command in before if not command.startswith("cat server.txt")]

    def shell(command):
        subprocess.run(["bash", "-ec", command], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    shell("\n".join(before) + "\n" + ("" if restart else change))
    port = HeldPort()
    address = f"127.0.0.1:{port.number}"
    children = []

    def start(name, *arguments):
        with open(folder / f"{name}.txt", "w") as out, open(folder / f"{name}.log", "w") as log:
            children.append(subprocess.Popen([str(mfl), *arguments], cwd=folder, env=environment, stdout=out, stderr=log))
        return children[-1]

    def node(site, *more):
        return start(site, "node", "--server", address, "--data", f"csv:{site}.csv", "--tls", f"pki/{site}", *more)

    def log_of(name):
        return (folder / f"{name}.log").read_text(encoding="utf-8")

    def serve():
        return start("server", "server", "experiment.toml", "--listen", address, "--state", "state", "--tls", "pki/server",
                     "--steps", "1000000")

    def appears(words):
        deadline = time.monotonic() + PATIENCE
        while words not in log_of("server"):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    try:
        server = serve()
        node("hospital-a")
        if not appears("joined node=hospital-a"):
            return f"hospital-a did not join:\n{log_of('server')}\n{log_of('hospital-a')}"
        if restart:
            second, third = node("hospital-b"), node("hospital-c")
            if not appears("round round=2"):
                return f"no rounds:\n{log_of('server')}"
            for child in (second, third, server):
                stop(child)
            serve()
            shell(change)
        refused = node("hospital-b", *flags)
        node("hospital-c")
        code = refused.wait(PATIENCE)
        said, served = log_of("hospital-b"), log_of("server")
        if code != 4:
            return f"exit code {code}, not 4:\n{said}"
        if difference not in said:
            return f"the node does not say {difference!r}:\n{said}"
        if difference.replace('"', '\\"') not in served or "refused" not in served:
            return f"the server does not say {difference!r}:\n{served}"
        if not restart and "round round=" in served:
            return f"a round was committed:\n{served}"
        return None
    finally:
        for child in reversed(children):
            stop(child)
        shutil.rmtree(folder, ignore_errors=True)


REFUSALS = {
    "swapped columns": (r"awk -F, -v OFS=, '{ print $2, $1, $3, $4 }' hospital-b.csv > b && mv b hospital-b.csv", [],
                        'column 1 is "bmi" here and "age" in the run'),
    "other classes": ("sed -i 's/benign/0/; s/malignant/1/' hospital-b.csv", [],
                      'classes are "0", "1" here and "benign", "malignant" in the run'),
    "another task": ("", ["--task", "even-odd"], "the task is even-odd here and binary in the run"),
    "another positive class": ("", ["--positive", "benign"],
                               'the positive class is "benign" here and "malignant" in the run'),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--mfl", type=Path, required=True)
    arguments = parser.parse_args()
    text, mfl = arguments.file.read_text(encoding="utf-8"), arguments.mfl.resolve()
    wrong = {}
    for title, document in {"as written": text, "labels 0 and 1": with_labels(text, "0", "1"),
                            "labels -1 and 1": with_labels(text, "-1", "1"), "without [schema]": without_schema(text),
                            "0 and 1 without [schema]": without_schema(with_labels(text, "0", "1"))}.items():
        wrong[title] = follow(document, mfl)
    for title, (change, flags, difference) in REFUSALS.items():
        wrong[title] = refusal(text, mfl, change, flags, difference)
        wrong[title + " without [schema]"] = refusal(without_schema(text), mfl, change, flags, difference)
    wrong["another label column"] = refusal(with_labels(text, "0", "1"), mfl, "", ["--label", "age"],
                                            'the label column is "age" here and "diagnosis" in the run')
    change, flags, difference = REFUSALS["swapped columns"]
    wrong["after a restart"] = refusal(without_schema(text), mfl, change, flags, "whose schema is from the run's store: " + difference,
                                       restart=True)
    failed = [f"{title}: {what}" for title, what in wrong.items() if what]
    if failed:
        sys.exit("\n".join(failed))
    print(f"{len(wrong)} federations are as {arguments.file.name} says")


if __name__ == "__main__":
    main()
