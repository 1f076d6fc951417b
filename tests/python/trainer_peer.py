#!/usr/bin/env python3
"""Plays mfl towards a trainer: trainer_peer.py [OPTIONS] COMMAND, or trainer_peer.py [OPTIONS] unix:PATH.

Checks that a trainer keeps to the protocol of docs/trainer.md and prints one line per check (exit code 1 if one fails), or, as a
module, drives trainers through rounds of FL or MFL with weighted means. It shares no code with python/mfl: an error in one of the two shows.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import numpy

DTYPES = {"F32": numpy.float32, "F64": numpy.float64}


class Refused(Exception):
    """The trainer replied with an error; the text is its own."""


def pack(header, tensors=None, shuffled=None):
    """The bytes of a frame. The body begins at a multiple of 8 bytes; `shuffled` is a generator that draws the order of the tensors."""
    body = b""
    if tensors is not None:
        names = list(tensors)
        if shuffled is not None:
            shuffled.shuffle(names)
        index, numbers = {}, []
        offset = 0
        for name in names:
            array = numpy.ascontiguousarray(tensors[name]).reshape(numpy.shape(tensors[name]))
            kind = next(kind for kind, dtype in DTYPES.items() if array.dtype == dtype)
            index[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
            offset += array.nbytes
            numbers.append(array.tobytes())
        text = json.dumps(index).encode()
        text += b" " * (-len(text) % 8)
        body = struct.pack("<Q", len(text)) + text + b"".join(numbers)
    text = json.dumps(header).encode()
    text += b" " * (-(12 + len(text)) % 8)
    return struct.pack("<IQ", len(text), len(body)) + text + body


def unpack_tensors(body):
    (length,) = struct.unpack_from("<Q", body)
    index = json.loads(body[8 : 8 + length])
    index.pop("__metadata__", None)
    numbers, covered, found = body[8 + length :], 0, {}
    for name, entry in sorted(index.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name} leaves a gap or overlaps"
        found[name] = numpy.frombuffer(numbers[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        covered = end
    assert covered == len(numbers), "bytes at the end belong to no tensor"
    return found


class Connection:
    """mfl's end of a connection."""

    def __init__(self, connection, time_limit=120):
        self.socket = connection
        self.socket.settimeout(time_limit)

    def send(self, header, tensors=None, shuffled=None):
        self.socket.sendall(pack(header, tensors, shuffled))

    def exactly(self, count):
        found = bytearray()
        while len(found) < count:
            part = self.socket.recv(min(count - len(found), 1 << 20))
            if not part:
                raise EOFError("the trainer closed the connection")
            found += part
        return bytes(found)

    def receive(self):
        header_length, body_length = struct.unpack("<IQ", self.exactly(12))
        header = json.loads(self.exactly(header_length))
        body = self.exactly(body_length)
        if header["message"] == "error":
            raise Refused(header["text"])
        return header, unpack_tensors(body) if body else {}

    def ask(self, header, tensors=None, shuffled=None):
        self.send(header, tensors, shuffled)
        return self.receive()

    def close(self):
        self.socket.close()


def start(command, **options):
    """(process, Connection) of a trainer that is started as `mfl node --trainer COMMAND` starts it."""
    ours, theirs = socket.socketpair()
    with theirs:
        child = subprocess.Popen(["sh", "-c", command] if isinstance(command, str) else [str(word) for word in command],
                                 pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                 env={**os.environ, **options.pop("env", {}), "MFL_TRAINER_FD": str(theirs.fileno())}, **options)
    return child, Connection(ours)


