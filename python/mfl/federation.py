"""A federation from Python: `mfl.server` and `mfl.node` run the program `mfl server` and `mfl node`.

    server = mfl.server({"federation": {"nodes": 3}, "algorithm": {"eta": 0.05}, "run": {"rounds": 20}}, plaintext=True, block=False)
    mfl.node(trainer, server=server.address, plaintext=True, name="hospital-a")

The program does the networking, the averaging and the recording; the trainer runs in this process, over a Unix socket in a folder that
only this user can open.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from mfl._errors import CLASSES, EXIT_CODES, Error, config_error
from mfl._service import LocalService
from mfl.trainer import Trainer

__all__ = ["Node", "Outcome", "Server", "node", "server"]

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
_START = 30.0  # seconds that a server may take until it listens


@dataclass(frozen=True)
class Outcome:
    """How a server or a node ended. `data` has all fields of the program's JSON output."""

    run_id: str
    status: str
    digest: str
    rounds: int
    data: dict[str, Any] = field(repr=False)


def _program() -> str:
    try:
        from mfl._program import program_path
        return str(program_path())
    except (ImportError, Error):
        found = shutil.which("mfl")
        if found is None or "MFL_PROGRAM" in os.environ:
            raise
        return found


def _flags(options: Mapping[str, Any]) -> list[str]:
    """give_up_after=3 becomes --give-up-after 3, True a flag without a value; None is left out."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
    return words


def _toml(config: Mapping[str, Any]) -> str:
    """A table of tables as TOML, whose strings, numbers and arrays are those of JSON."""
    lines = []
    for table, keys in config.items():
        if not isinstance(keys, Mapping):
            raise config_error(f"config[{table!r}] is not a table", 'write {"algorithm": {"eta": 0.1}}')
        lines.append(f"[{table}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for key, value in keys.items()
                  if value is not None]
    return "\n".join(lines) + "\n"


def _security(tls: Any, plaintext: bool) -> dict[str, Any]:
    if (tls is None) != bool(plaintext):
        raise config_error("tls and plaintext=True exclude each other" if plaintext else "tls is missing",
                           "tls is a folder made by mfl certs; plaintext=True is for loopback")
    return {"tls": tls, "plaintext": plaintext}


class _Child:
    """The program as a child process. Its log goes to logging, its answer to wait()."""

    running: weakref.WeakSet[_Child] = weakref.WeakSet()

    def __init__(self, verb: str, words: list[str], log: str | None) -> None:
        self.log = logging.getLogger(f"mfl.{verb}")
        styles = {"logging": "json", "stderr": "text", None: "none"}
        if log not in styles:
            raise config_error(f"log is {log!r}", 'it is "logging", "stderr" or None')
        command = [_program(), verb, *words, "--json", "--log", styles[log]]
        # A session of its own: an interrupt of a notebook is for the code that runs in it, and Ctrl-C is passed on by wait().
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace",
                                        stderr=None if log == "stderr" else subprocess.PIPE, start_new_session=True)
        _Child.running.add(self)
        self.answer, self.complaints = "", [""]
        self._readers = [threading.Thread(target=self._read_answer, args=(self.process.stdout,), daemon=True)]
        if self.process.stderr is not None:
            self._readers.append(threading.Thread(target=self._read_log, args=(self.process.stderr,), daemon=True))
        for reader in self._readers:
            reader.start()

    def _read_answer(self, stream: IO[str]) -> None:
        self.answer = stream.read()

    def _read_log(self, stream: IO[str]) -> None:
        for line in stream:
            line = line.rstrip("\n")
            try:
                told = json.loads(line)
                level, event = _LEVELS[told.pop("level")], told.pop("event")
                told.pop("time", None)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.complaints.append(line)
                self.log.warning("%s", line)
                continue
            self.log.log(level, "%s%s", event, "".join(f" {key}={value}" for key, value in told.items()))

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    def wait(self, timeout: float | None = None) -> Outcome:
        """Raises subprocess.TimeoutExpired, or an mfl.Error if the program failed."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join()
        try:
            told = json.loads(self.answer.splitlines()[-1])
        except (ValueError, IndexError):
            told = {"error": {"message": f"mfl ended with exit code {code}: {self.complaints[-1]}"}}
        data = told.get("data") or {}
        if told.get("status") != "ok":
            error = told.get("error", {})
            kind = error.get("code") or {number: name for name, number in EXIT_CODES.items()}.get(code, "internal")
            raised = CLASSES.get(kind, Error)(kind, error.get("message", ""), error.get("hint", ""))
            raised.data = data  # type: ignore[attr-defined]
            raise raised
        return Outcome(data.get("run_id", ""), data.get("status", ""), data.get("digest", ""), int(data.get("rounds", 0)), data)


@atexit.register
def _end_children() -> None:
    for child in list(_Child.running):
        child.signal(signal.SIGTERM)


