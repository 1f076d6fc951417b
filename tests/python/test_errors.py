"""What is refused: the right exception, one clear line, advice; never a crash."""
import numpy as np
import pandas
import pytest
import scipy.sparse

import mfl
from conftest import two_classes

X, Y = two_classes(rows=40)


def with_value(value):
    x = X.copy()
    x[3, 2] = value
    return x


DATA = {
    "nan": (with_value(np.nan), Y, "finite|NaN|nan"),
    "infinity": (with_value(np.inf), Y, "finite|inf"),
    "nan in float64": (with_value(np.nan).astype("float64"), Y, "finite|NaN|nan"),
    "nan labels": (X, np.where(Y == 1, np.nan, 0.0), "finite|NaN|nan"),
    "text in X": (np.array([["a", "b"]] * 40), Y, "not numeric"),
    "text in a frame": (pandas.DataFrame({"a": [1.0] * 40, "city": ["x"] * 40}), Y, "'city'"),
    "objects": (np.array([[object(), 1]] * 40, dtype=object), Y, "not numeric"),
    "complex": (X.astype(complex), Y, "complex"),
    "dates": (np.full((40, 2), np.datetime64("2020-01-01")), Y, "."),
    "dates in a frame": (pandas.DataFrame({"a": [1.0] * 40, "day": pandas.to_datetime(["2020-01-01"] * 40)}), Y, "'day'"),
    "masked numbers": (np.ma.array(X, mask=X > 1), Y, "masked"),
    "missing numbers": (pandas.DataFrame({"a": pandas.array([1, None] * 20, dtype="Int64"), "b": [1.0] * 40}), Y, "finite"),
    "a dictionary": ({"a": [1.0] * 40}, Y, "a dict, not a matrix"),
    "text": ("hello", Y, "a str, not a matrix"),
    "one dimension": (X[:, 0], Y, "reshape"),
    "three dimensions": (X.reshape(40, 5, 1), Y, "flatten"),
    "a number": (np.float64(3), Y, "not a matrix"),
    "no rows": (X[:0], Y[:0], "empty"),
    "no columns": (X[:, :0], Y, "empty"),
    "nothing": ([], [], "empty"),
    "ragged": ([[1.0, 2.0], [3.0]], [0, 1], "not a matrix"),
    "wrong lengths": (X, Y[:-1], "40 rows.*39 labels"),
    "two columns of labels": (X, np.stack([Y, Y], axis=1), "one label per"),
    "a table of labels": (X, pandas.DataFrame({"a": Y, "b": Y}), "2 columns"),
    "one class of text": (X, ["a"] * 40, "class"),
    "three classes": (X, np.arange(40) % 3, "class"),
    "missing text": (X, [None, "a"] * 20, "missing"),
    "labels that read alike": (X, np.array([1, "1"] * 20, dtype=object), "read alike"),
    "no labels": (X, None, "without y"),
    "no samples": (None, Y, "without X"),
    "an empty sparse matrix": (scipy.sparse.csr_matrix((0, 3)), [], "empty"),
    "sparse nan": (scipy.sparse.csr_matrix(with_value(np.nan)), Y, "finite|NaN|nan"),
}


@pytest.mark.parametrize("what", DATA)
def test_bad_data(what):
    x, y, pattern = DATA[what]
    with pytest.raises(mfl.Error, match=pattern) as caught:
        mfl.run(X=x, y=y, rounds=2)
    error = caught.value
    assert isinstance(error, (mfl.DataError, mfl.ConfigError)) and isinstance(error, ValueError)
    assert error.code in ("bad_data", "bad_config") and error.exit_code in (2, 3)
    assert error.hint, error.message


def test_huge_whole_numbers():
    x = np.full((40, 2), 2**62, dtype="int64")
    x[::2] = 1
    assert mfl.run(X=x, y=Y, rounds=2, standardise="full").status == "done"
    with pytest.raises(mfl.Error):  # Python numbers beyond every element type
        mfl.run(X=[[10**400, 1]] * 4, y=[0, 1, 0, 1], rounds=2)


def test_bad_test_data():
    for x, y, pattern in ((X[:, :3], Y, "3 features, X has 5"), (X, Y[:3], "labels"), (X, None, "without y_test"), (None, Y, "without X_test")):
        with pytest.raises(mfl.DataError, match=pattern):
            mfl.run(X=X, y=Y, X_test=x, y_test=y, rounds=2)
    with pytest.raises(mfl.DataError, match="'c', which the training data does not have"):
        mfl.run(X=X, y=np.where(Y == 1, "a", "b"), X_test=X, y_test=["c"] * 40, rounds=2)
    with pytest.raises(mfl.DataError, match="without X"):
        mfl.run(data="synthetic:100x5", X_test=X, y_test=Y)


def test_bad_features_of_predictions():
    result = mfl.run(X=X, y=Y, rounds=2)
    with pytest.raises(mfl.DataError, match="3 features, the model has 5"):
        result.predict(X[:, :3])
    with pytest.raises(mfl.DataError, match="reshape"):
        result.predict(X[0])
    with pytest.raises(mfl.DataError):
        result.predict(with_value(np.nan))


