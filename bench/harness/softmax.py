"""Softmax regression with minibatches in FedML's setting (peers/softmax_work.py): mfl on one thread against loops in NumPy and PyTorch on one thread,
and against Flower's simulation. All take the nodes and batches that mfl draws; losses are compared before anything is timed.
"""

import dataclasses

from . import process, race, spread

ROUNDS = 200
FLOWER_ROUNDS = 20  # its rounds take a tenth of a second or more, whatever their number
FLOWER_REPEATS = 3  # it starts its engine for each
TOLERANCE = 1e-5    # of F in f64; all train in f32, and sums of different orders differ


@dataclasses.dataclass
class Peer:
    key: str
    title: str
    module: str
    script: list
    rounds: int
    most: int = 1000  # repeats at most
    version: str = ""
    off: float = 0.0  # largest relative distance of its loss to mfl's
    per_round: list = dataclasses.field(default_factory=list)  # seconds
    ratio: spread.Spread | None = None


def peers(rounds):
    return [Peer("softmax-numpy", "NumPy, 1 thread", "numpy", ["softmax_loops.py", "numpy"], rounds),
            Peer("softmax-torch", "PyTorch, 1 thread", "torch", ["softmax_loops.py", "torch"], rounds),
            Peer("softmax-flower", "Flower simulation, all cores", "flwr", ["flower_softmax.py"], min(rounds, FLOWER_ROUNDS), FLOWER_REPEATS)]


@dataclasses.dataclass
class Outcome:
    rounds: int
    own: list  # seconds per round
    peers: list


class Contest:
    def __init__(self, mfl, python, folder, mnist):
        self.mfl, self.python, self.folder, self.mnist = mfl, python, folder, mnist
        self.weights = mfl.scratch / "softmax-weights.npy"

    def own(self, rounds):
        """Seconds per round of mfl; its weights are left in a file."""
        data, _ = self.mfl.answer(
            [self.mfl.binary, "run", "--data", "mnist", "--train", 60000, "--test", 0, "--model", "softmax", "--intercept", "true",
             "--algorithm", "fl", "--partition", "contiguous", "--nodes", 1000, "--fraction-train", 0.01, "--local-epochs", 1,
             "--batch-size", 10, "--rounds", rounds, "--eta", 0.03, "--seed", 1, "--threads", 1, "--record-every", rounds, "--json",
             "--quiet", "--store", self.mfl.store, "--weights-out", self.weights])
        return data["wall_seconds"] / rounds

    def call(self, script, *options):
        command = [self.python, self.folder / script[0], *script[1:], "--mnist", self.mnist, *options]
        return process.last_json(process.run(command).stdout, command)

    def prove(self, peer):
        self.own(peer.rounds)
        own = self.call(["softmax_loops.py", "loss"], "--weights", self.weights)["loss"]
        reply = self.call(peer.script, "--rounds", peer.rounds)
        peer.version, peer.off = reply["version"], (reply["loss"] - own) / own
        race.say(f"softmax: {peer.title:30} loss {reply['loss']:.9f}, mfl {own:.9f}")
        if not abs(peer.off) <= TOLERANCE:
            raise process.Failed(f"softmax, {peer.title}: loss {reply['loss']!r} differs from mfl's {own!r} by {peer.off:.3g} relative "
                                 f"(at most {TOLERANCE:g} is allowed); nothing was timed")


def measure(mfl, python, folder, mnist, repeats, share, installed):
    rounds = max(FLOWER_ROUNDS, int(ROUNDS * share))
    outcome = Outcome(rounds, [], [peer for peer in peers(rounds) if installed(peer.module)])
    contest = Contest(mfl, python, folder, mnist)
    for peer in outcome.peers:
        contest.prove(peer)
    for repeat in range(repeats):
        outcome.own.append(contest.own(rounds))
        for peer in (peer for peer in outcome.peers if repeat < peer.most):
            peer.per_round.append(contest.call(peer.script, "--rounds", peer.rounds)["seconds"] / peer.rounds)
        race.say(f"softmax: repeat {repeat + 1} of {repeats} done")
    for peer in outcome.peers:
        peer.ratio = spread.ratios(peer.per_round, outcome.own[:len(peer.per_round)])
    return outcome
