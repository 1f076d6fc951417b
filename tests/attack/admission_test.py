#!/usr/bin/env python3
"""Who is not admitted is disconnected: admission_test.py MFL [--figures].

Connections of raw HTTP/2, TLS 1.2 and 1.3: revoked or expired while connected, never admitted, resumed, renegotiated. What is
asserted is that the server closes the connection and says why; how long it took is printed. With --figures more than a second is a
failure.
"""
import calendar
import ssl
import subprocess
import sys
import time
import unittest
from pathlib import Path

from federation import Federation
from http2 import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, HEALTH, PING, SERVICE, SETTINGS, Closed, Target, field,
                   frame, message, request)

MFL = None
LIMIT = 60.0  # seconds; 1 with --figures
VERSIONS = {"TLS 1.2": ssl.TLSVersion.TLSv1_2, "TLS 1.3": ssl.TLSVersion.TLSv1_3}


def call(line, path, body, seconds=60.0):
    """Sends a request and gives the payload of the first DATA frame; raises Closed when there is none."""
    line.send(frame(HEADERS, END_HEADERS, 1, request(path)) + frame(DATA, END_STREAM, 1, message(body)))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for kind, _, stream, payload in line.frames():
            if kind == DATA and stream == 1 and payload:
                return payload
        time.sleep(0.005)
    raise Closed("no answer")


def endings(lines, until):
    """When and why the server closed each of the connections, by name; what it needs to keep them is answered. A moment of None: not
    by `until`. The reason is the text of its GOAWAY, or the alert of TLS."""
    moments, reasons, open_lines = {name: None for name in lines}, {name: "" for name in lines}, dict(lines)
    while open_lines and time.monotonic() < until:
        for name, line in list(open_lines.items()):
            try:
                for kind, flags, _, payload in line.frames():
                    if kind == GOAWAY:
                        reasons[name] = payload[8:].decode(errors="replace")
                    if kind in (PING, SETTINGS) and not flags & ACK:
                        line.send(frame(kind, ACK, 0, payload if kind == PING else b""))
            except Closed as closed:
                moments[name] = time.monotonic()
                reasons[name] = reasons[name] or str(closed)
                del open_lines[name]
        time.sleep(0.005)
    for line in lines.values():
        line.close()
    return {name: (moments[name], reasons[name]) for name in lines}


