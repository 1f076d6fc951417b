"""mfl.run with a trainer: an object of this process, or a command."""

import os
import pickle
import sys
import threading

import numpy
import pytest

import mfl
import mfl.trainer

pytestmark = pytest.mark.skipif("MFL_PROGRAM" not in os.environ, reason="MFL_PROGRAM does not name the program")

SETTINGS = {"nodes": 3, "algorithm": "mfl", "eta": 0.2, "gamma": 0.5, "tau": 2, "rounds": 12, "precision": "f64"}

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import mfl.trainer
from test_trainer_run import Mean
mfl.trainer.serve(Mean())
"""


class Mean(mfl.trainer.Trainer):
    """Fits the mean of points that differ between nodes."""

    tensors = {"mean": (2,)}
    vectors = ("w", "d")
    hyper_parameters = ("eta", "gamma")

    def __init__(self, fail_in=None):
        self.fail_in, self.threads = fail_in, set()

    def points(self, node):
        number = int(node[-1])
        return numpy.random.default_rng(number).normal(number, 1, size=(10 + number, 2))

    def samples(self, node):
        return len(self.points(node))

    def train(self, vectors, round):
        self.threads.add(threading.current_thread().name)
        if round.round == self.fail_in:
            raise ZeroDivisionError("the sensor is broken")
        points, w, d = self.points(round.node), vectors["w"]["mean"], vectors["d"]["mean"]
        round.loss = 0.5 * ((w - points) ** 2).sum(axis=1).mean()
        for _ in range(round.steps):
            d *= round.gamma
            d += w - points.mean(axis=0)
            w -= round.eta * d
        return vectors


@pytest.fixture
def command(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(folder=os.path.dirname(__file__)))
    return f"{sys.executable} {script}"


def test_object_command_and_program_give_one_digest(tmp_path, command, program):
    trainer = Mean()
    result = mfl.run(trainer=trainer, store=tmp_path / "runs.db", **SETTINGS)
    assert result.status == "done" and result.rounds == 12 and result.config["model"]["name"] == "external"
    assert trainer.threads == {"mfl trainer"}
    everything = numpy.concatenate([trainer.points(f"node-000{number}") for number in range(3)])
    assert numpy.allclose(result.weights["mean"], everything.mean(axis=0), atol=0.05)
    assert len(result.history) > 0 and mfl.Store(tmp_path / "runs.db").nodes(result.run_id).shape[0] == 36

    started = mfl.run(trainer=command, trainer_processes=2, **SETTINGS)
    assert started.digest == result.digest
    words = [word for key, value in SETTINGS.items() for word in (f"--{key}", value)]
    assert program("run", "--trainer", command, "--quiet", *words)["digest"] == result.digest


def test_the_model_is_that_of_the_trainer():
    result = mfl.run(trainer=Mean(), **SETTINGS)
    with pytest.raises(mfl.ConfigError, match="knows the weights alone"):
        result.predict(numpy.zeros((1, 2)))
    copy = pickle.loads(pickle.dumps(result))
    assert copy.digest == result.digest and (copy.weights["mean"] == result.weights["mean"]).all()


def test_stopped_and_resumed(tmp_path):
    whole = mfl.run(trainer=Mean(), **SETTINGS)
    stopped = mfl.run(trainer=Mean(), callback=lambda seen: seen.round == 5, **SETTINGS)
    assert stopped.status == "interrupted" and "mfl.run(trainer=trainer, resume=result)" in stopped.message
    assert mfl.run(trainer=Mean(), resume=stopped).digest == whole.digest


def test_an_exception_of_the_trainer_is_the_cause():
    with pytest.raises(mfl.RunFailed, match="node-0000, train of round 3.*the sensor is broken") as caught:
        mfl.run(trainer=Mean(fail_in=3), **SETTINGS)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"model": "logistic"}, "the model is logistic"),
    ({"config": {"model": {"name": "svm"}}}, "the model is svm"),
    ({"config": "[model]\nname = 'svm'"}, "the model is svm"),
    ({"X": numpy.zeros((4, 2)), "y": [0, 1, 0, 1]}, "its own data"),
    ({"data": "synthetic"}, "own data"),
    ({"partition": "dirichlet(0.3)"}, "partition"),
    ({"algorithm": "scaffold"}, "scaffold"),
    ({"trainer": object()}, "of type object"),
    ({"trainer": Mean}, "of type type"),
    ({"trainer_processes": 2}, "is one trainer"),
    ({"trainer_deadline": 0}, "trainer_deadline"),
])
def test_refused(wrong, message):
    with pytest.raises(mfl.ConfigError, match=message):
        mfl.run(**{"trainer": Mean(), **SETTINGS, **wrong})
