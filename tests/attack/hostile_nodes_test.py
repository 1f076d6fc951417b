#!/usr/bin/env python3
"""One hostile node of ten, with a valid certificate and the real protocol: hostile_nodes_test.py MFL [NAME ...].

Nine honest nodes train a logistic regression with a quorum of nine. The run must end, its test accuracy must be within one point
of the run of the nine alone, and the log and the status must name the hostile node and no other. Needs grpcio.
"""
import math
import re
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop"))

# pylint: disable=wrong-import-position
from federation import Federation, write_csv  # noqa: E402
from measure import EXTRA_MB, QUOTA_MB  # noqa: E402
from python_node import PythonNode  # noqa: E402
import wire  # noqa: E402

MFL = None
COLUMNS, ROWS, ROUNDS = 20, 100, 60
HOSTILE = "n09"
EXPERIMENT = f"""[model]
name = "logistic"
intercept = false
[algorithm]
name = "mfl"
eta = 0.2
gamma = 0.5
tau = 4
[run]
steps = {4 * ROUNDS}
"""
FEDERATION = "min_available_nodes = 9\nquorum = 9\nround_deadline = {}\nmax_samples = 1000\n"
SCHEMA = {"columns": COLUMNS, "features": [f"x{j}".encode() for j in range(COLUMNS)], "label": b"y", "task": "binary",
          "classes": [b"0", b"1"]}
NO_BLAME = ("late", "stale")  # an attempt that was abandoned
BEFORE = math.log(2)  # the loss of the first model


def same(vectors, value):
    return [[value] * len(vector) for vector in vectors]


def huge(_, vectors):
    return BEFORE, same(vectors, 1e38)


def largest(_, vectors):
    return BEFORE, same(vectors, 3.4e38)


def not_a_number(_, vectors):
    return BEFORE, same(vectors, math.nan)


def zeros(_, vectors):
    return 0.1, same(vectors, 0.0)


def absurd_loss(_, vectors):
    return -1e308, vectors


def huge_loss(_, vectors):
    return 1e308, vectors


def alternating(task, vectors):
    return (0.1, vectors) if task.ticket.round % 2 else huge(task, vectors)


def patient(task, vectors):
    """Honest until trust is earned."""
    return (0.1, vectors) if task.ticket.round < ROUNDS // 2 else huge(task, vectors)


def growing(task, vectors):
    """Ten times as far away in every round."""
    return 0.1, same(vectors, 10.0 ** min(task.ticket.round, 38))


def silent(_, __):
    return None


def names_in(text):
    """The nodes that a text names."""
    return set(re.findall(r"\bn0\d\b", text))