class Admission(unittest.TestCase):
    def federation(self, *more):
        federation = Federation(MFL, nodes=2, rows=4, columns=3)
        self.addCleanup(federation.close)
        (federation.folder / "allowed").write_text("n00\nvalid\nrevoked\n", encoding="utf-8")
        federation.serve(*more)
        return federation

    def closed(self, lines, what, reason, since=None):
        """`since` is the moment of time.monotonic() from which on they may be closed; now, if not given."""
        since = since or time.monotonic()
        for name, (moment, said) in endings(lines, since + LIMIT).items():
            self.assertIsNotNone(moment, f"{what}, {name}: still connected after {LIMIT} s")
            self.assertIn(reason, said, f"{what}, {name}: closed for another reason")
            self.assertGreaterEqual(moment, since - 1.0, f"{what}, {name}: closed too early")
            print(f"{1000 * (moment - since):.0f} ms until a connection was closed: {what}, {name}", flush=True)

    def connected(self, target, version, path=SERVICE + "Watch", body=b""):
        """A connection that has had an answer."""
        line = target.open(time.monotonic() + 60, reads=False, context=target.context(version))
        call(line, path, body)
        return line

    def refused(self, target, what, reason):
        """Connections that must not get an answer, and are closed."""
        for label, version in VERSIONS.items():
            try:
                line = target.open(time.monotonic() + 60, reads=False, context=target.context(version))
            except Closed:
                print(f"0 ms until a connection was closed: {what}, {label}, in the handshake", flush=True)
            else:
                self.closed({label: line}, what, reason)

    def both_versions(self, target):
        """Connections that have had an answer, and ones with an open stream."""
        lines = {label: self.connected(target, version) for label, version in VERSIONS.items()}
        for label, version in VERSIONS.items():
            lines[f"{label}, health stream"] = self.connected(target, version, HEALTH + "Watch")
        return lines

    def test_revoked_and_unlisted_peers(self):
        federation = self.federation("--allow", "allowed")
        self.refused(Target(federation.address, federation.certificate("revoked")), "revoked", "is revoked")
        self.refused(Target(federation.address, federation.certificate("n01")), "not on the allow list", "is not on the list")
        self.refused(Target(federation.address, ""), "no certificate", "certificate required")
        for version in VERSIONS.values():
            self.connected(Target(federation.address, federation.certificate("valid")), version).close()

    def test_revoked_while_connected(self):
        federation = self.federation()
        target = Target(federation.address, federation.certificate("valid"))
        lines = self.both_versions(target)
        new = federation.folder / "revoked.new"
        new.write_text("revoked\nvalid\n", encoding="utf-8")
        new.rename(federation.folder / "revoked")
        self.closed(lines, "revoked while connected", "is revoked")
        self.assertTrue(federation.alive())

    def short_certificate(self, federation, seconds):
        """pki/brief, a node's certificate that expires soon."""
        pki = federation.folder / "pki"
        folder = pki / "brief"
        folder.mkdir()
        (pki / "extensions").write_text("subjectAltName=DNS:brief\nextendedKeyUsage=clientAuth\n", encoding="utf-8")
        end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))
        begin = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() - 60))
        (pki / "index.txt").write_text("", encoding="utf-8")
        (pki / "ca.cnf").write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\n"
                                    "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n", encoding="utf-8")
        for command in (["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=brief", "-keyout",
                         "brief/key.pem", "-out", "brief.csr"],
                        ["ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", "brief.csr", "-out",
                         "brief/cert.pem", "-notext", "-startdate", begin, "-enddate", end, "-extfile", "extensions"]):
            done = subprocess.run(["openssl", *command], cwd=pki, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        return str(folder), calendar.timegm(time.strptime(end, "%Y%m%d%H%M%SZ")) + 1  # the last second is part of it

    def test_expired_while_connected(self):
        federation = self.federation()
        folder, ends = self.short_certificate(federation, 6)
        target = Target(federation.address, folder)
        lines = self.both_versions(target)
        self.closed(lines, "expired while connected", "has expired", time.monotonic() + ends - time.time())
        self.refused(target, "expired", "expired")

    def test_sessions_are_not_resumed(self):
        federation = self.federation()
        target = Target(federation.address, federation.certificate("valid"))
        for label, version in VERSIONS.items():
            with self.subTest(label):
                context = target.context(version)
                first = target.tls_socket(context)
                self.addCleanup(first.close)
                first.settimeout(0.5)
                try:  # tickets of TLS 1.3 come after the handshake
                    while first.recv(65536):
                        pass
                except OSError:
                    pass
                session = first.session
                self.assertFalse(session is not None and session.has_ticket, "the server gave a session ticket")
                if session is None:
                    continue
                second = target.tls_socket(context, session=session)
                self.assertFalse(second.session_reused, "the server resumed a session")
                second.close()

    def test_renegotiation_is_refused(self):
        federation = self.federation()
        folder = Path(federation.certificate("valid"))
        client = subprocess.Popen(["openssl", "s_client", "-connect", federation.address, "-tls1_2", "-alpn", "h2", "-cert",
                                   folder / "cert.pem", "-key", folder / "key.pem", "-CAfile", folder / "ca.pem"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            time.sleep(0.5)
            client.stdin.write(b"R\n")
            client.stdin.flush()
            out = client.communicate(timeout=30)[0].decode(errors="replace")
        except (subprocess.TimeoutExpired, BrokenPipeError):
            client.kill()
            out = client.communicate()[0].decode(errors="replace")
        self.assertIn("RENEGOTIATING", out)
        self.assertRegex(out, "no renegotiation|handshake failure|alert|errno|closed|wrong version|unexpected")
        self.assertNotIn("RENEGOTIATED", out)
        self.assertTrue(federation.alive())
        self.connected(Target(federation.address, str(folder)), None).close()

    def test_old_versions_are_refused(self):
        federation = self.federation()
        for option in ("-tls1", "-tls1_1"):
            done = subprocess.run(["openssl", "s_client", "-connect", federation.address, option, "-cipher", "ALL:@SECLEVEL=0"],
                                  input=b"", capture_output=True, timeout=30, check=False)
            self.assertNotEqual(done.returncode, 0, option)

    def test_a_call_in_another_name_is_refused(self):
        federation = self.federation()
        target = Target(federation.address, federation.certificate("valid"))
        line = target.open(time.monotonic() + 20)
        try:
            line.send(frame(HEADERS, END_HEADERS, 1, request(SERVICE + "Greet", [(b"mfl-node", b"n00")]))
                      + frame(DATA, END_STREAM, 1, message(field(1, 2))))
            line.wait(1.0)
        except Closed:
            pass
        line.close()
        federation.wait_for(lambda: any(event["event"] == "refused" for event in federation.events()), "no refusal in the log")
        self.assertEqual({event.get("node") for event in federation.events() if event["event"] == "refused"}, {"valid"})


if __name__ == "__main__":
    MFL = sys.argv[1]
    if "--figures" in sys.argv:
        LIMIT = 1.0
    unittest.main(argv=sys.argv[:1], verbosity=1)
