"""A real federation on loopback: the cost of a round over the simulation, next to Flower's deployment engine, and the transfer rate
of a large State next to bare streams of the same bytes."""

import dataclasses
import datetime
import json
import signal
import subprocess
import sys
import time

from . import process, race, spread
from .mfl import SVM

ROUNDS = 1000
FLOWER_ROUNDS = 3  # of about ten seconds each, after a warm-up
FLOWER_REPEATS = 2  # slower by three orders of magnitude: more would tell nothing new
NODES = int(race.PAPER["nodes"])
# Enough rounds to see past the first two, which allocate the memory that later ones reuse.
STREAM = {"nodes": 16, "megabytes": 40, "rounds": 8}


@dataclasses.dataclass
class Outcome:
    rounds: int
    simulation: spread.Spread  # seconds per round, of mfl run
    plaintext: spread.Spread  # and of mfl server with four mfl node
    tls: spread.Spread
    flower: spread.Spread | None = None
    flower_version: str = ""
    flower_distance: float = 0.0  # of its loss from mfl's, relative
    flower_ratio: spread.Spread | None = None  # its seconds per round divided by mfl's, both plaintext
    stream: dict = dataclasses.field(default_factory=dict)  # of mfl_transport: seconds per round by name
    stream_share: dict = dataclasses.field(default_factory=dict)  # bare seconds divided by the federation's


class Peers:
    """A server and its nodes, one process each; leaving the context ends them all."""

    nodes = NODES

    def __init__(self, mfl, folder, shards, rounds, tls):
        self.mfl, self.folder, self.shards, self.rounds, self.tls = mfl, folder, shards, rounds, tls
        self.children = []

    def __enter__(self):
        self.folder.mkdir()
        if self.tls:
            pki = self.folder / "pki"
            process.run([self.mfl.binary, "certs", "init", pki])
            process.run([self.mfl.binary, "certs", "server", pki, "127.0.0.1"])
            for node in range(self.nodes):
                process.run([self.mfl.binary, "certs", "node", pki, f"node-{node}"])
        return self

    def security(self, name):
        if self.tls:
            return ["--tls", self.folder / "pki" / name]
        return ["--plaintext"] + ([] if name == "server" else ["--name", name])

    def start(self, name, *arguments):
        with open(self.folder / f"{name}.out", "wb") as out, open(self.folder / f"{name}.err", "wb") as err:
            child = subprocess.Popen([str(word) for word in (self.mfl.binary, *arguments)], stdout=out, stderr=err,
                                     stdin=subprocess.DEVNULL)
        self.children.append((name, child))
        return child

    def experiment(self):
        """The server's options."""
        steps = self.rounds * race.TAU
        return {**SVM, "task": "even-odd", "steps": steps, "record-every": steps}

    def data_of(self, node):
        return f"npy:{self.shards}/node-{node:04}"

    def run(self):
        """(seconds per round between the first and the last commit, digest of the final weights)."""
        state = self.folder / "state"
        options = [word for name, value in self.experiment().items() for word in (f"--{name}", value)]
        server = self.start("server", "server", "--listen", "127.0.0.1:0", "--state", state, "--json", "--log", "json",
                            "--nodes", self.nodes, *options, *self.security("server"))
        address = self.wait_for_address(state / "address", server)
        for node in range(self.nodes):
            self.start(f"node-{node}", "node", "--server", address, "--data", self.data_of(node), "--threads",
                       1, "--log", "none", *self.security(f"node-{node}"))
        reply = self.wait_for_end(server, 600)
        return self.seconds_per_round(), reply["data"]["digest"]

    def wait_for_end(self, server, time_limit):
        """The server's answer. A node that fails ends the measurement: the server would wait for it."""
        deadline = time.monotonic() + time_limit
        while (code := server.poll()) is None:
            if failed := next((name for name, child in self.children if child.poll() not in (None, 0)), None):
                raise process.Failed(f"mfl {failed} failed: {(self.folder / f'{failed}.err').read_text()[-300:]}")
            if time.monotonic() > deadline:
                raise process.Failed(f"mfl server: still running after {time_limit} s")
            time.sleep(0.05)
        if code != 0:
            raise process.Failed(f"mfl server: exit code {code}: {(self.folder / 'server.err').read_text()[-300:]}")
        return process.last_json((self.folder / "server.out").read_text(), ["mfl server"])

    def wait_for_address(self, file, server):
        deadline = time.monotonic() + 20
        while not file.exists() or not file.read_text().endswith("\n"):
            if server.poll() is not None or time.monotonic() > deadline:
                said = "".join((self.folder / f"server.{end}").read_text() for end in ("err", "out"))
                raise process.Failed(f"mfl server did not start: {said[-300:]}")
            time.sleep(0.01)
        return file.read_text().strip()

    def seconds_per_round(self):
        """From the server's log, whose timestamped lines name the last committed round; two that follow closely share a line."""
        times = []
        for line in (self.folder / "server.err").read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "round":
                times.append((int(entry["round"]), datetime.datetime.fromisoformat(entry["time"])))
        if len(times) < 2 or times[-1][0] != self.rounds:
            raise process.Failed(f"mfl server logged round {times[-1][0] if times else 0} of {self.rounds} last")
        return (times[-1][1] - times[0][1]).total_seconds() / (times[-1][0] - times[0][0])

    def __exit__(self, *_):
        for _, child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()