@pytest.mark.parametrize("word, meant", [("learning_rate", "eta"), ("lr", "eta"), ("num_clients", "nodes"), ("num_rounds", "rounds"),
                                         ("max_iter", "steps"), ("random_state", "seed"), ("strategy", "algorithm"), ("l2", "lambda_"),
                                         ("dataset", "data"), ("loss", "model"), ("gama", "gamma"), ("batchsize", "batch_size"),
                                         ("roundz", "rounds"), ("min_fit_clients", "quorum")])
def test_words_of_other_frameworks(word, meant):
    with pytest.raises(mfl.ConfigError, match=f"did you mean {meant}\\?") as caught:
        mfl.run(X=X, y=Y, **{word: 3})
    assert f'"{word}"' in caught.value.message and caught.value.exit_code == 2


@pytest.mark.parametrize("keywords, pattern", [
    ({"eta": -1}, "eta"), ({"eta": "fast"}, "eta"), ({"gamma": 1.0}, "gamma"), ({"nodes": 0}, "nodes"), ({"nodes": 41}, "node|sample"),
    ({"algorithm": "fedagv"}, "fedavg"), ({"model": "svn"}, "svm"), ({"partition": "dirichlet"}, "alpha|dirichlet"),
    ({"rounds": 2.5}, "rounds"), ({"zzz": 1}, "zzz"), ({"eta": object()}, "object"), ({"nodes": [1, 2]}, "one value"), ({"partition": np.arange(40)}, "a list of 40"), ({"nodes": [(X, Y)]}, "one value")])
def test_bad_values(keywords, pattern):
    with pytest.raises(mfl.ConfigError, match=pattern):
        mfl.run(X=X, y=Y, **{"rounds": 2, **keywords})


def test_bad_configurations(tmp_path):
    for config, pattern in (("none.toml", "none.toml"), ("[algorithm]\neta = ", "toml:2"), ({"algorithm": {"etta": 1}}, "eta"),
                            ({"nope": {"a": 1}}, "nope"), ({"nope.a": 1}, "nope"), ({3: 4}, "3"), (X, "name the arrays"), (7, "int"),
                            (tmp_path, "cannot read"), ("a\0b=1", "zero byte")):
        with pytest.raises(mfl.ConfigError, match=pattern):
            mfl.run(config, rounds=2)


def test_advice_is_on_keywords():
    with pytest.raises(mfl.DataError) as caught:
        mfl.run(X=X, y=np.arange(40) % 3)
    assert 'model="softmax"' in caught.value.hint and "--" not in caught.value.hint
    with pytest.raises(mfl.DataError, match='precision="f64"'):
        mfl.run(X=X.astype("float64") * 1e300, y=Y, rounds=2)


def test_errors_have_parts():
    with pytest.raises(mfl.ConfigError) as caught:
        mfl.run(X=X, y=Y, learning_rate=1)
    assert str(caught.value) == f"{caught.value.message}\nhint: {caught.value.hint}"
    assert isinstance(caught.value, mfl.Error) and caught.value.code == "bad_config"


def test_store_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("not a store")
    with pytest.raises(mfl.Error):
        mfl.run(X=X, y=Y, rounds=2, store=tmp_path / "file")
    with pytest.raises(mfl.Error):
        mfl.run(X=X, y=Y, rounds=2, store=tmp_path / "file" / "runs.db")


def test_source_that_does_not_exist():
    with pytest.raises(mfl.DataError, match="none.csv"):
        mfl.run(data="csv:none.csv")


@pytest.mark.parametrize("keywords, word", [({"data": "mnist"}, "data"), ({"label": "y"}, "label"), ({"drop": ["a"]}, "drop"),
                                            ({"data_source": "mnist"}, "data_source"), ({"test_source": "mnist"}, "test_source")])
def test_keywords_that_would_be_ignored(keywords, word):
    with pytest.raises(mfl.ConfigError, match=f"^{word} is about data that mfl reads from files"):
        mfl.run(X=X, y=Y, rounds=2, **keywords)
    with pytest.raises(mfl.ConfigError, match=f"^{word} is about"):
        mfl.sweep(grid={"eta": [0.1]}, X=X, y=Y, rounds=2, **keywords)
    with pytest.raises(mfl.ConfigError, match="need a trainer"):
        mfl.run(X=X, y=Y, rounds=2, trainer_deadline=5)


@pytest.mark.parametrize("word, meant", [("mu", 'algorithm="fedprox(mu=0.01)"'), ("server_lr", "server_lr=0.1"), ("beta", "gamma"),
                                         ("dirichlet", 'partition="dirichlet(0.3)"')])
def test_words_of_the_field(word, meant):
    with pytest.raises(mfl.ConfigError) as caught:
        mfl.run(X=X, y=Y, **{word: 0.9})
    assert f'unknown keyword "{word}"; ' in caught.value.message and meant in caught.value.message and "--" not in caught.value.message


def test_one_class_is_an_error_with_a_way_out():
    with pytest.raises(mfl.DataError, match="two classes") as caught:
        mfl.run(X=X, y=np.zeros(40), rounds=2)
    assert "schema_classes" in caught.value.hint
    mfl.run(X=X, y=np.zeros(40), rounds=2, model="logistic", schema_classes=[0, 1])


def test_parameters_without_effect_are_warned_of():
    assert [warning["id"] for warning in mfl.run(X=X, y=Y, rounds=2, algorithm="fl", gamma=0.9).warnings] == ["no_effect"]
    assert mfl.run(X=X, y=Y, rounds=2, algorithm="fl").warnings == []
