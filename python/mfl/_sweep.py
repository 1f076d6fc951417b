"""Several runs together: sweeps and comparisons."""
from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from ._result import Result, plot_results
from ._tables import html_table, table, text, text_table


class Sweep:
    """The runs of a sweep, in the order of the grid. Behaves as a sequence of `mfl.Result`.

    Attributes:
        grid: the values of each key that varied.
        status: `done`, or `interrupted` if it was stopped.
    """

    def __init__(self, grid: dict[str, list[Any]], results: list[Result], status: str) -> None:
        self.grid = grid
        self.results = results
        self.status = status

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, number: int) -> Result:
        return self.results[number]

    def _varied(self, result: Result) -> dict[str, Any]:
        """What the grid sets in a run, by short names."""
        found = {}
        for name in self.grid:
            table_name, key = name.split(".")
            found[table_name if key == "name" and table_name != "run" else key] = result.config[table_name][key]
        return found

    def _rows(self) -> list[dict[str, Any]]:
        return [{"run_id": result.run_id, **self._varied(result),
                 "status": result.status, "train_loss": result.train_loss, "test_loss": result.test_loss,
                 "test_accuracy": result.test_accuracy, "rounds": result.rounds, "digest": result.digest} for result in self.results]

    @property
    def table(self) -> Any:
        """One row per run: a DataFrame if pandas is installed, else a dictionary of arrays."""
        return table(self._rows())

    @property
    def best(self) -> Result:
        """The run with the highest test accuracy, or the lowest training loss where there is none."""
        done = [result for result in self.results if result.status == "done"]
        if not done:
            from ._errors import RunFailed
            raise RunFailed("run_failed", "no run of this sweep is done", "lower eta or gamma, or continue it with reuse=True")
        if all(result.test_accuracy is not None for result in done):
            return max(done, key=lambda result: result.test_accuracy or 0.0)
        return min(done, key=lambda result: float("inf") if result.train_loss is None else result.train_loss)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the training loss of every run with Matplotlib; returns the axes."""
        titles = [", ".join(f"{name} {text(value)}" for name, value in self._varied(result).items()) for result in self.results]
        return plot_results(self.results, ax, titles, **style)

    def _shown(self) -> tuple[list[str], list[list[Any]]]:
        rows = self._rows()
        names = [name for name in (rows[0] if rows else {}) if name != "digest" and any(row[name] is not None for row in rows)]
        return names, [[row[name] for name in names] for row in rows]

    def __repr__(self) -> str:
        return text_table(*self._shown()) if self.results else "<mfl.Sweep: no runs>"

    def _repr_html_(self) -> str:
        return html_table(*self._shown())


class Comparison:
    """What `mfl runs compare` says of runs.

    Attributes:
        data: everything that `mfl runs compare --json` prints.
        headlines: sentences on each setting and the baseline.
        settings: one object per setting, runs that differ only in the seed being one.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.settings: list[dict[str, Any]] = data["settings"]
        self.headlines: list[str] = [line if isinstance(line, str) else str(line.get("text", line)) for line in data.get("headlines", [])]

    def _rows(self) -> list[dict[str, Any]]:
        return [{"run_id": run["run_id"], "name": run["name"], "model": run["model"], "algorithm": run["algorithm"], "eta": run["eta"],
                 "gamma": run["gamma"], "tau": run["tau"], "train_loss": run["final"]["train_loss"],
                 "test_accuracy": run["final"]["test_accuracy"], "rounds_to_target": run["rounds_to_target"],
                 "bytes_to_target": run["bytes_to_target"], "digest": run["digest"]} for run in self.data["runs"]]

    @property
    def table(self) -> Any:
        """One row per run: a DataFrame if pandas is installed, else a dictionary of arrays."""
        return table(self._rows())

    def _shown(self) -> tuple[list[str], list[list[Any]]]:
        rows = self._rows()
        names = [name for name in rows[0] if name != "digest" and any(row[name] not in (None, "") for row in rows)]
        return names, [[row[name] for name in names] for row in rows]

    def __repr__(self) -> str:
        return "\n".join([text_table(*self._shown()), *self.headlines])

    def _repr_html_(self) -> str:
        return html_table(*self._shown()) + "".join(f"<p>{escape(line)}</p>" for line in self.headlines)