def deployed(mfl, shards, rounds, tls, name):
    with Peers(mfl, mfl.scratch / f"federation-{name}", shards, rounds, tls) as peers:
        return peers.run()


def simulated(mfl, rounds):
    data, _ = mfl.train(rounds * race.TAU, **race.PAPER, precision="f32")
    return data


def prove(mfl, shards, rounds):
    """Fails unless the federation ends with the simulation's weights."""
    expected = simulated(mfl, rounds)["digest"]
    for tls in (False, True):
        _, digest = deployed(mfl, shards, rounds, tls, f"proof-{tls}")
        if digest != expected:
            raise process.Failed(f"the federation's digest {digest} differs from the simulation's {expected}; nothing was timed")
    race.say(f"federation: {rounds} rounds over the network, plaintext and TLS, have the simulation's digest")


def measure_rounds(mfl, shards, repeats, rounds):
    found = {"simulation": [], "plaintext": [], "tls": []}
    for repeat in range(repeats):
        found["simulation"].append(simulated(mfl, rounds)["wall_seconds"] / rounds)
        for tls in (False, True):
            seconds, _ = deployed(mfl, shards, rounds, tls, f"{repeat}-{tls}")
            found["tls" if tls else "plaintext"].append(seconds)
        race.say(f"federation: repeat {repeat + 1} of {repeats} done")
    return found


def measure_flower(mfl, shards, peers_folder, repeats, outcome, plaintext):
    """Fails if the loss of a run differs from mfl's."""
    steps = FLOWER_ROUNDS * race.TAU
    expected = simulated(mfl, FLOWER_ROUNDS)["final"]["train_loss"]
    seconds = []
    for repeat in range(repeats):
        command = [sys.executable, peers_folder / "flower_deploy.py", "--data", shards, "--steps", steps]
        reply = process.last_json(process.run(command).stdout, command)
        outcome.flower_distance = (reply["loss"] - expected) / expected
        if not abs(outcome.flower_distance) <= race.TOLERANCE:
            raise process.Failed(f"Flower's loss {reply['loss']!r} differs from mfl's {expected!r}; nothing was compared")
        seconds.append(reply["seconds"] / FLOWER_ROUNDS)
        outcome.flower_version = f"{reply['peer']} {reply['version']}"
        race.say(f"federation: Flower's deployment, repeat {repeat + 1} of {repeats}: {seconds[-1]:.2f} s per round")
    outcome.flower = spread.spread_of(seconds)
    outcome.flower_ratio = spread.spread_of([s / spread.spread_of(plaintext).median for s in seconds])


def measure_stream(program, repeats, outcome):
    if not program.exists():
        return
    rounds = {"tcp": [], "bare": [], "memory": [], "disk": []}
    shares = {"tcp": [], "memory": [], "disk": []}
    for _ in range(repeats):
        command = [program, STREAM["nodes"], STREAM["megabytes"], STREAM["rounds"]]
        reply = process.last_json(process.run(command).stdout, command)
        medians = {name: spread.spread_of(reply[name]).median for name in rounds}
        for name in rounds:
            rounds[name].append(medians[name])
        for name in shares:
            shares[name].append(medians["bare"] / medians[name])
    outcome.stream = {name: spread.spread_of(values) for name, values in rounds.items()}
    outcome.stream_share = {name: spread.spread_of(values) for name, values in shares.items()}
    race.say("federation: a State of 40 MB measured")


def measure(mfl, peers_folder, program, repeats, share=1.0, with_flower=True):
    """An Outcome, or None if this build of mfl has no network support."""
    if "server" not in mfl.verbs():
        return None
    rounds = max(20, int(ROUNDS * share))
    shards = mfl.scratch / "federation-shards"
    mfl.split(shards, race.PAPER["train"], NODES)
    prove(mfl, shards, min(rounds, 250))
    found = measure_rounds(mfl, shards, repeats, rounds)
    outcome = Outcome(rounds, *(spread.spread_of(found[name]) for name in ("simulation", "plaintext", "tls")))
    measure_stream(program, min(repeats, 3), outcome)
    if with_flower:
        measure_flower(mfl, shards, peers_folder, min(repeats, FLOWER_REPEATS), outcome, found["plaintext"])
    return outcome
