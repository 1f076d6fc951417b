#!/usr/bin/env python3
"""gRPC clients that are not ours take part in a federation: interop_test.py MFL [GRPCURL].

Nodes in plain Python join a run of linear regression, alone and beside a node of mfl, over TLS and in plaintext. Features are
-1, 0 and 1, targets are whole numbers, eta and the sample counts are powers of two, and the run is short: every number is exact in
f64, so any correct implementation has the same bits, and the digest must be that of mfl run.
"""
import random
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "attack"))

# pylint: disable=wrong-import-position
from federation import Federation  # noqa: E402
from python_node import PythonNode, train  # noqa: E402
import wire  # noqa: E402

MFL = GRPCURL = None
COLUMNS = 3
EXPERIMENT = """[model]
name = "linear"
intercept = false
[algorithm]
name = "{}"
eta = 0.25
gamma = 0.5
tau = 2
[run]
steps = 8
precision = "f64"
"""
SCHEMA = {"columns": COLUMNS, "features": [b"x0", b"x1", b"x2"], "label": b"y", "task": "regression"}


def rows_of(seed, count=8):
    draw = random.Random(seed)
    return [[draw.choice((-1, 0, 1)) for _ in range(COLUMNS)] for _ in range(count)], [draw.randrange(-4, 5) for _ in range(count)]


class Interop(unittest.TestCase):
    def federation(self, algorithm, tls, nodes=2):
        federation = Federation(MFL, nodes=nodes, rows=8, columns=COLUMNS, experiment=EXPERIMENT.format(algorithm), tls=tls)
        self.addCleanup(federation.close)
        for number, name in enumerate(federation.names):
            rows, targets = rows_of(number)
            lines = ["x0,x1,x2,y"] + [",".join(map(str, [*row, target])) for row, target in zip(rows, targets)]
            (federation.folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        federation.serve("--linger", "10")
        return federation

    def python_node(self, federation, number):
        name = federation.names[number]
        rows, targets = rows_of(number)
        node = PythonNode(federation.address, name, SCHEMA, len(rows), federation.certificate(name) if federation.tls else None)
        node.answer = lambda task, vectors: train(node.plan, rows, targets, vectors, task.steps)
        node.release.set()
        self.addCleanup(node.stop)
        return node.start()

    def check(self, algorithm, tls, foreign):
        federation = self.federation(algorithm, tls)
        nodes = [self.python_node(federation, number) for number in foreign]
        for number, name in enumerate(federation.names):
            if number not in foreign:
                federation.node(name)
        self.assertEqual(federation.wait_for_end(60), 0, federation.log())
        served, simulated = federation.result(), federation.simulate()
        self.assertEqual(served["status"], "done")
        self.assertEqual(served["digest"], simulated["digest"])
        self.assertAlmostEqual(served["final"]["train_loss"], simulated["final"]["train_loss"], places=12)
        self.assertEqual(served["rounds"], 4)
        for node in nodes:
            node.thread.join(30)
            self.assertIsNone(node.error)
            self.assertEqual(node.ending.digest, simulated["digest"])
            self.assertEqual({reason for _, reason in node.verdicts}, {"NONE"})
            self.assertEqual(node.tasks, 5)  # four rounds, and the loss of the final model

    def test_python_nodes_alone_over_tls(self):
        self.check("mfl", True, (0, 1))

    def test_python_nodes_alone_in_plaintext(self):
        self.check("fl", False, (0, 1))

    def test_a_python_node_beside_a_node_of_mfl_over_tls(self):
        self.check("fl", True, (1,))

    def test_a_python_node_beside_a_node_of_mfl_in_plaintext(self):
        self.check("mfl", False, (0,))

    def test_python_calls_status_and_health(self):
        federation = self.federation("mfl", True)
        with wire.channel(federation.address, federation.certificate("n00")) as channel:
            status = wire.stubs.FederationStub(channel).Watch(wire.messages.WatchRequest(nodes=True), timeout=10)
            self.assertEqual((status.phase, status.steps, status.needed), ("waiting", 8, 2))
            health = wire.health_stubs.HealthStub(channel)
            request = wire.health_messages.HealthCheckRequest()
            serving = wire.health_messages.HealthCheckResponse.SERVING
            self.assertEqual(health.Check(request, timeout=10).status, serving)
            stream = health.Watch(request, timeout=10)
            self.assertEqual(next(iter(stream)).status, serving)
            stream.cancel()
            missing = wire.health_messages.HealthCheckRequest(service="nothing")
            with self.assertRaises(wire.grpc.RpcError) as caught:
                health.Check(missing, timeout=10)
            self.assertEqual(caught.exception.code(), wire.grpc.StatusCode.NOT_FOUND)
            with self.assertRaises(wire.grpc.RpcError) as caught:
                channel.unary_unary("/mfl.wire.v1.Federation/Nothing")(b"", timeout=10)
            self.assertEqual(caught.exception.code(), wire.grpc.StatusCode.UNIMPLEMENTED)

    def test_another_protocol_version_is_refused_in_words(self):
        federation = self.federation("mfl", True)
        with wire.channel(federation.address, federation.certificate("n00")) as channel:
            with self.assertRaises(wire.grpc.RpcError) as caught:
                wire.stubs.FederationStub(channel).Greet(wire.messages.Hello(protocol=77), timeout=10)
            self.assertEqual(caught.exception.code(), wire.grpc.StatusCode.FAILED_PRECONDITION)
            self.assertIn("77", caught.exception.details())

    def grpcurl(self, federation, *arguments, proto, tls):
        security = ["-plaintext", "-H", "mfl-node: n00"]
        if tls:
            folder = Path(federation.certificate("n00"))
            security = ["-cacert", folder / "ca.pem", "-cert", folder / "cert.pem", "-key", folder / "key.pem"]
        done = subprocess.run([GRPCURL, *security, "-import-path", proto.parent, "-proto", proto.name, "-emit-defaults", *arguments],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_grpcurl(self):
        if not GRPCURL:
            self.skipTest("grpcurl is not on the path: go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest")
        for tls in (True, False):
            federation = self.federation("mfl", tls)
            plan = self.grpcurl(federation, "-d", '{"protocol": 6}', federation.address, "mfl.wire.v1.Federation/Greet",
                                proto=wire.PROTO, tls=tls)
            self.assertIn('"algorithm": "mfl"', plan)
            status = self.grpcurl(federation, "-d", '{"nodes": true}', federation.address, "mfl.wire.v1.Federation/Watch",
                                  proto=wire.PROTO, tls=tls)
            self.assertIn('"phase": "waiting"', status)
            health = federation.folder / "health.proto"
            health.write_text(wire.HEALTH_PROTO, encoding="utf-8")
            self.assertIn("SERVING", self.grpcurl(federation, federation.address, "grpc.health.v1.Health/Check", proto=health,
                                                  tls=tls))
            federation.close()


if __name__ == "__main__":
    MFL = sys.argv[1]
    GRPCURL = sys.argv[2] if len(sys.argv) > 2 else shutil.which("grpcurl")
    unittest.main(argv=sys.argv[:1], verbosity=2)