class HostileNodes(unittest.TestCase):
    accuracy = None  # of the nine honest nodes alone

    def federation(self, deadline=10, tested=True):
        federation = Federation(MFL, nodes=10, rows=ROWS, columns=COLUMNS, experiment=EXPERIMENT,
                                federation=FEDERATION.format(deadline))
        self.addCleanup(federation.close)
        write_csv(federation.folder / "test.csv", 1000, COLUMNS, seed=1)
        federation.serve(*(["--test-data", "csv:test.csv"] if tested else []), "--memory-quota-mb", str(QUOTA_MB), "--linger", "20")
        return federation

    def accuracy_without(self, federation):
        """Of mfl run with the nine honest nodes."""
        if HostileNodes.accuracy is None:
            honest = [name for name in federation.names if name != HOSTILE]
            result = federation.simulate("--nodes", "9", "--quorum", "0", "--min-available-nodes", "0", "--test-source",
                                         "csv:test.csv", names=honest)
            HostileNodes.accuracy = result["final"]["test_accuracy"]
        return HostileNodes.accuracy

    def hostile(self, federation, answer, samples=ROWS):
        node = PythonNode(federation.address, HOSTILE, SCHEMA, samples, federation.certificate(HOSTILE), answer)
        self.addCleanup(node.stop)
        return node.start()

    def run_to_end(self, federation):
        """Starts the honest nodes; what the status said of troubles, warnings and failures until the run ended, as one text."""
        said = set()
        for name in federation.names[:-1]:
            federation.node(name)
        with wire.channel(federation.address, federation.certificate("n00")) as channel:
            stub = wire.stubs.FederationStub(channel)

            def ended():
                try:
                    status = stub.Watch(wire.messages.WatchRequest(nodes=True), timeout=5)
                    said.update([status.trouble, *(warning.decode() for warning in status.warnings),
                                 *(f"{node.name} has failed" for node in status.node_list if node.failures)])
                except wire.grpc.RpcError:
                    pass  # the server may have ended
                return federation.server.poll() is not None or any(
                    event["event"] in ("done", "diverged", "failed") for event in federation.events())
            federation.wait_for(ended, "the run did not end", 120)
        return " ".join(said)

    def check_named(self, federation, said, named, joined=True):
        """Nobody but the hostile node is blamed, in the log and, if it had joined, in the status."""
        warnings = [event for event in federation.events()
                    if event["level"] in ("warning", "error") and event.get("reason") not in NO_BLAME]
        self.assertLessEqual(names_in(str(warnings)), {HOSTILE}, warnings)
        self.assertLessEqual(names_in(said), {HOSTILE}, said)
        if named:
            self.assertEqual(names_in(str(warnings)), {HOSTILE}, federation.log()[-1000:])
            self.assertEqual(names_in(said), {HOSTILE} if joined else set(), federation.log()[-1000:])

    def check(self, answer, named=True, deadline=10, samples=ROWS, joins=True):
        federation = self.federation(deadline)
        node = self.hostile(federation, answer, samples)
        if joins:
            self.assertTrue(node.joined.wait(30), f"the hostile node did not join: {node.error}")
        said = self.run_to_end(federation)
        node.release.set()
        self.check_named(federation, said, named, joins)
        self.assertEqual(federation.wait_for_end(60), 0, federation.log()[-1000:])
        result, expected = federation.result(), self.accuracy_without(federation)
        self.assertEqual((result["status"], result["rounds"]), ("done", ROUNDS))
        self.assertGreaterEqual(result["final"]["test_accuracy"], expected - 0.01)
        self.assertGreaterEqual(result["final"]["train_loss"], 0)
        print(f"{100 * result['final']['test_accuracy']:.1f} % test accuracy with one hostile node of ten "
              f"({self.id().rsplit('.', 1)[1]}), {100 * expected:.1f} % without it", flush=True)
        return federation, node

    def test_1e38(self):
        self.check(huge)

    def test_largest_f32(self):
        self.check(largest)

    def test_not_a_number(self):
        self.check(not_a_number)

    def test_zeros(self):
        self.check(zeros, named=False)  # within the bounds

    def test_absurd_loss(self):
        self.check(absurd_loss)

    def test_huge_loss(self):
        self.check(huge_loss)

    def test_alternating(self):
        self.check(alternating)

    def test_patient(self):
        self.check(patient)

    def test_growing(self):
        self.check(growing)

    def test_many_samples(self):
        _, node = self.check(huge, samples=2 ** 32, joins=False)
        self.assertFalse(node.joined.is_set())

    def test_silent(self):
        self.check(silent, deadline=1)

    def test_many_samples_in_an_update(self):
        """Joined with an honest count, the update claims another."""
        self.check(lambda task, vectors: (0.1, vectors, 2 ** 32))

    def test_the_first_joiner_cannot_size_the_server(self):
        """134 million claimed features, again and again, then honest nodes."""
        federation = self.federation(tested=False)  # a test set would size it
        start = federation.memory_mb()
        federation.reset_peak()
        wide = {"columns": 134_000_000, "label": b"y", "task": "binary", "classes": [b"0", b"1"]}
        for _ in range(5):
            node = PythonNode(federation.address, HOSTILE, wide, ROWS, federation.certificate(HOSTILE), silent).start()
            node.joined.wait(2)
            node.stop()
        begun = time.monotonic()
        for name in federation.names[:-1]:
            federation.node(name)
        federation.wait_for(lambda: federation.rounds() > 0, "no round after the hostile node left")
        peak = federation.memory_mb("VmHWM")
        print(f"{peak:.0f} MB at most with a first joiner of 134 million features ({start:.0f} MB before), the first round "
              f"{time.monotonic() - begun:.1f} s after it left", flush=True)
        self.assertLess(peak, QUOTA_MB + EXTRA_MB)

    def test_two_processes_with_one_certificate(self):
        """They take the place of each other, which does not stop the others."""
        federation = self.federation(1)
        for node in [self.hostile(federation, silent) for _ in range(2)]:
            node.release.set()
        said = self.run_to_end(federation)
        self.check_named(federation, said, False)
        self.assertIn(HOSTILE, said, "the status does not tell of two processes with one certificate")
        self.assertEqual(federation.wait_for_end(60), 0)


if __name__ == "__main__":
    MFL = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *(f"HostileNodes.{name}" for name in sys.argv[2:])], verbosity=2)
