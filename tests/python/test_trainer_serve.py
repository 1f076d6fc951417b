"""Serving a trainer: over the socket of mfl, at a path, with errors, signals and restarts. tests/python/trainer_peer.py plays mfl."""

import os
import pathlib
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading

import numpy
import pytest
import trainer_peer
from trainer_peer import Connection, Peer, Refused

import mfl.trainer
from mfl._session import Session

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = {"PYTHONPATH": str(HERE.parents[1] / "python")}

SCRIPT = """
import sys, numpy, mfl.trainer
print("noise on stdout")

class Least(mfl.trainer.Trainer):
    vectors = ("w", "d")
    hyper_parameters = ("eta", "gamma", "batch_size")
    tensors = {"a": (3, 2), "b": ()}
    samples = 40
    x = numpy.random.default_rng(7).normal(size=(40, 3, 2))

    def train(self, vectors, round):
        w, d = vectors["w"], vectors["d"]
        losses = []
        for batch in round.batches(40):
            losses.append(0.5 * ((w["a"] - self.x[batch]) ** 2).mean())
            d["a"] = round.gamma * d["a"] + (w["a"] - self.x[batch].mean(axis=0)).astype(w["a"].dtype)
            w["a"] = w["a"] - w["a"].dtype.type(round.eta) * d["a"]
        round.loss = losses[0] if round.batch_size is None else sum(losses) / len(losses)
        return vectors

if __name__ == "__main__":
    mfl.trainer.serve(Least(), *sys.argv[1:])
"""


class Least(mfl.trainer.Trainer):
    """Fits a mean; what the tests need of a trainer."""

    vectors = ("w", "d")
    hyper_parameters = ("eta", "gamma", "batch_size")
    x = numpy.linspace(0, 1, 30).reshape(10, 3)

    def tensors(self):
        return [("a", (3,))]

    def samples(self, node):
        return {"site-a": 10, "site-b": 4}[node]

    def rows(self, node):
        return self.x[: self.samples(node)]

    def train(self, vectors, round):
        w, d, losses = vectors["w"]["a"], vectors["d"]["a"], []
        for batch in round.batches(self.samples(round.node)):
            rows = self.rows(round.node)[batch]
            losses.append(0.5 * ((w - rows) ** 2).sum(axis=1).mean())
            d *= round.gamma
            d += w - rows.mean(axis=0)
            w -= round.eta * d
        round.loss = numpy.mean(losses) if round.batch_size else losses[0]
        round.metrics["steps"] = round.steps
        return vectors

    def metrics(self, w, round):
        return {"norm": (w["a"] ** 2).sum() ** 0.5}


class Served:
    """A trainer on a thread of this process, and the other end of its connection."""

    def __init__(self, trainer):
        ours, theirs = socket.socketpair()
        self.connection, self.outcome = Connection(ours, 20), None
        self.session = Session(trainer, theirs)

        def run():
            with theirs:
                try:
                    self.outcome = self.session.run()
                except Exception as error:
                    self.outcome = error

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def __enter__(self):
        return self.connection

    def __exit__(self, *_):
        self.connection.close()
        self.thread.join(20)
        assert not self.thread.is_alive()


def vectors_of(peer):
    return {"w": peer.initialise(), "d": peer.zeros()}


def test_rounds_over_a_socket_pair():
    with Served(Least()) as connection:
        peer = Peer(connection, ["site-a", "site-b"], precision="f64", eta=0.1, gamma=0.5)
        assert peer.hello["samples"] == {"site-a": 10, "site-b": 4}
        assert peer.hello["trainer"] == "Least" and peer.shapes == {"a": (3,)}
        vectors, losses = trainer_peer.federate([peer], 60, 2)
        expected = (10 * Least.x.mean(axis=0) + 4 * Least.x[:4].mean(axis=0)) / 14
        numpy.testing.assert_allclose(vectors["w"]["a"], expected, rtol=0, atol=1e-9)
        assert losses[-1] < losses[0]


