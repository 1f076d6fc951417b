"""mfl.run: inputs, configuration, results."""
import json
import pickle
import threading
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse

import mfl
from conftest import three_classes, two_classes


def test_result_has_everything(tmp_path):
    x, y = two_classes()
    result = mfl.run(X=x[:150], y=y[:150], X_test=x[150:], y_test=y[150:], model="logistic", rounds=20, name="mine")
    assert result.status == "done" and result.message == "" and result.rounds == 20
    assert len(result.run_id) == 8 and len(result.digest) == 64
    assert result.test_accuracy > 0.8 and result.train_loss < 0.6 and result.test_loss < 0.7
    assert result.config["model"]["name"] == "logistic" and result.config["run"]["name"] == "mine"
    assert result.weights["weights"].shape == (5,) and result.weights["intercept"].shape == (1,)
    assert result.weights["weights"].dtype == np.float32
    assert isinstance(result.history, pandas.DataFrame)
    assert list(result.history["round"])[-1] == 20 and result.history["train_loss"].iloc[-1] == result.train_loss
    assert len(result.every_round) == 21
    assert "mine" in repr(result) and result.digest in repr(result)
    assert (result.predict(x[150:]) == y[150:]).mean() == result.test_accuracy
    proba = result.predict_proba(x)
    assert proba.shape == (200, 2) and np.allclose(proba.sum(axis=1), 1)
    score = result.decision_function(x)
    assert np.allclose(1 / (1 + np.exp(-score)), proba[:, 1], atol=1e-5)
    assert result.warnings == []
    assert result.test_metrics["accuracy"] == result.test_accuracy


def test_default_store_is_temporary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MFL_STORE", str(tmp_path / "program.db"))
    x, y = two_classes()
    result = mfl.run(X=x, y=y, rounds=2)
    assert list(tmp_path.iterdir()) == []
    assert result.store == mfl.Store.session().path and Path(result.store).exists()
    mfl.run(X=x, y=y, rounds=2, store="here.db")
    assert Path("here.db").exists()
    mfl.run(X=x, y=y, rounds=2, store=True)
    assert Path("program.db").exists() and len(mfl.Store()) == 1


def test_configurations_of_every_form(tmp_path):
    x, y = two_classes()
    text = '[algorithm]\nname = "fl"\neta = 0.05\n[run]\nrounds = 4\n'
    (tmp_path / "e.toml").write_text(text)
    forms = [text, tmp_path / "e.toml", str(tmp_path / "e.toml"), {"algorithm": {"name": "fl", "eta": 0.05}, "run": {"rounds": 4}},
             {"algorithm.name": "fl", "algorithm.eta": 0.05, "run.rounds": 4}, {"algorithm": "fl", "eta": np.float64(0.05), "rounds": 4}]
    expected = mfl.run(X=x, y=y, algorithm="fl", eta=0.05, rounds=4)
    for form in forms:
        assert mfl.run(form, x, y).digest == expected.digest, form
    assert mfl.run(text, x, y, eta=0.1).config["algorithm"]["eta"] == 0.1
    assert mfl.run(X=x, y=y, rounds=4, lambda_=0.5).config["model"]["lambda"] == 0.5
    assert mfl.run(X=x, y=y, rounds=4, schema_positive=0).config["schema"]["positive"] == "0"
    assert mfl.run(X=x, y=y, rounds=4, intercept=False, drop_last=None).config["model"]["intercept"] is False


def test_data_of_the_program(program):
    told = program("run", "--data", "synthetic:300x8", "--rounds", 4)
    result = mfl.run(data="synthetic:300x8", rounds=4)
    assert result.digest == told["digest"]
    assert list(result.classes) == ["odd", "even"]


