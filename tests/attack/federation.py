"""A federation on loopback for the attacks: certificates, data, a server, honest nodes, and what can be measured of them.

Everything is in a folder of its own and is stopped and removed by close(), whatever happened.
"""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE = 60  # seconds
ROUND = re.compile(rb'"event":"round","round":"(\d+)"')


class Failure(Exception):
    """The federation did not do what the test needs."""


def write_csv(path, rows, columns, seed, noise=0.3):
    """Rows of `columns` normal features and a label 0 or 1, which a fixed direction decides up to noise."""
    draw = random.Random(seed)
    truth = random.Random(1)
    direction = [truth.gauss(0, 1) for _ in range(columns)]
    lines = [",".join([f"x{j}" for j in range(columns)] + ["y"])]
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(columns)]
        score = sum(a * b for a, b in zip(x, direction)) / columns ** 0.5 + noise * draw.gauss(0, 1)
        lines.append(",".join([f"{value:.6f}" for value in x] + ["1" if score > 0 else "0"]))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def join_csv(paths, out):
    """The rows of all files, in order, under one header."""
    parts = [Path(path).read_text(encoding="utf-8").split("\n", 1) for path in paths]
    Path(out).write_text(parts[0][0] + "\n" + "".join(rows for _, rows in parts), encoding="utf-8")


class Federation:
    """`nodes` sites n00, n01, ... over TLS, or plaintext. `experiment` are lines of TOML beside [federation] nodes."""

    def __init__(self, mfl, nodes=4, rows=100, columns=784, experiment=None, federation="", tls=True, names=None):
        self.mfl = str(Path(mfl).resolve())
        self.tls = tls
        self.names = names or [f"n{i:02}" for i in range(nodes)]
        self.children = []
        self.server = None
        self.address = None
        self.seen = self.log_at = 0
        self.folder = Path(tempfile.mkdtemp(prefix="mfl-attack-"))
        self.environment = {**os.environ, "HOME": str(self.folder), "MFL_STORE": str(self.folder / "runs.db")}
        try:
            model = experiment or ('[model]\nname = "logistic"\nintercept = false\n[algorithm]\nname = "mfl"\neta = 0.05\ngamma = 0.5\ntau = 4\n'
                                   "[run]\nsteps = 40000000\n")
            (self.folder / "experiment.toml").write_text(f"[federation]\nnodes = {len(self.names)}\n{federation}\n{model}",
                                                         encoding="utf-8")
            (self.folder / "revoked").write_text("revoked\n", encoding="utf-8")
            for number, name in enumerate(self.names):
                write_csv(self.folder / f"{name}.csv", rows, columns, seed=100 + number)
            if tls:
                self.run("certs", "init", "pki")
                self.run("certs", "server", "pki", "127.0.0.1")
                for name in [*self.names, "valid", "revoked"]:
                    self.run("certs", "node", "pki", name)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, *arguments, check=True):
        """Runs mfl to its end."""
        done = subprocess.run([self.mfl, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=10 * PATIENCE, check=False)
        if check and done.returncode != 0:
            raise Failure(f"mfl {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json").stdout)["data"]

    def start(self, name, *arguments):
        with open(self.folder / f"{name}.out", "wb") as out, open(self.folder / f"{name}.log", "wb") as log:
            child = subprocess.Popen([self.mfl, *arguments], cwd=self.folder, env=self.environment, stdout=out, stderr=log)
        self.children.append(child)
        return child

    def certificate(self, name):
        """The folder of a certificate, made if it does not exist."""
        if not (self.folder / "pki" / name).exists():
            self.run("certs", "node", "pki", name)
        return str(self.folder / "pki" / name)

    def serve(self, *more):
        """Starts the server and waits until it listens."""
        security = ["--tls", "pki/server", "--revoked", "revoked"] if self.tls else ["--plaintext"]
        self.server = self.start("server", "server", "experiment.toml", "--listen", self.address or "127.0.0.1:0", "--state",
                                 "state", "--log", "json", "--json", *security, *more)
        place = self.folder / "state" / "address"
        self.wait_for(lambda: place.exists() and place.read_text(encoding="utf-8").strip(), "the server does not listen")
        self.address = place.read_text(encoding="utf-8").strip()

    def node(self, name, *more):
        security = ["--tls", f"pki/{name}"] if self.tls else ["--plaintext", "--name", name]
        return self.start(name, "node", "--server", self.address, "--data", f"csv:{name}.csv", "--threads", "1", "--log", "json",
                          *security, *more)

    def wait_for(self, what, problem, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not what():
            if self.server is not None and self.server.poll() is not None and not what():
                raise Failure(f"{problem}: the server ended with {self.server.returncode}\n{self.log()[-2000:]}")
            if time.monotonic() > until:
                raise Failure(f"{problem} within {seconds} s\n{self.log()[-2000:]}")
            time.sleep(0.02)

    def log(self, name="server"):
        path = self.folder / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def log_bytes(self):
        return (self.folder / "server.log").stat().st_size

    def events(self, name="server"):
        """The lines of a log as objects."""
        out = []
        for line in self.log(name).splitlines():
            try:
                out.append(json.loads(line))
            except ValueError:
                pass  # the last line may be half written
        return out

    def rounds(self):
        """The last committed round. Reads only what is new in the log."""
        with open(self.folder / "server.log", "rb") as log:
            log.seek(self.log_at)
            new = log.read()
        whole = new.rfind(b"\n") + 1
        found = ROUND.findall(new[:whole])
        if found:
            self.seen = int(found[-1])
        self.log_at += whole
        return self.seen

    def status(self):
        security = ["--tls", f"pki/{self.names[0]}"] if self.tls else ["--plaintext"]
        return self.json("server", "status", self.address, *security)

    def memory_mb(self, key="VmRSS"):
        """Resident memory of the server, VmHWM for its peak; 0 when it has ended."""
        try:
            text = Path(f"/proc/{self.server.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        found = re.search(key + r":\s+(\d+) kB", text)
        return int(found[1]) / 1024 if found else 0.0

    def reset_peak(self):
        """From now on VmHWM is the peak since this call."""
        Path(f"/proc/{self.server.pid}/clear_refs").write_text("5", encoding="utf-8")

    def alive(self):
        return self.server.poll() is None

    def stop_server(self, patience=30):
        """SIGTERM; the exit code, or None when it had to be killed."""
        self.server.send_signal(signal.SIGTERM)
        try:
            return self.server.wait(patience)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
            return None

    def wait_for_end(self, seconds=4 * PATIENCE):
        """The server's exit code once the run is over."""
        try:
            return self.server.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"the run did not end within {seconds} s\n{self.log()[-2000:]}") from error

    def result(self):
        return json.loads((self.folder / "server.out").read_text(encoding="utf-8"))["data"]

    def simulate(self, *more, names=None):
        """The result of mfl run on the rows of the sites, in a store of its own."""
        join_csv([self.folder / f"{name}.csv" for name in names or self.names], self.folder / "all.csv")
        return self.json("run", "experiment.toml", "--data", "csv:all.csv", "--partition", "contiguous", "--store",
                         "simulated.db", *more)

    def round_digests(self, store):
        """Digest of the State after each round, of the last run in a store."""
        with sqlite3.connect(f"file:{self.folder / store}?mode=ro", uri=True) as database:
            number = database.execute("SELECT max(number) FROM runs").fetchone()[0]
            rows = database.execute("SELECT round, digest FROM rounds WHERE run = ? ORDER BY round", (number,))
            return dict(rows.fetchall())

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        until = time.monotonic() + 5
        for child in self.children:
            try:
                child.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
