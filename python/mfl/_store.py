"""Run stores: the SQLite files that `mfl run --store` and `mfl.run(store=...)` write."""
from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

from ._errors import config_error
from ._model import Model
from ._native import store_query
from ._tables import html_table, table, text_table

RUN_COLUMNS = ["run_id", "name", "status", "data", "model", "algorithm", "nodes", "eta", "gamma", "tau", "seed", "rounds", "train_loss",
               "test_loss", "test_accuracy", "created", "wall_seconds", "digest"]


class TemporaryStore:
    """A store in a folder of its own, which is deleted with this object or at the end of the process."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="mfl-")
        self.path = str(Path(self.folder) / "runs.db")
        self._delete = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def delete(self) -> None:
        self._delete()


_session: tuple[int, TemporaryStore] | None = None
_making = threading.Lock()


def session_store() -> str:
    """The store of the runs that were given none: one per process, deleted when the process ends."""
    global _session
    with _making:
        if _session is None or _session[0] != os.getpid() or not Path(_session[1].folder).is_dir():
            _session = (os.getpid(), TemporaryStore())
        return _session[1].path


def store_path(store: Any) -> str:
    """The path for the argument `store=`: None is the store of this process, True that of the program ("")."""
    if store is None:
        return session_store()
    if store is True:
        return ""
    if isinstance(store, Store):
        return store.path
    return str(os.fspath(store))


class Store:
    """Reads a run store; other processes may write it at the same time.

    Args:
        path: the file, which exists. None is the store of the program: `$MFL_STORE`, else its data folder.

    A run is named by its id, the first digits of it, its name, `latest` or `latest~1`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = "" if path is None else str(os.fspath(path))
        if self.path and not Path(self.path).exists():
            raise config_error(f"there is no run store at {self.path}", "mfl.run(store=PATH) creates one")

    @classmethod
    def session(cls) -> Store:
        """The temporary store of the runs of this process that were given no store."""
        return cls(session_store())

    def list(self, *, status: str | None = None, name: str | None = None, model: str | None = None, algorithm: str | None = None,
             limit: int | None = None) -> list[dict[str, Any]]:
        """The runs as `mfl runs list --json` has them, newest first."""
        found: list[dict[str, Any]] = store_query(self.path, what="runs", status=status, name=name, model=model, algorithm=algorithm,
                                                  limit=limit)["runs"]
        return found

    def runs(self, **filters: Any) -> Any:
        """The same as a table: a DataFrame if pandas is installed, else a dictionary of arrays."""
        return table([_row(run) for run in self.list(**filters)], RUN_COLUMNS)

    def show(self, run: str = "latest") -> dict[str, Any]:
        """One run as `mfl runs show --json` has it: configuration, schema, metrics, losses."""
        found: dict[str, Any] = store_query(self.path, what="run", run=run)["run"]
        return found

    def records(self, run: str = "latest") -> Any:
        """The evaluations of a run as a table: step, round, losses, accuracy, bytes, seconds."""
        return table(store_query(self.path, what="run", run=run)["records"])

    def rounds(self, run: str = "latest") -> Any:
        """Every round of a run as a table: step, training loss, bytes, digest."""
        return table(store_query(self.path, what="run", run=run, rounds=True)["rounds"])

    def nodes(self, run: str = "latest") -> Any:
        """Every node of every round of a federation, or of a simulation with trainers, as a table; other simulations have none."""
        return table(store_query(self.path, what="run", run=run, nodes=True)["nodes"])

    def model(self, run: str = "latest") -> Model:
        """The trained model of a run that is done."""
        return Model.open(run, self.path)

    def __len__(self) -> int:
        return len(self.list())

    def __repr__(self) -> str:
        runs = self.list()
        return f"<mfl.Store {self.path or 'of the program'}: {len(runs)} runs>" + ("\n" + _text(runs[:10]) if runs else "")

    def _repr_html_(self) -> str:
        return html_table(_SHORT, [[_row(run)[name] for name in _SHORT] for run in self.list(limit=20)])


_SHORT = ["run_id", "name", "status", "model", "algorithm", "eta", "rounds", "train_loss", "test_accuracy"]


def _text(runs: list[dict[str, Any]]) -> str:
    return text_table(_SHORT, [[_row(run)[name] for name in _SHORT] for run in runs])


def _row(run: dict[str, Any]) -> dict[str, Any]:
    return {**{name: run.get(name) for name in RUN_COLUMNS}, **{name: run["final"].get(name) for name in
            ("train_loss", "test_loss", "test_accuracy")}, "status": run.get("shown_status", run.get("status"))}
