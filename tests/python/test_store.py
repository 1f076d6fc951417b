"""Stores, sweeps, comparisons, pictures."""
import subprocess
import sys
from xml.dom import minidom

import numpy as np
import pandas
import pytest

import mfl
from conftest import two_classes

X, Y = two_classes()


def test_store_reads_what_the_program_writes(program, tmp_path):
    told = program("run", "--data", "synthetic:300x8", "--rounds", 4, "--name", "mine", "--model", "svm")
    store = mfl.Store(tmp_path / "program.db")
    runs = store.runs()
    assert isinstance(runs, pandas.DataFrame) and list(runs["run_id"]) == [told["run_id"]] and list(runs["name"]) == ["mine"]
    assert runs["train_loss"][0] == told["final"]["train_loss"]
    assert store.show("mine")["digest"] == told["digest"]
    assert list(store.rounds("latest")["round"]) == [0, 1, 2, 3, 4]
    assert store.records()["train_loss"].iloc[-1] == told["final"]["train_loss"]
    assert store.model("mine").digest == told["digest"]
    assert len(store.nodes()) == 0
    assert len(store) == 1 and "mine" in repr(store) and "mine" in store._repr_html_()
    assert len(store.runs(algorithm="fl")) == 0 and len(store.list(status="done", limit=1)) == 1


def test_stores_that_are_not():
    with pytest.raises(mfl.ConfigError, match="no run store at none.db") as told:
        mfl.Store("none.db")
    assert "mfl.run(store=" in told.value.hint
    with pytest.raises(mfl.Error, match="abcdefgh|no run store"):
        mfl.Store.session().model("abcdefgh")


def test_program_reads_what_python_writes(program, tmp_path):
    result = mfl.run(X=X, y=Y, rounds=3, store=tmp_path / "program.db")
    assert program("runs", "show", result.run_id)["run"]["digest"] == result.digest


def test_sweep():
    sweep = mfl.sweep(grid={"algorithm": ["fl", "mfl"], "eta": np.array([0.01, 0.1])}, X=X, y=Y, model="logistic", rounds=10)
    assert len(sweep) == 4 and sweep.status == "done"
    assert [(run.config["algorithm"]["name"], run.config["algorithm"]["eta"]) for run in sweep] == [
        ("fl", 0.01), ("fl", 0.1), ("mfl", 0.01), ("mfl", 0.1)]
    assert list(sweep.table["algorithm"]) == ["fl", "fl", "mfl", "mfl"] and list(sweep.table["eta"]) == [0.01, 0.1] * 2
    for run in sweep:
        algorithm = run.config["algorithm"]
        assert run.digest == mfl.run(X=X, y=Y, model="logistic", rounds=10, algorithm=algorithm["name"], eta=algorithm["eta"]).digest
    assert sweep.best.train_loss == min(run.train_loss for run in sweep)
    assert sweep[3].predict(X).shape == (200,)
    assert "eta" in repr(sweep) and "<table" in sweep._repr_html_()
    assert sweep.plot().get_xlabel() == "round"


def test_bad_sweeps():
    with pytest.raises(mfl.ConfigError, match="needs a grid"):
        mfl.sweep(X=X, y=Y)
    with pytest.raises(mfl.ConfigError, match="give a list"):
        mfl.sweep(grid={"eta": 0.1}, X=X, y=Y)
    with pytest.raises(mfl.ConfigError, match="did you mean eta"):
        mfl.sweep(grid={"lr": [0.1]}, X=X, y=Y)
    with pytest.raises(mfl.ConfigError):
        mfl.sweep(grid={"eta": []}, X=X, y=Y)


def test_stopped_sweep_continues():
    grid = {"eta": [0.01, 0.02], "gamma": [0.5, 0.9]}
    stopped = mfl.sweep(grid=grid, X=X, y=Y, rounds=100, name="stopped sweep", callback=lambda progress: progress.round >= 5)
    assert stopped.status == "interrupted"
    done = mfl.sweep(grid=grid, X=X, y=Y, rounds=100, name="stopped sweep", reuse=True)
    assert done.status == "done" and len(done) == 4
    assert done[3].digest == mfl.run(X=X, y=Y, rounds=100, eta=0.02, gamma=0.9).digest


def test_compare(tmp_path):
    runs = [mfl.run(X=X, y=Y, model="logistic", algorithm=name, rounds=50, eta=0.05, store=tmp_path / "a.db", name=name) for name in ("fl", "mfl")]
    comparison = mfl.compare(*runs)
    assert list(comparison.table["algorithm"]) == ["fl", "mfl"]
    assert comparison.headlines and "mfl" in comparison.headlines[0]
    assert comparison.headlines[0] in repr(comparison) and "<table" in comparison._repr_html_()
    assert list(mfl.compare("fl", "mfl", store=tmp_path / "a.db").table["run_id"]) == list(comparison.table["run_id"])
    assert mfl.compare(*runs, target=0.5).data["runs"][0]["target"] == 0.5
    with pytest.raises(mfl.ConfigError, match="2 stores"):
        mfl.compare(runs[0], mfl.run(X=X, y=Y, rounds=2))
    with pytest.raises(mfl.ConfigError, match="needs runs"):
        mfl.compare()


def test_html_and_plot(tmp_path):
    import matplotlib.pyplot as plt
    result = mfl.run(X=X[:150], y=Y[:150], X_test=X[150:], y_test=Y[150:], model="logistic", rounds=30, name="<b>&")
    html = result._repr_html_()
    assert "&lt;b&gt;&amp;" in html and "<b>" not in html
    picture = minidom.parseString(html[html.index("<svg"):html.index("</svg>") + 6])
    assert len(picture.getElementsByTagName("polyline")) == 2
    axes = result.plot()
    assert axes.get_xlabel() == "round" and len(axes.get_lines()) == 2
    axes.figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000
    figure, mine = plt.subplots()
    assert result.plot(ax=mine) is mine
    plt.close("all")


def test_without_optional_packages(tmp_path):
    """numpy alone is enough: pandas, Matplotlib, tqdm, SciPy and scikit-learn may be missing."""
    script = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "matplotlib", "tqdm", "scipy", "sklearn", "IPython"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
import numpy as np, mfl
x = np.random.default_rng(0).normal(size=(50, 3)); y = (x[:, 0] > 0).astype(int)
result = mfl.run(X=x, y=y, model="logistic", rounds=5, progress=True)
assert isinstance(result.history, dict) and result.history["round"][-1] == 5
assert isinstance(mfl.Store.session().runs(), dict)
assert "train loss" in repr(result) and "<svg" in result._repr_html_()
try:
    result.plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "plot() needs Matplotlib: pip install 'mfl[plot]'\n"


def test_bar(capsys):
    mfl.run(data="synthetic:5000x100", rounds=300, progress=True)
    assert "step" in capsys.readouterr().err
    mfl.run(X=X, y=Y, rounds=3)
    mfl.run(X=X, y=Y, rounds=3, progress=False)
    assert capsys.readouterr().err == ""
