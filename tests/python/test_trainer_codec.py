"""Laws of the trainer protocol's frames and safetensors bodies, and what happens to malformed ones."""

import json
import socket
import struct
import threading

import numpy
import pytest
import trainer_peer

from mfl._frames import HEADER_LIMIT, ProtocolError, decode_tensors, encode_tensors, read_frame, write_frame


def random_tensors(draw):
    """Up to six tensors of up to four dimensions, empty ones and scalars included."""
    found = {}
    for number in range(draw.integers(0, 7)):
        shape = tuple(draw.integers(0, 5, size=draw.integers(0, 5)))
        name = f"w/layer.{number}" + "".join(draw.choice(list("aé\"\\/ \n\u4e2d"), size=draw.integers(0, 4)))
        found[name] = draw.normal(size=shape).astype(draw.choice(["<f4", "<f8"]))
    return found


def encoded(tensors):
    return b"".join(bytes(part) for part in encode_tensors(tensors))


def body_of(index, numbers=b""):
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def entry(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def same(left, right):
    return list(left) == list(right) and all(
        left[name].dtype == right[name].dtype and left[name].shape == right[name].shape and left[name].tobytes() == right[name].tobytes()
        for name in left)


@pytest.mark.parametrize("seed", range(60))
def test_decode_is_the_inverse_of_encode(seed):
    tensors = random_tensors(numpy.random.default_rng(seed))
    raw = encoded(tensors)
    assert same(decode_tensors(raw), tensors)
    assert len(struct.unpack_from("<Q", raw)) == 1 and (8 + struct.unpack_from("<Q", raw)[0]) % 8 == 0


@pytest.mark.parametrize("seed", range(20))
def test_both_implementations_read_each_other(seed):
    draw = numpy.random.default_rng(seed)
    tensors = random_tensors(draw)
    assert same(dict(sorted(trainer_peer.unpack_tensors(encoded(tensors)).items())), dict(sorted(tensors.items())))
    left, right = socket.socketpair()
    with left, right:
        left.sendall(trainer_peer.pack({"message": "x"}, tensors, draw))
        header, body = read_frame(right, 1 << 20)
        assert header == {"message": "x"}
        assert same(dict(sorted(decode_tensors(body).items())), dict(sorted(tensors.items())))


def test_views_are_writable_and_share_the_buffer():
    body = bytearray(encoded({"w/a": numpy.zeros(3), "w/b": numpy.ones((2, 2), "f4")}))
    found = decode_tensors(body)
    found["w/a"][1] = 7
    assert decode_tensors(body)["w/a"][1] == 7
    assert not decode_tensors(bytes(body))["w/a"].flags.writeable


def test_numbers_that_are_not_aligned_are_copied():
    array = numpy.arange(4.0)
    for blanks in range(8):
        text = json.dumps({"a": entry((4,), (0, 32), "F64")}).encode() + b" " * blanks
        found = decode_tensors(struct.pack("<Q", len(text)) + text + array.tobytes())["a"]
        assert found.flags.aligned and (found == array).all()


def test_strided_and_big_endian_arrays_are_written_as_they_read():
    array = numpy.arange(24.0).reshape(4, 6)
    for given in (array.T, array[:, ::2], array[::-1], array.astype(">f8")):
        assert (decode_tensors(encoded({"a": given}))["a"] == given).all()
    with pytest.raises(TypeError, match="float32 or float64, not int64"):
        encode_tensors({"a": numpy.arange(3)})


def test_metadata_is_ignored():
    assert list(decode_tensors(body_of({"__metadata__": {"format": "pt"}, "a": entry()}, bytes(8)))) == ["a"]


@pytest.mark.parametrize("body, text", [
    (b"", "too short"),
    (b"\0" * 7, "too short"),
    (struct.pack("<Q", 1 << 63), "claims"),
    (struct.pack("<Q", 5) + b"{}", "claims"),
    (body_of(b"{"), "not JSON"),
    (body_of(b"[]"), "not a JSON object"),
    (body_of(b"\xff\xfe"), "not JSON"),
    (body_of(b"[" * 100_000), "not JSON"),
    (body_of(b'{"a": NaN}'), "NaN is not JSON"),
    (body_of(b'{"a": {}, "a": {}}'), "duplicate key"),
    (body_of({"a": 1}), "no description"),
    (body_of({"a": entry(dtype="I8")}, bytes(8)), "type 'I8'"),
    (body_of({"a": entry(dtype=["F32"])}, bytes(8)), "type"),
    (body_of({"a": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}}, bytes(8)), "shape 2"),
    (body_of({"a": entry((-2,))}, bytes(8)), "shape"),
    (body_of({"a": entry((True, 2))}, bytes(8)), "shape"),
    (body_of({"a": entry((2.0,))}, bytes(8)), "shape"),
    (body_of({"a": entry((1 << 62, 1 << 62))}, bytes(8)), "has 8 bytes"),
    (body_of({"a": entry((3,))}, bytes(8)), "has 8 bytes"),
    (body_of({"a": entry(offsets=(8, 0))}, bytes(8)), "outside"),
    (body_of({"a": entry(offsets=(0, 16))}, bytes(8)), "outside"),
    (body_of({"a": entry(offsets=(-8, 0))}, bytes(8)), "offsets"),
    (body_of({"a": entry(offsets=(0, 8, 16))}, bytes(8)), "offsets"),
    (body_of({"a": entry(), "b": entry()}, bytes(8)), "overlaps"),
    (body_of({"a": entry(), "b": entry(offsets=(4, 12))}, bytes(12)), "overlaps"),
    (body_of({"a": entry(offsets=(8, 16))}, bytes(16)), "gap"),
    (body_of({"a": entry()}, bytes(12)), "4 bytes of the body belong to no tensor"),
])
def test_malformed_body_is_refused(body, text):
    with pytest.raises(ProtocolError, match=text):
        decode_tensors(body)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_body_is_refused_or_read(seed):
    draw = numpy.random.default_rng(seed)
    for _ in range(50):
        raw = bytearray(encoded(random_tensors(draw)))
        for _ in range(draw.integers(1, 4)):
            raw[draw.integers(0, len(raw))] = draw.integers(0, 256)
        raw = raw[: draw.integers(0, len(raw) + 1)] if draw.random() < 0.3 else raw
        try:
            for array in decode_tensors(raw).values():
                array.tobytes()
        except ProtocolError:
            pass


