"""The list of attacks: a name, the function, and with which certificates it makes sense."""
import os
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Callable

import floods
import holds

BOTH, ANY, BARE = ("revoked", "valid"), ("revoked", "valid", "none"), ("none",)


@dataclass(frozen=True)
class Attack:
    name: str
    act: Callable
    certificates: tuple = BOTH  # BARE: no certificate is ever shown

    @property
    def group(self):
        return self.act.__module__

    @property
    def what(self):
        return " ".join(self.act.__doc__.split())


ATTACKS = [
    Attack("rapid-reset", floods.rapid_reset),
    Attack("rapid-reset-calls", floods.rapid_reset_calls),
    Attack("made-reset", floods.made_reset),
    Attack("hpack-strings", floods.hpack_strings),
    Attack("hpack-table", floods.hpack_table),
    Attack("hpack-references", floods.hpack_references),
    Attack("continuation", floods.continuation),
    Attack("continuation-empty", floods.continuation_empty),
    Attack("gzip", floods.gzip_bomb),
    Attack("ping", floods.ping),
    Attack("ping-unread", floods.ping_unread),
    Attack("settings", floods.settings_flood),
    Attack("settings-unread", floods.settings_unread),
    Attack("acknowledgements", floods.acknowledgements),
    Attack("empty-data", floods.empty_data),
    Attack("empty-headers", floods.empty_headers),
    Attack("empty-messages", floods.empty_messages),
    Attack("padding", floods.padding),
    Attack("window-updates", floods.window_updates),
    Attack("priorities", floods.priorities),
    Attack("unknown-frames", floods.unknown_frames),
    Attack("calls", floods.calls),
    Attack("unknown-calls", floods.unknown_calls),
    Attack("slow-read", holds.slow_read),
    Attack("slow-write", holds.slow_write),
    Attack("slow-upload", holds.slow_drip),
    Attack("huge-length", holds.huge_length),
    Attack("oversize-frame", holds.oversize_frame),
    Attack("held-streams", holds.held_streams),
    Attack("health-watch", holds.health_watch),
    Attack("log-filling", holds.log_filling),
    Attack("nothing", holds.nothing, BARE),
    Attack("connections-tcp", holds.connections_tcp, BARE),
    Attack("connections-hello", holds.connections_hello, BARE),
    Attack("connections-tls", holds.connections_tls, ANY),
    Attack("connections-http2", holds.connections_http2, BOTH),
    Attack("handshakes", holds.handshakes, ANY),
    Attack("split-handshake", holds.split_handshake, BOTH),
    Attack("garbage-tcp", holds.garbage_tcp, BARE),
    Attack("garbage-records", holds.garbage_records, BARE),
    Attack("garbage-http2", holds.garbage_http2),
    Attack("plain-http2", holds.plain_http2, BARE),
    Attack("http1", holds.http1, ANY),
]


def _work(pipe, attack, target, seconds, niceness):
    os.nice(niceness)
    tally = Counter()
    try:
        attack.act(target, time.monotonic() + seconds, tally)
    except Exception as error:  # pylint: disable=broad-except
        tally["failed"] = 1
        pipe.send((tally, f"{type(error).__name__}: {error}"))
        return
    pipe.send((tally, ""))


class Attacker:
    """An attack in a process of its own; `niceness` because on a network it would not have the server's cores."""

    def __init__(self, attack, target, seconds, niceness=19):
        context = get_context("fork")
        self.pipe, theirs = context.Pipe(False)
        self.process = context.Process(target=_work, args=(theirs, attack, target, seconds, niceness), daemon=True)
        self.process.start()
        theirs.close()

    def end(self, patience=10):
        """(tally, what went wrong in the attack itself)."""
        tally, problem = Counter(), "the attack did not end in time"
        try:
            if self.pipe.poll(patience):
                tally, problem = self.pipe.recv()
        except EOFError:
            problem = "the attack's process died"
        if self.process.is_alive():
            self.process.join(2)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return tally, problem
