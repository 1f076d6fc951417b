"""A PyTorch CNN federated over four processes (peers/cnn_work.py): what mfl, and Flower's deployment engine, add to the training of a round.

The cost of a round beyond its training is the round's duration minus the time that its slowest trainer measured for its own work.
All four trainers share the machine's cores in both.
"""

import dataclasses
import datetime
import json
import os
import statistics
import sys

from . import federation, process, race, spread

NODES = 4
ROUNDS = 6
REPEATS = 3
FLOWER_ROUNDS = 3  # each starts four processes that load PyTorch
FLOWER_REPEATS = 2
TOLERANCE = 1e-3  # of F after the rounds of Flower; both train in f32
SETTINGS = {"model": "external", "algorithm": "mfl", "eta": 0.02, "gamma": 0.9, "batch-size": 50, "local-epochs": 1}


@dataclasses.dataclass
class Side:
    """Seconds per round: of the round, of its slowest training, and the median over the rounds of a repeat of their difference."""

    title: str
    round: list = dataclasses.field(default_factory=list)
    training: list = dataclasses.field(default_factory=list)
    beyond: list = dataclasses.field(default_factory=list)

    def add(self, rounds, slowest):
        self.round.append(statistics.median(rounds))
        self.training.append(statistics.median(slowest))
        self.beyond.append(statistics.median(whole - own for whole, own in zip(rounds, slowest, strict=True)))

    @property
    def share(self):
        """Of the training time."""
        return spread.ratios(self.beyond, self.training)


@dataclasses.dataclass
class Outcome:
    rounds: int
    own: Side
    flower: Side | None = None
    distance: float = 0.0  # of Flower's loss from mfl's, relative


class Trainers(federation.Peers):
    """A server, and four nodes with a trainer each."""

    def __init__(self, mfl, folder, peers_folder, mnist, rounds):
        super().__init__(mfl, folder, None, rounds, tls=False)
        self.peers_folder, self.mnist = peers_folder, mnist

    def run(self):
        """(seconds of the rounds after the first, of their slowest training, loss of the final weights)."""
        state = self.folder / "state"
        options = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
        server = self.start("server", "server", "--listen", "127.0.0.1:0", "--state", state, "--json", "--log", "json", "--nodes", NODES,
                            "--rounds", self.rounds, "--linger", 2, *options, *self.security("server"))
        address = self.wait_for_address(state / "address", server)
        for node in range(NODES):
            command = f"exec {sys.executable} {self.peers_folder / 'cnn_trainer.py'} {self.mnist} {self.folder / f'seconds-{node}'}"
            self.start(f"node-{node}", "node", "--server", address, "--trainer", command, "--log", "none", *self.security(f"node-{node}"))
        reply = self.wait_for_end(server, 900)
        return *self.durations(), reply["data"]["final"]["train_loss"]

    def durations(self):
        times = {}
        for line in (self.folder / "server.err").read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "round":
                times[int(entry["round"])] = datetime.datetime.fromisoformat(entry["time"])
        training = [dict((int(round_), float(seconds)) for round_, seconds in map(str.split, (self.folder / f"seconds-{node}").read_text().splitlines()))
                    for node in range(NODES)]
        later = [round_ for round_ in sorted(times) if round_ - 1 in times]
        if len(later) != self.rounds - 1:
            raise process.Failed(f"mfl server logged {len(times)} of {self.rounds} rounds")
        return ([(times[round_] - times[round_ - 1]).total_seconds() for round_ in later],
                [max(seconds[round_] for seconds in training) for round_ in later])


def federated(mfl, peers_folder, mnist, rounds, name):
    with Trainers(mfl, mfl.scratch / f"trainer-{name}", peers_folder, mnist, rounds) as trainers:
        return trainers.run()


def flower(peers_folder, mnist, rounds):
    command = [sys.executable, peers_folder / "flower_cnn.py", "--mnist", mnist, "--rounds", rounds]
    return process.last_json(process.run(command).stdout, command)


def measure(mfl, peers_folder, mnist, repeats, share, installed):
    """An Outcome, or None without PyTorch or a build of mfl with network support."""
    if "server" not in mfl.verbs() or not installed("torch"):
        return None
    os.environ["PYTHONPATH"] = str(peers_folder.parents[1] / "python")  # of the trainers; the package needs no installation
    outcome = Outcome(max(4, int(ROUNDS * (share if share < 1 else 1))), Side("mfl server and 4 mfl node --trainer"))
    _, _, expected = federated(mfl, peers_folder, mnist, FLOWER_ROUNDS, "proof")
    if installed("flwr"):
        reply = flower(peers_folder, mnist, FLOWER_ROUNDS)
        outcome.distance = (reply["loss"] - expected) / expected
        race.say(f"trainer: loss after {FLOWER_ROUNDS} rounds: mfl {expected:.6f}, Flower {reply['loss']:.6f}")
        if not abs(outcome.distance) <= TOLERANCE:
            raise process.Failed(f"Flower's loss {reply['loss']!r} differs from mfl's {expected!r}; nothing was compared")
        outcome.flower = Side(f"Flower {reply['version']}, SuperLink and 4 SuperNodes")
        outcome.flower.add(reply["rounds"], reply["slowest"])
    for repeat in range(min(repeats, REPEATS)):
        rounds, slowest, _ = federated(mfl, peers_folder, mnist, outcome.rounds, str(repeat))
        outcome.own.add(rounds, slowest)
        if outcome.flower is not None and 0 < repeat < FLOWER_REPEATS:
            reply = flower(peers_folder, mnist, FLOWER_ROUNDS)
            outcome.flower.add(reply["rounds"], reply["slowest"])
        race.say(f"trainer: repeat {repeat + 1}: {outcome.own.round[-1]:.2f} s per round, {outcome.own.training[-1]:.2f} s of them training")
    return outcome