def connect(path, patience=30):
    deadline = time.monotonic() + patience
    while True:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect(path)
            return Connection(one)
        except OSError:
            one.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Peer:
    """A trainer after hello."""

    def __init__(self, connection, nodes, algorithm="mfl", precision="f32", seed=1, vectors=("w", "d"), **hyper_parameters):
        self.connection, self.nodes, self.seed = connection, list(nodes), seed
        self.dtype = numpy.float32 if precision == "f32" else numpy.float64
        self.vectors = list(vectors)
        self.hyper_parameters = hyper_parameters
        self.request = {"message": "hello", "protocol": 1, "nodes": self.nodes, "precision": precision, "seed": seed,
                        "algorithm": algorithm, "vectors": self.vectors, "hyper_parameters": hyper_parameters}
        self.hello, _ = connection.ask(self.request)
        self.shapes = {tensor["name"]: tuple(tensor["shape"]) for tensor in self.hello["tensors"]}

    def samples(self, node):
        return self.hello["samples"][node]

    def zeros(self):
        return {name: numpy.zeros(shape, self.dtype) for name, shape in self.shapes.items()}

    def initialise(self):
        _, body = self.connection.ask({"message": "initialise", "seed": self.seed})
        return self.vectors_of(body, ["w"])["w"]

    def vectors_of(self, body, names):
        expected = {f"{vector}/{tensor}" for vector in names for tensor in self.shapes}
        assert set(body) == expected, f"the body has {sorted(body)}, expected {sorted(expected)}"
        for name, array in body.items():
            assert array.shape == self.shapes[name.split("/", 1)[1]], f"{name} has the shape {array.shape}"
            assert array.dtype == self.dtype, f"{name} has numbers of {array.dtype}"
        return {vector: {tensor: body[f"{vector}/{tensor}"] for tensor in self.shapes} for vector in names}

    def train_request(self, node, round, steps):
        node_seed = (self.seed * 1_000_003 + round * 1009 + self.nodes.index(node)) % (1 << 63)
        return {"message": "train", "node": node, "round": round, "steps": steps, "seed": node_seed,
                "hyper_parameters": self.hyper_parameters, "a field of a later version": 1}

    def train(self, node, round, steps, vectors, shuffled=None):
        header, body = self.connection.ask(self.train_request(node, round, steps), flat(vectors), shuffled)
        assert header["message"] == "trained" and header["node"] == node and header["round"] == round, header
        assert header["samples"] == self.samples(node), "samples differ from those of hello"
        return header, self.vectors_of(body, self.vectors)

    def evaluate(self, node, round, w):
        header, _ = self.connection.ask({"message": "evaluate", "node": node}, flat({"w": w}))
        assert header["message"] == "evaluated" and header["node"] == node, header
        return header

    def stop(self):
        self.connection.send({"message": "stop"})


def flat(vectors):
    return {f"{vector}/{tensor}": array for vector, tensors in vectors.items() for tensor, array in tensors.items()}


def mean(updates, weights):
    """The weighted mean of the nodes' vectors, in f64."""
    total = sum(weights)
    return {vector: {tensor: sum(weight * update[vector][tensor].astype(numpy.float64) for update, weight in zip(updates, weights))
                     .__truediv__(total).astype(array.dtype) for tensor, array in tensors.items()}
            for vector, tensors in updates[0].items()}


def federate(peers, rounds, steps, w=None):
    """Rounds of FL or MFL over all nodes of `peers`. Returns (vectors, losses of the rounds)."""
    first = peers[0]
    vectors = {vector: first.zeros() for vector in first.vectors}
    vectors["w"] = first.initialise() if w is None else w
    losses = []
    for round in range(1, rounds + 1):
        updates, weights, loss = [], [], 0.0
        for peer in peers:
            for node in peer.nodes:
                header, update = peer.train(node, round, steps, vectors)
                updates.append(update)
                weights.append(peer.samples(node))
                loss += weights[-1] * header["loss"]
        vectors = mean(updates, weights)
        losses.append(loss / sum(weights))
    return vectors, losses


def same(left, right):
    left, right = flat(left), flat(right)
    return set(left) == set(right) and all(left[name].tobytes() == right[name].tobytes() for name in left)


