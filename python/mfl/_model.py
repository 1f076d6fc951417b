"""Trained models: weights and predictions."""
from __future__ import annotations

import ctypes
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays
from ._arrays import AnyArray
from ._errors import config_error, data_error
from ._native import ModelHandle


class Model:
    """A trained model. Made by `mfl.load`, `Result.model` and `Store.model`; may be shared between threads, copied and pickled.

    Attributes:
        info: what `mfl model show --json` prints: model, precision, tensors, schema, digest, run.
        classes: the classes in the order of the columns of `predict_proba`; None for a regression.
    """

    def __init__(self, handle: ModelHandle, labels: AnyArray | None = None, dtype: Any = None) -> None:
        self._handle = handle
        self._labels, self._dtype = labels, dtype
        self.info: dict[str, Any] = handle.json()
        texts = self.info.get("classes") or []
        self.classes: AnyArray | None = _arrays.class_values(texts, labels, dtype) if texts else None

    @classmethod
    def open(cls, what: str, store: str | None = None, labels: AnyArray | None = None, dtype: Any = None) -> Model:
        return cls(ModelHandle(what, store), labels, dtype)

    @property
    def name(self) -> str:
        """`logistic`, for example."""
        return str(self.info["model"])

    @property
    def digest(self) -> str:
        """SHA-256 of the weights."""
        return str(self.info["digest"])

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features in order, where the training data had names."""
        names: list[str] | None = self.info["schema"].get("features")
        return names

    @property
    def weights(self) -> dict[str, AnyArray]:
        """The tensors by name: `weights` of shape (columns,) or (columns, classes), and `intercept` if the model has one."""
        array = self._handle.weights()
        kind = np.dtype("float32") if array.type == _arrays.TYPES["float32"] else np.dtype("float64")
        memory = ctypes.string_at(array.data, int(array.rows) * kind.itemsize) if array.rows else b""
        numbers = np.frombuffer(memory, kind)
        found, start = {}, 0
        for tensor in self.info["tensors"]:
            size = int(np.prod(tensor["shape"]))
            found[tensor["name"]] = numbers[start:start + size].reshape(tensor["shape"]).copy()
            start += size
        return found

    def _features(self, X: Any) -> _arrays.Features:
        """X with its columns in the order of the model: those of a table are found by name."""
        if self.name == "external":
            raise config_error("mfl cannot predict with a model that a trainer has trained: it knows the weights alone",
                               "load `weights` into the trainer's model")
        names = self.feature_names
        if names and _arrays.is_table(X):
            missing = [name for name in names if name not in X.columns]
            if missing:
                raise data_error(f"X lacks columns of the model: {', '.join(repr(name) for name in missing[:5])}",
                                 "give a table with the columns of the training data, or an array with as many columns")
            if _arrays.column_names(X) != names:
                X = X[names]
        rows = _arrays.features(X)
        columns = self.info["schema"]["columns"]
        if rows.columns != columns:
            raise data_error(f"X has {rows.columns} features, the model has {columns}", "give the columns of the training data, in their order")
        return rows

    def _predict(self, X: Any, labels: bool, values: bool) -> tuple[AnyArray, AnyArray]:
        rows = self._features(X)
        width = len(self.info["value_names"])
        classes = np.empty(rows.rows if labels else 0, dtype="uint32")
        numbers = np.empty((rows.rows if values else 0, width))
        self._handle.predict(rows.array, classes.ctypes.data if labels else None, classes.size,
                             numbers.ctypes.data if values else None, numbers.size)
        return classes, numbers

    def predict(self, X: Any) -> AnyArray:
        """The class of each row as the labels of the training data had it, or the number that a regression predicts."""
        if self.classes is None:
            return self._predict(X, labels=False, values=True)[1][:, 0]
        return self.classes[self._predict(X, labels=True, values=False)[0]]

    def predict_proba(self, X: Any) -> AnyArray:
        """The probability of each class, one column per class in the order of `classes`; for logistic and softmax."""
        if not any(name.startswith("probability") for name in self.info["value_names"]):
            raise config_error(f"the model {self.name} has no probabilities",
                               "use decision_function, or train model=\"logistic\" or \"softmax\"" if self.classes is not None
                               else "a regression has predict")
        return self._predict(X, labels=False, values=True)[1]

    def decision_function(self, X: Any) -> AnyArray:
        """The score of each row, above zero for the second class; of softmax one column per class.

        For svm and squared-svm it is the number that `mfl predict` writes. For logistic and softmax, whose output is
        probabilities, it is computed from the weights in float64.
        """
        if self.classes is None:
            raise config_error("a regression has no decision function", "use predict")
        if self.info["value_names"] == ["score"]:
            return self._predict(X, labels=False, values=True)[1][:, 0]
        return self._linear(X)

    def _linear(self, X: Any) -> AnyArray:
        self._features(X)  # the same checks, and the same errors
        if _arrays.is_table(X):
            names = self.feature_names
            X = (X[names] if names else X).to_numpy()
        numbers: Any = X.tocsr() if _arrays.is_sparse(X) else np.asarray(X, dtype="float64")
        done = self.info["schema"].get("preprocessing") or {}
        scale = self.info.get("scale")
        tensors = self.weights
        matrix = tensors["weights"].astype("float64")
        offset = np.zeros(matrix.shape[1:])
        deviations = np.asarray(done.get("deviations") or np.ones(len(matrix)))
        matrix = (matrix.T / deviations).T
        if done.get("means"):
            offset = offset - np.asarray(done["means"]) @ matrix
        if "intercept" in tensors:
            offset = offset + tensors["intercept"].reshape(offset.shape)
        default = 1 / 255 if getattr(numbers, "dtype", None) == np.uint8 else 1.0
        found: AnyArray = numbers @ (matrix * (default if scale is None else scale)) + offset
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the model: `.npz`, which `mfl.load`, `mfl predict` and `numpy.load` read, `.onnx`, or `.safetensors`, the weights alone."""
        path = Path(path)
        if path.suffix not in (".npz", ".onnx", ".safetensors"):
            raise config_error(f"{path} ends in none of .npz, .onnx and .safetensors", "choose one of these formats")
        self._handle.export(str(path), path.suffix[1:])
        return path

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="mfl-") as folder:
            return {"file": self.save(Path(folder) / "model.npz").read_bytes(), "labels": self._labels, "dtype": self._dtype}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory(prefix="mfl-") as folder:
            path = Path(folder) / "model.npz"
            path.write_bytes(state["file"])
            self.__init__(ModelHandle(str(path), None), state["labels"], state["dtype"])  # type: ignore[misc]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in self.weights.items())
        return f"<mfl.Model {self.name}: {shapes}, digest {self.digest[:12]}>"


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `Result.save`, `Model.save` or `mfl model export --format npz` wrote."""
    return Model.open(os.fspath(Path(path).resolve()))


