#!/usr/bin/env python3
"""A node with a valid certificate that lies about its data or leaves its tasks: lying_peers_test.py MFL [NAME ...].

Three honest nodes and a hostile one, or four honest ones and a peer that floods the server with JSON. The honest nodes end with
the digest that they have without the hostile one, or the run stops with its name. Prints rounds per second with and without it.
MFL_ATTACK_SECONDS (4) is how long rounds are counted, MFL_ATTACK_DEADLINE (2) the deadline of a round. Needs grpcio.
"""
import math
import os
import struct
import sys
import threading
import time
import unittest
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop"))

# pylint: disable=wrong-import-position
from federation import Federation  # noqa: E402
from python_node import PythonNode  # noqa: E402
import wire  # noqa: E402

MFL = None
SECONDS = float(os.environ.get("MFL_ATTACK_SECONDS", "4"))
DEADLINE = float(os.environ.get("MFL_ATTACK_DEADLINE", "2"))
COLUMNS, ROWS, HOSTILE = 20, 100, "n03"
EXPERIMENT = """[model]
name = "logistic"
intercept = true
standardise = "{}"
[algorithm]
name = "mfl"
{}gamma = 0.5
tau = 4
[run]
steps = {}
"""
SCHEMA = {"columns": COLUMNS, "features": [f"x{j}".encode() for j in range(COLUMNS)], "label": b"y", "task": "binary",
          "classes": [b"0", b"1"], "own_data": True}
PLANES, LOWEST, DIGIT = 70, 1074, 32


def packed(rows, numbers):
    """Sums as a node sends them: digits of 32 bits, of which the lowest is worth 2^-1074."""
    whole = [int(Fraction(number) * 2 ** LOWEST) % 2 ** (DIGIT * PLANES) for number in numbers]
    digits = [(number >> (DIGIT * plane)) & 0xFFFFFFFF for plane in range(PLANES) for number in whole]
    return struct.pack("<Q2I", rows, 0, PLANES) + struct.pack(f"<{len(digits)}I", *digits)


def sums(mean=0.0, square=1.0, lost=0.0, column=None):
    """Of normal features but for one column, or for all."""
    def part(usual, other):
        return [ROWS * Fraction(other if column in (None, j) else usual) for j in range(COLUMNS)]
    return packed(ROWS, part(0.0, mean) + part(1.0, square) + part(0.0, lost))


LARGEST = Fraction(sys.float_info.max)
LIES = {
    "squares": sums(square=1e15), "one square": sums(square=1e15, column=7), "means": sums(mean=1e12, square=1e24),
    "one mean": sums(mean=-1e6, square=1e12 + 1, column=0), "negative squares": sums(square=-1.0),
    "mean beyond its squares": sums(mean=3.0, square=1.0), "infinite mean": sums(mean=LARGEST * 2 ** 20, square=LARGEST),
    "infinite square": sums(square=LARGEST * 2 ** 20), "lost digits": sums(square=1.0, lost=1e30), "tiny": sums(mean=1e-9, square=2e-18),
}


class LyingNode(PythonNode):
    """Answers what precedes the first round with `claims` (sums, smoothness), and rounds not at all."""

    def __init__(self, federation, claims, **options):
        super().__init__(federation.address, HOSTILE, SCHEMA, ROWS, federation.certificate(HOSTILE), lambda *_: None, **options)
        self.claims = claims

    def unpack(self, payload):
        return payload

    def take_part(self):
        task, size = None, 0
        for order in self.attend():
            kind = order.WhichOneof("kind")
            if kind is None:
                self.joined.set()
            elif kind == "task":
                task, size = order.task, 0
            elif kind == "chunk":
                size += len(order.chunk)
            elif kind == "ending":
                return
            if task is not None and size == task.size:
                self.claim(task)
                task = None

    def claim(self, task):
        if task.ticket.round != 0:
            return
        measured = task.work == wire.messages.MEASURE
        payload = self.claims[0] if measured else struct.pack("<d", self.claims[1])
        block = wire.messages.Block(name="sums" if measured else "smoothness", encoding="exact-sums" if measured else "f64",
                                    numbers=len(payload) if measured else 1)
        header = wire.messages.UpdateHeader(run_id=task.run_id, ticket=task.ticket, weight=ROWS, size=len(payload), blocks=[block],
                                            base=task.state_digest)
        parts = [wire.messages.UpdatePart(header=header, chunk=payload[:100_000]),
                 *(wire.messages.UpdatePart(chunk=payload[i:i + 100_000]) for i in range(100_000, len(payload), 100_000))]
        verdict = self.stub.Submit(iter(parts), metadata=self.metadata, timeout=30)
        self.verdicts.append(wire.messages.Reason.Name(verdict.reason))


def deep(open_, close, levels):
    return (open_ * levels + close * levels).encode()


def wide(members):
    return ('[{"name":"w","shape":[20]' + "".join(f',"k{i}":0' for i in range(members)) + "}]").encode()


BOMBS = {"an empty list": b"[]", "20,000 levels": deep("[", "]", 20_000), "90,000 levels": deep("[", "]", 90_000), "objects": deep('{"a":', "}", 30_000),
         "16,000 names": wide(16_000), "45,000 names": wide(45_000), "never closed": b"[" * 190_000,
         "other blanks": b'[{"name":"w","shape":[20]} ]'}


