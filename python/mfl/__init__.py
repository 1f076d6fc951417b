"""Momentum federated learning.

    import mfl
    result = mfl.run(X=X, y=y, model="logistic", algorithm="mfl", nodes=10, partition="dirichlet(0.3)", rounds=50)
    result.predict(X)

`mfl.run` trains one model over simulated nodes, `mfl.sweep` many settings at once; `mfl.Store` reads recorded runs, `mfl.load` a
model file; `mfl.sklearn` has estimators of scikit-learn. Everything has the bits of the program `mfl`: equal digests prove it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import ConfigError, DataError, Error, NetworkError, RunFailed, RunWarning
from ._model import Model, load
from ._native import version as native_version
from ._result import Result
from ._run import compare, run, sweep
from ._store import Store
from ._sweep import Comparison, Sweep
from ._wait import Progress

if TYPE_CHECKING:
    from .federation import node, server
    from .trainer import Trainer, serve

__all__ = ["Comparison", "ConfigError", "DataError", "Error", "Model", "NetworkError", "Progress", "Result", "RunFailed", "RunWarning",
           "Store", "Sweep", "Trainer", "compare", "load", "native_version", "node", "run", "serve", "server", "sweep"]

# Parts that most programs do not need are imported when they are first used.
_LAZY = {"server": "federation", "node": "federation", "Trainer": "trainer", "serve": "trainer"}


def __getattr__(name: str) -> Any:
    import importlib
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    if name == "__version__":
        return native_version()
    raise AttributeError(f"module 'mfl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
