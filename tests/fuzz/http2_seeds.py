"""Seeds of the targets framing, http2 and connection, for make_seeds.py."""
import struct


def framed(text, flag=0, length=None):
    return struct.pack(">BI", flag, len(text) if length is None else length) + text


def framing():
    yield "messages", b"\x20\2" + framed(b"one") + framed(b"") + framed(b"three")
    yield "cut_in_prefix", b"\x20\0" + framed(b"one") + b"\0\0\0"
    yield "cut_in_message", b"\x20\4" + framed(b"one", length=9)
    yield "longest", b"\3\6" + framed(b"one")
    yield "too_long", b"\2\6" + framed(b"one") + framed(b"")
    yield "compressed", b"\xff\1" + framed(b"", 0) + framed(b"one", 1) + framed(b"two")
    yield "claims_all_memory", b"\xff\1" + framed(b"one", length=0xFFFFFFFF)
    yield "percent", b"\0\0 100% %41%zz%C3%A4\xc3\xa4%"


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END, ACK, ALL_HEADERS, PADDED = 1, 1, 4, 8


def frame(kind, flags=0, number=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, number) + payload


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request(path, *more):
    """As indices of HPACK's static table where it has them."""
    return b"\x83\x86\x01\1a\x04" + bytes([len(path)]) + path + b"\x0f\x10\x10application/grpc" + b"".join(more)


def call(number, path, *messages, end=True, flags=ALL_HEADERS):
    out = frame(HEADERS, flags, number, request(path))
    for i, one in enumerate(messages):
        out += frame(DATA, END if end and i + 1 == len(messages) else 0, number, one)
    return out


def settings(*values):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *value) for value in values))


def server_connections():
    """What clients send; the first byte puts the preface in front, the second one selects actions between pieces."""
    yield "call", b"\0\0" + call(1, b"/a", framed(b"one"), framed(b"two"))
    yield "own_preface", b"\2\0" + PREFACE + settings((4, 100), (3, 7)) + frame(SETTINGS, ACK) + call(1, b"/a", framed(b"one"))
    yield "two_calls", b"\4\1" + call(1, b"/a", framed(b"1"), end=False) + call(3, b"/f") + frame(DATA, END, 1, framed(b"2"))
    yield "paused", b"\x18\x11" + call(1, b"/p", framed(bytes(400)), framed(bytes(400)), end=False)
    yield "paused_and_over", b"\x10\0" + call(1, b"/p", framed(bytes(900)), framed(bytes(900)))
    yield "flood", b"\4\5" + call(1, b"/f") + frame(WINDOW, 0, 1, struct.pack(">I", 9999)) + frame(PING, 0, 0, bytes(8)) * 2
    yield "small_window", b"\x14\x21" + settings((4, 3)) + call(1, b"/f") + frame(WINDOW, 0, 1, struct.pack(">I", 50)) * 4
    yield "dropped", b"\x0c\x24" + settings((4, 12)) + call(1, b"/d", framed(b"x"), end=False) + frame(WINDOW, 0, 1, struct.pack(">I", 999))
    yield "refused", b"\0\0" + call(1, b"/e", framed(b"x")) + call(3, b"/u") + call(5, b"/r", framed(b"x"))
    yield "not_post", b"\0\0" + frame(HEADERS, ALL_HEADERS | END, 1, b"\x82\x86\x84\x01\1a")
    yield "no_answer", b"\0\xff" + call(1, b"/n", framed(b"x"), end=False) + frame(RESET, 0, 1, struct.pack(">I", 8))
    yield "cut_message", b"\0\0" + call(1, b"/a", framed(b"x", length=9))
    yield "compressed_message", b"\0\0" + call(1, b"/a", framed(b"x", 1), framed(b"y"))
    yield "long_message", b"\0\0" + call(1, b"/a", framed(b"x", length=1 << 31), framed(b"y"))
    yield "trailers", b"\0\0" + call(1, b"/a", framed(b"x"), end=False) + frame(HEADERS, ALL_HEADERS | END, 1, literal(b"a", b"b"))
    yield "continued", b"\0\0" + frame(HEADERS, END, 1, request(b"/a")) + frame(CONTINUATION, 0, 1) + frame(CONTINUATION, ALL_HEADERS, 1, literal(b"a", b"b"))
    yield "padded", b"\0\0" + call(1, b"/a") + frame(DATA, PADDED, 1, b"\3" + framed(b"x") + bytes(3))
    yield "many_streams", b"\x10\0" + b"".join(call(number, b"/n") for number in range(1, 15, 2))
    yield "many_resets", b"\x10\0" + b"".join(call(n, b"/n") + frame(RESET, 0, n, bytes(4)) for n in range(1, 15, 2))
    yield "many_headers", b"\x10\0" + frame(HEADERS, ALL_HEADERS, 1, request(b"/a", *[literal(b"name", b"value")] * 30))
    yield "indexed_headers", b"\x10\0" + frame(HEADERS, ALL_HEADERS, 1, request(b"/a", b"\x40\1x\x64" + bytes([65] * 100), b"\xbe" * 99))
    yield "many_continuations", b"\0\0" + frame(HEADERS, 0, 1, request(b"/a")) + frame(CONTINUATION, 0, 1) * 9
    yield "many_settings", b"\0\2" + settings((4, 1)) * 90
    yield "many_pings", b"\4\xaa" + frame(PING, 0, 0, b"abcdefgh") * 90
    yield "empty_frames", b"\0\0" + call(1, b"/a") + frame(DATA, 0, 1) * 150
    yield "window_too_large", b"\0\0" + call(1, b"/a") + frame(WINDOW, 0, 1, struct.pack(">I", 0x7FFFFFFF))
    yield "goaway", b"\0\0" + call(1, b"/a") + frame(GOAWAY, 0, 0, struct.pack(">II", 0, 2) + b"bye") + frame(DATA, END, 1, framed(b"x"))
    yield "unknown_frame", b"\0\0" + frame(0x20, 0xFF, 1, b"anything") + call(1, b"/a", framed(b"x"))
    yield "not_http2", b"\2\0GET / HTTP/1.1\r\n\r\n"
    yield "frame_too_long", b"\0\0" + b"\xff\xff\xff" + frame(DATA, 0, 1)[3:]
    yield "empty", b""