def test_reply_has_loss_and_metrics_of_the_weights_that_were_sent():
    with Served(Least()) as connection:
        peer = Peer(connection, ["site-a"], precision="f64", eta=0.1, gamma=0.5)
        vectors = {"w": {"a": numpy.array([3.0, 0, 4])}, "d": peer.zeros()}
        header, _ = peer.train("site-a", 1, 3, vectors)
        assert header["metrics"] == {"norm": 5.0, "steps": 3.0}
        assert header["loss"] == 0.5 * ((vectors["w"]["a"] - Least.x) ** 2).sum(axis=1).mean()


def test_loss_of_w_without_an_evaluate_method():
    for settings in ({}, {"batch_size": 5}, {"batch_size": 100}):
        with Served(Least()) as connection:
            peer = Peer(connection, ["site-a"], precision="f64", eta=0.1, gamma=0.5, **settings)
            w = {"a": numpy.array([3.0, 0, 4])}
            found = peer.evaluate("site-a", 9, w)
            numpy.testing.assert_allclose(found["loss"], 0.5 * ((w["a"] - Least.x) ** 2).sum(axis=1).mean(), rtol=1e-12)
            assert found["samples"] == 10


def test_stop_and_end():
    served = Served(Least())
    with served as connection:
        Peer(connection, ["site-a"], eta=0.1).stop()
        served.thread.join(10)
        assert served.outcome is True
    served = Served(Least())
    with served:
        pass
    assert served.outcome is False


def test_a_loss_that_is_not_finite_is_null():
    class Diverged(Least):
        def train(self, vectors, round):
            round.loss, round.metrics["test_loss"] = float("nan"), float("inf")
            return vectors

    with Served(Diverged()) as connection:
        peer = Peer(connection, ["site-a"], eta=0.1)
        header, _ = peer.train("site-a", 1, 1, vectors_of(peer))
        assert header["loss"] is None and header["metrics"]["test_loss"] is None


def failing(name, what):
    def method(self, *arguments):
        return what(*arguments)

    return type("Failing", (Least,), {name: method})()


def broken(*arguments):
    raise RuntimeError("the disk\nis full")


@pytest.mark.parametrize("trainer, text", [
    (failing("train", broken), "RuntimeError: the disk\nis full"),
    (failing("train", lambda vectors, round: vectors), "did not set round.loss"),
    (failing("train", lambda vectors, round: setattr(round, "loss", 1) or None), "must return w with the tensors a"),
    (failing("train", lambda vectors, round: setattr(round, "loss", 1) or {"w": vectors["w"]}), "must return d"),
    (failing("train", lambda vectors, round: setattr(round, "loss", 1) or {"w": {"a": numpy.ones(2)}, "d": {"a": numpy.ones(3)}}),
     r"w/a has the shape \[2\] after training"),
    (failing("metrics", broken), "the disk"),
])
def test_exception_of_a_trainer_becomes_an_error(trainer, text, capfd):
    served = Served(trainer)
    with served as connection:
        peer = Peer(connection, ["site-a"], eta=0.1)
        vectors = vectors_of(peer)
        with pytest.raises(Refused, match=text):
            peer.train("site-a", 1, 1, vectors)
        assert len(peer.initialise()) == 1, "the connection lasts"
    out, err = capfd.readouterr()
    assert out == "" and "Traceback" in err
    assert served.session.failure is not None


def test_a_trainer_without_momentum_refuses_an_algorithm_with_it(capfd):
    class Plain(Least):
        vectors = ("w",)

    with Served(Plain()) as connection, pytest.raises(Refused, match="this trainer has no d; choose an algorithm without momentum"):
        Peer(connection, ["site-a"], eta=0.1, gamma=0.5)


def test_a_trainer_must_say_what_it_has(capfd):
    with Served(mfl.trainer.Trainer()) as connection, pytest.raises(Refused, match="does not define tensors"):
        Peer(connection, ["site-a"], vectors=["w"], eta=0.1)