def test_lists_of_columns(tmp_path, program):
    rows = [f"{i},{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["id,first name,b,label", *rows]) + "\n")
    result = mfl.run(data=f"csv:{tmp_path}/d.csv", drop=["id"], rounds=3)
    assert result.schema["features"] == ["first name", "b"] and list(result.classes) == ["no", "yes"]
    assert result.digest == program("run", "--data", f"csv:{tmp_path}/d.csv", "--drop", "id", "--rounds", 3)["digest"]
    assert mfl.run(data=f"csv:{tmp_path}/d.csv", features=["b", "first name"], rounds=3).schema["features"] == ["b", "first name"]
    weighted = mfl.run(data=f"csv:{tmp_path}/d.csv", drop=["id"], rounds=3, class_weight=[1, 2.5])
    assert weighted.config["model"]["class_weight"].replace(" ", "").split(",")[1] == "2.5"


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bool"])
def test_other_element_types(dtype):
    draw = np.random.default_rng(0)
    x = (draw.integers(0, 2, (60, 4)) if dtype == "bool" else draw.integers(0, 100, (60, 4))).astype(dtype)
    y = (x[:, 0] > x[:, 0].mean()).astype(int)
    result = mfl.run(X=x, y=y, rounds=3, precision="f64")
    assert result.digest == mfl.run(X=x.astype("float64"), y=y, rounds=3, precision="f64").digest
    assert (result.predict(x) == result.predict(x.astype("float64"))).all()


def test_lists():
    assert mfl.run(X=[[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [1.0, 0.1]], y=[0, 1, 0, 1], nodes=2, rounds=3).status == "done"


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "lil_matrix"])
def test_sparse(kind):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(80, 30)) * (draw.random((80, 30)) < 0.2)
    y = (x[:, :5].sum(axis=1) > 0).astype(int)
    sparse = getattr(scipy.sparse, kind)(x)
    result = mfl.run(X=sparse, y=y, model="logistic", rounds=5, eta=0.1, precision="f64")
    dense = mfl.run(X=x, y=y, model="logistic", rounds=5, eta=0.1, precision="f64")
    assert np.allclose(result.weights["weights"], dense.weights["weights"])
    assert (result.predict(sparse) == dense.predict(x)).all()
    assert np.allclose(result.predict_proba(sparse), dense.predict_proba(x))
    assert np.allclose(result.decision_function(sparse), dense.decision_function(x))


def test_sparse_that_is_not_canonical():
    twice = scipy.sparse.csr_matrix((np.ones(4), np.array([1, 1, 2, 0]), np.array([0, 2, 4])), shape=(2, 3))
    x = scipy.sparse.vstack([twice] * 5).tocsr()
    before = x.data.copy()
    assert mfl.run(X=x, y=[0, 1] * 5, nodes=1, rounds=2).status == "done"
    assert (x.data == before).all()


def test_frames():
    x, y = two_classes(dtype="float64")
    frame = pandas.DataFrame(x, columns=["age", "bmi", "a", "b", "c"])
    labels = pandas.Series(np.where(y == 1, "malignant", "benign"), name="diagnosis")
    result = mfl.run(X=frame, y=labels, model="logistic", rounds=10)
    assert result.digest == mfl.run(X=x, y=y, model="logistic", rounds=10).digest
    assert result.schema["features"] == ["age", "bmi", "a", "b", "c"] and result.schema["label"] == "diagnosis"
    assert list(result.classes) == ["benign", "malignant"]
    assert set(result.predict(frame)) == {"benign", "malignant"}
    mixed = frame[["c", "b", "a", "bmi", "age"]].assign(other=1)
    assert (result.predict(mixed) == result.predict(x)).all()
    assert np.allclose(result.decision_function(mixed), result.decision_function(x))
    with pytest.raises(mfl.DataError, match="'bmi'"):
        result.predict(frame.drop(columns="bmi"))
    kinds = frame.astype({"age": "float32", "a": "Float64"}).assign(a=lambda t: t.a > 0)
    assert mfl.run(X=kinds, y=labels, rounds=2).status == "done"


