"""libmfl.so through ctypes: mfl/capi/mfl.h is the contract. Calls release the GIL."""
from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._errors import Error, make_error

ABI_VERSION = 1
TRAIN, TEST = 0, 1


class Array(ctypes.Structure):
    """mfl_array."""

    _fields_ = [("type", ctypes.c_int32), ("index_type", ctypes.c_int32), ("data", ctypes.c_void_p),
                ("rows", ctypes.c_uint64), ("columns", ctypes.c_uint64), ("row_stride", ctypes.c_int64),
                ("column_stride", ctypes.c_int64), ("column_indices", ctypes.c_void_p), ("row_starts", ctypes.c_void_p)]


class Progress(ctypes.Structure):
    """mfl_progress."""

    _fields_ = [("step", ctypes.c_uint64), ("steps", ctypes.c_uint64), ("round", ctypes.c_uint64),
                ("settings", ctypes.c_uint64), ("settings_done", ctypes.c_uint64), ("train_loss", ctypes.c_double),
                ("seconds", ctypes.c_double), ("batch_loss", ctypes.c_double), ("start_loss", ctypes.c_double)]


ProgressCallback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Progress), ctypes.c_void_p)
WarningCallback = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)

_HANDLE, _TEXT, _OUT = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
_ARRAY = ctypes.POINTER(Array)
_LABELS, _VALUES = ctypes.c_void_p, ctypes.c_void_p

# Arguments of the functions that return a status; the last one, `error`, is left out.
_SIGNATURES: dict[str, list[Any]] = {
    "mfl_experiment_new": [_TEXT, _OUT],
    "mfl_experiment_set": [_HANDLE, _TEXT, _TEXT],
    "mfl_experiment_config": [_HANDLE, _OUT],
    "mfl_experiment_data": [_HANDLE, ctypes.c_int32, _ARRAY, _ARRAY],
    "mfl_experiment_names": [_HANDLE, _TEXT],
    "mfl_experiment_hooks": [_HANDLE, ProgressCallback, WarningCallback, ctypes.c_void_p],
    "mfl_experiment_run": [_HANDLE, _TEXT, _OUT],
    "mfl_experiment_sweep": [_HANDLE, _TEXT, _TEXT, _OUT],
    "mfl_model_open": [_TEXT, _TEXT, _OUT],
    "mfl_model_json": [_HANDLE, _OUT],
    "mfl_model_weights": [_HANDLE, _ARRAY],
    "mfl_model_predict": [_HANDLE, _ARRAY, _LABELS, ctypes.c_uint64, _VALUES, ctypes.c_uint64],
    "mfl_model_export": [_HANDLE, _TEXT, _TEXT],
    "mfl_store_query": [_TEXT, _TEXT, _OUT],
}


def library_path() -> Path:
    """libmfl.so: $MFL_LIBRARY, else the one inside this package."""
    chosen = os.environ.get("MFL_LIBRARY")
    return Path(chosen) if chosen else Path(__file__).parent / "_lib" / "libmfl.so"