class LyingPeers(unittest.TestCase):
    def federation(self, steps=40, standardise="full", eta="eta = 0.1\n", serve=(), deadline=20):
        federation = Federation(MFL, nodes=4, rows=ROWS, columns=COLUMNS, experiment=EXPERIMENT.format(standardise, eta, steps),
                                federation=f"round_deadline = {deadline}\n")
        self.addCleanup(federation.close)
        federation.serve("--linger", "5", *serve)
        return federation

    def rate(self, federation, seconds=SECONDS):
        before, begun = federation.rounds(), time.monotonic()
        time.sleep(seconds)
        return (federation.rounds() - before) / (time.monotonic() - begun)

    def test_json(self):
        """Four honest nodes; another certificate sends a schema whose JSON is deep or wide, without a pause. The empty list shows what the
        sender itself takes from the cores that it shares with the server."""
        federation = self.federation(steps=40_000_000, standardise="none")
        for name in federation.names:
            federation.node(name)
        federation.wait_for(lambda: federation.rounds() > 0, "no round")
        alone = self.rate(federation)
        for title, tensors in BOMBS.items():
            stop, sent = threading.Event(), [0]

            def flood(tensors=tensors, stop=stop, sent=sent):
                while not stop.is_set() and federation.alive():
                    node = PythonNode(federation.address, "valid", {"columns": COLUMNS, "task": "external", "tensors": tensors},
                                      ROWS, federation.certificate("valid"), lambda *_: None)
                    try:
                        node.take_part()
                    except wire.grpc.RpcError:
                        sent[0] += 1
                    node.channel.close()  # the server closes the connection of a peer that sends so much
            thread = threading.Thread(target=flood, daemon=True)
            thread.start()
            under = self.rate(federation)
            stop.set()
            thread.join(20)
            print(f"JSON, {title}: {under:.0f} rounds/s, {alone:.0f} alone; {sent[0]} refused", flush=True)
            self.assertTrue(federation.alive(), f"{title}: the server ended with {federation.server.returncode}")
            self.assertGreater(under, 0, title)

    def honest_digest(self, federation):
        """Of the simulation with the three honest nodes."""
        return federation.simulate("--nodes", "3", names=[name for name in federation.names if name != HOSTILE])["digest"]

    def check_excluded(self, claims, title, eta="eta = 0.1\n"):
        federation = self.federation(serve=("--on-outlier", "exclude"), eta=eta)
        node = LyingNode(federation, claims).start()
        self.addCleanup(node.stop)
        self.assertTrue(node.joined.wait(30), node.error)
        for name in federation.names[:-1]:
            federation.node(name)
        self.assertEqual(federation.wait_for_end(60), 0, federation.log()[-1000:])
        result = federation.result()
        self.assertEqual(result["digest"], self.honest_digest(federation), title)
        said = [str(warning) for warning in result["warnings"]]
        self.assertTrue(any(HOSTILE in warning and "excluded" in warning for warning in said), said)
        print(f"sums, {title}: the digest is that of the others; {[text for text in said if HOSTILE in text][0][:160]}", flush=True)

    def test_sums(self):
        for title, lie in LIES.items():
            with self.subTest(title):
                self.check_excluded((lie, 1.0), title)

    def test_smoothness(self):
        for smoothness in (1e300, 0.0, math.inf, math.nan, -1.0):
            with self.subTest(smoothness):
                self.check_excluded((sums(), smoothness), f"smoothness {smoothness}", eta="")

    def test_refused(self):
        """No round; the status has the node, the column and both numbers; without the node the others still wait for it."""
        federation = self.federation()
        node = LyingNode(federation, (LIES["one mean"], 1.0)).start()
        self.addCleanup(node.stop)
        for name in federation.names[:-1]:
            federation.node(name)
        federation.wait_for(lambda: "column x0 of n03 has the mean -1e+06" in federation.status()["trouble"], "nobody was named")
        self.assertEqual((federation.status()["phase"], federation.rounds()), ("preparing", 0))
        self.assertTrue(federation.alive())

    def test_leaving(self):
        """Takes each task, waits until just before the deadline, leaves and comes back."""
        federation = self.federation(steps=40_000_000, standardise="none", deadline=DEADLINE)
        for name in federation.names:
            federation.node(name)
        federation.wait_for(lambda: federation.rounds() > 0, "no round")
        alone = self.rate(federation)
        federation.children[-1].terminate()  # n03 makes room for the hostile one
        stop, left = threading.Event(), [0]
        node = LyingNode(federation, (sums(), 1.0))

        def leave():
            while not stop.is_set():
                try:
                    call = node.attend()
                    for order in call:
                        if order.WhichOneof("kind") == "task":
                            stop.wait(0.9 * DEADLINE)
                            left[0] += 1
                            call.cancel()
                except wire.grpc.RpcError:
                    stop.wait(0.05)
        thread = threading.Thread(target=leave, daemon=True)
        thread.start()
        seconds = max(SECONDS, 10 * DEADLINE)
        under = self.rate(federation, seconds)
        stop.set()
        thread.join(20)
        with wire.channel(federation.address, federation.certificate("n00")) as channel:
            status = wire.stubs.FederationStub(channel).Watch(wire.messages.WatchRequest(nodes=True), timeout=5)
        failures = [site.failures for site in status.node_list if site.name == HOSTILE][0]
        print(f"leaving, deadline {DEADLINE:g} s: {under:.1f} rounds/s over {seconds:g} s, {alone:.1f} alone; left {left[0]} times, "
              f"{failures} failures, {status.quarantined} set aside", flush=True)
        self.assertGreaterEqual(failures, 3)


if __name__ == "__main__":
    MFL = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *(f"LyingPeers.{name}" for name in sys.argv[2:])], verbosity=2)
