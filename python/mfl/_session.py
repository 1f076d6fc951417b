"""One connection of the trainer protocol, seen from the trainer."""

from __future__ import annotations

import contextlib
import math
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from socket import socket
from typing import Any

import numpy

from mfl._frames import INDEX_LIMIT, Array, ProtocolError, decode_tensors, is_count, read_frame, write_frame
from mfl._request import PRECISIONS, Hello, Round, samples_of, shapes_of, value_of

PROTOCOL = 1
Reply = tuple[dict[str, Any], dict[str, Array] | None]  # header and tensors


def _number(value: Any) -> float | None:
    """As JSON has it: what is not finite is null, which mfl refuses with the node and the round in its message."""
    value = float(value)
    return value if math.isfinite(value) else None


class Session:
    """One connection: the requests of mfl, one after the other, and their answers. Not thread-safe."""

    def __init__(self, trainer: Any, connection: socket) -> None:
        self.trainer = trainer
        self.connection = connection
        self._hello: Hello | None = None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.failure: Exception | None = None  # the exception of the trainer that was answered with an error

    def run(self) -> bool:
        """True after `stop`, False at the end of the stream. Raises ProtocolError after telling the peer."""
        try:
            while (frame := read_frame(self.connection, self.body_limit())) is not None:
                header, body = frame
                if header.get("message") == "stop":
                    return True
                write_frame(self.connection, *self.guarded(header, decode_tensors(body) if body is not None else {}))
            return False
        except ProtocolError as error:
            with contextlib.suppress(OSError):
                write_frame(self.connection, {"message": "error", "text": f"protocol: {error}"})
            raise

    def guarded(self, header: dict[str, Any], tensors: dict[str, Array]) -> Reply:
        """The answer to a request; an exception of the trainer becomes an error reply."""
        try:
            return self.answer(header, tensors)
        except ProtocolError:
            raise
        except Exception as error:
            self.failure = error
            traceback.print_exc(file=sys.stderr)
            return {"message": "error", "text": f"{type(error).__name__}: {error}"[:4000]}, None

    @property
    def hello(self) -> Hello:
        if self._hello is None:
            raise ProtocolError("a request before hello")
        return self._hello

    def body_limit(self) -> int:
        if self._hello is None:
            return INDEX_LIMIT
        numbers = sum(math.prod(shape) for shape in self.shapes.values()) * self.hello.dtype.itemsize
        return INDEX_LIMIT + numbers * len(self.hello.vectors)

    def answer(self, header: dict[str, Any], tensors: dict[str, Array]) -> Reply:
        message = header.get("message")
        if message == "hello":
            return self.greet(header), None
        if self._hello is None:
            raise ProtocolError(f"{message!r} before hello")
        if message == "initialise":
            w = self.trainer.initialise(_field(header, "seed", is_count, 0))
            return {"message": "initialised"}, self.flat({"w": w}, ["w"])
        if message == "train":
            return self.train(header, self.vectors_of(tensors, self.hello.vectors))
        if message == "evaluate":
            return self.evaluate(header, self.vectors_of(tensors, ["w"])["w"])
        raise ProtocolError(f"the message {message!r} is unknown")

    def greet(self, header: dict[str, Any]) -> dict[str, Any]:
        if header.get("protocol") != PROTOCOL:
            raise ProtocolError(f"mfl speaks version {header.get('protocol')!r} of the protocol, this trainer version {PROTOCOL}")
        hello = Hello(
            nodes=tuple(_field(header, "nodes", _is_names)),
            precision=_field(header, "precision", lambda value: value in PRECISIONS if isinstance(value, str) else False, "f32"),
            seed=_field(header, "seed", is_count, 0),
            algorithm=_field(header, "algorithm", lambda value: isinstance(value, str), ""),
            vectors=tuple(_field(header, "vectors", _is_names, ["w"])),
            hyper_parameters=_settings(header))
        self.trainer.start(hello)
        own = tuple(value_of(self.trainer, "vectors"))
        missing = [name for name in hello.vectors if name not in own]
        if missing:
            raise ValueError(f"the algorithm {hello.algorithm} trains {', '.join(hello.vectors)}, and this trainer has no {missing[0]}; "
                             "choose an algorithm without momentum at the nodes, such as fedavg or fedavgm")
        self.shapes = shapes_of(self.trainer)
        self._hello = hello
        reply = {"message": "hello", "protocol": PROTOCOL, "trainer": str(value_of(self.trainer, "name") or type(self.trainer).__name__),
                 "samples": {node: samples_of(self.trainer, node) for node in hello.nodes},
                 "tensors": [{"name": name, "shape": list(shape)} for name, shape in self.shapes.items()],
                 "vectors": list(own), "hyper_parameters": list(value_of(self.trainer, "hyper_parameters"))}
        schema = value_of(self.trainer, "schema")
        return {**reply, "schema": schema} if schema else reply

    def train(self, header: dict[str, Any], vectors: dict[str, dict[str, Array]]) -> Reply:
        asked = self.round_of(header, _field(header, "steps", is_count))
        metrics = self.measured(vectors["w"], asked)
        trained = self.trainer.train(vectors, asked)
        if asked.loss is None:
            raise ValueError(f"{type(self.trainer).__name__}.train did not set round.loss")
        reply = {"message": "trained", "node": asked.node, "round": asked.round, "samples": samples_of(self.trainer, asked.node),
                 "loss": _number(asked.loss), "metrics": {**metrics, **_numbers(asked.metrics)}}
        return reply, self.flat(trained, self.hello.vectors)

    def evaluate(self, header: dict[str, Any], w: dict[str, Array]) -> Reply:
        asked = self.round_of(header, 0)
        metrics = self.measured(w, asked)
        loss = self.trainer.evaluate(w, asked)
        reply = {"message": "evaluated", "node": asked.node, "round": asked.round, "samples": samples_of(self.trainer, asked.node),
                 "loss": _number(loss), "metrics": {**metrics, **_numbers(asked.metrics)}}
        return reply, None

    def measured(self, w: dict[str, Array], asked: Round) -> dict[str, float | None]:
        return _numbers(self.trainer.metrics(w, asked))

    def round_of(self, header: dict[str, Any], steps: int) -> Round:
        """Settings that a request leaves out are those of hello."""
        node = header.get("node")
        if node not in self.hello.nodes:
            raise ProtocolError(f"node {node!r} was not named in hello")
        return Round(node=node, round=_field(header, "round", is_count, 0), steps=steps, seed=_field(header, "seed", is_count, 0),
                     hyper_parameters={**self.hello.hyper_parameters, **_settings(header)}, epochs=header.get("epochs"))

    def vectors_of(self, tensors: dict[str, Array], names: Sequence[str]) -> dict[str, dict[str, Array]]:
        vectors: dict[str, dict[str, Array]] = {name: {} for name in names}
        for vector in names:
            for tensor, shape in self.shapes.items():
                array = tensors.pop(f"{vector}/{tensor}", None)
                if array is None:
                    raise ProtocolError(f"the body has no {vector}/{tensor}")
                if array.shape != shape:
                    raise ProtocolError(f"{vector}/{tensor} has the shape {list(array.shape)}, not {list(shape)}")
                if array.dtype != self.hello.dtype:
                    raise ProtocolError(f"{vector}/{tensor} has numbers of {array.dtype}, and the precision is {self.hello.precision}")
                vectors[vector][tensor] = array
        if tensors:
            raise ProtocolError(f"the body has {next(iter(tensors))!r}, which nobody knows")
        return vectors

    def flat(self, vectors: Any, names: Sequence[str]) -> dict[str, Array]:
        found = {}
        for vector in names:
            arrays = vectors[vector] if isinstance(vectors, dict) and vector in vectors else None
            if arrays is None or set(arrays) != set(self.shapes):
                raise ValueError(f"{type(self.trainer).__name__} must return {vector} with the tensors {', '.join(self.shapes)}")
            for tensor, shape in self.shapes.items():
                array = numpy.asarray(arrays[tensor], self.hello.dtype)
                if array.shape != shape:
                    raise ValueError(f"{vector}/{tensor} has the shape {list(array.shape)} after training, not {list(shape)}")
                found[f"{vector}/{tensor}"] = array
        return found


_REQUIRED = object()


def _field(header: Mapping[str, Any], name: str, is_right: Callable[[Any], bool], default: Any = _REQUIRED) -> Any:
    value = header.get(name, default)
    if value is default and default is not _REQUIRED:
        return default
    if value is _REQUIRED or not is_right(value):
        raise ProtocolError(f"{header.get('message')} has {'no' if value is _REQUIRED else 'a bad'} {name!r}")
    return value


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def _settings(header: Mapping[str, Any]) -> dict[str, Any]:
    found = _field(header, "hyper_parameters", lambda value: isinstance(value, dict), {})
    return {name: value for name, value in found.items() if value is not None}


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    return {str(name): _number(value) for name, value in metrics.items()}
