"""Data and helpers of the tests of the Python package."""
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def program(tmp_path):
    """Runs the mfl program with a store of its own and gives what it prints as "data"."""

    def run(*words, check=True):
        done = subprocess.run([os.environ["MFL_PROGRAM"], *map(str, words), "--json"], capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, "MFL_STORE": str(tmp_path / "program.db")})
        answer = json.loads(done.stdout)
        assert not check or answer["status"] == "ok", answer
        return answer["data"] if check else answer

    return run


def two_classes(rows=200, columns=5, seed=0, dtype="float32"):
    """Samples of the classes 0 and 1 that a line nearly separates."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, columns)).astype(dtype)
    y = (x[:, 0] + 0.5 * x[:, 1] + 0.3 * draw.normal(size=rows) > 0).astype("int64")
    return x, y


def three_classes(rows=300, columns=4, seed=0, dtype="float64"):
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, rows)
    x = (draw.normal(size=(rows, columns)) + 2 * np.eye(3, columns)[y]).astype(dtype)
    return x, y


def save_npy(folder, x, y, x_test=None, y_test=None):
    """Writes the arrays as `npy:` data and returns its spec."""
    folder.mkdir(exist_ok=True)
    for name, values in {"x": x, "y": y, "x_test": x_test, "y_test": y_test}.items():
        if values is not None:
            np.save(folder / f"{name}.npy", np.ascontiguousarray(values))
    return f"npy:{folder}"
