"""The trainers of examples/trainers: they keep to the protocol, and MFL over them is the MFL that it should be."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy
import pytest
import trainer_peer
from test_trainer_serve import PYTHON

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "trainers"
NODES = ["node-1", "node-2", "node-3"]
ETA, GAMMA, STEPS, ROUNDS = 0.3, 0.6, 4, 50

needs_mfl = pytest.mark.skipif("MFL_PROGRAM" not in os.environ, reason="MFL_PROGRAM does not name the program")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Three nodes of different sizes: a folder of npy folders, one of CSV files, and all rows with a partition file."""
    folder, draw = tmp_path_factory.mktemp("parts"), numpy.random.default_rng(4)
    begin, lines, whole = 0, [], []
    (folder / "csv").mkdir()
    for number, rows in enumerate((30, 45, 60)):
        x = draw.normal(size=(rows, 6))
        y = (x @ [1, -1, 0.5, 0, 2, 0] + draw.normal(size=rows) > 0).astype("i8")
        (folder / "npy" / f"part-{number}").mkdir(parents=True)
        numpy.save(folder / "npy" / f"part-{number}" / "x.npy", x)
        numpy.save(folder / "npy" / f"part-{number}" / "y.npy", y)
        table = "\n".join(",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(x, y))
        (folder / "csv" / f"part-{number}.csv").write_text("a,b,c,d,e,f,label\n" + table + "\n")
        lines.append(" ".join(map(str, range(begin, begin + rows))))
        begin += rows
        whole.append((x, y))
    (folder / "partition.txt").write_text("\n".join(lines) + "\n")
    (folder / "all").mkdir()
    numpy.save(folder / "all" / "x.npy", numpy.concatenate([x for x, _ in whole]))
    numpy.save(folder / "all" / "y.npy", numpy.concatenate([y for _, y in whole]))
    return folder


def command(kind, parts):
    if kind == "javascript":
        if shutil.which("node") is None:
            pytest.skip("Node.js is not installed")
        return f"node {EXAMPLES / 'javascript' / 'train.js'} --data {parts / 'csv'}"
    if kind == "sklearn":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
        return f"{sys.executable} {EXAMPLES / 'sklearn' / 'train.py'} --parts 3"
    if kind.startswith("pytorch"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    options = {"numpy": f"train.py --data {parts / 'npy'}", "numpy-csv": f"train.py --data {parts / 'csv'}",
               "pytorch": f"train.py --mnist {parts / 'no'} --samples 600 --parts 3", "pytorch-logistic": f"logistic.py --data {parts / 'npy'}"}[kind]
    return f"{sys.executable} {EXAMPLES / kind.split('-')[0]}/{options}"


def reach(kind, parts):
    line = command(kind, parts)
    return lambda: trainer_peer.start(line, env=PYTHON, start_new_session=True)


@pytest.mark.parametrize("kind, batches", [("numpy", False), ("numpy", True), ("numpy-csv", True), ("javascript", False), ("javascript", True),
                                           ("sklearn", True), ("pytorch", True)])
def test_keeps_to_the_protocol(kind, batches, parts):
    settings = {"eta": 0.01, "vectors": ["w"]} if kind == "sklearn" else {"eta": 0.05, "gamma": 0.9}
    if batches:
        settings["batch_size"] = 7
    assert trainer_peer.Checks(reach(kind, parts), {"nodes": NODES, "settings": settings}).run() == 0


def direct(parts, penalty=0.0):
    """MFL written down a second time: (w, d) after the last round, and the losses of the rounds."""
    data = [(numpy.load(part / "x.npy"), numpy.load(part / "y.npy")) for part in sorted((parts / "npy").iterdir())]
    weights = numpy.array([len(y) for _, y in data]) / sum(len(y) for _, y in data)
    w, d, losses = numpy.zeros(6), numpy.zeros(6), []
    for _ in range(ROUNDS):
        ends, loss = [], 0.0
        for weight, (x, y) in zip(weights, data):
            loss += weight * ((numpy.logaddexp(0, x @ w) - y * (x @ w)).mean() + 0.5 * penalty * w @ w)
            v, m = w, d
            for _ in range(STEPS):
                m = GAMMA * m + x.T @ (1 / (1 + numpy.exp(-(x @ v))) - y) / len(y) + penalty * v
                v = v - ETA * m
            ends.append((v, m))
        w, d = (sum(weight * end[which] for weight, end in zip(weights, ends)) for which in (0, 1))
        losses.append(loss)
    return w, d, losses


@pytest.mark.parametrize("kind, precision, tolerance", [("numpy", "f64", 1e-12), ("numpy-csv", "f64", 1e-12), ("javascript", "f64", 1e-12),
                                                        ("pytorch-logistic", "f64", 1e-12), ("numpy", "f32", 1e-5)])
def test_fifty_rounds_of_mfl(kind, precision, tolerance, parts):
    process, connection = reach(kind, parts)()
    peer = trainer_peer.Peer(connection, NODES, precision=precision, eta=ETA, gamma=GAMMA)
    vectors, losses = trainer_peer.federate([peer], ROUNDS, STEPS)
    peer.stop()
    assert process.wait(20) == 0
    w, d, expected = direct(parts)
    numpy.testing.assert_allclose(vectors["w"]["weights"], w, rtol=0, atol=tolerance * numpy.abs(w).max())
    numpy.testing.assert_allclose(vectors["d"]["weights"], d, rtol=0, atol=tolerance)
    numpy.testing.assert_allclose(losses, expected, rtol=tolerance)


def mfl_run(tmp_path, precision, *options):
    settings = {"algorithm": "mfl", "eta": ETA, "gamma": GAMMA, "tau": STEPS, "rounds": ROUNDS, "nodes": 3, "precision": precision,
                "store": tmp_path / "runs.db", "weights-out": tmp_path / "w.npy"}
    words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
    done = subprocess.run([os.environ["MFL_PROGRAM"], "run", "--json", "--quiet", *words, *map(str, options)], capture_output=True, text=True,
                          env={**os.environ, **PYTHON})
    answer = json.loads(done.stdout)
    assert answer["status"] == "ok", answer
    return numpy.load(tmp_path / "w.npy"), answer["data"]["final"]["train_loss"]


@needs_mfl
@pytest.mark.parametrize("kind, precision, tolerance", [("numpy", "f64", 1e-9), ("javascript", "f64", 1e-9), ("pytorch-logistic", "f32", 1e-5)])
def test_mfl_with_the_trainer_is_mfl_with_its_own_model(kind, precision, tolerance, parts, tmp_path):
    native, expected = mfl_run(tmp_path, precision, "--data", f"npy:{parts / 'all'}", "--test", 0, "--model", "logistic", "--intercept", "false",
                               "--partition", f"file:{parts / 'partition.txt'}")
    own, loss = mfl_run(tmp_path, precision, "--trainer", command(kind, parts))
    numpy.testing.assert_allclose(own, native, rtol=0, atol=tolerance * numpy.abs(native).max())
    assert loss == pytest.approx(expected, rel=tolerance)


def federated(tmp_path, precision, trainer):
    """The weights that a server and three nodes over TLS give, and the training loss."""
    program = os.environ["MFL_PROGRAM"]
    environment = {**os.environ, **PYTHON}

    def mfl(*words):
        return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout

    mfl("certs", "init", "pki")
    mfl("certs", "server", "pki", "127.0.0.1")
    settings = {"model": "external", "algorithm": "mfl", "eta": ETA, "gamma": GAMMA, "tau": STEPS, "rounds": ROUNDS, "nodes": 3, "precision": precision}
    words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
    server = subprocess.Popen([program, "server", "--listen", "127.0.0.1:0", "--state", "state", "--tls", "pki/server", "--json", "--log", "none", *words],
                              cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    nodes = []
    try:
        address = tmp_path / "state" / "address"
        for _ in range(600):
            if address.exists():
                break
            time.sleep(0.05)
        for number in range(3):
            name = f"node-{number:04}"
            mfl("certs", "node", "pki", name)
            nodes.append(subprocess.Popen([program, "node", "--server", address.read_text().strip(), "--tls", f"pki/{name}", "--trainer", trainer,
                                           "--give-up-after", "60", "--log", "none"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL))
        answer = json.loads(server.communicate(timeout=240)[0])
        assert [node.wait(60) for node in nodes] == [0, 0, 0]
    finally:
        for process in [server, *nodes]:
            process.kill()
            process.wait()
    assert answer["status"] == "ok", answer
    mfl("model", "export", "latest", "--store", "state/runs.db", "--out", "model.npz")
    return numpy.load(tmp_path / "model.npz")["weights"], answer["data"]["final"]["train_loss"]


@needs_mfl
@pytest.mark.parametrize("kind, precision, tolerance", [("numpy", "f64", 1e-9), ("javascript", "f64", 1e-9), ("pytorch-logistic", "f32", 1e-5)])
def test_fifty_rounds_over_tls_are_those_of_mfls_own_model(kind, precision, tolerance, parts, tmp_path):
    native, expected = mfl_run(tmp_path, precision, "--data", f"npy:{parts / 'all'}", "--test", 0, "--model", "logistic", "--intercept", "false",
                               "--partition", f"file:{parts / 'partition.txt'}")
    own, loss = federated(tmp_path, precision, command(kind, parts))
    numpy.testing.assert_allclose(own, native, rtol=0, atol=tolerance * numpy.abs(native).max())
    assert loss == pytest.approx(expected, rel=tolerance)
    print(f"{kind}, {precision}: largest difference {numpy.abs(own - native).max():.2g}")