@pytest.mark.parametrize("labels", [
    lambda y: np.where(y == 1, "yes", "no"), lambda y: np.where(y == 1, "yes", "no").astype(object), lambda y: y == 1,
    lambda y: np.where(y == 1, 1, -1), lambda y: y + 1.0, lambda y: pandas.Categorical(np.where(y == 1, "b", "a")),
    lambda y: pandas.Series(np.where(y == 1, "b", "a"), dtype="category"), lambda y: pandas.Series(y, dtype="category"),
    lambda y: pandas.DataFrame({"label": y}), lambda y: y.reshape(-1, 1), lambda y: y.tolist(), lambda y: y.astype("int8"),
    lambda y: y.astype(object), lambda y: np.where(y == 1, 2**60 + 1, 2**60), lambda y: np.where(y == 1, "10", "9"),
    lambda y: pandas.Series(np.where(y == 1, "x", "w"), dtype="string")])
def test_labels(labels):
    x, y = two_classes()
    given = labels(y)
    result = mfl.run(X=x, y=given, model="logistic", rounds=20)
    flat = np.asarray(given).ravel()
    found = result.predict(x)
    assert found.shape == (200,)
    assert (found == flat).mean() > 0.8
    assert set(result.classes.tolist()) == set(flat.tolist())


def test_many_classes_and_regression():
    x, y = three_classes()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    result = mfl.run(X=x, y=names, model="softmax", rounds=60)
    assert (result.predict(x) == names).mean() > 0.85
    assert result.predict_proba(x).shape == (300, 3) and result.weights["weights"].shape == (4, 3)
    assert (result.decision_function(x).argmax(axis=1) == result.predict_proba(x).argmax(axis=1)).all()
    target = x @ [1.0, 2.0, 3.0, 4.0] + 5
    regression = mfl.run(X=x, y=target, model="linear", rounds=200, precision="f64")
    assert np.allclose(regression.predict(x), target, atol=0.05)
    assert regression.classes is None
    assert mfl.run(X=x, y=pandas.Series(target), model="linear", rounds=2).status == "done"
    assert mfl.run(X=x, y=x[:, 0] > 0, model="linear", rounds=2).status == "done"
    assert mfl.run(X=x, y=[2**60, 1] * 150, model="linear", rounds=2, eta=0.01).status == "done"
    with pytest.raises(mfl.ConfigError, match="no probabilities"):
        regression.predict_proba(x)
    with pytest.raises(mfl.ConfigError, match="no decision function"):
        regression.decision_function(x)


def test_svm_has_scores():
    x, y = two_classes()
    result = mfl.run(X=x, y=y, rounds=20)
    assert ((result.decision_function(x) > 0) == (result.predict(x) == 1)).all()
    with pytest.raises(mfl.ConfigError, match="decision_function") as caught:
        result.predict_proba(x)
    assert caught.value.code == "bad_config"