@pytest.mark.parametrize("change, text", [
    ({"message": "dance"}, "'dance' is unknown"),
    ({"message": None}, "None is unknown"),
    ({"node": "site-z"}, "'site-z' was not named"),
    ({"node": ["site-a"]}, "not named"),
    ({"steps": -1}, "bad 'steps'"),
    ({"steps": 1.5}, "bad 'steps'"),
    ({"seed": "1"}, "bad 'seed'"),
    ({"hyper_parameters": 3}, "bad 'hyper_parameters'"),
])
def test_malformed_request_ends_the_connection(change, text):
    served = Served(Least())
    with served as connection:
        peer = Peer(connection, ["site-a"], eta=0.1)
        request = {**peer.train_request("site-a", 1, 1), **change}
        with pytest.raises(Refused, match=f"protocol: .*{text}"):
            connection.ask(request, trainer_peer.flat(vectors_of(peer)))
    assert isinstance(served.outcome, mfl.trainer.ProtocolError)


@pytest.mark.parametrize("body, text", [
    ({"w/a": numpy.zeros(3, "f4")}, "no d/a"),
    ({"w/a": numpy.zeros(3, "f4"), "d/a": numpy.zeros(4, "f4")}, "shape"),
    ({"w/a": numpy.zeros(3, "f4"), "d/a": numpy.zeros(3, "f8")}, "precision is f32"),
    ({"w/a": numpy.zeros(3, "f4"), "d/a": numpy.zeros(3, "f4"), "d/z": numpy.zeros(3, "f4")}, "nobody knows"),
    (None, "no w/a"),
])
def test_malformed_vectors_end_the_connection(body, text):
    with Served(Least()) as connection:
        peer = Peer(connection, ["site-a"], eta=0.1)
        with pytest.raises(Refused, match=text):
            connection.ask(peer.train_request("site-a", 1, 1), body)


@pytest.mark.parametrize("change", [{"protocol": 2}, {"protocol": None}, {"nodes": []}, {"nodes": "site-a"}, {"precision": "f16"},
                                    {"precision": []}, {"seed": -1}])
def test_malformed_hello(change):
    with Served(Least()) as connection:
        request = {"message": "hello", "protocol": 1, "nodes": ["site-a"], "precision": "f32", "seed": 1, "vectors": ["w", "d"], **change}
        with pytest.raises(Refused, match="protocol: "):
            connection.ask(request)


def test_nothing_comes_before_hello():
    with Served(Least()) as connection, pytest.raises(Refused, match="'initialise' before hello"):
        connection.ask({"message": "initialise", "seed": 1})


@pytest.mark.parametrize("seed", range(10))
def test_damaged_frames_never_hang(seed, capfd):
    """The connection is shut after each, so that a trainer that waits for more bytes sees the end."""
    draw = numpy.random.default_rng(seed)
    for _ in range(8):
        served = Served(Least())
        with served as connection:
            peer = Peer(connection, ["site-a"], eta=0.1)
            raw = bytearray(trainer_peer.pack(peer.train_request("site-a", 1, 1), trainer_peer.flat(vectors_of(peer))))
            for _ in range(draw.integers(1, 6)):
                raw[draw.integers(0, len(raw))] = draw.integers(0, 256)
            connection.socket.sendall(raw)
            connection.socket.shutdown(socket.SHUT_WR)
        assert served.outcome is False or isinstance(served.outcome, (mfl.trainer.ProtocolError, OSError))


def test_batches_cover_every_pass():
    asked = mfl.trainer.Round("n", 1, 7, 5, {"eta": 0.1, "batch_size": 4})
    batches = list(asked.batches(10))
    assert [len(batch) for batch in batches] == [4, 4, 2, 4, 4, 2, 4]
    assert sorted(numpy.concatenate(batches[:3])) == sorted(numpy.concatenate(batches[3:6])) == list(range(10))
    assert all((one == other).all() for one, other in zip(batches, asked.batches(10)))
    assert list(mfl.trainer.Round("n", 1, 2, 5, {"eta": 0.1}).batches(10)) == [slice(None)] * 2


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "least.py"
    file.write_text(SCRIPT)
    return file


