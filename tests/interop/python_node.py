"""A node of a federation in plain Python: grpcio, wire.proto and the formulas, nothing of mfl.

It trains linear regression with FL or MFL on a few rows. Each number is a Python float, so it needs a run in f64.
"""
import struct
import threading
import tomllib

import grpc

import wire

CHUNK = 200_000  # bytes in one part of an update
PATIENCE = 60


def loss_and_gradient(rows, targets, w):
    """F = sum (z - y)^2 / 2n and its gradient, z = x w."""
    off = [sum(a * b for a, b in zip(x, w)) - y for x, y in zip(rows, targets)]
    loss = sum(value * value for value in off) / 2 / len(rows)
    return loss, [sum(value * x[j] for value, x in zip(off, rows)) / len(rows) for j in range(len(w))]


def train(plan, rows, targets, vectors, steps):
    """(loss at the start, vectors after `steps` steps)."""
    w = list(vectors[0])
    d = list(vectors[1]) if len(vectors) > 1 else [0.0] * len(w)
    algorithm = tomllib.loads(plan.experiment)["algorithm"]
    gamma = algorithm["gamma"] if algorithm["name"] == "mfl" else 0.0
    first = loss_and_gradient(rows, targets, w)[0]
    for _ in range(steps):
        gradient = loss_and_gradient(rows, targets, w)[1]
        d = [gamma * momentum + slope for momentum, slope in zip(d, gradient)]
        w = [weight - algorithm["eta"] * momentum for weight, momentum in zip(w, d)]
    return first, [w, d][:len(vectors)]


class PythonNode:
    """Takes part until the run ends. `answer(task, vectors)` gives (loss, vectors), or None to stay silent."""

    def __init__(self, address, name, schema, samples, tls=None, answer=None):
        self.channel = wire.channel(address, tls)
        self.stub = wire.stubs.FederationStub(self.channel)
        self.metadata = wire.metadata(name, tls)
        self.name, self.schema, self.samples = name, schema, samples
        self.answer = answer
        self.joined, self.release = threading.Event(), threading.Event()
        self.plan = self.ending = self.error = None
        self.verdicts, self.tasks = [], 0
        self.thread = None

    def greet(self, digest=""):
        return self.stub.Greet(wire.messages.Hello(protocol=wire.PROTOCOL, config_digest=digest), metadata=self.metadata,
                               timeout=PATIENCE)

    def attend(self):
        self.plan = self.greet()
        joining = wire.messages.Joining(protocol=wire.PROTOCOL, config_digest=self.plan.config_digest, weight=self.samples,
                                        columns=self.schema["columns"], bits=self.plan.bits)
        joining.schema.CopyFrom(wire.messages.Schema(**self.schema))
        return self.stub.Attend(joining, metadata=self.metadata)

    def unpack(self, payload):
        kind = "d" if self.plan.bits == 64 else "f"
        numbers = struct.unpack(f"<{len(payload) // struct.calcsize(kind)}{kind}", payload)
        columns = self.schema["columns"]
        return [numbers[i:i + columns] for i in range(0, len(numbers), columns)]

    def pack(self, vectors):
        kind = "d" if self.plan.bits == 64 else "f"
        return b"".join(struct.pack(f"<{len(vector)}{kind}", *vector) for vector in vectors)

    def submit(self, task, loss, vectors, samples=None):
        payload = self.pack(vectors) if task.steps else b""
        header = wire.messages.UpdateHeader(run_id=task.run_id, ticket=task.ticket, weight=samples or self.samples, train_loss=loss,
                                            size=len(payload), compute_seconds=0.001,
                                            blocks=task.blocks if task.steps else [], base=task.state_digest)

        def parts():
            yield wire.messages.UpdatePart(header=header, chunk=payload[:CHUNK])
            for start in range(CHUNK, len(payload), CHUNK):
                yield wire.messages.UpdatePart(chunk=payload[start:start + CHUNK])
        verdict = self.stub.Submit(parts(), metadata=self.metadata, timeout=PATIENCE)
        self.verdicts.append((task.ticket.round, wire.messages.Reason.Name(verdict.reason)))
        return verdict

    def take_part(self):
        """One session: until the call ends or the run does."""
        task, payload = None, b""
        for order in self.attend():
            kind = order.WhichOneof("kind")
            if kind is None:
                self.joined.set()
                self.plan = self.greet(self.plan.config_digest)
            elif kind == "task":
                task, payload = order.task, b""
            elif kind == "chunk":
                payload += order.chunk
            elif kind == "ending":
                self.ending = order.ending
                return
            if task is not None and len(payload) == task.size:
                self.tasks += 1
                if (answered := self.answer(task, self.unpack(payload))) is not None:
                    self.submit(task, *answered)
                task = None

    def run(self):
        """Joins again whenever the server ends the session; `error` says why it gave up."""
        for _ in range(1000):
            try:
                self.take_part()
            except ValueError as error:  # the channel was closed by stop()
                self.error = str(error)
                break
            except grpc.RpcError as error:
                self.error = f"{error.code().name}: {error.details()}"
                if error.code() not in (grpc.StatusCode.ABORTED, grpc.StatusCode.UNAVAILABLE):
                    break
                if self.release.wait(0.2):
                    break
                continue
            if self.ending is not None:
                self.error = None
                break
        self.release.wait(PATIENCE)
        try:
            self.stub.Watch(wire.messages.WatchRequest(), metadata=self.metadata, timeout=5)  # it knows of the end
        except (grpc.RpcError, ValueError):
            pass

    def start(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def stop(self):
        self.release.set()
        if self.ending is None:
            self.channel.close()
        if self.thread is not None:
            self.thread.join(PATIENCE)
        self.channel.close()