def _load() -> ctypes.CDLL:
    path = library_path()
    hint = "set MFL_LIBRARY to a libmfl.so, or unset it" if os.environ.get("MFL_LIBRARY") else "install the package: pip install ."
    if not path.is_file():
        raise Error("internal", f"no native library at {path}", hint)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Error("internal", f"cannot load the native library: {error}", hint) from None
    library.mfl_abi_version.restype = ctypes.c_int32
    found = library.mfl_abi_version()
    if found != ABI_VERSION:
        raise Error("internal", f"{path} has version {found} of the C interface, this package needs {ABI_VERSION}",
                    "install package and library of the same version")
    library.mfl_version.restype = ctypes.c_char_p
    for name in ("mfl_free", "mfl_experiment_free", "mfl_experiment_stop", "mfl_model_free"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
        getattr(library, name).restype = None
    for name, arguments in _SIGNATURES.items():
        getattr(library, name).argtypes = [*arguments, _OUT]
        getattr(library, name).restype = ctypes.c_int32
    return library


_library: ctypes.CDLL | None = None
_loading = threading.Lock()


def library() -> ctypes.CDLL:
    """The loaded library. An mfl.Error says what to do if it cannot be loaded."""
    global _library
    with _loading:
        if _library is None:
            _library = _load()
        return _library


def _take(pointer: ctypes.c_void_p) -> str | None:
    """The text at a pointer that the library gave, which is freed."""
    if not pointer.value:
        return None
    try:
        return ctypes.string_at(pointer.value).decode("utf-8", "replace")
    finally:
        library().mfl_free(pointer)


def encode(text: str) -> bytes:
    if "\0" in text:
        raise make_error(2, json.dumps({"code": "bad_config", "message": "a text has a zero byte in it"}))
    return text.encode("utf-8", "surrogateescape")


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; another status than MFL_OK is an exception."""
    error = ctypes.c_void_p()
    status = getattr(library(), name)(*arguments, ctypes.byref(error))
    text = _take(error)
    if status != 0:
        raise make_error(status, text)


def call_text(name: str, *arguments: Any) -> str:
    """The same for a function whose last result is a text."""
    result = ctypes.c_void_p()
    try:
        call(name, *arguments, ctypes.byref(result))
    finally:
        text = _take(result)
    return text or ""


def version() -> str:
    """The version of the native library."""
    text: bytes = library().mfl_version()
    return text.decode()


def store_query(store: str | None, **request: Any) -> Any:
    """What a run store answers to a request, decoded."""
    wanted = {key: value for key, value in request.items() if value is not None}
    return json.loads(call_text("mfl_store_query", encode(store or ""), encode(json.dumps(wanted))))


class Experiment:
    """An mfl_experiment. Keeps the arrays alive that it reads."""

    def __init__(self, toml: str = "") -> None:
        handle = ctypes.c_void_p()
        call("mfl_experiment_new", encode(toml), ctypes.byref(handle))
        self._handle = handle
        self._kept: dict[object, object] = {}

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library().mfl_experiment_free(self._handle)
            self._handle = ctypes.c_void_p()

    def set(self, key: str, text: str) -> None:
        call("mfl_experiment_set", self._handle, encode(key), encode(text))

    def config(self) -> str:
        return call_text("mfl_experiment_config", self._handle)

    def data(self, part: int, x: Array, y: Array, kept: object) -> None:
        call("mfl_experiment_data", self._handle, part, ctypes.byref(x), ctypes.byref(y))
        self._kept[part] = kept

    def names(self, names: dict[str, Any]) -> None:
        call("mfl_experiment_names", self._handle, encode(json.dumps(names)))

    def hooks(self, progress: Callable[[Progress], bool] | None, warning: Callable[[dict[str, Any]], None] | None) -> None:
        """`progress` is called after every round, on the thread of the run, and stops it with True. Neither may raise."""

        def on_progress(pointer: Any, _user: Any) -> int:
            return int(bool(progress and progress(pointer.contents)))

        def on_warning(text: bytes, _user: Any) -> None:
            if warning:
                warning(json.loads(text))

        hooks = (ProgressCallback(on_progress) if progress else ProgressCallback(),
                 WarningCallback(on_warning) if warning else WarningCallback())
        call("mfl_experiment_hooks", self._handle, *hooks, None)
        self._kept["hooks"] = hooks

    def stop(self) -> None:
        library().mfl_experiment_stop(self._handle)

    def run(self, options: dict[str, Any]) -> Any:
        return json.loads(call_text("mfl_experiment_run", self._handle, encode(json.dumps(options))))

    def sweep(self, grid: dict[str, list[Any]], options: dict[str, Any]) -> Any:
        return json.loads(call_text("mfl_experiment_sweep", self._handle, encode(json.dumps(grid)), encode(json.dumps(options))))


class ModelHandle:
    """An mfl_model."""

    def __init__(self, what: str, store: str | None) -> None:
        handle = ctypes.c_void_p()
        call("mfl_model_open", encode(what), encode(store or ""), ctypes.byref(handle))
        self._handle = handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library().mfl_model_free(self._handle)
            self._handle = ctypes.c_void_p()

    def json(self) -> Any:
        return json.loads(call_text("mfl_model_json", self._handle))

    def weights(self) -> Array:
        """Valid as long as this handle."""
        array = Array()
        call("mfl_model_weights", self._handle, ctypes.byref(array))
        return array

    def predict(self, x: Array, labels: int | None, label_count: int, values: int | None, value_count: int) -> None:
        call("mfl_model_predict", self._handle, ctypes.byref(x), labels, label_count, values, value_count)

    def export(self, path: str, format: str) -> None:
        call("mfl_model_export", self._handle, encode(path), encode(format))