def test_callback_stops_and_raises():
    x, y = two_classes()
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.round >= 3

    result = mfl.run(X=x, y=y, rounds=50, callback=third)
    assert result.status == "interrupted" and result.rounds == 3 and [p.round for p in seen][-1] == 3
    assert "resume=result" in result.message
    whole = mfl.run(X=x, y=y, rounds=50)
    again = mfl.run(X=x, y=y, resume=result)
    assert again.status == "done" and again.digest == whole.digest and again.run_id == result.run_id
    with pytest.raises(mfl.RunFailed, match="no model"):
        result.predict(x)

    def broken(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mfl.run(X=x, y=y, rounds=50, callback=broken)


def test_resume_by_name(tmp_path):
    x, y = two_classes()
    store = tmp_path / "runs.db"
    stopped = mfl.run(X=x, y=y, rounds=30, store=store, callback=lambda progress: progress.round >= 2, model="logistic")
    assert mfl.run(X=x, y=y, store=store, resume="latest").digest == mfl.run(X=x, y=y, rounds=30, model="logistic").digest
    with pytest.raises(mfl.ConfigError, match="own configuration"):
        mfl.run(X=x, y=y, store=store, resume=stopped.run_id, eta=0.1)


def test_resume_needs_the_same_data():
    x, y = two_classes()
    stopped = mfl.run(X=x, y=y, rounds=30, callback=lambda progress: progress.round >= 2)
    with pytest.raises(mfl.Error):
        mfl.run(X=x + 1, y=y, resume=stopped)


def test_reuse(tmp_path):
    x, y = two_classes()
    first = mfl.run(X=x, y=y, rounds=3, store=tmp_path / "runs.db")
    second = mfl.run(X=x, y=y, rounds=3, store=tmp_path / "runs.db", reuse=True)
    assert second.data["reused"] and second.run_id == first.run_id


def test_divergence_is_a_warning():
    x, y = two_classes()
    with pytest.warns(mfl.RunWarning, match="diverged"):
        result = mfl.run(X=x * 1e3, y=y.astype(float), model="linear", eta=1e6, rounds=200)
    assert result.status == "diverged"
    with pytest.raises(mfl.RunFailed, match="diverged"):
        result.weights


def test_threads_at_the_same_time():
    x, y = two_classes(rows=2000, columns=20)
    expected = [mfl.run(X=x, y=y, rounds=30, seed=seed).digest for seed in range(1, 5)]
    found, errors = {}, []

    def train(seed):
        try:
            for _ in range(3):
                found[seed] = mfl.run(X=x, y=y, rounds=30, seed=seed).digest
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert [found[seed] for seed in range(1, 5)] == expected


def test_models_are_shared_by_threads():
    x, y = two_classes(rows=5000, columns=20)
    result = mfl.run(X=x, y=y, model="logistic", rounds=5)
    expected, wrong = result.predict_proba(x), []

    def predict():
        for _ in range(5):
            if not np.array_equal(result.predict_proba(x), expected):
                wrong.append(1)

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pickle_and_files(tmp_path):
    x, y = two_classes()
    result = mfl.run(X=x, y=np.where(y == 1, "b", "a"), model="logistic", rounds=5)
    for copy in (pickle.loads(pickle.dumps(result)), pickle.loads(pickle.dumps(result.model)), mfl.load(result.save(tmp_path / "m.npz"))):
        assert (copy.predict(x) == result.predict(x)).all()
        assert np.array_equal(copy.predict_proba(x), result.predict_proba(x))
    assert pickle.loads(pickle.dumps(result)).digest == result.digest
    assert np.load(tmp_path / "m.npz")["weights"].shape == (5,)
    assert result.save(tmp_path / "m.onnx").stat().st_size > 100
    with pytest.raises(mfl.ConfigError, match="none of .npz"):
        result.save(tmp_path / "m.pkl")
    with pytest.raises(mfl.Error):
        mfl.load(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes((tmp_path / "m.npz").read_bytes()[:-7])
    with pytest.raises(mfl.DataError):
        mfl.load(tmp_path / "bad.npz")
    assert "logistic" in repr(mfl.load(tmp_path / "m.npz"))


def test_start_from_a_model(tmp_path):
    x, y = two_classes()
    first = mfl.run(X=x, y=y, model="logistic", rounds=5)
    more = mfl.run(X=x, y=y, model="logistic", rounds=5, init=first.save(tmp_path / "m.npz"))
    assert more.train_loss < first.train_loss


def test_json_types_of_attributes():
    x, y = two_classes()
    json.dumps(mfl.run(X=x, y=y, rounds=2).data)


def test_lazy_names():
    assert "server" in dir(mfl) and mfl.__version__ == mfl.native_version()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mfl.nothing


def test_keywords_override_what_says_the_same():
    X, Y = two_classes()
    text = "[algorithm]\ntau = 3\n[run]\nsteps = 400\n"
    assert mfl.run(text, X=X, y=Y, rounds=2).rounds == 2
    run = mfl.run(text, X=X, y=Y, rounds=2, local_epochs=1)
    assert run.config["algorithm"]["local_epochs"] == 1 and run.rounds == 2
    with pytest.raises(mfl.ConfigError, match="both say how long"):
        mfl.run(X=X, y=Y, rounds=2, steps=5)
