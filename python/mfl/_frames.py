"""Frames and safetensors bodies of the trainer protocol (docs/trainer.md), in the standard library and NumPy.

Everything read from a peer is checked before it is used: a malformed frame or body raises ProtocolError and never
allocates more than the limit that the caller gave.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from socket import socket
from typing import Any, NoReturn

import numpy
from numpy.typing import ArrayLike, NDArray

HEADER_LIMIT = 16 << 20
INDEX_LIMIT = 100 << 20  # of a safetensors file, as the format has it
Array = NDArray[Any]
DTYPES: dict[str, numpy.dtype[Any]] = {"F32": numpy.dtype("<f4"), "F64": numpy.dtype("<f8")}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

_PREFIX = struct.Struct("<IQ")
_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 8


class ProtocolError(ValueError):
    """The peer sent something that is not the protocol."""


def _refuse_constant(text: str) -> NoReturn:
    raise ProtocolError(f"{text} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError("a JSON object has a duplicate key")
    return found


def parse_object(raw: bytearray | memoryview, what: str) -> dict[str, Any]:
    """The JSON object in `raw`; strict: no NaN, no duplicate keys."""
    try:
        found = json.loads(bytes(raw).decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except ProtocolError as error:
        raise ProtocolError(f"{what}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{what} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ProtocolError(f"{what} is not a JSON object")
    return found


def padded(raw: bytes, before: int) -> bytes:
    """`raw` with blanks at its end, so that what follows begins at a multiple of 8 bytes."""
    return raw + b" " * (-(before + len(raw)) % _ALIGNMENT)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _dtype(array: Array) -> numpy.dtype[Any]:
    for dtype in (array.dtype, array.dtype.newbyteorder("<")):
        if dtype in NAMES:
            return dtype
    raise TypeError(f"numbers are float32 or float64, not {array.dtype}")


def encode_tensors(tensors: Mapping[str, ArrayLike]) -> list[bytes | memoryview]:
    """The parts of a safetensors file, to be written one after the other: bytes and flat views of the arrays. {name: array}, float32 or
    float64. An array is copied only if it is not contiguous."""
    index: dict[str, Any] = {}
    parts: list[bytes | memoryview] = []
    offset = 0
    for name, given in tensors.items():
        array = numpy.asarray(given)
        stored = numpy.ascontiguousarray(array, _dtype(array)).reshape(-1)
        index[name] = {"dtype": NAMES[stored.dtype], "shape": list(array.shape), "data_offsets": [offset, offset + stored.nbytes]}
        offset += stored.nbytes
        if stored.nbytes:
            parts.append(stored.view(numpy.uint8).data)
    text = padded(json.dumps(index, separators=(",", ":")).encode(), _LENGTH.size)
    return [_LENGTH.pack(len(text)) + text, *parts]


def _entry(name: str, entry: Any, available: int) -> tuple[int, int, numpy.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, dict):
        raise ProtocolError(f"tensor {name!r} has no description")
    kind, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    dtype = DTYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        raise ProtocolError(f"tensor {name!r} has the type {kind!r}; F32 and F64 are known")
    if not isinstance(shape, list) or not all(map(is_count, shape)):
        raise ProtocolError(f"tensor {name!r} has the shape {shape!r}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(is_count, offsets)):
        raise ProtocolError(f"tensor {name!r} has the offsets {offsets!r}")
    begin, end = offsets
    if not begin <= end <= available:
        raise ProtocolError(f"tensor {name!r} lies outside of the body")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ProtocolError(f"tensor {name!r} of shape {shape} has {end - begin} bytes")
    return begin, end, dtype, tuple(shape)


def decode_tensors(body: bytes | bytearray | memoryview) -> dict[str, Array]:
    """{name: array} of a safetensors file in a bytes-like object. Arrays are views of `body`, writable if it is; one that is not aligned in
    memory is a copy."""
    body = memoryview(body).cast("B")
    if len(body) < _LENGTH.size:
        raise ProtocolError("the body is too short for a safetensors file")
    (length,) = _LENGTH.unpack(body[: _LENGTH.size])
    if length > min(len(body) - _LENGTH.size, INDEX_LIMIT):
        raise ProtocolError(f"the index of the body claims {length} bytes")
    numbers = body[_LENGTH.size + length :]
    index = parse_object(body[_LENGTH.size : _LENGTH.size + length], "the index of the body")
    index.pop("__metadata__", None)
    entries = {name: _entry(name, entry, len(numbers)) for name, entry in index.items()}
    position = 0
    for name, (begin, end, _, _) in sorted(entries.items(), key=lambda item: item[1][:2]):
        if begin != position:
            raise ProtocolError(f"tensor {name!r} overlaps another one or follows a gap")
        position = end
    if position != len(numbers):
        raise ProtocolError(f"{len(numbers) - position} bytes of the body belong to no tensor")
    return {name: _view(numbers[begin:end], dtype, shape) for name, (begin, end, dtype, shape) in entries.items()}


def _view(raw: memoryview, dtype: numpy.dtype[Any], shape: tuple[int, ...]) -> Array:
    if not len(raw):
        return numpy.zeros(shape, dtype)
    flat = numpy.frombuffer(raw, dtype)
    return (flat if flat.flags.aligned else flat.copy()).reshape(shape)


def write_frame(connection: socket, header: Mapping[str, Any], tensors: Mapping[str, ArrayLike] | None = None) -> None:
    """Sends a frame; with `tensors`, {name: array}, as its body. `header` must be JSON without NaN."""
    parts = encode_tensors(tensors) if tensors is not None else []
    text = padded(json.dumps(header, allow_nan=False).encode(), _PREFIX.size)
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"a header of {len(text)} bytes is longer than the {HEADER_LIMIT} that the protocol allows")
    connection.sendall(_PREFIX.pack(len(text), sum(len(part) for part in parts)) + text)
    for part in parts:
        connection.sendall(part)


def _fill(connection: socket, view: memoryview) -> None:
    while len(view):
        count = connection.recv_into(view)
        if count == 0:
            raise ProtocolError("the connection ended in the middle of a frame")
        view = view[count:]


def read_frame(connection: socket, body_limit: int) -> tuple[dict[str, Any], memoryview | None] | None:
    """(header, body) of the next frame, or None at the end of the stream. The body is a writable memoryview, or None if there is none."""
    prefix = bytearray(_PREFIX.size)
    count = connection.recv_into(prefix)
    if count == 0:
        return None
    _fill(connection, memoryview(prefix)[count:])
    header_length, body_length = _PREFIX.unpack(prefix)
    if header_length > HEADER_LIMIT:
        raise ProtocolError(f"a header of {header_length} bytes; at most {HEADER_LIMIT} are allowed")
    if body_length > body_limit:
        raise ProtocolError(f"a body of {body_length} bytes; at most {body_limit} are expected")
    raw = bytearray(header_length)
    _fill(connection, memoryview(raw))
    header = parse_object(raw, "the header")
    if not body_length:
        return header, None
    body = numpy.empty(body_length, numpy.uint8).data
    _fill(connection, body)
    return header, body
