#!/usr/bin/env python3
"""Logistic regression as a trainer, with NumPy and nothing else: the bare protocol of docs/trainer.md in one file.

    mfl node --server HOST:PORT --tls pki/hospital-a --trainer "python train.py --data my.csv"
    mfl run experiment.toml --nodes 4 --trainer "python train.py --data FOLDER"

The same model as mfl's own `logistic` without an intercept: loss softplus(z) - y z with z = x w, and lambda/2 |w|^2; y is 1 for the
label --positive and 0 for all others. --data is a folder with x.npy and y.npy, a CSV file whose last column is the label, or a folder of these, one per node: the one
with the node's name or, for the numbered nodes of a simulation, the one at that position, counted around.
"""

import argparse
import json
import os
import pathlib
import socket
import struct

import numpy


class Node:
    """The data of a node, and the model on it."""

    def __init__(self, path, settings, dtype):
        if (path / "x.npy").exists():
            x, labels = numpy.load(path / "x.npy"), numpy.load(path / "y.npy")
            scale = 1 / 255 if x.dtype == numpy.uint8 else 1.0  # as mfl scales bytes
        else:
            rows = numpy.genfromtxt(path, delimiter=",", skip_header=settings.header)
            x, labels, scale = rows[:, :-1], rows[:, -1], 1.0
        self.x = (x * (scale if settings.scale is None else settings.scale)).astype(dtype)
        self.y = (labels == settings.positive).astype(dtype)
        self.penalty = settings.penalty

    def loss(self, w):
        z = self.x @ w
        return float((numpy.logaddexp(0, z) - self.y * z).mean() + 0.5 * self.penalty * (w @ w))

    def gradient(self, w, rows):
        x, y = self.x[rows], self.y[rows]
        return x.T @ (0.5 * (1 + numpy.tanh(0.5 * (x @ w))) - y) / len(y) + self.penalty * w

    def train(self, w, d, request, settings):
        """Local steps with momentum: d <- gamma d + g; w <- w - eta d. Returns the loss as well."""
        eta, gamma, size = settings["eta"], settings.get("gamma", 0.0), settings.get("batch_size", len(self.y))
        draw, order, losses = numpy.random.default_rng(request["seed"]), [], []
        for step in range(request["steps"]):
            if len(order) == 0:
                order = draw.permutation(len(self.y)) if size < len(self.y) else numpy.arange(len(self.y))
            rows, order = order[:size], order[size:]
            if size < len(self.y) or step == 0:  # on all samples: the loss at the weights that were sent
                z = self.x[rows] @ w
                losses.append((numpy.logaddexp(0, z) - self.y[rows] * z).mean() + 0.5 * self.penalty * (w @ w))
            d = gamma * d + self.gradient(w, rows)
            w = w - eta * d
        return w, d, float(numpy.mean(losses))


def data_of(folder, node):
    """The path of a node's data."""
    if not folder.is_dir() or (folder / "x.npy").exists():
        return folder
    parts = sorted(folder.iterdir())
    named = [part for part in parts if part.name in (node, f"{node}.csv")]
    return named[0] if named else parts[int(node.rpartition("-")[2]) % len(parts)]


def read(stream):
    """(header, tensors) of the next frame; None at the end of the stream."""
    prefix = stream.read(12)
    if len(prefix) < 12:
        return None
    header_length, body_length = struct.unpack("<IQ", prefix)
    header, body = json.loads(stream.read(header_length)), stream.read(body_length)
    tensors = {}
    if body:
        (length,) = struct.unpack_from("<Q", body)
        for name, entry in json.loads(body[8 : 8 + length]).items():
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(body[begin:end], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).reshape(entry["shape"])
    return header, tensors


def write(stream, header, tensors=None):
    """A frame; the body is a safetensors file."""
    body = b""
    if tensors:
        index, offset = {}, 0
        for name, array in tensors.items():
            kind = "F64" if array.dtype == numpy.float64 else "F32"
            index[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
            offset += array.nbytes
        text = json.dumps(index).encode()
        body = struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values())
    text = json.dumps(header).encode()
    stream.write(struct.pack("<IQ", len(text), len(body)) + text + body)
    stream.flush()


def answer(request, tensors, state, settings):
    """(header, tensors) of the reply."""
    if request["message"] == "hello":
        dtype = numpy.float64 if request["precision"] == "f64" else numpy.float32
        state["nodes"] = {name: Node(data_of(settings.data, name), settings, dtype) for name in request["nodes"]}
        state["hello"] = request
        state["zeros"] = numpy.zeros(next(iter(state["nodes"].values())).x.shape[1], dtype)
        return {"message": "hello", "protocol": 1, "trainer": "numpy logistic", "vectors": ["w", "d"],
                "samples": {name: len(node.y) for name, node in state["nodes"].items()},
                "tensors": [{"name": "weights", "shape": list(state["zeros"].shape)}],
                "hyper_parameters": ["eta", "gamma", "batch_size"]}, None
    if request["message"] == "initialise":
        return {"message": "initialised"}, {"w/weights": state["zeros"]}
    node = state["nodes"][request["node"]]
    reply = {"node": request["node"], "samples": len(node.y), "metrics": {}}
    w = tensors["w/weights"]
    if request["message"] == "evaluate":
        return {"message": "evaluated", **reply, "loss": node.loss(w)}, None
    d = tensors.get("d/weights", state["zeros"])
    w, d, loss = node.train(w, d, request, {**state["hello"]["hyper_parameters"], **request["hyper_parameters"]})
    trained = {"w/weights": w, "d/weights": d}
    return {"message": "trained", **reply, "round": request["round"], "loss": loss}, {name: trained[name] for name in tensors}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--header", type=int, default=1, help="lines of a CSV file to skip (1)")
    parser.add_argument("--positive", type=float, default=1, help="the label of the positive class (1)")
    parser.add_argument("--scale", type=float, help="a factor on every feature (1/255 for bytes, else 1)")
    parser.add_argument("--lambda", dest="penalty", type=float, default=0.0)
    settings, state = parser.parse_args(), {}
    with socket.socket(fileno=int(os.environ["MFL_TRAINER_FD"])) as connection, connection.makefile("rwb") as stream:
        while (frame := read(stream)) and frame[0]["message"] != "stop":
            try:
                reply = answer(*frame, state, settings)
            except Exception as error:
                reply = {"message": "error", "text": f"{type(error).__name__}: {error}"}, None
            write(stream, *reply)


if __name__ == "__main__":
    main()