class Checks:
    """The conformance checks. `reach` makes a new (process or None, Connection)."""

    def __init__(self, reach, options):
        self.reach, self.options = reach, options

    def peer(self, connection):
        return Peer(connection, self.options["nodes"], **self.options["settings"])

    @contextlib.contextmanager
    def trainer(self):
        process, connection = self.reach()
        try:
            yield process, self.peer(connection)
        finally:
            connection.close()
            if process is not None:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def start_vectors(self, peer):
        return {**{vector: peer.zeros() for vector in peer.vectors}, "w": peer.initialise()}

    def check_hello(self):
        """hello names the tensors, the samples of every node and what the trainer follows"""
        with self.trainer() as (_, peer):
            assert peer.hello["protocol"] == 1
            assert all(isinstance(peer.samples(node), int) and peer.samples(node) >= 1 for node in peer.nodes)
            assert peer.shapes and len(peer.shapes) == len(peer.hello["tensors"]), "duplicate names"
            assert set(peer.vectors) <= set(peer.hello["vectors"]), f"the algorithm needs {peer.vectors}"
            missing = set(peer.hyper_parameters) - set(peer.hello["hyper_parameters"])
            assert not missing, f"hyper-parameters that are not followed: {sorted(missing)}"

    def check_initialise(self):
        """initialise gives finite weights, the same for the same seed"""
        with self.trainer() as (_, peer):
            first = peer.initialise()
            assert all(numpy.isfinite(array).all() for array in first.values())
            assert same({"w": first}, {"w": peer.initialise()})

    def check_training(self):
        """train changes w and replies with a finite loss"""
        with self.trainer() as (_, peer):
            vectors = self.start_vectors(peer)
            header, update = peer.train(peer.nodes[0], 1, 2, vectors)
            assert numpy.isfinite(header["loss"])
            assert not same({"w": update["w"]}, {"w": vectors["w"]})

    def check_same_bits(self):
        """the same request gives the same bits, also with the tensors in another order and after another request"""
        with self.trainer() as (_, peer):
            vectors = self.start_vectors(peer)
            _, first = peer.train(peer.nodes[0], 3, 3, vectors)
            _, second = peer.train(peer.nodes[0], 3, 3, vectors, numpy.random.default_rng(5))
            peer.train(peer.nodes[-1], 4, 1, first)
            _, third = peer.train(peer.nodes[0], 3, 3, vectors)
            assert same(first, second) and same(first, third)

    def check_restart(self):
        """a trainer that was killed and started again gives the same bits"""
        with self.trainer() as (process, peer):
            vectors = self.start_vectors(peer)
            _, first = peer.train(peer.nodes[0], 3, 3, vectors)
            peer.connection.send(peer.train_request(peer.nodes[0], 4, 3), flat(vectors))
            if process is not None:
                process.send_signal(signal.SIGKILL)
        with self.trainer() as (_, peer):
            _, second = peer.train(peer.nodes[0], 3, 3, vectors)
            assert same(first, second)

    def check_evaluate(self):
        """evaluate replies with the loss of w, the same every time"""
        with self.trainer() as (_, peer):
            vectors = self.start_vectors(peer)
            header, update = peer.train(peer.nodes[0], 1, 1, vectors)
            found = peer.evaluate(peer.nodes[0], 1, vectors["w"])
            assert numpy.isfinite(found["loss"])
            assert found["samples"] == peer.samples(peer.nodes[0])
            assert peer.evaluate(peer.nodes[0], 1, vectors["w"])["loss"] == found["loss"], "the loss depends on more than w"

    def check_stop(self):
        """stop ends the trainer with exit code 0"""
        with self.trainer() as (process, peer):
            peer.stop()
            if process is not None:
                assert process.wait(20) == 0

    def check_end(self):
        """so does the end of the stream"""
        with self.trainer() as (process, peer):
            peer.connection.close()
            if process is not None:
                assert process.wait(20) == 0

    def run(self):
        failed = 0
        checks = [getattr(self, name) for name in type(self).__dict__ if name.startswith("check_")]
        for check in checks:
            try:
                check()
                print(f"ok      {check.__doc__}")
            except (AssertionError, Refused, OSError, EOFError, subprocess.TimeoutExpired, KeyError, TypeError) as error:
                failed += 1
                print(f"FAILED  {check.__doc__}: {type(error).__name__}: {error}")
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer", help="the command of a trainer, or unix:PATH of one that listens (stop and restart are then not checked)")
    parser.add_argument("--nodes", default="node-1", help="names, separated by commas")
    parser.add_argument("--precision", choices=["f32", "f64"], default="f32")
    parser.add_argument("--vectors", default="w,d", help="w or w,d")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--rounds", type=int, default=0, help="train for so many rounds of 4 steps after the checks and print the losses")
    arguments = parser.parse_args()
    vectors = arguments.vectors.split(",")
    settings = {"precision": arguments.precision, "seed": arguments.seed, "vectors": vectors, "eta": arguments.eta,
                "algorithm": "mfl" if "d" in vectors else "fl"}
    if "d" in vectors:
        settings["gamma"] = arguments.gamma
    if arguments.batch_size:
        settings["batch_size"] = arguments.batch_size
    listening = arguments.trainer.startswith("unix:")
    reach = (lambda: (None, connect(arguments.trainer[5:]))) if listening else (lambda: start(arguments.trainer, stdout=sys.stderr))
    checks = Checks(reach, {"nodes": arguments.nodes.split(","), "settings": settings})
    if listening:
        checks.__class__ = type("Listening", (Checks,), {name: check for name, check in vars(Checks).items()
                                                         if name.startswith("check_") and name not in ("check_stop", "check_restart")})
    failed = checks.run()
    if not failed and arguments.rounds:
        with checks.trainer() as (_, peer):
            for round, loss in enumerate(federate([peer], arguments.rounds, 4)[1], 1):
                print(f"round {round}: loss {loss:.6g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