class _Handle:
    """What runs in the background: wait() for its outcome, or stop() it. Leaving a `with` block stops it."""

    _child: _Child

    @property
    def done(self) -> bool:
        return self._child.process.poll() is not None

    def wait(self, timeout: float | None = None) -> Outcome:
        """The outcome, or the mfl.Error that ended it. Raises TimeoutError after `timeout` seconds. Ctrl-C stops the program first."""
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"still running after {timeout} s") from None
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self, patience: float = 10.0) -> None:
        """Ends it as SIGTERM does: a server keeps every committed round, and a node leaves."""
        self._child.signal(signal.SIGTERM)
        try:
            self._child.process.wait(patience)
        except subprocess.TimeoutExpired:
            self._child.signal(signal.SIGKILL)
            self._child.process.wait()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Server(_Handle):
    """A server in the background. `address` is where nodes reach it, `state` its folder."""

    def __init__(self, child: _Child, state: Path) -> None:
        self._child, self.state = child, state
        self.address = self._wait_for_address(state / "address")

    def _wait_for_address(self, file: Path) -> str:
        """The file is that of this start: server() removed an older one."""
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                text = file.read_text()
                if text.endswith("\n"):
                    return text.strip()
            if self.done:
                outcome = self._child.wait()
                raise Error("internal", f"the server ended before it listened: {outcome.status}")
            time.sleep(0.02)
        self.stop()
        raise Error("internal", f"the server does not listen after {_START:.0f} s")


def server(config: str | os.PathLike[str] | Mapping[str, Any] | None = None, *, listen: str = "127.0.0.1:0",
           state: str | os.PathLike[str] = "state", tls: str | os.PathLike[str] | None = None, plaintext: bool = False,
           log: str | None = "logging", block: bool = True, **options: Any) -> Any:
    """Runs `mfl server` until the run is over, and returns its Outcome; with block=False returns a Server at once.

    Args:
        config: an experiment file, or its tables as a dict. For trainers it has [model] name = "external", which is added to a dict
            without a model.
        listen: the address; port 0 is any free port.
        state: the folder that holds the run; a server that is started again with it continues.
        tls: the folder of the server's certificate.
        plaintext: True for connections without TLS on loopback, in place of tls.
        log: "logging" (logger mfl.server), "stderr" or None.
        block: False to return a Server at once.
        options: any other flag of mfl server, such as allow=FILE or linger=1.
    """
    folder = Path(state)
    words = _flags({"listen": listen, "state": folder, **_security(tls, plaintext), **options})
    with tempfile.TemporaryDirectory(prefix="mfl-server-") as scratch:
        if isinstance(config, Mapping):
            file = Path(scratch) / "experiment.toml"
            file.write_text(_toml({"model": {"name": "external"}, **config}), encoding="utf-8")
            words.insert(0, str(file))
        elif config is not None:
            words.insert(0, os.fspath(config))
        (folder / "address").unlink(missing_ok=True)
        handle = Server(_Child("server", words, log), folder)
    return handle.wait() if block else handle


class Node(_Handle):
    """A node in the background. Its trainer, if it has one, runs on a thread of its own."""

    def __init__(self, trainer: Trainer | None, words: list[str], log: str | None) -> None:
        self._service = LocalService(trainer) if trainer is not None else None
        if self._service is not None:
            words = [*words, "--trainer", self._service.address]
        self._thread: threading.Thread | None = None
        try:
            self._child = _Child("node", words, log)
        except BaseException:
            if self._service is not None:
                self._service.close()
            raise

    def serve(self) -> None:
        """Serves the trainer on this thread until the program has ended."""
        if self._service is None:
            return
        service = self._service

        def end() -> None:
            self._child.process.wait()
            service.stop()

        threading.Thread(target=end, daemon=True).start()
        service.run()

    def serve_on_thread(self) -> None:
        if self._service is not None:
            self._thread = threading.Thread(target=self.serve, name="mfl trainer", daemon=True)
            self._thread.start()

    def wait(self, timeout: float | None = None) -> Outcome:
        try:
            outcome = super().wait(timeout)
        except Error as error:
            failure = self._service.failure if self._service is not None else None
            raise error from failure
        if self._thread is not None:
            self._thread.join()
        return outcome


def node(trainer: Trainer | None = None, *, server: str, data: str | None = None, tls: str | os.PathLike[str] | None = None,
         plaintext: bool = False, name: str | None = None, state: str | os.PathLike[str] | None = None, log: str | None = "logging",
         block: bool = True, **options: Any) -> Any:
    """Runs `mfl node` until the run is over, and returns its Outcome; with block=False returns a Node at once.

    Args:
        trainer: an mfl.Trainer, called on this thread, or with block=False on a thread of its own, one call at a time.
        server: "HOST:PORT".
        data: a spec such as "csv:my.csv", for a model of mfl; in place of a trainer.
        tls: the folder of the node's certificate.
        plaintext: True for a connection without TLS on loopback, in place of tls; needs a name.
        name: the name of the node; with tls it is in the certificate.
        state: the file of an algorithm that keeps vectors at a node.
        log: "logging" (logger mfl.node), "stderr" or None.
        block: False to return a Node at once.
        options: any other flag of mfl node, such as give_up_after=60.

    An exception of the trainer ends the node: the mfl.RunFailed that is raised has it as its cause. Ctrl-C stops the program first.
    """
    if (trainer is None) == (data is None):
        raise config_error("a node has a trainer or data, one of the two")
    words = _flags({"server": server, "data": data, **_security(tls, plaintext), "name": name, "state": state, **options})
    handle = Node(trainer, words, log)
    if not block:
        handle.serve_on_thread()
        return handle
    try:
        handle.serve()
    except BaseException:
        handle.stop()
        raise
    return handle.wait()