def client_connections():
    """What servers send; the requests have the streams 1, 3 and 5."""
    head = b"\x88" + literal(b"content-type", b"application/grpc")
    trailers = frame(HEADERS, ALL_HEADERS | END, 1, literal(b"grpc-status", b"0") + literal(b"grpc-message", b"a%20b"))
    answer = frame(HEADERS, ALL_HEADERS, 1, head) + frame(DATA, 0, 1, framed(b"one")) + trailers
    yield "client", b"\1\0" + frame(SETTINGS, ACK) + answer
    yield "client_trailers_only", b"\1\0" + frame(HEADERS, ALL_HEADERS | END, 3, head + literal(b"grpc-status", b"5"))
    yield "client_paused", b"\x15\1" + frame(HEADERS, ALL_HEADERS, 5, head) + frame(DATA, 0, 5, framed(bytes(300))) * 3
    yield "client_reset", b"\5\3" + answer + frame(RESET, 0, 3, struct.pack(">I", 2)) + frame(HEADERS, ALL_HEADERS, 5, head)
    yield "client_goaway", b"\1\0" + frame(GOAWAY, 0, 0, struct.pack(">II", 3, 11) + b"too many calls") + answer
    yield "client_early_hints", b"\1\0" + frame(HEADERS, ALL_HEADERS, 1, b"\x08\x03103") + answer
    yield "client_push", b"\1\0" + frame(5, ALL_HEADERS, 1, struct.pack(">I", 2) + b"\x82\x86\x84\x41\1a")
    yield "client_few_streams", b"\x0b\x33" + settings((3, 1), (4, 9)) + answer
    yield "client_idle_stream", b"\1\0" + frame(HEADERS, ALL_HEADERS, 9, head)
