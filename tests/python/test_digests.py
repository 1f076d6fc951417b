"""mfl.run has the bits of `mfl run --data npy:`: every model and every algorithm of the program's tables."""
import os
import re
import subprocess

import numpy as np
import pytest

import mfl
from conftest import save_npy, three_classes, two_classes


def words_of(flag):
    """The entries of a table of the program, from its completion script."""
    script = subprocess.run([os.environ["MFL_PROGRAM"], "completion", "bash"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"'mfl run {flag}'[^\n]*words='([^']*)'", script)[1].split()


def with_parameters(names, flag):
    """The same with a value for parameters that have no default, as the help shows them."""
    text = " ".join(subprocess.run([os.environ["MFL_PROGRAM"], "run", "--help"], capture_output=True, text=True, check=True).stdout.split())
    needs = {name for name in names if re.search(rf"[ ,(]{re.escape(name)}\([a-z_0-9]+[,)]", text)}
    return [f"{name}(0.1)" if name in needs else name for name in names]


MODELS = [name for name in words_of("--model") if name != "external"]  # it has no data that mfl reads
ALGORITHMS = with_parameters(words_of("--algorithm"), "--algorithm")


def test_tables_are_complete():
    assert {"svm", "squared-svm", "linear", "logistic", "softmax"} <= set(MODELS)
    assert {"gd", "fl", "mfl", "fedprox(0.1)", "scaffold", "ghbm"} <= set(ALGORITHMS)
    print(f"{len(MODELS)} models x {len(ALGORITHMS)} algorithms")


@pytest.mark.parametrize("model", MODELS)
def test_every_algorithm(model, program, tmp_path):
    x, y = three_classes() if model == "softmax" else two_classes()
    half = len(x) // 2
    spec = save_npy(tmp_path / "data", x[:half], y[:half], x[half:], y[half:])
    for algorithm in ALGORITHMS:
        flags = ["--model", model, "--algorithm", algorithm, "--nodes", 3, "--rounds", 5, "--seed", 7]
        told = program("run", "--data", spec, *flags)
        result = mfl.run(X=x[:half], y=y[:half], X_test=x[half:], y_test=y[half:], model=model, algorithm=algorithm, nodes=3, rounds=5, seed=7)
        assert result.digest == told["digest"], (model, algorithm)
        assert result.train_loss == told["final"]["train_loss"]
        assert result.test_accuracy == told["final"]["test_accuracy"]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("keywords", [
    {"standardise": "full"}, {"standardise": "scale", "class_weight": "balanced"}, {"batch_size": 8, "local_epochs": 1},
    {"partition": "dirichlet(0.5)"}, {"precision": "f64"}, {"aggregator": "median", "codecs": "bf16"}, {"train": 120, "take": "random"},
    {"feature_skew": "noise(0.1)"}, {"class_weight": "1,3"}], ids=lambda keywords: next(iter(keywords)))
def test_settings_and_types(dtype, keywords, program, tmp_path):
    x, y = two_classes()
    x = (np.clip(x * 40 + 128, 0, 255) if dtype == "uint8" else x).astype(dtype)
    told = program("run", "--data", save_npy(tmp_path / "data", x, y), "--model", "logistic", "--rounds", 6,
                   *[word for key, value in keywords.items() for word in (f"--{key.replace('_', '-')}", value)])
    assert mfl.run(X=x, y=y, model="logistic", rounds=6, **keywords).digest == told["digest"]


def test_any_strides(program, tmp_path):
    x, y = two_classes(rows=100, columns=6)
    wide = np.zeros((200, 12), dtype="float32")
    wide[::2, ::2] = x
    read_only = x.copy()
    read_only.setflags(write=False)
    expected = program("run", "--data", save_npy(tmp_path / "data", x, y), "--rounds", 6)["digest"]
    for view in (x, np.asfortranarray(x), wide[::2, ::2], x[::-1][::-1], read_only, x.astype(">f4")):
        assert mfl.run(X=view, y=y, rounds=6).digest == expected
    reverse = mfl.run(X=x[::-1], y=y[::-1], rounds=6).digest
    assert reverse == program("run", "--data", save_npy(tmp_path / "reverse", x[::-1], y[::-1]), "--rounds", 6)["digest"]


def test_threads_do_not_matter():
    x, y = two_classes()
    assert len({mfl.run(X=x, y=y, threads=threads, rounds=5).digest for threads in (1, 2, 5)}) == 1
