"""What a run leaves: numbers, curves, and a model that predicts."""
from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import AnyArray
from ._curve import svg_curve
from ._errors import RunFailed
from ._model import Model
from ._native import store_query
from ._tables import table, text

HISTORY = ["step", "round", "train_loss", "batch_loss", "start_loss", "test_loss", "test_accuracy", "bytes_up", "bytes_down", "wall_seconds"]


class Result:
    """A finished, stopped or diverged run. Results can be pickled; they do not refer to the training data.

    Attributes:
        data: everything that `mfl run --json` prints; the other attributes are taken from it.
        run_id: 8 hexadecimal digits.
        status: `done`, `interrupted` or `diverged`.
        message: why the run ended early, or how to continue it.
        config: the whole configuration, by table and key.
        digest: SHA-256 of the final weights.
        train_loss, test_loss, test_accuracy: of the final weights; None where they were not measured. `train_loss` is F(w), over all
            samples.
        rounds: how many rounds were trained.
        warnings: each with `id`, `step`, `message` and `hint`.
        store: the file that has the run.
    """

    def __init__(self, data: dict[str, Any], store: str, labels: AnyArray | None = None, dtype: Any = None) -> None:
        self.data = data
        self.store = store
        self._labels, self._dtype = labels, dtype
        self._model: Model | None = None
        self.run_id: str = data["run_id"]
        self.status: str = data["status"]
        self.message: str = data.get("message") or ""
        self.config: dict[str, dict[str, Any]] = data["config"]
        self.schema: dict[str, Any] = data.get("schema") or {}
        self.digest: str = data["digest"]
        self.train_loss: float | None = data["final"]["train_loss"]
        self.test_loss: float | None = data["final"]["test_loss"]
        self.test_accuracy: float | None = data["final"]["test_accuracy"]
        self.test_metrics: dict[str, Any] | None = data.get("test_metrics")
        self.rounds: int = data["rounds"]
        self.warnings: list[dict[str, Any]] = data.get("warnings") or []
        self._records: list[dict[str, Any]] = store_query(store, what="run", run=self.run_id)["records"]
        if self.status == "done":
            self._model = Model.open(self.run_id, store, labels, dtype)

    @property
    def model(self) -> Model:
        """The trained model. A run that is not done has none: mfl.RunFailed says what to do."""
        if self._model is None:
            raise RunFailed("run_failed", f"run {self.run_id} {self.status}: it has no model",
                            self.message if self.status == "interrupted" else "lower eta or gamma")
        return self._model

    @property
    def weights(self) -> dict[str, AnyArray]:
        """The tensors of the model by name."""
        return self.model.weights

    @property
    def classes(self) -> AnyArray | None:
        """The classes in the order of `predict_proba`; None for a regression."""
        return self.model.classes

    @property
    def history(self) -> Any:
        """The records of the run, about a hundred: a DataFrame if pandas is installed, else a dictionary of arrays. `train_loss` is F(w)
        over all samples, `batch_loss` the mean over the batches of the round that ended there, `start_loss` the loss of where nodes
        start if that is not w; each is NaN where it was not measured."""
        return table(self._records, HISTORY)

    @property
    def every_round(self) -> Any:
        """Every round with its losses, bytes and digest, read from the store."""
        return table(store_query(self.store, what="run", run=self.run_id, rounds=True)["rounds"])

    def predict(self, X: Any) -> AnyArray:
        """See `mfl.Model.predict`."""
        return self.model.predict(X)

    def predict_proba(self, X: Any) -> AnyArray:
        """See `mfl.Model.predict_proba`."""
        return self.model.predict_proba(X)

    def decision_function(self, X: Any) -> AnyArray:
        """See `mfl.Model.decision_function`."""
        return self.model.decision_function(X)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the model as `.npz` or `.onnx`. See `mfl.Model.save`."""
        return self.model.save(path)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the losses over rounds with Matplotlib, and the test accuracy beside them; returns the axes. What was measured in some
        records only has points there."""
        return plot_results([self], ax, **style)

    @property
    def title(self) -> str:
        """Model and algorithm with its main settings, or the run's name."""
        name = self.config["run"]["name"]
        if name:
            return str(name)
        algorithm = self.config["algorithm"]
        return f"{self.config['model']['name']}, {algorithm['name']}, eta {text(algorithm['eta'])}, {self.config['federation']['nodes']} nodes"

    def _facts(self) -> dict[str, str]:
        facts = {"run": f"{self.run_id} ({self.status})", "setting": self.title, "rounds": str(self.rounds),
                 "train loss": text(self.train_loss)}
        if self.test_loss is not None:
            facts["test loss"] = text(self.test_loss)
        if self.test_accuracy is not None:
            facts["test accuracy"] = f"{100 * self.test_accuracy:.2f} %"
        if self.message:
            facts["message"] = self.message
        for number, warning in enumerate(self.warnings):
            facts[f"warning {number + 1}"] = warning["message"]
        return {**facts, "digest": self.digest}

    def __repr__(self) -> str:
        facts = self._facts()
        width = max(len(name) for name in facts)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in facts.items())

    def _repr_html_(self) -> str:
        facts = {**self._facts(), "digest": f"{self.digest[:16]}\N{HORIZONTAL ELLIPSIS}"}
        rows = "".join(f'<tr><th style="text-align:left;padding-right:1em;white-space:nowrap">{escape(name)}</th>'
                       f'<td style="text-align:left"{f" title={self.digest}" if name == "digest" else ""}>{escape(value)}</td></tr>'
                       for name, value in facts.items())
        series = {"train loss": _numbers(self._records, "train_loss"), "test loss": _numbers(self._records, "test_loss")}
        curve = svg_curve(_numbers(self._records, "round"), series, "round")
        return (f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:center"><table style="max-width:34em">{rows}</table>'
                f"<div>{curve}</div></div>")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _numbers(records: list[dict[str, Any]], name: str) -> list[float]:
    return [float("nan") if record.get(name) is None else float(record[name]) for record in records]


