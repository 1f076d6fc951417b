#!/usr/bin/env python3
"""Runs every example that mfl --help prints: help_examples.py --mfl BINARY --experiments FOLDER.

An example is a line that starts with "  mfl " below "Example:" in the help of a command. Each runs in one folder that
holds the files it names; the server of the examples is a real one, on loopback, with one node. Every example must exit
with 0. Long ones run with fewer steps (CHEAPER), and addresses and run ids become real ones.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from held_port import HeldPort
from run_examples import user_cache

# Arguments that make an example quick without changing what it shows.
CHEAPER = {
    "mfl reproduce": " --set run.steps=8 --set data.train=200 --set data.test=100",
    "mfl study": " --set run.rounds=2",
    "mfl theory run experiments/paper": " --train 200 --test 0 --steps 40",
}
SMALLER = {" --watch": "", "--nodes 1000000": "--nodes 20000", "--train 5000 --test 0": "--train 200 --test 0"}
SECONDS = 120  # for one example


def commands(mfl, path=()):
    """The path of every command, from the help of its parent."""
    yield path
    text = subprocess.run([mfl, *path, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"\nCommands:\n((?:  .*\n)+)", text)
    for name in re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []:
        yield from commands(mfl, (*path, name))


def examples(mfl, path):
    text = subprocess.run([mfl, *path, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (mfl .*)$", text.partition("\nExample:\n")[2], re.M)


class Folder:
    """Where the examples run."""

    def __init__(self, root, mfl, experiments):
        self.work = root / "work"
        shutil.copytree(experiments, self.work / "experiments")
        home = root / "home"
        for folder in (".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions", "Downloads"):
            (home / folder).mkdir(parents=True)
        (home / "Downloads" / "mnist").symlink_to(Path(user_cache()) / "mnist")
        (root / "bin").mkdir()
        (root / "bin" / "mfl").symlink_to(mfl)
        self.environment = {"HOME": str(home), "MFL_STORE": str(root / "runs.db"), "MFL_CACHE": user_cache(),
                            "PATH": f"{root / 'bin'}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        rows = "".join(f"{i},{i % 7},{i % 2}\n" for i in range(40))
        (self.work / "my.csv").write_text("age,dose,label\n" + rows)
        (self.work / "houses.csv").write_text("rooms,area,price\n" + rows)
        (self.work / "new.csv").write_text("dose,name,age\n3,a,41\n6,b,12\n")
        (self.work / "new.svm").write_text("0 1:41 2:3\n0 1:12 2:6\n")
        (self.work / "experiment.toml").write_text(
            '[data]\ntask = "raw"\n[model]\nname = "logistic"\n[federation]\nnodes = 1\n'
            "[algorithm]\neta = 0.0001\n[run]\nsteps = 40\n")
        self.port = HeldPort()

    def adapted(self, command):
        for start, more in CHEAPER.items():
            if command.startswith(start):
                command += more
        for large, small in SMALLER.items():
            command = command.replace(large, small)
        command = command.replace("0.0.0.0:7443", f"127.0.0.1:{self.port.number}")
        command = command.replace("fl.example.org:7443", f"localhost:{self.port.number}")
        for store in re.findall(r"\bjob-\d\.db", command):
            self.run(f"mfl run --data synthetic:40x8 --steps 8 --quiet --store {store}")
        if re.match("mfl (predict|model|evaluate)|mfl run .* --init", command):
            self.run("mfl run --data csv:my.csv --model logistic --eta 0.0001 --steps 8 --nodes 2 --quiet && "
                     "mfl model export latest --out model.npz")
        if "3f2a" in command:
            command = command.replace("3f2a", self.new_run("fl")).replace("91bc", self.new_run("mfl"))
        return command

    def new_run(self, algorithm):
        answer = self.run(f"mfl run --data synthetic:40x8 --steps 8 --algorithm {algorithm} --quiet --json")
        return re.search(r'"run_id":"(\w+)"', answer.stdout).group(1)

    def run(self, command):
        return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)

    def must_pass(self, command):
        done = self.run(self.adapted(command))
        if done.returncode != 0:
            sys.exit(f"$ {command}\n{done.stdout}{done.stderr}-- exit code {done.returncode}")

    def fresh_certificates(self, for_localhost=False):
        shutil.rmtree(self.work / "pki", ignore_errors=True)
        if for_localhost:
            self.must_pass("mfl certs init pki && mfl certs server pki localhost && mfl certs node pki hospital-a && "
                           "mfl certs node pki hospital-b")

    def federation(self, server, others):
        """A server's example in the background, and those that talk to it: all but the node's first."""
        self.fresh_certificates(for_localhost=True)
        with subprocess.Popen(["bash", "-c", "exec " + self.adapted(server)], cwd=self.work, env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                deadline = time.monotonic() + SECONDS
                while not (self.work / "state" / "address").exists() and time.monotonic() < deadline:
                    if process.poll() is not None:
                        sys.exit(f"$ {server}\n{process.stderr.read()}-- exit code {process.returncode}")
                    time.sleep(0.05)
                for command in sorted(others, key=lambda command: command.startswith("mfl node")):
                    self.must_pass(command)
                _, errors = process.communicate(timeout=SECONDS)
                if process.returncode != 0:
                    sys.exit(f"$ {server}\n{errors}-- exit code {process.returncode}")
            finally:
                process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mfl", type=Path, required=True)
    parser.add_argument("--experiments", type=Path, required=True)
    arguments = parser.parse_args()
    mfl = arguments.mfl.resolve()
    every = {command: path for path in commands(mfl) for command in examples(mfl, path)}
    network = [command for command in every if command.startswith(("mfl server", "mfl node"))]
    with tempfile.TemporaryDirectory(prefix="mfl-help-") as folder:
        place = Folder(Path(folder), mfl, arguments.experiments)
        for command in every:
            if command in network:
                continue
            if re.match("mfl certs init", command):
                place.fresh_certificates()
            elif re.match("mfl certs (server|node)", command):
                place.fresh_certificates()
                place.must_pass("mfl certs init pki")
            elif command.startswith("mfl certs"):
                place.fresh_certificates(for_localhost=True)
            place.must_pass(command)
        servers = [command for command in network if re.match(r"mfl server (?!status)", command)]
        for server in servers:
            place.federation(server, [command for command in network if command not in servers])
    print(f"{len(every)} examples of the help pass")


if __name__ == "__main__":
    main()
