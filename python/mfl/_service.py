"""Serving a trainer: over the socket that mfl hands to a command, or at the path of a Unix socket."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import signal
import socket
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from mfl._errors import Error, config_error
from mfl._frames import ProtocolError
from mfl._session import Session

_POLL = 0.2  # seconds between two looks at whether the service was stopped
log = logging.getLogger("mfl.trainer")

# A forked child, such as a worker of a data loader, must not keep a connection open that its parent has lost.
_connections: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_inherited() -> None:
    for connection in list(_connections):
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


class _Terminated(BaseException):
    """SIGTERM, raised in the main thread."""


@contextlib.contextmanager
def _terminated_by_signal() -> Iterator[None]:
    """SIGTERM raises _Terminated in here, and a second one ends the process. Does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


def socket_path(address: str) -> str:
    return address[len("unix:"):] if address.startswith("unix:") else address


def _listen(path: str) -> socket.socket:
    """A socket that listens at `path`, for this user only. A socket that nobody listens at any more is replaced."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(errno.EEXIST, "exists and is not a socket", path)
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except OSError:
                os.unlink(path)
            else:
                raise OSError(errno.EADDRINUSE, "another trainer listens here", path)
    listener = socket.socket(socket.AF_UNIX)
    try:
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(4)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror or str(error), path) from None
    return listener


class Service:
    """A trainer that listens at the path of a Unix socket, for one connection after the other.

    `run` serves on the thread that calls it; `stop` may be called from any other.
    """

    def __init__(self, trainer: Any, path: str) -> None:
        self.trainer = trainer
        self.path = socket_path(path)
        self._earlier: Exception | None = None  # of the sessions before this one
        self._session: Session | None = None
        self._listener = _listen(self.path)
        self._connection: socket.socket | None = None
        self._stopped = threading.Event()

    @property
    def failure(self) -> Exception | None:
        """The last exception of the trainer; known before mfl hears of it."""
        return (self._session.failure if self._session is not None else None) or self._earlier

    def run(self) -> None:
        """Returns after `stop`, from mfl or by the method."""
        try:
            while not self._stopped.is_set():
                if not select.select([self._listener], [], [], _POLL)[0]:
                    continue
                connection, _ = self._listener.accept()
                if self._serve(connection):
                    return
        finally:
            self.close()

    def _serve(self, connection: socket.socket) -> bool:
        with connection:
            _connections.add(connection)
            self._connection = connection
            if self._stopped.is_set():
                return True
            self._earlier, self._session = self.failure, Session(self.trainer, connection)
            try:
                return self._session.run()
            except (ProtocolError, OSError) as error:
                if not self._stopped.is_set():
                    log.warning("connection lost: %s", error)
                return False
            finally:
                self._connection = None

    def stop(self) -> None:
        """Ends `run` after the request in progress, if any."""
        self._stopped.set()
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class LocalService(Service):
    """A trainer of this process, at a socket in a folder that only this user can open. `address` is what mfl takes for --trainer."""

    def __init__(self, trainer: Any) -> None:
        from mfl.trainer import Trainer  # which imports this module

        if not isinstance(trainer, Trainer):
            raise config_error(f"the trainer is of type {type(trainer).__name__}",
                               "give an object of a class that extends mfl.trainer.Trainer, or make one with mfl.torch.Trainer or mfl.flower.Trainer")
        self._folder = tempfile.TemporaryDirectory(prefix="mfl-trainer-")
        try:
            super().__init__(trainer, os.path.join(self._folder.name, "socket"))
        except BaseException:
            self._folder.cleanup()
            raise
        self.address = f"unix:{self.path}"

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


@contextlib.contextmanager
def served(trainer: Any) -> Iterator[str]:
    """The address of a trainer, which is served on a thread of its own meanwhile; of a command itself; "" for None.

    An exception of the trainer becomes the cause of the mfl.Error that it led to.
    """
    if trainer is None or isinstance(trainer, str):
        yield trainer or ""
        return
    service = LocalService(trainer)
    thread = threading.Thread(target=service.run, name="mfl trainer", daemon=True)
    thread.start()
    try:
        yield service.address
    except Error as error:
        raise error from service.failure
    finally:
        service.stop()
        thread.join()


def _inherited() -> socket.socket | None:
    """The socket that mfl started this process with, or None. Children of this process do not get it."""
    number = os.environ.pop("MFL_TRAINER_FD", None)
    if number is None:
        return None
    try:
        connection = socket.socket(fileno=int(number))
    except (ValueError, OSError) as error:
        raise OSError(errno.EBADF, f"MFL_TRAINER_FD is {number!r}, which is not an open socket: {error}") from None
    connection.set_inheritable(False)
    connection.setblocking(True)
    _connections.add(connection)
    return connection


def serve(trainer: Any, listen: str | None = None) -> None:
    """Serves `trainer` until mfl says stop or closes the connection, or until SIGTERM; all three are no error.

    A process that `mfl node --trainer COMMAND` started uses the connection it was given (MFL_TRAINER_FD). Otherwise `listen`, the path of
    a Unix socket, is where `mfl node --trainer unix:PATH` finds it; then a lost connection is followed by the next one. An exception
    of the trainer becomes the text of mfl's error, with the traceback on stderr. Nothing is written to stdout. Blocks; SIGTERM is handled
    if this is the main thread.
    """
    connection = _inherited()
    with _terminated_by_signal(), contextlib.suppress(_Terminated):
        if connection is not None:
            with connection:
                _serve_inherited(trainer, connection)
        elif listen is not None:
            Service(trainer, listen).run()
        else:
            raise ValueError("nobody to serve: start this program with mfl node --trainer COMMAND, or pass listen=PATH and start "
                             "mfl node --trainer unix:PATH")


def _serve_inherited(trainer: Any, connection: socket.socket) -> None:
    try:
        Session(trainer, connection).run()
    except (BrokenPipeError, ConnectionResetError):
        print("trainer: mfl closed the connection", file=sys.stderr)