def plot_results(results: list[Result], ax: Any = None, titles: list[str] | None = None, **style: Any) -> Any:
    """Training losses F(w) over rounds, one line per result; of a single result the test loss and accuracy too."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ImportError("plot() needs Matplotlib: pip install 'mfl[plot]'") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    alone = len(results) == 1
    for number, result in enumerate(results):
        title = titles[number] if titles else result.title
        rounds = _numbers(result._records, "round")
        _draw(ax, rounds, _numbers(result._records, "train_loss"), "train loss" if alone else title, **style)
        losses = _numbers(result._records, "test_loss")
        if alone and np.isfinite(losses).any():
            _draw(ax, rounds, losses, "test loss", linestyle="--")
    ax.set_xlabel("round")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("loss" if alone else "training loss")
    ax.grid(alpha=0.3)
    handles, names = ax.get_legend_handles_labels()
    shares = _numbers(results[0]._records, "test_accuracy")
    if alone and np.isfinite(shares).any():
        right = ax.twinx()
        _draw(right, _numbers(results[0]._records, "round"), shares, "test accuracy", color="tab:green", linestyle=":")
        right.set_ylabel("test accuracy")
        more = right.get_legend_handles_labels()
        handles, names = handles + more[0], names + more[1]
    if alone:
        ax.set_title(results[0].title)
    (right if alone and np.isfinite(shares).any() else ax).legend(handles, names, loc="center right" if alone else "best")
    return ax


def _draw(ax: Any, x: list[float], y: list[float], label: str, **style: Any) -> None:
    shown = np.isfinite(y)
    if not shown.all():
        style = {"marker": "o", "markersize": 3, **style}
    ax.plot(np.asarray(x)[shown], np.asarray(y)[shown], label=label, **style)
