"""mfl.server and mfl.node against the program: a federation of trainers in threads of this process."""

import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import pytest

import mfl.federation
import mfl.trainer
from mfl._errors import ConfigError, Error, NetworkError
from test_trainer_serve import PYTHON

pytestmark = pytest.mark.skipif("MFL_PROGRAM" not in os.environ, reason="MFL_PROGRAM does not name the program")

CONFIG = {"federation": {"nodes": 3}, "algorithm": {"name": "mfl", "eta": 0.2, "gamma": 0.5, "tau": 2},
          "run": {"rounds": 20, "precision": "f64"}}


class Mean(mfl.trainer.Trainer):
    vectors = ("w", "d")
    hyper_parameters = ("eta", "gamma", "batch_size")
    tensors = {"mean": (2,)}

    def __init__(self, seed):
        self.points = numpy.random.default_rng(seed).normal(seed, 1, size=(10 + seed, 2))
        self.samples = len(self.points)
        self.threads = set()

    def train(self, vectors, round):
        self.threads.add(threading.current_thread())
        w, d = vectors["w"]["mean"], vectors["d"]["mean"]
        round.loss = 0.5 * ((w - self.points) ** 2).sum(axis=1).mean()
        for _ in range(round.steps):
            d *= round.gamma
            d += w - self.points.mean(axis=0)
            w -= round.eta * d
        return vectors


def start(tmp_path, config=CONFIG, **options):
    return mfl.federation.server(config, state=tmp_path / "state", plaintext=True, block=False, linger=1, **options)


def join(trainer, address, name, **options):
    return mfl.federation.node(trainer, server=address, plaintext=True, name=name, **options)


def test_three_sites(tmp_path, caplog, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    caplog.set_level(logging.INFO)
    trainers = [Mean(seed) for seed in range(3)]
    with start(tmp_path) as server:
        assert server.address.startswith("127.0.0.1:") and not server.done
        handles = [join(trainer, server.address, f"site-{number}", block=False) for number, trainer in enumerate(trainers[:2])]
        last = join(trainers[2], server.address, "site-2")  # on this thread
        outcomes = [*(handle.wait(60) for handle in handles), last, server.wait(60)]
    assert {outcome.digest for outcome in outcomes} == {outcomes[-1].digest} and len(outcomes[-1].digest) == 64
    assert {outcome.run_id for outcome in outcomes} == {outcomes[-1].run_id}
    assert [(outcome.status, outcome.rounds) for outcome in outcomes] == [("done", 20)] * 4
    everything = numpy.concatenate([trainer.points for trainer in trainers])
    least = 0.5 * ((everything - everything.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert outcomes[-1].data["final"]["train_loss"] == pytest.approx(least, rel=1e-3)
    assert trainers[2].threads == {threading.current_thread()}
    assert all(threading.current_thread() not in trainer.threads and len(trainer.threads) == 1 for trainer in trainers[:2])
    assert any(record.name == "mfl.server" and "round" in record.getMessage() for record in caplog.records)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_exception_of_a_trainer_is_the_cause(tmp_path, capfd):
    class Broken(Mean):
        def train(self, vectors, round):
            raise FileNotFoundError("patients.csv has moved")

    with start(tmp_path, {**CONFIG, "federation": {"nodes": 1}}) as server:
        with pytest.raises(Error, match="patients.csv has moved") as caught:
            join(Broken(1), server.address, "site-0")
        assert isinstance(caught.value.__cause__, FileNotFoundError)
        handle = join(Broken(1), server.address, "site-0", block=False)
        with pytest.raises(Error, match="patients.csv has moved"):
            handle.wait(60)


def test_stop(tmp_path):
    with start(tmp_path) as server:
        handle = join(Mean(0), server.address, "site-0", block=False)
        with pytest.raises(TimeoutError):
            handle.wait(1)
        assert not handle.done
        handle.stop()
        assert handle.done and handle.wait().rounds == 0
    assert server.done
    again = start(tmp_path)
    assert again.state == tmp_path / "state"
    again.stop()


def test_errors(tmp_path):
    with pytest.raises(ConfigError, match="tls is missing"):
        mfl.federation.server(CONFIG, state=tmp_path)
    with pytest.raises(ConfigError, match="exclude each other"):
        mfl.federation.node(Mean(0), server="127.0.0.1:1", tls="x", plaintext=True)
    with pytest.raises(ConfigError, match="a trainer or data"):
        mfl.federation.node(server="127.0.0.1:1", plaintext=True)
    with pytest.raises(ConfigError, match="not a table"):
        mfl.federation.server({"eta": 1}, state=tmp_path, plaintext=True)
    with pytest.raises(ConfigError):
        mfl.federation.server({"algorithm": {"name": "mlf"}}, state=tmp_path / "a", plaintext=True)
    with pytest.raises(ConfigError, match="log is"):
        join(Mean(0), "127.0.0.1:1", "a", log="loud")
    with pytest.raises(NetworkError):
        join(Mean(0), "127.0.0.1:1", "a", give_up_after=0.3, log=None)


def test_ctrl_c_ends_node_and_server(tmp_path):
    """In a process of its own, which the signal reaches as a terminal sends it."""
    script = tmp_path / "alone.py"
    script.write_text(f"""
import sys
sys.path[:0] = [{str(pathlib.Path(__file__).parent)!r}]
from test_trainer_federation import *
with start(pathlib.Path({str(tmp_path)!r})) as server:
    print("ready", flush=True)
    join(Mean(0), server.address, "site-0")
""")
    process = subprocess.Popen([sys.executable, script], env={**os.environ, **PYTHON}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout
    assert left == ""