def received(raw, limit=1 << 20):
    """What read_frame makes of the bytes and the end of the stream."""
    left, right = socket.socketpair()
    with right:
        right.settimeout(10)
        sender = threading.Thread(target=lambda: (left.sendall(raw), left.close()))
        sender.start()
        try:
            return read_frame(right, limit)
        finally:
            right.close()
            sender.join()


def test_end_of_the_stream():
    assert received(b"") is None
    whole = trainer_peer.pack({"message": "x"}, {"w/a": numpy.ones(3)})
    assert received(whole)[0] == {"message": "x"}
    for length in range(1, len(whole)):
        with pytest.raises(ProtocolError, match="middle of a frame"):
            received(whole[:length])


@pytest.mark.parametrize("raw, text", [
    (struct.pack("<IQ", HEADER_LIMIT + 1, 0), "a header of"),
    (struct.pack("<IQ", 2, 1 << 62) + b"{}", "a body of"),
    (struct.pack("<IQ", 2, 0) + b"[]", "not a JSON object"),
    (struct.pack("<IQ", 0, 0), "not JSON"),
])
def test_malformed_frame_is_refused(raw, text):
    with pytest.raises(ProtocolError, match=text):
        received(raw)


@pytest.mark.parametrize("seed", range(10))
def test_noise_never_hangs(seed):
    draw = numpy.random.default_rng(seed)
    for _ in range(20):
        raw = draw.bytes(draw.integers(1, 200))
        if draw.random() < 0.5:
            raw = struct.pack("<IQ", draw.integers(0, 40), draw.integers(0, 40)) + raw
        with pytest.raises(ProtocolError):
            received(raw)


def test_header_must_be_json():
    left, right = socket.socketpair()
    with left, right, pytest.raises(ValueError):
        write_frame(left, {"loss": float("nan")})
