"""The examples of docs/python-trainers.md: every ```python block runs, in order, and its first command as well."""

import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
import trainer_peer
from test_trainer_serve import PYTHON, Served

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "python-trainers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

needs_mfl = pytest.mark.skipif("MFL_PROGRAM" not in os.environ, reason="MFL_PROGRAM does not name the program")


def named(name):
    return next(block for block in BLOCKS if block.startswith(f"# {name}\n"))


def run(*blocks):
    values = {"__name__": "example"}
    for block in blocks:
        exec(block, values)
    return values


def test_every_block_is_run_here():
    assert [block.splitlines()[0] for block in BLOCKS] == ["# least_squares.py", "# simulation", "# net.py", "import mfl.flower", "import mfl"]


def test_a_class_as_a_script(tmp_path):
    (tmp_path / "least_squares.py").write_text(named("least_squares.py"))
    checks = trainer_peer.Checks(lambda: trainer_peer.start([sys.executable, tmp_path / "least_squares.py"], env=PYTHON),
                                 {"nodes": ["a"], "settings": {"eta": 0.1, "gamma": 0.5, "batch_size": 32}})
    assert checks.run() == 0


@needs_mfl
def test_its_command(tmp_path):
    (tmp_path / "least_squares.py").write_text(named("least_squares.py"))
    command = re.search(r'^\$ mfl (run --trainer .*)$', TEXT, re.MULTILINE)[1].replace("python3", sys.executable)
    done = subprocess.run(f"{os.environ['MFL_PROGRAM']} {command} --store runs.db", shell=True, cwd=tmp_path, env={**os.environ, **PYTHON},
                          capture_output=True, text=True)
    assert done.returncode == 0 and "(done)" in done.stdout, done.stderr


@needs_mfl
def test_a_simulation():
    run(named("least_squares.py"), named("simulation"))


def test_flower():
    values = run(named("least_squares.py"), BLOCKS[3])
    with Served(values["client"]) as connection:
        peer = trainer_peer.Peer(connection, ["a"], algorithm="fl", vectors=["w"], eta=0.2)
        vectors, _ = trainer_peer.federate([peer], 50, 4)
    numpy.testing.assert_allclose(vectors["w"]["p0"], [1, -2, 0.5], atol=1e-4)


def test_torch():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    with Served(run(named("net.py"))["trainer"]) as connection:
        peer = trainer_peer.Peer(connection, ["a"], eta=0.05, gamma=0.9, batch_size=32)
        vectors, losses = trainer_peer.federate([peer], 30, 8)
        assert losses[-1] < 0.5 * losses[0]
        assert peer.evaluate("a", 31, vectors["w"])["metrics"]["test_accuracy"] > 0.8


@needs_mfl
def test_a_federation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(named("least_squares.py"), BLOCKS[4])