def started(script, *arguments):
    return trainer_peer.start([sys.executable, script, *arguments], env=PYTHON, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("settings", [{}, {"batch_size": 8}])
def test_a_script_passes_every_check(script, settings):
    checks = trainer_peer.Checks(lambda: started(script), {"nodes": ["x", "y"], "settings": {"eta": 0.1, "gamma": 0.9, **settings}})
    assert checks.run() == 0


def test_killed_and_started_again_gives_the_same_run(script):
    def run(kill_in):
        process, connection = started(script)
        peer = Peer(connection, ["x"], eta=0.1, gamma=0.9, batch_size=8)
        vectors = {"w": peer.zeros(), "d": peer.zeros()}
        for round in range(1, 6):
            if round == kill_in:
                connection.send(peer.train_request("x", round, 4), trainer_peer.flat(vectors))
                process.kill()
                process.wait()
                connection.close()
                process, connection = started(script)
                peer = Peer(connection, ["x"], eta=0.1, gamma=0.9, batch_size=8)
            _, vectors = peer.train("x", round, 4, vectors)
        peer.stop()
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0 and out == "noise on stdout\n", err
        return vectors

    assert trainer_peer.same(run(None), run(3))


@pytest.mark.parametrize("listening", [False, True])
def test_sigterm_ends_it_cleanly(script, tmp_path, listening):
    path = tmp_path / "socket"
    if listening:
        process = subprocess.Popen([sys.executable, script, path], env={**os.environ, **PYTHON}, stderr=subprocess.PIPE, text=True)
        connection = trainer_peer.connect(str(path))
    else:
        process, connection = started(script)
    Peer(connection, ["x"], eta=0.1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0 and err == ""
    assert not path.exists()
    connection.close()


def test_listens_for_one_connection_after_the_other(script, tmp_path):
    path = tmp_path / "socket"
    process = subprocess.Popen([sys.executable, script, f"unix:{path}"], env={**os.environ, **PYTHON}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    found = []
    for attempt in range(3):
        connection = trainer_peer.connect(str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        peer = Peer(connection, ["x"], eta=0.1, batch_size=8)
        found.append(peer.train("x", 1, 5, {"w": peer.zeros(), "d": peer.zeros()})[1])
        if attempt == 0:
            connection.socket.sendall(struct.pack("<IQ", 1 << 30, 0))  # not the protocol
        if attempt == 2:
            peer.stop()
        else:
            connection.close()
    assert trainer_peer.same(found[0], found[1]) and trainer_peer.same(found[0], found[2])
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0 and "connection lost: a header of 1073741824 bytes" in err
    assert not path.exists()


def test_a_path_that_is_taken(tmp_path):
    plain = tmp_path / "file"
    plain.write_text("mine")
    with pytest.raises(FileExistsError, match="exists and is not a socket"):
        mfl.trainer.Service(Least(), str(plain))
    assert plain.read_text() == "mine"
    path = str(tmp_path / "socket")
    service = mfl.trainer.Service(Least(), path)
    with pytest.raises(OSError, match="another trainer listens here"):
        mfl.trainer.Service(Least(), path)
    service._listener.close()  # as after a crash: the file is left
    mfl.trainer.Service(Least(), f"unix:{path}").close()
    with pytest.raises(OSError, match="too long"):
        mfl.trainer.Service(Least(), str(tmp_path / ("x" * 200)))


def test_stop_from_another_thread(tmp_path):
    for connected in (False, True):
        service = mfl.trainer.Service(Least(), str(tmp_path / "socket"))
        thread = threading.Thread(target=service.run)
        thread.start()
        connection = trainer_peer.connect(service.path) if connected else None
        if connected:
            Peer(connection, ["site-a"], eta=0.1)
        service.stop()
        thread.join(10)
        assert not thread.is_alive()
        if connected:
            connection.close()


def test_nobody_to_serve(monkeypatch):
    monkeypatch.delenv("MFL_TRAINER_FD", raising=False)
    with pytest.raises(ValueError, match="nobody to serve"):
        mfl.trainer.serve(Least())
    monkeypatch.setenv("MFL_TRAINER_FD", "991")
    with pytest.raises(OSError, match="not an open socket"):
        mfl.trainer.serve(Least())
