"""HTTP/2 by hand: frames, HPACK literals and a connection that sends whatever it is told to.

Nothing here follows the protocol's rules on its own: an attack decides what goes out. Only the standard library is used.
"""
import select
import socket
import ssl
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
HEADER_TABLE_SIZE, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 1, 3, 4

SERVICE = "/mfl.wire.v1.Federation/"
HEALTH = "/grpc.health.v1.Health/"


def frame(kind, flags, stream, payload=b""):
    """One frame, its length as it is."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(values=()):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", key, value) for key, value in values))


def message(body, length=None, compressed=0):
    """A gRPC message: its prefix may claim another length than the body has."""
    return struct.pack(">BI", compressed, len(body) if length is None else length) + body


def integer(value, bits, first):
    """An HPACK integer with a prefix of `bits` bits; `first` holds the bits before the prefix."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out = bytearray([first | most])
    value -= most
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def text(value):
    return integer(len(value), 7, 0) + value


def literal(name, value, indexed=False):
    """A header as a literal; `indexed` asks the server to keep it in its table."""
    return (b"\x40" if indexed else b"\x00") + text(name) + text(value)


def reference(index):
    return integer(index, 7, 0x80)


def request(path, more=()):
    """The header block of a gRPC request: :method POST, :scheme, :path and what gRPC requires."""
    block = b"\x83\x87" + b"\x04" + text(path.encode())  # entries 3, 7 and 4 of the static table
    block += b"\x01" + text(b"localhost")  # :authority
    block += literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers")
    return block + b"".join(literal(name, value) for name, value in more)


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def field(number, value):
    """One protobuf field: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def frames(buffer):
    """Takes the complete frames off the front of a bytearray: (kind, flags, stream, payload)."""
    while len(buffer) >= 9:
        length = int.from_bytes(buffer[:3], "big")
        if len(buffer) < 9 + length:
            return
        kind, flags, stream = struct.unpack(">BBI", buffer[3:9])
        payload = bytes(buffer[9:9 + length])
        del buffer[:9 + length]
        yield kind, flags, stream & 0x7FFFFFFF, payload


class Closed(Exception):
    """The server has closed the connection, or never took it."""


class Line:
    """A connection to the server that never blocks beyond `deadline`, a moment of time.monotonic().

    What the server sends is read and dropped unless `reads` is False; `received` counts its bytes."""

    def __init__(self, sock, deadline, reads=True):
        self.socket, self.deadline, self.reads = sock, deadline, reads
        self.received = self.sent = 0
        self.buffer = bytearray()  # of frames()
        sock.setblocking(False)

    def left(self):
        return self.deadline - time.monotonic()

    def receive(self, most=65536):
        """Bytes, b"" where there are none now."""
        try:
            data = self.socket.recv(most)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return b""
        except OSError as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("closed by the server")
        self.received += len(data)
        return data

    def frames(self):
        """The frames that have arrived; `reads` must be False, since send() would drop some otherwise."""
        self.buffer += self.receive()
        return list(frames(self.buffer))

    def send(self, data):
        """Sends everything, or raises Closed; at the deadline it gives up and returns False."""
        view = memoryview(data)
        while view:
            part = view[:16384]
            try:
                count = self.socket.send(part)
                self.sent += count
                view = view[count:]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                if self.left() <= 0:
                    return False
                select.select([self.socket] if self.reads else [], [self.socket], [], min(0.05, max(self.left(), 0)))
            except OSError as error:
                raise Closed(str(error)) from error
            if self.reads:
                self.receive()
        return True

    def wait(self, seconds):
        """Lets time pass; raises Closed as soon as the server closes the connection, if it reads."""
        until = min(time.monotonic() + seconds, self.deadline)
        while (left := until - time.monotonic()) > 0:
            if not self.reads:
                time.sleep(min(left, 0.05))
                continue
            if not self.receive():
                select.select([self.socket], [], [], min(left, 0.25))

    def close(self):
        try:
            self.socket.close()
        except OSError:
            pass


class Target:
    """Where the server is and with which certificate one connects. `tls` is a folder, "" for TLS without a certificate,
    None for plaintext."""

    def __init__(self, address, tls):
        host, port = address.rsplit(":", 1)
        self.host, self.port, self.tls = host, int(port), tls
        self.number = 0  # of connections

    def context(self, version=None, alpn=("h2",)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if version is not None:
            context.minimum_version = context.maximum_version = version
        if self.tls:
            context.load_cert_chain(f"{self.tls}/cert.pem", f"{self.tls}/key.pem")
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context

    def tcp(self, timeout=5.0):
        """A TCP connection, nothing sent. The attacker has an address of its own; after 20,000 connections it takes the next, since the
        ports of one may all be in use."""
        self.number += 1
        sock = socket.socket()
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.host.startswith("127."):
                sock.bind((f"127.0.1.{self.number // 20_000 % 200 + 1}", 0))
            sock.settimeout(timeout)
            sock.connect((self.host, self.port))
        except OSError as error:
            sock.close()
            raise Closed(str(error)) from error
        return sock

    def tls_socket(self, context=None, timeout=5.0, session=None):
        raw = self.tcp(timeout)
        try:
            return (context or self.context()).wrap_socket(raw, session=session)
        except OSError as error:
            raw.close()
            raise Closed(str(error)) from error

    def open(self, deadline, first=None, reads=True, context=None):
        """A connection that has sent its preface and `first`, SETTINGS by default."""
        sock = self.tcp() if self.tls is None else self.tls_socket(context)
        line = Line(sock, deadline, reads)
        try:
            line.send(PREFACE + (settings() if first is None else first))
        except Closed:
            line.close()
            raise
        return line
